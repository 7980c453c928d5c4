//! Runs one scenario to its end, with word of its progress.

use crate::results::Results;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use switchbed_qdisc::units::Bytes;
use switchbed_sim::{BuildError, Simulation, Status};
use switchbed_spec::Scenario;
use switchbed_spec::build::{Nothing, Outside};

/// Packets' arrivals between two looks at the clock and the flag to stop: some milliseconds.
const BATCH: u64 = 50_000;

/// How far a run is, for another thread to read, and how to stop it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Flows that have finished.
    pub flows_done: AtomicU64,
    /// Flows expected in all.
    pub flows_total: AtomicU64,
    /// Simulated time in picoseconds.
    pub now_ps: AtomicU64,
    /// The simulated time at which the run ends in any case, in picoseconds; 0: none.
    pub until_ps: AtomicU64,
    /// Events handled.
    pub events: AtomicU64,
    /// Packets transmitted by ports.
    pub packet_hops: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// A run that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to stop; it ends within milliseconds with what it has.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
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
        self.packet_hops.store(simulation.network().packet_hops(), Relaxed);
    }
}

/// Runs a scenario.
///
/// # Errors
/// What parsing could not judge: a flow list with a bad row or one that changes during the
/// run, a port that does not exist.
pub fn run(scenario: &Scenario, progress: &Progress) -> Result<Results, BuildError> {
    run_with(scenario, progress, &Nothing)
}

/// Runs a scenario with schemes that the caller brings along.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    progress: &Progress,
    outside: &dyn Outside,
) -> Result<Results, BuildError> {
    let mut simulation = Simulation::with(scenario, outside)?;
    progress.until_ps.store(scenario.run.until.map_or(0, |until| until.as_ps()), Relaxed);
    progress.update(&simulation);
    let mut flows = Vec::new();
    let mut series = Vec::new();
    let mut complete = false;
    outside.look();
    while !complete && !progress.cancelled() {
        complete = simulation.advance(BATCH) == Status::Finished;
        if let Some(error) = simulation.failure() {
            return Err(error);
        }
        flows.extend(simulation.take_finished());
        series.extend(simulation.take_series());
        progress.update(&simulation);
        outside.look();
    }
    flows.extend(simulation.unfinished());
    let warmed_at = simulation.warmed_at();
    for flow in flows.iter_mut().filter(|flow| flow.ended_by(warmed_at)) {
        flow.received = Bytes::ZERO;
    }
    flows.sort_by_key(|flow| flow.row);
    Ok(Results::new(scenario, &mut simulation, &flows, &series, complete))
}
