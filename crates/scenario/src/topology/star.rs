//! Hosts on one switch; host h on port h.

use super::bounds::MAX_SWITCH_PORTS;
use super::graph::{Graph, Hop, Route, SwitchGroup, access};
use super::shape::Shape;
use std::sync::Arc;
use switchbed_config::params;
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

params! {
    /// A star's parameters.
    #[derive(Copy)]
    pub struct Star {
        /// Number of hosts.
        hosts: u32 as count(2, MAX_SWITCH_PORTS);
        /// Rate of each host's link.
        rate: Rate;
        /// Propagation of each host's link, one way.
        delay: Span;
    }
}

impl Shape for Star {
    fn hosts(&self) -> u32 {
        self.hosts
    }
    fn access(&self) -> (Rate, Span) {
        (self.rate, self.delay)
    }
    fn across(&self) -> Span {
        Span::ZERO
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        vec![SwitchGroup::one("switch", self.hosts)]
    }
    fn size(&self) -> &'static str {
        Star::KEY.hosts
    }
    fn graph(&self) -> Graph {
        let cable = |host| access(HostId(host), SwitchId(0), self.access());
        let (up, down) = (0..self.hosts).map(cable).unzip();
        Graph::of(&self.switch_groups(), up, vec![("switch".into(), down)], Arc::new(ToPort))
    }
}

struct ToPort;

impl Route for ToPort {
    #[inline]
    fn route(&self, hop: Hop, _: SwitchId) -> PortId {
        PortId(hop.dst.0)
    }
}
