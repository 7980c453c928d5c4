//! The links that a flow's packets take. Fair shares, convergence, interference, idle time, pauses and the
//! ideal FCT ask here, and nowhere else; where the path is not known beforehand, they get no answer.

use super::choice::Choice;
use super::graph::{Cable, Graph, Hop, Node};
use std::collections::BTreeMap;
use switchbed_units::Span;
use switchbed_units::ids::{HostId, LinkId, SwitchId};

/// Links that a flow takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Ways {
    /// All packets take these, in their order.
    Fixed(Vec<LinkId>),
    /// Each link takes this part of the flow's packets.
    Split(Vec<(LinkId, f64)>),
    /// Links that only the run decides.
    Unknown,
}

impl Ways {
    /// The links in their order, where all packets take the same.
    pub fn fixed(self) -> Option<Vec<LinkId>> {
        match self {
            Ways::Fixed(links) => Some(links),
            Ways::Split(_) | Ways::Unknown => None,
        }
    }

    /// Each link and the part of the flow that it takes, where that is known.
    pub fn shares(self) -> Option<Vec<(LinkId, f64)>> {
        match self {
            Ways::Fixed(links) => Some(links.into_iter().map(|link| (link, 1.0)).collect()),
            Ways::Split(shares) => Some(shares),
            Ways::Unknown => None,
        }
    }
}

/// Paths between two switches that are counted at most.
const MOST_PATHS: usize = 64;

impl Graph {
    /// The links that packets of a flow from `src` take.
    pub fn ways(&self, src: HostId, hop: Hop) -> Ways {
        match self.choice {
            _ if hop.key & Hop::PINNED != 0 => Ways::Fixed(self.links(src, hop)),
            Choice::ByFlow => Ways::Fixed(self.links(src, hop)),
            Choice::ByPacket => Ways::Split(self.split(src, hop.dst)),
            Choice::ByState => Ways::Unknown,
        }
    }

    /// The longest propagation between two hosts, over the longest of their shortest paths.
    pub(super) fn longest(&self) -> Span {
        // The host with the longest delay stands for those whose links lead to the same switches.
        let mut ends: BTreeMap<Vec<Node>, (Span, HostId)> = BTreeMap::new();
        for host in (0..self.hosts()).map(HostId::at) {
            let cables = self.cables(host);
            let delay = cables.iter().map(|cable| cable.delay).max().unwrap_or(Span::ZERO);
            let most = ends.entry(cables.iter().map(|cable| cable.to).collect());
            let most = most.or_insert((delay, host));
            *most = (delay, host).max(*most);
        }
        let mut longest = Span::ZERO;
        for &(_, dst) in ends.values() {
            let mut known: Vec<Option<Span>> = vec![None; self.choosers()];
            for &(delay, src) in ends.values() {
                let (only, from) = self.start(src);
                let behind = self.longest_from(from, dst, &mut known);
                longest = longest.max(only.map_or(Span::ZERO, |_| delay) + behind);
            }
        }
        longest
    }

    /// The longest propagation from a switch to a host; `known` has those of switches that were asked for.
    fn longest_from(&self, from: SwitchId, dst: HostId, known: &mut [Option<Span>]) -> Span {
        let mut stack = vec![from];
        while let Some(&at) = stack.last() {
            if known[at.index()].is_some() {
                stack.pop();
                continue;
            }
            let mut most = Span::ZERO;
            let unknown = stack.len();
            for port in self.route.ways(dst, at).iter() {
                let cable = self.cable(at, port);
                let Node::Switch(next) = cable.to else {
                    most = most.max(cable.delay);
                    continue;
                };
                match known[next.index()] {
                    Some(behind) => most = most.max(cable.delay + behind),
                    None => stack.push(next),
                }
            }
            if stack.len() == unknown {
                known[at.index()] = Some(most);
            }
        }
        known[from.index()].unwrap_or(Span::ZERO)
    }

