//! A link: a port with its line, and the channel to the node behind it.

use crate::engine::{Event, Outbox};
use crate::ids::{LocalLink, Maybe, NodeId, Rank, ShardId, SwitchId};
use crate::node::switch::Feedbacks;
use crate::observe::observer::{Sent, Watch};
use crate::packet::rdma::Int;
use crate::packet::{Body, Payload};
use crate::routing::noted;
use crate::topology::Hop;
use switchbed_qdisc::port::driver::{Driver, Wire};
use switchbed_qdisc::{
    Arena, Cargo, Cx, Outcome, Packet, PortState, QueueId, SlotId, SwitchMemory,
};
use switchbed_units::random::OnDemand;
use switchbed_units::{Rate, Span, Time};

use super::host::Left;
use super::met::Met;
use super::{Parcel, Shared, lengths};
use crate::packet::losses::Losses;
use crate::transport::is_data;
use std::collections::VecDeque;

/// A packet on its way, as its slot's cargo.
pub(super) mod transit {
    use super::{Cargo, Hop, Time};
    use crate::ids::{HostId, Maybe, PortId, Rank};
    use crate::packet::Label;
    use crate::routing::Noted;
    use switchbed_qdisc::fq::Terms;
    use switchbed_scenario::topology::MAX_HOSTS;

    const DST: usize = 0;
    const KEY: usize = 1;
    /// A host in the low bits, all set where there is none, and above them the label.
    const FROM: usize = 2;
    const HOST_BITS: u32 = 32 - Label::BITS;
    const HOST: u32 = (1 << HOST_BITS) - 1;
    const _: () = assert!(MAX_HOSTS < HOST as u64);
    /// The port, or what is noted of those to choose from.
    const OUT: usize = 3;
    const LINK: usize = 4;
    /// A time in two words, and in its first bit whether the packet is joined to the one before.
    const TERMS: [usize; 2] = [5, 6];
    const JOINED: u32 = 1 << 31;

    /// Makes the cargo of a packet that a host sends, or a switch.
    pub(crate) fn new(hop: Hop, from: Option<HostId>, label: Label) -> Cargo {
        // No host is `u32::MAX`, of which the mask keeps the low bits: all set, as `HOST` has it.
        let from = Maybe::from(from).word() & HOST | label.word() << HOST_BITS;
        Cargo { words: [hop.dst.0, hop.key, from, 0, 0, 0, 0] }
    }

    /// Reads when a packet may leave its sender's card.
    pub(crate) fn terms(cargo: &Cargo) -> Terms {
        let [low, high] = TERMS.map(|word| cargo.words[word]);
        let ps = u64::from(high & !JOINED) << 32 | u64::from(low);
        Terms { not_before: Time::from_ps(ps), joined: high & JOINED != 0 }
    }
    pub(crate) fn set_terms(cargo: &mut Cargo, terms: Terms) {
        let ps = terms.not_before.as_ps();
        // The highest bit is free: 2⁶³ ps are 106 days.
        let high = (ps >> 32) as u32 | if terms.joined { JOINED } else { 0 };
        (cargo.words[TERMS[0]], cargo.words[TERMS[1]]) = (ps as u32, high);
    }

    /// Reads the fields that routing uses.
    #[inline]
    pub(crate) fn hop(cargo: &Cargo) -> Hop {
        Hop { dst: HostId(cargo.words[DST]), key: cargo.words[KEY] }
    }

    /// The host that sent it; `None`: a switch did.
    pub(crate) fn from(cargo: &Cargo) -> Option<HostId> {
        let host = cargo.words[FROM] & HOST;
        (host != HOST).then_some(HostId(host))
    }

    /// Transport that the packet belongs to.
    #[inline]
    pub(crate) fn label(cargo: &Cargo) -> Label {
        Label::of(cargo.words[FROM] >> HOST_BITS)
    }

    /// The port that it takes at the switch it goes to, once that is known.
    #[inline]
    pub(crate) fn out(cargo: &Cargo) -> PortId {
        PortId(cargo.words[OUT])
    }

    /// A port to fetch by: the one that it takes, or the first of those that the switch will choose from.
    #[inline]
    pub(crate) fn guess(cargo: &Cargo) -> PortId {
        Noted(cargo.words[OUT]).first()
    }

