//! Way of a sender's data through its host's card, where the host models it: Linux's pacing rate of
//! a socket. Segments are as large as that rate says. Packets leave when it says (pacing). The card
//! is given no more than it says (TCP small queues).
//!
//! The rules are those of net/ipv4/tcp_output.c and tcp_input.c: `tcp_update_pacing_rate`,
//! `tcp_tso_autosize`, `tcp_update_skb_after_send`, `tcp_pacing_check`, `tcp_small_queue_check`.
//! Three things differ. The rate is computed when it is needed: between two ACKs it changes only
//! with what was sent since. Bytes in the card are those on the wire, not of the kernel's memory.
//! All data that is sent while losses are repaired counts as retransmitted.
//!
//! Large segment offload: new data waits until a large segment may be sent, which then
//! goes out packet by packet at line rate (Shan and Ren, INFOCOM 2017, section II-A).
//!
//! Waiting ends under the conditions of the paper's table I, as Linux has them: a share β
//! of the window may be sent (1), or the largest segment L (2); waiting would not bring more
//! data, as all that is written may be sent (3 and 5); losses are being repaired, or the
//! window has just been cut (4; a setting switches the latter off, as the paper's analysis
//! has bursts throughout); or two clock ticks have passed (6). Linux looks at the
//! conditions when an ACK comes or the application writes, and sets no timer; no more does
//! this: data waits only while other data is on its way.

use super::extras::Extras;
use super::sender::Sender;
use super::{Config, Segment};
use std::collections::VecDeque;
use switchbed_qdisc::fq::Terms;
use switchbed_scenario::Autosize;
use switchbed_units::{PS_PER_S, Span, Time};

/// Shift of the pacing rate, as `sk_pacing_shift`: data of 1 / 2^10 s is a segment, and may wait in
/// the card.
const SHIFT: u32 = 10;
/// A segment grows by the largest one, halved for every so many microseconds of the least RTT
/// (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// The packets of a segment at least (`tcp_min_tso_segs`).
const LEAST_PACKETS: u64 = 2;
/// Below this rate, in bytes a second, a segment of BBR's has one packet (`bbr_min_tso_segs`).
const SLOW: u64 = 1_200_000 / 8;
/// Number of packets at the beginning of a connection that are not paced.
const UNPACED: u64 = 10;

/// State of a connection's way through the card.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// When the next segment may leave.
    next: Time,
    /// Packets sent.
    packets: u64,
    /// The least RTT; the longest span without a sample.
    min_rtt: Span,
    /// Bytes of each segment in the card, the oldest first, and their sum.
    segments: VecDeque<u64>,
    held: u64,
    /// Bytes of the oldest that have left.
    left: u64,
    /// Bytes of payload of the segment that was sent last.
    last: u64,
    /// Whether that segment is still being handed over.
    open: bool,
    /// The card holds enough: who waits for it to send some.
    throttled: bool,
    /// When the next segment may leave, if one waits for that.
    waits: Time,
    /// Terms of the packet sent last.
    terms: Terms,
}

const AT_ONCE: Terms = Terms { not_before: Time::ZERO, joined: false };

impl Default for Output {
    fn default() -> Output {
        Output {
            next: Time::ZERO,
            packets: 0,
            min_rtt: Span::MAX,
            segments: VecDeque::new(),
            held: 0,
            left: 0,
            last: 0,
            open: false,
            throttled: false,
            waits: Time::NEVER,
            terms: AT_ONCE,
        }
    }
}

/// The product of two numbers divided by a third, unless that is too large. A division of 128 bits takes ten times
/// as long as one of 64, and few products need it.
#[inline]
fn per(a: u64, b: u64, by: u64) -> Option<u64> {
    match a.checked_mul(b) {
        Some(product) => Some(product / by),
        None => u64::try_from(u128::from(a) * u128::from(b) / u128::from(by)).ok(),
    }
}