    /// The paths from a switch, or a host with several links, to the switch of a host, the last cable to the host left
    /// out unless it has several: one of those whose cables have the same rates and delays in the same order; of a
    /// kind's, whose paths are alike, one.
    pub fn distinct(&self, from: SwitchId, dst: HostId) -> Vec<Vec<Cable>> {
        if !self.free {
            let hops = self.hops_from(from, Hop { dst, key: 0 });
            let mut path: Vec<Cable> = hops.map(|(at, port)| self.cable(at, port)).collect();
            path.pop();
            return vec![path];
        }
        let alike = |a: &[Cable], b: &[Cable]| {
            a.iter().map(|of| (of.rate, of.delay)).eq(b.iter().map(|of| (of.rate, of.delay)))
        };
        let several = self.is_multihomed(dst);
        let mut at: BTreeMap<SwitchId, Vec<Vec<Cable>>> =
            BTreeMap::from([(from, vec![Vec::new()])]);
        let mut ended: Vec<Vec<Cable>> = Vec::new();
        // Every shortest path is as long: all of them end at once.
        while ended.is_empty() && !at.is_empty() {
            let mut next: BTreeMap<SwitchId, Vec<Vec<Cable>>> = BTreeMap::new();
            for (switch, paths) in at {
                for port in self.route.ways(dst, switch).iter() {
                    let cable = self.cable(switch, port);
                    let known = match cable.to {
                        Node::Host(_) if !several => return paths,
                        Node::Host(_) => &mut ended,
                        Node::Switch(to) => next.entry(to).or_default(),
                    };
                    for path in &paths {
                        let path = [&path[..], &[cable]].concat();
                        if known.len() < MOST_PATHS && !known.iter().any(|of| alike(of, &path)) {
                            known.push(path);
                        }
                    }
                }
            }
            at = next;
        }
        ended
    }

    /// The links that packets of a flow from `src` take, of a sender that sprays them unless a list pins them.
    pub fn sprayed(&self, src: HostId, hop: Hop) -> Ways {
        match self.choice {
            Choice::ByFlow if hop.key & Hop::PINNED == 0 => Ways::Split(self.split(src, hop.dst)),
            _ => self.ways(src, hop),
        }
    }

    /// Each link's part of what a host sends to another, where each switch splits evenly.
    fn split(&self, src: HostId, dst: HostId) -> Vec<(LinkId, f64)> {
        let (only, first) = self.start(src);
        let mut shares: BTreeMap<LinkId, f64> = only.map(|link| (link, 1.0)).into_iter().collect();
        let mut at = BTreeMap::from([(first, 1.0)]);
        // Every equal-cost path is as long: a switch has all its part before it is passed on.
        while !at.is_empty() {
            let mut next: BTreeMap<SwitchId, f64> = BTreeMap::new();
            for (switch, part) in at {
                let ports = self.route.ways(dst, switch);
                let each = part / f64::from(ports.len());
                for port in ports.iter() {
                    *shares.entry(self.link(switch, port)).or_insert(0.0) += each;
                    if let Node::Switch(to) = self.cable(switch, port).to {
                        *next.entry(to).or_insert(0.0) += each;
                    }
                }
            }
            at = next;
        }
        shares.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Clos, Shape, Tiers};
    use switchbed_units::{Rate, Span};

    fn clos() -> Graph {
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        Clos {
            pods: 2,
            edges_per_pod: 2,
            aggregations_per_pod: 2,
            cores: 4,
            hosts_per_edge: 2,
            tiers: Tiers {
                host_rate: rate,
                host_delay: delay,
                aggregation_rate: rate,
                aggregation_delay: delay,
                core_rate: rate,
                core_delay: delay,
            },
        }
        .graph()
    }

    #[test]
    fn a_flow_has_one_path_unless_its_packets_are_sprayed() {
        let mut graph = clos();
        let hop = Hop { dst: HostId(7), key: 5 };
        let fixed = graph.ways(HostId(0), hop).fixed().expect("a path by key");
        assert_eq!(fixed.len(), 6);
        graph.choice = Choice::ByPacket;
        let shares = graph.ways(HostId(0), hop).shares().expect("known parts");
        // From pod to pod: 2 aggregations, 4 cores, 2 aggregations; then the edge and the host.
        let parts: Vec<f64> = shares.iter().map(|&(_, part)| part).collect();
        let count = |of: f64| parts.iter().filter(|&&part| part == of).count();
        assert_eq!((count(1.0), count(0.5), count(0.25)), (2, 4, 8), "{shares:?}");
        // All ways together contain the one.
        assert!(fixed.iter().all(|link| shares.iter().any(|(of, _)| of == link)));
        let pinned = Hop { key: Hop::PINNED | 3, ..hop };
        assert!(graph.ways(HostId(0), pinned).fixed().is_some());
        graph.choice = Choice::ByState;
        assert_eq!(graph.ways(HostId(0), hop), Ways::Unknown);
        assert_eq!(graph.ways(HostId(0), hop).shares(), None);
    }
}
