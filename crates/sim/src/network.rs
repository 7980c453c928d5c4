//! Links and switches: packets from a host's network card to another host's.
//!
//! A link is a port and the way behind it. Its packets in flight wait in a FIFO with their
//! arrival times, and the front one's arrival is the link's only event. Departures are no
//! events: a port's next departure depends on that port alone, so it is settled when the
//! port is touched next (by an arrival, by the arrival of a packet ahead on the same link,
//! or by a probe), with the time it really had. That is one event a packet-hop, and the
//! same order of operations at every port as with an event for each departure: the next
//! packet cannot arrive before the one ahead of it has.

use crate::capture::Tap;
use crate::heap::{LinkHeap, MAX_LINKS};
use crate::link::{Aside, Link, SWITCH, Watch, Ways, Yard, transit};
use crate::monitors::PortMonitor;
use crate::notification::{self, Frames, NO_HOST};
use crate::queue_stats::QueueStats;
use crate::tcp::Segment;
use crate::tie::Ties;
use crate::topology::{Cable, Graph, Hop, Node};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use switchbed_qdisc::fairness::Share;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_qdisc::{Arena, Outcome, Packet, Pool, Qdisc, QueueId, SlotId};

/// A link's number: hosts' first, then each switch's ports in order.
pub type LinkId = u32;

/// In place of a link: a notification is to be sent.
pub(crate) const NOTICE: LinkId = LinkId::MAX;

/// A packet that has reached its host.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// When.
    pub at: Time,
    /// Which host.
    pub host: u32,
    /// Its slot, the host's to free.
    pub slot: SlotId,
}

/// One sample of the queue series.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// When.
    pub at: Time,
    /// Whose.
    pub link: LinkId,
    /// Which queue.
    pub queue: u8,
    /// Its length.
    pub bytes: Bytes,
    /// The marking threshold in force in bytes; NaN where there is none.
    pub threshold_bytes: f64,
    /// The smoothed round time; zero where the scheme has none.
    pub round_time: Span,
    /// Packets that have left the port with a CE mark of it so far.
    pub port_marked: u64,
}

/// Links, switches, and the packets on them.
pub struct Network {
    /// By rank, as events name them.
    links: Vec<Link>,
    /// The ranks of the links of each pool.
    members: Vec<Vec<u32>>,
    heap: LinkHeap,
    yard: Yard,
    /// How notifications travel.
    frames: Frames,
    events: u64,
}

impl Network {
    /// Builds the links of a graph. `port` makes each one's port, `ranks` breaks ties:
    /// a permutation of the links; `seed` keys what ports draw; `pool` is the memory that a switch's ports share.
    pub fn new(
        graph: &Graph,
        ranks: &[u32],
        seed: u64,
        pool: Bytes,
        mut port: impl FnMut(&Cable) -> Box<dyn Qdisc>,
    ) -> Network {
        let Graph { hosts, switches, route } = graph;
        let mut first_port = Vec::new();
        let mut next = hosts.len() as LinkId;
        for (_, cables) in switches {
            first_port.push(next);
            next += cables.len() as LinkId;
        }
        assert!((next as usize) < MAX_LINKS, "more links than the event queue can name");
        let cables: Vec<Cable> =
            hosts.iter().chain(switches.iter().flat_map(|(_, cables)| cables)).copied().collect();
        let mut arrived = vec![0u16; first_port.len()];
        let mut links = Vec::with_capacity(cables.len());
        let mut pools = Vec::new();
        let mut members = Vec::new();
        for (id, cable) in cables.iter().enumerate() {
            // A node's links follow each other: hosts' own, then switch by switch.
            if id < hosts.len() || first_port.binary_search(&(id as LinkId)).is_ok() {
                pools.push(Pool::new(pool));
                members.push(Vec::new());
            }
            if let Some(of_node) = members.last_mut() {
                of_node.push(ranks[id]);
            }
            let (to, ingress) = match cable.to {
                Node::Host(host) => (host, 0),
                Node::Switch(switch) => {
                    let ingress = arrived[switch as usize];
                    arrived[switch as usize] += 1;
                    (switch | SWITCH, ingress)
                }
            };
            let link = Link::new((to, ingress), pools.len() as u32 - 1, cable.delay, port(cable));
            links.push((ranks[id], link, Aside::new(id as LinkId, seed)));
        }
        links.sort_by_key(|&(rank, ..)| rank);
        let (links, asides) = links.into_iter().map(|(_, link, aside)| (link, aside)).unzip();
        Network {
            links,
            members,
            heap: LinkHeap::new(ranks.len(), Ties::new(seed)),
            yard: Yard {
                arena: Arena::new(),
                segments: Vec::new(),
                pools,
                out: Outcome::default(),
                wakes: BinaryHeap::new(),
                notices: VecDeque::new(),
                notice_delay: Span::ZERO,
                packet_hops: 0,
                ways: Ways { route: route.clone(), first_port, ranks: ranks.into() },
                asides,
            },
            frames: Frames { class: 0, len_bytes: 64, delay: Span::ZERO },
            events: 0,
        }
    }