impl Sender {
    fn output(&self) -> Option<&Output> {
        self.extras.as_deref().map(|extras| &extras.output)
    }

    fn output_mut(&mut self) -> Option<&mut Output> {
        self.extras.as_deref_mut().map(|extras| &mut extras.output)
    }

    /// An RTT sample.
    #[cold]
    pub(super) fn sample_output(&mut self, rtt: Span) {
        if let Some(output) = self.output_mut() {
            output.min_rtt = output.min_rtt.min(rtt);
        }
    }

    /// Linux's pacing rate in bytes of payload a second: twice what the window and the RTT come
    /// to while slow start is not near its end, else 1.2 times. Without an RTT there is none.
    pub fn pacing_rate(&self, config: &Config) -> Option<u64> {
        if config.by_model {
            return self.window.pacing();
        }
        let srtt = self.srtt()?.as_ps();
        let cwnd = self.cwnd();
        let percent = if cwnd < self.ssthresh() / 2.0 { 200 } else { 120 };
        let mss = u64::from(config.mss);
        // `tcp_update_pacing_rate` takes the larger of the window and of what is out.
        let packets = (cwnd as u64).max((self.sent - self.una).div_ceil(mss));
        per(mss * packets * percent, PS_PER_S / 100, srtt)
    }

    /// The same of a sender whose packets it holds back.
    pub fn paces_at(&self, config: &Config) -> Option<u64> {
        self.pacing_rate(config).filter(|_| config.paced)
    }

    /// The largest segment in bytes of payload, in whole packets.
    pub(super) fn largest_segment(&self, config: &Config) -> u64 {
        match config.autosize {
            Autosize::Off => config.lso_max,
            _ => self.largest_segment_at(config, self.pacing_rate(config)),
        }
    }

    /// The same at a pacing rate.
    fn largest_segment_at(&self, config: &Config, rate: Option<u64>) -> u64 {
        let (most, mss) = (config.lso_max, u64::from(config.mss));
        let Some(rate) = rate.filter(|_| config.autosize != Autosize::Off) else { return most };
        let mut bytes = rate >> SHIFT;
        let rtt = self.output().map_or(Span::MAX, |output| output.min_rtt);
        // `tcp_tso_autosize`: a shift by 32 or more would add nothing.
        let halvings = (rtt.as_ps() / 1_000_000) >> RTT_LOG;
        if config.autosize == Autosize::RateAndRtt && halvings < u64::from(u32::BITS) {
            bytes = bytes.saturating_add(config.gso_max >> halvings);
        }
        let least = if config.by_model && rate < SLOW { 1 } else { LEAST_PACKETS };
        (bytes / mss).max(least).saturating_mul(mss).min(most)
    }

    /// The next segment of a sender whose host has a say in it.
    #[cold]
    pub(super) fn poll_shaped(&mut self, config: &Config, now: Time) -> Option<Segment> {
        let rest = self.in_segment();
        if !rest && self.held_back(config, now) {
            return None;
        }
        let Some(segment) = self.poll_any(config, now) else {
            if let Some(output) = self.output_mut() {
                output.open = false;
            }
            return None;
        };
        self.handed_over(config, &segment, rest, now);
        Some(segment)
    }

    /// Whether what is sent next belongs to the segment that is being handed over.
    fn in_segment(&self) -> bool {
        let amid = |extras: &Extras| extras.output.open && self.nxt < extras.lso.end;
        self.loss.is_none() && self.extras.as_deref().is_some_and(amid)
    }

