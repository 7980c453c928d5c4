//! A Clos network of three tiers, as data centres build them: pods of edge switches with hosts and of aggregation
//! switches, each of these linked to every edge of its pod, under cores in planes: the j-th aggregation of every pod
//! is linked to the cores of plane j. Edges are switches 0… in the order of their pods, aggregations follow
//! likewise, then the cores. Ports: an edge's are its hosts, then its pod's aggregations; an aggregation's its
//! pod's edges, then its plane's cores; a core's the pods. ECMP on the way up, at both tiers; one way down. A
//! pinned path p goes by its pod's aggregation p mod A, of A in a pod, and that one's core p / A.

use super::choice::Set;
use super::graph::{Graph, Hop, Route, SwitchGroup, access, across, spread};
use super::shape::Shape;
use std::sync::Arc;
use switchbed_config::param::{ParamKind, Unfit, count};
use switchbed_config::params;
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Rate, Span};

/// No product of three overflows.
const MANY: ParamKind = count(1, 1_000);

params! {
    /// A Clos network's parameters.
    #[derive(Copy)]
    pub struct Clos {
        /// Number of pods.
        pods: u32 as MANY;
        /// Edge switches (ToRs) in each pod.
        edges_per_pod: u32 as MANY;
        /// Aggregation switches in each pod.
        aggregations_per_pod: u32 as MANY;
        /// Number of core switches, as many for each aggregation of a pod.
        cores: u32 as MANY;
        /// Hosts on each edge; host h sits on edge h / hosts_per_edge.
        hosts_per_edge: u32 as MANY;
        /// The links.
        tiers: Tiers;
    }
}

params! {
    /// The links of three tiers.
    #[derive(Copy)]
    pub struct Tiers {
        /// Rate of each host's link.
        host_rate: Rate;
        /// Propagation of each host's link, one way.
        host_delay: Span;
        /// Rate of each link between edge and aggregation. Default: host_rate.
        aggregation_rate: Rate, follows host_rate;
        /// Propagation of each link between edge and aggregation, one way. Default: host_delay.
        aggregation_delay: Span, follows host_delay;
        /// Rate of each link between aggregation and core. Default: aggregation_rate.
        core_rate: Rate, follows aggregation_rate;
        /// Propagation of each link between aggregation and core, one way. Default:
        /// aggregation_delay.
        core_delay: Span, follows aggregation_delay;
    }
}

impl Clos {
    fn edges(&self) -> u32 {
        self.pods * self.edges_per_pod
    }
    fn aggregations(&self) -> u32 {
        self.pods * self.aggregations_per_pod
    }
    /// Cores of a plane.
    fn plane(&self) -> u32 {
        self.cores / self.aggregations_per_pod
    }
}

impl Shape for Clos {
    fn hosts(&self) -> u32 {
        self.edges() * self.hosts_per_edge
    }
    fn access(&self) -> (Rate, Span) {
        (self.tiers.host_rate, self.tiers.host_delay)
    }
    fn across(&self) -> Span {
        (self.tiers.aggregation_delay + self.tiers.core_delay) * 2
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        let edge = self.hosts_per_edge + self.aggregations_per_pod;
        let aggregation = self.edges_per_pod + self.plane();
        vec![
            SwitchGroup::many("edge", self.edges(), edge),
            SwitchGroup::many("aggregation", self.aggregations(), aggregation),
            SwitchGroup::many("core", self.cores, self.pods),
        ]
    }
    fn size(&self) -> &'static str {
        Clos::KEY.hosts_per_edge
    }
    fn check(&self) -> Result<(), Unfit> {
        match self.cores.is_multiple_of(self.aggregations_per_pod) {
            true => Ok(()),
            false => {
                let of = self.aggregations_per_pod;
                let why =
                    format!("each of a pod's {of} aggregations has as many: a multiple of {of}");
                Err(Unfit::new(Clos::KEY.cores, why))
            }
        }
    }
    fn graph(&self) -> Graph {
        let Tiers { aggregation_rate, aggregation_delay, core_rate, core_delay, .. } = self.tiers;
        let (aggregation, core) = ((aggregation_rate, aggregation_delay), (core_rate, core_delay));
        let (edges, aggregations, plane) = (self.edges(), self.aggregations(), self.plane());
        let mut hosts = Vec::new();
        let mut switches = Vec::new();
        for edge in 0..edges {
            let mut ports = Vec::new();
            for h in edge * self.hosts_per_edge..(edge + 1) * self.hosts_per_edge {
                let (up, down) = access(HostId(h), SwitchId(edge), self.access());
                hosts.push(up);
                ports.push(down);
            }
            // Aggregations are numbered behind all edges, pod by pod.
            let first = edges + edge / self.edges_per_pod * self.aggregations_per_pod;
            let above = first..first + self.aggregations_per_pod;
            ports.extend(above.map(|to| across(edge, to, aggregation)));
            switches.push((format!("edge{edge}"), ports));
        }
        for a in 0..aggregations {
            let (from, pod) = (edges + a, a / self.aggregations_per_pod);
            let below = pod * self.edges_per_pod..(pod + 1) * self.edges_per_pod;
            // Aggregation j of every pod is linked to all cores of plane j, as in a fat-tree.
            let first = edges + aggregations + a % self.aggregations_per_pod * plane;
            let mut ports: Vec<_> = below.map(|to| across(from, to, aggregation)).collect();
            ports.extend((first..first + plane).map(|to| across(from, to, core)));
            switches.push((format!("aggregation{a}"), ports));
        }
        for c in 0..self.cores {
            let (from, j) = (edges + aggregations + c, c / plane);
            // A core of plane j has one link to each pod, to that pod's j-th aggregation.
            let aggregation = |pod| edges + pod * self.aggregations_per_pod + j;
            let ports = (0..self.pods).map(|pod| across(from, aggregation(pod), core));
            switches.push((format!("core{c}"), ports.collect()));
        }
        let route = UpDown {
            hosts_per_edge: self.hosts_per_edge,
            edges_per_pod: self.edges_per_pod,
            aggregations_per_pod: self.aggregations_per_pod,
            plane,
            edges,
            cores: edges + aggregations,
        };
        Graph::of(&self.switch_groups(), hosts, switches, Arc::new(route))
    }
}

