//! One run: builds the network of a scenario and moves it to its end.
//!
//! At one instant things happen in this order, however the work is divided: changes of the
//! network, departures, arrivals (in the order drawn for that instant), word between hosts,
//! starts of flows, timers; then those who look on take a look. A run ends once all that a node may
//! have done when its last flow's end is known is done everywhere: up to sixteen windows later, a
//! window being less than what a packet needs from one node to the next.

mod held;

use crate::build_error::BuildError;
use crate::carriers::carrier;
use crate::deadlock::Deadlocks;
use crate::deployed::Deployed;
use crate::empty_network::Paths;
use crate::engine::Ran;
use crate::engine::phases::Phases;
use crate::flow::{Counts, FlowRecord};
use crate::ids::{HostId, LinkId, SwitchId};
use crate::jobs::{Job, Jobs};
use crate::lookahead::Lookahead;
use crate::network::{Division, Network, Plan};
use crate::node::host::{self, ProbeSample, Programs};
use crate::node::met::Met;
use crate::node::{self, Frames};
use crate::observe::capture::{Capture, Captures};
use crate::observe::goodput::{GoodputSample, Goodputs};
use crate::observe::interference::{self, Interference};
use crate::observe::observer::{Observed, Observer, Observers, Site, View};
use crate::observe::queue_stats::Lengths;
use crate::observe::series::{QueueSample, Series};
use crate::observe::underflow::Underflow;
use crate::operations::Operations;
use crate::packet::losses::Errors;
use crate::ports::{self, PortInfo};
use crate::ranks;
use crate::records::Records;
use crate::stall::{self, Refusal, Stall, Stalls};
use crate::table::Table;
use crate::timeline::{Action, Rerouting, Timeline};
use crate::topology::{Cable, Graph, Node};
use std::collections::HashMap;
use std::sync::Arc;
use switchbed_qdisc::memory::pfc::Input;
use switchbed_qdisc::port::trim::Trims;
use switchbed_qdisc::port::view::Counters;
use switchbed_qdisc::{PauseFrames, PortState, QueueId, QueueSet, SwitchMemory};
use switchbed_scenario::Scenario;
use switchbed_scenario::build;
use switchbed_scenario::build::{Inputs, Outside};
use switchbed_scenario::event;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::traffic;
use switchbed_scenario::traffic::MAX_CONNECTIONS;
use switchbed_scenario::traffic::{FlowStart, Flows, TrafficError};
use switchbed_scenario::{FctEnd, NicQueue, SchemeChoice};
use switchbed_units::random::OnDemand;
use switchbed_units::{Bytes, Rate, Span, Time};

/// One port's figures at the end of a run; counts and queues since the warm-up.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Name and place.
    pub info: PortInfo,
    /// Totals of the port.
    pub counters: Counters,
    /// Counts of trimmed packets by queue; empty where the port does not trim.
    pub trims: Vec<Trims>,
    /// Packets that its line lost, as an event said.
    pub lost: u64,
    /// Share of the time that its line was up in which it was sending, pause frames included.
    pub utilisation: f64,
    /// Share of all the time in which it was sending.
    pub sending: f64,
    /// Each queue's length and the port's, where they were measured.
    pub lengths: Option<(Vec<Lengths>, Lengths)>,
    /// Queues where the scheme has marked or dropped a packet, or had its source notified.
    pub acted: QueueSet,
    /// How long the line idled while a sender had data for it, where that was monitored.
    pub underflow: Option<Span>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The run is not over.
    Running,
    /// All flows have finished, or the time is up.
    Finished,
}

