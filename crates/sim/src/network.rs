//! The network of a run: its nodes dealt out to shards, and what a run wants to know of them.

use crate::engine::phases::Phases;
use crate::engine::{Engine, Outbox, Ran};
use crate::flow::{Counts, FlowRecord};
use crate::ids::{HostId, LinkId, LocalLink, NodeId, Rank, ShardId, SwitchId};
use crate::lookahead::Beats;
use crate::node::fabric::{Built, Fabric};
use crate::node::host::{Did, Early, Host, Round};
use crate::node::met::Met;
use crate::node::notice::Notice;
use crate::node::{Cause, Frames, Parcel, Shared, host};
use crate::observe::convergence::Underway;
use crate::observe::flow_series::{SenderChange, SenderState};
use crate::observe::observer::{Observed, Watch};
use crate::observe::queue_stats::Lengths;
use crate::observe::underflow::Unsent;
use crate::packet::losses::{Errors, Pattern};
use crate::routing;
use crate::topology::{Cable, Graph, Node, Route};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use switchbed_qdisc::hooks::GroupUse;
use switchbed_qdisc::memory::pfc::Pfc;
use switchbed_qdisc::schemes::fairness::Share;
use switchbed_qdisc::{Qdisc, QueueId, SwitchMemory};
use switchbed_scenario::Routing;
use switchbed_scenario::traffic::FlowStart;
use switchbed_units::{Bytes, Rate, Span, Time};

/// How the work of a run is divided. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Threads.
    pub threads: usize,
    /// Parts of the network; at least one a thread.
    pub shards: usize,
    /// Events that each thread must have from one time that they meet to the next: while there are
    /// fewer, one thread does the work of all.
    pub worthwhile: u64,
}

/// Threads meet after every phase, which takes a microsecond and, where others want their cores, far
/// more: so many events take some ten.
const WORTHWHILE: u64 = 64;

impl Division {
    /// One thread for the whole network.
    pub const ALONE: Division = Division { threads: 1, shards: 1, worthwhile: 0 };

    /// Divides the network among `threads` threads, a part each.
    pub fn threads(threads: usize) -> Division {
        Division { threads, shards: threads, worthwhile: WORTHWHILE }
    }
}

/// How many pauses all queues of a run remember, and how many causes of them all switches.
const REMEMBERED: usize = 1 << 20;
/// How many each queue and each switch do at least.
const REMEMBERED_EACH: usize = 1_000;

/// How many pauses a queue, and how many causes a switch remembers.
fn remembers(pfc: Option<&Pfc>, links: usize, switches: usize) -> [usize; 2] {
    let queues = links * pfc.map_or(0, |pfc| pfc.priorities.len());
    [queues, switches].map(|of| (REMEMBERED / of.max(1)).max(REMEMBERED_EACH))
}

/// Data that a network is built from.
pub(crate) struct Plan<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) settings: host::Settings,
    pub(crate) frames: Frames,
    pub(crate) routing: Routing,
    /// Links may go down or be drained.
    pub(crate) reroutes: bool,
    pub(crate) pfc: Option<Pfc>,
    /// By link.
    pub(crate) ranks: &'a [Rank],
    pub(crate) seed: u64,
    pub(crate) phases: Phases,
    pub(crate) beats: Beats,
    /// How far ahead a packet arrives at most.
    pub(crate) reach: Span,
    pub(crate) division: Division,
}

/// Hosts, switches and links of a run.
pub(crate) struct Network {
    engine: Engine<Fabric>,
    /// Each link's shard, and its number there.
    links: Vec<(ShardId, LocalLink)>,
    /// Each host's.
    hosts: Vec<(ShardId, NodeId)>,
}

