//! One run: builds the network of a scenario and moves it to its end.
//!
//! At one instant things happen in this order, whatever the engine's data structures:
//! changes of the network, departures, arrivals, starts of flows, timers, probes; among
//! alike, by rank (links: a permutation drawn from the seed) or number (connections, rows).

use crate::capture::{Capture, Captures};
use crate::deployed::Deployed;
use crate::empty_network::Paths;
use crate::endpoints::Endpoints;
use crate::fair::FairShares;
use crate::goodput::{GoodputSample, Goodputs};
use crate::hosts::{FlowRecord, Hosts, MAX_CONNECTIONS};
use crate::interference::{self, Met};
use crate::monitors::{self, Monitored, Monitors};
use crate::network::{Delivery, LinkId, Network, QueueSample};
use crate::notification::Frames;
use crate::ports::{self, PortInfo};
use crate::probe::ProbeSample;
use crate::queue_stats::{Lengths, QueueStats};
use crate::random::Stream;
use crate::room::Room;
use crate::tcp::{BadSetting, Config};
use crate::timeline::{Action, Timeline};
use crate::topology::{Graph, Node};
use crate::traffic::{self, FlowStart, Flows, TrafficError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use switchbed_qdisc::PortState;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_qdisc::view::Counters;
use switchbed_spec::build::{self, Outside};
use switchbed_spec::{FctEnd, NicQueue, QueueProbe, Scenario};

/// Why a scenario cannot be built, or its run not be finished.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildError {
    /// Its traffic.
    Traffic(TrafficError),
    /// Its transport.
    Transport(BadSetting),
    /// Its hosts.
    Host(BadSetting),
    /// A port that it measures does not exist.
    Port(String),
    /// A port that an event names does not exist.
    Event(String),
    /// So many connections are not enough.
    Connections(usize),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Traffic(error) => error.fmt(f),
            BuildError::Transport(error) => write!(f, "transport.{error}"),
            BuildError::Host(error) => write!(f, "host.{error}"),
            BuildError::Event(name) => {
                write!(f, "event names the port `{name}`, which there is not")
            }
            BuildError::Connections(most) => write!(
                f,
                "more than {most} connections are open at a time; let flows share some \
                 (connections = \"persistent\"), or offer less"
            ),
            BuildError::Port(name) => write!(
                f,
                "measure names the port `{name}`; ports are called by switch and number \
                 (`leaf0:3`, `switch:1`) or by host (`host2`)"
            ),
        }
    }
}
impl std::error::Error for BuildError {}

/// One port's figures at the end of a run; counts and queues since the warm-up.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Name and place.
    pub info: PortInfo,
    /// What it did.
    pub counters: Counters,
    /// Share of the time that it was sending.
    pub utilisation: f64,
    /// Each queue's length and the port's, where they were measured.
    pub lengths: Option<(Vec<Lengths>, Lengths)>,
    /// How long the line idled while a sender had data for it, where that was monitored.
    pub underflow: Option<Span>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is more to do.
    Running,
    /// All flows have finished, or the time is up.
    Finished,
}

/// A run.
pub struct Simulation {
    network: Network,
    hosts: Endpoints,
    flows: Flows,
    /// The flow that starts next.
    upcoming: Option<FlowStart>,
    /// Endless flows to stop: when, their rows and sending hosts.
    stops: BinaryHeap<Reverse<(Time, u64, u32)>>,
    ports: Vec<PortInfo>,
    paths: Paths,
    offered: Vec<traffic::Offered>,
    now: Time,
    until: Time,
    /// The end of the warm-up; [`Time::NEVER`] once it is over.
    warmup: Time,
    warmed_at: Time,
    /// Every link's counters when the warm-up ended, and its bits that were counted and not sent.
    before: Vec<(Counters, f64)>,
    series: Option<Series>,
    goodputs: Option<Goodputs>,
    captures: Captures,
    timeline: Timeline,
    monitors: Option<Box<Monitors>>,
    /// When the next of them wants to look.
    next_look: Time,
    started: u64,
    total: u64,
    /// Most connections open at a time.
    most_connections: usize,
    /// A flow found no room for another.
    full: bool,
    /// Events that were no packet's arrival.
    others: u64,
}

