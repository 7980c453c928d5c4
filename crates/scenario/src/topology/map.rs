//! A network as `switchbed topology` shows and converts it: nodes, links, and what they come to.
//!
//! Hosts may have several links here; packets do not pass through hosts. Paths are those of the fewest links.

use super::flow::most;
use super::graph::{self, Graph};
use serde::Serialize;
use std::collections::BTreeMap;
use switchbed_units::{Bytes, Rate, Span};

/// Bytes of an ACK in the ideal round trip: the smallest frame.
const ACK: u32 = 64;
/// A distance that no path has.
const FAR: u32 = u32::MAX;

/// A network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    /// Hosts and switches.
    pub nodes: Vec<MapNode>,
    /// Links, each once.
    pub links: Vec<MapLink>,
}

/// A network with what it comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Nodes and links.
    #[serde(flatten)]
    pub map: Map,
    /// Measures of the network.
    pub measures: Measures,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapNode {
    /// Name of the host or switch.
    pub name: String,
    /// A switch's tier; `None`: a host.
    pub tier: Option<String>,
}

/// A link: both directions have its rate and its delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MapLink {
    /// Places among the nodes.
    pub ends: [u32; 2],
    /// Bits a second.
    pub rate_bps: u64,
    /// Propagation one way in picoseconds.
    pub delay_ps: u64,
    /// The longest packet that it carries; `None`: any.
    pub mtu_bytes: Option<u64>,
    /// The fraction of packets that it loses, either way.
    pub loss: f64,
}

/// Measures of a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Hosts.
    pub hosts: u64,
    /// Switches.
    pub switches: u64,
    /// Links, parallel ones counted each.
    pub links: u64,
    /// Ports of switches.
    pub switch_ports: u64,
    /// All hosts' links together.
    pub hosts_bps: u64,
    /// The most that the first half of the hosts can send to the second at once, hosts taken switch by switch.
    pub bisection_bps: u64,
    /// A half's links over the bisection: 1 where all can send at their rate.
    pub oversubscription: f64,
    /// Links between the two hosts that are farthest apart; `None`: some host cannot reach another.
    pub diameter_links: Option<u32>,
    /// The longest propagation between two hosts, one way.
    pub propagation_ps: Option<u64>,
    /// The longest round trip between two hosts in an empty network: a packet of `packet_bytes` there, an ACK of
    /// `ack_bytes` back.
    pub rtt_ps: Option<u64>,
    /// Bytes of the packet.
    pub packet_bytes: u64,
    /// Bytes of the ACK.
    pub ack_bytes: u64,
    /// Tiers, those nearest to hosts first.
    pub tiers: Vec<TierMeasures>,
}

/// Measures of a tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierMeasures {
    /// The tier.
    pub name: String,
    /// Links from the nearest host to its nearest switch.
    pub level: u32,
    /// Number of its switches.
    pub switches: u64,
    /// The most ports that one of them has.
    pub ports: u64,
    /// Links of all of them to hosts and to switches nearer to hosts.
    pub down_bps: u64,
    /// Links of all of them to switches farther from hosts.
    pub up_bps: u64,
    /// Down over up; `None`: nothing is above.
    pub oversubscription: Option<f64>,
}

/// A way on from a node.
#[derive(Clone, Copy)]
struct Way {
    to: u32,
    link: MapLink,
}

/// Times over a path of no bytes, of an ACK and of a packet.
type Times = [u64; 3];

impl Map {
    /// The map of a graph, whose hosts come first.
    pub fn of(graph: &Graph) -> Map {
        let mut tiers = vec![String::new(); graph.switches.len()];
        for tier in &graph.tiers {
            tier.switches.iter().for_each(|at| tiers[at.index()].clone_from(&tier.name));
        }
        let hosts = graph.host_names.iter().map(|name| MapNode { name: name.clone(), tier: None });
        let switches = graph.switches.iter().zip(tiers);
        let switches =
            switches.map(|((name, _), tier)| MapNode { name: name.clone(), tier: Some(tier) });
        let place = |node: graph::Node| match node {
            graph::Node::Host(host) => host.0,
            graph::Node::Switch(switch) => graph.hosts() as u32 + switch.0,
        };
        let ports = graph.switches.iter().flat_map(|(_, cables)| cables);
        let cables = graph.access.iter().chain(ports);
        let once = cables.filter(|cable| place(cable.from) < place(cable.to));
        let link = |cable: &graph::Cable| MapLink {
            ends: [place(cable.from), place(cable.to)],
            rate_bps: cable.rate.as_bps(),
            delay_ps: cable.delay.as_ps(),
            mtu_bytes: None,
            loss: 0.0,
        };
        Map { nodes: hosts.chain(switches).collect(), links: once.map(link).collect() }
    }

