//! Classifiers: which queue a packet joins.

use crate::hooks::Classifier;
use crate::port::packet::{FlowId, Packet, QueueId};
use crate::port::view::View;

/// Puts every packet into queue 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Single;

impl Classifier for Single {
    #[inline]
    fn classify(&mut self, _view: &View, _packet: &Packet) -> QueueId {
        0
    }
}

/// By class (DSCP): class modulo the number of queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByClass;

impl Classifier for ByClass {
    #[inline]
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId {
        let queues = view.port.queues();
        let class = packet.class as usize;
        // Classes within range, the rule, save the division.
        (if class < queues { class } else { class % queues }) as QueueId
    }
}

/// By ingress port, modulo the number of queues: crosspoint queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByIngress;

impl Classifier for ByIngress {
    #[inline]
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId {
        (packet.ingress as usize % view.port.queues()) as QueueId
    }
}

/// By a hash of the flow (the 32-bit finalizer of MurmurHash3), as stochastic fairness
/// queueing spreads flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByHash {
    /// Changes which flows share a queue.
    pub key: u32,
}

impl Classifier for ByHash {
    #[inline]
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId {
        hashed(packet.flow, self.key, view.port.queues()) as QueueId
    }
}

/// One of `n` by a hash of the flow under a key.
#[inline]
pub(crate) fn hashed(flow: FlowId, key: u32, n: usize) -> usize {
    // XOR with a constant is a bijection: without a key the hash is `fmix32` itself.
    let mut h = flow.0 ^ key;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^= h >> 16;
    // The high half of h·n is uniform below n (Lemire's reduction): no division.
    ((h as u64 * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SwitchMemory;
    use crate::port::arena::Arena;
    use crate::port::view::PortState;
    use switchbed_units::{Bytes, Rate, Time};

    /// The queue that a packet of this flow, ingress port and class joins at a port of so
    /// many queues.
    fn queue(mut by: impl Classifier, queues: usize, numbers: (u32, u16, u8)) -> QueueId {
        let (flow, ingress, class) = numbers;
        let packet = Packet { flow: FlowId(flow), ingress, class, ..Packet::default() };
        let port = PortState::new(Rate::from_gbps(10), &vec![Bytes::new(1500); queues]);
        let (memory, arena) = (SwitchMemory::new(Bytes::MAX), Arena::new());
        by.classify(&View::new(Time::ZERO, &port, &memory, &arena), &packet)
    }

    #[test]
    fn each_looks_at_its_own_field() {
        for n in 0..20 {
            assert_eq!(queue(Single, 8, (n, n as u16, n as u8)), 0);
            assert_eq!(queue(ByClass, 8, (5, 7, n as u8)), n as u8 % 8);
            assert_eq!(queue(ByIngress, 8, (5, n as u16, 7)), n as u8 % 8);
        }
        assert_eq!(queue(ByIngress, 8, (0, 300, 0)), 4);
    }

    #[test]
    fn hashes_are_murmur3_s_finalizer() {
        // Of 1, 2 and 3: 0x514e28b7, 0x30f4c306, 0x85f0b427; the top bits choose.
        let at = |key, flow, queues| queue(ByHash { key }, queues, (flow, 9, 9));
        assert_eq!([1, 2, 3].map(|flow| at(0, flow, 64)), [0x51 >> 2, 0x30 >> 2, 0x85 >> 2]);
        assert_eq!([1, 2, 3].map(|flow| at(0, flow, 7)), [2, 1, 3]);
        assert_eq!([1, 2, 3].map(|flow| at(7, flow ^ 7, 64)), [20, 12, 33]);
    }

    #[test]
    fn hashes_spread_flows_evenly() {
        let mut flows = [0; 6];
        for flow in 0..60_000 {
            flows[queue(ByHash { key: 1 }, 6, (flow, 0, 0)) as usize] += 1;
        }
        assert!(flows.iter().all(|&n: &i32| (n - 10_000).abs() < 500), "{flows:?}");
    }
}
