//! The way out of a host: its card's port, or ports, and word to other hosts.

use super::fabric::Slab;
use super::host::{Left, Net, Toward};
use super::link::{Line, Link, transit};
use super::notice::{Notice, What};
use super::{NOTICE, Parcel, index};
use crate::engine::Event;
use crate::ids::{HostId, LocalLink, PortId, SwitchId};
use crate::packet::Payload;
use crate::routing::{Header, Live, Ports, Router};
use crate::topology::{Hop, Route};
use switchbed_qdisc::fq::Terms;
use switchbed_qdisc::memory::pfc;
use switchbed_qdisc::{Driver, FlowId, Packet, SlotId, SwitchMemory};
use switchbed_units::Time;

/// A card that holds so many packets takes no answers of queue pairs and no probes: as many as Linux's `fq` holds
/// (`limit`, net/sched/sch_fq.c). Other senders have windows.
const CARD_HOLDS: u32 = 10_000;

/// The way out of a host, and what has come in.
pub(super) trait Outlet: Net {
    /// Takes a packet that has arrived.
    fn arrived(&mut self, slot: SlotId) -> (Packet, Payload);
    /// Takes a notice, by its event.
    fn notice(&mut self, what: u32) -> Option<Notice>;
    /// Carries out departures that are due.
    fn settle(&mut self, now: Time);
    /// When the next departure is due.
    fn due(&self) -> Time;
}

/// Takes a packet from its slot, which is free before delivery, so that an answer may take it while it is cached.
#[inline(always)]
fn take(line: &mut Line, slot: SlotId) -> (Packet, Payload) {
    let packets = &mut line.packets;
    let taken = (*packets.arena.packet(slot), packets.payloads[slot.index()]);
    packets.arena.free(slot);
    taken
}

/// A host's way out by its only link.
pub(super) struct Card<'a, 'b> {
    pub(super) id: HostId,
    pub(super) link: &'a mut Link,
    pub(super) line: Line<'a, 'b>,
    pub(super) notices: &'a mut Slab<Notice>,
    pub(super) posted: &'a mut u64,
}

impl Card<'_, '_> {
    #[inline(always)]
    pub(super) fn act(&mut self, act: impl FnOnce(&mut Driver, &mut Line)) {
        let Link { driver, channel } = &mut *self.link;
        act(driver, self.line.at(0, channel));
    }
}

impl Outlet for Card<'_, '_> {
    #[inline(always)]
    fn arrived(&mut self, slot: SlotId) -> (Packet, Payload) {
        take(&mut self.line, slot)
    }

    #[inline(always)]
    fn notice(&mut self, what: u32) -> Option<Notice> {
        self.notices.take(index(what))
    }

    #[inline]
    fn settle(&mut self, now: Time) {
        // An idle port has nothing to catch up with.
        if self.link.driver.backlogged() {
            self.act(|driver, line| driver.settle(line, now));
        }
    }

    #[inline(always)]
    fn due(&self) -> Time {
        self.link.driver.due()
    }
}

impl Net for Card<'_, '_> {
    #[inline]
    fn send(&mut self, packet: Packet, payload: Payload, toward: Toward, now: Time) {
        let slot = self.line.packets.put(
            packet,
            payload,
            transit::new(toward.hop, Some(self.id), toward.label),
        );
        self.act(|driver, line| {
            // Up to now first: what would have left by now must not be in the queue's way.
            driver.settle(line, now);
            driver.arrive(slot, line, now);
        });
    }

    fn send_on(
        &mut self,
        packet: Packet,
        payload: Payload,
        toward: Toward,
        terms: Terms,
        now: Time,
    ) {
        let mut cargo = transit::new(toward.hop, Some(self.id), toward.label);
        transit::set_terms(&mut cargo, terms);
        let slot = self.line.packets.put(packet, payload, cargo);
        self.act(|driver, line| {
            driver.settle(line, now);
            driver.arrive(slot, line, now);
        });
    }

