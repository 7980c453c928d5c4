//! The sender: cuts messages into packets, and lets them leave by window and by credit, in any order again.

use super::Config;
use super::fields::Fields;
use super::spray::{Met, Spray};
use crate::packet::rdma::{Rdma, RdmaKind};
use crate::transport::roce::Messages;
use crate::transport::{Counters, Outgoing, Wait, Waits};
use std::collections::VecDeque;
use switchbed_congestion::nscc::{Nscc, NsccAck};
use switchbed_scenario::roce::RETRIES;
use switchbed_units::{Rate, Span, Time};

/// The sending half.
#[derive(Clone, Debug)]
pub struct Sender {
    messages: Messages,
    /// Stream offsets: of the next byte that was never sent, and up to which all has arrived.
    next: u64,
    acked: u64,
    /// Packets from the first that is missing on, the number of that one, and those to be sent again.
    packets: VecDeque<Packet>,
    first: u32,
    resend: VecDeque<u32>,
    resend_bytes: u64,
    /// Departures in order, for timeouts.
    departures: VecDeque<(Time, u32)>,
    /// Bytes on the wire that are out.
    in_flight: u64,
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
    /// A SACK was asked for, and has not come.
    asked: bool,
    spray: Spray,
    /// When the last new data was acknowledged, and how many timeouts came since.
    progress: Time,
    retries: u32,
    failed: bool,
    rto: Span,
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
            resend: VecDeque::new(),
            resend_bytes: 0,
            departures: VecDeque::new(),
            in_flight: 0,
            most: most.max(config.wire()),
            nscc: config.nscc.then(|| Nscc::new(&path, now)),
            received: 0,
            credit: 0,
            pulled: 0,
            speculates: false,
            speculative: 0,
            request_at: Time::NEVER,
            requests: false,
            asked: false,
            spray: Spray::new(config.spray, config.entropies, key),
            progress: now,
            retries: 0,
            failed: false,
            rto: config.rto,
            counters: Counters::default(),
            waits: Waits::default(),
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
        self.in_flight
    }

    /// The window in full packets.
    pub(crate) fn window(&self, config: &Config) -> f64 {
        self.window_bytes() as f64 / config.wire() as f64
    }

    fn window_bytes(&self) -> u64 {
        self.nscc.as_ref().map_or(self.most, |nscc| nscc.window() as u64)
    }

    /// Whether a packet of so many bytes may leave, as far as window and credit go.
    fn may_send(&self, config: &Config, wire: u64) -> bool {
        // A packet that is larger than the window leaves alone, or it never would.
        let fits = self.in_flight == 0 || self.in_flight + wire <= self.window_bytes();
        fits && (!config.credits || self.credit > 0)
    }

    /// The packet that leaves next: one to be sent again, or else a new one; its bytes on the wire.
    fn due(&self, config: &Config) -> Option<(Option<u32>, u64)> {
        let (psn, wire) = match self.resend.front() {
            Some(&psn) => (
                // Numbers wrap after 2³²: the difference is the place.
                Some(psn),
                self.wire(config, self.packets[psn.wrapping_sub(self.first) as usize].len),
            ),
            None if self.next < self.messages.end() => {
                let cut = self.messages.cut(self.next, config.mtu)?;
                (None, self.wire(config, cut.len as u16))
            }
            None => return None,
        };
        self.may_send(config, wire).then_some((psn, wire))
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
            let request = Fields::new(RdmaKind::Request, self.acked, self.first, self.spray.next());
            let request = request.with_credit(self.wanted(config));
            return Some(config.packet(request, config.control_bytes, None));
        }
        let (psn, wire) = self.due(config)?;
        let entropy = self.spray.next();
        let psn = match psn {
            Some(psn) => {
                self.resend.pop_front();
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
        self.in_flight += wire;
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
        // The last packet before a wait asks for a SACK, on which the wait depends.
        let asks = self.due(config).is_none();
        self.asked |= asks;
        let data = data.with_asks(asks);
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
        self.pulled + lacks.max(least) as u64
    }

    /// Without credit and with nothing out, it asks for credit after a timeout.
    fn arm_request(&mut self, config: &Config, now: Time) {
        let stuck = config.credits
            && self.in_flight == 0
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
            // Serial numbers (RFC 1982): at or after the first speculative one.
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
                self.credit += more as i64;
            }
            _ => {}
        }
        self.ask_if_blocked(config);
        // After each answer: credit or window may have run out, or come.
        self.arm_request(config, now);
    }

    /// Packets that left before the window shrank may be too few for a SACK, while nothing more may leave: one is
    /// asked for.
    fn ask_if_blocked(&mut self, config: &Config) {
        let backlog = self.unsent() > 0 || !self.resend.is_empty();
        let by_window = !config.credits || self.credit > 0;
        if backlog && by_window && self.in_flight > 0 && !self.asked && self.due(config).is_none() {
            (self.requests, self.asked) = (true, true);
        }
    }

    fn heard(&mut self, answer: Fields) -> u64 {
        // Receivers' totals may come out of order: only a rise counts.
        let newly = answer.received().saturating_sub(self.received);
        self.received += newly;
        newly
    }

    fn on_sack(&mut self, config: &Config, sack: Fields, now: Time) {
        self.asked = false;
        let newly = self.heard(sack);
        // Karn's rule: of a packet that was sent twice, nothing tells which sending is answered.
        let rtt = self
            .packet(sack.psn())
            .filter(|packet| packet.times == 1 && packet.state == State::Out);
        let rtt = rtt.map(|packet| now.since(packet.sent_at));
        let met = if sack.marked() { Met::Mark } else { Met::Nothing };
        self.spray.heard(sack.entropy(), met, config.trimming, now);
        self.arrived(config, sack.psn());
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
            self.messages.acked(self.acked);
        }
        if newly > 0 {
            (self.progress, self.retries) = (now, 0);
        }
        if let Some(nscc) = &mut self.nscc {
            let before = nscc.window();
            let (marked, in_flight) = (sack.marked(), self.in_flight);
            nscc.acked(&NsccAck { now, newly, marked, rtt, in_flight });
            // A mark may leave the window as it is: only cuts count.
            self.counters.mark_cuts += u32::from(marked && nscc.window() < before);
        }
    }

    fn on_nack(&mut self, config: &Config, nack: Fields, now: Time) {
        self.heard(nack);
        let last = nack.last_hop();
        self.spray.heard(
            nack.entropy(),
            // A trim at the last hop is the receiver's congestion: no other path would help.
            if last { Met::Nothing } else { Met::Trim },
            config.trimming,
            now,
        );
        let Some(packet) = self.packet(nack.psn()).filter(|packet| packet.state == State::Out)
        else {
            return;
        };
        let wire = self.wire(config, packet.len);
        self.lose(config, nack.psn());
        if let Some(nscc) = &mut self.nscc {
            nscc.trimmed(now, wire, self.in_flight, !(last && config.credits));
        }
    }

    fn packet(&self, psn: u32) -> Option<Packet> {
        self.packets.get(psn.wrapping_sub(self.first) as usize).copied()
    }

    /// A packet is known to have arrived.
    fn arrived(&mut self, config: &Config, psn: u32) {
        let Some(packet) = self.packet(psn) else { return };
        let wire = self.wire(config, packet.len);
        match packet.state {
            State::Out => self.in_flight -= wire,
            State::Lost => {
                self.resend.retain(|other| *other != psn);
                self.resend_bytes -= wire;
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
        self.in_flight -= wire;
        self.resend.push_back(psn);
        self.resend_bytes += wire;
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let oldest = self.departures.front().map(|&(at, _)| at + self.rto);
        let due = oldest.unwrap_or(Time::NEVER).min(self.request_at);
        (due != Time::NEVER && !self.failed).then_some(due)
    }

    pub(crate) fn on_timeout(&mut self, config: &Config, now: Time) {
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
        let asks = self.request_at <= now;
        if late == 0 && !asks {
            return;
        }
        self.counters.timeouts += 1;
        self.waits.note(Wait::Rto, config.rto);
        self.retries = self.retries.saturating_add(1);
        if self.retries >= RETRIES && now.since(self.progress) >= config.give_up {
            (self.failed, self.next) = (true, self.messages.end());
            (self.request_at, self.requests) = (Time::NEVER, false);
            return;
        }
        self.speculates = false;
        self.request_at = Time::NEVER;
        self.arm_request(config, now);
        self.asked = false;
        self.requests = config.credits && self.credit <= 0;
    }

    /// Whether a packet is still out since a departure.
    fn waits_for(&self, at: Time, psn: u32) -> bool {
        self.packet(psn).is_some_and(|packet| packet.state == State::Out && packet.sent_at == at)
    }
}
