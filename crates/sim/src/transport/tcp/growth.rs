//! The window's growth where settings are not RFC 5681's as it stands: slow start by ACKs or
//! segments, what ends it early (HyStart), congestion avoidance by counters, and when it is the window
//! that limits the sender.
//!
//! How much of the window a sender uses, as Linux looks at it when it sends (since 3.16): in slow
//! start a window grows if it is less than twice what was out at most, else if it stopped the
//! sender, once, in this window of data.

use super::Config;
use super::loss::Phase;
use super::sender::Sender;
use switchbed_congestion::hystart::{Ack, Detectors, Next, PlusPlus};
use switchbed_scenario::transport::{Avoidance, CwndLimited, Hystart, SlowStart};
use switchbed_units::{Span, Time};

/// State of a connection for the growth of its window.
#[derive(Clone, Debug, Default)]
pub(super) struct Growth {
    usage: Usage,
    detectors: Detectors,
    plus_plus: PlusPlus,
    /// Slow start has slowed down.
    slowly: bool,
    /// Whether slow start follows a timeout.
    after_timeout: bool,
    /// Timeouts so far.
    timeouts: u32,
}

impl Growth {
    /// Whether anything of it is to be remembered.
    pub(super) fn needed(config: &Config) -> bool {
        config.hystart != Hystart::Off
            || config.abc_limit > 1.0
            || config.cwnd_limited == CwndLimited::AtSend
    }

    /// The connection is open, after so many timeouts for its SYN.
    pub(super) fn opened(&mut self, timeouts: u32) {
        self.timeouts = timeouts;
    }

    /// Begins slow start anew if there were timeouts since the last call.
    fn after(&mut self, timeouts: u32) {
        if self.timeouts < timeouts {
            self.timeouts = timeouts;
            (self.after_timeout, self.detectors) = (true, Detectors::default());
        }
    }

    /// A packet went out; `flight` bytes are in the network then, and `out` bytes are unacknowledged
    /// from `una` on, in a window of `cwnd` packets.
    pub(super) fn sent(&mut self, config: &Config, cwnd: f64, flight: u64, una: u64, out: u64) {
        let packets = |bytes: u64| bytes.div_ceil(config.mss as u64);
        // At least the whole packets of the window.
        let full = packets(flight) as f64 + 1.0 > cwnd;
        self.usage.sent(packets(out), full, una, una + out);
    }

    /// The window lets less out than is worth a segment: it is what stops the sender, full or not
    /// (as in `tcp_tso_should_defer`).
    pub(super) fn held_back(&mut self, config: &Config, una: u64, nxt: u64) {
        self.usage.sent((nxt - una).div_ceil(config.mss as u64), true, una, nxt);
    }
}

/// Linux's segments are offloaded up to this size, whatever the window.
const OFFLOAD: u64 = 65_536;

impl Sender {
    /// Whether the window limits the sender, as an ACK says that comes with `out` bytes out; at once
    /// it would send `burst` more.
    #[inline]
    pub(super) fn limited(&self, config: &Config, out: u64, burst: impl FnOnce() -> u64) -> bool {
        match config.cwnd_limited {
            CwndLimited::AtAck => out + burst() > self.window.bytes(config),
            _ => self.limited_otherwise(config, out),
        }
    }

    #[cold]
    fn limited_otherwise(&self, config: &Config, out: u64) -> bool {
        let (window, cwnd) = (self.window.bytes(config), self.window.cwnd());
        if let (CwndLimited::AtSend, Some(extras)) = (config.cwnd_limited, &self.extras) {
            return extras.growth.usage.limited(cwnd, cwnd < self.window.ssthresh());
        }
        // `tcp_is_cwnd_limited` before 3.16: three packets, or less than an offloaded segment and
        // than a third of the window (tcp_tso_win_divisor).
        let space = window.saturating_sub(out);
        space <= 3 * config.mss as u64 || (space < OFFLOAD && 3 * space < window)
    }

