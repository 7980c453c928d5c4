//! AF-QCN (Kabbani, Alizadeh, Yasuda, Pan, Prabhakar: AF-QCN, Hot Interconnects 2010), a queue
//! at a time: QCN's congestion point whose feedback is the stronger, the more a flow (or class)
//! has over its weighted share.
//!
//! F_b = (1 − α)·F_b-QCN + α·F_b-AF (equation 4), F_b-AF = ⌊64·(1 − M_fair_i / M_i)₊⌋ (equation
//! 7), M_i smoothed over intervals of T_s (equation 5), M_fair_i the weighted max-min share of
//! what the active ones send together, under their caps (equation 8, remark 4).
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | alpha | – | 0.125 |
//! | t_s | time | 1 ms |
//! | beta | – | 0.125 |
//! | active_threshold | bytes an interval | 20 KB |
//! | weights W_i, caps Max_i | –, rate | 1, none; a class's, and its flows' |
//! | signed | – | yes: F_b-QCN may be negative in equation 4; else it is at least 0 |
//! | rounding | – | nearest |
//!
//! Our reading: a packet counts as it arrives, whether or not it finds space; F_b-QCN is
//! quantized before it enters equation 4, and alone decides on the sampling period.

use super::qcn::{FULL_SCALE, QcnParams, QcnSettings, Sampler};
use crate::hooks::{Feedback, Notifier};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, notifier};
use crate::schemes::fairness::{Arrivals, Party, Share, ShareParams, Shares, water_level};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

params! {
    /// AF-QCN's parameters, as a scenario gives them.
    pub struct AfQcnParams {
        /// QCN's.
        qcn: QcnParams;
        /// The fairness controller's part in the message; the paper keeps to 0.25 at most.
        alpha: f64 = "0.125" as FRACTION;
        /// The interval over which arrivals are measured, T_s.
        t_s: Span = "1ms";
        /// Weight of a new interval in the smoothed arrivals.
        beta: f64 = "0.125" as PORTION;
        /// Only who sends more than this in an interval has a share.
        active_threshold: Bytes = "20KB";
        /// Parties that share, with their weights and caps.
        sharing: ShareParams;
        /// QCN's measure may be negative in equation 4, and then outweigh unfairness; otherwise it
        /// is at least 0.
        signed: bool = "true";
        /// How equation 4's value becomes a whole number. down: QCN's 1 alone vanishes.
        rounding: Rounding = "nearest";
    }
}

words! {
    /// How equation 4's value becomes a whole number.
    pub enum Rounding {
        /// To the nearest; a half upwards.
        Nearest = "nearest",
        /// Down: QCN's feedback of 1 alone vanishes.
        Down = "down",
        /// Up.
        Up = "up",
    }
}

impl Definition for AfQcn {
    type Params = AfQcnParams;

    const ABOUT: About = About {
        name: "af-qcn",
        paper: "Kabbani, Alizadeh, Yasuda, Pan and Prabhakar, AF-QCN: Approximate Fairness with \
                Quantized Congestion Notification for Multi-tenanted Data Centers, Hot \
                Interconnects 2010",
        summary: "QCN whose message is the stronger, the more the packet's flow has over its \
                  weighted max-min share.",
        source: "section III, equations 4 to 8",
        seats: notifier("AF-QCN's congestion point on the queue"),
        needs_pool: false,
    };

    fn complete(params: &mut AfQcnParams, _: Bytes) -> Result<(), Unfit> {
        params.qcn.check()?;
        match params.t_s {
            Span::ZERO => Err(Unfit::new(AfQcnParams::KEY.t_s, "it must be over 0, such as 1ms")),
            _ => Ok(()),
        }
    }

    fn shares(params: &AfQcnParams) -> Option<(Party, Shares)> {
        Some((params.sharing.by, params.sharing.shares()))
    }

    fn build(params: &AfQcnParams, site: Site) -> Built {
        let settings = AfQcnSettings {
            qcn: params.qcn.settings(),
            alpha: params.alpha,
            interval: params.t_s,
            beta: params.beta,
            active_threshold: params.active_threshold,
            party: params.sharing.by,
            shares: params.sharing.shares(),
            signed: params.signed,
            rounding: params.rounding,
        };
        let af_qcn = AfQcn::new(settings, site.queues());
        site.notify(af_qcn)
    }
}

