//! Lines that events take down or pause, and the flows that cannot end because of them: those whose packets or ACKs
//! would take such a line, and in a lossless class all whose hosts are paused in the end.

use std::collections::{BTreeMap, BTreeSet};
use switchbed_scenario::Scenario;
use switchbed_scenario::event::{Change, Event, LinkChange};
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::topology::graph::{Cable, Graph, Hop, Node};
use switchbed_scenario::topology::{links, ports};
use switchbed_scenario::traffic::{Demand, Expected};
use switchbed_units::Span;
use switchbed_units::ids::{HostId, LinkId, PortId};

/// A line that an event takes down or pauses.
pub(crate) struct Dead {
    /// Number of the event.
    pub event: usize,
    cable: Cable,
    link: LinkId,
    /// The class that is paused; `None`: all are held.
    class: Option<u8>,
    /// Whether the port keeps its packets, and so fills up.
    keeps: bool,
    at_s: f64,
    /// When it carries packets again.
    until_s: f64,
}

/// Lines of the scenario's events, and the network if there are any.
pub(crate) fn lines(scenario: &Scenario) -> Option<(Graph, Vec<Dead>)> {
    let events = &scenario.event;
    let stops = |change: &Change| match change {
        Change::Link { up, .. } | Change::OfLink { what: LinkChange::Up { up, .. }, .. } => !up,
        Change::Storm { .. } => true,
        _ => false,
    };
    if !events.iter().any(|event| stops(&event.change)) {
        return None;
    }
    let graph = Graph::new(&scenario.topology, Span::ZERO);
    let stopping = events.iter().enumerate().filter(|(_, event)| stops(&event.change));
    let mut detours = BTreeMap::new();
    let dead = stopping.filter_map(|(nth, event)| {
        Dead::of(&graph, events, (nth, event), |line| {
            *detours.entry(line).or_insert_with(|| has_detour(&graph, line))
        })
    });
    let dead = dead.collect();
    Some((graph, dead))
}

impl Dead {
    fn of(
        graph: &Graph,
        events: &[Event],
        (event, Event { at, change }): (usize, &Event),
        mut has_detour: impl FnMut(LinkId) -> bool,
    ) -> Option<Dead> {
        let at_s = at.as_secs_f64();
        let until_s = |ends: &dyn Fn(&Change) -> bool| {
            let up = events[event..].iter().find(|later| ends(&later.change));
            up.map_or(f64::INFINITY, |up| up.at.as_secs_f64())
        };
        let (link, class, keeps, until_s) = match change {
            Change::Link { port, .. } => {
                let up = |later: &Change| matches!(later, Change::Link { port: of, up: true } if of == port);
                (ports::find(graph, port)?, None, true, until_s(&up))
            }
            Change::OfLink { link, what: LinkChange::Up { .. } } => {
                let up = |later: &Change| {
                    let Change::OfLink { link: of, what: LinkChange::Up { up, .. } } = later else {
                        return false;
                    };
                    *up && of == link
                };
                // Flows that have data on one direction have their ACKs on the other.
                let [there, back] = links::find(graph, link)?;
                let from_host = matches!(links::cable(graph, there).from, Node::Host(_));
                let line = if from_host { back } else { there };
                // Tables lead round it soon, where there is another way.
                if has_detour(line) {
                    return None;
                }
                (line, None, false, until_s(&up))
            }
            Change::Storm { port, storm, lasts } => {
                let [_, back] =
                    links::find(graph, &links::named(graph, ports::find(graph, port)?))?;
                // Packets that waited go out one after another.
                let until_s = at_s + AFTER * lasts.as_secs_f64();
                (back, Some(*storm), true, until_s)
            }
            _ => return None,
        };
        Some(Dead { event, cable: links::cable(graph, link), link, class, keeps, at_s, until_s })
    }

