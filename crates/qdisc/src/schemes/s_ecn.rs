//! S-ECN, as the E-ECN paper describes it (Wang, Han, Zhuang, Xue, Sun, Lu, section II-A): marks
//! with a probability that is linear in the queue's growth, whatever its length.
//!
//! p = rate / slope, from 0 where the queue does not grow to 1 where it grows by `slope` or faster.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | t_i | time | 1.25 packets' times, as E-ECN's |
//! | slope at which p reaches 1 | bit/s | slope_share of the line rate |
//! | slope_share | | 0.1 |
//!
//! **The paper leaves open** the slope at which p reaches 1 and how the growth is measured. At
//! the line rate itself too few packets are marked to hold a queue: it grows with each sender's
//! window. From a hundredth to 0.3 of it the steady state is the same. The growth is E-ECN's, so
//! that the two differ in the rule alone.

use super::e_ecn::{Growth, GrowthParams, PAPER};
use crate::hooks::{Intent, Marker};
use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{PS_PER_S, Rate, Span};

params! {
    /// S-ECN's parameters.
    pub struct SEcnParams {
        /// The growth at which every packet is marked. Default: slope_share of the port's rate.
        slope: Option<Rate>;
        /// slope as a part of the port's rate.
        slope_share: f64 = "0.1" as number(0.001, 1_000.0);
        /// The window of the growth.
        growth: GrowthParams;
    }
}

impl Definition for SEcn {
    type Params = SEcnParams;

    const ABOUT: About = About {
        name: "s-ecn",
        paper: PAPER,
        summary: "Marks with a probability that is linear in the queue's growth, whatever its \
                  length.",
        source: "section II-A, which leaves the slope open",
        seats: marker("S-ECN on the queue"),
        needs_pool: false,
    };

    fn window(params: &SEcnParams) -> Option<Span> {
        params.growth.t_i
    }

    fn build(params: &SEcnParams, site: Site) -> Built {
        let slope = params.slope.map_or(Slope::Share(params.slope_share), Slope::Rate);
        let s_ecn = SEcn::new(params.growth.t_i(&site), slope, site.queues());
        site.mark(s_ecn)
    }
}

/// The growth at which p reaches 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slope {
    /// The same whatever the line's rate.
    Rate(Rate),
    /// A part of the line's rate, as it is at the time.
    Share(f64),
}

/// S-ECN's marker over all queues of a port.
#[derive(Clone, Debug)]
pub struct SEcn {
    growth: Growth,
    slope: Slope,
}

impl SEcn {
    /// Makes it for a port of `queues` queues.
    pub fn new(t_i: Span, slope: Slope, queues: usize) -> Self {
        SEcn { growth: Growth::new(t_i, queues), slope }
    }
}

fn bytes_per_ps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / (8.0 * PS_PER_S as f64)
}

impl Marker for SEcn {
    fn intend(&self, view: &View, queue: QueueId, _: &Packet, rng: &mut dyn Random) -> Intent {
        let slope = match self.slope {
            Slope::Rate(rate) => bytes_per_ps(rate),
            Slope::Share(share) => share * bytes_per_ps(view.port.rate()),
        };
        let p = self.growth.found(view, queue) / slope;
        let marks = p >= 1.0 || p > 0.0 && rng.unit() < p;
        if marks { Intent::Mark } else { Intent::Pass }
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        self.growth.stored(view, queue, slot);
        None
    }

    fn refused(&mut self, view: &View, queue: QueueId, _: &Packet, why: DropReason) {
        if why == DropReason::NotEcnCapable {
            self.growth.refused(view, queue);
        }
    }

    /// Algorithm 1 returns before it estimates anything.
    fn refused_at_full(&mut self, _: &View, _: QueueId, _: &Packet) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, PortState, SwitchMemory};
    use switchbed_units::random::NoRandom;
    use switchbed_units::{Bytes, Time};

    /// Random source that always draws the same number.
    struct Always(f64);
    impl Random for Always {
        fn next_u64(&mut self) -> u64 {
            (self.0 * (1u64 << 53) as f64) as u64 * (1 << 11)
        }
    }

    /// The wish for an arrival that finds `bytes` at 1 µs in a queue that was empty at 0.
    fn wish(slope: Slope, bytes: u64, rng: &mut dyn Random) -> Intent {
        let mut port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500)]);
        port.queues[0].bytes = bytes;
        let (memory, arena) = (SwitchMemory::new(Bytes::MAX), Arena::new());
        let view = View::new(Time::from_ps(1_000_000), &port, &memory, &arena);
        SEcn::new(Span::from_ns(500), slope, 1).intend(&view, 0, &Packet::default(), rng)
    }

    #[test]
    fn the_probability_is_linear_in_the_growth_up_to_the_slope() {
        // The line rate is 1250 bytes a µs: 250 of them are a fifth.
        let (whole, half) = (Slope::Share(1.0), Slope::Share(0.5));
        for (slope, p) in [(whole, 0.2), (half, 0.4), (Slope::Rate(Rate::from_gbps(4)), 0.5)] {
            assert_eq!(wish(slope, 250, &mut Always(p - 1e-6)), Intent::Mark);
            assert_eq!(wish(slope, 250, &mut Always(p + 1e-6)), Intent::Pass);
        }
        assert_eq!(wish(whole, 1250, &mut NoRandom), Intent::Mark);
        assert_eq!(wish(whole, 0, &mut NoRandom), Intent::Pass);
    }
}
