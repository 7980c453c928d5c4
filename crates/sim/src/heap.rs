//! The event queue of links: a tournament of 8-byte keys, 44 bits of time relative to a
//! moving epoch and 20 bits of rank. A link has at most one event pending, so the rank names
//! it and its leaf, and the key orders events fully: time, then rank. Each node holds the
//! earlier of its two children's keys. Moving the earliest event replays its path to the
//! root, a fixed number of comparisons without a branch to mispredict; an event for an idle
//! link rises only as far as it is the earliest.
//!
//! 2⁴⁴ ps is 17.6 s: the epoch follows the clock, and an event further ahead than that is
//! refused (no link is that slow).

use switchbed_qdisc::units::Time;

const RANK_BITS: u32 = 20;
/// Most links a network may have.
pub const MAX_LINKS: usize = 1 << RANK_BITS;
/// The epoch moves when the clock is this far past it: half the range of a key.
const REACH_PS: u64 = 1 << (63 - RANK_BITS);

/// The key of a link without an event.
const IDLE: u64 = u64::MAX;

/// Pending events, at most one a rank.
pub struct LinkHeap {
    /// Node 1 is the root, the children of node n are 2n and 2n + 1, and the last half of the
    /// nodes are the leaves by rank.
    keys: Box<[u64]>,
    epoch_ps: u64,
    /// The time of the last operation; nothing is pushed before it.
    clock_ps: u64,
}

impl LinkHeap {
    /// Nothing pending, for ranks below `ranks`.
    pub fn new(ranks: usize) -> Self {
        LinkHeap { keys: vec![IDLE; 2 * ranks.max(1)].into(), epoch_ps: 0, clock_ps: 0 }
    }

    /// The earliest event's time; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        match self.keys[1] {
            IDLE => Time::NEVER,
            key => Time::from_ps(self.epoch_ps + (key >> RANK_BITS)),
        }
    }

    /// The earliest event's rank. There must be one.
    #[inline]
    pub fn top_rank(&self) -> u32 {
        self.keys[1] as u32 & ((1 << RANK_BITS) - 1)
    }

    /// Adds an event for a rank that has none pending. Nothing will be pushed before `now`.
    #[inline]
    pub fn push(&mut self, at: Time, rank: u32, now: Time) {
        let key = self.key(at, rank, now);
        let keys = &mut *self.keys;
        let mut node = keys.len() / 2 + rank as usize;
        while node > 0 && key < keys[node] {
            keys[node] = key;
            node /= 2;
        }
    }

    /// Moves the earliest event, which is of this rank and of time `now`, to a later time.
    #[inline]
    pub fn replace_top(&mut self, at: Time, rank: u32, now: Time) {
        let key = self.key(at, rank, now);
        self.replay(rank, key);
    }

    /// Takes the earliest event, which is of this rank, out.
    #[inline]
    pub fn pop(&mut self, rank: u32) {
        self.replay(rank, IDLE);
    }

    /// Gives the leaf of the earliest event another key.
    #[inline]
    fn replay(&mut self, rank: u32, mut key: u64) {
        let keys = &mut *self.keys;
        let mut node = keys.len() / 2 + rank as usize;
        keys[node] = key;
        while node > 1 {
            key = key.min(keys[node ^ 1]);
            node /= 2;
            keys[node] = key;
        }
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
        for key in self.keys.iter_mut().filter(|key| **key != IDLE) {
            *key -= shift << RANK_BITS;
        }
        let ahead = at.as_ps() - self.epoch_ps;
        assert!(ahead < 2 * REACH_PS, "an event more than 17 s ahead of the clock");
        ahead << RANK_BITS | rank as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(ranks in 1u32..500, ops in prop::collection::vec((0u8..3, 0u64..1 << 43), 1..400)) {
            let mut heap = LinkHeap::new(ranks as usize);
            let mut set = BTreeSet::new();
            let mut free: Vec<u32> = (0..ranks).collect();
            let mut now = 0;
            for (op, ahead) in ops {
                prop_assert_eq!(heap.next() == Time::NEVER, set.is_empty());
                if set.is_empty() || op == 0 && !free.is_empty() {
                    let rank = free.pop().unwrap();
                    heap.push(Time::from_ps(now + ahead), rank, Time::from_ps(now));
                    set.insert((now + ahead, rank));
                } else {
                    let (time, rank) = set.pop_first().unwrap();
                    now = time;
                    prop_assert_eq!(heap.next(), Time::from_ps(time));
                    prop_assert_eq!(heap.top_rank(), rank);
                    if op < 2 {
                        heap.replace_top(Time::from_ps(now + ahead), rank, Time::from_ps(now));
                        set.insert((now + ahead, rank));
                    } else {
                        heap.pop(rank);
                        free.push(rank);
                    }
                }
            }
        }
    }
}