/// The shard of each host, then of each switch: hosts that follow each other together, a switch
/// with its neighbours where they are all in one, the rest in turn.
fn deal_out(graph: &Graph, shards: usize) -> (Vec<ShardId>, Vec<ShardId>) {
    // Neighbours in number are neighbours in the network: runs of hosts keep most traffic in a
    // shard.
    let of = |nth: usize, count: usize| ShardId::at(nth * shards / count.max(1));
    let hosts: Vec<ShardId> = (0..graph.hosts()).map(|host| of(host, graph.hosts())).collect();
    let mut switches: Vec<Option<ShardId>> = vec![None; graph.switches.len()];
    for cable in &graph.access {
        if let (Node::Host(host), Node::Switch(switch)) = (cable.from, cable.to) {
            switches[switch.index()].get_or_insert(hosts[host.index()]);
        }
    }
    // As it is now: a switch placed below must not pull others after it.
    let edge = switches.clone();
    for (switch, (_, cables)) in graph.switches.iter().enumerate() {
        if switches[switch].is_some() {
            continue;
        }
        let mut neighbours = cables.iter().filter_map(|cable| match cable.to {
            Node::Switch(other) => edge[other.index()],
            Node::Host(_) => None,
        });
        let first = neighbours.next();
        if first.is_some() && neighbours.all(|shard| Some(shard) == first) {
            switches[switch] = first;
        }
    }
    let rest = switches.iter().filter(|shard| shard.is_none()).count();
    let mut nth = 0;
    let switches = switches.into_iter().map(|shard| {
        shard.unwrap_or_else(|| {
            nth += 1;
            of(nth - 1, rest)
        })
    });
    (hosts, switches.collect())
}

/// The place of a host's link by which a cable comes in: the n-th cable from a switch is the other direction of the
/// n-th cable there.
fn landing(
    graph: &Graph,
    cable: &Cable,
    host: HostId,
    landed: &mut BTreeMap<(SwitchId, HostId), usize>,
) -> u16 {
    let (Node::Switch(switch), true) = (cable.from, graph.is_multihomed(host)) else { return 0 };
    let before = landed.entry((switch, host)).or_default();
    *before += 1;
    let alike = graph.cables(host).iter().enumerate().filter(|(_, own)| own.to == cable.from);
    alike.map(|(nth, _)| nth).nth(*before - 1).unwrap_or(0) as u16
}

impl Network {
    /// Builds it; `port` makes the port of each link, which has a number among those of its node. The switches have
    /// these memories, and each port of a host's card one of the other kind.
    pub(crate) fn new(
        plan: Plan,
        mut port: impl FnMut(&Cable, u32) -> Box<dyn Qdisc>,
        (memories, card_memory): (Vec<SwitchMemory>, &dyn Fn(HostId) -> SwitchMemory),
    ) -> Network {
        let Plan { graph, ranks, seed, phases, beats, reach, division, .. } = plan;
        let shards = division.shards.clamp(1, graph.hosts().max(1));
        let (host_shards, switch_shards) = deal_out(graph, shards);
        let mut nodes = vec![0; shards];
        let mut number = |of: &[ShardId]| -> Vec<(ShardId, NodeId)> {
            let next = |&shard: &ShardId| {
                nodes[shard.index()] += 1;
                (shard, NodeId::at(nodes[shard.index()] - 1))
            };
            of.iter().map(next).collect()
        };
        let hosts = number(&host_shards);
        let switches = number(&switch_shards);
        let shared = Arc::new(Shared {
            settings: plan.settings,
            route: graph.route.clone(),
            routed: routing::chooses(&plan.routing),
            looks_at_ports: routing::looks_at_ports(&plan.routing),
            remembers_flows: matches!(plan.routing, Routing::Flowlet(_)),
            routing: plan.routing,
            reroutes: plan.reroutes,
            ties: crate::engine::tie::Ties::new(seed),
            frames: plan.frames,
            remembers: remembers(plan.pfc.as_ref(), ranks.len(), switches.len()),
            pfc: plan.pfc,
            hosts: hosts.clone(),
        });
        let mut worlds: Vec<Fabric> =
            (0..shards).map(|me| Fabric::new(ShardId::at(me), shared.clone())).collect();
        let mut local_links = vec![0; shards];
        let mut links = Vec::with_capacity(ranks.len());
        let mut arrived = vec![0u16; switches.len()];
        // How many cables have come from a switch to a host with several.
        let mut landed: BTreeMap<(SwitchId, HostId), usize> = BTreeMap::new();
        let mut build = |cable: &Cable, shard: ShardId, number: usize| {
            let id = LinkId::at(links.len());
            links.push((shard, LocalLink::at(local_links[shard.index()])));
            local_links[shard.index()] += 1;
            let (to, ingress) = match cable.to {
                Node::Host(host) => {
                    let (shard, node) = hosts[host.index()];
                    ((shard, node, None), landing(graph, cable, host, &mut landed))
                }
                Node::Switch(switch) => {
                    let (shard, node) = switches[switch.index()];
                    let ingress = arrived[switch.index()];
                    arrived[switch.index()] += 1;
                    ((shard, node, Some(switch)), ingress)
                }
            };
            let Cable { rate, delay, .. } = *cable;
            let rank = ranks[id.index()];
            Built { port: port(cable, number as u32), rate, delay, to, rank, ingress }
        };
        for host in (0..graph.hosts()).map(HostId::at) {
            let shard = host_shards[host.index()];
            let cables = graph.cables(host).iter().enumerate();
            let link = |(nth, cable)| (build(cable, shard, nth), card_memory(host));
            let links = (cables.map(link).collect(), graph.chooser(host));
            worlds[shard.index()].add_host(host, links, seed);
        }
        let lossless = shared.pfc.is_some();
        let mut reverse_ports = if lossless { graph.reverse_ports() } else { Vec::new() };
        for ((switch, (_, cables)), memory) in graph.switches.iter().enumerate().zip(memories) {
            let shard = switch_shards[switch];
            let cables = cables.iter().enumerate();
            let links = cables.map(|(nth, cable)| build(cable, shard, nth)).collect();
            let back = reverse_ports.get_mut(switch).map(std::mem::take).unwrap_or_default();
            worlds[shard.index()].add_switch(SwitchId::at(switch), memory, links, back, seed);
        }
        let visits: Vec<_> = worlds.iter().map(Fabric::first_visits).collect();
        let mut by_shard = vec![Vec::new(); shards];
        let of_hosts = host_shards.iter().zip(&beats.hosts);
        for (&shard, &beat) in of_hosts.chain(switch_shards.iter().zip(&beats.switches)) {
            by_shard[shard.index()].push(beat);
        }
        let worlds = worlds.into_iter().zip(by_shard).collect();
        let mut engine =
            Engine::new(worlds, (division.threads, division.worthwhile), phases, reach);
        for (shard, visits) in engine.shards.iter_mut().zip(visits) {
            visits.into_iter().for_each(|(node, at)| shard.wake(node, at));
        }
        Network { engine, links, hosts }
    }

