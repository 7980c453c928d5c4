//! BBR, version 1, as Linux 6.x has it (`tcp_bbr.c`; Cardwell et al., BBR: Congestion-Based Congestion
//! Control, ACM Queue 2016): paces at a gain times the bandwidth, with a window of a gain times
//! bandwidth and least round trip. The bandwidth is the largest delivery rate of ten rounds, the least
//! round trip that of ten seconds.
//!
//! Arithmetic is the kernel's: rates in packets a microsecond over 2^24, gains in 1/256, time in
//! microseconds. Clock ticks (jiffies) are exact times here. Marks are ignored.
//!
//! | file | content |
//! | --- | --- |
//! | `long_term` | the rate of a policer |
//! | `windowed` | the largest rate of ten rounds, and what ACKs bring at once |

mod long_term;
#[cfg(test)]
mod tests;
mod windowed;

use crate::{About, Connection, Control, Mark, Model, RateSample, Repair, Steer};
use long_term::{LongTerm, Shown};
use std::ops::Deref;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::{OnDemand, Random};
use switchbed_units::{Span, Time};
use windowed::{Aggregation, WindowedMax};

params! {
    /// BBR's parameters.
    #[derive(Copy)]
    pub struct BbrParams {
        /// A least round trip this old makes BBR drain the path to measure it anew
        /// (bbr_min_rtt_win_sec: 10 s).
        min_rtt_window: Span;
        /// Time with four packets in flight in PROBE_RTT; a round at least (bbr_probe_rtt_mode_ms).
        probe_rtt_time: Span;
        /// Sends at a policer's rate where losses show one (bbr_lt_bw_sampling).
        lt_bw: bool;
    }
}

/// Shift of a rate in packets a microsecond (BW_SCALE).
const SHIFT: u32 = 24;
/// A gain of 1 (BBR_UNIT).
const UNIT: u64 = 256;
/// STARTUP's gain, 2/ln 2.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
/// Gains of PROBE_BW's phases.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases that may come first: all but the one that drains.
const FIRST_PHASES: u64 = 7;
/// Rounds of the bandwidth's window: a cycle and two.
const BW_ROUNDS: u32 = 10;
/// The least window in packets.
const LEAST: u32 = 4;
/// Growth of the bandwidth in a round that shows that the pipe is not full.
const NOT_FULL: u64 = UNIT * 5 / 4;
/// Rounds without such growth after which it is.
const FULL_ROUNDS: u8 = 3;
/// Part of the rate at which it paces, in per cent.
const PACED: u64 = 99;
/// Window before the first RTT sample, in packets (TCP_INIT_CWND).
const INITIAL: u32 = 10;
/// Time of extra_acked at most, in microseconds.
const EXTRA_US: u64 = 100_000;
/// Bytes of a segment at most (GSO_LEGACY_MAX_SIZE, less 1 and MAX_TCP_HEADER).
const SEGMENT: u64 = 65_536 - 1 - 320;
/// Below this pacing rate, in bytes a second, a segment has one packet (bbr_min_tso_rate).
const SLOW: u64 = 1_200_000 / 8;
/// RTT before the first sample, in microseconds.
const NOMINAL_RTT_US: u64 = 1000;

/// State of BBR (bbr_mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR, apart, since it is larger than others' memory.
#[derive(Clone, Debug)]
pub struct Bbr(Box<State>);

/// State between ACKs.
#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    random: OnDemand,
    bw: WindowedMax,
    min_rtt_us: Option<u64>,
    min_rtt_at: Time,
    /// When PROBE_RTT ends, once its window is reached.
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    rounds: u32,
    /// A packet that left after so many had arrived begins the next round.
    round_end: u64,
    round_start: bool,
    cycle: usize,
    cycle_at: Time,
    pacing_gain: u64,
    cwnd_gain: u64,
    full: bool,
    full_rounds: u8,
    full_bw: u64,
    seen_rtt: bool,
    idle_restart: bool,
    /// Repair at the ACK before; in its first round a packet goes for each that arrives.
    repair: Repair,
    conserving: bool,
    /// Window to come back to.
    prior_cwnd: u32,
    ssthresh: Option<u32>,
    /// Pacing rate in bytes of payload a second.
    pacing: u64,
    long_term: LongTerm,
    aggregation: Aggregation,
}