    /// Says how congestion notifications travel. A host's own card, should it run a scheme
    /// that notifies, sends none: it has no network to send them through.
    pub fn set_frames(&mut self, frames: Frames) {
        self.frames = frames;
        self.yard.notice_delay = frames.delay;
    }

    /// Measures a link's queues from now on.
    pub fn measure(&mut self, link: LinkId, stats: QueueStats) {
        self.watch_link(link).stats = Some(stats);
    }

    /// The monitor of a link that is measured, a new one if it has none.
    pub(crate) fn watch(&mut self, link: LinkId) -> &mut PortMonitor {
        self.watch_link(link).monitor.get_or_insert_default()
    }

    /// A link's monitor, if it has one.
    pub(crate) fn monitor(&mut self, link: LinkId) -> Option<&mut PortMonitor> {
        self.watched_mut(link)?.monitor.as_deref_mut()
    }

    /// The same to be read.
    pub(crate) fn watched(&self, link: LinkId) -> Option<&PortMonitor> {
        self.yard.asides[self.rank(link)].watch.as_ref()?.monitor.as_deref()
    }

    /// Writes down what a link sends from now on, `most` packets.
    pub fn tap(&mut self, link: LinkId, most: usize) {
        self.watch_link(link).tap = Some(Tap::new(most));
    }

    /// What was written down of what a link sent.
    pub fn tapped(&self, link: LinkId) -> Option<&Tap> {
        self.yard.asides[self.rank(link)].watch.as_ref()?.tap.as_ref()
    }

    /// What was measured of a link's queues.
    pub fn stats(&mut self, link: LinkId) -> Option<&mut QueueStats> {
        self.watched_mut(link)?.stats.as_mut()
    }

    fn watched_mut(&mut self, link: LinkId) -> Option<&mut Watch> {
        let rank = self.rank(link);
        self.yard.asides[rank].watch.as_deref_mut()
    }

    /// Has a link watched from now on.
    fn watch_link(&mut self, link: LinkId) -> &mut Watch {
        let rank = self.rank(link);
        let aside = &mut self.yard.asides[rank];
        aside.watch.get_or_insert_default();
        self.links[rank].look_aside(aside);
        aside.watch.get_or_insert_default()
    }

    /// A link's port.
    pub fn port(&self, link: LinkId) -> &dyn Qdisc {
        &*self.link(link).port
    }

    /// A link's place among the others.
    #[inline]
    fn rank(&self, id: LinkId) -> usize {
        self.yard.ways.ranks[id as usize] as usize
    }

    fn link(&self, id: LinkId) -> &Link {
        &self.links[self.rank(id)]
    }

    /// The number of links.
    pub fn links(&self) -> LinkId {
        self.links.len() as LinkId
    }

