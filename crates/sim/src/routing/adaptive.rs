//! A choice by load: the bytes that wait at a port, and those that were handed to it before.
//!
//! The rule is of the kind that switches have (SAI's attributes of an ARS profile: past load by a moving average, queued load, a
//! weight for each, quality in up to eight bands). How chips put them together is not public; here their weighted sum is
//! compared. Past load is counted as packets are handed to a port, not as they leave it.

use super::{Header, Ports, Router};
use crate::ids::PortId;
use crate::topology::Set;
use std::ops::Range;
use switchbed_units::random::{OnDemand, Random as _};
use switchbed_units::{Span, Time};

/// After so many intervals without a packet nothing is left of a load.
const FORGOTTEN: u64 = 200;

/// A port's past load.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    /// The interval that is counted.
    interval: u64,
    /// Bytes in it so far.
    bytes: u64,
    /// The moving average of the counts of those before.
    average: f64,
}

impl Past {
    /// Moves on to an interval.
    fn reach(&mut self, interval: u64) {
        let passed = interval - self.interval;
        if passed == 0 {
            return;
        }
        if self.bytes == 0 && self.average == 0.0 {
            // Nothing is left that could decay, interval by interval.
            self.interval = interval;
            return;
        }
        self.average += (self.bytes as f64 - self.average) / 4.0;
        match passed - 1 {
            // 0.75²⁰⁰ is 10⁻²⁵: as good as nothing, and found in bounded time.
            idle if idle > FORGOTTEN => self.average = 0.0,
            idle => (0..idle).for_each(|_| self.average *= 0.75),
        }
        (self.interval, self.bytes) = (interval, 0);
    }
}

/// Ports that follow one another, and which of them would be best if nothing waited at any.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u32,
    count: u32,
    /// The interval in which this holds.
    interval: u64,
    /// The least load.
    least: f64,
    /// Bits of the ports that have it.
    alike: u64,
}

/// The port with the least load.
pub(super) struct Adaptive {
    every: Span,
    /// The interval of the last packet, and its bounds.
    interval: u64,
    bounds: Range<Time>,
    past: f64,
    queued: f64,
    /// The limits between bands, rising; none: loads are compared exactly.
    bands: Vec<f64>,
    ports: Vec<Past>,
    /// Quality of each port while nothing waits there, which changes with the interval alone.
    idle: Vec<f64>,
    run: Run,
    /// Loads of the ports that are compared.
    loads: Vec<f64>,
    rng: OnDemand,
}

impl Adaptive {
    pub(super) fn new(
        ports: u32,
        (every, past, queued): (Span, f64, f64),
        bands: Vec<f64>,
        rng: OnDemand,
    ) -> Adaptive {
        let idle = vec![quality(&bands, 0.0); ports as usize];
        let ports = vec![Past::default(); ports as usize];
        let (run, loads) = (Run::default(), Vec::new());
        let (interval, bounds) = (0, Time::ZERO..Time::ZERO + every);
        Adaptive { every, interval, bounds, past, queued, bands, ports, idle, run, loads, rng }
    }
}

/// The place of the one above `nth` others (of fewer than all), found without a branch: which it is was drawn. By sums of
/// bytes (S. Vigna, Broadword Implementation of Rank/Select Queries, 2008).
#[inline]
fn nth_one(bits: u64, nth: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    // By byte, how many ones there are up to its end: a byte of a product sums up those below.
    let pairs = bits - ((bits >> 1) & (ONES * 0x55));
    let fours = (pairs & (ONES * 0x33)) + ((pairs >> 2) & (ONES * 0x33));
    let sums = ((fours + (fours >> 4)) & (ONES * 0x0f)).wrapping_mul(ONES);
    // Bytes whose sum is no more than a number.
    let passed = |sums: u64, nth: u64| {
        (((((nth * ONES) | HIGH) - sums) & HIGH) >> 7).wrapping_mul(ONES) >> 56
    };
    let place = 8 * passed(sums, nth.into());
    let rest = u64::from(nth) - (((sums << 8) >> place) & 0xff);
    // The byte's bits, each in a byte of its own.
    let apart = (((bits >> place) & 0xff) * ONES) & 0x8040_2010_0804_0201;
    let sums = (((apart + ONES * 0x7f) >> 7) & ONES).wrapping_mul(ONES);
    (place + passed(sums, rest)) as u32
}

/// A load as it is compared, between limits that rise.
fn quality(bands: &[f64], load: f64) -> f64 {
    match bands {
        [] => load,
        [first, ..] if load < *first => 0.0,
        // Counted without a branch: there are few, and where a load lies cannot be predicted.
        bands => bands.iter().map(|&band| u32::from(band <= load)).sum::<u32>().into(),
    }
}

