//! Monitors: what a run looks at more closely where a scenario asks for it, in `[measure]`, which has their keys. Each
//! is a file, what it sees and its tables, and its line here.

use super::observer::{Asked, Observer, Site};
use switchbed_scenario::measure::{
    Bursts, Changes, Convergence, FlowSeries, LinkSeries, Monitors, PortNames, Waits,
};

/// A section of `[measure]`, which knows its ports, its tables and its observer.
pub(crate) trait Monitor {
    /// The names of its tables.
    const TABLES: &'static [&'static str] = &[];

    /// The ports whose queues it watches; their lengths are measured, too.
    fn ports(&self) -> &[String] {
        &[]
    }

    /// The rows of a table that grows with the run, if it has one, and bytes of memory a row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let _ = run;
        None
    }

    /// Makes its observer, if the scenario asks for one.
    fn observe(&self, site: &mut Site) -> Asked;
}

/// Observers of a run, each with the names of its tables.
pub(super) type Observing = Vec<(Box<dyn Observer>, &'static [&'static str])>;

macro_rules! monitors {
    ($($key:ident: $type:ty;)+) => {
        /// The names of monitors' tables.
        pub fn tables() -> impl Iterator<Item = &'static str> {
            [$(<$type>::TABLES),+].into_iter().flatten().copied()
        }

        /// The ports whose queues they watch, some perhaps more than once.
        pub(crate) fn ports(monitors: &Monitors) -> impl Iterator<Item = &String> {
            [$(monitors.$key.ports()),+].into_iter().flatten()
        }

        /// The tables that grow with the run: what their rows are, how many, and bytes of
        /// memory a row.
        pub fn rows(
            monitors: &Monitors,
            run: &Ahead,
        ) -> impl Iterator<Item = (&'static str, f64, u64)> {
            [$(monitors.$key.rows(run)),+].into_iter().flatten()
        }

        /// Makes the observers that are asked for. The error is the name of a port that does not
        /// exist.
        pub(crate) fn observe(monitors: &Monitors, site: &mut Site) -> Result<Observing, String> {
            let all = [$((monitors.$key.observe(site)?, <$type>::TABLES)),+];
            Ok(all.into_iter().filter_map(|(asked, tables)| Some((asked?, tables))).collect())
        }
    };
}

monitors! {
    changes: Option<Changes>;
    bursts: Option<Bursts>;
    convergence: Option<Convergence>;
    flow_series: Option<FlowSeries>;
    link_series: Option<LinkSeries>;
    waits: Option<Waits>;
    underflow: PortNames;
}

/// Forecast of a run, by which the number of rows is estimated.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// How long the run lasts in seconds.
    pub lasts_s: f64,
    /// Packets a second that a port may send.
    pub packets_per_s: f64,
    /// Flows under way at a time.
    pub open: f64,
    /// Ports of the network, hosts' included.
    pub links: f64,
}

impl<M: Monitor> Monitor for Option<M> {
    const TABLES: &'static [&'static str] = M::TABLES;
    fn ports(&self) -> &[String] {
        self.as_ref().map_or(&[], M::ports)
    }
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        self.as_ref()?.rows(run)
    }
    fn observe(&self, site: &mut Site) -> Asked {
        self.as_ref().map_or(Ok(None), |monitor| monitor.observe(site))
    }
}
