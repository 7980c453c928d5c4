//! The nodes of a shard: hosts first, then switches.

use super::host::{self, Host, Log};
use super::lengths::Measured;
use super::link::{Channel, ColdLink, Line, Link, Packets, Telemetry, transit};
use super::met::Met;
use super::notice::Notice;
use super::pausing::{self, Cause, Pausing};
use super::switch::Switch;
use super::uplink::{Card, Cards, Home, Outlet, Silent};
use super::{NOTICE, Parcel, START, Shared, class, index};
use crate::engine::prefetch::{prefetch, prefetch_lines};
use crate::engine::{Event, Outbox, Stage, World};
use crate::ids::{HostId, LocalLink, NodeId, PortId, Rank, ShardId, SwitchId};
use crate::observe::flow_series::SenderState;
use crate::observe::observer::Watch;
use crate::observe::queue_stats::Lengths;
use crate::routing::{self, Live, Router};
use crate::topology::Route;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use switchbed_qdisc::hooks::GroupUse;
use switchbed_qdisc::memory::pfc;
use switchbed_qdisc::{Driver, Qdisc, SlotId, SwitchMemory};
use switchbed_scenario::traffic::FlowStart;
use switchbed_units::random::OnDemand;
use switchbed_units::{Rate, Span, Time};

/// The nodes of a shard.
pub(crate) struct Fabric {
    pub(super) me: ShardId,
    pub(super) shared: Arc<Shared>,
    pub(super) hosts: Vec<Host>,
    /// The memory of each port of a host's card.
    pub(super) memories: Vec<SwitchMemory>,
    /// Hosts with several links, in the order of their nodes.
    pub(super) homes: Vec<Home>,
    pub(super) switches: Vec<Switch>,
    /// Each switch's part in flow control, where there is any.
    pub(super) pausing: Vec<Pausing>,
    /// Each switch's choice of ports, where no hash decides.
    pub(super) routers: Vec<Box<dyn Router>>,
    /// Each switch's ports that are not used, where links may go down.
    pub(super) lives: Vec<Live>,
    /// No switch takes part in flow control, chooses ports, sends messages to sources or has a scheme that
    /// reads its memory.
    pub(super) plain: bool,
    /// Switches choose ports, and are plain apart from that.
    pub(super) choosing: bool,
    /// Tables since a link went down or was drained.
    pub(super) table: Option<Arc<dyn Route>>,
    /// Hosts' links, then the switches'.
    pub(super) links: Vec<Link>,
    pub(super) cold_links: Vec<ColdLink>,
    pub(super) packets: Packets,
    /// Links whose queues are measured.
    measured: Measured,
    notices: Slab<Notice>,
    /// Notices sent.
    posted: u64,
    starts: Slab<FlowStart>,
    pub(crate) log: Log,
    last_event: Time,
}

/// Values by numbers that are used again.
pub(super) struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    fn new() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
    pub(super) fn put(&mut self, value: T) -> u32 {
        // The number that became free last: its value is most likely still in the cache.
        let number = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() as u32 - 1
        });
        self.values[number as usize] = Some(value);
        number
    }
    fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize)?.as_ref()
    }
    pub(super) fn take(&mut self, number: u32) -> Option<T> {
        let value = self.values.get_mut(number as usize)?.take();
        // Only a number that was in use becomes free: taking twice must not free it twice.
        self.free.extend(value.as_ref().map(|_| number));
        value
    }
}

/// A link as it is built.
pub(crate) struct Built {
    pub(crate) port: Box<dyn Qdisc>,
    pub(crate) rate: Rate,
    pub(crate) delay: Span,
    /// The node at the far end, and which switch it is if it is one.
    pub(crate) to: (ShardId, NodeId, Option<SwitchId>),
    pub(crate) rank: Rank,
    pub(crate) ingress: u16,
}

