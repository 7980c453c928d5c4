//! The requester of a queue pair: cuts messages into packets, paces them, and sends again what is lost.

use super::Config;
use super::messages::Messages;
use crate::packet::Body;
use crate::packet::rdma::{Rdma, RdmaKind, Trail};
use crate::transport::ranges::Ranges;
use crate::transport::{Counters, Outgoing, Wait, Waits};
use switchbed_congestion::roce::{IntHop, RateMemory, RoceAck};
use switchbed_scenario::Recovery;
use switchbed_scenario::int::SWITCHES;
use switchbed_scenario::roce::{PACKETS_OUT, RETRIES};
use switchbed_units::{Rate, Span, Time};

/// The sending half.
#[derive(Clone, Debug)]
pub struct Sender {
    memory: RateMemory,
    messages: Messages,
    /// Stream offsets: of the next byte to send, after the highest that was sent, and up to which all is
    /// acknowledged.
    next: u64,
    highest: u64,
    acked: u64,
    /// When the rate allows the next packet.
    not_before: Time,
    /// When what is out is taken to be lost.
    deadline: Time,
    /// When new data was acknowledged last, or sent with nothing out; how often data was sent again since.
    progress: Time,
    retries: u32,
    /// Whether it has given up.
    failed: bool,
    /// The card's line is down: the timer runs though nothing is out.
    held: bool,
    line: Rate,
    counters: Counters,
    waits: Waits,
    /// With selective repeat, once something came out of order.
    repair: Option<Box<Repair>>,
    /// Bytes that each switch on the way had sent, by its last INT.
    sent_bytes: [u64; SWITCHES],
    /// The last round trip that was measured; 0: none since it was asked for.
    rtt: Span,
}

/// Knowledge of the packets behind one that is missing.
#[derive(Clone, Debug, Default)]
struct Repair {
    /// Data that has arrived out of order.
    arrived: Ranges,
    /// Up to here what is missing was sent again since the repair began.
    repeated: u64,
    /// The repair is over when all below this is acknowledged; later losses begin another.
    until: u64,
    /// After a timeout all that has not arrived is missing, up to here; else what lies below the highest arrival.
    missing: u64,
}

impl Sender {
    /// A queue pair of a card whose line has this rate.
    pub fn new(config: &Config, line: Rate, now: Time) -> Sender {
        Sender {
            memory: RateMemory::new(&config.control, &config.path(line), now),
            messages: Messages::default(),
            next: 0,
            highest: 0,
            acked: 0,
            not_before: Time::ZERO,
            deadline: Time::NEVER,
            progress: Time::ZERO,
            retries: 0,
            failed: false,
            held: false,
            line,
            counters: Counters::default(),
            waits: Waits::default(),
            rtt: Span::ZERO,
            repair: None,
            sent_bytes: [0; SWITCHES],
        }
    }

    /// The application sends a message.
    pub fn write(&mut self, config: &Config, bytes: u64) {
        self.messages.write(bytes, config.mtu);
    }

    /// The application takes back what was never sent; where the stream ends now.
    pub fn truncate(&mut self, config: &Config) -> u64 {
        self.messages.truncate(self.highest, config.mtu);
        self.messages.end()
    }

    /// Where the stream ends.
    pub fn written(&self) -> u64 {
        self.messages.end()
    }

    /// Bytes acknowledged.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes that are still to be sent, once more or for the first time.
    pub fn unsent(&self) -> u64 {
        self.messages.end() - self.next
    }

    /// Whether it has given up: nothing more will be sent.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Takes the last round trip that was measured, if there is one since the last call.
    pub(crate) fn take_rtt(&mut self) -> Option<Span> {
        let rtt = std::mem::take(&mut self.rtt);
        (rtt > Span::ZERO).then_some(rtt)
    }

    /// Returns the counts so far; a CNP counts as a cut for a mark.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The timers that it has waited for.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// The rate of its packets, headers included.
    pub(crate) fn rate(&self) -> Rate {
        self.memory.rate()
    }

    /// When the rate allows the next packet.
    #[inline]
    pub(crate) fn not_before(&self) -> Time {
        self.not_before
    }

    /// Returns the offset that it may send next, whether or not the rate allows it now.
    #[inline]
    fn due(&self, config: &Config) -> Option<u64> {
        if let Some(missing) = self.missing() {
            return Some(missing);
        }
        if self.next == self.messages.end() {
            return None;
        }
        let sent = self.next - self.acked;
        // Packets that arrived out of order have left the network.
        let out = sent - self.arrived();
        let window = self.memory.window().unwrap_or(u64::MAX).min(config.window);
        (out < window && self.numbered(config)).then_some(self.next)
    }

