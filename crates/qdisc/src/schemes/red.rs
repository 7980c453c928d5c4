//! RED (Floyd and Jacobson: Random Early Detection Gateways, IEEE/ACM ToN 1993), a queue at
//! a time: marks with a probability that rises with the averaged queue length.
//!
//! avg ← (1 − w)·avg + w·q at each arrival, and (1 − w)^m·avg for the m packets that could
//! have been sent while the queue was empty. p_b = 0 up to Kmin, Pmax·(avg − Kmin)/(Kmax − Kmin)
//! up to Kmax, above it 1; gentle: from Pmax at Kmax to 1 at 2·Kmax (Floyd 2000).
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | kmin, kmax | bytes | – |
//! | pmax | – | 0.1 |
//! | weight w | – | 0.002; 1 is the instantaneous length |
//! | gentle | – | no |
//! | spacing | – | uniform: p = p_b / (1 − count·p_b), count packets since the last mark; geometric: p = p_b; wait: with the packet counted, 0 up to count·p_b = 1, then p_b / (2 − count·p_b) |
//! | mark_at | – | enqueue |
//! | rate | the line that kmin and kmax are for | any |
//! | curve | DCQCN's, by name | – |
//!
//! Departures from the paper: the packet in question is counted in q and the comparison with
//! Kmax is strict, so that Kmin = Kmax with weight 1 is step marking; a queue is empty from
//! the end of its last packet's transmission, in whole packets of one MTU at line rate,
//! though other queues may have had the line; at dequeue the average still follows the
//! arrivals, but for weight 1, which takes the length that the packet leaves.
//!
//! With a [`Share`] both thresholds follow the queue's share of the line and Pmax stays:
//! MQ-ECN's probabilistic form (NSDI 2016, section 3.4).

use super::{MarkAt, Share, Whole, power};
use crate::hooks::{Departure, Intent, Marker, ServiceEnd};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::{Unfit, at_defaults};
use switchbed_config::{params, words};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Rate, Span, Time};

params! {
    /// RED's parameters, as a scenario gives them.
    pub struct RedParams {
        /// Up to this average nothing is marked. Default: half of kmax.
        kmin: Option<Bytes> as Threshold;
        /// At this average packets are marked with probability pmax, above it all are. Without a curve it
        /// must be given.
        kmax: Option<Bytes> as Threshold;
        /// The line that kmin and kmax are for: on faster and slower ones they are in proportion. Default:
        /// they are the same on all.
        rate: Option<Rate>;
        /// Thresholds, pmax and rate as DCQCN has them, of the present length, each packet by itself. dcqcn: 5
        /// to 200 KB and 1 % at 40 Gbps (its paper, SIGCOMM 2015). hpcc: 100 to 400 KB and 20 % for each 25
        /// Gbps, as the HPCC authors have it. Default: as the others say.
        curve: Option<Curve>;
        /// The probability of a mark at kmax.
        pmax: f64 = "0.1" as FRACTION;
        /// Weight of the present length in the average; 1 is the present length itself.
        weight: f64 = "0.002" as PORTION;
        /// Above kmax the probability rises from pmax to 1 at twice kmax.
        gentle: bool = "false";
        /// How marks are spread. uniform: evenly (section 7). geometric: each packet by itself, as
        /// chips do. wait: evenly, 1/p to 2/p packets apart (the default of ns-2 and ns-3).
        spacing: Spacing = "uniform";
        /// Whether a packet is marked as it arrives or as it leaves.
        mark_at: MarkAt = "enqueue";
    }
}

impl RedParams {
    fn kmax(&self) -> Bytes {
        self.kmax.unwrap_or(Bytes::MAX)
    }

    /// Half of kmax unless given (as Wang et al. set RED).
    fn kmin(&self) -> Bytes {
        self.kmin.unwrap_or(Bytes::new(self.kmax().get() / 2))
    }

