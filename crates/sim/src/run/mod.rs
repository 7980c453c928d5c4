//! Runs one scenario to its end, with word of its progress.

mod dead;
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
use switchbed_units::{Span, Time};

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
    /// The run took far more memory than was forecast; and what refused packets, where nothing was delivered.
    Memory(Excess, Option<String>),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfinished::Cancelled => f.write_str("the run was stopped before its end"),
            Unfinished::Failed(error) => error.fmt(f),
            Unfinished::Impossible(error) => error.fmt(f),
            Unfinished::Memory(excess, None) => excess.fmt(f),
            Unfinished::Memory(excess, Some(why)) => write!(f, "{excess}; {why}"),
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
    let mut silence = Silence::default();
    outside.look();
    while running {
        if progress.cancelled() {
            return Err(Unfinished::Cancelled);
        }
        running = simulation.advance(batch) == Status::Running;
        if let Some(error) = simulation.failure() {
            return Err(error.into());
        }
        silence.look(&simulation);
        if let Some(excess) = watchdog.as_mut().and_then(Watchdog::look) {
            return Err(Unfinished::Memory(excess, silence.explained(scenario, &simulation)));
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

/// Simulated time between two looks at what was delivered; most runs are shorter.
const LOOK: Span = Span::from_ms(1_000);

/// Time since something was delivered, to within a look.
#[derive(Default)]
struct Silence {
    /// Flows that had ended, and bytes that had arrived of others.
    delivered: (u64, u64),
    since: Time,
    next: Time,
}

impl Silence {
    fn look(&mut self, simulation: &Simulation) {
        let now = simulation.now();
        if now < self.next {
            return;
        }
        self.next = now + LOOK;
        let delivered = simulation.delivered();
        if delivered != self.delivered {
            (self.delivered, self.since) = (delivered, now);
        }
    }

    /// Names the rule that refuses packets, if nothing was delivered for longer than between two looks.
    fn explained(&self, scenario: &Scenario, simulation: &Simulation) -> Option<String> {
        let lasted = simulation.now().since(self.since);
        let by = simulation.refusing().filter(|_| lasted > LOOK)?;
        let why = stalled::refusing(scenario, simulation, by);
        Some(format!("nothing was delivered in the last {:.0} s: {why}", lasted.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use switchbed_scenario::plans_of;

    #[test]
    fn memory_of_a_run_that_delivers_nothing_is_explained_by_what_refuses() {
        // A retransmission is not ECN-capable, and is dropped where it would be marked.
        let text = r#"
        topology = { kind = "star", hosts = 2, rate = "10Gbps", delay = "1us" }
        switch.buffer = "300KB"
        scheme = { name = "per-queue", params = { threshold = "60B" } }
        transport.kind = "cubic"
        [[traffic]]
        kind = "incast"
        from = "0"
        to = 1
        sizes = "1MB"
        [[event]]
        at = "0s"
        port = "host0"
        lose = [9]
        "#;
        let plans = plans_of("f.toml", text, Path::new("."), &[], None).expect("a scenario");
        let scenario = &plans[0].scenario;
        let mut simulation = Simulation::new(scenario).expect("builds");
        let mut silence = Silence::default();
        silence.look(&simulation);
        assert_eq!(silence.explained(scenario, &simulation), None);
        while simulation.now() < Time::ZERO + LOOK * 60 {
            let _ = simulation.advance(1);
            silence.look(&simulation);
        }
        let why = silence.explained(scenario, &simulation).expect("waits for a timer");
        assert!(why.starts_with("nothing was delivered in the last "), "{why}");
        assert!(
            why.contains(" s: queue 0 of switch:1 drops packets that per-queue would"),
            "{why}"
        );
        let excess = Excess { took: 130_000_000, forecast: 431_000 };
        let said = Unfinished::Memory(excess, Some(why.clone())).to_string();
        assert!(said.starts_with("stopped: it had taken 130 MB") && said.ends_with(&why), "{said}");
    }
}
