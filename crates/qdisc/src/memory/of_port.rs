//! The buffer that `[switch]` gives a port, and the most that each queue may hold, whatever is left there. The common
//! kinds are told apart by a branch, which is cheaper than a call through a table for each hook.

use super::{Shared, Static, space};
use crate::hooks::{Admission, Buffer};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

/// A port's buffer as `[switch]` has it.
pub enum OfPort {
    /// The port's memory is shared by its queues.
    Shared(Shared),
    /// Each queue has a part of the port's memory.
    Static(Static),
    /// The switch's memory decides.
    Switch(OfSwitch),
    /// Some queues have limits of their own.
    Limited(Box<Limited>),
    /// Another, which a caller brings.
    Other(Box<dyn Buffer + Send>),
}

impl Buffer for OfPort {
    #[inline]
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        match self {
            OfPort::Shared(buffer) => buffer.admit(view, queue, packet, rng),
            OfPort::Static(buffer) => buffer.admit(view, queue, packet, rng),
            OfPort::Switch(buffer) => buffer.admit(view, queue, packet, rng),
            OfPort::Limited(buffer) => buffer.admit(view, queue, packet, rng),
            OfPort::Other(buffer) => buffer.admit(view, queue, packet, rng),
        }
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        match self {
            OfPort::Shared(buffer) => buffer.full(view, queue, packet),
            OfPort::Static(buffer) => buffer.full(view, queue, packet),
            OfPort::Switch(buffer) => buffer.full(view, queue, packet),
            OfPort::Limited(buffer) => buffer.full(view, queue, packet),
            OfPort::Other(buffer) => buffer.full(view, queue, packet),
        }
    }

    // The switch's own kinds keep no state, so that another's alone is told of packets.

    #[inline]
    fn stored(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        if let OfPort::Other(buffer) = self {
            buffer.stored(view, queue, packet);
        }
    }

    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        if let OfPort::Other(buffer) = self {
            buffer.refused(view, queue, packet, why);
        }
    }

    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        if let OfPort::Other(buffer) = self {
            buffer.removed(view, queue, packet, why);
        }
    }

    #[inline]
    fn sent(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        if let OfPort::Other(buffer) = self {
            buffer.sent(view, queue, packet);
        }
    }

    #[inline]
    fn asks_memory(&self) -> bool {
        match self {
            OfPort::Switch(_) => true,
            OfPort::Limited(limited) => limited.buffer.asks_memory(),
            // A buffer from outside never leaves arrivals to the memory.
            OfPort::Shared(_) | OfPort::Static(_) | OfPort::Other(_) => false,
        }
    }

    fn reads_pool(&self) -> bool {
        match self {
            OfPort::Shared(_) | OfPort::Static(_) => false,
            OfPort::Switch(buffer) => buffer.reads_pool(),
            OfPort::Limited(limited) => limited.buffer.reads_pool(),
            OfPort::Other(buffer) => buffer.reads_pool(),
        }
    }

    fn period(&self) -> Option<Span> {
        match self {
            OfPort::Other(buffer) => buffer.period(),
            _ => None,
        }
    }

    fn tick(&mut self, view: &View, n: u64) {
        if let OfPort::Other(buffer) = self {
            buffer.tick(view, n);
        }
    }
}

/// The buffer of a port that leaves arrivals to its switch's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfSwitch;

impl Buffer for OfSwitch {
    #[inline]
    fn admit(&mut self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Admission {
        Admission::Ask
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        view.memory.full(view.now, view.port, queue, packet)
    }

    fn asks_memory(&self) -> bool {
        true
    }

    fn reads_pool(&self) -> bool {
        true
    }
}

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
        limit.is_some_and(|limit| space(bytes, packet, limit) != Admission::In)
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
