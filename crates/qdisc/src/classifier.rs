//! Classifiers: which queue a packet joins.

use crate::packet::{Packet, QueueId};
use crate::seats::Classifier;
use crate::view::View;

/// Everything into queue 0.
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
        let mut h = packet.flow.0 ^ self.key;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        ((h as u64 * view.port.queues() as u64) >> 32) as QueueId
    }
}
