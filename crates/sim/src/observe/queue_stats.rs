//! How long a port's queues were: time-weighted mean, percentiles and maximum.
//!
//! A length counts for the time that it lasts. A packet that passes an idle port lasts no time in its
//! queue, so such a port has nothing to count and a queue's [`Track`] begins when it first holds
//! something. Time at length zero is what the other lengths leave of the whole.

use super::observer::{Asked, Site};
use switchbed_qdisc::QueueId;
use switchbed_units::Time;

/// The number of bins between a length and its double is 2 to this power: a bin is at most 1/64 of
/// the lengths in it wide.
const SPLIT: u32 = 6;

/// A summary of a [`Track`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lengths {
    /// Time-weighted mean length in bytes.
    pub mean_bytes: f64,
    /// Time-weighted median, to 1/64, like the other percentiles.
    pub p50_bytes: f64,
    /// 95th percentile over time, in bytes.
    pub p95_bytes: f64,
    /// 99th percentile over time, in bytes.
    pub p99_bytes: f64,
    /// Longest of the lengths that lasted.
    pub max_bytes: u64,
}

/// The bin of a length: under 64 bytes each length has its own.
#[inline(always)]
pub(crate) fn bin(bytes: u64) -> u16 {
    // Bits below the leading ones are dropped; lengths of fewer bits keep all of theirs.
    let low = (bytes | 1 << SPLIT).ilog2() - SPLIT;
    ((u64::from(low) << SPLIT) + (bytes >> low)) as u16
}

/// The shortest and the longest length in a bin.
pub(crate) fn bounds(bin: u16) -> (u64, u64) {
    // The first two groups of 64 bins hold single lengths.
    let low = (bin >> SPLIT).saturating_sub(1);
    let first = u64::from(bin - (low << SPLIT)) << low;
    (first, first + ((1 << low) - 1))
}

/// Time by bin: a table of few entries, since most queues are short. Bin 0, the length zero, is no
/// entry and marks free places.
#[derive(Clone, Debug, Default)]
struct Bins {
    /// Bins, and picoseconds spent in each; as many places as a power of two.
    places: Box<[(u16, u64)]>,
    used: u32,
}

impl Bins {
    /// Places of the first table.
    const FEW: usize = 8;

    /// The entry of a bin in a table that has a free place, or the place for it.
    #[inline(always)]
    fn place(places: &mut [(u16, u64)], bin: u16) -> &mut (u16, u64) {
        let mask = places.len() - 1;
        // Doubled lengths are 64 bins apart: their low bits are alike.
        // Fibonacci hashing (Knuth): the high half of the product is well mixed, hence the shift.
        let hash = u32::from(bin).wrapping_mul(0x9E37_79B1);
        let mut at = (hash >> 16) as usize & mask;
        while places[at].0 != bin && places[at].0 != 0 {
            at = (at + 1) & mask;
        }
        &mut places[at]
    }

    #[inline(always)]
    fn add(&mut self, bin: u16, ps: u64) {
        // At most three quarters full, so that a search ends soon, and an empty table grows first.
        if self.used as usize * 4 >= self.places.len() * 3 {
            self.grow();
        }
        let place = Self::place(&mut self.places, bin);
        self.used += u32::from(place.0 == 0);
        place.0 = bin;
        place.1 += ps;
    }

    #[cold]
    fn grow(&mut self) {
        let space = (2 * self.places.len()).max(Self::FEW);
        let mut larger = vec![(0, 0); space].into_boxed_slice();
        for &entry in self.places.iter().filter(|entry| entry.0 != 0) {
            *Self::place(&mut larger, entry.0) = entry;
        }
        self.places = larger;
    }

    /// Bins and their times, the shortest lengths first.
    fn sorted(&self) -> Vec<(u16, u64)> {
        let mut sorted: Vec<_> = self.places.iter().copied().filter(|entry| entry.0 != 0).collect();
        sorted.sort_unstable();
        sorted
    }
}

/// The length of one queue, or of a whole port, over time.
#[derive(Clone, Debug, Default)]
pub struct Track {
    bytes: u64,
    since: Time,
    max_bytes: u64,
    area_byte_ps: u128,
    bins: Bins,
}

