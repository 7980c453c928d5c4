//! A switch: its ports' links, the memory that they share, and messages to sources that wait.

use super::fabric::Fabric;
use super::link::{ColdLink, Line, Link, Packets, transit};
use super::pausing::Pausing;
use super::{Parcel, Shared, class};
use crate::engine::prefetch::{prefetch, prefetch_lines};
use crate::engine::{Event, Outbox};
use crate::ids::{HostId, LocalLink, PortId, Rank, ShardId, SwitchId};
use crate::packet::{Body, Label, NOTIFICATIONS, Payload};
use crate::routing::{Header, Live, Noted, Ports, Router};
use crate::topology::{Hop, Route, Set};
use std::collections::VecDeque;
use switchbed_qdisc::hooks::{Expulsion, Feedback};
use switchbed_qdisc::{Driver, Packet, SlotId, SwitchMemory};
use switchbed_units::Time;

/// A message that is to be sent: when, to which host, what.
type Message = (Time, HostId, Feedback);

/// With fewer packets in a visit, little memory could be fetched in advance.
const SEVERAL: usize = 3;

/// Messages that are to be sent, in the order of their times.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "most switches have none: one word is enough")]
pub(super) struct Feedbacks(Option<Box<VecDeque<Message>>>);

impl Feedbacks {
    #[inline]
    pub(super) fn front(&self) -> Option<&Message> {
        self.0.as_ref()?.front()
    }
    fn pop_front(&mut self) {
        self.0.as_mut().and_then(|messages| messages.pop_front());
    }
    pub(super) fn extend(&mut self, messages: impl Iterator<Item = Message>) {
        self.0.get_or_insert_default().extend(messages);
    }
}

/// A switch, in one cache line.
#[repr(align(64))]
pub(super) struct Switch {
    pub(super) id: SwitchId,
    /// Link of its first port, and the number of ports.
    pub(super) first: LocalLink,
    ports: u32,
    /// Whether its schemes read the shared memory, so that the ports are settled together.
    pub(super) reads_pool: bool,
    pub(super) memory: SwitchMemory,
    /// Ports with packets.
    pub(super) busy: PortSet,
    pub(super) feedbacks: Feedbacks,
}

const _: () = assert!(size_of::<Switch>() == 64);

/// A set of ports: a bit for each, those of the first 64 at hand.
pub(super) struct PortSet {
    first: u64,
    others: Box<[u64]>,
}

impl PortSet {
    fn new(ports: u32) -> PortSet {
        let words = (ports as usize).div_ceil(64);
        PortSet { first: 0, others: vec![0; words.saturating_sub(1)].into() }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, port: PortId, member: bool) {
        let word = match (port.index() / 64).checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[other],
        };
        // Cleared, then set if it is a member: no branch on a bit that changes often.
        *word = *word & !(1 << (port.0 % 64)) | u64::from(member) << (port.0 % 64);
    }

    /// Number of words of the set.
    #[inline(always)]
    fn words(&self) -> usize {
        1 + self.others.len()
    }

    #[inline(always)]
    fn word(&self, nth: usize) -> u64 {
        nth.checked_sub(1).map_or(self.first, |other| self.others[other])
    }

    fn iter(&self) -> impl Iterator<Item = PortId> {
        (0..self.words()).flat_map(|nth| {
            let mut bits = self.word(nth);
            std::iter::from_fn(move || {
                // 64 once no bit is left: then the port is not used.
                let port = PortId(64 * nth as u32 + bits.trailing_zeros());
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    port
                })
            })
        })
    }
}

impl Switch {
    pub(super) fn new(id: SwitchId, first: LocalLink, ports: u32, memory: SwitchMemory) -> Switch {
        let (busy, feedbacks) = (PortSet::new(ports), Feedbacks::default());
        Switch { id, first, ports, reads_pool: false, memory, busy, feedbacks }
    }

    /// The link of one of its ports.
    #[inline]
    pub(super) fn link(&self, port: PortId) -> LocalLink {
        LocalLink(self.first.0 + port.0)
    }
}

