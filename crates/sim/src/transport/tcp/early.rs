//! Early retransmit (RFC 5827): where fewer than four segments are out and nothing new can be sent,
//! three duplicate ACKs cannot come; SACKs of all segments but one do. Linux 3.5 to 4.x waits for a
//! quarter of a round trip, lest reordering is taken for a loss, and for 2 ms at least.

use super::Config;
use super::extras::Timer;
use super::loss::Phase;
use super::sender::Sender;
use switchbed_scenario::transport::EarlyRetransmit;
use switchbed_units::{Span, Time};

/// The shortest wait.
const LEAST: Span = Span::from_ms(2);

impl Sender {
    /// After an ACK of nothing new by which nothing is lost yet.
    pub(super) fn consider_early_retransmit(&mut self, config: &Config, now: Time) {
        let Some(loss) = &self.loss else { return };
        let mss = config.mss as u64;
        let out = (self.sent - self.una).div_ceil(mss);
        let left = loss.left_the_network().div_ceil(mss);
        // RFC 5827, section 3.1: only where no new data may be sent, which would bring more
        // duplicate ACKs.
        let open = self.window.bytes(config).min(config.receive_bytes);
        let more = self.unsent() > 0 && self.in_flight(config) + mss <= open;
        if loss.phase != Phase::Disorder || out >= 4 || left == 0 || left + 1 != out || more {
            return;
        }
        if config.early_retransmit == EarlyRetransmit::AtOnce {
            return self.begin_recovery(config);
        }
        let due = now + self.srtt().map_or(LEAST, |srtt| (srtt / 4).max(LEAST));
        if let Some(extras) = &mut self.extras
            && due < self.deadline
        {
            (self.deadline, extras.timer) = (due, Timer::EarlyRetransmit);
        }
    }

    /// The quarter of a round trip is over.
    pub(super) fn on_early_timeout(&mut self, config: &Config, now: Time) {
        self.timeout_of_first(config, now);
        if self.loss.as_ref().is_some_and(|loss| loss.phase == Phase::Disorder) {
            self.begin_recovery(config);
            self.step_down(config, 1, false);
        }
    }
}
