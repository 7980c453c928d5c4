//! The congestion window, and how it answers ACKs, marks, losses and timeouts.
//!
//! Slow start and the settings that all controls share are here (RFC 5681); what a control does
//! otherwise is its own ([`switchbed_congestion`]). It decides how far, the sender when (a cut at
//! most once a window of data).

use super::Config;
use super::growth::avoided;
use switchbed_congestion::{Acked, CongestionControl, Connection, Mark, Memory, Model};
use switchbed_congestion::{LostPacket, RateSample, Steer};
use switchbed_scenario::transport::Restart;
use switchbed_units::{Span, Time};

/// The congestion window of one connection, in packets as a fraction.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    memory: Memory,
}

/// Least window after a loss, in packets (RFC 5681, equation 4).
const LEAST: f64 = 2.0;

impl Window {
    pub(super) fn new(config: &Config, cwnd: f64) -> Window {
        let memory = Memory::new(&config.control);
        Window { cwnd, ssthresh: config.initial_ssthresh, memory }
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }
    pub(super) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    pub(super) fn alpha(&self) -> Option<f64> {
        self.memory.alpha()
    }

    /// Handles a connection without marks: controls that need them fall back to Reno (Linux:
    /// dctcp_init).
    pub(super) fn without_marks(&mut self) {
        if matches!(self.memory, Memory::Dctcp(_) | Memory::Prague(_)) {
            self.memory = Memory::new(&CongestionControl::Reno);
        }
    }

    /// The packets that may be in flight, before rounding down.
    #[inline]
    pub(super) fn packets(&self, config: &Config) -> f64 {
        self.cwnd.min(config.receive_window)
    }

    /// The bytes that may be in flight: whole packets' worth.
    #[inline]
    pub(super) fn bytes(&self, config: &Config) -> u64 {
        // Through u32: a conversion to u64 takes several instructions more.
        self.packets(config) as u32 as u64 * config.mss as u64
    }

    /// Counts an ACK of new data.
    #[inline]
    pub(super) fn count(&mut self, config: &Config, ack: Acked) {
        self.memory.acked(&config.control, ack);
    }

    /// Slow start ends with this window.
    pub(super) fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// The window is this large now.
    pub(super) fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    /// Grows for an ACK of `packets`: slow start by at most a packet an ACK
    /// (RFC 5681, equation 2), else as the control does.
    #[inline]
    pub(super) fn grow(&mut self, config: &Config, packets: f64, now: Time, srtt: Option<Span>) {
        if self.cwnd < self.ssthresh {
            self.cwnd += packets.min(1.0);
        } else {
            self.avoid(config, packets, now, srtt);
        }
    }

    /// Grows in congestion avoidance for an ACK of `packets`.
    #[inline]
    pub(super) fn avoid(&mut self, config: &Config, packets: f64, now: Time, srtt: Option<Span>) {
        self.cwnd = match self.memory.grown(&config.control, self.cwnd, packets, now, srtt) {
            Some(cwnd) => cwnd,
            None => avoided(config.avoidance, self.cwnd, packets),
        };
    }

    /// Data goes out again after `idle` without any out.
    pub(super) fn resume(&mut self, idle: Span, now: Time) {
        self.memory.resumed(idle, now);
    }

    /// The application, not the window, limited the sender until now.
    #[inline]
    pub(super) fn pause(&mut self, now: Time) {
        self.memory.paused(now);
    }

    /// Cuts for a mark that an ACK echoed, with `flight` bytes out before that ACK; answers whether
    /// the control does.
    pub(super) fn cut_for_mark(&mut self, config: &Config, flight: u64, now: Time) -> bool {
        let window = self.packets(config);
        match self.memory.marked(&config.control, window, now) {
            Mark::Ignored => return false,
            Mark::AsLoss { least } => self.cut(config, flight, least),
            Mark::Leaves(part) => {
                self.cwnd = whole(config, window * part).max(1.0);
                self.ssthresh = self.cwnd.max(config.mark_least);
            }
            Mark::To(packets) => {
                self.cwnd = packets;
                self.ssthresh = packets.max(LEAST);
            }
        }
        true
    }

    /// Cuts for a loss found by duplicate ACKs, with `flight` bytes out.
    pub(super) fn cut_for_loss(&mut self, config: &Config, flight: u64) {
        self.cut(config, flight, LEAST);
    }