impl Fabric {
    /// Shard `me`, without nodes yet.
    pub(crate) fn new(me: ShardId, shared: Arc<Shared>) -> Fabric {
        let kinds = shared.settings.kinds();
        // One transport's sums are those of the whole run, which ports count anyway.
        let met = (kinds > 1).then(|| vec![Met::default(); kinds].into());
        Fabric {
            me,
            shared,
            hosts: Vec::new(),
            memories: Vec::new(),
            homes: Vec::new(),
            switches: Vec::new(),
            pausing: Vec::new(),
            routers: Vec::new(),
            lives: Vec::new(),
            plain: true,
            choosing: true,
            table: None,
            links: Vec::new(),
            cold_links: Vec::new(),
            packets: Packets { met, ..Packets::default() },
            measured: Measured::default(),
            notices: Slab::new(),
            posted: 0,
            starts: Slab::new(),
            log: Log::new(),
            last_event: Time::ZERO,
        }
    }

    /// Adds a host with its links; with several, it chooses among them under a number. Hosts come before switches.
    pub(crate) fn add_host(
        &mut self,
        id: HostId,
        (links, chooser): (Vec<(Built, SwitchMemory)>, Option<SwitchId>),
        seed: u64,
    ) {
        let lines: Vec<_> = links.iter().map(|(link, _)| (link.rate, link.rank)).collect();
        self.hosts.push(Host::new(id, &lines, &self.shared.settings, &mut self.log));
        if let Some(chooser) = chooser {
            // Keyed by the chooser's number, so a host's draws are its own as a switch's are.
            let router = routing::of(&self.shared.routing, seed, chooser, lines.len() as u32);
            self.homes.push(Home {
                node: self.hosts.len() - 1,
                first: LocalLink::at(self.links.len()),
                links: lines.len(),
                chooser,
                router,
                live: self.shared.reroutes.then(Live::default),
            });
        }
        for (link, memory) in links {
            // Each card has a memory of its own: hosts have no packets in common.
            self.memories.push(memory.behind(link.port.needs().memory));
            self.add_link(link, seed);
            let (Some(link), Some(cold)) = (self.links.last_mut(), self.cold_links.last_mut())
            else {
                return;
            };
            link.driver.remember(self.shared.remembers[0]);
            if self.shared.settings.tells_left {
                link.driver.watch();
                cold.left = Some(VecDeque::new());
            }
        }
    }

    /// Adds a switch with its ports' links.
    /// `back` has for each input the port that leads where it comes from, if classes are lossless.
    pub(crate) fn add_switch(
        &mut self,
        id: SwitchId,
        memory: SwitchMemory,
        links: Vec<Built>,
        back: Vec<PortId>,
        seed: u64,
    ) {
        let first = LocalLink::at(self.links.len());
        let ports = links.len() as u32;
        // The memory loses its policy where a port's scheme has a buffer of its own.
        let memory = memory.behind(links.iter().all(|link| link.port.needs().memory));
        let mut switch = Switch::new(id, first, ports, memory);
        for link in links {
            // One port that reads the memory of the switch is enough to leave the plain way.
            switch.reads_pool |= link.port.needs().pool;
            let rate = link.rate;
            self.add_link(link, seed);
            if self.shared.settings.gathers()
                && let (Some(link), Some(cold)) =
                    (self.links.last_mut(), self.cold_links.last_mut())
            {
                link.driver.watch();
                cold.telemetry = Some(Telemetry::new(rate));
            }
            if let Some(link) = self.links.last_mut() {
                link.driver.remember(self.shared.remembers[0]);
            }
            if let Some(guard) = self.shared.pfc.as_ref().and_then(pfc::Pfc::guard)
                && let Some(link) = self.links.last_mut()
            {
                link.driver.guard(guard);
            }
        }
        let reads_pool = switch.reads_pool;
        self.switches.push(switch);
        if self.shared.pfc.is_some() {
            self.pausing.push(Pausing::new(back));
        }
        self.routers.extend(routing::of(&self.shared.routing, seed, id, ports));
        self.lives.extend(self.shared.reroutes.then(Live::default));
        let plain = !(reads_pool || self.shared.pfc.is_some() || self.shared.frames.sent)
            && self.lives.is_empty();
        self.plain &= plain && self.routers.is_empty();
        self.choosing &= plain && !self.routers.is_empty();
    }

