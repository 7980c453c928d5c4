//! Lossless classes (docs/pfc.md): whether groups have the headroom that their links need, and a switch's pool has it
//! for all at once; how much of a line pause frames take; whether classes can deadlock, by circles of ports whose
//! queues wait for each other. A route that comes in by one port and leaves by another makes the first wait for the
//! second (Dally and Seitz, IEEE Transactions on Computers C-36, 1987).

use crate::Scenario;
use crate::build::Inputs;
use crate::event::{Change, Event, LinkChange};
use crate::topology::graph::{Cable, Graph, Node, Route};
use crate::topology::links;
use crate::topology::tables::Tables;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use switchbed_qdisc::memory::chip::Asic;
use switchbed_qdisc::memory::pfc::{Input, Pfc};
use switchbed_units::Bytes;
use switchbed_units::ids::{HostId, LinkId, PortId, SwitchId};

/// Headroom of the lossless groups of links that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomOfLinks {
    /// Bit/s.
    pub rate_bps: u64,
    /// Delay, one way, `host_ns` counted.
    pub delay_ns: f64,
    /// The part of it that is `host.delay`'s.
    pub host_ns: f64,
    /// Number of links that lead to switches.
    pub links: u64,
    /// Bytes that a group needs (docs/pfc.md).
    pub needed_bytes: u64,
    /// Bytes that a group has.
    pub configured_bytes: u64,
    /// Whether the file gives none, so that a group has what it needs.
    pub computed: bool,
}

/// Headroom pool of switches whose links are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomOfSwitches {
    /// Name of the first.
    pub switch: String,
    /// Number of switches.
    pub switches: u64,
    /// Number of links that lead to each.
    pub ports: u64,
    /// Number of lossless classes.
    pub classes: u64,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// Bytes that all groups would take at once.
    pub all_bytes: u64,
    /// Number of ports, those with the largest headroom first, that the pool holds at once.
    pub holds_ports: u64,
    /// Whether the pool holds all groups at once.
    pub holds_all: bool,
}

/// Headroom of a scenario by kind of link and of switch; both empty without lossless classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Headroom {
    /// By rate and delay.
    pub links: Vec<HeadroomOfLinks>,
    /// By the links that lead to a switch.
    pub switches: Vec<HeadroomOfSwitches>,
}

/// Bytes of memory that a link's group needs, whatever the file gives it.
fn needed<'a>(scenario: &'a Scenario, pfc: &Pfc) -> impl Fn(Input) -> u64 + use<'a> {
    let cell = scenario.switch.sharing.asic.map_or(1, |Asic(chip)| chip.cell);
    // As if none were written: what it should be.
    let computed = Pfc { headroom: None, headroom_rates: Vec::new(), ..pfc.clone() };
    move |input: Input| {
        let (longest, shortest) = (scenario.host.mtu(), scenario.shortest());
        computed.headroom_cells(input, longest, shortest, cell) * u64::from(cell)
    }
}

/// Describes a scenario's headroom, before it runs.
pub(crate) fn described(scenario: &Scenario) -> Headroom {
    let Some(pfc) = scenario.switch.pfc.as_ref() else { return Headroom::default() };
    let graph = scenario.graph();
    let needed = needed(scenario, pfc);
    let (longest, shortest) = (scenario.host.mtu(), scenario.shortest());
    let mut links: BTreeMap<[u64; 3], HeadroomOfLinks> = BTreeMap::new();
    let mut switches: BTreeMap<Vec<[u64; 3]>, HeadroomOfSwitches> = BTreeMap::new();
    for ((name, _), inputs) in graph.switches.iter().zip(graph.inputs()) {
        let inputs: Vec<Input> = inputs.iter().map(Cable::input).collect();
        let of = Inputs { links: &inputs, longest, shortest };
        let Some(space) = scenario.switch.headroom_use(of) else { continue };
        let kind = |input: &Input| [input.rate.as_bps(), input.delay.as_ps(), input.host.as_ps()];
        for (&input, each) in inputs.iter().zip(&space.each) {
            let found = links.entry(kind(&input)).or_insert_with(|| HeadroomOfLinks {
                rate_bps: input.rate.as_bps(),
                delay_ns: input.delay.as_ps() as f64 / 1e3,
                host_ns: input.host.as_ps() as f64 / 1e3,
                links: 0,
                needed_bytes: needed(input),
                configured_bytes: each.get(),
                computed: pfc.given_headroom(input).is_none(),
            });
            found.links += 1;
        }
        // Switches with the same links need the same: one stands for all.
        let alike = switches.entry(inputs.iter().map(kind).collect());
        let found = alike.or_insert_with(|| HeadroomOfSwitches {
            switch: name.clone(),
            switches: 0,
            ports: inputs.len() as u64,
            classes: space.classes,
            pool_bytes: space.pool.get(),
            all_bytes: space.classes * space.each.iter().map(|each| each.get()).sum::<u64>(),
            holds_ports: space.largest,
            holds_all: space.all,
        });
        found.switches += 1;
    }
    Headroom {
        // Keyed by rate first: the fastest come first.
        links: links.into_values().rev().collect(),
        switches: switches.into_values().collect(),
    }
}

/// Warns of a scenario's headroom if it is too small, before it runs.
pub(super) fn too_small(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let needed = needed(scenario, pfc);
    let inputs = graph.inputs();
    let all = inputs.iter().flatten().count();
    let each = inputs.iter().flatten().map(Cable::input);
    let short: Vec<(Bytes, u64)> = each
        .filter_map(|link| Some((pfc.given_headroom(link)?, needed(link))))
        .filter(|(given, needed)| *needed > given.get())
        .collect();
    let &(given, most) = short.iter().max_by_key(|(_, needed)| *needed)?;
    // One that only some links have is of the list.
    let key = if pfc.headroom == Some(given) { "headroom" } else { "headroom_sizes" };
    Some(format!(
        "switch.pfc.{key} is {given}, and {} of the {all} links that lead to switches need up to \
         {most}B: packets of lossless classes may be lost there; leave it away to have it computed",
        short.len()
    ))
}

/// More than this is said.
const MUCH: f64 = 0.01;

/// Said where the pause frames of classes that stay paused take more than a hundredth of a line.
pub(super) fn many(scenario: &Scenario) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let share = pfc.pauses_share();
    (share > MUCH).then(|| {
        format!(
            "switch.pfc.quanta is {}: pause frames take {:.3} % of a line while its classes are paused, each \
             sent again after half of its time; the standard's most is 65535",
            pfc.quanta,
            100.0 * share
        )
    })
}

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
