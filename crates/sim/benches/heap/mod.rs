//! The event queue of links: a tournament of 8-byte keys, 44 bits of time relative to a
//! moving epoch and 20 bits of rank. A link has at most one event pending, so the rank names
//! it and its leaf, and the key orders events fully: time, then rank. Each node holds the
//! earliest of its four children's keys. Moving the earliest event replays its path to the
//! root, the same number of minima for every leaf, without a branch to mispredict; an event
//! for an idle link rises only as far as it is the earliest.
//!
//! 2⁴⁴ ps is 17.6 s: the epoch follows the clock, and an event further ahead than that is
//! refused (no link is that slow).

use std::hint::select_unpredictable;
use switchbed_units::Time;

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

/// Pending events, at most one a rank.
pub struct LinkHeap {
    nodes: Box<[Four]>,
    /// The place of the first leaf.
    leaves: usize,
    epoch_ps: u64,
    /// The time of the last operation; nothing is pushed before it.
    clock_ps: u64,
}

impl LinkHeap {
    /// Nothing pending, for ranks below `ranks`.
    pub fn new(ranks: usize) -> Self {
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
    pub fn next(&self) -> Time {
        match self.root() {
            IDLE => Time::NEVER,
            key => Time::from_ps(self.epoch_ps + (key >> RANK_BITS)),
        }
    }

    /// The earliest event's rank. There must be one.
    #[inline]
    pub fn top_rank(&self) -> u32 {
        self.root() as u32 & ((1 << RANK_BITS) - 1)
    }

    /// Adds an event for a rank that has none pending. Nothing will be pushed before `now`.
    #[inline]
    pub fn push(&mut self, at: Time, rank: u32, now: Time) {
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
    pub fn replace_top(&mut self, at: Time, rank: u32, now: Time) {
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
