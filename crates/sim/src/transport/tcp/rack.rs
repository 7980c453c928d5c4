//! RACK (RFC 8985, sections 6.1 and 6.2, as Linux 6.x has it): a segment is lost if one sent after
//! it has arrived, and a round trip and a wait for reordering have passed since it was sent. That
//! goes for retransmissions, too.
//!
//! The wait is nothing as long as no reordering was seen and three segments are SACKed or losses
//! are being repaired; else a quarter of the shortest RTT, at most the smoothed one. What may yet
//! arrive within the wait is looked at again when a timer says so. Once a round trip, a DSACK of a
//! retransmission makes the wait a quarter longer, for sixteen recoveries (section 6.2, step 4; Linux:
//! tcp_rack_update_reo_wnd).
//!
//! The tail loss probe (RFC 8985, section 7, as Linux 6.x has it): two round trips after the last
//! ACK or new data, and before the retransmission timeout, one segment more is sent, so that its
//! ACK tells what is missing: new data, whatever the window says, or the last segment again.
//!
//! One probe at a time; after it the retransmission timer runs anew. Of a probe that was the last
//! segment again, a DSACK (in `reduction`) or a duplicate ACK tells that its first sending had arrived,
//! too. If none has come before an ACK of later data, it has repaired a loss, and the window is cut.

use super::extras::{Extras, Timer};
use super::loss::{Loss, Phase};
use super::rate::Losses;
use super::sender::Sender;
use super::sent::Sent;
use super::{Config, Segment};
use crate::transport::Wait;
use switchbed_units::{Span, Time};

/// SACKed segments that make a wait needless (RFC 8985's dupthresh).
const ENOUGH: u64 = 3;
/// The largest distance of reordering that is counted, in packets (`tcp_max_reordering`).
const MOST: u64 = 300;
/// Recoveries for which a longer wait stays (`TCP_RACK_RECOVERY_THRESH`).
const PERSIST: u8 = 16;

/// State of RACK: the segments that have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// The number of the one sent last.
    latest: u64,
    /// The RTT of the one that arrived last.
    rtt: Span,
    /// The shortest RTT of a segment sent once.
    pub(super) min_rtt: Span,
    /// The highest end.
    highest: u64,
    /// One was overtaken.
    reordered: bool,
    /// Where the lowest of those begins that the last ACK told of; `u64::MAX` without any.
    overtaken: u64,
    /// The furthest that one was overtaken, in packets (`tp->reordering`).
    pub(super) reordering: u64,
    /// How long until the next loss may be found; zero if there is nothing to wait for.
    pub(super) wait: Span,
    /// The last search found losses.
    pub(super) found: bool,
    /// When the oldest of the segments was sent that the last ACK SACKed first, of those sent once;
    /// [`Time::NEVER`] without any.
    sacked_at: Time,
    /// The last ACK told of data that was out at a timeout and was sent once.
    pub(super) original: bool,
    /// When the youngest segment was sent that the last ACK told of first, if it told of any.
    newest: Option<Time>,
    /// Segments reported as twice so far.
    pub(super) twice: u32,
    /// A retransmission was reported as twice, and the wait does not know that yet.
    too_short: bool,
    /// Quarters of the shortest RTT that the wait takes, since when, and for how many recoveries more.
    quarters: u8,
    longer_since: Time,
    persist: u8,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            latest: 0,
            rtt: Span::ZERO,
            min_rtt: Span::MAX,
            highest: 0,
            reordered: false,
            overtaken: u64::MAX,
            reordering: ENOUGH,
            wait: Span::ZERO,
            found: false,
            sacked_at: Time::NEVER,
            original: false,
            newest: None,
            twice: 0,
            too_short: false,
            quarters: 1,
            longer_since: Time::ZERO,
            persist: 0,
        }
    }
}

impl Rack {
    /// A segment from `start` on has arrived; `first`: an ACK tells that it was its first sending.
    fn arrived(&mut self, segment: &Sent, start: u64, first: bool, now: Time) {
        let rtt = now.since(segment.at);
        self.newest = self.newest.max(Some(segment.at));
        if segment.again {
            // The first sending has probably arrived (section 6.2, step 2).
            if first || rtt < self.min_rtt {
                return;
            }
        } else {
            self.min_rtt = self.min_rtt.min(rtt);
            // Sent once, and behind one that arrived earlier: the network has reordered (RFC 8985,
            // section 6.2, step 3).
            if segment.end < self.highest {
                self.reordered = true;
                self.overtaken = self.overtaken.min(start);
            }
        }
        self.highest = self.highest.max(segment.end);
        self.rtt = rtt;
        self.latest = self.latest.max(segment.nth);
    }

