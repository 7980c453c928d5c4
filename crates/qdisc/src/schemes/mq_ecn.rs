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

use super::{MarkAt, Red, RedSettings, Rounds, Share, Spacing, StandardThreshold, Timed, Weights};
use crate::hooks::{Departure, Intent, Marker, ServiceEnd};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use crate::schemes::definition::{About, Definition, Equivalents, Scope, marker};
use crate::schemes::site::{Built, Site};
use crate::switch::Discipline;
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

params! {
    /// MQ-ECN's parameters.
    pub struct MqEcnParams {
        /// Threshold of a queue that has the line to itself.
        standard: StandardThreshold;
        /// Weight of the old value when the round time is smoothed; below 1.
        beta: f64 = "0.75" as FRACTION;
        /// The round time decays by beta for every such time that the port is idle. Default: the
        /// time of one MTU at the port's rate.
        t_idle: Option<Span>;
        /// Source of a queue's share. rounds: the round time of wrr or dwrr. weights: the smoothed
        /// sum of the weights of the queues that are not empty, as an approximation for wfq.
        share: Estimate = "rounds";
        /// The round time, or the sum of weights, is updated once in such a time, as chips would,
        /// and t_idle does not apply. Default: with every sample.
        clock: Option<Span>;
        /// Makes marking probabilistic: above the threshold with a probability that rises to pmax
        /// here, above it always. Both follow the share. Default: the threshold.
        kmax: Option<Bytes> as Threshold;
        /// The probability of a mark at kmax. Default: 0.1.
        pmax: Option<f64> as FRACTION;
        /// Weight of the present queue length in the average that is compared; 1 is the present
        /// length itself.
        weight: f64 = "1" as PORTION;
        /// Whether a packet is marked as it arrives or as it leaves.
        mark_at: MarkAt = "enqueue";
    }
}

words! {
    /// Source of a queue's share.
    pub enum Estimate {
        /// The scheduler's round time.
        Rounds = "rounds",
        /// The weights of the queues that are not empty.
        Weights = "weights",
    }
}

impl Definition for MqEcn {
    type Params = MqEcnParams;

