//! The flows of a run: every [`Traffic`] entry of a scenario as a lazy source, and
//! all of them merged into one sequence in canonical order.
//!
//! A flow depends on the seed, on its entry's place among the scenario's
//! traffic and on its sender, and on nothing else: not on the scheme, the transport or
//! the other entries. Loads share flows too: at twice the load the same flows, with the
//! same sizes and receivers in the same rows, start at half the time (but for two that
//! meet in one picosecond, which go by their senders).

use super::Traffic;
use super::flow::{Drawn, FlowStart, Hosts, ListError, Wrong};
use super::offered::Offered;
use super::program::{Program, Schedule};
use crate::Scenario;
use crate::protocols::Protocols;
use crate::topology::Topology;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fmt;
use switchbed_units::Time;

impl Hosts {
    /// The hosts of a scenario; packets are of an entry's flows of class 0.
    pub fn of(scenario: &Scenario, protocols: &Protocols, entry: u32) -> Self {
        let (mss, header) = protocols.get(entry, 0).framing();
        let (count, rates) = (scenario.topology.hosts(), scenario.topology.host_rates());
        let numbers = match &scenario.topology {
            Topology::File(file) => file.numbers(),
            _ => None,
        };
        Hosts { count, numbers, rates, mss, header }
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
    programs: Vec<Program>,
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
    pub fn take_programs(&mut self) -> Vec<Program> {
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

/// Schedule of the ranks of an entry of a scenario's traffic; `None`: it has none.
///
/// # Errors
/// As [`Flows::new`].
pub fn schedule(scenario: &Scenario, entry: usize) -> Result<Option<Schedule>, TrafficError> {
    let Some(traffic) = scenario.traffic.get(entry) else { return Ok(None) };
    let hosts = Hosts::of(scenario, &Protocols::of(scenario), entry as u32);
    let wrong = |wrong| TrafficError::of(entry, wrong);
    match traffic.program(&hosts, scenario.run.seed, entry).map_err(wrong)? {
        Program::Ranks(schedule) => Ok(Some(*schedule)),
        Program::Timed | Program::Answers { .. } => Ok(None),
    }
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