    /// Reads the set of ports that was noted as it left for the switch.
    #[inline]
    pub(crate) fn noted(cargo: &Cargo) -> Noted {
        Noted(cargo.words[OUT])
    }
    #[inline]
    pub(crate) fn set_out(cargo: &mut Cargo, port: PortId) {
        cargo.words[OUT] = port.0;
    }

    /// The link that it is on.
    #[inline]
    pub(crate) fn link(cargo: &Cargo) -> Rank {
        Rank(cargo.words[LINK])
    }
    #[inline]
    pub(crate) fn set_link(cargo: &mut Cargo, rank: Rank) {
        cargo.words[LINK] = rank.0;
    }
}

/// State of a link that every packet needs, in one cache line.
#[repr(C, align(64))]
pub(super) struct Link {
    pub(super) driver: Driver,
    pub(super) channel: Channel,
}

const _: () = assert!(size_of::<Link>() == 64);

/// Far end of a link, with the delay to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) delay: Span,
    /// The node at the far end.
    pub(super) node: NodeId,
    /// Switch at the far end, if it is one.
    pub(super) switch: Maybe<SwitchId>,
    /// Breaks ties of arrivals.
    pub(super) rank: Rank,
    pub(super) shard: ShardId,
    /// The number of the port at the far end, as a crosspoint queue knows it.
    pub(super) ingress: u16,
}

/// State of a link that few packets need.
pub(super) struct ColdLink {
    /// Random numbers of its port: other ports' draws do not shift them.
    pub(super) rng: OnDemand,
    /// Observers of the port, if there are any.
    pub(super) watch: Option<Box<Watch>>,
    /// Packets that the line is to lose or mark, if any. The port is then watched.
    pub(super) losses: Option<Box<Losses>>,
    /// Packets that have left a host's card, in the order of time, where its connections want to
    /// know. The port is then watched.
    pub(super) left: Option<VecDeque<Left>>,
    /// Fields that it writes into packets that gather INT, where they do. The port is then watched.
    pub(super) telemetry: Option<Telemetry>,
}

/// State of a port that INT reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telemetry {
    rate: Rate,
    sent_bytes: u64,
    queue_bytes: u64,
}

impl Telemetry {
    /// Makes the state of a port that has sent nothing yet.
    pub(super) fn new(rate: Rate) -> Telemetry {
        Telemetry { rate, sent_bytes: 0, queue_bytes: 0 }
    }
}

/// The packets of a shard.
#[derive(Default)]
pub(super) struct Packets {
    pub(super) arena: Arena,
    /// By slot.
    pub(super) payloads: Vec<Payload>,
    pub(super) out: Outcome,
    /// Packets transmitted.
    pub(super) hops: u64,
    /// Changes of measured queues.
    pub(super) lengths: lengths::Log,
    /// Marks, drops and waits by transport, where there are several.
    pub(super) met: Option<Box<[Met]>>,
}

impl Packets {
    /// Marks, drops and waits of the same transport, where they are counted.
    fn met(&mut self, slot: SlotId) -> Option<&mut Met> {
        let met = self.met.as_mut()?;
        met.get_mut(transit::label(self.arena.cargo(slot)).kind())
    }

    /// Gives a packet a slot.
    #[inline]
    pub(super) fn put(&mut self, packet: Packet, payload: Payload, cargo: Cargo) -> SlotId {
        let slot = self.arena.alloc_with(packet, cargo);
        match self.payloads.get_mut(slot.index()) {
            Some(place) => *place = payload,
            None => self.payloads.push(payload),
        }
        slot
    }
}

/// The wires of a node's links, of which one is at work at a time.
pub(super) struct Line<'a, 'b> {
    /// Channel at work.
    channel: Channel,
    /// Number among the node's links.
    nth: usize,
    /// The node's first.
    first: LocalLink,
    /// Rarely needed state of all of the node's links.
    cold: &'a mut [ColdLink],
    pub(super) memory: &'a mut SwitchMemory,
    pub(super) packets: &'a mut Packets,
    pub(super) shared: &'a Shared,
    pub(super) me: ShardId,
    pub(super) out: &'a mut Outbox<'b, Parcel>,
    /// Where messages to sources wait; a host's card sends none.
    pub(super) feedbacks: Option<&'a mut Feedbacks>,
    /// Observers hear of the operation.
    observed: bool,
}

