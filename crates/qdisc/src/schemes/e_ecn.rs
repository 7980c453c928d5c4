//! E-ECN (Wang, Han, Zhuang, Xue, Sun, Lu: Early Marking for Controllable Maximum Queue
//! Length in Data Center Networks), a queue at a time: marks on the length that the queue will
//! have by the time the mark takes effect.
//!
//! rate = the queue's growth over a window of at least T_i; mark if q + rate·T_a ≥ K
//! (algorithm 1).
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | threshold K | bytes | 60 packets at 10 Gbps, 30 to 50 at 1 Gbps |
//! | t_i | time | 1.1 to 1.5 packets' times; the growth means nothing below one (eq. 3) |
//! | t_a: how far ahead it looks | time | 1 to 5 base RTTs |
//!
//! Our reading: the arriving packet is not counted; an arrival that finds no space updates
//! nothing (the algorithm returns before), whether or not it is ECN-capable; one that has space and is
//! dropped for not being ECN-capable does.

use super::growth::{Growth, GrowthParams};
use crate::hooks::{Intent, Marker};
use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

/// Paper of E-ECN and S-ECN.
pub(super) const PAPER: &str = "Wang, Han, Zhuang, Xue, Sun, Lu, Early Marking for Controllable \
                                Maximum Queue Length in Data Center Networks";

params! {
    /// E-ECN's parameters.
    pub struct EEcnParams {
        /// Queue length that the queue should not exceed. The paper's: 60pkt at 10 Gbps.
        threshold: Bytes as Threshold;
        /// The window of the growth.
        growth: GrowthParams;
        /// How far ahead it looks. Default: t_a_rtts times base_rtt; one of t_a and base_rtt must
        /// be given.
        t_a: Option<Span>;
        /// The round-trip time of the empty network, for t_a.
        base_rtt: Option<Span>;
        /// t_a in base RTTs. The paper's: 1 to 5.
        t_a_rtts: Option<f64> = "3" as number(0.001, 1000.0);
    }
}

impl EEcnParams {
    /// Section III-C: T_a in base RTTs, where it is not given as a time.
    fn t_a(&self) -> Option<Span> {
        let rtts = self.t_a_rtts.unwrap_or(3.0);
        let ahead = |rtt: Span| Span::from_secs_f64(rtt.as_secs_f64() * rtts);
        self.t_a.or(self.base_rtt.map(ahead))
    }
}

impl Definition for EEcn {
    type Params = EEcnParams;

    const ABOUT: About = About {
        name: "e-ecn",
        paper: PAPER,
        summary: "Marks when the queue's length, carried forward by its growth, reaches the \
                  threshold.",
        source: "section III-A, algorithm 1",
        seats: marker("E-ECN on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents =
        Equivalents { main: "threshold", nearest: "per-queue", ..Equivalents::NONE };

    fn complete(params: &mut EEcnParams, _: Bytes) -> Result<(), Unfit> {
        if params.t_a.is_some() && params.base_rtt.is_some() {
            let why = "it is for t_a, which is given: write one of them";
            return Err(Unfit::new(EEcnParams::KEY.base_rtt, why));
        }
        params.t_a = Some(params.t_a().ok_or(Unfit::missing(EEcnParams::KEY.t_a))?);
        (params.base_rtt, params.t_a_rtts) = (None, None);
        Ok(())
    }

    fn window(params: &EEcnParams) -> Option<Span> {
        params.growth.t_i
    }

    fn build(params: &EEcnParams, site: Site) -> Built {
        let (t_i, t_a) = (params.growth.t_i(&site), params.t_a().unwrap_or(Span::ZERO));
        let e_ecn = EEcn::new(params.threshold, t_i, t_a, site.queues());
        site.mark(e_ecn)
    }
}

/// E-ECN's marker over all queues of a port.
#[derive(Clone, Debug)]
pub struct EEcn {
    threshold_bytes: f64,
    /// Prediction time T_a in picoseconds.
    ahead_ps: f64,
    growth: Growth,
}

impl EEcn {
    /// Makes it for a port of `queues` queues.
    pub fn new(threshold: Bytes, t_i: Span, t_a: Span, queues: usize) -> Self {
        EEcn {
            threshold_bytes: threshold.as_f64(),
            ahead_ps: t_a.as_ps() as f64,
            growth: Growth::new(t_i, queues),
        }
    }
}

impl Marker for EEcn {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        let bytes = view.port.queue_bytes(queue).as_f64();
        // A falling queue predicts less than it has: growth may be below 0.
        let predicted = bytes + self.growth.found(view, queue) * self.ahead_ps;
        if predicted >= self.threshold_bytes { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        self.growth.stored(view, queue, slot);
        None
    }

    fn refused(&mut self, view: &View, queue: QueueId, _: &Packet, why: DropReason) {
        if why == DropReason::NotEcnCapable {
            self.growth.refused(view, queue);
        }
    }

    /// Algorithm 1 returns before it estimates anything.
    fn refused_at_full(&mut self, _: &View, _: QueueId, _: &Packet) {}

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.threshold_bytes)
    }
}
