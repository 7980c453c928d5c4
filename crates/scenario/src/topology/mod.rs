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
pub mod rates;
mod ring;
mod star;
pub mod tables;
pub mod ways;
pub mod weighted;
pub use clos::{Clos, Tiers};
pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use file::FromFile;
use graph::Graph;
pub use leaf_spine::LeafSpine;
pub use parking_lot::ParkingLot;
use rates::HostRates;
pub use ring::{Ring, Way};
pub use star::Star;
use std::borrow::Cow;
use switchbed_config::kinds;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{ParamKind, Params, SectionSpec, Unfit, count};
use switchbed_config::section::Section;
use switchbed_units::{Bytes, Rate, Span};

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

/// Description of a kind of topology.
pub trait Shape {
    /// The number of hosts.
    fn hosts(&self) -> u32;

    /// Rate and propagation of a host's link.
    fn access(&self) -> (Rate, Span);

    /// The number of hosts' links.
    fn host_links(&self) -> u64 {
        self.hosts().into()
    }

    /// The rates of hosts' links, each host's together.
    fn host_rates(&self) -> HostRates {
        HostRates::Same(self.access().0)
    }

    /// The propagation between the first switch and the last of the longest way.
    fn across(&self) -> Span;

    /// The kinds of switch, in the order that numbers the switches.
    fn switch_groups(&self) -> Vec<SwitchGroup>;

    /// The key that is to blame where it is too large, or too small.
    fn size(&self) -> &'static str;

    /// Refuses values that do not go together.
    fn check(&self) -> Result<(), Unfit> {
        Ok(())
    }

    /// Builds the cables and routes, with the switches named as [`Shape::switch_groups`] has them.
    fn graph(&self) -> Graph;
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
    fn one(name: &'static str, ports: u32) -> Self {
        SwitchGroup { name: name.into(), count: None, ports }
    }

    fn many(name: &'static str, count: u32, ports: u32) -> Self {
        SwitchGroup { name: name.into(), count: Some(count), ports }
    }
}

/// Most ports of a network, hosts' own among them: gigabytes, and two and a half times the largest
/// fat-tree that is run.
pub const MAX_PORTS: u64 = (1 << 20) - 1;
/// Most ports of a switch: a packet notes in 16 bits by which it came in. No number of switches
/// may be greater, either, so that no product of two overflows.
pub const MAX_SWITCH_PORTS: u64 = (1 << 16) - 1;
/// Most hosts of a topology: each has a port, and its switch has one for it.
pub const MAX_HOSTS: u64 = MAX_PORTS / 2;
/// The longest delay of a link, or of a host, and the longest that a packet's transmission
/// takes: the simulator's event queue looks 17.6 s ahead.
pub const MAX_WAY: Span = Span::from_ms(5_000);
const SOME: ParamKind = count(1, MAX_SWITCH_PORTS);

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
