//! FQ-CoDel's turns, its drops without space, and each flow's own controller, worked out by hand.

use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schemes::flow_queues::FlowQueueParams;
use switchbed_qdisc::schemes::fq_codel::{FqCodel, FqCodelParams};
use switchbed_qdisc::schemes::{CodelParams, NextMark, Root};
use switchbed_qdisc::{Arena, Ecn, FlowId, Packet, Port, PortState, Qdisc, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

const FULL: u32 = 1514;

/// A port of a byte a nanosecond, and the packets that have come, by flow.
struct Bed {
    port: Port<FqCodel>,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
}

fn params(limit: u32, batch: u32) -> FqCodelParams {
    let codel = CodelParams {
        interval: Span::from_ms(100),
        target: Some(Span::from_ms(5)),
        ecn: false,
        ce_threshold: None,
        sqrt: Root::Exact,
        next_mark: NextMark::Due,
    };
    FqCodelParams { queues: FlowQueueParams { flows: 1024, quantum: None, limit }, batch, codel }
}

impl Bed {
    fn new(params: &FqCodelParams) -> Bed {
        let state = PortState::new(Rate::from_gbps(8), &[Bytes::new(FULL.into())]);
        let policy = FqCodel::new(params, Bytes::new(FULL.into()), Bytes::MAX);
        let (arena, memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
        Bed { port: Port::new(state, policy), arena, memory, out: Outcome::default() }
    }

    /// A packet of a flow comes; whether it is let in.
    fn arrive(&mut self, now: Time, flow: u32, len_bytes: u32) -> bool {
        let packet =
            Packet { flow: FlowId(flow), len_bytes, ecn: Ecn::NotEct, ..Packet::default() };
        let slot = self.arena.alloc(packet);
        let Bed { port, arena, memory, out } = self;
        let entered = port.enqueue(slot, &mut Cx { now, arena, memory, rng: &mut NoRandom, out });
        matches!(entered, Enqueued::In(_))
    }

    /// The flow whose packet leaves as soon as the line is free.
    fn leave(&mut self, now: Time) -> Option<u32> {
        let now = now.max(self.port.state().busy_until());
        let Bed { port, arena, memory, out } = self;
        match port.dequeue(&mut Cx { now, arena, memory, rng: &mut NoRandom, out }) {
            Dequeued::Sent { slot, .. } => Some(self.arena.packet(slot).flow.0),
            _ => None,
        }
    }

    /// The flows of what has been dropped since.
    fn dropped(&mut self) -> Vec<u32> {
        self.out.dropped.drain(..).map(|gone| self.arena.packet(gone.slot).flow.0).collect()
    }
}

const A: u32 = 1;
const B: u32 = 2;
const S: u32 = 3;

/// Four packets each of A and B. A's turn is its quantum, and so B's; A2 is the first of the old
/// ones. S, which comes then, is new and first; it has gone to the end of the old ones, empty, when its
/// second packet comes, which waits for that turn.
#[test]
fn new_flows_go_first_and_once() {
    let mut bed = Bed::new(&params(10_240, 64));
    for flow in [A, B] {
        (0..4).for_each(|_| assert!(bed.arrive(Time::ZERO, flow, FULL)));
    }
    let mut order = Vec::new();
    (0..3).for_each(|_| order.extend(bed.leave(Time::ZERO)));
    bed.arrive(bed.port.state().busy_until(), S, 100);
    while let Some(flow) = bed.leave(Time::ZERO) {
        order.push(flow);
    }
    assert_eq!(order, [A, B, A, S, B, A, B, A, B]);

    let mut bed = Bed::new(&params(10_240, 64));
    for flow in [A, B] {
        (0..4).for_each(|_| assert!(bed.arrive(Time::ZERO, flow, FULL)));
    }
    (0..3).for_each(|_| assert!(bed.leave(Time::ZERO).is_some()));
    bed.arrive(bed.port.state().busy_until(), S, 100);
    let mut order = vec![bed.leave(Time::ZERO).unwrap(), bed.leave(Time::ZERO).unwrap()];
    assert_eq!(order, [S, B]);
    // S's queue was found empty as B's turn came, and stands behind it; A, whose turn had been used
    // up, behind S.
    bed.arrive(bed.port.state().busy_until(), S, 100);
    while let Some(flow) = bed.leave(Time::ZERO) {
        order.push(flow);
    }
    assert_eq!(order, [S, B, S, A, B, A, B]);
}

/// A flow of 100-byte packets sends 16 of them in a turn (1600 bytes, 86 over), the next time 15.
#[test]
fn turns_are_of_bytes() {
    let mut bed = Bed::new(&params(10_240, 64));
    (0..40).for_each(|_| assert!(bed.arrive(Time::ZERO, A, 100)));
    (0..4).for_each(|_| assert!(bed.arrive(Time::ZERO, B, FULL)));
    let order: Vec<u32> = (0..38).filter_map(|_| bed.leave(Time::ZERO)).collect();
    let runs: Vec<(u32, usize)> =
        order.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    assert_eq!(runs, [(A, 16), (B, 1), (A, 15), (B, 1), (A, 5)]);
}

/// Space for ten. A has seven and B three; B's next finds A the longest with 7·1514 bytes: half of them
/// is 5299, which four packets' 6056 reach. With a batch of two A loses two.
#[test]
fn the_longest_queue_loses_half_of_it() {
    for (batch, lost) in [(64, 4), (2, 2)] {
        let mut bed = Bed::new(&params(10, batch));
        (0..7).for_each(|_| assert!(bed.arrive(Time::ZERO, A, FULL)));
        (0..3).for_each(|_| assert!(bed.arrive(Time::ZERO, B, FULL)));
        assert!(bed.dropped().is_empty());
        assert!(bed.arrive(Time::ZERO, B, FULL));
        assert_eq!(bed.dropped(), vec![A; lost], "in batches of {batch}");
        let order: Vec<u32> = std::iter::from_fn(|| bed.leave(Time::ZERO)).collect();
        assert_eq!(order.iter().filter(|&&flow| flow == A).count(), 7 - lost);
        assert_eq!(order.iter().filter(|&&flow| flow == B).count(), 4);
    }
}

/// Ten small packets fill it, one a flow; a full one is then the longest with what it brings, and there
/// is nothing of its queue to drop but itself.
#[test]
fn an_arrival_may_be_the_longest_queue() {
    let mut bed = Bed::new(&params(10, 64));
    (10..20).for_each(|flow| assert!(bed.arrive(Time::ZERO, flow, 100)));
    assert!(!bed.arrive(Time::ZERO, A, FULL));
    assert!(bed.dropped().is_empty());
}

/// Packets of 1514 bytes leave every 1.514 us. A fills 20 ms; S, whose packets wait for one of A's at
/// most, never loses one, while A's are dropped 100 ms after the first that waited for 5.
#[test]
fn each_flow_has_its_own_law() {
    let mut bed = Bed::new(&params(100_000, 64));
    let step = Span::from_ns(1_514);
    (0..13_000).for_each(|_| assert!(bed.arrive(Time::ZERO, A, FULL)));
    let (mut now, mut first) = (Time::ZERO, None);
    for n in 0..80_000 {
        bed.arrive(now, if n % 20 == 0 { S } else { A }, FULL);
        bed.leave(now);
        let dropped = bed.dropped();
        assert!(!dropped.contains(&S));
        if first.is_none() && !dropped.is_empty() {
            first = Some(now);
        }
        now += step;
    }
    // The first that waits for 5 ms leaves then.
    let first = first.expect("A waits for 20 ms").as_secs_f64();
    assert!((0.105..0.105_01).contains(&first), "{first}");
}