struct Series {
    every: Span,
    next: Time,
    links: Vec<LinkId>,
    samples: Vec<QueueSample>,
    room: Room,
}

impl Simulation {
    /// Builds a scenario.
    ///
    /// # Errors
    /// Settings that parsing cannot judge: traffic that names hosts that do not exist, a
    /// flow list that cannot be read, a port that does not exist.
    pub fn new(scenario: &Scenario) -> Result<Simulation, BuildError> {
        Self::with(scenario, &build::Nothing)
    }

    /// The same with schemes that the caller brings along.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with(scenario: &Scenario, outside: &dyn Outside) -> Result<Simulation, BuildError> {
        let Scenario { topology, switch, host, transport, measure, run, .. } = scenario;
        let config = Config::new(transport).map_err(BuildError::Transport)?;
        let config = config.with_lso(&host.lso).map_err(BuildError::Host)?;
        let mut flows = Flows::new(&scenario.traffic, traffic::Hosts::of(scenario), run.seed)
            .map_err(BuildError::Traffic)?;
        let graph = Graph::new(topology, host.delay);
        let ports = ports::of(&graph);
        let ranks = Stream::new(run.seed, "ranks", 0).permutation(ports.len() as u32);
        let deployed = Deployed::new(scenario, &graph);
        let pool = switch.pool.unwrap_or(Bytes::MAX);
        let mut network =
            Network::new(&graph, &ranks, run.seed, pool, |cable| match (cable.from, host.nic) {
                (Node::Host(_), NicQueue::Fifo { buffer }) => ports::plain_card(cable.rate, buffer),
                _ => {
                    let (switch, scheme) = deployed.at(cable.from);
                    let ports = graph.ports(cable.from);
                    build::port(switch, scheme, ports, cable.rate, host.mtu, outside)
                }
            });
        let find =
            |name: &String| ports::find(&ports, name).ok_or_else(|| BuildError::Port(name.clone()));
        let measured = match &measure.queues {
            QueueProbe::Off => Vec::new(),
            QueueProbe::All => ports::of_switches(&ports).collect(),
            QueueProbe::Ports(names) => names.iter().map(find).collect::<Result<_, _>>()?,
        };
        let mut watched = measured.clone();
        watched.extend(measure.monitors.ports().map(find).collect::<Result<Vec<_>, _>>()?);
        for &link in &watched {
            let buffer = match (ports[link as usize].cable.from, host.nic) {
                (Node::Host(_), NicQueue::Fifo { buffer }) => buffer,
                (node, _) => deployed.at(node).0.port_memory(graph.ports(node)),
            };
            let queues = network.port(link).state().queues();
            network.measure(link, QueueStats::new(queues, buffer));
        }
        let captures = Captures::new(scenario, &ports, find)?;
        captures.tap(&mut network);
        let timeline = Timeline::new(scenario, |name| ports::find(&ports, name));
        let timeline = timeline.map_err(BuildError::Event)?;
        let series = measure.series_every.map(|every| Series {
            every,
            next: Time::ZERO + every,
            links: measured,
            samples: Vec::new(),
            room: Room::new(measure.samples),
        });
        if let Some(reaction) = &scenario.reaction {
            network.set_frames(Frames {
                class: reaction.notification_class,
                len_bytes: reaction.notification_size.get() as u32,
                delay: reaction.notification_delay,
            });
        }
        let monitors = match measure.monitors.is_empty() {
            true => None,
            false => Some(Box::new(Monitors::new(measure, &mut network, find)?)),
        };
        let goodputs = measure
            .goodput_every
            .map(|every| (every, FairShares::of(scenario, &graph, &ports)))
            .map(|(every, fair)| Goodputs::new(every, fair, Room::new(measure.samples)));
        let total = flows.total();
        let flows_offered = flows.offered().to_vec();
        Ok(Simulation {
            network,
            hosts: Endpoints::of(scenario, config, &graph),
            upcoming: flows.next(),
            flows,
            stops: BinaryHeap::new(),
            offered: flows_offered,
            paths: Paths {
                graph,
                mss: transport.mss.get(),
                header: transport.header.get(),
                fct_end: measure.fct_end,
            },
            before: vec![(Counters::default(), 0.0); ports.len()],
            ports,
            now: Time::ZERO,
            until: run.until.map_or(Time::NEVER, |until| Time::ZERO + until),
            // Without one, what is sent at the start counts.
            warmup: match measure.warmup {
                Span::ZERO => Time::NEVER,
                warmup => Time::ZERO + warmup,
            },
            warmed_at: Time::ZERO,
            captures,
            timeline,
            next_look: next_look(&series, &goodputs, &monitors),
            series,
            goodputs,
            monitors,
            started: 0,
            total,
            most_connections: MAX_CONNECTIONS,
            full: false,
            others: 0,
        })
    }

    /// Runs for about as long as so many arrivals of packets take, whatever it is that happens.
    pub fn advance(&mut self, events: u64) -> Status {
        if self.monitors.as_ref().is_some_and(|monitors| monitors.follows_hosts()) {
            self.run::<true>(events)
        } else {
            self.run::<false>(events)
        }
    }

    /// `FOLLOWED`: a monitor is told of what happens at hosts.
    fn run<const FOLLOWED: bool>(&mut self, events: u64) -> Status {
        let mut stop = self.network.events() + events;
        while self.network.events() < stop {
            // What is not a packet's arrival comes after the arrivals of the same instant.
            let next = self.next_other();
            let change = self.timeline.next();
            if change <= next && change <= self.until && change != Time::NEVER {
                self.run_up_to(change);
                if self.hosts.running() == 0 && self.done() {
                    return Status::Finished;
                }
                continue;
            }
            match self.network.advance(next.min(self.until)) {
                Some(delivery) => {
                    if FOLLOWED {
                        self.deliver_and_tell(delivery);
                    } else {
                        self.now = delivery.at;
                        self.hosts.deliver(delivery, &mut self.network);
                    }
                }
                None if next <= self.until && next != Time::NEVER && !self.quiet() => {
                    self.now = next;
                    self.others += 1;
                    stop = stop.saturating_sub(self.other(next));
                    if self.done() {
                        return Status::Finished;
                    }
                }
                None => {
                    if self.until != Time::NEVER {
                        self.now = self.until;
                    }
                    return Status::Finished;
                }
            }
            if self.hosts.running() == 0 && self.done() {
                return Status::Finished;
            }
        }
        Status::Running
    }

    /// Up to a change of the network, which comes before anything else of its time.
    #[cold]
    fn run_up_to(&mut self, change: Time) {
        let before = Time::from_ps(change.as_ps().saturating_sub(1));
        if change > Time::ZERO
            && let Some(delivery) = self.network.advance(before)
        {
            return self.deliver_and_tell(delivery);
        }
        self.now = change;
        while let Some(action) = self.timeline.take(change) {
            self.others += 1;
            match action {
                Action::Rate(link, rate) => {
                    self.network.set_rate(link, rate, change);
                    if let Node::Host(host) = self.ports[link as usize].cable.from {
                        self.hosts.set_rate(host, rate);
                    }
                    self.note_rate(link, change);
                }
                Action::Up(link, up) if self.network.is_up(link) == up => {}
                Action::Up(link, up) => {
                    self.network.set_up(link, up, change);
                    if let Node::Host(host) = self.ports[link as usize].cable.from {
                        self.hosts.set_up(host, up, change);
                    }
                    self.note_rate(link, change);
                }
                Action::Share(class, share) => {
                    self.network.set_share(class, share, change);
                    if let Some(goodputs) = &mut self.goodputs {
                        goodputs.fair().set_share(class, share, change);
                    }
                }
            }
        }
    }

    /// What a link can carry has changed; nothing while it is down.
    fn note_rate(&mut self, link: LinkId, now: Time) {
        let rate = match self.network.is_up(link) {
            true => self.network.port(link).state().rate(),
            false => Rate::from_bps(0),
        };
        self.timeline.note(now, link, rate);
        if let Some(goodputs) = &mut self.goodputs {
            goodputs.fair().set_rate(link, rate, now);
        }
    }

    /// Out of line, for the hot loop to have a delivery to itself.
    #[cold]
    #[inline(never)]
    fn deliver_and_tell(&mut self, delivery: Delivery) {
        self.now = delivery.at;
        self.hosts.deliver(delivery, &mut self.network);
        self.tell_monitors(delivery.host);
    }

    /// Something happened at a host.
    fn tell_monitors(&mut self, host: u32) {
        if let Some(monitors) = &mut self.monitors {
            monitors.host(host, self.now, &self.hosts, &mut self.network, &self.paths.graph);
        }
    }

    /// The time of the next event that is not a packet's arrival.
    #[inline]
    fn next_other(&self) -> Time {
        let start = self.upcoming.map_or(Time::NEVER, |flow| flow.start);
        let stop = self.stops.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        start.min(stop).min(self.hosts.next_timer()).min(self.next_look).min(self.warmup)
    }

    /// All flows have ended and none is to come. A series alone keeps no run going.
    fn done(&self) -> bool {
        self.hosts.idle() && self.upcoming.is_none()
    }

    /// Nothing will move again in a run without an end of its own: what flows still wait for was
    /// lost, and these hosts send nothing twice. All that could follow is looks.
    fn quiet(&self) -> bool {
        self.until == Time::NEVER
            && self.upcoming.is_none()
            && self.stops.is_empty()
            && self.hosts.next_timer() == Time::NEVER
            && self.network.next() == Time::NEVER
            && self.timeline.next() == Time::NEVER
    }

    /// Handles one event of time `now`, in the order of classes. Returns how many arrivals take
    /// about as long.
    fn other(&mut self, now: Time) -> u64 {
        if let Some(flow) = self.upcoming.take_if(|flow| flow.start <= now) {
            self.upcoming = self.flows.next();
            self.start(&flow);
            return 1;
        }
        if let Some(&Reverse((at, row, host))) = self.stops.peek()
            && at <= now
        {
            self.stops.pop();
            if let Some(goodputs) = &mut self.goodputs {
                goodputs.fair().remove(row, now);
            }
            self.hosts.stop(row, now);
            self.tell_monitors(host);
            return 1 + self.hosts.places() as u64 / 8;
        }
        if self.hosts.next_timer() <= now {
            let host = self.monitors.as_ref().and_then(|_| self.hosts.next_timer_host());
            self.hosts.fire(&mut self.network);
            host.into_iter().for_each(|host| self.tell_monitors(host));
            return 1;
        }
        if self.warmup <= now {
            self.warm_up(now);
            return u64::from(self.network.links());
        }
        self.look(now)
    }

    fn start(&mut self, flow: &FlowStart) {
        // A request takes two.
        self.full |= self.hosts.open_connections() + 2 > self.most_connections;
        if self.full {
            return;
        }
        self.started += 1;
        if let Some(goodputs) = &mut self.goodputs {
            goodputs.fair().start(flow, &self.paths.graph);
        }
        if let Some(stop) = flow.stop {
            self.stops.push(Reverse((stop, flow.row, flow.src)));
        }
        if let Some(monitors) = &mut self.monitors {
            monitors.flow_starts(flow.start, &mut self.network);
        }
        let place = self.hosts.start(flow, &mut self.network);
        if let Some(monitors) = &mut self.monitors {
            monitors.flow_started(place, &self.hosts);
            self.tell_monitors(self.hosts.source(place));
        }
    }

    /// Counts begin again.
    fn warm_up(&mut self, now: Time) {
        self.network.touch_all(now);
        for link in 0..self.network.links() {
            let port = self.network.port(link).state();
            self.before[link as usize] = (*port.counters(), unsent_bits(port, now));
            if let Some(stats) = self.network.stats(link) {
                stats.restart(now);
            }
        }
        if let Some(monitors) = &mut self.monitors {
            monitors.restart(now, &mut self.network);
        }
        self.hosts.restart(now);
        self.warmed_at = now;
        self.warmup = Time::NEVER;
    }

    /// The series, the goodputs and the monitors take a look. Returns how many arrivals take about
    /// as long.
    fn look(&mut self, now: Time) -> u64 {
        let mut work = 1;
        if let Some(series) = &mut self.series
            && series.next <= now
        {
            let before = series.samples.len();
            for &link in &series.links {
                self.network.touch(link, now);
                self.network.sample(link, now, &mut series.samples);
            }
            let rows = (series.samples.len() - before) as u64;
            work += rows;
            series.next = now + series.every;
            if !series.room.take(rows, now) {
                series.samples.truncate(before);
                series.next = Time::NEVER;
            }
        }
        if let Some(goodputs) = &mut self.goodputs
            && goodputs.next <= now
        {
            goodputs.sample(&self.hosts, now);
            work += 10 + self.hosts.places() as u64 / 8;
        }
        if let Some(monitors) = &mut self.monitors
            && monitors.next() <= now
        {
            monitors.look(&self.hosts, &self.paths.graph);
            work += self.hosts.places() as u64 + self.hosts.running();
        }
        self.next_look = next_look(&self.series, &self.goodputs, &self.monitors);
        work
    }

    /// The clock.
    pub fn now(&self) -> Time {
        self.now
    }
    /// The network, for its counts.
    pub fn network(&self) -> &Network {
        &self.network
    }
    /// Events handled: arrivals of packets, starts and stops of flows, timers, samples.
    pub fn events(&self) -> u64 {
        self.network.events() + self.others
    }
    /// Flows started, ended, and expected in all.
    pub fn flows(&self) -> (u64, u64, u64) {
        (self.started, self.started - self.hosts.running(), self.total)
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
    /// What the traffic offers.
    pub fn offered(&self) -> &[traffic::Offered] {
        &self.offered
    }
    /// The ports by link.
    pub fn ports(&self) -> &[PortInfo] {
        &self.ports
    }
    /// Settles every port up to now; only the order of work changes, no result.
    pub fn settle(&mut self) {
        self.network.touch_all(self.now);
    }
    /// Places that connections have taken, open and closed.
    pub fn connections(&self) -> usize {
        self.hosts.places()
    }
    /// Bytes of memory that a connection takes, and what a flow under way on it adds.
    pub fn sizes() -> (usize, usize) {
        Hosts::sizes()
    }
    /// DCTCP's α of every connection that carries a flow now.
    pub fn alphas(&self) -> Vec<f64> {
        self.hosts.alphas()
    }
    /// When the warm-up ended.
    pub fn warmed_at(&self) -> Time {
        self.warmed_at
    }

    /// The flows that have ended since this was last called, in the order they ended.
    pub fn take_finished(&mut self) -> Vec<FlowRecord> {
        self.hosts.take_finished()
    }
    /// The flows still under way, by row.
    pub fn unfinished(&self) -> Vec<FlowRecord> {
        self.hosts.unfinished()
    }
    /// The samples since this was last called.
    pub fn take_series(&mut self) -> Vec<QueueSample> {
        self.series.as_mut().map_or_else(Vec::new, |series| std::mem::take(&mut series.samples))
    }

    /// The tables that lack rows since they were full, and since when.
    pub fn full(&self) -> Vec<(&'static str, Time)> {
        let monitors = self.monitors.as_ref();
        let full = [
            ("series", self.series.as_ref().and_then(|series| series.room.full_at())),
            ("goodput", self.goodputs.as_ref().and_then(|goodputs| goodputs.room.full_at())),
            ("probes", self.hosts.probes_full_at()),
            ("changes", monitors.and_then(|monitors| monitors.changes_full_at(&self.network))),
            ("rates", monitors.and_then(|monitors| monitors.rates_full_at())),
        ];
        full.into_iter().filter_map(|(table, at)| Some((table, at?))).collect()
    }

    /// The packet traces that were asked for.
    pub fn captures(&self) -> Vec<Capture> {
        self.captures.files(&self.network)
    }

    /// What each class's receivers took in each interval, if that was asked for.
    pub fn goodputs(&self) -> &[GoodputSample] {
        self.goodputs.as_ref().map_or(&[], |goodputs| &goodputs.samples)
    }
    /// The probes sent since the warm-up, in the order they were sent.
    pub fn probes(&self) -> &[ProbeSample] {
        self.hosts.probes()
    }

    /// What the monitors have seen up to now; once, at the end.
    pub fn take_monitored(&mut self) -> Monitored {
        self.network.touch_all(self.now);
        let monitors = self.monitors.as_mut();
        monitors
            .map_or_else(Monitored::default, |monitors| monitors.take(self.now, &mut self.network))
    }

    /// What each of these flows met, where those of more than `giant` are giants.
    pub fn interference(&self, flows: &[FlowRecord], giant: Bytes) -> Vec<Met> {
        interference::met(&self.paths.graph, flows, giant, self.now)
    }

    /// What the ports did, counted up to now.
    pub fn port_reports(&mut self) -> Vec<PortReport> {
        let now = self.now;
        self.network.touch_all(now);
        let mut reports = Vec::new();
        for (link, info) in self.ports.iter().enumerate() {
            let id = link as LinkId;
            let lengths = self.network.stats(id).map(|stats| {
                stats.close(now);
                stats.lengths()
            });
            let (before, ahead) = &self.before[link];
            let port = self.network.port(id).state();
            let counters = port.counters().since(before);
            let sent = counters.sent_bytes as f64 * 8.0 + ahead - unsent_bits(port, now);
            let capacity = self.timeline.capacity_bits(id, info.cable.rate, self.warmed_at, now);
            // A packet that is on the line as its rate changes keeps the old one.
            let utilisation = if capacity > 0.0 { (sent / capacity).min(1.0) } else { 0.0 };
            let underflow = monitors::underflow(&mut self.network, id, now);
            let info = info.clone();
            reports.push(PortReport { info, counters, utilisation, lengths, underflow });
        }
        reports
    }

    /// How long a flow takes in an empty network whose windows never limit it: its packets
    /// back to back over its path (the slowest link spaces them), and, where the FCT ends
    /// with it, the last one's ACK.
    pub fn empty_fct(&self, src: u32, dst: u32, size: Bytes) -> Span {
        self.paths.flow(src, dst, size, self.paths.fct_end)
    }

    /// The same of a flow with the request for it, if there was one; `None` for a flow that
    /// never ends. A slowdown is an FCT over this.
    pub fn empty_fct_of(&self, flow: &FlowRecord) -> Option<Span> {
        let request = flow.request.map_or(Span::ZERO, |request| {
            self.paths.flow(flow.dst, flow.src, request, FctEnd::Received)
        });
        flow.size.map(|size| request + self.empty_fct(flow.src, flow.dst, size))
    }
}

/// Bits of the packet on a port's line, which counts since it began, that are still to be sent.
fn unsent_bits(port: &PortState, now: Time) -> f64 {
    port.busy_until().since(now).as_secs_f64() * port.rate().as_bps() as f64
}

/// When the series, the goodputs or a monitor wants to look next.
fn next_look(
    series: &Option<Series>,
    goodputs: &Option<Goodputs>,
    monitors: &Option<Box<Monitors>>,
) -> Time {
    let series = series.as_ref().map_or(Time::NEVER, |series| series.next);
    let goodputs = goodputs.as_ref().map_or(Time::NEVER, |goodputs| goodputs.next);
    let monitors = monitors.as_ref().map_or(Time::NEVER, |monitors| monitors.next());
    series.min(goodputs).min(monitors)
}
