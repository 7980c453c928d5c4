//! A flow that a source draws, the hosts that it is drawn for, and why there may be none.

use super::keys::{Connections, OneHost};
use super::offered::Offered;
use crate::topology::HostRates;
use std::fmt;
use std::sync::Arc;
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Time};

/// A flow about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStart {
    /// Number among all flows of the run, from 0, in the order of their starts.
    pub row: u64,
    /// Index of its source among the scenario's traffic, from 0.
    pub traffic: u32,
    /// When its application hands it over, or the request for it.
    pub start: Time,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Class of its packets (DSCP).
    pub class: u8,
    /// Payload; `None`: it sends as long as it runs.
    pub size: Option<Bytes>,
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
    /// Numbers of their nodes in the topology's file, rising; `None`: the same.
    pub numbers: Option<Arc<[u32]>>,
    /// The rates of their links, which loads are fractions of.
    pub rates: HostRates,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Headers of a packet on the wire.
    pub header: Bytes,
}

impl Hosts {
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

/// Mistake in a flow list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1; `None`: the file as a whole.
    pub line: Option<u64>,
    /// The column's name, if one is at fault.
    pub column: Option<String>,
    /// Description of what is wrong and what would be right.
    pub what: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ": column {column}")?;
        }
        write!(f, ": {}", self.what)
    }
}
impl std::error::Error for ListError {}