/// Settings of AF-QCN besides those of QCN.
#[derive(Clone, Debug)]
pub struct AfQcnSettings {
    /// Settings of QCN's congestion point.
    pub qcn: QcnSettings,
    /// α: the fairness controller's part in the feedback, in (0, 1).
    pub alpha: f64,
    /// T_s: the interval over which arrivals are measured.
    pub interval: Span,
    /// β: a new interval's weight in the smoothed arrivals, in (0, 1].
    pub beta: f64,
    /// Bytes in an interval above which a party counts as active.
    pub active_threshold: Bytes,
    /// Granularity of a party: a flow or a class.
    pub party: Party,
    /// Weights and caps by class.
    pub shares: Shares,
    /// Whether F_b-QCN may be negative in equation 4.
    pub signed: bool,
    /// How equation 4's value becomes a whole number.
    pub rounding: Rounding,
}

impl Default for AfQcnSettings {
    /// Returns the values of the paper, section III-B.
    fn default() -> Self {
        AfQcnSettings {
            qcn: QcnSettings::default(),
            alpha: 0.125,
            interval: Span::from_ms(1),
            beta: 0.125,
            active_threshold: Bytes::new(20_000),
            party: Party::Flow,
            shares: Shares::default(),
            signed: true,
            rounding: Rounding::Nearest,
        }
    }
}

/// Fairness controller of one queue.
#[derive(Clone)]
struct Controller {
    arrivals: Arrivals,
    /// λ: an active party's fair share is min(its cap, λ·its weight).
    level: f64,
}

impl Controller {
    fn level(&mut self, shares: &Shares, interval: Span) {
        let active = self.arrivals.active();
        let (mut total, mut parties) = (0.0, Vec::new());
        for (class, bytes) in active {
            total += bytes;
            parties.push(shares.over(class, interval));
        }
        self.level = water_level(total, &mut parties);
    }
}

/// Congestion point of AF-QCN.
#[derive(Clone)]
pub struct AfQcn {
    settings: AfQcnSettings,
    sampler: Sampler,
    queues: Box<[Controller]>,
}

impl AfQcn {
    /// Makes it for a port of `queues` queues.
    pub fn new(settings: AfQcnSettings, queues: usize) -> Self {
        let arrivals = Arrivals::new(settings.beta, settings.active_threshold.as_f64());
        // Before the first interval has ended nobody has more than a share.
        let controller = Controller { arrivals, level: f64::INFINITY };
        AfQcn {
            sampler: Sampler::new(settings.qcn, queues),
            queues: vec![controller; queues].into(),
            settings,
        }
    }

    /// Returns a queue's smoothed arrivals.
    pub fn arrivals(&self, queue: QueueId) -> &Arrivals {
        &self.queues[queue as usize].arrivals
    }

    /// F_b-AF: equation 7; 0 for who is not active.
    fn unfairness(&self, queue: QueueId, packet: &Packet) -> i32 {
        let Controller { arrivals, level } = &self.queues[queue as usize];
        let Some(bytes) = arrivals.active_bytes(self.settings.party.of(packet)) else { return 0 };
        let (weight, cap) = self.settings.shares.over(packet.class, self.settings.interval);
        // 1 − fair share / what it sent: 0 for who stays under its share, near 1 for who takes all.
        let excess = 1.0 - cap.min(level * weight) / bytes;
        // A party without any share would come to 64, one more than 6 bits hold.
        (64.0 * excess.clamp(0.0, 1.0)).min(FULL_SCALE as f64) as i32
    }

    /// Equation 4, as it is sent; 0 where nothing is.
    fn combined(&self, congestion: i32, unfairness: i32) -> u8 {
        let AfQcnSettings { alpha, signed, rounding, .. } = self.settings;
        // Unsigned, a queue that drains adds nothing, and unfairness alone may still speak.
        let congestion = if signed { congestion } else { congestion.max(0) };
        let value = (1.0 - alpha) * congestion as f64 + alpha * unfairness as f64;
        let whole = match rounding {
            Rounding::Nearest => (value + 0.5).floor(),
            Rounding::Down => value.floor(),
            Rounding::Up => value.ceil(),
        };
        whole.clamp(0.0, FULL_SCALE as f64) as u8
    }

    #[inline]
    fn count(&mut self, queue: QueueId, packet: &Packet) {
        let key = self.settings.party.of(packet);
        self.queues[queue as usize].arrivals.count(key, packet.class, packet.len_bytes);
    }
}

impl Notifier for AfQcn {
    #[inline]
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Option<Feedback> {
        self.count(queue, packet);
        let sample = self.sampler.stored(view, queue, packet, rng)?;
        let quantized = self.combined(sample.quantized, self.unfairness(queue, packet));
        // 802.1Qau sends no message for a feedback of 0 or more.
        (quantized > 0).then(|| sample.feedback(packet.flow, quantized))
    }

