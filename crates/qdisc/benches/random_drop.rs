//! What random drop costs: an arrival at a crosspoint that is full of so many packets, against
//! tail drop. To find the victim the queue is walked from its head; to remove it costs O(1).

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::{Crosspoint, Overflow};
use switchbed_qdisc::port::{Cx, Enqueued, Outcome};
use switchbed_qdisc::schedulers::RoundRobin;
use switchbed_qdisc::{Arena, Packet, Port, PortState, Qdisc, Random, Seats, SwitchMemory};
use switchbed_units::{Bytes, Rate, Time};

const MTU: u32 = 1500;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct SplitMix(u64);

impl Random for SplitMix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn full(c: &mut Criterion, name: &str, overflow: Overflow, packets: u64) {
    let memory = Bytes::new(packets * MTU as u64);
    let buffer = Crosspoint::new(memory, Bytes::new(1), overflow, 1);
    let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(MTU as u64)]);
    let seats = Seats::new(Single, buffer, Nobody, RoundRobin::default(), Nobody);
    let mut port = Port::new(state, seats);
    let (mut arena, mut memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
    let (mut out, mut rng) = (Outcome::default(), SplitMix(1));
    let mut arrive = || {
        let slot = arena.alloc(Packet { len_bytes: MTU, ..Packet::default() });
        let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
        let mut cx = Cx { now: Time::ZERO, arena, memory, rng: &mut rng, out };
        if let Enqueued::Dropped(..) = black_box(port.enqueue(slot, &mut cx)) {
            cx.arena.free(slot);
        }
        for dropped in cx.out.dropped.drain(..) {
            cx.arena.free(dropped.slot);
        }
    };
    (0..packets).for_each(|_| arrive());
    c.bench_function(&format!("{name}, {packets} packets"), |bencher| bencher.iter(&mut arrive));
}

fn drops(c: &mut Criterion) {
    for packets in [3, 12, 94] {
        full(c, "tail drop", Overflow::Tail, packets);
        full(c, "random drop", Overflow::Random, packets);
    }
}

criterion_group!(benches, drops);
criterion_main!(benches);
