//! Ports by name: `leaf0:3`, a switch and its port's number, or `host2`.

use super::graph::{self, Graph, Tier};
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Named, ParamKind, Value};
use switchbed_config::section::Section;
use switchbed_config::tree::Node;
use switchbed_units::ids::{LinkId, PortId};

/// A port: `leaf0:3`, a switch and its port's number, or `host2`.
pub const PORT: ParamKind =
    ParamKind::Named(&Named { name: "port", form: ParamKind::Text, example: "\"leaf0:3\"", read });
/// Several.
pub const PORTS: ParamKind = ParamKind::List(&PORT);

fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    if let Some(graph) = section.context() {
        let port = node.as_text().unwrap_or_default();
        check_port(port, graph).map_err(|why| section.wrong(name, node, &why))?;
    }
    Ok(None)
}

/// Whether a port's name is a host's: a switch's has a number.
pub fn is_host(name: &str) -> bool {
    !name.contains(':')
}

/// The line behind the port of this name.
pub fn find(graph: &Graph, port: &str) -> Option<LinkId> {
    let Some((switch, number)) = port.split_once(':') else {
        return graph.host(port).map(|host| LinkId::at(host.index()));
    };
    let switch = graph.switch(switch)?;
    let ports = graph.ports(graph::Node::Switch(switch));
    // Only a number as it is printed: not `03`, not `+3`.
    let nth: u32 = number.parse().ok().filter(|&n: &u32| n < ports && n.to_string() == number)?;
    Some(graph.link(switch, PortId(nth)))
}

/// Whether the topology has the port, else what it has.
pub(crate) fn check_port(port: &str, graph: &Graph) -> Result<(), String> {
    if find(graph, port).is_some() {
        Ok(())
    } else {
        Err(format!("the topology has {}", all_ports(graph)))
    }
}

/// All ports by name, tier by tier.
fn all_ports(graph: &Graph) -> String {
    let tier = |tier: &Tier| {
        let [first, last] = tier.ends().map(|switch| graph.name(switch));
        let ports = graph.ports(graph::Node::Switch(tier.ends()[1]));
        format!("{first}:0 to {last}:{}", ports.max(1) - 1)
    };
    let [first, last] = [graph.host_names.first(), graph.host_names.last()];
    let hosts = format!("{} to {}", first.map_or("", |of| of), last.map_or("", |of| of));
    graph.tiers.iter().map(tier).chain([hosts]).collect::<Vec<_>>().join(", ")
}
