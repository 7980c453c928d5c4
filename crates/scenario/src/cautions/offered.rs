//! The load that traffic offers to links, before anything runs.

use crate::Scenario;
use crate::traffic::Links;
use serde::Serialize;

/// Links that are shown.
const SHOWN: usize = 3;

/// A link's offered load: payload over what it carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfferedLink {
    /// The port that sends on it.
    pub port: String,
    /// 1 is all that it carries.
    pub load: f64,
    /// Whether it joins two switches.
    pub fabric: bool,
}

/// The busiest links of hosts and of the fabric, a few of each, busiest first; none where no load is known.
pub(crate) fn busiest(scenario: &Scenario) -> Vec<OfferedLink> {
    let graph = scenario.graph();
    let lines = scenario.topology.host_rates();
    let Some(links) = Links::new(&graph, lines) else { return Vec::new() };
    let loads = links.loads(scenario.traffic.iter().map(|entry| &entry.source));
    let mut found: Vec<OfferedLink> = [false, true]
        .into_iter()
        .flat_map(|fabric| links.busiest(&loads, fabric, SHOWN))
        .map(|link| OfferedLink { port: link.port, load: link.load, fabric: link.fabric })
        .collect();
    found.sort_by(|a, b| b.load.total_cmp(&a.load));
    found
}