/// A switch's ports and their lines.
pub(super) struct Outputs<'a, 'b> {
    /// Ports with packets.
    pub(super) busy: &'a mut PortSet,
    pub(super) links: &'a mut [Link],
    pub(super) line: Line<'a, 'b>,
}

/// A switch at work: what it has, and what it sends with.
pub(super) struct AtWork<'a, 'b> {
    id: SwitchId,
    reads_pool: bool,
    /// No departure is due before it, where departures are in the order of time.
    bound: Time,
    pub(super) outputs: Outputs<'a, 'b>,
    /// State of flow control, if there is any.
    pub(super) pausing: Option<&'a mut Pausing>,
    /// Choice of ports, where no hash decides.
    router: Option<&'a mut Box<dyn Router>>,
    /// Ports that are not used, where links may go down.
    live: Option<&'a mut Live>,
    /// Tables since a link went down or was drained.
    table: Option<&'a dyn Route>,
}

impl Fabric {
    /// A switch of this shard at work.
    #[inline(always)]
    pub(super) fn switch<'a, 'b>(
        &'a mut self,
        switch: usize,
        out: &'a mut Outbox<'b, Parcel>,
    ) -> AtWork<'a, 'b> {
        let Fabric { switches, pausing, routers, lives, plain, table, .. } = self;
        let Fabric { links, cold_links, packets, shared, me, .. } = self;
        let (pausing, router, live, table) = match plain {
            true => (None, None, None, None),
            false => {
                let (pausing, router) = (pausing.get_mut(switch), routers.get_mut(switch));
                (pausing, router, lives.get_mut(switch), table.as_deref())
            }
        };
        let switch = &mut switches[switch];
        let (id, reads_pool) = (switch.id, !*plain && switch.reads_pool);
        let outputs = switch.outputs((links, cold_links), packets, (shared, *me), out);
        AtWork { id, reads_pool, bound: Time::ZERO, outputs, pausing, router, live, table }
    }

    /// [`AtWork::visit`] where all switches are plain: without what these lack.
    #[inline(never)]
    pub(super) fn visit_plain(
        &mut self,
        switch: usize,
        events: &[Event],
        end: Time,
        out: &mut Outbox<Parcel>,
    ) -> Time {
        debug_assert!(self.plain);
        let Fabric { switches, links, cold_links, packets, shared, me, .. } = self;
        let mut outputs =
            switches[switch].outputs((links, cold_links), packets, (shared, *me), out);
        for event in events {
            debug_assert!(class(event.what()) == 0, "switches get packets alone");
            let slot = SlotId::at(event.what());
            let port = transit::out(outputs.line.packets.arena.cargo(slot));
            outputs.arrive(port, slot, event.at);
        }
        // `end` itself belongs to the next visit.
        outputs.settle(Time::from_ps(end.as_ps() - 1))
    }

    /// [`AtWork::visit`] where routers choose ports and switches are plain else.
    #[inline(never)]
    pub(super) fn visit_choosing(
        &mut self,
        switch: usize,
        events: &[Event],
        end: Time,
        out: &mut Outbox<Parcel>,
    ) -> Time {
        let Fabric { switches, routers, links, cold_links, packets, shared, me, .. } = self;
        let (id, router) = (switches[switch].id, &mut *routers[switch]);
        let mut outputs =
            switches[switch].outputs((links, cold_links), packets, (shared, *me), out);
        if shared.looks_at_ports {
            outputs.fetch_backlogged(events);
            for event in events {
                let slot = SlotId::at(event.what());
                match outputs.choose(router, id, slot, event.at) {
                    Some(port) => outputs.arrive(port, slot, event.at),
                    None => outputs.line.packets.arena.free(slot),
                }
            }
        } else {
            for event in events {
                let slot = SlotId::at(event.what());
                match transit::out(outputs.line.packets.arena.cargo(slot)) {
                    Noted::NOWHERE => outputs.line.packets.arena.free(slot),
                    port => outputs.arrive(port, slot, event.at),
                }
            }
        }
        // `end` itself belongs to the next visit.
        outputs.settle(Time::from_ps(end.as_ps() - 1))
    }

