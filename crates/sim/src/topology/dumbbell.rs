//! Two switches joined by one link, which is port 0 of both; hosts in order on the ports
//! from 1.

use super::{Cable, Graph, Hop, Node, Route, access};
use std::sync::Arc;
use switchbed_qdisc::units::{Rate, Span};

struct Dumbbell {
    left: u32,
}

impl Route for Dumbbell {
    #[inline]
    fn route(&self, hop: Hop, switch: u32) -> u32 {
        match (hop.dst < self.left, switch) {
            (true, 0) => 1 + hop.dst,
            (false, 1) => 1 + hop.dst - self.left,
            _ => 0,
        }
    }
}

pub(super) fn graph(
    left: u32,
    right: u32,
    host: (Rate, Span),
    (rate, delay): (Rate, Span),
) -> Graph {
    let across = |from, to| Cable { from: Node::Switch(from), to: Node::Switch(to), rate, delay };
    let mut ports = [vec![across(0, 1)], vec![across(1, 0)]];
    let mut hosts = Vec::new();
    for h in 0..left + right {
        let side = (h >= left) as u32;
        let (up, down) = access(h, side, host);
        hosts.push(up);
        ports[side as usize].push(down);
    }
    let names = ["left", "right"];
    let switches = names.into_iter().map(String::from).zip(ports).collect();
    Graph { hosts, switches, route: Arc::new(Dumbbell { left }) }
}
