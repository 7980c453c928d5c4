//! Choice by a hash, each port as often as the capacity behind it has it (Zhou et al., EuroSys 2014): a port's weight is its
//! link's rate, or what the next switch can send on towards the destination, if that is less.

use super::choice::Set;
use super::graph::{Graph, Hop, Node, Route, spread};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use switchbed_units::Rate;
use switchbed_units::ids::{HostId, LinkId, PortId, SwitchId};

/// Weights of a set are at most so many together.
const MOST: u64 = 1 << 16;

/// A network's paths with the weights of its ports. A class is the hosts of one switch, or a host with several links.
pub struct Weighted {
    route: Arc<dyn Route>,
    /// Each host's class.
    classes: Vec<u32>,
    /// How many classes there are.
    count: usize,
    /// The sums of a set's weights, by switch and class, as a place among `sums`. Hosts with several links stand behind
    /// switches.
    sets: Vec<u32>,
    sums: Vec<Box<[u32]>>,
}

impl Weighted {
    /// The paths of a network, weighted.
    pub(crate) fn new(graph: &Graph) -> Weighted {
        Weighted::over(graph, graph.route.clone(), &|_| None)
    }

    /// Other paths of a network, such as those round links that are down, weighted by the rates that links have
    /// now; `None`: those that they had at first.
    pub fn over(
        graph: &Graph,
        route: Arc<dyn Route>,
        rate: &dyn Fn(LinkId) -> Option<Rate>,
    ) -> Weighted {
        let mut of_switch: BTreeMap<Vec<(Node, Rate)>, u32> = BTreeMap::new();
        let mut first: Vec<HostId> = Vec::new();
        // A link that does not lead to its host any more has no rate.
        let local = |host: HostId, to: Node| {
            let Node::Switch(switch) = to else { return Vec::new() };
            let ways = route.ways(host, switch).iter();
            let rate = |port| match graph.cable(switch, port) {
                cable if cable.to == Node::Host(host) => {
                    rate(graph.link(switch, port)).unwrap_or(cable.rate)
                }
                _ => Rate::from_bps(0),
            };
            ways.map(|port| (to, rate(port))).collect()
        };
        let class = |host: HostId| {
            // Where hosts have one link, its rate is nobody's weight; of several, each has its part.
            let key = match graph.cables(host) {
                [only] => vec![(only.to, Rate::from_bps(1))],
                cables => cables.iter().flat_map(|cable| local(host, cable.to)).collect(),
            };
            *of_switch.entry(key).or_insert_with(|| {
                first.push(host);
                first.len() as u32 - 1
            })
        };
        let classes: Vec<u32> = (0..graph.hosts()).map(HostId::at).map(class).collect();
        let count = first.len();
        let choosers = graph.choosers();
        let mut sets = vec![0; choosers * count];
        let (mut known, mut sums) = (HashMap::new(), Vec::new());
        for (class, &dst) in first.iter().enumerate() {
            let mut capacities = vec![None; choosers];
            for switch in (0..choosers).map(SwitchId::at) {
                let rates = graph.capacities((&*route, rate), switch, dst, &mut capacities);
                let weights = summed(&rates);
                let place = *known.entry(weights).or_insert_with_key(|weights: &Vec<u32>| {
                    sums.push(weights.clone().into());
                    sums.len() as u32 - 1
                });
                sets[switch.index() * count + class] = place;
            }
        }
        Weighted { route, classes, count, sets, sums }
    }
}

/// The sums of weights that are in proportion to capacities, in the least whole numbers.
fn summed(capacities: &[u64]) -> Vec<u32> {
    let divisor = capacities.iter().fold(0, |a, &b| gcd(a, b)).max(1);
    let parts = || capacities.iter().map(|&of| u128::from(of / divisor));
    let total: u128 = parts().sum();
    let scaled = |part: u128| match total > u128::from(MOST) {
        // At least 1: no port falls out for being slow.
        true => (part * u128::from(MOST) / total).max(1),
        false => part,
    };
    let add = |sum: &mut u32, part: u128| {
        *sum += scaled(part) as u32;
        Some(*sum)
    };
    parts().scan(0, add).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Graph {
    /// The bits a second that each port of a switch's set can carry to a host; `known` has those of other switches
    /// that were asked for, all their ports together.
    fn capacities(
        &self,
        (route, rate): (&dyn Route, &dyn Fn(LinkId) -> Option<Rate>),
        from: SwitchId,
        dst: HostId,
        known: &mut [Option<u64>],
    ) -> Vec<u64> {
        let mut stack = vec![from];
        loop {
            let Some(&at) = stack.last() else { return Vec::new() };
            let waiting = stack.len();
            let mut capacities = Vec::new();
            for port in route.ways(dst, at).iter() {
                let cable = self.cable(at, port);
                let behind = match cable.to {
                    Node::Host(_) => Some(u64::MAX),
                    Node::Switch(next) => known[next.index()].or_else(|| {
                        stack.push(next);
                        None
                    }),
                };
                let own = rate(self.link(at, port)).unwrap_or(cable.rate).as_bps();
                capacities.extend(behind.map(|behind| own.min(behind)));
            }
            if stack.len() > waiting {
                continue;
            }
            stack.pop();
            // The switch of a destination with one link passes on at its host's rate: other hosts there may be
            // faster.
            let last = match self.cables(dst) {
                [cable] => cable.to == Node::Switch(at),
                _ => false,
            };
            let sum = capacities.iter().fold(0, |sum: u64, &of| sum.saturating_add(of));
            known[at.index()] = Some(if last { u64::MAX } else { sum });
            if stack.is_empty() {
                return capacities;
            }
        }
    }
}

impl Route for Weighted {
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let set = self.route.ways(hop.dst, switch);
        if hop.key & Hop::PINNED != 0 || set.len() == 1 {
            return self.route.route(hop, switch);
        }
        let sums = self.sums(hop.dst, switch);
        let drawn = spread(hop.key, switch, (1, sums[sums.len() - 1]));
        set.at(sums.partition_point(|&sum| sum <= drawn) as u32)
    }

    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        self.route.ways(dst, switch)
    }

    fn weighed(&self, hop: Hop, switch: SwitchId, used: &dyn Fn(PortId) -> bool) -> Option<PortId> {
        let set = self.route.ways(hop.dst, switch);
        let sums = self.sums(hop.dst, switch);
        let live = || (0..set.len()).filter(|&place| used(set.at(place)));
        let total: u32 = live().map(|place| weight(sums, place)).sum();
        if total == 0 {
            return None;
        }
        // With all ports used, the draw and the port are those of `route`.
        let mut drawn = spread(hop.key, switch, (1, total));
        let found = live().find(|&place| {
            let weight = weight(sums, place);
            let found = drawn < weight;
            drawn = drawn.saturating_sub(weight);
            found
        });
        found.map(|place| set.at(place))
    }

    fn part(&self, dst: HostId, switch: SwitchId, place: u32) -> Option<f64> {
        let sums = self.sums(dst, switch);
        let total = f64::from(sums[sums.len() - 1]);
        Some(f64::from(weight(sums, place)) / total)
    }
}

