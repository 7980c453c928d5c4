//! A port's queue lengths at every change within a window of time, and their slopes.

use super::monitors::{Ahead, Monitor};
use super::observer::{Asked, AtPort, Observed, Observer, Site, Space, View};
use crate::ids::LinkId;
use crate::ports::PortInfo;
use crate::table::{Names, Table, Values};
use switchbed_qdisc::{PortState, QueueId};
use switchbed_scenario::measure::Changes;
use switchbed_units::{Bytes, Span, Time};

impl Monitor for Changes {
    const TABLES: &'static [&'static str] = &["changes"];

    fn ports(&self) -> &[String] {
        &self.ports
    }
    /// A change of a queue's length and its row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let window = self.until.as_secs_f64().min(run.lasts_s) - self.from.as_secs_f64();
        let packets = window.max(0.0) * run.packets_per_s * self.ports.len() as f64;
        // Each packet changes its queue twice, as it comes and as it leaves.
        Some(("rows of changes", 2.0 * packets, 52))
    }
    fn observe(&self, site: &mut Site) -> Asked {
        let links = site.links(&self.ports)?;
        let (from, until) = (Time::ZERO + self.from, Time::ZERO + self.until);
        for &link in &links {
            let space = Space::new(site.scenario.measure.samples / links.len() as u64);
            let window = Window::new(from, until, site.queues(link), space);
            site.network.watched(link).add(window);
        }
        Ok(Some(Box::new(PortChanges { links, slope_over: self.slope_over })))
    }
}

/// A queue's length from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LengthChange {
    at: Time,
    queue: QueueId,
    /// Length of the queue, without the packet on the wire.
    bytes: Bytes,
}

/// Collects them: first every queue's length as the window opens, changes of that instant
/// counted.
#[derive(Clone, Debug)]
struct Window {
    from: Time,
    until: Time,
    opened: bool,
    lengths: Vec<Bytes>,
    rows: Vec<LengthChange>,
    space: Space,
}

impl Window {
    /// Makes the record of a port with `queues` queues; `space` limits its rows.
    fn new(from: Time, until: Time, queues: usize, space: Space) -> Self {
        let lengths = vec![Bytes::ZERO; queues];
        Window { from, until, opened: false, lengths, rows: Vec::new(), space }
    }

    /// Records the length of a queue that has changed.
    fn change(&mut self, now: Time, queue: QueueId, bytes: Bytes) {
        // Changes of the opening instant are in the row that the window opens with.
        if now > self.from {
            self.open();
            if now <= self.until && self.space.take(1, now) {
                self.rows.push(LengthChange { at: now, queue, bytes });
            }
        }
        self.lengths[queue as usize] = bytes;
    }

    fn open(&mut self) {
        if !self.opened {
            self.opened = true;
            if !self.space.take(self.lengths.len() as u64, self.from) {
                return;
            }
            let row = |(queue, &bytes)| LengthChange { at: self.from, queue: queue as u8, bytes };
            self.rows.extend(self.lengths.iter().enumerate().map(row));
        }
    }

    /// The rows, at the end of the run.
    fn take(&mut self, now: Time) -> Vec<LengthChange> {
        if now >= self.from {
            self.open();
        }
        std::mem::take(&mut self.rows)
    }
}

impl AtPort for Window {
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        self.change(now, queue, state.queue_bytes(queue));
    }
}

/// The ports whose changes are noted.
struct PortChanges {
    links: Vec<LinkId>,
    slope_over: Option<Span>,
}

