//! PIE (Pan et al., PIE: A Lightweight Control Scheme To Address the Bufferbloat Problem, HPSR 2013;
//! RFC 8033), a queue at a time: a probability that follows the wait and its growth decides on arrivals.
//!
//! Each `t_update` p += α·(wait − target) + β·(wait − wait before), the smaller p is the more slowly;
//! an arrival is marked or dropped with p.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | target | time | 15 ms (RFC 8033, section 4.2, QDELAY_REF) |
//! | t_update | time | the target (T_UPDATE) |
//! | alpha, beta | 1/s | 0.125 and 1.25 at a target of 15 ms, in inverse proportion to it elsewhere |
//! | max_burst | time | ten targets (MAX_BURST, 150 ms) |
//! | ecn_up_to | – | 0.1: above this p ECN-capable packets are dropped, too (section 5.1) |
//! | derandomize | – | yes (section 5.4): no two drops at less than 0.85/p packets, nor at more than 8.5/p |
//!
//! **Data centres.** The target is the one scale that there is: the gains are per second of it, and the
//! step of 0.02 for a wait of 250 ms stands at the same multiple of it.
//!
//! The wait is that of the packet that left last, nothing once the queue is empty, as Linux and ns-3
//! take it; the RFC's first choice, an estimate by the rate of departures (section 4.3), needs it where
//! packets carry no time stamps.

use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

params! {
    /// PIE's parameters.
    pub struct PieParams {
        /// The wait that it steers for. In a data centre its own, such as 50us.
        target: Span = "15ms" as Wait;
        /// The probability is worked out anew so often. Default: each target.
        t_update: Option<Span>;
        /// Weight of the wait's distance from the target, per second. Default: 0.125 at a target of
        /// 15ms, in inverse proportion to it elsewhere.
        alpha: Option<f64> as number(0.0, 1e12);
        /// Weight of the wait's growth, per second. Default: ten times alpha.
        beta: Option<f64> as number(0.0, 1e12);
        /// After quiet, nothing is marked or dropped for so long. Default: ten targets.
        max_burst: Option<Span>;
        /// ECN-capable packets are marked up to this probability, and dropped above it.
        ecn_up_to: f64 = "0.1" as FRACTION;
        /// Marks and drops are spread more evenly than chance would.
        derandomize: bool = "true";
    }
}

/// The target of the RFC's figures.
const RFC_TARGET: Span = Span::from_ms(15);

impl Definition for Pie {
    type Params = PieParams;

    const ABOUT: About = About {
        name: "pie",
        paper: "Pan et al., PIE: A Lightweight Control Scheme To Address the Bufferbloat Problem, \
                HPSR 2013",
        summary: "Marks or drops arrivals with a probability that steers the wait to the target.",
        source: "RFC 8033, sections 4 and 5",
        seats: marker("PIE on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { main: "target", tc: "pie", ..Equivalents::NONE };

    fn complete(params: &mut PieParams, _: Bytes) -> Result<(), Unfit> {
        let (key, target) = (PieParams::KEY, params.target);
        if target == Span::ZERO {
            return Err(Unfit::new(key.target, "a wait to steer for is longer than 0"));
        }
        if params.t_update == Some(Span::ZERO) {
            return Err(Unfit::new(key.t_update, "a time between updates is longer than 0"));
        }
        params.t_update.get_or_insert(target);
        params.max_burst.get_or_insert(target * 10);
        // RFC 8033's gains are for 15 ms: shorter targets see smaller differences of waits.
        let scale = RFC_TARGET.as_secs_f64() / target.as_secs_f64();
        let alpha = *params.alpha.get_or_insert(0.125 * scale);
        params.beta.get_or_insert(10.0 * alpha);
        Ok(())
    }

    fn build(params: &PieParams, site: Site) -> Built {
        let pie = Pie::new(params, site.packet(), site.queues());
        site.mark(pie)
    }
}

/// PIE over all queues of a port.
#[derive(Clone, Debug)]
pub struct Pie {
    controller: Controller,
    queues: Box<[Control]>,
}

/// PIE's rule, of every queue.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) settings: Settings,
    ecn_up_to: f64,
    derandomize: bool,
    /// A queue of no more than two of these is left alone.
    packet: Bytes,
}

impl Controller {
    /// Makes it for packets up to `packet`; `params` are complete.
    pub(super) fn new(params: &PieParams, packet: Bytes) -> Controller {
        let &PieParams { target, ecn_up_to, derandomize, .. } = params;
        let settings = Settings {
            target,
            t_update: params.t_update.unwrap_or(target),
            alpha: params.alpha.unwrap_or(0.125),
            beta: params.beta.unwrap_or(1.25),
            max_burst: params.max_burst.unwrap_or(target * 10),
        };
        Controller { settings, ecn_up_to, derandomize, packet }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    target: Span,
    pub(super) t_update: Span,
    alpha: f64,
    beta: f64,
    max_burst: Span,
}

/// State of one queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Control {
    p: f64,
    /// The wait now, and at the last update.
    pub(super) wait: Span,
    before: Span,
    /// Burst allowance: the time in which nothing is marked or dropped.
    burst: Span,
    /// Σ p over arrivals since the last one that was marked or dropped.
    sum: f64,
}

impl Control {
    pub(super) fn new(settings: &Settings) -> Self {
        let burst = settings.max_burst;
        Control { p: 0.0, wait: Span::ZERO, before: Span::ZERO, burst, sum: 0.0 }
    }

