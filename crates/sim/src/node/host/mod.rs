//! A host: the halves of its connections, the flows on them, and their timers.
//!
//! | file | what |
//! | --- | --- |
//! | `halves` | a connection's half at this host, and the table of them |
//! | `open` | which connection carries a flow |
//! | `deliver` | what arrives: to its half, and what follows from that |
//! | `reception` | what happens to a frame before that |
//! | `card` | a card that asks for packets, where rates are limited |
//! | `links` | what cards ask connections for; hosts with several links |
//! | `probes` | sources of probes |
//! | `program` | when it sends: at a time, or once what a message waits for is done |
//! | `puller`, `share` | credit that receivers give, and for which part of the line |
//! | `timers` | what it wants to be woken for |
//! | `watched` | what is noted of senders at work, where somebody asks |

mod card;
mod deliver;
mod halves;
mod links;
mod open;
mod probes;
mod program;
mod puller;
mod reception;
mod settings;
mod share;
mod timers;
mod watched;

pub(crate) use card::{Card, Polled};
pub use probes::ProbeSample;
pub(crate) use program::{Did, Programs, Round};
pub(crate) use settings::{Carrier, Settings};

use crate::engine::prefetch::prefetch_lines;
use crate::flow::{ENDLESS, FlowRecord};
use crate::ids::{ConnId, HostId, Rank};
use crate::node::notice::{What, Written};
use crate::observe::flow_series::{SenderChange, SenderState};
use crate::observe::underflow::Unsent;
use crate::packet::{Body, Label, Payload};
use crate::topology::Hop;
use crate::transport::Half;
use halves::{Expected, ReceiveHalf, Running, SendHalf, Table, append};
use links::Links;
use open::Shared;
use probes::Probes;
use program::{Part, is_ranks};
use puller::Puller;
use reception::Reception;
use std::collections::{BTreeMap, HashMap, VecDeque};
use switchbed_qdisc::fq::Terms;
use switchbed_qdisc::{FlowId, Packet};
use switchbed_scenario::traffic::FlowStart;
use switchbed_units::{Bytes, Rate, Time};
use timers::{Timer, Timers};
use watched::Watched;

/// Where a packet goes, and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Toward {
    pub(crate) hop: Hop,
    pub(crate) label: Label,
}

impl Toward {
    /// Of a packet of no transport.
    fn loose(hop: Hop) -> Toward {
        Toward { hop, label: Label::NONE }
    }
}

/// The way out of a host: its card's port, and word to other hosts.
pub(crate) trait Net {
    /// A packet for the card's port.
    fn send(&mut self, packet: Packet, payload: Payload, toward: Toward, now: Time);
    /// Sends a packet whose sender sets terms for its departure.
    fn send_on(
        &mut self,
        packet: Packet,
        payload: Payload,
        toward: Toward,
        terms: Terms,
        now: Time,
    );
    /// The link that a packet leaves by.
    #[inline(always)]
    fn exit(&mut self, hop: Hop, bytes: u32, now: Time) -> usize {
        let _ = (hop, bytes, now);
        0
    }
    /// Sends a packet by a link that was chosen.
    #[inline(always)]
    fn send_by(
        &mut self,
        nth: usize,
        (packet, payload, toward): (Packet, Payload, Toward),
        terms: Option<Terms>,
        now: Time,
    ) {
        let _ = nth;
        match terms {
            Some(terms) => self.send_on(packet, payload, toward, terms, now),
            None => self.send(packet, payload, toward, now),
        }
    }
    /// Whether packets wait for a link's line.
    fn waits(&mut self, nth: usize, now: Time) -> bool {
        let _ = (nth, now);
        false
    }
    /// When a link's line is next without a packet of the port's; [`Time::NEVER`] while it is down.
    fn line_free(&mut self, nth: usize, now: Time) -> Time;
    /// When a line is free, or has something to send again; [`Time::NEVER`] if none has
    /// anything.
    fn line_next(&mut self, now: Time) -> Time;
    /// Whether the card holds so many packets that it takes none which nothing else bounds.
    fn full(&mut self, now: Time) -> bool;
    /// The next data packet that is no longer in the card, of those that nobody has heard of.
    fn left(&mut self, now: Time) -> Option<Left>;
    /// A class of a link's port is paused for so many quanta: from when until when.
    fn pause(&mut self, nth: u16, class: u8, quanta: u16, now: Time) -> Option<(Time, Time)>;
    /// Word for another host, of a connection.
    fn post(&mut self, to: HostId, flow: FlowId, what: What, now: Time);
}

