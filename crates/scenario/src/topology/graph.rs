//! The network as a graph of directed links, and the way through it.

use super::choice::{Choice, Set};
use crate::delay::Delays;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use switchbed_qdisc::memory::pfc::Input;
use switchbed_units::ids::{HostId, LinkId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

/// A place that links join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A host.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

/// Switches of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchGroup {
    /// Name of the switches, or its beginning.
    pub name: Cow<'static, str>,
    /// How many there are, named `name` and a number from 0; `None`: one, named `name`.
    pub count: Option<u32>,
    /// Ports of each.
    pub ports: u32,
}

impl SwitchGroup {
    pub(super) fn one(name: &'static str, ports: u32) -> Self {
        SwitchGroup { name: name.into(), count: None, ports }
    }

    pub(super) fn many(name: &'static str, count: u32, ports: u32) -> Self {
        SwitchGroup { name: name.into(), count: Some(count), ports }
    }
}

/// One direction of a cable: the sending node's port and the way to the other end.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Node that sends on it.
    pub from: Node,
    /// Node that receives from it.
    pub to: Node,
    /// Bits per second.
    pub rate: Rate,
    /// Propagation, `host` counted.
    pub delay: Span,
    /// The part of it that is the delay of the host at an end.
    pub host: Span,
}

impl Cable {
    /// The cable as headroom counts it.
    pub fn input(&self) -> Input {
        Input { rate: self.rate, delay: self.delay, host: self.host }
    }
}

/// Where a packet goes: what routing may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The destination host.
    pub dst: HostId,
    /// ECMP's key: the same for all packets of a flow in one direction. With
    /// [`Hop::PINNED`] set, the rest names one of the equal paths.
    pub key: u32,
}

impl Hop {
    /// The bit of a key that pins a path instead of hashing.
    pub const PINNED: u32 = 1 << 31;
}

/// The way through a network.
pub trait Route: Send + Sync {
    /// The port of `switch` that a packet leaves by.
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId;

    /// The ports of `switch` that packets to `dst` leave by: one, or as many as its ECMP draws among.
    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        let PortId(port) = self.route(Hop { dst, key: Hop::PINNED }, switch);
        Set::Run(port, 1)
    }

    /// [`Route::ways`] as their first port and how many they are, where they follow one another; else 0 are.
    fn row(&self, dst: HostId, switch: SwitchId) -> (PortId, u32) {
        match self.ways(dst, switch) {
            Set::Run(first, count) => (PortId(first), count),
            Set::Ports(_) => (PortId(0), 0),
        }
    }

    /// The port of a flow among those of its set that are used, by their weights; `None`: ports have none, or none is
    /// used.
    fn weighed(&self, hop: Hop, switch: SwitchId, used: &dyn Fn(PortId) -> bool) -> Option<PortId> {
        let _ = (hop, switch, used);
        None
    }

    /// The part of flows that goes by a port, by its place in the set; `None`: as many as by any other.
    fn part(&self, dst: HostId, switch: SwitchId, place: u32) -> Option<f64> {
        let _ = (dst, switch, place);
        None
    }
}

/// Switches of a tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The name of all, which none of them needs to have.
    pub name: String,
    /// At least one.
    pub switches: Vec<SwitchId>,
}

impl Tier {
    /// The first switch and the last.
    pub(crate) fn ends(&self) -> [SwitchId; 2] {
        [self.switches[0], self.switches[self.switches.len() - 1]]
    }
}

/// Hosts with several cables. A host chooses among them as a switch does among ports, under a number behind those of
/// switches.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    /// The place of each host's first cable among all hosts', and behind the last host where they end; none: each
    /// host has one cable.
    first: Vec<u32>,
    /// The hosts, in the order of their numbers as choosers.
    several: Vec<HostId>,
}