    /// Chooses the ports of a visit's packets before it, which what happens at ports does not decide.
    #[inline(always)]
    pub(super) fn choose_ahead(&mut self, switch: usize, events: &[Event]) {
        let Fabric { switches, routers, packets, shared, .. } = self;
        let (id, router) = (switches[switch].id, &mut *routers[switch]);
        for event in events {
            let slot = SlotId::at(event.what());
            let port = match ways(packets, shared, id, slot) {
                Ways::Pinned(port) => port,
                Ways::Among(set) => match set.len() {
                    0 => Noted::NOWHERE,
                    1 => set.at(0),
                    _ => router.choose(header(packets, slot), set, &mut Unread, event.at),
                },
            };
            transit::set_out(packets.arena.cargo_mut(slot), port);
        }
    }

    /// Fetches what choices for packets will read.
    #[inline(always)]
    pub(super) fn fetch_choices(&self, switch: usize, events: &[Event]) {
        let Fabric { routers, packets, .. } = self;
        let headers = events.iter().map(|event| header(packets, SlotId::at(event.what())));
        headers.filter_map(|header| routers[switch].reads(header)).for_each(prefetch);
    }
}

/// Where a packet may go.
enum Ways<'a> {
    /// The port of the path that a packet is pinned to.
    Pinned(PortId),
    /// Ports of which any leads on; none: no port does.
    Among(Set<'a>),
}

/// Where a packet may go if all links are up: what was noted as it left the node before or, if nothing was, is looked up.
#[inline(always)]
fn ways<'a>(packets: &Packets, shared: &'a Shared, id: SwitchId, slot: SlotId) -> Ways<'a> {
    let cargo = packets.arena.cargo(slot);
    let hop = transit::hop(cargo);
    if hop.key & Hop::PINNED != 0 {
        return Ways::Pinned(shared.route.route(hop, id));
    }
    Ways::Among(transit::noted(cargo).set().unwrap_or_else(|| shared.route.ways(hop.dst, id)))
}

/// A packet as a router sees it.
#[inline(always)]
fn header(packets: &Packets, slot: SlotId) -> Header {
    let hop = transit::hop(packets.arena.cargo(slot));
    // One switch's flows by destination, too: a hash of connections alone would join both ends' packets.
    let flow = hop.key ^ hop.dst.0.wrapping_mul(0x85eb_ca6b);
    Header { flow, bytes: packets.arena.packet(slot).len_bytes }
}

/// Ports that a router does not look at.
struct Unread;

impl Ports for Unread {
    fn backlogged(&self, _: u32) -> u64 {
        0
    }

    fn queued(&mut self, _: PortId) -> u64 {
        0
    }
}

impl Switch {
    /// The ports of the switch, taken from the links of a shard.
    #[inline(always)]
    fn outputs<'a, 'b>(
        &'a mut self,
        (links, cold): (&'a mut [Link], &'a mut [ColdLink]),
        packets: &'a mut Packets,
        (shared, me): (&'a Shared, ShardId),
        out: &'a mut Outbox<'b, Parcel>,
    ) -> Outputs<'a, 'b> {
        let Switch { first, ports, memory, busy, feedbacks, .. } = self;
        let own = first.index()..first.index() + *ports as usize;
        let (links, cold) = (&mut links[own.clone()], &mut cold[own]);
        let line = Line::new((*first, cold), memory, packets, (shared, me), out, Some(feedbacks));
        Outputs { busy, links, line }
    }
}

impl Outputs<'_, '_> {
    /// Does something at a port.
    #[inline(always)]
    fn at<T>(&mut self, port: PortId, act: impl FnOnce(&mut Driver, &mut Line) -> T) -> T {
        let Link { driver, channel } = &mut self.links[port.index()];
        act(driver, self.line.at(port.index(), channel))
    }

