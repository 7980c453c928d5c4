//! A link: a port, the line behind it, and the packets in flight on it.

use crate::capture::{Sent, Tap};
use crate::monitors::PortMonitor;
use crate::network::{LinkId, NOTICE};
use crate::notification::{NO_HOST, Notice};
use crate::queue_stats::QueueStats;
use crate::random::OnDemand;
use crate::tcp::Segment;
use crate::topology::{Hop, Route};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::select_unpredictable;
use std::sync::Arc;
use switchbed_qdisc::units::{Span, Time};
use switchbed_qdisc::{
    Arena, Cargo, Cx, Dequeued, Enqueued, Outcome, Passed, Pool, PortState, Qdisc, QueueId, SlotId,
};

/// A packet on its way, as its slot's cargo: beside these words its arrival at the far end of
/// the line that it is on, and the packet behind it there.
pub(crate) mod transit {
    use super::{Cargo, Hop, SlotId, Time};

    const DST: usize = 0;
    const KEY: usize = 1;
    /// The host that sent it.
    pub(crate) const FROM: usize = 2;
    /// The rank of the link that it takes from the far end, if that is a switch.
    pub(crate) const OUT: usize = 3;

    /// Of a packet that a host sends.
    pub(crate) fn new(hop: Hop, from: u32) -> Cargo {
        Cargo { at: Time::ZERO, next: SlotId::NONE, words: [hop.dst, hop.key, from, 0] }
    }

    /// What routing looks at.
    #[inline]
    pub(crate) fn hop(cargo: &Cargo) -> Hop {
        Hop { dst: cargo.words[DST], key: cargo.words[KEY] }
    }
}

/// What all links work with.
pub(crate) struct Yard {
    /// The packets.
    pub(crate) arena: Arena,
    /// By slot: what the packet carries.
    pub(crate) segments: Vec<Segment>,
    /// The memory that ports share: one a host's card, then one a switch.
    pub(crate) pools: Vec<Pool>,
    pub(crate) out: Outcome,
    /// Ports to ask again at a time (shapers).
    pub(crate) wakes: BinaryHeap<Reverse<(Time, LinkId)>>,
    /// Messages to sources that are to be sent, in the order of their times; each has a wake.
    pub(crate) notices: VecDeque<Notice>,
    /// Time from a sample to its message's first bit.
    pub(crate) notice_delay: Span,
    /// Packets transmitted.
    pub(crate) packet_hops: u64,
    pub(crate) ways: Ways,
    /// By rank: what few packets need of a link.
    pub(crate) asides: Vec<Aside>,
}

/// Where packets go.
pub(crate) struct Ways {
    pub(crate) route: Arc<dyn Route>,
    /// The first link of each switch, by number.
    pub(crate) first_port: Vec<LinkId>,
    /// Links' ranks by number.
    pub(crate) ranks: Box<[u32]>,
}

impl Ways {
    /// The rank of the link that a packet takes from a switch.
    #[inline]
    pub(crate) fn next(&self, switch: u32, hop: Hop) -> u32 {
        let out = self.route.route(hop, switch);
        self.ranks[(self.first_port[switch as usize] + out) as usize]
    }

    /// Hosts: their links come before those of the switches.
    pub(crate) fn hosts(&self) -> u32 {
        self.first_port.first().copied().unwrap_or_default()
    }
}

/// The switch bit of a link's far end; below it the number of the switch or host.
pub(crate) const SWITCH: u32 = 1 << 31;

impl Yard {
    #[inline]
    pub(crate) fn cx(&mut self, now: Time, pool: u32, rank: usize) -> Cx<'_> {
        Cx {
            now,
            arena: &mut self.arena,
            pool: &mut self.pools[pool as usize],
            rng: &mut self.asides[rank].rng,
            out: &mut self.out,
        }
    }

    /// Takes note of the message about a packet that was stored at a node's port.
    #[cold]
    fn notify(&mut self, node: u32, slot: SlotId, now: Time) {
        let to = self.arena.cargo(slot).words[transit::FROM];
        for feedback in self.out.feedback.drain(..).filter(|_| to != NO_HOST) {
            self.notices.push_back(Notice { node, to, feedback });
            self.wakes.push(Reverse((now + self.notice_delay, NOTICE)));
        }
    }
}

/// What is told of a port's doings.
#[derive(Default)]
pub(crate) struct Watch {
    /// Its queues' lengths.
    pub(crate) stats: Option<QueueStats>,
    pub(crate) monitor: Option<Box<PortMonitor>>,
    /// What it sends.
    pub(crate) tap: Option<Tap>,
}

