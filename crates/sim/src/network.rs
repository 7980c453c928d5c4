//! Links and switches: packets from a host's network card to another host's.
//!
//! A link is a port and the way behind it. Its packets in flight wait in a FIFO with their
//! arrival times, and the front one's arrival is the link's only event. Departures are no
//! events: a port's next departure depends on that port alone, so it is settled when the
//! port is touched next (by an arrival, by the arrival of a packet ahead on the same link,
//! or by a probe), with the time it really had. That is one event a packet-hop, and the
//! same order of operations at every port as with an event for each departure: the next
//! packet cannot arrive before the one ahead of it has.

use crate::heap::{LinkHeap, MAX_LINKS};
use crate::queue_stats::QueueStats;
use crate::random::Stream;
use crate::tcp::Segment;
use crate::topology::{Cable, Graph, Hop, Node, Route};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_qdisc::{
    Arena, Cx, Dequeued, Enqueued, Outcome, Packet, Pool, Qdisc, QueueId, SlotId,
};

/// A link's number: hosts' first, then each switch's ports in order.
pub type LinkId = u32;

/// The switch bit of a link's far end; below it the number of the switch or host.
const SWITCH: u32 = 1 << 31;

struct Link {
    flight: VecDeque<(Time, SlotId)>,
    /// The end of the transmission under way, or of the last.
    busy_until: Time,
    /// When the port may be asked again: now, not before a time, or ([`Time::NEVER`]) when
    /// something has changed.
    wake: Time,
    delay: Span,
    port: Box<dyn Qdisc>,
    to: u32,
    /// The port's number at the far end, as a crosspoint queue knows it.
    ingress: u16,
    up: bool,
    rank: u32,
    /// Packets queued.
    queued: u32,
    stats: Option<Box<QueueStats>>,
}

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
}

/// Links, switches, and the packets on them.
pub struct Network {
    links: Vec<Link>,
    /// The first link of each switch.
    first_port: Vec<LinkId>,
    route: Arc<dyn Route>,
    heap: LinkHeap,
    /// Links by rank.
    by_rank: Vec<LinkId>,
    /// Ports to ask again at a time (shapers).
    wakes: BinaryHeap<Reverse<(Time, LinkId)>>,
    arena: Arena,
    /// By slot: what routing looks at.
    hops: Vec<Hop>,
    /// By slot: what the packet carries.
    segments: Vec<Segment>,
    pool: Pool,
    rng: Stream,
    out: Outcome,
    packet_hops: u64,
    events: u64,
}

impl Network {
    /// Builds the links of a graph. `port` makes each one's port, `ranks` breaks ties:
    /// a permutation of the links.
    pub fn new(
        graph: &Graph,
        ranks: &[u32],
        rng: Stream,
        mut port: impl FnMut(&Cable) -> Box<dyn Qdisc>,
    ) -> Network {
        let Graph { hosts, switches, route } = graph;
        let route = route.clone();
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
        let mut by_rank = vec![0; cables.len()];
        let mut links = Vec::with_capacity(cables.len());
        for (id, cable) in cables.iter().enumerate() {
            let (to, ingress) = match cable.to {
                Node::Host(host) => (host, 0),
                Node::Switch(switch) => {
                    let ingress = arrived[switch as usize];
                    arrived[switch as usize] += 1;
                    (switch | SWITCH, ingress)
                }
            };
            by_rank[ranks[id] as usize] = id as LinkId;
            links.push(Link {
                flight: VecDeque::new(),
                busy_until: Time::ZERO,
                wake: Time::ZERO,
                delay: cable.delay,
                port: port(cable),
                to,
                ingress,
                up: true,
                rank: ranks[id],
                queued: 0,
                stats: None,
            });
        }
        Network {
            links,
            first_port,
            route,
            heap: LinkHeap::new(),
            by_rank,
            wakes: BinaryHeap::new(),
            arena: Arena::new(),
            hops: Vec::new(),
            segments: Vec::new(),
            pool: Pool::new(Bytes::MAX),
            rng,
            out: Outcome::default(),
            packet_hops: 0,
            events: 0,
        }
    }

    /// Measures a link's queues from now on.
    pub fn measure(&mut self, link: LinkId, stats: QueueStats) {
        self.links[link as usize].stats = Some(Box::new(stats));
    }

