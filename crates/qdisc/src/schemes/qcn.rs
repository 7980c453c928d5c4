//! QCN's congestion point (IEEE 802.1Qau; Alizadeh et al., Data Center Transport Mechanisms,
//! Allerton 2008), a queue at a time: tells the sources of sampled packets how congested it is.
//!
//! F_b = (Q − Q_eq) + w·(Q − Q_old) at each sample, quantized to 6 bits; a positive one is sent
//! to the source of the sampled packet. The more congested, the sooner the next sample.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | q_eq | bytes | 26 KB |
//! | w | – | 2 |
//! | period | bytes | by the top 3 bits of F_b: 150, 75, 50, 37.5, 30, 25, 21.5, 18.5 KB |
//! | jitter | – | ±15 % of the period |
//!
//! Our reading: Q counts the packet in question but not the one on the wire; full scale, 63,
//! stands for (2w + 1)·Q_eq, and what lies between two values becomes the one nearer to 0; Q_old
//! starts at 0; only packets that are stored count toward the period.

use crate::hooks::{Feedback, Notifier};
use crate::port::packet::{FlowId, Packet, QueueId};
use crate::port::view::View;
use crate::schemes::definition::{About, Definition, notifier};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// The greatest quantized feedback: 6 bits.
pub(super) const FULL_SCALE: i32 = 63;

/// Bytes from a sample to the next one by the top 3 bits of the quantized feedback.
const PERIODS: [f64; 8] =
    [150_000.0, 75_000.0, 50_000.0, 37_500.0, 30_000.0, 25_000.0, 21_500.0, 18_500.0];

params! {
    /// The congestion point's parameters, as a scenario gives them.
    pub struct QcnParams {
        /// The queue length that it steers to, Q_eq. The standard's; the task group's simulations
        /// have 33KB.
        q_eq: Bytes = "26KB" as Threshold;
        /// Weight of the queue's growth since the last sample.
        w: f64 = "2" as number(0.0, 1_000.0);
        /// How much a sampling period varies to either side, as a fraction of it.
        jitter: f64 = "0.15" as number(0.0, 0.99);
    }
}

impl QcnParams {
    /// The rule divides by Q_eq.
    pub(super) fn check(&self) -> Result<(), Unfit> {
        match self.q_eq {
            Bytes::ZERO => Err(Unfit::new(Self::KEY.q_eq, "it must be over 0, such as 26KB")),
            _ => Ok(()),
        }
    }

    pub(super) fn settings(&self) -> QcnSettings {
        QcnSettings { set_point: self.q_eq, weight: self.w, jitter: self.jitter }
    }
}

impl Definition for Qcn {
    type Params = QcnParams;

    const ABOUT: About = About {
        name: "qcn",
        paper: "IEEE 802.1Qau-2010; Alizadeh et al., Data Center Transport Mechanisms, Allerton \
                2008",
        summary: "Samples packets and tells their sources how far the queue is over its set \
                  point, and how fast it grows.",
        source: "section 3.1; AF-QCN, section II-A, equation 1",
        seats: notifier("QCN's congestion point on the queue"),
        needs_pool: false,
    };

    fn complete(params: &mut QcnParams, _: Bytes) -> Result<(), Unfit> {
        params.check()
    }

    fn build(params: &QcnParams, site: Site) -> Built {
        let qcn = Qcn::new(params.settings(), site.queues());
        site.notify(qcn)
    }
}

/// Settings of QCN's congestion point.
#[derive(Clone, Copy, Debug)]
pub struct QcnSettings {
    /// Q_eq: the queue length that it steers to. Over 0.
    pub set_point: Bytes,
    /// w: weight of the queue's growth since the last sample.
    pub weight: f64,
    /// How much a sampling period varies to either side, as a fraction of it.
    pub jitter: f64,
}

impl Default for QcnSettings {
    /// Returns the values of IEEE 802.1Qau.
    fn default() -> Self {
        QcnSettings { set_point: Bytes::new(26_000), weight: 2.0, jitter: 0.15 }
    }
}

/// State of a queue at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// F_b in steps of full scale, −63 to 63.
    pub(super) quantized: i32,
    /// Offset from the set point: Q − Q_eq.
    pub(super) offset_bytes: i32,
    /// Growth since the last sample: Q − Q_old.
    pub(super) delta_bytes: i32,
}

impl Sample {
    pub(super) fn feedback(&self, flow: FlowId, quantized: u8) -> Feedback {
        let Sample { offset_bytes, delta_bytes, .. } = *self;
        Feedback { flow, quantized, offset_bytes, delta_bytes }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// Queue length at the last sample, Q_old.
    old_bytes: u64,
    /// Bytes still to come until the next sample; `None` before the first packet.
    remaining: Option<f64>,
}

/// Samples every queue of a port.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    settings: QcnSettings,
    queues: Box<[Queue]>,
}

