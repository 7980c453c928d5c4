//! NSCC, the sender's window of Ultra Ethernet's transport, as htsim has it (uet-htsim 40ccb05, `uec.cpp`): four
//! cases by mark and queueing delay, and quick adapt. The specification of the UEC was not at hand.
//!
//! Bytes are of packets on the wire. A window never exceeds 1.5 times the bandwidth-delay product, with which it
//! begins.

use switchbed_units::{Rate, Span, Time};

/// Constants that htsim's driver scales to a network: round trip and line of its reference.
const REFERENCE_RTT_S: f64 = 12e-6;
const REFERENCE_BYTES: f64 = 150_000.0;
/// Multiplicative decrease.
const GAMMA: f64 = 0.8;
/// Gain of the average delay.
const GAIN: f64 = 0.0125;
/// Packets of any length after which increments are applied.
const ADJUST_PACKETS: f64 = 8.0;
/// Quick adapt fires where less than this part of the greatest window got through.
const QUICK_PART: f64 = 1.0 / 8.0;
/// Delay under which a window may grow fast.
const FAST_DELAY_S: f64 = 1e-6;

/// Properties of the network by which the constants are scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccPath {
    /// Line of the sender's card.
    pub line: Rate,
    /// The longest round trip of the network without queues.
    pub rtt: Span,
    /// A full packet's payload in bytes.
    pub mss: u32,
    /// A full packet on the wire in bytes.
    pub mtu: u32,
    /// The queueing delay that is aimed at; `None`: 3/4 of the round trip with trimming, else all of it.
    pub target: Option<Span>,
    /// Whether switches trim.
    pub trimming: bool,
}

/// Scaled constants; names as in htsim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccConstants {
    /// The queueing delay aimed at, in seconds.
    pub target_s: f64,
    /// Proportional increase in bytes a second.
    pub alpha: f64,
    /// Fair increase in bytes.
    pub fair: f64,
    /// Bytes added once an adjustment period.
    pub eta: f64,
    /// Fast increase, a fraction of what arrived.
    pub fast: f64,
    /// Adjustment period, the round trip.
    pub period: Span,
    /// The least and the greatest window in bytes.
    pub least: f64,
    /// The greatest window in bytes.
    pub most: f64,
}

impl NsccPath {
    /// The greatest window, 1.5 times what the line sends in a round trip.
    pub fn window(&self) -> f64 {
        1.5 * self.line.as_bps() as f64 / 8.0 * self.rtt.as_secs_f64()
    }

