//! Hosts, switches and the links between them. A link is two directions of the same
//! rate and delay; `delay` is propagation one way. Each kind is a file: its parameters, what they come
//! to, its graph and the ways through it.

pub(crate) mod bounds;
pub mod choice;
mod clos;
mod dumbbell;
mod fat_tree;
mod file;
mod flow;
pub mod graph;
pub mod hosts;
mod leaf_spine;
pub mod links;
pub mod map;
mod parking_lot;
pub mod ports;
mod ring;
mod shape;
mod star;
pub mod tables;
pub mod ways;
pub mod weighted;
use crate::delay::Delays;
pub use bounds::{MAX_HOSTS, MAX_PORTS, MAX_SWITCH_PORTS, MAX_WAY};
pub use clos::{Clos, Tiers};
pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use file::FromFile;
use graph::Graph;
pub use graph::SwitchGroup;
pub use leaf_spine::LeafSpine;
pub use parking_lot::ParkingLot;
pub use ring::{Ring, Way};
pub use shape::{HostRates, Shape};
pub use star::Star;
use switchbed_config::kinds;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Params, SectionSpec, Unfit};
use switchbed_config::section::Section;
use switchbed_units::{Bytes, Span};

kinds! {
    /// The shape of the network. Hosts are numbered from 0 in the order given here.
    pub enum Topology: Shape {
        /// The shape.
        kind;
        /// hosts on one switch.
        Star(Star) = "star",
        /// two switches joined by one link.
        Dumbbell(Dumbbell) = "dumbbell",
        /// switches in a row, each linked to the next.
        ParkingLot(ParkingLot) = "parking-lot",
        /// switches in a circle, each linked to the next.
        Ring(Ring) = "ring",
        /// every leaf (ToR) linked to every spine.
        LeafSpine(LeafSpine) = "leaf-spine",
        /// k pods of k/2 edge and k/2 aggregation switches under (k/2)² cores, k³/4 hosts
        /// (Al-Fares et al., SIGCOMM 2008).
        FatTree(FatTree) = "fat-tree",
        /// pods of edge and aggregation switches under cores, as many of each as is said.
        Clos(Clos) = "clos",
        /// nodes and links from a file.
        File(FromFile) = "file",
    }
}

/// `[topology]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "topology",
    repeated: false,
    doc: "Hosts, switches and links. Both directions of a link have its rate and its delay. \
          Hosts are numbered from 0.",
    keys: Topology::TABLE,
};

impl Graph {
    /// The graph of a topology; `host_delay` is added to both directions of every
    /// host's cable.
    pub fn new(topology: &Topology, host_delay: Span) -> Graph {
        let mut graph = topology.graph();
        graph.delay_hosts(&Delays::All(host_delay));
        graph
    }
}

impl Topology {
    /// The propagation of the longest way between two hosts.
    pub fn one_way(&self) -> Span {
        self.access().1 * 2 + self.across()
    }

    /// The number of switches' ports.
    pub fn switch_ports(&self) -> u64 {
        let group =
            |group: &SwitchGroup| u64::from(group.count.unwrap_or(1)) * u64::from(group.ports);
        self.switch_groups().iter().map(group).sum()
    }

    /// The number of ports, hosts' own among them.
    pub fn ports(&self) -> u64 {
        self.switch_ports() + self.host_links()
    }

    /// Whether it is one, and the simulator can number its parts.
    ///
    /// # Errors
    /// The key that is to blame.
    pub fn fits(&self) -> Result<(), Unfit> {
        self.check()?;
        let unfit = |why: String| Err(Unfit::new(self.size(), why));
        let ports = self.ports();
        if ports > MAX_PORTS {
            return unfit(format!(
                "that makes {ports} ports with the hosts' own; at most {MAX_PORTS}"
            ));
        }
        let largest = self.switch_groups().iter().map(|group| u64::from(group.ports)).max();
        if let Some(ports) = largest.filter(|&ports| ports > MAX_SWITCH_PORTS) {
            return unfit(format!("a switch would have {ports} ports; at most {MAX_SWITCH_PORTS}"));
        }
        if self.hosts() < 2 {
            return unfit("a network needs at least 2 hosts".to_owned());
        }
        Ok(())
    }
}

pub(crate) fn resolve(section: Section<'_>, mtu: Bytes) -> Result<Topology, Mistake> {
    let mut topology = Topology::from_values(&mut section.values()?);
    if let Topology::File(file) = &mut topology {
        // Read before it is checked, as the file says how large it is.
        file.load(mtu)?;
    }
    topology.fits().map_err(|unfit| section.unfit(unfit))?;
    section.close(&format!("kind = \"{}\"", topology.word()))?;
    bounds::check_all(&section, mtu)?;
    Ok(topology)
}
