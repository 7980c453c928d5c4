//! Occamy (Shan et al., Occamy: A Preemptive Buffer Management for On-chip Shared-memory Switches, EuroSys
//! 2025): dynamic thresholds with a large α, which let one queue have nearly all of the memory; and a
//! queue that is over its threshold since others have come loses packets from its head, one after the
//! other and by turns with other such queues. An arrival waits for no such loss: without space it is dropped.
//!
//! How fast packets are lost is the memory's bandwidth that no port needs. The paper was not at hand for how
//! that is found; here one is lost in the time that the longest packet takes at a rate, which is that of all
//! ports together unless it is given. Losses that are due are made up for as the next packet arrives.

use super::dynamic::dynamic_threshold;
use super::of_switch::Lengths;
use super::of_switch::{At, Policy, QueueOf};
use crate::hooks::{Admission, End, Expulsion};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::DropReason;
use switchbed_units::{Bytes, Rate};

/// Occamy.
#[derive(Clone, Debug)]
pub struct Occamy {
    alphas: Box<[f64]>,
    /// Least of them.
    least: f64,
    rate: Option<Rate>,
    packet: Bytes,
    ports: usize,
    /// By port, then by queue.
    lengths: Lengths,
    /// Place of the queue whose turn it is to lose a packet.
    turn: usize,
    /// Earliest time of the next loss, in picoseconds.
    next: u64,
}

impl Occamy {
    /// At a switch of so many ports whose queues have these α. Packets are lost at `rate`, or at that of all ports
    /// together; the longest has `packet` bytes.
    pub fn new(ports: usize, alphas: &[f64], rate: Option<Rate>, packet: Bytes) -> Occamy {
        let lengths = Lengths::new(ports * alphas.len());
        let least = alphas.iter().copied().fold(f64::MAX, f64::min);
        Occamy { alphas: alphas.into(), least, rate, packet, ports, lengths, turn: 0, next: 0 }
    }

    fn note(&mut self, at: &At, queue: QueueId) {
        let place = QueueOf::place(at, queue, self.alphas.len());
        self.lengths.note(place, at.port.queue_bytes(queue));
    }

    /// Place of the next queue, in turn, that is longer than it may be.
    fn next_over(&self, at: &At) -> Option<usize> {
        let (free, queues) = (at.free().as_f64(), self.alphas.len());
        // None is longer than all are together.
        if at.used.as_f64() <= self.least * free {
            return None;
        }
        // Strictly over the threshold: a queue that is exactly at it is left alone.
        let over =
            |&(place, bytes): &(usize, u64)| bytes as f64 > self.alphas[place % queues] * free;
        // Round robin over the queues of all ports, from the one after the last that lost.
        let after = self.lengths.filled(self.turn..self.lengths.count());
        let before = self.lengths.filled(0..self.turn);
        after.chain(before).find(over).map(|(place, _)| place)
    }
}

impl Policy for Occamy {
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        dynamic_threshold(at, queue, packet, self.alphas[usize::from(queue)])
    }

    fn full(&self, at: &At, queue: QueueId, packet: &Packet) -> bool {
        dynamic_threshold(at, queue, packet, self.alphas[usize::from(queue)]) != Admission::In
    }

    fn stored(&mut self, at: &At, queue: QueueId, _: &Packet) {
        self.note(at, queue);
    }

    fn removed(&mut self, at: &At, queue: QueueId, _: &Packet, _: DropReason) {
        self.note(at, queue);
    }

    fn sent(&mut self, at: &At, queue: QueueId, _: &Packet) {
        self.note(at, queue);
    }

    // The queue was empty before and is again.
    fn passed(&mut self, _: &At, _: QueueId, _: &Packet) {}

    fn expels(&mut self, at: &At) -> Option<Expulsion> {
        let now = at.now.as_ps();
        if self.next > now {
            return None;
        }
        let Some(place) = self.next_over(at) else {
            // Expulsions that were not needed are not saved up.
            self.next = now;
            return None;
        };
        self.turn = (place + 1) % self.lengths.count();
        let rate = self.rate.unwrap_or_else(|| {
            Rate::from_bps(at.port.rate().as_bps().saturating_mul(self.ports as u64))
        });
        // From `next` and not from now: losses that fell due between two arrivals are made up for.
        self.next += rate.tx_time(self.packet.get() as u32).as_ps();
        Some(Expulsion { of: QueueOf::at(place, self.alphas.len()), end: End::Head })
    }
}
