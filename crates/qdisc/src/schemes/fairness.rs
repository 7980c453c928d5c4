//! Parts of the schemes that share a link approximately fairly: who is entitled to how much
//! ([`Share`], [`water_level`]) and who sends how much, smoothed over intervals ([`Arrivals`]).
//!
//! M_i ← (1 − β)·M_i + β·M_i-new at the end of each interval (AF-QCN, equation 5), and the set
//! of active ones, A = {i : M_i > threshold}. Nothing is done for a party in an interval in
//! which it sent nothing: what decayed meanwhile is reckoned when it is needed. An interval
//! costs time for those that sent in it and those that are active, of whom there are few; so a
//! packet costs the same however many flows there are. Parties that have decayed below a byte
//! are forgotten when space is needed: memory is for at most twice those that have not.

use crate::port::packet::{Mix, Packet};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use switchbed_config::{params, words};
use switchbed_units::{Rate, Span};

words! {
    /// Traffic that is counted together as one party.
    #[derive(Default)]
    pub enum Party {
        /// A flow's.
        #[default]
        Flow = "flow",
        /// A class's: a tenant.
        Class = "class",
    }
}

params! {
    /// Parties that share, with their weights and caps.
    pub struct ShareParams {
        /// Granularity of a party: a flow, or a class (a tenant).
        by: Party = "flow";
        /// Weights of the classes 0, 1, …; a flow has its class's. Default: 1.
        weights: Vec<f64> = "[]" as List(&POSITIVE);
        /// The most that the classes 0, 1, … may have; a flow has its class's. Default: no cap.
        max: Vec<Rate> = "[]";
    }
}

impl ShareParams {
    /// The classes' weights and caps: two lists, of which either may be the longer.
    pub fn shares(&self) -> Shares {
        let share = |class: usize| Share {
            weight: self.weights.get(class).copied().unwrap_or(1.0),
            cap: self.max.get(class).copied(),
        };
        Shares::new((0..self.weights.len().max(self.max.len())).map(share).collect())
    }
}

impl Party {
    /// The number that a packet is counted under.
    #[inline]
    pub fn of(self, packet: &Packet) -> u32 {
        match self {
            Party::Flow => packet.flow.0,
            Party::Class => packet.class as u32,
        }
    }
}

/// Entitlement of a party to the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Weight against other parties, over 0.
    pub weight: f64,
    /// The most that it may have; `None`: no cap.
    pub cap: Option<Rate>,
}

impl Default for Share {
    fn default() -> Self {
        Share { weight: 1.0, cap: None }
    }
}

/// Every class's share; a flow has its class's.
#[derive(Clone, Debug, Default)]
pub struct Shares(Vec<Share>);

impl Shares {
    /// Shares of classes 0, 1, …; further classes have weight 1 and no cap.
    pub fn new(shares: Vec<Share>) -> Self {
        Shares(shares)
    }

    /// Returns the share of a class.
    #[inline]
    pub fn of(&self, class: u8) -> Share {
        self.0.get(class as usize).copied().unwrap_or_default()
    }

    /// Replaces the share of a class.
    pub fn set(&mut self, class: u8, share: Share) {
        let n = self.0.len().max(class as usize + 1);
        self.0.resize(n, Share::default());
        self.0[class as usize] = share;
    }

    /// A class's weight, and its cap in bytes over a time (infinite without one).
    pub fn over(&self, class: u8, time: Span) -> (f64, f64) {
        let Share { weight, cap } = self.of(class);
        let bytes = |cap: Rate| cap.as_bps() as f64 / 8.0 * time.as_secs_f64();
        (weight, cap.map_or(f64::INFINITY, bytes))
    }
}

/// Weighted max-min fairness by water filling: the level λ at which the parties' min(limit,
/// λ·weight) add up to `total`; infinite where all limits together do not exceed it. A party is
/// (weight, limit), weights over 0; the order of the parties is changed.
pub fn water_level(total: f64, parties: &mut [(f64, f64)]) -> f64 {
    // Vessels of width `weight` are full at limit / weight: the lowest fill first.
    parties.sort_unstable_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let mut weights: f64 = parties.iter().map(|party| party.0).sum();
    let mut rest = total;
    for &(weight, limit) in parties.iter() {
        // Rounding may take the rest a little below zero.
        let level = (rest / weights).max(0.0);
        if limit >= level * weight {
            return level;
        }
        rest -= limit;
        weights -= weight;
    }
    f64::INFINITY
}

/// Below so many bytes a party is as good as gone.
const GONE_BYTES: f64 = 1.0;
/// Parties remembered before any is forgotten.
const ROOM: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u32,
    class: u8,
    active: bool,
    /// Bytes in the interval under way.
    new: u32,
    /// M_i at the end of interval `at`.
    smoothed: f64,
    at: u64,
}

