//! What a run writes down, and when it ends.

use crate::monitors::{Monitors, PortNames};
use crate::param::{Field, PORTS, ParamKind, Params, Section, Value};
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_qdisc::{params, words};

params! {
    /// Measurement.
    pub struct Measure {
        /// Flows that start before this do not count, nor do queues before it.
        warmup: Span = "0us";
        /// What ends a flow. acked: its last byte's ACK reaches the sender. received: its
        /// last byte reaches the receiver.
        fct_end: FctEnd = "acked";
        /// Flows up to this size are small, those between small and large are medium.
        small: Bytes = "100KB";
        /// Flows over this size are large.
        large: Bytes = "10MB";
        /// Whose queue lengths are measured. all: every switch port. off: none. Or a list
        /// of ports: "leaf0:3" is a switch and its port's number, "host2" that host's
        /// network card. A star's switch is called switch; a dumbbell's are left and
        /// right, and their port 0 leads to the other; a leaf's ports are its hosts',
        /// then the spines'.
        queues: QueueProbe = "all";
        /// Interval of the queue lengths' time series. Default: no series.
        series_every: Option<Span>;
        /// Each flow is labelled by what it met of the flows over this size (the CQRD paper's:
        /// 1MB): one on a path, a switch's input and output; else one at an output; or nothing.
        /// Default: no labels.
        giant: Option<Bytes>;
        /// Interval over which each class's goodput is averaged, from the start of the run
        /// on. Default: no such table.
        goodput_every: Option<Span>;
        /// What is looked at more closely.
        monitors: Monitors;
        /// Ports and hosts whose packets a result directory has as pcapng files: what a
        /// port such as "leaf0:3" sends, or what a host such as "host2" sends and
        /// receives.
        capture: PortNames = "[]";
        /// The first so many packets of each captured port are kept; docs/performance.md has
        /// the memory that one takes.
        capture_packets: u64 = "1000000" as count(1, 1_000_000_000);
        /// Most rows of each of the tables series, goodput, probes, changes and rates, which
        /// are in memory until the run ends. One that is full ends there, with a warning; the
        /// run goes on.
        samples: u64 = "10000000" as count(1, 1_000_000_000_000);
    }
}

/// `[measure]`.
pub const MEASURE: Section = Section {
    name: "measure",
    repeated: false,
    doc: "What is written down.",
    keys: Measure::TABLE,
};

words! {
    /// What ends a flow.
    pub enum FctEnd {
        /// The last byte's ACK reaches the sender.
        Acked = "acked",
        /// The last byte reaches the receiver.
        Received = "received",
    }
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

impl Field for QueueProbe {
    const KIND: ParamKind = ParamKind::Either(&[ParamKind::Word(&["off", "all"]), PORTS]);
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word(word) if word == "off" => Some(QueueProbe::Off),
            Value::Word(_) => Some(QueueProbe::All),
            ports => Vec::from_value(ports).map(QueueProbe::Ports),
        }
    }
    fn to_value(&self) -> Option<Value> {
        match self {
            QueueProbe::Off => Some(Value::Word("off".to_owned())),
            QueueProbe::All => Some(Value::Word("all".to_owned())),
            QueueProbe::Ports(ports) => ports.to_value(),
        }
    }
}

params! {
    /// Seed and end of a run.
    pub struct Run {
        /// Everything random follows from it.
        seed: u64 = "1" as count(0, i64::MAX as u64);
        /// Stop then even if flows have not finished; needed where flows never end.
        /// Default: run until the last flow has finished.
        until: Option<Span>;
        /// Paths are drawn by a flow's number instead of its connection, so that a flow
        /// takes the same path in every run that is compared.
        ecmp_by_row: bool = "false";
    }
}

/// `[run]`.
pub const RUN: Section =
    Section { name: "run", repeated: false, doc: "Seed and end of a run.", keys: Run::TABLE };