    fn line_free(&mut self, _: usize, now: Time) -> Time {
        self.settle(now);
        let driver = &self.link.driver;
        // A line that is down is never free.
        if driver.is_up() { driver.busy_until().max(now) } else { Time::NEVER }
    }

    fn line_next(&mut self, now: Time) -> Time {
        self.settle(now);
        let driver = &self.link.driver;
        let busy = driver.busy_until();
        if busy > now { busy } else { driver.due() }
    }

    #[inline]
    fn full(&mut self, now: Time) -> bool {
        // A port that is not settled holds too many packets at most, so there is nothing to settle
        // yet.
        if self.link.driver.queued() < CARD_HOLDS {
            return false;
        }
        self.settle(now);
        self.link.driver.queued() >= CARD_HOLDS
    }

    fn left(&mut self, now: Time) -> Option<Left> {
        self.settle(now);
        let left = self.line.cold().left.as_mut()?;
        if left.front()?.at > now {
            return None;
        }
        left.pop_front()
    }

    fn pause(&mut self, _: u16, class: u8, quanta: u16, now: Time) -> Option<(Time, Time)> {
        let (from, until) = pause(&self.line, &self.link.driver, quanta, now)?;
        self.settle(now);
        self.act(|driver, _| driver.pause(class, from, until, now));
        Some((from, until))
    }

    fn post(&mut self, to: HostId, flow: FlowId, what: What, now: Time) {
        post(&mut self.line, (self.notices, self.posted), (to, flow, what), now);
    }
}

/// When a port that hears a pause stops, and until when.
fn pause(line: &Line, driver: &Driver, quanta: u16, now: Time) -> Option<(Time, Time)> {
    let pfc = line.shared.pfc.as_ref()?;
    let rate = driver.port().state().rate();
    // The standard lets a receiver take some time before it stops.
    let from = now + pfc.response(rate);
    Some((from, from + pfc::quanta(quanta.into(), rate)))
}

/// Sends word to another host.
fn post(
    line: &mut Line,
    (notices, posted): (&mut Slab<Notice>, &mut u64),
    (to, flow, what): (HostId, FlowId, What),
    now: Time,
) {
    let Line { shared, me, out, .. } = line;
    let (shard, node) = shared.hosts[to.index()];
    // Notices go no faster than a packet could: the shards' lookahead holds.
    let at = now + shared.settings.lookahead;
    // Counted, so that notices of one time have an order.
    *posted += 1;
    let notice = Notice { at, to, nth: *posted, flow, what };
    if shard == *me {
        out.event(Event::new(at, node, NOTICE | notices.put(notice)));
    } else {
        out.post(shard, at, Parcel::Notice { node, notice: Box::new(notice) });
    }
}

/// A host with several links, which chooses among them as a switch does among ports.
pub(super) struct Home {
    pub(super) node: usize,
    pub(super) first: LocalLink,
    pub(super) links: usize,
    /// The number under which it chooses.
    pub(super) chooser: SwitchId,
    /// Choice of links, where no hash decides.
    pub(super) router: Option<Box<dyn Router>>,
    /// Links that are not used, where links may go down.
    pub(super) live: Option<Live>,
}

/// The way out of a host with several links.
pub(super) struct Cards<'a, 'b> {
    pub(super) id: HostId,
    pub(super) links: &'a mut [Link],
    pub(super) line: Line<'a, 'b>,
    /// The memory of each port but the first, whose memory the line has.
    pub(super) memories: &'a mut [SwitchMemory],
    pub(super) home: &'a mut Home,
    /// Tables since a link went down or was drained.
    pub(super) table: Option<&'a dyn Route>,
    pub(super) notices: &'a mut Slab<Notice>,
    pub(super) posted: &'a mut u64,
}

impl Cards<'_, '_> {
    /// Does something at a port.
    pub(super) fn act<T>(
        &mut self,
        nth: usize,
        act: impl FnOnce(&mut Driver, &mut Line) -> T,
    ) -> T {
        let Link { driver, channel } = &mut self.links[nth];
        let Some(memory) = nth.checked_sub(1).map(|nth| &mut self.memories[nth]) else {
            return act(driver, self.line.at(nth, channel));
        };
        std::mem::swap(self.line.memory, memory);
        let done = act(driver, self.line.at(nth, channel));
        std::mem::swap(self.line.memory, memory);
        done
    }