    /// A time between updates has passed (section 4.2).
    fn update(&mut self, settings: &Settings) {
        let &Settings { target, t_update, alpha, beta, max_burst } = settings;
        let (wait, before) = (self.wait.as_secs_f64(), self.before.as_secs_f64());
        let delta = alpha * (wait - target.as_secs_f64()) + beta * (wait - before);
        // Section 4.2's table: small probabilities move in small steps.
        let mut delta = delta / caution(self.p);
        if self.p >= 0.1 {
            // Section 5.5: at a high probability steps are capped, or it would swing.
            delta = delta.min(0.02);
        }
        // RFC 8033's 250 ms stand at a target of 15 ms; other targets in proportion.
        if wait * RFC_TARGET.as_secs_f64() > 0.25 * target.as_secs_f64() {
            delta += 0.02;
        }
        self.p = (self.p + delta).clamp(0.0, 1.0);
        if self.wait == Span::ZERO && self.before == Span::ZERO {
            // Section 4.2: without a queue the probability decays.
            self.p *= 0.98;
        }
        self.burst = self.burst - self.burst.min(t_update);
        let quiet = target / 2;
        if self.p == 0.0 && self.wait < quiet && self.before < quiet {
            // Section 4.4: a calm queue may have a burst again.
            self.burst = max_burst;
        }
        self.before = self.wait;
    }

    /// The same `n` times.
    pub(super) fn updates(&mut self, settings: &Settings, n: u64) {
        for _ in 0..n {
            let was = self.clone();
            self.update(settings);
            // From here on each update is the same.
            if *self == was {
                break;
            }
        }
    }

    /// Whether an arrival to so long a queue may be marked or dropped at all (section 5.1).
    pub(super) fn acts(&self, controller: &Controller, bytes: u64) -> bool {
        let calm = self.before < controller.settings.target / 2 && self.p < 0.2;
        let short = bytes <= 2 * controller.packet.get();
        self.burst == Span::ZERO && self.p > 0.0 && !calm && !short
    }

    /// Decision on an arrival to a queue of so many bytes.
    pub(super) fn intent(
        &self,
        controller: &Controller,
        bytes: u64,
        rng: &mut dyn Random,
    ) -> Intent {
        if !self.acts(controller, bytes) {
            return Intent::Pass;
        }
        let sum = self.sum + self.p;
        let (early, late) =
            (controller.derandomize && sum < 0.85, controller.derandomize && sum >= 8.5);
        if early || !late && rng.unit() >= self.p {
            return Intent::Pass;
        }
        if self.p <= controller.ecn_up_to { Intent::Mark } else { Intent::Drop }
    }

    /// An arrival was stored behind so many bytes.
    pub(super) fn stored(&mut self, controller: &Controller, bytes: u64, intent: Intent) {
        if self.acts(controller, bytes) {
            self.sum = if intent == Intent::Pass { self.sum + self.p } else { 0.0 };
        }
    }

