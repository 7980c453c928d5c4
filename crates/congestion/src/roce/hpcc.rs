//! HPCC (Li et al., SIGCOMM 2019): switches write into each packet how much they have sent and what
//! waits; from what changed since the ACK before, a sender knows how full each line is, and sets its
//! window so that the fullest is at η of its rate.
//!
//! For each hop u = min(q, q')/(B·T) + (bytes sent)/(dt·B); U is an average of the greatest u, over
//! about T. W = W_c·η/U + W_AI where U is at η or maxStage steps have only added, else W = W_c + W_AI.
//! W follows from every ACK, W_c becomes W once a round trip. The rate is W/T.
//!
//! Where paper and code differ is a setting: what is added (`state`), T, maxStage and η. In the code the
//! state is the rate R, and the window follows; with W = R·T that is the same but for what is added,
//! W_AI a round trip or R_AI·T. One rate a hop (MULTI_RATE) is not here. The code keeps the rate between
//! a least one and the line's, and so it is here with both, the window between those rates' times T.

use super::algorithm::{bps, lasts};
use super::{IntHop, Path, RateAbout, RateAlgorithm, RoceAck};
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::{Bytes, Rate, Span, Time};

words! {
    /// State that HPCC controls, to which each step adds.
    pub enum HpccState {
        /// Window in bytes, as in the paper.
        Window = "window",
        /// Rate, as in the authors' code.
        Rate = "rate",
    }
}

params! {
    /// HPCC's parameters.
    #[derive(Copy)]
    pub struct HpccParams {
        /// window: W_AI bytes are added to a window (the paper). rate: R_AI to a rate (the authors'
        /// code).
        state: HpccState = "window";
        /// The utilisation that it steers for, η (the paper; the authors' later results: 0.99).
        eta: f64 = "0.95" as PORTION;
        /// Number of steps that only add before one that scales (the paper; the authors' scripts:
        /// 0).
        max_stage: u32 = "5" as count(0, 1_000);
        /// With state = window, what a step adds. Default: 80B (the paper's section 5).
        w_ai: Option<Bytes>;
        /// With state = rate, what a step adds. Default: 10 Mbps for each 25 Gbps of the line (the
        /// authors' simulation/run.py; the example in their README has 50 Mbps).
        r_ai: Option<Rate>;
        /// T, the round trip without queues. Default: that of the queue pair's own path (the authors'
        /// code: the longest of the network).
        base_rtt: Option<Span>;
        /// The least rate (the authors' code).
        min_rate: Rate = "100Mbps";
    }
}

/// The paper's W_AI, section 5: from memory.
const W_AI: Bytes = Bytes::new(80);
/// R_AI by default, as a part of the line's rate.
const R_AI: f64 = 10e6 / 25e9;

/// HPCC; apart, since it is larger than others' memory.
#[derive(Clone, Debug)]
pub struct Hpcc(Box<State>);

#[derive(Clone, Debug)]
struct State {
    /// Base round trip T in seconds.
    t: f64,
    /// Windows, in bytes: W, W_c and bounds of both.
    window: f64,
    reference: f64,
    least: f64,
    most: f64,
    /// Amount that a step adds.
    added: f64,
    /// Payload of a packet in bytes.
    mss: u64,
    /// Utilisation U of the busiest hop.
    used: f64,
    stage: u32,
    /// An ACK beyond this covers data that was sent after W_c was set.
    round_end: u64,
    last: Vec<IntHop>,
}

impl RateAlgorithm for Hpcc {
    type Params = HpccParams;
    const ABOUT: RateAbout = RateAbout {
        int: true,
        paper: "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019",
        ..RateAbout::PLAIN
    };

    fn check(params: &HpccParams) -> Result<(), Unfit> {
        let key = HpccParams::KEY;
        match params.state {
            HpccState::Window if params.r_ai.is_some() => {
                Err(Unfit::new(key.r_ai, "with state = \"window\" it is w_ai that is added"))
            }
            HpccState::Rate if params.w_ai.is_some() => {
                Err(Unfit::new(key.w_ai, "with state = \"rate\" it is r_ai that is added"))
            }
            _ => params.base_rtt.map_or(Ok(()), |rtt| lasts(key.base_rtt, rtt)),
        }
    }

