//! Cards that ask connections for packets, and those of a host with several links. Each has a line, a queue and pauses of
//! its own. A connection that a card asks for packets waits at the card of the link that its next packet leaves by: where a
//! hash decides, always the same one.
//!
//! A sender that chooses a path for each packet (`entropies`) is asked by the card that is free first, or by that of its
//! last packet's link while packets wait there; its packets then leave by the links that their entropies lead to.

use super::{Card, Cx, Host, Net, Polled, Settings, Timer};
use crate::ids::{ConnId, GroupId, Rank};
use crate::topology::Hop;
use crate::transport::Half;
use switchbed_units::{Rate, Time};

/// Length of a packet that is not made yet, until one has been sent.
const TYPICAL: u32 = 1_500;

/// Links of a host behind its first.
#[derive(Debug)]
pub(super) struct Links {
    /// Rates of all links.
    rates: Vec<Rate>,
    /// Cards of the links behind the first, where cards ask for packets.
    cards: Vec<Card>,
    /// The link is chosen for each packet.
    by_packet: bool,
    /// Connections that have sent a packet and choose a link for the next.
    moved: Vec<ConnId>,
    /// Bytes of the last packet.
    last_bytes: u32,
}

impl Links {
    /// Links of a host with several.
    pub(super) fn of(lines: &[(Rate, Rank)], settings: &Settings) -> Option<Box<Links>> {
        let others = lines.get(1..).filter(|others| !others.is_empty())?;
        let card = |&(rate, rank): &(Rate, Rank)| Card::new(rank, rate, settings.seed);
        let cards = settings.has_cards().then(|| others.iter().map(card).collect());
        Some(Box::new(Links {
            rates: lines.iter().map(|line| line.0).collect(),
            cards: cards.unwrap_or_default(),
            by_packet: settings.by_packet,
            moved: Vec::new(),
            last_bytes: TYPICAL,
        }))
    }

    /// A group of connections has a number at all cards.
    pub(super) fn mirror(&mut self, group: GroupId, class: u8) {
        self.cards.iter_mut().for_each(|card| card.mirror(group, class));
    }

    /// Whether a group waits at one of the cards.
    pub(super) fn wait(&self, group: GroupId) -> bool {
        self.cards.iter().any(|card| card.waits(group))
    }

    /// The link of a packet that a link's card has asked a connection for; `None`: that one. Whether the connection
    /// chooses a link for the next packet.
    #[cold]
    pub(super) fn led<N: Net>(
        &mut self,
        (conn, sprays): (ConnId, bool),
        (hop, bytes): (Hop, u32),
        (net, now): (&mut N, Time),
    ) -> (Option<usize>, bool) {
        self.last_bytes = bytes;
        let moves = sprays || self.by_packet;
        if moves {
            self.moved.push(conn);
        }
        (sprays.then(|| net.exit(hop, bytes, now)), moves)
    }

    fn total(&self) -> Rate {
        Rate::from_bps(self.rates.iter().map(|rate| rate.as_bps()).sum())
    }
}

impl Host {
    /// The card of a link.
    #[inline]
    pub(super) fn card_of(&mut self, nth: usize) -> Option<&mut Card> {
        match nth.checked_sub(1) {
            None => self.card.as_deref_mut(),
            Some(other) => self.links.as_mut()?.cards.get_mut(other),
        }
    }

    /// A link has another rate.
    pub(super) fn set_line(&mut self, nth: usize, rate: Rate) {
        if let Some(links) = &mut self.links {
            links.rates[nth] = rate;
            self.share_credit();
        }
    }

    /// Receivers give credit for what all links can carry.
    pub(super) fn share_credit(&mut self) {
        if let (Some(links), Some(puller)) = (&self.links, &mut self.puller) {
            puller.line = links.total();
        }
    }

    /// Whether the lines of all cards are down.
    pub(super) fn is_cut_off(&self) -> bool {
        let mut others = self.links.iter().flat_map(|links| &links.cards);
        self.card.as_ref().is_some_and(|card| card.is_down()) && others.all(Card::is_down)
    }

    /// Tells queue pairs whether they can send.
    pub(super) fn hold_senders(&mut self, settings: &Settings, now: Time) {
        let held = self.is_cut_off();
        for conn in (0..self.senders.len()).map(ConnId::at) {
            let half = &mut self.senders[conn];
            if half.open {
                half.sending.hold(settings.transport(half.kind), held, now);
                self.arm_sender(conn);
            }
        }
    }

    /// The rate that a connection's packets can leave at: a link's, or all links' where each packet chooses.
    #[inline]
    pub(super) fn line<N: Net>(&self, hop: Hop, kind: u8, cx: &mut Cx<N>, now: Time) -> Rate {
        match &self.links {
            None => self.card.as_ref().map_or(Rate::from_bps(1), |card| card.rate()),
            Some(links) if links.by_packet || cx.settings.transport(kind).sprays() => links.total(),
            Some(links) => links.rates[cx.net.exit(hop, links.last_bytes, now)],
        }
    }

