//! The order of arrivals at one instant, drawn anew at each instant from (seed, time, link).
//!
//! Equal rates make ties the rule. A fixed order, even a drawn one, favours the same link for a
//! whole run: of eight equal senders at a full queue, one then takes every place that comes
//! free, and the others starve. An order that follows from the time needs no state and no
//! common clock, so it is the same however the work is divided.

use crate::ids::Rank;
use switchbed_units::Time;

/// Odd, so that multiplying by it is a permutation.
const SPREAD: u32 = 0x9e37_79b1;

/// How a run breaks ties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    salt: u64,
}

impl Ties {
    /// The run of a seed.
    pub(crate) const fn new(seed: u64) -> Ties {
        // "ties" in ASCII: other uses of the seed draw other numbers.
        Ties { salt: mixed(seed ^ 0x7469_6573) }
    }

    /// A link's place among the arrivals at a time: another permutation of the ranks at each time.
    #[inline]
    pub(crate) const fn order(self, at: Time, rank: Rank) -> u32 {
        let key = self.key(at);
        // Each step is a bijection of 32 bits, so that two links never have the same place.
        let mut bits = (rank.0 ^ key as u32).wrapping_mul(SPREAD);
        bits ^= bits >> 16;
        (bits ^ (key >> 32) as u32).wrapping_mul(SPREAD)
    }

    #[inline]
    const fn key(self, at: Time) -> u64 {
        mixed(at.as_ps() ^ self.salt)
    }
}

/// Mixes the bits by SplitMix64's finalizer.
#[inline]
const fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn an_order_is_a_permutation() {
        for at in [0, 1, 1_200_000, u64::MAX / 3] {
            let (ties, at) = (Ties::new(at ^ 7), Time::from_ps(at));
            // Low numbers, and those that differ in high bits alone.
            let ranks = (0..1 << 16).chain((1..1 << 16).map(|high| high << 16));
            let orders: BTreeSet<u32> = ranks.map(|rank| ties.order(at, Rank(rank))).collect();
            assert_eq!(orders.len(), (1 << 17) - 1);
        }
    }

    #[test]
    fn every_order_of_four_links_is_as_frequent_at_even_times() {
        // Arrivals a packet's time apart, of links that were drawn, as a run has them.
        let ranks = [3, 77, 1, 40];
        let mut count = BTreeMap::new();
        let times = 24_000;
        for n in 0..times {
            let at = Time::from_ps(n * 1_200_000);
            let mut order = [0, 1, 2, 3];
            order.sort_by_key(|&link| Ties::new(5).order(at, Rank(ranks[link as usize])));
            *count.entry(order).or_insert(0u32) += 1;
        }
        assert_eq!(count.len(), 24);
        let expected = times as f64 / 24.0;
        let square = |n: u32| (f64::from(n) - expected) * (f64::from(n) - expected);
        let chi2: f64 = count.values().map(|&n| square(n) / expected).sum();
        // 23 degrees of freedom: above 49.7 in one of a thousand seeds.
        assert!(chi2 < 49.7, "{chi2} {count:?}");
    }

    #[test]
    fn who_came_first_says_nothing_of_who_comes_first_next() {
        let ties = Ties::new(11);
        let first = |n: u64| {
            let at = Time::from_ps(n * 1_200_000);
            ties.order(at, Rank(12)) < ties.order(at, Rank(13))
        };
        let runs = (1..40_000).filter(|&n| first(n) != first(n - 1)).count();
        // Binomial: standard deviation 100.
        assert!((19_600..20_400).contains(&runs), "{runs}");
    }
}
