//! Next hops of any network, from its links alone: each switch sends on by all ports that lead to the destination's
//! switch over the fewest links (breadth-first search from every switch that has hosts).
//!
//! Equal sets of ports are kept once, and so are equal rows of sets, a set for each switch with hosts. The entry of a
//! row's own switch is not used: its hosts have a port each. So all edges of a pod share a row.
//!
//! Hosts with several links choose among them as switches do, under numbers behind those of switches. Packets do not
//! pass through hosts: no way leads over them. The hosts whose links lead to the same switches are a class of their own,
//! and each of these switches has a set of ports to each of its hosts.

use super::choice::Set;
use super::graph::{Cable, Homes, Hop, Node, Route, spread};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use switchbed_units::ids::{HostId, PortId, SwitchId};

/// A switch that no row leads to, or from.
const NOWHERE: u32 = u32::MAX;
/// The set of a class at a switch of its hosts, which have several links: each has ports of its own there.
const HOME: u32 = u32::MAX - 1;

/// A set of ports towards a class, and where its digit of a pinned path's number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Towards {
    set: u32,
    /// How many choices the switches behind it have among them: the digits below.
    below: u32,
}

/// Next hops. A *class* is the hosts of one switch, or those with several links to the same switches.
#[derive(Debug)]
pub struct Tables {
    /// Each host's class, and its port there; of a host with several links its place among `homes`.
    hosts: Vec<(u32, PortId)>,
    /// Switches of each host with several links, each with the set of ports that lead to the host.
    homes: Vec<Vec<(u32, u32)>>,
    /// Each switch's own class and its row; then those of hosts with several links.
    switches: Vec<(u32, u32)>,
    rows: Vec<Box<[Towards]>>,
    /// Where each set begins among `ports`; the last ends there.
    starts: Vec<u32>,
    ports: Vec<u32>,
}

impl std::fmt::Debug for Towards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.set, self.below)
    }
}

/// Sets of ports, each once.
struct Sets {
    known: HashMap<Vec<u32>, u32>,
    starts: Vec<u32>,
    ports: Vec<u32>,
}

impl Sets {
    fn intern(&mut self, set: &[u32]) -> u32 {
        if let Some(&known) = self.known.get(set) {
            return known;
        }
        let id = self.known.len() as u32;
        self.known.insert(set.to_vec(), id);
        self.ports.extend_from_slice(set);
        self.starts.push(self.ports.len() as u32);
        id
    }
}

/// Each switch's neighbours by port; `None`: a host, or a link that is not used.
type Neighbours = Vec<Vec<Option<u32>>>;

/// Switches in the order of their distance from some, and each one's distance in links; [`NOWHERE`] where there is no
/// way.
fn distances(neighbours: &Neighbours, from: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut far = vec![NOWHERE; neighbours.len()];
    let mut order = from.to_vec();
    order.dedup();
    order.iter().for_each(|&from| far[from as usize] = 0);
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for &to in neighbours[at as usize].iter().flatten() {
            if far[to as usize] == NOWHERE {
                far[to as usize] = far[at as usize] + 1;
                order.push(to);
            }
        }
    }
    (order, far)
}

impl Tables {
    /// The next hops of a network, whose links lead back as they lead there; `access` has hosts' cables, host by host.
    pub fn new(access: &[Cable], switches: &[(String, Vec<Cable>)]) -> Tables {
        Tables::over(access, switches, |_, _| true)
    }

