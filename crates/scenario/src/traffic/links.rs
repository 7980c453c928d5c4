//! The load that traffic offers to each link: payload bits a second over the link's rate, where each
//! flow counts as the mean that its size table states and goes by each of its equal-cost ways alike.
//! Headers, ACKs, requests and retransmissions come on top; flow lists, probes and flows that never end
//! offer no known load.

use super::program::Schedule;
use super::source::{Demand, Source};
use crate::topology::HostRates;
use crate::topology::graph::{Cable, Graph, Node};
use crate::topology::links;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use switchbed_units::Rate;
use switchbed_units::ids::{HostId, LinkId, PortId, SwitchId};

/// A link and what it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkLoad {
    /// The sending port, as `leaf0:3` or `host2`.
    pub port: String,
    /// Payload bits offered over the bits that it carries; over 1 never drains.
    pub load: f64,
    /// Whether it joins two switches.
    pub fabric: bool,
}

/// A network and the ways through it, on which loads are laid.
pub struct Links<'a> {
    graph: &'a Graph,
    lines: HostRates,
}

/// Part of the highest load from which on a link is about as busy.
const ABOUT: f64 = 0.9;

/// Most steps that laying a demand out takes: a second or two.
const MOST_STEPS: usize = 1_000_000_000;

impl<'g> Links<'g> {
    /// The links of a graph whose hosts have these rates; `None` where it is too large for loads to be laid out
    /// in a few seconds.
    pub fn new(graph: &'g Graph, lines: HostRates) -> Option<Links<'g>> {
        let ports: usize = graph.switches.iter().map(|(_, ports)| ports.len()).sum();
        let steps = graph.switches.len().saturating_mul(ports);
        (steps <= MOST_STEPS).then_some(Links { graph, lines })
    }

    /// The load that these sources offer each link together, by [`LinkId`]: hosts' links first.
    pub fn loads<'a, S>(&self, traffic: impl IntoIterator<Item = &'a S>) -> Vec<f64>
    where
        S: Deref<Target = dyn Source> + 'a,
    {
        self.laid(traffic.into_iter().filter_map(|source| source.demand(&self.lines)))
    }

    /// The load of each link with headers, handshakes and answers. Each source has the bytes on the wire for a byte of its
    /// payload, there and back.
    pub(crate) fn on_wire<'a, S>(
        &self,
        traffic: impl IntoIterator<Item = (&'a S, (f64, f64))>,
    ) -> Vec<f64>
    where
        S: Deref<Target = dyn Source> + 'a,
    {
        let both = |(source, (there, back)): (&'a S, (f64, f64))| {
            let demand = source.demand(&self.lines)?;
            Some([demand.clone().times(there), demand.reversed().times(back)])
        };
        self.laid(traffic.into_iter().filter_map(both).flatten())
    }

    /// The load on the wire of the busiest links between switches, and how many are about as busy, one direction each.
    /// The bytes on the wire for a byte of a source's payload go there and back.
    pub fn crowded<S>(&self, source: &S, factors: (f64, f64)) -> Option<(f64, f64)>
    where
        S: Deref<Target = dyn Source>,
    {
        let loads = self.on_wire([(source, factors)]);
        let ports = self.graph.switches.iter().flat_map(|(_, ports)| ports);
        let between = loads.iter().skip(self.graph.access.len()).zip(ports);
        let between = between.filter(|(_, cable)| matches!(cable.to, Node::Switch(_)));
        let between: Vec<f64> = between.map(|(load, _)| *load).collect();
        let most = between.iter().copied().fold(0.0, f64::max);
        let busy = between.iter().filter(|load| **load >= ABOUT * most).count() as f64;
        (most > 0.0).then_some((most, busy))
    }

    /// The loads of these demands together.
    fn laid(&self, demands: impl Iterator<Item = Demand>) -> Vec<f64> {
        let ports = self.graph.switches.iter().flat_map(|(_, ports)| ports);
        let rates: Vec<Rate> = self.graph.access.iter().chain(ports).map(|c| c.rate).collect();
        let mut bps = vec![0.0; rates.len()];
        demands.for_each(|demand| self.lay(&demand, &mut bps));
        bps.iter().zip(rates).map(|(bps, rate)| bps / rate.as_bps() as f64).collect()
    }