    fn settle_one(&mut self, nth: usize, now: Time) {
        if self.links[nth].driver.backlogged() {
            self.act(nth, |driver, line| driver.settle(line, now));
        }
    }

    fn put(
        &mut self,
        packet: Packet,
        payload: Payload,
        toward: Toward,
        terms: Option<Terms>,
    ) -> SlotId {
        let mut cargo = transit::new(toward.hop, Some(self.id), toward.label);
        if let Some(terms) = terms {
            transit::set_terms(&mut cargo, terms);
        }
        self.line.packets.put(packet, payload, cargo)
    }

    /// The links that lead to a host over as few links, those that are known to be down left out; where all are, they
    /// are all: packets wait, as on the only link of a host.
    fn chosen(&mut self, hop: Hop, bytes: u32, now: Time) -> Option<PortId> {
        let (shared, chooser) = (self.line.shared, self.home.chooser);
        if hop.key & Hop::PINNED != 0 {
            return Some(shared.route.route(hop, chooser));
        }
        let table = self.table.unwrap_or(&*shared.route);
        let all = table.ways(hop.dst, chooser);
        let mut router = self.home.router.take();
        let mut live = self.home.live.take();
        let fixed = live.is_none();
        let set = live.as_mut().map_or(all, |live| live.among(all));
        let set = if set.is_empty() { all } else { set };
        let port = match &mut router {
            _ if set.is_empty() => None,
            Some(router) => {
                // One host's flows by destination, too.
                let flow = hop.key ^ hop.dst.0.wrapping_mul(0x85eb_ca6b);
                Some(router.choose(
                    Header { flow, bytes },
                    set,
                    &mut Settled { cards: self, now },
                    now,
                ))
            }
            None if fixed => Some(shared.route.route(hop, chooser)),
            None => {
                let place = shared.routing.hash().place(hop.key, chooser, set.len());
                let hashed = set.at(place);
                let used = |port| set.contains(port);
                match shared.routing.weighs() && set.len() > 1 {
                    true => table.weighed(hop, chooser, &used).or(Some(hashed)),
                    false => Some(hashed),
                }
            }
        };
        (self.home.router, self.home.live) = (router, live);
        port
    }
}

/// A host's ports, whose departures by now have happened when they are looked at.
struct Settled<'s, 'a, 'b> {
    cards: &'s mut Cards<'a, 'b>,
    now: Time,
}

impl Ports for Settled<'_, '_, '_> {
    fn backlogged(&self, word: u32) -> u64 {
        let links = self.cards.links.iter().skip(64 * word as usize).take(64).enumerate();
        links.map(|(nth, link)| u64::from(link.driver.backlogged()) << nth).sum()
    }

    fn queued(&mut self, port: PortId) -> u64 {
        self.cards.settle_one(port.index(), self.now);
        self.cards.links[port.index()].driver.port().state().bytes().get()
    }
}

impl Outlet for Cards<'_, '_> {
    fn arrived(&mut self, slot: SlotId) -> (Packet, Payload) {
        take(&mut self.line, slot)
    }

    fn notice(&mut self, what: u32) -> Option<Notice> {
        self.notices.take(index(what))
    }

    fn settle(&mut self, now: Time) {
        (0..self.links.len()).for_each(|nth| self.settle_one(nth, now));
    }

    fn due(&self) -> Time {
        self.links.iter().map(|link| link.driver.due()).min().unwrap_or(Time::NEVER)
    }
}

impl Net for Cards<'_, '_> {
    fn exit(&mut self, hop: Hop, bytes: u32, now: Time) -> usize {
        self.chosen(hop, bytes, now).map_or(0, PortId::index)
    }

