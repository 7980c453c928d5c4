//! Links that events make too slow for the load that they are offered, or that get the load of links
//! that are down.

use crate::Scenario;
use crate::event::{Change, LinkChange};
use crate::topology::graph::Graph;
use crate::topology::tables::Tables;
use crate::topology::weighted::Weighted;
use crate::topology::{links, ports};
use crate::traffic::Links;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use switchbed_units::ids::LinkId;
use switchbed_units::{Rate, Span};

/// Changes of tables that are looked at: each lays out all loads anew.
const MOST_TABLES: usize = 16;

/// Effect of an event on loads, once it is in force.
enum Effect {
    /// Links have this rate.
    Rate(Vec<LinkId>, Rate),
    /// Tables lead round links, or over them again.
    Round([LinkId; 2], bool),
}

/// Effects with their times, the first first.
fn effects(scenario: &Scenario, graph: &Graph) -> Vec<(Span, Effect)> {
    let of = |event: &crate::event::Event| {
        let at = event.at;
        Some(match &event.change {
            Change::Rate { port, rate } => {
                (at, Effect::Rate(ports::find(graph, port).into_iter().collect(), *rate))
            }
            Change::OfLink { link, what } => {
                let link = links::find(graph, link)?;
                match *what {
                    LinkChange::Rate { rate, .. } => (at, Effect::Rate(link.into(), rate)),
                    LinkChange::Up { up, converge, .. } => {
                        (at + converge, Effect::Round(link, !up))
                    }
                    LinkChange::Drain { drain, converge } => {
                        (at + converge, Effect::Round(link, drain))
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    };
    let mut found: Vec<_> = scenario.event.iter().filter_map(of).collect();
    found.sort_by_key(|&(at, _)| at);
    found
}

/// Said of the link that is offered the largest multiple of what it carries from an event on, if it carried it
/// before.
pub(super) fn overloaded(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let effects = effects(scenario, graph);
    if effects.is_empty() {
        return None;
    }
    let traffic = || scenario.traffic.iter().map(|entry| &entry.source);
    let at_first = Links::new(graph, scenario.topology.host_rates())?.loads(traffic());
    let mut loads = at_first.clone();
    let (mut rates, mut round) = (BTreeMap::new(), BTreeSet::new());
    let mut known = BTreeSet::new();
    let mut worst: Option<(f64, LinkId, Span, Option<Rate>)> = None;
    let mut tables = 0;
    let mut effects = effects.into_iter().peekable();
    while let Some((at, effect)) = effects.next() {
        match effect {
            Effect::Rate(links, rate) => rates.extend(links.into_iter().map(|link| (link, rate))),
            Effect::Round(links, true) => round.extend(links),
            Effect::Round(links, false) => links.iter().for_each(|link| _ = round.remove(link)),
        }
        // All of one time first.
        if effects.peek().is_some_and(|&(next, _)| next == at) {
            continue;
        }
        if round != known {
            tables += 1;
            if tables > MOST_TABLES {
                break;
            }
            loads = around(scenario, graph, &round, &rates)?;
            known.clone_from(&round);
        }
        for (place, &load) in loads.iter().enumerate() {
            let link = LinkId::at(place);
            let rate: Option<Rate> = rates.get(&link).copied();
            let first = links::cable(graph, link).rate.as_bps() as f64;
            let load = load * rate.map_or(1.0, |rate| first / rate.as_bps() as f64);
            // Links over 1 from the start were refused, or are meant: only what events do is said.
            if at_first[place] <= 1.0 && load > 1.0 && worst.is_none_or(|(most, ..)| load > most) {
                worst = Some((load, link, at, rate));
            }
        }
    }
    worst.map(|(load, link, at, rate)| {
        let port = graph.port_name(link);
        let why = match rate {
            Some(rate) => format!("has {rate} ([[event]]) and is offered"),
            None => {
                "is on the way round links that are down or drained ([[event]]), and is offered"
                    .into()
            }
        };
        format!(
            "from {at} on, {port}'s link {why} {load:.4} times what it carries: what waits there \
             grows until that ends"
        )
    })
}

/// Loads where tables lead round links; flows that have no way left offer nothing.
fn around(
    scenario: &Scenario,
    graph: &Graph,
    round: &BTreeSet<LinkId>,
    rates: &BTreeMap<LinkId, Rate>,
) -> Option<Vec<f64>> {
    let mut graph = graph.clone();
    if !round.is_empty() {
        let usable = |switch, port| !round.contains(&graph.link(switch, port));
        graph.route = Arc::new(Tables::over(&graph.access, &graph.switches, usable));
        if scenario.routing.weighs() {
            let rate = |link: LinkId| rates.get(&link).copied();
            graph.route = Arc::new(Weighted::over(&graph, graph.route.clone(), &rate));
        }
    }
    let links = Links::new(&graph, scenario.topology.host_rates())?;
    Some(links.loads(scenario.traffic.iter().map(|entry| &entry.source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans_of;
    use std::path::Path;

    /// The warning for four hosts of 10 Gbps under each leaf, and two spines at 20 Gbps.
    fn said_at(load: f64, events: &str) -> Option<String> {
        let text = format!(
            r#"
            topology = {{ kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 4, host_rate = "10Gbps", fabric_rate = "20Gbps", host_delay = "1us", fabric_delay = "1us" }}
            switch.buffer = "300KB"
            scheme.name = "none"
            transport.kind = "dctcp"
            traffic = [{{ kind = "poisson", from = "0-3", to = "4-7", load = {load}, flows = 10, sizes = "web-search" }}]
            {events}
            "#
        );
        let plans = plans_of("x.toml", &text, Path::new("."), &[], None)
            .unwrap_or_else(|mistake| panic!("{mistake}"));
        overloaded(&plans[0].scenario, &plans[0].scenario.graph())
    }

    fn said(events: &str) -> Option<String> {
        said_at(0.6, events)
    }

    const DOWN: &str = r#"at = "1ms", link = "leaf0-spine0", up = false, detect = "1us""#;

    #[test]
    fn the_load_of_a_link_that_is_down_is_laid_on_the_others() {
        // 24 Gbps over two links of 20, then over one.
        let found = said(&format!("event = [{{ {DOWN}, converge = \"2ms\" }}]")).expect("said");
        assert!(found.starts_with("from 3ms on, leaf0:5's link is on the way round"), "{found}");
        assert!(found.contains("offered 1.2000 times"), "{found}");
        let drain =
            r#"event = [{ at = "1ms", link = "leaf1-spine1", drain = true, converge = "1ms" }]"#;
        let found = said(drain).expect("said");
        assert!(found.starts_with("from 2ms on, leaf0:4's link"), "{found}");
    }

    #[test]
    fn what_the_others_carry_is_not_said() {
        assert_eq!(said(""), None);
        let down = format!("event = [{{ {DOWN}, converge = \"1us\" }}]");
        assert_eq!(said_at(0.4, &down), None);
        assert!(said_at(0.6, &down).is_some());
    }

    #[test]
    fn the_rate_is_that_of_the_time_that_is_named() {
        let rate =
            |at: &str, rate: &str| format!(r#"{{ at = "{at}", port = "host0", rate = "{rate}" }}"#);
        let found = said(&format!("event = [{}, {}]", rate("1ms", "2Gbps"), rate("2ms", "10Gbps")));
        let found = found.expect("said");
        assert!(found.starts_with("from 1ms on, host0's link has 2Gbps ([[event]])"), "{found}");
    }

    #[test]
    fn rates_and_ways_round_add_up() {
        let slow = r#"{ at = "2ms", link = "leaf0-spine1", rate = "15Gbps" }"#;
        let found = said(&format!("event = [{{ {DOWN}, converge = \"1us\" }}, {slow}]"));
        let found = found.expect("said");
        assert!(found.contains("has 15Gbps ([[event]]) and is offered 1.6000 times"), "{found}");
    }

    #[test]
    fn flows_without_a_way_offer_nothing() {
        let all = r#"{ at = "1ms", link = "leaf0-spine1", up = false, detect = "1us", converge = "1us" }"#;
        assert_eq!(said(&format!("event = [{{ {DOWN}, converge = \"1us\" }}, {all}]")), None);
    }
}
