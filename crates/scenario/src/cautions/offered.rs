//! The load that traffic offers to links, before anything runs.

use crate::Scenario;
use crate::protocols::Protocols;
use crate::topology::graph::Graph;
use crate::traffic::{Frames, Links, Traffic, flows};
use serde::Serialize;
use switchbed_units::ids::LinkId;

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

/// Said where payload fits, but not with headers, handshakes and answers: of the link that is offered the largest multiple
/// of what it carries.
pub(super) fn beyond_lines(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let protocols = Protocols::of(scenario);
    let factors = |(entry, source): (usize, &Traffic)| {
        Frames::of(protocols.get(entry as u32, 0)).factors(source.sizes(), source.persists())
    };
    let sources = || scenario.traffic.iter().map(|entry| &entry.source);
    let factors: Vec<(f64, f64)> = sources().enumerate().map(factors).collect();
    let links = Links::new(graph, scenario.topology.host_rates())?;
    let most = |loads: &[f64]| loads.iter().copied().fold(0.0, f64::max);
    let payload = most(&links.loads(sources()));
    let factor = factors.iter().map(|(there, back)| there + back).fold(0.0, f64::max);
    // A load over 1 is meant: the check refuses others.
    if payload > 1.0 || payload * factor <= 1.0 {
        return None;
    }
    let loads = links.on_wire(sources().zip(factors));
    let worst = links.busiest_of_all(&loads)?;
    (worst.load > 1.0).then(|| {
        format!(
            "with headers, handshakes and ACKs {}'s link is offered {:.3} times what it carries: flows pile up there, and \
             FCTs grow with the run's length; loads of {:.2} of the scenario's drain",
            worst.port,
            worst.load,
            (100.0 / worst.load).floor() / 100.0,
        )
    })
}

/// The busiest links of a repetition of an entry's program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repetition {
    /// Place of the entry among the scenario's traffic, from 0.
    pub traffic: usize,
    /// Kind of the entry.
    pub kind: &'static str,
    /// The busiest links of hosts and of the fabric, a few of each, busiest first.
    pub links: Vec<CarryingLink>,
}

/// A link and the payload that it carries in a repetition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CarryingLink {
    /// The port that sends on it.
    pub port: String,
    /// Payload of all messages, each of which goes by its equal-cost ways alike.
    pub bytes: f64,
    /// Time that this takes at the link's rate.
    pub time_s: f64,
    /// Whether it joins two switches.
    pub fabric: bool,
}

/// The busiest links of a repetition of each collective and schedule.
///
/// # Errors
/// A file that cannot be read, or that is no program.
pub(crate) fn repetitions(scenario: &Scenario) -> Result<Vec<Repetition>, String> {
    let graph = scenario.graph();
    let Some(links) = Links::new(&graph, scenario.topology.host_rates()) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (place, entry) in scenario.traffic.iter().enumerate() {
        if !matches!(entry.source, Traffic::Collective(_) | Traffic::Goal(_)) {
            continue;
        }
        let program = flows::schedule(scenario, place).map_err(|error| error.to_string())?;
        let Some(program) = program else { continue };
        let carried = links.carried(&program);
        let time = |(link, bytes): (usize, &f64)| {
            8.0 * bytes / links.rate(LinkId::at(link)).as_bps() as f64
        };
        let times: Vec<f64> = carried.iter().enumerate().map(time).collect();
        let mut busiest: Vec<CarryingLink> = [false, true]
            .into_iter()
            .flat_map(|fabric| links.busiest_places(&times, fabric, SHOWN))
            .map(|(link, of)| CarryingLink {
                port: of.port,
                bytes: carried[link.index()],
                time_s: of.load,
                fabric: of.fabric,
            })
            .collect();
        busiest.sort_by(|a, b| b.time_s.total_cmp(&a.time_s));
        found.push(Repetition { traffic: place, kind: entry.source.word(), links: busiest });
    }
    Ok(found)
}
