//! Sets of hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`.

use crate::mistake::Mistake;
use crate::section::Section;
use crate::tree::{Data, Node};
use switchbed_spec::Topology;

/// The hosts that are named there, in the order written.
pub(crate) fn hosts(
    section: &Section<'_>,
    name: &str,
    node: &Node,
    topology: &Topology,
) -> Result<Vec<u32>, Mistake> {
    let total = topology.hosts();
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
        let (first, last) = range(item, total)
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