    fn add_link(&mut self, link: Built, seed: u64) {
        let Built { port, delay, to: (shard, node, switch), rank, ingress, .. } = link;
        let channel = Channel { delay, node, switch: switch.into(), rank, shard, ingress };
        self.links.push(Link { driver: Driver::new(port), channel });
        self.cold_links.push(ColdLink {
            // Keyed by the link's rank, which follows from its ends: another link elsewhere shifts
            // no draw.
            rng: OnDemand::new(seed, "ports", rank.0),
            watch: None,
            losses: None,
            left: None,
            telemetry: None,
        });
    }

    /// Which classes are paused before they lose.
    pub(crate) fn pfc(&self) -> Option<&pfc::Pfc> {
        self.shared.pfc.as_ref()
    }

    /// Why its switches paused their neighbours: each switch's in the order of time.
    pub(crate) fn causes(&self) -> impl Iterator<Item = (SwitchId, &[Cause])> {
        let causes = self.pausing.iter().map(|pausing| &pausing.causes[..]);
        self.switches.iter().map(|switch| switch.id).zip(causes)
    }

    /// The bytes of a link's queue by the inputs of its switch that they came in on.
    pub(crate) fn queued_by_input(&self, link: LocalLink, queue: u8) -> BTreeMap<u16, u64> {
        let mut bytes = BTreeMap::new();
        for packet in self.port(link).state().queued(queue, &self.packets.arena) {
            *bytes.entry(packet.ingress).or_default() += u64::from(packet.len_bytes);
        }
        bytes
    }

    /// A port pauses a class of its peer's.
    pub(crate) fn pause_peer(
        &mut self,
        link: LocalLink,
        class: u8,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        let quanta = self.shared.pfc.as_ref().map_or(0, |pfc| pfc.quanta as u16);
        self.with_line(link, now, out, |driver, line| {
            // One that the line has no time for is said by the next.
            if driver.is_up() && pausing::later(driver, now).is_none() {
                let slot = pausing::frame(line.packets, class, quanta);
                driver.control(slot, pfc::FRAME_BYTES, line, now);
            }
        });
    }

    /// When the last flow ended.
    pub(crate) fn last_end(&self) -> Time {
        self.log.last
    }

    /// Takes the notices of ends that are under way.
    pub(crate) fn take_ends(&mut self) -> Vec<Notice> {
        let ends = |notice: &mut Option<Notice>| notice.take_if(|notice| notice.ends());
        self.notices.values.iter_mut().filter_map(ends).collect()
    }

    /// The run is over: a host hears of an end, and sends nothing for that. Answers what another
    /// host is to hear of.
    pub(crate) fn hear(&mut self, node: NodeId, notice: Notice) -> Option<Notice> {
        let mut net = Silent { at: notice.at, said: None };
        let at = notice.at;
        let mut cx =
            host::Cx { settings: &self.shared.settings, net: &mut net, log: &mut self.log };
        self.hosts[node.index()].notice(notice, &mut cx, at);
        net.said
    }

    /// When something reached a node last.
    pub(crate) fn last_event(&self) -> Time {
        self.last_event
    }

    /// When the last of its lines is free.
    pub(crate) fn busy_until(&self) -> Time {
        self.links.iter().map(|link| link.driver.busy_until()).max().unwrap_or(Time::ZERO)
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.hosts.len() + self.switches.len()
    }

    /// The hosts.
    pub(crate) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The senders of flows under way, requests apart.
    pub(crate) fn senders(&self) -> impl Iterator<Item = SenderState> {
        self.hosts.iter().flat_map(|host| host.states(&self.shared.settings))
    }