struct UpDown {
    hosts_per_edge: u32,
    edges_per_pod: u32,
    aggregations_per_pod: u32,
    plane: u32,
    /// The first aggregation's number: the number of edges.
    edges: u32,
    /// The first core's.
    cores: u32,
}

impl UpDown {
    /// The first port that leads to a host, how many are as good, and how many choices the tiers below have made
    /// among.
    #[inline(always)]
    fn towards(&self, dst: u32, number: u32) -> (u32, u32, u32) {
        let edge = dst / self.hosts_per_edge;
        if number < self.edges {
            match edge == number {
                true => (dst - edge * self.hosts_per_edge, 1, 1),
                false => (self.hosts_per_edge, self.aggregations_per_pod, 1),
            }
        } else if number < self.cores {
            let pod = edge / self.edges_per_pod;
            match pod == (number - self.edges) / self.aggregations_per_pod {
                true => (edge - pod * self.edges_per_pod, 1, 1),
                // The edge has chosen among the aggregations, so a pinned path's rest names the
                // core.
                false => (self.edges_per_pod, self.plane, self.aggregations_per_pod),
            }
        } else {
            (edge / self.edges_per_pod, 1, 1)
        }
    }
}

impl Route for UpDown {
    #[inline]
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        let (first, among, below) = self.towards(hop.dst.0, switch.0);
        PortId(match among {
            1 => first,
            _ => first + spread(hop.key, switch, (below, among)),
        })
    }

    #[inline(always)]
    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        let (first, among, _) = self.towards(dst.0, switch.0);
        Set::Run(first, among)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The fabric of HPCC's section 5.1: 320 hosts at 100 Gbps, 56 switches joined at 400.
    fn hpcc() -> Clos {
        let (host_rate, rate, delay) =
            (Rate::from_gbps(100), Rate::from_gbps(400), Span::from_us(1));
        Clos {
            pods: 5,
            edges_per_pod: 4,
            aggregations_per_pod: 4,
            cores: 16,
            hosts_per_edge: 16,
            tiers: Tiers {
                host_rate,
                host_delay: delay,
                aggregation_rate: rate,
                aggregation_delay: delay,
                core_rate: rate,
                core_delay: delay,
            },
        }
    }

    #[test]
    fn hpccs_fabric_is_as_published() {
        let graph = hpcc().graph();
        assert_eq!((graph.hosts(), graph.switches.len()), (320, 56));
        let ports: Vec<usize> = graph.switches.iter().map(|(_, ports)| ports.len()).collect();
        assert!(
            ports[..20].iter().all(|&ports| ports == 20) && ports[20..40].iter().all(|&n| n == 8)
        );
        assert!(ports[40..].iter().all(|&ports| ports == 5));
    }

    #[test]
    fn every_way_ends_at_its_host_and_a_pin_takes_each_once() {
        let graph = hpcc().graph();
        // Under the edge, in the pod, in another pod: so many links, so many ways.
        for (dst, links, ways) in [(1, 2, 1), (16, 4, 4), (63, 4, 4), (64, 6, 16), (319, 6, 16)] {
            let path = |key| graph.path(HostId(0), Hop { dst: HostId(dst), key });
            let of = |keys: &mut dyn Iterator<Item = u32>| -> BTreeSet<String> {
                keys.map(|key| format!("{:?}", path(key))).collect()
            };
            let hashed = of(&mut (0..2_000));
            assert_eq!(hashed.len(), ways, "{dst}");
            assert_eq!(of(&mut (0..ways as u32).map(|path| Hop::PINNED | path)), hashed);
            assert!((0..100).all(|key| path(key).len() == links));
        }
    }

    #[test]
    fn cores_are_dealt_out_evenly_or_refused() {
        let unfit = Clos { cores: 15, ..hpcc() }.check().expect_err("four planes");
        assert_eq!(unfit.param, "cores");
    }
}
