//! `[measure]`: what a run writes down.

pub mod monitors;

use crate::run::FctEnd;
use crate::run::Run;
use crate::topology::graph::Graph;
use crate::topology::ports::PORTS;
pub use monitors::*;
use std::ops::Deref;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, ParamKind, Params, SectionSpec, Value};
use switchbed_config::params;
use switchbed_config::section::Section;
use switchbed_units::{Bytes, Span};

params! {
    /// Measurement.
    pub struct Measure {
        /// Flows that start before this do not count, nor do queues before it.
        warmup: Span = "0us";
        /// Event that ends a flow. acked: its last byte's ACK reaches the sender. received: its
        /// last byte reaches the receiver.
        fct_end: FctEnd = "acked";
        /// Flows up to this size are small, those between small and large are medium.
        small: Bytes = "100KB";
        /// Flows over this size are large.
        large: Bytes = "10MB";
        /// Ports whose queue lengths are measured. all: every switch port. off: none. Or a list of
        /// ports: "leaf0:3" is a switch and its port's number, "host2" that host's network card. A
        /// star's switch is called switch; a dumbbell's are left and right, and their port 0 leads
        /// to the other; a leaf's ports are its hosts', then the spines'.
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
        /// Whether each operation of collectives and schedules is written down: the table operations.
        /// Default: false.
        operations: Option<bool>;
        /// Monitors that the scenario asks for.
        monitors: Monitors;
        /// Ports and hosts whose packets a result directory has as pcapng files: what a
        /// port such as "leaf0:3" sends, or what a host such as "host2" sends and
        /// receives.
        capture: PortNames = "[]";
        /// The first so many packets of each captured port are kept; docs/performance.md has
        /// the memory that one takes.
        capture_packets: u64 = "1000000" as count(1, 1_000_000_000);
        /// Most rows of each of the tables series, goodput, probes, changes, rates, flow_series, waits and operations,
        /// which are in memory until the run ends. One that is full ends there, with a warning; the
        /// run goes on.
        samples: u64 = "10000000" as count(1, 1_000_000_000_000);
    }
}

/// `[measure]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "measure",
    repeated: false,
    doc: "What is written down.",
    keys: Measure::TABLE,
};

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

/// Ports by name; none where it is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortNames(pub Vec<String>);

impl Deref for PortNames {
    type Target = Vec<String>;
    fn deref(&self) -> &Vec<String> {
        &self.0
    }
}

impl Field for PortNames {
    const KIND: ParamKind = PORTS;
    const OPTIONAL: bool = true;
    fn from_value(value: Value) -> Option<Self> {
        Vec::from_value(value).map(PortNames)
    }
    fn to_value(&self) -> Option<Value> {
        // An empty list is left out of the written scenario.
        (!self.is_empty()).then(|| self.0.to_value())?
    }
    fn left_out() -> Option<Self> {
        Some(PortNames::default())
    }
}

/// The section as a file has it; `traffic` is the number of entries of traffic.
pub(crate) fn resolve(
    section: Section<'_>,
    (run, traffic): (&Run, usize),
    graph: &Graph,
) -> Result<Measure, Mistake> {
    let section = section.on(graph);
    let measure = Measure::from_values(&mut section.values()?);
    let Measure { warmup, small, large, series_every, goodput_every, .. } = measure;
    // Nothing would be left to measure.
    if let Some(until) = run.until
        && warmup >= until
    {
        return Err(
            section.refuse(Measure::KEY.warmup, format!("it must be less than run.until, {until}"))
        );
    }
    if small > large {
        return Err(section
            .refuse(Measure::KEY.small, format!("it must be at most measure.large, {large}")));
    }
    if series_every == Some(Span::ZERO) {
        return Err(section.refuse(Measure::KEY.series_every, "an interval is longer than 0"));
    }
    if series_every.is_some() && measure.queues == QueueProbe::Off {
        return Err(
            section.refuse(Measure::KEY.series_every, "with queues = \"off\" there is no series")
        );
    }
    if goodput_every == Some(Span::ZERO) {
        return Err(section.refuse(Measure::KEY.goodput_every, "an interval is longer than 0"));
    }
    measure.monitors.check(run, traffic).map_err(|(monitor, unfit)| {
        match section.inner(monitor) {
            Ok(Some(inner)) => inner.unfit(unfit),
            Ok(None) => section.refuse(monitor, unfit.why),
            Err(mistake) => mistake,
        }
    })?;
    Ok(measure)
}
