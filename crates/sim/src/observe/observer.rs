//! Interface of observers, the view that they get, and the observers of a scenario.
//!
//! An observer of a single port lives there, in its shard, and is a [`AtPort`]. An
//! [`Observer`] belongs to the run and looks at the whole network, at times that it knows beforehand,
//! when all nodes are at the same instant. No observer changes the course of the run.
//!
//! Space in a table that grows as long as a run lasts: so many rows, and no more.

use super::convergence::Underway;
use super::flow_series::{SenderChange, SenderState};
use super::monitors::Observing;
use super::underflow::Unsent;
use crate::ids::{HostId, LinkId};
use crate::packet::Payload;
use crate::ports::{self, PortInfo};
use crate::table::Table;
use crate::topology::Graph;
use std::any::Any;
use switchbed_qdisc::schemes::fairness::Share;
use switchbed_qdisc::{Packet, PortState, Qdisc, QueueId};
use switchbed_scenario::traffic::FlowStart;
use switchbed_scenario::{QueueProbe, Scenario};
use switchbed_units::{Rate, Time};

/// Each kind besides the monitors, asked whether a scenario wants it.
const KINDS: &[fn(&mut Site) -> Asked] = &[
    super::queue_stats::asked,
    super::capture::asked,
    super::series::asked,
    super::goodput::asked,
];

/// An observer, if the scenario asks for one and it is not at ports alone; else the name of a port
/// that there is not.
pub(crate) type Asked = Result<Option<Box<dyn Observer>>, String>;

/// Observer of the whole network.
pub(crate) trait Observer: Any + Send {
    /// When it wants to look.
    fn next(&self) -> Time {
        Time::NEVER
    }
    /// Now that time has come. How many arrivals of packets took about as long.
    fn look(&mut self, view: &mut View) -> u64 {
        let _ = view;
        0
    }
    /// Handles a flow that will start.
    fn flow_starts(&mut self, flow: &FlowStart, view: &mut View) {
        let _ = (flow, view);
    }
    /// Handles a change of a link's rate, which is zero while the link is down.
    fn rate_changes(&mut self, link: LinkId, rate: Rate, view: &mut View) {
        let _ = (link, rate, view);
    }
    /// A class has another share.
    fn share_changes(&mut self, class: u8, share: Share, view: &mut View) {
        let _ = (class, share, view);
    }
    /// Everything before now has happened; `unsent`: what hosts had to send meanwhile, in the order
    /// of time.
    fn follow(&mut self, unsent: &[Unsent], view: &mut View) {
        let _ = (unsent, view);
    }
    /// Senders that are followed have changed since the last call, in the order of time.
    fn senders_changed(&mut self, changes: &[SenderChange]) {
        let _ = changes;
    }
    /// Counts begin again (the warm-up is over).
    fn restart(&mut self, view: &mut View) {
        let _ = view;
    }
    /// Returns the tables of a monitor, up to now. Called once, at the end.
    fn tables(&mut self, view: &mut View, ports: &[PortInfo]) -> Vec<Table> {
        let _ = (view, ports);
        Vec::new()
    }
    /// Returns its table and the time from which rows are missing, if any are.
    fn full(&self, network: &dyn Observed) -> Option<(&'static str, Time)> {
        let _ = network;
        None
    }
}

/// A network as far as it may be looked at.
pub(crate) trait Observed {
    /// Returns the port of a link.
    fn port(&self, link: LinkId) -> &dyn Qdisc;
    /// The marking threshold in force at a port's queue in bytes.
    fn threshold_bytes(&self, link: LinkId, queue: QueueId, now: Time) -> Option<f64>;
    /// Returns the observers of a port, if there are any.
    fn watch(&self, link: LinkId) -> Option<&Watch>;
    /// Returns the observers of a port for calling them.
    fn watch_mut(&mut self, link: LinkId) -> Option<&mut Watch>;
    /// Makes a port watched from now on.
    fn watched(&mut self, link: LinkId) -> &mut Watch;
    /// Measures a port's queues from now on.
    fn measure(&mut self, link: LinkId);
    /// The flows under way, requests apart.
    fn underway(&self) -> Vec<Underway>;
    /// The senders of flows under way, requests apart.
    fn senders(&self) -> Vec<SenderState>;
    /// Payload that receivers have taken so far, by class, answers included and requests not.
    fn taken(&self) -> Box<[u64; 256]>;
}

/// State of the run that an observer sees.
pub(crate) struct View<'a> {
    pub(crate) now: Time,
    pub(crate) network: &'a mut dyn Observed,
    pub(crate) graph: &'a Graph,
}

/// Parts of a run that observers are built from.
pub(crate) struct Site<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) graph: &'a Graph,
    pub(crate) ports: &'a [PortInfo],
    pub(crate) network: &'a mut dyn Observed,
}

impl Site<'_> {
    /// Finds a port by its name.
    pub(crate) fn link(&self, name: &str) -> Result<LinkId, String> {
        ports::find(self.ports, name).ok_or_else(|| name.to_owned())
    }

    /// Finds several ports by their names.
    pub(crate) fn links(&self, names: &[String]) -> Result<Vec<LinkId>, String> {
        names.iter().map(|name| self.link(name)).collect()
    }

    /// The ports whose queues are measured.
    pub(crate) fn measured(&self) -> Result<Vec<LinkId>, String> {
        match &self.scenario.measure.queues {
            QueueProbe::Off => Ok(Vec::new()),
            QueueProbe::All => Ok(ports::of_switches(self.ports).collect()),
            QueueProbe::Ports(names) => self.links(names),
        }
    }

    /// How many queues a port has.
    pub(crate) fn queues(&self, link: LinkId) -> usize {
        self.network.port(link).state().queues()
    }
}

