//! The bare loop: event queue, a FIFO for a port, link, nothing else, at a fabric's number of
//! links and load. What a packet-hop costs here is what the processor allows for this design;
//! what it costs in the simulator is compared with it, in the same run (`make bench-sizes`).
//!
//! Argument: the number of links. Prints the packet-hops; the caller has the time.

#![allow(missing_docs)]

use std::collections::VecDeque;
use std::hint::{black_box, select_unpredictable};
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

const RANK_BITS: u32 = 20;
/// The epoch moves when the clock is this far past it: half the range of a key.
const REACH_PS: u64 = 1 << (63 - RANK_BITS);

/// The key of a link without an event.
const IDLE: u64 = u64::MAX;

/// Four nodes with one parent, which holds the least of them.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Four([u64; 4]);

/// Where the root is, the last of the first four. Of the node at place p, the parent is at
/// p / 4 + 2.
const ROOT: usize = 3;

/// The event queue of links: a tournament of 8-byte keys, 44 bits of time relative to a
/// moving epoch and 20 bits of rank. A link has at most one event pending, so the rank names
/// it and its leaf, and the key orders events fully: time, then rank. Each node holds the
/// earliest of its four children's keys. Moving the earliest event replays its path to the
/// root, the same number of minima for every leaf, without a branch to mispredict; an event
/// for an idle link rises only as far as it is the earliest.
///
/// 2⁴⁴ ps is 17.6 s: the epoch follows the clock, and an event further ahead than that is
/// refused (no link is that slow).
struct LinkHeap {
    nodes: Box<[Four]>,
    /// The place of the first leaf.
    leaves: usize,
    epoch_ps: u64,
    /// The time of the last operation; nothing is pushed before it.
    clock_ps: u64,
}

impl LinkHeap {
    /// Nothing pending, for ranks below `ranks`.
    fn new(ranks: usize) -> Self {
        let (mut leaves, mut width) = (ROOT, 1);
        while width < ranks {
            leaves += width;
            width *= 4;
        }
        let nodes = vec![Four([IDLE; 4]); (leaves + width).div_ceil(4)];
        LinkHeap { nodes: nodes.into(), leaves, epoch_ps: 0, clock_ps: 0 }
    }

    #[inline]
    fn root(&self) -> u64 {
        self.nodes[0].0[ROOT]
    }

    /// The earliest event's time; [`Time::NEVER`] if there is none.
    #[inline]
    fn next(&self) -> Time {
        match self.root() {
            IDLE => Time::NEVER,
            key => Time::from_ps(self.epoch_ps + (key >> RANK_BITS)),
        }
    }

    /// The earliest event's rank. There must be one.
    #[inline]
    fn top_rank(&self) -> u32 {
        self.root() as u32 & ((1 << RANK_BITS) - 1)
    }

    /// Adds an event for a rank that has none pending. Nothing will be pushed before `now`.
    #[inline]
    fn push(&mut self, at: Time, rank: u32, now: Time) {
        let key = self.key(at, rank, now);
        let mut place = self.leaves + rank as usize;
        loop {
            let node = &mut self.nodes[place / 4].0[place % 4];
            if key >= *node {
                return;
            }
            *node = key;
            if place == ROOT {
                return;
            }
            place = place / 4 + 2;
        }
    }

    /// Moves the earliest event, which is of this rank and of time `now`, to a later time, or
    /// takes it out ([`Time::NEVER`]).
    #[inline]
    fn replace_top(&mut self, at: Time, rank: u32, now: Time) {
        let idle = at == Time::NEVER;
        let key = self.key(select_unpredictable(idle, now, at), rank, now);
        let mut key = select_unpredictable(idle, IDLE, key);
        let mut place = self.leaves + rank as usize;
        while place != ROOT {
            let Four(four) = &mut self.nodes[place / 4];
            four[place % 4] = key;
            let other = |n: usize| four[(place ^ n) % 4];
            key = other(1).min(other(2)).min(other(3)).min(key);
            place = place / 4 + 2;
        }
        self.nodes[0].0[ROOT] = key;
    }

    #[inline]
    fn key(&mut self, at: Time, rank: u32, now: Time) -> u64 {
        self.clock_ps = now.as_ps();
        let ahead = at.as_ps() - self.epoch_ps;
        if ahead >= REACH_PS {
            return self.rebase(at, rank);
        }
        ahead << RANK_BITS | rank as u64
    }

    /// Moves the epoch up to the clock.
    #[cold]
    fn rebase(&mut self, at: Time, rank: u32) -> u64 {
        let shift = self.clock_ps - self.epoch_ps;
        self.epoch_ps = self.clock_ps;
        let keys = self.nodes.iter_mut().flat_map(|four| &mut four.0);
        for key in keys.filter(|key| **key != IDLE) {
            *key -= shift << RANK_BITS;
        }
        let ahead = at.as_ps() - self.epoch_ps;
        assert!(ahead < 2 * REACH_PS, "an event more than 17 s ahead of the clock");
        ahead << RANK_BITS | rank as u64
    }
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