/// A run.
pub struct Simulation {
    network: Network,
    flows: Flows,
    /// The flow that starts next of those that the network does not know yet.
    upcoming: Option<FlowStart>,
    ports: Vec<PortInfo>,
    paths: Paths,
    offered: Vec<traffic::Offered>,
    now: Time,
    until: Time,
    /// The end of the warm-up; [`Time::NEVER`] once it is over.
    warmup: Time,
    warmed_at: Time,
    /// Totals of every link as the warm-up ended.
    before: Vec<Before>,
    /// Bytes brought by flows that were under way as the warm-up ended, by number.
    arrived_before: HashMap<u64, Bytes>,
    /// Counters of these flows.
    counted_before: HashMap<u64, Counts>,
    observers: Observers,
    timeline: Timeline,
    rerouting: Rerouting,
    /// Whether each flow takes one path that is known before it starts.
    paths_known: bool,
    /// Draws the losses of links, by link.
    seed: u64,
    /// Where there is flow control.
    deadlocks: Option<Deadlocks>,
    /// Where a run has no end of its own.
    stalls: Option<Stalls>,
    finished: Vec<FlowRecord>,
    started: u64,
    /// When the last one starts that the network knows.
    last_start: Time,
    ended: u64,
    total: u64,
    programs: Arc<Programs>,
    jobs: Jobs,
    operations: Operations,
    /// Looks, and changes of the network.
    others: u64,
    /// How many arrivals of packets took about as long as they did.
    work: u64,
    /// Most connections open at a time.
    most_connections: usize,
    /// Whether the limit kept packets out.
    full: bool,
    /// The network knows of no flow that is still to start.
    short: bool,
    phases: Phases,
    /// When the run is over, once nothing runs any more.
    ending: Time,
    over: bool,
}

/// Totals of a link up to a time.
#[derive(Clone, Debug, Default)]
struct Before {
    counters: Counters,
    trims: Vec<Trims>,
    /// How long it had been sending.
    busy: Span,
    frames: PauseFrames,
    /// How long each lossless class had been held, and its storms.
    held: Box<[(Span, u64)]>,
}

/// Flows that the network knows of at most before they start.
const AHEAD: usize = 4096;

/// After all that happens at a time.
fn after(at: Time) -> Time {
    Time::from_ps(at.as_ps().saturating_add(1))
}

impl Simulation {
    /// Builds a scenario.
    ///
    /// # Errors
    /// Settings that parsing cannot judge: traffic that names hosts that do not exist, a
    /// flow list that cannot be read, a port that does not exist.
    pub fn new(scenario: &Scenario) -> Result<Simulation, BuildError> {
        Self::with(scenario, &build::Nothing, Division::ALONE)
    }