    /// The bytes of payload that the messages of a program put on each link, by [`LinkId`].
    pub fn carried(&self, program: &Schedule) -> Vec<f64> {
        let ports: usize = self.graph.switches.iter().map(|(_, ports)| ports.len()).sum();
        let mut bytes = vec![0.0; self.graph.access.len() + ports];
        // Routes end at switches: messages to hosts of one switch go alike, but for hosts with several links.
        let mut towards: BTreeMap<SwitchId, (HostId, Vec<f64>)> = BTreeMap::new();
        let mut last: BTreeMap<HostId, f64> = BTreeMap::new();
        for message in program.messages() {
            let [src, dst] = [message.from, message.to].map(|rank| program.hosts[rank as usize]);
            // Ranks of one host reach each other without a link.
            if src == dst {
                continue;
            }
            let payload = message.bytes.as_f64();
            let ((only, from), (_, to)) = (self.graph.start(src), self.graph.start(dst));
            if let Some(link) = only {
                bytes[link.index()] += payload;
            }
            *last.entry(dst).or_default() += payload;
            let empty = || (dst, vec![0.0; self.graph.choosers()]);
            let (_, sent) = towards.entry(to).or_insert_with(empty);
            sent[from.index()] += payload;
        }
        for (_, (host, sent)) in towards {
            let came = self.towards(host, sent, &mut bytes);
            if self.graph.is_multihomed(host) {
                for (switch, came) in came {
                    self.deliver(host, switch, came, &mut bytes);
                }
            }
        }
        for (switch, (_, ports)) in self.graph.switches.iter().enumerate() {
            for (port, cable) in ports.iter().enumerate() {
                if let Node::Host(host) = cable.to
                    && !self.graph.is_multihomed(host)
                {
                    bytes[self.link(switch, port)] += last.get(&host).copied().unwrap_or(0.0);
                }
            }
        }
        bytes
    }

    /// The rate of a link.
    pub fn rate(&self, link: LinkId) -> Rate {
        links::cable(self.graph, link).rate
    }

    /// The link of this load, named.
    pub fn named(&self, link: LinkId, load: f64) -> LinkLoad {
        let Cable { from, to, .. } = links::cable(self.graph, link);
        let fabric = [from, to].iter().all(|end| matches!(end, Node::Switch(_)));
        LinkLoad { port: self.graph.port_name(link), load, fabric }
    }

    /// The busiest links among those that join switches, or among hosts', busiest first; of equals, the
    /// first.
    pub fn busiest(&self, loads: &[f64], fabric: bool, most: usize) -> Vec<LinkLoad> {
        self.busiest_places(loads, fabric, most).into_iter().map(|(_, link)| link).collect()
    }