impl Watch {
    /// Out of line, so that a link which nobody watches does not pay for it.
    #[inline(never)]
    fn count(&mut self, queue: QueueId, now: Time, state: &PortState, busy_until: Time) {
        let bytes = state.queue_bytes(queue);
        if let Some(stats) = &mut self.stats {
            stats.change(now, queue, bytes, state.bytes());
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.change(now, queue, bytes, busy_until);
        }
    }
}

/// What of a link few packets need.
pub(crate) struct Aside {
    id: LinkId,
    up: bool,
    /// What its port draws: nobody else's draws shift it.
    rng: OnDemand,
    /// What is written down of it.
    pub(crate) watch: Option<Box<Watch>>,
}

impl Aside {
    /// Of link number `id`, which is up and which nobody watches.
    pub(crate) fn new(id: LinkId, seed: u64) -> Aside {
        Aside { id, up: true, rng: OnDemand::new(seed, "ports", id), watch: None }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.up
    }
}

/// What every packet needs of a link, in one cache line. Its rank is its place among the others.
#[repr(align(64))]
pub(crate) struct Link {
    /// The end of the transmission under way, or of the last.
    busy_until: Time,
    /// When the port may be asked again: now, not before a time, or ([`Time::NEVER`]) when
    /// something has changed.
    wake: Time,
    delay: Span,
    pub(crate) port: Box<dyn Qdisc>,
    /// The packets in flight, in the order of their arrival.
    first: SlotId,
    last: SlotId,
    /// Packets queued.
    queued: u32,
    pub(crate) to: u32,
    /// Its node's pool.
    pub(crate) pool: u32,
    /// The port's number at the far end, as a crosspoint queue knows it.
    pub(crate) ingress: u16,
    /// It is up, and nobody watches it.
    plain: bool,
    /// The scheme reads the pool: its switch is settled as one.
    pub(crate) reads_pool: bool,
}

const _: () = assert!(size_of::<Link>() == 64);

impl Link {
    /// An idle link to a node, which knows it as its port `ingress`.
    pub(crate) fn new(
        (to, ingress): (u32, u16),
        pool: u32,
        delay: Span,
        port: Box<dyn Qdisc>,
    ) -> Link {
        Link {
            busy_until: Time::ZERO,
            wake: Time::ZERO,
            delay,
            reads_pool: port.needs().pool,
            port,
            first: SlotId::NONE,
            last: SlotId::NONE,
            queued: 0,
            to,
            pool,
            ingress,
            plain: true,
        }
    }

    /// To be called when what is aside has changed.
    pub(crate) fn look_aside(&mut self, aside: &Aside) {
        self.plain = aside.up && aside.watch.is_none();
    }

    /// The departures that are due by `now`, each at its own time.
    #[inline]
    pub(crate) fn settle(&mut self, yard: &mut Yard, rank: usize, now: Time) {
        while self.due() <= now {
            self.transmit(yard, rank, self.due());
        }
    }