    /// Puts in what a curve says; what is written beside it may say the same.
    fn take(&mut self, curve: Curve) -> Result<(), Unfit> {
        let key = RedParams::KEY;
        let unfit = |key| Err(Unfit::new(key, format!("curve = \"{}\" has its own", curve.word())));
        let (kmin, kmax, pmax, rate) = match curve {
            // DCQCN's own (SIGCOMM 2015), for 40 Gbps.
            Curve::Dcqcn => (5_000, 200_000, 0.01, Rate::from_gbps(40)),
            // As HPCC's authors set DCQCN, for 25 Gbps.
            Curve::Hpcc => (100_000, 400_000, 0.2, Rate::from_gbps(25)),
        };
        let (kmin, kmax) = (Bytes::new(kmin), Bytes::new(kmax));
        let default: RedParams = at_defaults();
        if self.kmin.is_some_and(|given| given != kmin) {
            return unfit(key.kmin);
        }
        if self.kmax.is_some_and(|given| given != kmax) {
            return unfit(key.kmax);
        }
        if self.rate.is_some_and(|given| given != rate) {
            return unfit(key.rate);
        }
        if self.pmax != default.pmax && self.pmax != pmax {
            return unfit(key.pmax);
        }
        if self.weight != default.weight && self.weight != 1.0 {
            return unfit(key.weight);
        }
        (self.kmin, self.kmax, self.rate) = (Some(kmin), Some(kmax), Some(rate));
        (self.pmax, self.weight, self.spacing) = (pmax, 1.0, Spacing::Geometric);
        Ok(())
    }
}

words! {
    /// Published settings of RED for DCQCN.
    pub enum Curve {
        /// The paper's: Zhu et al., SIGCOMM 2015.
        Dcqcn = "dcqcn",
        /// The HPCC authors', by their simulator's settings for DCQCN.
        Hpcc = "hpcc",
    }
}

words! {
    /// Distribution of marks over the packets.
    pub enum Spacing {
        /// Evenly: the number of packets between marks is uniform (the paper's section 7).
        Uniform = "uniform",
        /// Each packet by itself.
        Geometric = "geometric",
        /// Evenly, none within 1/p packets of the last mark (`wait_` of ns-2's red.cc, `Wait` of ns-3's
        /// red-queue-disc.cc).
        Wait = "wait",
    }
}

impl Definition for Red {
    type Params = RedParams;

