//! Flows that arrive over all sending hosts together with log-normal gaps; a flow's sender is drawn,
//! each by its load.

use super::arrivals::{Arrivals, Clock, Load};
use super::flow::{Begun, Wrong};
use super::{Around, Carried, Demand, Expected, HostSet, Hosts, Service, Site, Sizes, Source};
use crate::topology::HostRates;
use switchbed_config::param::Unfit;
use switchbed_config::params;

params! {
    /// Flows that arrive over all sending hosts together with log-normal gaps.
    pub struct LogNormal {
        /// Standard deviation of a gap's logarithm; the load decides the mean gap.
        /// 0 is even gaps; the greater, the burstier.
        sigma: f64 as number(0.0, 10.0);
        /// Load of the flows.
        load: Load;
        /// Sending hosts.
        from: HostSet = "all";
        /// Receiving hosts, drawn uniformly (never the sender itself).
        to: HostSet = "all";
        /// Which service, and so which class, a flow belongs to.
        service: Service;
        /// How flows use connections.
        carried: Carried;
    }
}

impl LogNormal {
    fn arrivals(&self) -> Arrivals<'_> {
        let LogNormal { load, from, to, service, carried, .. } = self;
        Arrivals { load, from, to, service, connections: carried.connections, request: None }
    }
}

impl Source for LogNormal {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.load.complete()?;
        self.from.name(site);
        self.to.name(site);
        self.service.complete(site)?;
        self.arrivals().check(site)
    }
    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong> {
        self.arrivals().begin(Clock::Together { sigma: self.sigma }, hosts, seed, place)
    }
    fn expected(&self, around: &Around<'_>) -> Expected {
        self.arrivals().expected(around)
    }
    fn demand(&self, lines: &HostRates) -> Option<Demand> {
        Some(self.arrivals().demand(lines))
    }
    fn sizes(&self) -> &[Sizes] {
        &self.load.sizes
    }
    fn classes(&self) -> u16 {
        self.service.last()
    }
    fn offers(&mut self) -> Option<(&'static str, &mut Option<bool>)> {
        Some((key!(load), &mut self.load.overload))
    }
    fn persists(&self) -> bool {
        self.carried.connections.persist()
    }
    fn goes_on(&self) -> bool {
        true
    }
}
