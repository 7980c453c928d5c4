//! Two switches joined by one link, which is port 0 of both; hosts in order on the ports
//! from 1.

use super::bounds::SOME;
use super::graph::{Graph, Hop, Route, SwitchGroup, access, across};
use super::shape::Shape;
use std::sync::Arc;
use switchbed_config::params;
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

params! {
    /// A dumbbell's parameters.
    #[derive(Copy)]
    pub struct Dumbbell {
        /// Hosts on the left switch, numbered first.
        left: u32 as SOME;
        /// Hosts on the right switch.
        right: u32 as SOME;
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

impl Shape for Dumbbell {
    fn hosts(&self) -> u32 {
        self.left + self.right
    }
    fn access(&self) -> (Rate, Span) {
        (self.rate, self.delay)
    }
    fn across(&self) -> Span {
        self.bottleneck_delay
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        vec![SwitchGroup::one("left", self.left + 1), SwitchGroup::one("right", self.right + 1)]
    }
    fn size(&self) -> &'static str {
        Dumbbell::KEY.right
    }
    fn graph(&self) -> Graph {
        let Dumbbell { left, right, .. } = *self;
        let bottleneck = (self.bottleneck_rate, self.bottleneck_delay);
        let mut ports = [vec![across(0, 1, bottleneck)], vec![across(1, 0, bottleneck)]];
        let mut hosts = Vec::new();
        for h in 0..left + right {
            let side = (h >= left) as u32;
            let (up, down) = access(HostId(h), SwitchId(side), self.access());
            hosts.push(up);
            ports[side as usize].push(down);
        }
        let names = ["left", "right"];
        let switches = names.into_iter().map(String::from).zip(ports).collect();
        Graph::of(&self.switch_groups(), hosts, switches, Arc::new(Across { left }))
    }
}

struct Across {
    left: u32,
}

impl Route for Across {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let dst = hop.dst.0;
        // Port 0 of both switches is the bottleneck; the hosts' ports follow.
        PortId(match (dst < self.left, switch.0) {
            (true, 0) => 1 + dst,
            (false, 1) => 1 + dst - self.left,
            _ => 0,
        })
    }
}
