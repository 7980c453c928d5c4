//! The congestion window, and how it answers ACKs, marks, losses and timeouts.
//!
//! Growth and loss are RFC 5681's, with CUBIC RFC 9438's; what a mark does is the
//! control's: Reno and CUBIC answer it as a loss and ECN* halves the window (RFC 3168),
//! DCTCP cuts by the marked fraction (RFC 8257). A further control is a variant of
//! [`State`] with an arm in each `match` here; it decides how far, the sender when (a cut
//! at most once a window of data).

use super::Config;
use super::cubic::{self, Cubic};
use switchbed_qdisc::units::{Span, Time};
use switchbed_spec::transport::{self, CongestionControl, Restart};

/// The congestion window of one connection, in packets as a fraction.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    state: State,
}

/// What a control remembers; its parameters are in the [`Config`].
#[derive(Clone, Debug)]
enum State {
    Reno,
    EcnStar,
    Dctcp(Dctcp),
    /// Apart: it is larger than the others and touched less.
    Cubic(Box<Cubic>),
}

/// DCTCP's estimate of the marked fraction (RFC 8257, section 3.3).
#[derive(Clone, Debug)]
struct Dctcp {
    alpha: f64,
    /// An ACK beyond this ends the window of data over which marks are counted.
    window_end: u64,
    acked: u32,
    marked: u32,
}

impl Window {
    pub(super) fn new(config: &Config, cwnd: f64) -> Window {
        let state = match config.control {
            CongestionControl::EcnStar => State::EcnStar,
            CongestionControl::Cubic(_) => State::Cubic(Box::new(Cubic::new())),
            CongestionControl::Dctcp(dctcp) => {
                State::Dctcp(Dctcp { alpha: dctcp.alpha_start, window_end: 0, acked: 0, marked: 0 })
            }
            // Others than TCP's have no windows.
            _ => State::Reno,
        };
        Window { cwnd, ssthresh: config.initial_ssthresh, state }
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }
    pub(super) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    pub(super) fn alpha(&self) -> Option<f64> {
        match &self.state {
            State::Dctcp(dctcp) => Some(dctcp.alpha),
            _ => None,
        }
    }

    /// The packets that may be in flight, before rounding down.
    #[inline]
    fn packets(&self, config: &Config) -> f64 {
        self.cwnd.min(config.receive_window)
    }

    /// The bytes that may be in flight: whole packets' worth.
    #[inline]
    pub(super) fn bytes(&self, config: &Config) -> u64 {
        // Through u32: a conversion to u64 takes several instructions more.
        self.packets(config) as u32 as u64 * config.mss as u64
    }

    /// Counts an ACK of `acked` new bytes, up to offset `ack`; data up to `sent` is out.
    #[inline]
    pub(super) fn count(&mut self, config: &Config, acked: u64, ece: bool, ack: u64, sent: u64) {
        if let State::Dctcp(dctcp) = &mut self.state {
            dctcp.count(config, acked as u32, ece, ack, sent);
        }
    }

    /// Grows for an ACK of `acked` new bytes: slow start by at most a packet an ACK
    /// (RFC 5681, equation 2), else by a packet a window of acknowledged bytes, or as CUBIC.
    #[inline]
    pub(super) fn grow(&mut self, config: &Config, acked: u64, now: Time, srtt: Option<Span>) {
        let packets =
            if acked == config.mss as u64 { 1.0 } else { acked as f64 / config.mss as f64 };
        if self.cwnd < self.ssthresh {
            self.cwnd += packets.min(1.0);
        } else if let State::Cubic(cubic) = &mut self.state {
            self.cwnd = cubic.grown(config, self.cwnd, packets, now, srtt.unwrap_or(Span::ZERO));
        } else {
            self.cwnd += (packets / self.cwnd).min(1.0);
        }
    }

    /// The application, not the window, limited the sender until now.
    #[inline]
    pub(super) fn pause(&mut self, now: Time) {
        if let State::Cubic(cubic) = &mut self.state {
            cubic.pause(now);
        }
    }

