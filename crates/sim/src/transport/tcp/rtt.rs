//! The round-trip estimate and the retransmission timeout (RFC 6298), and which timer runs where there are others: as in
//! Linux there is one clock for all of them.

use super::Config;
use super::extras::Timer;
use super::sender::Sender;
use switchbed_units::{Span, Time};

/// Smoothed round-trip time and its variation; no clock granularity (G = 0).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    /// Zero until the first sample.
    srtt: Span,
    rttvar: Span,
}

impl Rtt {
    /// Without a sample.
    pub(super) const UNKNOWN: Rtt = Rtt { srtt: Span::ZERO, rttvar: Span::ZERO };

    /// After one sample of `rtt` (equation 2.2).
    pub(super) fn of(rtt: Span) -> Rtt {
        Rtt { srtt: rtt, rttvar: rtt / 2 }
    }

    /// Takes a sample in (equations 2.2 and 2.3: weights 1/8 and 1/4).
    #[inline]
    pub(super) fn sample(&mut self, rtt: Span) {
        if self.srtt == Span::ZERO {
            // A round trip that took no time is a sample, too (tcp_rtt_estimator: max(1U, srtt)).
            *self = Rtt::of(rtt.max(Span::from_ps(1)));
            return;
        }
        let (srtt, rttvar) = (self.srtt.as_ps(), self.rttvar.as_ps());
        let error = srtt.abs_diff(rtt.as_ps());
        self.rttvar = Span::from_ps(rttvar - rttvar / 4 + error / 4);
        self.srtt = Span::from_ps(srtt - srtt / 8 + rtt.as_ps() / 8);
    }

    /// The smoothed round-trip time, if there was a sample.
    pub(super) fn srtt(&self) -> Option<Span> {
        (self.srtt > Span::ZERO).then_some(self.srtt)
    }

    /// The variation of the round-trip time.
    pub(super) fn rttvar(&self) -> Span {
        self.rttvar
    }

    /// srtt + 4·rttvar; the initial RTO before the first sample.
    #[inline]
    pub(super) fn unclamped(&self, config: &Config) -> Span {
        if self.srtt == Span::ZERO {
            config.rto_initial
        } else {
            Span::from_ps(self.srtt.as_ps() + 4 * self.rttvar.as_ps())
        }
    }

    /// The retransmission timeout after `backoff` doublings. The floor holds for what was
    /// measured, not for the initial value. Where it is of the variance the timeout is Linux's but
    /// for that system's memory of the largest deviation of a round trip.
    #[inline]
    pub(super) fn rto(&self, config: &Config, backoff: u8) -> Span {
        let base = if self.srtt == Span::ZERO {
            config.rto_initial
        } else if config.floor_of_variance {
            self.srtt + (self.rttvar * 4).max(config.rto_min)
        } else {
            self.unclamped(config).max(config.rto_min)
        };
        Span::from_ps(base.as_ps().saturating_mul(1 << backoff)).min(config.rto_max)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_smoothed_as_rfc_6298_says() {
        let mut rtt = Rtt::UNKNOWN;
        assert_eq!(rtt.srtt(), None);
        let us = Span::from_us;
        for (sample, srtt, rttvar) in [
            (us(1000), us(1000), us(500)),
            // 3/4·500 + 1/4·1000 and 7/8·1000 + 1/8·2000.
            (us(2000), us(1125), us(625)),
            // A smaller one: 3/4·625 + 1/4·325 and 7/8·1125 + 1/8·800.
            (us(800), Span::from_ns(1_084_375), us(550)),
        ] {
            rtt.sample(sample);
            assert_eq!((rtt.srtt(), rtt.rttvar), (Some(srtt), rttvar));
        }
    }

    #[test]
    fn a_round_trip_without_duration_is_a_sample() {
        let mut rtt = Rtt::UNKNOWN;
        rtt.sample(Span::ZERO);
        assert_eq!(rtt.srtt(), Some(Span::from_ps(1)));
    }
}