    /// The host at an end of the line.
    fn host(&self) -> Option<HostId> {
        match (self.cable.from, self.cable.to) {
            (Node::Host(host), _) | (_, Node::Host(host)) => Some(host),
            _ => None,
        }
    }

    /// Part of a source's flows that has its data or its ACKs on the line.
    fn part(&self, graph: &Graph, asked: &Asked) -> f64 {
        match self.host() {
            Some(host) => asked.touching(&[host]) / graph.cables(host).len() as f64,
            None => self.sampled(graph, &asked.demand),
        }
    }

    /// The same of a line between switches, from some of the pairs.
    fn sampled(&self, graph: &Graph, demand: &Demand) -> f64 {
        let some = |side: &[(u32, f64)]| {
            let step = side.len().div_ceil(PAIRS).max(1);
            side.iter().step_by(step).map(|&(host, of)| (HostId(host), of)).collect::<Vec<_>>()
        };
        let (from, to) = (some(&demand.from), some(&demand.to));
        let (mut all, mut here) = (0.0, 0.0);
        for (i, &(src, x)) in from.iter().enumerate() {
            for (j, &(dst, y)) in to.iter().enumerate().filter(|(_, (dst, _))| *dst != src) {
                let key = ((i * PAIRS + j) as u32).wrapping_mul(0x9e37_79b1) & !Hop::PINNED;
                let way =
                    |from, dst| graph.ways(from, Hop { dst, key }).shares().unwrap_or_default();
                let both = way(src, dst).into_iter().chain(way(dst, src));
                let on: f64 =
                    both.filter(|(link, _)| *link == self.link).map(|(_, part)| part).sum();
                (all, here) = (all + x * y, here + x * y * on.min(1.0));
            }
        }
        if all > 0.0 { here / all } else { 0.0 }
    }
}

/// Hosts of each side whose pairs stand for all.
const PAIRS: usize = 64;

/// Networks of more switches are fabrics, which have other ways.
const SEARCHED: usize = 1_000;

/// Whether there is another way between the ends of a line.
fn has_detour(graph: &Graph, line: LinkId) -> bool {
    let cable = links::cable(graph, line);
    let (Node::Switch(from), Node::Switch(to)) = (cable.from, cable.to) else { return false };
    if graph.switches.len() > SEARCHED {
        return true;
    }
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = next.pop() {
        for port in 0..graph.ports(Node::Switch(at)) {
            let Node::Switch(other) = graph.cable(at, PortId(port)).to else { continue };
            if graph.link(at, PortId(port)) != line && seen.insert(other) {
                next.push(other);
            }
        }
    }
    seen.contains(&to)
}

/// A source's demand, with each host's part of either side.
struct Asked {
    demand: Demand,
    from: BTreeMap<HostId, f64>,
    to: BTreeMap<HostId, f64>,
}

impl Asked {
    fn new(demand: Demand) -> Asked {
        let parts = |side: &[(u32, f64)]| {
            let all: f64 = side.iter().map(|(_, of)| of).sum();
            let mut parts = BTreeMap::new();
            for &(host, of) in side {
                *parts.entry(HostId(host)).or_insert(0.0) += of / all;
            }
            parts
        };
        Asked { from: parts(&demand.from), to: parts(&demand.to), demand }
    }

    /// Part of the flows from or to some hosts.
    fn touching(&self, hosts: &[HostId]) -> f64 {
        (share(&self.from, hosts) + share(&self.to, hosts)).min(1.0)
    }
}

/// Part of a side that some hosts have.
fn share(side: &BTreeMap<HostId, f64>, hosts: &[HostId]) -> f64 {
    hosts.iter().filter_map(|host| side.get(host)).sum()
}