    fn send(&mut self, packet: Packet, payload: Payload, toward: Toward, now: Time) {
        let nth = self.exit(toward.hop, packet.len_bytes, now);
        self.send_by(nth, (packet, payload, toward), None, now);
    }

    fn send_on(
        &mut self,
        packet: Packet,
        payload: Payload,
        toward: Toward,
        terms: Terms,
        now: Time,
    ) {
        let nth = self.exit(toward.hop, packet.len_bytes, now);
        self.send_by(nth, (packet, payload, toward), Some(terms), now);
    }

    fn send_by(
        &mut self,
        nth: usize,
        (packet, payload, toward): (Packet, Payload, Toward),
        terms: Option<Terms>,
        now: Time,
    ) {
        let slot = self.put(packet, payload, toward, terms);
        self.act(nth, |driver, line| {
            driver.settle(line, now);
            driver.arrive(slot, line, now);
        });
    }

    fn waits(&mut self, nth: usize, now: Time) -> bool {
        self.settle_one(nth, now);
        self.links[nth].driver.queued() > 0
    }

    fn line_free(&mut self, nth: usize, now: Time) -> Time {
        self.settle_one(nth, now);
        let driver = &self.links[nth].driver;
        // A line that is down is never free.
        if driver.is_up() { driver.busy_until().max(now) } else { Time::NEVER }
    }

    fn line_next(&mut self, now: Time) -> Time {
        self.settle(now);
        let next = self.links.iter().map(|link| match link.driver.busy_until() {
            busy if busy > now => busy,
            _ => link.driver.due(),
        });
        next.min().unwrap_or(Time::NEVER)
    }

    fn full(&mut self, now: Time) -> bool {
        let full = |link: &Link| link.driver.queued() >= CARD_HOLDS;
        if !self.links.iter().any(full) {
            return false;
        }
        self.settle(now);
        // A link that is down holds what waits there, and the others go on.
        let mut links = self.links.iter().filter(|link| link.driver.is_up()).peekable();
        links.peek().is_none() || links.any(full)
    }

    fn left(&mut self, now: Time) -> Option<Left> {
        self.settle(now);
        let first = |nth: usize| Some((self.line.cold_of(nth).left.as_ref()?.front()?.at, nth));
        let (at, nth) = (0..self.links.len()).filter_map(first).min()?;
        if at > now {
            return None;
        }
        self.line.cold_of_mut(nth).left.as_mut()?.pop_front()
    }

    fn pause(&mut self, nth: u16, class: u8, quanta: u16, now: Time) -> Option<(Time, Time)> {
        let nth = usize::from(nth);
        let (from, until) = pause(&self.line, &self.links[nth].driver, quanta, now)?;
        self.settle_one(nth, now);
        self.act(nth, |driver, _| driver.pause(class, from, until, now));
        Some((from, until))
    }

    fn post(&mut self, to: HostId, flow: FlowId, what: What, now: Time) {
        post(&mut self.line, (self.notices, self.posted), (to, flow, what), now);
    }
}

/// The way out of a host when the run is over: it leads nowhere, but for word of an answer.
pub(super) struct Silent {
    pub(super) at: Time,
    pub(super) said: Option<Notice>,
}

impl Net for Silent {
    fn send(&mut self, _: Packet, _: Payload, _: Toward, _: Time) {}

    fn send_on(&mut self, _: Packet, _: Payload, _: Toward, _: Terms, _: Time) {}

    fn line_free(&mut self, _: usize, _: Time) -> Time {
        Time::NEVER
    }

    fn line_next(&mut self, _: Time) -> Time {
        Time::NEVER
    }

    fn full(&mut self, _: Time) -> bool {
        false
    }

    fn left(&mut self, _: Time) -> Option<Left> {
        None
    }

    fn pause(&mut self, _: u16, _: u8, _: u16, _: Time) -> Option<(Time, Time)> {
        None
    }

    fn post(&mut self, to: HostId, flow: FlowId, what: What, _: Time) {
        if matches!(what, What::Answered(_)) {
            self.said = Some(Notice { at: self.at, to, nth: 0, flow, what });
        }
    }
}
