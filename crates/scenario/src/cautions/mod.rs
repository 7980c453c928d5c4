//! Warnings about a scenario before it runs, a file each.

mod cycles;
mod headroom;
mod hops;
mod marking;
pub mod offered;
mod pauses;
mod policy;
mod thresholds;

use crate::Scenario;

/// Warnings that `scenario check` prints.
pub fn all(scenario: &Scenario) -> Vec<String> {
    let marking = marking::never_first(scenario).or_else(|| marking::not_always_first(scenario));
    let known = headroom::too_small(scenario).into_iter().chain(marking);
    let known = known.chain(cycles::possible(scenario)).chain(policy::unused(scenario));
    known.chain(always(scenario)).collect()
}

/// Warnings that a run has of its scenario alone.
pub fn of_a_run(scenario: &Scenario) -> Vec<String> {
    let known = headroom::too_small(scenario).into_iter().chain(marking::never_first(scenario));
    let known = known.chain(cycles::possible(scenario)).chain(policy::unused(scenario));
    known.chain(always(scenario)).collect()
}

/// Warnings that a check and a run both end with.
fn always(scenario: &Scenario) -> Vec<String> {
    let mut said = thresholds::under_a_packet(scenario);
    said.extend(hops::unseen(scenario));
    said.extend(pauses::many(scenario));
    said
}
