//! DualPI2 (RFC 9332; De Schepper et al., PI2, CoNEXT 2016; Linux, net/sched/sch_dualpi2.c): packets of
//! scalable senders (L4S: ECT(1), and CE) have a queue of their own, short and nearly always first; one
//! controller of the wait drops or marks classic packets with p'², and marks L4S packets with k·p'.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | target | time | 15 ms (figure 2, line 8; Linux) |
//! | t_update | time | 16/15 of it: 16 ms |
//! | alpha, beta | 1/s | 0.16 and 3.2 at a target of 15 ms, in inverse proportion to it elsewhere |
//! | coupling | – | 2: k, for windows that are alike at equal round trips (section 2.1) |
//! | step | time | a fifteenth of the target: 1 ms, from where on every L4S packet is marked |
//! | th_len, min_qlen_step | packets | 0: floors under which the step marks nothing, of what the queue holds as a packet leaves or held as it came |
//! | classic_weight | – | 0.1: the classic queue's part of the line while both have packets |
//! | drop_overload | – | yes |
//!
//! **Overload**, k·p' > 1: the signal to classic packets is a drop whatever they are capable of, L4S
//! packets are dropped with p'² and all others marked. Without `drop_overload` p' ends at 1/k, and what
//! does not fit is dropped.
//!
//! As in Linux: the wait is the longer one of the two queues' heads'; packets are judged as they leave,
//! and none while two of the longest would hold all that stays; two draws make p'²; a step, where the
//! RFC's appendix has a ramp from 0.8 to 1.2 ms; byte credits weigh the queues, and a drop changes none.
//! Linux has a limit of 10,000 packets besides the memory. Queue 0 is the L4S one.

use crate::hooks::{
    Classifier, Departure, Intent, Marker, Nobody, Scheduler, Selection, ServiceEnd,
};
use crate::memory::Shared;
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Ecn, Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, Layout};
use crate::schemes::site::{Built, Site};
use std::collections::VecDeque;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

params! {
    /// DualPI2's parameters.
    pub struct DualPi2Params {
        /// The wait that it steers for. In a data centre its own, such as 50us.
        target: Span = "15ms" as Wait;
        /// The probability is worked out anew so often. Default: 16/15 of the target.
        t_update: Option<Span>;
        /// Weight of the wait's distance from the target, per second. Default: 0.16 at a target of
        /// 15ms, in inverse proportion to it elsewhere.
        alpha: Option<f64> as number(0.0, 1e12);
        /// Weight of the wait's growth, per second. Default: twenty times alpha.
        beta: Option<f64> as number(0.0, 1e12);
        /// k: L4S packets are marked with k times the probability whose square classic ones are.
        coupling: f64 = "2" as number(1.0, 255.0);
        /// Every L4S packet that waited for longer is marked. Default: a fifteenth of the target.
        step: Option<Span> as Wait;
        /// The step marks a packet only if it leaves more packets than this in its queue (RFC 9332's
        /// Th_len, for slow lines, where one packet's time is over the step).
        th_len: u32 = "0" as count(0, 1_000_000);
        /// The step marks a packet only if it found so many packets or more in its queue (Linux,
        /// skb_apply_step).
        min_qlen_step: u32 = "0" as count(0, 1_000_000);
        /// The classic queue's part of the line while both have packets.
        classic_weight: f64 = "0.1" as FRACTION;
        /// Without it nothing is dropped for overload but what does not fit.
        drop_overload: bool = "true";
    }
}

/// The target of the RFC's figures.
const RFC_TARGET: Span = Span::from_ms(15);

const L4S: QueueId = 0;
const CLASSIC: QueueId = 1;

/// DualPI2: two coupled queues, one for L4S traffic.
pub struct DualPi2;

impl Definition for DualPi2 {
    type Params = DualPi2Params;