    /// The card may send.
    #[cold]
    pub(super) fn card_due<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        // A later request for an earlier time has replaced this wake-up.
        if self.card_armed != now {
            return;
        }
        self.card_armed = Time::NEVER;
        let Some(mut card) = self.card.take() else { return };
        let mut silent = Vec::new();
        self.ask((&mut card, 0), &mut silent, cx, now);
        self.card = Some(card);
        let mut moved = Vec::new();
        if self.links.is_some() {
            moved = self.ask_others(&mut silent, cx, now);
        }
        self.arm_card(now);
        self.watch_line(cx, now);
        for conn in silent {
            self.arm_pace(conn);
            self.arm_sender(conn);
            self.note_unsent(conn, cx, now);
            self.finish(conn, cx, now);
        }
        for conn in moved {
            // A packet of the connection may have ended it.
            if self.senders[conn].open {
                self.pump_sender(conn, cx, now);
            }
        }
        self.answer(cx, now);
    }

    /// A link's card asks connections for packets while its line is free.
    #[inline(always)]
    fn ask<N: Net>(
        &mut self,
        (card, nth): (&mut Card, usize),
        silent: &mut Vec<ConnId>,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        let yields = cx.settings.cards_yield();
        // Transports that share the card with others leave it to them while the line is busy.
        if yields {
            card.wait(cx.net.line_free(nth, now));
        }
        let mut sent = None;
        let point = cx.settings.reaction.as_ref().map(|reaction| reaction.card.point);
        card.send(point.as_ref(), now, |conn| {
            let half = &mut self.senders[conn];
            let kind = cx.settings.transport(half.kind);
            let Some(out) = half.sending.poll_transmit(kind, now) else {
                half.joined = false;
                silent.push(conn);
                return None;
            };
            let (packet, payload, toward) = half.packet(&out, conn);
            let terms = half.sending.terms().filter(|_| kind.shapes());
            let mut polled = Polled::packet(packet.len_bytes);
            let mut exit = nth;
            let mut moves = false;
            if let Some(links) = &mut self.links {
                let way = (toward.hop, packet.len_bytes);
                let (led, again) = links.led((conn, kind.sprays()), way, (cx.net, now));
                moves = again;
                exit = led.unwrap_or(nth);
                half.exit = exit as u16;
                if exit != nth {
                    // Another line carries it: the card's own stays free.
                    polled = Polled::packet(0);
                }
            }
            cx.net.send_by(exit, (packet, payload, toward), terms, now);
            sent = Some(conn);
            if let Some((next, more)) = half.sending.pace(kind) {
                (polled.next, polled.more) = (next, more);
                if !more {
                    half.joined = false;
                    silent.push(conn);
                }
            }
            if moves && polled.more {
                (polled.more, half.joined) = (false, false);
            }
            Some(polled)
        });
        if yields {
            card.wait(cx.net.line_free(nth, now));
        }
        if let Some(conn) = sent.filter(|_| yields) {
            self.arm_sender(conn);
        }
    }

    #[inline]
    pub(super) fn arm_card(&mut self, now: Time) {
        if let Some(next) = self.card.as_ref().and_then(|card| card.next(now)) {
            self.arm_card_at(next);
        }
        if self.links.is_some() {
            self.arm_others(now);
        }
    }

    #[inline]
    pub(super) fn arm_card_at(&mut self, next: Time) {
        // The earliest request alone is set; later ones are set again when it fires.
        if next != Time::NEVER && next < self.card_armed {
            self.card_armed = next;
            self.wake(next, Timer::Card);
        }
    }

    /// A connection waits at the card of the link that its next packet leaves by.
    #[cold]
    pub(super) fn join_one<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &self.senders[conn];
        let (group, before, hop) = (half.group, usize::from(half.exit), half.hop());
        let sprays = cx.settings.transport(half.kind).sprays();
        let Some(links) = &self.links else { return };
        let bytes = links.last_bytes;
        let exit = match sprays {
            false => cx.net.exit(hop, bytes, now),
            // No more than a packet waits for the line that the last one chose; else all lines are used.
            true if cx.net.waits(before, now) => before,
            true => {
                let several = 0..links.rates.len();
                several.min_by_key(|&nth| (cx.net.line_free(nth, now), nth)).unwrap_or(before)
            }
        };
        let until = self.card_of(before).map_or(Time::ZERO, |card| card.next_of(group));
        if let Some(card) = self.card_of(exit) {
            // Rates of connections hold across links.
            card.delay(group, until);
            card.join(group, conn, now);
        }
        self.senders[conn].exit = exit as u16;
    }

    /// The other links' cards ask connections for packets. Answers the connections that choose a link anew.
    #[cold]
    pub(super) fn ask_others<N: Net>(
        &mut self,
        silent: &mut Vec<ConnId>,
        cx: &mut Cx<N>,
        now: Time,
    ) -> Vec<ConnId> {
        let Some(links) = &mut self.links else { return Vec::new() };
        let mut cards = std::mem::take(&mut links.cards);
        for (nth, card) in (1..).zip(&mut cards) {
            self.ask((card, nth), silent, cx, now);
        }
        match &mut self.links {
            Some(links) => {
                links.cards = cards;
                std::mem::take(&mut links.moved)
            }
            None => Vec::new(),
        }
    }

    #[cold]
    pub(super) fn arm_others(&mut self, now: Time) {
        let cards = self.links.iter().flat_map(|links| &links.cards);
        if let Some(next) = cards.filter_map(|card| card.next(now)).min() {
            self.arm_card_at(next);
        }
    }

    /// Links are used no longer, or again: connections that wait for a card wait for that of the link that is theirs now.
    #[cold]
    pub(crate) fn join_anew<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if self.card.is_none() {
            return;
        }
        for conn in (0..self.senders.len()).map(ConnId::at) {
            let half = &self.senders[conn];
            if !half.open || !half.joined {
                continue;
            }
            let (group, exit) = (half.group, usize::from(half.exit));
            if let Some(card) = self.card_of(exit) {
                card.forget(group, conn);
            }
            self.join_one(conn, cx, now);
        }
        self.arm_card(now);
    }
}
