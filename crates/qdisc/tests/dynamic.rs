//! Dynamic thresholds on a pool that the ports of a switch share, against a slow, obvious
//! model: what every queue holds is a list of lengths, and what the pool holds is their sum.

use proptest::prelude::*;
use std::collections::VecDeque;
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::{Dynamic, OfSwitch};
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::Dwrr;
use switchbed_qdisc::{Arena, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Time};

const PORTS: usize = 4;
const QUEUES: usize = 3;

/// An arrival of so many bytes for a queue, or a departure.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive { queue: usize, len: u64 },
    Send,
}

fn op() -> impl Strategy<Value = (usize, Op)> {
    let len = prop_oneof![Just(40u64), Just(1500), 41..9000u64];
    let arrive = (0..QUEUES, len).prop_map(|(queue, len)| Op::Arrive { queue, len });
    (0..PORTS, prop_oneof![3 => arrive, 1 => Just(Op::Send)])
}

/// α as chips have it, a power of two: numerator and denominator.
fn alpha() -> impl Strategy<Value = (u64, u64)> {
    prop::sample::select(vec![(1, 64), (1, 8), (1, 2), (1, 1), (2, 1), (8, 1)])
}

proptest! {
    #[test]
    fn a_queue_holds_at_most_alpha_times_what_is_free(
        (num, den) in alpha(),
        capacity in 1_500..120_000u64,
        ops in prop::collection::vec(op(), 1..400),
    ) {
        let port = |number| {
            let seats = Seats::new(ByClass, OfSwitch, Nobody, Dwrr::new(QUEUES), Nobody);
            let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500); QUEUES]);
            Port::new(state.numbered(number), seats)
        };
        let mut ports: Vec<_> = (0..PORTS as u32).map(port).collect();
        let policy = Dynamic::new(&[num as f64 / den as f64; QUEUES]);
        let mut memory = SwitchMemory::shared(Bytes::new(capacity), Box::new(policy));
        let mut arena = Arena::new();
        let mut out = Outcome::default();
        let mut held = vec![vec![VecDeque::<u64>::new(); QUEUES]; PORTS];
        // Far enough apart that every line is free again.
        for (now, (p, op)) in (0..).step_by(10_000_000).map(Time::from_ps).zip(ops) {
            let rng = &mut NoRandom;
            let mut cx = Cx { now, arena: &mut arena, memory: &mut memory, rng, out: &mut out };
            let used: u64 = held.iter().flatten().flatten().sum();
            match op {
                Op::Arrive { queue, len } => {
                    let free = capacity - used;
                    let mine: u64 = held[p][queue].iter().sum();
                    let fits = len <= free && (mine + len) * den <= num * free;
                    let packet =
                        Packet { class: queue as u8, len_bytes: len as u32, ..Packet::default() };
                    let slot = cx.arena.alloc(packet);
                    let full = Enqueued::Dropped(queue as u8, DropReason::Full);
                    let expected = if fits { Enqueued::In(queue as u8) } else { full };
                    prop_assert_eq!(ports[p].enqueue(slot, &mut cx), expected, "{} free", free);
                    if fits {
                        held[p][queue].push_back(len);
                    } else {
                        arena.free(slot);
                    }
                }
                Op::Send => match ports[p].dequeue(&mut cx) {
                    Dequeued::Sent { slot, queue, .. } => {
                        let len = held[p][queue as usize].pop_front();
                        prop_assert_eq!(Some(arena.packet(slot).len_bytes as u64), len);
                        arena.free(slot);
                    }
                    answer => {
                        prop_assert_eq!(answer, Dequeued::Empty);
                        prop_assert!(held[p].iter().all(VecDeque::is_empty));
                    }
                },
            }
            let used: u64 = held.iter().flatten().flatten().sum();
            prop_assert_eq!(memory.used(), Bytes::new(used));
        }
    }
}
