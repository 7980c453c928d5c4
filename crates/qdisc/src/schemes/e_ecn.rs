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
//!
//! A queue's growth over a window, as E-ECN's algorithm 1 (lines 5–9) estimates it: at the
//! first arrival that comes T_i or more after the last estimate, the change since then over
//! the time since then. The arriving packet is not counted.

use crate::hooks::{Intent, Marker};
use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

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

params! {
    /// The window over which growth is taken.
    pub struct GrowthParams {
        /// The window over which the queue's growth is taken. Default: t_i_packets packets' times.
        /// Under one the growth means nothing (equation 3).
        t_i: Option<Span>;
        /// t_i in times of one MTU at the port's rate. The paper's: 1.1 to 1.5.
        t_i_packets: f64 = "1.25" as number(0.001, 1_000_000.0);
    }
}

impl GrowthParams {
    /// Window T_i on this line.
    pub(super) fn t_i(&self, site: &Site) -> Span {
        let packets = || site.packet_time().as_secs_f64() * self.t_i_packets;
        self.t_i.unwrap_or_else(|| Span::from_secs_f64(packets()))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// When the growth was estimated last, and the queue in bytes then.
    at: Time,
    bytes: u64,
    /// Growth in bytes a picosecond.
    rate: f64,
}

/// Growth estimates of all queues.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    window: Span,
    queues: Box<[Queue]>,
}

impl Growth {
    /// Makes estimates over `window`, T_i.
    pub(super) fn new(window: Span, queues: usize) -> Self {
        Growth { window, queues: vec![Queue::default(); queues].into() }
    }

    /// Computes a queue's estimate after an arrival that finds `bytes` in it.
    #[inline]
    fn updated(&self, now: Time, queue: QueueId, bytes: u64) -> Queue {
        let last = self.queues[queue as usize];
        let elapsed = now - last.at;
        // With a window of 0 simultaneous arrivals would divide by zero.
        if elapsed < self.window || elapsed == Span::ZERO {
            return last;
        }
        let rate = (bytes as f64 - last.bytes as f64) / elapsed.as_ps() as f64;
        Queue { at: now, bytes, rate }
    }

    /// The growth that an arrival finds, in bytes a picosecond (not counted by the view).
    #[inline]
    pub(super) fn found(&self, view: &View, queue: QueueId) -> f64 {
        self.updated(view.now, queue, view.port.queue_bytes(queue).get()).rate
    }

    /// An arrival was decided on and stored (counted by the view).
    #[inline]
    pub(super) fn stored(&mut self, view: &View, queue: QueueId, slot: SlotId) {
        let len = view.arena.packet(slot).len_bytes as u64;
        let found = view.port.queue_bytes(queue).get() - len;
        self.queues[queue as usize] = self.updated(view.now, queue, found);
    }

    /// An arrival was decided on, and dropped for not being ECN-capable.
    pub(super) fn refused(&mut self, view: &View, queue: QueueId) {
        let found = view.port.queue_bytes(queue).get();
        self.queues[queue as usize] = self.updated(view.now, queue, found);
    }
}
