//! A choice by load: the bytes that wait at a port, and those that were handed to it before.
//!
//! The rule is of the kind that switches have (SAI's attributes of an ARS profile: past load by a moving average, queued load, a
//! weight for each, quality in up to eight bands). How chips put them together is not public; here their weighted sum is
//! compared. Past load is counted as packets are handed to a port, not as they leave it.

use super::{Header, Ports, Router};
use crate::ids::PortId;
use crate::topology::Set;
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
    /// Quality of the port while nothing waits there, which changes with the interval alone.
    idle: f64,
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

/// The port with the least load.
pub(super) struct Adaptive {
    every: Span,
    past: f64,
    queued: f64,
    /// The limits between bands, rising; none: loads are compared exactly.
    bands: Vec<f64>,
    ports: Vec<Past>,
    best: Vec<PortId>,
    rng: OnDemand,
}

impl Adaptive {
    pub(super) fn new(
        ports: u32,
        (every, past, queued): (Span, f64, f64),
        bands: Vec<f64>,
        rng: OnDemand,
    ) -> Adaptive {
        let idle = Past { idle: quality(&bands, 0.0), ..Past::default() };
        let ports = vec![idle; ports as usize];
        Adaptive { every, past, queued, bands, ports, best: Vec::new(), rng }
    }
}

/// A load as it is compared, between limits that rise.
fn quality(bands: &[f64], load: f64) -> f64 {
    match bands {
        [] => load,
        // Counted without a branch: there are few, and where a load lies cannot be predicted.
        bands => bands.iter().map(|&band| u32::from(band <= load)).sum::<u32>().into(),
    }
}

impl Adaptive {
    /// The port of the least load, which is drawn from among those alike.
    fn best(&mut self, set: Set<'_>, ports: &mut dyn Ports, interval: u64) -> PortId {
        let mut least = f64::INFINITY;
        let mut of = (u32::MAX, 0);
        self.best.clear();
        for port in set.iter() {
            let past = &mut self.ports[port.index()];
            if past.interval != interval {
                past.reach(interval);
                past.idle = quality(&self.bands, self.past * past.average);
            }
            let word = port.0 / 64;
            if of.0 != word {
                of = (word, ports.backlogged(word));
            }
            let mut load = past.idle;
            if of.1 >> (port.0 % 64) & 1 != 0 {
                let queued = self.queued * ports.queued(port) as f64;
                load = quality(&self.bands, self.past * past.average + queued);
            }
            if load < least {
                least = load;
                self.best.clear();
            }
            if load == least {
                self.best.push(port);
            }
        }
        match self.best[..] {
            [port] => port,
            ref alike => alike[self.rng.below(alike.len() as u64) as usize],
        }
    }
}

impl Router for Adaptive {
    fn choose(&mut self, header: Header, set: Set<'_>, ports: &mut dyn Ports, now: Time) -> PortId {
        let interval = now.as_ps() / self.every.as_ps();
        let port = match set.len() {
            1 => set.at(0),
            _ => self.best(set, ports, interval),
        };
        let past = &mut self.ports[port.index()];
        if past.interval != interval {
            past.reach(interval);
            past.idle = quality(&self.bands, self.past * past.average);
        }
        past.bytes += u64::from(header.bytes);
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
    fn what_was_sent_before_counts() {
        let mut router = adaptive(1.0, 1.0, &[]);
        let mut held = Held(vec![0; 4]);
        // Port 1 alone leads to another host.
        (0..10).for_each(|_| _ = router.choose(packet(1), Set::Run(1, 1), &mut held, us(5)));
        let port = router.choose(packet(2), Set::Run(0, 2), &mut held, us(15));
        assert_eq!(port, PortId(0));
    }
}
