//! Monitors: what a run looks at more closely where a scenario asks for it, in `[measure]`.

use crate::param::{Field, ParamKind, Value};
use std::ops::Deref;
use switchbed_qdisc::params;
use switchbed_qdisc::units::Span;

params! {
    /// The monitors of a scenario; none of them unless it asks.
    #[derive(Default)]
    pub struct Monitors {
        /// Queue lengths at every change within a window of time: the table changes.
        changes: Option<Changes>;
        /// The longest queue from each burst of flow starts to the next: the table bursts.
        bursts: Option<Bursts>;
        /// How soon each flow over a port has its fair share, an equal part of what they all get
        /// there: the tables convergence and rates.
        convergence: Option<Convergence>;
        /// Ports whose lines' idle time is counted while a sender has data for them that it has
        /// not sent yet: underflow_s in the table ports.
        underflow: PortNames;
    }
}

impl Monitors {
    /// The ports whose queues or lines they watch, some perhaps more than once.
    pub fn ports(&self) -> impl Iterator<Item = &String> {
        let changes = self.changes.iter().flat_map(|changes| &changes.ports);
        let bursts = self.bursts.iter().flat_map(|bursts| &bursts.ports);
        changes.chain(bursts).chain(&*self.underflow)
    }
}

params! {
    /// Queue lengths at every change within a window of time.
    pub struct Changes {
        /// Ports, named as in queues.
        ports: Vec<String>;
        /// Beginning of the window.
        from: Span = "0us";
        /// End of the window.
        until: Span;
        /// A queue's slope is its growth over so long. Default: no slopes.
        slope_over: Option<Span>;
    }
}

params! {
    /// The longest queues after bursts, which begin with the start of a flow.
    pub struct Bursts {
        /// Ports, named as in queues.
        ports: Vec<String>;
        /// A flow that starts so long after the one before begins a burst; others belong to
        /// the burst that is on.
        apart: Span = "100us";
    }
}

params! {
    /// Convergence of the flows over a port to equal rates.
    pub struct Convergence {
        /// The port that the flows share.
        port: String;
        /// Rates are means over so long.
        window: Span;
        /// How far off the fair share a rate may be, as a part of it.
        within: f64 = "0.1" as FRACTION;
        /// For so many windows in a row.
        windows: u64 = "3" as count(1, 1_000_000);
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
    const KIND: ParamKind = Vec::<String>::KIND;
    const OPTIONAL: bool = true;
    fn from_value(value: Value) -> Option<Self> {
        Vec::from_value(value).map(PortNames)
    }
    fn to_value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| self.0.to_value())?
    }
    fn left_out() -> Option<Self> {
        Some(PortNames::default())
    }
}
