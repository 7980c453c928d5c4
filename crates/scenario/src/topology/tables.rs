//! Next hops of any network, from its links alone: each switch sends on by all ports that lead to the destination's
//! switch over the fewest links (breadth-first search from every switch that has hosts).
//!
//! Equal sets of ports are kept once, and so are equal rows of sets, a set for each switch with hosts. The entry of a
//! row's own switch is not used: its hosts have a port each. So all edges of a pod share a row.

use super::choice::Set;
use super::graph::{Cable, Hop, Node, Route, spread};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use switchbed_units::ids::{HostId, PortId, SwitchId};

/// A switch that no row leads to, or from.
const NOWHERE: u32 = u32::MAX;

/// A set of ports towards a class, and where its digit of a pinned path's number stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Towards {
    set: u32,
    /// How many choices the switches behind it have among them: the digits below.
    below: u32,
}

/// Next hops. A *class* is the hosts of one switch.
#[derive(Debug)]
pub struct Tables {
    /// Each host's class, and its port there.
    hosts: Vec<(u32, PortId)>,
    /// Each switch's own class and its row.
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

/// Switches in the order of their distance from one, and each one's distance in links; [`NOWHERE`] where there is no way.
fn distances(neighbours: &Neighbours, from: u32) -> (Vec<u32>, Vec<u32>) {
    let mut far = vec![NOWHERE; neighbours.len()];
    far[from as usize] = 0;
    let mut order = vec![from];
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
    /// The next hops of a network, whose links lead back as they lead there.
    pub fn new(hosts: &[Cable], switches: &[(String, Vec<Cable>)]) -> Tables {
        Tables::over(hosts, switches, |_, _| true)
    }

    /// The same over those ports of switches alone that are usable, in both directions of their links.
    pub fn over(
        hosts: &[Cable],
        switches: &[(String, Vec<Cable>)],
        usable: impl Fn(SwitchId, PortId) -> bool,
    ) -> Tables {
        let to = |switch, (port, cable): (usize, &Cable)| match cable.to {
            Node::Switch(to) => usable(SwitchId::at(switch), PortId::at(port)).then_some(to.0),
            Node::Host(_) => None,
        };
        let of = |(switch, (_, ports)): (usize, &(String, Vec<Cable>))| {
            ports.iter().enumerate().map(|port| to(switch, port)).collect()
        };
        let neighbours: Neighbours = switches.iter().enumerate().map(of).collect();
        let mut own = vec![NOWHERE; switches.len()];
        let mut classes: Vec<u32> = Vec::new();
        let mut of_hosts = vec![(NOWHERE, PortId(0)); hosts.len()];
        for (switch, (_, ports)) in switches.iter().enumerate() {
            for (port, cable) in ports.iter().enumerate() {
                let Node::Host(host) = cable.to else { continue };
                if own[switch] == NOWHERE {
                    own[switch] = classes.len() as u32;
                    classes.push(switch as u32);
                }
                of_hosts[host.index()] = (own[switch], PortId::at(port));
            }
        }
        let mut sets = Sets { known: HashMap::new(), starts: vec![0], ports: Vec::new() };
        let unset = Towards { set: NOWHERE, below: 1 };
        let mut rows = vec![vec![unset; classes.len()]; switches.len()];
        // The class that is nearest to each switch but its own, and how far it is.
        let mut nearest = vec![(NOWHERE, 0); switches.len()];
        let mut set = Vec::new();
        for (class, &to) in classes.iter().enumerate() {
            let (order, far) = distances(&neighbours, to);
            // How many paths each switch has to the class, for the digits of a pinned path's number.
            let mut paths = vec![1u32; switches.len()];
            for switch in order.into_iter().skip(1).map(|switch| switch as usize) {
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
        Tables { hosts: of_hosts, switches, rows: kept, starts, ports }
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

    #[inline]
    fn set(&self, set: u32) -> &[u32] {
        if set == NOWHERE {
            return &[];
        }
        let at = set as usize;
        &self.ports[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl Route for Tables {
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        match self.towards(hop.dst, switch) {
            Ok(Towards { set, below }) => {
                let set = self.set(set);
                PortId(set[spread(hop.key, switch, (below, set.len() as u32)) as usize])
            }
            Err(port) => port,
        }
    }

    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        match self.towards(dst, switch) {
            Ok(Towards { set, .. }) => Set::Ports(self.set(set)),
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
            let tables = Tables::new(&graph.hosts, &graph.switches);
            prop_assert_eq!(tables.unconnected(), None);
            for dst in (0..graph.hosts.len()).map(HostId::at) {
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
        let route = Tables::new(&graph.hosts, &graph.switches);
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
        let tables = Tables::new(&graph.hosts, &graph.switches);
        // A row for each pod's edges, one for its aggregations, and one for all cores.
        assert_eq!(tables.rows.len(), 16 + 16 + 1);
        // 128 classes of 8 bytes a row; 1,024 hosts and 320 switches of 8 bytes.
        assert!(tables.bytes() < 33 * 128 * 8 + 1_344 * 8 + 10_000, "{}", tables.bytes());
    }
}
