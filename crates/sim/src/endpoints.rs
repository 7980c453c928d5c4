//! The hosts of a run, with TCP or without.

use crate::hosts::{FlowRecord, Hosts};
use crate::monitors::Underway;
use crate::network::{Delivery, Network};
use crate::nic::Nics;
use crate::probe::ProbeSample;
use crate::tcp::Config;
use crate::topology::Graph;
use crate::topology::Hop;
use crate::traffic::FlowStart;
use crate::udp::Udp;
use switchbed_qdisc::units::{Rate, Time};
use switchbed_spec::{CongestionControl, Scenario};

/// All hosts of a run.
pub(crate) enum Endpoints {
    /// With TCP.
    Tcp(Box<Hosts>),
    /// Without.
    Udp(Box<Udp>),
}

macro_rules! either {
    ($hosts:expr, $each:ident => $call:expr) => {
        match $hosts {
            Endpoints::Tcp($each) => $call,
            Endpoints::Udp($each) => $call,
        }
    };
}

impl Endpoints {
    /// The hosts that the transport asks for, with network cards that limit rates where the scheme
    /// notifies.
    pub(crate) fn of(scenario: &Scenario, config: Config, graph: &Graph) -> Endpoints {
        let Scenario { transport, reaction, run, .. } = scenario;
        let nics = || Nics::new(graph.hosts.iter().map(|cable| cable.rate), *reaction, run.seed);
        if transport.control == CongestionControl::Udp {
            let udp = Udp::new(transport, nics(), run.seed, run.ecmp_by_row);
            return Endpoints::Udp(Box::new(udp));
        }
        let mut hosts = Hosts::new(config, scenario);
        if reaction.is_some() {
            hosts.set_nics(nics());
        }
        Endpoints::Tcp(Box::new(hosts))
    }

    #[inline]
    pub(crate) fn running(&self) -> u64 {
        either!(self, hosts => hosts.running())
    }
    pub(crate) fn idle(&self) -> bool {
        either!(self, hosts => hosts.idle())
    }
    pub(crate) fn probes(&self) -> &[ProbeSample] {
        match self {
            Endpoints::Tcp(hosts) => hosts.probes(),
            Endpoints::Udp(_) => &[],
        }
    }
    /// Since when there is no room for more of them.
    pub(crate) fn probes_full_at(&self) -> Option<Time> {
        match self {
            Endpoints::Tcp(hosts) => hosts.probes_full_at(),
            Endpoints::Udp(_) => None,
        }
    }
    pub(crate) fn taken(&self) -> Box<[u64; 256]> {
        either!(self, hosts => hosts.taken())
    }
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        either!(self, hosts => hosts.next_timer())
    }
    pub(crate) fn fire(&mut self, net: &mut Network) {
        either!(self, hosts => hosts.fire(net))
    }
    pub(crate) fn start(&mut self, flow: &FlowStart, net: &mut Network) -> u32 {
        match self {
            Endpoints::Tcp(hosts) => hosts.start(flow, net),
            Endpoints::Udp(hosts) => hosts.start(flow),
        }
    }
    pub(crate) fn stop(&mut self, row: u64, now: Time) {
        either!(self, hosts => hosts.stop(row, now))
    }
    #[inline]
    pub(crate) fn deliver(&mut self, delivery: Delivery, net: &mut Network) {
        either!(self, hosts => hosts.deliver(delivery, net))
    }
    /// The network cards that limit rates.
    fn nics(&mut self) -> Option<&mut Nics> {
        match self {
            Endpoints::Tcp(hosts) => hosts.nics(),
            Endpoints::Udp(hosts) => Some(hosts.nics()),
        }
    }
    /// A host's line has another rate from now on.
    pub(crate) fn set_rate(&mut self, host: u32, rate: Rate) {
        if let Some(nics) = self.nics() {
            nics.set_rate(host, rate);
        }
    }
    /// A host's line goes down or comes up.
    pub(crate) fn set_up(&mut self, host: u32, up: bool, now: Time) {
        if let Some(nics) = self.nics() {
            nics.set_up(host, up, now);
        }
    }
    pub(crate) fn restart(&mut self, now: Time) {
        match self {
            Endpoints::Tcp(hosts) => hosts.restart(now),
            Endpoints::Udp(hosts) => hosts.restart(),
        }
    }
    pub(crate) fn take_finished(&mut self) -> Vec<FlowRecord> {
        either!(self, hosts => std::mem::take(&mut hosts.finished))
    }
    pub(crate) fn unfinished(&self) -> Vec<FlowRecord> {
        either!(self, hosts => hosts.unfinished())
    }
    /// The flows under way, requests apart.
    pub(crate) fn underway(&self) -> Vec<Underway> {
        either!(self, hosts => hosts.underway().collect())
    }
    /// The host that sends a connection's data.
    pub(crate) fn source(&self, place: u32) -> u32 {
        either!(self, hosts => hosts.source(place))
    }
    /// The way of a connection's data, if it has some to send.
    pub(crate) fn unsent(&self, place: u32) -> Option<Hop> {
        either!(self, hosts => hosts.unsent(place))
    }
    /// The connection that answers the requests of this one.
    pub(crate) fn answers(&self, place: u32) -> Option<u32> {
        match self {
            Endpoints::Tcp(hosts) => hosts.answers(place),
            Endpoints::Udp(_) => None,
        }
    }
    /// The host whose timer is next; `None` also where no data depends on it.
    pub(crate) fn next_timer_host(&self) -> Option<u32> {
        either!(self, hosts => hosts.next_timer_host())
    }
    pub(crate) fn places(&self) -> usize {
        either!(self, hosts => hosts.places())
    }
    /// Connections that are open.
    pub(crate) fn open_connections(&self) -> usize {
        either!(self, hosts => hosts.open_connections())
    }
    pub(crate) fn alphas(&self) -> Vec<f64> {
        match self {
            Endpoints::Tcp(hosts) => hosts.alphas(),
            Endpoints::Udp(_) => Vec::new(),
        }
    }
}
