//! The longest queue after each burst of flow starts.

use super::monitors::Monitor;
use super::observer::{Asked, AtPort, Observed, Observer, Site, View};
use crate::ids::LinkId;
use crate::ports::PortInfo;
use crate::table::{Table, Values};
use std::collections::VecDeque;
use switchbed_qdisc::{PortState, QueueId};
use switchbed_scenario::measure::Bursts;
use switchbed_scenario::traffic::FlowStart;
use switchbed_units::{Bytes, Span, Time};

impl Monitor for Bursts {
    const TABLES: &'static [&'static str] = &["bursts"];

    fn ports(&self) -> &[String] {
        &self.ports
    }
    fn observe(&self, site: &mut Site) -> Asked {
        let links = site.links(&self.ports)?;
        for &link in &links {
            let peaks = Peaks::new(site.queues(link));
            site.network.watched(link).add(peaks);
        }
        Ok(Some(Box::new(Seen { links, starts: Starts::new(self.apart) })))
    }
}

/// A burst of flow starts.
#[derive(Clone, Debug, PartialEq)]
struct Burst {
    /// Start of its first flow.
    start: Time,
    /// Number of flows that started in it.
    flows: u64,
    /// Each monitored port's peaks by queue.
    peaks: Vec<(LinkId, Vec<Peak>)>,
}

/// The longest that a queue was, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peak {
    /// Length of the queue now.
    bytes: Bytes,
    /// When it first was so long.
    at: Time,
}

/// One port's peaks: for each burst, by queue.
#[derive(Clone, Debug)]
struct Peaks {
    lengths: Vec<Bytes>,
    /// When bursts that have not begun yet will, the earliest first.
    coming: VecDeque<Time>,
    bursts: Vec<(Time, Vec<Peak>)>,
}

impl Peaks {
    fn new(queues: usize) -> Self {
        let lengths = vec![Bytes::ZERO; queues];
        Peaks { lengths, coming: VecDeque::new(), bursts: Vec::new() }
    }

    /// Records the length of a queue that has changed.
    fn change(&mut self, now: Time, queue: QueueId, bytes: Bytes) {
        // Before the change: lengths as the burst found them are its first peaks.
        self.begin(now);
        self.lengths[queue as usize] = bytes;
        if let Some((_, burst)) = self.bursts.last_mut()
            // Strictly longer: the time is when it was first so long.
            && bytes > burst[queue as usize].bytes
        {
            burst[queue as usize] = Peak { bytes, at: now };
        }
    }

    /// A burst will begin then; what is queued after all that happens at that time, departures
    /// and arrivals, is its first peak.
    fn expect(&mut self, at: Time) {
        self.coming.push_back(at);
    }

    /// The bursts that began before now.
    fn begin(&mut self, now: Time) {
        // Strictly before now: what happens at the burst's own instant belongs to the one before.
        while let Some(at) = self.coming.pop_front_if(|at| *at < now) {
            let peaks = self.lengths.iter().map(|&bytes| Peak { bytes, at });
            self.bursts.push((at, peaks.collect()));
        }
    }

    /// The peaks of the bursts that began by now.
    fn take(&mut self, now: Time) -> &[(Time, Vec<Peak>)] {
        // `begin` leaves out what begins right now: one picosecond more counts it.
        self.begin(Time::from_ps(now.as_ps() + 1));
        &self.bursts
    }
}

impl AtPort for Peaks {
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        self.change(now, queue, state.queue_bytes(queue));
    }

    /// Forgets the bursts that began before now.
    fn restart(&mut self, now: Time) {
        self.begin(now);
        self.bursts.clear();
    }
}

/// The bursts of a run.
struct Seen {
    links: Vec<LinkId>,
    starts: Starts,
}

impl Seen {
    /// Takes the bursts that began by `now`.
    fn take(&self, now: Time, network: &mut dyn Observed) -> Vec<Burst> {
        let mut bursts = Vec::new();
        for &(start, flows) in self.starts.bursts.iter().filter(|burst| burst.0 <= now) {
            let mut peaks = Vec::new();
            for &link in &self.links {
                let all = network.watch_mut(link).and_then(|watch| watch.of_mut::<Peaks>());
                let of = all.and_then(|all| all.take(now).iter().find(|of| of.0 == start));
                peaks.extend(of.map(|(_, of)| (link, of.clone())));
            }
            bursts.push(Burst { start, flows, peaks });
        }
        bursts
    }
}

impl Observer for Seen {
    fn flow_starts(&mut self, flow: &FlowStart, view: &mut View) {
        if !self.starts.start(flow.start) {
            return;
        }
        for &link in &self.links {
            let watch = view.network.watch_mut(link);
            if let Some(peaks) = watch.and_then(|watch| watch.of_mut::<Peaks>()) {
                peaks.expect(flow.start);
            }
        }
    }

