//! Reductions of the window.
//!
//! After a cut the window comes down to the threshold, where it does not fall at once, by
//! Proportional Rate Reduction or by rate halving.
//!
//! PRR is RFC 9937's as Linux 6.x has it: a share ssthresh / prior of what arrives goes out again;
//! once less than the threshold is in flight, what arrives and, if the ACK is of new data and tells
//! of no further loss, a packet more. `prior` is the window, where the RFC has the data in flight.
//! The first packet is sent whatever comes of that. Rate halving is Linux 2.6's: a packet less every
//! second ACK, and at most a packet more than what is in flight.
//!
//! Needless ones are taken back as Linux 6.x does it (net/ipv4/tcp_input.c).
//!
//! A cut keeps what it cut: window, threshold, where the stream was, and what has been sent again since. It
//! is taken back (`tcp_undo_cwnd_reduction`) once an ACK shows that nothing was lost, in one of three ways.
//! - DSACK (RFC 2883): as much has come twice as was sent again (`tcp_try_undo_dsack`).
//! - Eifel (RFC 4015): an ACK of new data echoes a time stamp from before the first retransmission
//!   (`tcp_packet_delayed`). Linux's stamps count milliseconds, so that less than one is not seen.
//! - F-RTO (RFC 5682, with SACK): after a timeout, data arrives that was out then and was sent once. The
//!   ACK of the first retransmission lets new data out to see that (`tcp_process_loss`).
//!
//! Linux counts what came twice into what PRR lets out; that is left out here.

use super::extras::Extras;
use super::loss::Phase;
use super::sender::Sender;
use super::{Config, Segment};
use switchbed_scenario::transport;
use switchbed_units::{Span, Time};

/// Resolution of Linux's time stamps (`TCP_TS_HZ`).
const TICK: Span = Span::from_ms(1);

/// The last cut, with all that taking it back needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// SND.UNA at the cut; `None` once the cut is taken back or cannot be (`undo_marker`).
    marker: Option<u64>,
    /// Segments sent again since and not reported as twice; `None` before there is one
    /// (`undo_retrans`, -1).
    again: Option<u32>,
    /// When the first of them was sent; [`Time::NEVER`] before (`retrans_stamp`).
    first: Time,
    cwnd: f64,
    /// 0: the threshold stays (`prior_ssthresh`).
    ssthresh: f64,
    /// A timeout may have been needless (`frto`).
    watching: bool,
    /// New data goes out before what is taken for lost (`REXMIT_NEW`).
    new_first: bool,
}

impl Undo {
    /// When the first retransmission was sent, as a repair begins: an ACK of one that is still out, of the
    /// repair before, is no sign that nothing was lost (`tcp_retrans_stamp_cleanup`).
    fn first_again(before: Option<&Undo>, still_out: bool) -> Time {
        before.filter(|_| still_out).map_or(Time::NEVER, |undo| undo.first)
    }

    /// Whether an ACK of new data with this stamp is of data that was merely late.
    fn late(&self, stamp: Time) -> bool {
        let tick = |at: Time| at.as_ps() / TICK.as_ps();
        // Before the first retransmission, nothing but lateness can explain it.
        self.first == Time::NEVER || (stamp != Time::NEVER && tick(stamp) < tick(self.first))
    }
}

impl Sender {
    /// The window, and the threshold that a cut now would replace.
    pub(super) fn before_cut(&self) -> (f64, f64) {
        let ssthresh =
            if self.reducing() { self.window.ssthresh() } else { self.window.threshold() };
        (self.window.cwnd(), ssthresh)
    }

    /// A recovery begins; `cut`: window and threshold before, if it cuts them.
    pub(super) fn note_cut(&mut self, config: &Config, cut: Option<(f64, f64)>) {
        let una = self.una;
        let Some(extras) = self.extras.as_mut().filter(|_| config.undo) else { return };
        let out = extras.log.fates().retransmitted;
        let again = out > 0 || extras.log.first().is_some_and(|first| first.again);
        let probe = u32::from(extras.probe.is_some_and(|probe| probe.again));
        let (cwnd, ssthresh) = cut.unwrap_or((0.0, 0.0));
        extras.undo = Some(Box::new(Undo {
            marker: Some(una),
            again: Some(out + probe).filter(|&again| again > 0),
            first: Undo::first_again(extras.undo.as_deref(), again),
            cwnd,
            ssthresh,
            watching: false,
            new_first: false,
        }));
    }