    const ABOUT: About = About {
        name: "red",
        paper: "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, \
                IEEE/ACM Transactions on Networking, 1993",
        summary: "Marks with a probability that rises with the queue's averaged length.",
        source: "sections 4 and 7; gentle: Floyd, Recommendation on using the gentle variant of \
                 RED, 2000",
        seats: marker("RED on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { tc: "red", wred: "ramp", ..Equivalents::NONE };

    fn complete(params: &mut RedParams, _: Bytes) -> Result<(), Unfit> {
        if let Some(curve) = params.curve {
            params.take(curve)?;
        }
        let Some(kmax) = params.kmax else {
            let why = "write kmax = \"30KB\", or a curve";
            return Err(Unfit::new(RedParams::KEY.kmax, why));
        };
        let kmin = params.kmin();
        if kmin > kmax {
            return Err(Unfit::new(
                RedParams::KEY.kmin,
                format!("it must not be over kmax, {kmax}"),
            ));
        }
        params.kmin = Some(kmin);
        Ok(())
    }

    fn build(params: &RedParams, site: Site) -> Built {
        let &RedParams { pmax, weight, gentle, spacing, mark_at: at, rate, .. } = params;
        let scale = rate.map_or(1.0, |rate| site.rate().as_bps() as f64 / rate.as_bps() as f64);
        let scaled = |bytes: Bytes| Bytes::new((bytes.as_f64() * scale).round() as u64);
        let (kmin, kmax) = (scaled(params.kmin()), scaled(params.kmax()));
        let packet_time = site.packet_time();
        let settings = RedSettings { kmin, kmax, pmax, weight, gentle, spacing, packet_time, at };
        let red = Red::new(settings, site.queues());
        site.mark(red)
    }
}

/// RED's settings on a line.
#[derive(Clone, Copy, Debug)]
pub struct RedSettings {
    /// Below it nothing is marked.
    pub kmin: Bytes,
    /// Above it everything is marked (not gentle).
    pub kmax: Bytes,
    /// Marking probability at Kmax, 0 to 1.
    pub pmax: f64,
    /// Weight of a new length in the average, in (0, 1].
    pub weight: f64,
    /// Whether the probability rises on to 1 at 2·Kmax.
    pub gentle: bool,
    /// Distribution of the gaps between marks.
    pub spacing: Spacing,
    /// The time of one MTU on the line, which counts idle time in packets.
    pub packet_time: Span,
    /// Time of marking: arrival or departure.
    pub at: MarkAt,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    average_bytes: f64,
    /// While the queue is empty: up to when the average has decayed.
    decayed: Time,
    /// Packets since the last mark, the next one not counted.
    count: u32,
}

/// RED over all queues of a port.
#[derive(Clone, Debug)]
pub struct Red<S = Whole> {
    settings: RedSettings,
    share: S,
    queues: Box<[Queue]>,
}

impl Red {
    /// Makes it for a port of `queues` queues.
    pub fn new(settings: RedSettings, queues: usize) -> Self {
        Red::scaled(settings, Whole, queues)
    }
}

impl<S: Share> Red<S> {
    /// The thresholds are those of a queue that has the line to itself; each queue has them
    /// in proportion to its share of the line.
    pub fn scaled(settings: RedSettings, share: S, queues: usize) -> Self {
        Red { settings, share, queues: vec![Queue::default(); queues].into() }
    }

    /// A queue's averaged length in bytes.
    pub fn average_bytes(&self, queue: QueueId) -> f64 {
        self.queues[queue as usize].average_bytes
    }

    /// The average with an arrival that finds `before` bytes in its queue.
    fn averaged(&self, view: &View, queue: QueueId, before: Bytes, len_bytes: u32) -> f64 {
        let RedSettings { weight, packet_time, .. } = self.settings;
        let Queue { mut average_bytes, decayed, .. } = self.queues[queue as usize];
        if before == Bytes::ZERO {
            // Section 4: the average decays as if so many packets had found the queue empty.
            let missed = view.now.since(decayed).as_ps() / packet_time.as_ps();
            average_bytes *= power(1.0 - weight, missed);
        }
        (1.0 - weight) * average_bytes + weight * (before.as_f64() + len_bytes as f64)
    }

    /// p_b. Thresholds that are divided by so much compare as a length that is multiplied.
    fn probability(&self, view: &View, queue: QueueId, average_bytes: f64) -> f64 {
        self.line(average_bytes * self.share.divisor(view, queue))
    }

    fn line(&self, average_bytes: f64) -> f64 {
        let RedSettings { kmin, kmax, pmax, gentle, .. } = self.settings;
        let (kmin, kmax) = (kmin.as_f64(), kmax.as_f64());
        // Both bounds are strict: Kmin = Kmax is a step.
        if average_bytes <= kmin {
            0.0
        } else if average_bytes <= kmax {
            pmax * (average_bytes - kmin) / (kmax - kmin)
        } else if gentle && average_bytes < 2.0 * kmax {
            // Gentle: from Kmax to twice Kmax up to 1, in place of the jump.
            pmax + (1.0 - pmax) * (average_bytes - kmax) / kmax
        } else {
            1.0
        }
    }

    /// Whether a packet for which the probability is `p` is marked.
    fn chosen(&self, queue: QueueId, p: f64, rng: &mut dyn Random) -> bool {
        // No draw where the outcome is certain: the stream must not depend on the settings of other
        // packets.
        if p <= 0.0 || p >= 1.0 {
            return p >= 1.0;
        }
        let count = self.queues[queue as usize].count as f64;
        let p = match self.settings.spacing {
            Spacing::Uniform if count * p < 1.0 => p / (1.0 - count * p),
            Spacing::Uniform => 1.0,
            Spacing::Geometric => p,
            Spacing::Wait => match (count + 1.0) * p {
                passed if passed < 1.0 => 0.0,
                passed if passed < 2.0 => p / (2.0 - passed),
                _ => 1.0,
            },
        };
        rng.unit() < p
    }

    /// Counts a packet that was decided on.
    fn decided(&mut self, queue: QueueId, p: f64, marked: bool) {
        let count = &mut self.queues[queue as usize].count;
        // A chance of 0 begins the count anew, as below Kmin in the paper.
        *count = if marked || p <= 0.0 { 0 } else { count.saturating_add(1) };
    }
}

impl<S: Share> Marker for Red<S> {
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        let before = view.port.queue_bytes(queue);
        let average = self.averaged(view, queue, before, packet.len_bytes);
        let marks = self.settings.at == MarkAt::Enqueue
            && self.chosen(queue, self.probability(view, queue, average), rng);
        if marks { Intent::Mark } else { Intent::Pass }
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        intent: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        let len_bytes = view.arena.packet(slot).len_bytes;
        // The packet is in the queue by now: without it, as `intend` saw it.
        let before = view.port.queue_bytes(queue).saturating_sub(Bytes::new(len_bytes as u64));
        let average = self.averaged(view, queue, before, len_bytes);
        self.queues[queue as usize].average_bytes = average;
        if self.settings.at == MarkAt::Enqueue {
            let p = self.probability(view, queue, average);
            self.decided(queue, p, intent == Intent::Mark);
        }
        self.share.stored(view);
        None
    }

    /// A packet that RED itself dropped, not being ECN-capable, counts like a marked one.
    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        if why == DropReason::NotEcnCapable {
            let before = view.port.queue_bytes(queue);
            let average = self.averaged(view, queue, before, packet.len_bytes);
            let state = &mut self.queues[queue as usize];
            // Not before now: an idle time that ends later has been counted.
            (state.average_bytes, state.decayed) = (average, state.decayed.max(view.now));
            let p = self.probability(view, queue, average);
            self.decided(queue, p, true);
        }
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        if view.port.queue_packets(queue) == 0 {
            self.queues[queue as usize].decayed = view.now;
        }
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        // The queue's last packet: it is idle once this has been sent.
        if view.port.queue_packets(queue) == 1 {
            let takes = view.port.rate().tx_time(view.arena.packet(slot).len_bytes);
            self.queues[queue as usize].decayed = view.now + takes;
        }
        let mut verdict = Departure::Pass;
        if self.settings.at == MarkAt::Dequeue {
            // The packet that leaves still counts in the view.
            let present = self.settings.weight == 1.0;
            let average = if present {
                view.port.queue_bytes(queue).as_f64()
            } else {
                self.queues[queue as usize].average_bytes
            };
            let p = self.probability(view, queue, average);
            let marked = self.chosen(queue, p, rng);
            self.decided(queue, p, marked);
            verdict = if marked { Departure::Mark } else { Departure::Pass };
        }
        self.share.departs(view, queue);
        verdict
    }

