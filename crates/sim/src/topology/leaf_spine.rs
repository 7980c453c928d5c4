//! Leaf–spine: leaves are switches 0…, spines follow. A leaf's ports: its hosts, then the
//! spines. A spine's ports: the leaves. ECMP over the spines.

use super::{Cable, Graph, Hop, Node, Route, access, spread};
use crate::ids::{HostId, PortId, SwitchId};
use std::hint::select_unpredictable;
use std::sync::Arc;
use switchbed_qdisc::units::{Rate, Span};

struct LeafSpine {
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
}

impl Route for LeafSpine {
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
}

pub(super) fn graph(
    (leaves, spines, hosts_per_leaf): (u32, u32, u32),
    host: (Rate, Span),
    (rate, delay): (Rate, Span),
) -> Graph {
    let across = |from, to| Cable {
        from: Node::Switch(SwitchId(from)),
        to: Node::Switch(SwitchId(to)),
        rate,
        delay,
    };
    let mut hosts = Vec::new();
    let mut switches = Vec::new();
    for leaf in 0..leaves {
        let mut ports = Vec::new();
        for h in leaf * hosts_per_leaf..(leaf + 1) * hosts_per_leaf {
            let (up, down) = access(HostId(h), SwitchId(leaf), host);
            hosts.push(up);
            ports.push(down);
        }
        ports.extend((0..spines).map(|spine| across(leaf, leaves + spine)));
        switches.push((format!("leaf{leaf}"), ports));
    }
    for spine in 0..spines {
        let ports = (0..leaves).map(|leaf| across(leaves + spine, leaf)).collect();
        switches.push((format!("spine{spine}"), ports));
    }
    Graph { hosts, switches, route: Arc::new(LeafSpine { leaves, spines, hosts_per_leaf }) }
}
