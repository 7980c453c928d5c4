//! How much each flow or class sends, smoothed over intervals.
//!
//! M_i ← (1 − β)·M_i + β·M_i-new at the end of each interval (AF-QCN, equation 5), and the set
//! of active ones, A = {i : M_i > threshold}. Nothing is done for a party in an interval in
//! which it sent nothing: what decayed meanwhile is reckoned when it is needed. An interval
//! costs time for those that sent in it and those that are active, of whom there are few; so a
//! packet costs the same however many flows there are. Parties that have decayed below a byte
//! are forgotten when room is needed: memory is for at most twice those that have not.

use crate::port::packet::Mix;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

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
    room: usize,
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
            room: ROOM,
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
        if self.places.len() >= self.room {
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
        self.room = ROOM.max(2 * self.places.len());
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
