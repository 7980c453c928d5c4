//! The bare loop: event queue, a FIFO for a port, link, nothing else, at a fabric's number of
//! links and load. What a packet-hop costs here is what the processor allows for this design;
//! what it costs in the simulator is compared with it, in the same run (`make bench-sizes`).
//!
//! Argument: the number of links. Prints the packet-hops; the caller has the time.

#![allow(missing_docs)]

mod heap;

use heap::LinkHeap;
use std::collections::VecDeque;
use std::hint::black_box;
use switchbed_units::Time;

/// A full packet's time at 10 Gbps, and half of fig9's links' mean delay.
const TX_PS: u64 = 1_200_000;
const DELAY_PS: u64 = 10_000_000;
/// Keeps lines about half busy: each packet takes a line's time once in five.
const IN_FLIGHT: u32 = 5;
const HOPS: u64 = 20_000_000;

/// Marsaglia's xorshift: the link that a packet goes to next.
fn next(x: &mut u64, links: u32) -> u32 {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    (((*x >> 32) * links as u64) >> 32) as u32
}

#[derive(Default)]
struct Line {
    busy_until_ps: u64,
    queue: VecDeque<u32>,
    flight: VecDeque<(u64, u32)>,
}

impl Line {
    /// The departures that are due.
    fn settle(&mut self, now: u64) {
        while self.busy_until_ps <= now
            && let Some(packet) = self.queue.pop_front()
        {
            self.transmit(packet, self.busy_until_ps);
        }
    }

    fn transmit(&mut self, packet: u32, now: u64) {
        self.busy_until_ps = now + TX_PS;
        self.flight.push_back((self.busy_until_ps + DELAY_PS, packet));
    }

    fn enqueue(&mut self, packet: u32, now: u64) {
        self.settle(now);
        if self.busy_until_ps <= now {
            self.transmit(packet, now);
        } else {
            self.queue.push_back(packet);
        }
    }
}

fn bare_loop(links: u32) {
    let mut heap = LinkHeap::new(links as usize);
    let mut lines: Vec<Line> = (0..links).map(|_| Line::default()).collect();
    let arrive = |lines: &mut [Line], heap: &mut LinkHeap, packet: u32, rank: u32, now: u64| {
        let line = &mut lines[rank as usize];
        let was_idle = line.flight.is_empty();
        line.enqueue(packet, now);
        if was_idle && let Some(&(at, _)) = line.flight.front() {
            heap.push(Time::from_ps(at), rank, Time::from_ps(now));
        }
    };
    for packet in 0..links * IN_FLIGHT {
        arrive(&mut lines, &mut heap, packet, packet % links, 0);
    }
    let mut state = 1;
    for _ in 0..HOPS {
        let (now, rank) = (heap.next().as_ps(), heap.top_rank());
        let line = &mut lines[rank as usize];
        line.settle(now);
        let (_, packet) = line.flight.pop_front().expect("an event has a packet");
        let arrival = line.flight.front().map_or(Time::NEVER, |&(at, _)| Time::from_ps(at));
        heap.replace_top(arrival, rank, Time::from_ps(now));
        let to = next(&mut state, links);
        arrive(&mut lines, &mut heap, black_box(packet), to, now);
    }
}

fn main() {
    // Cargo's own flags begin with dashes.
    for links in std::env::args().filter_map(|arg| arg.parse().ok()) {
        bare_loop(links);
        println!("{HOPS}");
    }
}