    /// Whether it is not time for the next segment yet, or the card has enough.
    fn held_back(&mut self, config: &Config, now: Time) -> bool {
        let repairing = self.loss.is_some();
        if !repairing && self.unsent() == 0 {
            if let Some(output) = self.output_mut() {
                // The waiting segment was to be sent again, and has arrived by now.
                output.waits = Time::NEVER;
            }
            return false;
        }
        let enough = (config.small_queue_limit > 0).then(|| self.small_queue(config));
        let flight = self.sent - self.una;
        let Some(output) = self.output_mut() else { return false };
        output.open = false;
        output.waits = Time::NEVER;
        if config.paced && !config.paced_by_card && output.next > now {
            output.waits = output.next;
            return true;
        }
        // Nothing but one segment unacknowledged: an ACK would be late in waking it.
        output.throttled =
            enough.is_some_and(|enough| output.held >= enough) && flight > output.last;
        output.throttled
    }

    /// Returns the bytes in the card from which on the sender waits.
    fn small_queue(&self, config: &Config) -> u64 {
        let (mss, header) = (u64::from(config.mss), u64::from(config.header));
        let rate = self.pacing_rate(config);
        let segment = match config.lso_max {
            0 => mss,
            _ => self.largest_segment_at(config, rate).min(self.unsent()).max(mss),
        };
        let segment = segment.saturating_add(segment.div_ceil(mss).saturating_mul(header));
        let mut enough = segment.saturating_mul(2).max(rate.unwrap_or(u64::MAX) >> SHIFT);
        if !config.paced {
            enough = enough.min(config.small_queue_limit);
        }
        if self.loss.is_some() { enough.saturating_mul(2) } else { enough }
    }

    /// A packet goes to the card; `rest`: of the segment before it.
    fn handed_over(&mut self, config: &Config, packet: &Segment, rest: bool, now: Time) {
        let rate = if config.paced { self.pacing_rate(config) } else { None };
        let written = self.written();
        let Some(Extras { lso, output, .. }) = self.extras.as_deref_mut() else { return };
        let end = lso.end;
        if packet.len == 0 {
            output.terms = AT_ONCE;
            return;
        }
        let bytes = u64::from(config.wire_bytes(packet));
        if rest {
            output.terms.joined = true;
        } else {
            let new = packet.offset + u64::from(packet.len);
            output.open = new == self.nxt && new < end;
            // All of a segment is known when its first packet leaves.
            let whole =
                if output.open { end.min(written) - packet.offset } else { packet.len.into() };
            output.last = whole;
            output.packets += whole.div_ceil(config.mss.into());
            let start = output.next.max(now);
            if config.paced {
                let not_before = if config.paced_by_card { start } else { Time::ZERO };
                output.terms = Terms { not_before, joined: false };
                // A segment that leaves late makes up for half of its own time at most.
                let late = start.since(output.next);
                output.next = start;
                if let Some(rate) = rate.filter(|&rate| rate > 0)
                    && output.packets >= UNPACED
                {
                    let takes = Span::from_ps(per(whole, PS_PER_S, rate).unwrap_or(u64::MAX / 2));
                    output.next = start + (takes - late.min(takes / 2));
                }
            } else {
                output.terms = AT_ONCE;
            }
        }
        if config.small_queue_limit > 0 {
            match output.segments.back_mut().filter(|_| rest) {
                Some(segment) => *segment += bytes,
                None => output.segments.push_back(bytes),
            }
            output.held += bytes;
        }
    }

    /// A packet of so many bytes has left the card, or was lost there; whether that lets the
    /// sender go on.
    pub fn left_card(&mut self, bytes: u32) -> bool {
        let Some(output) = self.output_mut() else { return false };
        output.left += u64::from(bytes);
        while let Some(&first) = output.segments.front()
            && first <= output.left
        {
            output.segments.pop_front();
            output.left -= first;
            output.held -= first;
        }
        output.throttled
    }

    /// When a packet that is handed over now leaves, and when pacing lets the next one go.
    pub(super) fn departs(&self, config: &Config, now: Time) -> Time {
        let Some(output) = self.output().filter(|_| config.paced_by_card) else { return now };
        let start = if self.in_segment() { output.terms.not_before } else { output.next };
        start.max(now)
    }

