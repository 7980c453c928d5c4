//! Limits of queues: the most that a queue may hold, whatever its buffer has left.

use super::room;
use crate::hooks::{Admission, Buffer, Expulsion, GroupUse, Signal};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

/// A buffer in which some queues have a limit of their own.
pub struct Limited {
    /// Each queue's; `None`: it has none.
    pub limits: Box<[Option<Bytes>]>,
    /// Decides on arrivals at queues that are under their limits.
    pub buffer: Box<dyn Buffer + Send>,
}

impl Limited {
    fn over(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        let limit = self.limits[usize::from(queue)];
        let bytes = view.port.queue_bytes(queue);
        limit.is_some_and(|limit| room(bytes, packet, limit) != Admission::In)
    }
}

impl Buffer for Limited {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        match self.over(view, queue, packet) {
            true => Admission::Out(DropReason::Full),
            false => self.buffer.admit(view, queue, packet, rng),
        }
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        self.over(view, queue, packet) || self.buffer.full(view, queue, packet)
    }

    fn stored(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.buffer.stored(view, queue, packet);
    }

    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.buffer.refused(view, queue, packet, why);
    }

    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.buffer.removed(view, queue, packet, why);
    }

    fn sent(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.buffer.sent(view, queue, packet);
    }

    fn expels(&mut self, view: &View) -> Option<Expulsion> {
        self.buffer.expels(view)
    }

    fn signal(&mut self) -> Option<Signal> {
        self.buffer.signal()
    }

    fn groups(&self, restart: bool) -> Vec<GroupUse> {
        self.buffer.groups(restart)
    }

    fn reads_pool(&self) -> bool {
        self.buffer.reads_pool()
    }

    fn period(&self) -> Option<Span> {
        self.buffer.period()
    }

    fn tick(&mut self, view: &View, n: u64) {
        self.buffer.tick(view, n);
    }
}
