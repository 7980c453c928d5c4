//! Hosts, switches and the links between them. A link is two directions of the same
//! rate and delay; `delay` is propagation one way.

use crate::param::{Param, ParamKind, Section};
use serde::Serialize;
use switchbed_qdisc::units::{Rate, Span};

/// The shape of the network. Hosts are numbered from 0 in the order given here.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Topology {
    /// `hosts` hosts on one switch.
    Star {
        /// Number of hosts, at least 2.
        hosts: u32,
        /// Rate of each host's link.
        rate: Rate,
        /// Propagation of each host's link, one way.
        delay: Span,
    },
    /// Two switches joined by one link; hosts 0…left−1 on the one, the rest on the other.
    Dumbbell {
        /// Hosts on the left switch.
        left: u32,
        /// Hosts on the right switch.
        right: u32,
        /// Rate of each host's link.
        rate: Rate,
        /// Propagation of each host's link, one way.
        delay: Span,
        /// Rate of the link between the switches.
        bottleneck_rate: Rate,
        /// Propagation of the link between the switches, one way.
        bottleneck_delay: Span,
    },
    /// Switches in a row, each linked to the next; host h sits on switch h / hosts_per_switch.
    ParkingLot {
        /// Number of switches, at least 2.
        switches: u32,
        /// Hosts on each switch.
        hosts_per_switch: u32,
        /// Rate of each host's link.
        rate: Rate,
        /// Propagation of each host's link, one way.
        delay: Span,
        /// Rate of each link between switches.
        bottleneck_rate: Rate,
        /// Propagation of each link between switches, one way.
        bottleneck_delay: Span,
    },
    /// Every leaf linked to every spine; host h sits on leaf h / hosts_per_leaf.
    LeafSpine {
        /// Number of leaf (ToR) switches.
        leaves: u32,
        /// Number of spine (core) switches.
        spines: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Rate of each host's link.
        host_rate: Rate,
        /// Propagation of each host's link, one way (host delay may be put here, as
        /// the MQ-ECN simulations do).
        host_delay: Span,
        /// Rate of each link between leaf and spine.
        fabric_rate: Rate,
        /// Propagation of each link between leaf and spine, one way.
        fabric_delay: Span,
    },
    /// k pods of k/2 edge and k/2 aggregation switches under (k/2)² cores (Al-Fares et al.,
    /// SIGCOMM 2008); host h sits on edge h / (k/2), which is in pod h / (k/2)².
    FatTree {
        /// Ports of each switch: even.
        k: u32,
        /// Rate of each host's link.
        host_rate: Rate,
        /// Propagation of each host's link, one way.
        host_delay: Span,
        /// Rate of each link between edge and aggregation.
        aggregation_rate: Rate,
        /// Propagation of each link between edge and aggregation, one way.
        aggregation_delay: Span,
        /// Rate of each link between aggregation and core.
        core_rate: Rate,
        /// Propagation of each link between aggregation and core, one way.
        core_delay: Span,
    },
}

/// Most ports of a network, hosts' own among them: the simulator's event queue names a link in
/// 20 bits.
pub const MAX_PORTS: u64 = (1 << 20) - 1;
/// Most ports of a switch: a packet notes in 16 bits by which it came in. No number of switches
/// may be greater, either, so that no product of two overflows.
pub const MAX_SWITCH_PORTS: u64 = (1 << 16) - 1;
/// Most hosts of a topology: each has a port, and its switch has one for it.
pub const MAX_HOSTS: u64 = MAX_PORTS / 2;
/// Most ports of a fat-tree's switches: k³/4 hosts, 3k³/2 ports.
pub const MAX_K: u64 = 88;
/// The longest delay of a link, or of a host, and the longest that a packet's transmission
/// takes: the simulator's event queue looks 17.6 s ahead.
pub const MAX_WAY: Span = Span::from_ms(5_000);
const SOME: ParamKind = ParamKind::Count { min: 1, max: MAX_SWITCH_PORTS };

