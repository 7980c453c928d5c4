//! Longest-queue drop (pushout; Thareja and Agrawala 1984; Wei, Coyle and Hsiao, GLOBECOM 1991): what
//! arrives is let in, and while that is more than the switch's memory holds, its longest queue, whichever
//! port's it is, loses the packet at its tail. Of queues that are as long the arrival's own counts as the
//! longest where it asks for space, so that it is refused, and then the one with the lowest number.

use super::holdings::{Place, QueueOf};
use crate::hooks::{Admission, Buffer, End, Expulsion};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// Longest-queue drop.
#[derive(Clone, Debug)]
pub struct Lqd {
    place: Place,
    /// Where the last arrival went.
    last: QueueId,
}

impl Lqd {
    /// At a port of a switch.
    pub fn new(place: Place) -> Lqd {
        Lqd { place, last: 0 }
    }

    fn own(&self, queue: QueueId) -> QueueOf {
        QueueOf { port: self.place.port(), queue }
    }
}

impl Buffer for Lqd {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        if view.pool.used + Bytes::new(packet.len_bytes.into()) <= view.pool.capacity {
            return Admission::In;
        }
        let own = self.own(queue);
        let longest = self.place.longest(own, true);
        match longest {
            // The arrival would make its own queue the longest: dropping it is pushing it out.
            _ if longest == own => Admission::Out(DropReason::Full),
            QueueOf { port, queue } if port == own.port => Admission::PushOut(view.tail(queue)),
            // The switch asks what is to go for it.
            _ => Admission::In,
        }
    }

    fn stored(&mut self, view: &View, queue: QueueId, _: &Packet) {
        self.place.note(view, queue);
        self.last = queue;
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        self.place.note(view, queue);
    }

    fn sent(&mut self, view: &View, queue: QueueId, _: &Packet) {
        self.place.note(view, queue);
    }

    // Asked of the port where the packet came in, whose own queue now counts the arrival.
    fn expels(&mut self, view: &View) -> Option<Expulsion> {
        let of = || self.place.longest(self.own(self.last), false);
        (view.pool.used > view.pool.capacity).then(|| Expulsion { of: of(), end: End::Tail })
    }

    fn reads_pool(&self) -> bool {
        true
    }
}
