//! How long data packets waited at ports, by the hosts that they go between, interval by interval.
//!
//! A packet waits from when a queue takes it in until its transmission begins, whatever for: the line, packets before
//! it, a pause. Its wait counts to the interval in which it came.

use super::monitors::{Ahead, Monitor};
use super::observer::{Asked, AtPort, Observed, Observer, Sent, Site, Space, View};
use crate::ids::{HostId, LinkId};
use crate::ports::{self, PortInfo};
use crate::table::{Names, Table, Values};
use crate::transport::is_data;
use std::collections::BTreeMap;
use switchbed_qdisc::QueueId;
use switchbed_scenario::measure::Waits;
use switchbed_units::{Span, Time};

/// Ports on a way, as the forecast has them.
const PORTS_ON_A_WAY: f64 = 4.0;

impl Monitor for Waits {
    const TABLES: &'static [&'static str] = &["waits"];

    /// An interval of a flow at each port of its way.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let rows = run.open * PORTS_ON_A_WAY * run.lasts_s / self.every.as_secs_f64();
        Some(("rows of waits", rows, 150))
    }

    fn observe(&self, site: &mut Site) -> Asked {
        let links = match &self.ports {
            Some(names) => site.links(names)?,
            None => ports::of_switches(site.ports).collect(),
        };
        for &link in &links {
            let space = Space::new(site.scenario.measure.samples / links.len() as u64);
            site.network.watched(link).add(Waited::new(self.every, space));
        }
        Ok(Some(Box::new(AtPorts(links))))
    }
}

/// Packets of two hosts in a queue that came within an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// Number of the interval, from the start of the run.
    interval: u64,
    from: HostId,
    to: HostId,
    queue: QueueId,
    packets: u64,
    waited: Span,
}

/// Waits at a port.
#[derive(Clone, Debug)]
struct Waited {
    every: Span,
    rows: Vec<Row>,
    /// The row of two hosts and a queue that was the last to begin.
    last: BTreeMap<(HostId, HostId, QueueId), usize>,
    space: Space,
    /// End of the warm-up: packets that came before do not count.
    since: Time,
}

impl Waited {
    fn new(every: Span, space: Space) -> Waited {
        Waited { every, rows: Vec::new(), last: BTreeMap::new(), space, since: Time::ZERO }
    }

    fn add(&mut self, of: (HostId, HostId, QueueId), arrived: Time, left: Time) {
        let (interval, waited) = (arrived.as_ps() / self.every.as_ps(), left.since(arrived));
        if waited == Span::ZERO || arrived < self.since {
            return;
        }
        if let Some(row) = self.last.get(&of).and_then(|&nth| self.rows.get_mut(nth))
            && row.interval == interval
        {
            row.packets += 1;
            row.waited += waited;
            return;
        }
        if self.space.take(1, left) {
            self.last.insert(of, self.rows.len());
            let (from, to, queue) = of;
            self.rows.push(Row { interval, from, to, queue, packets: 1, waited });
        }
    }
}

impl AtPort for Waited {
    fn sent(&mut self, sent: &Sent) {
        if let Some(from) = sent.from.filter(|_| is_data(&sent.payload.body)) {
            self.add((from, sent.to, sent.queue), sent.arrived, sent.left);
        }
    }

    fn restart(&mut self, now: Time) {
        self.since = now;
        self.space.give(self.rows.len() as u64);
        self.rows.clear();
        self.last.clear();
    }
}

/// The ports that are watched.
struct AtPorts(Vec<LinkId>);

impl Observer for AtPorts {
    fn tables(&mut self, view: &mut View, ports: &[PortInfo]) -> Vec<Table> {
        let (mut names, mut rows, mut every) = (Names::default(), Vec::new(), Span::ZERO);
        for &link in &self.0 {
            let watch = view.network.watch_mut(link);
            let Some(waited) = watch.and_then(|watch| watch.of_mut::<Waited>()) else { continue };
            waited.rows.iter().for_each(|_| names.push(&ports[link.index()].name));
            rows.append(&mut waited.rows);
            every = waited.every;
        }
        let edge = |nth: u64| Time::from_ps(nth * every.as_ps()).as_secs_f64();
        let u32s = |of: fn(&Row) -> u32| Values::U32(rows.iter().map(of).collect());
        vec![Table::new([
            ("port", "", "switch and port number, or host", Values::Names(names)),
            ("queue", "", "queue number", u32s(|row| row.queue.into())),
            ("src", "", "the host that sent the packets", u32s(|row| row.from.0)),
            ("dst", "", "the host that they go to", u32s(|row| row.to.0)),
            (
                "start_s",
                "s",
                "beginning of the interval in which they came",
                Values::F64(rows.iter().map(|row| edge(row.interval)).collect()),
            ),
            (
                "end_s",
                "s",
                "end of that interval",
                Values::F64(rows.iter().map(|row| edge(row.interval + 1)).collect()),
            ),
            (
                "packets",
                "",
                "data packets that waited; others count nowhere",
                Values::U64(rows.iter().map(|row| row.packets).collect()),
            ),
            (
                "waited_s",
                "s",
                "sum of their waits",
                Values::F64(rows.iter().map(|row| row.waited.as_secs_f64()).collect()),
            ),
        ])]
    }

    fn full(&self, network: &dyn Observed) -> Option<(&'static str, Time)> {
        let full = |&link: &LinkId| network.watch(link)?.of::<Waited>()?.space.full_at();
        self.0.iter().filter_map(full).min().map(|at| ("waits", at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn waits_are_summed_by_interval_hosts_and_queue() {
        let mut waited = Waited::new(Span::from_us(10), Space::new(3));
        let (a, b) = ((HostId(0), HostId(1), 0), (HostId(2), HostId(1), 0));
        waited.add(a, us(1), us(3));
        waited.add(b, us(2), us(6));
        waited.add(a, us(9), us(14));
        // Sent at once; then the next interval, and a queue for which there is no space.
        waited.add(a, us(12), us(12));
        waited.add(a, us(10), us(11));
        waited.add((a.0, a.1, 1), us(11), us(12));
        let row = |of: &Row| (of.interval, of.from.0, of.packets, of.waited);
        let rows: Vec<_> = waited.rows.iter().map(row).collect();
        assert_eq!(
            rows,
            [(0, 0, 2, Span::from_us(7)), (0, 2, 1, Span::from_us(4)), (1, 0, 1, Span::from_us(1))]
        );
        assert_eq!(waited.space.full_at(), Some(us(12)));
    }

    #[test]
    fn packets_that_came_in_the_warm_up_count_nowhere() {
        let of = (HostId(0), HostId(9), 0);
        let mut waited = Waited::new(Span::from_us(10), Space::new(3));
        waited.add(of, us(1), us(3));
        waited.restart(us(15));
        waited.add(of, us(12), us(18));
        assert_eq!(waited.rows, []);
        waited.add(of, us(15), us(19));
        assert_eq!(
            waited.rows.iter().map(|row| row.waited).collect::<Vec<_>>(),
            [Span::from_us(4)]
        );
    }
}