impl Observer for PortChanges {
    fn tables(&mut self, view: &mut View, ports: &[PortInfo]) -> Vec<Table> {
        let (mut names, mut rows, mut slopes) = (Names::default(), Vec::new(), Vec::new());
        for &link in &self.links {
            let watch = view.network.watch_mut(link).and_then(|watch| watch.of_mut::<Window>());
            let changes = watch.map_or_else(Vec::new, |changes| changes.take(view.now));
            changes.iter().for_each(|_| names.push(&ports[link.index()].name));
            slopes.extend(match self.slope_over {
                Some(over) => slopes_bps(&changes, over),
                None => vec![f64::NAN; changes.len()],
            });
            rows.extend(changes);
        }
        vec![Table::new([
            (
                "time_s",
                "s",
                "when",
                Values::F64(rows.iter().map(|row| row.at.as_secs_f64()).collect()),
            ),
            ("port", "", "switch and port number, or host", Values::Names(names)),
            (
                "queue",
                "",
                "queue number",
                Values::U32(rows.iter().map(|row| row.queue.into()).collect()),
            ),
            (
                "bytes",
                "bytes",
                "its length from then on; the first row of a queue is what the window opens with",
                Values::U64(rows.iter().map(|row| row.bytes.get()).collect()),
            ),
            (
                "slope_bps",
                "bit/s",
                "its growth over the last slope_over; null where the window does not reach back so far",
                Values::F64(slopes),
            ),
        ])]
    }

    fn full(&self, network: &dyn Observed) -> Option<(&'static str, Time)> {
        let full = |&link| network.watch(link)?.of::<Window>()?.space.full_at();
        Some(("changes", self.links.iter().filter_map(full).min()?))
    }
}

/// Growth of a queue over the last `over` at each row of its port, in bits per second. NaN where
/// the rows do not reach back so far.
fn slopes_bps(rows: &[LengthChange], over: Span) -> Vec<f64> {
    let mut slopes = vec![f64::NAN; rows.len()];
    let last = rows.iter().map(|row| row.queue).max().unwrap_or(0);
    for queue in 0..=last {
        let own: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].queue == queue).collect();
        // The row in force `over` ago; it moves on with the row that is looked at.
        let mut before = 0;
        for &i in &own {
            let Some(then) = rows[i].at.as_ps().checked_sub(over.as_ps()) else { continue };
            while before + 1 < own.len() && rows[own[before + 1]].at.as_ps() <= then {
                before += 1;
            }
            let old = &rows[own[before]];
            if old.at.as_ps() <= then {
                let grown = rows[i].bytes.as_f64() - old.bytes.as_f64();
                slopes[i] = 8.0 * grown / over.as_secs_f64();
            }
        }
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn row(at_us: u64, queue: QueueId, bytes: u64) -> LengthChange {
        LengthChange { at: us(at_us), queue, bytes: Bytes::new(bytes) }
    }

    #[test]
    fn a_window_opens_with_what_is_there_and_closes_after_its_last_change() {
        let mut changes = Window::new(us(10), us(20), 2, Space::new(9));
        for (at, queue, bytes) in [
            (3, 0, 500),
            (9, 1, 100),
            (10, 1, 200),
            (12, 0, 900),
            (12, 0, 700),
            (20, 1, 0),
            (21, 0, 0),
        ] {
            changes.change(us(at), queue, Bytes::new(bytes));
        }
        let expected =
            [row(10, 0, 500), row(10, 1, 200), row(12, 0, 900), row(12, 0, 700), row(20, 1, 0)];
        assert_eq!(changes.take(us(30)), expected);
    }

    #[test]
    fn a_window_without_changes_says_what_was_there() {
        let mut changes = Window::new(us(10), us(20), 1, Space::new(9));
        changes.change(us(3), 0, Bytes::new(500));
        assert_eq!(changes.clone().take(us(9)), []);
        assert_eq!(changes.take(us(10)), [row(10, 0, 500)]);
    }

    #[test]
    fn a_slope_is_the_growth_over_so_long() {
        let rows = [
            row(0, 0, 1_000),
            row(0, 1, 0),
            row(2, 0, 3_000),
            row(5, 1, 4_000),
            row(6, 0, 2_000),
            row(12, 0, 0),
            row(12, 0, 1_500),
        ];
        let slopes = slopes_bps(&rows, Span::from_us(4));
        assert!(slopes[..3].iter().all(|slope| slope.is_nan()), "{slopes:?}");
        // Queue 1 at 5 us: 4000 B against 0 at 1 us. Queue 0 at 6 us: 2000 B against 3000 B
        // at 2 us; at 12 us: against 2000 B at 8 us.
        assert_eq!(slopes[3..], [8e9, -2e9, -4e9, -1e9]);
    }
}