    fn new(params: &HpccParams, path: &Path, _: Time) -> Hpcc {
        let t = params.base_rtt.unwrap_or(path.base_rtt).as_secs_f64();
        let bytes = |rate: Rate| rate.as_bps() as f64 / 8.0 * t;
        let most = bytes(path.line);
        Hpcc(Box::new(State {
            t,
            window: most,
            reference: most,
            least: bytes(params.min_rate).min(most),
            most,
            added: match params.state {
                HpccState::Window => params.w_ai.unwrap_or(W_AI).as_f64(),
                HpccState::Rate => params.r_ai.map_or(most * R_AI, bytes),
            },
            mss: u64::from(path.mss),
            used: 1.0,
            stage: 0,
            round_end: 0,
            last: Vec::new(),
        }))
    }

    #[inline]
    fn rate(&self) -> Rate {
        bps(self.0.window * 8.0 / self.0.t + 0.5)
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some((self.0.window as u64).max(self.0.mss))
    }

    fn acked(&mut self, params: &HpccParams, _: &Path, ack: &RoceAck) {
        let state = &mut *self.0;
        if state.last.len() != ack.hops.len() {
            // The first, or another way than until now: there is nothing to compare it with.
            state.last = ack.hops.to_vec();
            state.round_end = state.round_end.max(ack.sent);
            return;
        }
        let Some((used, over)) = state.measure(ack.hops) else { return };
        // A sample over a whole round trip or longer replaces the average.
        let part = (over / state.t).min(1.0);
        state.used += part * (used - state.used);
        let excess = state.used / params.eta;
        let scales = excess >= 1.0 || state.stage >= params.max_stage;
        let base = if scales { state.reference / excess } else { state.reference };
        state.window = (base + state.added).clamp(state.least, state.most);
        if ack.acked > state.round_end {
            state.round_end = ack.sent;
            state.reference = state.window;
            state.stage = if scales { 0 } else { state.stage + 1 };
        }
    }
}

impl State {
    /// u of the fullest hop, and the seconds over which it was measured. A hop that stamped two packets
    /// with the same time is measured with the next.
    fn measure(&mut self, hops: &[IntHop]) -> Option<(f64, f64)> {
        let mut fullest = None;
        for (last, hop) in self.last.iter_mut().zip(hops) {
            let over = hop.at.since(last.at).as_secs_f64();
            if over == 0.0 {
                continue;
            }
            let bytes_per_s = hop.rate.as_bps() as f64 / 8.0;
            let sent = hop.tx_bytes.saturating_sub(last.tx_bytes) as f64;
            // The smaller of both lengths, so that a short burst is not taken for a queue (HPCC,
            // algorithm 1).
            let waiting = hop.queue_bytes.min(last.queue_bytes) as f64;
            let used = waiting / (bytes_per_s * self.t) + sent / over / bytes_per_s;
            if fullest.is_none_or(|(most, _)| used > most) {
                fullest = Some((used, over));
            }
            *last = *hop;
        }
        fullest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roce::RateControl;
    use crate::roce::closed::{Closed, Seen};
    use switchbed_config::param::at_defaults;

    const LINE: Rate = Rate::from_gbps(100);
    /// Path with a B·T of 125,000 bytes.
    const PATH: Path =
        Path { line: LINE, base_rtt: Span::from_us(10), hops: 1, mss: 1_000, wire: 1_124 };

    fn ack(acked: u64, sent: u64, hops: &[IntHop]) -> RoceAck<'_> {
        let now = Time::ZERO; // which does not matter
        RoceAck { now, rtt: Span::ZERO, bytes: 1_000, acked, sent, hops }
    }

    fn hop(us: u64, tx_bytes: u64, queue_bytes: u64) -> IntHop {
        IntHop { rate: LINE, at: Time::ZERO + Span::from_us(us), tx_bytes, queue_bytes }
    }

