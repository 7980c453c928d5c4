//! Fat-tree (Al-Fares, Loukissas, Vahdat: SIGCOMM 2008) of k-port switches: the Clos network (`clos.rs`) of k pods of
//! k/2 edge and k/2 aggregation switches, (k/2)² cores, k/2 hosts on each edge.

use super::clos::{Clos, Tiers};
use super::graph::{Graph, SwitchGroup};
use super::shape::Shape;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::{Rate, Span};

/// Most ports of a fat-tree's switches: k³/4 hosts, 3k³/2 ports.
pub(super) const MAX_K: u64 = 88;

params! {
    /// A fat-tree's parameters.
    #[derive(Copy)]
    pub struct FatTree {
        /// Ports of each switch, an even number; host h sits on edge h / (k/2).
        k: u32 as count(2, MAX_K);
        /// The links.
        tiers: Tiers;
    }
}

impl FatTree {
    fn clos(&self) -> Clos {
        let (pods, half) = (self.k, self.k / 2);
        Clos {
            pods,
            edges_per_pod: half,
            aggregations_per_pod: half,
            cores: half * half,
            hosts_per_edge: half,
            tiers: self.tiers,
        }
    }
}

impl Shape for FatTree {
    fn hosts(&self) -> u32 {
        self.clos().hosts()
    }
    fn access(&self) -> (Rate, Span) {
        self.clos().access()
    }
    fn across(&self) -> Span {
        self.clos().across()
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        self.clos().switch_groups()
    }
    fn size(&self) -> &'static str {
        FatTree::KEY.k
    }
    fn check(&self) -> Result<(), Unfit> {
        match self.k.is_multiple_of(2) {
            true => Ok(()),
            false => {
                let why = "a fat-tree's switches have an even number of ports";
                Err(Unfit::new(FatTree::KEY.k, why))
            }
        }
    }
    fn graph(&self) -> Graph {
        self.clos().graph()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::graph::{Cable, Hop, Node};
    use std::collections::BTreeSet;
    use switchbed_units::ids::{HostId, SwitchId};

    const TIERS: [(Rate, Span); 3] = [
        (Rate::from_gbps(1), Span::from_us(3)),
        (Rate::from_gbps(10), Span::from_us(2)),
        (Rate::from_gbps(100), Span::from_us(1)),
    ];

    fn tree(k: u32) -> Graph {
        let [
            (host_rate, host_delay),
            (aggregation_rate, aggregation_delay),
            (core_rate, core_delay),
        ] = TIERS;
        let tiers = Tiers {
            host_rate,
            host_delay,
            aggregation_rate,
            aggregation_delay,
            core_rate,
            core_delay,
        };
        FatTree { k, tiers }.graph()
    }

    fn cables(graph: &Graph) -> Vec<Cable> {
        let ports = graph.switches.iter().flat_map(|(_, cables)| cables);
        graph.access.iter().chain(ports).copied().collect()
    }

    #[test]
    fn counts_are_the_published_ones() {
        for k in [2, 4, 6, 8] {
            let tree = tree(k);
            let half = k / 2;
            assert_eq!(tree.hosts() as u32, k * k * k / 4);
            assert_eq!(tree.switches.len() as u32, 5 * k * k / 4);
            assert!(tree.switches.iter().all(|(_, ports)| ports.len() as u32 == k));
            let cores = tree.switches.iter().filter(|(name, _)| name.starts_with("core"));
            assert_eq!(cores.count() as u32, half * half);
        }
        assert_eq!(tree(8).hosts(), 128);
    }

    #[test]
    fn a_cable_leads_back_at_the_rate_and_delay_of_its_tier() {
        let tree = tree(6);
        let cables = cables(&tree);
        for cable in &cables {
            let back =
                cables.iter().filter(|other| (other.from, other.to) == (cable.to, cable.from));
            let back: Vec<_> = back.collect();
            assert_eq!(back.len(), 1, "{cable:?}");
            assert_eq!((back[0].rate, back[0].delay), (cable.rate, cable.delay));
            let tier = |node| match node {
                Node::Host(_) => 0,
                Node::Switch(SwitchId(..18)) => 1,
                Node::Switch(SwitchId(..36)) => 2,
                Node::Switch(_) => 3,
            };
            let (low, high) =
                (tier(cable.from).min(tier(cable.to)), tier(cable.from).max(tier(cable.to)));
            assert_eq!(high, low + 1);
            assert_eq!((cable.rate, cable.delay), TIERS[low]);
        }
    }

    #[test]
    fn every_way_is_as_long_as_its_tier_and_ends_at_its_host() {
        let k = 6;
        let tree = tree(k);
        let half = k / 2;
        for (src, dst) in (0..54).flat_map(|src| (0..54).map(move |dst| (src, dst))) {
            if src == dst {
                continue;
            }
            let (same_edge, same_pod) =
                (src / half == dst / half, src / half / half == dst / half / half);
            let links = if same_edge {
                2
            } else if same_pod {
                4
            } else {
                6
            };
            for key in [0, 7, 1 << 20, Hop::PINNED | 5] {
                let path = tree.path(HostId(src), Hop { dst: HostId(dst), key });
                assert_eq!(path.len(), links);
                assert!(path.windows(2).all(|pair| pair[0].to == pair[1].from));
                assert_eq!(path.last().map(|cable| cable.to), Some(Node::Host(HostId(dst))));
            }
        }
    }

    /// The switches of the ways from host 0 that these keys take.
    fn ways(tree: &Graph, dst: u32, keys: impl Iterator<Item = u32>) -> Vec<Vec<String>> {
        let name = |cable: &Cable| format!("{:?}", cable.to);
        let path = |key| tree.path(HostId(0), Hop { dst: HostId(dst), key });
        keys.map(|key| path(key).iter().map(name).collect()).collect()
    }

    #[test]
    fn there_are_as_many_ways_as_published_and_a_pin_takes_each_once() {
        for k in [2, 4, 6, 8] {
            let tree = tree(k);
            let half = k / 2;
            // Under the edge, in the pod, in another pod.
            let cases =
                [(1, 1, half > 1), (half, half, half > 1), (half * half, half * half, true)];
            for (dst, count, there) in cases {
                if !there {
                    continue;
                }
                let hashed: BTreeSet<_> = ways(&tree, dst, 0..2_000).into_iter().collect();
                assert_eq!(hashed.len() as u32, count, "k = {k}, host {dst}");
                let pins = (0..count).map(|path| Hop::PINNED | path);
                let pinned: BTreeSet<_> = ways(&tree, dst, pins).into_iter().collect();
                assert_eq!(pinned, hashed, "k = {k}, host {dst}");
            }
        }
    }

    #[test]
    fn ecmp_spreads_evenly_over_both_tiers_together() {
        let tree = tree(8);
        let mut hits = std::collections::BTreeMap::new();
        for way in ways(&tree, 127, 0..16_000) {
            *hits.entry(way).or_insert(0u32) += 1;
        }
        assert_eq!(hits.len(), 16);
        assert!(hits.values().all(|&n| (850..1150).contains(&n)), "{hits:?}");
    }
}