/// A flow whose data or ACKs are lost or wait, in units of a connection: it repeats what it has sent, and of packets in
/// any order it remembers each.
const CUT_OFF: f64 = 1.02;
const CUT_OFF_TCP: f64 = 0.92;
const CUT_OFF_UNORDERED: f64 = 1.25;
const LOST_UNORDERED: f64 = 1.15;
/// A storm's time and that in which what waited goes out, in units of the first.
const AFTER: f64 = 1.1;
/// Part of the flows begun after pauses that still wait, where packets that come again keep the line full.
const AGAIN: f64 = 0.62;
/// The same after a storm that ends by itself. (Measured: 0.45.)
const AGAIN_STORM: f64 = 0.52;

/// Flows that cannot end for a while.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stuck {
    /// Connections whose data or ACKs have no line.
    pub cut_off: f64,
    /// Connections whose hosts are paused.
    pub paused: f64,
}

/// Each source's flows that cannot end until a line carries packets again. Where a class is lossless all hosts are paused
/// in the end.
pub(crate) fn stuck(
    scenario: &Scenario,
    protocols: &Protocols,
    sources: &[Expected],
    (graph, dead): &(Graph, Vec<Dead>),
) -> Vec<Stuck> {
    let rates = scenario.topology.host_rates();
    let each = scenario.traffic.iter().zip(sources);
    let asked = each.map(|(entry, source)| {
        let ends = !entry.persists() && source.lasts_s > 0.0;
        entry.demand(&rates).filter(|_| ends).map(Asked::new)
    });
    let asked: Vec<Option<Asked>> = asked.collect();
    let mut found = vec![Stuck::default(); sources.len()];
    for line in dead {
        let spread = Spread::of(scenario, protocols, (sources, &asked), graph, line);
        for (nth, source) in sources.iter().enumerate() {
            let Some(asked) = &asked[nth] else { continue };
            let lasts = |from_s: f64, until_s: f64| {
                (until_s.min(source.lasts_s) - from_s).max(0.0) / source.lasts_s
            };
            let part = line.part(graph, asked);
            let unordered =
                |of: &Protocol| of.queue_pairs().is_some_and(|of| of.control.about().unordered());
            let of = |is: &dyn Fn(&Protocol) -> bool| protocols.of_entry(nth as u32).any(is);
            let of_each = match (of(&unordered), of(&|of| of.queue_pairs().is_some())) {
                (true, _) if line.keeps => CUT_OFF_UNORDERED,
                (true, _) => LOST_UNORDERED,
                (_, true) => CUT_OFF,
                (_, false) => CUT_OFF_TCP,
            };
            found[nth].cut_off += of_each * source.flows * part * lasts(line.at_s, line.until_s);
            let Some(spread) = spread.as_ref().filter(|spread| spread.has(scenario, nth)) else {
                continue;
            };
            let paused = |after_s: f64| {
                let begun_s = line.at_s + after_s;
                let ended_s = spread.until_s.max(begun_s);
                let ends = line.class.is_some() && spread.until_s >= line.until_s;
                let part = if ends { AGAIN_STORM } else { AGAIN };
                let again = if spread.again { part * lasts(ended_s, f64::INFINITY) } else { 0.0 };
                let within = lasts(begun_s, spread.until_s);
                within + if within > 0.0 { again } else { 0.0 }
            };
            let near = asked.touching(&spread.near) * paused(spread.near_s);
            found[nth].paused += source.flows * (1.0 - part) * near.max(paused(spread.all_s));
        }
    }
    for (found, source) in found.iter_mut().zip(sources) {
        found.cut_off = found.cut_off.min(CUT_OFF_UNORDERED * source.flows);
        found.paused = found.paused.min(source.flows);
    }
    found
}

/// Pauses that spread from a port that keeps packets of a lossless class.
struct Spread {
    classes: Vec<u8>,
    /// Hosts at the same switch, and when they are paused after the event; and when all are.
    near: Vec<HostId>,
    near_s: f64,
    all_s: f64,
    until_s: f64,
    /// Whether packets wait for longer than a timeout, and so come again and again.
    again: bool,
}

