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
//! Where the paper leaves a choice: the decays of an idle period are applied together at
//! the arrival that ends it, one for each whole T_idle (as the authors' simulation does).

use super::{MarkAt, power};
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
    beta: f64,
    t_idle: Span,
    at: MarkAt,
    priority_queues: QueueId,
    /// T_round in picoseconds.
    t_round_ps: f64,
}

impl MqEcn {
    /// `threshold` is C·RTT·λ; `beta` in [0, 1); `t_idle` over zero.
    pub fn new(threshold: Bytes, beta: f64, t_idle: Span, at: MarkAt) -> Self {
        let threshold_bytes = threshold.as_f64();
        MqEcn { threshold_bytes, beta, t_idle, at, priority_queues: 0, t_round_ps: 0.0 }
    }

    /// The first `n` queues of the port are strict-priority queues.
    pub fn with_priority_queues(self, n: QueueId) -> Self {
        MqEcn { priority_queues: n, ..self }
    }

    /// T_round as the idle period that ends now leaves it.
    #[inline]
    fn after_idling(&self, view: &View) -> f64 {
        let idle = view.idle();
        if idle < self.t_idle {
            return self.t_round_ps;
        }
        self.t_round_ps * power(self.beta, idle.as_ps() / self.t_idle.as_ps())
    }

    /// Equation 5, with K_standard = C·RTT·λ taken out: min(quantum / (C·T_round), 1)·K.
    fn threshold(&self, view: &View, queue: QueueId, t_round_ps: f64) -> f64 {
        let quantum_ps = view.port.quantum_ps(queue);
        if quantum_ps >= self.round_of(queue, t_round_ps) {
            self.threshold_bytes
        } else {
            self.threshold_bytes * quantum_ps / t_round_ps
        }
    }

    /// Whether a length is over the threshold; without the division, which every packet
    /// would pay for.
    #[inline]
    fn over(&self, view: &View, queue: QueueId, bytes: u64, t_round_ps: f64) -> bool {
        let quantum_ps = view.port.quantum_ps(queue);
        let round_ps = quantum_ps.max(self.round_of(queue, t_round_ps));
        bytes as i64 as f64 * round_ps > self.threshold_bytes * quantum_ps
    }

    /// The round as a queue has it: a strict-priority queue waits for none.
    #[inline]
    fn round_of(&self, queue: QueueId, t_round_ps: f64) -> f64 {
        if queue < self.priority_queues { 0.0 } else { t_round_ps }
    }
}

impl Marker for MqEcn {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        if self.at != MarkAt::Enqueue {
            return Intent::Pass;
        }
        let bytes = view.port.queue_bytes(queue).get() + packet.len_bytes as u64;
        if self.over(view, queue, bytes, self.after_idling(view)) {
            Intent::Mark
        } else {
            Intent::Pass
        }
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
        self.t_round_ps = self.after_idling(view);
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
        if self.at == MarkAt::Dequeue && self.over(view, queue, bytes, self.t_round_ps) {
            Departure::Mark
        } else {
            Departure::Pass
        }
    }

    #[inline]
    fn service_ended(&mut self, _: &View, end: ServiceEnd) {
        let sample = (end.ended - end.started).as_ps() as f64;
        self.t_round_ps = self.beta * self.t_round_ps + (1.0 - self.beta) * sample;
    }

    fn threshold_bytes(&self, view: &View, queue: QueueId) -> Option<f64> {
        Some(self.threshold(view, queue, self.t_round_ps))
    }

    fn round_time(&self) -> Option<Span> {
        Some(Span::from_ps(self.t_round_ps as u64))
    }
}