/// `[topology]`.
pub const SECTION: Section = Section {
    name: "topology",
    repeated: false,
    doc: "Hosts, switches and links. Both directions of a link have its rate and its delay. \
          Hosts are numbered from 0.",
    keys: &[
        Param::required(
            "kind",
            ParamKind::Word(&["star", "dumbbell", "parking-lot", "leaf-spine", "fat-tree"]),
            "star: hosts on one switch. dumbbell: two switches joined by one link. \
             parking-lot: switches in a row, each linked to the next. \
             leaf-spine: every leaf (ToR) linked to every spine. fat-tree: k pods of k/2 edge \
             and k/2 aggregation switches under (k/2)² cores, k³/4 hosts.",
        ),
        Param::optional(
            "hosts",
            ParamKind::Count { min: 2, max: MAX_SWITCH_PORTS },
            "star: number of hosts.",
        ),
        Param::optional("left", SOME, "dumbbell: hosts on the left switch, numbered first."),
        Param::optional("right", SOME, "dumbbell: hosts on the right switch."),
        Param::optional(
            "switches",
            ParamKind::Count { min: 2, max: MAX_SWITCH_PORTS },
            "parking-lot: number of switches.",
        ),
        Param::optional(
            "hosts_per_switch",
            SOME,
            "parking-lot: hosts on each switch; host h sits on switch h / hosts_per_switch.",
        ),
        Param::optional("leaves", SOME, "leaf-spine: number of leaf switches."),
        Param::optional("spines", SOME, "leaf-spine: number of spine switches."),
        Param::optional(
            "hosts_per_leaf",
            SOME,
            "leaf-spine: hosts on each leaf; host h sits on leaf h / hosts_per_leaf.",
        ),
        Param::optional(
            "k",
            ParamKind::Count { min: 2, max: MAX_K },
            "fat-tree: ports of each switch, an even number; host h sits on edge h / (k/2).",
        ),
        Param::optional(
            "rate",
            ParamKind::Rate,
            "star, dumbbell, parking-lot: rate of each host's link.",
        ),
        Param::optional(
            "delay",
            ParamKind::Time,
            "star, dumbbell, parking-lot: propagation of each host's link, one way.",
        ),
        Param::optional(
            "bottleneck_rate",
            ParamKind::Rate,
            "dumbbell, parking-lot: rate of each link between switches. Default: rate.",
        ),
        Param::optional(
            "bottleneck_delay",
            ParamKind::Time,
            "dumbbell, parking-lot: propagation of each link between switches, one way. \
             Default: delay.",
        ),
        Param::optional(
            "host_rate",
            ParamKind::Rate,
            "leaf-spine, fat-tree: rate of each host's link.",
        ),
        Param::optional(
            "host_delay",
            ParamKind::Time,
            "leaf-spine, fat-tree: propagation of each host's link, one way.",
        ),
        Param::optional(
            "fabric_rate",
            ParamKind::Rate,
            "leaf-spine: rate of each link between leaf and spine. Default: host_rate.",
        ),
        Param::optional(
            "fabric_delay",
            ParamKind::Time,
            "leaf-spine: propagation of each link between leaf and spine, one way. \
             Default: host_delay.",
        ),
        Param::optional(
            "aggregation_rate",
            ParamKind::Rate,
            "fat-tree: rate of each link between edge and aggregation. Default: host_rate.",
        ),
        Param::optional(
            "aggregation_delay",
            ParamKind::Time,
            "fat-tree: propagation of each link between edge and aggregation, one way. \
             Default: host_delay.",
        ),
        Param::optional(
            "core_rate",
            ParamKind::Rate,
            "fat-tree: rate of each link between aggregation and core. Default: \
             aggregation_rate.",
        ),
        Param::optional(
            "core_delay",
            ParamKind::Time,
            "fat-tree: propagation of each link between aggregation and core, one way. \
             Default: aggregation_delay.",
        ),
    ],
};

impl Topology {
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        match *self {
            Topology::Star { hosts, .. } => hosts,
            Topology::Dumbbell { left, right, .. } => left + right,
            Topology::ParkingLot { switches, hosts_per_switch, .. } => switches * hosts_per_switch,
            Topology::LeafSpine { leaves, hosts_per_leaf, .. } => leaves * hosts_per_leaf,
            Topology::FatTree { k, .. } => k * k * k / 4,
        }
    }

    /// The number of ports, hosts' own among them.
    pub fn ports(&self) -> u64 {
        let group =
            |group: &SwitchGroup| u64::from(group.count.unwrap_or(1)) * u64::from(group.ports);
        self.switch_groups().iter().map(group).sum::<u64>() + u64::from(self.hosts())
    }

    /// The rate of a host's link: what a load is a fraction of.
    pub fn host_rate(&self) -> Rate {
        match *self {
            Topology::Star { rate, .. }
            | Topology::Dumbbell { rate, .. }
            | Topology::ParkingLot { rate, .. } => rate,
            Topology::LeafSpine { host_rate, .. } | Topology::FatTree { host_rate, .. } => {
                host_rate
            }
        }
    }

    /// The kinds of switch, in the order that numbers the switches.
    ///
    /// Ports are numbered from 0. A leaf's are its hosts', then one for each spine; a
    /// spine's port p leads to leaf p; a dumbbell switch's port 0 leads to the other. A parking
    /// lot's port 0 leads to the next switch and its port 1 to the one before (port 0 where
    /// there is no next), then come its hosts'. An
    /// edge's are its hosts', then its pod's aggregations'; an aggregation's its pod's edges',
    /// then its cores'; a core's port p leads to pod p.
    pub fn switch_groups(&self) -> Vec<SwitchGroup> {
        let one = |name, ports| SwitchGroup { name, count: None, ports };
        let many = |name, count, ports| SwitchGroup { name, count: Some(count), ports };
        match *self {
            Topology::Star { hosts, .. } => vec![one("switch", hosts)],
            Topology::Dumbbell { left, right, .. } => {
                vec![one("left", left + 1), one("right", right + 1)]
            }
            Topology::ParkingLot { switches, hosts_per_switch, .. } => vec![
                one("first", hosts_per_switch + 1),
                many("middle", switches - 2, hosts_per_switch + 2),
                one("last", hosts_per_switch + 1),
            ],
            Topology::LeafSpine { leaves, spines, hosts_per_leaf, .. } => {
                vec![many("leaf", leaves, hosts_per_leaf + spines), many("spine", spines, leaves)]
            }
            Topology::FatTree { k, .. } => {
                let (edges, cores) = (k * k / 2, k * k / 4);
                vec![many("edge", edges, k), many("aggregation", edges, k), many("core", cores, k)]
            }
        }
    }
}

/// Switches of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchGroup {
    /// Their name, or what it begins with.
    pub name: &'static str,
    /// How many there are, named `name` and a number from 0; `None`: one, named `name`.
    pub count: Option<u32>,
    /// Ports of each.
    pub ports: u32,
}