    /// Moves everything up to `until`, or about so many events on; see [`Engine::run`].
    pub(crate) fn run(&mut self, until: Time, events: u64, last: bool) -> Ran {
        self.engine.run(until, events, last)
    }

    /// Whether nothing is to come.
    pub(crate) fn idle(&self) -> bool {
        self.engine.idle()
    }

    /// A flow is to start, by what a host does at its time.
    pub(crate) fn start(&mut self, flow: FlowStart, host: HostId) {
        let (shard, _) = self.hosts[host.index()];
        let shard = &mut self.engine.shards[shard.index()];
        let event = shard.world.add_start(flow, host);
        shard.push(event);
    }

    fn worlds(&self) -> impl Iterator<Item = &Fabric> {
        self.engine.shards.iter().map(|shard| &shard.world)
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.worlds().flat_map(Fabric::hosts)
    }

    fn local(&self, link: LinkId) -> (&Fabric, LocalLink) {
        let (shard, local) = self.links[link.index()];
        (&self.engine.shards[shard.index()].world, local)
    }

    /// All links.
    pub(crate) fn links(
        &self,
    ) -> impl DoubleEndedIterator<Item = LinkId> + ExactSizeIterator + use<> {
        (0..self.links.len()).map(LinkId::at)
    }

    /// Which classes are paused before they lose.
    pub(crate) fn pfc(&self) -> Option<&Pfc> {
        self.worlds().next()?.pfc()
    }

    /// Each queue's lengths and a port's up to `now`, if they are measured.
    pub(crate) fn lengths(&mut self, id: LinkId, now: Time) -> Option<(Vec<Lengths>, Lengths)> {
        let (shard, local) = self.links[id.index()];
        self.engine.shards[shard.index()].world.lengths(local, now)
    }

    /// Returns uses of its memory by the lossless groups of a link's switch.
    pub(crate) fn groups(&self, link: LinkId) -> Vec<GroupUse> {
        let (world, local) = self.local(link);
        world.groups(local)
    }