    /// A flow is to start, by what a host does at its time: the event that has it do so.
    pub(crate) fn add_start(&mut self, flow: FlowStart, host: HostId) -> Event {
        let (_, node) = self.shared.hosts[host.index()];
        self.log.running += 1;
        Event::new(flow.start, node, START | self.starts.put(flow))
    }

    /// When each host wants to be visited first.
    pub(crate) fn first_visits(&self) -> Vec<(NodeId, Time)> {
        let next = self.hosts.iter().map(Host::next_timer).enumerate();
        next.filter(|&(_, at)| at != Time::NEVER).map(|(node, at)| (NodeId::at(node), at)).collect()
    }

    /// The warm-up is over.
    pub(crate) fn restart(&mut self, now: Time) {
        self.hosts.iter_mut().for_each(|host| host.restart(now));
        self.measured.restart(&mut self.packets.lengths, now);
        let watches = self.cold_links.iter_mut().filter_map(|cold| cold.watch.as_mut());
        watches.for_each(|watch| watch.restart(now));
        let losses = self.cold_links.iter_mut().filter_map(|cold| cold.losses.as_mut());
        // Counts begin anew and the plan of losses goes on: packets keep their numbers.
        losses.for_each(|losses| losses.lost = 0);
        self.lives.iter_mut().for_each(|live| live.no_route = 0);
        self.log.early = Default::default();
        if let Some(met) = &mut self.packets.met {
            met.fill(Met::default());
        }
    }

    /// Marks, drops and waits of each transport's packets since the warm-up, where there are
    /// several transports.
    pub(crate) fn met(&self) -> &[Met] {
        self.packets.met.as_deref().unwrap_or_default()
    }

