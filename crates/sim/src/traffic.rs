//! Where flows come from: every [`Traffic`] entry of a scenario as a lazy source, and
//! all of them merged into one sequence in canonical order.
//!
//! What a flow is depends on the seed, on its entry's place among the scenario's
//! traffic and on its sender, and on nothing else: not on the scheme, the transport or
//! the other entries. Loads share flows too: at twice the load the same flows, with the
//! same sizes and receivers in the same rows, start at half the time (but for two that
//! meet in one picosecond, which go by their senders).

mod incast;
pub mod list;
mod long_lived;
mod offered;
mod on_off;
mod poisson;
mod seconds;

pub use list::ListError;
pub use offered::{Offered, TableOffered};

use crate::ids::HostId;
use incast::Incast;
use list::List;
use on_off::OnOff;
use poisson::{Kind, Poisson};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fmt;
use std::path::Path;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_spec::{Connections, Scenario, Traffic};

/// A flow about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStart {
    /// Its number among all flows of the run, from 0, in the order of their starts.
    pub row: u64,
    /// When its application hands it over.
    pub start: Time,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Its packets' class (DSCP).
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
    /// Its number in the flow list that it came from, from 0, the header not counted.
    pub list_row: Option<u64>,
}

impl FlowStart {
    /// An endless flow of class 0 on a connection of its own.
    fn new(start: Time, src: HostId, dst: HostId) -> FlowStart {
        FlowStart {
            row: 0,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What traffic needs to know of the hosts.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// How many there are; they are numbered from 0.
    pub count: u32,
    /// The rate of a host's link, which a load is a fraction of.
    pub rate: Rate,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Headers of a packet on the wire.
    pub header: Bytes,
}

impl Hosts {
    /// The hosts of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        Hosts {
            count: scenario.topology.hosts(),
            rate: scenario.topology.host_rate(),
            mss: scenario.transport.mss,
            header: scenario.transport.header,
        }
    }

    /// The hosts that an entry names under `key`, in rising order.
    fn named(&self, key: &str, named: &[u32]) -> Result<Vec<u32>, String> {
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
    fn many_to_one(&self, from: &[u32], to: u32) -> Result<(), String> {
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
        /// Its place among the scenario's traffic, from 0.
        entry: usize,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A flow list is wrong.
    List(ListError),
    /// A flow would start when the clock has ended.
    Late,
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

/// All flows of a scenario, in the order of their starts; ties by the entry's place in
/// the scenario, then by sender (a list's by row). Lazy: of the flows yet
/// to start it holds one an entry (and a clock a sender), except for long-lived ones and
/// for lists that are not sorted (see [`list::List`]).
#[derive(Debug)]
pub struct Flows {
    sources: Vec<Source>,
    /// Each source's next flow; its number is in `next` as long as there is one.
    heads: Vec<Option<FlowStart>>,
    next: BinaryHeap<Reverse<(Time, usize)>>,
    row: u64,
    total: u64,
    offered: Vec<Offered>,
}

#[derive(Debug)]
enum Source {
    Poisson(Poisson),
    Incast(Incast),
    OnOff(OnOff),
    LongLived(std::vec::IntoIter<FlowStart>),
    List(List),
}

impl Source {
    fn next(&mut self) -> Option<FlowStart> {
        match self {
            Source::Poisson(flows) => flows.next(),
            Source::Incast(flows) => flows.next(),
            Source::OnOff(flows) => flows.next(),
            Source::LongLived(flows) => flows.next(),
            Source::List(flows) => flows.next(),
        }
    }
}

impl Flows {
    /// The flows of a scenario's traffic. Lists are read through once here, so that what
    /// is wrong with them is found before anything runs.
    ///
    /// # Errors
    /// An entry that names hosts that do not exist, has no receiver but the sender, or
    /// has numbers that make no process; a list that cannot be read or has a bad row.
    pub fn new(traffic: &[Traffic], hosts: Hosts, seed: u64) -> Result<Flows, TrafficError> {
        let mut flows = Flows {
            sources: Vec::new(),
            heads: Vec::new(),
            next: BinaryHeap::new(),
            row: 0,
            total: 0,
            offered: Vec::new(),
        };
        for (entry, traffic) in traffic.iter().enumerate() {
            flows.add(entry, traffic, hosts, seed)?;
        }
        for (source, flows_of) in flows.sources.iter_mut().enumerate() {
            let head = flows_of.next();
            flows.next.extend(head.map(|flow| Reverse((flow.start, source))));
            flows.heads.push(head);
        }
        Ok(flows)
    }

    fn add(
        &mut self,
        entry: usize,
        traffic: &Traffic,
        hosts: Hosts,
        seed: u64,
    ) -> Result<(), TrafficError> {
        let wrong = |what| TrafficError::Entry { entry, what };
        let (source, flows) = match traffic {
            Traffic::Poisson(arrivals)
            | Traffic::LogNormal { arrivals, .. }
            | Traffic::RequestResponse { arrivals, .. } => {
                let kind = match traffic {
                    Traffic::RequestResponse { request, .. } => Kind::Asked(*request),
                    Traffic::LogNormal { sigma, .. } => Kind::LogNormal(*sigma),
                    _ => Kind::Poisson,
                };
                let (source, offered) =
                    Poisson::new(arrivals, kind, hosts, seed, entry).map_err(wrong)?;
                self.offered.push(offered);
                (Source::Poisson(source), arrivals.flows)
            }
            Traffic::Incast(incast) => {
                let flows = Incast::new(incast, hosts, seed, entry).map_err(wrong)?;
                let count = flows.flows();
                (Source::Incast(flows), count)
            }
            Traffic::OnOff(sources) => {
                let bursts = OnOff::new(sources, hosts, seed, entry).map_err(wrong)?;
                let count = bursts.expected();
                (Source::OnOff(bursts), count)
            }
            Traffic::Probe { from, to, size, every, classes, .. } => {
                hosts.many_to_one(from, *to).map_err(wrong)?;
                let in_range = (1..=u64::from(u32::MAX)).contains(&size.get());
                if !in_range || *every == Span::ZERO || classes.is_empty() {
                    let what = "a probe needs a size, an interval and a class";
                    return Err(wrong(what.to_string()));
                }
                return Ok(());
            }
            Traffic::LongLived(flows) => {
                let flows = long_lived::flows(flows, hosts).map_err(wrong)?;
                let count = flows.len() as u64;
                (Source::LongLived(flows.into_iter()), count)
            }
            Traffic::List { path, connections } => {
                let list = List::open(Path::new(path), hosts, (*connections).into())
                    .map_err(TrafficError::List)?;
                let count = list.flows();
                (Source::List(list), count)
            }
        };
        self.sources.push(source);
        self.total = self.total.saturating_add(flows);
        Ok(())
    }

    /// How many flows there are in all, those that never end counted (of on–off sources as
    /// many as are to be expected).
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What each entry with a load offers.
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// Why a list ended before its last flow: its file changed while it was being read.
    /// To be asked once the flows have run out.
    pub fn failure(&self) -> Option<&ListError> {
        self.sources.iter().find_map(|source| match source {
            Source::List(list) => list.failure(),
            _ => None,
        })
    }
}

impl Iterator for Flows {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let mut top = self.next.peek_mut()?;
        let Reverse((_, source)) = *top;
        let following = self.sources[source].next();
        match following {
            Some(flow) => *top = Reverse((flow.start, source)),
            None => {
                PeekMut::pop(top);
            }
        }
        let row = self.row;
        self.row += 1;
        std::mem::replace(&mut self.heads[source], following).map(|flow| FlowStart { row, ..flow })
    }
}
