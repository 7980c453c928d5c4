//! FAB (Apostolaki, Vanbever, Ghobadi: FAB, Toward Flow-aware Buffer Sharing on Programmable Switches, 2019),
//! as ABM's authors have it (github.com/inet-tub/ns3-datacenter): dynamic thresholds with a larger α for
//! flows that have sent little yet.

use super::dynamic::dynamic_threshold;
use super::of_switch::{At, Policy};
use crate::hooks::Admission;
use crate::port::packet::{FlowId, Mix, Packet, QueueId};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use switchbed_units::{Bytes, Span, Time};

/// A flow that was silent for longer is new again.
const SILENCE: Span = Span::from_ms(5);

/// Which flows have sent little yet.
#[derive(Clone, Debug)]
pub struct Young {
    limit: Bytes,
    /// Bytes that each flow has sent, and the time of its last packet. Never iterated: its order is
    /// random.
    sent: HashMap<FlowId, (u64, Time), BuildHasherDefault<Mix>>,
    /// When those that are silent are forgotten next.
    sweep: Time,
}

impl Young {
    /// Makes the set of flows that have sent less than this.
    pub fn new(limit: Bytes) -> Young {
        Young { limit, sent: HashMap::default(), sweep: Time::ZERO + SILENCE }
    }

    /// Whether an arrival's flow is one, the arrival counted.
    pub(super) fn is_young(&self, now: Time, packet: &Packet) -> bool {
        // Strictly under the limit: the packet that reaches it is the first of an old flow.
        self.before(now, packet.flow) + u64::from(packet.len_bytes) < self.limit.get()
    }

    /// Bytes that a flow had sent by now since its last silence.
    fn before(&self, now: Time, flow: FlowId) -> u64 {
        let known = self.sent.get(&flow).filter(|(_, last)| now.since(*last) <= SILENCE);
        known.map_or(0, |(sent, _)| *sent)
    }

    /// A packet was let in: its flow has sent it.
    pub(super) fn sent(&mut self, now: Time, packet: &Packet) {
        // Only to bound the memory: a flow's own silence is checked below, at its next packet.
        if now >= self.sweep {
            self.sent.retain(|_, (_, last)| now.since(*last) <= SILENCE);
            self.sweep = now + SILENCE;
        }
        let (sent, last) = self.sent.entry(packet.flow).or_insert((0, now));
        let before = if now.since(*last) <= SILENCE { *sent } else { 0 };
        (*sent, *last) = (before + u64::from(packet.len_bytes), now);
    }
}

/// FAB.
#[derive(Clone, Debug)]
pub struct Fab {
    /// Flows with the larger α, of each port.
    young: Box<[Young]>,
    alpha_young: f64,
    alphas: Box<[f64]>,
}

impl Fab {
    /// At a switch of so many ports whose queues have these α, and young flows a larger one.
    pub fn new(ports: usize, alphas: &[f64], young: Young, alpha_young: f64) -> Fab {
        Fab { young: vec![young; ports].into(), alpha_young, alphas: alphas.into() }
    }
}

impl Policy for Fab {
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        let young = self.young[at.number()].is_young(at.now, packet);
        let alpha = if young { self.alpha_young } else { self.alphas[usize::from(queue)] };
        dynamic_threshold(at, queue, packet, alpha)
    }

    fn stored(&mut self, at: &At, _: QueueId, packet: &Packet) {
        self.young[at.number()].sent(at.now, packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 14 full packets are 21,000 bytes, 15 are 22,500, which is not less.
    #[test]
    fn a_flow_is_young_for_fourteen_packets_and_after_a_silence() {
        let mut young = Young::new(Bytes::new(22_500));
        let packet = Packet { len_bytes: 1500, ..Packet::default() };
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        let mut stored = |us| {
            let is = young.is_young(at(us), &packet);
            young.sent(at(us), &packet);
            is
        };
        let first = (0..20).take_while(|&us| stored(us)).count();
        assert_eq!(first, 14);
        assert!(!stored(5_014));
        assert!(stored(10_015));
    }

    #[test]
    fn refused_arrivals_make_no_flow_older() {
        let mut young = Young::new(Bytes::new(3_000));
        let packet = Packet { len_bytes: 1500, ..Packet::default() };
        let now = Time::ZERO + Span::from_us(1);
        assert!((0..9).all(|_| young.is_young(now, &packet)));
        young.sent(now, &packet);
        assert!(!young.is_young(now, &packet));
    }
}
