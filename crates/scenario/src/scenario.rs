//! A scenario as resolved values: every unit in a type, every default filled in.

use crate::topology::choice::Choice;
use crate::topology::graph::Graph;
use crate::traffic::Entry;
use crate::{
    Deploy, Event, Host, Measure, Reaction, Roce, Routing, Run, SchemeChoice, Switch, Topology,
    Transport,
};
use serde::Serialize;

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
    pub host: Host,
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
        let mut graph = self.routing.on(Graph::new(&self.topology, self.host.delay));
        if crate::event::reroute(&self.event) {
            graph.choice = Choice::ByState;
        }
        graph
    }
}