impl Sampler {
    pub(super) fn new(settings: QcnSettings, queues: usize) -> Self {
        Sampler { settings, queues: vec![Queue::default(); queues].into() }
    }

    /// Counts a packet that was stored (the view counts it); a sample if one is due.
    #[inline]
    pub(super) fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Option<Sample> {
        let state = &mut self.queues[queue as usize];
        let remaining = match state.remaining {
            Some(remaining) => remaining,
            // The first sample comes as if there were no congestion.
            None => period(&self.settings, 0, rng),
        } - packet.len_bytes as f64;
        state.remaining = Some(remaining);
        // Counted in bytes: senders are sampled in proportion to what they send.
        if remaining > 0.0 {
            return None;
        }
        let length = view.port.queue_bytes(queue).get();
        let sample = self.settings.sample(length, state.old_bytes);
        *state = Queue {
            old_bytes: length,
            remaining: Some(period(&self.settings, sample.quantized, rng)),
        };
        Some(sample)
    }
}

/// Bytes until the next sample.
fn period(settings: &QcnSettings, quantized: i32, rng: &mut dyn Random) -> f64 {
    // The top 3 of the 6 bits; a negative feedback has the longest period.
    let base = PERIODS[quantized.max(0) as usize >> 3];
    if settings.jitter == 0.0 {
        base
    } else {
        base * (1.0 + settings.jitter * (2.0 * rng.unit() - 1.0))
    }
}

impl QcnSettings {
    /// F_b of a queue of so many bytes that was `old_bytes` long at the last sample.
    fn sample(&self, bytes: u64, old_bytes: u64) -> Sample {
        let offset = bytes as f64 - self.set_point.as_f64();
        let delta = bytes as f64 - old_bytes as f64;
        // The largest feedback there can be: a queue that grew from 0 to twice its set point.
        let full = (2.0 * self.weight + 1.0) * self.set_point.as_f64();
        let measure = (offset + self.weight * delta) / full;
        Sample {
            quantized: (measure.clamp(-1.0, 1.0) * FULL_SCALE as f64) as i32,
            offset_bytes: offset as i32,
            delta_bytes: delta as i32,
        }
    }
}

/// Congestion point of QCN over all queues.
#[derive(Clone, Debug)]
pub struct Qcn {
    sampler: Sampler,
}

impl Qcn {
    /// Makes it for a port of `queues` queues.
    pub fn new(settings: QcnSettings, queues: usize) -> Self {
        Qcn { sampler: Sampler::new(settings, queues) }
    }
}

impl Notifier for Qcn {
    #[inline]
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Option<Feedback> {
        let sample = self.sampler.stored(view, queue, packet, rng)?;
        let quantized = u8::try_from(sample.quantized).ok().filter(|&q| q > 0)?;
        Some(sample.feedback(packet.flow, quantized))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_b_is_quantized_toward_zero_and_clamped_to_six_bits() {
        let settings = QcnSettings::default();
        // Full scale is 5 · 26,000 = 130,000 bytes; a step 2063.49.
        for (bytes, old, quantized) in [
            (26_000, 26_000, 0),
            (27_000, 26_000, 1),  // 1000 + 2·1000 = 3000: 1.45
            (28_063, 28_063, 0),  // 2063: 0.9998
            (28_064, 28_064, 1),  // 2064: 1.0002
            (66_000, 21_000, 63), // 40,000 + 90,000 = 130,000
            (65_999, 21_000, 62),
            (150_000, 0, 63),      // 424,000: clamped
            (20_000, 30_000, -12), // −6000 − 20,000 = −26,000: −12.6
            (0, 150_000, -63),
        ] {
            assert_eq!(settings.sample(bytes, old).quantized, quantized, "{bytes} after {old}");
        }
        let sample = settings.sample(27_000, 29_500);
        assert_eq!((sample.offset_bytes, sample.delta_bytes), (1_000, -2_500));
    }

    /// Draws that are all the same.
    struct Always(u64);
    impl Random for Always {
        fn next_u64(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_period_follows_the_top_three_bits_and_the_draw() {
        let exact = QcnSettings { jitter: 0.0, ..QcnSettings::default() };
        let mut none = switchbed_units::random::NoRandom;
        for (quantized, bytes) in [
            (-63, 150e3),
            (0, 150e3),
            (7, 150e3),
            (8, 75e3),
            (31, 37.5e3),
            (32, 30e3),
            (63, 18.5e3),
        ] {
            assert_eq!(period(&exact, quantized, &mut none), bytes, "{quantized}");
        }
        let settings = QcnSettings::default();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(close(period(&settings, 8, &mut Always(0)), 0.85 * 75e3));
        assert!(close(period(&settings, 8, &mut Always(1 << 63)), 75e3));
        assert!(close(period(&settings, 8, &mut Always(u64::MAX)), 1.15 * 75e3));
    }
}
