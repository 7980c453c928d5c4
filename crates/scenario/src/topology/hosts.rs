//! Keys that name hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`, a host's name.

use super::MAX_HOSTS;
use super::graph::Graph;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Named, ParamKind, Value, count};
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Node};

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
    let total = graph.hosts.len() as u32;
    let mut hosts = Vec::new();
    let mut seen = vec![false; total as usize];
    let items = match &node.data {
        Data::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    for (i, item) in items.iter().enumerate() {
        let wrong = |why: &str| match &node.data {
            Data::List(_) => section.wrong(&format!("{name}.{i}"), item, why),
            _ => section.wrong(name, item, why),
        };
        let named = item.as_text().and_then(|name| graph.host(name)).map(|host| (host.0, host.0));
        let (first, last) = named
            .or_else(|| range(item, total))
            .ok_or_else(|| wrong("hosts are written as \"all\", 3, \"0-7\" or a list of these"))?;
        if first > last {
            return Err(wrong("a range runs from its lesser number to its greater"));
        }
        if last >= total {
            let why = format!("the topology has hosts 0 to {}", total - 1);
            return Err(wrong(&why));
        }
        for host in first..=last {
            if std::mem::replace(&mut seen[host as usize], true) {
                return Err(wrong(&format!("host {host} is named twice")));
            }
            hosts.push(host);
        }
    }
    match hosts.is_empty() {
        true => Err(section.wrong(name, node, "at least one host is needed")),
        false => Ok(hosts),
    }
}

fn range(item: &Node, total: u32) -> Option<(u32, u32)> {
    match &item.data {
        Data::Whole(n) => u32::try_from(*n).ok().map(|n| (n, n)),
        Data::Text(text) if text == "all" => Some((0, total - 1)),
        Data::Text(text) => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        }
        _ => None,
    }
}
