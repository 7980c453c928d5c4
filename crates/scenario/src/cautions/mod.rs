//! What there is to be said of a scenario before it runs, a file each.

mod cycles;
mod headroom;
mod hops;
mod marking;
pub mod offered;
mod pauses;
mod policy;
mod thresholds;

use crate::Scenario;

/// What a check says of a scenario.
pub fn all(scenario: &Scenario) -> Vec<String> {
    let marking = marking::never_first(scenario).or_else(|| marking::not_always_first(scenario));
    let known = headroom::too_small(scenario).into_iter().chain(marking);
    let known = known.chain(cycles::possible(scenario)).chain(policy::unused(scenario));
    known.chain(always(scenario)).collect()
}

/// What a run says of its scenario, beside what it met.
pub fn of_a_run(scenario: &Scenario) -> Vec<String> {
    let known = headroom::too_small(scenario).into_iter().chain(marking::never_first(scenario));
    let known = known.chain(cycles::possible(scenario)).chain(policy::unused(scenario));
    known.chain(always(scenario)).collect()
}

/// What both say last.
fn always(scenario: &Scenario) -> Vec<String> {
    let mut said = thresholds::under_a_packet(scenario);
    said.extend(hops::unseen(scenario));
    said.extend(pauses::many(scenario));
    said
}
