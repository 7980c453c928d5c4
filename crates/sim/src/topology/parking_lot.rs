//! A parking lot: switches in a row, `hosts_each` on each. A switch's port to the next one comes
//! first, then the one to the switch before, then its hosts'.

use super::{Cable, Graph, Hop, Node, Route, access};
use crate::ids::{HostId, PortId, SwitchId};
use std::sync::Arc;
use switchbed_qdisc::units::{Rate, Span};

struct ParkingLot {
    last: u32,
    hosts_each: u32,
}

impl Route for ParkingLot {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let (dst, switch) = (hop.dst.0, switch.0);
        let to = dst / self.hosts_each;
        let (onward, back) = ((switch < self.last) as u32, (switch > 0) as u32);
        PortId(match to.cmp(&switch) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => onward,
            std::cmp::Ordering::Equal => onward + back + dst - to * self.hosts_each,
        })
    }
}

pub(super) fn graph(
    (switches, hosts_each): (u32, u32),
    host: (Rate, Span),
    (rate, delay): (Rate, Span),
) -> Graph {
    let across = |from, to| Cable {
        from: Node::Switch(SwitchId(from)),
        to: Node::Switch(SwitchId(to)),
        rate,
        delay,
    };
    let last = switches - 1;
    let mut hosts = Vec::new();
    let mut named = Vec::new();
    for switch in 0..switches {
        let mut ports = Vec::new();
        ports.extend((switch < last).then(|| across(switch, switch + 1)));
        ports.extend((switch > 0).then(|| across(switch, switch - 1)));
        for h in switch * hosts_each..(switch + 1) * hosts_each {
            let (up, down) = access(HostId(h), SwitchId(switch), host);
            hosts.push(up);
            ports.push(down);
        }
        let name = match switch {
            0 => "first".to_owned(),
            n if n == last => "last".to_owned(),
            n => format!("middle{}", n - 1),
        };
        named.push((name, ports));
    }
    Graph { hosts, switches: named, route: Arc::new(ParkingLot { last, hosts_each }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_take_the_switches_in_a_row() {
        let link = (Rate::from_gbps(10), Span::from_us(1));
        for switches in [2, 3, 7] {
            let graph = graph((switches, 3), link, link);
            for (src, dst) in [(0, 3 * switches - 1), (3 * switches - 2, 1), (4, 3), (0, 2)] {
                let path = graph.path(HostId(src), Hop { dst: HostId(dst), key: 9 });
                let (from, to) = (src / 3, dst / 3);
                assert_eq!(path.len() as u32, from.abs_diff(to) + 2);
                let passed: Vec<Node> = path.iter().map(|cable| cable.to).collect();
                let mut expected: Vec<Node> =
                    (from.min(to)..=from.max(to)).map(|s| Node::Switch(SwitchId(s))).collect();
                if from > to {
                    expected.reverse();
                }
                expected.push(Node::Host(HostId(dst)));
                assert_eq!(passed, expected);
            }
        }
    }
}