    /// Begins the counts of all switches' lossless groups again.
    pub(crate) fn restart_groups(&mut self) {
        for shard in &mut self.engine.shards {
            shard.world.restart_groups();
        }
    }

    /// Why switches paused their neighbours: each switch's in the order of time.
    pub(crate) fn causes(&self) -> impl Iterator<Item = (SwitchId, &[Cause])> {
        self.worlds().flat_map(Fabric::causes)
    }

    /// The bytes of a link's queue by the inputs of its switch that they came in on.
    pub(crate) fn queued_by_input(&self, id: LinkId, queue: u8) -> BTreeMap<u16, u64> {
        let (world, local) = self.local(id);
        world.queued_by_input(local, queue)
    }

    /// A port pauses a class of its peer's, if its line is up.
    pub(crate) fn pause_peer(&mut self, id: LinkId, class: u8, now: Time) {
        if !self.is_up(id) {
            return;
        }
        let (shard, local) = self.links[id.index()];
        let shard = &mut self.engine.shards[shard.index()];
        shard.change(now, |world, out| world.pause_peer(local, class, now, out));
        shard.wake(shard.world.node_of(local), now);
    }

    /// Packets transmitted by ports so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.worlds().map(Fabric::packet_hops).sum()
    }

    /// Places that packets have taken in the shards, the most at a time in each.
    pub(crate) fn packet_places(&self) -> usize {
        self.worlds().map(Fabric::packet_places).sum()
    }

    /// Events handled so far.
    pub(crate) fn events(&self) -> u64 {
        self.engine.events()
    }

    /// When the last flow ended.
    pub(crate) fn last_end(&self) -> Time {
        self.worlds().map(Fabric::last_end).max().unwrap_or(Time::ZERO)
    }

    /// When something was sent or heard last.
    pub(crate) fn last_event(&self) -> Time {
        self.worlds().map(Fabric::last_event).max().unwrap_or(Time::ZERO)
    }

    /// When the last line is free.
    pub(crate) fn busy_until(&self) -> Time {
        self.worlds().map(Fabric::busy_until).max().unwrap_or(Time::ZERO)
    }

    /// Flows, and probes with an end, that are under way.
    pub(crate) fn running(&self) -> u64 {
        self.worlds().map(|world| world.log.running).sum()
    }

    /// Flows that have ended since the last call, by their numbers.
    pub(crate) fn take_finished(&mut self) -> Vec<(u64, FlowRecord)> {
        let worlds = self.engine.shards.iter_mut().map(|shard| &mut shard.world);
        let mut finished: Vec<_> =
            worlds.flat_map(|world| std::mem::take(&mut world.log.finished)).collect();
        // Shards hand theirs over one after another: sorted, their number does not show in results.
        finished.sort_by_key(|&(number, record)| (record.end.or(record.failed), number));
        finished
    }

    /// Repetitions of programs that ranks have done since the last call.
    pub(crate) fn take_rounds(&mut self) -> impl Iterator<Item = Round> {
        let worlds = self.engine.shards.iter_mut().map(|shard| &mut shard.world);
        worlds.flat_map(|world| std::mem::take(&mut world.log.rounds))
    }

    /// Operations of programs that ranks have done since the last call.
    pub(crate) fn take_operations(&mut self) -> impl Iterator<Item = Did> {
        let worlds = self.engine.shards.iter_mut().map(|shard| &mut shard.world);
        worlds.flat_map(|world| std::mem::take(&mut world.log.operations))
    }

    /// Packets that came to hosts beyond a gap since the warm-up.
    pub(crate) fn early(&self) -> Early {
        self.worlds().map(|world| world.log.early).fold(Early::default(), Early::with)
    }

    /// The run is over: hosts hear of the flows' ends that they had no word of yet.
    pub(crate) fn hear_of_ends(&mut self) {
        let worlds = self.engine.shards.iter_mut().map(|shard| &mut shard.world);
        let mut ends: Vec<Notice> = worlds.flat_map(Fabric::take_ends).collect();
        while !ends.is_empty() {
            ends.sort_by_key(|notice| (notice.at, notice.order()));
            let hear = |notice: Notice| {
                let (shard, node) = self.hosts[notice.to.index()];
                self.engine.shards[shard.index()].world.hear(node, notice)
            };
            ends = ends.into_iter().filter_map(hear).collect();
        }
    }

    /// Takes the data that hosts have had to send since the last call, in the order of time.
    pub(crate) fn take_unsent(&mut self) -> Vec<Unsent> {
        let worlds = self.engine.shards.iter_mut().map(|shard| &mut shard.world);
        let mut unsent: Vec<_> =
            worlds.flat_map(|world| std::mem::take(&mut world.log.unsent)).collect();
        // Stable: where a sender ends and begins at one instant, the end stays before.
        unsent.sort_by_key(|change| change.at);
        unsent
    }

    /// Takes what has changed about senders that are followed since the last call, in the order of time.
    pub(crate) fn take_sender_changes(&mut self) -> Vec<SenderChange> {
        let worlds = self.engine.shards.iter_mut().map(|shard| &mut shard.world);
        let mut changes: Vec<_> =
            worlds.flat_map(|world| std::mem::take(&mut world.log.changed)).collect();
        // Stable: changes of one flow at one instant stay as they came.
        changes.sort_by_key(|change| (change.at, change.number));
        changes
    }

    /// Returns the bytes that receivers have of each flow under way, by number.
    pub(crate) fn arriving(&self) -> HashMap<u64, Bytes> {
        self.hosts().flat_map(Host::arriving).collect()
    }

    /// Returns the bytes of flows that are whole at their receivers while their senders have not heard
    /// of it, by number: `arriving` has the others.
    fn whole(&self) -> impl Iterator<Item = (u64, Bytes)> {
        let arriving = self.arriving();
        let sent = self.hosts().flat_map(Host::sending);
        sent.filter(move |sent| {
            let (shard, node) = self.hosts[sent.to.index()];
            let receiver = &self.engine.shards[shard.index()].world.hosts()[node.index()];
            !arriving.contains_key(&sent.number) && receiver.in_order(sent.flow) >= Some(sent.until)
        })
        .map(|sent| (sent.number, sent.size()))
    }

    /// Returns the bytes of each flow under way that its receiver has, by number.
    pub(crate) fn arrived(&self) -> HashMap<u64, Bytes> {
        self.arriving().into_iter().chain(self.whole()).collect()
    }

    /// Returns the counters of flows under way by number. Requests and answers are counted
    /// together.
    pub(crate) fn counts(&self) -> HashMap<u64, Counts> {
        let mut counts: HashMap<u64, Counts> = HashMap::new();
        for (number, record) in self.hosts().flat_map(Host::counts) {
            *counts.entry(number).or_default() += record.counts();
        }
        counts
    }

    /// The records of flows under way, by their numbers; `before`: what had arrived as the warm-up
    /// ended.
    pub(crate) fn unfinished(&self, before: &HashMap<u64, Bytes>) -> Vec<(u64, FlowRecord)> {
        let since = |(number, bytes): (u64, Bytes)| {
            let before = before.get(&number).map_or(0, |bytes| bytes.get());
            (number, Bytes::new(bytes.get().saturating_sub(before)))
        };
        let mut received: HashMap<u64, Bytes> = self.whole().map(since).collect();
        received.extend(self.hosts().flat_map(Host::received));
        let of = |(number, record): (u64, FlowRecord)| {
            let received = received.get(&number).copied().unwrap_or(Bytes::ZERO);
            (number, FlowRecord { received, ..record })
        };
        let mut records: Vec<_> = self.hosts().flat_map(Host::unfinished).map(of).collect();
        // By row and number, since which shard holds a host must not show.
        records.sort_by_key(|&(number, record)| (record.row, number));
        records
    }

    /// The probes sent since the warm-up, in the order they were sent.
    pub(crate) fn probes(&self) -> Vec<host::ProbeSample> {
        let of = |(source, samples): (u32, &[host::ProbeSample])| {
            samples.iter().map(move |sample| (sample.sent, source, *sample)).collect::<Vec<_>>()
        };
        let mut samples: Vec<_> = self.hosts().flat_map(Host::probed).flat_map(of).collect();
        // Sources first by time, then by number: ties come out alike for any number of shards.
        samples.sort_by_key(|&(sent, source, _)| (sent, source));
        samples.into_iter().map(|(.., sample)| sample).collect()
    }

    /// Since when there is no space for more probes.
    pub(crate) fn probes_full_at(&self) -> Option<Time> {
        self.hosts().filter_map(Host::probes_full_at).min()
    }

    /// Connections that are open.
    pub(crate) fn open_connections(&self) -> usize {
        self.worlds().map(|world| world.log.open as usize).sum()
    }

    /// DCTCP's α of every connection that carries a flow now.
    pub(crate) fn alphas(&self) -> Vec<f64> {
        self.hosts().flat_map(Host::alphas).collect()
    }

    /// Numbers that connections have taken, open and closed.
    pub(crate) fn connections(&self) -> usize {
        self.hosts().map(Host::numbered).sum()
    }

    /// Marks, drops and waits of each transport's packets since the warm-up, where there are
    /// several transports.
    pub(crate) fn met(&self) -> Vec<Met> {
        let mut all: Vec<Met> = Vec::new();
        for met in self.worlds().map(Fabric::met) {
            all.resize_with(met.len(), Met::default);
            all.iter_mut().zip(met).for_each(|(all, met)| all.add(met));
        }
        all
    }

    /// The warm-up is over.
    pub(crate) fn restart(&mut self, now: Time) {
        self.engine.shards.iter_mut().for_each(|shard| shard.world.restart(now));
    }

    /// Changes a link's rate; a transmission under way keeps its end.
    pub(crate) fn set_rate(&mut self, id: LinkId, rate: Rate, now: Time) {
        let (shard, local) = self.links[id.index()];
        let shard = &mut self.engine.shards[shard.index()];
        shard.change(now, |world, out| world.set_rate(local, rate, now, out));
        shard.wake(shard.world.node_of(local), now);
    }

    /// Makes a link lose or mark packets by a pattern, counted from now on.
    pub(crate) fn lose(&mut self, id: LinkId, pattern: Pattern, now: Time) {
        let (shard, local) = self.links[id.index()];
        let shard = &mut self.engine.shards[shard.index()];
        shard.change(now, |world, out| world.lose(local, pattern, now, out));
        shard.wake(shard.world.node_of(local), now);
    }

    /// How many packets a link has lost so.
    pub(crate) fn lost(&self, id: LinkId) -> u64 {
        let (world, local) = self.local(id);
        world.lost(local)
    }

    /// Does something to a link's port at a time.
    fn at_link(
        &mut self,
        id: LinkId,
        now: Time,
        act: impl FnOnce(&mut Fabric, LocalLink, &mut Outbox<Parcel>),
    ) {
        let (shard, local) = self.links[id.index()];
        let shard = &mut self.engine.shards[shard.index()];
        shard.change(now, |world, out| act(world, local, out));
        shard.wake(shard.world.node_of(local), now);
    }

    /// Cuts a link: it carries nothing from now on, and what is on it is lost.
    pub(crate) fn cut(&mut self, id: LinkId, now: Time) {
        self.at_link(id, now, |world, local, out| world.cut(local, true, now, out));
        // Packets on the link are arrivals to come, in the calendar of its other end's shard.
        self.engine.exchange();
        let (shard, local) = self.links[id.index()];
        let (far, rank) = self.engine.shards[shard.index()].world.far_end(local);
        let mut lost = 0;
        self.engine.shards[far.index()].remove(|world, event| {
            let (gone, counts) = world.lose_arrival(event, rank);
            lost += u64::from(counts);
            gone
        });
        self.engine.shards[shard.index()].world.note_lost(local, lost);
    }

    /// Lets a link carry again what leaves from now on.
    pub(crate) fn mend(&mut self, id: LinkId, now: Time) {
        self.at_link(id, now, |world, local, out| world.cut(local, false, now, out));
    }

    /// A link's port knows that its link is up or down; whether what waits there then is dropped.
    pub(crate) fn set_end(&mut self, id: LinkId, (up, drop): (bool, bool), now: Time) {
        if self.is_up(id) != up {
            self.set_up(id, up, now);
        }
        self.at_link(id, now, |world, local, out| {
            world.set_live(local, up, now, out);
            if drop {
                world.flush(local, now, out);
            }
            if world.pfc().is_some() {
                world.reset_pauses(local, up, now, out);
            }
        });
    }

    /// Other tables at all switches, and at hosts with several links.
    pub(crate) fn reroute(&mut self, table: &Arc<dyn Route>, now: Time) {
        for shard in &mut self.engine.shards {
            let mut homes = Vec::new();
            shard.change(now, |world, out| homes = world.reroute(table.clone(), now, out));
            homes.into_iter().for_each(|node| shard.wake(node, now));
        }
    }

    /// Packets dropped since the warm-up, since no port was left that leads on.
    pub(crate) fn no_route(&self) -> u64 {
        self.worlds().map(Fabric::no_route).sum()
    }

    /// Changes a link's propagation for what leaves from now on.
    pub(crate) fn set_delay(&mut self, id: LinkId, delay: Span, now: Time) {
        self.at_link(id, now, |world, local, out| world.set_delay(local, delay, now, out));
    }

    /// Makes a link lose at random from now on, or no more.
    pub(crate) fn set_errors(&mut self, id: LinkId, errors: Option<Errors>, now: Time) {
        self.at_link(id, now, |world, local, out| world.set_errors(local, errors, now, out));
    }

    /// Changes a class's share at every port.
    pub(crate) fn set_share(&mut self, class: u8, share: Share, now: Time) {
        for shard in &mut self.engine.shards {
            shard.change(now, |world, out| world.set_share(class, share, now, out));
            (0..shard.world.nodes()).for_each(|node| shard.wake(NodeId::at(node), now));
        }
    }

    /// Whether a link is up.
    pub(crate) fn is_up(&self, id: LinkId) -> bool {
        let (world, local) = self.local(id);
        world.is_up(local)
    }

    /// Takes a link down (its port sends no more) or up again.
    pub(crate) fn set_up(&mut self, id: LinkId, up: bool, now: Time) {
        let (shard, local) = self.links[id.index()];
        let shard = &mut self.engine.shards[shard.index()];
        shard.change(now, |world, out| world.set_up(local, up, now, out));
        shard.wake(shard.world.node_of(local), now);
    }
}

