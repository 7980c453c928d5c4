//! Approximate Fair Dropping (Pan, Breslau, Prabhakar, Shenker: Approximate Fairness through
//! Differential Dropping, CCR 2003), as Kabbani et al. (AF-QCN, 2010, section II-B) state it, a
//! queue at a time: drops, or marks, packets of flows (or classes) that send over the fair share.
//!
//! D_i = (1 − M_fair_i / M_i)₊ (equation 3), where M_i is what i sent in the last interval T_s
//! and M_fair ← M_fair − a1·(Q − Q_ref) + a2·(Q_old − Q_ref) at its end (equation 2).
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | q_ref | bytes | – |
//! | t_s | time | 1 ms |
//! | a1, a2 | – | 1.8, 1.7, as in AFD's own paper |
//! | divided | – | true: the step of equation 2 is divided (below); false: as printed |
//! | beta | – | 1: the last interval alone; less smooths as AF-QCN's equation 5 does |
//! | weights, caps | –, rate | 1, none; a class's, and its flows' |
//! | mark_at | – | none: drops; with `marks`, ECN-capable packets are marked |
//!
//! Departures from the equations: the step of equation 2 is divided by the weights of the
//! parties that sent lately, unless `divided` is false. N parties held to M_fair move the queue by N·M_fair an interval, so
//! that the loop's characteristic polynomial is z² − (2 − N·a1)·z + (1 − N·a2): as printed it is
//! stable for N·a2 < 2 and N·(a1 + a2) < 4 alone, which is one party with the default gains;
//! divided, for any number. M_fair stays between 0 and what the line carries in T_s.

use crate::hooks::{Intent, Marker};
use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, marker};
use crate::schemes::fairness::{Arrivals, Party, Share, ShareParams, Shares};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

params! {
    /// AFD's parameters, as a scenario gives them.
    pub struct AfdParams {
        /// The queue length that it steers to, Q_ref.
        q_ref: Bytes as Threshold;
        /// The interval over which arrivals are measured, T_s.
        t_s: Span = "1ms";
        /// Weight of the present length's distance from q_ref.
        a1: f64 = "1.8" as number(0.0, 1_000.0);
        /// Weight of the distance an interval ago.
        a2: f64 = "1.7" as number(0.0, 1_000.0);
        /// Equation 2's step is divided by the weights of those that sent lately; false: as printed.
        divided: bool = "true";
        /// Weight of a new interval in the smoothed arrivals; 1: it alone.
        beta: f64 = "1" as PORTION;
        /// Parties that share, with their weights and caps.
        sharing: ShareParams;
        /// ECN-capable packets are marked instead of dropped.
        ecn: bool = "false";
    }
}

impl Definition for Afd {
    type Params = AfdParams;

    const ABOUT: About = About {
        name: "afd",
        paper: "Pan, Breslau, Prabhakar and Shenker, Approximate Fairness through Differential \
                Dropping, CCR 2003",
        summary: "Drops or marks packets of flows that send over the fair share, which follows \
                  the queue's length.",
        source: "AF-QCN, section II-B, equations 2 and 3",
        seats: marker("AFD on the queue"),
        needs_pool: false,
    };

    fn complete(params: &mut AfdParams, _: Bytes) -> Result<(), Unfit> {
        match params.t_s {
            Span::ZERO => Err(Unfit::new(AfdParams::KEY.t_s, "it must be over 0, such as 1ms")),
            _ => Ok(()),
        }
    }

    fn shares(params: &AfdParams) -> Option<(Party, Shares)> {
        Some((params.sharing.by, params.sharing.shares()))
    }

    fn build(params: &AfdParams, site: Site) -> Built {
        let settings = AfdSettings {
            reference: params.q_ref,
            interval: params.t_s,
            a1: params.a1,
            a2: params.a2,
            divided: params.divided,
            beta: params.beta,
            party: params.sharing.by,
            shares: params.sharing.shares(),
            marks: params.ecn,
        };
        let afd = Afd::new(settings, site.queues());
        site.mark(afd)
    }
}