    /// Cuts for a mark that an ACK echoed, with `flight` bytes out before that ACK.
    pub(super) fn cut_for_mark(&mut self, config: &Config, flight: u64) {
        let kept = match &self.state {
            State::Reno => return self.cut_for_loss(config, flight),
            State::Cubic(_) => {
                // As a loss, but down to one packet (RFC 9438, section 4.6).
                let cut = self.after_loss(config, flight);
                self.remember_cut(config);
                (self.cwnd, self.ssthresh) = (cut.max(1.0), cut.max(2.0));
                return;
            }
            State::EcnStar => 0.5,
            State::Dctcp(dctcp) => 1.0 - dctcp.alpha / 2.0,
        };
        self.cwnd = whole(config, self.packets(config) * kept).max(1.0);
        self.ssthresh = self.cwnd.max(2.0);
    }

    /// Whether a loss in a window that a mark has cut already cuts it again: not where
    /// the mark's cut was as deep as a loss's.
    pub(super) fn loss_adds_to_mark(&self) -> bool {
        matches!(self.state, State::Dctcp(_))
    }

    /// Cuts for a loss found by duplicate ACKs, with `flight` bytes out.
    pub(super) fn cut_for_loss(&mut self, config: &Config, flight: u64) {
        self.ssthresh = self.after_loss(config, flight).max(2.0);
        self.remember_cut(config);
        self.cwnd = self.ssthresh;
    }

    /// Falls to one packet after a timeout with `flight` bytes out; `None` leaves the
    /// threshold.
    pub(super) fn collapse(&mut self, config: &Config, flight: Option<u64>) {
        if let Some(flight) = flight {
            self.ssthresh = self.after_loss(config, flight).max(2.0);
            self.remember_cut(config);
        }
        if let State::Cubic(cubic) = &mut self.state {
            cubic.leave();
        }
        self.cwnd = 1.0;
    }

    /// Starts again after the connection was idle (RFC 5681, section 4.1).
    pub(super) fn restart(&mut self, config: &Config) {
        let before = self.cwnd;
        self.cwnd = match config.restart {
            Restart::Keep => self.cwnd,
            Restart::AfterRto => self.cwnd.min(config.initial_window),
            Restart::AfterUnclampedRto => config.initial_window,
        };
        if let State::Cubic(cubic) = &mut self.state
            && self.cwnd < before
        {
            cubic.leave();
        }
    }

    /// One packet to begin with: the SYN was lost more than once (RFC 6928, section 2).
    pub(super) fn start_with_one(&mut self) {
        self.cwnd = 1.0;
    }

    /// What a loss leaves of what the setting names: half (RFC 5681, equation 4), or
    /// CUBIC's β (RFC 9438, section 4.6). The least window is the caller's.
    fn after_loss(&self, config: &Config, flight: u64) -> f64 {
        let window = self.packets(config);
        let base = if config.loss_halves_window {
            window
        } else {
            // What limited transmit sent beyond the window does not count (RFC 5681).
            window.min(flight as f64 / config.mss as f64)
        };
        let kept = match &self.state {
            State::Cubic(_) => cubic::kept(config),
            _ => 0.5,
        };
        whole(config, base * kept)
    }

    /// CUBIC aims at the window that is about to be cut.
    fn remember_cut(&mut self, config: &Config) {
        let window = self.packets(config);
        if let State::Cubic(cubic) = &mut self.state {
            cubic.cut(config, window);
        }
    }
}

/// `packets`, rounded down if windows are cut to whole packets.
fn whole(config: &Config, packets: f64) -> f64 {
    if config.cut_to_whole { packets.floor() } else { packets }
}

impl Dctcp {
    #[inline]
    fn count(&mut self, config: &Config, acked: u32, ece: bool, ack: u64, sent: u64) {
        self.acked += acked;
        self.marked += if ece { acked } else { 0 };
        if ack > self.window_end {
            let CongestionControl::Dctcp(transport::Dctcp { g, .. }) = config.control else {
                return;
            };
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = (1.0 - g) * self.alpha + g * fraction;
            (self.window_end, self.acked, self.marked) = (sent, 0, 0);
        }
    }
}