    /// A timeout begins, or goes on with, the repair: F-RTO looks whether it was needless, unless a fast
    /// recovery was under way (RFC 5682, section 3.1, step 1).
    pub(super) fn watch_timeout(&mut self, watching: bool) {
        if let Some(undo) = self.undo() {
            (undo.watching, undo.new_first) = (watching, false);
        }
    }

    /// A segment is sent again in a repair.
    pub(super) fn note_again(&mut self, now: Time) {
        if let Some(undo) = self.undo() {
            undo.again = Some(undo.again.unwrap_or(0) + 1);
            undo.first = undo.first.min(now);
        }
    }

    /// A fast recovery has ended.
    pub(super) fn note_recovered(&mut self) {
        if let Some(extras) = &mut self.extras {
            extras.rack.recovered();
        }
    }

    fn undo(&mut self) -> Option<&mut Undo> {
        self.extras.as_mut()?.undo.as_deref_mut()
    }

    /// An ACK reports data that came twice, with the stream at `una` before it
    /// (`tcp_check_dsack`, `tcp_dsack_seen`).
    #[cold]
    pub(super) fn note_twice(&mut self, config: &Config, ack: &Segment, una: u64) {
        let retransmits = self.counters().retransmits;
        let (Some((from, to)), Some(extras)) = (ack.twice(), &mut self.extras) else { return };
        if from >= to || to > self.sent {
            return;
        }
        let packets = u32::try_from((to - from).div_ceil(config.mss.into())).unwrap_or(u32::MAX);
        extras.rack.twice = extras.rack.twice.saturating_add(packets);
        if extras.rack.twice > retransmits {
            // The network, not the sender, has doubled something.
            return;
        }
        let probe = extras.probe.filter(|probe| probe.again && packets == 1 && probe.end == to);
        if probe.is_some() {
            // Both of the probe's sendings have arrived.
            extras.probe = None;
        } else {
            extras.rack.overtook();
        }
        let above = if to > una { extras.log.again(from, to) } else { packets };
        if let Some(undo) = &mut extras.undo
            && undo.marker.is_some_and(|marker| to > marker)
        {
            undo.again = undo.again.map(|again| again.saturating_sub(above));
        }
    }

    /// Takes the last cut back if an ACK shows that it was needless; `advanced`: it is of new data. The
    /// log knows what it tells, the scoreboard does not yet.
    #[cold]
    pub(super) fn consider_undo(&mut self, config: &Config, ack: &Segment, advanced: bool) {
        let Some(undo) = self.undo().filter(|undo| undo.marker.is_some()) else { return };
        undo.new_first = false;
        let all_twice = undo.again == Some(0);
        let late = advanced && config.every_ack_timed && undo.late(ack.stamp);
        let watching = undo.watching;
        let Some(loss) = &self.loss else {
            return if all_twice {
                self.take_cut_back(config, false)
            };
        };
        let over = self.una >= loss.point;
        match loss.phase {
            Phase::Disorder if all_twice => self.take_cut_back(config, false),
            Phase::Disorder => {}
            Phase::Recovery if all_twice || (late && over) => self.take_cut_back(config, false),
            // A retransmission that is out may be what the receiver has had first (tcp_try_undo_partial).
            Phase::Recovery if late && self.retransmitted() == 0 => {
                self.take_cut_back(config, true)
            }
            Phase::Recovery => {}
            Phase::Holdoff if advanced && (all_twice || late) => self.take_cut_back(config, true),
            Phase::Holdoff if !watching => {}
            Phase::Holdoff if self.original_arrived() => self.take_cut_back(config, true),
            Phase::Holdoff => self.watch(config, ack, advanced),
        }
    }

