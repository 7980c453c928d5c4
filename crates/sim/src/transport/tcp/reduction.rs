//! How the window comes down to the threshold after a cut, where it does not fall at once: by
//! Proportional Rate Reduction or by rate halving.
//!
//! PRR is RFC 9937's as Linux 6.x has it: a share ssthresh / prior of what arrives goes out again;
//! once less than the threshold is in flight, what arrives and, if the ACK is of new data and tells
//! of no further loss, a packet more. `prior` is the window, where the RFC has the data in flight.
//! The first packet is sent whatever comes of that. Rate halving is Linux 2.6's: a packet less every
//! second ACK, and at most a packet more than what is in flight.

use super::Config;
use super::extras::Extras;
use super::loss::Phase;
use super::sender::Sender;
use switchbed_scenario::transport;

/// A window on its way down, since a cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The window at the cut, in packets.
    prior: f64,
    /// Packets that have arrived since (rate halving: ACKs that reported some).
    delivered: u64,
    /// Packets sent since.
    sent: u64,
    /// A recovery, at whose end it ends; else a mark's cut, which ends beyond `Sender::cut_end`.
    of_loss: bool,
    /// Offset below which missing data was counted as lost.
    lost_below: u64,
}

impl Reduction {
    /// A segment goes out.
    pub(super) fn sent(&mut self) {
        self.sent += 1;
    }

    /// PRR's window after an ACK of `newly` packets, with `in_flight` left.
    fn prr(&self, ssthresh: f64, in_flight: u64, newly: u64, safe: bool) -> f64 {
        let room = ssthresh - in_flight as f64;
        let more = self.delivered.saturating_sub(self.sent);
        // RFC 6937, section 3: with more out than the threshold, sends in proportion to what arrives.
        // With less, sends as much as arrives, and a packet more where that is safe (slow start).
        let send = if room < 0.0 {
            (ssthresh * self.delivered as f64 / self.prior).ceil() - self.sent as f64
        } else {
            room.min((more.max(newly) + u64::from(safe)) as f64)
        };
        // The fast retransmit goes out in any case.
        let least = if self.sent == 0 { 1.0 } else { 0.0 };
        in_flight as f64 + send.max(least)
    }

    /// Rate halving's window after an ACK.
    fn halved(&self, cwnd: f64, ssthresh: f64, in_flight: u64) -> f64 {
        // A packet less at every second ACK; never more out than in flight and one.
        let less = if self.delivered.is_multiple_of(2) { 1.0 } else { 0.0 };
        (cwnd - less).max(ssthresh.min(cwnd)).min(in_flight as f64 + 1.0)
    }
}

impl Sender {
    /// Whether the window is on its way down.
    pub(super) fn reducing(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.reduction.is_some())
    }

    /// The window was `prior` packets and has just been cut: from here it comes down step by step.
    pub(super) fn begin_reduction(&mut self, config: &Config, prior: f64, of_loss: bool) {
        let Some(extras) = &mut self.extras else { return };
        extras.probe = None;
        if config.reduction == transport::Reduction::AtOnce {
            return;
        }
        self.window.lower(prior);
        // A loss on the way down after a mark moves the threshold, no more.
        let new = Reduction { prior, delivered: 0, sent: 0, of_loss, lost_below: 0 };
        extras.reduction.get_or_insert(new).of_loss = of_loss;
    }

    /// An ACK: the next step down; answers whether there was one, which takes growth's place.
    /// `advanced`: it was of new data.
    #[cold]
    pub(super) fn reduce(&mut self, config: &Config, advanced: bool) -> bool {
        let Some(extras) = &mut self.extras else { return false };
        let left = self.loss.as_ref().map_or(0, |loss| loss.left_the_network());
        let newly = (self.una + left).saturating_sub(extras.delivered);
        (extras.delivered, extras.newly) = (self.una + left, newly);
        let Some(down) = &extras.reduction else { return false };
        let recovering = self.loss.as_ref().is_some_and(|loss| loss.phase == Phase::Recovery);
        if if down.of_loss { recovering } else { self.una <= self.cut_end } {
            self.step_down(config, newly.div_ceil(config.mss as u64), advanced);
            return true;
        }
        extras.reduction = None;
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        // The part that rate halving has taken below the threshold stays away.
        let below = config.reduction == transport::Reduction::RateHalving && cwnd < ssthresh;
        self.window.lower(if below { cwnd } else { ssthresh });
        false
    }

    /// A step down, `newly` packets having arrived.
    pub(super) fn step_down(&mut self, config: &Config, newly: u64, advanced: bool) {
        let (una, mss) = (self.una, config.mss as u64);
        let in_flight = self.in_flight(config);
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        let Some(Extras { reduction: Some(down), rack, .. }) = self.extras.as_deref_mut() else {
            return;
        };
        if newly == 0 {
            return;
        }
        let (mut unsent, mut more_lost) = (0, rack.found);
        if let Some(loss) = &self.loss {
            unsent = if loss.counts_first(config) { mss } else { 0 };
            // Blocks that grow together may prove less than before.
            let before = down.lost_below.max(una);
            down.lost_below = loss.lost_below(config).max(before);
            more_lost |= !config.rack() && loss.missing(before, down.lost_below) > 0;
            more_lost |= loss.retransmit_first;
        }
        let in_flight = in_flight.saturating_sub(unsent).div_ceil(mss);
        self.window.lower(if config.reduction == transport::Reduction::Prr {
            down.delivered += newly;
            down.prr(ssthresh, in_flight, newly, advanced && !more_lost)
        } else {
            down.delivered += 1;
            down.halved(cwnd, ssthresh, in_flight)
        });
    }
}
