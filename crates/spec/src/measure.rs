//! What a run writes down, and when it ends.

use serde::Serialize;
use switchbed_qdisc::units::{Bytes, Span};

/// Measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// Flows that start before this do not count, nor do queues before it.
    pub warmup: Span,
    /// What ends a flow.
    pub fct_end: FctEnd,
    /// Flows up to this size are small.
    pub small: Bytes,
    /// Flows over this size are large.
    pub large: Bytes,
    /// Queue lengths.
    pub queues: QueueProbe,
    /// Interval of the queue series; `None`: no series.
    pub series_every: Option<Span>,
}

/// What ends a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FctEnd {
    /// The last byte's ACK reaches the sender.
    Acked,
    /// The last byte reaches the receiver.
    Received,
}

/// Which ports' queue lengths are measured (time-weighted mean, percentiles, maximum).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum QueueProbe {
    /// None.
    Off,
    /// Every switch port.
    All,
    /// The ports named, as `leaf0:3` (switch name, port number) or `host2` (its NIC).
    Ports(Vec<String>),
}

/// Seed and end of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Everything random follows from it.
    pub seed: u64,
    /// Stop at this time even if flows have not finished. Needed where flows never end.
    pub until: Option<Span>,
    /// The ECMP key is the flow's row, so that paths pair between runs whose connections differ.
    pub ecmp_by_row: bool,
}
