//! Monitors: what a run looks at more closely where a scenario asks for it, in `[measure]`. Each is a
//! file: its keys, what refuses them, what it sees and its tables; and its line here.

use super::bursts::Bursts;
use super::changes::Changes;
use super::convergence::Convergence;
use super::measure::PortNames;
use super::observer::{Asked, Observer, Site};
use switchbed_config::params;
use switchbed_spec::Run;
use switchbed_spec::param::Unfit;

/// What a scenario asks of a monitor, and the monitor.
pub(crate) trait Monitor {
    /// The names of its tables.
    const TABLES: &'static [&'static str] = &[];

    /// The ports whose queues it watches; their lengths are measured, too.
    fn ports(&self) -> &[String] {
        &[]
    }

    /// Whether it goes with the rest of the scenario.
    ///
    /// # Errors
    /// The key that does not.
    fn check(&self, run: &Run) -> Result<(), Unfit> {
        let _ = run;
        Ok(())
    }

    /// The rows of a table that grows with the run, if it has one, and bytes of memory a row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let _ = run;
        None
    }

    /// What looks on for it.
    fn observe(&self, site: &mut Site) -> Asked;
}

/// Those of a run: each with the names of its tables.
pub(super) type Observing = Vec<(Box<dyn Observer>, &'static [&'static str])>;

macro_rules! monitors {
    ($($(#[doc = $doc:literal])+ $key:ident: $type:ty;)+) => {
        params! {
            /// The monitors of a scenario; none of them unless it asks.
            #[derive(Default)]
            pub struct Monitors {
                $($(#[doc = $doc])+ $key: $type;)+
            }
        }

        /// The names of monitors' tables.
        pub fn tables() -> impl Iterator<Item = &'static str> {
            [$(<$type>::TABLES),+].into_iter().flatten().copied()
        }

        impl Monitors {
            /// The ports whose queues they watch, some perhaps more than once.
            pub(super) fn ports(&self) -> impl Iterator<Item = &String> {
                [$(self.$key.ports()),+].into_iter().flatten()
            }

            /// Whether they go with the rest of the scenario.
            ///
            /// # Errors
            /// The monitor, and its first key that does not.
            pub fn check(&self, run: &Run) -> Result<(), (&'static str, Unfit)> {
                $(self.$key.check(run).map_err(|unfit| (Self::KEY.$key, unfit))?;)+
                Ok(())
            }

            /// The tables that grow with the run: what their rows are, how many, and bytes of
            /// memory a row.
            pub fn rows(&self, run: &Ahead) -> impl Iterator<Item = (&'static str, f64, u64)> {
                [$(self.$key.rows(run)),+].into_iter().flatten()
            }

            /// Those that are asked for, else the name of a port that there is not.
            pub(super) fn observe(&self, site: &mut Site) -> Result<Observing, String> {
                let all = [$((self.$key.observe(site)?, <$type>::TABLES)),+];
                Ok(all.into_iter().filter_map(|(asked, tables)| Some((asked?, tables))).collect())
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

impl<M: Monitor> Monitor for Option<M> {
    const TABLES: &'static [&'static str] = M::TABLES;
    fn ports(&self) -> &[String] {
        self.as_ref().map_or(&[], M::ports)
    }
    fn check(&self, run: &Run) -> Result<(), Unfit> {
        self.iter().try_for_each(|monitor| monitor.check(run))
    }
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        self.as_ref()?.rows(run)
    }
    fn observe(&self, site: &mut Site) -> Asked {
        self.as_ref().map_or(Ok(None), |monitor| monitor.observe(site))
    }
}
