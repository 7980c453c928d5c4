//! NSCC, the sender's window of Ultra Ethernet's transport, as htsim has it (uet-htsim 40ccb05, `uec.cpp`, read in the
//! fork cabhinaba3/uet-htsim 7fff618): four cases by mark and queueing delay, and quick adapt. The specification of the
//! UEC was not at hand.
//!
//! Bytes are of packets on the wire. A window begins with 1.5 times the bandwidth-delay product of the longest way. It
//! never exceeds the same of the shortest round trip so far.
//!
//! Difference: htsim keeps increments in 32 bits, which overflow on lines of 800 Gbps. Windows have fractions here.

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
    /// The round trip of that packet; `None`: it is not known which of its copies came.
    pub rtt: Option<Span>,
    /// Whether the answer is to a request: its round trip is no base, since requests are short.
    pub request: bool,
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
    /// The greatest window, as the shortest round trip allows it.
    most: f64,
    bytes_per_s: f64,
    /// Increments that are not applied yet, in bytes times the window.
    pending: f64,
    /// Bytes since they were.
    since_adjust: f64,
    /// When eta was last added.
    adjusted: Time,
    /// Bytes that arrived without any delay, and whether the window grows fast.
    undelayed: f64,
    fast: bool,
    decreased: Time,
    /// Quick adapt: the end of the period, what arrived in it, and whether a loss has armed it.
    quick_until: Time,
    achieved: f64,
    armed: bool,
    /// Bytes of which marks and trims are ignored after quick adapt, and of those that have come or were trimmed.
    to_ignore: f64,
    ignored: f64,
}

impl Nscc {
    /// The window of a connection that begins.
    pub fn new(path: &NsccPath) -> Nscc {
        let constants = path.constants();
        Nscc {
            window: constants.most,
            most: constants.most,
            bytes_per_s: path.line.as_bps() as f64 / 8.0,
            constants,
            average_s: 0.0,
            base_rtt: path.rtt,
            pending: 0.0,
            since_adjust: 0.0,
            adjusted: Time::ZERO,
            undelayed: 0.0,
            fast: false,
            decreased: Time::ZERO,
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

    /// The greatest window in bytes.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// The queueing delay aimed at.
    pub fn target(&self) -> Span {
        Span::from_secs_f64(self.constants.target_s)
    }

    /// The shortest round trip so far.
    pub fn base_rtt(&self) -> Span {
        self.base_rtt
    }

    /// Handles an acknowledgement.
    pub fn acked(&mut self, ack: &NsccAck) {
        let NsccAck { now, newly, marked, rtt, request, in_flight } = *ack;
        let newly = newly as f64;
        self.achieved += newly;
        self.since_adjust += newly;
        self.ignored += newly;
        if let Some(rtt) = rtt.filter(|_| !request) {
            self.shorten(rtt);
        }
        let delay_s = match rtt.filter(|rtt| *rtt >= self.base_rtt) {
            Some(rtt) => {
                let delay_s = (rtt - self.base_rtt).as_secs_f64();
                self.average(delay_s, marked);
                delay_s
            }
            None => self.average_s,
        };
        if self.quick_adapt(now, in_flight, (marked, false), delay_s) {
            return;
        }
        self.four_cases(now, newly, delay_s, marked);
        self.clamp();
        self.adjust(now);
    }

    /// Handles word that a packet of so many bytes was trimmed. `in_flight` has this packet too. `rtt`: since it was
    /// sent, where that is known. `counts`: the window shrinks by it.
    pub fn trimmed(
        &mut self,
        now: Time,
        (bytes, in_flight): (u64, u64),
        rtt: Option<Span>,
        counts: bool,
    ) {
        if let Some(rtt) = rtt {
            self.shorten(rtt);
        }
        self.ignored += bytes as f64;
        // A trim stands for a full queue, whose delay is the network's round trip. It counts as marked.
        self.average(self.constants.period.as_secs_f64(), true);
        self.armed = true;
        if !self.quick_adapt(now, in_flight, (true, true), 0.0) && counts {
            self.window -= bytes as f64;
            self.clamp();
        }
    }

    /// Handles a timeout of a packet of so many bytes.
    pub fn timed_out(&mut self, bytes: u64) {
        self.window -= bytes as f64;
        self.clamp();
    }

    /// A round trip that is shorter than all before is the base, by which the greatest window goes.
    fn shorten(&mut self, rtt: Span) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.most = 1.5 * self.bytes_per_s * rtt.as_secs_f64();
        }
    }