    /// Whether the next packet's number is told apart from that of the oldest one that is out.
    #[inline]
    fn numbered(&self, config: &Config) -> bool {
        // A packet carries a byte at least: most pairs never have as many bytes out.
        self.next - self.acked < PACKETS_OUT || self.packets_out(config) < PACKETS_OUT as u32
    }

    /// Numbers from the oldest packet that is out to the next one.
    #[cold]
    fn packets_out(&self, config: &Config) -> u32 {
        let number = |at| self.messages.cut(at, config.mtu).map_or(0, |cut| cut.psn);
        number(self.next).wrapping_sub(number(self.acked))
    }

    /// Whether it has a packet that only the rate may hold back.
    #[inline]
    pub(crate) fn has_more(&self, config: &Config) -> bool {
        self.due(config).is_some()
    }

    /// The next packet that a repair sends again.
    fn missing(&self) -> Option<u64> {
        let repair = self.repair.as_deref()?;
        let below = repair.missing.max(repair.arrived.end().unwrap_or(0)).min(self.next);
        let (gap, _) = repair.arrived.gap_from(repair.repeated.max(self.acked));
        (gap < below).then_some(gap)
    }

    /// Bytes beyond the first that is missing that have arrived.
    fn arrived(&self) -> u64 {
        self.repair.as_ref().map_or(0, |repair| repair.arrived.bytes())
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Outgoing> {
        if now < self.not_before {
            return None;
        }
        let offset = self.due(config)?;
        let cut = self.messages.cut(offset, config.mtu)?;
        let end = offset + u64::from(cut.len);
        let again = offset < self.highest;
        if again {
            self.counters.retransmits += 1;
        }
        match &mut self.repair {
            Some(repair) if offset < self.next => repair.repeated = end,
            _ => self.next = end,
        }
        self.highest = self.highest.max(end);
        let len_bytes = cut.len + config.header;
        self.pace(config, len_bytes, now);
        if self.deadline == Time::NEVER {
            // A NACK leaves nothing out and stops the timer, too: what is sent again is no progress.
            if !again {
                (self.progress, self.retries) = (now, 0);
            }
            self.restart_timer(config, now);
        }
        let rdma = Rdma {
            offset,
            trail: if config.about.stamps { Trail::stamped(now) } else { Trail::default() },
            psn: cut.psn,
            len: cut.len as u16,
            hops: 0,
            kind: match (cut.first, cut.last) {
                (true, true) => RdmaKind::Only,
                (true, false) => RdmaKind::First,
                (false, false) => RdmaKind::Middle,
                (false, true) => RdmaKind::Last,
            },
        };
        Some(Outgoing {
            body: Body::Rdma(rdma),
            len_bytes,
            ecn: config.ecn,
            class: None,
            entropy: 0,
        })
    }

    /// A packet leaves now. One that had to wait for the line or for its turn may make up for one packet.
    #[inline]
    fn pace(&mut self, config: &Config, len_bytes: u32, now: Time) {
        // Due timers first: they may change the rate of this very packet.
        self.memory.timer(&config.control, now);
        let gap = self.memory.rate().tx_time(len_bytes);
        // now − gap, or 0 early in the run: a late packet gains no more than its own gap.
        let since = Time::ZERO + now.since(Time::ZERO + gap);
        self.not_before = self.not_before.max(since) + gap;
        self.memory.sent(&config.control, len_bytes, now);
    }

    /// An ACK, a NACK or a CNP came.
    pub(crate) fn on_answer(&mut self, config: &Config, answer: &Rdma, now: Time) {
        match answer.kind {
            _ if self.failed => {}
            RdmaKind::Cnp => {
                self.counters.mark_cuts += 1;
                self.memory.cnp(&config.control, now);
            }
            RdmaKind::Ack => {
                self.advance(config, answer, now);
                if config.recovery == Recovery::Selective && answer.len > 0 {
                    self.out_of_order(config, answer, now);
                }
            }
            RdmaKind::Nack => {
                self.advance(config, answer, now);
                if answer.offset == self.acked && self.next > self.acked {
                    self.next = self.acked;
                    self.memory.lost(&config.control, false, now);
                    self.restart_timer(config, now);
                    self.retries = self.retries.saturating_add(1);
                    if self.exhausted(config, now) {
                        // The timer ends it.
                        self.deadline = now;
                    }
                }
            }
            _ => {}
        }
    }

    /// All below the offset of an answer has arrived.
    fn advance(&mut self, config: &Config, answer: &Rdma, now: Time) {
        if answer.offset <= self.acked || answer.offset > self.highest {
            return;
        }
        let bytes = (answer.offset - self.acked) as u32;
        self.acked = answer.offset;
        self.next = self.next.max(self.acked);
        self.messages.acked(self.acked);
        if let Some(repair) = &mut self.repair {
            repair.arrived.remove_below(self.acked);
            if self.acked >= repair.until && repair.arrived.is_empty() {
                self.repair = None;
            } else if self.acked >= repair.until {
                // Something after it is missing, too.
                (repair.until, repair.missing) = (self.next, 0);
                self.memory.lost(&config.control, false, now);
            }
        }
        (self.progress, self.retries) = (now, 0);
        self.restart_timer(config, now);
        let stamps = config.about.stamps;
        let rtt = if stamps { now.since(answer.trail.stamp()) } else { Span::ZERO };
        self.rtt = rtt;
        let (mut hops, mut count) = ([UNWRITTEN; SWITCHES], 0);
        if config.about.int {
            for (int, before) in answer.trail.written(answer.hops).zip(&mut self.sent_bytes) {
                // The header's counter wraps; the last full value tells how often it has.
                *before = int.sent_bytes(*before);
                let (rate, at) = (int.rate(), int.at(now));
                hops[count] =
                    IntHop { rate, at, tx_bytes: *before, queue_bytes: int.queue_bytes() };
                count += 1;
            }
        }
        let (acked, sent, hops) = (self.acked, self.next, &hops[..count]);
        let ack = RoceAck { now, rtt, bytes, acked, sent, hops };
        self.memory.timer(&config.control, now);
        self.memory.acked(&config.control, &config.path(self.line), &ack);
    }

    /// A packet beyond the one that is expected has arrived.
    fn out_of_order(&mut self, config: &Config, answer: &Rdma, now: Time) {
        let at = self.messages.numbered(answer.psn, config.mtu);
        // An answer that is out of date tells nothing of the losses that are left.
        let Some((from, until)) = at.filter(|_| answer.offset == self.acked) else { return };
        if until > self.next {
            return;
        }
        if self.repair.is_none() {
            self.memory.lost(&config.control, false, now);
            self.repair = Some(Box::new(Repair { until: self.next, ..Repair::default() }));
        }
        if let Some(repair) = &mut self.repair {
            repair.arrived.insert(from, until);
        }
    }

    /// The timer of what is out.
    fn rto(&self, config: &Config) -> Span {
        // IRN's RTO_low (SIGCOMM 2018): with few packets out, no later packet can tell of a loss.
        let few = self.next - self.acked <= 3 * u64::from(config.mtu);
        if few { config.rto_low } else { config.rto }
    }

    fn restart_timer(&mut self, config: &Config, now: Time) {
        let out = self.next - self.acked;
        let rto = self.rto(config);
        let waits = out > 0 || self.held && self.unsent() > 0;
        self.deadline = if waits { now + rto } else { Time::NEVER };
    }

    /// The card's line is down, or up again. A card with its line down loses what its queue pairs send, so that they
    /// give up as where the other end's line is down.
    pub(crate) fn hold(&mut self, config: &Config, held: bool, now: Time) {
        self.held = held;
        match held {
            true if self.deadline == Time::NEVER => {
                if self.next == self.highest {
                    (self.progress, self.retries) = (now, 0);
                }
                self.restart_timer(config, now);
            }
            // The next packet starts it.
            false if self.next == self.acked => self.deadline = Time::NEVER,
            _ => {}
        }
    }

    /// Whether it has sent again often enough, and for long enough.
    fn exhausted(&self, config: &Config, now: Time) -> bool {
        self.retries >= RETRIES && now.since(self.progress) >= config.give_up
    }

    /// Gives up: nothing more is sent or acknowledged.
    fn fail(&mut self) {
        self.next = self.messages.end();
        (self.highest, self.deadline) = (self.next, Time::NEVER);
        (self.failed, self.repair) = (true, None);
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    pub(crate) fn on_timeout(&mut self, config: &Config, now: Time) {
        if now < self.deadline {
            return;
        }
        self.counters.timeouts += 1;
        // A timer that runs out again is never the low one.
        let rto = if self.retries == 0 { self.rto(config) } else { config.rto };
        let from = Time::from_ps(now.as_ps().saturating_sub(rto.as_ps()));
        self.waits.note(Wait::Rto, (from, now), config.counts_from);
        if self.exhausted(config, now) {
            return self.fail();
        }
        self.retries = self.retries.saturating_add(1);
        self.memory.lost(&config.control, true, now);
        match config.recovery {
            Recovery::GoBackN => self.next = self.acked,
            Recovery::Selective => {
                let repair = self.repair.get_or_insert_default();
                // All that has not arrived is to be sent once more.
                repair.repeated = 0;
                (repair.until, repair.missing) = (self.next, self.next);
            }
        }
        self.deadline = now + config.rto;
    }
}

const UNWRITTEN: IntHop =
    IntHop { rate: Rate::from_bps(1), at: Time::ZERO, tx_bytes: 0, queue_bytes: 0 };

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_config::param::{Params, Value, defaults};
    use switchbed_scenario::Roce;
    use switchbed_units::Bytes;

    /// Payload of a full packet.
    const MTU: u64 = 1024;
    /// Numbers that a queue pair may have out.
    const MOST: u64 = 1 << 23;

    fn config(recovery: Recovery) -> Config {
        let mut values = defaults(Roce::TABLE);
        values.insert("kind".to_owned(), Value::Word("roce".to_owned()));
        let roce = Roce::of(values, Bytes::new(1500)).expect("defaults fit");
        assert_eq!((roce.mtu.get(), roce.window), (MTU, None));
        Config::new(&Roce { recovery, ..roce }, Span::from_us(10), 1)
    }

    /// A queue pair that has sent so many packets, none of which is acknowledged.
    fn having_sent(config: &Config, messages: &[(u64, u64)], out: u64) -> Sender {
        let mut sender = Sender::new(config, Rate::from_gbps(100), Time::ZERO);
        for &(count, bytes) in messages {
            for _ in 0..count {
                sender.write(config, bytes);
            }
        }
        // Sending them one by one takes seconds.
        sender.next = out;
        sender.highest = out;
        sender
    }

    /// The number of the packet that leaves next.
    fn leaves(sender: &mut Sender, config: &Config) -> Option<u32> {
        assert_eq!(sender.has_more(config), sender.due(config).is_some());
        let now = sender.not_before;
        let packet = sender.poll_transmit(config, now)?;
        let Body::Rdma(rdma) = packet.body else { panic!("queue pairs send data") };
        Some(rdma.psn)
    }

    fn answered(sender: &mut Sender, config: &Config, kind: RdmaKind, to: u64) {
        let trail = Trail::default();
        let answer = Rdma { offset: to, trail, psn: 0, len: 0, hops: 0, kind };
        sender.on_answer(config, &answer, sender.not_before);
    }

    #[test]
    fn a_queue_pair_has_as_many_packets_out_as_numbers_are_told_apart() {
        for recovery in [Recovery::GoBackN, Recovery::Selective] {
            let config = config(recovery);
            let mut sender = having_sent(&config, &[(1, 2 * MOST * MTU)], (MOST - 1) * MTU);
            assert_eq!(leaves(&mut sender, &config), Some(MOST as u32 - 1));
            // No time brings the next one, but an answer does.
            assert_eq!(leaves(&mut sender, &config), None);
            assert_eq!(leaves(&mut sender, &config), None);
            answered(&mut sender, &config, RdmaKind::Ack, 2 * MTU);
            assert_eq!(leaves(&mut sender, &config), Some(MOST as u32));
            assert_eq!(leaves(&mut sender, &config), Some(MOST as u32 + 1));
            assert_eq!(leaves(&mut sender, &config), None);
            // A packet that is sent again keeps its number.
            if recovery == Recovery::GoBackN {
                answered(&mut sender, &config, RdmaKind::Nack, 2 * MTU);
                assert_eq!(leaves(&mut sender, &config), Some(2));
            }
        }
    }

    #[test]
    fn short_packets_count_as_full_ones() {
        // Seven eighths of the bytes of full packets: 2^20 messages of eight packets, the last of which has one byte.
        let config = config(Recovery::GoBackN);
        let of = 7 * MTU + 1;
        let mut sender = having_sent(&config, &[(MOST / 8, of), (9, 100)], MOST / 8 * of);
        assert_eq!(leaves(&mut sender, &config), None);
        answered(&mut sender, &config, RdmaKind::Ack, MTU);
        assert_eq!(leaves(&mut sender, &config), Some(MOST as u32));
        assert_eq!(leaves(&mut sender, &config), None);
        answered(&mut sender, &config, RdmaKind::Ack, of);
        let after: Vec<_> = std::iter::from_fn(|| leaves(&mut sender, &config)).collect();
        assert_eq!(after, (1..8).map(|nth| MOST as u32 + nth).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_wrap_where_few_packets_are_out() {
        let config = config(Recovery::GoBackN);
        let sent = (u64::from(u32::MAX) - 1) * MTU;
        let mut sender = having_sent(&config, &[(1, sent + 4 * MTU)], sent);
        answered(&mut sender, &config, RdmaKind::Ack, sent);
        let numbers: Vec<_> = std::iter::from_fn(|| leaves(&mut sender, &config)).collect();
        assert_eq!(numbers, [u32::MAX - 1, u32::MAX, 0, 1]);
    }
}