    fn is_host(&self, node: u32) -> bool {
        self.nodes[node as usize].tier.is_none()
    }

    /// Each node's ways on.
    fn ways(&self) -> Vec<Vec<Way>> {
        let mut ways = vec![Vec::new(); self.nodes.len()];
        for &link in &self.links {
            let [a, b] = link.ends;
            ways[a as usize].push(Way { to: b, link });
            ways[b as usize].push(Way { to: a, link });
        }
        ways
    }

    /// Adds the measures, for packets of `packet` bytes.
    pub fn measured(self, packet: Bytes) -> Measured {
        let measures = self.measures(packet);
        Measured { map: self, measures }
    }

    /// Computes the measures for packets of this length.
    pub fn measures(&self, packet: Bytes) -> Measures {
        let ways = self.ways();
        let levels = self.levels(&ways);
        let hosts: Vec<u32> = (0..self.nodes.len() as u32).filter(|&n| self.is_host(n)).collect();
        let rate =
            |&host: &u32| ways[host as usize].iter().map(|way| way.link.rate_bps).sum::<u64>();
        let hosts_bps = hosts.iter().map(rate).sum();
        let (bisection_bps, half_bps) = self.bisection(&hosts, &ways);
        let farthest = self.farthest(&hosts, &ways, packet.get() as u32);
        let at_host = |link: &&MapLink| link.ends.iter().any(|&end| self.is_host(end));
        let access = self.links.iter().filter(at_host).count() as u64;
        let links = self.links.len() as u64;
        Measures {
            hosts: hosts.len() as u64,
            switches: (self.nodes.len() - hosts.len()) as u64,
            links,
            // Each link has two ends, of which one of an access link's is a host's.
            switch_ports: 2 * links - access,
            hosts_bps,
            bisection_bps,
            oversubscription: half_bps as f64 / bisection_bps.max(1) as f64,
            diameter_links: farthest.map(|(links, _)| links),
            propagation_ps: farthest.map(|(_, [propagation, _])| propagation),
            rtt_ps: farthest.map(|(_, [_, rtt])| rtt),
            packet_bytes: packet.get(),
            ack_bytes: u64::from(ACK),
            tiers: self.tiers(&ways, &levels),
        }
    }

