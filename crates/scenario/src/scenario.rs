//! A scenario as resolved values: every unit in a type, every default filled in.

use crate::topology::choice::Choice;
use crate::topology::graph::Graph;
use crate::traffic::Entry;
use crate::{
    Delays, Deploy, Event, Host, HostDelay, Measure, Reaction, Roce, Routing, Run, SchemeChoice,
    Stacks, Switch, Topology, Transport, stack,
};
use serde::Serialize;
use switchbed_units::Span;
use switchbed_units::ids::HostId;

/// One simulation, whole: what a scenario file comes to and what the manifest records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Purpose of the scenario, in a line.
    pub title: String,
    /// Hosts, switches, links.
    pub topology: Topology,
    /// How switches choose among equal-cost ports.
    #[serde(skip_serializing_if = "Routing::is_default")]
    pub routing: Routing,
    /// Queues, scheduler and buffer of every switch port.
    pub switch: Switch,
    /// The queue-management scheme of every switch port.
    pub scheme: SchemeChoice,
    /// Switches that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deploy: Vec<Deploy>,
    /// The hosts' network cards and delays.
    pub host: Stacks,
    /// TCP.
    pub transport: Transport,
    /// Queue pairs; `None`: all flows have TCP, or none has anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roce: Option<Roce>,
    /// Reaction of hosts to congestion notifications; `None` where the scheme sends none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<Reaction>,
    /// Sources of traffic; at least one.
    pub traffic: Vec<Entry>,
    /// Changes during the run, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<Event>,
    /// Measurements and their settings.
    pub measure: Measure,
    /// Seed and end.
    pub run: Run,
}

impl Scenario {
    /// The graph of its topology, with the hosts' delays, and paths as its switches choose them.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::new(&self.topology, Span::ZERO);
        graph.delay_hosts(&self.delays());
        let mut graph = self.routing.on(graph);
        if crate::event::reroute(&self.routing, &self.event) {
            graph.choice = Choice::ByState;
        }
        graph
    }

    /// The delay of each host.
    pub fn delays(&self) -> Delays {
        delays(&self.host, self.topology.hosts(), self.run.seed)
    }

    /// Keys of `[host]` of each host, by number.
    pub fn host_of<'a>(&'a self) -> impl Fn(HostId) -> &'a Host {
        let numbers = self.host.numbers(self.topology.hosts());
        move |host| self.host.host(stack::of(&numbers, host))
    }

    /// Whether probes between two hosts are ECN-capable: where TCP of both is.
    pub fn probes_have_ecn(&self, src: HostId, dst: HostId) -> bool {
        if self.host.others.is_empty() {
            return self.transport.ecn;
        }
        let numbers = self.host.numbers(self.topology.hosts());
        let [from, to] = [src, dst]
            .map(|host| self.host.transport(stack::of(&numbers, host)).unwrap_or(&self.transport));
        if from == to { from.ecn } else { from.toward(to).ecn }
    }
}

/// The delay of each of so many hosts in a run of this seed.
pub(crate) fn delays(stacks: &Stacks, hosts: u32, seed: u64) -> Delays {
    if let (HostDelay::Fixed(delay), true) = (&stacks.usual.delay, stacks.others.is_empty()) {
        return Delays::All(*delay);
    }
    let numbers = stacks.numbers(hosts);
    let of = |host| stacks.host(stack::of(&numbers, host)).delay.of(seed, host);
    Delays::Each((0..hosts).map(HostId).map(of).collect())
}

/// The scenario as a TOML file that resolves to it again.
pub fn to_toml(scenario: &Scenario) -> String {
    // Only keys that are no strings and numbers that TOML lacks could fail: there are none.
    toml::to_string(scenario).unwrap_or_else(|error| format!("# {error}\n"))
}
