//! Leaf–spine: leaves are switches 0…, spines follow. A leaf's ports: its hosts, then the
//! spines. A spine's ports: the leaves. ECMP over the spines.

use super::bounds::SOME;
use super::choice::Set;
use super::graph::{Graph, Hop, Route, SwitchGroup, access, across, spread};
use super::shape::Shape;
use std::hint::select_unpredictable;
use std::sync::Arc;
use switchbed_config::params;
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

params! {
    /// A leaf–spine's parameters.
    #[derive(Copy)]
    pub struct LeafSpine {
        /// Number of leaf switches.
        leaves: u32 as SOME;
        /// Number of spine switches.
        spines: u32 as SOME;
        /// Hosts on each leaf; host h sits on leaf h / hosts_per_leaf.
        hosts_per_leaf: u32 as SOME;
        /// Rate of each host's link.
        host_rate: Rate;
        /// Propagation of each host's link, one way.
        host_delay: Span;
        /// Rate of each link between leaf and spine. Default: host_rate.
        fabric_rate: Rate, follows host_rate;
        /// Propagation of each link between leaf and spine, one way. Default: host_delay.
        fabric_delay: Span, follows host_delay;
    }
}

impl Shape for LeafSpine {
    fn hosts(&self) -> u32 {
        self.leaves * self.hosts_per_leaf
    }
    fn access(&self) -> (Rate, Span) {
        (self.host_rate, self.host_delay)
    }
    fn across(&self) -> Span {
        self.fabric_delay * 2
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        vec![
            SwitchGroup::many("leaf", self.leaves, self.hosts_per_leaf + self.spines),
            SwitchGroup::many("spine", self.spines, self.leaves),
        ]
    }
    fn size(&self) -> &'static str {
        LeafSpine::KEY.hosts_per_leaf
    }
    fn graph(&self) -> Graph {
        let LeafSpine { leaves, spines, hosts_per_leaf, .. } = *self;
        let fabric = (self.fabric_rate, self.fabric_delay);
        let mut hosts = Vec::new();
        let mut switches = Vec::new();
        for leaf in 0..leaves {
            let mut ports = Vec::new();
            for h in leaf * hosts_per_leaf..(leaf + 1) * hosts_per_leaf {
                let (up, down) = access(HostId(h), SwitchId(leaf), self.access());
                hosts.push(up);
                ports.push(down);
            }
            ports.extend((0..spines).map(|spine| across(leaf, leaves + spine, fabric)));
            switches.push((format!("leaf{leaf}"), ports));
        }
        for spine in 0..spines {
            let ports = (0..leaves).map(|leaf| across(leaves + spine, leaf, fabric)).collect();
            switches.push((format!("spine{spine}"), ports));
        }
        Graph::of(
            &self.switch_groups(),
            hosts,
            switches,
            Arc::new(UpDown { leaves, spines, hosts_per_leaf }),
        )
    }
}

struct UpDown {
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
}

impl Route for UpDown {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let (dst, number) = (hop.dst.0, switch.0);
        let leaf = dst / self.hosts_per_leaf;
        // Without a branch: from packet to packet nothing foretells which it is.
        let up = self.hosts_per_leaf + spread(hop.key, switch, (1, self.spines));
        let down = dst - leaf * self.hosts_per_leaf;
        let of_leaf = select_unpredictable(leaf == number, down, up);
        PortId(select_unpredictable(number >= self.leaves, leaf, of_leaf))
    }

    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        let leaf = dst.0 / self.hosts_per_leaf;
        match switch.0 {
            spine if spine >= self.leaves => Set::Run(leaf, 1),
            own if own == leaf => Set::Run(dst.0 - leaf * self.hosts_per_leaf, 1),
            _ => Set::Run(self.hosts_per_leaf, self.spines),
        }
    }
}
