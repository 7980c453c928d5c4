//! TIMELY (Mittal et al., SIGCOMM 2015): the rate follows the gradient of the RTT, between a low
//! threshold, under which it always rises, and a high one, over which it always falls.
//!
//! The algorithm is the paper's (from memory) as the HPCC authors have it, who leave the RTT of the
//! first round trip without an answer. Under the low threshold the paper adds one step and leaves the
//! count of rises alone; the authors' `UpdateRateTimely` counts such a step as any other rise, and
//! takes hyperactive steps there (`count_low`).

use super::algorithm::{bps, lasts};
use super::{Path, RateAbout, RateAlgorithm, RoceAck};
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::{Rate, Span, Time};

words! {
    /// Selection of the RTTs that TIMELY answers.
    pub enum TimelyUpdate {
        /// One RTT a round trip.
        RoundTrip = "round-trip",
        /// RTT of each ACK.
        Ack = "ack",
    }
}

// Numbers without another source are the HPCC authors', who took those that the paper does not have
// from "ECN or Delay" (Zhu et al., CoNEXT 2016, footnote 4).
params! {
    /// TIMELY's parameters.
    #[derive(Copy)]
    pub struct TimelyParams {
        /// Weight of a new difference between two RTTs.
        ewma: f64 = "0.875" as PORTION;
        /// Factor β of a cut: β times the gradient, or times the excess over t_high as a part of
        /// the RTT, is taken off the rate.
        beta: f64 = "0.8" as FRACTION;
        /// Rate that a rise adds, δ. Default: 10 Mbps for each 10 Gbps of the line.
        delta: Option<Rate>;
        /// A rise of hyperactive increase. Default: five times delta (the HPCC authors': 50 Mbps for
        /// each 10 Gbps).
        hyper_delta: Option<Rate>;
        /// Number of rises in a row without a growing RTT after which further rises are
        /// hyperactive.
        hyper_after: u32 = "5" as count(0, 1_000);
        /// Rises under t_low count among them and become hyperactive too (the HPCC authors); else
        /// such a rise is delta and does not count (the paper).
        count_low: bool = "false";
        /// Shorter RTTs always raise the rate.
        t_low: Span = "50us";
        /// Longer RTTs always cut it.
        t_high: Span = "500us";
        /// Round trip that differences between two RTTs are divided by.
        min_rtt: Span = "20us";
        /// round-trip: one RTT a round trip (the HPCC authors). ack: that of each ACK (the paper,
        /// whose completions are of 16 to 64 KB).
        update: TimelyUpdate = "round-trip";
        /// The least rate.
        min_rate: Rate = "100Mbps";
    }
}

/// δ by default, as a part of the line's rate.
const DELTA: f64 = 1e-3;

/// TIMELY; rates in bits per second, differences in picoseconds.
#[derive(Clone, Debug)]
pub struct Timely {
    line: f64,
    rate: f64,
    /// The RTT that was answered last.
    last: Option<Span>,
    difference: f64,
    rises: u32,
    /// An ACK beyond this begins a round trip.
    round_end: u64,
}

impl RateAlgorithm for Timely {
    type Params = TimelyParams;
    const ABOUT: RateAbout = RateAbout {
        stamps: true,
        paper: "Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015",
        ..RateAbout::PLAIN
    };

    fn check(params: &TimelyParams) -> Result<(), Unfit> {
        let key = TimelyParams::KEY;
        if params.t_high < params.t_low {
            return Err(Unfit::new(key.t_high, "it must be at least t_low"));
        }
        lasts(key.min_rtt, params.min_rtt)
    }

    fn new(_: &TimelyParams, path: &Path, _: Time) -> Timely {
        let line = path.line.as_bps() as f64;
        Timely { line, rate: line, last: None, difference: 0.0, rises: 0, round_end: 0 }
    }

    #[inline]
    fn rate(&self) -> Rate {
        bps(self.rate)
    }

    fn acked(&mut self, params: &TimelyParams, _: &Path, ack: &RoceAck) {
        if params.update == TimelyUpdate::RoundTrip && ack.acked <= self.round_end {
            return;
        }
        self.round_end = ack.sent;
        if let Some(last) = self.last.replace(ack.rtt) {
            self.answer(params, ack.rtt, last);
        }
    }
}

impl Timely {
    fn answer(&mut self, params: &TimelyParams, rtt: Span, last: Span) {
        let difference = rtt.as_ps() as f64 - last.as_ps() as f64;
        self.difference += params.ewma * (difference - self.difference);
        let gradient = self.difference / params.min_rtt.as_ps() as f64;
        let delta = params.delta.map_or(self.line * DELTA, |rate| rate.as_bps() as f64);
        if rtt < params.t_low && !params.count_low {
            self.rate += delta;
        } else if rtt > params.t_high {
            let part = params.t_high.as_ps() as f64 / rtt.as_ps() as f64;
            self.cut(1.0 - params.beta * (1.0 - part));
        } else if gradient <= 0.0 || rtt < params.t_low {
            let hyper = params.hyper_delta.map_or(5.0 * delta, |rate| rate.as_bps() as f64);
            self.rate += if self.rises < params.hyper_after { delta } else { hyper };
            self.rises = self.rises.saturating_add(1);
        } else {
            // A gradient over 1/β would leave less than nothing.
            self.cut((1.0 - params.beta * gradient).max(0.0));
        }
        let least = (params.min_rate.as_bps() as f64).min(self.line);
        self.rate = self.rate.clamp(least, self.line);
    }

