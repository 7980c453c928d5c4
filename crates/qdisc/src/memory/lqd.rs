//! Longest-queue drop (pushout; Thareja and Agrawala 1984; Wei, Coyle and Hsiao, GLOBECOM 1991): what
//! arrives is let in, and while that is more than the switch's memory holds, its longest queue, whichever
//! port's it is, loses the packet at its tail. Of queues that are as long the arrival's own counts as the
//! longest where it asks for space, so that it is refused, and then the one with the lowest number.

use super::of_switch::Lengths;
use super::of_switch::{At, Policy, QueueOf};
use crate::hooks::{Admission, End, Expulsion};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::DropReason;
use switchbed_units::Bytes;

/// Longest-queue drop.
#[derive(Clone, Debug)]
pub struct Lqd {
    /// Queues of a port.
    queues: usize,
    lengths: Lengths,
    /// Queue of each port where the last arrival was stored.
    last: Box<[QueueId]>,
}

impl Lqd {
    /// At a switch of so many ports, which have so many queues each.
    pub fn new(ports: usize, queues: usize) -> Lqd {
        Lqd { queues, lengths: Lengths::new(ports * queues), last: vec![0; ports].into() }
    }

    fn note(&mut self, at: &At, queue: QueueId) {
        self.lengths.note(QueueOf::place(at, queue, self.queues), at.port.queue_bytes(queue));
    }

    /// Place of the longest queue. Of several, `own` if it is one and `prefers`, else the first that is not.
    fn longest(&self, own: usize, prefers: bool) -> usize {
        let rank = |(place, bytes): (usize, u64)| (bytes, (place == own) == prefers);
        let longer = |best, next| if rank(next) > rank(best) { next } else { best };
        let all = self.lengths.filled(0..self.lengths.count());
        all.reduce(longer).map_or(own, |(place, _)| place)
    }
}

impl Policy for Lqd {
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        if at.used + Bytes::new(packet.len_bytes.into()) <= at.capacity {
            return Admission::In;
        }
        let own = QueueOf::place(at, queue, self.queues);
        let longest = self.longest(own, true);
        // The arrival would make its own queue the longest: dropping it is pushing it out.
        if longest == own {
            return Admission::Out(DropReason::Full);
        }
        let QueueOf { port, queue } = QueueOf::at(longest, self.queues);
        match port == at.port.number() {
            true => Admission::PushOut(at.port.queues[usize::from(queue)].list.tail),
            // The switch asks what is to go for it.
            false => Admission::In,
        }
    }

    fn stored(&mut self, at: &At, queue: QueueId, _: &Packet) {
        self.note(at, queue);
        self.last[at.number()] = queue;
    }

    fn removed(&mut self, at: &At, queue: QueueId, _: &Packet, _: DropReason) {
        self.note(at, queue);
    }

    fn sent(&mut self, at: &At, queue: QueueId, _: &Packet) {
        self.note(at, queue);
    }

    fn passed(&mut self, at: &At, queue: QueueId, _: &Packet) {
        // The queue was empty before and is again.
        self.last[at.number()] = queue;
    }

    // Asked of the port where the packet came in, whose own queue now counts the arrival.
    fn expels(&mut self, at: &At) -> Option<Expulsion> {
        if at.used <= at.capacity {
            return None;
        }
        let own = QueueOf::place(at, self.last[at.number()], self.queues);
        let of = QueueOf::at(self.longest(own, false), self.queues);
        Some(Expulsion { of, end: End::Tail })
    }
}