impl Spread {
    fn of(
        scenario: &Scenario,
        protocols: &Protocols,
        (sources, asked): (&[Expected], &[Option<Asked>]),
        graph: &Graph,
        line: &Dead,
    ) -> Option<Spread> {
        let Scenario { switch, topology, .. } = scenario;
        let (pfc, Node::Switch(at)) = (switch.pfc.as_ref()?, line.cable.from) else { return None };
        let classes: Vec<u8> = pfc
            .priorities
            .iter()
            .copied()
            .filter(|&class| line.class.is_none_or(|of| of == class))
            .collect();
        if !line.keeps || classes.is_empty() {
            return None;
        }
        let ends = (0..graph.ports(Node::Switch(at))).map(|port| graph.cable(at, PortId(port)).to);
        let (near, up): (Vec<Node>, Vec<Node>) = ends.partition(|end| matches!(end, Node::Host(_)));
        let near: Vec<HostId> = near
            .into_iter()
            .filter_map(|end| match end {
                Node::Host(host) => Some(host),
                _ => None,
            })
            .collect();
        let until_s = line.until_s;
        let mut spread = Spread { classes, near, near_s: 0.0, all_s: 0.0, until_s, again: false };
        // Bytes a second of all, to the line, from hosts at the switch, and between these and others.
        let (mut all, mut into, mut own, mut across) = (0.0, 0.0, 0.0, 0.0);
        for (nth, (source, asked)) in sources.iter().zip(asked).enumerate() {
            let (Some(asked), Some(mean)) = (asked, source.mean_bytes) else { continue };
            if !spread.has(scenario, nth) {
                continue;
            }
            let packets = (mean / scenario.host.mtu().as_f64()).ceil();
            let bytes = source.flows * (mean + HEADER * packets) / source.lasts_s;
            let to = match line.host() {
                Some(host) => share(&asked.to, &[host]) / graph.cables(host).len() as f64,
                None => line.part(graph, asked) / 2.0,
            };
            let (from_near, to_near) =
                (share(&asked.from, &spread.near), share(&asked.to, &spread.near));
            all += bytes;
            into += bytes * to;
            own += bytes * to * from_near;
            across += bytes * (1.0 - from_near) * to_near;
        }
        if into <= 0.0 {
            return None;
        }
        let memory = switch.pool.unwrap_or(switch.buffer).as_f64();
        // Bytes of all groups once one that gets this part of them is paused.
        let held = |part: f64| match pfc.threshold {
            Some(threshold) => (threshold.as_f64() / part).min(memory),
            None => {
                let alpha = pfc.alpha.unwrap_or(ALPHA);
                memory * alpha / (part + alpha)
            }
        };
        let (hosts, ups) = (spread.near.len().max(2) as f64, up.len() as f64);
        let largest = (own / into / (hosts - 1.0)).max(if up.is_empty() {
            0.0
        } else {
            (1.0 - own / into) / ups
        });
        let rto_s = protocols
            .queue_pairs()
            .filter(|of| !of.control.about().unordered())
            .map(|of| of.rto_low.as_secs_f64());
        let rto_s = rto_s.fold(f64::INFINITY, f64::min);
        spread.near_s = filled(held(largest), into, rto_s);
        spread.all_s = spread.near_s;
        if !up.is_empty() && across > 0.0 {
            // Switches that send to this one fill up, and then those of other hosts.
            let switches = topology.hosts() as f64 / hosts;
            spread.all_s += held(1.0 / (switches - 1.0).max(1.0)) * ups / across;
            spread.all_s += held(1.0 / hosts) * switches / all;
        }
        let wait_s = held(largest) * 8.0 / line.cable.rate.as_bps() as f64;
        spread.again = wait_s > rto_s;
        if let Some(guard) = pfc.guard() {
            let acts = guard.detection + guard.poll.unwrap_or(Span::ZERO);
            spread.until_s = spread.until_s.min(line.at_s + acts.as_secs_f64());
        }
        Some(spread)
    }

