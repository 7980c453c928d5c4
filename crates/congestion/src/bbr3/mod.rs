//! BBR, version 3, as its draft has it (draft-ietf-ccwg-bbr, the working group's text of commit 007dbe1;
//! names are the draft's). A long-term bound of what is in flight remembers where probing lost more than
//! 2 % of a round trip; short-term bounds follow losses while it does not probe, and are forgotten before
//! the next probe.
//!
//! Unverified: no implementation was run beside it. Inflight counts in packets, where the draft counts
//! bytes. A round trip with a mark is one with a loss: the draft says no more than that marks are
//! congestion. A loss bounds nothing in a probe that the application limits (its `is_app_limited`).
//! State to come back to after a needless repair is saved at a round trip's first loss alone; the draft saves
//! it as the repair begins, too, when losses may have changed it.

#[cfg(test)]
mod tests;

use crate::{About, Connection, Control, LostPacket, Mark, Model, RateSample, Repair, Steer};
use std::ops::Deref;
use switchbed_units::random::{OnDemand, Random};
use switchbed_units::{Span, Time};

const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const LOSS_THRESH: f64 = 0.02;
/// Ranges that a round trip loses at least where STARTUP ends for losses (BBRStartupFullLossCnt).
const FULL_LOSSES: u32 = 6;
const FULL_ROUNDS: u8 = 3;
const MIN_PIPE_CWND: u32 = 4;
/// Part of the rate at which it paces (PacingMarginPercent 1).
const PACED: f64 = 0.99;
const MIN_RTT_FILTER: Span = Span::from_ms(10_000);
const PROBE_RTT_DURATION: Span = Span::from_ms(200);
/// Rounds between probes at most (T_reno_bound).
const RENO_ROUNDS: u32 = 63;
const EXTRA_ACKED_ROUNDS: u32 = 10;
const INITIAL: u32 = 10;
const NO_BOUND: u32 = u32::MAX;

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Probe that ACKs tell of (ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State as a loss was found, should its repair prove needless (the draft's `undo_` variables).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// State that the losses have ended: STARTUP or UP.
    mode: Option<Mode>,
    bw_shortterm: f64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

/// BBRv3, apart, since it is larger than others' memory.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<State>);

/// State between ACKs; rates are in packets a microsecond.
#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    random: OnDemand,
    /// The largest rate of the cycle before and of this one.
    max_bw: [f64; 2],
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
    bw_latest: f64,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Ranges lost in this round trip, and the end of the last one.
    lost_ranges: u32,
    lost_end: u64,
    round_count: u32,
    next_round_delivered: u64,
    round_start: bool,
    drain_start_round: u32,
    full_bw: f64,
    full_bw_count: u8,
    full_bw_now: bool,
    full_bw_reached: bool,
    acks: Acks,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    probe_up_acked_per_inc: u32,
    bw_probe_up_acked: u32,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u32,
    bw_probe_wait: Span,
    cycle_stamp: Time,
    min_rtt_us: Option<u64>,
    min_rtt_stamp: Time,
    min_rtt_expired: bool,
    probe_rtt_cwnd: u32,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: u32,
    undo: Undo,
    repair: Repair,
    extra_acked_since: Time,
    extra_acked_delivered: u64,
    /// The most of the last rounds, by round.
    extra_acked: [u64; EXTRA_ACKED_ROUNDS as usize],
    pacing: u64,
    /// Packets delivered as the last ACK came, for marks.
    delivered: u64,
}

fn us_between(later: Time, earlier: Time) -> f64 {
    later.since(earlier).as_ps() as f64 / 1e6
}

impl Control for Bbr3 {
    type Params = ();
    const ABOUT: About = About { model: true, ..About::TCP };

    fn new(_: &()) -> Bbr3 {
        Bbr3(Box::new(State {
            mode: Mode::Startup,
            random: OnDemand::new(0, "bbr3", 0),
            max_bw: [0.0; 2],
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: NO_BOUND,
            inflight_longterm: NO_BOUND,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            lost_ranges: 0,
            lost_end: 0,
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            drain_start_round: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            acks: Acks::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_up_acked_per_inc: NO_BOUND,
            bw_probe_up_acked: 0,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
            min_rtt_us: None,
            min_rtt_stamp: Time::ZERO,
            min_rtt_expired: false,
            probe_rtt_cwnd: INITIAL,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0,
            undo: Undo::default(),
            repair: Repair::Open,
            extra_acked_since: Time::ZERO,
            extra_acked_delivered: 0,
            extra_acked: [0; EXTRA_ACKED_ROUNDS as usize],
            pacing: 0,
            delivered: 0,
        }))
    }

    fn keyed(&mut self, key: u32) {
        self.0.random = OnDemand::new(key.into(), "bbr3", 0);
    }

    /// The window is [`Control::steer`]'s.
    fn grown(
        &mut self,
        _: impl Deref<Target = ()>,
        cwnd: f64,
        _: f64,
        _: Time,
        _: Option<Span>,
    ) -> Option<f64> {
        Some(cwnd)
    }

    /// A mark makes its round trip one with a loss.
    fn marked(&mut self, _: impl Deref<Target = ()>, _: f64, _: Time) -> Mark {
        // Marks come without the connection: its count is that of the last ACK.
        let delivered = self.0.delivered;
        self.0.note_congestion(delivered);
        Mark::Ignored
    }

    fn cut(&mut self, _: impl Deref<Target = ()>, window: f64) {
        self.0.save_cwnd(window as u32);
    }

    fn begun(&mut self, _: impl Deref<Target = ()>, conn: &Connection) {
        let state = &mut *self.0;
        (state.min_rtt_us, state.min_rtt_stamp) = (conn.min_rtt_us, conn.now);
        state.extra_acked_since = conn.now;
        // Without a sample the draft takes 1 ms, so that the first flight is paced at all.
        let rtt = conn.srtt_us.unwrap_or(1000).max(1);
        let nominal = f64::from(conn.cwnd) / rtt as f64;
        state.pacing = bytes_per_s(conn.mss, nominal, STARTUP_PACING_GAIN);
    }

    fn steer(
        &mut self,
        _: impl Deref<Target = ()>,
        mut conn: Connection,
        sample: &RateSample,
    ) -> Steer {
        let state = &mut *self.0;
        let rate = Rate::of(sample);
        state.delivered = conn.delivered;
        // The order is the draft's (BBRUpdateModelAndState): bounds of this round trip before the
        // states that read them.
        state.update_latest(&conn, &rate);
        state.update_congestion(&conn, sample, &rate);
        state.update_aggregation(&conn, sample);
        state.check_full_bw(sample, &rate);
        state.check_startup_done(&conn, sample);
        state.check_drain_done(&conn);
        state.update_cycle(&conn, sample, &rate);
        let app_limited = state.update_min_rtt(&mut conn, sample, &rate);
        // A new round trip of losses begins with this sample alone
        // (BBRAdvanceLatestDeliverySignals).
        if state.loss_round_start {
            (state.bw_latest, state.inflight_latest) = (rate.bw, rate.delivered);
        }
        state.bw = state.max_bw().min(state.bw_shortterm);
        state.set_pacing(&conn, state.gains().0);
        state.set_cwnd(&mut conn, sample);
        Steer { cwnd: conn.cwnd, app_limited }
    }

    fn lost(&mut self, _: impl Deref<Target = ()>, conn: &Connection, packet: &LostPacket) {
        let state = &mut *self.0;
        state.note_loss(conn);
        // Packets that follow each other are one range: a burst counts once.
        if packet.from != state.lost_end {
            state.lost_ranges += 1;
        }
        state.lost_end = packet.end;
        // Only losses of what a probe sent say where the path is full.
        if state.is_bw_probe_sample && too_high(packet.lost, packet.tx_in_flight) {
            let at = inflight_at_loss(packet.lost, packet.tx_in_flight);
            state.inflight_too_high(conn, at, packet.app_limited);
        }
    }

    fn restarted(&mut self, _: impl Deref<Target = ()>, mut conn: Connection) -> u32 {
        let state = &mut *self.0;
        if conn.app_limited {
            state.idle_restart = true;
            state.extra_acked_since = conn.now;
            // After idling the queue is empty: no probe, no drain, the bandwidth itself.
            if state.probes_bw() {
                state.set_pacing(&conn, 1.0);
            } else if state.mode == Mode::ProbeRtt {
                state.check_probe_rtt_done(&mut conn);
            }
        }
        conn.cwnd
    }

    fn timed_out(&mut self, _: impl Deref<Target = ()>, conn: &Connection) {
        // The window has fallen already: the one before stays saved.
        self.0.repair = Repair::Timeout;
        self.0.note_loss(conn);
    }

    /// Losses that were none bound nothing, and the state that they ended comes back
    /// (HandleSpuriousLossDetection). The window comes back as the repair ends.
    fn undone(&mut self, _: impl Deref<Target = ()>, conn: &Connection) {
        let state = &mut *self.0;
        let undo = std::mem::take(&mut state.undo);
        state.is_loss_in_round = false;
        state.reset_full_bw(0.0);
        state.bw_shortterm = state.bw_shortterm.max(undo.bw_shortterm);
        state.inflight_shortterm = state.inflight_shortterm.max(undo.inflight_shortterm);
        state.inflight_longterm = state.inflight_longterm.max(undo.inflight_longterm);
        if undo.mode == Some(Mode::Startup) {
            state.full_bw_reached = false;
        }
        match undo.mode {
            _ if state.mode == Mode::ProbeRtt => {}
            Some(Mode::Startup) => state.mode = Mode::Startup,
            Some(Mode::Up) if state.mode != Mode::Up => state.start_refill(conn),
            _ => {}
        }
    }

    fn pacing(&self) -> Option<u64> {
        Some(self.0.pacing)
    }

    fn model(&self, mss: u32) -> Option<Model> {
        let state = &*self.0;
        let (pacing_gain, cwnd_gain) = state.gains();
        Some(Model {
            mode: match state.mode {
                Mode::Startup => "startup",
                Mode::Drain => "drain",
                Mode::Down => "probe-bw-down",
                Mode::Cruise => "probe-bw-cruise",
                Mode::Refill => "probe-bw-refill",
                Mode::Up => "probe-bw-up",
                Mode::ProbeRtt => "probe-rtt",
            },
            bw: (state.bw * f64::from(mss) * 1e6) as u64,
            min_rtt_us: state.min_rtt_us,
            pacing_gain,
            cwnd_gain,
            ssthresh: None,
        })
    }
}

/// Bytes of payload a second, less the margin of pacing.
fn bytes_per_s(mss: u32, bw: f64, gain: f64) -> u64 {
    (bw * gain * PACED * f64::from(mss) * 1e6) as u64
}

/// Whether more than 2 % of what was in flight were lost (IsInflightTooHigh).
fn too_high(lost: u64, tx_in_flight: u32) -> bool {
    lost as f64 > f64::from(tx_in_flight) * LOSS_THRESH
}

/// Packets in flight as losses crossed 2 %, of a packet alone (InflightAtLoss).
fn inflight_at_loss(lost: u64, tx_in_flight: u32) -> u32 {
    // State before the packet that was lost last, since the threshold lay within it.
    let (before, lost_before) = (f64::from(tx_in_flight) - 1.0, lost as f64 - 1.0);
    let prefix = (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH);
    (before + prefix).max(0.0) as u32
}

/// Rate and volume of a sample; 0 where it is none.
struct Rate {
    bw: f64,
    delivered: u64,
    prior: Option<u64>,
}

impl Rate {
    fn of(sample: &RateSample) -> Rate {
        match sample.delivered {
            Some(rate) if rate.interval_us > 0 => Rate {
                bw: rate.packets as f64 / rate.interval_us as f64,
                delivered: rate.packets,
                prior: Some(rate.prior),
            },
            _ => Rate { bw: 0.0, delivered: 0, prior: None },
        }
    }
}

impl State {
    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// Gains of the pacing rate and the window, by state.
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            Mode::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            Mode::Down => (0.9, CWND_GAIN),
            Mode::Cruise | Mode::Refill => (1.0, CWND_GAIN),
            Mode::Up => (1.25, UP_CWND_GAIN),
            Mode::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    fn probes_bw(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    fn start_round(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    fn reset_full_bw(&mut self, bw: f64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (bw, 0, false);
    }

    fn save_cwnd(&mut self, cwnd: u32) {
        // In a repair or PROBE_RTT the window is cut already: the larger one is the one to
        // restore.
        let good = self.repair < Repair::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    fn note_loss(&mut self, conn: &Connection) {
        if !self.is_loss_in_round {
            self.save_cwnd(conn.cwnd);
            self.undo = Undo {
                mode: None,
                bw_shortterm: self.bw_shortterm,
                inflight_shortterm: self.inflight_shortterm,
                inflight_longterm: self.inflight_longterm,
            };
        }
        self.note_congestion(conn.delivered);
    }

    /// A loss or a mark was found.
    fn note_congestion(&mut self, delivered: u64) {
        // The first loss of a round trip says where the round ends: with what had arrived then.
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
    }

    fn update_latest(&mut self, conn: &Connection, rate: &Rate) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(rate.bw);
        self.inflight_latest = self.inflight_latest.max(rate.delivered);
        // The packet left after the round's first loss was known: a round trip has passed since.
        if rate.prior.is_some_and(|prior| prior >= self.loss_round_delivered) {
            self.loss_round_delivered = conn.delivered;
            self.loss_round_start = true;
        }
    }

    fn update_congestion(&mut self, conn: &Connection, sample: &RateSample, rate: &Rate) {
        self.round_start = rate.prior.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.start_round(conn.delivered);
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            // A ring by round: the oldest round's place becomes the new one's.
            self.extra_acked[(self.round_count % EXTRA_ACKED_ROUNDS) as usize] = 0;
        }
        // A sample that the application limits is a lower bound, so it may only raise.
        if rate.bw > 0.0 && (rate.bw >= self.max_bw() || !sample.app_limited) {
            self.max_bw[0] = self.max_bw[0].max(rate.bw);
        }
        if !self.loss_round_start {
            return;
        }
        // These states mean to fill the path: losses in them bound the long term instead.
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if self.is_loss_in_round && !probing {
            if self.bw_shortterm == f64::INFINITY {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm == NO_BOUND {
                self.inflight_shortterm = conn.cwnd;
            }
            // Never below what arrived in the last round trip: that much the path did carry.
            self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
            // The same for what is in flight.
            let least = (BETA * f64::from(self.inflight_shortterm)) as u32;
            self.inflight_shortterm = packets(self.inflight_latest).max(least);
        }
        self.is_loss_in_round = false;
    }

    fn update_aggregation(&mut self, conn: &Connection, sample: &RateSample) {
        let mut expected = self.bw * us_between(conn.now, self.extra_acked_since);
        // ACKs have kept to the bandwidth: the next excess is counted from here.
        if self.extra_acked_delivered as f64 <= expected {
            (self.extra_acked_delivered, self.extra_acked_since) = (0, conn.now);
            expected = 0.0;
        }
        self.extra_acked_delivered += u64::from(sample.newly);
        let extra = (self.extra_acked_delivered as f64 - expected).max(0.0) as u64;
        let most = &mut self.extra_acked[(self.round_count % EXTRA_ACKED_ROUNDS) as usize];
        // More than a window cannot be one round trip's excess.
        *most = extra.min(conn.cwnd.into()).max(*most);
    }

    fn most_extra_acked(&self) -> u32 {
        let now = self.extra_acked[(self.round_count % EXTRA_ACKED_ROUNDS) as usize];
        let most = self.extra_acked.iter().copied().max().unwrap_or(0);
        // STARTUP takes the present round alone: the bandwidth grows, and older excess with it.
        packets(if self.full_bw_reached { most } else { now })
    }

    fn check_full_bw(&mut self, sample: &RateSample, rate: &Rate) {
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        // Still growing: count the flat rounds anew, from this rate.
        if rate.bw >= self.full_bw * 1.25 {
            return self.reset_full_bw(rate.bw);
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_done(&mut self, conn: &Connection, sample: &RateSample) {
        if self.mode == Mode::Startup && self.loss_round_start && !self.full_bw_reached {
            // A round trip of recovery lost more than 2 % in six places or more.
            if self.repair == Repair::Recovery
                && conn.repair == Repair::Recovery
                && self.lost_ranges >= FULL_LOSSES
                && too_high(sample.lost, sample.tx_in_flight)
            {
                (self.full_bw_reached, self.undo.mode) = (true, Some(Mode::Startup));
                self.inflight_longterm = self.bdp(1.0).max(packets(self.inflight_latest));
            }
            self.lost_ranges = 0;
        }
        if self.mode == Mode::Startup && self.full_bw_reached {
            (self.mode, self.drain_start_round) = (Mode::Drain, self.round_count);
        }
    }

    fn check_drain_done(&mut self, conn: &Connection) {
        if self.mode == Mode::Drain
            && (conn.in_flight <= self.inflight(conn.mss, 1.0)
                // A queue that others made may not drain: three rounds are enough.
                || self.round_count > self.drain_start_round + 3)
        {
            self.start_down(conn);
        }
    }

    fn start_down(&mut self, conn: &Connection) {
        // Losses of the probe are not charged to the states after it.
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0);
        self.probe_up_acked_per_inc = NO_BOUND;
        // A flow of many draws its next probe's time anew.
        self.rounds_since_probe_up = self.random.below(2) as u32;
        self.bw_probe_wait = Span::from_secs_f64(2.0 + self.random.unit());
        self.cycle_stamp = conn.now;
        self.acks = Acks::ProbeStopping;
        self.start_round(conn.delivered);
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self, conn: &Connection) {
        self.reset_short_term();
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0);
        self.prev_probe_precautionary = false;
        self.acks = Acks::Refilling;
        self.start_round(conn.delivered);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, conn: &Connection, rate: &Rate) {
        self.acks = Acks::ProbeStarting;
        self.start_round(conn.delivered);
        self.reset_full_bw(rate.bw);
        self.mode = Mode::Up;
        self.raise_slope(conn.cwnd);
    }

    fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, NO_BOUND);
    }

    fn raise_slope(&mut self, cwnd: u32) {
        // The bound grows by 1, 2, 4, … packets a round trip: slowly near it, fast once it was
        // too low.
        let growth = 1_u32 << self.bw_probe_up_rounds;
        // 30 keeps the shift within 32 bits.
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (cwnd / growth).max(1);
    }

    fn update_cycle(&mut self, conn: &Connection, sample: &RateSample, rate: &Rate) {
        if !self.full_bw_reached || sample.newly == 0 || self.adapt_long_term(conn, sample) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(conn) => self.start_refill(conn),
            Mode::Down => {
                // Both: space for others that come, and no queue of one's own.
                let free = conn.in_flight <= self.with_headroom();
                if free && conn.in_flight <= self.inflight(conn.mss, 1.0) {
                    self.mode = Mode::Cruise;
                }
            }
            // A whole round trip has filled the path at the bandwidth: what is sent now probes.
            Mode::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(conn, rate);
            }
            Mode::Up if self.is_time_to_go_down(conn, sample, rate) => {
                self.prev_probe_too_high = false;
                self.start_down(conn);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, conn: &Connection) -> bool {
        // Reno takes as many round trips as packets between its cuts: no rarer than that, to
        // share with it.
        let rounds = self.target_inflight(conn.cwnd).min(RENO_ROUNDS);
        conn.now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up >= rounds
    }

    fn is_time_to_go_down(&mut self, conn: &Connection, sample: &RateSample, rate: &Rate) -> bool {
        // The last probe lost here: stop at the bound before losing again.
        if self.prev_probe_too_high && conn.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if cwnd_limited(conn, sample) && conn.cwnd >= self.inflight_longterm {
            // The long-term bound, not the path, limits the rate.
            self.reset_full_bw(rate.bw);
            return false;
        }
        self.full_bw_now
    }

    /// Answers whether it has decided on a state.
    fn adapt_long_term(&mut self, conn: &Connection, sample: &RateSample) -> bool {
        if self.acks == Acks::ProbeStarting && self.round_start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.round_start {
            (self.is_bw_probe_sample, self.acks) = (false, Acks::Init);
            if self.probes_bw() && !sample.app_limited {
                // A cycle is over: its maximum becomes the older one, and that before is
                // forgotten.
                self.max_bw = [0.0, self.max_bw[0]];
            }
            // The stop was a caution and nothing was lost: probe on at once.
            if self.probes_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill(conn);
                return true;
            }
        }
        if !too_high(sample.lost, sample.tx_in_flight) && self.inflight_longterm != NO_BOUND {
            // This volume was in flight without loss: the bound was too low.
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.mode == Mode::Up {
                self.probe_upward(conn, sample);
            }
        }
        false
    }

    fn probe_upward(&mut self, conn: &Connection, sample: &RateSample) {
        if !cwnd_limited(conn, sample) || conn.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked = self.bw_probe_up_acked.saturating_add(sample.newly);
        let more = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
        // The rest counts towards the next packet.
        self.bw_probe_up_acked -= more * self.probe_up_acked_per_inc;
        // Short of `NO_BOUND`, which means that there is none.
        self.inflight_longterm = self.inflight_longterm.saturating_add(more).min(NO_BOUND - 1);
        if self.round_start {
            self.raise_slope(conn.cwnd);
        }
    }

    fn inflight_too_high(&mut self, conn: &Connection, tx_in_flight: u32, app_limited: bool) {
        (self.prev_probe_too_high, self.is_bw_probe_sample) = (true, false);
        if !app_limited {
            // A burst of losses does not take the bound below 0.7 of the path.
            let least = f64::from(self.target_inflight(conn.cwnd)) * BETA;
            self.inflight_longterm = tx_in_flight.max(least as u32);
        }
        if self.mode == Mode::Up {
            self.undo.mode = Some(Mode::Up);
            self.start_down(conn);
        }
    }

    fn target_inflight(&self, cwnd: u32) -> u32 {
        self.bdp(1.0).min(cwnd)
    }

    fn with_headroom(&self) -> u32 {
        if self.inflight_longterm == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = (HEADROOM * f64::from(self.inflight_longterm)).max(1.0);
        ((f64::from(self.inflight_longterm) - headroom) as u32).max(MIN_PIPE_CWND)
    }

    /// A multiple of bandwidth times round trip, in packets, rounded up.
    fn bdp(&self, gain: f64) -> u32 {
        match self.min_rtt_us {
            None => INITIAL,
            Some(rtt) => (gain * self.bw * rtt as f64).ceil() as u32,
        }
    }

    /// The same with space for three segments and the least window.
    fn inflight(&self, mss: u32, gain: f64) -> u32 {
        self.with_space(mss, self.bdp(gain))
    }

    fn with_space(&self, mss: u32, packets: u32) -> u32 {
        // A segment is 1 ms of the pacing rate, at most 64 KiB, at least two packets.
        let quantum = ((self.pacing / 1000).min(65_536) / u64::from(mss.max(1))).max(2) as u32;
        // Three segments: one each in the sender, the card and the receiver.
        let packets = packets.max(3 * quantum).max(MIN_PIPE_CWND);
        packets.saturating_add(if self.mode == Mode::Up { 2 } else { 0 })
    }

    fn update_min_rtt(&mut self, conn: &mut Connection, sample: &RateSample, rate: &Rate) -> bool {
        self.min_rtt_expired = conn.now > self.min_rtt_stamp + MIN_RTT_FILTER;
        if self.min_rtt_expired && self.mode != Mode::ProbeRtt {
            // By the round trip that is about to be replaced.
            self.probe_rtt_cwnd = self.bdp(PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND);
        }
        if let Some(rtt) = sample.rtt_us
            && (self.min_rtt_us.is_none_or(|least| rtt < least) || self.min_rtt_expired)
        {
            (self.min_rtt_us, self.min_rtt_stamp) = (Some(rtt), conn.now);
        }
        // A flow that was idle has drained its queue: its next samples are probe enough.
        if self.mode != Mode::ProbeRtt && self.min_rtt_expired && !self.idle_restart {
            self.save_cwnd(conn.cwnd);
            (self.mode, self.probe_rtt_done) = (Mode::ProbeRtt, None);
            self.acks = Acks::ProbeStopping;
            self.start_round(conn.delivered);
        }
        let probing = self.mode == Mode::ProbeRtt;
        if probing {
            if self.probe_rtt_done.is_none() {
                // The time runs from when the queue has drained, not from when that was decided.
                if conn.in_flight <= self.probe_rtt_cwnd {
                    self.probe_rtt_done = Some(conn.now + PROBE_RTT_DURATION);
                    self.probe_rtt_round_done = false;
                    self.start_round(conn.delivered);
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(conn);
                }
            }
        }
        if rate.delivered > 0 {
            self.idle_restart = false;
        }
        probing
    }

    fn check_probe_rtt_done(&mut self, conn: &mut Connection) {
        if self.probe_rtt_done.is_none_or(|done| conn.now <= done) {
            return;
        }
        // As long as any: the least round trip was measured, even if it is not less.
        self.min_rtt_stamp = conn.now;
        conn.cwnd = conn.cwnd.max(self.prior_cwnd);
        self.reset_short_term();
        if self.full_bw_reached {
            self.start_down(conn);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_pacing(&mut self, conn: &Connection, gain: f64) {
        let rate = bytes_per_s(conn.mss, self.bw, gain);
        // STARTUP's rate never falls: its first samples are of few packets.
        if self.full_bw_reached || rate > self.pacing {
            self.pacing = rate.max(1);
        }
    }

    fn set_cwnd(&mut self, conn: &mut Connection, sample: &RateSample) {
        // The repair is over: the window before it comes back.
        if self.repair >= Repair::Recovery && conn.repair < Repair::Recovery {
            conn.cwnd = conn.cwnd.max(self.prior_cwnd);
        }
        self.repair = conn.repair;
        let target = self.bdp(self.gains().1).saturating_add(self.most_extra_acked());
        let target = self.with_space(conn.mss, target);
        let grown = conn.cwnd.saturating_add(sample.newly);
        if self.full_bw_reached {
            conn.cwnd = grown.min(target);
        // Before the path is full the window never shrinks to a target that is itself a guess.
        } else if conn.cwnd < target || conn.delivered < u64::from(INITIAL) {
            conn.cwnd = grown;
        }
        conn.cwnd = conn.cwnd.max(MIN_PIPE_CWND);
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_longterm,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => NO_BOUND,
        };
        if self.mode == Mode::ProbeRtt {
            conn.cwnd = conn.cwnd.min(self.probe_rtt_cwnd);
        }
        conn.cwnd = conn.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE_CWND));
    }
}

fn cwnd_limited(conn: &Connection, sample: &RateSample) -> bool {
    sample.prior_in_flight >= conn.cwnd
}

fn packets(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(NO_BOUND - 1)
}
