//! Dynamic thresholds (Choudhury and Hahne, IEEE/ACM ToN 1998): a queue may hold as much as α times what the
//! switch's memory has left.

use super::of_switch::{At, Policy};
use super::space;
use crate::hooks::Admission;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::DropReason;
use switchbed_units::Bytes;

/// Dynamic thresholds.
#[derive(Clone, Debug)]
pub struct Dynamic {
    alphas: Box<[f64]>,
}

impl Dynamic {
    /// With these α, a queue of every port each.
    pub fn new(alphas: &[f64]) -> Dynamic {
        Dynamic { alphas: alphas.into() }
    }
}

impl Policy for Dynamic {
    fn hears(&self) -> bool {
        false
    }

    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        dynamic_threshold(at, queue, packet, self.alphas[usize::from(queue)])
    }

    fn full(&self, at: &At, queue: QueueId, packet: &Packet) -> bool {
        dynamic_threshold(at, queue, packet, self.alphas[usize::from(queue)]) != Admission::In
    }
}

/// In, if its queue then holds no more than α times what the memory has left.
#[inline]
pub(super) fn dynamic_threshold(at: &At, queue: QueueId, packet: &Packet, alpha: f64) -> Admission {
    let free = at.free();
    // Rounded down: a queue may not exceed the threshold by a fraction of a byte.
    let limit = (alpha * free.as_f64()) as u64;
    // A large α allows more than the memory has, so the free space is a limit of its own.
    if u64::from(packet.len_bytes) > free.get() {
        return Admission::Out(DropReason::Full);
    }
    space(at.port.queue_bytes(queue), packet, Bytes::new(limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortState;
    use switchbed_units::{Rate, Time};

    #[test]
    fn a_queue_may_hold_alpha_times_what_is_left() {
        let port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500)]);
        let admit = |alpha, used| {
            let (now, capacity) = (Time::ZERO, Bytes::new(100_000));
            let at = At { now, port: &port, capacity, used: Bytes::new(used) };
            let packet = Packet { len_bytes: 1500, ..Packet::default() };
            Dynamic::new(&[alpha]).admit(&at, 0, &packet)
        };
        let full = Admission::Out(DropReason::Full);
        // An empty queue: α·(100,000 − used) against the 1500 bytes of the arrival.
        assert_eq!(admit(0.5, 97_000), Admission::In);
        assert_eq!(admit(0.5, 97_001), full);
        assert_eq!(admit(8.0, 98_500), Admission::In);
        assert_eq!(admit(8.0, 98_501), full);
    }
}
