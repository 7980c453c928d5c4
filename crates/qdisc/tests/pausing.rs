//! A port whose peer pauses queues of it, under each discipline: what is paused stays, the rest goes on, and
//! nothing is lost or out of order.

use proptest::prelude::*;
use std::collections::VecDeque;
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::{Nobody, Scheduler};
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::driver::{Driver, Wire};
use switchbed_qdisc::schedulers::{Dwrr, Fifo, RoundRobin, Strict, Wfq, Wrr};
use switchbed_qdisc::{
    Arena, Cx, Dequeued, Enqueued, FlowId, Outcome, Packet, Port, PortState, Qdisc, QueueId, Seats,
    SlotId, SwitchMemory,
};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

const QUEUES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive {
        queue: QueueId,
        len_bytes: u32,
    },
    /// From so long after now, for so long; no time at all is a resume.
    Pause {
        queue: QueueId,
        response: Span,
        lasts: Span,
    },
}

fn op() -> impl Strategy<Value = (Span, Op)> {
    let arrive = (0..QUEUES as QueueId, 64u32..=1_500)
        .prop_map(|(queue, len_bytes)| Op::Arrive { queue, len_bytes });
    let pause = (0..QUEUES as QueueId, 0u64..5_000).prop_map(|(queue, lasts)| Op::Pause {
        queue,
        response: Span::from_ns(700),
        lasts: Span::from_ns(if lasts < 1_500 { 0 } else { lasts }),
    });
    ((0u64..1_500).prop_map(Span::from_ns), prop_oneof![4 => arrive, 1 => pause])
}

/// What a peer has said of a queue: from each of these times on, until then.
type Said = Vec<(Time, Time)>;

fn held(said: &Said, at: Time) -> bool {
    said.iter().rev().find(|said| said.0 <= at).is_some_and(|said| at < said.1)
}

/// Runs the operations and drains the port; panics where a promise is broken.
fn check(scheduler: Box<dyn Scheduler + Send>, ops: &[(Span, Op)]) {
    let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1_500); QUEUES]);
    let memory = Shared { limit: Bytes::MAX };
    let mut port = Port::new(state, Seats::new(ByClass, memory, Nobody, scheduler, Nobody));
    let (mut arena, mut memory, mut out) =
        (Arena::new(), SwitchMemory::new(Bytes::MAX), Outcome::default());
    let mut waiting: [VecDeque<u32>; QUEUES] = Default::default();
    let mut said: [Said; QUEUES] = Default::default();
    let (mut now, mut free, mut number) = (Time::ZERO, Time::ZERO, 0);
    let end = Span::from_ms(1);
    for (after, op) in ops.iter().copied().map(|(after, op)| (after, Some(op))).chain([(end, None)])
    {
        let next = now + after;
        // Departures up to then, each at its time.
        let mut at = free.max(now);
        while at <= next {
            let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
            let mut cx = Cx { now: at, arena, memory, rng: &mut NoRandom, out };
            match port.dequeue_unpaused(&mut cx) {
                Dequeued::Sent { slot, queue, until, .. } => {
                    let queue = usize::from(queue);
                    assert!(!held(&said[queue], at), "queue {queue} is paused at {at}");
                    let sent = cx.arena.packet(slot).flow.0;
                    assert_eq!(waiting[queue].pop_front(), Some(sent), "in order");
                    cx.arena.free(slot);
                    (free, at) = (until, until);
                }
                Dequeued::Empty => {
                    assert!(waiting.iter().all(VecDeque::is_empty), "something waits at {at}");
                    break;
                }
                Dequeued::NotBefore(later) => {
                    assert!(later > at, "it must go on");
                    for queue in (0..QUEUES).filter(|&queue| !waiting[queue].is_empty()) {
                        assert!(held(&said[queue], at), "queue {queue} could send at {at}");
                    }
                    at = later;
                }
            }
        }
        now = next;
        match op {
            Some(Op::Arrive { queue, len_bytes }) => {
                let packet =
                    Packet { flow: FlowId(number), len_bytes, class: queue, ..Packet::default() };
                let slot = arena.alloc(packet);
                let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
                let mut cx = Cx { now, arena, memory, rng: &mut NoRandom, out };
                assert_eq!(port.enqueue(slot, &mut cx), Enqueued::In(queue));
                waiting[usize::from(queue)].push_back(number);
                number += 1;
            }
            Some(Op::Pause { queue, response, lasts }) => {
                let from = now + response;
                port.pause(queue, from, from + lasts, now);
                said[usize::from(queue)].push((from, from + lasts));
            }
            None => {}
        }
    }
    assert!(waiting.iter().all(VecDeque::is_empty), "all pauses end, and then all goes");
    assert_eq!(port.state().counters().sent, u64::from(number));
}

proptest! {
    #[test]
    fn what_is_paused_stays_and_the_rest_goes_on(ops in prop::collection::vec(op(), 1..120)) {
        let disciplines: [Box<dyn Scheduler + Send>; 6] = [
            Box::new(Fifo),
            Box::new(RoundRobin::default()),
            Box::new(Wrr::new(QUEUES)),
            Box::new(Dwrr::new(QUEUES)),
            Box::new(Wfq::new(QUEUES)),
            Box::new(Strict::new(2, Dwrr::new(QUEUES))),
        ];
        for discipline in disciplines {
            check(discipline, &ops);
        }
    }
}

/// A line and what left by it.
struct Line {
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
    left: Vec<Time>,
}

impl Wire for Line {
    fn cx(&mut self, now: Time) -> Cx<'_> {
        let Line { arena, memory, out, .. } = self;
        // Nothing is drawn here.
        Cx { now, arena, memory, rng: Box::leak(Box::new(NoRandom)), out }
    }
    fn outcome(&mut self) -> &mut Outcome {
        &mut self.out
    }
    fn sent(&mut self, _: SlotId, _: bool, now: Time, _: Time) {
        self.left.push(now);
    }
    fn lost(&mut self, _: SlotId) {}
    fn feedback(&mut self, _: SlotId, _: Time) {}
    fn changed(&mut self, _: QueueId, _: Time, _: &PortState, _: Time) {}
}

#[test]
fn a_port_that_is_replaced_on_a_line_that_is_down_sends_once_it_is_up() {
    let port = || {
        let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1_500)]);
        let memory = Shared { limit: Bytes::MAX };
        Box::new(Port::new(state, Seats::new(ByClass, memory, Nobody, Fifo, Nobody)))
    };
    let mut line = Line {
        arena: Arena::new(),
        memory: SwitchMemory::new(Bytes::MAX),
        out: Outcome::default(),
        left: Vec::new(),
    };
    let at = |us| Time::ZERO + Span::from_us(us);
    let mut driver = Driver::new(port());
    driver.set_up(false, at(1));
    driver.replace(port(), at(2));
    let slot = line.arena.alloc(Packet { len_bytes: 1_500, ..Packet::default() });
    driver.store(slot, &mut line, at(2));
    driver.settle(&mut line, at(9));
    assert_eq!(line.left, []);
    driver.set_up(true, at(10));
    driver.settle(&mut line, at(20));
    assert_eq!(line.left, [at(10)]);
}