    /// A link's port.
    pub fn port(&self, link: LinkId) -> &dyn Qdisc {
        &*self.links[link as usize].port
    }

    /// What was measured of a link's queues.
    pub fn stats(&mut self, link: LinkId) -> Option<&mut QueueStats> {
        self.links[link as usize].stats.as_deref_mut()
    }

    /// The number of links.
    pub fn links(&self) -> LinkId {
        self.links.len() as LinkId
    }

    /// Packets transmitted by ports so far.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What a packet carries.
    #[inline]
    pub fn segment(&self, slot: SlotId) -> &Segment {
        &self.segments[slot.index()]
    }

    /// The packet in a slot.
    #[inline]
    pub fn packet(&self, slot: SlotId) -> &Packet {
        self.arena.packet(slot)
    }

    /// Gives back the slot of a packet that was delivered.
    #[inline]
    pub fn free(&mut self, slot: SlotId) {
        self.arena.free(slot);
    }

    /// Hands a packet to a host's network card.
    #[inline]
    pub fn send(&mut self, host: u32, packet: Packet, segment: Segment, hop: Hop, now: Time) {
        let slot = self.arena.alloc(packet);
        let i = slot.index();
        if i == self.segments.len() {
            self.segments.push(segment);
            self.hops.push(hop);
        } else {
            self.segments[i] = segment;
            self.hops[i] = hop;
        }
        self.enqueue(host, slot, now);
    }

    /// The time of the next event; [`Time::NEVER`] if nothing moves.
    #[inline]
    pub fn next(&self) -> Time {
        let arrival = self.heap.next();
        match self.wakes.peek() {
            Some(&Reverse((wake, _))) => arrival.min(wake),
            None => arrival,
        }
    }

    /// Moves packets until one reaches its host, or the next event is after `limit`.
    #[inline]
    pub fn advance(&mut self, limit: Time) -> Option<Delivery> {
        loop {
            let now = self.heap.next();
            if !self.wakes.is_empty() && self.wake_before(now, limit) {
                continue;
            }
            if now > limit || now == Time::NEVER {
                return None;
            }
            self.events += 1;
            let id = self.by_rank[self.heap.top_rank() as usize];
            self.settle(id, now);
            let link = &mut self.links[id as usize];
            let (_, slot) = link.flight.pop_front().expect("an active link has a packet in flight");
            match link.flight.front() {
                Some(&(at, _)) => self.heap.replace_top(at, link.rank),
                None => self.heap.pop(),
            }
            if link.to & SWITCH == 0 {
                return Some(Delivery { at: now, host: link.to, slot });
            }
            let switch = link.to & !SWITCH;
            self.arena.packet_mut(slot).ingress = link.ingress;
            let out = self.route.route(self.hops[slot.index()], switch);
            self.enqueue(self.first_port[switch as usize] + out, slot, now);
        }
    }

    /// Asks a shaped port again if that is due before the next arrival, or with it.
    #[cold]
    fn wake_before(&mut self, arrival: Time, limit: Time) -> bool {
        match self.wakes.peek() {
            Some(&Reverse((at, id))) if at <= arrival && at <= limit => {
                self.wakes.pop();
                self.events += 1;
                self.touch(id, at);
                true
            }
            _ => false,
        }
    }

    /// Settles a port and, if that put the first packet on an idle link, arms its event.
    pub fn touch(&mut self, id: LinkId, now: Time) {
        let was_idle = self.links[id as usize].flight.is_empty();
        self.settle(id, now);
        self.arm(id, was_idle, now);
    }

    /// Settles every port, so that probes see the state at `now`.
    pub fn touch_all(&mut self, now: Time) {
        for id in 0..self.links() {
            self.touch(id, now);
        }
    }

    /// Reads a settled port's queues for the series.
    pub fn sample(&self, id: LinkId, now: Time, samples: &mut Vec<QueueSample>) {
        let port = &self.links[id as usize].port;
        let state = port.state();
        for queue in 0..state.queues() as QueueId {
            let threshold = port.threshold_bytes(now, &self.arena, &self.pool, queue);
            samples.push(QueueSample {
                at: now,
                link: id,
                queue,
                bytes: state.queue_bytes(queue),
                threshold_bytes: threshold.unwrap_or(f64::NAN),
                round_time: port.round_time().unwrap_or(Span::ZERO),
            });
        }
    }

