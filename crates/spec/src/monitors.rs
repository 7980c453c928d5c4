//! Monitors: what a run looks at more closely where a scenario asks for it, in `[measure]`.

use crate::param::{Param, ParamKind};
use serde::Serialize;
use switchbed_qdisc::units::Span;

/// The monitors of a scenario; none of them unless it asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Monitors {
    /// Queue lengths at every change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The longest queue after each burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// How soon flows get their share of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
    /// Ports whose idle time is counted while senders have data for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub underflow: Vec<String>,
}

impl Monitors {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Monitors::default()
    }

    /// The ports whose queues or lines they watch, some perhaps more than once.
    pub fn ports(&self) -> impl Iterator<Item = &String> {
        let changes = self.changes.iter().flat_map(|changes| &changes.ports);
        let bursts = self.bursts.iter().flat_map(|bursts| &bursts.ports);
        changes.chain(bursts).chain(&self.underflow)
    }
}

/// Queue lengths at every change within a window of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Ports, as in [`crate::QueueProbe::Ports`].
    pub ports: Vec<String>,
    /// The window's beginning.
    pub from: Span,
    /// Its end.
    pub until: Span,
    /// What a slope is taken over; `None`: no slopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slope_over: Option<Span>,
}

/// The longest queues after bursts, which begin with the start of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bursts {
    /// Ports.
    pub ports: Vec<String>,
    /// A flow that starts so long after the one before begins a burst.
    pub apart: Span,
}

/// Convergence of the flows over a port to equal rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Convergence {
    /// The port.
    pub port: String,
    /// Rates are means over so long.
    pub window: Span,
    /// How far off the fair share a rate may be, as a part of it.
    pub within: f64,
    /// For so many windows in a row.
    pub windows: u64,
}

const PORTS: Param =
    Param::required("ports", ParamKind::List(&ParamKind::Text), "Ports, named as in queues.");

/// `changes`.
pub(crate) const CHANGES: Param = Param::optional(
    "changes",
    ParamKind::Table(&[
        PORTS,
        Param::with_default("from", ParamKind::Time, "0us", "Beginning of the window."),
        Param::required("until", ParamKind::Time, "End of the window."),
        Param::optional(
            "slope_over",
            ParamKind::Time,
            "A queue's slope is its growth over so long. Default: no slopes.",
        ),
    ]),
    "Queue lengths at every change within a window of time: the table changes.",
);
/// `bursts`.
pub(crate) const BURSTS: Param = Param::optional(
    "bursts",
    ParamKind::Table(&[
        PORTS,
        Param::with_default(
            "apart",
            ParamKind::Time,
            "100us",
            "A flow that starts so long after the one before begins a burst; others belong to \
             the burst that is on.",
        ),
    ]),
    "The longest queue from each burst of flow starts to the next: the table bursts.",
);
/// `convergence`.
pub(crate) const CONVERGENCE: Param = Param::optional(
    "convergence",
    ParamKind::Table(&[
        Param::required("port", ParamKind::Text, "The port that the flows share."),
        Param::required("window", ParamKind::Time, "Rates are means over so long."),
        Param::with_default(
            "within",
            crate::param::FRACTION,
            "0.1",
            "How far off the fair share a rate may be, as a part of it.",
        ),
        Param::with_default(
            "windows",
            ParamKind::Count { min: 1, max: 1_000_000 },
            "3",
            "For so many windows in a row.",
        ),
    ]),
    "How soon each flow over a port has its fair share, an equal part of what they all get \
     there: the tables convergence and rates.",
);
/// `underflow`.
pub(crate) const UNDERFLOW: Param = Param::optional(
    "underflow",
    ParamKind::List(&ParamKind::Text),
    "Ports whose lines' idle time is counted while a sender has data for them that it has \
     not sent yet: underflow_s in the table ports.",
);