/// Settings of AFD.
#[derive(Clone, Debug)]
pub struct AfdSettings {
    /// Q_ref: the queue length that it steers to.
    pub reference: Bytes,
    /// T_s: the interval over which arrivals are measured.
    pub interval: Span,
    /// a1: weight of the present length in equation 2.
    pub a1: f64,
    /// a2: weight of the length an interval ago.
    pub a2: f64,
    /// Divides equation 2's step by the weights of the parties that sent lately.
    pub divided: bool,
    /// β: a new interval's weight in the smoothed arrivals, in (0, 1].
    pub beta: f64,
    /// Granularity of a party: a flow or a class.
    pub party: Party,
    /// Weights and caps by class.
    pub shares: Shares,
    /// Marks ECN-capable packets instead of dropping them.
    pub marks: bool,
}

#[derive(Clone)]
struct Queue {
    arrivals: Arrivals,
    /// M_fair of weight 1 in bytes an interval.
    fair_bytes: f64,
    old_bytes: u64,
}

/// Approximate fair dropping, a queue at a time.
#[derive(Clone)]
pub struct Afd {
    settings: AfdSettings,
    queues: Box<[Queue]>,
}

impl Afd {
    /// Makes it for a port of `queues` queues.
    pub fn new(settings: AfdSettings, queues: usize) -> Self {
        let arrivals = Arrivals::new(settings.beta, 0.0);
        // Before the first interval ends nobody has sent more than its share.
        let queue = Queue { arrivals, fair_bytes: f64::INFINITY, old_bytes: 0 };
        Afd { queues: vec![queue; queues].into(), settings }
    }

    /// M_fair of a party of weight 1 in bytes an interval; infinite before the first ends.
    pub fn fair_bytes(&self, queue: QueueId) -> f64 {
        self.queues[queue as usize].fair_bytes
    }

    /// Drop probability D_i of the packet's party.
    fn probability(&self, queue: QueueId, packet: &Packet) -> f64 {
        let Queue { arrivals, fair_bytes, .. } = &self.queues[queue as usize];
        let Some(bytes) = arrivals.active_bytes(self.settings.party.of(packet)) else { return 0.0 };
        let (weight, cap) = self.settings.shares.over(packet.class, self.settings.interval);
        // Under its share a party has a chance of 0 or less: nothing of it is dropped.
        1.0 - cap.min(fair_bytes * weight) / bytes
    }

    #[inline]
    fn count(&mut self, queue: QueueId, packet: &Packet) {
        let key = self.settings.party.of(packet);
        self.queues[queue as usize].arrivals.count(key, packet.class, packet.len_bytes);
    }
}

impl Marker for Afd {
    fn intend(&self, _: &View, queue: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        let p = self.probability(queue, packet);
        // No draw where the outcome is certain.
        if p <= 0.0 || rng.unit() >= p {
            Intent::Pass
        } else if self.settings.marks {
            Intent::Mark
        } else {
            Intent::Drop
        }
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        self.count(queue, view.arena.packet(slot));
        None
    }

    fn refused(&mut self, _: &View, queue: QueueId, packet: &Packet, _: DropReason) {
        self.count(queue, packet);
    }

    fn period(&self) -> Option<Span> {
        Some(self.settings.interval)
    }