/// Bytes of payload a second, less the margin of pacing.
fn bytes_per_s(mss: u32, bw: u64, gain: u64) -> u64 {
    // Gains have 8 bits of fraction, bandwidths SHIFT; the kernel divides in this order, and
    // rounds so.
    let rate = (u128::from(bw) * u128::from(mss) * u128::from(gain)) >> 8;
    u64::try_from((rate * u128::from(1_000_000 / 100 * PACED)) >> SHIFT).unwrap_or(u64::MAX)
}

fn us_between(later: Time, earlier: Time) -> u64 {
    // Each time is cut to microseconds first, as tcp_clock stamps are.
    (later.as_ps() / 1_000_000).saturating_sub(earlier.as_ps() / 1_000_000)
}

impl Control for Bbr {
    type Params = BbrParams;
    const ABOUT: About = About { model: true, ..About::TCP };

    fn check(params: &BbrParams) -> Result<(), Unfit> {
        let key = BbrParams::KEY;
        let spans = [
            (key.min_rtt_window, params.min_rtt_window),
            (key.probe_rtt_time, params.probe_rtt_time),
        ];
        match spans.into_iter().find(|(_, span)| *span == Span::ZERO) {
            Some((key, _)) => Err(Unfit::new(key, "it must be longer than 0s")),
            None => Ok(()),
        }
    }

    fn new(_: &BbrParams) -> Bbr {
        Bbr(Box::new(State {
            mode: Mode::Startup,
            random: OnDemand::new(0, "bbr", 0),
            bw: WindowedMax::default(),
            min_rtt_us: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            rounds: 0,
            round_end: 0,
            round_start: false,
            cycle: 0,
            cycle_at: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full: false,
            full_rounds: 0,
            full_bw: 0,
            seen_rtt: false,
            idle_restart: false,
            repair: Repair::Open,
            conserving: false,
            prior_cwnd: 0,
            ssthresh: None,
            pacing: 0,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
        }))
    }

    fn keyed(&mut self, key: u32) {
        self.0.random = OnDemand::new(key.into(), "bbr", 0);
    }

    /// The window is [`Control::steer`]'s.
    fn grown(
        &mut self,
        _: impl Deref<Target = BbrParams>,
        cwnd: f64,
        _: f64,
        _: Time,
        _: Option<Span>,
    ) -> Option<f64> {
        Some(cwnd)
    }

    fn marked(&mut self, _: impl Deref<Target = BbrParams>, _: f64, _: Time) -> Mark {
        Mark::Ignored
    }

    /// A repair begins, whose end brings the window back (bbr_save_cwnd).
    fn cut(&mut self, _: impl Deref<Target = BbrParams>, window: f64) {
        self.0.save(window as u32);
    }

    fn begun(&mut self, _: impl Deref<Target = BbrParams>, conn: &Connection) {
        let state = &mut *self.0;
        (state.min_rtt_us, state.min_rtt_at) = (conn.min_rtt_us, conn.now);
        state.initial_pacing(conn);
        state.long_term.reset(conn);
        state.aggregation.begin(conn.now);
    }

    fn steer(
        &mut self,
        params: impl Deref<Target = BbrParams>,
        mut conn: Connection,
        sample: &RateSample,
    ) -> Steer {
        let state = &mut *self.0;
        state.update_bw(&params, &conn, sample);
        state.update_aggregation(&conn, sample);
        if state.mode == Mode::ProbeBw && state.phase_ends(&conn, sample) {
            state.next_phase(&conn);
        }
        state.look_whether_full(sample);
        state.look_whether_drained(&conn);
        let app_limited = state.update_min_rtt(&params, &mut conn, sample);
        state.update_gains();
        let bw = state.bandwidth();
        state.set_pacing(&conn, bw, state.pacing_gain);
        state.set_cwnd(&mut conn, sample, bw);
        Steer { cwnd: conn.cwnd, app_limited }
    }

