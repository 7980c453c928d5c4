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
}

impl Past {
    /// Moves on to an interval.
    fn reach(&mut self, interval: u64) {
        let passed = interval - self.interval;
        if passed == 0 {
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
        let ports = vec![Past::default(); ports as usize];
        Adaptive { every, past, queued, bands, ports, best: Vec::new(), rng }
    }

    /// A load as it is compared.
    fn quality(&self, load: f64) -> f64 {
        match &self.bands[..] {
            [] => load,
            bands => bands.partition_point(|&band| band <= load) as f64,
        }
    }
}

impl Router for Adaptive {
    fn choose(&mut self, header: Header, set: Set<'_>, ports: &mut dyn Ports, now: Time) -> PortId {
        let interval = now.as_ps() / self.every.as_ps();
        let mut least = f64::INFINITY;
        self.best.clear();
        for port in set.iter().filter(|_| set.len() > 1) {
            let past = &mut self.ports[port.index()];
            past.reach(interval);
            let load = self.past * past.average + self.queued * ports.queued(port) as f64;
            let quality = self.quality(load);
            if quality < least {
                least = quality;
                self.best.clear();
            }
            if quality == least {
                self.best.push(port);
            }
        }
        let port = match self.best[..] {
            [] => set.at(0),
            [port] => port,
            ref alike => alike[self.rng.below(alike.len() as u64) as usize],
        };
        let past = &mut self.ports[port.index()];
        past.reach(interval);
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
