//! The event queue of links: a 4-ary heap of 8-byte keys, 44 bits of time relative to a
//! moving epoch and 20 bits of rank. A link has at most one event pending, so the rank
//! names it, and the key orders events fully: time, then rank.
//!
//! 2⁴⁴ ps is 17.6 s: the epoch follows the clock, and an event further ahead than that is
//! refused (no link is that slow).

use switchbed_qdisc::units::Time;

const RANK_BITS: u32 = 20;
/// Most links a network may have.
pub const MAX_LINKS: usize = 1 << RANK_BITS;
/// The epoch moves when the clock is this far past it: half the range of a key.
const REACH_PS: u64 = 1 << (63 - RANK_BITS);

/// Pending events, at most one a rank.
#[derive(Default)]
pub struct LinkHeap {
    keys: Vec<u64>,
    epoch_ps: u64,
    /// The time of the last operation; nothing is pushed before it.
    clock_ps: u64,
}

impl LinkHeap {
    /// Nothing pending.
    pub fn new() -> Self {
        Self::default()
    }

    /// The earliest event's time; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        match self.keys.first() {
            Some(key) => Time::from_ps(self.epoch_ps + (key >> RANK_BITS)),
            None => Time::NEVER,
        }
    }

    /// The earliest event's rank. There must be one.
    #[inline]
    pub fn top_rank(&self) -> u32 {
        self.keys[0] as u32 & ((1 << RANK_BITS) - 1)
    }

    /// Adds an event for a rank that has none pending. Nothing will be pushed before `now`.
    #[inline]
    pub fn push(&mut self, at: Time, rank: u32, now: Time) {
        self.clock_ps = now.as_ps();
        let key = self.key(at, rank);
        self.keys.push(key);
        self.rise(self.keys.len() - 1, key);
    }

    /// Moves the earliest event to a later time.
    #[inline]
    pub fn replace_top(&mut self, at: Time, rank: u32) {
        self.clock_ps = self.next().as_ps();
        let key = self.key(at, rank);
        self.sink(key);
    }

    /// Takes the earliest event out.
    #[inline]
    pub fn pop(&mut self) {
        self.clock_ps = self.next().as_ps();
        let last = self.keys.pop().expect("an event to pop");
        if !self.keys.is_empty() {
            self.sink(last);
        }
    }

    #[inline]
    fn key(&mut self, at: Time, rank: u32) -> u64 {
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
        for key in &mut self.keys {
            *key -= shift << RANK_BITS;
        }
        let ahead = at.as_ps() - self.epoch_ps;
        assert!(ahead < 2 * REACH_PS, "an event more than 17 s ahead of the clock");
        ahead << RANK_BITS | rank as u64
    }

    #[inline]
    fn rise(&mut self, mut at: usize, key: u64) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    #[inline]
    fn sink(&mut self, key: u64) {
        let keys = self.keys.as_mut_slice();
        let mut at = 0;
        loop {
            let child = 4 * at + 1;
            let least = if let Some(&[a, b, c, d]) = keys.get(child..child + 4) {
                let (i, x) = if b < a { (1, b) } else { (0, a) };
                let (j, y) = if d < c { (3, d) } else { (2, c) };
                child + if y < x { j } else { i }
            } else if child < keys.len() {
                (child..keys.len()).min_by_key(|&i| keys[i]).unwrap_or(child)
            } else {
                break;
            };
            if keys[least] >= key {
                break;
            }
            keys[at] = keys[least];
            at = least;
        }
        keys[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_an_ordered_set(ops in prop::collection::vec((0u8..3, 0u64..1 << 43), 1..400)) {
            let mut heap = LinkHeap::new();
            let mut set = BTreeSet::new();
            let mut free: Vec<u32> = (0..500).collect();
            let mut now = 0;
            for (op, ahead) in ops {
                if set.is_empty() || op == 0 {
                    let rank = free.pop().unwrap();
                    heap.push(Time::from_ps(now + ahead), rank, Time::from_ps(now));
                    set.insert((now + ahead, rank));
                } else {
                    let (time, rank) = set.pop_first().unwrap();
                    now = time;
                    prop_assert_eq!(heap.next(), Time::from_ps(time));
                    prop_assert_eq!(heap.top_rank(), rank);
                    if op == 1 {
                        heap.replace_top(Time::from_ps(now + ahead), rank);
                        set.insert((now + ahead, rank));
                    } else {
                        heap.pop();
                    }
                }
            }
        }
    }
}