/// A data packet is no longer in its host's card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// When its last bit was sent, or it was dropped.
    pub(crate) at: Time,
    /// Connection at the sender.
    pub(crate) conn: ConnId,
    pub(crate) flow: FlowId,
    pub(crate) bytes: u32,
}

/// A flow that a host sends.
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) record: FlowRecord,
    pub(crate) hop: Hop,
    /// The receiving host, and the connection.
    pub(crate) to: HostId,
    pub(crate) flow: FlowId,
    /// The stream offsets of its first byte and after its last.
    from: u64,
    pub(crate) until: u64,
    acked: bool,
}

impl Sent {
    /// Returns its size.
    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(self.until - self.from)
    }

    /// Returns its size, if it is still under way when all of that has arrived.
    pub(crate) fn all(&self) -> Option<u64> {
        self.acked.then_some(self.until - self.from)
    }
}

/// Records that hosts leave for the run.
#[derive(Debug)]
pub(crate) struct Log {
    /// Flows that ended, by their numbers in the run.
    pub(crate) finished: Vec<(u64, FlowRecord)>,
    /// Flows that have started or are to, sources of probes with an end of their own, and hosts' parts of
    /// programs, that are not through.
    pub(crate) running: u64,
    /// When the last of them was.
    pub(crate) last: Time,
    /// Sending halves that are open.
    pub(crate) open: u64,
    /// Connections that have something to send from now on, or no longer, where that is asked.
    pub(crate) unsent: Vec<Unsent>,
    /// Changes of senders that are followed.
    pub(crate) changed: Vec<SenderChange>,
    /// Repetitions of programs that ranks have done.
    pub(crate) rounds: Vec<Round>,
    /// Operations of programs that ranks have done, where that is asked.
    pub(crate) operations: Vec<Did>,
    /// Packets that came beyond a gap since the warm-up.
    pub(crate) early: Early,
}

/// Data packets that arrived while bytes before them were missing: overtaken, or behind a lost one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Early {
    pub(crate) packets: u64,
    /// The most bytes that were missing before one.
    pub(crate) most: u64,
}

impl Early {
    #[cold]
    fn count(&mut self, gap: u64) {
        self.packets += 1;
        self.most = self.most.max(gap);
    }

    /// Both together.
    pub(crate) fn with(self, other: Early) -> Early {
        Early { packets: self.packets + other.packets, most: self.most.max(other.most) }
    }
}

impl Log {
    pub(crate) fn new() -> Log {
        Log {
            finished: Vec::new(),
            running: 0,
            last: Time::ZERO,
            open: 0,
            unsent: Vec::new(),
            changed: Vec::new(),
            rounds: Vec::new(),
            operations: Vec::new(),
            early: Early::default(),
        }
    }

    /// A flow is through, or a source of probes.
    fn through(&mut self, now: Time) {
        self.running -= 1;
        self.last = self.last.max(now);
    }
}

/// Context of a host: the parts of the network that it works with.
pub(crate) struct Cx<'a, N> {
    pub(crate) settings: &'a Settings,
    pub(crate) net: &'a mut N,
    pub(crate) log: &'a mut Log,
}

/// A host; first what every packet needs, in two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Host {
    id: HostId,
    /// Flows end with the ACK of their last byte.
    ends_acked: bool,
    card: Option<Box<Card>>,
    reception: Option<Box<Reception>>,
    senders: Table<SendHalf>,
    receivers: Table<ReceiveHalf>,
    timers: Timers,
    /// The card's wake-up pending.
    card_armed: Time,
    /// Where the receiving halves of flows are, for packets that do not say.
    receiving: HashMap<FlowId, ConnId>,
    /// Where the sending halves are, for a card's messages.
    sources: HashMap<FlowId, ConnId>,
    /// The connections that flows share.
    shared: BTreeMap<Shared, Vec<ConnId>>,
    probes: Vec<Probes>,
    parts: Vec<Part>,
    /// Payload that was taken, by class, where that is asked; requests not counted.
    taken: Vec<u64>,
    /// Knowledge of its senders, where that is asked.
    watched: Option<Box<Watched>>,
    /// The wake-up pending for what leaves the card, where connections hear of that.
    left_armed: Time,
    /// Queue pairs whose answers wait for space in the card, each once.
    answering: VecDeque<ConnId>,
    /// The pacer of credit, where receivers give it.
    puller: Option<Box<Puller>>,
    /// Cards of the other links, where it has several.
    links: Option<Box<Links>>,
}

