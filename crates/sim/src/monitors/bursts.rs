//! The longest queue after each burst of flow starts.

use switchbed_qdisc::QueueId;
use switchbed_qdisc::units::{Bytes, Span, Time};

/// The longest that a queue was, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Its length.
    pub bytes: Bytes,
    /// When it first was so long.
    pub at: Time,
}

/// One port's peaks: for each burst, by queue.
#[derive(Clone, Debug)]
pub(crate) struct Peaks {
    lengths: Vec<Bytes>,
    bursts: Vec<Vec<Peak>>,
}

impl Peaks {
    pub(crate) fn new(queues: usize) -> Self {
        Peaks { lengths: vec![Bytes::ZERO; queues], bursts: Vec::new() }
    }

    pub(crate) fn change(&mut self, now: Time, queue: QueueId, bytes: Bytes) {
        self.lengths[queue as usize] = bytes;
        if let Some(burst) = self.bursts.last_mut()
            && bytes > burst[queue as usize].bytes
        {
            burst[queue as usize] = Peak { bytes, at: now };
        }
    }

    /// A burst begins; what is queued now is its first peak.
    pub(crate) fn begin(&mut self, now: Time) {
        self.bursts.push(self.lengths.iter().map(|&bytes| Peak { bytes, at: now }).collect());
    }

    /// Forgets all bursts but the last `kept`.
    pub(crate) fn restart(&mut self, kept: usize) {
        self.bursts.drain(..self.bursts.len() - kept);
    }

    pub(crate) fn bursts(&self) -> &[Vec<Peak>] {
        &self.bursts
    }
}

/// Tells bursts by the starts of flows.
#[derive(Clone, Debug)]
pub(crate) struct Starts {
    apart: Span,
    last: Option<Time>,
    /// Each burst's beginning and number of flows.
    bursts: Vec<(Time, u64)>,
}

impl Starts {
    pub(crate) fn new(apart: Span) -> Self {
        Starts { apart, last: None, bursts: Vec::new() }
    }

    /// A flow starts; whether a burst begins with it.
    pub(crate) fn start(&mut self, now: Time) -> bool {
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

    /// Forgets the bursts that began before now; what is left of them belongs to none. How
    /// many it keeps.
    pub(crate) fn restart(&mut self, now: Time) -> usize {
        self.bursts.retain(|&(start, _)| start >= now);
        self.bursts.len()
    }

    pub(crate) fn bursts(&self) -> &[(Time, u64)] {
        &self.bursts
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
        assert_eq!(starts.bursts(), [(us(5), 3), (us(19), 2), (us(38), 1)]);
    }

    #[test]
    fn a_burst_that_began_in_the_warm_up_does_not_count() {
        let mut starts = Starts::new(Span::from_us(10));
        starts.start(us(5));
        assert_eq!(starts.clone().restart(us(5)), 1);
        assert_eq!(starts.restart(us(6)), 0);
        assert!(!starts.start(us(7)));
        assert!(starts.start(us(20)));
        assert_eq!(starts.bursts(), [(us(20), 1)]);
    }

    #[test]
    fn a_peak_is_the_longest_queue_until_the_next_burst() {
        let mut peaks = Peaks::new(2);
        let change =
            |peaks: &mut Peaks, at, queue, bytes| peaks.change(us(at), queue, Bytes::new(bytes));
        let peak = |bytes, at| Peak { bytes: Bytes::new(bytes), at: us(at) };
        change(&mut peaks, 1, 0, 9_000);
        change(&mut peaks, 2, 0, 3_000);
        peaks.begin(us(3));
        for (at, bytes) in [(4, 2_000), (5, 4_500), (6, 1_500), (7, 4_500)] {
            change(&mut peaks, at, 0, bytes);
        }
        peaks.begin(us(8));
        change(&mut peaks, 9, 1, 100);
        assert_eq!(
            peaks.bursts(),
            [vec![peak(4_500, 5), peak(0, 3)], vec![peak(4_500, 8), peak(100, 9)]]
        );
    }
}