    /// A packet arrives at a port.
    #[inline(always)]
    fn arrive(&mut self, port: PortId, slot: SlotId, now: Time) {
        let Link { driver, channel } = &mut self.links[port.index()];
        let line = self.line.at(port.index(), channel);
        driver.settle(line, now);
        driver.arrive(slot, line, now);
        self.busy.set(port, driver.backlogged());
    }

    /// Fetches the state of ports with packets, which choices by load will read for these events.
    #[inline(always)]
    fn fetch_backlogged(&self, events: &[Event]) {
        if events.len() < SEVERAL {
            return;
        }
        for port in self.busy.iter() {
            prefetch(&self.links[port.index()]);
        }
        for port in self.busy.iter() {
            prefetch_lines(self.links[port.index()].driver.port(), 2);
        }
    }

    /// Chooses a packet's port where all links are up. `None`: no port leads on.
    #[inline(always)]
    fn choose(
        &mut self,
        router: &mut dyn Router,
        id: SwitchId,
        slot: SlotId,
        now: Time,
    ) -> Option<PortId> {
        let shared = self.line.shared;
        match ways(self.line.packets, shared, id, slot) {
            Ways::Pinned(port) => Some(port),
            Ways::Among(set) => match set.len() {
                0 => None,
                1 if !shared.looks_at_ports => Some(set.at(0)),
                _ => Some(self.choose_from(router, set, slot, now)),
            },
        }
    }

    /// Asks the router.
    #[inline(always)]
    fn choose_from(
        &mut self,
        router: &mut dyn Router,
        set: Set<'_>,
        slot: SlotId,
        now: Time,
    ) -> PortId {
        let header = header(self.line.packets, slot);
        router.choose(header, set, &mut Settled { outputs: self, now }, now)
    }

    /// The departures that are due by `now`, port by port; when the next is due.
    #[inline(always)]
    fn settle(&mut self, now: Time) -> Time {
        let mut next = Time::NEVER;
        for nth in 0..self.busy.words() {
            // A copy, since the loop changes the set.
            let mut busy = self.busy.word(nth);
            while busy != 0 {
                let port = PortId(64 * nth as u32 + busy.trailing_zeros());
                busy &= busy - 1;
                let Link { driver, channel } = &mut self.links[port.index()];
                // A port whose next packet leaves later is not touched.
                if driver.due() <= now {
                    driver.settle(self.line.at(port.index(), channel), now);
                    self.busy.set(port, driver.backlogged());
                }
                next = next.min(driver.due());
            }
        }
        next
    }
}

/// A switch's ports, whose departures by now have happened when they are looked at.
struct Settled<'s, 'a, 'b> {
    outputs: &'s mut Outputs<'a, 'b>,
    now: Time,
}

impl Ports for Settled<'_, '_, '_> {
    fn backlogged(&self, word: u32) -> u64 {
        self.outputs.busy.word(word as usize)
    }

    fn queued(&mut self, port: PortId) -> u64 {
        let (driver, now) = (&self.outputs.links[port.index()].driver, self.now);
        // Ports whose departures are in the order of time were settled before.
        if driver.due() > now {
            return driver.port().state().bytes().get();
        }
        let (bytes, backlogged) = self.outputs.at(port, |driver, line| {
            driver.settle(line, now);
            (driver.port().state().bytes().get(), driver.backlogged())
        });
        self.outputs.busy.set(port, backlogged);
        bytes
    }
}

impl AtWork<'_, '_> {
    /// The next message to a source.
    #[inline(always)]
    pub(super) fn next_message(&self) -> Option<&Message> {
        self.outputs.line.feedbacks.as_ref()?.front()
    }

    /// All that happens to it before `end`; its events are packets in order. When it is to be
    /// visited again.
    #[inline(never)]
    pub(super) fn visit(mut self, events: &[Event], end: Time) -> Time {
        if self.pausing.is_some() {
            return self.visit_lossless(events, end);
        }
        // Compiled loops for each, so that plain hashing does not pay for the choice.
        match self.chooses() {
            false => self.visit_each::<false>(events, end),
            true => {
                if self.outputs.line.shared.looks_at_ports {
                    self.outputs.fetch_backlogged(events);
                }
                self.visit_each::<true>(events, end)
            }
        }
    }