    /// The same over those ports alone that are usable, in both directions of their links. A host keeps the last of its
    /// links, whether usable or not.
    pub fn over(
        access: &[Cable],
        switches: &[(String, Vec<Cable>)],
        usable: impl Fn(SwitchId, PortId) -> bool,
    ) -> Tables {
        let to = |switch, (port, cable): (usize, &Cable)| match cable.to {
            Node::Switch(to) => usable(SwitchId::at(switch), PortId::at(port)).then_some(to.0),
            Node::Host(_) => None,
        };
        let homes = Homes::new(access);
        let forks = homes.several().iter().map(|&host| &access[homes.span(host)]);
        let ports = switches.iter().map(|(_, ports)| &ports[..]).chain(forks);
        let of = |(switch, ports): (usize, &[Cable])| {
            ports.iter().enumerate().map(|port| to(switch, port)).collect()
        };
        let neighbours: Neighbours = ports.enumerate().map(of).collect();
        let mut own = vec![NOWHERE; neighbours.len()];
        // The switches of each class's hosts.
        let mut classes: Vec<Vec<u32>> = Vec::new();
        let hosts = match access.last().map(|cable| cable.from) {
            Some(Node::Host(last)) => last.index() + 1,
            _ => 0,
        };
        let mut of_hosts = vec![(NOWHERE, PortId(0)); hosts];
        let mut locals = vec![Vec::new(); homes.several().len()];
        for (switch, (_, ports)) in switches.iter().enumerate() {
            for (port, cable) in ports.iter().enumerate() {
                let Node::Host(host) = cable.to else { continue };
                if let Some(place) = homes.place(host) {
                    locals[place].push((switch as u32, port as u32));
                    continue;
                }
                if own[switch] == NOWHERE {
                    own[switch] = classes.len() as u32;
                    classes.push(vec![switch as u32]);
                }
                of_hosts[host.index()] = (own[switch], PortId::at(port));
            }
        }
        let mut sets = Sets { known: HashMap::new(), starts: vec![0], ports: Vec::new() };
        let mut shared: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut homes_of = Vec::with_capacity(locals.len());
        let singles = classes.len();
        for (place, local) in locals.iter().enumerate() {
            let chooser = switches.len() + place;
            let back = |switch: u32| neighbours[chooser].contains(&Some(switch));
            let works = |&&(switch, port): &&(u32, u32)| {
                usable(SwitchId(switch), PortId(port)) && back(switch)
            };
            let used: Vec<_> = local.iter().filter(works).copied().collect();
            let used = if used.is_empty() { local } else { &used };
            let mut of: Vec<(u32, u32)> = Vec::new();
            for ports in used.chunk_by(|a, b| a.0 == b.0) {
                let set: Vec<u32> = ports.iter().map(|of| of.1).collect();
                of.push((ports[0].0, sets.intern(&set)));
            }
            // A switch stands there as often as it has links to the host.
            let class: Vec<u32> = used.iter().map(|of| of.0).collect();
            let number = *shared.entry(class).or_insert_with_key(|class| {
                classes.push(class.clone());
                classes.len() as u32 - 1
            });
            of_hosts[homes.several()[place].index()] = (number, PortId::at(place));
            homes_of.push(of);
        }
        let unset = Towards { set: NOWHERE, below: 1 };
        let mut rows = vec![vec![unset; classes.len()]; neighbours.len()];
        // The class that is nearest to each switch but its own, and how far it is.
        let mut nearest = vec![(NOWHERE, 0); neighbours.len()];
        let mut set = Vec::new();
        for (class, to) in classes.iter().enumerate() {
            let (order, mut far) = distances(&neighbours, to);
            // How many paths each switch has to the class, for the digits of a pinned path's number.
            let mut paths = vec![1u32; neighbours.len()];
            let ends = if class < singles {
                1
            } else {
                order.iter().take_while(|&&of| far[of as usize] == 0).count()
            };
            if class >= singles {
                for &switch in to {
                    rows[switch as usize][class] = Towards { set: HOME, below: 1 };
                    paths[switch as usize] = to.iter().filter(|&&of| of == switch).count() as u32;
                }
            }
            let forks = switches.len()..neighbours.len();
            for fork in forks.clone() {
                // One link beyond the nearest of its switches.
                let ends = neighbours[fork].iter().flatten().map(|&to| far[to as usize]);
                far[fork] = ends.min().filter(|&far| far != NOWHERE).map_or(NOWHERE, |far| far + 1);
            }
            let forks = forks.filter(|&fork| far[fork] != NOWHERE);
            let order = order.into_iter().skip(ends).map(|switch| switch as usize);
            for switch in order.chain(forks) {
                let distance = far[switch];
                let closer = |to: Option<u32>| to.filter(|&to| far[to as usize] < distance);
                let ports = (0..).zip(&neighbours[switch]);
                let ports = ports.filter_map(|(port, &to)| Some((port, closer(to)?)));
                set.clear();
                set.extend(ports.clone().map(|(port, _): (u32, u32)| port));
                // A digit's weight is the most paths behind any port, or two numbers would be one
                // path.
                let below = ports.map(|(_, to)| paths[to as usize]).max().unwrap_or(1);
                paths[switch] = below.saturating_mul(set.len() as u32);
                rows[switch][class] = Towards { set: sets.intern(&set), below };
                nearest[switch] = nearest[switch].min((distance, class));
            }
        }
        // A switch's entry for itself is as for the class nearest to it: rows that differ there alone are one.
        for ((row, &class), (_, like)) in rows.iter_mut().zip(&own).zip(nearest) {
            if class != NOWHERE {
                row[class as usize] = row[like];
            }
        }
        let mut known: HashMap<Vec<Towards>, u32> = HashMap::new();
        let mut kept = Vec::new();
        let mut place = |row: Vec<Towards>| match known.entry(row) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                kept.push(new.key().clone().into_boxed_slice());
                *new.insert(kept.len() as u32 - 1)
            }
        };
        let switches = own.into_iter().zip(rows).map(|(own, row)| (own, place(row))).collect();
        let Sets { starts, ports, .. } = sets;
        Tables { hosts: of_hosts, homes: homes_of, switches, rows: kept, starts, ports }
    }

    /// The first switch from which there is no way to some host.
    pub fn unconnected(&self) -> Option<SwitchId> {
        let lacks = |&(own, row): &(u32, u32)| {
            let row = self.rows[row as usize].iter().enumerate();
            row.clone().any(|(class, to)| class as u32 != own && to.set == NOWHERE)
        };
        self.switches.iter().position(lacks).map(SwitchId::at)
    }

    /// Bytes that the next hops take.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let rows: usize = self.rows.iter().map(|row| size_of_val(&**row)).sum();
        rows + size_of_val(&*self.hosts) + size_of_val(&*self.switches) + 4 * self.ports.len()
    }

    #[inline]
    fn towards(&self, dst: HostId, switch: SwitchId) -> Result<Towards, PortId> {
        let (class, port) = self.hosts[dst.index()];
        let (own, row) = self.switches[switch.index()];
        if own == class {
            return Err(port);
        }
        Ok(self.rows[row as usize][class as usize])
    }

    /// The ports of a set, which a host of several links has for itself at its switches.
    #[inline]
    fn set(&self, set: u32, dst: HostId, switch: SwitchId) -> &[u32] {
        let set = if set >= HOME { self.home(set, dst, switch) } else { Some(set) };
        let Some(at) = set.map(|set| set as usize) else { return &[] };
        &self.ports[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    #[cold]
    fn home(&self, set: u32, dst: HostId, switch: SwitchId) -> Option<u32> {
        if set == NOWHERE {
            return None;
        }
        let (_, PortId(place)) = self.hosts[dst.index()];
        let mut homes = self.homes[place as usize].iter();
        homes.find(|home| home.0 == switch.0).map(|home| home.1)
    }
}

impl Route for Tables {
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        match self.towards(hop.dst, switch) {
            Ok(Towards { set, below }) => {
                let set = self.set(set, hop.dst, switch);
                PortId(set[spread(hop.key, switch, (below, set.len() as u32)) as usize])
            }
            Err(port) => port,
        }
    }

    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        match self.towards(dst, switch) {
            Ok(Towards { set, .. }) => Set::Ports(self.set(set, dst, switch)),
            Err(PortId(port)) => Set::Run(port, 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::graph::Graph;
    use crate::topology::{
        Clos, Dumbbell, FatTree, LeafSpine, ParkingLot, Ring, Shape, Star, Tiers, Way,
    };
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use switchbed_units::{Rate, Span};

    const RATE: Rate = Rate::from_gbps(10);
    const DELAY: Span = Span::from_us(1);

    fn tiers() -> Tiers {
        let (rate, delay) = (RATE, DELAY);
        Tiers {
            host_rate: rate,
            host_delay: delay,
            aggregation_rate: rate,
            aggregation_delay: delay,
            core_rate: rate,
            core_delay: delay,
        }
    }

    /// A kind, its size drawn.
    fn kinds() -> impl Strategy<Value = Graph> {
        let (rate, delay) = (RATE, DELAY);
        let sizes = (2..5u32, 1..4u32, 1..4u32);
        (0..7u32, sizes).prop_map(move |(kind, (a, b, c))| match kind {
            0 => Star { hosts: a, rate, delay }.graph(),
            1 => Dumbbell {
                left: a,
                right: b,
                rate,
                delay,
                bottleneck_rate: rate,
                bottleneck_delay: delay,
            }
            .graph(),
            2 => ParkingLot {
                switches: a,
                hosts_per_switch: b,
                rate,
                delay,
                bottleneck_rate: rate,
                bottleneck_delay: delay,
            }
            .graph(),
            // Of an even ring's two ways that are as long, the kind takes one.
            3 => {
                let (ring_rate, ring_delay, way) = (rate, delay, Way::Shortest);
                let (switches, hosts_per_switch) = (2 * a - 1, b);
                Ring { switches, hosts_per_switch, rate, delay, ring_rate, ring_delay, way }.graph()
            }
            4 => LeafSpine {
                leaves: a,
                spines: b,
                hosts_per_leaf: c,
                host_rate: rate,
                host_delay: delay,
                fabric_rate: rate,
                fabric_delay: delay,
            }
            .graph(),
            5 => FatTree { k: 2 * b, tiers: tiers() }.graph(),
            _ => Clos {
                pods: a,
                edges_per_pod: b,
                aggregations_per_pod: c,
                cores: 2 * c,
                hosts_per_edge: b,
                tiers: tiers(),
            }
            .graph(),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn sets_are_those_of_the_closed_forms(graph in kinds()) {
            let tables = Tables::new(&graph.access, &graph.switches);
            prop_assert_eq!(tables.unconnected(), None);
            for dst in (0..graph.hosts()).map(HostId::at) {
                for switch in (0..graph.switches.len()).map(SwitchId::at) {
                    let closed: Vec<PortId> = graph.route.ways(dst, switch).iter().collect();
                    let found: Vec<PortId> = tables.ways(dst, switch).iter().collect();
                    prop_assert_eq!(found, closed, "to {} at {}", dst, switch);
                    // The same key draws the same port.
                    for key in [0, 7, 1 << 20] {
                        let hop = Hop { dst, key };
                        prop_assert_eq!(tables.route(hop, switch), graph.route.route(hop, switch));
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_of_pinned_paths_take_each_once() {
        let clos = Clos {
            pods: 3,
            edges_per_pod: 2,
            aggregations_per_pod: 2,
            cores: 6,
            hosts_per_edge: 1,
            tiers: tiers(),
        };
        let mut graph = clos.graph();
        let route = Tables::new(&graph.access, &graph.switches);
        graph.route = std::sync::Arc::new(route);
        let paths: BTreeSet<_> = (0..6)
            .map(|path| Hop { dst: HostId(5), key: Hop::PINNED | path })
            .map(|hop| graph.ways(HostId(0), hop).fixed().expect("a pinned path"))
            .collect();
        assert_eq!(paths.len(), 6);
    }

    #[test]
    fn a_large_fat_trees_next_hops_take_little() {
        let graph = FatTree { k: 16, tiers: tiers() }.graph();
        let tables = Tables::new(&graph.access, &graph.switches);
        // A row for each pod's edges, one for its aggregations, and one for all cores.
        assert_eq!(tables.rows.len(), 16 + 16 + 1);
        // 128 classes of 8 bytes a row; 1,024 hosts and 320 switches of 8 bytes.
        assert!(tables.bytes() < 33 * 128 * 8 + 1_344 * 8 + 10_000, "{}", tables.bytes());
    }
}