    fn restarted(&mut self, _: impl Deref<Target = BbrParams>, mut conn: Connection) -> u32 {
        let state = &mut *self.0;
        if conn.app_limited {
            state.idle_restart = true;
            state.aggregation.begin(conn.now);
            match state.mode {
                Mode::ProbeBw => state.set_pacing(&conn, state.bandwidth(), UNIT),
                Mode::ProbeRtt => state.look_whether_probe_rtt_is_done(&mut conn),
                Mode::Startup | Mode::Drain => {}
            }
        }
        conn.cwnd
    }

    fn timed_out(&mut self, params: impl Deref<Target = BbrParams>, conn: &Connection) {
        let state = &mut *self.0;
        // A timeout ends the round (bbr_set_state).
        (state.repair, state.full_bw, state.round_start) = (Repair::Timeout, 0, true);
        if params.lt_bw {
            // The kernel shows its sampler one loss (bbr_set_state).
            let sample = RateSample { losses: 1, ..RateSample::default() };
            state.sample_long_term(conn, &sample);
        }
    }

    /// A loss that was none may have slowed it down (bbr_undo_cwnd): whether the pipe is full, and a policer's rate, are
    /// looked for anew. The window stays.
    fn undone(&mut self, _: impl Deref<Target = BbrParams>, conn: &Connection) {
        let state = &mut *self.0;
        (state.full_bw, state.full_rounds) = (0, 0);
        state.long_term.reset(conn);
    }

    fn pacing(&self) -> Option<u64> {
        Some(self.0.pacing)
    }

    fn model(&self, mss: u32) -> Option<Model> {
        let state = &*self.0;
        let bw = (u128::from(state.bandwidth()) * u128::from(mss) * 1_000_000) >> SHIFT;
        Some(Model {
            mode: match state.mode {
                Mode::Startup => "startup",
                Mode::Drain => "drain",
                Mode::ProbeBw => "probe-bw",
                Mode::ProbeRtt => "probe-rtt",
            },
            bw: u64::try_from(bw).unwrap_or(u64::MAX),
            min_rtt_us: state.min_rtt_us,
            pacing_gain: state.pacing_gain as f64 / UNIT as f64,
            cwnd_gain: state.cwnd_gain as f64 / UNIT as f64,
            ssthresh: state.ssthresh,
        })
    }
}

impl State {
    /// The bandwidth that it goes by: the largest of ten rounds, or a policer's.
    fn bandwidth(&self) -> u64 {
        if self.long_term.used { self.long_term.bw } else { self.bw.get() }
    }