    fn tick(&mut self, view: &View, n: u64) {
        let AfdSettings { reference, interval, a1, a2, divided, ref shares, .. } = self.settings;
        let line_bytes = view.port.rate().as_bps() as f64 / 8.0 * interval.as_secs_f64();
        for (id, queue) in (0..).zip(&mut self.queues) {
            let length = view.port.queue_bytes(id).get();
            for _ in 0..n {
                queue.arrivals.end(1);
                let weights = queue.arrivals.active().map(|(class, _)| shares.of(class).weight);
                let parties: f64 = weights.sum::<f64>().max(1.0);
                let off = |bytes: u64| bytes as f64 - reference.as_f64();
                // Equation 2 with its signs turned: a queue over its reference lowers the share.
                let step = a2 * off(queue.old_bytes) - a1 * off(length);
                let step = if divided { step / parties } else { step };
                // At the end of the first interval M_fair is still infinite: it starts from an
                // equal part of the line.
                let before = queue
                    .fair_bytes
                    .min(line_bytes / if queue.fair_bytes.is_finite() { 1.0 } else { parties });
                let fair = (before + step).clamp(0.0, line_bytes);
                // Without arrivals and with a fair share at its bound the steps repeat themselves.
                let settled = (fair, length) == (queue.fair_bytes, queue.old_bytes);
                (queue.fair_bytes, queue.old_bytes) = (fair, length);
                if settled && queue.arrivals.active().next().is_none() {
                    break;
                }
            }
        }
    }

    fn set_share(&mut self, class: u8, share: Share) {
        self.settings.shares.set(class, share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SwitchMemory;
    use crate::port::view::PortState;
    use crate::{Arena, FlowId};
    use switchbed_units::{Rate, Time};

    /// M_fair at the ends of intervals of 1 ms at 8 Gbps, in each of which every party sends a packet,
    /// with the queue as long as given at its end.
    fn fair_bytes(divided: bool, parties: u32, lengths: &[u64]) -> Vec<f64> {
        let mut afd = Afd::new(
            AfdSettings {
                reference: Bytes::new(10_000),
                interval: Span::from_ms(1),
                a1: 1.8,
                a2: 1.7,
                divided,
                beta: 1.0,
                party: Party::Flow,
                shares: Shares::default(),
                marks: false,
            },
            1,
        );
        let mut port = PortState::new(Rate::from_gbps(8), &[Bytes::new(1500)]);
        let (memory, arena) = (SwitchMemory::new(Bytes::MAX), Arena::new());
        let ends = (1..).map(|n| Time::ZERO + Span::from_ms(n));
        let interval = |(&length, end)| {
            port.queues[0].bytes = length;
            let view = View::new(end, &port, &memory, &arena);
            for flow in (0..parties).map(FlowId) {
                let packet = Packet { flow, len_bytes: 1_000, ..Packet::default() };
                afd.refused(&view, 0, &packet, DropReason::Full);
            }
            afd.tick(&view, 1);
            afd.fair_bytes(0)
        };
        lengths.iter().zip(ends).map(interval).collect()
    }

    /// By hand: M_fair begins at an equal share of the line's 1 MB, and Q_old at 0; Q_ref is 10 KB.
    #[test]
    fn equation_2_moves_m_fair_as_printed_or_by_a_part_for_each_party() {
        // −1.8·10,000 + 1.7·(−10,000), −1.8·4,000 + 1.7·10,000, 1.7·4,000.
        let steps = [-35_000.0, 9_800.0, 6_800.0];
        for (divided, parties) in [(false, 1), (true, 1), (false, 4), (true, 4)] {
            let mut wanted = 1e6 / f64::from(parties);
            let got = fair_bytes(divided, parties, &[20_000, 14_000, 10_000]);
            for (step, got) in steps.iter().zip(got) {
                wanted += step / if divided { f64::from(parties) } else { 1.0 };
                assert!((got - wanted).abs() < 1e-6, "{got} for {wanted}: {divided}, {parties}");
            }
        }
    }

    #[test]
    fn m_fair_as_printed_stays_between_nothing_and_the_line() {
        assert_eq!(fair_bytes(false, 4, &[200_000, 200_000]), [0.0, 0.0]);
        assert_eq!(fair_bytes(false, 1, &[0, 0]).last(), Some(&1e6));
    }
}