    /// Scales the constants.
    pub fn constants(&self) -> NsccConstants {
        let rtt_s = self.rtt.as_secs_f64();
        let part = if self.trimming { 0.75 } else { 1.0 };
        let target_s = self.target.map_or(part * rtt_s, Span::as_secs_f64);
        let a = self.window() / 1.5 / REFERENCE_BYTES;
        let b = target_s / REFERENCE_RTT_S;
        let mss = f64::from(self.mss);
        NsccConstants {
            target_s,
            alpha: 4.0 * mss * a * b / target_s,
            fair: 5.0 * mss * a,
            eta: 0.15 * mss * a,
            fast: 0.25 * a,
            period: self.rtt,
            least: f64::from(self.mtu),
            most: self.window(),
        }
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct NsccAck {
    /// Time at which it came.
    pub now: Time,
    /// Bytes that the receiver got since the acknowledgement before.
    pub newly: u64,
    /// Whether the packet that it answers was marked.
    pub marked: bool,
    /// The round trip of that packet; `None`: it was sent more than once.
    pub rtt: Option<Span>,
    /// Bytes in flight.
    pub in_flight: u64,
}

/// The window of a sender.
#[derive(Clone, Debug)]
pub struct Nscc {
    constants: NsccConstants,
    window: f64,
    /// Average queueing delay in seconds.
    average_s: f64,
    base_rtt: Span,
    /// Increments that are not applied yet, in bytes times the window.
    pending: f64,
    /// Bytes since they were.
    since_adjust: f64,
    adjusted: Time,
    eta_added: Time,
    /// Bytes that arrived without any delay, and whether the window grows fast.
    undelayed: f64,
    fast: bool,
    decreased: Option<Time>,
    /// Quick adapt: the end of the period, what arrived in it, and whether a loss has armed it.
    quick_until: Time,
    achieved: f64,
    armed: bool,
    /// Bytes of which marks are ignored after quick adapt, and of those that have come.
    to_ignore: f64,
    ignored: f64,
}

impl Nscc {
    /// The window of a connection that begins.
    pub fn new(path: &NsccPath, now: Time) -> Nscc {
        let constants = path.constants();
        Nscc {
            window: constants.most,
            constants,
            average_s: 0.0,
            base_rtt: path.rtt,
            pending: 0.0,
            since_adjust: 0.0,
            adjusted: now,
            eta_added: now,
            undelayed: 0.0,
            fast: false,
            decreased: None,
            quick_until: Time::ZERO,
            achieved: 0.0,
            armed: false,
            to_ignore: 0.0,
            ignored: 0.0,
        }
    }

    /// The window in bytes.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The average queueing delay in seconds.
    pub fn average_s(&self) -> f64 {
        self.average_s
    }

    /// The shortest round trip so far.
    pub fn base_rtt(&self) -> Span {
        self.base_rtt
    }

    /// Handles an acknowledgement.
    pub fn acked(&mut self, ack: &NsccAck) {
        let NsccAck { now, newly, marked, rtt, in_flight } = *ack;
        let newly = newly as f64;
        self.base_rtt = rtt.map_or(self.base_rtt, |rtt| rtt.min(self.base_rtt));
        let base = self.base_rtt;
        let delay_s = rtt.map_or(self.average_s, |rtt| (rtt - base).as_secs_f64());
        self.average(delay_s, marked);
        self.achieved += newly;
        self.since_adjust += newly;
        if self.ignored < self.to_ignore && marked {
            self.ignored += newly;
            self.pending = 0.0;
            return;
        }
        self.ignored += newly;
        if self.quick_adapt(now, in_flight, false, delay_s) {
            self.pending = 0.0;
            return;
        }
        self.four_cases(now, newly, delay_s, marked);
        self.clamp();
        self.adjust(now);
    }

    /// Handles word that a packet of so many bytes was trimmed, at a time with so many in flight. `counts`: the
    /// window shrinks by it.
    pub fn trimmed(&mut self, now: Time, bytes: u64, in_flight: u64, counts: bool) {
        self.average(self.constants.period.as_secs_f64(), false);
        self.armed = true;
        if self.quick_adapt(now, in_flight, true, 0.0) {
            self.pending = 0.0;
        } else if counts {
            self.window -= bytes as f64;
        }
        self.clamp();
    }

    /// Handles a timeout of a packet of so many bytes.
    pub fn timed_out(&mut self, bytes: u64) {
        self.window -= bytes as f64;
        self.clamp();
    }

    fn average(&mut self, delay_s: f64, marked: bool) {
        let target_s = self.constants.target_s;
        // A delay without a mark is not the network's, htsim says.
        let sample = match !marked && delay_s > target_s {
            true if delay_s <= 5.0 * self.base_rtt.as_secs_f64() => {
                0.25 * self.base_rtt.as_secs_f64()
            }
            _ => delay_s,
        };
        self.average_s = GAIN * sample + (1.0 - GAIN) * self.average_s;
    }

    fn quick_adapt(&mut self, now: Time, in_flight: u64, lost: bool, delay_s: f64) -> bool {
        if now <= self.quick_until {
            return false;
        }
        let NsccConstants { target_s, most, least, .. } = self.constants;
        let hindered = self.armed || lost || delay_s > 4.0 * target_s;
        // The first call only begins a period.
        let fires = self.quick_until != Time::ZERO && hindered && self.achieved < most * QUICK_PART;
        if fires {
            self.window = self.achieved.max(least);
            // Marks of what is in flight now belong to the window before the cut.
            (self.to_ignore, self.ignored) = (in_flight as f64, 0.0);
            self.armed = false;
        }
        self.achieved = 0.0;
        self.quick_until = now + self.base_rtt + Span::from_secs_f64(target_s);
        fires
    }

    fn four_cases(&mut self, now: Time, newly: f64, delay_s: f64, marked: bool) {
        let NsccConstants { target_s, alpha, fair, fast, .. } = self.constants;
        match (marked, delay_s >= target_s) {
            (false, true) => self.pending += fair * newly,
            (false, false) => {
                if delay_s < FAST_DELAY_S {
                    self.undelayed += newly;
                    self.fast |= self.undelayed > self.window;
                } else {
                    (self.undelayed, self.fast) = (0.0, false);
                }
                match self.fast {
                    true => self.window += newly * fast,
                    false => self.pending += alpha * newly * (target_s - delay_s),
                }
            }
            (true, true) => {
                (self.undelayed, self.fast) = (0.0, false);
                let due = self.decreased.is_none_or(|last| now.since(last) >= self.base_rtt);
                if due && self.average_s > target_s {
                    let part = (self.average_s - target_s) / self.average_s;
                    // No more than half of the window at a time.
                    self.window *= (1.0 - GAMMA * part).max(0.5);
                    self.decreased = Some(now);
                }
            }
            // The load balancer takes another path.
            (true, false) => (self.undelayed, self.fast) = (0.0, false),
        }
    }

    /// Applies increments.
    fn adjust(&mut self, now: Time) {
        let NsccConstants { eta, period, least, .. } = self.constants;
        let over = now.since(self.adjusted) >= period;
        if self.since_adjust <= ADJUST_PACKETS * least && !over {
            return;
        }
        self.window += self.pending / self.window;
        if now.since(self.eta_added) >= period {
            self.window += eta;
            self.eta_added = now;
        }
        (self.pending, self.since_adjust, self.adjusted) = (0.0, 0.0, now);
        self.clamp();
    }

    fn clamp(&mut self) {
        let NsccConstants { least, most, .. } = self.constants;
        self.window = self.window.clamp(least, most.max(least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Gbps and 12 us: BDP 150,000 bytes, so that a = 1 and b = 3/4.
    const PATH: NsccPath = NsccPath {
        line: Rate::from_gbps(100),
        rtt: Span::from_us(12),
        mss: 4_000,
        mtu: 4_064,
        target: None,
        trimming: true,
    };

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn ack(now: Time, newly: u64, marked: bool, rtt_us: u64) -> NsccAck {
        NsccAck { now, newly, marked, rtt: Some(Span::from_us(rtt_us)), in_flight: 100_000 }
    }

    fn close(is: f64, should: f64) {
        assert!((is / should - 1.0).abs() < 1e-9, "{is}, not {should}");
    }

    #[test]
    fn constants_scale_as_htsims() {
        let NsccConstants { target_s, alpha, fair, eta, fast, least, most, .. } = PATH.constants();
        close(target_s, 9e-6);
        // 4 * 4000 * 1 * 0.75 / 9 us.
        close(alpha, 12_000.0 / 9e-6);
        assert_eq!((fair, fast, least, most), (20_000.0, 0.25, 4_064.0, 225_000.0));
        close(eta, 600.0);
    }

    /// A window of 100,000 bytes.
    fn half() -> Nscc {
        let mut nscc = Nscc::new(&PATH, Time::ZERO);
        nscc.window = 100_000.0;
        nscc
    }

    #[test]
    fn fair_increase_without_a_mark_over_the_target() {
        let mut nscc = half();
        nscc.acked(&ack(at(5), 4_064, false, 22));
        close(nscc.pending, 20_000.0 * 4_064.0);
        // Ten packets more than eight: all is applied, and eta after a period.
        nscc.acked(&ack(at(13), 30_000, false, 22));
        close(nscc.window, 100_000.0 + 20_000.0 * 34_064.0 / 100_000.0 + 600.0);
    }

    #[test]
    fn proportional_increase_without_a_mark_under_the_target() {
        let mut nscc = half();
        nscc.acked(&ack(at(5), 4_064, false, 15));
        close(nscc.pending, 12_000.0 / 9e-6 * 4_064.0 * 6e-6);
    }

    #[test]
    fn fast_increase_once_a_window_came_without_delay() {
        let mut nscc = half();
        nscc.acked(&ack(at(1), 100_000, false, 12));
        assert!(!nscc.fast);
        let window = nscc.window;
        // 112,000 bytes, and 113,000 have come.
        nscc.acked(&ack(at(2), 13_000, false, 12));
        assert!(nscc.fast);
        close(nscc.window, window + 3_250.0);
        // A microsecond of delay ends it.
        nscc.acked(&ack(at(3), 8_000, false, 13));
        assert!(!nscc.fast);
    }

    #[test]
    fn decrease_at_a_mark_over_the_target_once_a_round_trip() {
        let mut nscc = half();
        nscc.average_s = 18e-6;
        nscc.acked(&ack(at(20), 4_064, true, 30));
        // The average stays at 18 us: 1 - 0.8 * 9 / 18.
        close(nscc.window, 60_000.0 + 600.0);
        let window = nscc.window;
        nscc.acked(&ack(at(25), 4_064, true, 30));
        assert_eq!(nscc.window, window);
        nscc.acked(&ack(at(32), 4_064, true, 30));
        assert!(nscc.window < window);
    }

    #[test]
    fn nothing_at_a_mark_under_the_target() {
        let mut nscc = half();
        nscc.acked(&ack(at(5), 4_064, true, 15));
        assert_eq!((nscc.window, nscc.pending), (100_000.0, 0.0));
    }

    #[test]
    fn quick_adapt_takes_what_got_through_and_ignores_marks() {
        let mut nscc = half();
        // The first ACK opens a period of 12 + 9 us.
        nscc.acked(&ack(at(1), 4_064, false, 15));
        assert_eq!(nscc.quick_until, at(22));
        nscc.acked(&ack(at(10), 10_000, false, 15));
        nscc.trimmed(at(23), 4_064, 80_000, true);
        // 10,000 bytes are less than an eighth of 225,000.
        assert_eq!((nscc.window, nscc.to_ignore, nscc.armed), (10_000.0, 80_000.0, false));
        nscc.acked(&ack(at(24), 4_064, true, 40));
        assert_eq!((nscc.window, nscc.ignored), (10_000.0, 4_064.0));
    }

    #[test]
    fn a_trim_takes_its_packet_off_the_window() {
        let mut nscc = half();
        nscc.trimmed(at(1), 4_064, 80_000, true);
        assert_eq!(nscc.window, 95_936.0);
        nscc.trimmed(at(2), 4_064, 80_000, false);
        assert_eq!(nscc.window, 95_936.0);
        nscc.timed_out(200_000);
        assert_eq!(nscc.window, 4_064.0);
    }

    #[test]
    fn an_unmarked_delay_counts_as_a_quarter_of_the_base() {
        let mut nscc = half();
        nscc.acked(&ack(at(5), 4_064, false, 22));
        close(nscc.average_s, 0.0125 * 3e-6);
        nscc.acked(&ack(at(6), 4_064, false, 15));
        close(nscc.average_s, 0.0125 * 3e-6 + 0.9875 * 0.0125 * 3e-6);
    }
}