    #[track_caller]
    fn close(is: f64, expected: f64) {
        assert!((is - expected).abs() < 1e-9 * expected, "{is} is not {expected}");
    }

    #[test]
    fn one_hop_by_hand() {
        let params = at_defaults();
        let mut hpcc = Hpcc::new(&params, &PATH, Time::ZERO);
        assert_eq!((hpcc.rate(), hpcc.window()), (LINE, Some(125_000)));
        // The first INT is kept, and no more.
        hpcc.acked(&params, &PATH, &ack(1_000, 100_000, &[hop(100, 0, 30_000)]));
        assert_eq!(hpcc.rate(), LINE);
        // 1 us, all of the line, 25,000 of 125,000 bytes waiting: u = 0.2 + 1, a tenth of T.
        hpcc.acked(&params, &PATH, &ack(2_000, 101_000, &[hop(101, 12_500, 25_000)]));
        close(hpcc.0.used, 0.9 + 0.12);
        close(hpcc.0.window, 125_000.0 * 0.95 / 1.02 + 80.0);
        // 1 us, half of the line, and at one end no queue: u = 0.5. From the same W_c.
        hpcc.acked(&params, &PATH, &ack(3_000, 102_000, &[hop(102, 18_750, 0)]));
        close(hpcc.0.used, 0.9 * 1.02 + 0.05);
        close(hpcc.0.window, 125_000.0 * 0.95 / 0.968 + 80.0);
        assert_eq!(hpcc.window(), Some(122_755)); // 122,675.6 + 80
        // W/T: 122,755.62 bytes in 10 us.
        assert_eq!(hpcc.rate(), Rate::from_bps(98_204_495_868));
        // All that was out at the first ACK is acknowledged, and a byte more: W_c becomes W.
        hpcc.acked(&params, &PATH, &ack(100_000, 200_000, &[hop(103, 31_250, 0)]));
        close(hpcc.0.reference, 125_000.0);
        hpcc.acked(&params, &PATH, &ack(100_001, 200_000, &[hop(104, 43_750, 0)]));
        let used = 0.9 * (0.9 * 0.968 + 0.1) + 0.1;
        close(hpcc.0.reference, 125_000.0 * 0.95 / used + 80.0);
        assert_eq!((hpcc.0.reference, hpcc.0.round_end), (hpcc.0.window, 200_000));
    }

    #[test]
    fn five_round_trips_only_add_then_one_scales() {
        let params = at_defaults();
        let mut hpcc = Hpcc::new(&params, &PATH, Time::ZERO);
        let state = |hpcc: &Hpcc| (hpcc.0.window, hpcc.0.stage);
        hpcc.0.reference = 10_000.0;
        hpcc.acked(&params, &PATH, &ack(1, 10_000, &[hop(0, 0, 0)]));
        // T or longer since the ACK before: U is the last u, 0.5.
        for n in 1..=5 {
            let end = n * 10_000;
            let hops = [hop(n * 20, n * 125_000, 0)];
            hpcc.acked(&params, &PATH, &ack(end + 1, end + 10_000, &hops));
            assert_eq!(state(&hpcc), (10_000.0 + 80.0 * n as f64, n as u32));
        }
        hpcc.acked(&params, &PATH, &ack(60_001, 70_000, &[hop(120, 750_000, 0)]));
        close(hpcc.0.window, 10_400.0 * 0.95 / 0.5 + 80.0);
        assert_eq!(hpcc.0.stage, 0);
    }

