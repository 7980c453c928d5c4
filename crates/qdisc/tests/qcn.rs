//! Congestion points and reaction points against traces worked out by hand. A queue of 1000-byte packets whose
//! samples come without jitter; full scale is 130,000 bytes, so a step 2063.5.

use proptest::prelude::*;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::{Feedback, Nobody, Notifier};
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::schemes::{AfQcn, AfQcnSettings, Qcn, QcnSettings};
use switchbed_qdisc::{
    Arena, FlowId, Packet, Port, PortState, Qdisc, Random, ReactionPoint, ReactionSettings, Seats,
    SwitchMemory,
};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

/// Departures and arrivals come one every 100 ns, a packet's time.
struct Bed {
    port: Box<dyn Qdisc>,
    arena: Arena,
    memory: SwitchMemory,
    now: Time,
    /// Packets that arrived so far.
    arrived: u32,
    /// Messages, with the packet that each was for.
    told: Vec<(u32, Feedback)>,
}

impl Bed {
    fn new(notifier: impl Notifier + Send + 'static, buffer: Bytes) -> Bed {
        let seats = Seats::new(Single, Shared { limit: buffer }, Nobody, Fifo, notifier);
        let state = PortState::new(Rate::from_gbps(80), &[Bytes::new(1000)]);
        Bed {
            port: Box::new(Port::new(state, seats)),
            arena: Arena::new(),
            memory: SwitchMemory::new(Bytes::MAX),
            now: Time::ZERO,
            arrived: 0,
            told: Vec::new(),
        }
    }

    fn with<T>(&mut self, f: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let mut out = Outcome::default();
        let Bed { port, arena, memory, now, .. } = self;
        *now += Span::from_ns(100);
        let cx = &mut Cx { now: *now, arena, memory, rng: &mut NoRandom, out: &mut out };
        let result = f(&mut **port, cx);
        self.told.extend(out.feedback.into_iter().map(|feedback| (self.arrived, feedback)));
        result
    }

    fn arrive(&mut self, flow: u32) {
        self.arrived += 1;
        let packet = Packet { flow: FlowId(flow), len_bytes: 1000, ..Packet::default() };
        let slot = self.arena.alloc(packet);
        if let Enqueued::Dropped(..) = self.with(|port, cx| port.enqueue(slot, cx)) {
            self.arena.free(slot);
        }
    }

    fn leave(&mut self, packets: u32) {
        for _ in 0..packets {
            let Dequeued::Sent { slot, .. } = self.with(|port, cx| port.dequeue(cx)) else {
                panic!("nothing to send")
            };
            self.arena.free(slot);
        }
    }

    /// The queue stays as it is while so many packets pass.
    fn pass(&mut self, flow: u32, packets: u32) {
        for _ in 0..packets {
            self.leave(1);
            self.arrive(flow);
        }
    }
}

fn exact() -> QcnSettings {
    QcnSettings { jitter: 0.0, ..QcnSettings::default() }
}

#[test]
fn samples_feedback_and_periods_are_as_worked_out_by_hand() {
    let mut bed = Bed::new(Qcn::new(exact(), 1), Bytes::MAX);
    // Packet 150 is the first sample: Q = 150,000, Q_old = 0; 124,000 + 2·150,000: clamped.
    (0..150).for_each(|_| bed.arrive(1));
    // At 63 the period is 18,500 bytes: packet 169. 143,000 + 2·19,000 = 181,000: clamped.
    (0..19).for_each(|_| bed.arrive(2));
    // Packet 188 at Q = 68,000: 42,000 − 2·101,000 < 0: no message, period 150,000.
    bed.leave(120);
    (0..19).for_each(|_| bed.arrive(3));
    // Packet 338 at Q = 30,000: 4000 − 2·38,000 < 0.
    bed.leave(38);
    bed.pass(4, 150);
    // Packet 488 at Q = 40,000: 14,000 + 2·10,000 = 34,000, 16.48 steps. Period 50,000.
    bed.pass(5, 140);
    (0..10).for_each(|_| bed.arrive(5));
    // Packet 538, Q unchanged: 14,000, 6.78 steps. Period 150,000.
    bed.pass(6, 50);
    // Packet 688 at Q = 27,000: 1000 − 2·13,000 < 0. Packet 838: 1000, 0.48 steps: nothing.
    bed.leave(13);
    bed.pass(7, 300);
    assert_eq!(bed.arrived, 838);
    let told = |flow, quantized, offset_bytes, delta_bytes| Feedback {
        flow: FlowId(flow),
        quantized,
        offset_bytes,
        delta_bytes,
    };
    let expected = [
        (150, told(1, 63, 124_000, 150_000)),
        (169, told(2, 63, 143_000, 19_000)),
        (488, told(5, 16, 14_000, 10_000)),
        (538, told(6, 6, 14_000, 0)),
    ];
    assert_eq!(bed.told, expected);
}

