//! The way out of a host: its card's port, and word to other hosts.

use super::fabric::Slab;
use super::host::{Left, Net, Toward};
use super::link::{Line, Link, transit};
use super::notice::{Notice, What};
use super::{NOTICE, Parcel};
use crate::engine::Event;
use crate::ids::HostId;
use crate::packet::Payload;
use switchbed_qdisc::fq::Terms;
use switchbed_qdisc::memory::pfc;
use switchbed_qdisc::{Driver, FlowId, Packet};
use switchbed_units::Time;

/// A card that holds so many packets takes no answers of queue pairs and no probes: as many as Linux's `fq` holds
/// (`limit`, net/sched/sch_fq.c). Other senders have windows.
const CARD_HOLDS: u32 = 10_000;

/// A host's way out.
pub(super) struct Card<'a, 'b> {
    pub(super) id: HostId,
    pub(super) link: &'a mut Link,
    pub(super) line: Line<'a, 'b>,
    pub(super) notices: &'a mut Slab<Notice>,
    pub(super) posted: &'a mut u64,
}

impl Card<'_, '_> {
    #[inline]
    pub(super) fn settle(&mut self, now: Time) {
        // An idle port has nothing to catch up with.
        if self.link.driver.backlogged() {
            self.act(|driver, line| driver.settle(line, now));
        }
    }

    #[inline(always)]
    pub(super) fn act(&mut self, act: impl FnOnce(&mut Driver, &mut Line)) {
        let Link { driver, channel } = &mut *self.link;
        act(driver, self.line.at(0, channel));
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

    fn line_free(&mut self, now: Time) -> Time {
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

    fn pause(&mut self, class: u8, quanta: u16, now: Time) -> Option<(Time, Time)> {
        let pfc = self.line.shared.pfc.as_ref()?;
        let rate = self.link.driver.port().state().rate();
        // The standard lets a receiver take some time before it stops.
        let from = now + pfc.response(rate);
        let until = from + pfc::quanta(quanta.into(), rate);
        self.settle(now);
        self.act(|driver, _| driver.pause(class, from, until, now));
        Some((from, until))
    }

    fn post(&mut self, to: HostId, flow: FlowId, what: What, now: Time) {
        let Line { shared, me, out, .. } = &mut self.line;
        let (shard, node) = shared.hosts[to.index()];
        // Notices go no faster than a packet could: the shards' lookahead holds.
        let at = now + shared.settings.lookahead;
        // Counted, so that notices of one time have an order.
        *self.posted += 1;
        let notice = Notice { at, to, nth: *self.posted, flow, what };
        if shard == *me {
            out.event(Event::new(at, node, NOTICE | self.notices.put(notice)));
        } else {
            out.post(shard, at, Parcel::Notice { node, notice: Box::new(notice) });
        }
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

    fn line_free(&mut self, _: Time) -> Time {
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

    fn pause(&mut self, _: u8, _: u16, _: Time) -> Option<(Time, Time)> {
        None
    }

    fn post(&mut self, to: HostId, flow: FlowId, what: What, _: Time) {
        if matches!(what, What::Answered(_)) {
            self.said = Some(Notice { at: self.at, to, nth: 0, flow, what });
        }
    }
}
