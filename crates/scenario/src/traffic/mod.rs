//! Traffic: flows from generators or lists. Each kind is a file: its keys, the values that it
//! refuses, and how its flows are drawn.

/// The name of a key of [`SECTION`]; another does not compile.
macro_rules! key {
    ($name:ident) => {
        const { crate::traffic::SECTION.key(stringify!($name)) }
    };
}

mod arrivals;
mod collective;
mod flow;
pub mod flows;
mod goal;
mod incast;
mod keys;
mod links;
pub mod list;
mod log_normal;
mod long_lived;
mod offered;
mod on_off;
mod poisson;
mod probe;
pub mod program;
pub(crate) mod read;
mod request_response;
mod seconds;
mod site;
mod source;
use crate::protocol::Protocol;
pub use crate::sizes::Sizes;
pub use arrivals::Load;
pub use collective::{Algorithm, Collective, Operation};
pub use flow::{ConnectionUse, FlowStart, Hosts, ListError};
pub use flows::{Flows, TrafficError};
pub use goal::Goal;
pub use incast::Incast;
pub use keys::{
    Carried, Connections, Deal, HostSet, OneHost, Placement, Receivers, Service, SizesByService,
};
pub use links::{LinkLoad, Links};
pub use list::{List, ListFormat};
pub use log_normal::LogNormal;
pub use long_lived::LongLived;
pub use offered::{Frames, Offered, TableOffered};
pub use on_off::{Off, OnOff};
pub use poisson::Poisson;
pub use probe::Probe;
pub use request_response::RequestResponse;
pub use site::{MAX_CONNECTIONS, Site};
pub use source::{Around, Demand, Expected, Listed, Source};
use std::ops::{Deref, DerefMut};
use switchbed_config::param::{Params, SectionSpec};
use switchbed_config::{kinds, params};

kinds! {
    /// A source of flows. A scenario may have several; their flows are numbered in the
    /// order of their starts, ties by the source's place in the file.
    pub enum Traffic: Source {
        /// Kind of traffic.
        kind;
        /// flows that arrive at every sender at random.
        Poisson(Poisson) = "poisson",
        /// flows that arrive over all senders together, with log-normal gaps.
        LogNormal(LogNormal) = "log-normal",
        /// clients ask servers for data at random; a flow begins with its request and ends with
        /// its answer.
        RequestResponse(RequestResponse) = "request-response",
        /// many senders at once to one receiver, round after round.
        Incast(Incast) = "incast",
        /// bursts with silences between.
        OnOff(OnOff) = "on-off",
        /// flows that send as long as they run.
        LongLived(LongLived) = "long-lived",
        /// a collective operation over ranks, as NCCL and MPI have them.
        Collective(Collective) = "collective",
        /// operations of ranks that wait for each other, from a file of GOAL's text.
        Goal(Goal) = "goal",
        /// small packets that come back at once and tell the round-trip time.
        Probe(Probe) = "probe",
        /// flows from a file.
        List(List) = "list",
    }
}

params! {
    /// A source of flows, and their transport.
    pub struct Entry {
        /// The source.
        source: Traffic;
        /// The transport of its flows, at both ends: a kind, or a table of keys, which lie over those of
        /// [transport] or, where the kind has queue pairs, of [roce]: { kind = "cubic", ecn = false }.
        /// Default: what these sections say. Not with probes.
        transport: Option<Protocol>;
    }
}

impl From<Traffic> for Entry {
    fn from(source: Traffic) -> Entry {
        Entry { source, transport: None }
    }
}

impl Deref for Entry {
    type Target = Traffic;
    fn deref(&self) -> &Traffic {
        &self.source
    }
}

impl DerefMut for Entry {
    fn deref_mut(&mut self) -> &mut Traffic {
        &mut self.source
    }
}

/// `[[traffic]]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "traffic",
    repeated: true,
    doc: "A source of flows. A scenario may have several.",
    keys: Entry::TABLE,
};