    #[test]
    fn the_fullest_hop_counts_over_its_own_time() {
        let params = at_defaults();
        let mut hpcc = Hpcc::new(&params, &PATH, Time::ZERO);
        let fast = |us, tx, queue| IntHop { rate: Rate::from_gbps(400), ..hop(us, tx, queue) };
        hpcc.acked(&params, &PATH, &ack(1, 9_000, &[hop(0, 0, 0), fast(0, 0, 0)]));
        // 0.4 over 1 us; at 400 Gbps (B·T 500,000 bytes) 0.5 over 2 us.
        let hops = [hop(1, 5_000, 0), fast(2, 50_000, 0)];
        hpcc.acked(&params, &PATH, &ack(2, 9_000, &hops));
        close(hpcc.0.used, 0.8 + 0.2 * 0.5);
        // The same times again: nothing can be said yet. Then it is said of both.
        let hops = [hop(1, 6_000, 0), fast(2, 60_000, 0)];
        hpcc.acked(&params, &PATH, &ack(3, 9_000, &hops));
        close(hpcc.0.used, 0.9);
        let hops = [hop(2, 15_000, 0), fast(3, 50_000, 0)];
        hpcc.acked(&params, &PATH, &ack(4, 9_000, &hops));
        close(hpcc.0.used, 0.9 * 0.9 + 0.1 * 0.8);
        // Another way: it begins anew.
        hpcc.acked(&params, &PATH, &ack(5, 9_000, &[hop(9, 0, 0)]));
        close(hpcc.0.used, 0.89);
    }

    #[test]
    fn window_and_rate_as_state_are_the_same_where_as_much_is_added() {
        // 80 bytes in 10 us are 64 Mbps.
        let rate = HpccParams {
            state: HpccState::Rate,
            r_ai: Some(Rate::from_mbps(64)),
            ..at_defaults::<HpccParams>()
        };
        close(Hpcc::new(&rate, &PATH, Time::ZERO).0.added, 80.0);
        // By default 10 Mbps for each 25 Gbps of the line: 40 Mbps at 100 Gbps, 160 at 400.
        let scaled = HpccParams { r_ai: None, ..rate };
        close(Hpcc::new(&scaled, &PATH, Time::ZERO).0.added, 50.0);
        let fast = Path { line: Rate::from_gbps(400), ..PATH };
        close(Hpcc::new(&scaled, &fast, Time::ZERO).0.added, 200.0);
        // With a longer T of the whole network, the window grows with it and its step does not.
        let long = HpccParams { base_rtt: Some(Span::from_us(13)), ..at_defaults() };
        let hpcc = Hpcc::new(&long, &PATH, Time::ZERO);
        assert_eq!((hpcc.window(), hpcc.rate(), hpcc.0.added), (Some(162_500), LINE, 80.0));
    }

    #[test]
    fn senders_settle_a_little_over_eta_without_a_queue() {
        // W = W·η/U + W_AI with N·W = U·B·T: U = η + N·R_AI/B, which is η/(1 − N·R_AI/(η·B)) to the
        // first order: for R_AI = 50 Mbps 0.9505 and 0.958 against 0.9505 and 0.95807.
        let params = HpccParams {
            state: HpccState::Rate,
            r_ai: Some(Rate::from_mbps(50)),
            max_stage: 0,
            ..at_defaults::<HpccParams>()
        };
        for (senders, used) in [(1, 0.9505), (16, 0.958)] {
            let mut closed = Closed::new(RateControl::Hpcc(params), senders);
            closed.run(20_000);
            let Seen { served, waiting, .. } = closed.run(20_000);
            // Packets that meet wait for each other, and U has them, as far as they are there at both
            // ends of a measurement.
            let share = waiting / 52_400.0;
            assert!(served < used + 0.002, "{senders}: {served}");
            assert!(served + share > used - 0.002 && share < 0.04, "{senders}: {served}, {share}");
        }
    }

    #[test]
    fn what_is_not_added_is_refused() {
        let refused = |params: HpccParams| Hpcc::check(&params).map_err(|unfit| unfit.param);
        let window = at_defaults::<HpccParams>();
        let rate = HpccParams { state: HpccState::Rate, ..window };
        assert_eq!([refused(window), refused(rate)], [Ok(()), Ok(())]);
        let r_ai = Some(Rate::from_mbps(50));
        assert_eq!(refused(HpccParams { r_ai, ..window }), Err("r_ai"));
        assert_eq!(refused(HpccParams { w_ai: Some(W_AI), ..rate }), Err("w_ai"));
        assert_eq!(refused(HpccParams { base_rtt: Some(Span::ZERO), ..rate }), Err("base_rtt"));
    }
}
