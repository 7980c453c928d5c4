//! Keys that name hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`, a host's name.

use super::bounds::MAX_HOSTS;
use super::graph::Graph;
use crate::numbers::Numbered;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Named, ParamKind, Value, count};
use switchbed_config::section::Section;
use switchbed_config::tree::Node;

/// Hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`, or names. The reader hands over the word or their numbers.
pub const HOSTS: ParamKind = ParamKind::Named(&Named {
    name: "hosts",
    form: ParamKind::Either(&[
        ParamKind::Text,
        HOST,
        ParamKind::List(&ParamKind::Either(&[ParamKind::Text, HOST])),
    ]),
    example: "8",
    read: several,
});
/// One host, written like several. The reader hands over its number.
pub const ONE_HOST: ParamKind = ParamKind::Named(&Named {
    name: "host",
    form: ParamKind::Either(&[HOST, ParamKind::Text]),
    example: "8",
    read: one,
});
/// A host's number.
const HOST: ParamKind = count(0, MAX_HOSTS - 1);

fn several(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    match section.context::<Graph>() {
        Some(graph) if node.as_text() != Some("all") => {
            Ok(hosts(section, name, node, graph)?.to_value())
        }
        _ => Ok(None),
    }
}

fn one(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    let Some(graph) = section.context::<Graph>() else { return Ok(None) };
    match hosts(section, name, node, graph)?[..] {
        [host] => Ok(host.to_value()),
        _ => Err(section.wrong(name, node, "it must be one host, such as 8")),
    }
}

/// The hosts that are named there, in the order written.
fn hosts(
    section: &Section<'_>,
    name: &str,
    node: &Node,
    graph: &Graph,
) -> Result<Vec<u32>, Mistake> {
    let total = graph.hosts() as u32;
    let named = |name: &str| graph.host(name).map(|host| host.0);
    let all = Numbered { one: "host", owner: "the topology", total, named: &named };
    all.read(section, name, node)
}