impl Homes {
    /// The homes of hosts by their cables, host by host.
    pub fn new(cables: &[Cable]) -> Homes {
        let mut first: Vec<u32> = Vec::new();
        for (place, cable) in (0..).zip(cables) {
            let Node::Host(host) = cable.from else { continue };
            // Cables come host by host, so a new host's first cable is at the next place.
            if first.len() == host.index() {
                first.push(place);
            }
        }
        // One more entry, so that the last host's cables end somewhere.
        first.push(cables.len() as u32);
        let count = |host: usize| first[host + 1] - first[host];
        let hosts = (0..first.len() - 1).filter(|&host| count(host) > 1);
        let several: Vec<HostId> = hosts.map(HostId::at).collect();
        match several.is_empty() {
            true => Homes::default(),
            false => Homes { first, several },
        }
    }

    /// Places of a host's cables among all hosts'.
    #[inline]
    pub fn span(&self, host: HostId) -> Range<usize> {
        match self.first.get(host.index()..host.index() + 2) {
            Some(&[first, end]) => first as usize..end as usize,
            _ => host.index()..host.index() + 1,
        }
    }

    /// The place of a host among those with several cables.
    pub fn place(&self, host: HostId) -> Option<usize> {
        self.several.binary_search(&host).ok()
    }

    /// Hosts with several cables, in their order.
    pub fn several(&self) -> &[HostId] {
        &self.several
    }
}

/// A network: the cables of each switch in the order of its ports, and those of hosts.
#[derive(Clone)]
pub struct Graph {
    /// Hosts' cables to switches, host by host.
    pub access: Vec<Cable>,
    /// Hosts with several of them.
    pub homes: Homes,
    /// Each switch's name and cables, by port.
    pub switches: Vec<(String, Vec<Cable>)>,
    /// The way through it.
    pub route: Arc<dyn Route>,
    /// How switches choose among equal-cost ports.
    pub choice: Choice,
    /// Nothing is known of its shape: paths that are as long may differ in rates and delays.
    pub(super) free: bool,
    /// Each host's name.
    pub host_names: Vec<String>,
    /// Switches by tier.
    pub tiers: Vec<Tier>,
    by_name: HashMap<String, SwitchId>,
    hosts_by_name: HashMap<String, HostId>,
    /// The link of each switch's first port, and of the first cable of each host with several.
    first: Vec<LinkId>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hosts, {} switches", self.hosts(), self.switches.len())
    }
}

impl Graph {
    /// A network of these cables, where a flow's packets take one path.
    pub(super) fn of(
        groups: &[SwitchGroup],
        access: Vec<Cable>,
        switches: Vec<(String, Vec<Cable>)>,
        route: Arc<dyn Route>,
    ) -> Graph {
        let mut next = 0..;
        let tier = |group: &SwitchGroup| {
            let count = group.count.unwrap_or(1) as usize;
            let switches = next.by_ref().take(count).map(SwitchId).collect();
            Tier { name: group.name.to_string(), switches }
        };
        let mut tiers: Vec<Tier> = groups.iter().map(tier).collect();
        // A group may have no switches, as the spines of a fabric of one leaf.
        tiers.retain(|tier| !tier.switches.is_empty());
        let host_names = (0..access.len()).map(|host| format!("host{host}")).collect();
        Graph::named((host_names, tiers), access, switches, route)
    }

