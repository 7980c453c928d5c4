//! A host's timers, and what each is for.

use crate::ids::ConnId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use switchbed_qdisc::FlowId;
use switchbed_units::Time;

/// Reason to wake a host. At one instant they come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// An endless flow's application stops.
    Stop { conn: ConnId, number: u64 },
    /// A sending half.
    Sender { conn: ConnId, flow: FlowId },
    /// A receiving half.
    Receiver { conn: ConnId, flow: FlowId },
    /// Frames have waited long enough for others.
    Reception,
    /// A frame has been processed.
    Processed,
    /// A source of probes, by its number at the host.
    Probe(u32),
    /// The card may send.
    Card,
    /// A receiver may give credit.
    Pull,
    /// A packet has left the card.
    Left,
    /// A program begins, by the number of the host's part.
    Begin(u32),
    /// An operation of a part that took its time is done.
    Calculated { part: u32, number: u32 },
}

/// A host's timers. One that is replaced or whose connection has ended stays until it fires, which does nothing, or
/// until the table is full.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Timers {
    /// The earliest one's time, at hand for every packet; [`Time::NEVER`] without any.
    next: Time,
    heap: BinaryHeap<Reverse<(Time, Timer)>>,
}

impl Timers {
    pub(super) fn new() -> Timers {
        Timers { next: Time::NEVER, heap: BinaryHeap::new() }
    }

    /// When the earliest is due.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    pub(super) fn push(&mut self, at: Time, timer: Timer) {
        self.next = self.next.min(at);
        self.heap.push(Reverse((at, timer)));
    }

    /// Whether one more would make the table grow.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.heap.len() == self.heap.capacity()
    }

    /// Drops those that nobody waits for, and makes space for others.
    #[cold]
    pub(super) fn sweep(&mut self, awaited: impl Fn(Time, &Timer) -> bool) {
        self.heap.retain(|Reverse((at, timer))| awaited(*at, timer));
        self.next = self.heap.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        // A third of the places is free after each sweep, so that a timer's share of them is constant.
        let space = (self.heap.len() / 2).max(4);
        self.heap.reserve_exact(space);
    }

    /// Takes the earliest out.
    pub(super) fn pop(&mut self) -> Option<(Time, Timer)> {
        let Reverse(first) = self.heap.pop()?;
        self.next = self.heap.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_drops_what_nobody_waits_for() {
        let mut timers = Timers::new();
        for ps in 0..1_000 {
            if timers.is_full() {
                timers.sweep(|at, _| at.as_ps() % 100 == 7);
            }
            timers.push(Time::from_ps(ps), Timer::Card);
        }
        assert!(timers.heap.capacity() <= 32, "{}", timers.heap.capacity());
        timers.sweep(|at, _| at.as_ps() % 100 == 7);
        assert_eq!(timers.next(), Time::from_ps(7));
        let rest: Vec<u64> =
            std::iter::from_fn(|| timers.pop()).map(|(at, _)| at.as_ps()).collect();
        assert_eq!(rest, [7, 107, 207, 307, 407, 507, 607, 707, 807, 907]);
        assert_eq!(timers.next(), Time::NEVER);
    }
}
