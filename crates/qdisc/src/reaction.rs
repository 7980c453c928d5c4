//! QCN's reaction point (IEEE 802.1Qau; Alizadeh et al., Allerton 2008, section 3.2): the rate
//! of a limiter from the notifications that it gets and the cycles that go by without any.
//!
//! A notification of F_b: the rate becomes the target (but not during the first byte cycle
//! after another notification), rate ← rate·max(1 − G_d·F_b, ½), and both counters start anew.
//! A cycle of the byte counter or of the timer: target ← target + R, rate ← (rate + target)/2,
//! where R is 0 in the first five cycles of both (fast recovery), R_HAI·(i − 5) if both are past
//! them, i the lesser count (hyper-active increase), else R_AI (active increase). At the first
//! cycle of either a target over ten times the rate is divided by 8 instead.
//!
//! Reaction stands with the host, not at a port: in the simulator's network cards and in the live
//! one. Sans-IO: called with times, draws its jitter itself. The timer needs no event: expiries that
//! are due are made up for in their order before the rate is next used, which is all that can
//! be seen of them.

use switchbed_config::{param, params};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Rate, Span, Time};

params! {
    /// Parameters of a reaction point.
    #[derive(Copy)]
    pub struct ReactionSettings {
        /// Reduction of the rate by one step of feedback (of 63), as a fraction of the rate, G_d.
        gain: f64 = "0.0078125" as FRACTION;
        /// The least that a message leaves of the rate.
        least_left: f64 = "0.5" as FRACTION;
        /// The byte counter's cycle.
        byte_cycle: Bytes = "150KB";
        /// The timer's cycle.
        timer_cycle: Span = "15ms";
        /// How much a cycle varies to either side, as a fraction of it.
        jitter: f64 = "0.15" as number(0.0, 0.99);
        /// Cycles of fast recovery; then both cycles are half as long.
        recovery_cycles: u32 = "5" as count(1, 1_000);
        /// Increase of the target rate in a cycle of active increase, R_AI.
        active_increase: Rate = "5Mbps";
        /// Increase in a cycle of hyper-active increase, multiplied by the cycle's number, R_HAI.
        hyper_increase: Rate = "50Mbps";
        /// The least rate.
        min_rate: Rate = "10Mbps";
        /// A target over ten times the rate is divided by this at the first cycle.
        target_division: f64 = "8" as number(1.0, 1e6);
    }
}

impl Default for ReactionSettings {
    /// The standard's, for 10 Gbps.
    fn default() -> Self {
        param::at_defaults()
    }
}

/// State of a flow's rate limiter.
#[derive(Clone, Debug)]
pub struct ReactionPoint<R> {
    line_bps: f64,
    rate_bps: f64,
    target_bps: f64,
    /// Bytes until the byte counter's cycle ends.
    bytes_left: f64,
    /// When the timer's cycle ends.
    timer: Time,
    byte_cycles: u32,
    timer_cycles: u32,
    rng: R,
}

impl<R: Random> ReactionPoint<R> {
    /// Made with the first notification, at line rate until that is applied.
    pub fn new(settings: &ReactionSettings, line: Rate, now: Time, rng: R) -> Self {
        let line_bps = line.as_bps() as f64;
        let mut point = ReactionPoint {
            line_bps,
            rate_bps: line_bps,
            target_bps: line_bps,
            bytes_left: 0.0,
            timer: Time::ZERO,
            byte_cycles: 0,
            timer_cycles: 0,
            rng,
        };
        point.restart_bytes(settings);
        point.restart_timer(settings, now);
        point
    }

    /// A notification of so many steps, 1 to 63.
    pub fn on_notification(&mut self, settings: &ReactionSettings, steps: u8, now: Time) {
        self.advance(settings, now);
        // 802.1Qau: in the first byte cycle after a notification the target stays where it was, so
        // that several messages of one congestion event do not lower it repeatedly.
        if self.byte_cycles != 0 {
            self.target_bps = self.rate_bps;
            self.byte_cycles = 0;
            self.restart_bytes(settings);
        }
        self.timer_cycles = 0;
        self.restart_timer(settings, now);
        let left = (1.0 - settings.gain * steps as f64).max(settings.least_left);
        self.set_rate(settings, self.rate_bps * left);
    }