    /// The same where hosts and tiers have names of their own, and hosts may have several cables.
    pub(super) fn named(
        (host_names, tiers): (Vec<String>, Vec<Tier>),
        access: Vec<Cable>,
        switches: Vec<(String, Vec<Cable>)>,
        route: Arc<dyn Route>,
    ) -> Graph {
        // Links are numbered hosts first, then switch by switch, port by port.
        let homes = Homes::new(&access);
        let mut links = access.len();
        let mut first = Vec::with_capacity(switches.len());
        for (_, ports) in &switches {
            first.push(LinkId::at(links));
            links += ports.len();
        }
        // Choosers are numbered behind the switches, and `first` is by that number.
        first.extend(homes.several.iter().map(|&host| LinkId::at(homes.span(host).start)));
        let named = |(nth, (name, _)): (usize, &(String, _))| (name.clone(), SwitchId::at(nth));
        let by_name = switches.iter().enumerate().map(named).collect();
        let named = |(nth, name): (usize, &String)| (name.clone(), HostId::at(nth));
        let hosts_by_name = host_names.iter().enumerate().map(named).collect();
        let choice = Choice::default();
        Graph {
            access,
            homes,
            switches,
            route,
            choice,
            free: false,
            host_names,
            tiers,
            by_name,
            hosts_by_name,
            first,
        }
    }

    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.host_names.len()
    }

    /// A host's cables.
    pub fn cables(&self, host: HostId) -> &[Cable] {
        &self.access[self.homes.span(host)]
    }

    /// Whether a host has several links.
    pub fn is_multihomed(&self, host: HostId) -> bool {
        self.homes.place(host).is_some()
    }

    /// The number under which a host with several cables chooses among them, which is no switch's.
    pub fn chooser(&self, host: HostId) -> Option<SwitchId> {
        self.homes.place(host).map(|place| SwitchId::at(self.switches.len() + place))
    }

    /// Numbers of switches, and behind them those of hosts with several cables.
    pub fn choosers(&self) -> usize {
        self.switches.len() + self.homes.several.len()
    }

    /// Where a host's packets are first chosen for: at the switch behind its only link, or at the host.
    pub fn start(&self, host: HostId) -> (Option<LinkId>, SwitchId) {
        // A host with several links is asked itself, before any of its links is taken.
        if let Some(chooser) = self.chooser(host) {
            return (None, chooser);
        }
        let link = self.homes.span(host).start;
        let Node::Switch(switch) = self.access[link].to else {
            unreachable!("hosts join switches")
        };
        (Some(LinkId::at(link)), switch)
    }

    /// A host's name, or the switch's.
    pub fn name_of(&self, node: Node) -> &str {
        match node {
            Node::Host(host) => &self.host_names[host.index()],
            Node::Switch(switch) => self.name(switch),
        }
    }

    /// The name of a link's port: `leaf0:3`, `host2`, or `host2.1` where the host has several.
    pub fn port_name(&self, link: LinkId) -> String {
        let Some(cable) = self.access.get(link.index()) else {
            let (switch, port) = self.port_of(link);
            return format!("{}:{}", self.name(switch), port.0);
        };
        let name = self.name_of(cable.from);
        match cable.from {
            Node::Host(host) if self.is_multihomed(host) => {
                format!("{name}.{}", link.index() - self.homes.span(host).start)
            }
            _ => name.to_owned(),
        }
    }

    /// The switch of this name.
    pub fn switch(&self, name: &str) -> Option<SwitchId> {
        self.by_name.get(name).copied()
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.hosts_by_name.get(name).copied()
    }

    /// A switch's name.
    pub fn name(&self, switch: SwitchId) -> &str {
        &self.switches[switch.index()].0
    }

    /// Adds each host's delay to both directions of its cable.
    pub fn delay_hosts(&mut self, delays: &Delays) {
        let ports = self.switches.iter_mut().flat_map(|(_, cables)| cables);
        for cable in self.access.iter_mut().chain(ports) {
            // Both directions have the host at one end, so its delay counts once each way.
            for end in [cable.from, cable.to] {
                if let Node::Host(host) = end {
                    cable.delay += delays.of(host);
                    cable.host += delays.of(host);
                }
            }
        }
    }

    /// Each switch's cables that come in, in the order in which a packet's ingress counts them: hosts'
    /// first, then switches' by their ports.
    pub fn inputs(&self) -> Vec<Vec<Cable>> {
        let mut inputs = vec![Vec::new(); self.switches.len()];
        let cables = self.switches.iter().flat_map(|(_, cables)| cables);
        for cable in self.access.iter().chain(cables) {
            if let Node::Switch(switch) = cable.to {
                inputs[switch.index()].push(*cable);
            }
        }
        inputs
    }

    /// For each switch, by input: the port that leads back to where the input is from. Of several cables
    /// between two nodes, the first goes with the first.
    pub fn reverse_ports(&self) -> Vec<Vec<PortId>> {
        let of = |(inputs, (_, ports)): (Vec<Cable>, &(String, Vec<Cable>))| {
            let back = |nth: usize| {
                let from = inputs[nth].from;
                // The n-th cable from a node pairs with the n-th port back to it.
                let before = inputs[..nth].iter().filter(|other| other.from == from).count();
                let mut alike = ports.iter().enumerate().filter(|(_, cable)| cable.to == from);
                PortId(alike.nth(before).map_or(0, |(port, _)| port as u32))
            };
            (0..inputs.len()).map(back).collect()
        };
        self.inputs().into_iter().zip(&self.switches).map(of).collect()
    }

    /// The other direction of a host's link: of several to one switch, the n-th there is the n-th back.
    pub fn back(&self, link: LinkId) -> Option<LinkId> {
        let Cable { from, to, .. } = *self.access.get(link.index())?;
        let (Node::Host(host), Node::Switch(switch)) = (from, to) else { return None };
        // Parallel links to one switch pair in order; links to other switches do not count.
        let mut own = self.homes.span(host).filter(|&link| self.access[link].to == to);
        let nth = own.position(|other| other == link.index())?;
        let ports = self.switches[switch.index()].1.iter().enumerate();
        let mut back = ports.filter(|(_, cable)| cable.to == from);
        back.nth(nth).map(|(port, _)| self.link(switch, PortId::at(port)))
    }

    /// How many ports a node has.
    pub fn ports(&self, node: Node) -> u32 {
        match node {
            Node::Host(host) => self.homes.span(host).len() as u32,
            Node::Switch(switch) => self.switches[switch.index()].1.len() as u32,
        }
    }

    /// Whether paths that are as long may differ in rates and delays.
    pub fn is_free(&self) -> bool {
        self.free
    }

    /// The cables from one host to another for an ECMP key.
    pub fn path(&self, src: HostId, hop: Hop) -> Vec<Cable> {
        let (first, at) = self.start(src);
        let mut path: Vec<Cable> =
            first.map(|link| self.access[link.index()]).into_iter().collect();
        path.extend(self.hops_from(at, hop).map(|(switch, port)| self.cable(switch, port)));
        path
    }

    /// Links of the path.
    pub(super) fn links(&self, src: HostId, hop: Hop) -> Vec<LinkId> {
        let (first, at) = self.start(src);
        let ports = self.hops_from(at, hop).map(|(switch, port)| self.link(switch, port));
        first.into_iter().chain(ports).collect()
    }

    /// The link behind a switch's port, or a host's of several.
    pub fn link(&self, switch: SwitchId, port: PortId) -> LinkId {
        LinkId(self.first[switch.index()].0 + port.0)
    }

    /// The choosers on the path from one on, each with the port that the path leaves it by.
    pub(super) fn hops_from(
        &self,
        from: SwitchId,
        hop: Hop,
    ) -> impl Iterator<Item = (SwitchId, PortId)> {
        let mut at = Node::Switch(from);
        std::iter::from_fn(move || {
            let Node::Switch(switch) = at else { return None };
            let port = self.route.route(hop, switch);
            at = self.cable(switch, port).to;
            Some((switch, port))
        })
    }

    /// The switch and port that a link is behind, which is no host's.
    pub fn port_of(&self, link: LinkId) -> (SwitchId, PortId) {
        let switches = &self.first[..self.switches.len()];
        // The last switch whose first link is not behind this one.
        let switch = switches.partition_point(|&first| first <= link) - 1;
        (SwitchId::at(switch), PortId(link.0 - self.first[switch].0))
    }

    /// The cable behind a port of a switch, or of a host with several.
    pub fn cable(&self, switch: SwitchId, port: PortId) -> Cable {
        match self.switches.get(switch.index()) {
            Some((_, ports)) => ports[port.index()],
            None => self.access[self.link(switch, port).index()],
        }
    }
}