/// Channel of a port that nothing is done to.
const NOWHERE: Channel = Channel {
    delay: Span::ZERO,
    node: NodeId(0),
    switch: Maybe::NONE,
    rank: Rank(0),
    shard: ShardId(0),
    ingress: 0,
};

impl<'a, 'b> Line<'a, 'b> {
    /// Makes the lines of a node from its first link and its links' rarely needed state; no link is
    /// at work yet.
    #[inline(always)]
    pub(super) fn new(
        (first, cold): (LocalLink, &'a mut [ColdLink]),
        memory: &'a mut SwitchMemory,
        packets: &'a mut Packets,
        (shared, me): (&'a Shared, ShardId),
        out: &'a mut Outbox<'b, Parcel>,
        feedbacks: Option<&'a mut Feedbacks>,
    ) -> Self {
        let (channel, nth, observed) = (NOWHERE, 0, false);
        Line { channel, nth, first, cold, memory, packets, shared, me, out, feedbacks, observed }
    }

    /// Puts the node's link of this number and channel to work.
    #[inline(always)]
    pub(super) fn at(&mut self, nth: usize, channel: &Channel) -> &mut Self {
        (self.channel, self.nth, self.observed) = (*channel, nth, false);
        self
    }

    /// Returns the rarely needed state of one of the node's links.
    pub(super) fn cold_of(&self, nth: usize) -> &ColdLink {
        &self.cold[nth]
    }

    /// Returns the rarely needed state of one of the node's links, to change it.
    pub(super) fn cold_of_mut(&mut self, nth: usize) -> &mut ColdLink {
        &mut self.cold[nth]
    }

    /// Returns the rarely needed state of the link at work.
    #[inline(always)]
    pub(super) fn cold(&mut self) -> &mut ColdLink {
        &mut self.cold[self.nth]
    }
}

impl Wire for Line<'_, '_> {
    #[inline]
    fn cx(&mut self, now: Time) -> Cx<'_> {
        Cx {
            now,
            arena: &mut self.packets.arena,
            memory: self.memory,
            rng: &mut self.cold[self.nth].rng,
            out: &mut self.packets.out,
        }
    }

    #[inline]
    fn outcome(&mut self) -> &mut Outcome {
        &mut self.packets.out
    }

    #[inline(always)]
    fn sent(&mut self, slot: SlotId, marked: bool, now: Time, until: Time) {
        let Channel { delay, node, switch, rank, shard, ingress } = self.channel;
        let arrived = match self.packets.met.is_some() || self.observed {
            true => self.count_sent(slot, marked, now),
            false => Time::ZERO,
        };
        let at = until + delay;
        self.packets.hops += 1;
        // INT is written before observers see the packet, and losses come after both.
        if self.observed {
            self.stamp(slot, now);
            self.tell_sent(slot, arrived, [now, until, at]);
            if self.is_to_lose(slot) {
                return self.packets.arena.free(slot);
            }
        }
        let cargo = self.packets.arena.leaves_for(slot, ingress);
        transit::set_link(cargo, rank);
        if let Some(switch) = switch.get() {
            // Routed as it leaves, not as it arrives: the output port's memory can then be prefetched.
            let Shared { route, routed, .. } = self.shared;
            transit::set_out(cargo, noted(&**route, transit::hop(cargo), switch, *routed));
        }
        if shard == self.me {
            self.out.event(Event::new(at, node, slot.index() as u32));
        } else {
            self.post(slot, at);
        }
    }

    fn lost(&mut self, slot: SlotId) {
        if self.cold().left.is_some() {
            // Time zero: `tell_left` moves it behind the packets that the line is still busy with.
            self.tell_left(slot, Time::ZERO);
        }
        if let Some(met) = self.packets.met(slot) {
            met.drops += 1;
        }
        self.packets.arena.free(slot);
    }

    #[cold]
    fn feedback(&mut self, slot: SlotId, now: Time) {
        // The slot may be free already (dropped, or copied to another shard), but nothing else was
        // stored in it since.
        let from = transit::from(self.packets.arena.cargo(slot));
        // Drained even where nobody takes them: the next operation starts with an empty outcome.
        let messages = self.packets.out.feedback.drain(..);
        if let (Some(feedbacks), Some(to)) = (&mut self.feedbacks, from) {
            let at = now + self.shared.frames.delay;
            feedbacks.extend(messages.map(|feedback| (at, to, feedback)));
        }
    }

    #[cold]
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState, busy_until: Time) {
        let _ = busy_until;
        self.observed = true;
        let cold = self.cold();
        if let Some(watch) = &mut cold.watch {
            watch.changed(queue, now, state);
        }
        if let Some(telemetry) = &mut cold.telemetry {
            (telemetry.rate, telemetry.queue_bytes) = (state.rate(), state.bytes().get());
        }
    }