    fn cut(&mut self, leaves: f64) {
        self.rate *= leaves;
        self.rises = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_config::param::at_defaults;

    const PATH: Path = Path {
        line: Rate::from_gbps(10),
        base_rtt: Span::from_us(20),
        hops: 1,
        mss: 1_000,
        wire: 1_090,
    };

    #[test]
    fn delta_is_10_mbps_for_each_10_gbps_of_the_line() {
        for (line, step) in [(1, 1.0), (10, 10.0), (25, 25.0), (100, 100.0), (400, 400.0)] {
            let path = Path { line: Rate::from_gbps(line), ..PATH };
            let mut timely = Timely::new(&at_defaults(), &path, Time::ZERO);
            answer(&mut timely, 10);
            timely.rate = 1e8;
            close(answer(&mut timely, 10), 100.0 + step);
        }
    }

    #[test]
    fn rises_under_the_low_threshold_count_where_that_is_asked() {
        let params = TimelyParams { count_low: true, ..at_defaults() };
        let mut timely = after(10);
        let mut rates = Vec::new();
        for _ in 0..8 {
            let acked = timely.round_end + 1;
            let (now, rtt, sent) = (Time::ZERO, Span::from_us(10), acked + 10_000);
            timely.acked(
                &params,
                &PATH,
                &RoceAck { now, rtt, bytes: 1_000, acked, sent, hops: &[] },
            );
            rates.push(timely.rate / 1e6);
        }
        // Five steps of 10 Mbps, then steps of 50.
        assert_eq!(rates, [1_010.0, 1_020.0, 1_030.0, 1_040.0, 1_050.0, 1_100.0, 1_150.0, 1_200.0]);
    }

    /// At 1 Gbps, after an RTT of so many microseconds, without a gradient of before.
    fn after(rtt: u64) -> Timely {
        let mut timely = Timely::new(&at_defaults(), &PATH, Time::ZERO);
        answer(&mut timely, rtt);
        timely.rate = 1e9;
        timely
    }

    /// The rate in Mbps once a whole round trip has had this RTT.
    fn answer(timely: &mut Timely, rtt: u64) -> f64 {
        let acked = timely.round_end + 1;
        let (bytes, sent) = (1_000, acked + 10_000);
        let (now, rtt) = (Time::ZERO, Span::from_us(rtt));
        let ack = RoceAck { now, rtt, bytes, acked, sent, hops: &[] };
        timely.acked(&at_defaults(), &PATH, &ack);
        // Another of the same round trip says nothing.
        let rate = timely.rate;
        let ack = RoceAck { acked: sent, sent: sent + 1, rtt: Span::from_ms(9), ..ack };
        timely.acked(&at_defaults(), &PATH, &ack);
        assert_eq!(timely.rate, rate);
        rate / 1e6
    }

    #[track_caller]
    fn close(is: f64, expected: f64) {
        assert!((is - expected).abs() < 1e-9 * expected, "{is} is not {expected}");
    }

    #[test]
    fn under_the_low_threshold_each_rtt_adds_delta_whatever_the_gradient() {
        let mut timely = after(10);
        for n in 1..=20 {
            close(answer(&mut timely, 10 + 39 * (n % 2)), 1_000.0 + 10.0 * n as f64);
        }
        timely.rate = 9.995e9;
        assert_eq!(answer(&mut timely, 10), 10_000.0);
    }

    #[test]
    fn over_the_high_threshold_the_excess_cuts() {
        // 1 − 0.8·(1 − 500/1000) = 0.6, though the RTT falls from 2 ms.
        close(answer(&mut after(2_000), 1_000), 600.0);
        // 1000·(1 − 0.8·(1 − 500/4000)) = 300, then 90, then the least.
        let mut timely = after(4_000);
        close(answer(&mut timely, 4_000), 300.0);
        close(answer(&mut timely, 4_000), 100.0);
    }

    #[test]
    fn between_them_a_growing_rtt_cuts_by_its_gradient() {
        // 0.875·8 us / 20 us = 0.35, and 1 − 0.8·0.35 = 0.72.
        let mut timely = after(100);
        close(answer(&mut timely, 108), 720.0);
        // (0.125·7 us + 0.875·8 us)/20 us = 0.39375, and 1 − 0.8·0.39375 = 0.685.
        close(answer(&mut timely, 116), 720.0 * 0.685);
        // A gradient over 1/β leaves nothing but the least.
        assert_eq!(answer(&mut after(100), 400), 100.0);
    }

    #[test]
    fn five_rises_make_the_next_hyperactive_until_a_cut() {
        let mut timely = after(100);
        for (n, rate) in
            [1_010.0, 1_020.0, 1_030.0, 1_040.0, 1_050.0, 1_100.0, 1_150.0].into_iter().enumerate()
        {
            assert_eq!(timely.rises, n as u32);
            close(answer(&mut timely, 100), rate);
        }
        close(answer(&mut timely, 108), 1_150.0 * 0.72);
        // The gradient falls: (0.125·7 us − 0.875·8 us) is negative.
        close(answer(&mut timely, 100), 1_150.0 * 0.72 + 10.0);
    }
}
