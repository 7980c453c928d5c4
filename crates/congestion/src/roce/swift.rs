//! Swift (Kumar et al., SIGCOMM 2020): a window that rises while the delay is under a target and falls,
//! once a round trip, by how far it is over; the target grows with the hops and with a small window.
//!
//! Unverified: its paper was not at hand. The algorithm is from memory and as uet-htsim's `swift.cpp` has
//! it; its numbers are that program's, whose author calls them guesses. There is one window, the
//! fabric's, and its delay is the whole RTT: hosts have no delays of their own here, so the window of
//! the end points would never be the smaller one.

use super::algorithm::bps;
use super::{Path, RateAbout, RateAlgorithm, RoceAck};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::{Rate, Span, Time};

params! {
    /// Swift's parameters.
    #[derive(Copy)]
    pub struct SwiftParams {
        /// The delay that it steers for, without what follows.
        base_target: Span = "20us";
        /// Delay that each switch on the way adds to the target (the base over 6.55).
        hop_target: Span = "3.053us";
        /// Delay that the smallest windows add to the target at most (five times the base).
        fs_range: Span = "100us";
        /// Windows of fewer packets add all of fs_range.
        fs_min: f64 = "0.1" as POSITIVE;
        /// Windows of more packets add nothing.
        fs_max: f64 = "100" as POSITIVE;
        /// Packets that a round trip under the target adds.
        additive_increase: f64 = "1" as POSITIVE;
        /// Factor β of a cut: β times the excess over the target, as a part of the delay, is taken
        /// off the window.
        beta: f64 = "0.8" as FRACTION;
        /// The most that a cut takes off the window.
        max_mdf: f64 = "0.5" as FRACTION;
        /// The smallest window, in packets (from memory).
        min_window: f64 = "0.001" as PORTION;
        /// The largest window, in packets: ours, since something has to bound it.
        max_window: u32 = "10000" as count(1, 1_000_000);
        /// Number of timeouts in a row that leave the smallest window (from memory).
        reset_after: u32 = "5" as count(1, 1_000);
    }
}

impl SwiftParams {
    /// The target of a window of so many packets, in seconds.
    pub(super) fn target(&self, hops: u32, window: f64) -> f64 {
        let range = self.fs_range.as_secs_f64();
        // Flow scaling: the target grows with 1/√window.
        let (least, most) = (1.0 / self.fs_max.sqrt(), 1.0 / self.fs_min.sqrt());
        let part = (1.0 / window.sqrt() - least) / (most - least);
        let base = self.base_target + self.hop_target * u64::from(hops);
        base.as_secs_f64() + (range * part).clamp(0.0, range)
    }
}

/// Swift; its window is in packets, of which there may be less than one.
#[derive(Clone, Debug)]
pub struct Swift {
    line: f64,
    window: f64,
    /// RTT of the last ACK.
    rtt: Span,
    /// Time of the last cut.
    cut: Option<Time>,
    mss: u32,
    wire: u32,
    timeouts: u32,
}

impl RateAlgorithm for Swift {
    type Params = SwiftParams;
    const ABOUT: RateAbout = RateAbout {
        stamps: true,
        verified: false,
        paper: "Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the \
                Datacenter, SIGCOMM 2020",
        ..RateAbout::PLAIN
    };

    fn check(params: &SwiftParams) -> Result<(), Unfit> {
        if params.fs_max <= params.fs_min {
            return Err(Unfit::new(SwiftParams::KEY.fs_max, "it must be greater than fs_min"));
        }
        super::algorithm::lasts(SwiftParams::KEY.base_target, params.base_target)
    }

    /// With what the line sends in a round trip: at line rate, as all begin.
    fn new(params: &SwiftParams, path: &Path, _: Time) -> Swift {
        Swift {
            line: path.line.as_bps() as f64,
            window: (path.bdp() / f64::from(path.wire)).clamp(1.0, f64::from(params.max_window)),
            rtt: path.base_rtt,
            cut: None,
            mss: path.mss,
            wire: path.wire,
            timeouts: 0,
        }
    }

    /// Less than a packet is sent at its rate, more as ACKs let it.
    #[inline]
    fn rate(&self) -> Rate {
        if self.window >= 1.0 {
            return bps(self.line);
        }
        let packet = f64::from(self.wire) * 8.0;
        bps((self.window * packet / self.rtt.as_secs_f64()).min(self.line))
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some((self.window.max(1.0) * f64::from(self.mss)) as u64)
    }

    fn acked(&mut self, params: &SwiftParams, path: &Path, ack: &RoceAck) {
        self.timeouts = 0;
        self.rtt = ack.rtt;
        let (delay, target) = (ack.rtt.as_secs_f64(), params.target(path.hops, self.window));
        if delay < target {
            let more = params.additive_increase * f64::from(ack.bytes) / f64::from(self.mss);
            // A packet's part of one round trip; below one packet, all of the increment for each
            // packet.
            self.set(params, self.window + more / self.window.max(1.0));
        } else {
            let leaves = 1.0 - params.beta * (delay - target) / delay;
            self.cut(params, leaves.max(1.0 - params.max_mdf), ack.now);
        }
    }

    fn lost(&mut self, params: &SwiftParams, timeout: bool, now: Time) {
        if timeout {
            self.timeouts += 1;
            if self.timeouts >= params.reset_after {
                return self.set(params, params.min_window);
            }
        }
        self.cut(params, 1.0 - params.max_mdf, now);
    }
}