    /// Packets transmitted by ports so far.
    pub fn packet_hops(&self) -> u64 {
        self.yard.packet_hops
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What a packet carries.
    #[inline]
    pub fn segment(&self, slot: SlotId) -> &Segment {
        &self.yard.segments[slot.index()]
    }

    /// The packet in a slot.
    #[inline]
    pub fn packet(&self, slot: SlotId) -> &Packet {
        self.yard.arena.packet(slot)
    }

    /// Gives back the slot of a packet that was delivered.
    #[inline]
    pub fn free(&mut self, slot: SlotId) {
        self.yard.arena.free(slot);
    }

    /// Hands a packet to a host's network card.
    #[inline]
    pub fn send(&mut self, host: u32, packet: Packet, segment: Segment, hop: Hop, now: Time) {
        let slot = self.place(packet, segment, hop, host);
        self.enqueue(self.rank(host), slot, now);
    }

    /// Gives a packet a slot.
    #[inline]
    fn place(&mut self, packet: Packet, segment: Segment, hop: Hop, from: u32) -> SlotId {
        let slot = self.yard.arena.alloc_with(packet, transit::new(hop, from));
        match self.yard.segments.get_mut(slot.index()) {
            Some(place) => *place = segment,
            None => self.yard.segments.push(segment),
        }
        slot
    }

    /// Sends the oldest notification that waits.
    fn notify(&mut self, now: Time) {
        let Some(notice) = self.yard.notices.pop_front() else { return };
        let hosts = self.yard.ways.hosts();
        let Some(switch) = notice.node.checked_sub(hosts) else { return };
        let (packet, segment) = notification::frame(&self.frames, &notice.feedback, now);
        let hop = Hop { dst: notice.to, key: notice.feedback.flow.0 & !Hop::PINNED };
        let slot = self.place(packet, segment, hop, NO_HOST);
        self.enqueue(self.yard.ways.next(switch, hop) as usize, slot, now);
    }

    /// The time of the next event; [`Time::NEVER`] if nothing moves.
    #[inline]
    pub fn next(&self) -> Time {
        let arrival = self.heap.next();
        match self.yard.wakes.peek() {
            Some(&Reverse((wake, _))) => arrival.min(wake),
            None => arrival,
        }
    }

    /// Moves packets until one reaches its host, or the next event is after `limit`.
    #[inline(always)]
    pub fn advance(&mut self, limit: Time) -> Option<Delivery> {
        loop {
            let now = self.heap.next();
            if !self.yard.wakes.is_empty() && self.wake_before(now, limit) {
                continue;
            }
            if now > limit || now == Time::NEVER {
                return None;
            }
            self.events += 1;
            let rank = self.heap.top_rank();
            self.settle(rank as usize, now);
            let link = &mut self.links[rank as usize];
            let slot = link.arrive(&self.yard);
            self.heap.replace_top(link.arrival(&self.yard), rank, now);
            if link.to & SWITCH == 0 {
                return Some(Delivery { at: now, host: link.to, slot });
            }
            self.yard.arena.packet_mut(slot).ingress = link.ingress;
            let out = self.yard.arena.cargo(slot).words[transit::OUT];
            self.enqueue(out as usize, slot, now);
        }
    }

    /// Asks a shaped port again, or sends a notification, if that is due before the next
    /// arrival, or with it.
    #[cold]
    fn wake_before(&mut self, arrival: Time, limit: Time) -> bool {
        match self.yard.wakes.peek() {
            Some(&Reverse((at, id))) if at <= arrival && at <= limit => {
                self.yard.wakes.pop();
                self.events += 1;
                match id {
                    NOTICE => self.notify(at),
                    port => self.touch(port, at),
                }
                true
            }
            _ => false,
        }
    }

    /// Settles a port and, if that put the first packet on an idle link, arms its event.
    pub fn touch(&mut self, id: LinkId, now: Time) {
        let rank = self.rank(id);
        let was_idle = self.links[rank].idle();
        self.settle(rank, now);
        arm(&self.links[rank], rank as u32, &self.yard, &mut self.heap, was_idle, now);
    }

    /// Settles every port, so that probes see the state at `now`.
    pub fn touch_all(&mut self, now: Time) {
        for id in 0..self.links() {
            self.touch(id, now);
        }
    }

    /// Reads a settled port's queues for the series.
    pub fn sample(&self, id: LinkId, now: Time, samples: &mut Vec<QueueSample>) {
        let Link { port, pool, .. } = self.link(id);
        let pool = &self.yard.pools[*pool as usize];
        let state = port.state();
        for queue in 0..state.queues() as QueueId {
            let threshold = port.threshold_bytes(now, &self.yard.arena, pool, queue);
            samples.push(QueueSample {
                at: now,
                link: id,
                queue,
                bytes: state.queue_bytes(queue),
                threshold_bytes: threshold.unwrap_or(f64::NAN),
                round_time: port.round_time().unwrap_or(Span::ZERO),
                port_marked: state.counters().marked,
            });
        }
    }

    /// Changes a link's rate; a transmission under way keeps its end.
    pub fn set_rate(&mut self, id: LinkId, rate: Rate, now: Time) {
        self.touch(id, now);
        let rank = self.rank(id);
        let link = &mut self.links[rank];
        link.port.set_rate(rate, &mut self.yard.cx(now, link.pool, rank));
    }

    /// Changes a class's share at every port.
    pub fn set_share(&mut self, class: u8, share: Share, now: Time) {
        for id in 0..self.links() {
            self.touch(id, now);
            let rank = self.rank(id);
            let link = &mut self.links[rank];
            link.port.set_share(class, share, &mut self.yard.cx(now, link.pool, rank));
        }
    }

    /// Whether a link is up.
    pub fn is_up(&self, id: LinkId) -> bool {
        self.yard.asides[self.rank(id)].is_up()
    }

    /// Takes a link down (its port sends no more) or up again.
    pub fn set_up(&mut self, id: LinkId, up: bool, now: Time) {
        self.touch(id, now);
        let rank = self.rank(id);
        self.links[rank].set_up(&mut self.yard.asides[rank], up, now);
        self.touch(id, now);
    }

    /// The departures of a port that are due; with those of its whole switch in the order
    /// of their times where the scheme reads the memory that they share.
    #[inline]
    fn settle(&mut self, rank: usize, now: Time) {
        let link = &mut self.links[rank];
        if link.reads_pool {
            self.settle_node(rank, now);
        } else {
            link.settle(&mut self.yard, rank, now);
        }
    }

    /// Settles all ports of a link's node in the order of their departures. Arms the other
    /// links only: the caller arms its own.
    #[cold]
    fn settle_node(&mut self, rank: usize, now: Time) {
        let members = &self.members[self.links[rank].pool as usize];
        let due = |links: &[Link]| {
            let next = members.iter().map(|&rank| (links[rank as usize].due(), rank)).min();
            next.filter(|&(at, _)| at <= now)
        };
        while let Some((at, other)) = due(&self.links) {
            let link = &mut self.links[other as usize];
            let was_idle = link.idle();
            link.transmit(&mut self.yard, other as usize, at);
            let was_idle = was_idle && other as usize != rank;
            arm(link, other, &self.yard, &mut self.heap, was_idle, now);
        }
    }

    /// An arrival at a port: settled up to now first.
    #[inline]
    fn enqueue(&mut self, rank: usize, slot: SlotId, now: Time) {
        let was_idle = self.links[rank].idle();
        self.settle(rank, now);
        let link = &mut self.links[rank];
        link.enqueue(&mut self.yard, rank, slot, now);
        arm(link, rank as u32, &self.yard, &mut self.heap, was_idle, now);
    }
}

/// Makes the first packet's arrival on a link that was idle its event.
#[inline]
fn arm(link: &Link, rank: u32, yard: &Yard, heap: &mut LinkHeap, was_idle: bool, now: Time) {
    if was_idle && !link.idle() {
        heap.push(link.arrival(yard), rank, now);
    }
}
