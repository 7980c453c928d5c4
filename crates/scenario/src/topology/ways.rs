//! The links that a flow's packets take. Fair shares, convergence, interference, idle time, pauses and the
//! ideal FCT ask here, and nowhere else; where the path is not known beforehand, they get no answer.

use super::graph::{Graph, Hop, Node};
use std::collections::BTreeMap;
use switchbed_units::ids::{HostId, LinkId, PortId, SwitchId};

/// How switches choose among equal-cost ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// By a flow's key alone: all its packets take one path.
    #[default]
    ByFlow,
    /// For each packet anew, each port alike.
    ByPacket,
    /// By time, or by the load of ports.
    ByState,
}

/// Ports of a switch that are equally good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set<'a> {
    /// From this one on so many.
    Run(u32, u32),
    /// These, in rising order.
    Ports(&'a [u32]),
}

impl<'a> Set<'a> {
    /// How many there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(self) -> u32 {
        match self {
            Set::Run(_, count) => count,
            Set::Ports(ports) => ports.len() as u32,
        }
    }

    /// One of them by its place.
    pub fn at(self, place: u32) -> PortId {
        match self {
            Set::Run(first, _) => PortId(first + place),
            Set::Ports(ports) => PortId(ports[place as usize]),
        }
    }

    /// All.
    pub fn iter(self) -> impl Iterator<Item = PortId> + use<'a> {
        (0..self.len()).map(move |place| self.at(place))
    }
}

/// Links that a flow takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Ways {
    /// All packets take these, in their order.
    Fixed(Vec<LinkId>),
    /// Each link takes this part of the flow's packets.
    Split(Vec<(LinkId, f64)>),
    /// It depends on the run.
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

    /// Each link's part of what a host sends to another, where each switch splits evenly.
    fn split(&self, src: HostId, dst: HostId) -> Vec<(LinkId, f64)> {
        let mut shares = BTreeMap::from([(LinkId::at(src.index()), 1.0)]);
        let mut at = BTreeMap::new();
        if let Node::Switch(first) = self.hosts[src.index()].to {
            at.insert(first, 1.0);
        }
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
