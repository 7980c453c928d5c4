//! FQ-PIE's turns and each flow's own PIE, worked out by hand.

use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schemes::PieParams;
use switchbed_qdisc::schemes::flow_queues::FlowQueueParams;
use switchbed_qdisc::schemes::fq_pie::{FqPie, FqPieParams};
use switchbed_qdisc::{Arena, Ecn, FlowId, Packet, Port, PortState, Qdisc, SwitchMemory};
use switchbed_units::random::{NoRandom, Random};
use switchbed_units::{Bytes, Rate, Span, Time};

const FULL: u32 = 1500;
const A: u32 = 1;
const B: u32 = 2;
const S: u32 = 3;

/// Draws that are all 0: whatever has a probability happens.
struct Always;

impl Random for Always {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

/// A port on which a full packet takes 10 ms, and the packets that have come, by flow.
struct Bed {
    port: Port<FqPie>,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
}

fn params(limit: u32) -> FqPieParams {
    // RFC 8033's target and gains, without its spreading of drops.
    let pie = PieParams {
        target: Span::from_ms(15),
        t_update: Some(Span::from_ms(15)),
        alpha: Some(0.125),
        beta: Some(1.25),
        max_burst: Some(Span::from_ms(150)),
        ecn_up_to: 0.1,
        derandomize: false,
    };
    FqPieParams { queues: FlowQueueParams { flows: 1024, quantum: None, limit }, pie }
}

impl Bed {
    fn new(params: &FqPieParams, memory: Bytes) -> Bed {
        let state = PortState::new(Rate::from_bps(1_200_000), &[Bytes::new(FULL.into())]);
        let policy = FqPie::new(params, Bytes::new(FULL.into()), memory);
        let (arena, memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
        Bed { port: Port::new(state, policy), arena, memory, out: Outcome::default() }
    }

    /// A packet of a flow comes; whether it is let in.
    fn arrive(&mut self, now: Time, flow: u32, ecn: Ecn, rng: &mut dyn Random) -> bool {
        let packet = Packet { flow: FlowId(flow), len_bytes: FULL, ecn, ..Packet::default() };
        let slot = self.arena.alloc(packet);
        let Bed { port, arena, memory, out } = self;
        matches!(port.enqueue(slot, &mut Cx { now, arena, memory, rng, out }), Enqueued::In(_))
    }

    fn comes(&mut self, now: Time, flow: u32) -> bool {
        self.arrive(now, flow, Ecn::NotEct, &mut NoRandom)
    }

    /// The flow whose packet leaves as soon as the line is free, and whether it is marked.
    fn leave(&mut self) -> Option<(u32, bool)> {
        let now = self.port.state().busy_until();
        let Bed { port, arena, memory, out } = self;
        match port.dequeue(&mut Cx { now, arena, memory, rng: &mut NoRandom, out }) {
            Dequeued::Sent { slot, .. } => {
                let packet = self.arena.packet(slot);
                Some((packet.flow.0, packet.ecn == Ecn::Ce))
            }
            _ => None,
        }
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// As FQ-CoDel's: A's turn is its quantum, and so B's; S comes new, and goes first, once.
#[test]
fn new_flows_go_first_and_once() {
    let mut bed = Bed::new(&params(10_240), Bytes::MAX);
    for flow in [A, B] {
        (0..4).for_each(|_| assert!(bed.comes(Time::ZERO, flow)));
    }
    let mut order = Vec::new();
    (0..3).for_each(|_| order.extend(bed.leave()));
    bed.comes(bed.port.state().busy_until(), S);
    while let Some(flow) = bed.leave() {
        order.push(flow);
    }
    let flows: Vec<u32> = order.into_iter().map(|(flow, _)| flow).collect();
    assert_eq!(flows, [A, B, A, S, B, A, B, A, B]);
}

/// A has 40 packets, of which the k-th leaves after 10·k ms of waiting. At 15·n ms PIE has seen the wait
/// of the packet that left last, so that p is over 0 from the first on, as the wait has grown. The burst
/// allowance of 150 ms lets all in until the tenth update.
#[test]
fn a_flow_that_waits_is_dropped_and_its_neighbour_is_not() {
    let mut bed = Bed::new(&params(10_240), Bytes::MAX);
    (0..40).for_each(|_| assert!(bed.comes(Time::ZERO, A)));
    while bed.port.state().busy_until() < at(140) {
        assert_eq!(bed.leave(), Some((A, false)));
    }
    assert!(bed.arrive(at(149), A, Ecn::NotEct, &mut Always));
    while bed.port.state().busy_until() < at(200) {
        assert_eq!(bed.leave(), Some((A, false)));
    }
    assert!(!bed.arrive(at(200), A, Ecn::NotEct, &mut Always));
    // B has no queue yet, and after three packets one whose packets have not waited.
    (0..4).for_each(|_| assert!(bed.arrive(at(200), B, Ecn::NotEct, &mut Always)));
    // A new flow goes first: its turn.
    assert_eq!(bed.leave(), Some((B, false)));
}

/// The same with ECN-capable packets. The wait at 15·n ms is 10, 30, 40, 60, 70, 90, … ms, of the packet that
/// left last. With RFC 8033's terms α·(wait − 15 ms) + β·(growth), over 2048 up to 10⁻⁶, over 512 up to 10⁻⁵
/// and so on, p is 0.0036 at 75 ms, 0.0795 at 165 ms and 0.102 at 180 ms. From there on it rises by 0.02 at a
/// time, and by 0.04 with a wait of over 250 ms: 0.84 at 495 ms.
#[test]
fn ecn_capable_packets_are_marked_up_to_a_tenth_and_dropped_above() {
    let mut bed = Bed::new(&params(10_240), Bytes::MAX);
    (0..60).for_each(|_| {
        assert!(bed.arrive(Time::ZERO, A, Ecn::Ect0, &mut NoRandom));
    });
    let until = |bed: &mut Bed, ms| {
        while bed.port.state().busy_until() < at(ms) {
            bed.leave();
        }
    };
    until(&mut bed, 170);
    assert!(bed.arrive(at(170), A, Ecn::Ect0, &mut Always));
    until(&mut bed, 500);
    assert!(!bed.arrive(at(500), A, Ecn::Ect0, &mut Always));
    let mut marked = 0;
    while let Some((_, mark)) = bed.leave() {
        marked += u32::from(mark);
    }
    assert_eq!(marked, 1);
}

#[test]
fn without_room_the_arrival_is_refused() {
    let mut bed = Bed::new(&params(3), Bytes::MAX);
    let entered: Vec<bool> = [A, A, B, B].map(|flow| bed.comes(Time::ZERO, flow)).to_vec();
    assert_eq!(entered, [true, true, true, false]);
    let mut bed = Bed::new(&params(10_240), Bytes::new(u64::from(2 * FULL)));
    let entered: Vec<bool> = [A, B, B].map(|flow| bed.comes(Time::ZERO, flow)).to_vec();
    assert_eq!(entered, [true, true, false]);
}