/// The observers of a run.
pub(crate) struct Observers(Observing);

impl Observers {
    /// Makes the observers that a scenario asks for.
    ///
    /// # Errors
    /// The name of a port that there is not.
    pub(crate) fn new(site: &mut Site) -> Result<Observers, String> {
        // Queue statistics before monitors: tables come in this order.
        let mut observing = Observing::new();
        for asked in KINDS {
            observing.extend(asked(site)?.map(|observer| (observer, &[] as _)));
        }
        let monitors = &site.scenario.measure.monitors;
        observing.extend(super::monitors::observe(monitors, site)?);
        Ok(Observers(observing))
    }

    /// The one of a kind.
    pub(crate) fn of<T: Observer>(&self) -> Option<&T> {
        self.0.iter().find_map(|(observer, _)| (&**observer as &dyn Any).downcast_ref())
    }

    /// Finds the observer of a type, to read its records.
    pub(crate) fn of_mut<T: Observer>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|(observer, _)| (&mut **observer as &mut dyn Any).downcast_mut())
    }

    /// All observers of the run.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut Box<dyn Observer>> {
        self.0.iter_mut().map(|(observer, _)| observer)
    }

    /// When one wants to look next.
    pub(crate) fn next(&self) -> Time {
        self.0.iter().map(|(observer, _)| observer.next()).min().unwrap_or(Time::NEVER)
    }

    /// Calls the observers whose time has come, and returns the work done, in arrivals of packets.
    pub(crate) fn look(&mut self, view: &mut View) -> u64 {
        let now = view.now;
        // Only those that are due: the others' intervals are not over.
        let due = self.each().filter(|observer| observer.next() <= now);
        due.map(|observer| observer.look(view)).sum()
    }

    /// The tables that lack rows, and since when.
    pub(crate) fn full(&self, network: &dyn Observed) -> Vec<(&'static str, Time)> {
        self.0.iter().filter_map(|(observer, _)| observer.full(network)).collect()
    }

    /// The monitors' tables by name.
    pub(crate) fn tables(
        &mut self,
        view: &mut View,
        ports: &[PortInfo],
    ) -> Vec<(&'static str, Table)> {
        let mut found = Vec::new();
        for (observer, names) in &mut self.0 {
            found.extend(names.iter().copied().zip(observer.tables(view, ports)));
        }
        found
    }
}

/// Number of rows that a table may still take.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    rows: u64,
    full_at: Option<Time>,
}

impl Space {
    pub(crate) fn new(rows: u64) -> Space {
        Space { rows, full_at: None }
    }

    /// Whether so many rows more find space at `now`. Once some did not, none does.
    pub(crate) fn take(&mut self, rows: u64, now: Time) -> bool {
        if self.full_at.is_none() && rows <= self.rows {
            self.rows -= rows;
            return true;
        }
        self.full_at.get_or_insert(now);
        false
    }

    /// Returns rows of the table that are forgotten.
    pub(crate) fn give(&mut self, rows: u64) {
        self.rows += rows;
        self.full_at = None;
    }

    /// Since when it is full; `None`: all rows found space.
    pub(crate) fn full_at(&self) -> Option<Time> {
        self.full_at
    }
}

/// A packet that a port has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time when its queue took it in.
    pub arrived: Time,
    /// The queue that it was in.
    pub queue: QueueId,
    /// Time when its transmission began.
    pub left: Time,
    /// Time when its transmission ended.
    pub until: Time,
    /// When its last bit reaches the far end.
    pub arrives: Time,
    /// The packet as it left, its mark included.
    pub packet: Packet,
    /// Payload that the packet carries.
    pub payload: Payload,
    /// The host that sent it; `None`: a switch did.
    pub from: Option<HostId>,
    /// The host that it is for.
    pub to: HostId,
}

/// Observer of a port, which is called as things happen there.
pub(crate) trait AtPort: Any + Send {
    /// Handles a change of a queue's length.
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        let _ = (queue, now, state);
    }
    /// Handles a packet that leaves.
    fn sent(&mut self, sent: &Sent) {
        let _ = sent;
    }
    /// Counts begin again (the warm-up is over).
    fn restart(&mut self, now: Time) {
        let _ = now;
    }
}

/// Observers of one port.
#[derive(Default)]
pub(crate) struct Watch(Vec<Box<dyn AtPort>>);

impl Watch {
    /// One more watches, unless one of its kind does.
    pub(crate) fn add<T: AtPort>(&mut self, observer: T) {
        if self.of::<T>().is_none() {
            self.0.push(Box::new(observer));
        }
    }

    /// The one of a kind.
    pub(crate) fn of<T: AtPort>(&self) -> Option<&T> {
        self.0.iter().find_map(|observer| (&**observer as &dyn Any).downcast_ref())
    }

    /// Finds the observer of a type, to read its records.
    pub(crate) fn of_mut<T: AtPort>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|observer| (&mut **observer as &mut dyn Any).downcast_mut())
    }

    pub(crate) fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        self.0.iter_mut().for_each(|observer| observer.changed(queue, now, state));
    }

    pub(crate) fn sent(&mut self, sent: &Sent) {
        self.0.iter_mut().for_each(|observer| observer.sent(sent));
    }

    pub(crate) fn restart(&mut self, now: Time) {
        self.0.iter_mut().for_each(|observer| observer.restart(now));
    }
}