/// The weight of a port, by its place in the set.
fn weight(sums: &[u32], place: u32) -> u32 {
    let before = place.checked_sub(1).map_or(0, |before| sums[before as usize]);
    sums[place as usize] - before
}

impl Weighted {
    fn sums(&self, dst: HostId, switch: SwitchId) -> &[u32] {
        let class = self.classes[dst.index()] as usize;
        &self.sums[self.sets[switch.index() * self.count + class] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{LeafSpine, Shape};
    use switchbed_units::{Rate, Span};

    /// Three leaves of two hosts under three spines; some links between leaf and spine at other rates.
    fn fabric(rates: &[(u32, u32, u64)]) -> Graph {
        let (rate, delay) = (Rate::from_gbps(40), Span::from_us(1));
        let mut graph = LeafSpine {
            leaves: 3,
            spines: 3,
            hosts_per_leaf: 2,
            host_rate: Rate::from_gbps(10),
            host_delay: delay,
            fabric_rate: rate,
            fabric_delay: delay,
        }
        .graph();
        for &(leaf, spine, gbps) in rates {
            graph.switches[leaf as usize].1[2 + spine as usize].rate = Rate::from_gbps(gbps);
            graph.switches[3 + spine as usize].1[leaf as usize].rate = Rate::from_gbps(gbps);
        }
        graph
    }

    fn parts(graph: &Graph, dst: u32, switch: u32) -> Vec<f64> {
        let route = Weighted::new(graph);
        let set = route.ways(HostId(dst), SwitchId(switch)).len();
        let parts = (0..set).map(|place| route.part(HostId(dst), SwitchId(switch), place));
        parts.map(|part| part.expect("weights")).collect()
    }

    #[test]
    fn weights_are_the_capacities_of_what_lies_behind() {
        assert_eq!(parts(&fabric(&[]), 5, 0), [1.0 / 3.0; 3]);
        // Leaf 0's own link to spine 1 is slow, for all destinations.
        let graph = fabric(&[(0, 1, 10)]);
        assert_eq!(parts(&graph, 5, 0), [4.0 / 9.0, 1.0 / 9.0, 4.0 / 9.0]);
        // To leaf 2, spine 1's link is slow: to leaf 1 it is not.
        let graph = fabric(&[(2, 1, 10)]);
        assert_eq!(parts(&graph, 5, 0), [4.0 / 9.0, 1.0 / 9.0, 4.0 / 9.0]);
        assert_eq!(parts(&graph, 3, 0), [1.0 / 3.0; 3]);
        // A host's own rate is nobody's weight.
        assert_eq!(parts(&graph, 4, 2), [1.0]);
    }

    #[test]
    fn flows_are_spread_by_weight() {
        let graph = fabric(&[(2, 1, 10)]);
        let route = Weighted::new(&graph);
        let mut taken = [0; 3];
        for key in 0..90_000 {
            let port = route.route(Hop { dst: HostId(5), key }, SwitchId(0));
            taken[port.index() - 2] += 1;
        }
        // 40,000, 10,000 and 40,000.
        let close = |found: i32, expected: i32| (found - expected).abs() < 700;
        assert!(
            close(taken[0], 40_000) && close(taken[1], 10_000) && close(taken[2], 40_000),
            "{taken:?}"
        );
    }

    #[test]
    fn weights_are_the_least_whole_numbers() {
        assert_eq!(summed(&[40, 10, 30]), [4, 5, 8]);
        assert_eq!(summed(&[7, 7]), [1, 2]);
        let odd = summed(&[99_999_999_977, 1]);
        assert_eq!(odd, [65_535, 65_536]);
    }
}