    /// Packets transmitted by ports.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.packets.hops
    }

    /// Places that packets have taken, the most at a time.
    pub(crate) fn packet_places(&self) -> usize {
        self.packets.arena.capacity()
    }

    /// A link's port.
    pub(crate) fn port(&self, link: LocalLink) -> &dyn Qdisc {
        self.links[link.index()].driver.port()
    }

    /// Returns uses of its memory by the lossless groups of a link's switch.
    pub(crate) fn groups(&self, link: LocalLink) -> Vec<GroupUse> {
        self.switch_of(link).map_or_else(Vec::new, |switch| self.switches[switch].memory.groups())
    }

    /// Begins the counts of all lossless groups again.
    pub(crate) fn restart_groups(&mut self) {
        for switch in &mut self.switches {
            switch.memory.restart_groups();
        }
    }

    /// The threshold in force at a port's queue in bytes, for probes.
    pub(crate) fn threshold_bytes(&self, link: LocalLink, now: Time, queue: u8) -> Option<f64> {
        let memory = match self.switch_of(link) {
            Some(switch) => &self.switches[switch].memory,
            None => &self.memories[link.index()],
        };
        self.port(link).threshold_bytes(now, &self.packets.arena, memory, queue)
    }

    /// Returns the observers of a link, if there are any.
    pub(crate) fn watch(&self, link: LocalLink) -> Option<&Watch> {
        self.cold_links[link.index()].watch.as_deref()
    }

    /// Returns the observers of a link, to change them.
    pub(crate) fn watch_mut(&mut self, link: LocalLink) -> Option<&mut Watch> {
        self.cold_links[link.index()].watch.as_deref_mut()
    }

    /// Makes a link watched from now on.
    pub(crate) fn watched(&mut self, link: LocalLink) -> &mut Watch {
        self.links[link.index()].driver.watch();
        self.cold_links[link.index()].watch.get_or_insert_default()
    }

    /// Measures a link's queues from now on.
    pub(crate) fn measure(&mut self, link: LocalLink) {
        let driver = &mut self.links[link.index()].driver;
        driver.measure();
        self.measured.add(link, driver.port().state().queues());
    }

    /// Each queue's lengths and a link's up to `now`, if they are measured.
    pub(crate) fn lengths(
        &mut self,
        link: LocalLink,
        now: Time,
    ) -> Option<(Vec<Lengths>, Lengths)> {
        self.measured.lengths(&mut self.packets.lengths, link, now)
    }

    /// The switch of a link; `None`: it is a host's.
    pub(super) fn switch_of(&self, link: LocalLink) -> Option<usize> {
        // Links are numbered hosts first, then switch by switch in rising order.
        self.switches.partition_point(|switch| switch.first <= link).checked_sub(1)
    }

    /// The node of a link.
    pub(crate) fn node_of(&self, link: LocalLink) -> NodeId {
        match self.switch_of(link) {
            Some(switch) => NodeId::at(self.hosts.len() + switch),
            None => NodeId::at(self.host_of(link).0),
        }
    }

    /// The host of a link which is no switch's, and the link's place there.
    pub(super) fn host_of(&self, link: LocalLink) -> (usize, usize) {
        // The last home at or before the link; `homes` are in the order of their links.
        let before = self.homes.partition_point(|home| home.first <= link);
        let Some(home) = before.checked_sub(1).map(|nth| &self.homes[nth]) else {
            return (link.index(), 0);
        };
        // Links behind the home's first: its own, then one for each node.
        let beyond = link.index() - home.first.index();
        match beyond < home.links {
            true => (home.node, beyond),
            false => (home.node + 1 + beyond - home.links, 0),
        }
    }

    /// The place of a host among those with several links, or its only link.
    #[inline]
    pub(super) fn home_of(&self, node: usize) -> Result<usize, LocalLink> {
        // Each node behind a home has one link, so links and nodes run in step from the home's end
        // on.
        let before = self.homes.partition_point(|home| home.node <= node);
        let Some(nth) = before.checked_sub(1) else { return Err(LocalLink::at(node)) };
        let home = &self.homes[nth];
        match home.node == node {
            true => Ok(nth),
            false => {
                let end = home.first.index() + home.links;
                Err(LocalLink::at(end + node - home.node - 1))
            }
        }
    }

    /// All that happens to a host before `end`, in a network where hosts have several links.
    #[cold]
    fn visit_home(
        &mut self,
        node: usize,
        events: &[Event],
        end: Time,
        out: &mut Outbox<Parcel>,
    ) -> Time {
        let home = match self.home_of(node) {
            Ok(home) => home,
            Err(link) => return self.visit_host((node, link), events, end, out),
        };
        self.at_home(home, out, |host, net, with| happen(host, net, (events, end), with))
    }

    /// Does something at a host with several links.
    pub(super) fn at_home<T>(
        &mut self,
        home: usize,
        out: &mut Outbox<Parcel>,
        act: impl FnOnce(&mut Host, &mut Cards, (&host::Settings, &mut Slab<FlowStart>, &mut Log)) -> T,
    ) -> T {
        let Fabric { hosts, memories, homes, links, cold_links, packets, .. } = self;
        let Fabric { notices, posted, starts, log, shared, table, me, .. } = self;
        let home = &mut homes[home];
        let (first, span) = (home.first, home.first.index()..home.first.index() + home.links);
        let host = &mut hosts[home.node];
        // The line lends one memory at a time; those of the other links wait beside it.
        let (memory, others) = match &mut memories[span.clone()] {
            [memory, others @ ..] => (memory, others),
            [] => unreachable!("a host has links"),
        };
        let cold = (first, &mut cold_links[span.clone()]);
        let mut net = Cards {
            id: host.id(),
            links: &mut links[span],
            line: Line::new(cold, memory, packets, (shared, *me), out, None),
            memories: others,
            home,
            table: table.as_deref(),
            notices,
            posted,
        };
        act(host, &mut net, (&shared.settings, starts, log))
    }

    /// All that happens to a host before `end`; its events are in order.
    #[inline(never)]
    fn visit_host(
        &mut self,
        (node, link): (usize, LocalLink),
        events: &[Event],
        end: Time,
        out: &mut Outbox<Parcel>,
    ) -> Time {
        let Fabric {
            hosts,
            memories,
            links,
            cold_links,
            packets,
            notices,
            posted,
            starts,
            shared,
            log,
            ..
        } = self;
        let host = &mut hosts[node];
        let at = link.index();
        let cold = (link, std::slice::from_mut(&mut cold_links[at]));
        let mut net = Card {
            id: host.id(),
            link: &mut links[at],
            line: Line::new(cold, &mut memories[at], packets, (shared, self.me), out, None),
            notices,
            posted,
        };
        happen(host, &mut net, (events, end), (&shared.settings, starts, log))
    }

    /// Puts the events of one instant in their order: class, and among packets the order that is drawn
    /// for that instant.
    #[cold]
    fn break_ties(&self, events: &mut [Event]) {
        for together in events.chunk_by_mut(|a, b| a.at == b.at) {
            if together.len() > 1 {
                together.sort_unstable_by_key(|event| (class(event.what()), self.tie(event)));
            }
        }
    }

    /// Where an event comes among those of its instant and class.
    #[cold]
    fn tie(&self, event: &Event) -> (u64, u64) {
        match class(event.what()) {
            0 => {
                let cargo = self.packets.arena.cargo(SlotId::at(event.what()));
                let rank = transit::link(cargo);
                // The rank decides where two draws are equal, so the order is total.
                (self.shared.ties.order(event.at, rank).into(), rank.0.into())
            }
            1 => self.notices.get(index(event.what())).map_or((0, 0), Notice::order),
            2 => (self.starts.get(index(event.what())).map_or(0, |flow| flow.row), 0),
            _ => (0, 0),
        }
    }
}

