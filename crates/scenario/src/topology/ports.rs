//! Ports by name: `leaf0:3`, a switch and its port's number, or `host2`.

use super::{SwitchGroup, Topology};
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Named, ParamKind, Value};
use switchbed_config::section::Section;
use switchbed_config::tree::Node;

/// A port: `leaf0:3`, a switch and its port's number, or `host2`.
pub const PORT: ParamKind =
    ParamKind::Named(&Named { name: "port", form: ParamKind::Text, example: "\"leaf0:3\"", read });
/// Several.
pub const PORTS: ParamKind = ParamKind::List(&PORT);

fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    if let Some(topology) = section.context() {
        let port = node.as_text().unwrap_or_default();
        check_port(port, topology).map_err(|why| section.wrong(name, node, &why))?;
    }
    Ok(None)
}

/// Whether the topology has the port, else what it has.
pub(crate) fn check_port(port: &str, topology: &Topology) -> Result<(), String> {
    // Only a number as it is printed: not `03`, not `+3`.
    let below =
        |text: &str, end: u32| text.parse().is_ok_and(|n: u32| n < end && n.to_string() == text);
    let (switch, number) = port.split_once(':').unwrap_or((port, ""));
    let is_of = |group: &SwitchGroup| {
        let index = switch.strip_prefix(group.name);
        let named = |index: &str| group.count.map_or(index.is_empty(), |n| below(index, n));
        index.is_some_and(named) && below(number, group.ports)
    };
    let is_host = port.strip_prefix("host").is_some_and(|host| below(host, topology.hosts()));
    if is_host || topology.switch_groups().iter().any(is_of) {
        return Ok(());
    }
    Err(format!("the topology has {}", all_ports(topology)))
}

/// All ports by name, tier by tier.
fn all_ports(topology: &Topology) -> String {
    let group = |group: &SwitchGroup| {
        let SwitchGroup { name, count, ports } = *group;
        match count {
            Some(count) => format!("{name}0:0 to {name}{}:{}", count - 1, ports - 1),
            None => format!("{name}:0 to {name}:{}", ports - 1),
        }
    };
    let hosts = format!("host0 to host{}", topology.hosts() - 1);
    topology.switch_groups().iter().map(group).chain([hosts]).collect::<Vec<_>>().join(", ")
}