    /// An arrival was dropped.
    pub(super) fn dropped(&mut self) {
        self.sum = 0.0;
    }
}

/// By how much a small probability's steps are smaller.
fn caution(p: f64) -> f64 {
    let steps =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0)];
    steps.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, by)| *by)
}

impl Pie {
    /// Makes it for `queues` queues of packets up to `packet`; `params` are complete.
    pub fn new(params: &PieParams, packet: Bytes, queues: usize) -> Self {
        let controller = Controller::new(params, packet);
        let queues = vec![Control::new(&controller.settings); queues].into();
        Pie { controller, queues }
    }
}

impl Marker for Pie {
    fn intend(&self, view: &View, queue: QueueId, _: &Packet, rng: &mut dyn Random) -> Intent {
        let bytes = view.port.queue_bytes(queue).get();
        self.queues[queue as usize].intent(&self.controller, bytes, rng)
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        intent: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        let own = u64::from(view.arena.packet(slot).len_bytes);
        let before = view.port.queue_bytes(queue).get() - own;
        self.queues[queue as usize].stored(&self.controller, before, intent);
        None
    }

    fn refused(&mut self, _: &View, queue: QueueId, _: &Packet, why: DropReason) {
        if why != DropReason::Full {
            self.queues[queue as usize].dropped();
        }
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        // The wait of the packet that leaves; 0 if nobody is behind it.
        self.queues[queue as usize].wait = match view.port.queue_packets(queue) {
            1 => Span::ZERO,
            _ => view.now.since(view.arena.arrived(slot)),
        };
        Departure::Pass
    }

    fn period(&self) -> Option<Span> {
        Some(self.controller.settings.t_update)
    }

