//! How long nothing that a node does can reach another, and what beats that allows.

use crate::engine::phases::{Beat, LONGEST};
use crate::ids::{HostId, LinkId};
use crate::ports::{self, PortInfo};
use crate::topology::{Cable, Graph, Node};
use std::collections::BTreeMap;
use switchbed_qdisc::memory::pfc::FRAME_BYTES;
use switchbed_scenario::Scenario;
use switchbed_scenario::Traffic;
use switchbed_scenario::event::{Change, LinkChange};
use switchbed_scenario::topology::links;
use switchbed_units::{Rate, Span};

/// The least times of a run, whatever happens in it.
pub(crate) struct Lookahead {
    /// From one node to the next: the length of a window.
    pub(crate) least: Span,
    /// From any host to another, in whole windows: as fast as word gets there, too.
    pub(crate) word: Span,
    /// The most that a full packet takes from one node to the next at the rates that links have at
    /// first.
    pub(crate) reach: Span,
    pub(crate) beats: Beats,
}

/// When each node's turn is.
pub(crate) struct Beats {
    pub(crate) hosts: Vec<Beat>,
    pub(crate) switches: Vec<Beat>,
}

impl Beats {
    /// The longest period in windows.
    pub(crate) fn longest(&self) -> u64 {
        self.hosts.iter().chain(&self.switches).map(|beat| beat.period()).max().unwrap_or(1)
    }
}

impl Lookahead {
    /// A scenario's, by its graph and what `ports` names there.
    pub(crate) fn new(scenario: &Scenario, graph: &Graph, ports: &[PortInfo]) -> Lookahead {
        let (smallest, largest) = frames(scenario);
        let cables = || ports.iter().map(|port| &port.cable);
        let ahead = |cable: &Cable, rate: Rate| {
            // A line carries remainders: a frame may take a picosecond less.
            let tx = rate.tx_time(smallest).as_ps().saturating_sub(1);
            (cable.delay + Span::from_ps(tx)).max(Span::from_ps(1))
        };
        let mut each: Vec<Span> = cables().map(|cable| ahead(cable, cable.rate)).collect();
        for (link, Least { delay, rate }) in least_of_events(scenario, graph, ports) {
            let cable = ports[link.index()].cable;
            // The least that any event will ever set: the window must not grow too large in
            // mid-run.
            let delay = delay.unwrap_or(cable.delay).min(cable.delay);
            let rate = rate.unwrap_or(cable.rate).max(cable.rate);
            each[link.index()] = ahead(&Cable { delay, ..cable }, rate);
        }
        let least = each.iter().copied().min().unwrap_or(Span::from_ps(1));
        let reach = cables().map(|cable| cable.delay + cable.rate.tx_time(largest)).max();
        let (hosts, switches) = each.split_at(graph.access.len());
        let down = cables().zip(&each).filter(|(cable, _)| matches!(cable.to, Node::Host(_)));
        let down = down.map(|(_, &span)| span).min().unwrap_or(least);
        let word = hosts.iter().copied().min().unwrap_or(least) + down;
        // Words go between shards at the ends of windows: a whole number of them, rounded down to
        // be safe.
        let word = least * (word.as_ps() / least.as_ps());
        let beats = beats(graph, least, word, (hosts, switches));
        Lookahead { least, word, reach: reach.unwrap_or(least), beats }
    }
}

/// The shortest delay and the highest rate that events give a direction of a link.
#[derive(Default)]
struct Least {
    delay: Option<Span>,
    rate: Option<Rate>,
}

/// Least values that events give each direction of a link.
fn least_of_events(
    scenario: &Scenario,
    graph: &Graph,
    ports: &[PortInfo],
) -> BTreeMap<LinkId, Least> {
    let mut least: BTreeMap<LinkId, Least> = BTreeMap::new();
    for event in &scenario.event {
        let (names, delay, rate) = match &event.change {
            Change::Rate { port, rate } => {
                (ports::find(ports, port).into_iter().collect(), None, Some(*rate))
            }
            Change::OfLink { link, what } => {
                let both: Vec<LinkId> = links::find(graph, link).into_iter().flatten().collect();
                match what {
                    LinkChange::Rate { rate, .. } => (both, None, Some(*rate)),
                    LinkChange::Delay { delay } => (both, Some(*delay), None),
                    _ => continue,
                }
            }
            _ => continue,
        };
        for link in names {
            let known = least.entry(link).or_default();
            known.delay = delay.into_iter().chain(known.delay).min();
            known.rate = rate.into_iter().chain(known.rate).max();
        }
    }
    least
}

