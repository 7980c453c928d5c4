//! The flows of a run: every [`Traffic`] entry of a scenario as a lazy source, and
//! all of them merged into one sequence in canonical order.
//!
//! A flow depends on the seed, on its entry's place among the scenario's
//! traffic and on its sender, and on nothing else: not on the scheme, the transport or
//! the other entries. Loads share flows too: at twice the load the same flows, with the
//! same sizes and receivers in the same rows, start at half the time (but for two that
//! meet in one picosecond, which go by their senders).

use super::program::Program;
use super::{Connections, ListError, Offered, OneHost, Traffic};
use crate::Scenario;
use crate::protocols::Protocols;
use crate::topology::rates::HostRates;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fmt;
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Time};

/// A flow about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStart {
    /// Number among all flows of the run, from 0, in the order of their starts.
    pub row: u64,
    /// Index of its source among the scenario's traffic, from 0.
    pub traffic: u32,
    /// When its application hands it over.
    pub start: Time,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Class of its packets (DSCP).
    pub class: u8,
    /// Payload; `None`: it sends as long as it runs.
    pub size: Option<Bytes>,
    /// Payload of the request for it, which its receiver sends at `start`: the flow is the
    /// answer; `None`: it comes unasked.
    pub request: Option<Bytes>,
    /// When its application stops handing over; `None`: never.
    pub stop: Option<Time>,
    /// The connection that carries it.
    pub connection: ConnectionUse,
    /// Which of the equal paths it takes, in place of the hash; taken modulo their number.
    pub path: Option<u32>,
    /// Row in the flow list that it came from, from 0, the header not counted.
    pub list_row: Option<u64>,
}

impl FlowStart {
    /// An endless flow of class 0 on a connection of its own.
    pub(super) fn new(start: Time, src: HostId, dst: HostId) -> FlowStart {
        FlowStart {
            row: 0,
            traffic: 0,
            start,
            src,
            dst,
            class: 0,
            size: None,
            request: None,
            stop: None,
            connection: ConnectionUse::Fresh,
            path: None,
            list_row: None,
        }
    }
}

/// The connection that carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionUse {
    /// A new one, with its handshake.
    Fresh,
    /// A new one that starts established.
    FreshNoHandshake,
    /// An idle one of the pair and class, or a new one that stays ([`Connections::Persistent`]).
    Persistent,
    /// The pair's connection with this key, opened by its first flow; flows of one key
    /// follow each other.
    Keyed(u64),
    /// The one of a program's connections that has this number through all programs, and this channel.
    Program {
        /// Number of the connection.
        number: u32,
        /// Channel of the connection, by which its path is drawn.
        channel: u32,
    },
    /// The pair's and class's only one of this kind; flows follow each other.
    Single,
}

impl From<Connections> for ConnectionUse {
    fn from(connections: Connections) -> Self {
        match connections {
            Connections::Fresh => ConnectionUse::Fresh,
            Connections::FreshNoHandshake => ConnectionUse::FreshNoHandshake,
            Connections::Persistent => ConnectionUse::Persistent,
            Connections::Single => ConnectionUse::Single,
        }
    }
}

/// Properties of the hosts that traffic needs.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// How many there are; they are numbered from 0.
    pub count: u32,
    /// The rates of their links, which loads are fractions of.
    pub rates: HostRates,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Headers of a packet on the wire.
    pub header: Bytes,
}

impl Hosts {
    /// The hosts of a scenario; packets are of an entry's flows of class 0.
    pub fn of(scenario: &Scenario, protocols: &Protocols, entry: u32) -> Self {
        let (mss, header) = protocols.get(entry, 0).framing();
        let (count, rates) = (scenario.topology.hosts(), scenario.topology.host_rates());
        Hosts { count, rates, mss, header }
    }

    /// The hosts that an entry names under `key`, in rising order.
    pub(super) fn named(&self, key: &str, named: &[u32]) -> Result<Vec<u32>, String> {
        let mut sorted = named.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("host {} is in `{key}` twice; name it once", twice[0]));
        }
        match sorted.last() {
            None => Err(format!("`{key}` names no host; give at least one")),
            Some(&last) if last >= self.count => Err(format!(
                "`{key}` names host {last}; the hosts are 0 to {}",
                self.count.saturating_sub(1)
            )),
            Some(_) => Ok(sorted),
        }
    }

    /// Checks the senders `from` and the one receiver of an entry.
    pub(super) fn many_to_one(&self, from: &[u32], OneHost(to): OneHost) -> Result<(), String> {
        self.named("to", &[to])?;
        match self.named("from", from)?.binary_search(&to) {
            Ok(_) => Err(format!("host {to} is both in `from` and `to`; a flow has two ends")),
            Err(_) => Ok(()),
        }
    }
}

/// Why traffic cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrafficError {
    /// An entry makes no sense for these hosts.
    Entry {
        /// Index among the scenario's traffic, from 0.
        entry: usize,
        /// Description of what is wrong and what would be right.
        what: String,
    },
    /// A flow list is wrong.
    List(ListError),
    /// A flow would start when the clock has ended.
    Late,
}

