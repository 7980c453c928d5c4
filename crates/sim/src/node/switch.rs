//! A switch: its ports' links, the memory that they share, and messages to sources that wait.

use super::fabric::Fabric;
use super::link::{Line, Link, transit};
use super::{Parcel, class};
use crate::engine::{Event, Outbox, WAKE};
use crate::packet::{Body, NOTIFICATIONS, Payload};
use crate::topology::Hop;
use std::collections::VecDeque;
use switchbed_qdisc::seats::Feedback;
use switchbed_qdisc::units::Time;
use switchbed_qdisc::{Packet, Pool, SlotId};

/// Messages that are to be sent, in the order of their times: when, to which host, what.
pub(super) type Feedbacks = VecDeque<(Time, u32, Feedback)>;

/// A switch.
pub(super) struct Switch {
    /// Its number among all.
    pub(super) number: u32,
    /// Its links' places in the shard: the first, and how many.
    pub(super) first: u32,
    pub(super) ports: u32,
    /// Its schemes read the memory that the ports share: they are settled as one.
    pub(super) reads_pool: bool,
    pub(super) pool: Pool,
    /// A bit for each port with packets.
    pub(super) busy: Box<[u64]>,
    pub(super) feedbacks: Feedbacks,
}

impl Switch {
    pub(super) fn new(number: u32, first: u32, ports: u32, pool: Pool) -> Switch {
        Switch {
            number,
            first,
            ports,
            reads_pool: false,
            pool,
            busy: vec![0; (ports as usize).div_ceil(64)].into(),
            feedbacks: VecDeque::new(),
        }
    }

    fn note(&mut self, port: u32, backlogged: bool) {
        let bit = 1 << (port % 64);
        let word = &mut self.busy[port as usize / 64];
        if backlogged { *word |= bit } else { *word &= !bit }
    }

    /// The first port from this one on that has packets.
    fn busy_from(&self, port: u32) -> Option<u32> {
        let mut word = port as usize / 64;
        let mut bits = self.busy.get(word)? & (u64::MAX << (port % 64));
        while bits == 0 {
            word += 1;
            bits = *self.busy.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros())
    }
}

/// One port of one switch, with all that an operation needs.
macro_rules! at_port {
    ($fabric:expr, $switch:expr, $port:expr, $out:expr, |$driver:ident, $line:ident, $node:ident| $act:expr) => {{
        let Fabric { switches, links, cold_links, packets, shared, me, .. } = &mut *$fabric;
        let $node = &mut switches[$switch];
        let place = ($node.first + $port) as usize;
        let Link { driver: $driver, channel } = &mut links[place];
        let mut $line = Line {
            channel: *channel,
            cold: &mut cold_links[place],
            pool: &mut $node.pool,
            packets,
            shared,
            me: *me,
            out: $out,
            feedbacks: Some(&mut $node.feedbacks),
            told: false,
        };
        $act
    }};
}

impl Fabric {
    /// All that happens to a switch before `end`; its events are in order.
    pub(super) fn visit_switch(
        &mut self,
        switch: usize,
        events: &[Event],
        end: Time,
        out: &mut Outbox<Parcel>,
    ) -> Time {
        let reads_pool = self.switches[switch].reads_pool;
        for event in events.iter().filter(|event| event.what() != WAKE) {
            debug_assert!(class(event.what()) == 0, "switches get packets alone");
            if !self.switches[switch].feedbacks.is_empty() {
                self.send_feedbacks(switch, event.at, out);
            }
            let slot = SlotId::at(event.what());
            let port = match self.shared.adapts {
                false => self.packets.arena.cargo(slot).words[transit::OUT],
                true => self.choose(switch, slot),
            };
            if reads_pool {
                self.settle_in_order(switch, event.at, out);
            }
            self.arrive(switch, port, slot, event.at, out);
        }
        let last = Time::from_ps(end.as_ps() - 1);
        if !self.switches[switch].feedbacks.is_empty() {
            self.send_feedbacks(switch, last, out);
        }
        if reads_pool {
            self.settle_in_order(switch, last, out);
        }
        let due = self.settle_each(switch, last, out);
        self.switches[switch].feedbacks.front().map_or(due, |&(at, ..)| at.min(due))
    }

