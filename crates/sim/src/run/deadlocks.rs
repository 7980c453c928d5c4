//! Warnings about deadlocks of lossless classes in a run (docs/pfc.md).

use crate::deadlock::Deadlock;
use crate::simulation::Simulation;
use switchbed_scenario::Scenario;

/// One warning for each deadlock.
pub(crate) fn deadlocks(scenario: &Scenario, simulation: &Simulation) -> Vec<String> {
    let of = |found: &Deadlock| {
        let name = |link: usize| &simulation.ports()[link].name;
        let mut names: Vec<_> = found.cycle.iter().map(|queue| name(queue.0.index())).collect();
        names.extend(names.first().copied());
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        let class = found.cycle.first().map_or(0, |queue| queue.1);
        let end = match (found.broken, scenario.run.until) {
            (Some(_), _) => "; it was broken",
            (None, Some(_)) => "; it stands",
            (None, None) => "; it stands, and the run ends with it",
        };
        format!(
            "class {class} deadlocked at {:.6} s: {} wait for each other{end}",
            found.formed.as_secs_f64(),
            names.join(" > "),
        )
    };
    simulation.deadlocks().iter().map(of).collect()
}
