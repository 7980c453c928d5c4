//! Which timer runs where there is more than the retransmission timer: as in Linux there is one
//! clock for all of them.

use super::Config;
use super::extras::Timer;
use super::sender::Sender;
use switchbed_units::{Span, Time};

/// A timeout that should have been is due this much later.
const SOON: Span = Span::from_us(1);
/// The least wait before SACKed data counts as dropped by its receiver.
const LEAST_DOUBT: Span = Span::from_ms(10);

impl Sender {
    /// The retransmission timeout of the first segment, from when it was sent last.
    fn due_of_first(&self, config: &Config, now: Time) -> Time {
        let first = self.extras.as_ref().and_then(|extras| extras.log.first());
        (first.map_or(now, |first| first.at) + self.rto(config)).max(now + SOON)
    }

    /// The retransmission timer takes over from another one.
    pub(super) fn timeout_of_first(&mut self, config: &Config, now: Time) {
        self.deadline = self.due_of_first(config, now);
        if let Some(extras) = &mut self.extras {
            extras.timer = Timer::Retransmission;
        }
    }

    fn set_timer(&mut self, timer: Timer, due: Time) {
        let Some(extras) = &mut self.extras else { return };
        (self.deadline, extras.timer) = (due, timer);
    }

    /// An ACK came, of new data if `advanced`; the retransmission timer has been set if so.
    pub(super) fn choose_timer(&mut self, config: &Config, advanced: bool, now: Time) {
        let Some(extras) = &mut self.extras else { return };
        if self.una == self.sent {
            extras.timer = Timer::Retransmission;
            return;
        }
        let una = self.una;
        if advanced && self.loss.as_ref().is_some_and(|loss| loss.reneged(una)) {
            // SACKs may have overtaken an ACK: half a round trip shows (tcp_check_sack_reneging).
            let half = self.srtt().map_or(Span::ZERO, |srtt| srtt / 2);
            return self.set_timer(Timer::Retransmission, now + half.max(LEAST_DOUBT));
        }
        let (wait, before) = (std::mem::take(&mut extras.rack.wait), extras.timer);
        let timeout = now + self.rto(config);
        if wait > Span::ZERO {
            self.set_timer(Timer::Reordering, (now + wait + config.timer_slack).min(timeout));
        } else if !advanced {
        } else if let Some(due) = self.probe_due(config, now, timeout) {
            self.set_timer(Timer::Probe, due);
        } else if before != Timer::Retransmission {
            self.timeout_of_first(config, now);
        }
    }

    /// New data has gone out.
    pub(super) fn choose_timer_of_sent(&mut self, config: &Config, now: Time) {
        let timeout = self.due_of_first(config, now);
        if let Some(due) = self.probe_due(config, now, timeout) {
            self.set_timer(Timer::Probe, due);
        }
    }

    /// A timer has expired; answers whether it was another than the retransmission timer.
    #[cold]
    pub(super) fn on_other_timeout(&mut self, config: &Config, now: Time) -> bool {
        match self.extras.as_ref().map(|extras| extras.timer) {
            None | Some(Timer::Retransmission) => return false,
            Some(Timer::Reordering) => self.on_reordering_timeout(config, now),
            Some(Timer::Probe) => self.on_probe_timeout(config, now),
            Some(Timer::EarlyRetransmit) => self.on_early_timeout(config, now),
        }
        true
    }
}