/// All that happens to a host before `end`; its events are in order.
#[inline(always)]
fn happen<N: Outlet>(
    host: &mut Host,
    net: &mut N,
    (events, end): (&[Event], Time),
    (settings, starts, log): (&host::Settings, &mut Slab<FlowStart>, &mut Log),
) -> Time {
    let mut events = events.iter().peekable();
    loop {
        let at = events.peek().map_or(Time::NEVER, |event| event.at);
        // Asked anew each time: what a host does may set an earlier timer.
        let timer = host.next_timer();
        if at.min(timer) >= end {
            break;
        }
        let mut cx = host::Cx { settings, net: &mut *net, log: &mut *log };
        // At the same time arrivals come first: an ACK may stop the timer.
        if timer < at {
            host.fire(&mut cx);
            continue;
        }
        let Some(event) = events.next() else { break };
        match class(event.what()) {
            0 => {
                let (packet, payload) = cx.net.arrived(SlotId::at(event.what()));
                host.deliver(packet, payload, &mut cx, at);
            }
            1 => {
                if let Some(notice) = cx.net.notice(event.what()) {
                    host.notice(notice, &mut cx, at);
                }
            }
            _ => {
                if let Some(flow) = starts.take(index(event.what())) {
                    host.on_time(flow, &mut cx);
                }
            }
        }
    }
    // `end` itself belongs to the next visit.
    net.settle(Time::from_ps(end.as_ps() - 1));
    net.due().min(host.next_timer())
}

impl World for Fabric {
    type Parcel = Parcel;

    #[inline(always)]
    fn fetch(&self, event: &Event, stage: Stage) {
        if class(event.what()) != 0 {
            return;
        }
        let (node, slot) = (event.node().index(), SlotId::at(event.what()));
        // Hosts have the first numbers, switches those behind them.
        match self.hosts.get(node) {
            Some(host) => self.fetch_for_host(host, node, slot, stage),
            None => self.fetch_for_switch(node - self.hosts.len(), slot, stage),
        }
    }

    fn prepares(&self) -> bool {
        self.choosing && !self.shared.looks_at_ports
    }

    #[inline(always)]
    fn prepare(&mut self, node: NodeId, events: &mut [Event], stage: Stage) {
        let Some(switch) = node.index().checked_sub(self.hosts.len()) else { return };
        if stage != Stage::Second {
            self.put_in_order(events);
            self.choose_ahead(switch, events);
        } else if self.shared.remembers_flows {
            self.fetch_choices(switch, events);
        }
    }

