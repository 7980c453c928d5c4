//! Ranks decide between links: a number for each, drawn from the names of its two ends, so that a host or
//! a link more leaves all others' as they are.
//!
//! A switch has its name. A host has that of its first switch and its place among the hosts there; of several
//! cables between two nodes, each has its place among them.

use crate::ids::{HostId, Rank};
use crate::topology::{Cable, Graph, Node};
use std::collections::{BTreeMap, HashSet};
use switchbed_units::random::Random;
use switchbed_units::random::Stream;

/// A node's name as a number.
type Name = u64;

/// Each link's rank, by link. No two are equal.
pub(crate) fn of(graph: &Graph, seed: u64) -> Vec<Rank> {
    let switches: Vec<Name> =
        graph.switches.iter().map(|(name, _)| joined(0, name.bytes().map(u64::from))).collect();
    let mut hosts_of = vec![0u64; switches.len()];
    let hosts: Vec<Name> = (0..graph.hosts())
        .map(|host| match graph.cables(HostId::at(host))[0].to {
            Node::Switch(switch) => {
                let place = &mut hosts_of[switch.index()];
                *place += 1;
                joined(switches[switch.index()], [*place])
            }
            Node::Host(host) => host.0.into(),
        })
        .collect();
    let name = |node: Node| match node {
        Node::Host(host) => hosts[host.index()],
        Node::Switch(switch) => switches[switch.index()],
    };
    let mut taken = HashSet::new();
    let mut rank = |cable: &Cable, nth: u64| {
        // From names, not numbers: a switch added elsewhere leaves the order at this one as it was.
        let mut stream =
            Stream::new(seed, "ranks", joined(name(cable.from), [name(cable.to), nth]));
        loop {
            let rank = stream.next_u64() as u32;
            // 32 of 64 bits may collide, and two equal ranks would leave a tie open.
            if taken.insert(rank) {
                return Rank(rank);
            }
        }
    };
    let mut before: BTreeMap<(Node, Node), u64> = BTreeMap::new();
    let mut ranks: Vec<Rank> = Vec::with_capacity(graph.access.len());
    for cable in &graph.access {
        let nth = before.entry((cable.from, cable.to)).or_default();
        ranks.push(rank(cable, *nth));
        *nth += 1;
    }
    for (_, cables) in &graph.switches {
        // Parallel links have the same names at both ends: a count tells them apart.
        let mut alike: BTreeMap<Node, u64> = BTreeMap::new();
        ranks.extend(cables.iter().map(|cable| {
            let nth = alike.entry(cable.to).or_default();
            *nth += 1;
            rank(cable, *nth)
        }));
    }
    ranks
}

/// FNV-1a over words: names need only be distinct; [`Stream::new`] scatters them.
fn joined(name: Name, words: impl IntoIterator<Item = u64>) -> Name {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    words.into_iter().fold(step(0xcbf2_9ce4_8422_2325, name), step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_scenario::topology::{Dumbbell, LeafSpine, Topology};
    use switchbed_units::{Rate, Span};

    fn by_name(graph: &Graph, place: impl Fn(usize) -> usize) -> BTreeMap<String, Rank> {
        let name = |node: Node| match node {
            Node::Host(host) => format!("host{}", place(host.index())),
            Node::Switch(switch) => graph.switches[switch.index()].0.clone(),
        };
        let cables = graph.switches.iter().flat_map(|(_, cables)| cables);
        let named = graph.access.iter().chain(cables).zip(of(graph, 7));
        named
            .map(|(cable, rank)| (format!("{}>{}", name(cable.from), name(cable.to)), rank))
            .collect()
    }

    fn leaf_spine(leaves: u32, hosts_per_leaf: u32) -> Graph {
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        let topology = Topology::LeafSpine(LeafSpine {
            leaves,
            spines: 3,
            hosts_per_leaf,
            host_rate: rate,
            host_delay: delay,
            fabric_rate: rate,
            fabric_delay: delay,
        });
        Graph::new(&topology, Span::ZERO)
    }

    /// Every link of `few` has the rank that it has in `many`.
    fn within(few: &BTreeMap<String, Rank>, many: &BTreeMap<String, Rank>) {
        assert!(few.len() < many.len());
        for (name, rank) in few {
            assert_eq!(many[name], *rank, "{name}");
        }
    }

    #[test]
    fn a_host_more_leaves_all_other_ranks_as_they_are() {
        let few = by_name(&leaf_spine(4, 5), |host| host);
        // A leaf with its hosts, numbered last.
        within(&few, &by_name(&leaf_spine(5, 5), |host| host));
        // A host on each leaf, the last there; those of later leaves have other numbers.
        let idle = |host: usize| if host % 6 == 5 { 1000 + host } else { host - host / 6 };
        within(&few, &by_name(&leaf_spine(4, 6), idle));
        let dumbbell = |left| {
            let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
            let (bottleneck_rate, bottleneck_delay) = (rate, delay);
            let shape = Dumbbell { left, right: 2, rate, delay, bottleneck_rate, bottleneck_delay };
            Graph::new(&Topology::Dumbbell(shape), Span::ZERO)
        };
        let idle = |host: usize| [0, 1, 2, 1000, 3, 4][host];
        within(&by_name(&dumbbell(3), |host| host), &by_name(&dumbbell(4), idle));
    }

    #[test]
    fn no_two_links_have_a_rank() {
        let ranks = of(&leaf_spine(60, 60), 3);
        let distinct: HashSet<u32> = ranks.iter().map(|rank| rank.0).collect();
        assert_eq!(distinct.len(), ranks.len());
    }
}
