//! Two switches joined by one link, which is port 0 of both; hosts in order on the ports
//! from 1.

use super::{Cable, Graph, Hop, Node, Route, access};
use crate::ids::{HostId, PortId, SwitchId};
use std::sync::Arc;
use switchbed_qdisc::units::{Rate, Span};

struct Dumbbell {
    left: u32,
}

impl Route for Dumbbell {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let dst = hop.dst.0;
        PortId(match (dst < self.left, switch.0) {
            (true, 0) => 1 + dst,
            (false, 1) => 1 + dst - self.left,
            _ => 0,
        })
    }
}

pub(super) fn graph(
    left: u32,
    right: u32,
    host: (Rate, Span),
    (rate, delay): (Rate, Span),
) -> Graph {
    let across = |from, to| Cable {
        from: Node::Switch(SwitchId(from)),
        to: Node::Switch(SwitchId(to)),
        rate,
        delay,
    };
    let mut ports = [vec![across(0, 1)], vec![across(1, 0)]];
    let mut hosts = Vec::new();
    for h in 0..left + right {
        let side = (h >= left) as u32;
        let (up, down) = access(HostId(h), SwitchId(side), host);
        hosts.push(up);
        ports[side as usize].push(down);
    }
    let names = ["left", "right"];
    let switches = names.into_iter().map(String::from).zip(ports).collect();
    Graph { hosts, switches, route: Arc::new(Dumbbell { left }) }
}
