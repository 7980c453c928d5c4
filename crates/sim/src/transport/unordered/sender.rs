//! The sender: cuts messages into packets, and lets them leave by window and by credit, in any order again.

use super::Config;
use super::config::in_units;
use super::fields::Fields;
use super::sleek::{Heard, Sleek};
use super::spray::{Met, Spray};
use crate::packet::rdma::{Rdma, RdmaKind};
use crate::transport::ranges::give_back;
use crate::transport::roce::Messages;
use crate::transport::{Counters, Outgoing, Wait, Waits};
use std::collections::{BTreeSet, VecDeque};
use switchbed_congestion::nscc::{Nscc, NsccAck};
use switchbed_scenario::roce::RETRIES;
use switchbed_units::{Rate, Span, Time};

/// From a microsecond to a second.
const MOST_DOUBLINGS: u32 = 20;

/// The sending half.
#[derive(Clone, Debug)]
pub struct Sender {
    messages: Messages,
    /// Stream offsets: of the next byte that was never sent, and up to which all has arrived.
    next: u64,
    acked: u64,
    /// Packets from the first that is missing on, the number of that one, and those to be sent again by offset and
    /// number.
    packets: VecDeque<Packet>,
    first: u32,
    resend: BTreeSet<(u64, u32)>,
    resend_bytes: u64,
    /// Departures in order, for timeouts.
    departures: VecDeque<(Time, u32)>,
    /// Bytes on the wire that are out, by the receiver's count of what came. Below zero while that count has packets
    /// which were taken for lost.
    in_flight: i64,
    /// The greatest window in bytes.
    most: u64,
    nscc: Option<Nscc>,
    /// Bytes that its receiver has got, as the last answer says.
    received: u64,
    /// Credit left, below zero by a packet at most; what it has got in all; whether it sends without having
    /// got any.
    credit: i64,
    pulled: u64,
    speculates: bool,
    /// The first packet that was sent so.
    speculative: u32,
    /// When a request for credit is due, having neither credit nor anything out; whether one is to go out.
    request_at: Time,
    requests: bool,
    /// When a request for a SACK is due, the window being full.
    ask_at: Time,
    /// The last packet that asked for a SACK; the last request with its time, and whether it was answered.
    asked: Option<u32>,
    requested: Option<(u32, Time)>,
    /// Requests in a row whose answer told nothing new.
    fruitless: u32,
    answered: bool,
    spray: Spray,
    sleek: Sleek,
    /// When the last new data was acknowledged, and how many timeouts came since.
    progress: Time,
    retries: u32,
    failed: bool,
    /// The card's line is down: a timer runs out then though nothing is out.
    held_until: Time,
    rto: Span,
    /// The last round trip that was measured, until somebody asks for it.
    rtt: Option<Span>,
    counters: Counters,
    waits: Waits,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    offset: u64,
    len: u16,
    entropy: u16,
    sent_at: Time,
    /// How often it was sent.
    times: u16,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Out,
    Lost,
    Arrived,
}

impl Sender {
    /// A sender at a card whose line has this rate; `key` tells its paths from others'.
    pub fn new(config: &Config, line: Rate, key: u32, now: Time) -> Sender {
        let path = config.path(line);
        let most = path.window() as u64;
        Sender {
            messages: Messages::default(),
            next: 0,
            acked: 0,
            packets: VecDeque::new(),
            first: 0,
            resend: BTreeSet::new(),
            resend_bytes: 0,
            departures: VecDeque::new(),
            in_flight: 0,
            most: most.max(config.wire()),
            nscc: config.nscc.then(|| Nscc::new(&path)),
            received: 0,
            credit: 0,
            pulled: 0,
            speculates: false,
            speculative: 0,
            request_at: Time::NEVER,
            requests: false,
            ask_at: Time::NEVER,
            asked: None,
            requested: None,
            fruitless: 0,
            answered: true,
            spray: Spray::new(config.spray, config.entropies, key),
            sleek: Sleek::default(),
            progress: now,
            retries: 0,
            failed: false,
            held_until: Time::NEVER,
            rto: config.rto,
            counters: Counters::default(),
            waits: Waits::default(),
            rtt: None,
        }
    }

    /// The application sends a message. One that finds nothing to be sent begins with a window of credit, as a new
    /// connection of htsim's.
    pub fn write(&mut self, config: &Config, bytes: u64) {
        // A new backlog may begin on credit that nobody gave yet.
        let begins = config.credits && self.unsent() == 0 && self.resend.is_empty();
        self.messages.write(bytes, config.mtu);
        if begins && let Some(cut) = self.messages.cut(self.next, config.mtu) {
            // Sequence numbers from here on are sent on speculation.
            (self.speculates, self.speculative) = (true, cut.psn);
            self.credit = self.credit.max(self.most as i64);
        }
    }