    /// Visits event by event, with ports that are chosen as packets arrive, or before.
    #[inline(always)]
    fn visit_each<const CHOOSES: bool>(&mut self, events: &[Event], end: Time) -> Time {
        for event in events {
            debug_assert!(class(event.what()) == 0, "switches get packets alone");
            if self.next_message().is_some() {
                self.send_feedbacks(event.at);
            }
            let slot = SlotId::at(event.what());
            // All ports, not the packet's alone: its admission depends on the memory that they share.
            if self.reads_pool {
                self.settle_in_order(event.at);
            }
            let port = match CHOOSES {
                false => transit::out(self.outputs.line.packets.arena.cargo(slot)),
                true => match self.choose(slot, event.at) {
                    Some(port) => port,
                    None => {
                        self.outputs.line.packets.arena.free(slot);
                        continue;
                    }
                },
            };
            self.arrive(port, slot, event.at);
            if self.reads_pool {
                self.expel(port, event.at);
            }
        }
        // `end` itself belongs to the next visit.
        let last = Time::from_ps(end.as_ps() - 1);
        if self.next_message().is_some() {
            self.send_feedbacks(last);
        }
        if self.reads_pool {
            self.settle_in_order(last);
        }
        let due = self.outputs.settle(last);
        self.next_message().map_or(due, |&(at, ..)| at.min(due))
    }

    /// Does something at a port.
    #[inline(always)]
    pub(super) fn at<T>(
        &mut self,
        port: PortId,
        act: impl FnOnce(&mut Driver, &mut Line) -> T,
    ) -> T {
        let answer = self.outputs.at(port, act);
        self.note_due(port);
        answer
    }

    /// Something happened at a port, whose next departure may be due earlier than all were.
    #[inline(always)]
    fn note_due(&mut self, port: PortId) {
        if self.reads_pool || self.pausing.is_some() {
            self.bound = self.bound.min(self.outputs.links[port.index()].driver.due());
        }
    }

    /// Whether a packet's port is chosen as it arrives.
    #[inline(always)]
    pub(super) fn chooses(&self) -> bool {
        self.router.is_some() || self.live.is_some()
    }

    /// The port that a packet takes which is there now; `None`: none is left that leads on.
    #[inline(always)]
    pub(super) fn choose(&mut self, slot: SlotId, now: Time) -> Option<PortId> {
        match (&self.live, self.router.as_deref_mut()) {
            (None, Some(router)) => self.outputs.choose(router.as_mut(), self.id, slot, now),
            _ => self.choose_live(slot, now),
        }
    }

    fn choose_live(&mut self, slot: SlotId, now: Time) -> Option<PortId> {
        let hop = transit::hop(self.outputs.line.packets.arena.cargo(slot));
        // Taken out, since the router needs the rest of the switch for writing.
        let live = self.live.take()?;
        let port = self.choose_among(hop, slot, live, now);
        live.no_route += u64::from(port.is_none());
        self.live = Some(live);
        port
    }

    fn choose_among(
        &mut self,
        hop: Hop,
        slot: SlotId,
        live: &mut Live,
        now: Time,
    ) -> Option<PortId> {
        let shared = self.outputs.line.shared;
        if hop.key & Hop::PINNED != 0 {
            let port = shared.route.route(hop, self.id);
            return live.uses(port).then_some(port);
        }
        let table = self.table.unwrap_or(&*shared.route);
        let set = live.among(table.ways(hop.dst, self.id));
        if set.is_empty() {
            return None;
        }
        if let Some(router) = &mut self.router {
            return Some(self.outputs.choose_from(router.as_mut(), set, slot, now));
        }
        let count = set.len();
        let place = shared.routing.hash().place(hop.key, self.id, count);
        let hashed = set.at(place);
        // One port is left, whatever its weight.
        match shared.routing.weighs() && count > 1 {
            true => table.weighed(hop, self.id, &|port| live.uses(port)),
            false => Some(hashed),
        }
    }

