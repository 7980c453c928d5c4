//! What is sent: flows from generators or lists. Each kind is a file: its keys, what is refused of
//! them, and how its flows are drawn.

/// The name of a key of [`SECTION`]; another does not compile.
macro_rules! key {
    ($name:ident) => {
        const { crate::traffic::SECTION.key(stringify!($name)) }
    };
}

mod arrivals;
pub mod flows;
mod incast;
mod keys;
mod links;
pub mod list;
mod log_normal;
mod long_lived;
mod offered;
mod on_off;
mod overload;
mod poisson;
mod probe;
mod request_response;
mod seconds;
use crate::Run;
use crate::switch::Switch;
use crate::topology::Topology;
pub use arrivals::Load;
use flows::{Begun, Wrong};
pub use flows::{ConnectionUse, FlowStart, Flows, Hosts, TrafficError};
pub use incast::Incast;
pub use keys::{
    Carried, Connections, Deal, HostSet, OneHost, Receivers, Service, Sizes, SizesByService,
};
pub use links::{Demand, LinkLoad, Links};
pub use list::{List, ListError, Listed};
pub use log_normal::LogNormal;
pub use long_lived::LongLived;
pub use offered::{Offered, TableOffered};
pub use on_off::{Off, OnOff};
pub use poisson::Poisson;
pub use probe::Probe;
pub use request_response::RequestResponse;
use switchbed_config::kinds;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::{Params, SectionSpec, Unfit};
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Node, Table};
use switchbed_units::{Bytes, Rate};

kinds! {
    /// A source of flows. A scenario may have several; their flows are numbered in the
    /// order of their starts, ties by the source's place in the file.
    pub enum Traffic: Source {
        /// What is sent.
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
        /// small packets that come back at once and tell the round-trip time.
        Probe(Probe) = "probe",
        /// flows from a CSV file.
        List(List) = "list",
    }
}

/// `[[traffic]]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "traffic",
    repeated: true,
    doc: "A source of flows. A scenario may have several.",
    keys: Traffic::TABLE,
};

/// Most connections open at a time.
pub const MAX_CONNECTIONS: usize = (1 << 24) - 1;

/// What a kind of traffic is.
pub trait Source {
    /// Puts in what follows from the rest of the scenario.
    ///
    /// # Errors
    /// The key that does not fit there.
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit>;

    /// Its flows, in the order of their starts, ties by sender. All randomness is keyed by the seed
    /// and the source's place among the scenario's.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong>;

    /// What it comes to, as far as can be told beforehand.
    fn expected(&self, around: &Around<'_>) -> Expected;

    /// The payload that it offers for long, by pairs of hosts whose links have this rate; `None`: none that
    /// is known.
    fn demand(&self, line: Rate) -> Option<Demand> {
        let _ = line;
        None
    }

    /// The highest class of its packets.
    fn classes(&self) -> u16 {
        0
    }

    /// The key that says how much it offers, and the one that says that a link's load over 1 is meant.
    fn offers(&mut self) -> Option<(&'static str, &mut Option<bool>)> {
        None
    }

    /// Whether flows share connections.
    fn persists(&self) -> bool {
        false
    }

    /// Whether it stands for what has been going on for long.
    fn goes_on(&self) -> bool {
        false
    }

    /// Whether it needs answers, which hosts give over TCP alone.
    fn asks(&self) -> bool {
        false
    }

    /// Whether it alone would keep a run going for ever.
    fn never_ends(&self) -> bool {
        false
    }
}

/// What traffic is checked against.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Whose hosts send.
    pub topology: &'a Topology,
    /// Whose queues classes go to.
    pub switch: &'a Switch,
    /// When it ends.
    pub run: &'a Run,
    /// The longest packet.
    pub mtu: Bytes,
}

/// What decides how much there will be.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Whose hosts send.
    pub topology: &'a Topology,
    /// The run's end in seconds; infinite where flows decide.
    pub until_s: f64,
    /// What the scenario's flow lists hold.
    pub listed: Listed,
}

/// What a source comes to, rather too much than too little.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// Flows in all.
    pub flows: f64,
    /// Flows under way at a time.
    pub open: f64,
    /// Hosts that these flows go to.
    pub receivers: f64,
    /// Flows that start together.
    pub together: f64,
    /// What each of them has on average, if that is known and has an end.
    pub mean_bytes: Option<f64>,
    /// Connections, open or kept.
    pub connections: f64,
    /// Packets that come back.
    pub probes: f64,
    /// Seconds until its last flow starts.
    pub lasts_s: f64,
}

/// Every source of the file.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    site: &Site<'_>,
) -> Result<Vec<Traffic>, Mistake> {
    let node = root.get("traffic");
    let at = node.map_or(At::Unwritten, |node| node.at);
    let sources = node.and_then(Node::as_list).unwrap_or_default();
    if sources.is_empty() {
        let message = "is missing: write [[traffic]] with its kind and what it needs";
        return Err(origin.mistake(at, "traffic", message));
    }
    let open = |i: usize| {
        let path = match sources.len() {
            1 => "traffic".to_owned(),
            _ => format!("traffic.{i}"),
        };
        Section::open(origin, &path, SECTION.keys, Some(&sources[i]), Some(site.mtu))
    };
    let source = |i: usize| {
        let section = open(i)?.on(site.topology);
        let mut traffic = Traffic::from_values(&mut section.values()?);
        traffic.complete(site).map_err(|unfit| section.unfit(unfit))?;
        section.close(&format!("kind = \"{}\"", traffic.word()))?;
        Ok(traffic)
    };
    let mut found = (0..sources.len()).map(source).collect::<Result<Vec<_>, _>>()?;
    if found.iter().all(|source| source.never_ends()) {
        let why = "has probes alone, which never end; write stop = \"1s\", or until in [run]";
        return Err(origin.mistake(at, "traffic", why));
    }
    overload::check(site.topology, &mut found, open)?;
    Ok(found)
}