    /// When the next departure is due; [`Time::NEVER`] without packets.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        select_unpredictable(self.queued == 0, Time::NEVER, self.busy_until.max(self.wake))
    }

    /// An arrival at a settled port, which is asked for a departure after it if the line
    /// is free.
    #[inline]
    pub(crate) fn enqueue(&mut self, yard: &mut Yard, rank: usize, slot: SlotId, now: Time) {
        if self.queued == 0 && self.busy_until <= now && self.plain {
            match self.port.pass(slot, &mut yard.cx(now, self.pool, rank)) {
                Passed::Sent { until, .. } => self.sent(yard, slot, until),
                Passed::Dropped(..) => yard.arena.free(slot),
                Passed::Stored(_) => {
                    self.queued = 1;
                    self.transmit(yard, rank, now);
                }
            }
            if !yard.out.feedback.is_empty() {
                yard.notify(self.pool, slot, now);
            }
            return;
        }
        match self.port.enqueue(slot, &mut yard.cx(now, self.pool, rank)) {
            Enqueued::In(queue) => {
                self.queued += 1;
                self.count(yard, rank, queue, now);
            }
            Enqueued::Dropped(..) => yard.arena.free(slot),
        }
        if !yard.out.dropped.is_empty() {
            self.lose(yard, rank, now);
        }
        if !yard.out.feedback.is_empty() {
            yard.notify(self.pool, slot, now);
        }
        if self.busy_until <= now && self.queued > 0 && (self.plain || yard.asides[rank].up) {
            self.transmit(yard, rank, now);
        }
    }

    /// Takes the link down (its port sends no more) or up again.
    pub(crate) fn set_up(&mut self, aside: &mut Aside, up: bool, now: Time) {
        aside.up = up;
        self.look_aside(aside);
        self.wake = if up { now } else { Time::NEVER };
    }

    /// Puts the port's next packet on the wire at `now`, if it gives one.
    #[inline]
    pub(crate) fn transmit(&mut self, yard: &mut Yard, rank: usize, now: Time) {
        match self.port.dequeue(&mut yard.cx(now, self.pool, rank)) {
            Dequeued::Sent { slot, queue, until, .. } => {
                self.queued -= 1;
                self.sent(yard, slot, until);
                if !self.plain {
                    self.note(yard, rank, slot, queue, now);
                }
            }
            Dequeued::Empty => self.wake = Time::NEVER,
            Dequeued::NotBefore(time) => {
                self.wake = time;
                yard.wakes.push(Reverse((time, yard.asides[rank].id)));
            }
        }
        if !yard.out.dropped.is_empty() {
            self.lose(yard, rank, now);
        }
    }

    /// The packet is on the wire until `until`.
    #[inline(always)]
    fn sent(&mut self, yard: &mut Yard, slot: SlotId, until: Time) {
        yard.packet_hops += 1;
        self.busy_until = until;
        self.wake = Time::ZERO;
        // Without a branch: whether a packet is in flight, nothing foretells.
        let idle = self.first.is_none();
        let before = select_unpredictable(idle, slot, self.last);
        yard.arena.cargo_mut(before).next = slot;
        let cargo = yard.arena.cargo_mut(slot);
        cargo.at = until + self.delay;
        cargo.next = SlotId::NONE;
        if self.to & SWITCH != 0 {
            // Known before it is needed: the arrival need not wait for it.
            cargo.words[transit::OUT] = yard.ways.next(self.to & !SWITCH, transit::hop(cargo));
        }
        self.first = select_unpredictable(idle, slot, self.first);
        self.last = slot;
    }

    /// Whether no packet is in flight.
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.first.is_none()
    }

    /// When the first packet in flight arrives; [`Time::NEVER`] without one.
    #[inline]
    pub(crate) fn arrival(&self, yard: &Yard) -> Time {
        // The last packet stands in for none, so that there is no branch.
        let any = select_unpredictable(self.idle(), self.last, self.first);
        select_unpredictable(self.idle(), Time::NEVER, yard.arena.cargo(any).at)
    }

    /// Takes the first packet in flight, which there must be, off the line.
    #[inline]
    pub(crate) fn arrive(&mut self, yard: &Yard) -> SlotId {
        let slot = self.first;
        self.first = yard.arena.cargo(slot).next;
        slot
    }

    /// Writes down that a packet begins to be sent.
    #[cold]
    fn note(&self, yard: &mut Yard, rank: usize, slot: SlotId, queue: QueueId, now: Time) {
        self.count(yard, rank, queue, now);
        let watch = yard.asides[rank].watch.as_mut();
        let Some(tap) = watch.and_then(|watch| watch.tap.as_mut()) else { return };
        let cargo = yard.arena.cargo(slot);
        let from = cargo.words[transit::FROM];
        tap.note(Sent {
            left: now,
            arrives: cargo.at,
            packet: *yard.arena.packet(slot),
            segment: yard.segments[slot.index()],
            from: (from != NO_HOST).then_some(from),
            to: transit::hop(cargo).dst,
        });
    }

    /// Tells those who watch of a change.
    #[inline(always)]
    fn count(&self, yard: &mut Yard, rank: usize, queue: QueueId, now: Time) {
        if !self.plain
            && let Some(watch) = &mut yard.asides[rank].watch
        {
            watch.count(queue, now, self.port.state(), self.busy_until);
        }
    }

    /// Frees the queued packets that the last operation dropped.
    #[cold]
    fn lose(&mut self, yard: &mut Yard, rank: usize, now: Time) {
        for i in 0..yard.out.dropped.len() {
            let dropped = yard.out.dropped[i];
            self.queued -= 1;
            self.count(yard, rank, dropped.queue, now);
            yard.arena.free(dropped.slot);
        }
        yard.out.dropped.clear();
    }
}
