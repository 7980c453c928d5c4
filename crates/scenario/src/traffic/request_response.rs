//! Hosts (`to`, the clients) that ask others (`from`, the servers) for data as a Poisson process: a
//! flow begins with its request and ends with its answer.

use super::arrivals::{Arrivals, Clock, Load};
use super::flow::{Begun, Wrong};
use super::program::Program;
use super::{
    Around, Connections, Deal, Demand, Expected, HostSet, Hosts, Service, Site, Sizes, Source,
};
use crate::topology::HostRates;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Bytes;

params! {
    /// Hosts that ask others for data as a Poisson process.
    pub struct RequestResponse {
        /// Payload of a request, which goes in the flow's class.
        request: Bytes = "100B";
        /// Load of the answers.
        load: Load;
        /// The servers.
        from: HostSet = "all";
        /// The clients, who draw a server uniformly (never themselves).
        to: HostSet;
        /// Which service, and so which class, a flow belongs to.
        service: Service;
        /// As for other kinds, but persistent: one for each client and server, whatever the class.
        connections: Connections = "persistent";
    }
}

impl RequestResponse {
    fn arrivals(&self) -> Arrivals<'_> {
        let RequestResponse { request, load, from, to, service, connections } = self;
        Arrivals { load, from, to, service, connections: *connections, request: Some(*request) }
    }
}

impl Source for RequestResponse {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        if self.request == Bytes::ZERO {
            return Err(Unfit::new(key!(request), "a request has at least 1 byte"));
        }
        // A pair's service would follow from its ends, which answers have swapped.
        if self.service.deal == Deal::Pair {
            let why = "services of requests are \"one\" or \"random\"";
            return Err(Unfit::new(key!(service), why));
        }
        self.load.complete()?;
        self.from.name(site);
        self.to.name(site);
        self.service.complete(site)?;
        self.arrivals().check(site)
    }
    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong> {
        self.arrivals().begin(Clock::Each, hosts, seed, place)
    }
    fn program(&self, _: &Hosts, _: u64, _: usize) -> Result<Program, Wrong> {
        Ok(Program::Answers { request: self.request })
    }
    fn expected(&self, around: &Around<'_>) -> Expected {
        // Requests have connections of their own.
        let expected = self.arrivals().expected(around);
        Expected { connections: 2.0 * expected.connections, ..expected }
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
        self.connections.persist()
    }
    fn goes_on(&self) -> bool {
        true
    }
    fn asks(&self) -> bool {
        true
    }
}
