//! A parking lot: switches in a row, as many hosts on each. A switch's port to the next one comes
//! first, then the one to the switch before, then its hosts'.

use super::bounds::{MAX_SWITCH_PORTS, SOME};
use super::graph::{Graph, Hop, Route, SwitchGroup, access, across};
use super::shape::Shape;
use std::sync::Arc;
use switchbed_config::params;
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

params! {
    /// A parking lot's parameters.
    #[derive(Copy)]
    pub struct ParkingLot {
        /// Number of switches.
        switches: u32 as count(2, MAX_SWITCH_PORTS);
        /// Hosts on each switch; host h sits on switch h / hosts_per_switch.
        hosts_per_switch: u32 as SOME;
        /// Rate of each host's link.
        rate: Rate;
        /// Propagation of each host's link, one way.
        delay: Span;
        /// Rate of each link between switches. Default: rate.
        bottleneck_rate: Rate, follows rate;
        /// Propagation of each link between switches, one way. Default: delay.
        bottleneck_delay: Span, follows delay;
    }
}

impl Shape for ParkingLot {
    fn hosts(&self) -> u32 {
        self.switches * self.hosts_per_switch
    }
    fn access(&self) -> (Rate, Span) {
        (self.rate, self.delay)
    }
    fn across(&self) -> Span {
        self.bottleneck_delay * u64::from(self.switches - 1)
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        let hosts = self.hosts_per_switch;
        vec![
            SwitchGroup::one("first", hosts + 1),
            SwitchGroup::many("middle", self.switches - 2, hosts + 2),
            SwitchGroup::one("last", hosts + 1),
        ]
    }
    fn size(&self) -> &'static str {
        ParkingLot::KEY.switches
    }
    fn graph(&self) -> Graph {
        let ParkingLot { switches, hosts_per_switch: hosts_each, .. } = *self;
        let bottleneck = (self.bottleneck_rate, self.bottleneck_delay);
        let last = switches - 1;
        let mut hosts = Vec::new();
        let mut named = Vec::new();
        for switch in 0..switches {
            let mut ports = Vec::new();
            ports.extend((switch < last).then(|| across(switch, switch + 1, bottleneck)));
            ports.extend((switch > 0).then(|| across(switch, switch - 1, bottleneck)));
            for h in switch * hosts_each..(switch + 1) * hosts_each {
                let (up, down) = access(HostId(h), SwitchId(switch), self.access());
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
        Graph::of(&self.switch_groups(), hosts, named, Arc::new(Row { last, hosts_each }))
    }
}

struct Row {
    last: u32,
    hosts_each: u32,
}

impl Route for Row {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let (dst, switch) = (hop.dst.0, switch.0);
        let to = dst / self.hosts_each;
        // Port 0 leads on, except at the last switch; the next one leads back, except at the first.
        let (onward, back) = ((switch < self.last) as u32, (switch > 0) as u32);
        PortId(match to.cmp(&switch) {
            std::cmp::Ordering::Greater => 0,
            std::cmp::Ordering::Less => onward,
            std::cmp::Ordering::Equal => onward + back + dst - to * self.hosts_each,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::graph::Node;

    #[test]
    fn packets_take_the_switches_in_a_row() {
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        for switches in [2, 3, 7] {
            let graph = ParkingLot {
                switches,
                hosts_per_switch: 3,
                rate,
                delay,
                bottleneck_rate: rate,
                bottleneck_delay: delay,
            }
            .graph();
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
