//! Fields of protocols: what a scenario says must be what they can hold.

use crate::Scenario;
use crate::event::{Change, LinkChange};
use crate::int;
use crate::protocols::Protocols;
use crate::topology::graph::Graph;
use crate::topology::ports::is_host;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::tree::{At, Node, Table};
use switchbed_units::Rate;

/// Classes that a DSCP can name: it has six bits.
pub(crate) const DSCPS: u16 = 64;

/// Refuses what a field of a protocol cannot hold.
pub(crate) fn check(
    origin: &Origin,
    root: &Table,
    scenario: &Scenario,
    graph: &Graph,
) -> Result<(), Mistake> {
    captured_classes(origin, root, scenario)?;
    int_rates(origin, root, scenario, graph)
}

/// A captured packet has its class as its DSCP.
fn captured_classes(origin: &Origin, root: &Table, scenario: &Scenario) -> Result<(), Mistake> {
    if scenario.measure.capture.is_empty() {
        return Ok(());
    }
    let entries = root.get("traffic").and_then(Node::as_list).unwrap_or_default();
    for (i, source) in scenario.traffic.iter().enumerate() {
        let highest = source.classes();
        if highest < DSCPS {
            continue;
        }
        let at = entries.get(i).map_or(At::Unwritten, |entry| entry.at);
        let why = format!(
            "has class {highest}, and captured packets (measure.capture) have their class as DSCP, which has \
             six bits: classes 0 to {}",
            DSCPS - 1
        );
        let key = if entries.len() > 1 { format!("traffic.{i}") } else { "traffic".to_owned() };
        return Err(origin.mistake(at, &key, why));
    }
    Ok(())
}

/// INT tells a line's rate by a code; a sender that takes the nearest code's for it would never fill the
/// line, or never see it full.
fn int_rates(
    origin: &Origin,
    root: &Table,
    scenario: &Scenario,
    graph: &Graph,
) -> Result<(), Mistake> {
    let protocols = Protocols::of(scenario);
    let Some(roce) = protocols.queue_pairs().find(|roce| roce.control.about().int) else {
        return Ok(());
    };
    let unknown = |rate: Rate| {
        let known: Vec<String> = int::rates().map(|rate| rate.to_string()).collect();
        format!(
            "{rate}: {} knows a line by INT's code for its rate, and there are codes for {}",
            roce.control.word(),
            known.join(", ")
        )
    };
    let at = |section: &str| root.get(section).map_or(At::Unwritten, |node| node.at);
    let cables = graph.switches.iter().flat_map(|(_, cables)| cables);
    if let Some(cable) = cables.into_iter().find(|cable| !int::knows(cable.rate)) {
        let message = format!("has a link of {}", unknown(cable.rate));
        return Err(origin.mistake(at("topology"), "topology", message));
    }
    for event in &scenario.event {
        let (place, rate) = match &event.change {
            // Hosts' cards write no INT records: their rates may be any.
            Change::Rate { port, rate } if !is_host(port) => (port, rate),
            Change::OfLink { link, what: LinkChange::Rate { rate, .. } } => (link, rate),
            _ => continue,
        };
        if !int::knows(*rate) {
            let message = format!("changes {place} to {}", unknown(*rate));
            return Err(origin.mistake(at("event"), "event.rate", message));
        }
    }
    Ok(())
}
