//! State of a sender while segments are missing: the scoreboard and the phase of the repair. Kept
//! apart because most connections have none of it most of the time.
//!
//! With SACK this is RFC 6675 (its names in capitals below), without it NewReno
//! (RFC 6582): there, each duplicate ACK says that one packet has left the network.
//!
//! Early retransmit (RFC 5827): where fewer than four segments are out and nothing new can be sent,
//! three duplicate ACKs cannot come; SACKs of all segments but one do. Linux 3.5 to 4.x waits for a
//! quarter of a round trip, lest reordering is taken for a loss, and for 2 ms at least.

use super::config::Patience;
use super::extras::Timer;
use super::sender::Sender;
use super::{Config, Segment};
use crate::transport::ranges::Ranges;
use switchbed_scenario::transport::{EarlyRetransmit, LossDetection};
use switchbed_units::{Span, Time};

/// Duplicate ACKs that make a loss (RFC 5681).
const DUP_THRESH: u32 = 3;

/// How a repair stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Something is out of order, lost or late.
    Disorder,
    /// Fast recovery, until `point` is acknowledged.
    Recovery,
    /// No fast recovery begins before `point` is acknowledged: a timeout was, or, without
    /// SACK, a recovery that may still cause duplicate ACKs.
    Holdoff,
}

/// The repair of one connection's losses.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub(super) phase: Phase,
    /// RecoveryPoint: what was sent when the phase began.
    pub(super) point: u64,
    /// HighRxt: all that is missing below it has been sent again in this recovery.
    pub(super) high_rxt: u64,
    /// The first missing segment is to be sent again whatever the window says.
    pub(super) retransmit_first: bool,
    /// A tail loss probe is to be sent whatever the window says.
    pub(super) probe: bool,
    /// Where the last timeout found the stream, if it was in this repair.
    timeout_at: Option<u64>,
    /// The first timeout that found it there, and how many have.
    since: Time,
    timeouts: u32,
    /// A partial ACK has come in this recovery; another one after it.
    partial: bool,
    pub(super) repeated_partial: bool,
    dup_acks: u32,
    /// Data that the receiver holds beyond the cumulative ACK, by SACK.
    sacked: Ranges,
    /// NewReno: bytes that have left the network by the number of duplicate ACKs.
    left: u64,
}

impl Loss {
    pub(super) fn new() -> Loss {
        Loss {
            phase: Phase::Disorder,
            point: 0,
            high_rxt: 0,
            retransmit_first: false,
            probe: false,
            timeout_at: None,
            since: Time::NEVER,
            timeouts: 0,
            partial: false,
            repeated_partial: false,
            dup_acks: 0,
            sacked: Ranges::default(),
            left: 0,
        }
    }

    /// Takes in the SACK blocks of `ack`; returns whether they reported something new.
    pub(super) fn record(&mut self, ack: &Segment, una: u64) -> bool {
        let mut new = 0;
        for block in ack.sack_blocks() {
            let start = (ack.offset + block.start as u64).max(una);
            let end = ack.offset + block.end as u64;
            if start < end {
                new += self.sacked.insert(start, end);
            }
        }
        new > 0
    }

    /// A duplicate ACK.
    pub(super) fn duplicate(&mut self, config: &Config) {
        self.dup_acks += 1;
        // Without SACK each duplicate ACK stands for a packet that has left (RFC 5681, section 3.2). After
        // a timeout they may answer segments sent twice.
        if !config.sack() && self.phase != Phase::Holdoff {
            self.left += config.mss as u64;
        }
    }

    /// Whether the segment at `una` is now taken for lost, so that recovery begins; with RACK that is
    /// for its log to say.
    pub(super) fn found(&self, config: &Config, una: u64) -> bool {
        self.phase == Phase::Disorder
            && !config.rack()
            && (self.dup_acks >= DUP_THRESH || self.lost_below(config) > una)
    }

    /// Begins fast recovery with data from `una` out, until `point` is acknowledged.
    pub(super) fn begin_recovery(&mut self, una: u64, point: u64) {
        self.phase = Phase::Recovery;
        self.point = point;
        self.high_rxt = una;
        self.retransmit_first = true;
        (self.partial, self.repeated_partial) = (false, false);
    }

    /// A timeout with data from `una` to `sent` out; answers whether it is the first one
    /// for the segment at `una`.
    pub(super) fn timeout(&mut self, una: u64, sent: u64, now: Time) -> bool {
        // A timeout at another byte is another loss, whose patience begins anew.
        let first = self.timeout_at != Some(una);
        if first {
            (self.timeout_at, self.since, self.timeouts) = (Some(una), now, 0);
        }
        self.timeouts += 1;
        (self.partial, self.repeated_partial) = (false, false);
        self.phase = Phase::Holdoff;
        self.point = sent;
        self.retransmit_first = false;
        (self.dup_acks, self.left) = (0, 0);
        first
    }

    /// Whether a timeout has begun the phase that it is in.
    pub(super) fn timed_out(&self) -> bool {
        self.phase == Phase::Holdoff && self.timeout_at.is_some()
    }

    /// Nothing is taken for lost any more: the repair was needless.
    pub(super) fn take_back(&mut self) {
        (self.phase, self.retransmit_first, self.timeout_at) = (Phase::Disorder, false, None);
    }

    /// Whether the peer has dropped data that it had SACKed: it acknowledges less (RFC 2018,
    /// section 8).
    pub(super) fn reneged(&self, una: u64) -> bool {
        self.sacked.iter().next().is_some_and(|(start, _)| start <= una)
    }