    fn service_ended(&mut self, _: &View, end: ServiceEnd) {
        self.share.service_ended(end);
    }

    fn period(&self) -> Option<Span> {
        self.share.period()
    }

    fn tick(&mut self, view: &View, n: u64) {
        self.share.tick(view, n);
    }

    fn threshold_bytes(&self, view: &View, queue: QueueId) -> Option<f64> {
        Some(self.settings.kmin.as_f64() / self.share.divisor(view, queue))
    }

    fn round_time(&self) -> Option<Span> {
        self.share.round_time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(spacing: Spacing, gentle: bool) -> Red {
        let settings = RedSettings {
            kmin: Bytes::new(10_000),
            kmax: Bytes::new(30_000),
            pmax: 0.1,
            weight: 0.25,
            gentle,
            spacing,
            packet_time: Span::from_ns(1200),
            at: MarkAt::Enqueue,
        };
        Red::new(settings, 1)
    }

    #[test]
    fn the_probability_is_the_published_line() {
        let red = red(Spacing::Geometric, true);
        for (average, p) in
            [(10_000.0, 0.0), (20_000.0, 0.05), (30_000.0, 0.1), (45_000.0, 0.55), (60_000.0, 1.0)]
        {
            assert!((red.line(average) - p).abs() < 1e-12, "{average}");
        }
        assert_eq!(super::tests::red(Spacing::Geometric, false).line(30_001.0), 1.0);
    }

    /// Random source that always draws the same number.
    struct Always(f64);
    impl Random for Always {
        fn next_u64(&mut self) -> u64 {
            (self.0 * (1u64 << 53) as f64) as u64 * (1 << 11)
        }
    }

    #[test]
    fn uniform_spacing_marks_after_at_most_one_over_p_packets() {
        let mut red = red(Spacing::Uniform, false);
        // p_b = 0.05: with the highest draw the mark comes once count reaches 1/p_b − 1.
        let mut unmarked = 0;
        while !red.chosen(0, 0.05, &mut Always(0.999_999)) {
            red.decided(0, 0.05, false);
            unmarked += 1;
        }
        assert_eq!(unmarked, 19);
        // At count 10, p = 0.05 / (1 − 10·0.05) = 0.1.
        red.queues[0].count = 10;
        assert!(!red.chosen(0, 0.05, &mut Always(0.1001)));
        assert!(red.chosen(0, 0.05, &mut Always(0.0999)));
    }

    #[test]
    fn waiting_marks_come_one_to_two_over_p_packets_apart() {
        // p_b = 1/16, exact in binary: none of 15 packets, the 16th with 1/16, the 17th with 1/15, the 24th
        // with 1/8, the 31st for sure.
        let mut red = red(Spacing::Wait, false);
        let p = 1.0 / 16.0;
        for (before, most) in
            [(0, 0.0), (14, 0.0), (15, p), (16, 1.0 / 15.0), (23, 0.125), (30, 1.0)]
        {
            red.queues[0].count = before;
            assert_eq!(red.chosen(0, p, &mut Always(most * 0.999)), most > 0.0, "{before}");
            assert_eq!(
                red.chosen(0, p, &mut Always((most + 1e-6).min(0.999))),
                most == 1.0,
                "{before}"
            );
        }
    }

    #[test]
    fn a_curve_gives_what_it_has_and_refuses_another() {
        let with = |curve| RedParams { curve: Some(curve), ..at_defaults() };
        let mut paper = with(Curve::Dcqcn);
        Red::complete(&mut paper, Bytes::MAX).expect("nothing stands against it");
        assert_eq!((paper.kmin(), paper.kmax()), (Bytes::new(5_000), Bytes::new(200_000)));
        assert_eq!((paper.pmax, paper.weight, paper.spacing), (0.01, 1.0, Spacing::Geometric));
        // Completed parameters may be read again.
        Red::complete(&mut paper, Bytes::MAX).expect("it is the same");
        for (key, params) in [
            ("kmax", RedParams { kmax: Some(Bytes::new(1)), ..with(Curve::Hpcc) }),
            ("weight", RedParams { weight: 0.5, ..with(Curve::Hpcc) }),
            ("pmax", RedParams { pmax: 0.01, ..with(Curve::Hpcc) }),
            ("rate", RedParams { rate: Some(Rate::from_gbps(1)), ..with(Curve::Hpcc) }),
            ("kmax", at_defaults()),
        ] {
            let mut params = params;
            let unfit = Red::complete(&mut params, Bytes::MAX).expect_err(key);
            assert_eq!(unfit.param, key);
        }
    }
}