    /// A retransmission came twice: after reordering, the wait was too short.
    pub(super) fn overtook(&mut self) {
        self.too_short |= self.reordered;
    }

    /// Takes the furthest that a segment was overtaken (`tcp_check_sack_reordering`).
    fn note_reordering(&mut self, una: u64, mss: u32) {
        if self.overtaken < u64::MAX {
            let distance = (self.highest.max(una) - self.overtaken).div_ceil(mss.into());
            self.reordering = self.reordering.max(distance.min(MOST));
        }
    }

    /// Whether the window grows with all that arrives, in order or not (`tcp_may_raise_cwnd`).
    pub(super) fn reorders_much(&self) -> bool {
        self.reordering > ENOUGH
    }

    /// A timeout with so many segments SACKed and no recovery: there was less reordering than it seemed
    /// (`tcp_enter_loss`).
    pub(super) fn overestimated(&mut self, sacked: u32) {
        if u64::from(sacked) >= ENOUGH {
            self.reordering = self.reordering.min(ENOUGH);
        }
    }

    /// Lengthens the wait if it was too short, once a round trip.
    fn adapt(&mut self, now: Time) {
        let Some(newest) = self.newest else { return };
        if newest < self.longer_since {
            self.too_short = false;
        }
        if std::mem::take(&mut self.too_short) {
            self.quarters = self.quarters.saturating_add(1);
            (self.longer_since, self.persist) = (now, PERSIST);
        } else if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// A recovery has ended.
    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// The wait for reordering.
    fn patience(&self, repairing: bool, sacked: u64, srtt: Option<Span>) -> Span {
        // RFC 8985, section 6.2, step 4: no wait until reordering was seen, once three segments or a
        // recovery show a loss anyway.
        if !self.reordered && (repairing || sacked >= ENOUGH) {
            return Span::ZERO;
        }
        (self.min_rtt / 4 * u64::from(self.quarters)).min(srtt.unwrap_or(Span::ZERO))
    }
}

impl Sender {
    /// The furthest that a segment was overtaken, in packets, if losses are found by time.
    pub fn reordering(&self, config: &Config) -> Option<u64> {
        self.extras.as_ref().filter(|_| config.rack()).map(|extras| extras.rack.reordering)
    }

    /// Takes into the log what an ACK tells of segments, before the scoreboard does.
    pub(super) fn log_arrivals(&mut self, config: &Config, ack: &Segment, now: Time) {
        let una = self.una;
        let Some(extras) = &mut self.extras else { return };
        let Extras { log, rack, .. } = &mut **extras;
        if !config.logs() {
            return;
        }
        (rack.found, rack.sacked_at) = (false, Time::NEVER);
        (rack.original, rack.newest, rack.overtaken) = (false, None, u64::MAX);
        let timed_out = self.loss.as_ref().filter(|loss| loss.timed_out());
        let point = timed_out.map_or(0, |loss| loss.point);
        // From the lowest up, lest those that one ACK tells of seem to have overtaken each other.
        log.acknowledge(una, |segment, start| {
            let first = config.every_ack_timed && ack.stamp < segment.at;
            rack.arrived(segment, start, first, now);
            rack.original |= !segment.again && segment.end <= point;
        });
        let sacked = self.loss.as_ref().map(|loss| loss.sacked());
        let mut blocks = ack.sack;
        let blocks = &mut blocks[ack.sacks as usize - ack.sack_blocks().len()..ack.sacks as usize];
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks {
            let mut at = (ack.offset + block.start as u64).max(una);
            let end = ack.offset + block.end as u64;
            while at < end {
                let (from, to) = sacked.map_or((at, end), |sacked| sacked.gap_from(at));
                if from >= end {
                    break;
                }
                log.sack(from, to.min(end), |segment, start| {
                    rack.arrived(segment, start, false, now);
                    if !segment.again {
                        rack.sacked_at = rack.sacked_at.min(segment.at);
                        rack.original |= segment.end <= point;
                    }
                });
                at = to;
            }
        }
        rack.note_reordering(una, config.mss);
        rack.adapt(now);
    }