    #[inline(always)]
    fn resized(&mut self, queue: QueueId, now: Time, state: &PortState) {
        let link = LocalLink(self.first.0 + self.nth as u32);
        self.packets.lengths.note(link, queue, now, state);
    }
}

impl Line<'_, '_> {
    /// Counts a packet for its transport, where there are several. Hosts' cards have no part in the waits. Answers
    /// when it came to its queue; zero: it was never there.
    fn count_sent(&mut self, slot: SlotId, marked: bool, now: Time) -> Time {
        let data = transit::label(self.packets.arena.cargo(slot)).is_data();
        let arrived = self.packets.arena.take_arrived(slot);
        let Some(met) = self.packets.met(slot) else { return arrived };
        met.marks += u64::from(marked);
        if data && self.feedbacks.is_some() {
            // A packet that passes an idle port was never in its queue.
            met.wait(if arrived == Time::ZERO { Span::ZERO } else { now.since(arrived) });
        }
        arrived
    }

    /// A packet reaches a node of another shard at a time.
    #[inline(never)]
    fn post(&mut self, slot: SlotId, at: Time) {
        let parcel = Parcel::Packet {
            at,
            node: self.channel.node,
            packet: *self.packets.arena.packet(slot),
            payload: self.packets.payloads[slot.index()],
            cargo: *self.packets.arena.cargo(slot),
        };
        self.out.post(self.channel.shard, at, parcel);
        // The other shard has copies: slots belong to one shard's arena.
        self.packets.arena.free(slot);
    }

    #[cold]
    fn is_to_lose(&mut self, slot: SlotId) -> bool {
        let packet = self.packets.arena.packet_mut(slot);
        self.cold[self.nth].losses.as_mut().is_some_and(|losses| losses.lose(packet))
    }

    /// Writes into a packet that gathers INT, as it leaves; what waits is what it leaves behind.
    #[inline]
    fn stamp(&mut self, slot: SlotId, now: Time) {
        let Some(telemetry) = &mut self.cold[self.nth].telemetry else { return };
        if let Body::Rdma(rdma) = &mut self.packets.payloads[slot.index()].body
            && rdma.kind.is_data()
        {
            let Telemetry { rate, sent_bytes, queue_bytes } = *telemetry;
            rdma.trail.write(&mut rdma.hops, Int::new(rate, now, sent_bytes, queue_bytes));
        }
        // After the stamp: the record counts the bytes before this packet.
        telemetry.sent_bytes += u64::from(self.packets.arena.packet(slot).len_bytes);
    }

    /// The packet in a slot is no longer in the card from a time on.
    #[cold]
    fn tell_left(&mut self, slot: SlotId, at: Time) {
        let Some(left) = &mut self.cold[self.nth].left else { return };
        let Packet { flow, len_bytes: bytes, .. } = *self.packets.arena.packet(slot);
        let Payload { from, body, .. } = &self.packets.payloads[slot.index()];
        if let Some(conn) = from.get()
            && is_data(body)
        {
            // The list stays in the order of time.
            let at = at.max(left.back().map_or(Time::ZERO, |last| last.at));
            left.push_back(Left { at, conn, flow, bytes });
        }
    }

    #[cold]
    fn tell_sent(&mut self, slot: SlotId, arrived: Time, [left, until, arrives]: [Time; 3]) {
        self.tell_left(slot, until);
        let Some(watch) = &mut self.cold[self.nth].watch else { return };
        let cargo = self.packets.arena.cargo(slot);
        watch.sent(&Sent {
            arrived,
            queue: self.packets.arena.queue(slot),
            left,
            until,
            arrives,
            packet: *self.packets.arena.packet(slot),
            payload: self.packets.payloads[slot.index()],
            from: transit::from(cargo),
            to: transit::hop(cargo).dst,
        });
    }
}