impl Track {
    /// Counts the time since the last change at the length until now.
    #[inline(always)]
    fn pass(&mut self, now: Time) {
        let ps = now.since(self.since).as_ps();
        // Time at length zero is the rest of the whole, and need not be counted.
        if ps > 0 && self.bytes > 0 {
            self.area_byte_ps += u128::from(ps) * u128::from(self.bytes);
            self.max_bytes = self.max_bytes.max(self.bytes);
            self.bins.add(bin(self.bytes), ps);
        }
        self.since = now;
    }

    #[inline(always)]
    fn change(&mut self, now: Time, bytes: u64) {
        self.pass(now);
        self.bytes = bytes;
    }

    fn restart(&mut self, now: Time) {
        *self = Track { bytes: self.bytes, since: now, ..Track::default() };
    }

    /// Computes the lengths over `total_ps` picoseconds.
    fn lengths(&self, total_ps: u64) -> Lengths {
        let bins = self.bins.sorted();
        let held: u64 = bins.iter().map(|&(_, ps)| ps).sum();
        let empty = total_ps.saturating_sub(held);
        let percentile = |p: f64| {
            let target = p * total_ps as f64;
            let mut passed = empty as f64;
            if passed >= target {
                return 0.0;
            }
            for &(bin, ps) in &bins {
                if passed + ps as f64 >= target {
                    let (first, last) = bounds(bin);
                    // Linear within the bin, whose lengths are taken to be equally frequent.
                    let inside = (target - passed) / ps as f64;
                    let bytes = first as f64 + inside * (last - first) as f64;
                    return bytes.min(self.max_bytes as f64);
                }
                passed += ps as f64;
            }
            // The sum of times, rounded, is less than the target.
            self.max_bytes as f64
        };
        let mean = if total_ps == 0 { 0.0 } else { self.area_byte_ps as f64 / total_ps as f64 };
        Lengths {
            mean_bytes: mean,
            p50_bytes: percentile(0.5),
            p95_bytes: percentile(0.95),
            p99_bytes: percentile(0.99),
            max_bytes: self.max_bytes,
        }
    }
}

/// A port's queues, and the port as a whole, packets on the wire not counted.
#[derive(Debug)]
pub struct QueueStats {
    port: Track,
    /// Up to the last queue that has held something; none at a port of one queue, which is as the port.
    queues: Vec<Track>,
    count: u8,
    from: Time,
}

/// At the ports whose queues are measured, and at those of the monitors.
pub(super) fn asked(site: &mut Site) -> Asked {
    let mut links = site.measured()?;
    for name in super::monitors::ports(&site.scenario.measure.monitors) {
        links.push(site.link(name)?);
    }
    links.into_iter().for_each(|link| site.network.measure(link));
    Ok(None)
}

impl QueueStats {
    /// Makes it for a port of `queues` queues.
    pub fn new(queues: usize) -> Self {
        QueueStats {
            port: Track::default(),
            queues: Vec::new(),
            count: queues as u8,
            from: Time::ZERO,
        }
    }

    /// Accounts for a queue whose length has changed.
    #[inline(always)]
    pub fn change(&mut self, now: Time, queue: QueueId, queue_bytes: u64, port_bytes: u64) {
        self.port.change(now, port_bytes);
        if self.count > 1 {
            if self.queues.len() <= usize::from(queue) {
                self.grow(queue);
            }
            self.queues[usize::from(queue)].change(now, queue_bytes);
        }
    }

    #[cold]
    fn grow(&mut self, queue: QueueId) {
        let more = usize::from(queue) + 1 - self.queues.len();
        self.queues.reserve_exact(more);
        // A queue that has held nothing since has no time at another length than zero.
        self.queues.extend(std::iter::repeat_n(Track::default(), more));
    }

    /// Forgets everything before `now`, as the warm-up ends.
    pub fn restart(&mut self, now: Time) {
        self.from = now;
        self.each(|track| track.restart(now));
    }

    fn each(&mut self, act: impl FnMut(&mut Track)) {
        self.queues.iter_mut().chain([&mut self.port]).for_each(act);
    }

