//! A scenario as resolved values: every unit in a type, every default filled in.

use crate::{
    Deploy, Event, Host, Measure, Reaction, Roce, Run, SchemeChoice, Switch, Topology, Traffic,
    Transport,
};
use serde::Serialize;
use switchbed_units::Bytes;

/// One simulation, whole: what a scenario file comes to and what the manifest records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// What the scenario shows, in a line.
    pub title: String,
    /// Hosts, switches, links.
    pub topology: Topology,
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
    /// What hosts do about congestion notifications; `None` where the scheme sends none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<Reaction>,
    /// What is sent. Never empty.
    pub traffic: Vec<Traffic>,
    /// What changes during the run, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<Event>,
    /// What is written down.
    pub measure: Measure,
    /// Seed and end.
    pub run: Run,
}

impl Scenario {
    /// The queue pairs of a class's flows, if they have any.
    pub fn roce_of(&self, class: u8) -> Option<&Roce> {
        self.roce.as_ref().filter(|roce| roce.carries(class))
    }

    /// Payload of a class's full packets, and what each of its data packets has besides.
    pub fn framing(&self, class: u8) -> (Bytes, Bytes) {
        match self.roce_of(class) {
            Some(roce) => (roce.mtu, roce.overhead()),
            None => (self.transport.mss, self.transport.header),
        }
    }

    /// The shortest packet that a transport sends.
    pub fn shortest(&self) -> Bytes {
        let tcp = self.transport.header;
        match &self.roce {
            Some(roce) if roce.classes.is_none() => roce.shortest(),
            Some(roce) => roce.shortest().min(tcp),
            None => tcp,
        }
    }

    /// The longest that a class with a transport sends.
    pub fn longest(&self) -> Bytes {
        let tcp = self.transport.mss + self.transport.header;
        self.roce.iter().map(|roce| roce.mtu + roce.overhead()).fold(tcp, Bytes::max)
    }
}