impl Adaptive {
    /// The interval of a time, which is mostly that of the time before.
    #[inline]
    fn interval(&mut self, now: Time) -> u64 {
        if !self.bounds.contains(&now) {
            self.interval = now.as_ps() / self.every.as_ps();
            let begin = Time::ZERO + self.every * self.interval;
            self.bounds = begin..begin + self.every;
        }
        self.interval
    }

    /// Moves a port on to an interval.
    #[inline]
    fn reach(&mut self, port: PortId, interval: u64) {
        let past = &mut self.ports[port.index()];
        if past.interval != interval {
            past.reach(interval);
            self.idle[port.index()] = quality(&self.bands, self.past * past.average);
        }
    }

    /// Moves the ports of a set on to an interval.
    fn reach_all(&mut self, set: Set<'_>, interval: u64) {
        for port in set.iter() {
            // A load in the lowest band stays there while it decays.
            let low = !self.bands.is_empty() && self.idle[port.index()] == 0.0;
            if !low || self.ports[port.index()].bytes != 0 {
                self.reach(port, interval);
            }
        }
    }

    /// The load of a port where packets may wait.
    fn load(&mut self, port: PortId, ports: &mut dyn Ports, interval: u64) -> f64 {
        self.reach(port, interval);
        let queued = self.queued * ports.queued(port) as f64;
        quality(&self.bands, self.past * self.ports[port.index()].average + queued)
    }

    /// The port of the least load, which is drawn from among those alike.
    fn best(&mut self, set: Set<'_>, ports: &mut dyn Ports, interval: u64) -> PortId {
        let Set::Run(first, count) = set else { return self.best_of(set, ports, interval) };
        // More than a word of bits, which few switches have.
        if first % 64 + count > 64 {
            return self.best_of(set, ports, interval);
        }
        if (first, count, interval) != (self.run.first, self.run.count, self.run.interval) {
            self.reach_all(set, interval);
            let idle = &self.idle[first as usize..(first + count) as usize];
            let least = idle.iter().copied().fold(f64::INFINITY, f64::min);
            let bits = idle.iter().zip(0..).map(|(&load, nth)| u64::from(load == least) << nth);
            self.run = Run { first, count, interval, least, alike: bits.sum() };
        }
        let Run { least, alike, .. } = self.run;
        let backlogged = ports.backlogged(first / 64) >> (first % 64);
        let mut best = alike & !backlogged;
        if best == 0 {
            return self.best_of(set, ports, interval);
        }
        // Waiting packets add to a load, so of ports with packets these alone can be as good.
        let mut others = alike & backlogged;
        while others != 0 {
            let nth = others.trailing_zeros();
            others &= others - 1;
            let load = self.load(PortId(first + nth), ports, interval);
            best |= u64::from(load == least) << nth;
        }
        let nth = match best.count_ones() {
            1 => 0,
            count => self.rng.below(count.into()) as u32,
        };
        PortId(first + nth_one(best, nth))
    }

    /// The same of any set, port by port.
    fn best_of(&mut self, set: Set<'_>, ports: &mut dyn Ports, interval: u64) -> PortId {
        self.reach_all(set, interval);
        // Taken out, and its memory given back below: ports are moved on beside it.
        let mut loads = std::mem::take(&mut self.loads);
        loads.clear();
        let mut of = (u32::MAX, 0);
        for port in set.iter() {
            let word = port.0 / 64;
            if of.0 != word {
                of = (word, ports.backlogged(word));
            }
            loads.push(match of.1 >> (port.0 % 64) & 1 {
                0 => self.idle[port.index()],
                _ => self.load(port, ports, interval),
            });
        }
        let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
        let nth = match loads.iter().map(|&load| u32::from(load == least)).sum() {
            1 => 0,
            count => self.rng.below(u64::from(count)) as usize,
        };
        let mut alike = loads.iter().zip(0..).filter(|(load, _)| **load == least);
        // A load is a number, so the least is one of them.
        let place = alike.nth(nth).map_or(0, |(_, place)| place);
        self.loads = loads;
        set.at(place)
    }
}

impl Router for Adaptive {
    fn choose(&mut self, header: Header, set: Set<'_>, ports: &mut dyn Ports, now: Time) -> PortId {
        let interval = self.interval(now);
        let port = match set.len() {
            1 => set.at(0),
            _ => self.best(set, ports, interval),
        };
        self.reach(port, interval);
        self.ports[port.index()].bytes += u64::from(header.bytes);
        port
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Held, packet, rng, us};
    use super::*;