    /// Each queue's lengths up to `now`, then the port's.
    pub fn lengths(&mut self, now: Time) -> (Vec<Lengths>, Lengths) {
        self.each(|track| track.pass(now));
        let total = now.since(self.from).as_ps();
        let port = self.port.lengths(total);
        let mut queues = Vec::with_capacity(self.count.into());
        match self.count {
            // A port's only queue is as long as the port.
            1 => queues.push(port),
            _ => queues.extend(self.queues.iter().map(|track| track.lengths(total))),
        }
        queues.resize(self.count.into(), Lengths::default());
        (queues, port)
    }

    /// The cache lines that a change of a queue touches first: where the tracks are.
    #[inline(always)]
    pub(crate) fn track(&self, queue: QueueId) -> &Track {
        self.queues.get(usize::from(queue)).unwrap_or(&self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One queue of these lengths, a nanosecond each.
    fn of(lengths: &[u64]) -> Lengths {
        let mut stats = QueueStats::new(1);
        for (ns, &bytes) in lengths.iter().enumerate() {
            stats.change(Time::from_ps(ns as u64 * 1000), 0, bytes, bytes);
        }
        stats.lengths(Time::from_ps(lengths.len() as u64 * 1000)).1
    }

    #[test]
    fn a_square_wave_has_the_mean_and_median_of_its_halves() {
        let port = of(&[[10_000, 2_000, 2_000, 2_000]; 25].concat());
        assert_eq!(port.mean_bytes, 4_000.0);
        assert_eq!(port.max_bytes, 10_000);
        assert!((port.p50_bytes / 2_000.0 - 1.0).abs() < 0.02, "{port:?}");
        assert!((port.p95_bytes / 10_000.0 - 1.0).abs() < 0.02, "{port:?}");
    }

    #[test]
    fn an_empty_queue_is_empty_in_every_respect() {
        assert_eq!(
            QueueStats::new(4).lengths(Time::from_ps(5)),
            (vec![Lengths::default(); 4], of(&[0]))
        );
        assert_eq!(QueueStats::new(1).lengths(Time::ZERO).1, Lengths::default());
    }

    #[test]
    fn a_length_without_duration_does_not_count() {
        let mut stats = QueueStats::new(2);
        stats.change(Time::from_ps(10), 1, 1500, 1500);
        stats.change(Time::from_ps(10), 1, 0, 0);
        assert_eq!(
            stats.lengths(Time::from_ps(20)),
            (vec![Lengths::default(); 2], Lengths::default())
        );
    }

    #[test]
    fn a_restart_keeps_the_length_and_nothing_else() {
        let mut stats = QueueStats::new(1);
        stats.change(Time::from_ps(0), 0, 9_000, 9_000);
        stats.change(Time::from_ps(10), 0, 100, 100);
        stats.restart(Time::from_ps(20));
        let (_, port) = stats.lengths(Time::from_ps(30));
        assert_eq!((port.mean_bytes, port.p50_bytes, port.max_bytes), (100.0, 100.0, 100));
    }

    #[test]
    fn every_length_is_in_a_narrow_bin() {
        for bytes in (0..70_000).chain((6..63).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + 1])) {
            let (first, last) = bounds(bin(bytes));
            assert!(first <= bytes && bytes <= last, "{bytes}: {first} to {last}");
            assert!((last - first) as f64 <= 0.02 * first as f64, "{bytes}: {first} to {last}");
        }
        assert!((0..100_000).all(|bytes| bin(bytes + 1) - bin(bytes) <= 1));
    }

    proptest! {
        /// Percentiles, mean and maximum are those of the sorted lengths.
        #[test]
        fn figures_are_those_of_all_lengths(
            lengths in prop::collection::vec(prop_oneof![Just(0u64), 1..200u64, 1_000..3_000_000u64], 1..300)
        ) {
            let found = of(&lengths);
            let mut sorted = lengths.clone();
            sorted.sort_unstable();
            let exact = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
            prop_assert!((found.mean_bytes - exact).abs() <= 1e-9 * exact);
            prop_assert_eq!(found.max_bytes, sorted[sorted.len() - 1]);
            for (p, found) in [(0.5, found.p50_bytes), (0.95, found.p95_bytes), (0.99, found.p99_bytes)] {
                let at = ((p * sorted.len() as f64).ceil() as usize).saturating_sub(1);
                let exact = sorted[at] as f64;
                prop_assert!((found - exact).abs() <= 0.02 * exact, "p{}: {} for {}", p, found, exact);
            }
        }
    }
}