/// Smoothed arrivals of flows or classes.
#[derive(Clone)]
pub struct Arrivals {
    keep: f64,
    threshold: f64,
    intervals: u64,
    places: HashMap<u32, u32, BuildHasherDefault<Mix>>,
    entries: Vec<Entry>,
    /// Places of entries that were forgotten.
    free: Vec<u32>,
    /// Parties beyond which the forgotten are looked for.
    space: usize,
    /// Parties that have sent in the interval under way.
    sent: Vec<u32>,
    active: Vec<u32>,
}

impl Arrivals {
    /// Nobody has sent yet. `beta` in (0, 1] is the weight of a new interval;
    /// parties over `threshold_bytes` an interval are active.
    pub fn new(beta: f64, threshold_bytes: f64) -> Self {
        Arrivals {
            keep: 1.0 - beta,
            threshold: threshold_bytes.max(GONE_BYTES),
            intervals: 0,
            places: HashMap::default(),
            entries: Vec::new(),
            free: Vec::new(),
            space: ROOM,
            sent: Vec::new(),
            active: Vec::new(),
        }
    }

    /// A party's packet has arrived.
    #[inline]
    pub fn count(&mut self, key: u32, class: u8, len_bytes: u32) {
        let place = match self.places.get(&key) {
            Some(&place) => place,
            None => self.add(key, class),
        };
        let entry = &mut self.entries[place as usize];
        if entry.new == 0 {
            self.sent.push(place);
        }
        entry.class = class;
        entry.new = entry.new.saturating_add(len_bytes);
    }

    /// `n` intervals have ended, with nothing counted after the end of the first.
    pub fn end(&mut self, n: u64) {
        let first = self.intervals + 1;
        self.intervals += n;
        for &place in &self.sent {
            let entry = &mut self.entries[place as usize];
            let before = entry.smoothed * power(self.keep, first - 1 - entry.at);
            entry.smoothed = self.keep * before + (1.0 - self.keep) * entry.new as f64;
            (entry.at, entry.new) = (first, 0);
            if !entry.active && entry.smoothed > self.threshold {
                entry.active = true;
                self.active.push(place);
            }
        }
        self.sent.clear();
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&place| {
            let stays = self.smoothed(&self.entries[place as usize]) > self.threshold;
            self.entries[place as usize].active = stays;
            stays
        });
        self.active = active;
    }

    /// M_i in bytes an interval; `None` if the party is not active.
    #[inline]
    pub fn active_bytes(&self, key: u32) -> Option<f64> {
        let entry = &self.entries[*self.places.get(&key)? as usize];
        entry.active.then(|| self.smoothed(entry))
    }

    /// Class and M_i of every active party.
    pub fn active(&self) -> impl Iterator<Item = (u8, f64)> + '_ {
        self.active.iter().map(|&place| {
            let entry = &self.entries[place as usize];
            (entry.class, self.smoothed(entry))
        })
    }

    /// Number of parties remembered.
    pub fn parties(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        // A hash table's slot has a byte of its own beside key and value.
        self.places.capacity() * (size_of::<(u32, u32)>() + 1) * 8 / 7
            + self.entries.capacity() * size_of::<Entry>()
            + (self.free.capacity() + self.sent.capacity() + self.active.capacity()) * 4
    }

    fn smoothed(&self, entry: &Entry) -> f64 {
        entry.smoothed * power(self.keep, self.intervals - entry.at)
    }

    #[cold]
    fn add(&mut self, key: u32, class: u8) -> u32 {
        if self.places.len() >= self.space {
            self.forget();
        }
        let entry = Entry { key, class, active: false, new: 0, smoothed: 0.0, at: self.intervals };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.places.insert(key, place);
        place
    }

    /// Forgets those that are gone, in the order of their places.
    fn forget(&mut self) {
        for place in 0..self.entries.len() {
            let entry = &self.entries[place];
            // A place that is free keeps its old key, which may have another place by now.
            let known = self.places.get(&entry.key) == Some(&(place as u32));
            if known && entry.new == 0 && !entry.active && self.smoothed(entry) < GONE_BYTES {
                self.places.remove(&self.entries[place].key);
                self.free.push(place as u32);
            }
        }
        // A search costs time for every place ever used, so the next one waits until as many have
        // come.
        self.space = ROOM.max(2 * self.places.len());
    }
}