    /// F-RTO's look at an ACK that tells of nothing that was out at the timeout and sent once.
    fn watch(&mut self, config: &Config, ack: &Segment, advanced: bool) {
        let (una, sent, new) = (self.una, self.sent, self.unsent().min(config.mss.into()));
        let space = new > 0 && self.takes(config, self.nxt + new);
        let Some(loss) = &mut self.loss else { return };
        let (mut watching, mut new_first) = (true, false);
        if sent > loss.point {
            // Step 3.a: what was sent since has overtaken the rest: that is lost.
            watching = advanced && ack.sack_blocks().is_empty();
        } else if advanced && una < loss.point {
            // Step 2.b: whether the rest arrives shows when new data does.
            loss.point = sent;
            (watching, new_first) = (space, space);
        }
        if let Some(undo) = self.undo() {
            (undo.watching, undo.new_first) = (watching, new_first);
        }
    }

    fn retransmitted(&self) -> u32 {
        self.extras.as_ref().map_or(0, |extras| extras.log.fates().retransmitted)
    }

    fn original_arrived(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.rack.original)
    }

    /// Window and threshold are as if the last cut had not been (`tcp_undo_cwnd_reduction`); `none_lost`:
    /// nothing is taken for lost any more either.
    fn take_cut_back(&mut self, config: &Config, none_lost: bool) {
        let Some(extras) = &mut self.extras else { return };
        let Some(undo) = extras.undo.as_deref_mut() else { return };
        (undo.marker, undo.watching) = (None, false);
        let (cwnd, ssthresh) = (undo.cwnd, undo.ssthresh);
        extras.reduction = None;
        if none_lost {
            extras.log.take_back();
        }
        if let Some(loss) = &mut self.loss {
            loss.take_back();
        }
        if ssthresh > 0.0 {
            match config.by_model {
                true => self.tell_undone(config),
                false => {
                    self.window.restore(cwnd, ssthresh);
                    self.tell_cut = false;
                }
            }
        }
        // The next loss or mark cuts again.
        self.cut_end = self.una;
        self.tally().counters.undone += 1;
    }

    /// Whether new data goes out before what is taken for lost.
    pub(super) fn new_first(&self) -> bool {
        let undo = self.extras.as_ref().and_then(|extras| extras.undo.as_deref());
        undo.is_some_and(|undo| undo.new_first)
    }

    /// New data has gone out since F-RTO asked for it; else the conventional repair goes on.
    pub(super) fn sent_new(&mut self) -> bool {
        if self.loss.as_ref().is_some_and(|loss| self.sent > loss.point) {
            return true;
        }
        self.watch_timeout(false);
        false
    }
}

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
        let space = ssthresh - in_flight as f64;
        let more = self.delivered.saturating_sub(self.sent);
        // RFC 6937, section 3: with more out than the threshold, sends in proportion to what arrives.
        // With less, sends as much as arrives, and a packet more where that is safe (slow start).
        let send = if space < 0.0 {
            (ssthresh * self.delivered as f64 / self.prior).ceil() - self.sent as f64
        } else {
            space.min((more.max(newly) + u64::from(safe)) as f64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmissions_of_the_repair_before_are_not_late() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let (marker, cwnd, ssthresh) = (Some(0), 10.0, 10.0);
        let (watching, new_first) = (false, false);
        let before =
            Undo { marker, again: Some(1), first: at(1_500), cwnd, ssthresh, watching, new_first };
        // One that was sent at 1.9 ms is still out as the next repair begins at 3.5 ms: its ACK echoes the
        // tick 1, as that of the first retransmission does.
        let first = Undo::first_again(Some(&before), true);
        assert!(!Undo { first, ..before }.late(at(1_900)));
        // An ACK of what was sent before all of them is late.
        assert!(Undo { first, ..before }.late(at(900)));
        // None is out any more.
        assert_eq!(Undo::first_again(Some(&before), false), Time::NEVER);
        assert_eq!(Undo::first_again(None, true), Time::NEVER);
    }
}
