//! CEDM, Combined Enqueue and Dequeue Marking (Shan and Ren: Improving ECN Marking Scheme
//! with Micro-burst Traffic in Data Center Networks, INFOCOM 2017), a queue at a time: marks
//! a packet as it arrives, and takes the mark back as it leaves if the queue that caused it
//! was a passing burst.
//!
//! Arrival (algorithm 1): mark if q ≥ K2, or if avg_s ≥ 0 and q ≥ K1. Departure (algorithm 2):
//! s = (q(t) − q(t')) / (t − t') since the departure before, avg_s ← (1 − w_s)·avg_s + w_s·s
//! (eq. 31); a mark goes if q < K2 and (q < K1 or avg_s < 0).
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | k1: where marking begins | bytes | the threshold of step marking |
//! | k2: where marks stay, whatever the slope | bytes | K1 + (N − 1)·B for N bursts of B |
//! | weight w_s of a new slope | – | 0.129, the most that bears 5 packets of decrease, N = 2 |
//! | header | bytes | – |
//!
//! Our reading: q is the queue as the operation leaves it, the arriving packet counted and
//! the departing one not. The first departure has none before it and gives no slope; a second
//! one at one instant updates nothing. A packet no longer than `header` carries no payload and is passed over,
//! slope included. Only this port's own mark is taken back.

use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, PS_PER_S, Time};

params! {
    /// CEDM's parameters, as a scenario gives them.
    pub struct CedmParams {
        /// From here packets are marked unless the queue shrinks. The paper's at 10 Gbps: 10pkt
        /// with DCTCP.
        k1: Bytes as Threshold;
        /// From here packets are marked and stay so. Default: k1 + (senders - 1) times burst.
        k2: Option<Bytes> as Threshold;
        /// Bytes that a sender sends back to back, for k2: with LSO min(64KB, a third of its
        /// window).
        burst: Option<Bytes>;
        /// Senders whose bursts meet, for k2 and w_s.
        senders: Option<u64> = "2" as count(2, 1_000_000);
        /// Weight of a new slope in the average. Default: 1 - senders^(-1/decrease), the most that
        /// keeps the slope positive over decrease; 0.129 with senders = 2.
        w_s: Option<f64> as PORTION;
        /// Packets that may leave with none arriving before the queue counts as shrinking, for w_s.
        decrease: Option<u64> = "5" as count(1, 1_000_000);
        /// The longest packet without payload, which is passed over: an ACK with three SACK blocks.
        header: Bytes = "66B";
    }
}

impl CedmParams {
    /// Section IV-C: K2 = K1 + (N − 1)·B, if there is a B.
    fn k2(&self) -> Option<Bytes> {
        let others = self.senders.unwrap_or(2) - 1;
        let above = |burst: Bytes| burst.get().saturating_mul(others);
        let k2 = |burst| Bytes::new(self.k1.get().saturating_add(above(burst)));
        self.k2.or(self.burst.map(k2))
    }

    /// Section IV-C: w_s = 1 − N^(−1/L).
    fn w_s(&self) -> f64 {
        let (senders, decrease) = (self.senders.unwrap_or(2), self.decrease.unwrap_or(5));
        // Solves (1 − w)^decrease = 1 / senders: 0.129 for 5 packets and 2 senders.
        self.w_s.unwrap_or_else(|| 1.0 - libm::pow(senders as f64, -1.0 / decrease as f64))
    }
}

impl Definition for Cedm {
    type Params = CedmParams;