    const ABOUT: About = About {
        name: "mq-ecn",
        paper: "Bai et al., Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016",
        summary: "Marks when the packet's queue is longer than the threshold times the share of \
                  the line rate that the queue's quantum gets in a round.",
        source: "equations 5 and 6, sections 3.3.1, 3.4 and 4.1",
        seats: marker("step or RED on the queue, scaled by its share"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents {
        main: "threshold",
        nearest: "per-queue-min",
        no_wred: "its threshold follows the round time, which no table holds",
        ..Equivalents::NONE
    };

    const SCOPE: Scope = Scope::Port;

    fn complete(params: &mut MqEcnParams, _: Bytes) -> Result<(), Unfit> {
        let key = MqEcnParams::KEY;
        if params.beta == 1.0 {
            return Err(Unfit::new(
                key.beta,
                "the round time would never change: it must be below 1",
            ));
        }
        for (key, time) in [(key.t_idle, params.t_idle), (key.clock, params.clock)] {
            if time == Some(Span::ZERO) {
                return Err(Unfit::new(key, "it must be over 0"));
            }
        }
        if params.t_idle.is_some() && params.clock.is_some() {
            let why = "a clock sees by itself that the port is idle: leave it out";
            return Err(Unfit::new(key.t_idle, why));
        }
        match params.kmax {
            None if params.pmax.is_some() => {
                Err(Unfit::new(key.pmax, "it is the probability at kmax: write kmax too"))
            }
            Some(kmax) if params.standard.threshold > kmax => {
                let why = format!("it must not be over kmax, {kmax}");
                Err(Unfit::new(StandardThreshold::KEY.threshold, why))
            }
            Some(_) => {
                params.pmax.get_or_insert(0.1);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn stands_on(params: &MqEcnParams, discipline: Discipline) -> Result<(), Unfit> {
        let why = match (params.share, discipline) {
            (Estimate::Rounds, _) if discipline.has_rounds() => return Ok(()),
            (Estimate::Weights, _) if discipline.has_weights() => return Ok(()),
            (Estimate::Rounds, Discipline::Wfq) => {
                "it reads rounds, which wfq does not have: write scheme.params.share = \
                 \"weights\", or switch.discipline = \"dwrr\""
            }
            (Estimate::Rounds, _) => {
                "it reads rounds, which wrr and dwrr have: write switch.discipline = \"dwrr\""
            }
            (Estimate::Weights, _) => {
                let why =
                    "queues have weights with wfq, wrr and dwrr: write switch.discipline = \"wfq\"";
                return Err(Unfit::new(MqEcnParams::KEY.share, why));
            }
        };
        Err(Unfit::new("", why))
    }

    /// The paper's main form is compiled whole; the others are RED with a share of the line.
    fn build(params: &MqEcnParams, site: Site) -> Built {
        let MqEcnParams { beta, weight, kmax, mark_at, .. } = *params;
        let (kmin, strict) = (params.standard.threshold, site.strict());
        let t_idle = params.t_idle.unwrap_or(site.packet_time());
        let share: Box<dyn Share + Send> = match (params.clock, params.share) {
            (None, Estimate::Rounds) => {
                let rounds = Rounds::new(beta, t_idle, strict);
                // Step marking on the present length, the usual case, without RED's average.
                if weight == 1.0 && kmax.is_none() {
                    return site.mark(MqEcn::new(kmin, rounds, mark_at));
                }
                Box::new(rounds)
            }
            (None, Estimate::Weights) => Box::new(Weights::new(beta, t_idle, strict)),
            (Some(clock), Estimate::Rounds) => Box::new(Timed::rounds(beta, clock, strict)),
            (Some(clock), Estimate::Weights) => Box::new(Timed::weights(beta, clock, strict)),
        };
        let settings = RedSettings {
            kmin,
            kmax: kmax.unwrap_or(kmin),
            pmax: params.pmax.unwrap_or(1.0),
            weight,
            gentle: false,
            spacing: Spacing::Geometric,
            packet_time: site.packet_time(),
            at: mark_at,
        };
        let red: Box<dyn Marker + Send> = Box::new(Red::scaled(settings, share, site.queues()));
        site.mark(red)
    }
}

/// MQ-ECN's marker over all queues of a port.
#[derive(Clone, Debug)]
pub struct MqEcn {
    threshold_bytes: f64,
    rounds: Rounds,
    at: MarkAt,
}

impl MqEcn {
    /// Makes the marker; `threshold` is C·RTT·λ.
    pub fn new(threshold: Bytes, rounds: Rounds, at: MarkAt) -> Self {
        MqEcn { threshold_bytes: threshold.as_f64(), rounds, at }
    }

    /// Whether a length is over K_i; without the division, which every packet would pay for,
    /// and without the decay where that changes nothing.
    #[inline]
    fn over(&self, view: &View, queue: QueueId, bytes: u64) -> bool {
        // Through i64: from u64 the conversion takes several instructions.
        let bytes = bytes as i64 as f64;
        let most = self.threshold_bytes * view.port.quantum_ps(queue);
        // Multiplied out, without a division; idling only shortens the round, so that its decay,
        // which costs a power, is asked for last.
        bytes * self.rounds.round_ps_before_idling(view, queue) > most
            && bytes * self.rounds.round_ps(view, queue) > most
    }
}

/// Asserts that a packet touches three cache lines of a common port: memory limits the speed of
/// large fabrics.
const _: () = {
    use crate::{
        classifier::ByClass, hooks::Nobody, memory::Shared, port::view::PortState,
        schedulers::Dwrr, scheme::Seats,
    };
    assert!(
        size_of::<PortState>() + Seats::<ByClass, Shared, MqEcn, Dwrr, Nobody>::TOUCHED <= 3 * 64
    );
};

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