    const ABOUT: About = About {
        name: "dualpi2",
        paper: "De Schepper, Briscoe, White, Dual-Queue Coupled Active Queue Management (AQM) for \
                Low Latency, Low Loss, and Scalable Throughput (L4S), RFC 9332, 2023",
        summary: "L4S packets in a queue of their own, marked with k·p', classic ones dropped or \
                  marked with p'², which steers the wait to the target.",
        source: "RFC 9332, section 2 and appendix A; Linux, net/sched/sch_dualpi2.c",
        seats: [
            "L4S by ECT(1) and CE",
            "the port's, tail drop",
            "coupled PI2, step for L4S",
            "L4S first, byte credits",
            "none",
        ],
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { tc: "dualpi2", ..Equivalents::NONE };

    fn complete(params: &mut DualPi2Params, _: Bytes) -> Result<(), Unfit> {
        let (key, target) = (DualPi2Params::KEY, params.target);
        if target == Span::ZERO {
            return Err(Unfit::new(key.target, "a wait to steer for is longer than 0"));
        }
        if params.t_update == Some(Span::ZERO) {
            return Err(Unfit::new(key.t_update, "a time between updates is longer than 0"));
        }
        params.t_update.get_or_insert(target + target / 15);
        params.step.get_or_insert(target / 15);
        let scale = RFC_TARGET.as_secs_f64() / target.as_secs_f64();
        let alpha = *params.alpha.get_or_insert(0.16 * scale);
        params.beta.get_or_insert(20.0 * alpha);
        Ok(())
    }

    fn layout(_: &DualPi2Params, _: u32) -> Option<Layout> {
        Some(Layout { queues: 2, cell: Bytes::new(1) })
    }

    fn build(params: &DualPi2Params, site: Site) -> Built {
        let (packet, limit) = (site.packet(), site.switch().buffer);
        let (coupled, turns) = (Coupled::new(params, packet), Credits::new(params, packet));
        site.seats(ByEcn, Shared { limit }, coupled, turns, Nobody)
    }
}

/// L4S packets apart from the others.
pub struct ByEcn;

impl Classifier for ByEcn {
    fn classify(&mut self, _: &View, packet: &Packet) -> QueueId {
        match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => L4S,
            Ecn::Ect0 | Ecn::NotEct => CLASSIC,
        }
    }
}

/// The controller, and what becomes of a packet by it.
pub struct Coupled {
    target_s: f64,
    t_update: Span,
    alpha: f64,
    beta: f64,
    k: f64,
    step: Span,
    th_len: u32,
    min_qlen_step: u32,
    /// Whether the step applies to each packet of the L4S queue, where `min_qlen_step` decides.
    found_enough: VecDeque<bool>,
    drop_overload: bool,
    /// While no more than this would stay, nothing is marked or dropped for p.
    little: Bytes,
    /// Base probability p' of the controller.
    p: f64,
    /// The wait at the last update.
    before_s: f64,
}

impl Coupled {
    /// Makes it for packets up to `packet`; `params` are complete.
    pub fn new(params: &DualPi2Params, packet: Bytes) -> Coupled {
        Coupled {
            target_s: params.target.as_secs_f64(),
            t_update: params.t_update.unwrap_or(params.target),
            alpha: params.alpha.unwrap_or(0.0),
            beta: params.beta.unwrap_or(0.0),
            k: params.coupling,
            step: params.step.unwrap_or(Span::MAX),
            th_len: params.th_len,
            min_qlen_step: params.min_qlen_step,
            found_enough: VecDeque::new(),
            drop_overload: params.drop_overload,
            little: packet + packet,
            p: 0.0,
            before_s: 0.0,
        }
    }

    fn update(&mut self, wait_s: f64) {
        let delta = self.alpha * (wait_s - self.target_s) + self.beta * (wait_s - self.before_s);
        let most = if self.drop_overload { 1.0 } else { 1.0 / self.k };
        self.p = (self.p + delta).clamp(0.0, most);
        self.before_s = wait_s;
    }

    /// Whether the step applies to the packet that leaves the L4S queue now.
    fn applies(&mut self, view: &View) -> bool {
        let left = view.port.queue_packets(L4S) as u64 - 1;
        let floor = self.th_len == 0 || left > u64::from(self.th_len);
        // Nothing but departures takes packets out of a queue whose arrivals alone are refused.
        // `&` and not `&&`: the front belongs to this packet and goes with it in any case.
        floor & (self.min_qlen_step == 0 || self.found_enough.pop_front().unwrap_or(true))
    }

