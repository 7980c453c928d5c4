//! MQ-ECN (Bai, Chen, Chen, Wu: NSDI 2016): per-queue step marking whose threshold follows
//! the queue's share of the link, read off the scheduler's round time.
//!
//! K_i = min(quantum_i / T_round, C) · RTT · λ (eq. 5); T_round ← β·T_round + (1 − β)·sample
//! whenever a queue ends its service (eq. 6), ← β·T_round for every T_idle the port is idle
//! (section 3.3.1). Strict-priority queues, which have no rounds, keep C · RTT · λ (section 3.4).
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | threshold: the standard one, C · RTT · λ | bytes | 65 packets at 10 Gbps |
//! | beta: weight of the old round time | – | 0.75 |
//! | t_idle | time | one MTU at line rate |
//! | mark_at | – | enqueue |
//!
//! The paper's other forms are [`super::Red`] with a [`super::Share`]: marks by probability
//! between two thresholds (section 3.4), an averaged queue length, shares by weight for WFQ
//! (section 3.4), updates by a clock (section 4.1).
//!
//! Where the paper leaves a choice: the decays of an idle period are applied together at
//! the arrival that ends it, one for each whole T_idle (as the authors' simulation does).

use super::{MarkAt, Rounds, Share};
use crate::arena::{Note, SlotId};
use crate::packet::{Packet, QueueId};
use crate::random::Random;
use crate::seats::{Departure, Intent, Marker, ServiceEnd};
use crate::units::{Bytes, Span};
use crate::view::View;

/// MQ-ECN.
#[derive(Clone, Debug)]
pub struct MqEcn {
    threshold_bytes: f64,
    rounds: Rounds,
    at: MarkAt,
}

impl MqEcn {
    /// `threshold` is C·RTT·λ.
    pub fn new(threshold: Bytes, rounds: Rounds, at: MarkAt) -> Self {
        MqEcn { threshold_bytes: threshold.as_f64(), rounds, at }
    }

    /// Whether a length is over K_i; without the division, which every packet would pay for,
    /// and without the decay where that changes nothing.
    #[inline]
    fn over(&self, view: &View, queue: QueueId, bytes: u64) -> bool {
        let bytes = bytes as i64 as f64;
        let most = self.threshold_bytes * view.port.quantum_ps(queue);
        bytes * self.rounds.round_ps_before_idling(view, queue) > most
            && bytes * self.rounds.round_ps(view, queue) > most
    }
}

impl Marker for MqEcn {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        if self.at != MarkAt::Enqueue {
            return Intent::Pass;
        }
        let bytes = view.port.queue_bytes(queue).get() + packet.len_bytes as u64;
        if self.over(view, queue, bytes) { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn stored(
        &mut self,
        view: &View,
        _: QueueId,
        _: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        self.rounds.stored(view);
        None
    }

    #[inline]
    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let bytes = view.port.queue_bytes(queue).get();
        if self.at == MarkAt::Dequeue && self.over(view, queue, bytes) {
            Departure::Mark
        } else {
            Departure::Pass
        }
    }

    #[inline]
    fn service_ended(&mut self, _: &View, end: ServiceEnd) {
        self.rounds.service_ended(end);
    }

    fn threshold_bytes(&self, view: &View, queue: QueueId) -> Option<f64> {
        Some(self.threshold_bytes / self.rounds.divisor(view, queue))
    }

    fn round_time(&self) -> Option<Span> {
        self.rounds.round_time()
    }
}