    fn adaptive(past: f64, queued: f64, bands: &[f64]) -> Adaptive {
        Adaptive::new(4, (Span::from_us(10), past, queued), bands.to_vec(), rng())
    }

    #[test]
    fn the_shortest_queue_is_taken_and_alike_ones_are_drawn() {
        let mut router = adaptive(0.0, 1.0, &[]);
        let mut held = Held(vec![9_000, 4_500, 3_000, 3_000]);
        let drawn: Vec<u32> = (0..1_000)
            .map(|flow| router.choose(packet(flow), Set::Run(0, 4), &mut held, us(1)).0)
            .collect();
        let third = drawn.iter().filter(|&&port| port == 2).count();
        assert!(drawn.iter().all(|&port| port >= 2) && (430..570).contains(&third), "{third}");
    }

    #[test]
    fn ports_of_a_band_are_alike() {
        let mut router = adaptive(0.0, 1.0, &[2_000.0, 5_000.0]);
        let mut held = Held(vec![9_000, 4_500, 2_000, 5_000]);
        let drawn: Vec<u32> = (0..1_000)
            .map(|flow| router.choose(packet(flow), Set::Run(0, 4), &mut held, us(1)).0)
            .collect();
        assert!(
            drawn.iter().all(|&port| port == 1 || port == 2)
                && drawn.contains(&1)
                && drawn.contains(&2)
        );
    }

    #[test]
    fn past_load_is_a_moving_average_of_whole_intervals() {
        let mut past = Past { bytes: 8_000, ..Past::default() };
        past.reach(1);
        assert_eq!((past.average, past.bytes), (2_000.0, 0));
        past.bytes = 6_000;
        past.reach(2);
        assert_eq!(past.average, 3_000.0);
        // Two intervals without a packet, then one that is under way.
        past.reach(5);
        assert_eq!(past.average, 3_000.0 * 0.75 * 0.75 * 0.75);
        past.reach(1_000);
        assert_eq!(past.average, 0.0);
    }

    #[test]
    fn ones_are_counted_from_the_lowest() {
        for bits in [1, 0b1011_0100, 1 << 63, u64::MAX, 0x8000_0001_8000_0001] {
            let ones: Vec<u32> = (0..64).filter(|place| bits >> place & 1 == 1).collect();
            let found: Vec<u32> = (0..bits.count_ones()).map(|nth| nth_one(bits, nth)).collect();
            assert_eq!(found, ones);
        }
    }

    #[test]
    fn an_interval_is_a_division() {
        let mut router = adaptive(1.0, 1.0, &[]);
        for at in [0, 5, 9, 10, 11, 19, 20, 1_005, 1_004, 3] {
            assert_eq!(router.interval(us(at)), at / 10);
        }
    }

    #[test]
    fn what_was_sent_before_counts() {
        let mut router = adaptive(1.0, 1.0, &[]);
        let mut held = Held(vec![0; 4]);
        // Port 1 alone leads to another host.
        (0..10).for_each(|_| _ = router.choose(packet(1), Set::Run(1, 1), &mut held, us(5)));
        let port = router.choose(packet(2), Set::Run(0, 2), &mut held, us(15));
        assert_eq!(port, PortId(0));
    }

    #[test]
    fn ports_in_a_row_and_ports_by_name_are_chosen_alike() {
        for bands in [&[][..], &[2_000.0, 5_000.0, 20_000.0]] {
            let make = || Adaptive::new(70, (Span::from_us(10), 0.5, 1.0), bands.to_vec(), rng());
            let (mut by_row, mut by_name, mut drawn) = (make(), make(), rng());
            let mut held = Held(vec![0; 70]);
            let mut now = 0;
            for flow in 0..5_000 {
                // Times without a packet between, and queues that come and go.
                now += [0, 1, 3, 40][drawn.below(4) as usize];
                held.0[drawn.below(10) as usize + 55] =
                    [0, 0, 1_500, 9_000][drawn.below(4) as usize];
                // The second lies across two words of bits.
                let (first, names) = match flow % 3 {
                    0 => (60, &[60, 61, 62, 63, 64, 65][..]),
                    _ => (56, &[56, 57, 58, 59, 60, 61][..]),
                };
                let one = by_row.choose(packet(flow), Set::Run(first, 6), &mut held, us(now));
                let other = by_name.choose(packet(flow), Set::Ports(names), &mut held, us(now));
                assert_eq!(one, other, "packet {flow}");
            }
        }
    }
}