    /// When pacing lets the next packet go.
    pub(super) fn paced_next(&self) -> Time {
        self.output().map_or(Time::ZERO, |output| output.next)
    }

    /// Whether a packet waits in the card, as far as the sender knows.
    pub(super) fn waits_in_card(&self) -> bool {
        self.output().is_some_and(|output| output.held > 0)
    }

    /// The terms of the packet sent last.
    pub(in crate::transport) fn terms(&self) -> Terms {
        self.output().map_or(AT_ONCE, |output| output.terms)
    }

    /// When a segment that waits for it may leave; [`Time::NEVER`] if none does.
    pub fn paced_until(&self) -> Time {
        self.output().map_or(Time::NEVER, |output| output.waits)
    }
}

/// Two clock ticks of 1 ms (condition 6).
const LONGEST: Span = Span::from_ms(2);

/// Data is held back this long after a segment at most, with `lso_recent` (tcp_tso_should_defer).
const RECENT: Span = Span::from_ms(1);

/// State of a sender with LSO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lso {
    /// The end of the segment that is being handed over.
    pub(super) end: u64,
    /// Since when new data has waited; [`Time::NEVER`] if none waits.
    since: Time,
}

impl Default for Lso {
    fn default() -> Lso {
        Lso { end: 0, since: Time::NEVER }
    }
}

impl Sender {
    /// Returns the bytes that are worth sending at once: min(L, β·window), in whole packets.
    pub(super) fn lso_segment(&self, config: &Config) -> u64 {
        self.lso_segment_of(config, self.largest_segment(config))
    }

    /// The same, where the largest segment is known.
    fn lso_segment_of(&self, config: &Config, largest: u64) -> u64 {
        let mss = config.mss as u64;
        let packets = self.window(config) / mss;
        let share = config.lso_beta * packets as f64;
        // Rounded up: without the call that the baseline of x86-64 makes for `ceil`.
        let share = share as u64 + u64::from(share > share as u64 as f64);
        (share.max(1) * mss).min(largest)
    }

    /// Whether the next ACK is not to be expected soon.
    fn ack_is_far(&self, now: Time) -> bool {
        let first = self.extras.as_deref().and_then(|extras| extras.log.first());
        let young = match (first, self.srtt()) {
            (Some(first), Some(srtt)) => now.since(first.at) < srtt / 2,
            _ => false,
        };
        self.sent == self.una || self.since_sent(now) > RECENT || young
    }

    /// Whether new data is held back, with `in_flight` bytes in the network.
    #[cold]
    pub(super) fn defers(&mut self, config: &Config, in_flight: u64, now: Time) -> bool {
        let largest = self.largest_segment(config);
        let segment = self.lso_segment_of(config, largest);
        let allowed = self.window(config).saturating_sub(in_flight);
        let cut = self.una < self.cut_end && !config.lso_after_cut;
        let open = self.loss.is_none() && !cut;
        let left = self.unsent();
        let (una, nxt) = (self.una, self.nxt);
        let far = config.lso_recent && self.ack_is_far(now);
        // As Linux has it, what is worth sending is not all that is sent.
        let most = match config.autosize {
            Autosize::Off => segment,
            _ => largest,
        };
        let Some(Extras { lso, growth, .. }) = self.extras.as_deref_mut() else { return false };
        // A segment that was begun is handed over whole.
        if nxt < lso.end || left == 0 {
            return false;
        }
        let late = lso.since != Time::NEVER && now.since(lso.since) >= LONGEST;
        if open && !late && !far && allowed < segment.min(left) {
            // A full window holds data back by itself.
            if lso.since == Time::NEVER && allowed >= config.mss as u64 {
                lso.since = now;
            }
            if allowed <= left {
                growth.held_back(config, una, nxt);
            }
            return true;
        }
        lso.since = Time::NEVER;
        lso.end = nxt + most.min(allowed);
        false
    }
}
