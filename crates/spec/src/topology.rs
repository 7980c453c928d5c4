//! Hosts, switches and the links between them. A link is two directions of the same
//! rate and delay; `delay` is propagation one way.

use serde::Serialize;
use switchbed_qdisc::units::{Rate, Span};

/// The shape of the network. Hosts are numbered from 0 in the order given here.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
}

impl Topology {
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        match *self {
            Topology::Star { hosts, .. } => hosts,
            Topology::Dumbbell { left, right, .. } => left + right,
            Topology::LeafSpine { leaves, hosts_per_leaf, .. } => leaves * hosts_per_leaf,
        }
    }

    /// The rate of a host's link: what a load is a fraction of.
    pub fn host_rate(&self) -> Rate {
        match *self {
            Topology::Star { rate, .. } | Topology::Dumbbell { rate, .. } => rate,
            Topology::LeafSpine { host_rate, .. } => host_rate,
        }
    }
}