/// Computes base^n by squaring, alike on every machine.
pub(crate) fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    // Once the result has underflowed to 0, no factor changes it.
    // By squaring: idle times may be millions of packets long.
    while n > 0 && result > 0.0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(total: f64, parties: &[(f64, f64)]) -> Vec<f64> {
        let level = water_level(total, &mut parties.to_vec());
        parties.iter().map(|&(weight, limit)| limit.min(level * weight)).collect()
    }

    #[test]
    fn what_the_capped_leave_goes_to_the_rest_by_weight() {
        let no = f64::INFINITY;
        assert_eq!(
            shares(10.0, &[(4.0, no), (3.0, no), (2.0, no), (1.0, no)]),
            [4.0, 3.0, 2.0, 1.0]
        );
        // AF-QCN's figure 9: flow 1 of weight 4 is held to 1; 9 remain for 3 : 2 : 1.
        assert_eq!(
            shares(10.0, &[(4.0, 1.0), (3.0, no), (2.0, no), (1.0, no)]),
            [1.0, 4.5, 3.0, 1.5]
        );
        // The first cap frees so much that the second binds too.
        assert_eq!(shares(12.0, &[(1.0, 1.0), (1.0, 4.0), (1.0, 9.0)]), [1.0, 4.0, 7.0]);
        assert_eq!(shares(20.0, &[(1.0, 1.0), (1.0, 4.0)]), [1.0, 4.0]);
        assert_eq!(shares(0.0, &[(1.0, 1.0), (2.0, no)]), [0.0, 0.0]);
        assert_eq!(water_level(5.0, &mut []), f64::INFINITY);
    }

    #[test]
    fn shares_of_classes_not_named_are_equal_and_uncapped() {
        let mut shares = Shares::new(vec![Share { weight: 4.0, cap: Some(Rate::from_gbps(1)) }]);
        assert_eq!(shares.over(0, Span::from_ms(1)), (4.0, 125_000.0));
        assert_eq!(shares.over(7, Span::from_ms(1)), (1.0, f64::INFINITY));
        shares.set(2, Share { weight: 0.5, cap: None });
        assert_eq!((shares.of(1), shares.of(2).weight), (Share::default(), 0.5));
    }

    #[test]
    fn smoothing_is_equation_5_and_silence_decays() {
        let mut arrivals = Arrivals::new(0.125, 0.0);
        arrivals.count(7, 0, 1000);
        arrivals.count(7, 0, 600);
        assert_eq!(arrivals.active_bytes(7), None);
        arrivals.end(1);
        assert_eq!(arrivals.active_bytes(7), Some(200.0));
        arrivals.count(7, 0, 800);
        arrivals.end(1);
        assert_eq!(arrivals.active_bytes(7), Some(275.0));
        arrivals.end(2);
        assert_eq!(arrivals.active_bytes(7), Some(275.0 * 0.875 * 0.875));
        assert_eq!(arrivals.active_bytes(8), None);
    }

    #[test]
    fn only_those_over_the_threshold_are_active() {
        let mut arrivals = Arrivals::new(0.5, 1000.0);
        for (key, bytes) in [(1, 2000), (2, 2001), (3, 4001)] {
            arrivals.count(key, key as u8, bytes);
        }
        arrivals.end(1);
        assert_eq!(arrivals.active().collect::<Vec<_>>(), [(2, 1000.5), (3, 2000.5)]);
        arrivals.end(1);
        assert_eq!(arrivals.active().collect::<Vec<_>>(), [(3, 1000.25)]);
        assert_eq!(arrivals.active_bytes(2), None);
        arrivals.end(1);
        assert_eq!(arrivals.active().count(), 0);
    }

    #[test]
    fn intervals_at_once_are_intervals_one_by_one() {
        let (mut one, mut all) = (Arrivals::new(0.125, 20.0), Arrivals::new(0.125, 20.0));
        for (key, bytes, intervals) in [(1, 5000, 3), (2, 700, 1), (1, 90, 40), (3, 1, 7)] {
            one.count(key, 0, bytes);
            all.count(key, 0, bytes);
            (0..intervals).for_each(|_| one.end(1));
            all.end(intervals);
            for key in 1..4 {
                assert_eq!(one.active_bytes(key), all.active_bytes(key));
            }
        }
    }

    #[test]
    fn memory_follows_those_who_send_and_not_all_who_ever_did() {
        let mut arrivals = Arrivals::new(0.125, 20_000.0);
        for key in 0..1_000_000 {
            arrivals.count(key, 0, 1500);
            if key % 100 == 99 {
                arrivals.end(1);
            }
        }
        // A packet is forgotten after 40 intervals, of a hundred flows each.
        assert!(arrivals.parties() < 10_000, "{}", arrivals.parties());
        assert!(arrivals.entries.len() < 10_000, "{}", arrivals.entries.len());
        arrivals.end(1);
        arrivals.count(999_999, 0, 1);
        assert_eq!(arrivals.sent.len(), 1);
    }
}