/// AF-QCN's figure 1: flows of 1 and 9 Gbps in a queue that QCN's measure puts at 16. The
/// feedback to a packet of `flow`.
fn figure_1(notifier: impl Notifier + Send + 'static, flow: u32) -> u8 {
    let mut bed = Bed::new(notifier, Bytes::MAX);
    (0..30).for_each(|_| bed.arrive(9));
    bed.leave(1);
    bed.arrive(9);
    // A millisecond's traffic: 125 packets of flow 1, and of flow 9 9 times as many with the
    // 31 before. The samples: packet 150 (δ = 30,000: 64,000 is 31 steps, so the next comes
    // after 38), 188 (4000: 1.9 steps, so the next come after 150 each), 338, …, 1238.
    for n in 0..1219 {
        bed.pass(if n < 1094 { 9 } else { 1 }, 1);
    }
    assert!(bed.now < Time::ZERO + Span::from_ms(1));
    assert_eq!(bed.arrived, 1250);
    let samples: Vec<(u32, u8)> = bed.told.iter().map(|&(n, f)| (n, f.quantized)).collect();
    let ones = [188, 338, 488, 638, 788, 938, 1088, 1238].map(|n| (n, 1));
    // AF-QCN has no measure of the flows yet: ⅞ of 31 is 27.1, ⅞ of 1 is 0.9.
    assert!(samples[0] == (150, 31) || samples[0] == (150, 27));
    assert_eq!(samples[1..], ones);
    bed.now = Time::ZERO + Span::from_ms(1);
    // Packet 1388 is the next sample, at 40,000 bytes: 14,000 + 2·10,000 is 16.5 steps.
    bed.pass(9, 127);
    (0..10).for_each(|_| bed.arrive(9));
    bed.arrive(flow);
    bed.leave(1);
    assert_eq!(bed.arrived, 1388);
    let &(n, feedback) = bed.told.last().expect("a message");
    assert_eq!((n, feedback.flow), (1388, FlowId(flow)));
    feedback.quantized
}

#[test]
fn qcn_tells_both_flows_of_figure_1_the_same_and_af_qcn_does_not() {
    let qcn = |flow| figure_1(Qcn::new(exact(), 1), flow);
    let af_qcn = |flow| {
        let settings = AfQcnSettings { qcn: exact(), beta: 1.0, ..AfQcnSettings::default() };
        figure_1(AfQcn::new(settings, 1), flow)
    };
    // F_b-QCN for Q = 41,000, Q_old = 30,000: 15,000 + 22,000 = 37,000 bytes, 17.9 steps.
    assert_eq!([1, 9].map(qcn), [17, 17]);
    // Flow 1 sends 125 KB of a fair 625: ⅞·17 = 14.9. Flow 9 sends 1125 KB: D = 4/9, F_b-AF =
    // ⌊64·4/9⌋ = 28, and 14.9 + 28/8 = 18.4.
    assert_eq!([1, 9].map(af_qcn), [15, 18]);
}

#[test]
fn packets_that_find_no_room_count_for_fairness_and_not_for_samples() {
    let settings = AfQcnSettings { qcn: exact(), beta: 1.0, ..AfQcnSettings::default() };
    let mut bed = Bed::new(AfQcn::new(settings, 1), Bytes::new(50_000));
    // 50 of 250 packets of flow 1 find space, then 100 of flow 2 pass: 150 stored.
    (0..250).for_each(|_| bed.arrive(1));
    bed.pass(2, 99);
    assert_eq!(bed.told, []);
    bed.now = Time::ZERO + Span::from_ms(1);
    // Of 250 and 99 KB, 174.5 is fair: D_1 = 0.302, F_b-AF = 19. F_b-QCN: 124,000: 60 steps.
    bed.pass(1, 1);
    assert_eq!(bed.told.len(), 1);
    // ⅞·60 + ⅛·19 = 54.9
    assert_eq!(bed.told[0].1.quantized, 55);
}