impl Swift {
    /// Cuts the window, at most once a round trip.
    fn cut(&mut self, params: &SwiftParams, leaves: f64, now: Time) {
        if self.cut.is_none_or(|last| now.since(last) >= self.rtt) {
            self.cut = Some(now);
            self.set(params, self.window * leaves);
        }
    }

    fn set(&mut self, params: &SwiftParams, window: f64) {
        self.window = window.clamp(params.min_window, f64::from(params.max_window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_config::param::at_defaults;

    const PATH: Path = Path {
        line: Rate::from_gbps(100),
        base_rtt: Span::from_us(8),
        hops: 1,
        mss: 1_000,
        wire: 1_000,
    };

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn with(window: f64) -> Swift {
        Swift { window, ..Swift::new(&at_defaults(), &PATH, Time::ZERO) }
    }

    /// The window after an ACK of so many bytes with an RTT in microseconds.
    fn answer(swift: &mut Swift, now: u64, rtt: u64, bytes: u32) -> f64 {
        let (now, rtt) = (us(now), Span::from_us(rtt));
        let ack = RoceAck { now, rtt, bytes, acked: 0, sent: 0, hops: &[] };
        swift.acked(&at_defaults(), &PATH, &ack);
        swift.window
    }

    #[track_caller]
    fn close(is: f64, expected: f64) {
        assert!((is - expected).abs() < 1e-9 * expected, "{is} is not {expected}");
    }

    #[test]
    fn the_target_grows_with_hops_and_small_windows() {
        let params = at_defaults::<SwiftParams>();
        let us = |hops, window| params.target(hops, window) * 1e6;
        // a = 100/(1/√0.1 − 1/√100) = 100/3.062278 = 32.6554 us, b = −a/10 = −3.26554 us.
        for (window, added) in [(100.0, 0.0), (400.0, 0.0), (0.1, 100.0), (0.01, 100.0)] {
            close(us(0, window), 20.0 + added);
        }
        assert!((us(0, 1.0) - (20.0 + 29.389_886)).abs() < 1e-5);
        assert!((us(0, 4.0) - (20.0 + 13.062_172)).abs() < 1e-5);
        close(us(5, 100.0), 20.0 + 5.0 * 3.053);
    }

    #[test]
    fn under_the_target_a_round_trip_adds_a_packet() {
        let mut swift = with(100.0);
        close(answer(&mut swift, 0, 8, 1_000), 100.01);
        close(answer(&mut swift, 0, 8, 2_000), 100.01 + 2.0 / 100.01);
        // Below one packet, each packet adds one.
        close(answer(&mut with(0.25), 0, 8, 500), 0.75);
        assert_eq!(answer(&mut with(9_999.999_99), 0, 8, 4_000_000), 10_000.0);
    }

    #[test]
    fn over_it_the_excess_cuts_once_a_round_trip() {
        // Over 100 packets the target is 20 + 3.053 us; at 30 us 1 − 0.8·6.947/30 = 0.814747 are left.
        let mut swift = with(200.0);
        let left = 200.0 * (1.0 - 0.8 * 6.947 / 30.0);
        close(answer(&mut swift, 100, 30, 1_000), left);
        close(answer(&mut swift, 129, 30, 1_000), left);
        close(answer(&mut swift, 130, 30, 1_000), left * left / 200.0);
        // Never more than half: 1 − 0.8·(1000 − 23.053)/1000 = 0.218.
        close(answer(&mut with(200.0), 0, 1_000, 1_000), 100.0);
    }

    #[test]
    fn losses_cut_once_a_round_trip_and_timeouts_in_a_row_to_the_least() {
        let params = at_defaults::<SwiftParams>();
        let mut swift = with(64.0);
        for (now, left) in [(10, 32.0), (17, 32.0), (18, 16.0)] {
            swift.lost(&params, false, us(now));
            assert_eq!(swift.window, left);
        }
        for (n, left) in [8.0, 4.0, 2.0, 1.0, 0.001].into_iter().enumerate() {
            swift.lost(&params, true, us(100 + 10 * n as u64));
            assert_eq!(swift.window, left);
        }
        // Data that arrives ends the row.
        let mut swift = with(64.0);
        for n in 0..6 {
            swift.lost(&params, true, us(100 * n));
            answer(&mut swift, 100 * n, 8, 0);
        }
        assert_eq!(swift.window, 1.0);
    }

    #[test]
    fn less_than_a_packet_is_paced() {
        let mut swift = with(0.5);
        answer(&mut swift, 0, 8, 0);
        // Half of 8,000 bits in 8 us; one packet may be out.
        assert_eq!((swift.rate(), swift.window()), (Rate::from_mbps(500), Some(1_000)));
        assert_eq!((with(2.5).rate(), with(2.5).window()), (PATH.line, Some(2_500)));
    }

    #[test]
    fn the_scale_of_the_target_has_two_ends() {
        let params = SwiftParams { fs_max: 0.1, ..at_defaults::<SwiftParams>() };
        assert_eq!(Swift::check(&params).map_err(|unfit| unfit.param), Err("fs_max"));
        assert_eq!(Swift::check(&at_defaults()), Ok(()));
    }
}
