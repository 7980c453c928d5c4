//! The event queue alone, and the bare loop that no simulator can be faster than: the event
//! queue and a FIFO a link, without a port. 576 links are fig9's.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::VecDeque;
use std::hint::black_box;
use switchbed_qdisc::units::Time;
use switchbed_sim::heap::LinkHeap;
use switchbed_sim::tie::Ties;

const LINKS: u32 = 576;
/// Packets in flight: 5,000 on all links is what fig9 has at load 0.5.
const IN_FLIGHT: u32 = 8;
const TX_PS: u64 = 1_200_000;
const DELAY_PS: u64 = 10_000_000;

/// Scatters (Knuth's multiplicative hash).
fn scattered(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

fn filled() -> LinkHeap {
    let mut heap = LinkHeap::new(LINKS as usize, Ties::new(1));
    for rank in 0..LINKS {
        heap.push(Time::from_ps(scattered(rank as u64) % (10 * TX_PS)), rank, Time::ZERO);
    }
    heap
}

fn event_queue(c: &mut Criterion) {
    let mut group = c.benchmark_group("event queue, 576 links");
    group.throughput(Throughput::Elements(1));
    group.bench_function("move the earliest", |b| {
        let mut heap = filled();
        let mut i = 0;
        b.iter(|| {
            i += 1;
            let (now, rank) = (heap.next().as_ps(), heap.top_rank());
            let at = Time::from_ps(now + TX_PS + scattered(i) % TX_PS);
            heap.replace_top(at, rank, Time::from_ps(now));
        });
    });
    group.bench_function("bare loop: and a FIFO a link", |b| {
        let mut heap = LinkHeap::new(LINKS as usize, Ties::new(1));
        let mut links: Vec<Line> = (0..LINKS).map(|_| Line::default()).collect();
        for packet in 0..LINKS * IN_FLIGHT {
            let rank = packet % LINKS;
            links[rank as usize].send(packet, rank, scattered(packet as u64) % TX_PS, &mut heap);
        }
        b.iter(|| {
            let (now, rank) = (heap.next().as_ps(), heap.top_rank());
            let line = &mut links[rank as usize];
            let (_, packet) = line.flight.pop_front().expect("an event has a packet");
            let arrival = line.flight.front().map_or(Time::NEVER, |&(at, _)| Time::from_ps(at));
            heap.replace_top(arrival, rank, Time::from_ps(now));
            let next = (scattered(now ^ packet as u64) % LINKS as u64) as u32;
            links[next as usize].send(black_box(packet), next, now, &mut heap);
        });
    });
    group.finish();
}

/// A link without a port: packets leave in the order they came.
#[derive(Default)]
struct Line {
    busy_until_ps: u64,
    flight: VecDeque<(u64, u32)>,
}

impl Line {
    fn send(&mut self, packet: u32, rank: u32, now: u64, heap: &mut LinkHeap) {
        self.busy_until_ps = self.busy_until_ps.max(now) + TX_PS;
        let at = self.busy_until_ps + DELAY_PS;
        if self.flight.is_empty() {
            heap.push(Time::from_ps(at), rank, Time::from_ps(now));
        }
        self.flight.push_back((at, packet));
    }
}

criterion_group!(benches, event_queue);
criterion_main!(benches);
