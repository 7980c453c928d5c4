//! The vocabulary of scenario files, as resolved values: what a simulator or a
//! live switch needs to know, with every unit in a type and every default filled
//! in. Beside each resolved type stands the table of its keys ([`param`]): their units,
//! defaults and meanings. Reading a file by them, with messages that name the line, is
//! the work of `scenario`.

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod build;
pub mod deploy;
pub mod event;
pub mod host;
pub mod live;
pub mod param;
pub mod protocol;
pub mod reaction;
pub mod roce;
pub mod run;
pub mod scheme;
pub mod sizes;
pub mod topology;
pub mod traffic;
pub mod transport;

pub use switchbed_qdisc::switch;

pub use deploy::Deploy;
pub use event::Event;
pub use host::{Autosize, Coalesce, Host, Lso, Merge, MergeFlush, NicFifo, NicQueue, SmallQueues};
pub use live::{Attach, Faults, Live, LivePort};
pub use param::{Param, ParamKind, Section};
pub use reaction::{CardReaction, Limiters, Reaction};
pub use roce::{Recovery, Roce};
pub use run::{FctEnd, Run};
pub use scheme::SchemeChoice;
pub use switch::{BufferPolicy, Classify, Discipline, Sharing, Switch, Unmarkable};
pub use topology::{
    Clos, Dumbbell, FatTree, LeafSpine, ParkingLot, Ring, Shape, Star, Tiers, Topology,
};
pub use traffic::{
    Carried, Connections, Entry, HostSet, Load, LogNormal, LongLived, Off, OnOff, OneHost, Poisson,
    Probe, RequestResponse, Service, Sizes, Source, Traffic,
};
pub use transport::{
    Arithmetic, CongestionControl, CubicParams, DctcpParams, LossHalves, Pacing, Restart,
    RttSampling, Transport, Warm, WindowCut,
};

use protocol::{Protocol, Protocols};
use serde::Serialize;
use switchbed_units::Bytes;

/// One simulation, whole: what `scenario` makes of a file and what the manifest records. What it notes
/// is the simulator's to say: `M`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario<M> {
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
    pub traffic: Vec<Entry>,
    /// What changes during the run, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event: Vec<Event>,
    /// What is written down.
    pub measure: M,
    /// Seed and end.
    pub run: Run,
}

impl<M> Scenario<M> {
    /// The shortest packet that a transport sends.
    pub fn shortest(&self) -> Bytes {
        let protocols = Protocols::of(self);
        protocols.all().iter().map(Protocol::shortest).fold(Bytes::MAX, Bytes::min)
    }

    /// The longest that a transport sends.
    pub fn longest(&self) -> Bytes {
        let tcp = self.transport.mss + self.transport.header;
        Protocols::of(self).all().iter().map(Protocol::longest).fold(tcp, Bytes::max)
    }
}
