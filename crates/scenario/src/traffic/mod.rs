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
mod overload;
mod poisson;
mod probe;
pub mod program;
mod request_response;
mod seconds;
use crate::Run;
use crate::protocol::{Protocol, Under};
use crate::switch::Switch;
use crate::topology::Topology;
use crate::topology::graph::Graph;
use crate::topology::rates::HostRates;
use crate::transport::Transport;
pub use arrivals::Load;
pub use collective::{Algorithm, Collective, Operation};
use flows::{Begun, Wrong};
pub use flows::{ConnectionUse, FlowStart, Flows, Hosts, TrafficError};
pub use goal::Goal;
pub use incast::Incast;
pub use keys::{
    Carried, Connections, Deal, HostSet, OneHost, Placement, Receivers, Service, Sizes,
    SizesByService,
};
pub use links::{Demand, LinkLoad, Links};
pub use list::{List, ListError, ListFormat, Listed};
pub use log_normal::LogNormal;
pub use long_lived::LongLived;
pub use offered::{Offered, TableOffered};
pub use on_off::{Off, OnOff};
pub use poisson::Poisson;
pub use probe::Probe;
use program::Program;
pub use request_response::RequestResponse;
use std::ops::{Deref, DerefMut};
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::{Params, SectionSpec, Unfit};
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Node, Table};
use switchbed_config::{kinds, params};
use switchbed_units::Bytes;

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

/// Most connections open at a time.
pub const MAX_CONNECTIONS: usize = (1 << 24) - 1;

/// Description of a kind of traffic.
pub trait Source {
    /// Puts in what follows from the rest of the scenario.
    ///
    /// # Errors
    /// The key that does not fit there.
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit>;

    /// Makes its flows, in the order of their starts, ties by sender. All randomness is keyed by
    /// the seed and the source's index among the scenario's.
    ///
    /// # Errors
    /// The mistake, with a value that would be right.
    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong>;

    /// Makes the program of its hosts: messages that are sent after others have arrived. `flows`
    /// has those that start at a time. `seed` and `place` as for [`Source::flows`].
    ///
    /// # Errors
    /// The mistake, with a value that would be right.
    fn program(&self, hosts: &Hosts, seed: u64, place: usize) -> Result<Option<Program>, Wrong> {
        let _ = (hosts, seed, place);
        Ok(None)
    }

