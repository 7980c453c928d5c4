//! Whether lossless classes can deadlock (docs/pfc.md): circles of ports whose queues wait for each
//! other. A route that comes in by one port and leaves by another makes the first wait for the second
//! (Dally and Seitz, IEEE Transactions on Computers C-36, 1987).

use crate::Scenario;
use crate::event::{Change, Event, LinkChange};
use crate::topology::graph::{Graph, Node, Route};
use crate::topology::links;
use crate::topology::tables::Tables;
use std::collections::{BTreeMap, BTreeSet};
use switchbed_units::ids::{HostId, LinkId, PortId, SwitchId};

/// A switch's port.
type Port = (SwitchId, PortId);

/// Steps of routes that are looked at, at most: a network with more is not.
const MOST: usize = 20_000_000;

/// Changes of tables that are looked at, at most.
const MOST_CHANGES: usize = 64;

/// Warns of a scenario's routes if they can deadlock, before it runs.
pub(super) fn possible(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let first = cycle(&waits(graph, &*graph.route)).map(|cycle| (String::new(), cycle));
    let (when, cycle) = first.or_else(|| rerouted(&scenario.event, graph))?;
    let name = |&(switch, port): &Port| format!("{}:{}", graph.switches[switch.index()].0, port.0);
    let mut names: Vec<String> = cycle.iter().map(name).collect();
    names.push(names[0].clone());
    let classes = if pfc.priorities.len() == 1 { "class" } else { "classes" };
    let priorities: Vec<String> = pfc.priorities.iter().map(u8::to_string).collect();
    Some(format!(
        "lossless {classes} {} may deadlock: {when}routes make a circle of ports that wait for each other, {}",
        priorities.join(", "),
        names.join(" > ")
    ))
}

/// The first circle of the routes round links that go down or are drained, and since when.
fn rerouted(events: &[Event], graph: &Graph) -> Option<(String, Vec<Port>)> {
    let change = |event: &Event| {
        let Change::OfLink { link, what } = &event.change else { return None };
        let (why, round, converge) = match *what {
            LinkChange::Up { up, converge, .. } => ("down", !up, converge),
            LinkChange::Drain { drain, converge } => ("drained", drain, converge),
            _ => return None,
        };
        Some((event.at + converge, links::find(graph, link)?, why, round))
    };
    let mut changes: Vec<_> = events.iter().filter_map(change).collect();
    changes.sort_by_key(|change| change.0);
    let mut out: BTreeSet<(&str, LinkId)> = BTreeSet::new();
    for &(at, links, why, round) in changes.iter().take(MOST_CHANGES) {
        for link in links.map(|link| (why, link)) {
            match round {
                true => out.insert(link),
                false => out.remove(&link),
            };
        }
        let usable = |switch, port| out.iter().all(|&(_, link)| link != graph.link(switch, port));
        let tables = Tables::over(&graph.access, &graph.switches, usable);
        if let Some(cycle) = cycle(&waits(graph, &tables)) {
            return Some((format!("from {at} on, round links that are down or drained, "), cycle));
        }
    }
    None
}

/// Ports that packets leave a switch by, for each port by which they come.
fn waits(graph: &Graph, route: &dyn Route) -> BTreeMap<Port, BTreeSet<Port>> {
    let mut waits: BTreeMap<Port, BTreeSet<Port>> = BTreeMap::new();
    // Of the hosts linked to the same switches, the first stands for all: they differ in the last port, which leads to
    // no switch.
    let mut dsts: BTreeMap<Vec<Node>, HostId> = BTreeMap::new();
    for host in (0..graph.hosts()).map(HostId::at) {
        let to = graph.cables(host).iter().map(|cable| cable.to).collect();
        dsts.entry(to).or_insert(host);
    }
    let ends = graph.access.iter().map(|cable| cable.to);
    let edges: BTreeSet<SwitchId> = ends
        .filter_map(|to| match to {
            Node::Switch(switch) => Some(switch),
            Node::Host(_) => None,
        })
        .collect();
    let ports: usize = graph.switches.iter().map(|(_, ports)| ports.len()).sum();
    // Too large a fabric: no circle is claimed rather than minutes spent at the start of a run.
    if dsts.len() * ports > MOST {
        return waits;
    }
    for &dst in dsts.values() {
        // Packets to a host may come from any edge switch: the search begins at all of them.
        let mut reached: BTreeSet<SwitchId> = edges.clone();
        let mut next: Vec<SwitchId> = reached.iter().copied().collect();
        while let Some(at) = next.pop() {
            for port in route.ways(dst, at).iter().map(|port| (at, port)) {
                let Node::Switch(to) = graph.cable(port.0, port.1).to else { continue };
                // Ports to hosts always drain in the end: they are left out.
                let after = route.ways(dst, to).iter().map(|port| (to, port));
                let after =
                    after.filter(|&(at, port)| matches!(graph.cable(at, port).to, Node::Switch(_)));
                waits.entry(port).or_default().extend(after);
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
    }
    // A port that waits for none is in no circle.
    waits.retain(|_, after| !after.is_empty());
    waits
}

/// A circle of ports, from its first on, if there is one.
fn cycle(waits: &BTreeMap<Port, BTreeSet<Port>>) -> Option<Vec<Port>> {
    let mut done = BTreeSet::new();
    for &first in waits.keys() {
        // The way so far, each port with what is still to be tried of it.
        let mut way = vec![(first, waits[&first].iter())];
        while let Some((at, next)) = way.last_mut() {
            match next.next() {
                // Done: no circle leads through it.
                Some(next) if done.contains(next) => {}
                Some(next) => {
                    // Still on the way: this closes a circle (a back edge of the depth-first
                    // search).
                    if let Some(start) = way.iter().position(|(port, _)| port == next) {
                        let mut cycle: Vec<Port> = way[start..].iter().map(|of| of.0).collect();
                        let least = cycle
                            .iter()
                            .enumerate()
                            .min_by_key(|&(_, port)| port)
                            .map_or(0, |(nth, _)| nth);
                        // From its least port, so that the same circle reads the same.
                        cycle.rotate_left(least);
                        return Some(cycle);
                    }
                    match waits.get_key_value(next) {
                        Some((&port, after)) => way.push((port, after.iter())),
                        None => _ = done.insert(*next),
                    }
                }
                None => {
                    done.insert(*at);
                    way.pop();
                }
            }
        }
    }
    None
}