    const ABOUT: About = About {
        name: "cedm",
        paper: "Shan and Ren, Improving ECN Marking Scheme with Micro-burst Traffic in Data \
                Center Networks, INFOCOM 2017",
        summary: "Marks packets as they arrive, and takes a mark back if the queue has fallen \
                  under the threshold, or falls, as the packet leaves.",
        source: "section IV, algorithms 1 and 2, equation 31",
        seats: marker("CEDM on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents =
        Equivalents { main: "k1", nearest: "per-queue", ..Equivalents::NONE };

    /// K2 and w_s where they are not given; what they follow from has then been said.
    fn complete(params: &mut CedmParams, limit: Bytes) -> Result<(), Unfit> {
        let k1 = params.k1;
        match (params.k2, params.burst) {
            (Some(k2), _) if k2 < k1 => {
                return Err(Unfit::new(
                    CedmParams::KEY.k2,
                    format!("it must not be under k1, {k1}"),
                ));
            }
            (Some(_), Some(_)) => {
                let why = "it is for k2, which is given: write one of them";
                return Err(Unfit::new(CedmParams::KEY.burst, why));
            }
            _ => {}
        }
        let k2 = params.k2().ok_or(Unfit::missing(CedmParams::KEY.k2))?;
        if params.burst.is_some() && k2 > limit {
            let why = format!(
                "k2 = k1 + (senders - 1) times burst comes to {k2}, over the buffer, {limit}, and \
                 so is never reached"
            );
            return Err(Unfit::new(CedmParams::KEY.burst, why));
        }
        (params.k2, params.w_s) = (Some(k2), Some(params.w_s()));
        (params.burst, params.senders, params.decrease) = (None, None, None);
        Ok(())
    }

    fn build(params: &CedmParams, site: Site) -> Built {
        let k2 = params.k2().unwrap_or(Bytes::new(u64::MAX));
        let (k1, weight, header) = (params.k1, params.w_s(), params.header);
        let cedm = Cedm::new(CedmSettings { k1, k2, weight, header }, site.queues());
        site.mark(cedm)
    }
}

/// Settings of CEDM, in bytes and times.
#[derive(Clone, Copy, Debug)]
pub struct CedmSettings {
    /// From here marks are given, if the queue does not shrink.
    pub k1: Bytes,
    /// From here marks are given and kept whatever the slope.
    pub k2: Bytes,
    /// Weight of a new slope in the average, in (0, 1].
    pub weight: f64,
    /// The longest packet without payload.
    pub header: Bytes,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// avg_s in bytes a picosecond.
    slope: f64,
    /// The last departure: when, and the bytes it left behind.
    last: Option<(Time, u64)>,
}

/// CEDM's marker over all queues of a port.
#[derive(Clone, Debug)]
pub struct Cedm {
    settings: CedmSettings,
    queues: Box<[Queue]>,
}

impl Cedm {
    /// Makes it for a port of `queues` queues.
    pub fn new(settings: CedmSettings, queues: usize) -> Self {
        Cedm { settings, queues: vec![Queue::default(); queues].into() }
    }

    /// The smoothed slope avg_s of a queue in bytes per second.
    pub fn slope(&self, queue: QueueId) -> f64 {
        self.queues[queue as usize].slope * PS_PER_S as f64
    }

    fn has_payload(&self, len_bytes: u32) -> bool {
        len_bytes as u64 > self.settings.header.get()
    }
}

impl Marker for Cedm {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        if !self.has_payload(packet.len_bytes) {
            return Intent::Pass;
        }
        let bytes = view.port.queue_bytes(queue) + Bytes::new(packet.len_bytes as u64);
        // A slope of 0 counts as growth: a queue that stands is to be marked.
        let grows = self.queues[queue as usize].slope >= 0.0;
        // From K2 on whatever the slope: the buffer is near its end.
        let marks = bytes >= self.settings.k2 || grows && bytes >= self.settings.k1;
        if marks { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        note: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let len_bytes = view.arena.packet(slot).len_bytes;
        if !self.has_payload(len_bytes) {
            return Departure::Pass;
        }
        // The packet that leaves is still counted by the view.
        let bytes = view.port.queue_bytes(queue).get() - len_bytes as u64;
        let CedmSettings { k1, k2, weight, .. } = self.settings;
        let Queue { slope, last } = &mut self.queues[queue as usize];
        match *last {
            // Two departures at one instant have no slope between them.
            Some((time, before)) if view.now > time => {
                let growth = bytes as f64 - before as f64;
                let sample = growth / (view.now - time).as_ps() as f64;
                *slope = (1.0 - weight) * *slope + weight * sample;
                *last = Some((view.now, bytes));
            }
            Some(_) => {}
            None => *last = Some((view.now, bytes)),
        }
        // The burst has passed: the mark would slow senders for nothing.
        let passing = bytes < k2.get() && (bytes < k1.get() || *slope < 0.0);
        // Only a mark of this port: CE from elsewhere is not ours to take away.
        if note == Note::Mark && passing { Departure::Unmark } else { Departure::Pass }
    }

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.settings.k1.as_f64())
    }
}
