//! The sending half while segments are missing: fast recovery by SACK (RFC 6675) or
//! NewReno (RFC 6582), and slow start after a timeout (RFC 5681).

use super::Config;
use super::Segment;
use super::loss::{Loss, Phase};
use super::sender::{Sender, UNTIMED};
use switchbed_scenario::transport::EarlyRetransmit;
use switchbed_units::Time;

impl Sender {
    /// An ACK of `acked` new bytes while there is something to repair; answers whether it
    /// belongs to a fast recovery, in which the window does not grow.
    #[cold]
    pub(super) fn repair(&mut self, config: &Config, ack: &Segment, acked: u64, now: Time) -> bool {
        self.consider_undo(config, ack, true);
        let loss = self.loss.get_or_insert_with(|| Box::new(Loss::new()));
        let recovering = loss.phase == Phase::Recovery;
        loss.advance(config, acked, self.una);
        loss.record(ack, self.una);
        if recovering && loss.phase != Phase::Recovery {
            self.note_recovered();
        }
        self.find_losses(config, now);
        recovering
    }

    /// An ACK of nothing new while data is out.
    #[cold]
    pub(super) fn repair_duplicate(&mut self, config: &Config, ack: &Segment, now: Time) {
        self.consider_undo(config, ack, false);
        let loss = self.loss.get_or_insert_with(|| Box::new(Loss::new()));
        // With SACK, only an ACK that tells something new counts (RFC 6675, section 2).
        let news = !config.sack() || loss.record(ack, self.una);
        if news && ack.offset == self.una {
            loss.duplicate(config);
        }
        self.find_losses(config, now);
        if config.early_retransmit != EarlyRetransmit::Off {
            self.consider_early_retransmit(config, now);
        }
    }

    /// Begins a recovery if there are new losses to repair; forgets what is over.
    fn find_losses(&mut self, config: &Config, now: Time) {
        let proven = self.loss.as_ref().is_some_and(|loss| loss.found(config, self.una));
        if self.detect(config, now) || proven {
            self.begin_recovery(config);
        } else if self.loss.as_ref().is_some_and(|loss| loss.over()) {
            self.loss = None;
        }
    }

    /// Fast retransmit: cuts the window, unless this window was cut already.
    pub(super) fn begin_recovery(&mut self, config: &Config) {
        let reducing = self.reducing();
        let Some(loss) = &mut self.loss else { return };
        debug_assert_eq!(self.nxt, self.sent);
        // On the way down after a mark, the recovery lasts no longer than that (Linux).
        let end = if reducing { self.cut_end } else { self.sent };
        loss.begin_recovery(self.una, end);
        self.tally().counters.fast_recoveries += 1;
        let prior = self.window.packets(config);
        let cuts = (self.una >= self.cut_end && !reducing) || config.loss_adds_to_mark;
        self.note_cut(config, cuts.then(|| self.before_cut()));
        if cuts {
            self.window.cut_for_loss(config, self.sent - self.una);
            self.tell_cut = config.ecn;
        }
        self.begin_reduction(config, prior, true);
        self.cut_end = end;
        self.cut_by_mark = false;
        self.timed_end = UNTIMED;
    }

    /// The retransmission timer expired: all that is not SACKed counts as lost, and is sent
    /// again in slow start.
    pub(super) fn repair_after_timeout(&mut self, config: &Config, now: Time) {
        let flight = self.sent - self.una;
        let loss = self.loss.get_or_insert_with(|| Box::new(Loss::new()));
        if loss.reneged(self.una) {
            loss.forget_sacks();
            if let Some(extras) = &mut self.extras {
                extras.log.forget_sacks();
                // Dropped data counts as delivered once more when it arrives.
                extras.delivered = self.una;
            }
        }
        let again = self.una < self.cut_end && loss.phase != Phase::Holdoff;
        let begins = loss.phase == Phase::Disorder;
        let first = loss.timeout(self.una, self.sent, now);
        let keep = !first
            || (again && !config.timeout_cuts_again)
            || (self.cut_by_mark && config.timeout_after_cut_keeps_ssthresh);
        if !keep {
            self.note_cut(config, Some(self.before_cut()));
        }
        self.watch_timeout(config.frto && (begins || !first));
        if let Some(extras) = &mut self.extras {
            if begins && config.rack() {
                extras.rack.overestimated(extras.log.fates().sacked);
            }
            (extras.reduction, extras.probe) = (None, None);
        }
        self.window.collapse(config, (!keep).then_some(flight));
        if config.rack() {
            self.lose_all(config, now);
            let left = self.in_flight(config).div_ceil(config.mss as u64);
            self.window.lower(left as f64 + 1.0);
        } else {
            self.nxt = self.una;
        }
        self.cut_end = self.sent;
        self.cut_by_mark = false;
        self.tell_cut = config.ecn;
        self.timed_end = UNTIMED;
        if config.by_model {
            self.tell_timeout(config, now);
        }
    }

    /// The path takes smaller segments from now on: larger ones that are out are sent again as after a
    /// timeout, with the window as it is (`tcp_simple_retransmit`).
    pub fn shrink(&mut self, config: &Config, now: Time) {
        if self.una == self.sent {
            return;
        }
        self.loss.get_or_insert_with(|| Box::new(Loss::new())).timeout(self.una, self.sent, now);
        match &mut self.extras {
            Some(extras) if config.rack() => extras.log.cut(config.mss.into()),
            _ => self.nxt = self.una,
        }
        self.cut_end = self.sent;
        self.timed_end = UNTIMED;
    }

    /// The next segment while there is something to repair.
    #[cold]
    pub(super) fn poll_repair(&mut self, config: &Config, now: Time) -> Option<Segment> {
        let loss = self.loss.as_mut()?;
        let mss = config.mss as u64;
        if loss.probe {
            return self.send_probe(config, now);
        }
        if config.rack() {
            return self.poll_lost(config, now);
        }
        if loss.retransmit_first {
            loss.retransmit_first = false;
            let (start, end) = loss.missing_from(self.una);
            let len = mss.min(end.min(self.sent) - start);
            loss.high_rxt = start + len;
            return Some(self.send_again(config, start, len, now));
        }
        let in_flight = loss.in_flight(config, self.una, self.nxt);
        let window = self.window.bytes(config);
        if loss.phase == Phase::Recovery && config.sack() {
            if in_flight + mss > window {
                return None;
            }
            // NextSeg: what is lost, then new data, then what is merely missing.
            let (start, end) = loss.missing_from(loss.high_rxt);
            let (lost_below, sacked_end) = (loss.lost_below(config), loss.sacked_end());
            if start >= lost_below
                && let Some(segment) = self.poll_new(config, in_flight, now)
            {
                return Some(segment);
            }
            if start >= sacked_end {
                return None;
            }
            let len = mss.min(end - start);
            self.loss.as_mut()?.high_rxt = start + len;
            return Some(self.send_again(config, start, len, now));
        }
        if self.nxt < self.sent {
            let (start, end) = loss.missing_from(self.nxt);
            if start < self.sent {
                let len = mss.min(end.min(self.sent) - start);
                if in_flight + len > window {
                    return None;
                }
                self.nxt = start + len;
                return Some(self.send_again(config, start, len, now));
            }
            self.nxt = self.sent;
        }
        let in_flight = self.in_flight(config);
        self.poll_new(config, in_flight, now)
    }
}