    #[inline(always)]
    fn visit(
        &mut self,
        node: NodeId,
        events: &mut [Event],
        end: Time,
        out: &mut Outbox<Parcel>,
    ) -> Time {
        self.put_in_order(events);
        if let Some(last) = events.last() {
            self.last_event = self.last_event.max(last.at);
        }
        let node = node.index();
        let next = match node.checked_sub(self.hosts.len()) {
            Some(switch) if self.plain => self.visit_plain(switch, events, end, out),
            Some(switch) if self.choosing => self.visit_choosing(switch, events, end, out),
            Some(switch) => self.switch(switch, out).visit(events, end),
            None if self.homes.is_empty() => {
                self.visit_host((node, LocalLink::at(node)), events, end, out)
            }
            None => self.visit_home(node, events, end, out),
        };
        self.measured.count_many(&mut self.packets.lengths);
        next
    }

    fn unpack(&mut self, parcel: Parcel) -> Event {
        match parcel {
            Parcel::Packet { at, node, packet, payload, cargo } => {
                let slot = self.packets.put(packet, payload, cargo);
                Event::new(at, node, slot.index() as u32)
            }
            Parcel::Notice { node, notice } => {
                let at = notice.at;
                // The class bits lie above any slot's number.
                Event::new(at, node, NOTICE | self.notices.put(*notice))
            }
        }
    }

    fn running(&self) -> u64 {
        self.log.running
    }
}

/// Cache lines of a port that packets need, its scheme's included.
pub(super) const PORT_LINES: usize = 3;

impl Fabric {
    /// Puts what happens at one time in order.
    #[inline(always)]
    fn put_in_order(&self, events: &mut [Event]) {
        // Rare enough to look first: sorting every visit's events would cost more.
        if events.windows(2).any(|pair| pair[0].at == pair[1].at) {
            self.break_ties(events);
        }
    }

    #[inline(always)]
    fn fetch_for_host(&self, host: &Host, node: usize, slot: SlotId, stage: Stage) {
        match stage {
            Stage::Packet => {
                prefetch(self.packets.arena.cargo(slot));
                prefetch(&self.packets.payloads[slot.index()]);
            }
            Stage::First => {
                prefetch(self.packets.arena.cargo(slot));
                prefetch(&self.packets.payloads[slot.index()]);
                prefetch_lines(host, 2);
                prefetch(&self.links[node]);
                prefetch(&self.memories[node]);
            }
            Stage::Second => host.fetch(&self.packets.payloads[slot.index()]),
            Stage::Third => prefetch_lines(self.links[node].driver.port(), PORT_LINES),
            Stage::Fourth => {}
        }
    }

    #[inline(always)]
    fn fetch_for_switch(&self, switch: usize, slot: SlotId, stage: Stage) {
        let node = &self.switches[switch];
        match stage {
            Stage::Packet => return prefetch(self.packets.arena.cargo(slot)),
            Stage::First => {
                prefetch(self.packets.arena.cargo(slot));
                return prefetch(node);
            }
            _ => {}
        }
        // A guess of the port: a wrong one costs a cache line and changes nothing.
        let out = transit::guess(self.packets.arena.cargo(slot));
        let Some(link) = self.links.get(node.link(out).index()) else { return };
        // A port that is chosen before the third stage is known from then on.
        let late = self.prepares();
        match stage {
            Stage::Second if late => {}
            Stage::Third if late => prefetch(link),
            Stage::Fourth if late => prefetch_lines(link.driver.port(), PORT_LINES),
            Stage::Second => prefetch(link),
            Stage::Third => prefetch_lines(link.driver.port(), PORT_LINES),
            Stage::Fourth => {
                let class = self.packets.arena.packet(slot).class;
                prefetch(link.driver.port().state().queue_like(class));
            }
            Stage::Packet | Stage::First => {}
        }
    }
}
