//! A choice for each packet: drawn, or in turn.

use super::{Header, Ports, Router};
use crate::ids::PortId;
use crate::topology::Set;
use switchbed_units::Time;
use switchbed_units::random::{OnDemand, Random as _};

/// Each port alike, drawn for each packet.
pub(super) struct Random {
    pub(super) rng: OnDemand,
}

impl Router for Random {
    fn choose(&mut self, _: Header, set: Set<'_>, _: &mut dyn Ports, _: Time) -> PortId {
        match set.len() {
            1 => set.at(0),
            n => set.at(self.rng.below(n.into()) as u32),
        }
    }
}

/// One port after the other, from one that is drawn. Sets that begin with the same port take turns together.
pub(super) struct InTurn {
    /// The place of the next port, by the set's first.
    next: Vec<Option<u32>>,
    rng: OnDemand,
}

impl InTurn {
    pub(super) fn new(ports: u32, rng: OnDemand) -> InTurn {
        InTurn { next: vec![None; ports as usize], rng }
    }
}

impl Router for InTurn {
    fn choose(&mut self, _: Header, set: Set<'_>, _: &mut dyn Ports, _: Time) -> PortId {
        if set.len() == 1 {
            return set.at(0);
        }
        let rng = &mut self.rng;
        // From a random place on: switches in step would all turn to the same port at once.
        let next =
            self.next[set.at(0).index()].get_or_insert_with(|| rng.below(set.len().into()) as u32);
        let place = *next % set.len();
        *next = (place + 1) % set.len();
        set.at(place)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Held, packet, rng};
    use super::*;

    fn counts(router: &mut dyn Router, set: Set<'_>, packets: u32) -> Vec<u32> {
        let mut counts = vec![0; 8];
        for flow in 0..packets {
            let port = router.choose(packet(flow), set, &mut Held(Vec::new()), Time::ZERO);
            counts[port.index()] += 1;
        }
        counts
    }

    #[test]
    fn in_turn_each_port_has_as_many_packets() {
        let mut router = InTurn::new(8, rng());
        assert_eq!(counts(&mut router, Set::Ports(&[1, 2, 5]), 30), [0, 10, 10, 0, 0, 10, 0, 0]);
        assert_eq!(counts(&mut router, Set::Run(4, 1), 3), [0, 0, 0, 0, 3, 0, 0, 0]);
    }

    #[test]
    fn at_random_each_port_has_its_share() {
        let mut router = Random { rng: rng() };
        let counts = counts(&mut router, Set::Run(2, 4), 40_000);
        // 10,000 each; a standard deviation is 87.
        assert!(counts[2..6].iter().all(|&n| (9_600..10_400).contains(&n)), "{counts:?}");
        assert_eq!(counts[2..6].iter().sum::<u32>(), 40_000);
    }
}