    /// An ACK with an RTT sample: the queue may have grown, so that slow start ends or slows down.
    #[cold]
    pub(super) fn look_for_queue(&mut self, config: &Config, rtt: Span, now: Time) {
        let (cwnd, srtt) = (self.window.cwnd(), self.srtt().unwrap_or(rtt));
        let timeouts = self.counters().timeouts;
        let Some(extras) = &mut self.extras else { return };
        let growth = &mut extras.growth;
        growth.after(timeouts);
        growth.slowly = false;
        if cwnd >= self.window.ssthresh() {
            return;
        }
        // The time of four of the largest segments at the rate of pacing, in slow start twice the
        // window a round trip: at most a millisecond.
        let rate = 2.0 * cwnd * config.mss as f64 / srtt.as_secs_f64();
        let slack = Span::from_secs_f64(4.0 * OFFLOAD as f64 / rate).min(Span::from_ms(1));
        let (end, sent, paced) = (self.una, self.sent, config.paced);
        let ack = Ack { end, sent, now, rtt, cwnd, slack, paced };
        let next = match config.hystart {
            Hystart::Off => Next::On,
            Hystart::Linux => growth.detectors.acked(&ack),
            // RFC 9406 is for a connection's first slow start.
            Hystart::PlusPlus if self.window.ssthresh() < config.initial_ssthresh => Next::On,
            Hystart::PlusPlus => growth.plus_plus.acked(&ack),
        };
        growth.slowly = next == Next::Slowly;
        if next == Next::Ends {
            self.window.end_slow_start();
        }
    }

    /// The packets of an ACK that count for growth: by segments not those that were SACKed before, and with
    /// RACK those that it SACKs (Linux's `tcp_cong_control` is given what was delivered).
    pub(super) fn counted(&self, config: &Config, packets: f64) -> f64 {
        match (&self.extras, config.slow_start) {
            (Some(extras), SlowStart::Segments) => {
                let newly = extras.newly as f64 / config.mss as f64;
                if config.rack() { newly } else { packets.min(newly) }
            }
            _ => packets,
        }
    }

    /// Grows the window for an ACK of nothing new with SACKs, if the network reorders much.
    pub(super) fn grow_by_sacks(&mut self, config: &Config, now: Time) {
        let newly = match &self.extras {
            Some(extras) if extras.rack.reorders_much() => extras.newly,
            _ => return,
        };
        let recovering = self.loss.as_ref().is_some_and(|loss| loss.phase == Phase::Recovery);
        let limited = config.grow_when_app_limited
            || self.limited(config, self.sent - self.una, || config.mss.into());
        if newly > 0 && limited && !recovering {
            self.grow_otherwise(config, newly as f64 / config.mss as f64, now);
        }
    }

    /// Grows the window for an ACK of `packets`, in fractions.
    pub(super) fn grow_otherwise(&mut self, config: &Config, packets: f64, now: Time) {
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        // Older kernels are in slow start while cwnd <= ssthresh, so that it ends one packet above.
        let one_over = config.slow_start == SlowStart::SegmentsAndOne;
        let mut rest = packets;
        if cwnd < ssthresh || (one_over && cwnd == ssthresh) {
            let timeouts = self.counters().timeouts;
            let (slowly, after_timeout) = match &mut self.extras {
                Some(extras) => {
                    extras.growth.after(timeouts);
                    (extras.growth.slowly, extras.growth.after_timeout)
                }
                None => (false, false),
            };
            let speed = if slowly { 0.25 } else { 1.0 };
            let limit = if after_timeout { 1.0 } else { config.abc_limit };
            let segments = packets.ceil();
            let (grown, left) = match config.slow_start {
                SlowStart::Bytes => (cwnd + speed * packets.min(limit), 0.0),
                SlowStart::Acks => (cwnd + speed, 0.0),
                SlowStart::SegmentsAndOne => {
                    ((cwnd + speed * segments).min(ssthresh.floor() + 1.0), 0.0)
                }
                SlowStart::Segments => {
                    let grown = (cwnd + speed * segments).min(ssthresh);
                    // `tcp_slow_start` leaves the rest of the ACK to congestion avoidance.
                    (grown, segments - ((grown - cwnd) / speed).ceil())
                }
            };
            self.window.set(grown);
            rest = left;
        } else if let Some(extras) = &mut self.extras {
            extras.growth.after_timeout = false;
        }
        if rest > 0.0 {
            self.window.avoid(config, rest, now, self.srtt());
        }
    }
}