    /// Estimates the number and size of its flows, as far as known beforehand.
    fn expected(&self, around: &Around<'_>) -> Expected;

    /// The payload that it offers for long, by pairs of hosts whose links have these rates; `None`: none that
    /// is known.
    fn demand(&self, lines: &HostRates) -> Option<Demand> {
        let _ = lines;
        None
    }

    /// The highest class of its packets.
    fn classes(&self) -> u16 {
        0
    }

    /// Whether packets of a class may be among its own.
    fn has_class(&self, class: u16) -> bool {
        class <= self.classes()
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

    /// Entry whose parts at hosts are done before theirs of this one begin.
    fn after(&self) -> Option<u32> {
        None
    }

    /// Whether an entry can begin after it.
    fn waits(&self) -> bool {
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

/// Parts of the scenario that traffic is checked against.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// Topology with the sending hosts.
    pub topology: &'a Topology,
    /// The network as a graph.
    pub graph: &'a Graph,
    /// Switch with the queues of the classes.
    pub switch: &'a Switch,
    /// When it ends.
    pub run: &'a Run,
    /// The longest packet.
    pub mtu: Bytes,
}

/// Parts of the scenario that determine the number of flows.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Topology with the sending hosts.
    pub topology: &'a Topology,
    /// The run's end in seconds; infinite where flows decide.
    pub until_s: f64,
    /// The longest round trip of an empty network, in seconds.
    pub rtt_s: f64,
    /// Whether connections begin with a handshake.
    pub handshakes: bool,
    /// Contents of the scenario's flow lists.
    pub listed: Listed,
}

/// Round trips of a connection besides those of its handshake and of more windows than one: of its data,
/// and until both its ends know that it is over.
const ROUND_TRIPS: f64 = 1.5;
/// Bytes of a first window, which each round trip after it doubles.
const FIRST_WINDOW: f64 = 14_600.0;

impl Around<'_> {
    /// Flows that are under way at a time since they wait for round trips, where so many of such a mean size start in
    /// a second.
    pub(crate) fn round_trips(&self, flows_a_second: f64, mean_bytes: f64) -> f64 {
        let handshake = if self.handshakes { 1.0 } else { 0.0 };
        let rounds = ROUND_TRIPS + handshake + libm::log2((mean_bytes / FIRST_WINDOW).max(1.0));
        flows_a_second * self.rtt_s * rounds
    }
}

/// Estimate of a source's flows, rather too high than too low.
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
    /// Mean size of a flow in bytes, if that is known and finite.
    pub mean_bytes: Option<f64>,
    /// Connections, open or kept.
    pub connections: f64,
    /// Messages of a program that is drawn up for the run.
    pub messages: f64,
    /// Messages of a schedule that is read for the run, and its operations that neither send nor receive these.
    pub scheduled: (f64, f64),
    /// Bytes of a schedule's tables, and operations of the rank that has most.
    pub tables: (f64, f64),
    /// Messages of a schedule that are under way at most.
    pub under_way: f64,
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
    transports: &Under,
) -> Result<Vec<Entry>, Mistake> {
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
        let entry = sources[i].as_table();
        let probes = entry.and_then(|entry| entry.get(Traffic::KEY)?.as_text()) == Some("probe");
        let own = entry.and_then(|entry| entry.get(Entry::KEY.transport)).filter(|_| probes);
        if let Some(node) = own {
            let why = "does not apply to kind = \"probe\", whose packets have no transport";
            return Err(origin.mistake(
                node.at,
                &format!("{path}.{}", Entry::KEY.transport),
                why.to_owned(),
            ));
        }
        let keys = if probes { Traffic::TABLE } else { SECTION.keys };
        Section::open(origin, &path, keys, Some(&sources[i]), Some(site.mtu))
    };
    let source = |i: usize| {
        let section = open(i)?.on(site.graph).on(transports);
        let mut entry = Entry::from_values(&mut section.values()?);
        entry.complete(site).map_err(|unfit| section.unfit(unfit))?;
        section.close(&format!("kind = \"{}\"", entry.word()))?;
        check(&section, &entry)?;
        Ok(entry)
    };
    let mut found = (0..sources.len()).map(source).collect::<Result<Vec<_>, _>>()?;
    if found.iter().all(|source| source.never_ends()) {
        let why = "has probes alone, which never end; write stop = \"1s\", or until in [run]";
        return Err(origin.mistake(at, "traffic", why));
    }
    for (i, entry) in found.iter().enumerate() {
        let Some(before) = entry.after().map(|before| before as usize) else { continue };
        if before >= i || !found[before].waits() {
            let why = format!(
                "traffic.{before} is no collective or schedule above this entry; entries are numbered from 0"
            );
            let section = open(i)?;
            let at = section.given("after").map_or(section.at, |node| node.at);
            return Err(origin.mistake(at, &section.key("after"), why));
        }
    }
    overload::check(site, &mut found, open)?;
    Ok(found)
}

/// Whether an entry's transport goes with its source.
fn check(section: &Section<'_>, entry: &Entry) -> Result<(), Mistake> {
    let (key, warm) = (Entry::KEY.transport, Transport::KEY.warm);
    let Some(protocol) = &entry.transport else { return Ok(()) };
    if entry.asks() && !protocol.is_reliable() {
        let why = format!("\"{}\" brings no answers, which this kind asks for", protocol.kind());
        let at = section.given(key).map_or(section.at, |node| node.at);
        return Err(section.origin.mistake(at, &section.key(key), why));
    }
    let written = section.given(key).and_then(|node| node.as_table()?.get(warm));
    if let Some(node) = written
        && !entry.persists()
    {
        let why = "warms persistent connections: write connections = \"persistent\"".to_owned();
        return Err(section.origin.mistake(node.at, &section.key(&format!("{key}.{warm}")), why));
    }
    Ok(())
}
