//! The tail loss probe (RFC 8985, section 7, as Linux 6.x has it): two round trips after the last
//! ACK or new data, and before the retransmission timeout, one segment more is sent, so that its
//! ACK tells what is missing: new data, whatever the window says, or the last segment again.
//!
//! One probe at a time; after it the retransmission timer runs anew. Of a probe that was the last
//! segment again, a DSACK (in `undo`) or a duplicate ACK tells that its first sending had arrived,
//! too. If none has come before an ACK of later data, it has repaired a loss, and the window is cut.

use super::Config;
use super::Segment;
use super::extras::Timer;
use super::loss::Loss;
use super::sender::Sender;
use crate::transport::Wait;
use switchbed_units::Time;

/// A probe that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// End of the data sent when the probe was sent (TLP.end_seq).
    pub(super) end: u64,
    /// Whether the probe was the last segment again.
    pub(super) again: bool,
}

impl Sender {
    /// When a probe is due, were it the last thing sent; at the latest the timeout that began then.
    pub(super) fn probe_due(&self, config: &Config, now: Time, timeout: Time) -> Option<Time> {
        let extras = self.extras.as_ref()?;
        if !config.tail_loss_probe || self.loss.is_some() || extras.log.len() == 0 {
            return None;
        }
        let after = match self.srtt() {
            None => config.rto_initial,
            // The ACK of a single segment may be held back.
            Some(srtt) if extras.log.len() == 1 => srtt * 2 + config.rto_min,
            Some(srtt) => srtt * 2 + config.timer_slack,
        };
        Some((now + after).min(timeout))
    }

    /// Handles the probe timer.
    pub(super) fn on_probe_timeout(&mut self, config: &Config, now: Time) {
        self.timeout_of_first(config, now);
        if self.extras.as_ref().is_some_and(|extras| extras.probe.is_none()) {
            let wait = if self.srtt().is_none() { Wait::RtoInitial } else { Wait::Probe };
            self.note_wait(config, wait, now);
            self.loss.get_or_insert_with(|| Box::new(Loss::new())).probe = true;
        }
    }

    /// Sends the probe.
    pub(super) fn send_probe(&mut self, config: &Config, now: Time) -> Option<Segment> {
        let loss = self.loss.as_mut()?;
        loss.probe = false;
        if loss.over() {
            self.loss = None;
        }
        let new = self.unsent().min(config.mss as u64);
        let again = new == 0 || !self.takes(config, self.nxt + new);
        let segment = if again {
            let (start, len) = self.extras.as_ref()?.log.last()?;
            self.send_again(config, start, len, now)
        } else {
            self.send_new(config, new as u32, now)
        };
        let extras = self.extras.as_mut()?;
        extras.probe = Some(Probe { end: self.sent, again });
        extras.timer = Timer::Retransmission;
        self.deadline = now + self.rto(config);
        Some(segment)
    }

    /// An ACK, `duplicate` if it reported nothing new, while a probe may be out.
    pub(super) fn judge_probe(&mut self, config: &Config, duplicate: bool) {
        let Some(extras) = &mut self.extras else { return };
        let Some(Probe { end, again }) = extras.probe else { return };
        // At `end` itself an ACK may be of either sending: a duplicate alone tells that both came.
        if self.una < end || (again && self.una == end && !duplicate) {
            return;
        }
        extras.probe = None;
        if again && self.una > end {
            self.window.cut_for_loss(config, self.sent - self.una);
            (self.cut_end, self.cut_by_mark) = (self.sent, false);
            self.tell_cut = config.ecn;
        }
    }
}