    #[inline]
    pub(super) fn arrive(&mut self, port: PortId, slot: SlotId, now: Time) {
        self.outputs.arrive(port, slot, now);
        self.note_due(port);
    }

    /// Drops what the policy of the switch's memory wants gone since a packet came to a port.
    #[inline]
    fn expel(&mut self, came: PortId, now: Time) {
        while let Some(Expulsion { of, end }) = self.expels(came, now) {
            let port = PortId(of.port);
            let backlogged = self.at(port, |driver, line| {
                driver.expel(of.queue, end, line, now);
                driver.backlogged()
            });
            self.outputs.busy.set(port, backlogged);
        }
    }

    fn expels(&mut self, came: PortId, now: Time) -> Option<Expulsion> {
        self.outputs.line.memory.expels(now, self.outputs.links[came.index()].driver.port().state())
    }

    /// Sends the messages to sources that are due by `now`.
    #[cold]
    pub(super) fn send_feedbacks(&mut self, now: Time) {
        while let Some(&(at, to, feedback)) = self.next_message()
            && at <= now
        {
            if let Some(feedbacks) = self.outputs.line.feedbacks.as_deref_mut() {
                feedbacks.pop_front();
            }
            let frames = self.outputs.line.shared.frames;
            let packet = Packet {
                flow: NOTIFICATIONS,
                len_bytes: frames.len_bytes,
                class: frames.class,
                ..Packet::default()
            };
            // A flow's number may have this bit by chance; the message itself is pinned to no path.
            let hop = Hop { dst: to, key: feedback.flow.0 & !Hop::PINNED };
            let payload = Payload::loose(Body::Notification(feedback));
            let slot = self.outputs.line.packets.put(
                packet,
                payload,
                transit::new(hop, None, Label::NONE),
            );
            if self.reads_pool {
                self.settle_in_order(at);
            }
            let port = match self.chooses() {
                false => Some(self.outputs.line.shared.route.route(hop, self.id)),
                true => self.choose(slot, at),
            };
            match port {
                Some(port) => self.arrive(port, slot, at),
                None => self.outputs.line.packets.arena.free(slot),
            }
        }
    }

    /// The departures that are due by `now` in the order of their times, for a scheme that reads
    /// the memory that the ports share.
    fn settle_in_order(&mut self, now: Time) {
        while let Some((at, port)) = self.due_by(now) {
            let backlogged = self.at(port, |driver, line| {
                driver.transmit(line, at);
                driver.backlogged()
            });
            self.outputs.busy.set(port, backlogged);
        }
    }

    /// The port whose departure is due next, and when.
    #[inline]
    pub(super) fn due(&self) -> Option<(Time, PortId)> {
        let (mut first, mut port) = ((Time::NEVER, Rank(u32::MAX)), None);
        for nth in 0..self.outputs.busy.words() {
            let mut busy = self.outputs.busy.word(nth);
            while busy != 0 {
                let each = PortId(64 * nth as u32 + busy.trailing_zeros());
                busy &= busy - 1;
                let Link { driver, channel } = &self.outputs.links[each.index()];
                // Of departures at one instant the link of the lowest rank goes first, whatever shard
                // it is in.
                let due = (driver.due(), channel.rank);
                if due < first && due.0 != Time::NEVER {
                    (first, port) = (due, Some(each));
                }
            }
        }
        port.map(|port| (first.0, port))
    }

    /// The same if it is due by `now`; most often none is, and no port need be asked.
    #[inline(always)]
    pub(super) fn due_by(&mut self, now: Time) -> Option<(Time, PortId)> {
        if self.bound > now {
            return None;
        }
        let due = self.due();
        self.bound = due.map_or(Time::NEVER, |(at, _)| at);
        due.filter(|&(at, _)| at <= now)
    }
}
