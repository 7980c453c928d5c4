//! Warnings about a scenario before it runs, a file each.

mod idle;
pub mod lossless;
pub mod offered;
mod slowed;
mod thresholds;

use crate::topology::graph::Graph;
use crate::{Scenario, Topology, Traffic};

/// Warnings that `scenario check` prints.
pub fn all(scenario: &Scenario) -> Vec<String> {
    let graph = &scenario.graph();
    let marking = thresholds::never_first(scenario, graph)
        .or_else(|| thresholds::not_always_first(scenario, graph));
    said(scenario, graph, marking)
}

/// Warnings that a run has of its scenario alone.
pub fn of_a_run(scenario: &Scenario) -> Vec<String> {
    let graph = &scenario.graph();
    said(scenario, graph, thresholds::never_first(scenario, graph))
}

/// Warnings of both, with the one of marks.
fn said(scenario: &Scenario, graph: &Graph, marking: Option<String>) -> Vec<String> {
    let mut said: Vec<String> =
        lossless::too_small(scenario, graph).into_iter().chain(marking).collect();
    said.extend(lossless::possible(scenario, graph));
    said.extend(idle::unused(scenario));
    said.extend(thresholds::under_a_packet(scenario, graph));
    said.extend(idle::unseen(scenario, graph));
    said.extend(idle::unnumbered(scenario, graph));
    said.extend(lossless::many(scenario));
    said.extend(slowed::overloaded(scenario, graph));
    if let Topology::File(file) = &scenario.topology {
        said.extend(file.unread());
    }
    said.extend(offered::beyond_lines(scenario, graph));
    said.extend(scenario.traffic.iter().filter_map(|entry| match &entry.source {
        Traffic::List(list) => list.unread(),
        _ => None,
    }));
    said
}