    fn save(&mut self, cwnd: u32) {
        // In a repair or PROBE_RTT the window is cut already: keep the larger one.
        let good = self.repair < Repair::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// The initial window a round trip, times STARTUP's gain.
    fn initial_pacing(&mut self, conn: &Connection) {
        let rtt = match conn.srtt_us {
            Some(srtt) => {
                self.seen_rtt = true;
                srtt.max(1)
            }
            None => NOMINAL_RTT_US,
        };
        self.pacing = bytes_per_s(conn.mss, (u64::from(conn.cwnd) << SHIFT) / rtt, HIGH_GAIN);
    }

    fn set_pacing(&mut self, conn: &Connection, bw: u64, gain: u64) {
        let rate = bytes_per_s(conn.mss, bw, gain);
        // The first rate was a guess at 1 ms: make it anew by the first round trip.
        if !self.seen_rtt && conn.srtt_us.is_some() {
            self.initial_pacing(conn);
        }
        // STARTUP's rate never falls.
        if self.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Packets of a segment at the pacing rate.
    fn segment(&self, mss: u32) -> u32 {
        let least = if self.pacing < SLOW { 1 } else { 2 };
        // 1/1024 s of the pacing rate, as TSO autosizing has it.
        let packets = (self.pacing >> 10).min(SEGMENT) / u64::from(mss.max(1));
        packets.clamp(least, 127) as u32
    }

    /// Bandwidth times least round trip times gain, in packets, rounded up.
    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        let Some(rtt) = self.min_rtt_us else { return INITIAL };
        let scaled = (u128::from(bw) * u128::from(rtt) * u128::from(gain)) >> 8;
        // A quarter of the range leaves space for what is added to it.
        u32::try_from(scaled.div_ceil(1 << SHIFT)).unwrap_or(u32::MAX / 4)
    }

    /// Space for a segment in each of three places, an even number, and two more in the phase that
    /// probes.
    fn with_space(&self, mss: u32, packets: u32) -> u32 {
        let packets = packets.saturating_add(3 * self.segment(mss));
        // Receivers acknowledge every second packet: an odd one would wait for their timer.
        let packets = packets.checked_next_multiple_of(2).unwrap_or(packets);
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        packets.saturating_add(if probes { 2 } else { 0 })
    }

    fn inflight(&self, mss: u32, bw: u64, gain: u64) -> u32 {
        self.with_space(mss, self.bdp(bw, gain))
    }

    /// Packets in the network when pacing lets the next one go.
    fn in_network(&self, conn: &Connection, in_flight: u32) -> u32 {
        // Packets wait for pacing: those that arrive meanwhile are out of the network by then
        // (bbr_packets_in_net_at_edt).
        let arrive = self.bandwidth().saturating_mul(conn.wait_us) >> SHIFT;
        let next = if self.pacing_gain > UNIT { self.segment(conn.mss) } else { 0 };
        u64::from(in_flight + next).saturating_sub(arrive) as u32
    }

    fn update_bw(&mut self, params: &BbrParams, conn: &Connection, sample: &RateSample) {
        self.round_start = false;
        let Some(rate) = sample.delivered.filter(|rate| rate.interval_us > 0) else { return };
        // The packet left after the round began: a round trip has passed.
        if rate.prior >= self.round_end {
            self.round_end = conn.delivered;
            self.rounds += 1;
            (self.round_start, self.conserving) = (true, false);
        }
        if params.lt_bw {
            self.sample_long_term(conn, sample);
        }
        let bw = (rate.packets << SHIFT) / rate.interval_us;
        // A sample of the application's making counts only if it is no less than the bandwidth.
        if !sample.app_limited || bw >= self.bw.get() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }

    fn sample_long_term(&mut self, conn: &Connection, sample: &RateSample) {
        let when = (self.round_start, self.mode == Mode::ProbeBw);
        match self.long_term.sample(conn, sample, when) {
            Shown::Nothing => {}
            Shown::Policed => self.pacing_gain = UNIT,
            Shown::Over => self.probe_bw(conn),
        }
    }

    fn update_aggregation(&mut self, conn: &Connection, sample: &RateSample) {
        if sample.newly > 0 && sample.delivered.is_some_and(|rate| rate.interval_us > 0) {
            let (bw, round) = (self.bandwidth(), self.round_start);
            self.aggregation.update(conn, bw, sample.newly, round);
        }
    }

    /// Whether PROBE_BW's phase is over: after a round trip, and with what it is for.
    fn phase_ends(&self, conn: &Connection, sample: &RateSample) -> bool {
        // By the time of delivery, not of the ACK: bursts of ACKs do not shorten a phase.
        let since = us_between(conn.delivered_at, self.cycle_at);
        let long = self.min_rtt_us.is_some_and(|rtt| since > rtt);
        if self.pacing_gain == UNIT {
            return long;
        }
        let out = self.in_network(conn, sample.prior_in_flight);
        let bw = self.bw.get();
        if self.pacing_gain > UNIT {
            // As much in flight as it was to put there, unless the path does not hold that.
            let filled = out >= self.inflight(conn.mss, bw, self.pacing_gain);
            return long && (sample.losses > 0 || filled);
        }
        // The phase that drains ends as soon as there is nothing left to drain.
        long || out <= self.inflight(conn.mss, bw, UNIT)
    }

    fn next_phase(&mut self, conn: &Connection) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = conn.delivered_at;
    }

    /// PROBE_BW begins, with any phase but the one that drains.
    fn probe_bw(&mut self, conn: &Connection) {
        self.mode = Mode::ProbeBw;
        // The phase before the one that is drawn, for `next_phase` steps on.
        self.cycle = CYCLE.len() - 1 - self.random.below(FIRST_PHASES) as usize;
        self.next_phase(conn);
    }

