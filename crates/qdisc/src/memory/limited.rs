//! Limits of queues: the most that a queue may hold, whatever its buffer has left.

use super::{OfPort, room};
use crate::hooks::{Admission, Buffer};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// A buffer in which some queues have a limit of their own.
pub struct Limited {
    /// Each queue's; `None`: it has none.
    pub limits: Box<[Option<Bytes>]>,
    /// Decides on arrivals at queues that are under their limits: one of `[switch]`, without state.
    pub buffer: OfPort,
}

impl Limited {
    fn over(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        let limit = self.limits[usize::from(queue)];
        let bytes = view.port.queue_bytes(queue);
        limit.is_some_and(|limit| room(bytes, packet, limit) != Admission::In)
    }

    pub(super) fn admit(
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

    pub(super) fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        self.over(view, queue, packet) || self.buffer.full(view, queue, packet)
    }
}