const _: () = assert!(std::mem::offset_of!(Host, timers) <= 120, "the next timer is in line 2");

impl Host {
    /// A host whose lines have these rates and ranks.
    pub(crate) fn new(
        id: HostId,
        lines: &[(Rate, Rank)],
        settings: &Settings,
        log: &mut Log,
    ) -> Host {
        let (rate, rank) = lines.first().copied().unwrap_or((Rate::from_bps(1), Rank(0)));
        let mut host = Host {
            id,
            senders: Table::default(),
            receivers: Table::default(),
            receiving: HashMap::new(),
            sources: HashMap::new(),
            shared: BTreeMap::new(),
            timers: Timers::new(),
            card_armed: Time::NEVER,
            card: settings.has_cards().then(|| Box::new(Card::new(rank, rate, settings.seed))),
            reception: settings
                .reception(id)
                .map(|own| Box::new(Reception::new(own, rank, settings.seed))),
            ends_acked: settings.ends_acked(),
            probes: Vec::new(),
            parts: Vec::new(),
            taken: Vec::new(),
            watched: None,
            left_armed: Time::NEVER,
            answering: VecDeque::new(),
            puller: Puller::of(rate, settings).map(Box::new),
            links: Links::of(lines, settings),
        };
        host.share_credit();
        let own = settings.probes.iter().enumerate().filter(|(_, source)| source.src == id);
        for (number, source) in own {
            // A source without an end must not keep the run going.
            log.running += u64::from(source.stop != Time::NEVER);
            host.wake(source.start, Timer::Probe(host.probes.len() as u32));
            host.probes.push(Probes::new(number as u32, settings.probe_samples));
        }
        host.join(&settings.programs, settings.traces, &mut log.running);
        host
    }

    /// Returns the host's number.
    #[inline]
    pub(crate) fn id(&self) -> HostId {
        self.id
    }

    /// Fetches the half that a packet is for.
    #[inline]
    pub(crate) fn fetch(&self, payload: &Payload) {
        let Some(to) = payload.to.get() else { return };
        if crate::transport::is_data(&payload.body) {
            if let Some(half) = self.receivers.get(to) {
                prefetch_lines(half, 2);
            }
        } else if let Some(half) = self.senders.get(to) {
            prefetch_lines(half, 4);
        }
    }