/// The smallest and the largest frame of a scenario in bytes.
fn frames(scenario: &Scenario) -> (u32, u32) {
    let Scenario { traffic, reaction, host, .. } = scenario;
    let header = scenario.shortest().get().max(1);
    let probes = traffic.iter().filter_map(|traffic| match &traffic.source {
        Traffic::Probe(probe) => Some(probe.size.get()),
        _ => None,
    });
    let notifications = reaction.iter().map(|reaction| reaction.notification_size.get());
    let pauses = scenario.switch.pfc.iter().map(|_| u64::from(FRAME_BYTES));
    let trimmed = scenario.switch.trimming.iter().map(|trimming| trimming.size.get());
    let smallest =
        probes.chain(notifications).chain(pauses).chain(trimmed).fold(header, u64::min).max(1);
    let largest = scenario.longest().max(host.mtu()).get();
    (smallest as u32, largest as u32)
}

/// The longest beats that hosts' and switches' links allow, and word between hosts.
fn beats(graph: &Graph, least: Span, word: Span, each: (&[Span], &[Span])) -> Beats {
    let windows = |span: Span| span.as_ps() / least.as_ps();
    let colours = colours(graph);
    let beat = |ahead: u64, colour: Option<u64>, nth: usize| match colour {
        // Groups of one colour take turns too, where they can.
        Some(colour) => Beat::new(ahead.max(2), 2 * nth as u64 + colour),
        None => Beat::new(ahead, nth as u64),
    };
    let hosts = (0..graph.hosts()).map(|host| {
        let links = &each.0[graph.homes.span(HostId::at(host))];
        let ahead = links.iter().copied().min().unwrap_or(least);
        let colour = colours.as_ref().map(|colours| colours.0[host]);
        beat(windows(ahead.min(word)).min(LONGEST), colour, host)
    });
    let mut links = each.1.iter();
    let switches = graph.switches.iter().enumerate().map(|(switch, (_, cables))| {
        let ahead = links.by_ref().take(cables.len()).copied().min();
        let colour = colours.as_ref().map(|colours| colours.1[switch]);
        beat(ahead.map_or(LONGEST, windows).min(LONGEST), colour, switch)
    });
    Beats { hosts: hosts.collect(), switches: switches.collect() }
}

/// Colours such that every cable joins two: hosts', then switches'. `None` where there are none.
fn colours(graph: &Graph) -> Option<(Vec<u64>, Vec<u64>)> {
    let mut switches: Vec<Option<u64>> = vec![None; graph.switches.len()];
    let mut next = Vec::new();
    for first in 0..switches.len() {
        if switches[first].is_none() {
            switches[first] = Some(1);
            next.push(first);
        }
        while let Some(switch) = next.pop() {
            // Two colours, 0 and 1.
            let other = switches[switch].map(|colour| colour ^ 1);
            for cable in &graph.switches[switch].1 {
                let Node::Switch(to) = cable.to else { continue };
                let to = to.index();
                if switches[to].is_none() {
                    switches[to] = other;
                    next.push(to);
                } else if switches[to] != other {
                    return None;
                }
            }
        }
    }
    let switches: Vec<u64> = switches.into_iter().map(|colour| colour.unwrap_or(1)).collect();
    let host = |cable: &Cable| match cable.to {
        Node::Switch(switch) => Some(switches[switch.index()] ^ 1),
        Node::Host(_) => None,
    };
    let mut hosts = Vec::with_capacity(graph.hosts());
    for of in (0..graph.hosts()).map(HostId::at) {
        let mut colours = graph.cables(of).iter().map(host);
        let colour = colours.next()??;
        // Two links to switches of different colours leave a host none.
        if colours.any(|other| other != Some(colour)) {
            return None;
        }
        hosts.push(colour);
    }
    Some((hosts, switches))
}