    fn average(&mut self, delay_s: f64, marked: bool) {
        // A delay over the target without a mark is not the network's, htsim says.
        let sample = match !marked && delay_s > self.constants.target_s {
            true => 0.25 * self.base_rtt.as_secs_f64(),
            false => delay_s,
        };
        self.average_s = GAIN * sample + (1.0 - GAIN) * self.average_s;
    }

    /// Whether the window is set to what got through, or this packet is ignored after that. Trims are `marked`, too.
    fn quick_adapt(
        &mut self,
        now: Time,
        in_flight: u64,
        (marked, lost): (bool, bool),
        delay_s: f64,
    ) -> bool {
        let NsccConstants { target_s, least, .. } = self.constants;
        let mut done = marked && self.ignored < self.to_ignore;
        if !done && now > self.quick_until {
            let hindered = self.armed || lost || delay_s > 4.0 * target_s;
            let begun = self.quick_until != Time::ZERO;
            if begun && hindered && self.achieved < self.most * QUICK_PART {
                self.window = self.achieved.max(least);
                (self.to_ignore, self.ignored) = (in_flight as f64, 0.0);
                self.armed = false;
                done = true;
            }
            self.achieved = 0.0;
            self.quick_until = now + self.base_rtt + Span::from_secs_f64(target_s);
        }
        if done {
            (self.pending, self.since_adjust) = (0.0, 0.0);
        }
        done
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
                let due = now.since(self.decreased) > self.base_rtt;
                if due && self.average_s > target_s {
                    let part = (self.average_s - target_s) / self.average_s;
                    // No more than half of the window at a time.
                    self.window *= (1.0 - GAMMA * part).max(0.5);
                    self.decreased = now;
                }
            }
            // The load balancer takes another path, and a fast increase goes on.
            (true, false) => {}
        }
    }

    /// Applies increments.
    fn adjust(&mut self, now: Time) {
        let NsccConstants { eta, period, least, .. } = self.constants;
        let since = now.since(self.adjusted);
        if self.since_adjust <= ADJUST_PACKETS * least && since <= period {
            return;
        }
        self.window += self.pending / self.window;
        if since >= period {
            self.window += eta;
            self.adjusted = now;
        }
        (self.pending, self.since_adjust) = (0.0, 0.0);
        self.clamp();
    }

    fn clamp(&mut self) {
        let least = self.constants.least;
        self.window = self.window.clamp(least, self.most.max(least));
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
        let rtt = Some(Span::from_us(rtt_us));
        NsccAck { now, newly, marked, rtt, request: false, in_flight: 100_000 }
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
        let mut nscc = Nscc::new(&PATH);
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
        // A round trip since the last is not yet more than one.
        nscc.acked(&ack(at(32), 4_064, true, 30));
        assert_eq!(nscc.window, window);
        nscc.acked(&ack(at(33), 4_064, true, 30));
        // 0.6 of it, and eta: 13 us have passed since that was added.
        close(nscc.window, window * 0.6 + 600.0);
    }

    #[test]
    fn nothing_at_a_mark_under_the_target() {
        let mut nscc = half();
        nscc.acked(&ack(at(5), 4_064, true, 15));
        assert_eq!((nscc.window, nscc.pending), (100_000.0, 0.0));
        // A fast increase goes on after it.
        nscc.acked(&ack(at(6), 120_000, false, 12));
        let window = nscc.window;
        assert!(nscc.fast);
        nscc.acked(&ack(at(7), 4_064, true, 15));
        assert_eq!((nscc.window, nscc.fast), (window, true));
        nscc.acked(&ack(at(8), 4_000, false, 12));
        close(nscc.window, window + 1_000.0);
    }

    #[test]
    fn increments_are_applied_by_bytes_and_eta_by_time() {
        let mut nscc = half();
        // 33,000 bytes are more than eight packets, 32,512: increments are applied, without eta.
        nscc.acked(&ack(at(6), 33_000, false, 22));
        let first = 100_000.0 + 20_000.0 * 33_000.0 / 100_000.0;
        close(nscc.window, first);
        // 12 us since eta was last added, and 6 us since increments were: those go with the next bytes.
        nscc.acked(&ack(at(12), 4_000, false, 22));
        assert_eq!(nscc.window, first);
        // 13 us: both.
        nscc.acked(&ack(at(13), 4_000, false, 22));
        close(nscc.window, first + 20_000.0 * 8_000.0 / first + 600.0);
    }

    #[test]
    fn quick_adapt_takes_what_got_through_and_ignores_marks_and_trims() {
        let mut nscc = half();
        // The first ACK opens a period of 12 + 9 us.
        nscc.acked(&ack(at(1), 4_064, false, 15));
        assert_eq!(nscc.quick_until, at(22));
        nscc.acked(&ack(at(10), 10_000, false, 15));
        nscc.trimmed(at(23), (4_064, 80_000), None, true);
        // 10,000 bytes are less than an eighth of 225,000.
        assert_eq!((nscc.window, nscc.to_ignore, nscc.armed), (10_000.0, 80_000.0, false));
        assert_eq!((nscc.pending, nscc.since_adjust), (0.0, 0.0));
        nscc.acked(&ack(at(24), 4_064, true, 40));
        assert_eq!((nscc.window, nscc.ignored, nscc.since_adjust), (10_000.0, 4_064.0, 0.0));
        // Trims of what was out then take nothing off, though they arm it.
        nscc.trimmed(at(25), (4_064, 70_000), None, true);
        nscc.trimmed(at(26), (70_000, 66_000), None, true);
        assert_eq!((nscc.window, nscc.ignored, nscc.armed), (10_000.0, 78_128.0, true));
        // The one that completes them counts.
        nscc.trimmed(at(27), (4_064, 8_000), None, true);
        assert_eq!(nscc.window, 5_936.0);
    }

    #[test]
    fn quick_adapt_counts_the_packet_that_ends_its_period() {
        let mut nscc = half();
        nscc.acked(&ack(at(1), 4_064, false, 15));
        // 28,125 bytes are an eighth of 225,000: no longer less.
        nscc.armed = true;
        nscc.acked(&ack(at(23), 28_125, true, 60));
        assert!(nscc.window > 99_000.0 && nscc.to_ignore == 0.0);
        nscc.acked(&ack(at(45), 28_124, true, 60));
        assert_eq!((nscc.window, nscc.to_ignore), (28_124.0, 100_000.0));
    }

    #[test]
    fn a_trim_takes_its_packet_off_the_window() {
        let mut nscc = half();
        nscc.trimmed(at(1), (4_064, 80_000), None, true);
        assert_eq!(nscc.window, 95_936.0);
        // The delay of a full queue, a round trip, raises the average.
        close(nscc.average_s, 0.0125 * 12e-6);
        nscc.trimmed(at(2), (4_064, 80_000), None, false);
        assert_eq!(nscc.window, 95_936.0);
        close(nscc.average_s, 1.9875 * 0.0125 * 12e-6);
        nscc.timed_out(200_000);
        assert_eq!(nscc.window, 4_064.0);
    }

    #[test]
    fn the_greatest_window_follows_the_shortest_round_trip() {
        let mut nscc = Nscc::new(&PATH);
        assert_eq!(nscc.window, 225_000.0);
        // 1.5 * 12.5 bytes a ns * 8,000 ns.
        nscc.acked(&ack(at(8), 4_064, true, 8));
        assert_eq!((nscc.base_rtt, nscc.window), (Span::from_us(8), 150_000.0));
        // A trimmed packet's counts, a request's does not: the latter is shorter, and no sample.
        nscc.trimmed(at(9), (4_000, 0), Some(Span::from_us(4)), false);
        assert_eq!((nscc.base_rtt, nscc.most), (Span::from_us(4), 75_000.0));
        let average_s = nscc.average_s;
        nscc.acked(&NsccAck { request: true, ..ack(at(10), 0, false, 2) });
        assert_eq!((nscc.base_rtt, nscc.average_s), (Span::from_us(4), average_s));
    }

    #[test]
    fn an_unmarked_delay_over_the_target_counts_as_a_quarter_of_the_base() {
        let mut nscc = half();
        nscc.acked(&ack(at(5), 4_064, false, 22));
        close(nscc.average_s, 0.0125 * 3e-6);
        nscc.acked(&ack(at(6), 4_064, false, 15));
        let average_s = 0.0125 * 3e-6 + 0.9875 * 0.0125 * 3e-6;
        close(nscc.average_s, average_s);
        // However long it is.
        nscc.acked(&ack(at(7), 4_064, false, 1_000));
        close(nscc.average_s, 0.0125 * 3e-6 + 0.9875 * average_s);
    }

    #[test]
    fn the_average_is_the_delay_where_there_is_no_sample() {
        let mut nscc = half();
        nscc.average_s = 18e-6;
        // Over the target without a mark: a fair increase, and the average stays.
        nscc.acked(&NsccAck { rtt: None, ..ack(at(5), 4_064, false, 0) });
        close(nscc.pending, 20_000.0 * 4_064.0);
        assert_eq!(nscc.average_s, 18e-6);
    }
}