    /// The same with their numbers.
    pub(crate) fn busiest_places(
        &self,
        loads: &[f64],
        fabric: bool,
        most: usize,
    ) -> Vec<(LinkId, LinkLoad)> {
        let named =
            |(link, &load): (usize, &f64)| (LinkId::at(link), self.named(LinkId::at(link), load));
        let mut order: Vec<(usize, &f64)> =
            loads.iter().enumerate().filter(|(_, load)| **load > 0.0).collect();
        // Ties by number: the report is the same each time.
        order.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(&b.0)));
        order.into_iter().map(named).filter(|(_, link)| link.fabric == fabric).take(most).collect()
    }

    /// The busiest link; of equals, the first.
    pub(crate) fn busiest_of_all(&self, loads: &[f64]) -> Option<LinkLoad> {
        let (link, load) =
            (0..).zip(loads).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)))?;
        Some(self.named(LinkId::at(link), *load))
    }

    fn link(&self, switch: usize, port: usize) -> usize {
        self.graph.link(SwitchId::at(switch), PortId::at(port)).index()
    }

    /// Adds a demand's bits a second to those of each link.
    fn lay(&self, demand: &Demand, bps: &mut [f64]) {
        let graph = self.graph;
        let hosts = graph.hosts();
        let (mut x, mut y) = (vec![0.0; hosts], vec![0.0; hosts]);
        demand.from.iter().for_each(|&(host, of)| x[host as usize] += of);
        demand.to.iter().for_each(|&(host, of)| y[host as usize] += of);
        let (all_x, all_y): (f64, f64) = (x.iter().sum(), y.iter().sum());
        // Rates that the hosts of each switch send and receive; those with several links choose themselves.
        let (mut sent, mut taken) = (vec![0.0; graph.choosers()], vec![0.0; graph.choosers()]);
        let mut last_host = vec![None; graph.switches.len()];
        // Hosts whose several links lead to the same switches at the same rates.
        let mut groups: BTreeMap<Vec<(Node, Rate)>, Vec<HostId>> = BTreeMap::new();
        for host in (0..hosts).map(HostId::at) {
            let (only, start) = graph.start(host);
            sent[start.index()] += x[host.index()];
            let Some(link) = only else {
                let to = graph.cables(host).iter().map(|cable| (cable.to, cable.rate)).collect();
                groups.entry(to).or_default().push(host);
                continue;
            };
            // To all but itself.
            bps[link.index()] += x[host.index()] * (all_y - y[host.index()]);
            taken[start.index()] += y[host.index()];
            last_host[start.index()] = Some(host);
        }
        for (switch, (_, ports)) in graph.switches.iter().enumerate() {
            for (port, cable) in ports.iter().enumerate() {
                if let Node::Host(host) = cable.to
                    && !graph.is_multihomed(host)
                {
                    bps[self.link(switch, port)] += y[host.index()] * (all_x - x[host.index()]);
                }
            }
        }
        for (to, host) in last_host.into_iter().enumerate() {
            // Routes end at switches: one host stands for all of a switch.
            if let Some(host) = host.filter(|_| taken[to] > 0.0) {
                let sent = sent.iter().map(|sent| sent * taken[to]).collect();
                self.towards(host, sent, bps);
            }
        }
        for group in groups.into_values() {
            self.lay_towards(&group, (&x, &y), &sent, bps);
        }
    }

    /// Lays what is sent to hosts whose several links lead to the same switches.
    fn lay_towards(
        &self,
        group: &[HostId],
        (x, y): (&[f64], &[f64]),
        sent: &[f64],
        bps: &mut [f64],
    ) {
        let graph = self.graph;
        let all: f64 = group.iter().map(|host| y[host.index()]).sum();
        let (Some(&first), true) = (group.first(), all > 0.0) else { return };
        let mut sent = sent.to_vec();
        // Traffic among them is laid by hand, since none of them sends to itself.
        let choosers: Vec<SwitchId> = group.iter().map(|&host| graph.start(host).1).collect();
        choosers.iter().for_each(|chooser| sent[chooser.index()] = 0.0);
        let mut came = self.towards(first, sent.iter().map(|sent| sent * all).collect(), bps);
        came.values_mut().for_each(|came| *came /= all);
        let mut own: Vec<BTreeMap<SwitchId, f64>> = Vec::with_capacity(group.len());
        for (&host, &chooser) in group.iter().zip(&choosers) {
            let mut reached: BTreeMap<SwitchId, f64> = BTreeMap::new();
            for (port, part) in self.parts(first, chooser) {
                let Node::Switch(to) = graph.cable(chooser, port).to else { continue };
                bps[graph.link(chooser, port).index()] +=
                    x[host.index()] * (all - y[host.index()]) * part;
                *reached.entry(to).or_default() += x[host.index()] * part;
                *came.entry(to).or_default() += x[host.index()] * part;
            }
            own.push(reached);
        }
        for (&host, own) in group.iter().zip(&own) {
            for (&switch, came) in &came {
                let others = came - own.get(&switch).copied().unwrap_or(0.0);
                self.deliver(host, switch, y[host.index()] * others, bps);
            }
        }
    }

    /// Ports of a set, each with its part: WCMP's where routes have weights, else ECMP's equal ones.
    fn parts(&self, dst: HostId, at: SwitchId) -> impl Iterator<Item = (PortId, f64)> {
        let ways = self.graph.route.ways(dst, at);
        let each = 1.0 / f64::from(ways.len());
        let part = move |place| self.graph.route.part(dst, at, place).unwrap_or(each);
        (0..ways.len()).map(move |place| (ways.at(place), part(place)))
    }

    /// Lays what has come to a switch for a host there with several links.
    fn deliver(&self, host: HostId, switch: SwitchId, came: f64, bps: &mut [f64]) {
        for (port, part) in self.parts(host, switch) {
            bps[self.graph.link(switch, port).index()] += came * part;
        }
    }

    /// Lays what each switch, and each host with several links, sends to the switches where `host` is; answers what
    /// comes to each of these.
    fn towards(
        &self,
        host: HostId,
        mut sent: Vec<f64>,
        bps: &mut [f64],
    ) -> BTreeMap<SwitchId, f64> {
        let graph = self.graph;
        let next = |at: usize| {
            let ways = graph.route.ways(host, SwitchId::at(at));
            match graph.cable(SwitchId::at(at), ways.at(0)).to {
                Node::Switch(next) => (ways, next.index()),
                Node::Host(_) => (ways, at),
            }
        };
        let ends = graph.cables(host).iter().filter_map(|cable| match cable.to {
            Node::Switch(to) => Some(to),
            Node::Host(_) => None,
        });
        let ends: BTreeSet<SwitchId> = ends.collect();
        let is_end = |at: usize| ends.contains(&SwitchId::at(at));
        // Every equal-cost way is as long.
        let mut far = vec![None; sent.len()];
        ends.iter().for_each(|end| far[end.index()] = Some(0));
        let mut levels: Vec<Vec<usize>> = vec![Vec::new()];
        let leads = |at: usize| !graph.route.ways(host, SwitchId::at(at)).is_empty();
        for from in (0..sent.len()).filter(|&switch| sent[switch] > 0.0) {
            // No way is left past links that are down: what is sent there is lost.
            if !is_end(from) && !leads(from) {
                continue;
            }
            let (mut walk, mut at) = (Vec::new(), from);
            while far[at].is_none() {
                walk.push(at);
                at = next(at).1;
            }
            for (switch, steps) in walk.into_iter().rev().zip(far[at].unwrap_or(0) + 1..) {
                far[switch] = Some(steps);
            }
            let level = far[from].unwrap_or(0);
            levels.resize_with(levels.len().max(level + 1), Vec::new);
            levels[level].push(from);
        }
        // The farthest first: a switch must have all that comes through it before it passes it on.
        for level in (1..levels.len()).rev() {
            for switch in std::mem::take(&mut levels[level]) {
                let (ways, _) = next(switch);
                let each = sent[switch] / f64::from(ways.len());
                for (port, place) in ways.iter().zip(0..) {
                    let part = graph.route.part(host, SwitchId::at(switch), place);
                    // WCMP's parts, where routes have weights; else ECMP's equal ones.
                    let each = part.map_or(each, |part| sent[switch] * part);
                    bps[graph.link(SwitchId::at(switch), port).index()] += each;
                    if let Node::Switch(next) = graph.cable(SwitchId::at(switch), port).to {
                        // Nothing came here so far: not on its level's list yet.
                        if sent[next.index()] == 0.0 && !is_end(next.index()) {
                            levels[level - 1].push(next.index());
                        }
                        sent[next.index()] += each;
                    }
                }
            }
        }
        ends.into_iter().map(|end| (end, sent[end.index()])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;
    use crate::topology::graph::Hop;
    use crate::topology::{Clos, Dumbbell, LeafSpine, ParkingLot, Ring, Star, Tiers, Way};
    use crate::{Load, Poisson, Service, Traffic};
    use switchbed_units::Span;

    const RATE: Rate = Rate::from_gbps(10);
    const DELAY: Span = Span::from_us(1);

    fn topologies() -> Vec<Topology> {
        let (host_rate, rate, delay) = (RATE, RATE, DELAY);
        let (fabric_rate, fabric_delay, host_delay) = (Rate::from_gbps(40), DELAY, DELAY);
        let tiers = Tiers {
            host_rate,
            host_delay,
            aggregation_rate: rate,
            aggregation_delay: delay,
            core_rate: rate,
            core_delay: delay,
        };
        let ring = |way| {
            let (ring_rate, ring_delay) = (rate, delay);
            Ring { switches: 5, hosts_per_switch: 2, rate, delay, ring_rate, ring_delay, way }
        };
        vec![
            Topology::Star(Star { hosts: 5, rate, delay }),
            Topology::Dumbbell(Dumbbell {
                left: 3,
                right: 2,
                rate,
                delay,
                bottleneck_rate: rate,
                bottleneck_delay: delay,
            }),
            Topology::ParkingLot(ParkingLot {
                switches: 4,
                hosts_per_switch: 2,
                rate,
                delay,
                bottleneck_rate: rate,
                bottleneck_delay: delay,
            }),
            Topology::Ring(ring(Way::Shortest)),
            Topology::Ring(ring(Way::Clockwise)),
            Topology::LeafSpine(LeafSpine {
                leaves: 3,
                spines: 2,
                hosts_per_leaf: 4,
                host_rate,
                host_delay,
                fabric_rate,
                fabric_delay,
            }),
            Topology::Clos(Clos {
                pods: 3,
                edges_per_pod: 2,
                aggregations_per_pod: 2,
                cores: 4,
                hosts_per_edge: 3,
                tiers,
            }),
        ]
    }

    fn poisson(load: f64, from: Vec<u32>, to: Vec<u32>) -> Traffic {
        let sizes = crate::sizes::named("web-search").unwrap();
        Traffic::Poisson(Poisson {
            load: Load { load, overload: None, flows: 1, sizes: vec![sizes].into() },
            from: from.into(),
            to: to.into(),
            service: Service::ONE,
            carried: crate::Carried { connections: crate::Connections::Fresh },
        })
    }

    #[test]
    fn ways_are_the_ports_that_routes_take() {
        for topology in topologies() {
            let graph = Graph::new(&topology, Span::ZERO);
            for dst in (0..topology.hosts()).map(HostId) {
                for switch in (0..graph.switches.len() as u32).map(SwitchId) {
                    let mut taken: Vec<u32> =
                        (0..300).map(|key| graph.route.route(Hop { dst, key }, switch).0).collect();
                    taken.sort_unstable();
                    taken.dedup();
                    let ways: Vec<u32> =
                        graph.route.ways(dst, switch).iter().map(|p| p.0).collect();
                    assert_eq!(ways, taken, "{topology:?} {dst:?} {switch:?}");
                }
            }
        }
    }

    /// The same by the definition: each pair's way for each key alike.
    fn by_pairs(topology: &Topology, demand: &Demand) -> Vec<f64> {
        let graph = Graph::new(topology, Span::ZERO);
        let ports = graph.switches.iter().flat_map(|(_, ports)| ports);
        let rates: Vec<Rate> = graph.access.iter().chain(ports).map(|c| c.rate).collect();
        let mut loads = vec![0.0; rates.len()];
        for &(src, x) in &demand.from {
            for &(dst, y) in demand.to.iter().filter(|(dst, _)| *dst != src) {
                // Pins in mixed radix: four take each way as often.
                for pin in 0..4 {
                    let hop = Hop { dst: HostId(dst), key: Hop::PINNED | pin };
                    for link in graph.ways(HostId(src), hop).fixed().unwrap() {
                        loads[link.index()] += x * y / 4.0 / rates[link.index()].as_bps() as f64;
                    }
                }
            }
        }
        loads
    }

    #[test]
    fn loads_are_the_sums_over_pairs_and_ways() {
        for topology in topologies() {
            let hosts = topology.hosts();
            let all: Vec<u32> = (0..hosts).collect();
            let some = vec![hosts - 1, 1];
            for (from, to) in [(&all, &all), (&all, &some), (&some, &all)] {
                let traffic = poisson(0.7, from.clone(), to.clone());
                let graph = Graph::new(&topology, Span::ZERO);
                let links = Links::new(&graph, topology.host_rates()).unwrap();
                let loads = links.loads([&traffic]);
                let expected =
                    by_pairs(&topology, &traffic.demand(&HostRates::Same(RATE)).unwrap());
                for (link, (load, expected)) in loads.iter().zip(&expected).enumerate() {
                    assert!(
                        (load - expected).abs() < 1e-9,
                        "{topology:?} {link} {load} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn many_to_one_loads_the_receivers_link_with_all_of_it() {
        let star = Topology::Star(Star { hosts: 5, rate: RATE, delay: DELAY });
        let graph = Graph::new(&star, Span::ZERO);
        let links = Links::new(&graph, star.host_rates()).unwrap();
        let loads = links.loads([&poisson(0.9, vec![0, 1, 2, 3], vec![4])]);
        let busiest = &links.busiest(&loads, false, 2);
        assert_eq!((busiest[0].port.as_str(), busiest[1].port.as_str()), ("switch:4", "host0"));
        assert!((busiest[0].load - 3.6).abs() < 1e-12 && (busiest[1].load - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_ring_puts_its_share_on_each_rank_and_on_the_links_between_its_leaves() {
        let text = |ranks: &str, operation: &str| {
            format!(
                "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
                 host_rate = \"100Gbps\"\nhost_delay = \"1us\"\n[switch]\nbuffer = \"10MB\"\n\
                 [scheme]\nname = \"none\"\n[[traffic]]\nkind = \"poisson\"\nload = 0.1\nflows = 3\nsizes = \"1KB\"\n\
                 [[traffic]]\nkind = \"collective\"\noperation = \"{operation}\"\nranks = {ranks}\nbytes = \"8MB\"\n"
            )
        };
        let of = |ranks: &str, operation: &str| {
            let text = text(ranks, operation);
            let plans = crate::plans_of("c.toml", &text, std::path::Path::new(""), &[], None);
            let plans = plans.unwrap_or_else(|why| panic!("{why}"));
            let [found] = &plans[0].repetitions().expect("programs")[..] else { panic!("one") };
            assert_eq!((found.traffic, found.kind), (1, "collective"));
            let mut links: Vec<(String, f64, f64)> = Vec::new();
            links.extend(found.links.iter().map(|of| (of.port.clone(), of.bytes, of.time_s)));
            links
        };
        let named = |links: &[(&str, f64)]| -> Vec<(String, f64, f64)> {
            // Hosts' links have 100 Gbps, as the fabric's here.
            links
                .iter()
                .map(|&(port, bytes)| (port.to_owned(), bytes, bytes * 8.0 / 1e11))
                .collect()
        };
        // Ring all-reduce of eight ranks: 2 × 7/8 × 8 MB from each to the next. One rank of each leaf has its next
        // on the other, by two spines alike.
        let found = of("\"0-7\"", "all-reduce");
        let (each, half) = (14e6, 7e6);
        assert_eq!(
            found,
            named(&[
                ("host0", each),
                ("host1", each),
                ("host2", each),
                ("leaf0:4", half),
                ("leaf0:5", half),
                ("leaf1:4", half)
            ])
        );
        // Ranks in turn on both leaves: all that is sent crosses, 4 × 14 MB over two links.
        let found = of("[0, 4, 1, 5, 2, 6, 3, 7]", "all-reduce");
        assert_eq!(found[..2], named(&[("leaf0:4", 28e6), ("leaf0:5", 28e6)]));
        // A broadcast of the whole: no more than 8 MB come to a host.
        let found = of("\"0-7\"", "broadcast");
        let down = found.iter().find(|of| of.0.starts_with("leaf0:1"));
        assert!(down.is_none_or(|of| of.1 <= 8e6), "{found:?}");
    }
}