/// SplitMix64.
struct Draws(u64);

impl Random for Draws {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The standard's, without jitter.
fn standard() -> ReactionSettings {
    ReactionSettings { jitter: 0.0, ..ReactionSettings::default() }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// On a 10 Gbps link.
fn point(settings: &ReactionSettings, now: Time) -> ReactionPoint<Draws> {
    ReactionPoint::new(settings, Rate::from_gbps(10), now, Draws(1))
}

/// Rate and target in Mbps, to the bit.
fn mbps(point: &ReactionPoint<Draws>) -> (f64, f64) {
    (point.rate_bps() / 1e6, point.target_bps() / 1e6)
}

/// Sends so many bytes at once.
fn send(point: &mut ReactionPoint<Draws>, settings: &ReactionSettings, bytes: u32, now: Time) {
    (0..bytes / 1000).for_each(|_| point.on_sent(settings, 1000, now));
}

#[test]
fn byte_cycles_recover_and_then_increase_actively() {
    let s = standard();
    let mut p = point(&s, at(0));
    // 32 steps of 1/128 take a quarter.
    p.on_notification(&s, 32, at(0));
    assert_eq!(mbps(&p), (7_500.0, 10_000.0));
    // Fast recovery: five cycles of 150 KB, each halving the distance.
    send(&mut p, &s, 149_000, at(10));
    assert_eq!((mbps(&p), p.cycles()), ((7_500.0, 10_000.0), (0, 0)));
    send(&mut p, &s, 1_000, at(10));
    assert_eq!((mbps(&p), p.cycles()), ((8_750.0, 10_000.0), (1, 0)));
    // A notification after a full cycle: the rate is the new target. 63 steps take 63/128.
    p.on_notification(&s, 63, at(20));
    assert_eq!((mbps(&p), p.cycles()), ((4_443.359375, 8_750.0), (0, 0)));
    // Another within the first cycle: the target stays.
    send(&mut p, &s, 149_000, at(30));
    p.on_notification(&s, 16, at(30));
    assert_eq!(mbps(&p), (3_887.939453125, 8_750.0));
    // And its byte cycle goes on: 1 KB ends it.
    send(&mut p, &s, 1_000, at(30));
    assert_eq!((mbps(&p), p.cycles()), ((6_318.9697265625, 8_750.0), (1, 0)));
    send(&mut p, &s, 600_000, at(40));
    // Distance 2431.0302734375 after the first cycle, a 16th of it after four more.
    assert_eq!((mbps(&p), p.cycles()), ((8_598.060607910156, 8_750.0), (5, 0)));
    // The sixth is the first of active increase, and 75 KB long: target + 5.
    send(&mut p, &s, 74_000, at(50));
    assert_eq!(p.cycles(), (5, 0));
    send(&mut p, &s, 1_000, at(50));
    assert_eq!((mbps(&p), p.cycles()), ((8_676.530303955078, 8_755.0), (6, 0)));
    send(&mut p, &s, 75_000, at(60));
    assert_eq!((mbps(&p), p.cycles()), ((8_718.265151977539, 8_760.0), (7, 0)));
}

#[test]
fn timer_cycles_recover_alone_and_both_together_are_hyper_active() {
    let s = standard();
    let mut p = point(&s, at(0));
    p.on_notification(&s, 63, at(0));
    p.on_notification(&s, 63, at(0));
    p.on_notification(&s, 63, at(0));
    // (65/128)³ of 10 Gbps.
    let rate = 10_000.0 * 274_625.0 / 2_097_152.0;
    assert_eq!(mbps(&p), (rate, 10_000.0));
    p.advance(&s, at(14_999));
    assert_eq!(p.cycles(), (0, 0));
    // A timer cycle every 15 ms. Target not over ten times the rate: no division.
    p.advance(&s, at(15_000));
    assert_eq!((mbps(&p), p.cycles()), (((rate + 10_000.0) / 2.0, 10_000.0), (0, 1)));
    // Five, then one every 7.5 ms.
    p.advance(&s, at(75_000));
    assert_eq!((p.cycles(), p.target_bps()), ((0, 5), 10e9));
    p.advance(&s, at(82_499));
    assert_eq!(p.cycles(), (0, 5));
    p.advance(&s, at(82_500));
    // Active increase would be over the line.
    assert_eq!((p.cycles(), p.target_bps()), ((0, 6), 10e9));

    // Hyper-active: a target well under the line, six cycles of each.
    let mut p = point(&s, at(0));
    p.on_notification(&s, 63, at(0));
    for _ in 0..3 {
        send(&mut p, &s, 150_000, at(0));
        p.on_notification(&s, 63, at(0));
    }
    let target = p.target_bps();
    assert!(target < 7e9, "{target}");
    send(&mut p, &s, 750_000, at(0));
    assert_eq!((p.cycles(), p.target_bps()), ((5, 0), target));
    p.advance(&s, at(75_000));
    assert_eq!((p.cycles(), p.target_bps()), ((5, 5), target));
    send(&mut p, &s, 75_000, at(75_000));
    assert_eq!((p.cycles(), p.target_bps()), ((6, 5), target + 5e6));
    p.advance(&s, at(82_500));
    assert_eq!((p.cycles(), p.target_bps()), ((6, 6), target + 55e6));
    send(&mut p, &s, 75_000, at(82_500));
    assert_eq!((p.cycles(), p.target_bps()), ((7, 6), target + 105e6));
    p.advance(&s, at(90_000));
    assert_eq!((p.cycles(), p.target_bps()), ((7, 7), target + 205e6));
}

#[test]
fn a_target_far_above_the_rate_is_divided_at_the_first_cycle() {
    let s = standard();
    let mut p = point(&s, at(0));
    // Seven times 65/128: 87 Mbps under a target of 10 Gbps.
    (0..7).for_each(|_| p.on_notification(&s, 63, at(0)));
    let rate = p.rate_bps();
    assert!(rate < 1e8 && p.target_bps() == 10e9);
    send(&mut p, &s, 150_000, at(1));
    assert_eq!((p.target_bps(), p.rate_bps()), (1.25e9, (rate + 1.25e9) / 2.0));
    // Never below the minimum.
    (0..20).for_each(|_| p.on_notification(&s, 63, at(2)));
    assert_eq!(p.rate_bps(), 10e6);
}

#[test]
fn a_rate_that_is_back_at_the_line_needs_no_limiter() {
    let s = standard();
    let mut p = point(&s, at(0));
    p.on_notification(&s, 1, at(0));
    assert!(!p.recovered());
    let mut cycles = 0;
    while !p.recovered() {
        send(&mut p, &s, 75_000, at(1));
        cycles += 1;
    }
    // 78 Mbps halve to under one bit in 27 cycles, five of them of 150 KB.
    assert!((27..=33).contains(&cycles), "{cycles}");
    assert_eq!(p.rate_bps(), 10e9);
}

proptest! {
    #[test]
    fn rates_stay_between_the_minimum_and_the_line(
        events in prop::collection::vec((0..20_000u64, 0..64u8, 0..400u32), 1..300),
        jitter in 0.0..0.5,
        line in 1..100u64,
    ) {
        let s = ReactionSettings { jitter, ..standard() };
        let line = Rate::from_gbps(line);
        let mut p = ReactionPoint::new(&s, line, at(0), Draws(1));
        let mut now = at(0);
        for (later_us, steps, packets) in events {
            now += Span::from_us(later_us);
            if steps > 0 {
                p.on_notification(&s, steps, now);
            }
            (0..packets).for_each(|_| p.on_sent(&s, 1000, now));
            for rate in [p.rate_bps(), p.target_bps()] {
                prop_assert!((10e6..=line.as_bps() as f64).contains(&rate), "{rate}");
            }
            // Packets come no faster than the rate.
            let gap = p.gap(1500).as_ps() as f64 + 1.0;
            prop_assert!(gap >= 12e15 / p.rate_bps() && gap >= line.tx_time(1500).as_ps() as f64);
        }
    }
}
