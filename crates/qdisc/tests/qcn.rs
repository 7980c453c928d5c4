//! Congestion points against traces worked out by hand. A queue of 1000-byte packets whose
//! samples come without jitter; full scale is 130,000 bytes, so a step 2063.5.

use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::{Feedback, Nobody, Notifier};
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::schemes::{AfQcn, AfQcnSettings, Qcn, QcnSettings};
use switchbed_qdisc::{Arena, FlowId, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
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
    // 50 of 250 packets of flow 1 find room, then 100 of flow 2 pass: 150 stored.
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