    fn tick(&mut self, _: &View, n: u64) {
        for control in &mut self.queues {
            control.updates(&self.controller.settings, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::Single;
    use crate::hooks::Nobody;
    use crate::memory::Shared;
    use crate::port::{Cx, Outcome};
    use crate::schedulers::Fifo;
    use crate::{Arena, Ecn, Port, PortState, Qdisc, Seats, SwitchMemory};
    use switchbed_units::{Rate, Time};

    fn pie_params() -> PieParams {
        PieParams {
            target: RFC_TARGET,
            t_update: None,
            alpha: None,
            beta: None,
            max_burst: None,
            ecn_up_to: 0.1,
            derandomize: true,
        }
    }

    fn pie() -> Pie {
        let mut params = pie_params();
        Pie::complete(&mut params, Bytes::MAX).unwrap();
        Pie::new(&params, Bytes::new(1500), 1)
    }

    /// (0.125·0.005 + 1.25·0.020)/2048, then 0.125·0.005/128 more each time, …
    #[test]
    fn the_probability_is_as_worked_out_by_hand() {
        let Pie { controller, mut queues } = pie();
        let settings = controller.settings;
        let expected = [
            (20, 1.25122e-5),
            (20, 1.7395e-5),
            (20, 2.22778e-5),
            (20, 2.71606e-5),
            (20, 3.20435e-5),
            (20, 3.69263e-5),
            (20, 4.18091e-5),
            (20, 4.66919e-5),
            (50, 3.7384e-4),
            (100, 2.659e-3),
            (300, 0.058_362_1),
            (0, 0.0),
            (0, 0.0),
        ];
        for (wait_ms, p) in expected {
            queues[0].wait = Span::from_ms(wait_ms);
            queues[0].update(&settings);
            assert!((queues[0].p - p).abs() <= 1e-5 * p, "{wait_ms} ms: {}", queues[0].p);
        }
    }

    /// The RFC's table: 0.125·0.005 = 0.000625 more each time, over so much.
    #[test]
    fn small_probabilities_move_by_the_table_of_section_4_2() {
        let table =
            [(5e-7, 2048), (5e-6, 512), (5e-5, 128), (5e-4, 32), (5e-3, 8), (0.05, 2), (0.5, 1)];
        for (p, by) in table {
            let Pie { controller, mut queues } = pie();
            let settings = controller.settings;
            let of = &mut queues[0];
            (of.p, of.wait, of.before) = (p, Span::from_ms(20), Span::from_ms(20));
            of.update(&settings);
            let moved = 0.000_625 / f64::from(by);
            assert!((of.p - p - moved).abs() < 1e-9 * moved + 1e-15, "{p}: {}", of.p - p);
        }
    }

    #[test]
    fn large_probabilities_rise_slowly_and_decay_when_nothing_waits() {
        let Pie { controller, mut queues } = pie();
        let settings = controller.settings;
        let of = &mut queues[0];
        (of.p, of.wait, of.before) = (0.5, Span::from_ms(240), Span::ZERO);
        of.update(&settings);
        assert_eq!(of.p, 0.52);
        (of.p, of.wait, of.before) = (0.5, Span::from_ms(251), Span::from_ms(251));
        of.update(&settings);
        assert_eq!(of.p, 0.54);
        // α·(0 − 15 ms) and then 2 % less.
        (of.p, of.wait, of.before) = (0.5, Span::ZERO, Span::ZERO);
        of.update(&settings);
        assert!((of.p - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    /// Ten updates of 15 ms use up 150 ms.
    #[test]
    fn a_burst_is_let_in() {
        let Pie { controller, mut queues } = pie();
        let settings = controller.settings;
        for _ in 0..9 {
            queues[0].wait = Span::from_ms(20);
            queues[0].update(&settings);
        }
        assert_eq!(queues[0].burst, Span::from_ms(15));
        queues[0].update(&settings);
        assert_eq!(queues[0].burst, Span::ZERO);
    }

    #[test]
    fn gains_follow_the_target() {
        let mut params = PieParams { target: Span::from_us(50), ..pie_params() };
        Pie::complete(&mut params, Bytes::MAX).unwrap();
        let close = |found: Option<f64>, to: f64| (found.unwrap() - to).abs() < 1e-9;
        assert!(close(params.alpha, 37.5) && close(params.beta, 375.0));
        assert_eq!(
            (params.t_update, params.max_burst),
            (Some(Span::from_us(50)), Some(Span::from_us(500)))
        );
    }

    /// The numbers of the arrivals that are marked, of 200 at p = 0.05, where each draw gives `draw`.
    fn marked(draw: f64) -> Vec<u32> {
        struct Fixed(f64);
        impl Random for Fixed {
            fn next_u64(&mut self) -> u64 {
                (self.0 * (1u64 << 53) as f64) as u64 * (1 << 11)
            }
        }
        let mut pie = pie();
        (pie.queues[0].p, pie.queues[0].burst) = (0.05, Span::ZERO);
        pie.queues[0].before = Span::from_ms(20);
        let seats = Seats::new(Single, Shared { limit: Bytes::MAX }, pie, Fifo, Nobody);
        let mut port = Port::new(PortState::new(Rate::from_gbps(1), &[Bytes::new(1500)]), seats);
        let (mut arena, mut memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
        let mut out = Outcome::default();
        let mut arrive = |_| {
            let (arena, memory) = (&mut arena, &mut memory);
            let mut cx =
                Cx { now: Time::ZERO, arena, memory, rng: &mut Fixed(draw), out: &mut out };
            let packet = Packet { len_bytes: 1500, ecn: Ecn::Ect0, ..Packet::default() };
            let slot = cx.arena.alloc(packet);
            port.enqueue(slot, &mut cx);
            cx.arena.note(slot) == Note::Mark
        };
        // Two packets are too short a queue, the third decides nothing either: it finds two.
        assert!(!(0..3).any(&mut arrive));
        (1..=200).filter(|&n| arrive(n)).collect()
    }

    /// At the 17th 17·0.05 = 0.85 is reached, at the 170th 8.5.
    #[test]
    fn signals_are_neither_crowded_nor_far_between() {
        let soon = marked(0.0);
        assert!(soon.windows(2).all(|pair| (17..=18).contains(&(pair[1] - pair[0]))), "{soon:?}");
        assert!((17..=18).contains(&soon[0]));
        let late = marked(0.999);
        assert_eq!(late.len(), 1);
        assert!((170..=171).contains(&late[0]), "{late:?}");
    }
}