    /// The application takes back what was never sent; where the stream ends now.
    pub fn truncate(&mut self, config: &Config) -> u64 {
        self.messages.truncate(self.next, config.mtu);
        self.messages.end()
    }

    /// Where the stream ends.
    pub fn written(&self) -> u64 {
        self.messages.end()
    }

    /// Bytes up to which all has arrived.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes that were never sent.
    pub fn unsent(&self) -> u64 {
        self.messages.end() - self.next
    }

    /// Whether it has given up.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Takes the last round trip that was measured, if there is one since the last call.
    pub(crate) fn take_rtt(&mut self) -> Option<Span> {
        self.rtt.take()
    }

    /// Returns the counts so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The timers that it has waited for.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// Bytes on the wire that are out.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.max(0) as u64
    }

    /// The window in full packets.
    pub(crate) fn window(&self, config: &Config) -> f64 {
        self.window_bytes() as f64 / config.wire() as f64
    }

    fn window_bytes(&self) -> u64 {
        self.nscc.as_ref().map_or(self.most, |nscc| nscc.window() as u64)
    }

    /// Whether a packet of so many bytes may leave, as far as window and credit go. `again`: it was sent before.
    fn may_send(&self, config: &Config, wire: u64, again: bool) -> bool {
        let recovers = self.sleek.recovers();
        if recovers && !again {
            return false;
        }
        let fits = |nscc: &Nscc| recovers || self.in_flight + wire as i64 <= nscc.window() as i64;
        self.nscc.as_ref().is_none_or(fits) && (!config.credits || self.credit > 0)
    }

    /// The packet that leaves next: one to be sent again, or else a new one; its bytes on the wire.
    fn due(&self, config: &Config) -> Option<(Option<u32>, u64)> {
        let (psn, wire) = match self.resend.first() {
            Some(&(_, psn)) => (
                Some(psn),
                self.wire(config, self.packets[psn.wrapping_sub(self.first) as usize].len),
            ),
            None if self.next < self.messages.end() => {
                let cut = self.messages.cut(self.next, config.mtu)?;
                (None, self.wire(config, cut.len as u16))
            }
            None => return None,
        };
        self.may_send(config, wire, psn.is_some()).then_some((psn, wire))
    }

    /// Whether it has a packet for the card now.
    #[inline]
    pub(crate) fn has_more(&self, config: &Config) -> bool {
        !self.failed && (self.requests || self.due(config).is_some())
    }

    pub(crate) fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Outgoing> {
        if self.failed {
            return None;
        }
        if std::mem::take(&mut self.requests) {
            let nth = self.requested.map_or(0, |(nth, _)| nth.wrapping_add(1));
            (self.requested, self.answered) = (Some((nth, now)), false);
            let probes = std::mem::take(&mut self.sleek.probes);
            if probes {
                self.sleek.probe = Some(nth);
            }
            let request = Fields::new(RdmaKind::Request, self.acked, nth, self.spray.next());
            let request = request.with_credit(self.wanted(config));
            // A probe meets the queues of the data.
            let class = config.class.filter(|_| !probes);
            return Some(config.packet(request, config.control_bytes, class));
        }
        let (psn, wire) = self.due(config)?;
        let again = psn.is_some();
        let entropy = self.spray.next();
        let psn = match psn {
            Some(psn) => {
                self.resend.pop_first();
                self.resend_bytes -= wire;
                self.counters.retransmits += 1;
                psn
            }
            None => {
                let cut = self.messages.cut(self.next, config.mtu)?;
                if self.packets.is_empty() {
                    // Nothing is out: waiting begins now, and failures before do not count.
                    (self.first, self.progress, self.retries) = (cut.psn, now, 0);
                }
                let (offset, len) = (self.next, cut.len as u16);
                let state = State::Out;
                self.packets.push_back(Packet {
                    offset,
                    len,
                    entropy,
                    sent_at: now,
                    times: 0,
                    state,
                });
                self.next += u64::from(cut.len);
                cut.psn
            }
        };
        self.in_flight += wire as i64;
        if config.credits {
            // Credit may go below 0 with the last packet: a debt that the next credit pays first.
            self.credit -= wire as i64;
        }
        self.departures.push_back((now, psn));
        let packet = &mut self.packets[psn.wrapping_sub(self.first) as usize];
        (packet.entropy, packet.sent_at, packet.state) = (entropy, now, State::Out);
        packet.times = packet.times.saturating_add(1);
        let Packet { offset, len, .. } = *packet;
        let data = Fields::new(RdmaKind::Sprayed, offset, psn, entropy).with_len(len);
        let full = |nscc: &Nscc| self.in_flight + wire as i64 >= nscc.window() as i64;
        let asks = again
            || self.unsent() == 0
            || config.credits && self.credit <= 0
            || self.nscc.as_ref().is_some_and(full);
        if asks {
            self.asked = Some(psn);
        }
        let data = data.with_asks(asks).with_again(again);
        self.arm_request(config, now);
        let data = if config.credits { data.with_credit(self.wanted(config)) } else { data };
        Some(config.packet(data, wire as u32, None))
    }

    fn wire(&self, config: &Config, len: u16) -> u64 {
        u64::from(len) + u64::from(config.header)
    }

    /// Credit that it wants in all, that which it has got included.
    fn wanted(&self, config: &Config) -> u64 {
        let backlog = config.on_wire(self.unsent());
        let most = match &self.nscc {
            // No more than the window lets out, and one packet.
            Some(nscc) => self.most.min(nscc.window() as u64 + config.wire()),
            None => self.most,
        };
        let lacks = (backlog + self.resend_bytes).min(most) as i64 - self.credit;
        // While it speculates it asks for one packet at least, or nobody would pull.
        let least = if self.speculates && backlog > 0 { config.wire() as i64 } else { 0 };
        in_units(self.pulled + lacks.max(least) as u64)
    }

    /// Without credit and with nothing out, it asks for credit after a timeout.
    fn arm_request(&mut self, config: &Config, now: Time) {
        let stuck = config.credits
            && self.in_flight <= 0
            && (self.unsent() > 0 || !self.resend.is_empty())
            && self.credit <= 0;
        match (stuck, self.request_at) {
            (false, _) => self.request_at = Time::NEVER,
            (true, Time::NEVER) => self.request_at = now + config.rto,
            (true, _) => {}
        }
    }

    /// An answer came.
    pub(crate) fn on_answer(&mut self, config: &Config, answer: &Rdma, now: Time) {
        if self.failed {
            return;
        }
        let answer = Fields::of(answer);
        // Credit that nobody gave is forfeited with the first answer to what was sent by it, or the first pull.
        let forfeits = match answer.kind() {
            RdmaKind::Pull => answer.credit() > self.pulled,
            _ if answer.requested() => false,
            _ => answer.psn().wrapping_sub(self.speculative) < 1 << 31,
        };
        if self.speculates && forfeits {
            // Credit that was not given is lost, but a debt stays.
            (self.speculates, self.credit) = (false, self.credit.min(0));
        }
        match answer.kind() {
            RdmaKind::Sack => self.on_sack(config, answer, now),
            RdmaKind::Trimmed => self.on_nack(config, answer, now),
            RdmaKind::Pull => {
                let more = answer.credit().saturating_sub(self.pulled);
                self.pulled += more;
                self.credit = (self.credit + more as i64).min(self.most as i64);
            }
            _ => {}
        }
        self.ask_if_blocked(config, now);
        self.arm_request(config, now);
    }

    /// Packets that left before the window shrank may be too few for a SACK, while nothing more may leave: one is
    /// asked for, unless one that was asked for is still to come.
    fn ask_if_blocked(&mut self, config: &Config, now: Time) {
        let backlog = self.unsent() > 0 || !self.resend.is_empty();
        let by_window = self.nscc.is_some() && (!config.credits || self.credit > 0);
        let out = |psn| self.packet(psn).is_some_and(|packet| packet.state == State::Out);
        let waits = !self.answered || self.asked.is_some_and(out);
        let blocked = backlog && by_window && !waits && self.due(config).is_none();
        self.ask_at = if blocked { self.next_request(config).max(now) } else { Time::NEVER };
        if self.ask_at <= now {
            self.request(config, now);
        }
    }

    /// When the next request may go: one in a round trip, since requests of many senders would be an incast. The
    /// time doubles with each answer in a row after the first that told nothing new: packets that were dropped are
    /// found by timeout alone.
    fn next_request(&self, config: &Config) -> Time {
        let doublings = self.fruitless.saturating_sub(1).min(MOST_DOUBLINGS);
        let apart = config.rtt * (1 << doublings);
        self.requested.map_or(Time::ZERO, |(_, at)| at + apart.min(self.rto.max(config.rtt)))
    }

    fn request(&mut self, config: &Config, now: Time) {
        self.requests |= self.next_request(config) <= now;
        self.ask_at = Time::NEVER;
    }

    /// The round trip that an answer tells of, if it is known which copy of its packet came: htsim takes that of the
    /// first two.
    fn sample(&self, answer: Fields, now: Time) -> Option<Span> {
        let nth = if answer.again() { 2 } else { 1 };
        let packet = self.packet(answer.psn())?;
        let sure = packet.times == nth && packet.state == State::Out;
        sure.then(|| now.since(packet.sent_at))
    }

    fn on_sack(&mut self, config: &Config, sack: Fields, now: Time) {
        let newly = sack.received().saturating_sub(self.received);
        self.received += newly;
        self.in_flight -= newly as i64;
        let request = sack.requested();
        let rtt = match (request, self.requested) {
            (false, _) => self.sample(sack, now),
            (true, Some((nth, at))) if nth == sack.psn() && !self.answered => {
                self.answered = true;
                self.fruitless += 1;
                Some(now.since(at))
            }
            (true, _) => None,
        };
        self.rtt = rtt.or(self.rtt);
        let met = if sack.marked() { Met::Mark } else { Met::Nothing };
        self.spray.heard(sack.entropy(), met, config.trimming, now);
        if !request {
            self.arrived(config, sack.psn());
        }
        let (from, bits) = sack.bitmap();
        (0..64).filter(|bit| bits >> bit & 1 != 0).for_each(|bit| {
            self.arrived(config, from.wrapping_add(bit));
        });
        // An offset beyond what was sent would be of another connection's.
        if sack.offset() > self.acked && sack.offset() <= self.next {
            self.acked = sack.offset();
            while let Some(packet) =
                self.packets.front().filter(|packet| packet.offset < sack.offset())
            {
                debug_assert!(packet.offset + u64::from(packet.len) <= sack.offset());
                self.arrived(config, self.first);
                self.packets.pop_front();
                self.first = self.first.wrapping_add(1);
            }
            give_back(&mut self.packets);
            self.messages.acked(self.acked);
        }
        if newly > 0 {
            (self.progress, self.retries, self.fruitless) = (now, 0, 0);
        }
        if let Some(nscc) = &mut self.nscc {
            let before = nscc.window();
            let (marked, in_flight) = (sack.marked(), self.in_flight.max(0) as u64);
            nscc.acked(&NsccAck { now, newly, marked, rtt, request, in_flight });
            self.counters.mark_cuts += u32::from(marked && nscc.window() < before);
        }
        if config.sleek {
            self.infer(config, sack, rtt, now);
        }
    }

    /// Takes packets for lost that a SACK shows to be so.
    fn infer(&mut self, config: &Config, sack: Fields, rtt: Option<Span>, now: Time) {
        let Some(nscc) = &self.nscc else { return };
        let probed = sack.requested() && self.sleek.probe == Some(sack.psn());
        let heard = Heard {
            first: self.first,
            end: self.first.wrapping_add(self.packets.len() as u32),
            early: sack.early(),
            probed: rtt.filter(|_| probed),
            backlog: self.unsent() > 0,
            resends: !self.resend.is_empty(),
            mss: config.mtu,
        };
        let lost = self.sleek.heard(heard, nscc, now);
        let count = lost.end.wrapping_sub(lost.start);
        for psn in (0..count).map(|nth| lost.start.wrapping_add(nth)) {
            if self.packet(psn).is_some_and(|packet| packet.state == State::Out) {
                self.lose(config, psn);
            }
        }
    }

    fn on_nack(&mut self, config: &Config, nack: Fields, now: Time) {
        let Some(packet) = self.packet(nack.psn()).filter(|packet| packet.state == State::Out)
        else {
            return;
        };
        let last = nack.last_hop();
        let met = match (last, nack.marked()) {
            (false, _) => Met::Trim,
            (true, true) => Met::Mark,
            (true, false) => Met::Nothing,
        };
        self.spray.heard(nack.entropy(), met, config.trimming, now);
        let (wire, rtt) = (self.wire(config, packet.len), self.sample(nack, now));
        self.rtt = rtt.or(self.rtt);
        if let Some(nscc) = &mut self.nscc {
            let in_flight = self.in_flight.max(0) as u64;
            nscc.trimmed(now, (wire, in_flight), rtt, !(last && config.credits));
        }
        self.fruitless = 0;
        self.lose(config, nack.psn());
    }

    fn packet(&self, psn: u32) -> Option<Packet> {
        self.packets.get(psn.wrapping_sub(self.first) as usize).copied()
    }

    /// A packet is known to have arrived.
    fn arrived(&mut self, config: &Config, psn: u32) {
        let Some(packet) = self.packet(psn) else { return };
        let wire = self.wire(config, packet.len);
        match packet.state {
            // The receiver's count has it.
            State::Out => {}
            State::Lost => {
                self.resend.remove(&(packet.offset, psn));
                self.resend_bytes -= wire;
                // Taken off twice: as lost, and by the receiver's count.
                self.in_flight += wire as i64;
            }
            State::Arrived => {}
        }
        self.packets[psn.wrapping_sub(self.first) as usize].state = State::Arrived;
    }

    /// A packet that is out is to be sent again.
    fn lose(&mut self, config: &Config, psn: u32) {
        let Some(packet) = self.packet(psn) else { return };
        let wire = self.wire(config, packet.len);
        self.packets[psn.wrapping_sub(self.first) as usize].state = State::Lost;
        self.in_flight -= wire as i64;
        self.resend.insert((packet.offset, psn));
        self.resend_bytes += wire;
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let oldest = self.departures.front().map(|&(at, _)| at + self.rto);
        let asks = self.request_at.min(self.ask_at).min(self.sleek.probe_at);
        let due = oldest.unwrap_or(Time::NEVER).min(asks).min(self.held_until);
        (due != Time::NEVER && !self.failed).then_some(due)
    }

    pub(crate) fn on_timeout(&mut self, config: &Config, now: Time) {
        if self.ask_at <= now {
            self.ask_if_blocked(config, now);
        }
        if self.sleek.probe_at <= now {
            // The card may be busy: the time is over in any case.
            (self.sleek.probe_at, self.sleek.probes, self.requests) = (Time::NEVER, true, true);
        }
        let waited = !self.resend.is_empty();
        let mut late = 0;
        while let Some(&(at, psn)) = self.departures.front() {
            let waits = self.waits_for(at, psn);
            if waits && at + config.rto > now {
                break;
            }
            self.departures.pop_front();
            if !waits {
                continue;
            }
            late += 1;
            let Some(packet) = self.packet(psn) else { continue };
            self.spray.heard(packet.entropy, Met::Timeout, config.trimming, now);
            let wire = self.wire(config, packet.len);
            self.lose(config, psn);
            if let Some(nscc) = &mut self.nscc {
                nscc.timed_out(wire);
            }
        }
        give_back(&mut self.departures);
        let asks = self.request_at <= now;
        let held = self.held_until <= now;
        if held {
            let waits = !self.resend.is_empty() || self.unsent() > 0;
            self.held_until = if waits { now + config.rto } else { Time::NEVER };
        }
        if late == 0 && !asks && (!held || self.held_until == Time::NEVER) {
            return;
        }
        self.counters.timeouts += 1;
        let from = Time::from_ps(now.as_ps().saturating_sub(config.rto.as_ps()));
        self.waits.note(Wait::Rto, (from, now), config.counts_from);
        self.retries = self.retries.saturating_add(1);
        if self.retries >= RETRIES && now.since(self.progress) >= config.give_up {
            (self.failed, self.next) = (true, self.messages.end());
            (self.request_at, self.requests) = (Time::NEVER, false);
            self.held_until = Time::NEVER;
            return;
        }
        self.speculates = false;
        self.request_at = Time::NEVER;
        self.arm_request(config, now);
        self.answered = true;
        if config.credits && waited || self.due(config).is_none() {
            self.request(config, now);
        }
    }

    /// The card's line is down, or up again: what it would send is as if lost while it is down.
    pub(crate) fn hold(&mut self, config: &Config, held: bool, now: Time) {
        let waits = !self.resend.is_empty() || self.unsent() > 0;
        self.held_until = match held && waits && !self.failed {
            true if self.held_until == Time::NEVER => {
                if self.packets.is_empty() {
                    (self.progress, self.retries) = (now, 0);
                }
                now + config.rto
            }
            true => self.held_until,
            false => Time::NEVER,
        };
    }

    /// Whether a packet is still out since a departure.
    fn waits_for(&self, at: Time, psn: u32) -> bool {
        self.packet(psn).is_some_and(|packet| packet.state == State::Out && packet.sent_at == at)
    }
}
