//! Which flows met a giant one, as the CQRD paper classes them (Chen, Zhao, Pei: Computer
//! Networks 2015, section 3.1): at a switch two flows contend for an output if they leave by the
//! same port and overlap in time, and for a path if they came in by the same port, too. Over
//! several switches a flow contends where it does at any of them.
//!
//! Interference is computed when the run is over, from the flows' times and paths, and so costs a run
//! nothing. A flow under way at the end lasts to the end. Paths are those of the network as
//! it was built: a link that was down meanwhile is not known here.

use crate::flow::FlowRecord;
use crate::ids::LinkId;
use crate::records::Records;
use crate::topology::{Graph, Hop};
use std::collections::BTreeMap;
use switchbed_units::{Bytes, Time};

/// Kind of giant flow that a flow shares a port with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interference {
    /// Shares no port with a giant flow.
    Nothing,
    /// One at an output, but none on a path.
    Output,
    /// One that came in and left by the same ports of a switch.
    Path,
}

impl Interference {
    /// All classes, in the order of the declaration.
    pub const ALL: [Interference; 3] =
        [Interference::Nothing, Interference::Output, Interference::Path];

    /// The word that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Interference::Nothing => "nothing",
            Interference::Output => "output",
            Interference::Path => "path",
        }
    }
}

/// A giant flow at an output.
struct Giant {
    /// Index among the flows.
    place: usize,
    start: Time,
    end: Time,
    input: LinkId,
}

/// Classifies each flow. Giants are flows of more than `giant` bytes, and endless ones. `end` is
/// the end of the run.
pub(crate) fn classes(
    graph: &Graph,
    flows: &Records,
    giant: Bytes,
    end: Time,
) -> Vec<Interference> {
    let mut giants: BTreeMap<LinkId, Vec<Giant>> = BTreeMap::new();
    let is_giant = |flow: &FlowRecord| flow.size.is_none_or(|size| size > giant);
    for (place, flow) in flows.iter().enumerate().filter(|(_, flow)| is_giant(flow)) {
        for (output, input) in hops(graph, &flow) {
            let end = flow.end.unwrap_or(end);
            let here = Giant { place, start: flow.start, end, input };
            giants.entry(output).or_default().push(here);
        }
    }
    giants.values_mut().for_each(|here| here.sort_by_key(|giant| (giant.start, giant.place)));
    let worst = |(place, flow): (usize, FlowRecord)| {
        let until = flow.end.unwrap_or(end);
        let meets = |(output, input): (LinkId, LinkId)| {
            let here = giants.get(&output).map_or(&[][..], Vec::as_slice);
            // Strictly: flows that only touch in time do not overlap.
            let begun = &here[..here.partition_point(|giant| giant.start < until)];
            let others = begun.iter().filter(|g| g.end > flow.start && g.place != place);
            let class = |giant: &Giant| {
                if giant.input == input { Interference::Path } else { Interference::Output }
            };
            others.map(class).max().unwrap_or(Interference::Nothing)
        };
        hops(graph, &flow).into_iter().map(meets).max().unwrap_or(Interference::Nothing)
    };
    flows.iter().enumerate().map(worst).collect()
}

/// The output and the input of each switch on a flow's way, where that is fixed.
fn hops(graph: &Graph, flow: &FlowRecord) -> Vec<(LinkId, LinkId)> {
    let way = graph.ways(flow.src, Hop { dst: flow.dst, key: flow.key }).fixed();
    way.unwrap_or_default().windows(2).map(|pair| (pair[1], pair[0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HostId;
    use switchbed_scenario::traffic::{ConnectionUse, FlowStart};
    use switchbed_scenario::{LeafSpine, Star, Topology};
    use switchbed_units::{Rate, Span};

    /// A flow from one host to another, of so many KB, from and to so many microseconds.
    fn flow(row: u64, ends: (u32, u32), kb: u64, us: (u64, u64)) -> FlowRecord {
        let at = |us| Time::ZERO + Span::from_us(us);
        let (src, dst) = ends;
        let start = FlowStart {
            row,
            traffic: 0,
            start: at(us.0),
            src: HostId(src),
            dst: HostId(dst),
            class: 0,
            size: Some(Bytes::new(kb * 1000)),
            stop: None,
            connection: ConnectionUse::Fresh,
            path: None,
            list_row: None,
        };
        let end = (us.1 > us.0).then_some(at(us.1));
        FlowRecord { end, key: Hop::PINNED, ..FlowRecord::starting(&start) }
    }

    fn classes(topology: &Topology, flows: &[FlowRecord]) -> Vec<Interference> {
        let graph = Graph::new(topology, Span::ZERO);
        let end = Time::ZERO + Span::from_us(1000);
        super::classes(&graph, &flows.iter().copied().collect(), Bytes::new(1_000_000), end)
    }

    #[test]
    fn on_a_switch_by_output_input_and_time() {
        let star =
            Topology::Star(Star { hosts: 6, rate: Rate::from_gbps(10), delay: Span::from_us(1) });
        let flows = [
            flow(0, (0, 5), 1001, (100, 200)), // a giant, alone until flow 6
            flow(1, (0, 5), 1000, (150, 160)), // its path
            flow(2, (1, 5), 10, (199, 300)),   // its output
            flow(3, (1, 5), 10, (200, 300)),   // the giant has just ended
            flow(4, (0, 5), 10, (50, 100)),    // the giant is about to start
            flow(5, (0, 4), 10, (100, 200)),   // its input alone
            flow(6, (2, 3), 5000, (100, 0)),   // another, still under way at the end
            flow(7, (2, 3), 10, (990, 995)),   // its path
            flow(8, (3, 5), 2000, (150, 160)), // a giant that meets the first
        ];
        use Interference::*;
        let expected = [Output, Path, Output, Nothing, Nothing, Nothing, Nothing, Path, Output];
        assert_eq!(classes(&star, &flows), expected);
    }

    #[test]
    fn at_any_switch_on_the_way() {
        // Hosts 0 and 1 on leaf 0, 2 and 3 on leaf 1, 4 and 5 on leaf 2; one spine.
        let rate = Rate::from_gbps(10);
        let delay = Span::from_us(1);
        let tree = Topology::LeafSpine(LeafSpine {
            leaves: 3,
            spines: 1,
            hosts_per_leaf: 2,
            host_rate: rate,
            host_delay: delay,
            fabric_rate: rate,
            fabric_delay: delay,
        });
        let flows = [
            flow(0, (0, 2), 2000, (0, 100)),
            flow(1, (1, 3), 10, (0, 100)), // one output at the leaf, one path at the spine
            flow(2, (4, 3), 10, (0, 100)), // one output at the spine: leaf 1
            flow(3, (4, 1), 10, (0, 100)), // the other way
            flow(4, (1, 4), 10, (0, 100)), // the leaf's uplink alone
            flow(5, (3, 2), 10, (0, 100)), // the last hop's output
        ];
        use Interference::*;
        assert_eq!(classes(&tree, &flows), [Nothing, Path, Output, Nothing, Output, Output]);
    }
}
