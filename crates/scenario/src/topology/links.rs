//! Links by name: `leaf0-spine1`, of parallel ones `leaf0-spine1#2`, and `host3-leaf0`.

use super::graph::{Cable, Graph, Node};
use switchbed_units::ids::{LinkId, PortId};

/// The node of a name.
fn node(graph: &Graph, name: &str) -> Option<Node> {
    graph.switch(name).map(Node::Switch).or_else(|| graph.host(name).map(Node::Host))
}

/// A node's cables to another, in the order of their ports.
fn between(graph: &Graph, from: Node, to: Node) -> Vec<LinkId> {
    match from {
        Node::Host(host) => {
            let span = graph.homes.span(host);
            span.filter(|&link| graph.access[link].to == to).map(LinkId::at).collect()
        }
        Node::Switch(switch) => {
            let ports = graph.switches[switch.index()].1.iter().enumerate();
            let there = ports.filter(|(_, cable)| cable.to == to);
            there.map(|(port, _)| graph.link(switch, PortId::at(port))).collect()
        }
    }
}

/// Both directions of the link of this name.
pub fn find(graph: &Graph, link: &str) -> Option<[LinkId; 2]> {
    let (ends, nth) = match link.rsplit_once('#') {
        // Only a number as it is printed.
        Some((ends, nth)) => (ends, nth.parse().ok().filter(|n: &usize| n.to_string() == nth)?),
        None => (link, 1),
    };
    // Names may have dashes of their own, so each dash may be the one between the ends.
    let splits = ends.match_indices('-').map(|(at, _)| (&ends[..at], &ends[at + 1..]));
    let both = |(a, b): (&str, &str)| {
        let (a, b) = (node(graph, a)?, node(graph, b)?);
        let (there, back) = (between(graph, a, b), between(graph, b, a));
        let place = nth.checked_sub(1)?;
        Some([*there.get(place)?, *back.get(place)?])
    };
    splits.filter_map(both).next()
}

/// The name of a link, one direction of which is behind a switch's port.
pub fn named(graph: &Graph, link: LinkId) -> String {
    let cable = cable(graph, link);
    let alike = between(graph, cable.from, cable.to);
    let ends = format!("{}-{}", graph.name_of(cable.from), graph.name_of(cable.to));
    match alike.iter().position(|&other| other == link) {
        Some(nth) if nth > 0 => format!("{ends}#{}", nth + 1),
        _ => ends,
    }
}

/// A link's cable.
pub fn cable(graph: &Graph, link: LinkId) -> Cable {
    match graph.access.get(link.index()) {
        Some(cable) => *cable,
        None => {
            let (switch, port) = graph.port_of(link);
            graph.cable(switch, port)
        }
    }
}

/// How links are called here.
pub(crate) fn advice(graph: &Graph) -> String {
    let first = LinkId::at(0);
    let across = (graph.access.len()..).map(LinkId::at);
    let ports = graph.switches.iter().map(|(_, ports)| ports.len()).sum::<usize>();
    let mut across = across.take(ports);
    let across = across.find(|&link| matches!(cable(graph, link).to, Node::Switch(_)));
    let names: Vec<String> = across
        .into_iter()
        .chain([first])
        .map(|link| format!("\"{}\"", named(graph, link)))
        .collect();
    format!("links are called by their ends, such as {}", names.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::super::{LeafSpine, Shape};
    use super::*;
    use switchbed_units::{Rate, Span};

    #[test]
    fn links_are_found_by_either_end() {
        let shape = LeafSpine {
            leaves: 2,
            spines: 3,
            hosts_per_leaf: 2,
            host_rate: Rate::from_gbps(10),
            host_delay: Span::from_us(1),
            fabric_rate: Rate::from_gbps(10),
            fabric_delay: Span::from_us(1),
        };
        let graph = shape.graph();
        let found = find(&graph, "leaf1-spine2").expect("a link");
        // Hosts 0 to 3; leaf0's ports 4 to 8, leaf1's 9 to 13; spines' two each from 14 on.
        assert_eq!(found, [LinkId(9 + 4), LinkId(14 + 2 * 2 + 1)]);
        assert_eq!(find(&graph, "spine2-leaf1"), Some([found[1], found[0]]));
        assert_eq!(find(&graph, "host3-leaf1"), Some([LinkId(3), LinkId(9 + 1)]));
        for link in (0..graph.hosts() + 10).map(LinkId::at) {
            assert_eq!(find(&graph, &named(&graph, link)).map(|both| both[0]), Some(link));
        }
        for none in ["leaf0-leaf1", "leaf0", "leaf0-spine0#2", "leaf0-spine0#0", "leaf0-spine0#01"]
        {
            assert_eq!(find(&graph, none), None, "{none}");
        }
        assert!(advice(&graph).contains("\"leaf0-spine0\" or \"host0-leaf0\""));
    }
}