impl Observed for Network {
    fn port(&self, link: LinkId) -> &dyn Qdisc {
        let (world, local) = self.local(link);
        world.port(local)
    }

    fn threshold_bytes(&self, link: LinkId, queue: QueueId, now: Time) -> Option<f64> {
        let (world, local) = self.local(link);
        world.threshold_bytes(local, now, queue)
    }

    fn watch(&self, link: LinkId) -> Option<&Watch> {
        let (world, local) = self.local(link);
        world.watch(local)
    }

    fn watch_mut(&mut self, link: LinkId) -> Option<&mut Watch> {
        let (shard, local) = self.links[link.index()];
        self.engine.shards[shard.index()].world.watch_mut(local)
    }

    fn watched(&mut self, link: LinkId) -> &mut Watch {
        let (shard, local) = self.links[link.index()];
        self.engine.shards[shard.index()].world.watched(local)
    }

    fn measure(&mut self, link: LinkId) {
        let (shard, local) = self.links[link.index()];
        self.engine.shards[shard.index()].world.measure(local);
    }

    fn underway(&self) -> Vec<Underway> {
        let arriving = self.arriving();
        let of = |sent: host::Sent| {
            let (shard, node) = self.hosts[sent.to.index()];
            let receiver = &self.engine.shards[shard.index()].world.hosts()[node.index()];
            let received = match arriving.get(&sent.number) {
                Some(bytes) => bytes.get(),
                // The data is there, and its sender has not heard of it.
                None if receiver.reached(sent.flow) >= Some(sent.until) => sent.all()?,
                None => 0,
            };
            let FlowRecord { row, src, start, .. } = sent.record;
            Some(Underway { number: sent.number, row, src, hop: sent.hop, start, received })
        };
        self.hosts().flat_map(Host::sending).filter_map(of).collect()
    }

    fn senders(&self) -> Vec<SenderState> {
        self.worlds().flat_map(Fabric::senders).collect()
    }

    fn taken(&self) -> Box<[u64; 256]> {
        let mut taken = Box::new([0; 256]);
        for host in self.hosts() {
            taken.iter_mut().zip(host.taken()).for_each(|(sum, bytes)| *sum += bytes);
        }
        taken
    }
}