    /// Draws an event with probability p'².
    fn squared(&self, rng: &mut dyn Random) -> bool {
        rng.unit() < self.p && rng.unit() < self.p
    }

    /// Draws the controller's verdict on a packet.
    fn roll(&self, queue: QueueId, ecn: Ecn, rng: &mut dyn Random) -> Departure {
        let overload = self.k * self.p > 1.0;
        match queue {
            L4S if overload => match self.drop_overload && self.squared(rng) {
                true => Departure::Drop,
                false => Departure::Mark,
            },
            L4S if rng.unit() < self.k * self.p => Departure::Mark,
            CLASSIC if self.squared(rng) => match overload || !ecn.capable() {
                true => Departure::Drop,
                false => Departure::Mark,
            },
            _ => Departure::Pass,
        }
    }
}

impl Marker for Coupled {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        let packet = view.arena.packet(slot);
        let left = view.port.bytes() - Bytes::new(packet.len_bytes.into());
        let rolled = match left < self.little || self.p == 0.0 {
            true => Departure::Pass,
            false => self.roll(queue, packet.ecn, rng),
        };
        let waited = view.now.since(view.arena.arrived(slot));
        let applies = queue == L4S && self.applies(view);
        match rolled {
            Departure::Pass if applies && waited > self.step => Departure::Mark,
            verdict => verdict,
        }
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        if self.min_qlen_step > 0 && queue == L4S {
            let found = view.port.queue_packets(L4S) - 1;
            self.found_enough.push_back(found as u64 >= u64::from(self.min_qlen_step));
        }
        None
    }

    fn period(&self) -> Option<Span> {
        Some(self.t_update)
    }

    fn tick(&mut self, view: &View, n: u64) {
        let head = |queue| {
            let slot = view.head(queue);
            (!slot.is_none()).then(|| view.arena.arrived(slot))
        };
        let oldest = [L4S, CLASSIC].into_iter().filter_map(head).min();
        for later in (0..n).rev() {
            let at = Time::from_ps(view.now.as_ps() - (self.t_update * later).as_ps());
            let wait_s = oldest.map_or(0.0, |arrived| at.since(arrived).as_secs_f64());
            let was = (self.p, self.before_s);
            self.update(wait_s);
            // From here on each update is the same.
            if oldest.is_none() && was == (self.p, self.before_s) {
                break;
            }
        }
    }
}

/// L4S first, unless the classic queue has credit. Credits are in bytes times per cent, as Linux's.
pub struct Credits {
    classic: i64,
    l4s: i64,
    first: i64,
    /// Over 0: the classic queue's turn.
    credit: i64,
}

impl Credits {
    /// Makes it for packets up to `packet`.
    pub fn new(params: &DualPi2Params, packet: Bytes) -> Credits {
        let classic = (100.0 * params.classic_weight).round() as i64;
        let l4s = 100 - classic;
        // Below zero, so that after a pause the L4S queue goes first (sch_dualpi2:
        // `c_protection_init`).
        let first = packet.get() as i64 * (classic - l4s);
        Credits { classic, l4s, first, credit: first }
    }
}

impl Scheduler for Credits {
    fn enqueued(&mut self, view: &View, _: QueueId, _: &Packet) {
        // The line was free and found both queues empty.
        if view.port.packets() == 1 && view.now >= view.port.busy_until() {
            self.credit = self.first;
        }
    }

