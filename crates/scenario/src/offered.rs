//! The load that traffic offers to links, before anything runs.

use serde::Serialize;
use switchbed_sim::Scenario;
use switchbed_spec::traffic::Links;

/// Links that are shown.
const SHOWN: usize = 3;
/// Rounding apart.
const MORE: f64 = 1.0 + 1e-9;

/// A link's offered load: payload over what it carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfferedLink {
    /// The port that sends on it.
    pub port: String,
    /// 1 is all that it carries.
    pub load: f64,
    /// It joins two switches.
    pub fabric: bool,
}

/// The busiest links of hosts and of the fabric, a few of each, busiest first; none where no load is known.
pub(crate) fn busiest(scenario: &Scenario) -> Vec<OfferedLink> {
    let Some(links) = Links::new(&scenario.topology) else { return Vec::new() };
    let loads = links.loads(&scenario.traffic);
    let mut found: Vec<OfferedLink> = [false, true]
        .into_iter()
        .flat_map(|fabric| links.busiest(&loads, fabric, SHOWN))
        .map(|link| OfferedLink { port: link.port, load: link.load, fabric: link.fabric })
        .collect();
    found.sort_by(|a, b| b.load.total_cmp(&a.load));
    found
}

/// Said where a link between switches is offered more than any link of a host: a load that is a fraction of
/// the hosts' is not that of the network.
pub(crate) fn fabric_first(scenario: &Scenario) -> Option<String> {
    let links = busiest(scenario);
    let most = |fabric| links.iter().find(|link| link.fabric == fabric);
    let fabric = most(true)?;
    let (host, load) = most(false).map_or(("no host's", 0.0), |link| (&link.port, link.load));
    (fabric.load > load * MORE).then(|| {
        format!(
            "the busiest link is the fabric's: {} is offered {:.4} of what it carries, and of hosts' links at \
             most {load:.4} ({host})",
            fabric.port, fabric.load
        )
    })
}
