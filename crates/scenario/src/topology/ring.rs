//! A ring: switches in a circle, as many hosts on each. A switch's port to the next one comes first, then
//! the one to the switch before, then its hosts'. Ways that follow each other around it make a circle of
//! waits, so it is where lossless classes can deadlock.

use super::bounds::{MAX_SWITCH_PORTS, SOME};
use super::graph::{Graph, Hop, Route, SwitchGroup, access, across};
use super::shape::Shape;
use std::sync::Arc;
use switchbed_config::{params, words};
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

words! {
    /// The way around a ring.
    pub enum Way {
        /// The shorter one; of two that are as long, the one to the next switch.
        Shortest = "shortest",
        /// Always the one to the next switch.
        Clockwise = "clockwise",
    }
}

params! {
    /// A ring's parameters.
    #[derive(Copy)]
    pub struct Ring {
        /// Number of switches.
        switches: u32 as count(3, MAX_SWITCH_PORTS);
        /// Hosts on each switch; host h sits on switch h / hosts_per_switch.
        hosts_per_switch: u32 as SOME;
        /// Rate of each host's link.
        rate: Rate;
        /// Propagation of each host's link, one way.
        delay: Span;
        /// Rate of each link between switches. Default: rate.
        ring_rate: Rate, follows rate;
        /// Propagation of each link between switches, one way. Default: delay.
        ring_delay: Span, follows delay;
        /// The way that packets take around it.
        way: Way = "shortest";
    }
}

impl Shape for Ring {
    fn hosts(&self) -> u32 {
        self.switches * self.hosts_per_switch
    }
    fn access(&self) -> (Rate, Span) {
        (self.rate, self.delay)
    }
    fn across(&self) -> Span {
        let links = match self.way {
            Way::Shortest => self.switches / 2,
            Way::Clockwise => self.switches - 1,
        };
        self.ring_delay * u64::from(links)
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        vec![SwitchGroup::many("switch", self.switches, self.hosts_per_switch + 2)]
    }
    fn size(&self) -> &'static str {
        Ring::KEY.switches
    }
    fn graph(&self) -> Graph {
        let Ring { switches, hosts_per_switch: hosts_each, way, .. } = *self;
        let ring = (self.ring_rate, self.ring_delay);
        let mut hosts = Vec::new();
        let mut named = Vec::new();
        for switch in 0..switches {
            let (next, before) = ((switch + 1) % switches, (switch + switches - 1) % switches);
            let mut ports = vec![across(switch, next, ring), across(switch, before, ring)];
            for h in switch * hosts_each..(switch + 1) * hosts_each {
                let (up, down) = access(HostId(h), SwitchId(switch), self.access());
                hosts.push(up);
                ports.push(down);
            }
            named.push((format!("switch{switch}"), ports));
        }
        Graph::of(
            &self.switch_groups(),
            hosts,
            named,
            Arc::new(Circle { switches, hosts_each, way }),
        )
    }
}

struct Circle {
    switches: u32,
    hosts_each: u32,
    way: Way,
}

impl Route for Circle {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let Circle { switches, hosts_each, way } = *self;
        let to = hop.dst.0 / hosts_each;
        let onward = (to + switches - switch.0) % switches;
        PortId(match way {
            _ if onward == 0 => 2 + hop.dst.0 - to * hosts_each,
            // The opposite switch of an even ring is as far either way: then clockwise.
            Way::Shortest if 2 * onward > switches => 1,
            Way::Shortest | Way::Clockwise => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::graph::Node;

    #[test]
    fn packets_take_the_shorter_way_or_the_one_that_is_asked_for() {
        let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
        let ring = |way| Ring {
            switches: 5,
            hosts_per_switch: 2,
            rate,
            delay,
            ring_rate: rate,
            ring_delay: delay,
            way,
        };
        for (way, src, dst, passed) in [
            (Way::Shortest, 0, 5, vec![0, 1, 2]),
            (Way::Shortest, 1, 6, vec![0, 4, 3]),
            (Way::Clockwise, 1, 6, vec![0, 1, 2, 3]),
            (Way::Clockwise, 8, 2, vec![4, 0, 1]),
            (Way::Clockwise, 2, 3, vec![1]),
        ] {
            let graph = ring(way).graph();
            let path = graph.path(HostId(src), Hop { dst: HostId(dst), key: 9 });
            let mut expected: Vec<Node> =
                passed.into_iter().map(|switch| Node::Switch(SwitchId(switch))).collect();
            expected.push(Node::Host(HostId(dst)));
            let taken: Vec<Node> = path.iter().map(|cable| cable.to).collect();
            assert_eq!(taken, expected, "{way:?} from {src} to {dst}");
            assert!(path.len() as u64 <= 2 + ring(way).across().as_ps() / delay.as_ps());
        }
    }
}