    /// Counts a sent packet toward the byte counter's cycle.
    pub fn on_sent(&mut self, settings: &ReactionSettings, len_bytes: u32, now: Time) {
        self.advance(settings, now);
        self.bytes_left -= len_bytes as f64;
        if self.bytes_left <= 0.0 {
            self.byte_cycles += 1;
            self.restart_bytes(settings);
            self.increase(settings);
        }
    }

    /// The timer's cycles that have ended by now.
    pub fn advance(&mut self, settings: &ReactionSettings, now: Time) {
        // An expiry needs no event: nothing reads the rate in between, and a recovered limiter has
        // no timer.
        while self.timer <= now && !self.recovered() {
            self.timer_cycles += 1;
            self.restart_timer(settings, self.timer);
            self.increase(settings);
        }
    }

    /// The rate in bits per second.
    pub fn rate_bps(&self) -> f64 {
        self.rate_bps
    }

    /// The target rate in bits per second.
    pub fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// Cycles of byte counter and timer since the last notification.
    pub fn cycles(&self) -> (u32, u32) {
        (self.byte_cycles, self.timer_cycles)
    }

    /// The rate is back at the line's: the limiter has nothing more to do.
    pub fn recovered(&self) -> bool {
        self.rate_bps >= self.line_bps
    }

    /// The time from the start of one packet to that of the next.
    #[inline]
    pub fn gap(&self, len_bytes: u32) -> Span {
        // 8·10¹² turns bytes over bit/s into picoseconds.
        Span::from_ps((len_bytes as f64 * 8e12 / self.rate_bps) as u64)
    }

    fn increase(&mut self, settings: &ReactionSettings) {
        let (bytes, timer, most) = (self.byte_cycles, self.timer_cycles, settings.recovery_cycles);
        let first = bytes == 1 || timer == 1;
        if first && self.target_bps > 10.0 * self.rate_bps {
            self.target_bps /= settings.target_division;
        } else if bytes > most && timer > most {
            // The lesser of the counters, less the cycles of fast recovery: Hyper-Active Increase's
            // i − 5.
            let cycle = (bytes.min(timer) - most) as f64;
            self.target_bps += settings.hyper_increase.as_bps() as f64 * cycle;
        } else if bytes > most || timer > most {
            self.target_bps += settings.active_increase.as_bps() as f64;
        }
        self.target_bps = self.target_bps.min(self.line_bps);
        // Halving the distance alone would never end.
        let rate = (self.rate_bps + self.target_bps) / 2.0;
        let there = self.line_bps - rate < 1.0;
        self.set_rate(settings, if there { self.line_bps } else { rate });
    }

    fn set_rate(&mut self, settings: &ReactionSettings, rate_bps: f64) {
        // A line slower than the least rate is never limited below itself.
        let least = (settings.min_rate.as_bps() as f64).min(self.line_bps);
        self.rate_bps = rate_bps.clamp(least, self.line_bps);
    }

    fn restart_bytes(&mut self, settings: &ReactionSettings) {
        let cycle = settings.byte_cycle.as_f64() * self.shortened(settings, self.byte_cycles);
        self.bytes_left = cycle * self.jitter(settings);
    }

    fn restart_timer(&mut self, settings: &ReactionSettings, from: Time) {
        let cycle =
            settings.timer_cycle.as_ps() as f64 * self.shortened(settings, self.timer_cycles);
        // One picosecond at least, or `advance` would never end.
        self.timer = from + Span::from_ps((cycle * self.jitter(settings)).max(1.0) as u64);
    }

    /// Both cycles are halved after the fifth.
    fn shortened(&self, settings: &ReactionSettings, cycles: u32) -> f64 {
        if cycles < settings.recovery_cycles { 1.0 } else { 0.5 }
    }

    fn jitter(&mut self, settings: &ReactionSettings) -> f64 {
        // Without jitter nothing is drawn, so that its stream stays the same for other settings.
        if settings.jitter == 0.0 {
            1.0
        } else {
            1.0 + settings.jitter * (2.0 * self.rng.unit() - 1.0)
        }
    }
}
