//! Links that an event makes too slow for the load that they are offered.

use crate::Scenario;
use crate::event::{Change, LinkChange};
use crate::topology::graph::Graph;
use crate::topology::{links, ports};
use crate::traffic::Links;
use switchbed_units::ids::LinkId;
use switchbed_units::{Rate, Span};

/// Said of the link that is offered the largest multiple of what it carries from an event on, if it carried it
/// before.
pub(super) fn overloaded(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let slows = |change: &Change| {
        matches!(change, Change::Rate { .. } | Change::OfLink { what: LinkChange::Rate { .. }, .. })
    };
    if !scenario.event.iter().any(|event| slows(&event.change)) {
        return None;
    }
    let offers = Links::new(graph, scenario.topology.host_rates())?;
    let loads = offers.loads(scenario.traffic.iter().map(|entry| &entry.source));
    let mut worst: Option<(f64, LinkId, Span, Rate)> = None;
    for event in &scenario.event {
        let (of, rate) = match &event.change {
            Change::Rate { port, rate } => (ports::find(graph, port).into_iter().collect(), rate),
            Change::OfLink { link, what: LinkChange::Rate { rate, .. } } => {
                (links::find(graph, link).map_or_else(Vec::new, Vec::from), rate)
            }
            _ => continue,
        };
        for link in of {
            let at_first = loads[link.index()];
            let times = links::cable(graph, link).rate.as_bps() as f64 / rate.as_bps() as f64;
            let load = at_first * times;
            // Links over 1 from the start were refused, or are meant: only what the event does is
            // said.
            if at_first <= 1.0 && load > 1.0 && worst.is_none_or(|(most, ..)| load > most) {
                worst = Some((load, link, event.at, *rate));
            }
        }
    }
    worst.map(|(load, link, at, rate)| {
        let port = offers.named(link, load).port;
        format!(
            "from {at} on, {port}'s link has {rate} ([[event]]) and is offered {load:.4} times what it carries: \
             what waits there grows until it is faster"
        )
    })
}