    fn restart(&mut self, view: &mut View) {
        self.starts.restart(view.now);
    }

    fn tables(&mut self, view: &mut View, ports: &[PortInfo]) -> Vec<Table> {
        let bursts = self.take(view.now, view.network);
        let mut rows = Vec::new();
        for (nth, burst) in bursts.iter().enumerate() {
            for (link, peaks) in &burst.peaks {
                let port = &*ports[link.index()].name;
                rows.extend(peaks.iter().enumerate().map(|(q, peak)| (nth, burst, port, q, peak)));
            }
        }
        vec![Table::new([
            (
                "burst",
                "",
                "number, from 0",
                Values::U64(rows.iter().map(|row| row.0 as u64).collect()),
            ),
            (
                "start_s",
                "s",
                "start of its first flow",
                Values::F64(rows.iter().map(|row| row.1.start.as_secs_f64()).collect()),
            ),
            (
                "flows",
                "",
                "flows that started in it",
                Values::U64(rows.iter().map(|row| row.1.flows).collect()),
            ),
            (
                "port",
                "",
                "switch and port number, or host",
                Values::Names(rows.iter().map(|row| row.2).collect()),
            ),
            (
                "queue",
                "",
                "queue number",
                Values::U32(rows.iter().map(|row| row.3 as u32).collect()),
            ),
            (
                "max_bytes",
                "bytes",
                "its longest until the next burst, or the end",
                Values::U64(rows.iter().map(|row| row.4.bytes.get()).collect()),
            ),
            (
                "max_at_s",
                "s",
                "when it first was so long",
                Values::F64(rows.iter().map(|row| row.4.at.as_secs_f64()).collect()),
            ),
        ])]
    }
}

/// Tells bursts by the starts of flows.
#[derive(Clone, Debug)]
struct Starts {
    apart: Span,
    last: Option<Time>,
    /// Each burst's beginning and number of flows.
    bursts: Vec<(Time, u64)>,
}

impl Starts {
    fn new(apart: Span) -> Self {
        Starts { apart, last: None, bursts: Vec::new() }
    }

    /// A flow starts; whether a burst begins with it.
    fn start(&mut self, now: Time) -> bool {
        // From the last flow's start, not the first's: a burst goes on as long as flows follow
        // closely.
        let begins = self.last.is_none_or(|last| now.since(last) >= self.apart);
        self.last = Some(now);
        if begins {
            self.bursts.push((now, 0));
        }
        if let Some((_, flows)) = self.bursts.last_mut() {
            *flows += 1;
        }
        begins
    }

    /// Forgets the bursts that began before now; what is left of them belongs to none.
    fn restart(&mut self, now: Time) {
        self.bursts.retain(|&(start, _)| start >= now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_burst_begins_where_no_flow_started_for_so_long() {
        let mut starts = Starts::new(Span::from_us(10));
        let begins: Vec<bool> = [5, 5, 9, 19, 28, 38].map(|at| starts.start(us(at))).into();
        assert_eq!(begins, [true, false, false, true, false, true]);
        assert_eq!(starts.bursts, [(us(5), 3), (us(19), 2), (us(38), 1)]);
    }

    #[test]
    fn a_burst_that_began_in_the_warm_up_does_not_count() {
        let mut starts = Starts::new(Span::from_us(10));
        starts.start(us(5));
        let mut kept = starts.clone();
        kept.restart(us(5));
        assert_eq!(kept.bursts, [(us(5), 1)]);
        starts.restart(us(6));
        assert_eq!(starts.bursts, []);
        assert!(!starts.start(us(7)));
        assert!(starts.start(us(20)));
        assert_eq!(starts.bursts, [(us(20), 1)]);
    }

    #[test]
    fn a_peak_is_the_longest_queue_until_the_next_burst() {
        let mut peaks = Peaks::new(2);
        let change =
            |peaks: &mut Peaks, at, queue, bytes| peaks.change(us(at), queue, Bytes::new(bytes));
        let peak = |bytes, at| Peak { bytes: Bytes::new(bytes), at: us(at) };
        change(&mut peaks, 1, 0, 9_000);
        change(&mut peaks, 2, 0, 3_000);
        peaks.expect(us(3));
        peaks.expect(us(8));
        for (at, bytes) in [(4, 2_000), (5, 4_500), (6, 1_500), (7, 4_500)] {
            change(&mut peaks, at, 0, bytes);
        }
        change(&mut peaks, 9, 1, 100);
        let bursts = [
            (us(3), vec![peak(4_500, 5), peak(0, 3)]),
            (us(8), vec![peak(4_500, 8), peak(100, 9)]),
        ];
        assert_eq!(peaks.clone().take(us(8)).len(), 2);
        assert_eq!(peaks.take(us(10)), bursts);
        peaks.restart(us(8));
        assert_eq!(peaks.take(us(10)), []);
    }
}