    /// Whether a source has flows in these classes.
    fn has(&self, scenario: &Scenario, nth: usize) -> bool {
        self.classes.iter().any(|&class| scenario.traffic[nth].has_class(class.into()))
    }
}

/// Bytes of a packet that are not payload.
const HEADER: f64 = 70.0;
/// α of HPCC's authors' simulator.
const ALPHA: f64 = 0.125;

/// Seconds until so many bytes have come, each again after every timeout.
fn filled(bytes: f64, per_s: f64, rto_s: f64) -> f64 {
    let (mut at_s, mut come, mut copies) = (0.0, 0.0, 1.0);
    while come + per_s * copies * rto_s < bytes {
        (at_s, come, copies) = (at_s + rto_s, come + per_s * copies * rto_s, copies + 1.0);
    }
    at_s + (bytes - come) / (per_s * copies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use switchbed_scenario::plans_of;

    /// Counts the stuck among 80,000 flows in 16 ms, with an event at 1.6 ms.
    fn of(event: &str) -> Stuck {
        let text = format!(
            r#"
        topology = {{ kind = "star", hosts = 16, rate = "10Gbps", delay = "1us" }}
        switch = {{ pool = "12MB", pfc = {{ priorities = [0] }} }}
        scheme.name = "none"
        transport.kind = "dcqcn"
        run.until = "16ms"
        [[traffic]]
        kind = "poisson"
        load = 0.5
        flows = 80_000
        sizes = "2KB"
        [[event]]
        at = "1600us"
        {event}
        "#
        );
        let plans = plans_of("f.toml", &text, Path::new("."), &[], None).expect("a scenario");
        let scenario = &plans[0].scenario;
        let parts = crate::run::memory::memory(scenario, Default::default());
        let count = |what: &str| {
            parts.iter().filter(|part| part.what == what).map(|part| part.count as f64).sum()
        };
        Stuck { cut_off: count("connections"), paused: count("paused connections") }
    }

    /// An eighth of the flows that start after the event are from or to its host.
    const EIGHTH: f64 = 72_000.0 / 8.0;

    #[test]
    fn a_host_is_cut_off_by_either_direction_of_its_link() {
        let link = "link = \"switch-host3\"\nup = false\ndetect = \"1us\"\nconverge = \"1us\"";
        for event in
            ["port = \"host3\"\nup = false", "port = \"switch:3\"\nstorm = 0\nlasts = \"1s\"", link]
        {
            let Stuck { cut_off, paused } = of(event);
            assert!((EIGHTH..1.1 * EIGHTH).contains(&cut_off), "{event}: {cut_off}");
            assert_eq!(paused, 0.0, "{event}");
        }
    }

    #[test]
    fn a_lossless_port_that_keeps_its_packets_pauses_all_hosts() {
        // A run has them begin to wait at 9.0 ms: 35,000 flows start later, of which an eighth is cut off.
        let later = 35_000.0 * 7.0 / 8.0;
        for event in
            ["port = \"switch:3\"\nup = false", "port = \"host3\"\nstorm = 0\nlasts = \"1s\""]
        {
            let Stuck { cut_off, paused } = of(event);
            assert!((EIGHTH..1.1 * EIGHTH).contains(&cut_off), "{event}: {cut_off}");
            assert!((0.9 * later..1.1 * later).contains(&paused), "{event}: {paused}");
        }
        // The memory of the switch is not full by then.
        assert_eq!(of("port = \"host3\"\nstorm = 0\nlasts = \"5ms\"").paused, 0.0);
    }

    #[test]
    fn bytes_that_come_again_fill_a_memory_sooner() {
        assert_eq!(filled(10.0, 1.0, f64::INFINITY), 10.0);
        // One copy until 4, two until 7.
        assert_eq!(filled(10.0, 1.0, 4.0), 7.0);
    }
}
