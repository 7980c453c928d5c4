//! Runs one scenario to its end, with word of its progress.

mod decided;
pub(crate) mod impossible;
mod inert;
pub(crate) mod memory;
pub(crate) mod results;
mod stalled;
pub(crate) mod summary;
pub(crate) mod transports;
mod warnings;
pub(crate) mod watchdog;

use crate::build_error::BuildError;
use crate::network::Division;
use crate::records::Records;
use crate::run::impossible::Impossible;
use crate::run::results::Results;
use crate::run::watchdog::{Excess, Watchdog};
use crate::simulation::{Simulation, Status};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use switchbed_scenario::Scenario;
use switchbed_scenario::build::{Nothing, Outside};

/// Packets' arrivals, or what takes as long, between two looks at the flag to stop, at least: less
/// than a millisecond, and with a scheme in Python less than half a second.
const BATCH: u64 = 2_000;
/// Events for each host of a large fabric, where threads begin and end with each look.
const BATCH_A_HOST: u64 = 16;
/// The most of them: a tenth of a second.
const MOST: u64 = 200_000;

/// Number of events between two looks at the outside. It follows from the scenario alone, since the
/// count of events depends on where a run is interrupted.
fn batch(scenario: &Scenario) -> u64 {
    match scenario.scheme.python {
        // Each packet calls Python, which is slow: short batches, so that Ctrl-C is noticed soon.
        Some(_) => BATCH,
        None => (BATCH_A_HOST * u64::from(scenario.topology.hosts())).clamp(BATCH, MOST),
    }
}

/// How far a run is, for another thread to read, and how to stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of flows that have finished.
    pub flows_done: AtomicU64,
    /// Number of flows expected in all.
    pub flows_total: AtomicU64,
    /// Simulated time in picoseconds since the start.
    pub now_ps: AtomicU64,
    /// The simulated time at which the run ends in any case, in picoseconds; 0: none.
    pub until_ps: AtomicU64,
    /// Number of events handled so far.
    pub events: AtomicU64,
    /// Number of packet transmissions by ports.
    pub packet_hops: AtomicU64,
    cancelled: AtomicBool,
    /// Bytes that the run was forecast to take, if it is to be stopped for more; 0: it is not.
    forecast: AtomicU64,
}

impl Progress {
    /// A run that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to stop; it ends within milliseconds.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Stops the run if it takes far more memory than these bytes.
    pub fn expect(&self, bytes: u64) {
        self.forecast.store(bytes, Relaxed);
    }

    /// Whether the run was asked to stop.
    pub fn cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    fn update(&self, simulation: &Simulation) {
        let (_, done, total) = simulation.flows();
        self.flows_done.store(done, Relaxed);
        self.flows_total.store(total, Relaxed);
        self.now_ps.store(simulation.now().as_ps(), Relaxed);
        self.events.store(simulation.events(), Relaxed);
        self.packet_hops.store(simulation.packet_hops(), Relaxed);
    }
}

/// Why a run left nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfinished {
    /// The caller asked it to stop.
    Cancelled,
    /// The scenario could not be built, or the run could not be finished.
    Failed(BuildError),
    /// Results that cannot be: the simulator has an error.
    Impossible(Impossible),
    /// The run took far more memory than was forecast.
    Memory(Excess),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfinished::Cancelled => f.write_str("the run was stopped before its end"),
            Unfinished::Failed(error) => error.fmt(f),
            Unfinished::Impossible(error) => error.fmt(f),
            Unfinished::Memory(excess) => excess.fmt(f),
        }
    }
}
impl std::error::Error for Unfinished {}

impl From<BuildError> for Unfinished {
    fn from(error: BuildError) -> Self {
        Unfinished::Failed(error)
    }
}

impl From<Impossible> for Unfinished {
    fn from(error: Impossible) -> Self {
        Unfinished::Impossible(error)
    }
}

/// Runs a scenario.
///
/// # Errors
/// The run was cancelled; or what parsing could not judge: a flow list with a bad row or one that
/// changes during the run, a port that does not exist.
pub fn run(scenario: &Scenario, progress: &Progress) -> Result<Results, Unfinished> {
    run_with(scenario, progress, &Nothing, Division::ALONE)
}

/// Runs on several threads, with the same results.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    scenario: &Scenario,
    progress: &Progress,
    threads: usize,
) -> Result<Results, Unfinished> {
    run_with(scenario, progress, &Nothing, Division::threads(threads))
}

/// Runs a scenario with schemes that the caller brings along, its work divided.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    progress: &Progress,
    outside: &dyn Outside,
    division: Division,
) -> Result<Results, Unfinished> {
    let mut simulation = Simulation::with(scenario, outside, division)?;
    progress.until_ps.store(scenario.run.until.map_or(0, |until| until.as_ps()), Relaxed);
    progress.update(&simulation);
    let mut flows = Records::expecting(simulation.flows().2);
    let mut series = Vec::new();
    let mut running = true;
    let batch = batch(scenario);
    let forecast = progress.forecast.load(Relaxed);
    let mut watchdog = Watchdog::new(forecast).filter(|_| forecast > 0);
    outside.look();
    while running {
        if progress.cancelled() {
            return Err(Unfinished::Cancelled);
        }
        running = simulation.advance(batch) == Status::Running;
        if let Some(error) = simulation.failure() {
            return Err(error.into());
        }
        if let Some(excess) = watchdog.as_mut().and_then(Watchdog::look) {
            return Err(Unfinished::Memory(excess));
        }
        flows.extend(simulation.take_finished());
        series.extend(simulation.take_series());
        progress.update(&simulation);
        outside.look();
    }
    flows.extend(simulation.unfinished());
    flows.forget_before(simulation.warmed_at());
    flows.sort();
    Ok(Results::new(scenario, simulation, flows, series)?)
}