    /// When it is to be woken; [`Time::NEVER`] if for nothing.
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        self.timers.next()
    }

    fn wake(&mut self, at: Time, timer: Timer) {
        if self.timers.is_full() {
            self.sweep_timers();
        }
        self.timers.push(at, timer);
    }

    /// Drops timers of connections that have ended or have set another.
    #[cold]
    fn sweep_timers(&mut self) {
        let Host { senders, receivers, timers, .. } = self;
        timers.sweep(|at, timer| match *timer {
            Timer::Sender { conn, flow } => {
                let half = &senders[conn];
                half.open && half.flow == flow && half.armed == at
            }
            Timer::Receiver { conn, flow } => {
                let half = &receivers[conn];
                half.open && half.flow == flow && half.armed == at
            }
            _ => true,
        });
    }

    /// Changes the rate of one of its lines from now on.
    pub(crate) fn set_rate(&mut self, nth: usize, rate: Rate) {
        if let Some(card) = self.card_of(nth) {
            card.set_rate(rate);
        }
        if let (0, Some(puller)) = (nth, &mut self.puller) {
            puller.line = rate;
        }
        self.set_line(nth, rate);
    }

    /// Takes one of its lines down, or up again.
    pub(crate) fn set_up(&mut self, nth: usize, up: bool, settings: &Settings, now: Time) {
        if let Some(card) = self.card_of(nth) {
            card.set_up(up, now);
            self.arm_card(now);
            self.hold_senders(settings, now);
        }
        if up && !self.answering.is_empty() {
            self.arm_card_at(now);
        }
        if settings.tells_left {
            self.arm_left(now);
        }
    }

    /// Ends the pauses of one of its lines, which has gone down.
    pub(crate) fn unpause(&mut self, nth: usize, now: Time) {
        if let Some(card) = self.card_of(nth) {
            card.unpause(now);
            self.arm_card(now);
        }
    }

    /// A flow starts here, or the request for it.
    fn start<N: Net>(&mut self, flow: &FlowStart, request: Option<Bytes>, cx: &mut Cx<N>) {
        let asks = request.is_some();
        // Flows of one connection share it: a handshake only where it is new.
        let (conn, handshake) = self.connection(flow, asks, cx);
        let now = flow.start;
        let half = &mut self.senders[conn];
        if cx.settings.ecmp_by_row {
            let [data, acks] = cx.settings.keys(flow.row, 0);
            half.keys = if asks { [acks, data] } else { [data, acks] };
        }
        if let Some(path) = flow.path {
            // A flow list's path pins the way of the data alone.
            half.keys[0] = Hop::PINNED | path;
        }
        // A request's ACKs go the way of the answer.
        let key = half.keys[usize::from(asks)];
        let record = FlowRecord { handshake, key, request, ..FlowRecord::starting(flow) };
        if let Some(stop) = flow.stop {
            self.wake(stop, Timer::Stop { conn, number: flow.row });
        }
        self.write(conn, flow.row, record, request.or(flow.size), cx, now);
    }

    /// Writes a flow, or the request for it, to a connection.
    fn write<N: Net>(
        &mut self,
        conn: ConnId,
        number: u64,
        record: FlowRecord,
        size: Option<Bytes>,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        let half = &mut self.senders[conn];
        let size = size.map_or(ENDLESS, Bytes::get);
        let from = half.sending.written();
        let until = from + size;
        // A connection in use keeps its class until its flows are through.
        if half.running.is_empty() {
            half.class = record.class;
        }
        let (before, waited) = (half.sending.counters(), half.sending.waits());
        append(&mut half.running, Running { record, number, from, until, before, waited });
        half.set_due();
        half.sending.write(cx.settings.transport(half.kind), size);
        let written = Written {
            number,
            from,
            until,
            class: record.class,
            key: half.keys[1],
            asks: half.asks.then(|| Box::new(record)),
        };
        cx.net.post(half.dst, half.flow, What::Written(written), now);
        self.pump_sender(conn, cx, now);
    }

    /// An endless flow sends nothing more from now on; it ends when what is on its way is there.
    fn stop<N: Net>(&mut self, conn: ConnId, number: u64, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.senders[conn];
        // The connection may have closed since, and its number belong to another flow.
        // A later flow on the same connection would be cut short.
        if !half.open || half.running.back().is_none_or(|flow| flow.number != number) {
            return;
        }
        let until = half.sending.truncate(cx.settings.transport(half.kind));
        if let Some(flow) = half.running.back_mut() {
            flow.until = until;
        }
        half.set_due();
        cx.net.post(half.dst, half.flow, What::Stopped { until, at: now }, now);
        self.note_unsent(conn, cx, now);
        self.finish(conn, cx, now);
    }

    /// The earliest timer, which is due, fires.
    #[cold]
    pub(crate) fn fire<N: Net>(&mut self, cx: &mut Cx<N>) {
        let Some((now, timer)) = self.timers.pop() else { return };
        match timer {
            Timer::Stop { conn, number } => self.stop(conn, number, cx, now),
            Timer::Sender { conn, flow } => {
                let half = &mut self.senders[conn];
                // A timer cannot be cancelled: one that has been replaced finds another time in
                // `armed`.
                if half.open && half.flow == flow && half.armed == now {
                    // Fired: the next one may be set for any time.
                    half.armed = Time::NEVER;
                    half.sending.on_timeout(cx.settings.transport(half.kind), now);
                    if cx.settings.plb {
                        half.repath(cx.settings, now);
                    }
                    if half.sending.failed() {
                        return self.fail(conn, cx, now);
                    }
                    self.pump_sender(conn, cx, now);
                }
            }
            Timer::Receiver { conn, flow } => {
                let half = &mut self.receivers[conn];
                // As above: the number may be another connection's, or the timer replaced.
                if half.open && half.flow == flow && half.armed == now {
                    half.armed = Time::NEVER;
                    half.receiving.on_timeout(cx.settings.transport(half.kind), now);
                    self.pump_receiver(conn, cx, now);
                }
            }
            Timer::Reception => self.reception_due(cx, now),
            Timer::Processed => self.processed(cx, now),
            Timer::Probe(nth) => self.probe(nth, cx, now),
            Timer::Card => self.card_due(cx, now),
            Timer::Pull => self.pull_due(cx, now),
            Timer::Left => self.left_due(cx, now),
            Timer::Begin(nth) => self.begin(nth, cx, now),
            Timer::Calculated { part, number } => self.calculated(part, number, cx, now),
        }
    }

    fn probe<N: Net>(&mut self, nth: u32, cx: &mut Cx<N>, now: Time) {
        let probes = &mut self.probes[nth as usize];
        let source = &cx.settings.probes[probes.source() as usize];
        match probes.send(source, now) {
            Some((packet, payload, hop, again)) => {
                // A full card loses the probe, and the next one still comes in time.
                if !cx.net.full(now) {
                    cx.net.send(packet, payload, Toward::loose(hop), now);
                }
                self.wake(again, Timer::Probe(nth));
            }
            None => cx.log.through(now),
        }
    }

    /// Queue pairs whose answers wait hand them over while the card has space.
    fn answer<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        while !cx.net.full(now)
            && let Some(conn) = self.answering.pop_front()
        {
            // The connection's number may be another's by now.
            if std::mem::take(&mut self.receivers[conn].answers) {
                self.pump_receiver(conn, cx, now);
            }
        }
        self.watch_space(cx, now);
    }

    /// Sees to it that answers which wait are handed over when the card has space.
    fn watch_space<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if !self.answering.is_empty() {
            let next = cx.net.line_next(now);
            self.arm_card_at(next);
        }
    }

    /// A queue pair's answer waits for space in the card: there it is one, whatever it answers (InfiniBand 9.7.5.1.2,
    /// coalesced acknowledge messages).
    #[cold]
    fn hold_answer<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.receivers[conn];
        if half.receiving.answers() && !std::mem::replace(&mut half.answers, true) {
            self.answering.push_back(conn);
            self.watch_space(cx, now);
        }
    }

    #[inline]
    fn pump_sender<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.senders[conn];
        let kind = cx.settings.transport(half.kind);
        let limited = match &self.card {
            Some(card) => half.joined || card.asks_all || card.limited(half.group),
            None => false,
        };
        if limited {
            let wants = half.sending.pace(kind).is_none_or(|(_, more)| more);
            if wants
                && !std::mem::replace(&mut half.joined, true)
                && let Some(card) = &mut self.card
            {
                if self.links.is_some() {
                    self.join_one(conn, cx, now);
                } else {
                    card.join(half.group, conn, now);
                }
                self.arm_card(now);
                if self.is_cut_off() {
                    self.senders[conn].sending.hold(kind, true, now);
                }
            }
        } else if kind.shapes() {
            self.pump_shaped(conn, cx, now);
        } else {
            while let Some(out) = half.sending.poll_transmit(kind, now) {
                let (packet, payload, toward) = half.packet(&out, conn);
                cx.net.send(packet, payload, toward, now);
            }
        }
        self.arm_sender(conn);
        if cx.settings.watches_senders {
            self.note_sender(conn, cx, now);
        }
    }

    /// Lets a sender send whose packets have terms.
    #[cold]
    fn pump_shaped<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.senders[conn];
        let kind = cx.settings.transport(half.kind);
        while let Some(out) = half.sending.poll_transmit(kind, now) {
            let (packet, payload, toward) = half.packet(&out, conn);
            match half.sending.terms() {
                Some(terms) => cx.net.send_on(packet, payload, toward, terms, now),
                None => cx.net.send(packet, payload, toward, now),
            }
        }
        self.arm_pace(conn);
        self.watch_line(cx, now);
    }

    /// Sees to it that a sender is woken when its next packet may leave.
    fn arm_pace(&mut self, conn: ConnId) {
        let half = &mut self.senders[conn];
        let until = half.sending.paced_until();
        // Only sooner: a later timer finds nothing to do and sets the next.
        if until < half.armed {
            half.armed = until;
            let timer = Timer::Sender { conn, flow: half.flow };
            self.wake(until, timer);
        }
    }

    /// Sees to it that connections hear of what leaves the card.
    fn watch_line<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if cx.settings.tells_left {
            let next = cx.net.line_next(now);
            self.arm_left(next);
        }
    }

    fn arm_left(&mut self, at: Time) {
        if at < self.left_armed {
            self.left_armed = at;
            self.wake(at, Timer::Left);
        }
    }

    /// Packets have left the card: their connections may send on.
    fn left_due<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if self.left_armed != now {
            return;
        }
        self.left_armed = Time::NEVER;
        while let Some(left) = cx.net.left(now) {
            let Some(half) = self.senders.get_mut(left.conn) else { continue };
            if half.flow == left.flow && half.open && half.sending.left_card(left.bytes) {
                self.pump_sender(left.conn, cx, now);
            }
        }
        self.watch_line(cx, now);
    }

    /// Sees to it that a sender is woken when it is due; a wake-up that is too early is harmless.
    #[inline]
    fn arm_sender(&mut self, conn: ConnId) {
        let half = &mut self.senders[conn];
        if let Some(due) = half.sending.next_timeout()
            && due < half.armed
        {
            half.armed = due;
            let timer = Timer::Sender { conn, flow: half.flow };
            self.wake(due, timer);
        }
    }

    #[inline]
    fn pump_receiver<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.receivers[conn];
        let Carrier { transport, ack_class_follows, .. } = cx.settings.kind(half.kind);
        let class = if *ack_class_follows { half.class } else { 0 };
        // Queue pairs' answers wait for space in the card, TCP's are lost there as data are.
        let waits = half.receiving.is_pair() && cx.net.full(now);
        while !waits && let Some(out) = half.receiving.poll_transmit(transport, now) {
            let class = match &out.body {
                // A queue pair's answers are of its class, but for those that have one of their own.
                Body::Rdma(_) => out.class.unwrap_or(half.class),
                _ => class,
            };
            let (flow, len_bytes, ecn) = (half.flow, out.len_bytes, out.ecn);
            let packet = Packet { flow, len_bytes, ingress: 0, class, ecn };
            let payload = Payload { to: half.peer, from: conn.into(), body: out.body };
            let hop = open::sprayed(Hop { dst: half.src, key: half.key }, out.entropy);
            let toward = Toward { hop, label: Label::answer(half.kind) };
            cx.net.send(packet, payload, toward, now);
        }
        if let Some(due) = half.receiving.next_timeout()
            && due < half.armed
        {
            half.armed = due;
            let timer = Timer::Receiver { conn, flow: half.flow };
            self.wake(due, timer);
        }
        if waits {
            self.hold_answer(conn, cx, now);
        }
    }

    /// Ends flows that are acknowledged; closes a connection that has nothing more to do.
    #[inline]
    fn finish<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &self.senders[conn];
        // Asked first by one comparison: most ACKs end no flow.
        if half.sending.acked() >= half.due && !half.asks {
            self.end_acked(conn, cx, now);
        }
        let half = &mut self.senders[conn];
        if half.fresh && half.open && half.running.is_empty() && !half.joined {
            let through = half.sending.idle() || half.sending.failed();
            if through {
                self.close(conn, cx, now);
            }
        }
    }

    /// Ends the flows whose last byte is acknowledged, where that ends them.
    fn end_acked<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        loop {
            let half = &mut self.senders[conn];
            let Some(flow) = half.running.front() else { return };
            let (number, ends) = (flow.number, half.sending.acked() >= flow.until);
            // A schedule's operations end with the ACK, whatever the setting says of other flows.
            if !ends || !cx.settings.ends_acked() && !is_ranks(number) {
                return;
            }
            let received = Bytes::new(flow.until - flow.from);
            let record = FlowRecord { end: Some(now), received, ..half.record(flow) };
            half.running.pop_front();
            half.set_due();
            through(half.dst, half.flow, number, record, cx, now);
            if is_ranks(number) {
                self.gave(number, cx, now);
            }
        }
    }

    /// Forgets what was received so far (the warm-up is over).
    pub(crate) fn restart(&mut self, now: Time) {
        self.probes.iter_mut().for_each(|probes| probes.restart(now));
        self.receivers.iter_mut().for_each(ReceiveHalf::restart);
    }

    /// The flows that it still waits for, requests not.
    fn expected(&self) -> impl Iterator<Item = (&ReceiveHalf, &Expected)> {
        let open = self.receivers.iter().filter(|half| half.open);
        let flows = open.flat_map(|half| half.expected.iter().map(move |flow| (half, flow)));
        // Requests are no flows of the tables.
        flows.filter(|(_, flow)| flow.asks.is_none())
    }

    /// Flows of which something came before now, and how much: what is to be taken off what
    /// they get in all.
    pub(crate) fn arriving(&self) -> impl Iterator<Item = (u64, Bytes)> {
        self.expected().map(|(half, flow)| (flow.number, Bytes::new(half.taken(flow))))
    }

    /// Bytes that unfinished flows to this host have brought since the warm-up.
    pub(crate) fn received(&self) -> impl Iterator<Item = (u64, Bytes)> {
        self.expected().map(|(half, flow)| (flow.number, half.received(flow)))
    }

    /// The records of flows that started here, or whose requests did, and whose end it has not
    /// seen; what their receivers took apart.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (u64, FlowRecord)> {
        let halves = self.senders.iter().filter(|half| half.open);
        halves.flat_map(|half| {
            // A flow that answers a request is counted at the one who asked.
            let starts = move |flow: &&Running| half.asks || flow.record.request.is_none();
            half.running.iter().filter(starts).map(|flow| (flow.number, half.record(flow)))
        })
    }

    /// Counters so far of the flows that it sends, by number. Requests and answers are apart.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u64, FlowRecord)> {
        let halves = self.senders.iter().filter(|half| half.open);
        halves.flat_map(|half| half.running.iter().map(|flow| (flow.number, half.record(flow))))
    }

    /// The flows that it sends, answers too and requests not.
    pub(crate) fn sending(&self) -> impl Iterator<Item = Sent> {
        let halves = self.senders.iter().filter(|half| half.open && !half.asks);
        halves.flat_map(|half| {
            half.running.iter().map(|flow| Sent {
                number: flow.number,
                record: flow.record,
                hop: half.hop(),
                to: half.dst,
                flow: half.flow,
                from: flow.from,
                until: flow.until,
                acked: (self.ends_acked || is_ranks(flow.number)) && !half.sending.unanswered(),
            })
        })
    }

    /// The senders of flows under way, requests apart. Of several flows on a connection its first is sent.
    pub(crate) fn states(&self, settings: &Settings) -> impl Iterator<Item = SenderState> {
        self.senders.iter().filter_map(|half| half.state(settings))
    }

    /// The stream offset that a connection's data has reached here.
    pub(crate) fn reached(&self, flow: FlowId) -> Option<u64> {
        let conn = self.receiving.get(&flow)?;
        Some(self.receivers[*conn].receiving.reached())
    }

    /// The stream offset up to which all of a connection's data has come, where that is known.
    pub(crate) fn in_order(&self, flow: FlowId) -> Option<u64> {
        let conn = self.receiving.get(&flow)?;
        self.receivers[*conn].receiving.in_order()
    }

    /// The probes it sent since the warm-up, source by source.
    pub(crate) fn probed(&self) -> impl Iterator<Item = (u32, &[ProbeSample])> {
        self.probes.iter().map(|probes| (probes.source(), probes.samples()))
    }

    /// Since when there is no space for more of them.
    pub(crate) fn probes_full_at(&self) -> Option<Time> {
        self.probes.iter().filter_map(Probes::full_at).min()
    }

    /// Payload that its receivers have taken so far, by class; requests not counted.
    pub(crate) fn taken(&self) -> &[u64] {
        &self.taken
    }

    /// DCTCP's α of every connection that carries a flow.
    pub(crate) fn alphas(&self) -> impl Iterator<Item = f64> {
        let busy = self.senders.iter().filter(|half| half.open && !half.running.is_empty());
        busy.filter_map(|half| half.sending.alpha())
    }

    /// Numbers that sending halves have taken, open and closed.
    pub(crate) fn numbered(&self) -> usize {
        self.senders.len()
    }
}

/// Bytes that a connection takes, both halves and what finds them, and what a flow adds.
pub(crate) fn sizes() -> (usize, usize) {
    let tables = size_of::<(FlowId, ConnId)>() + size_of::<(Shared, Vec<ConnId>)>();
    let halves = size_of::<SendHalf>() + size_of::<ReceiveHalf>();
    (halves + tables, size_of::<Running>() + size_of::<Expected>())
}

/// A flow that is through is written down where it started: here, or where it was asked for.
fn through<N: Net>(
    to: HostId,
    flow: FlowId,
    number: u64,
    record: FlowRecord,
    cx: &mut Cx<N>,
    now: Time,
) {
    // A flow that was asked for ends where it was asked.
    if record.request.is_none() {
        cx.log.through(now);
        cx.log.finished.push((number, record));
        return;
    }
    cx.net.post(to, flow, What::Answered(Box::new(record)), now);
}