    /// Builds it with schemes of the caller, and with the work divided.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with(
        scenario: &Scenario,
        outside: &dyn Outside,
        division: Division,
    ) -> Result<Simulation, BuildError> {
        let Scenario { switch, host, measure, run, .. } = scenario;
        let mut schemes = scenario.deploy.iter().filter_map(|entry| entry.scheme.as_ref());
        let from_outside = |choice: &SchemeChoice| choice.python.is_some();
        if !outside.is_there() && (from_outside(&scenario.scheme) || schemes.any(from_outside)) {
            return Err(BuildError::Outside);
        }
        let protocols = Protocols::of(scenario);
        let sources = scenario.traffic.iter().enumerate().map(|(entry, traffic)| {
            (&traffic.source, traffic::Hosts::of(scenario, &protocols, entry as u32))
        });
        let mut flows = Flows::new(sources, run.seed).map_err(BuildError::Traffic)?;
        let programs = Arc::new(Programs::new(flows.take_programs()));
        let graph = scenario.graph();
        let ports = ports::of(&graph);
        let timeline = Timeline::new(scenario, &graph, |name| ports::find(&ports, name));
        let timeline = timeline.map_err(BuildError::Event)?;
        let ranks = ranks::of(&graph, run.seed);
        let deployed = Deployed::new(scenario, &graph);
        let Lookahead { least, word, reach, beats } = Lookahead::new(scenario, &graph, &ports);
        let frames = match &scenario.reaction {
            Some(reaction) => Frames {
                sent: true,
                class: reaction.notification_class,
                len_bytes: reaction.notification_size.get() as u32,
                delay: reaction.notification_delay,
            },
            None => Frames { sent: false, class: 0, len_bytes: 64, delay: Span::ZERO },
        };
        let reroutes = event::reroute(&scenario.routing, &scenario.event);
        let plb = scenario.routing.plb();
        let noted = (Time::ZERO + measure.warmup, measure.monitors.follows_senders());
        let carriers = protocols.all().iter().enumerate().map(|(place, protocol)| {
            let (stack, echo) = protocols.ends(place);
            carrier((protocol, echo), host.host(stack), (&graph, &scenario.switch, plb), noted)
        });
        let carriers = carriers.collect::<Result<Vec<_>, _>>()?;
        let phases = Phases::new(least, beats.longest());
        let plan = Plan {
            graph: &graph,
            settings: host::Settings::new(
                scenario,
                protocols.clone(),
                carriers,
                (programs.clone(), word),
            ),
            frames,
            routing: scenario.routing.clone(),
            reroutes,
            pfc: switch.pfc.clone(),
            ranks: &ranks,
            seed: run.seed,
            phases,
            beats,
            reach,
            division,
        };
        let memories = memories(scenario, &deployed, &graph)?;
        let host_of = scenario.host_of();
        let port = |cable: &Cable, number| {
            let card = match cable.from {
                Node::Host(of) => {
                    let nic = host_of(of).nic;
                    ports::card(nic, switch.queues, cable.rate, host.mtu(), node::terms)
                }
                Node::Switch(_) => None,
            };
            card.unwrap_or_else(|| {
                let (switch, scheme) = deployed.at(cable.from);
                // Ports of a host's card share no memory.
                let is_switch = matches!(cable.from, Node::Switch(_));
                let (ports, number) =
                    if is_switch { (graph.ports(cable.from), number) } else { (1, 0) };
                let host_dscp = switch.trimming.as_ref().and_then(|trimming| trimming.host_dscp);
                let facing = match (host_dscp, cable.to) {
                    (Some(_), Node::Host(_)) => &switch.facing_host(),
                    _ => switch,
                };
                build::port(facing, scheme, ports, cable.rate, host.mtu(), outside, number)
            })
        };
        // A card that is no switch's port leaves nothing to a policy.
        let card_memory = |of| match host_of(of).nic {
            NicQueue::Switch => deployed.at(Node::Host(of)).0.memory(1, host.mtu()),
            _ => SwitchMemory::default(),
        };
        let mut network = Network::new(plan, port, (memories, &card_memory));
        let observers = Observers::new(&mut Site {
            scenario,
            graph: &graph,
            ports: &ports,
            network: &mut network,
        });
        let observers = observers.map_err(BuildError::Port)?;
        Ok(Simulation {
            network,
            upcoming: flows.next(),
            total: flows.total() + programs.flows(),
            offered: flows.offered().to_vec(),
            flows,
            paths: Paths {
                graph,
                protocols,
                fct_end: measure.fct_end,
                acked: programs.each().map(|(entry, _)| entry).collect(),
                moves: !scenario.routing.keeps_paths() || reroutes,
                between: Default::default(),
            },
            deadlocks: switch.pfc.as_ref().map(|pfc| Deadlocks::new(pfc, &ports)),
            stalls: Stalls::new(scenario, &ports),
            before: vec![Before::default(); ports.len()],
            arrived_before: HashMap::new(),
            counted_before: HashMap::new(),
            ports,
            now: Time::ZERO,
            until: run.until.map_or(Time::NEVER, |until| Time::ZERO + until),
            // Without one, what is sent at the start counts.
            warmup: match measure.warmup {
                Span::ZERO => Time::NEVER,
                warmup => Time::ZERO + warmup,
            },
            warmed_at: Time::ZERO,
            observers,
            timeline,
            paths_known: scenario.routing.keeps_paths()
                && !event::reroute(&scenario.routing, &scenario.event),
            rerouting: Rerouting::new(scenario.routing.weighs()),
            seed: run.seed,
            finished: Vec::new(),
            started: 0,
            programs,
            jobs: Jobs::default(),
            operations: Operations::new(if scenario.measure.operations.unwrap_or(false) {
                scenario.measure.samples
            } else {
                0
            }),
            last_start: Time::ZERO,
            ended: 0,
            others: 0,
            work: 0,
            most_connections: MAX_CONNECTIONS,
            full: false,
            short: true,
            phases,
            ending: Time::NEVER,
            over: false,
        })
    }

    /// Runs for about as long as so many arrivals of packets take, whatever it is that happens.
    pub fn advance(&mut self, events: u64) -> Status {
        let stop = self.done() + events;
        while !self.over {
            let left = stop.saturating_sub(self.done());
            if left == 0 {
                return Status::Running;
            }
            let status = self.stretch(left);
            if status == Status::Finished {
                if let Some(deadlocks) = &mut self.deadlocks {
                    deadlocks.look_back(&self.network, self.now);
                }
                self.network.hear_of_ends();
            }
            self.collect();
            self.full = self.network.open_connections() > self.most_connections;
            self.over = self.full || status == Status::Finished;
        }
        Status::Finished
    }

    /// Returns the work done, in arrivals of packets.
    fn done(&self) -> u64 {
        self.network.events() + self.work
    }

    /// Up to the next change or look, or for about so many events.
    fn stretch(&mut self, events: u64) -> Status {
        let unknown = self.hand_out();
        let change = self.timeline.next();
        // A look comes after all events of its time: an interval's end belongs to the interval.
        let look = after(self.observers.next().min(self.warmup));
        let last = self.upcoming.is_none();
        if last && self.ending == Time::NEVER && self.network.running() == 0 {
            self.ending = self.phases.over(self.network.last_end());
        }
        // Events at `until` itself still happen.
        let end = after(self.until).min(self.ending);
        let check = self.deadlocks.as_ref().map_or(Time::NEVER, Deadlocks::next);
        let stall = self.stalls.as_ref().map_or(Time::NEVER, Stalls::next);
        let limit = change.min(look).min(end).min(unknown).min(check).min(stall);
        match self.network.run(limit, events, last && self.ending == Time::NEVER) {
            Ran::Through(at) => self.now = at.min(self.until),
            Ran::Still(at) | Ran::Paused(at) => {
                self.now = at.min(self.until);
                return Status::Running;
            }
        }
        // Nothing is left to happen, unless a change or a flow to come brings it about.
        let nothing_comes = last || unknown == Time::NEVER;
        let still = self.until == Time::NEVER
            && change == Time::NEVER
            && nothing_comes
            && self.network.idle();
        if still {
            // A run ends when the last bit is out, which may be after the last event.
            self.now = self.phases.over(self.network.last_event()).max(self.network.busy_until());
            return Status::Finished;
        }
        self.short |= limit == unknown;
        // Limits may fall together: each of these `if`s is for its own.
        if limit == check
            && let Some(deadlocks) = &mut self.deadlocks
        {
            self.now = check.min(self.until);
            deadlocks.look(&self.network, self.now);
            let guarded = self.network.pfc().is_some_and(|pfc| pfc.guard().is_some());
            if deadlocks.stands() && self.until == Time::NEVER && !guarded {
                return Status::Finished;
            }
        }
        if limit == stall {
            self.now = stall;
            self.collect();
            let flows = (self.started, self.ended, self.last_start);
            let changes = self.timeline.changes() || !last;
            if let Some(stalls) = &mut self.stalls
                && stalls.look(&self.network, flows, changes)
            {
                return Status::Finished;
            }
        }
        if limit == change {
            self.now = change;
            // First told: observers reckon what has passed by the rates from before the change.
            self.collect();
            self.change(change);
        } else if limit == look {
            // A picosecond back: `after` put it behind all events of that time.
            self.now = Time::from_ps(look.as_ps() - 1);
            self.collect();
            self.look();
        }
        // A change of that time comes first, and the next stretch ends the run.
        if limit == end && limit != change {
            self.now = end.min(self.until);
            return Status::Finished;
        }
        Status::Running
    }

    /// Tells the network of the next flows once those that it knows have started; when the first
    /// starts that it does not know.
    fn hand_out(&mut self) -> Time {
        // Only as those handed out run short: memory holds a few thousand flows, not all to come.
        let mut left = if std::mem::take(&mut self.short) { AHEAD } else { 0 };
        let until = self.until;
        let comes = |flow: &mut FlowStart| flow.start <= until && flow.start < Time::NEVER;
        while left > 0
            && let Some(flow) = self.upcoming.take_if(comes)
        {
            left -= 1;
            self.upcoming = self.flows.next();
            self.start(flow);
        }
        let unknown = self.upcoming.map(|flow| flow.start);
        unknown.filter(|&start| start <= self.until).unwrap_or(Time::NEVER)
    }

    fn start(&mut self, flow: FlowStart) {
        self.started += 1;
        self.last_start = flow.start;
        let now = self.now;
        self.each(now, |observer, view| observer.flow_starts(&flow, view));
        let host = self.programs.begins_at(&flow);
        self.network.start(flow, host);
    }

    /// Takes what hosts left behind.
    fn collect(&mut self) {
        for (number, mut record) in self.network.take_finished() {
            if let Some(before) = self.arrived_before.remove(&number) {
                let (of, class) = ((record.src, record.dst), record.class);
                let got = record.received.get();
                let since = |all: u64| all.saturating_sub(before.get());
                let sender_tells = record.failed.is_some()
                    || self.paths.end(record.traffic, class, of) == FctEnd::Acked;
                // A receiver that tells has left out what came before the warm-up's end, unless the
                // flow was whole by then.
                record.received = Bytes::new(match record.size {
                    _ if sender_tells => since(got),
                    Some(size) => got.min(since(size.get())),
                    None => got,
                });
            }
            if let Some(before) = self.counted_before.remove(&number) {
                record.without(&before);
            }
            self.ended += 1;
            self.finished.push(record);
        }
        self.jobs.take(self.network.take_rounds());
        self.operations.take(self.network.take_operations());
        let unsent = self.network.take_unsent();
        self.each(self.now, |observer, view| observer.follow(&unsent, view));
        let changes = self.network.take_sender_changes();
        if !changes.is_empty() {
            self.each(self.now, |observer, _| observer.senders_changed(&changes));
        }
    }

    /// Tells each observer.
    fn each(&mut self, now: Time, mut tell: impl FnMut(&mut dyn Observer, &mut View)) {
        let mut view = View { now, network: &mut self.network, graph: &self.paths.graph };
        self.observers.each().for_each(|observer| tell(&mut **observer, &mut view));
    }

    /// The changes of the network that are due, which come before anything else of their time.
    fn change(&mut self, now: Time) {
        while let Some(action) = self.timeline.take(now) {
            self.others += 1;
            match action {
                Action::Rate(link, rate) => {
                    self.network.set_rate(link, rate, now);
                    self.note_rate(link, now);
                }
                Action::Up(link, up) if self.network.is_up(link) == up => {}
                Action::Up(link, up) => {
                    self.network.set_up(link, up, now);
                    self.note_rate(link, now);
                }
                Action::Carry(links, true) => {
                    links.iter().for_each(|&link| self.network.mend(link, now));
                }
                Action::Carry(links, false) => {
                    links.iter().for_each(|&link| self.network.cut(link, now));
                }
                Action::End(links, up, drop) => {
                    for link in links {
                        self.network.set_end(link, (up, drop), now);
                        self.note_rate(link, now);
                    }
                }
                Action::Round(links, why, round) => {
                    self.rerouting.round(links, (why, round));
                    self.network.reroute(&self.rerouting.tables(&self.paths.graph), now);
                }
                Action::Weigh(links, rate) => {
                    self.rerouting.weigh(links, rate);
                    self.network.reroute(&self.rerouting.tables(&self.paths.graph), now);
                }
                Action::Delay(link, delay) => self.network.set_delay(link, delay, now),
                Action::Errors(link, chance) => {
                    let rng = OnDemand::new(self.seed, "errors", link.0);
                    let errors = chance.map(|chance| Errors::new(chance, rng));
                    self.network.set_errors(link, errors, now);
                }
                Action::Lose(link, pattern) => self.network.lose(link, pattern, now),
                Action::Pause(link, class, until) => {
                    self.network.pause_peer(link, class, now);
                    let rate = self.network.port(link).state().rate();
                    let lasts = self.network.pfc().map_or(Span::ZERO, |pfc| pfc.lasts(rate));
                    // Half way, before the peer's pause runs out: a storm has no gaps (IEEE
                    // 802.1Qbb's timers count down).
                    let again = now + (lasts / 2).max(Span::from_ps(1));
                    if again < until {
                        self.timeline.put(again, Action::Pause(link, class, until));
                    }
                }
                Action::Share(class, share) => {
                    self.network.set_share(class, share, now);
                    self.each(now, |observer, view| observer.share_changes(class, share, view));
                }
            }
        }
    }

    /// Passes on a change of a link's rate, which is zero while the link is down.
    fn note_rate(&mut self, link: LinkId, now: Time) {
        let rate = match self.network.is_up(link) {
            true => self.network.port(link).state().rate(),
            false => Rate::from_bps(0),
        };
        // A line that goes down finishes what it sends.
        let since = match rate.as_bps() {
            0 => now.max(self.network.port(link).state().busy_until()),
            _ => now,
        };
        self.timeline.note(since, link, rate);
        self.each(now, |observer, view| observer.rate_changes(link, rate, view));
    }

    /// Counts begin again.
    fn warm_up(&mut self, now: Time) {
        for link in self.network.links() {
            let port = self.network.port(link).state();
            let held = |&class: &u8| (port.paused(class, now), port.storms(class, now).count);
            let classes = self.network.pfc().map_or(&[][..], |pfc| &pfc.priorities);
            self.before[link.index()] = Before {
                counters: port.counters(),
                trims: port.trims().to_vec(),
                busy: port.busy(now),
                frames: port.pause_frames(now),
                held: classes.iter().map(held).collect(),
            };
        }
        self.restart_groups();
        self.each(now, |observer, view| observer.restart(view));
        self.arrived_before = self.network.arrived();
        self.counted_before = self.network.counts();
        self.network.restart(now);
        self.warmed_at = now;
        self.warmup = Time::NEVER;
    }

    /// The warm-up is over, or observers take a look.
    fn look(&mut self) {
        let now = self.now;
        self.others += 1;
        // A look takes as long as some arrivals: batches stay about as long by the clock.
        self.work += 10;
        if self.warmup <= now {
            self.work += self.network.links().len() as u64;
            self.warm_up(now);
        }
        let mut view = View { now, network: &mut self.network, graph: &self.paths.graph };
        self.work += self.observers.look(&mut view);
    }

    /// The clock.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Packets transmitted by ports so far.
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops()
    }
    /// Events handled: arrivals of packets, starts and stops of flows, timers, samples.
    pub fn events(&self) -> u64 {
        self.network.events() + self.others
    }
    /// Flows started, ended, and expected in all.
    pub fn flows(&self) -> (u64, u64, u64) {
        (self.started, self.ended, self.total)
    }
    /// Flows that have ended, and bytes that have arrived of others.
    pub(crate) fn delivered(&self) -> (u64, u64) {
        let arriving = self.network.arriving();
        (self.ended, arriving.values().map(|bytes| bytes.get()).sum())
    }
    /// Lowers the number of connections that may be open at a time.
    pub fn limit_connections(&mut self, most: usize) {
        self.most_connections = most.min(MAX_CONNECTIONS);
    }
    /// Why not all flows came: too many were under way, a list's file changed during the run, or
    /// the clock ended before a flow's start. Results are then of other traffic than the
    /// scenario's.
    pub fn failure(&self) -> Option<BuildError> {
        if self.full {
            return Some(BuildError::Connections(self.most_connections));
        }
        let late = self.upcoming.is_some_and(|flow| flow.start == Time::NEVER);
        if late && self.until == Time::NEVER {
            return Some(BuildError::Traffic(TrafficError::Late));
        }
        let error = self.flows.failure()?;
        Some(BuildError::Traffic(TrafficError::List(error.clone())))
    }
    /// Returns the loads that the traffic offers.
    pub fn offered(&self) -> &[traffic::Offered] {
        &self.offered
    }
    /// Returns the durations of programs; none where no traffic is one.
    pub fn jobs(&self, scenario: &Scenario) -> Vec<Job> {
        self.jobs.all(&scenario.traffic, &self.programs, &self.paths, self.warmed_at)
    }
    /// Table of the operations of programs; `None`: nobody asked for it.
    pub(crate) fn take_operations(&mut self) -> Option<Table> {
        self.operations.table(&self.programs)
    }
    /// The ports by link.
    pub fn ports(&self) -> &[PortInfo] {
        &self.ports
    }
    /// A port's queues and line.
    pub fn port(&self, link: LinkId) -> &PortState {
        self.network.port(link).state()
    }
    /// Places that connections have taken, open and closed.
    pub fn connections(&self) -> usize {
        self.network.connections()
    }
    /// Places that packets have taken, the most at a time.
    pub fn packet_places(&self) -> usize {
        self.network.packet_places()
    }
    /// Bytes of memory that a connection takes, and what a flow under way on it adds.
    pub fn sizes() -> (usize, usize) {
        host::sizes()
    }
    /// DCTCP's α of every connection that carries a flow now.
    pub fn alphas(&self) -> Vec<f64> {
        self.network.alphas()
    }
    /// When the warm-up ended.
    pub fn warmed_at(&self) -> Time {
        self.warmed_at
    }

    /// Whether there was none, or it is over.
    pub fn is_warm(&self) -> bool {
        self.warmup == Time::NEVER
    }
    /// The marking threshold in force at a port's queue in bytes, if there is one.
    pub fn threshold_bytes(&self, link: LinkId, queue: QueueId) -> Option<f64> {
        self.network.threshold_bytes(link, queue, self.now)
    }

    /// The flows that have ended since this was last called, in the order they ended.
    pub fn take_finished(&mut self) -> Vec<FlowRecord> {
        std::mem::take(&mut self.finished)
    }
    /// The flows still under way, by row.
    pub fn unfinished(&self) -> Vec<FlowRecord> {
        let since = |(number, mut record): (u64, FlowRecord)| {
            if let Some(before) = self.counted_before.get(&number) {
                record.without(before);
            }
            record
        };
        self.network.unfinished(&self.arrived_before).into_iter().map(since).collect()
    }
    /// The samples since this was last called.
    pub fn take_series(&mut self) -> Vec<QueueSample> {
        self.observers.of_mut().map_or_else(Vec::new, Series::take)
    }

    /// The tables that lack rows since they were full, and since when.
    pub fn full(&self) -> Vec<(&'static str, Time)> {
        let probes = self.network.probes_full_at().map(|at| ("probes", at));
        let operations = self.operations.full().map(|at| ("operations", at));
        self.observers.full(&self.network).into_iter().chain(probes).chain(operations).collect()
    }

    /// Why the run stopped, if nothing was delivered any more.
    pub fn stalled(&self) -> Option<&Stall> {
        self.stalls.as_ref()?.found()
    }

    /// Looks for a stall after this long, where a run waits as long as its senders retry.
    #[cfg(test)]
    pub(crate) fn look_after(&mut self, every: Span) {
        self.stalls.as_mut().expect("a scenario without run.until").look_after(every);
    }

    /// The port that has dropped most, or else holds packets that cannot leave, and its queue.
    pub fn refusing(&self) -> Option<(LinkId, QueueId, Refusal)> {
        stall::refuses(&self.network, &[], self.now)
    }

    /// Whether all links of a host are down.
    pub(crate) fn is_cut_off(&self, host: HostId) -> bool {
        let mine = self.ports.iter().enumerate();
        let mut mine = mine.filter(|(_, port)| port.cable.from == Node::Host(host));
        mine.all(|(link, _)| !self.network.is_up(LinkId::at(link)))
    }

    /// The network.
    pub(crate) fn graph(&self) -> &Graph {
        &self.paths.graph
    }

    /// Packets that switches dropped since the warm-up, since no port was left that led on.
    pub fn no_route(&self) -> u64 {
        self.network.no_route()
    }

    /// Data packets that came to hosts beyond a gap since the warm-up, and the most bytes of a gap.
    pub fn early(&self) -> (u64, Bytes) {
        let early = self.network.early();
        (early.packets, Bytes::new(early.most))
    }

    /// The packet traces that were asked for.
    pub fn captures(&self) -> Vec<Capture> {
        let captures = self.observers.of::<Captures>();
        captures.map_or_else(Vec::new, |captures| captures.files(&self.network))
    }

    /// Marks, drops and waits of each transport's packets since the warm-up; none where there is
    /// one transport.
    pub(crate) fn met(&self) -> Vec<Met> {
        self.network.met()
    }

    /// Returns the goodput of each class over time, if that was asked for.
    pub fn goodputs(&self) -> &[GoodputSample] {
        self.observers.of().map_or(&[], Goodputs::samples)
    }
    /// The probes sent since the warm-up, in the order they were sent.
    pub fn probes(&self) -> Vec<ProbeSample> {
        self.network.probes()
    }

    /// Takes the monitors' tables up to now, by name. Called once, at the end.
    pub fn take_monitored(&mut self) -> Vec<(&'static str, Table)> {
        let now = self.now;
        let mut view = View { now, network: &mut self.network, graph: &self.paths.graph };
        self.observers.tables(&mut view, &self.ports)
    }

    /// Classifies the flows by the flows of more than `giant` bytes on their ways.
    pub fn interference(&self, flows: &[FlowRecord], giant: Bytes) -> Vec<Interference> {
        self.met_giants(&flows.iter().copied().collect(), giant)
    }

    /// The same of packed records.
    pub(crate) fn met_giants(&self, flows: &Records, giant: Bytes) -> Vec<Interference> {
        interference::classes(&self.paths.graph, flows, giant, self.now)
    }

    /// Returns the ports' reports, counted up to now.
    pub fn port_reports(&mut self) -> Vec<PortReport> {
        let now = self.now;
        let mut reports = Vec::new();
        for (link, info) in self.ports.iter().enumerate() {
            let id = LinkId::at(link);
            let lengths = self.network.lengths(id, now);
            let before = &self.before[link];
            let port = self.network.port(id).state();
            let counters = port.counters().since(&before.counters);
            let earlier = before.trims.iter().chain(std::iter::repeat(&Trims::NONE));
            let trims =
                port.trims().iter().zip(earlier).map(|(now, then)| now.since(then)).collect();
            let busy = (port.busy(now).as_ps() - before.busy.as_ps()) as f64;
            let up = self.timeline.up(id, self.warmed_at, now).as_ps() as f64;
            let utilisation = if up > 0.0 { busy / up } else { 0.0 };
            let all = now.since(self.warmed_at).as_ps() as f64;
            let sending = if all > 0.0 { busy / all } else { 0.0 };
            let underflow = self.observers.of_mut::<Underflow>();
            let underflow = underflow.and_then(|underflow| underflow.idle(id, now));
            reports.push(PortReport {
                info: info.clone(),
                counters,
                trims,
                lost: self.network.lost(id),
                utilisation,
                sending,
                lengths,
                acted: self.network.port(id).state().acted_since(self.warmed_at),
                underflow,
            });
        }
        reports
    }

    /// How long a flow of class 0 takes in an empty network whose windows never limit it: its packets
    /// back to back over its path (the slowest link spaces them), and, where the FCT ends
    /// with it, the last one's ACK.
    pub fn empty_fct(&self, src: HostId, dst: HostId, size: Bytes) -> Span {
        self.paths.flow((src, dst), (u32::MAX, 0), size, self.paths.end(u32::MAX, 0, (src, dst)))
    }

    /// FCT in an empty network of a flow with the request for it, if there was one; `None` for a
    /// flow that never ends. A slowdown is an FCT over this.
    pub fn empty_fct_of(&self, flow: &FlowRecord) -> Option<Span> {
        let of = (flow.traffic, flow.class);
        let request = flow.request.map_or(Span::ZERO, |request| {
            self.paths.flow((flow.dst, flow.src), of, request, FctEnd::Received)
        });
        let end = self.paths.end(flow.traffic, flow.class, (flow.src, flow.dst));
        flow.size.map(|size| request + self.paths.flow((flow.src, flow.dst), of, size, end))
    }
}

/// Each switch's memory.
fn memories(
    scenario: &switchbed_scenario::Scenario,
    deployed: &Deployed,
    graph: &Graph,
) -> Result<Vec<SwitchMemory>, BuildError> {
    let (longest, shortest) = (scenario.host.mtu(), scenario.shortest());
    if scenario.switch.pfc.is_none() {
        let nodes = (0..graph.switches.len()).map(|switch| Node::Switch(SwitchId::at(switch)));
        return Ok(nodes
            .map(|node| deployed.at(node).0.memory(graph.ports(node), longest))
            .collect());
    }
    let inputs = graph.inputs();
    let of = |(switch, cables): (usize, &Vec<Cable>)| {
        let links: Vec<Input> = cables.iter().map(Cable::input).collect();
        let node = Node::Switch(SwitchId::at(switch));
        let (own, _) = deployed.at(node);
        own.lossless_memory(graph.ports(node), Inputs { links: &links, longest, shortest })
    };
    inputs.iter().enumerate().map(of).collect::<Result<_, _>>().map_err(BuildError::Headroom)
}
