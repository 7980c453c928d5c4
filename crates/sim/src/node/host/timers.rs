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
    Intake,
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

/// A host's timers. None is taken back: one that comes too early does nothing.
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

    /// Takes the earliest out.
    pub(super) fn pop(&mut self) -> Option<(Time, Timer)> {
        let Reverse(first) = self.heap.pop()?;
        self.next = self.heap.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        Some(first)
    }
}
