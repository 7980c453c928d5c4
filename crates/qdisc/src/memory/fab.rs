//! FAB (Apostolaki, Vanbever, Ghobadi: FAB, Toward Flow-aware Buffer Sharing on Programmable Switches, 2019),
//! as ABM's authors have it (github.com/inet-tub/ns3-datacenter): dynamic thresholds with a larger α for
//! flows that have sent little yet.

use super::{Alpha, dynamic_threshold};
use crate::hooks::{Admission, Buffer};
use crate::port::packet::{FlowId, Packet, QueueId};
use crate::port::view::View;
use std::collections::HashMap;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

/// A flow that was silent for longer is new again.
const SILENCE: Span = Span::from_ms(5);

/// Which flows have sent little yet.
#[derive(Clone, Debug)]
pub struct Young {
    limit: Bytes,
    /// Bytes that each flow has sent, and the time of its last packet. Never iterated: its order is
    /// random.
    sent: HashMap<FlowId, (u64, Time)>,
    /// When those that are silent are forgotten next.
    sweep: Time,
}

impl Young {
    /// Makes the set of flows that have sent less than this.
    pub fn new(limit: Bytes) -> Young {
        Young { limit, sent: HashMap::new(), sweep: Time::ZERO + SILENCE }
    }

    /// Whether an arrival's flow is one, the arrival counted.
    pub(super) fn counts(&mut self, now: Time, packet: &Packet) -> bool {
        // Only to bound the memory: a flow's own silence is checked below, at its next packet.
        if now >= self.sweep {
            self.sent.retain(|_, (_, last)| now.since(*last) <= SILENCE);
            self.sweep = now + SILENCE;
        }
        let (sent, last) = self.sent.entry(packet.flow).or_insert((0, now));
        if now.since(*last) > SILENCE {
            *sent = 0;
        }
        *sent += u64::from(packet.len_bytes);
        *last = now;
        // Strictly under the limit: the packet that reaches it is the first of an old flow.
        *sent < self.limit.get()
    }
}

/// FAB.
#[derive(Clone, Debug)]
pub struct Fab<A = f64> {
    /// Flows with the larger α.
    pub young: Young,
    /// The larger α.
    pub alpha_young: f64,
    /// The others'.
    pub alpha: A,
}

impl<A: Alpha> Buffer for Fab<A> {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        let young = self.young.counts(view.now, packet);
        let alpha = if young { self.alpha_young } else { self.alpha.of(queue) };
        dynamic_threshold(view, queue, packet, alpha)
    }

    fn reads_pool(&self) -> bool {
        true
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
        let first = (0..20).take_while(|&n| young.counts(at(n), &packet)).count();
        assert_eq!(first, 14);
        assert!(!young.counts(at(5_014), &packet));
        assert!(young.counts(at(10_015), &packet));
    }
}