    /// The window is this large on its way to the threshold.
    pub(super) fn lower(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    /// Returns the threshold as it stands before a cut: three quarters of a window that has grown
    /// beyond it, in whole packets (Linux's tcp_current_ssthresh).
    pub(super) fn threshold(&self) -> f64 {
        let whole = self.cwnd.floor();
        self.ssthresh.max((whole / 2.0).floor() + (whole / 4.0).floor())
    }

    /// A cut is taken back: at least these (Linux's tcp_undo_cwnd_reduction).
    pub(super) fn restore(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), self.ssthresh.max(ssthresh));
    }

    /// Falls to one packet after a timeout with `flight` bytes out; `None` leaves the
    /// threshold.
    pub(super) fn collapse(&mut self, config: &Config, flight: Option<u64>) {
        if let Some(flight) = flight {
            self.cut(config, flight, LEAST);
        }
        self.memory.left();
        self.cwnd = 1.0;
    }

    /// The connection draws by this key.
    pub(super) fn keyed(&mut self, key: u32) {
        self.memory.keyed(key);
    }

    /// The connection is about to send, where the control steers by a model.
    pub(super) fn begin(&mut self, config: &Config, conn: &Connection) {
        self.memory.begun(&config.control, conn);
    }

    /// Steers by an ACK's rate sample.
    pub(super) fn steer(&mut self, config: &Config, conn: Connection, of: &RateSample) -> Steer {
        let steer = self.memory.steer(&config.control, conn, of);
        self.cwnd = steer.cwnd.into();
        steer
    }

    /// A packet is taken for lost, where the control steers by a model.
    pub(super) fn lose(&mut self, config: &Config, conn: &Connection, packet: &LostPacket) {
        self.memory.lost(&config.control, conn, packet);
    }

    /// Data goes out with none in the network, where the control steers by a model.
    pub(super) fn restart_model(&mut self, config: &Config, conn: Connection) {
        self.cwnd = self.memory.restarted(&config.control, conn).into();
    }

    /// The retransmission timer has expired, where the control steers by a model.
    pub(super) fn time_out_model(&mut self, config: &Config, conn: &Connection) {
        self.memory.timed_out(&config.control, conn);
    }

    /// A repair was needless, where the control steers by a model.
    pub(super) fn undo_model(&mut self, config: &Config, conn: &Connection) {
        self.memory.undone(&config.control, conn);
    }

    /// The control's pacing rate in bytes of payload a second.
    pub(super) fn pacing(&self) -> Option<u64> {
        self.memory.pacing()
    }

    /// The control's model of the path.
    pub(super) fn model(&self, config: &Config) -> Option<Model> {
        self.memory.model(config.mss)
    }

    /// Starts again after the connection was idle for longer than `rto` (RFC 5681, section 4.1).
    pub(super) fn restart(&mut self, config: &Config, idle: Span, rto: Span) {
        let before = self.cwnd;
        self.cwnd = match config.restart {
            Restart::Keep => self.cwnd,
            Restart::AfterRto => self.cwnd.min(config.initial_window),
            Restart::AfterUnclampedRto => config.initial_window,
            Restart::HalvePerRto => return self.halve(config, idle, rto),
        };
        if self.cwnd < before {
            self.memory.left();
        }
    }

    /// Half a window for each `rto` of idleness, in whole packets; the threshold remembers three
    /// quarters of what it was (Linux's tcp_cwnd_restart). The control's epoch goes on.
    fn halve(&mut self, config: &Config, idle: Span, rto: Span) {
        let least = config.initial_window.min(self.cwnd);
        self.ssthresh = self.threshold();
        let mut left = idle;
        // `tcp_cwnd_restart` takes a timeout off before it looks, hence more than one must be left.
        while left > rto && self.cwnd > least {
            self.cwnd = (self.cwnd / 2.0).floor();
            left = Span::from_ps(left.as_ps() - rto.as_ps());
        }
        self.cwnd = self.cwnd.max(least);
    }

    /// One packet to begin with: the SYN was lost more than once (RFC 6928, section 2).
    pub(super) fn start_with_one(&mut self) {
        self.cwnd = 1.0;
    }

    /// To the control's part of what the setting names (RFC 5681, equation 4), and to so many
    /// packets at least.
    fn cut(&mut self, config: &Config, flight: u64, least: f64) {
        let window = self.packets(config);
        if config.by_model {
            return self.memory.cut(&config.control, self.cwnd);
        }
        let base = if config.loss_halves_window {
            window
        } else {
            // Segments of limited transmit beyond the window do not count (RFC 5681).
            window.min(flight as f64 / config.mss as f64)
        };
        let cut = whole(config, base * self.memory.kept(&config.control));
        self.memory.cut(&config.control, window);
        (self.cwnd, self.ssthresh) = (cut.max(least), cut.max(LEAST));
    }
}

/// `packets`, rounded down if windows are cut to whole packets.
fn whole(config: &Config, packets: f64) -> f64 {
    if config.cut_to_whole { packets.floor() } else { packets }
}