/// Both directions of a cable between a host and a switch.
pub(super) fn access(
    host: HostId,
    switch: SwitchId,
    (rate, delay): (Rate, Span),
) -> (Cable, Cable) {
    let (from, to) = (Node::Host(host), Node::Switch(switch));
    let up = Cable { from, to, rate, delay, host: Span::ZERO };
    (up, Cable { from: up.to, to: up.from, ..up })
}

/// One direction of a cable between two switches.
pub(super) fn across(from: u32, to: u32, (rate, delay): (Rate, Span)) -> Cable {
    let [from, to] = [from, to].map(|switch| Node::Switch(SwitchId(switch)));
    Cable { from, to, rate, delay, host: Span::ZERO }
}

/// One of `n` by a hash of the key that differs from switch to switch, so that tiers do
/// not choose alike. A pinned path's number is read in mixed radix: `below` is how many
/// choices the tiers below have made among.
#[inline]
pub(super) fn spread(key: u32, switch: SwitchId, (below, n): (u32, u32)) -> u32 {
    if key & Hop::PINNED != 0 {
        // A path's number in mixed radix: `below` is the weight of this switch's digit, n its base.
        return (key & !Hop::PINNED) / below % n;
    }
    hashed(key, switch, n)
}

/// One of `n` by a hash of an ECMP key with a switch's salt.
#[inline]
pub fn hashed(key: u32, salt: SwitchId, n: u32) -> u32 {
    // Salted by the switch: with one hash everywhere, flows that a switch sends one way would all
    // go the same way at the next (polarization).
    let mut h = (key ^ salt.0.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 15)).wrapping_mul(0xc2b2_ae35);
    h ^= h >> 16;
    // The high half of the product: even shares without a division.
    ((h as u64 * n as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::super::{Dumbbell, LeafSpine, Topology};
    use super::*;

    fn leaf_spine() -> Graph {
        let topology = Topology::LeafSpine(LeafSpine {
            leaves: 12,
            spines: 12,
            hosts_per_leaf: 12,
            host_rate: Rate::from_gbps(10),
            host_delay: Span::from_ns(20_200),
            fabric_rate: Rate::from_gbps(10),
            fabric_delay: Span::from_ns(200),
        });
        Graph::new(&topology, Span::ZERO)
    }

    #[test]
    fn every_path_ends_at_its_host() {
        let graph = leaf_spine();
        for (src, dst) in [(0, 143), (0, 1), (77, 12), (143, 0)] {
            for key in 0..50 {
                let path = graph.path(HostId(src), Hop { dst: HostId(dst), key });
                assert_eq!(path.last().unwrap().to, Node::Host(HostId(dst)));
                assert_eq!(path.len(), if src / 12 == dst / 12 { 2 } else { 4 });
            }
        }
    }

    #[test]
    fn ecmp_spreads_evenly() {
        let graph = leaf_spine();
        let mut hits = [0u32; 12];
        for key in 0..12_000u32 {
            let path = graph.path(HostId(0), Hop { dst: HostId(143), key });
            let Node::Switch(spine) = path[1].to else { panic!() };
            hits[spine.index() - 12] += 1;
        }
        assert!(hits.iter().all(|&n| (850..1150).contains(&n)), "{hits:?}");
    }

    #[test]
    fn host_delay_is_on_access_links_alone() {
        let topology = Topology::Dumbbell(Dumbbell {
            left: 2,
            right: 1,
            rate: Rate::from_gbps(10),
            delay: Span::from_us(1),
            bottleneck_rate: Rate::from_gbps(1),
            bottleneck_delay: Span::from_us(5),
        });
        let graph = Graph::new(&topology, Span::from_us(20));
        let delays: Vec<_> =
            graph.path(HostId(0), Hop { dst: HostId(2), key: 0 }).iter().map(|c| c.delay).collect();
        assert_eq!(delays, [Span::from_us(21), Span::from_us(5), Span::from_us(21)]);
    }
}
