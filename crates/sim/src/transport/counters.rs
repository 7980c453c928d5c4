//! Counts of a sender: losses, cuts, and the timers that they waited for.

use switchbed_units::{Span, Time};

/// Counts of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expiries of the retransmission timer, those for SYNs too.
    pub timeouts: u32,
    /// Data segments sent again.
    pub retransmits: u32,
    /// Window cuts for marks.
    pub mark_cuts: u32,
    /// Fast recoveries.
    pub fast_recoveries: u32,
    /// Cuts that were taken back, since nothing was lost.
    pub undone: u32,
}

impl Counters {
    /// A connection on which nothing has happened.
    pub(crate) const NONE: Counters =
        Counters { timeouts: 0, retransmits: 0, mark_cuts: 0, fast_recoveries: 0, undone: 0 };
}

/// Counts of a sender, kept apart from it until there is something to count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    pub(crate) waits: Waits,
}

/// A timer that a sender may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The retransmission timer of a SYN.
    Syn,
    /// The retransmission timer of data, or a tail loss probe's, before the first RTT sample: rto_initial.
    RtoInitial,
    /// The retransmission timer of data.
    Rto,
    /// A tail loss probe's.
    Probe,
    /// The receiver's, which held back an ACK that the sender needed.
    DelayedAck,
}

impl Wait {
    /// Every timer, in the order of results.
    pub const ALL: [Wait; 5] =
        [Wait::Syn, Wait::RtoInitial, Wait::Rto, Wait::Probe, Wait::DelayedAck];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Wait::Syn => "syn",
            Wait::RtoInitial => "rto_initial",
            Wait::Rto => "rto",
            Wait::Probe => "probe",
            Wait::DelayedAck => "delayed_ack",
        }
    }
}

/// How often each timer ended a wait, and how long all its waits took. A wait begins with the last
/// segment sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    counts: [u32; Wait::ALL.len()],
    /// In microseconds, rounded up: 71 minutes at most.
    us: [u32; Wait::ALL.len()],
}

impl Waits {
    /// A wait is over; of a wait that began in the warm-up counts what is after that, which ends at `warmed`.
    pub(crate) fn note(&mut self, wait: Wait, (from, now): (Time, Time), warmed: Time) {
        let took = now.since(if warmed <= now { from.max(warmed) } else { from });
        let (count, us) = (&mut self.counts[wait as usize], &mut self.us[wait as usize]);
        *count = count.saturating_add(1);
        *us = us.saturating_add(took.as_ps().div_ceil(1_000_000).min(u32::MAX.into()) as u32);
    }

    /// The waits since `before`, of which these are the continuation; none of a timer of which there are fewer.
    #[must_use]
    pub(crate) fn since(mut self, before: &Waits) -> Waits {
        for nth in 0..Wait::ALL.len() {
            self.counts[nth] = self.counts[nth].saturating_sub(before.counts[nth]);
            self.us[nth] = self.us[nth].saturating_sub(before.us[nth]);
        }
        self
    }

    /// The sum of these waits and others.
    #[must_use]
    pub(crate) fn with(mut self, other: &Waits) -> Waits {
        for nth in 0..Wait::ALL.len() {
            self.counts[nth] = self.counts[nth].saturating_add(other.counts[nth]);
            self.us[nth] = self.us[nth].saturating_add(other.us[nth]);
        }
        self
    }

    /// Waits of one timer alone: how often it ended one, and for how many microseconds all took.
    pub(crate) fn of_one(wait: Wait, count: u32, us: u32) -> Waits {
        let mut waits = Waits::default();
        (waits.counts[wait as usize], waits.us[wait as usize]) = (count, us);
        waits
    }

    /// The timer that alone was waited for, as [`Waits::of_one`] takes it; `None`: several were, or none.
    pub(crate) fn as_one(&self) -> Option<(Wait, u32, u32)> {
        let nth = self.counts.iter().zip(self.us).position(|(&count, us)| count > 0 || us > 0)?;
        let (wait, count, us) = (Wait::ALL[nth], self.counts[nth], self.us[nth]);
        (*self == Waits::of_one(wait, count, us)).then_some((wait, count, us))
    }

    /// How often this timer ended a wait.
    pub fn count(&self, wait: Wait) -> u32 {
        self.counts[wait as usize]
    }

    /// Expiries of timers that RFC 6298 knows, probes before the first RTT sample among them.
    pub fn timeouts(&self) -> u32 {
        [Wait::Syn, Wait::RtoInitial, Wait::Rto].map(|wait| self.count(wait)).iter().sum()
    }

    /// The timer that was waited for longest, and how long that was, all its waits together.
    pub fn longest(&self) -> Option<(Wait, Span)> {
        // Of several, the first.
        let longest = Wait::ALL.into_iter().rev().max_by_key(|&wait| self.us[wait as usize])?;
        let took = Span::from_us(self.us[longest as usize].into());
        (self.count(longest) > 0).then_some((longest, took))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_and_name_the_longest() {
        let mut waits = Waits::default();
        assert_eq!(waits.longest(), None);
        let note = |waits: &mut Waits, wait, took| {
            waits.note(wait, (Time::from_ps(9), Time::from_ps(9) + took), Time::ZERO);
        };
        note(&mut waits, Wait::Probe, Span::from_ms(7));
        let before = waits;
        note(&mut waits, Wait::DelayedAck, Span::from_ns(40_000_001));
        note(&mut waits, Wait::DelayedAck, Span::from_ms(40));
        assert_eq!(waits.longest(), Some((Wait::DelayedAck, Span::from_us(80_001))));
        assert_eq!((waits.count(Wait::DelayedAck), waits.count(Wait::Probe)), (2, 1));
        let since = waits.since(&before);
        assert_eq!((since.count(Wait::DelayedAck), since.count(Wait::Probe)), (2, 0));
        assert_eq!(since.with(&before), waits);
    }

    #[test]
    fn a_wait_counts_from_the_end_of_the_warm_up() {
        let [from, warmed, now] = [1, 11, 14].map(|ms| Time::ZERO + Span::from_ms(ms));
        let took = |now, warmed| {
            let mut waits = Waits::default();
            waits.note(Wait::Rto, (from, now), warmed);
            waits.longest()
        };
        assert_eq!(took(now, warmed), Some((Wait::Rto, Span::from_ms(3))));
        assert_eq!(took(now, Time::ZERO), Some((Wait::Rto, Span::from_ms(13))));
        // One of the warm-up is forgotten with it, or is one of a run that ends in it.
        assert_eq!(took(warmed, now), Some((Wait::Rto, Span::from_ms(10))));
    }
}
