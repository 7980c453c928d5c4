//! Buffers with tail drop. A port's queues share its memory, or each has its own part. Or the
//! queues of all ports share the switch's pool: under dynamic thresholds, ABM's, FAB's or Occamy's,
//! or until the longest queue loses a packet. `cells` is a switch chip's memory; `crosspoint` has
//! parts in cells, and random drop.

mod abm;
mod cells;
pub mod chip;
mod crosspoint;
mod fab;
mod holdings;
mod limited;
mod lossless;
mod lqd;
mod occamy;
pub mod pfc;

pub use abm::Abm;
pub use cells::{AllHeadroom, Cells, GroupMay, HeadroomUse, Inputs, Own, Sizes};
pub use crosspoint::{Crosspoint, Overflow};
pub use fab::{Fab, Young};
pub use holdings::{Place, QueueOf};
pub use limited::Limited;
pub use lqd::Lqd;
pub use occamy::Occamy;

use crate::hooks::{Admission, Buffer};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// A port's memory shared by its queues, first come first served.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// The port's memory.
    pub limit: Bytes,
}

impl Buffer for Shared {
    #[inline]
    fn admit(&mut self, view: &View, _: QueueId, packet: &Packet, _: &mut dyn Random) -> Admission {
        room(view.port.bytes(), packet, self.limit)
    }

    fn full(&self, view: &View, _: QueueId, packet: &Packet) -> bool {
        room(view.port.bytes(), packet, self.limit) != Admission::In
    }
}

/// An equal part of the port's memory for each queue, and no more.
#[derive(Clone, Copy, Debug)]
pub struct Static {
    /// Each queue's part.
    pub limit: Bytes,
}

impl Buffer for Static {
    #[inline]
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        room(view.port.queue_bytes(queue), packet, self.limit)
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        room(view.port.queue_bytes(queue), packet, self.limit) != Admission::In
    }
}

/// α of a port's queues: one for all, or each one's.
pub trait Alpha {
    /// A queue's.
    fn of(&self, queue: QueueId) -> f64;
}

impl Alpha for f64 {
    #[inline]
    fn of(&self, _: QueueId) -> f64 {
        *self
    }
}

impl Alpha for Box<[f64]> {
    #[inline]
    fn of(&self, queue: QueueId) -> f64 {
        self[usize::from(queue)]
    }
}

/// Dynamic thresholds (Choudhury and Hahne, IEEE/ACM ToN 1998): a queue may hold as much as
/// α times what the switch's pool has left.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic<A = f64> {
    /// α.
    pub alpha: A,
}

impl<A: Alpha> Buffer for Dynamic<A> {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        dynamic_threshold(view, queue, packet, self.alpha.of(queue))
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        dynamic_threshold(view, queue, packet, self.alpha.of(queue)) != Admission::In
    }

    fn reads_pool(&self) -> bool {
        true
    }
}

/// In, if its queue then holds no more than α times what the pool has left.
fn dynamic_threshold(view: &View, queue: QueueId, packet: &Packet, alpha: f64) -> Admission {
    let free = view.pool.capacity.saturating_sub(view.pool.used);
    // Rounded down: a queue may not exceed the threshold by a fraction of a byte.
    let limit = (alpha * free.as_f64()) as u64;
    // A large α allows more than the memory has, so the free space is a limit of its own.
    if packet.len_bytes as u64 > free.get() {
        return Admission::Out(DropReason::Full);
    }
    room(view.port.queue_bytes(queue), packet, Bytes::new(limit))
}

#[inline]
fn room(used: Bytes, packet: &Packet, limit: Bytes) -> Admission {
    if used.get() + packet.len_bytes as u64 <= limit.get() {
        Admission::In
    } else {
        Admission::Out(DropReason::Full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, Pool, PortState};
    use switchbed_units::{Rate, Time, random::NoRandom};

    #[test]
    fn a_queue_may_hold_alpha_times_what_is_left() {
        let port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500)]);
        let arena = Arena::new();
        let admit = |alpha, used| {
            let pool = Pool { capacity: Bytes::new(100_000), used: Bytes::new(used) };
            let view = View::new(Time::ZERO, &port, &pool, &arena);
            let packet = Packet { len_bytes: 1500, ..Packet::default() };
            Dynamic { alpha }.admit(&view, 0, &packet, &mut NoRandom)
        };
        let full = Admission::Out(DropReason::Full);
        // An empty queue: α·(100,000 − used) against the 1500 bytes of the arrival.
        assert_eq!(admit(0.5, 97_000), Admission::In);
        assert_eq!(admit(0.5, 97_001), full);
        assert_eq!(admit(8.0, 98_500), Admission::In);
        assert_eq!(admit(8.0, 98_501), full);
    }
}