/// A window in congestion avoidance after an ACK of so many packets. Where whole packets are counted,
/// the count towards the next one is the window's fraction.
#[inline]
pub(super) fn avoided(avoidance: Avoidance, cwnd: f64, packets: f64) -> f64 {
    let (more, counted) = match avoidance {
        Avoidance::Bytes => return cwnd + (packets / cwnd).min(1.0),
        Avoidance::Acks => (0.0, 1.0),
        Avoidance::AcksAndOne => (1.0, 1.0),
        Avoidance::Segments => (0.0, packets.ceil()),
    };
    let whole = cwnd.floor().max(1.0);
    let count = ((cwnd - whole) * (whole + more)).round() + counted;
    let steps = (count / (whole + more)).floor();
    let left = count - steps * (whole + more);
    whole + steps + left / (whole + steps + more)
}

/// Data in the network in this window of data.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// The most packets.
    most_out: u64,
    /// The window, not the application, stopped the sender.
    stopped: bool,
    /// Where the window of data ends.
    end: u64,
}

impl Usage {
    /// A packet was sent: `out` packets are out then, and `full` is the window; the stream is
    /// acknowledged up to `una` and sent up to `nxt`.
    pub(super) fn sent(&mut self, out: u64, full: bool, una: u64, nxt: u64) {
        // `tcp_cwnd_validate`: a new window of data begins, the window stops the sender, or more is
        // out than before.
        if una >= self.end || full || (!self.stopped && out > self.most_out) {
            (self.most_out, self.stopped, self.end) = (out, full, nxt);
        }
    }

    /// Whether a window of `cwnd` packets limits the sender.
    pub(super) fn limited(&self, cwnd: f64, slow_start: bool) -> bool {
        self.stopped || (slow_start && cwnd < 2.0 * self.most_out as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use switchbed_scenario::plans_of;

    /// Segments that count of an ACK of one, under which so many are newly acknowledged or SACKed.
    fn counted(profile: &str, newly: u64) -> f64 {
        let text = format!(
            r#"
        host.profile = "{profile}"
        topology = {{ kind = "star", hosts = 2, rate = "10Gbps", delay = "1us" }}
        switch.buffer = "300KB"
        scheme.name = "none"
        transport.kind = "cubic"
        traffic = [{{ kind = "long-lived", from = 0, to = 1 }}]
        run.until = "1ms"
        "#
        );
        let plans = plans_of("t.toml", &text, Path::new("."), &[], None).expect("a good file");
        let config = Config::new(&plans[0].scenario.transport).expect("fits");
        let mut sender = Sender::established(&config);
        sender.extras.as_mut().expect("a reduction in steps").newly = newly * config.mss as u64;
        sender.counted(&config, 1.0)
    }

    #[test]
    fn what_an_ack_sacks_counts_in_linux_alone() {
        assert_eq!(counted("linux-6.x", 3), 3.0);
        // By what is acknowledged (TcpSocketBase::ProcessAck, segsAcked).
        assert_eq!(counted("ns-3", 3), 1.0);
        // Nothing that was SACKed before counts again.
        assert_eq!(counted("linux-6.x", 0), 0.0);
        assert_eq!(counted("ns-3", 0), 0.0);
    }

    /// ACKs of so many packets until a window of 10 is 11.
    fn acks(avoidance: Avoidance, packets: f64) -> usize {
        let mut cwnd = 10.0;
        (1..)
            .find(|_| {
                cwnd = avoided(avoidance, cwnd, packets);
                cwnd >= 11.0
            })
            .unwrap()
    }

    #[test]
    fn counters_reach_the_next_packet_when_their_kernels_do() {
        // By bytes each ACK adds a little less than the one before.
        assert_eq!(acks(Avoidance::Bytes, 1.0), 11);
        assert_eq!(acks(Avoidance::Acks, 1.0), 10);
        assert_eq!(acks(Avoidance::AcksAndOne, 1.0), 11);
        assert_eq!(acks(Avoidance::Segments, 1.0), 10);
        // Delayed ACKs halve growth by ACKs, not by segments.
        assert_eq!(acks(Avoidance::Acks, 2.0), 10);
        assert_eq!(acks(Avoidance::Segments, 2.0), 5);
        // The rest counts for the next packet: 2 of 11.
        let whole = (0..4).fold(10.0, |cwnd, _| avoided(Avoidance::Segments, cwnd, 3.0));
        assert_eq!(whole, 11.0 + 2.0 / 11.0);
        // One ACK may be worth several.
        assert_eq!(avoided(Avoidance::Segments, 4.0, 9.0), 6.0 + 1.0 / 6.0);
    }
}