    /// The port that a packet takes where the way depends on the switch's queues.
    #[cold]
    fn choose(&self, switch: usize, slot: SlotId) -> u32 {
        let node = &self.switches[switch];
        let links = &self.links[node.first as usize..(node.first + node.ports) as usize];
        let queued = |port: u32| links[port as usize].driver.port().state().bytes();
        let hop = transit::hop(self.packets.arena.cargo(slot));
        self.shared.route.choose(hop, node.number, &queued)
    }

    #[inline(always)]
    fn arrive(
        &mut self,
        switch: usize,
        port: u32,
        slot: SlotId,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        let backlogged = at_port!(self, switch, port, out, |driver, line, node| {
            driver.settle(&mut line, now);
            driver.arrive(slot, &mut line, now);
            driver.backlogged()
        });
        self.switches[switch].note(port, backlogged);
    }

    /// Sends the messages to sources that are due by `now`.
    #[cold]
    fn send_feedbacks(&mut self, switch: usize, now: Time, out: &mut Outbox<Parcel>) {
        while let Some(&(at, to, feedback)) = self.switches[switch].feedbacks.front()
            && at <= now
        {
            self.switches[switch].feedbacks.pop_front();
            let frames = self.shared.frames;
            let packet = Packet {
                flow: NOTIFICATIONS,
                len_bytes: frames.len_bytes,
                class: frames.class,
                ..Packet::default()
            };
            let hop = Hop { dst: to, key: feedback.flow.0 & !Hop::PINNED };
            let payload = Payload::loose(Body::Notification(feedback));
            let slot = self.packets.put(packet, payload, transit::new(hop, transit::NO_HOST));
            let port = self.shared.route.route(hop, self.switches[switch].number);
            if self.switches[switch].reads_pool {
                self.settle_in_order(switch, at, out);
            }
            self.arrive(switch, port, slot, at, out);
        }
    }

    /// The departures that are due by `now` in the order of their times, for a scheme that reads
    /// the memory that the ports share.
    fn settle_in_order(&mut self, switch: usize, now: Time, out: &mut Outbox<Parcel>) {
        while let Some((at, port)) = self.due(switch).filter(|&(at, _)| at <= now) {
            let backlogged = at_port!(self, switch, port, out, |driver, line, node| {
                driver.transmit(&mut line, at);
                driver.backlogged()
            });
            self.switches[switch].note(port, backlogged);
        }
    }

    /// The departures that are due by `now`, port by port; when the next is due.
    fn settle_each(&mut self, switch: usize, now: Time, out: &mut Outbox<Parcel>) -> Time {
        let (mut next, mut port) = (Time::NEVER, 0);
        while let Some(busy) = self.switches[switch].busy_from(port) {
            let place = self.switches[switch].first + busy;
            let mut due = self.links[place as usize].driver.due();
            if due <= now {
                due = at_port!(self, switch, busy, out, |driver, line, node| {
                    driver.settle(&mut line, now);
                    driver.due()
                });
                if due == Time::NEVER {
                    self.switches[switch]
                        .note(busy, self.links[place as usize].driver.backlogged());
                }
            }
            next = next.min(due);
            port = busy + 1;
        }
        next
    }

    /// The port whose departure is due next, and when.
    fn due(&self, switch: usize) -> Option<(Time, u32)> {
        let node = &self.switches[switch];
        let mut first: Option<(Time, u32, u32)> = None;
        let mut port = 0;
        while let Some(busy) = node.busy_from(port) {
            let Link { driver, channel } = &self.links[(node.first + busy) as usize];
            let due = (driver.due(), channel.rank, busy);
            if due.0 != Time::NEVER && first.is_none_or(|first| due < first) {
                first = Some(due);
            }
            port = busy + 1;
        }
        first.map(|(at, _, port)| (at, port))
    }
}