    /// Each switch's distance from the nearest host.
    fn levels(&self, ways: &[Vec<Way>]) -> Vec<u32> {
        let mut levels = vec![FAR; self.nodes.len()];
        let mut order: Vec<u32> =
            (0..self.nodes.len() as u32).filter(|&n| self.is_host(n)).collect();
        order.iter().for_each(|&host| levels[host as usize] = 0);
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for way in &ways[at as usize] {
                if levels[way.to as usize] == FAR {
                    levels[way.to as usize] = levels[at as usize] + 1;
                    order.push(way.to);
                }
            }
        }
        levels
    }

    fn tiers(&self, ways: &[Vec<Way>], levels: &[u32]) -> Vec<TierMeasures> {
        let mut tiers: Vec<TierMeasures> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let Some(name) = &node.tier else { continue };
            let place = *known.entry(name).or_insert_with(|| {
                tiers.push(TierMeasures {
                    name: name.clone(),
                    level: FAR,
                    switches: 0,
                    ports: 0,
                    down_bps: 0,
                    up_bps: 0,
                    oversubscription: None,
                });
                tiers.len() - 1
            });
            let tier = &mut tiers[place];
            tier.level = tier.level.min(levels[at]);
            tier.switches += 1;
            tier.ports = tier.ports.max(ways[at].len() as u64);
            for way in &ways[at] {
                match levels[way.to as usize].cmp(&levels[at]) {
                    std::cmp::Ordering::Less => tier.down_bps += way.link.rate_bps,
                    std::cmp::Ordering::Equal => {}
                    std::cmp::Ordering::Greater => tier.up_bps += way.link.rate_bps,
                }
            }
        }
        for tier in &mut tiers {
            let over = || tier.down_bps as f64 / tier.up_bps as f64;
            tier.oversubscription = (tier.up_bps > 0).then(over);
        }
        tiers.sort_by_key(|tier| tier.level);
        tiers
    }

    /// The most that a half of the hosts can send to the other at once, and the lesser half's links.
    fn bisection(&self, hosts: &[u32], ways: &[Vec<Way>]) -> (u64, u64) {
        let mut hosts = hosts.to_vec();
        // Hosts of a switch stay together: the halves are cut between switches where that is
        // possible.
        hosts.sort_by_key(|&host| ways[host as usize].first().map(|way| way.to));
        // Two nodes more: source and sink of the flow, which stand for the halves.
        let [from, to] = [self.nodes.len() as u32, self.nodes.len() as u32 + 1];
        let mut edges: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut add = |a: u32, b: u32, bps: u64| {
            let known = edges.entry((a, b)).or_default();
            *known = known.saturating_add(bps);
        };
        let mut halves = [0u64; 2];
        for (nth, &host) in hosts.iter().enumerate() {
            let second = usize::from(nth >= hosts.len() / 2);
            for Way { to: switch, link } in &ways[host as usize] {
                halves[second] = halves[second].saturating_add(link.rate_bps);
                match second {
                    0 => add(from, *switch, link.rate_bps),
                    _ => add(*switch, to, link.rate_bps),
                }
            }
        }
        for &MapLink { ends: [a, b], rate_bps, .. } in &self.links {
            if !self.is_host(a) && !self.is_host(b) {
                add(a, b, rate_bps);
                add(b, a, rate_bps);
            }
        }
        (most(self.nodes.len() + 2, &edges, (from, to)), halves[0].min(halves[1]))
    }

    /// The links between the two hosts that are farthest apart, and the longest propagation and round trip; `None`:
    /// some cannot reach each other, or there are none.
    fn farthest(&self, hosts: &[u32], ways: &[Vec<Way>], packet: u32) -> Option<(u32, [u64; 2])> {
        let over = |link: &MapLink| -> Times {
            let rate = Rate::from_bps(link.rate_bps);
            let delay = Span::from_ps(link.delay_ps);
            [Span::ZERO, rate.tx_time(ACK), rate.tx_time(packet)].map(|tx| (tx + delay).as_ps())
        };
        // Hosts with the same links stand for each other.
        let mut classes: BTreeMap<_, (u32, u32)> = BTreeMap::new();
        for &host in hosts {
            let own = ways[host as usize]
                .iter()
                .map(|Way { to, link }| (*to, link.rate_bps, link.delay_ps));
            let mut own: Vec<_> = own.collect();
            own.sort_unstable();
            classes.entry(own).or_insert((host, 0)).1 += 1;
        }
        let mut longest: Option<(u32, [u64; 2])> = None;
        for &(dst, _) in classes.values() {
            let mut known: Vec<(u32, Times)> = vec![(FAR, [0; 3]); self.nodes.len()];
            let mut order: Vec<u32> = Vec::new();
            let reach = |way: &Way,
                         (links, times): (u32, Times),
                         order: &mut Vec<u32>,
                         known: &mut Vec<(u32, Times)>| {
                let mut after = over(&way.link);
                after.iter_mut().zip(times).for_each(|(after, before)| *after += before);
                let place = &mut known[way.to as usize];
                if place.0 == FAR {
                    *place = (links + 1, after);
                    order.push(way.to);
                } else if place.0 == links + 1 {
                    place
                        .1
                        .iter_mut()
                        .zip(after)
                        .for_each(|(least, after)| *least = after.min(*least));
                }
            };
            let first = ways[dst as usize].iter();
            first.for_each(|way| reach(way, (0, [0; 3]), &mut order, &mut known));
            let mut next = 0;
            while let Some(&at) = order.get(next) {
                next += 1;
                let here = known[at as usize];
                let on = ways[at as usize].iter().filter(|way| !self.is_host(way.to));
                on.for_each(|way| reach(way, here, &mut order, &mut known));
            }
            for &(src, count) in classes.values() {
                // A host is no peer of its own, but hosts with the same links are.
                if src == dst && count == 1 {
                    continue;
                }
                let reached =
                    ways[src as usize].iter().filter(|way| known[way.to as usize].0 != FAR);
                let least = reached.clone().map(|way| known[way.to as usize].0).min()?;
                let mut best = [u64::MAX; 3];
                for way in reached.filter(|way| known[way.to as usize].0 == least) {
                    let (times, last) = (known[way.to as usize].1, over(&way.link));
                    for (best, (time, last)) in best.iter_mut().zip(times.into_iter().zip(last)) {
                        *best = (*best).min(time + last);
                    }
                }
                let [propagation, ack, data] = best;
                let (links, [far, rtt]) = longest.unwrap_or_default();
                longest = Some((links.max(least + 1), [far.max(propagation), rtt.max(ack + data)]));
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{FatTree, LeafSpine, Ring, Shape, Tiers, Way};

    const GBPS: u64 = 1_000_000_000;

    fn measured(graph: &Graph) -> Measures {
        Map::of(graph).measures(Bytes::new(1500))
    }

    #[test]
    fn a_leaf_spine_by_hand() {
        let shape = LeafSpine {
            leaves: 4,
            spines: 2,
            hosts_per_leaf: 8,
            host_rate: Rate::from_gbps(10),
            host_delay: Span::from_us(1),
            fabric_rate: Rate::from_gbps(20),
            fabric_delay: Span::from_us(2),
        };
        let found = measured(&shape.graph());
        assert_eq!((found.hosts, found.switches, found.links), (32, 6, 32 + 8));
        assert_eq!(found.switch_ports, 4 * 10 + 2 * 4);
        assert_eq!((found.hosts_bps, found.bisection_bps), (320 * GBPS, 80 * GBPS));
        assert_eq!((found.oversubscription, found.diameter_links), (2.0, Some(4)));
        let tiers = found.tiers.iter();
        let tiers: Vec<_> =
            tiers.map(|t| (&t.name[..], t.level, t.ports, t.oversubscription)).collect();
        assert_eq!(tiers, [("leaf", 1, 10, Some(2.0)), ("spine", 2, 4, None)]);
        assert_eq!(found.propagation_ps, Some(6_000_000));
        // 1,500 B: 1.2 us and 0.6 us, each twice; 64 B: 51.2 ns and 25.6 ns.
        assert_eq!(found.rtt_ps, Some(12_000_000 + 3_600_000 + 153_600));
    }

    #[test]
    fn a_fat_tree_has_full_bisection_and_a_ring_two_links() {
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        let tiers = Tiers {
            host_rate: rate,
            host_delay: delay,
            aggregation_rate: rate,
            aggregation_delay: delay,
            core_rate: rate,
            core_delay: delay,
        };
        let found = measured(&FatTree { k: 4, tiers }.graph());
        assert_eq!((found.bisection_bps, found.oversubscription), (80 * GBPS, 1.0));
        assert_eq!(found.diameter_links, Some(6));
        let (ring_rate, ring_delay, way) = (Rate::from_gbps(3), delay, Way::Shortest);
        let ring =
            Ring { switches: 6, hosts_per_switch: 2, rate, delay, ring_rate, ring_delay, way };
        let found = measured(&ring.graph());
        assert_eq!((found.bisection_bps, found.oversubscription), (6 * GBPS, 10.0));
        assert_eq!(found.diameter_links, Some(5));
    }

    #[test]
    fn hosts_with_links_to_two_planes_reach_each_other() {
        let node = |name: &str, tier: Option<&str>| MapNode {
            name: name.into(),
            tier: tier.map(Into::into),
        };
        let (delay_ps, mtu_bytes, loss) = (7, None, 0.0);
        let link = |a, b| MapLink { ends: [a, b], rate_bps: GBPS, delay_ps, mtu_bytes, loss };
        let nodes =
            vec![node("a", None), node("b", None), node("s", Some("tor")), node("t", Some("tor"))];
        let two = Map {
            nodes: nodes.clone(),
            links: vec![link(0, 2), link(0, 3), link(1, 2), link(1, 3)],
        };
        let found = two.measures(Bytes::new(125));
        assert_eq!((found.bisection_bps, found.diameter_links), (2 * GBPS, Some(2)));
        assert_eq!(found.rtt_ps, Some(4 * 7 + 2 * (1_000_000 + 512_000)));
        let apart = Map { nodes, links: vec![link(0, 2), link(1, 3)] };
        let found = apart.measures(Bytes::new(125));
        assert_eq!((found.bisection_bps, found.diameter_links), (0, None));
    }
}
