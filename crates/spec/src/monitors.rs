//! Monitors: what a run looks at more closely where a scenario asks for it, in `[measure]`. Here is what
//! it asks; what they see, and their tables, are in `sim/observe`.

use crate::measure::Run;
use crate::param::{Field, PORT, PORTS, ParamKind, Unfit, Value};
use std::ops::Deref;
use switchbed_qdisc::params;
use switchbed_qdisc::units::Span;

macro_rules! monitors {
    ($($(#[doc = $doc:literal])+ $key:ident: $type:ty;)+) => {
        params! {
            /// The monitors of a scenario; none of them unless it asks.
            #[derive(Default)]
            pub struct Monitors {
                $($(#[doc = $doc])+ $key: $type;)+
            }
        }

        impl Monitors {
            fn each(&self) -> impl Iterator<Item = &dyn Monitor> {
                [$(&self.$key as &dyn Monitor),+].into_iter()
            }
        }
    };
}

monitors! {
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

/// What a scenario asks of a monitor.
pub trait Monitor {
    /// The ports whose queues or lines it watches.
    fn ports(&self) -> &[String];

    /// Whether it goes with the rest of the scenario.
    ///
    /// # Errors
    /// The key that does not, behind the monitor's.
    fn check(&self, run: &Run) -> Result<(), Unfit> {
        let _ = run;
        Ok(())
    }

    /// The rows of a table that grows with the run, if it has one, and bytes of memory a row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let _ = run;
        None
    }
}

/// What decides how many rows there will be.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// How long the run lasts in seconds.
    pub lasts_s: f64,
    /// Packets a second that a port may send.
    pub packets_per_s: f64,
    /// Flows under way at a time.
    pub open: f64,
}

impl Monitors {
    /// The ports whose queues or lines they watch, some perhaps more than once.
    pub fn ports(&self) -> impl Iterator<Item = &String> {
        self.each().flat_map(Monitor::ports)
    }

    /// Whether they go with the rest of the scenario.
    ///
    /// # Errors
    /// The first key that does not.
    pub fn check(&self, run: &Run) -> Result<(), Unfit> {
        self.each().try_for_each(|monitor| monitor.check(run))
    }

    /// The tables that grow with the run: what their rows are, how many, and bytes of memory a row.
    pub fn rows(&self, run: &Ahead) -> impl Iterator<Item = (&'static str, f64, u64)> {
        self.each().filter_map(move |monitor| monitor.rows(run))
    }
}

impl<M: Monitor> Monitor for Option<M> {
    fn ports(&self) -> &[String] {
        self.as_ref().map_or(&[], M::ports)
    }
    fn check(&self, run: &Run) -> Result<(), Unfit> {
        self.iter().try_for_each(|monitor| monitor.check(run))
    }
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        self.as_ref()?.rows(run)
    }
}

params! {
    /// Queue lengths at every change within a window of time.
    pub struct Changes {
        /// Ports, named as in queues.
        ports: Vec<String> as PORTS;
        /// Beginning of the window.
        from: Span = "0us";
        /// End of the window.
        until: Span;
        /// A queue's slope is its growth over so long. Default: no slopes.
        slope_over: Option<Span>;
    }
}

impl Monitor for Changes {
    fn ports(&self) -> &[String] {
        &self.ports
    }
    fn check(&self, run: &Run) -> Result<(), Unfit> {
        let Changes { from, until, slope_over, .. } = *self;
        if until <= from {
            let why = format!("the window must end after it begins, {from}");
            return Err(Unfit::new("changes.until", why));
        }
        if let Some(end) = run.until
            && from >= end
        {
            let why = format!("it must be less than run.until, {end}");
            return Err(Unfit::new("changes.from", why));
        }
        match slope_over {
            Some(Span::ZERO) => {
                Err(Unfit::new("changes.slope_over", "a time to grow in is longer than 0"))
            }
            _ => Ok(()),
        }
    }
    /// A change of a queue's length and its row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let window = self.until.as_secs_f64().min(run.lasts_s) - self.from.as_secs_f64();
        let packets = window.max(0.0) * run.packets_per_s * self.ports.len() as f64;
        Some(("rows of changes", 2.0 * packets, 80))
    }
}

params! {
    /// The longest queues after bursts, which begin with the start of a flow.
    pub struct Bursts {
        /// Ports, named as in queues.
        ports: Vec<String> as PORTS;
        /// A flow that starts so long after the one before begins a burst; others belong to
        /// the burst that is on.
        apart: Span = "100us";
    }
}

impl Monitor for Bursts {
    fn ports(&self) -> &[String] {
        &self.ports
    }
}

params! {
    /// Convergence of the flows over a port to equal rates.
    pub struct Convergence {
        /// The port that the flows share.
        port: String as PORT;
        /// Rates are means over so long.
        window: Span;
        /// How far off the fair share a rate may be, as a part of it.
        within: f64 = "0.1" as FRACTION;
        /// For so many windows in a row.
        windows: u64 = "3" as count(1, 1_000_000);
    }
}

impl Monitor for Convergence {
    fn ports(&self) -> &[String] {
        &[]
    }
    fn check(&self, _: &Run) -> Result<(), Unfit> {
        match self.window {
            Span::ZERO => Err(Unfit::new("convergence.window", "a window is longer than 0")),
            _ => Ok(()),
        }
    }
    /// A flow's rate in a window and its row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let windows = run.lasts_s / self.window.as_secs_f64();
        Some(("rows of rates", windows * run.open, 100))
    }
}

/// Ports by name; none where it is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortNames(pub Vec<String>);

impl Monitor for PortNames {
    fn ports(&self) -> &[String] {
        self
    }
}

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
        (!self.is_empty()).then(|| self.0.to_value())?
    }
    fn left_out() -> Option<Self> {
        Some(PortNames::default())
    }
}
