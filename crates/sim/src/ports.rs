//! The ports of a network by name, in the order of links.

use crate::ids::LinkId;
use crate::topology::{Cable, Graph, Node};
use switchbed_qdisc::classifier::{ByClass, Single};
use switchbed_qdisc::fq::{FairQueue, Terms};
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::schedulers::{Fifo, RoundRobin};
use switchbed_qdisc::{Cargo, Port, PortState, Qdisc, Seats};
use switchbed_scenario::{NicFifo, NicQueue};
use switchbed_units::{Bytes, Rate};

/// A port's name and place.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// `leaf0:3`, `host2` for a network card, or `host2.1` for one of its ports.
    pub name: String,
    /// The cable behind it.
    pub cable: Cable,
}

impl PortInfo {
    /// Whether it is a switch's (else a host's network card).
    pub fn is_switch(&self) -> bool {
        matches!(self.cable.from, Node::Switch(_))
    }
}

/// Hosts' cards first, then each switch's ports: the order of links.
pub(crate) fn of(graph: &Graph) -> Vec<PortInfo> {
    let hosts = graph.access.iter().enumerate();
    let name = |link| graph.port_name(LinkId::at(link));
    let mut ports: Vec<PortInfo> =
        hosts.map(|(link, &cable)| PortInfo { name: name(link), cable }).collect();
    for (name, cables) in &graph.switches {
        let named = |(p, &cable)| PortInfo { name: format!("{name}:{p}"), cable };
        ports.extend(cables.iter().enumerate().map(named));
    }
    ports
}

/// The tiers at the ends of each port's line, such as `leaf-spine`; a host's is `host`.
pub(crate) fn tiers(graph: &Graph, ports: &[PortInfo]) -> Vec<String> {
    let mut tiers = vec![""; graph.switches.len()];
    for tier in &graph.tiers {
        tier.switches.iter().for_each(|switch| tiers[switch.index()] = &tier.name);
    }
    let tier = |node: Node| match node {
        Node::Host(_) => "host",
        Node::Switch(switch) => tiers[switch.index()],
    };
    ports.iter().map(|of| format!("{}-{}", tier(of.cable.from), tier(of.cable.to))).collect()
}

/// The link of a port.
pub(crate) fn find(ports: &[PortInfo], name: &str) -> Option<LinkId> {
    ports.iter().position(|port| port.name == name).map(LinkId::at)
}

/// The links of switches' ports.
pub(crate) fn of_switches(ports: &[PortInfo]) -> impl Iterator<Item = LinkId> {
    (0..ports.len()).map(LinkId::at).filter(|link| ports[link.index()].is_switch())
}

/// A network card's port, with so many classes, whose packets' terms are found so, unless it is like a switch's.
pub(crate) fn card(
    nic: NicQueue,
    classes: u16,
    rate: Rate,
    mtu: Bytes,
    terms: fn(&Cargo) -> Terms,
) -> Option<Box<dyn Qdisc>> {
    let limit = match nic {
        NicQueue::Fifo(NicFifo { buffer }) => buffer,
        NicQueue::Unlimited => Bytes::MAX,
        NicQueue::Classes => {
            let state = PortState::new(rate, &vec![Bytes::new(1); usize::from(classes)]);
            let memory = Shared { limit: Bytes::MAX };
            let seats = Seats::new(ByClass, memory, Nobody, RoundRobin::default(), Nobody);
            return Some(Box::new(Port::new(state, seats)));
        }
        NicQueue::Fq => return Some(Box::new(FairQueue::new(rate, mtu, terms))),
        NicQueue::Switch => return None,
    };
    let state = PortState::new(rate, &[Bytes::new(1)]);
    Some(Box::new(Port::new(state, Seats::new(Single, Shared { limit }, Nobody, Fifo, Nobody))))
}