    fn select(&mut self, view: &View, _: &mut dyn FnMut(ServiceEnd)) -> Selection {
        let waiting = view.port.backlogged();
        match (waiting.contains(L4S), waiting.contains(CLASSIC)) {
            (true, true) if self.credit > 0 => Selection::Queue(CLASSIC),
            (true, _) => Selection::Queue(L4S),
            (false, true) => Selection::Queue(CLASSIC),
            (false, false) => Selection::Empty,
        }
    }

    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: Time,
        _: &mut dyn FnMut(ServiceEnd),
    ) {
        let (waiting, len) = (view.port.backlogged(), i64::from(packet.len_bytes));
        match queue {
            L4S if waiting.contains(CLASSIC) => self.credit += self.classic * len,
            CLASSIC if waiting.contains(L4S) => self.credit -= self.l4s * len,
            _ => {}
        }
    }

    fn removed(&mut self, _: &View, _: QueueId, _: &Packet, _: DropReason) {}

    fn passes(&self, _: &View, _: QueueId, _: &Packet) -> bool {
        true
    }

    fn passed(&mut self, _: &View, _: QueueId, _: &Packet, _: Time, _: &mut dyn FnMut(ServiceEnd)) {
        self.credit = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{Cx, Dequeued, Outcome};
    use crate::{Arena, Port, PortState, Qdisc, Seats, SwitchMemory};
    use switchbed_units::Rate;
    use switchbed_units::random::NoRandom;

    fn params(target: Span) -> DualPi2Params {
        let mut params = DualPi2Params {
            target,
            t_update: None,
            alpha: None,
            beta: None,
            coupling: 2.0,
            step: None,
            th_len: 0,
            min_qlen_step: 0,
            classic_weight: 0.1,
            drop_overload: true,
        };
        DualPi2::complete(&mut params, Bytes::MAX).unwrap();
        params
    }

    fn coupled() -> Coupled {
        Coupled::new(&params(RFC_TARGET), Bytes::new(1500))
    }

    /// 0.16·(0.015 − 0.015) + 3.2·0.015 = 0.048; 0.16·0.005 + 3.2·0.005 = 0.0168 more; …
    #[test]
    fn the_probability_is_as_worked_out_by_hand() {
        let mut coupled = coupled();
        let expected = [
            (15, 0.048),
            (20, 0.0648),
            (25, 0.0824),
            (25, 0.084),
            (15, 0.052),
            (100, 0.3376),
            (200, 0.6872),
            (200, 0.7168),
        ];
        let mut overload = Vec::new();
        for (wait_ms, p) in expected {
            coupled.update(f64::from(wait_ms) / 1e3);
            assert!((coupled.p - p).abs() < 1e-9, "{wait_ms} ms: {}", coupled.p);
            overload.push(coupled.k * coupled.p > 1.0);
        }
        assert_eq!(overload, [false, false, false, false, false, false, true, true]);
        // Without drops for overload p' ends where every L4S packet is marked.
        let mut milder = Coupled { drop_overload: false, ..coupled };
        milder.update(1.0);
        assert_eq!(milder.p, 0.5);
    }

    /// Draws that come round again, in 2⁻⁵³.
    struct Draws(Vec<f64>, usize);

    impl Random for Draws {
        fn next_u64(&mut self) -> u64 {
            self.1 += 1;
            let draw = self.0[(self.1 - 1) % self.0.len()];
            (draw * (1u64 << 53) as f64) as u64 * (1 << 11)
        }
    }

    /// p' = 0.1: an L4S packet is marked below 0.2, a classic one where two draws are below 0.1.
    #[test]
    fn l4s_packets_are_marked_with_twice_what_classic_ones_are_squared_with() {
        let at = |p, queue, ecn, draws: &[f64]| {
            Coupled { p, ..coupled() }.roll(queue, ecn, &mut Draws(draws.to_vec(), 0))
        };
        assert_eq!(at(0.1, L4S, Ecn::Ect1, &[0.199]), Departure::Mark);
        assert_eq!(at(0.1, L4S, Ecn::Ect1, &[0.201]), Departure::Pass);
        assert_eq!(at(0.1, CLASSIC, Ecn::Ect0, &[0.099, 0.099]), Departure::Mark);
        assert_eq!(at(0.1, CLASSIC, Ecn::NotEct, &[0.099, 0.099]), Departure::Drop);
        assert_eq!(at(0.1, CLASSIC, Ecn::Ect0, &[0.099, 0.101]), Departure::Pass);
        // Overload: a mark is not enough, and every L4S packet that is not dropped is marked.
        assert_eq!(at(0.6, CLASSIC, Ecn::Ect0, &[0.599]), Departure::Drop);
        assert_eq!(at(0.6, L4S, Ecn::Ect1, &[0.599]), Departure::Drop);
        assert_eq!(at(0.6, L4S, Ecn::Ect1, &[0.599, 0.601]), Departure::Mark);
        let mild = Coupled { p: 0.6, drop_overload: false, ..coupled() };
        assert_eq!(mild.roll(L4S, Ecn::Ect1, &mut NoRandom), Departure::Mark);
    }

    /// A port of a byte a nanosecond.
    fn port(params: &DualPi2Params) -> Port<impl crate::Scheme + use<>> {
        let packet = Bytes::new(1500);
        let (coupled, turns) = (Coupled::new(params, packet), Credits::new(params, packet));
        let seats = Seats::new(ByEcn, Shared { limit: Bytes::MAX }, coupled, turns, Nobody);
        Port::new(PortState::new(Rate::from_gbps(8), &[packet; 2]), seats)
    }

    /// The packets that leave, one after the other, of so many of each kind that come at once.
    fn leave(params: &DualPi2Params, each: &[Ecn], packets: usize) -> Vec<(QueueId, bool)> {
        let (mut port, mut arena, mut memory) =
            (port(params), Arena::new(), SwitchMemory::new(Bytes::MAX));
        let mut out = Outcome::default();
        let mut now = Time::ZERO;
        for &ecn in each.iter().cycle().take(packets) {
            let slot = arena.alloc(Packet { len_bytes: 1500, ecn, ..Packet::default() });
            let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
            port.enqueue(slot, &mut Cx { now, arena, memory, rng: &mut NoRandom, out });
        }
        let mut left = Vec::new();
        loop {
            let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
            let mut cx = Cx { now, arena, memory, rng: &mut NoRandom, out };
            let Dequeued::Sent { queue, until, marked, .. } = port.dequeue(&mut cx) else {
                return left;
            };
            left.push((queue, marked));
            now = until;
        }
    }

    /// The first credit is −1500·80; nine L4S packets add 1500·10 each, and it is over 0; a classic one
    /// takes 1500·90, and it is the first again.
    #[test]
    fn the_classic_queue_has_a_tenth_of_the_line() {
        let left = leave(&params(RFC_TARGET), &[Ecn::Ect1, Ecn::Ect0], 60);
        let classic: Vec<usize> = (0..30).filter(|&nth| left[nth].0 == CLASSIC).collect();
        assert_eq!(classic, [9, 19, 29]);
    }

    /// Packet n leaves after 1.5·n us: 20 after 30 us, which is not longer than the step of 30 us.
    #[test]
    fn an_l4s_packet_that_waited_for_longer_than_the_step_is_marked() {
        let params = DualPi2Params { step: Some(Span::from_us(30)), ..params(RFC_TARGET) };
        let left = leave(&params, &[Ecn::Ect1], 40);
        assert_eq!(left.iter().position(|&(_, marked)| marked), Some(21));
        assert!(left[21..].iter().all(|&(_, marked)| marked));
    }

    /// Packet n of 40 leaves 39 − n behind it, and found n before it.
    #[test]
    fn floors_in_packets_keep_the_step_from_marking() {
        let with = |th_len, min_qlen_step| {
            let step = Some(Span::from_us(30));
            let params = DualPi2Params { step, th_len, min_qlen_step, ..params(RFC_TARGET) };
            let left = leave(&params, &[Ecn::Ect1], 40);
            (0..40).filter(|&nth| left[nth].1).collect::<Vec<usize>>()
        };
        assert_eq!(with(5, 0), Vec::from_iter(21..34));
        assert_eq!(with(0, 30), Vec::from_iter(30..40));
        assert_eq!(with(5, 30), Vec::from_iter(30..34));
        assert_eq!(with(0, 0), Vec::from_iter(21..40));
    }

    #[test]
    fn a_data_centre_s_settings_follow_from_the_target() {
        let params = params(Span::from_us(150));
        let close = |found: Option<f64>, to: f64| (found.unwrap() - to).abs() < 1e-9;
        assert!(close(params.alpha, 16.0) && close(params.beta, 320.0));
        assert_eq!(
            (params.t_update, params.step),
            (Some(Span::from_us(160)), Some(Span::from_us(10)))
        );
    }
}
