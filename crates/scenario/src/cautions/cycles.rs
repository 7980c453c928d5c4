//! Whether lossless classes can deadlock (docs/pfc.md): circles of ports whose queues wait for each
//! other. A route that comes in by one port and leaves by another makes the first wait for the second
//! (Dally and Seitz, IEEE Transactions on Computers C-36, 1987).

use crate::Scenario;
use crate::topology::graph::{Graph, Hop, Node};
use std::collections::{BTreeMap, BTreeSet};
use switchbed_units::ids::{HostId, PortId, SwitchId};

/// A switch's port.
type Port = (SwitchId, PortId);

/// Steps of routes that are looked at, at most: a network with more is not.
const MOST: usize = 20_000_000;

/// What is to be said of a scenario's routes, known before it runs.
pub(super) fn possible(scenario: &Scenario) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let graph = Graph::new(&scenario.topology, scenario.host.delay);
    let cycle = cycle(&waits(&graph))?;
    let name = |&(switch, port): &Port| format!("{}:{}", graph.switches[switch.index()].0, port.0);
    let mut names: Vec<String> = cycle.iter().map(name).collect();
    names.push(names[0].clone());
    let classes = if pfc.priorities.len() == 1 { "class" } else { "classes" };
    let priorities: Vec<String> = pfc.priorities.iter().map(u8::to_string).collect();
    Some(format!(
        "lossless {classes} {} may deadlock: routes make a circle of ports that wait for each other, {}",
        priorities.join(", "),
        names.join(" > ")
    ))
}

/// For each port that leads to a switch, the ports that packets which come by it leave that switch by.
fn waits(graph: &Graph) -> BTreeMap<Port, BTreeSet<Port>> {
    let mut waits: BTreeMap<Port, BTreeSet<Port>> = BTreeMap::new();
    // Of a switch's hosts, the first stands for all: they differ in the last port, which leads to no switch.
    let mut edges: BTreeMap<SwitchId, HostId> = BTreeMap::new();
    for (host, cable) in graph.hosts.iter().enumerate() {
        if let Node::Switch(switch) = cable.to {
            edges.entry(switch).or_insert(HostId::at(host));
        }
    }
    let widest = graph.switches.iter().map(|(_, ports)| ports.len()).max().unwrap_or(0);
    let keys = (widest * widest).min(256) as u32;
    if edges.len() * edges.len() * keys as usize > MOST {
        return waits;
    }
    for &dst in edges.values() {
        for (&from, key) in edges.keys().flat_map(|from| (0..keys).map(move |key| (from, key))) {
            let hop = Hop { dst, key: Hop::PINNED | key };
            let (mut at, mut by) = (from, None::<Port>);
            for _ in 0..=graph.switches.len() {
                let port = (at, graph.route.route(hop, at));
                let cable = &graph.switches[at.index()].1[port.1.index()];
                let Node::Switch(next) = cable.to else { break };
                if let Some(by) = by {
                    waits.entry(by).or_default().insert(port);
                }
                (at, by) = (next, Some(port));
            }
        }
    }
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
                Some(next) if done.contains(next) => {}
                Some(next) => {
                    if let Some(start) = way.iter().position(|(port, _)| port == next) {
                        let mut cycle: Vec<Port> = way[start..].iter().map(|of| of.0).collect();
                        let least = cycle
                            .iter()
                            .enumerate()
                            .min_by_key(|&(_, port)| port)
                            .map_or(0, |(nth, _)| nth);
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