    /// Nothing is SACKed any more.
    pub(super) fn forget_sacks(&mut self) {
        self.sacked = Ranges::default();
    }

    /// Timeouts that have found the stream at `una`.
    pub(super) fn timeouts_at(&self, una: u64) -> u32 {
        if self.timeout_at == Some(una) { self.timeouts } else { 0 }
    }

    /// Whether a timeout now, with data from `una` out, is the last that is waited for.
    pub(super) fn gives_up(&self, patience: Patience, una: u64, now: Time) -> bool {
        let again = self.timeout_at == Some(una);
        match patience {
            Patience::Endless => false,
            Patience::Timeouts(most) => again && self.timeouts >= most,
            Patience::Time(most) => again && now.since(self.since) >= most,
        }
    }

    /// An ACK of `acked` new bytes, up to `una`.
    pub(super) fn advance(&mut self, config: &Config, acked: u64, una: u64) {
        self.sacked.remove_below(una);
        self.dup_acks = 0;
        if self.phase == Phase::Recovery {
            self.repeated_partial = std::mem::replace(&mut self.partial, true) && una < self.point;
        }
        match self.phase {
            Phase::Disorder => self.left = 0,
            Phase::Recovery if una >= self.point => {
                // Without SACK, duplicate ACKs at `point` itself may come from segments
                // sent twice (RFC 6582, section 3.2).
                self.phase = if config.sack() { Phase::Disorder } else { Phase::Holdoff };
                (self.left, self.retransmit_first) = (0, false);
            }
            Phase::Recovery if config.sack() => self.high_rxt = self.high_rxt.max(una),
            Phase::Recovery => {
                // A partial ACK: the next segment is missing too; the window deflates by
                // what was acknowledged less one packet.
                let mss = config.mss as u64;
                let deflated = self.left.saturating_sub(acked);
                self.left = deflated + if acked >= mss { mss } else { 0 };
                self.retransmit_first = true;
            }
            Phase::Holdoff => {}
        }
        // NewReno waits for an ACK beyond `point`, since one at it may answer a segment sent twice
        // (RFC 6582, section 3.2).
        let beyond = if config.sack() { una >= self.point } else { una > self.point };
        if self.phase == Phase::Holdoff && beyond {
            self.phase = Phase::Disorder;
        }
    }

    /// Whether nothing is left to remember.
    pub(super) fn over(&self) -> bool {
        self.phase == Phase::Disorder && self.dup_acks == 0 && self.sacked.is_empty() && !self.probe
    }

    /// The bytes between `una` and `next` thought to be in the network: RFC 6675's pipe in
    /// its recovery, else what neither SACK nor duplicate ACKs have accounted for.
    pub(super) fn in_flight(&self, config: &Config, una: u64, next: u64) -> u64 {
        let out = next - una;
        if self.phase == Phase::Disorder && !config.limited_transmit {
            return out;
        }
        if self.phase != Phase::Recovery || !config.sack() || config.rack() {
            return out.saturating_sub(self.sacked.bytes_below(next) + self.left);
        }
        // Segments taken for lost are no longer in the network; segments sent again are there once more.
        let lost = match config.lost_in_flight {
            false => self.missing(una, self.lost_below(config).max(una)),
            true => 0,
        };
        out - self.sacked.bytes_below(next) - lost + self.missing(una, self.high_rxt)
    }

    /// Missing bytes from `start` up to `end`.
    pub(super) fn missing(&self, start: u64, end: u64) -> u64 {
        end - start - (self.sacked.bytes_below(end) - self.sacked.bytes_below(start))
    }

    /// Bytes beyond the cumulative ACK that have left the network, by SACK or duplicate ACKs.
    pub(super) fn left_the_network(&self) -> u64 {
        self.sacked.bytes() + self.left
    }

    /// Whether what is in flight counts a retransmission that is still to come: NewReno never takes
    /// the lost segment out.
    pub(super) fn counts_first(&self, config: &Config) -> bool {
        self.retransmit_first && !config.sack()
    }

    /// Returns the offset below which missing data counts as lost (IsLost). Three blocks, or more
    /// than two segments' bytes, have been SACKed above it. With FACK, the highest SACKed byte is
    /// three segments above. 0: nothing counts as lost.
    pub(super) fn lost_below(&self, config: &Config) -> u64 {
        if config.loss_detection == LossDetection::Fack {
            return self.sacked_end().saturating_sub(DUP_THRESH as u64 * config.mss as u64);
        }
        let (mut blocks, mut bytes) = (0, 0);
        for (start, end) in self.sacked.iter().rev() {
            blocks += 1;
            bytes += end - start;
            if blocks >= DUP_THRESH || bytes > (DUP_THRESH as u64 - 1) * config.mss as u64 {
                return start;
            }
        }
        0
    }

    /// The first missing bytes from `offset` up: start and end.
    pub(super) fn missing_from(&self, offset: u64) -> (u64, u64) {
        self.sacked.gap_from(offset)
    }

    /// Returns the data that the receiver holds beyond the cumulative ACK.
    pub(super) fn sacked(&self) -> &Ranges {
        &self.sacked
    }

    /// The end of the highest SACKed block, or 0.
    pub(super) fn sacked_end(&self) -> u64 {
        self.sacked.end().unwrap_or(0)
    }
}

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