    fn refused(&mut self, _: &View, queue: QueueId, packet: &Packet, _: DropReason) {
        self.count(queue, packet);
    }

    fn period(&self) -> Option<Span> {
        Some(self.settings.interval)
    }

    fn tick(&mut self, _: &View, n: u64) {
        for queue in &mut self.queues {
            queue.arrivals.end(n);
            queue.level(&self.settings.shares, self.settings.interval);
        }
    }

    fn set_share(&mut self, class: u8, share: Share) {
        self.settings.shares.set(class, share);
        for queue in &mut self.queues {
            // Weights and caps count at once, not with the next interval.
            queue.level(&self.settings.shares, self.settings.interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::packet::FlowId;
    use switchbed_units::Rate;

    fn packet(flow: u32, class: u8, len_bytes: u32) -> Packet {
        Packet { flow: FlowId(flow), class, len_bytes, ..Packet::default() }
    }

    /// After one interval in which the (flow, class)es sent so many bytes.
    fn after(settings: AfQcnSettings, sent: &[(u32, u8, u32)]) -> AfQcn {
        let mut scheme = AfQcn::new(settings, 1);
        for &(flow, class, bytes) in sent {
            scheme.count(0, &packet(flow, class, bytes));
        }
        for queue in &mut scheme.queues {
            queue.arrivals.end(1);
            queue.level(&scheme.settings.shares, scheme.settings.interval);
        }
        scheme
    }

    #[test]
    fn unfairness_is_what_is_over_the_share_in_64ths() {
        let settings = AfQcnSettings { beta: 1.0, ..AfQcnSettings::default() };
        // Equal shares of 1000 KB: 250 KB; the inactive flow 9 counts for nothing.
        let sent =
            [(1, 0, 100_000), (2, 0, 200_000), (3, 0, 300_000), (4, 0, 400_000), (9, 0, 20_000)];
        let scheme = after(settings.clone(), &sent);
        let found = [1, 2, 3, 4, 9].map(|flow| scheme.unfairness(0, &packet(flow, 0, 1)));
        // 64·(1 − 250/300) = 10.7, 64·(1 − 250/400) = 24.
        assert_eq!(found, [0, 0, 10, 24, 0]);
        // Weights 1 : 3 and a cap of 1.2 Gbps (150 KB a millisecond) on class 1.
        let shares = Shares::new(vec![
            Share { weight: 1.0, cap: None },
            Share { weight: 3.0, cap: Some(Rate::from_bps(1_200_000_000)) },
        ]);
        let sent = [(1, 0, 400_000), (2, 0, 200_000), (3, 1, 300_000)];
        let mut scheme = after(AfQcnSettings { shares, ..settings.clone() }, &sent);
        let all = |scheme: &AfQcn| {
            [(1, 0), (2, 0), (3, 1)].map(|(f, c)| scheme.unfairness(0, &packet(f, c, 1)))
        };
        // 150 for flow 3; 750 remain for two: 375. 64·(1 − 375/400) = 4, 64·(1 − 150/300) = 32.
        assert_eq!(all(&scheme), [4, 0, 32]);
        // Without the cap: 900/5 = 180 to each of class 0, 540 to flow 3.
        scheme.set_share(1, Share { weight: 3.0, cap: None });
        assert_eq!(all(&scheme), [35, 6, 0]);
        // By class, flows 1 and 2 are one of 600 KB, whose half of 900 is 450.
        let by_class = AfQcnSettings { party: Party::Class, ..settings };
        assert_eq!(all(&after(by_class, &sent)), [16, 16, 0]);
    }

    #[test]
    fn equation_4_signs_and_rounds_as_told() {
        let with = |signed, rounding| {
            let settings = AfQcnSettings { signed, rounding, ..AfQcnSettings::default() };
            AfQcn::new(settings, 1)
        };
        use Rounding::{Down, Nearest, Up};
        for (signed, rounding, congestion, unfairness, sent) in [
            (true, Nearest, 1, 0, 1), // 0.875
            (true, Down, 1, 0, 0),
            (true, Up, 1, 0, 1),
            (true, Nearest, 20, 24, 21), // 17.5 + 3 = 20.5
            (true, Down, 20, 24, 20),
            (true, Nearest, -4, 32, 1), // −3.5 + 4 = 0.5
            (true, Nearest, -8, 32, 0), // −3
            (false, Nearest, -8, 32, 4),
            (true, Nearest, 63, 63, 63),
            (true, Up, -63, 63, 0),
        ] {
            let found = with(signed, rounding).combined(congestion, unfairness);
            assert_eq!(found, sent, "{signed} {rounding:?} {congestion} {unfairness}");
        }
    }
}
