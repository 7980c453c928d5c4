//! Ports by name: `leaf0:3`, a switch and its port's number, `host2`, or `host2.1` where the host has several.

use super::graph::{self, Graph, Tier};
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Named, ParamKind, Value};
use switchbed_config::section::Section;
use switchbed_config::tree::Node;
use switchbed_units::ids::{LinkId, PortId};

/// A port: `leaf0:3`, a switch and its port's number, `host2`, or `host2.1` of a host with several.
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
    let Some((switch, number)) = port.split_once(':') else { return of_host(graph, port) };
    let switch = graph.switch(switch)?;
    let ports = graph.ports(graph::Node::Switch(switch));
    // Only a number as it is printed: not `03`, not `+3`.
    let nth: u32 = number.parse().ok().filter(|&n: &u32| n < ports && n.to_string() == number)?;
    Some(graph.link(switch, PortId(nth)))
}

/// The line behind a host's port.
fn of_host(graph: &Graph, port: &str) -> Option<LinkId> {
    if let Some(host) = graph.host(port) {
        // Of several ports, none has the host's own name.
        let (only, _) = graph.start(host);
        return only;
    }
    let (host, number) = port.rsplit_once('.')?;
    let host = graph.host(host).filter(|&host| graph.is_multihomed(host))?;
    let nth: usize = number.parse().ok().filter(|n: &usize| n.to_string() == number)?;
    graph.homes.span(host).nth(nth).map(LinkId::at)
}

/// Whether the topology has the port, else what it has.
pub(crate) fn check_port(port: &str, graph: &Graph) -> Result<(), String> {
    if find(graph, port).is_some() {
        return Ok(());
    }
    if let Some(host) = graph.host(port) {
        let span = graph.homes.span(host);
        let [first, last] =
            [span.start, span.end - 1].map(|link| graph.port_name(LinkId::at(link)));
        return Err(format!("the host {port} has the ports {first} to {last}"));
    }
    Err(format!("the topology has {}", all_ports(graph)))
}

/// All ports by name, tier by tier.
fn all_ports(graph: &Graph) -> String {
    let tier = |tier: &Tier| {
        let [first, last] = tier.ends().map(|switch| graph.name(switch));
        let ports = graph.ports(graph::Node::Switch(tier.ends()[1]));
        format!("{first}:0 to {last}:{}", ports.max(1) - 1)
    };
    let [first, last] = [0, graph.access.len() - 1].map(|link| graph.port_name(LinkId::at(link)));
    let hosts = format!("{first} to {last}");
    graph.tiers.iter().map(tier).chain([hosts]).collect::<Vec<_>>().join(", ")
}
