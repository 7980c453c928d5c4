//! What a run writes down, and when it ends.

use crate::monitors::{self, Monitors};
use crate::param::{Param, ParamKind, Section};
use serde::{Serialize, Serializer};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_every: Option<Span>,
    /// What flows met of those over this size; `None`: not worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub giant: Option<Bytes>,
    /// Interval of the goodput's series; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_every: Option<Span>,
    /// What is looked at more closely.
    #[serde(flatten)]
    pub monitors: Monitors,
    /// Ports and hosts whose packets are written down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capture: Vec<String>,
    /// Most packets that are written down of a port.
    pub capture_packets: u64,
    /// Most rows of a table that grows as long as a run lasts.
    pub samples: u64,
}

/// `[measure]`.
pub const MEASURE: Section = Section {
    name: "measure",
    repeated: false,
    doc: "What is written down.",
    keys: &[
        Param::with_default(
            "warmup",
            ParamKind::Time,
            "0us",
            "Flows that start before this do not count, nor do queues before it.",
        ),
        Param::with_default(
            "fct_end",
            ParamKind::Word(&["acked", "received"]),
            "acked",
            "What ends a flow. acked: its last byte's ACK reaches the sender. received: its \
             last byte reaches the receiver.",
        ),
        Param::with_default(
            "small",
            ParamKind::Size,
            "100KB",
            "Flows up to this size are small, those between small and large are medium.",
        ),
        Param::with_default("large", ParamKind::Size, "10MB", "Flows over this size are large."),
        Param::with_default(
            "queues",
            ParamKind::Either(&[
                ParamKind::Word(&["off", "all"]),
                ParamKind::List(&ParamKind::Text),
            ]),
            "all",
            "Whose queue lengths are measured. all: every switch port. off: none. Or a list \
             of ports: \"leaf0:3\" is a switch and its port's number, \"host2\" that host's \
             network card. A star's switch is called switch; a dumbbell's are left and \
             right, and their port 0 leads to the other; a leaf's ports are its hosts', \
             then the spines'.",
        ),
        Param::optional(
            "series_every",
            ParamKind::Time,
            "Interval of the queue lengths' time series. Default: no series.",
        ),
        Param::optional(
            "giant",
            ParamKind::Size,
            "Each flow is labelled by what it met of the flows over this size (the CQRD paper's: \
             1MB): one on a path, a switch's input and output; else one at an output; or nothing. \
             Default: no labels.",
        ),
        Param::optional(
            "goodput_every",
            ParamKind::Time,
            "Interval over which each class's goodput is averaged, from the start of the run \
             on. Default: no such table.",
        ),
        monitors::CHANGES,
        monitors::BURSTS,
        monitors::CONVERGENCE,
        monitors::UNDERFLOW,
        Param::with_default(
            "capture",
            ParamKind::List(&ParamKind::Text),
            "[]",
            "Ports and hosts whose packets a result directory has as pcapng files: what a \
             port such as \"leaf0:3\" sends, or what a host such as \"host2\" sends and \
             receives.",
        ),
        Param::with_default(
            "capture_packets",
            ParamKind::Count { min: 1, max: 1_000_000_000 },
            "1000000",
            "The first so many packets of each captured port are kept; docs/performance.md has \
             the memory that one takes.",
        ),
        Param::with_default(
            "samples",
            ParamKind::Count { min: 1, max: 1_000_000_000_000 },
            "10000000",
            "Most rows of each of the tables series, goodput, probes, changes and rates, which \
             are in memory until the run ends. One that is full ends there, with a warning; the \
             run goes on.",
        ),
    ],
};

/// `[run]`.
pub const RUN: Section = Section {
    name: "run",
    repeated: false,
    doc: "Seed and end of a run.",
    keys: &[
        Param::with_default(
            "seed",
            ParamKind::Count { min: 0, max: i64::MAX as u64 },
            "1",
            "Everything random follows from it.",
        ),
        Param::optional(
            "until",
            ParamKind::Time,
            "Stop then even if flows have not finished; needed where flows never end. \
             Default: run until the last flow has finished.",
        ),
        Param::with_default(
            "ecmp_by_row",
            ParamKind::Flag,
            "false",
            "Paths are drawn by a flow's number instead of its connection, so that a flow \
             takes the same path in every run that is compared.",
        ),
    ],
};

/// What ends a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FctEnd {
    /// The last byte's ACK reaches the sender.
    Acked,
    /// The last byte reaches the receiver.
    Received,
}

/// Which ports' queue lengths are measured (time-weighted mean, percentiles, maximum).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueProbe {
    /// None.
    Off,
    /// Every switch port.
    All,
    /// The ports named, as `leaf0:3` (switch name, port number) or `host2` (its NIC).
    Ports(Vec<String>),
}

impl Serialize for QueueProbe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            QueueProbe::Off => serializer.serialize_str("off"),
            QueueProbe::All => serializer.serialize_str("all"),
            QueueProbe::Ports(ports) => ports.serialize(serializer),
        }
    }
}

/// Seed and end of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Everything random follows from it.
    pub seed: u64,
    /// Stop at this time even if flows have not finished. Needed where flows never end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Span>,
    /// The ECMP key is the flow's row, so that paths pair between runs whose connections differ.
    pub ecmp_by_row: bool,
}