    /// SACKs of an ACK of nothing new are an RTT sample; answers whether they restart the timer: those
    /// of data that was sent before the first segment was sent last (Linux's tcp_clean_rtx_queue).
    pub(super) fn sample_sacked(&mut self, config: &Config, now: Time) -> bool {
        let Some(extras) = &self.extras else { return false };
        let (sacked_at, first) = (extras.rack.sacked_at, extras.log.first());
        if sacked_at == Time::NEVER {
            return false;
        }
        let restarts = first.is_some_and(|first| sacked_at < first.at);
        self.take_sample(config, now.since(sacked_at));
        restarts
    }

    /// Looks for losses; answers whether a recovery begins with them.
    pub(super) fn detect(&mut self, config: &Config, now: Time) -> bool {
        let srtt = self.srtt();
        let (Some(extras), Some(loss)) = (&mut self.extras, &self.loss) else { return false };
        if !config.rack() {
            return false;
        }
        let Extras { log, rack, .. } = &mut **extras;
        let repairing = loss.phase != Phase::Disorder;
        let sacked = loss.left_the_network().div_ceil(config.mss as u64);
        let limit = rack.rtt + rack.patience(repairing, sacked, srtt);
        let latest = rack.latest;
        let (mut wait, before) = (Span::ZERO, log.lost());
        let mut losses = Losses::of(config);
        log.lose(|segment| {
            if segment.nth >= latest {
                // Segments sent once are in the order of time; later ones were sent after it.
                return if segment.again { Some(false) } else { None };
            }
            let age = now.since(segment.at);
            if age >= limit {
                losses.push(segment.end);
                return Some(true);
            }
            wait = wait.max(limit - age);
            Some(false)
        });
        (rack.wait, rack.found) = (wait, log.lost() > before);
        let begins = !repairing && log.lost() > 0;
        self.tell_losses(config, losses, now);
        begins
    }

    /// The wait for reordering is over.
    pub(super) fn on_reordering_timeout(&mut self, config: &Config, now: Time) {
        self.timeout_of_first(config, now);
        if self.detect(config, now) {
            self.begin_recovery(config);
            self.step_down(config, 1, false);
        }
        if let Some(extras) = &mut self.extras {
            extras.rack.wait = Span::ZERO;
        }
        if config.by_model {
            self.note_in_flight(config);
        }
    }

    /// After a timeout all is lost that was sent a round trip ago, and the first segment in any case.
    pub(super) fn lose_all(&mut self, config: &Config, now: Time) {
        let Some(extras) = &mut self.extras else { return };
        let Extras { log, rack, .. } = &mut **extras;
        // Segments younger than a round trip may still be on their way (RFC 8985, section 6.3).
        let first = log.first().map(|first| first.end);
        let mut losses = Losses::of(config);
        log.lose(|segment| {
            let lost = Some(segment.end) == first || now.since(segment.at) >= rack.rtt;
            if lost {
                losses.push(segment.end);
            }
            Some(lost)
        });
        rack.wait = Span::ZERO;
        self.tell_losses(config, losses, now);
    }

    /// The next segment while there is something to repair: what is lost, then new data.
    pub(super) fn poll_lost(&mut self, config: &Config, now: Time) -> Option<Segment> {
        let in_flight = self.in_flight(config);
        let (extras, loss) = (self.extras.as_mut()?, self.loss.as_mut()?);
        let first = std::mem::take(&mut loss.retransmit_first);
        let Some((start, len)) = extras.log.first_lost() else {
            return self.poll_new(config, in_flight, now);
        };
        if self.new_first() {
            let new = self.poll_new(config, in_flight, now);
            if new.is_some() || self.sent_new() {
                return new;
            }
        }
        if !first && in_flight + len > self.window.bytes(config) {
            return None;
        }
        self.note_again(now);
        Some(self.send_again(config, start, len, now))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_after_many_sacks_says_that_there_was_less_reordering() {
        let overtaken = Rack { highest: 10_001, overtaken: 3_001, ..Rack::default() };
        let after = |una, mss| {
            let mut rack = overtaken;
            rack.note_reordering(una, mss);
            rack
        };
        assert!(!overtaken.reorders_much());
        assert_eq!(after(1, 1000).reordering, 7);
        // With nothing SACKed any more the cumulative ACK is the highest.
        assert_eq!(after(13_001, 1000).reordering, 10);
        assert_eq!(after(1, 10).reordering, MOST);
        let mut rack = after(1, 1000);
        rack.overestimated(2);
        assert!(rack.reorders_much());
        rack.overestimated(3);
        assert_eq!(rack.reordering, ENOUGH);
    }
}
