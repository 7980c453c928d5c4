//! Answers that every kind of traffic gives, its demand among them.

use super::flow::{Begun, Hosts, Wrong};
use super::offered::Frames;
use super::program::Program;
use super::site::Site;
use crate::sizes::Sizes;
use crate::topology::HostRates;
use crate::topology::Topology;
use switchbed_config::param::Unfit;

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

    /// Makes the program of its hosts: what a message waits for besides the time that `flows` gives it. `seed` and
    /// `place` as for [`Source::flows`].
    ///
    /// # Errors
    /// The mistake, with a value that would be right.
    fn program(&self, hosts: &Hosts, seed: u64, place: usize) -> Result<Program, Wrong> {
        let _ = (hosts, seed, place);
        Ok(Program::Timed)
    }

    /// Estimates the number and size of its flows, as far as known beforehand.
    fn expected(&self, around: &Around<'_>) -> Expected;

    /// The payload that it offers for long, by pairs of hosts whose links have these rates; `None`: none that
    /// is known.
    fn demand(&self, lines: &HostRates) -> Option<Demand> {
        let _ = lines;
        None
    }

    /// Sizes of its flows, by service, where tables or a number have them.
    fn sizes(&self) -> &[Sizes] {
        &[]
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

/// Totals of the flow lists.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Listed {
    /// Flows in all.
    pub flows: u64,
    /// Bytes of all that have a size.
    pub bytes: u64,
    /// The most that start at one instant.
    pub together: u64,
    /// When the last one starts, in seconds.
    pub last_s: f64,
    /// Messages of schedules, the operations that neither send nor receive these, and the connections that they use.
    pub messages: u64,
    /// See `messages`.
    pub operations: u64,
    /// See `messages`.
    pub connections: u64,
    /// Messages of schedules that are under way at most.
    pub at_once: u64,
    /// Bytes of schedules' tables.
    pub held: u64,
    /// Operations of the rank of a schedule that has most.
    pub longest: u64,
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
    /// Packets of the source's flows.
    pub frames: Frames,
    /// Bytes beyond which a queue drops what comes; infinite where none does.
    pub space: f64,
    /// Contents of the scenario's flow lists.
    pub listed: Listed,
    /// The source's load on the wire at the busiest links between switches, and how many of these there are.
    pub fabric: Option<(f64, f64)>,
}

/// Round trips of a connection besides those of its handshake and of more windows than one: of its data,
/// and until both its ends know that it is over.
const ROUND_TRIPS: f64 = 1.5;
/// Bytes of a first window, which each round trip after it doubles.
pub(super) const FIRST_WINDOW: f64 = 14_600.0;

impl Around<'_> {
    /// Flows that are under way at a time since they wait for round trips, where so many of such a mean size start in
    /// a second.
    pub(crate) fn round_trips(&self, flows_a_second: f64, mean_bytes: f64) -> f64 {
        let handshake = if self.frames.opens() { 1.0 } else { 0.0 };
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
    /// Flows under way at a time on average, where they come one after another and lines carry them all: fewer at the
    /// end of a short run, in which large flows have not ended yet.
    pub flowing: Option<f64>,
    /// Hosts that these flows go to.
    pub receivers: f64,
    /// Flows that start together.
    pub together: f64,
    /// Mean size of a flow in bytes, if that is known and finite.
    pub mean_bytes: Option<f64>,
    /// Connections, open or kept.
    pub connections: f64,
    /// Connections that lose packets again and again, as their lines are offered more than they carry.
    pub losing: f64,
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
    /// Bytes in cards of flows that come one after another, as far as neither marks nor delays hold them back.
    pub in_cards: f64,
    /// Bytes in cards of those that meet no other flow, on average over all hosts.
    pub alone: f64,
    /// Seconds until its last flow starts.
    pub lasts_s: f64,
}

/// Payload that a source asks pairs of hosts to carry: host `i` sends `x_i · y_j` bits of payload a second to each host `j` but itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Senders `i`, each with its `x_i`.
    pub from: Vec<(u32, f64)>,
    /// Receivers `j`, each with its `y_j`.
    pub to: Vec<(u32, f64)>,
}

impl Demand {
    /// Every sender offers its `each_bps`, spread evenly over the receivers but itself.
    pub(super) fn spread(from: &[u32], to: &[u32], each_bps: impl Fn(u32) -> f64) -> Demand {
        let mut sorted = to.to_vec();
        sorted.sort_unstable();
        let others = |host: &u32| to.len() - usize::from(sorted.binary_search(host).is_ok());
        let share = |host: &u32| (*host, each_bps(*host) / others(host).max(1) as f64);
        let one = |&host: &u32| (host, 1.0);
        let (small, large) = (from.iter().map(share), to.iter().map(one));
        Demand { from: small.collect(), to: large.collect() }
    }

    /// Multiplies the senders' demand by a factor.
    pub(super) fn times(self, factor: f64) -> Demand {
        let from = self.from.into_iter().map(|(host, of)| (host, factor * of)).collect();
        Demand { from, ..self }
    }

    /// The same the other way round: what senders ask for comes to them.
    pub(super) fn reversed(self) -> Demand {
        Demand { from: self.to, to: self.from }
    }
}