    fn look_whether_full(&mut self, sample: &RateSample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        if self.bw.get() >= (self.full_bw * NOT_FULL) >> 8 {
            (self.full_bw, self.full_rounds) = (self.bw.get(), 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn look_whether_drained(&mut self, conn: &Connection) {
        let target = self.inflight(conn.mss, self.bw.get(), UNIT);
        if self.mode == Mode::Startup && self.full {
            (self.mode, self.ssthresh) = (Mode::Drain, Some(target));
        }
        if self.mode == Mode::Drain && self.in_network(conn, conn.in_flight) <= target {
            self.probe_bw(conn);
        }
    }

    /// The least round trip, and PROBE_RTT where it is out of date; answers whether samples of what is
    /// out are to count as limited by the application.
    fn update_min_rtt(
        &mut self,
        params: &BbrParams,
        conn: &mut Connection,
        sample: &RateSample,
    ) -> bool {
        let expired = conn.now > self.min_rtt_at + params.min_rtt_window;
        // One as long does not make it younger, since Linux 5.10.
        if let Some(rtt) = sample.rtt_us
            && (self.min_rtt_us.is_none_or(|least| rtt < least) || expired && !sample.ack_delayed)
        {
            (self.min_rtt_us, self.min_rtt_at) = (Some(rtt), conn.now);
        }
        // After idling the queue is empty anyway: no need to drain it for a sample.
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save(conn.cwnd);
            self.probe_rtt_until = None;
        }
        let probing = self.mode == Mode::ProbeRtt;
        if probing {
            if self.probe_rtt_until.is_none() {
                // The time runs from when the queue has drained.
                if conn.in_flight <= LEAST {
                    self.probe_rtt_until = Some(conn.now + params.probe_rtt_time);
                    (self.probe_rtt_round_done, self.round_end) = (false, conn.delivered);
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.look_whether_probe_rtt_is_done(conn);
                }
            }
        }
        if sample.delivered.is_some_and(|rate| rate.packets > 0) {
            self.idle_restart = false;
        }
        probing
    }

    fn look_whether_probe_rtt_is_done(&mut self, conn: &mut Connection) {
        if self.probe_rtt_until.is_none_or(|until| conn.now <= until) {
            return;
        }
        self.min_rtt_at = conn.now;
        conn.cwnd = conn.cwnd.max(self.prior_cwnd);
        if self.full { self.probe_bw(conn) } else { self.mode = Mode::Startup }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.used => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// The window of a repair; answers whether a packet goes for each that arrives.
    fn repair(&mut self, conn: &mut Connection, sample: &RateSample) -> bool {
        conn.cwnd = conn.cwnd.saturating_sub(sample.losses).max(1);
        let (before, now) = (self.repair, conn.repair);
        if now == Repair::Recovery && before != Repair::Recovery {
            (self.conserving, self.round_end) = (true, conn.delivered);
            conn.cwnd = conn.in_flight + sample.newly;
        } else if before >= Repair::Recovery && now < Repair::Recovery {
            conn.cwnd = conn.cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.repair = now;
        if self.conserving {
            conn.cwnd = conn.cwnd.max(conn.in_flight + sample.newly);
        }
        self.conserving
    }

    fn set_cwnd(&mut self, conn: &mut Connection, sample: &RateSample, bw: u64) {
        if sample.newly > 0 && !self.repair(conn, sample) {
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.full {
                let most = (bw * EXTRA_US) >> SHIFT;
                target = target.saturating_add(self.aggregation.most().min(most) as u32);
            }
            let target = self.with_space(conn.mss, target);
            let grown = conn.cwnd.saturating_add(sample.newly);
            if self.full {
                conn.cwnd = grown.min(target);
            } else if conn.cwnd < target || conn.delivered < u64::from(INITIAL) {
                conn.cwnd = grown;
            }
            conn.cwnd = conn.cwnd.max(LEAST);
        }
        if self.mode == Mode::ProbeRtt {
            conn.cwnd = conn.cwnd.min(LEAST);
        }
    }
}