    /// Changes a link's rate; a transmission under way keeps its end.
    pub fn set_rate(&mut self, id: LinkId, rate: Rate, now: Time) {
        self.touch(id, now);
        let mut cx = Cx {
            now,
            arena: &mut self.arena,
            pool: &mut self.pool,
            rng: &mut self.rng,
            out: &mut self.out,
        };
        self.links[id as usize].port.set_rate(rate, &mut cx);
    }

    /// Takes a link down (its port sends no more) or up again.
    pub fn set_up(&mut self, id: LinkId, up: bool, now: Time) {
        self.touch(id, now);
        self.links[id as usize].up = up;
        self.links[id as usize].wake = if up { now } else { Time::NEVER };
        self.touch(id, now);
    }

    /// The departures of a port that are due by `now`, each at its own time.
    #[inline]
    fn settle(&mut self, id: LinkId, now: Time) {
        loop {
            let link = &self.links[id as usize];
            let at = link.busy_until.max(link.wake);
            if link.queued == 0 || at > now {
                return;
            }
            self.transmit(id, at);
        }
    }

    /// Puts the port's next packet on the wire at `now`, if it gives one.
    #[inline]
    fn transmit(&mut self, id: LinkId, now: Time) {
        let link = &mut self.links[id as usize];
        let mut cx = Cx {
            now,
            arena: &mut self.arena,
            pool: &mut self.pool,
            rng: &mut self.rng,
            out: &mut self.out,
        };
        match link.port.dequeue(&mut cx) {
            Dequeued::Sent { slot, queue, until, .. } => {
                self.packet_hops += 1;
                link.queued -= 1;
                link.busy_until = until;
                link.wake = Time::ZERO;
                link.flight.push_back((until + link.delay, slot));
                if let Some(stats) = &mut link.stats {
                    let state = link.port.state();
                    stats.change(now, queue, state.queue_bytes(queue), state.bytes());
                }
            }
            Dequeued::Empty => link.wake = Time::NEVER,
            Dequeued::NotBefore(time) => {
                link.wake = time;
                self.wakes.push(Reverse((time, id)));
            }
        }
        if !self.out.dropped.is_empty() {
            self.lose(id, now);
        }
    }

    /// An arrival at a port: settled up to now first, asked for a departure after if the
    /// line is free.
    #[inline]
    fn enqueue(&mut self, id: LinkId, slot: SlotId, now: Time) {
        let was_idle = self.links[id as usize].flight.is_empty();
        self.settle(id, now);
        let link = &mut self.links[id as usize];
        let mut cx = Cx {
            now,
            arena: &mut self.arena,
            pool: &mut self.pool,
            rng: &mut self.rng,
            out: &mut self.out,
        };
        match link.port.enqueue(slot, &mut cx) {
            Enqueued::In(queue) => {
                link.queued += 1;
                if let Some(stats) = &mut link.stats {
                    let state = link.port.state();
                    stats.change(now, queue, state.queue_bytes(queue), state.bytes());
                }
            }
            Enqueued::Dropped(..) => self.arena.free(slot),
        }
        if !self.out.dropped.is_empty() {
            self.lose(id, now);
        }
        let link = &self.links[id as usize];
        if link.busy_until <= now && link.queued > 0 && link.up {
            self.transmit(id, now);
        }
        self.arm(id, was_idle, now);
    }

    #[inline]
    fn arm(&mut self, id: LinkId, was_idle: bool, now: Time) {
        if was_idle {
            let link = &self.links[id as usize];
            if let Some(&(at, _)) = link.flight.front() {
                self.heap.push(at, link.rank, now);
            }
        }
    }

    /// Frees the queued packets that the last operation at a port dropped.
    #[cold]
    fn lose(&mut self, id: LinkId, now: Time) {
        let link = &mut self.links[id as usize];
        for dropped in self.out.dropped.drain(..) {
            link.queued -= 1;
            let queue: QueueId = dropped.queue;
            if let Some(stats) = &mut link.stats {
                let state = link.port.state();
                stats.change(now, queue, state.queue_bytes(queue), state.bytes());
            }
            self.arena.free(dropped.slot);
        }
    }
}