impl TrafficError {
    fn of(entry: usize, wrong: Wrong) -> TrafficError {
        match wrong {
            Wrong::Entry(what) => TrafficError::Entry { entry, what },
            Wrong::List(error) => TrafficError::List(error),
        }
    }
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrafficError::Entry { entry, what } => write!(f, "traffic entry {}: {what}", entry + 1),
            TrafficError::List(error) => error.fmt(f),
            TrafficError::Late => f.write_str(
                "a flow would start after 213 days, where the clock ends: give higher loads, \
                 fewer flows, or run.until",
            ),
        }
    }
}
impl std::error::Error for TrafficError {}

/// Why a source has no flows.
#[derive(Clone, Debug)]
pub enum Wrong {
    /// The entry does not fit these hosts; the text says what would be right.
    Entry(String),
    /// The entry's flow list has a mistake.
    List(ListError),
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Wrong::Entry(what)
    }
}

impl From<&str> for Wrong {
    fn from(what: &str) -> Self {
        Wrong::Entry(what.to_owned())
    }
}

/// A source's flows, one by one.
pub trait Drawn: Iterator<Item = FlowStart> + fmt::Debug + Send {
    /// Why they ended before the last.
    fn failure(&self) -> Option<&ListError> {
        None
    }
}

impl Drawn for std::vec::IntoIter<FlowStart> {}

/// A source that is about to send.
#[derive(Debug)]
pub struct Begun {
    /// Flows in the order of their starts.
    pub flows: Box<dyn Drawn>,
    /// How many they are, or are to be expected.
    pub total: u64,
    /// Load that it offers, if it has one.
    pub offered: Option<Offered>,
}

impl Begun {
    /// Makes `total` flows without a load.
    pub fn new(flows: impl Drawn + 'static, total: u64) -> Begun {
        Begun { flows: Box::new(flows), total, offered: None }
    }
}

/// All flows of a scenario, in the order of their starts; ties by the entry's place in
/// the scenario, then by sender (a list's by row). Lazy: of the flows yet
/// to start it holds one an entry (and a clock a sender), except for long-lived ones and
/// for lists that are not sorted (see [`List`](super::List)).
#[derive(Debug)]
pub struct Flows {
    sources: Vec<Box<dyn Drawn>>,
    /// Each source's next flow; its number is in `next` as long as there is one.
    heads: Vec<Option<FlowStart>>,
    next: BinaryHeap<Reverse<(Time, usize)>>,
    row: u64,
    total: u64,
    offered: Vec<Offered>,
    /// By entry.
    programs: Vec<Option<Program>>,
}

impl Flows {
    /// The flows of sources, each with what it knows of the hosts. Lists are read through once here, so that what
    /// is wrong with them is found before anything runs.
    ///
    /// # Errors
    /// An entry that names hosts that do not exist, has no receiver but the sender, or
    /// has numbers that make no process; a list that cannot be read or has a bad row.
    pub fn new<'a>(
        traffic: impl IntoIterator<Item = (&'a Traffic, Hosts)>,
        seed: u64,
    ) -> Result<Flows, TrafficError> {
        let mut flows = Flows {
            sources: Vec::new(),
            heads: Vec::new(),
            next: BinaryHeap::new(),
            row: 0,
            total: 0,
            offered: Vec::new(),
            programs: Vec::new(),
        };
        for (entry, (traffic, hosts)) in traffic.into_iter().enumerate() {
            let wrong = |wrong| TrafficError::of(entry, wrong);
            flows.programs.push(traffic.program(&hosts, seed, entry).map_err(wrong)?);
            let begun = traffic.flows(hosts, seed, entry).map_err(wrong)?;
            flows.sources.push(begun.flows);
            flows.offered.extend(begun.offered);
            flows.total = flows.total.saturating_add(begun.total);
        }
        for (source, flows_of) in flows.sources.iter_mut().enumerate() {
            let head = flows_of.next();
            flows.next.extend(head.map(|flow| Reverse((flow.start, source))));
            flows.heads.push(head);
        }
        Ok(flows)
    }

    /// How many flows there are in all, those that never end counted (of on–off sources as
    /// many as are to be expected).
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes the programs of the hosts, by entry.
    pub fn take_programs(&mut self) -> Vec<Option<Program>> {
        std::mem::take(&mut self.programs)
    }

    /// Returns the load that each entry offers, if it has one.
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// Why a list ended before its last flow: its file changed while it was being read.
    /// To be asked once the flows have run out.
    pub fn failure(&self) -> Option<&ListError> {
        self.sources.iter().find_map(|source| source.failure())
    }
}

/// Program of the hosts for an entry of a scenario's traffic; `None`: its flows start by time.
///
/// # Errors
/// As [`Flows::new`].
pub fn program(scenario: &Scenario, entry: usize) -> Result<Option<Program>, TrafficError> {
    let Some(traffic) = scenario.traffic.get(entry) else { return Ok(None) };
    let hosts = Hosts::of(scenario, &Protocols::of(scenario), entry as u32);
    let wrong = |wrong| TrafficError::of(entry, wrong);
    traffic.program(&hosts, scenario.run.seed, entry).map_err(wrong)
}

impl Iterator for Flows {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let mut top = self.next.peek_mut()?;
        let Reverse((_, source)) = *top;
        let following = self.sources[source].next();
        match following {
            // Replaced in place, the heap sifts once.
            Some(flow) => *top = Reverse((flow.start, source)),
            None => {
                PeekMut::pop(top);
            }
        }
        let row = self.row;
        self.row += 1;
        let flow = std::mem::replace(&mut self.heads[source], following);
        flow.map(|flow| FlowStart { row, traffic: source as u32, ..flow })
    }
}
