//! State of a sender where a setting asks for more than RFC 5681 and 6675 have. Other senders do
//! not carry it along.

use super::accurate::Heard;
use super::growth::Growth;
use super::output::{Lso, Output};
use super::plb::Plb;
use super::rack::{Probe, Rack};
use super::rate::Deliveries;
use super::reduction::{Reduction, Undo};
use super::sender::Sender;
use super::sent::SentLog;
use super::{Config, Flags, Segment};
use switchbed_scenario::transport;
use switchbed_units::{Span, Time};

/// Event that a sender's deadline is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Timer {
    #[default]
    Retransmission,
    /// Segments that may only have been overtaken.
    Reordering,
    /// The time of a tail loss probe.
    Probe,
    EarlyRetransmit,
}

/// State of a connection with such settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    /// Bytes that the receiver has reported: acknowledged, SACKed, or counted by duplicate ACKs.
    pub(super) delivered: u64,
    /// Bytes of these that the last ACK reported first.
    pub(super) newly: u64,
    /// The receiver takes all before, where it opens its window.
    pub(super) offered: u64,
    /// The window is on its way down.
    pub(super) reduction: Option<Reduction>,
    /// Feedback of accurate ECN.
    pub(super) heard: Heard,
    /// Growth of the window.
    pub(super) growth: Growth,
    /// Large segment offload.
    pub(super) lso: Lso,
    /// State of the card's queue, as the sender knows it.
    pub(super) output: Output,
    /// The segments that are out, where a setting needs to know.
    pub(super) log: SentLog,
    pub(super) rack: Rack,
    /// The tail loss probe that is out.
    pub(super) probe: Option<Probe>,
    /// The last cut, where it can be taken back.
    pub(super) undo: Option<Box<Undo>>,
    /// Event that the sender's deadline is for.
    pub(super) timer: Timer,
    /// Delivery-rate samples, where the control asks for them.
    pub(super) rates: Option<Box<Deliveries>>,
    /// Protective load balancing.
    pub(super) plb: Plb,
    /// The last round trip that was measured, where somebody asks for them.
    pub(super) rtt: Option<Span>,
}

impl Extras {
    pub(super) fn new(config: &Config) -> Option<Box<Extras>> {
        let offered = config.initial_receive_bytes.into();
        let rates = config.by_model.then(|| Box::new(Deliveries::new(config)));
        config.extends().then(|| Box::new(Extras { offered, rates, ..Extras::default() }))
    }
}

impl Config {
    /// Whether connections need such state.
    pub(crate) fn extends(&self) -> bool {
        self.lso_max > 0
            || self.accurate
            || self.shapes
            || self.opens
            || self.plb
            || self.tells_rtts
            || self.by_model
            || Growth::needed(self)
            || self.reduction != transport::Reduction::AtOnce
            || self.early_retransmit != transport::EarlyRetransmit::Off
            || self.logs()
    }
}

impl Sender {
    /// Whether the receiver takes what ends at `end`.
    #[inline(always)]
    pub(super) fn takes(&self, config: &Config, end: u64) -> bool {
        end - self.una <= config.receive_bytes && (!config.opens || self.opened(end))
    }

    #[cold]
    fn opened(&self, end: u64) -> bool {
        self.extras.as_ref().is_none_or(|extras| end <= extras.offered)
    }

    /// An ACK tells what the receiver takes.
    pub(super) fn note_offer(&mut self, config: &Config, ack: &Segment) {
        if let (true, Some(extras)) = (config.opens, &mut self.extras) {
            // The `len` of an ACK is the window that it offers.
            extras.offered = extras.offered.max(ack.offset + u64::from(ack.len));
        }
    }

    /// The peer takes all before `edge`, and nothing beyond.
    pub fn offer(&mut self, edge: u64) {
        if let Some(extras) = &mut self.extras {
            extras.offered = edge;
        }
    }

    /// A segment goes out.
    pub(super) fn note_sent(&mut self, config: &Config, segment: &Segment, now: Time) {
        let Some(extras) = &mut self.extras else { return };
        if let Some(reduction) = &mut extras.reduction {
            reduction.sent();
        }
        if config.logs() {
            self.log_sent(config, segment, now);
        }
        if config.by_model {
            self.note_departure(config, segment, now);
        }
    }

    /// Takes a segment that goes out into the log.
    fn log_sent(&mut self, config: &Config, segment: &Segment, now: Time) {
        let Some(extras) = &mut self.extras else { return };
        let end = segment.offset + u64::from(segment.len);
        if !segment.flags.contains(Flags::RETRANSMIT) {
            extras.log.push(end, now);
            self.choose_timer_of_sent(config, now);
            return;
        }
        extras.log.resend(segment.offset, end, now);
        // The first segment's retransmission starts the timer anew (Linux).
        if segment.offset == self.una && extras.timer != Timer::Reordering {
            extras.timer = Timer::Retransmission;
            self.deadline = now + self.rto(config);
        }
    }
}
