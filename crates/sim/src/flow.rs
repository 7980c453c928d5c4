//! Record of a flow as it ends, or as the run does.

use crate::ids::HostId;
use crate::transport::Waits;
use switchbed_scenario::traffic::FlowStart;
use switchbed_units::{Bytes, Time};

/// Endless flows write so much.
// More than any run sends, and far enough from 2⁶⁴ that offsets beyond it do not overflow.
pub(crate) const ENDLESS: u64 = 1 << 60;

/// A flow's record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// Number in the order of starts, or row in the list it came from.
    pub row: u64,
    /// Index of its source among the scenario's traffic, from 0.
    pub traffic: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Class.
    pub class: u8,
    /// The ECMP key of its data.
    pub key: u32,
    /// Payload; `None` for a flow that sends as long as it runs.
    pub size: Option<Bytes>,
    /// When the application wrote it.
    pub start: Time,
    /// When it ended (see [`switchbed_scenario::FctEnd`]); `None` if it had not.
    pub end: Option<Time>,
    /// Payload of the request for it; `None`: it came unasked.
    pub request: Option<Bytes>,
    /// Payload that its receiver has taken since the warm-up ended.
    pub received: Bytes,
    /// Retransmission timeouts and probes before the first RTT sample since the warm-up ended, its
    /// request's too, up to when its sender knew of its end.
    pub timeouts: u32,
    /// Timers that its sender waited for, its request's too, of waits that ended since the warm-up did.
    pub waits: Waits,
    /// When its connection gave up; it has no end then.
    pub failed: Option<Time>,
    /// Segments sent again since the warm-up ended, its request's too.
    pub retransmissions: u32,
    /// Window cuts for marks since then, its request's too.
    pub ecn_cuts: u32,
    /// Whether it opened its connection with a handshake.
    pub handshake: bool,
    /// Whether its connection has no ECN, though its settings ask for it: a SYN was sent again.
    pub without_ecn: bool,
}

/// Counters of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    waits: Waits,
    retransmissions: u32,
    ecn_cuts: u32,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.waits = self.waits.with(&other.waits);
        self.retransmissions += other.retransmissions;
        self.ecn_cuts += other.ecn_cuts;
    }
}

impl FlowRecord {
    /// Whether it is one of the flows of a run whose warm-up ended at a time: it started after that, or it
    /// sends as long as it runs and was not over.
    pub fn counts_since(&self, warmed_at: Time) -> bool {
        match self.size {
            Some(_) => self.start >= warmed_at,
            None => !self.ended_by(warmed_at) || self.start >= warmed_at,
        }
    }

    /// Takes off what it had counted by another time.
    pub(crate) fn without(&mut self, before: &Counts) {
        // An answer's counts are its asker's only once it is through.
        self.waits = self.waits.since(&before.waits);
        self.timeouts = self.waits.timeouts();
        self.retransmissions = self.retransmissions.saturating_sub(before.retransmissions);
        self.ecn_cuts = self.ecn_cuts.saturating_sub(before.ecn_cuts);
    }

    /// Returns the flow's counters.
    pub(crate) fn counts(&self) -> Counts {
        let FlowRecord { waits, retransmissions, ecn_cuts, .. } = *self;
        Counts { waits, retransmissions, ecn_cuts }
    }

    /// Forgets what it counted: that was before the warm-up ended.
    pub fn forget(&mut self) {
        self.received = Bytes::ZERO;
        self.without(&self.counts());
    }

    /// Whether it was over by then: it had ended, or its connection had given up.
    pub fn ended_by(&self, time: Time) -> bool {
        self.end.or(self.failed).is_some_and(|over| over <= time)
    }

    /// Makes the record of a flow that starts.
    pub(crate) fn starting(flow: &FlowStart) -> FlowRecord {
        FlowRecord {
            row: flow.list_row.unwrap_or(flow.row),
            traffic: flow.traffic,
            src: flow.src,
            dst: flow.dst,
            class: flow.class,
            key: 0,
            size: flow.size,
            start: flow.start,
            end: None,
            request: None,
            received: Bytes::ZERO,
            timeouts: 0,
            waits: Waits::default(),
            failed: None,
            retransmissions: 0,
            ecn_cuts: 0,
            handshake: false,
            without_ecn: false,
        }
    }
}
