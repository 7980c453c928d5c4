//! Nodes and links that a topology's file describes, and the mistakes that no topology may have.

use crate::topology::bounds::{MAX_HOSTS, MAX_WAY};
use crate::topology::graph::{self, Cable, Graph, Tier};
use crate::topology::map::{Map, MapLink, MapNode};
use crate::topology::tables::Tables;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use switchbed_config::mistake::Mistake;
use switchbed_config::text::shown;
use switchbed_units::ids::{HostId, SwitchId};
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// Nodes and links of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Described {
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    /// Nodes have numbers in their file, from 0 in the order of `nodes`.
    pub(super) numbered: bool,
    /// Rows of links that are not read, since the file's first line says so.
    pub(super) unread: u32,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    /// `None`: a host, which has none.
    pub(super) tier: Option<String>,
    pub(super) line: u32,
}

/// A link, both directions alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// Places among the nodes.
    pub(super) ends: [u32; 2],
    pub(super) rate: Rate,
    pub(super) delay: Span,
    /// The longest packet that it carries; `None`: any.
    pub(super) mtu: Option<Bytes>,
    /// The fraction of packets that it loses, either way.
    pub(super) loss: f64,
    pub(super) line: u32,
}

/// A mistake in a file: the line and the column, from 1, where there is one.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn line(line: u32, what: impl Into<String>) -> Wrong {
        Wrong { line: Some(line), column: None, what: what.into() }
    }
    pub(super) fn field(line: u32, column: usize, what: impl Into<String>) -> Wrong {
        Wrong { line: Some(line), column: Some(column as u32 + 1), what: what.into() }
    }
    pub(super) fn file(what: impl Into<String>) -> Wrong {
        Wrong { line: None, column: None, what: what.into() }
    }
    pub(super) fn of(self, file: String) -> Mistake {
        let Wrong { line, column, what } = self;
        let key = column.map_or(String::new(), |column| format!("column {column}:"));
        Mistake { file, line, key, message: what }
    }
}

/// Whether a name can stand in a scenario, beside numbers, ranges and ports.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
        && name != "all"
}

impl Described {
    /// The same for other forms of files.
    pub(super) fn into_map(self) -> Map {
        let node = |Node { name, tier, .. }| MapNode { name, tier };
        let link = |Link { ends, rate, delay, mtu, loss, .. }| MapLink {
            ends,
            rate_bps: rate.as_bps(),
            delay_ps: delay.as_ps(),
            mtu_bytes: mtu.map(Bytes::get),
            loss,
        };
        Map {
            nodes: self.nodes.into_iter().map(node).collect(),
            links: self.links.into_iter().map(link).collect(),
        }
    }

    /// Names of links that lose packets, as events name them, and the fractions.
    pub(super) fn losses(&self) -> Vec<(String, f64)> {
        if self.links.iter().all(|link| link.loss == 0.0) {
            return Vec::new();
        }
        let mut alike: HashMap<[u32; 2], u32> = HashMap::new();
        let mut found = Vec::new();
        for Link { ends: [a, b], loss, .. } in &self.links {
            let nth = alike.entry([*a.min(b), *a.max(b)]).or_default();
            *nth += 1;
            if *loss > 0.0 {
                let [a, b] = [a, b].map(|&end| &self.nodes[end as usize].name);
                let parallel = if *nth > 1 { format!("#{nth}") } else { String::new() };
                found.push((format!("{a}-{b}{parallel}"), *loss));
            }
        }
        found
    }

    /// Refuses faults that no topology may have.
    pub(super) fn check(&self, mtu: Bytes) -> Result<(), Wrong> {
        let mut names: HashMap<&str, u32> = HashMap::new();
        for node in &self.nodes {
            if let Some(before) = names.insert(&node.name, node.line) {
                let what = format!("{} is a node already, on line {before}", node.name);
                return Err(Wrong::line(node.line, what));
            }
        }
        let hosts = self.nodes.iter().filter(|node| node.tier.is_none()).count() as u64;
        if hosts > MAX_HOSTS {
            return Err(Wrong::file(format!("has {hosts} hosts: at most {MAX_HOSTS}")));
        }
        let mut links = vec![0u32; self.nodes.len()];
        // Rounded up: a rate just below would let a packet take longer.
        let least = Rate::from_bps((8 * PS_PER_S * mtu.get()).div_ceil(MAX_WAY.as_ps()));
        for link in &self.links {
            let [from, to] = link.ends.map(|end| &self.nodes[end as usize]);
            let wrong = |what: String| Err(Wrong::line(link.line, what));
            match [from, to].map(|node| node.tier.is_none()) {
                _ if link.ends[0] == link.ends[1] => {
                    return wrong(format!("the link joins {} to itself", from.name));
                }
                [true, true] => {
                    let [from, to] = [&from.name, &to.name];
                    return wrong(format!(
                        "joins the hosts {from} and {to}: hosts are linked to switches"
                    ));
                }
                _ => {}
            }
            if link.rate < least {
                return wrong(format!(
                    "a packet of host.mtu, {mtu}, may take {MAX_WAY}: a rate of at least {least}"
                ));
            }
            if link.delay > MAX_WAY {
                return wrong(format!("a delay is at most {MAX_WAY}"));
            }
            if let Some(own) = link.mtu.filter(|&own| own < mtu) {
                return wrong(format!("carries packets up to {own}, and host.mtu is {mtu}"));
            }
            link.ends.iter().for_each(|&end| links[end as usize] += 1);
        }
        if self.nodes.is_empty() {
            return Err(Wrong::file("has no nodes: a network has hosts, and links between them"));
        }
        match self.nodes.iter().zip(&links).find(|&(_, &links)| links == 0) {
            Some((node, _)) => {
                let kind = if node.tier.is_none() { "host" } else { "switch" };
                Err(Wrong::line(node.line, format!("the {kind} {} has no link", node.name)))
            }
            None => Ok(()),
        }
    }

    /// Refuses names of nodes that are those of ports of hosts with several links.
    pub(super) fn check_hosts(&self) -> Result<(), Wrong> {
        let links = self.links_of_nodes();
        let several = |&(node, links): &(&Node, &u32)| node.tier.is_none() && *links > 1;
        let several: HashMap<&str, u32> = self
            .nodes
            .iter()
            .zip(&links)
            .filter(several)
            .map(|(node, &links)| (&node.name[..], links))
            .collect();
        for node in &self.nodes {
            if let Some((host, nth)) = node.name.rsplit_once('.')
                && let Some(&links) = several.get(host)
                && nth
                    .parse()
                    .is_ok_and(|nth: u32| nth < links && node.name.ends_with(&format!(".{nth}")))
            {
                let what = format!(
                    "{} is the name of a port: the host {host} has {links} links, {host}.0 to {host}.{}",
                    node.name,
                    links - 1
                );
                return Err(Wrong::line(node.line, what));
            }
        }
        Ok(())
    }

    /// Numbers of the hosts' nodes, where the file numbers its nodes and a switch is before a host.
    pub(super) fn numbers(&self) -> Option<Arc<[u32]>> {
        let hosts = (0..).zip(&self.nodes).filter(|(_, node)| node.tier.is_none());
        let numbers: Vec<u32> = hosts.map(|(number, _)| number).collect();
        let moved = self.numbered && (0..).zip(&numbers).any(|(host, &number)| host != number);
        moved.then(|| numbers.into())
    }

    /// How many links each node has.
    fn links_of_nodes(&self) -> Vec<u32> {
        let mut links = vec![0u32; self.nodes.len()];
        for link in &self.links {
            link.ends.iter().for_each(|&end| links[end as usize] += 1);
        }
        links
    }

    /// The graph.
    pub(super) fn graph(&self) -> Graph {
        // Each node's number among those of its sort.
        let (mut hosts, mut switches) = (Vec::new(), Vec::new());
        let number = |node: &Node| match &node.tier {
            // Hosts and switches are numbered apart, each in the file's order.
            None => {
                hosts.push(node.name.clone());
                graph::Node::Host(HostId::at(hosts.len() - 1))
            }
            Some(_) => {
                switches.push((node.name.clone(), Vec::new()));
                graph::Node::Switch(SwitchId::at(switches.len() - 1))
            }
        };
        let numbers: Vec<graph::Node> = self.nodes.iter().map(number).collect();
        let mut up: Vec<(HostId, Cable)> = Vec::with_capacity(hosts.len());
        for &Link { ends, rate, delay, .. } in &self.links {
            let [a, b] = ends.map(|end| numbers[end as usize]);
            for (from, to) in [(a, b), (b, a)] {
                let cable = Cable { from, to, rate, delay, host: Span::ZERO };
                match from {
                    graph::Node::Host(host) => up.push((host, cable)),
                    graph::Node::Switch(switch) => switches[switch.index()].1.push(cable),
                }
            }
        }
        let mut tiers: Vec<Tier> = Vec::new();
        for (node, number) in self.nodes.iter().zip(&numbers) {
            let (Some(name), &graph::Node::Switch(switch)) = (&node.tier, number) else { continue };
            match tiers.iter_mut().find(|tier| tier.name == *name) {
                Some(tier) => tier.switches.push(switch),
                None => tiers.push(Tier { name: name.clone(), switches: vec![switch] }),
            }
        }
        // Host by host; a host's links keep the order of the file.
        up.sort_by_key(|&(host, _)| host);
        let up: Vec<Cable> = up.into_iter().map(|(_, cable)| cable).collect();
        let tables = Arc::new(Tables::new(&up, &switches));
        let mut graph = Graph::named((hosts, tiers), up, switches, tables);
        graph.free = true;
        graph
    }

    /// The first part of the network that is not connected to the others, if there is one. Packets do not pass through
    /// hosts, so hosts with several links do not join switches.
    pub(super) fn unconnected(&self) -> Option<Wrong> {
        // Each node names one of its part that is nearer to the part's first.
        let mut nearer: Vec<usize> = (0..self.nodes.len()).collect();
        let first_of = |nearer: &mut Vec<usize>, mut node: usize| {
            while nearer[node] != node {
                // Union-find with path halving.
                nearer[node] = nearer[nearer[node]];
                node = nearer[node];
            }
            node
        };
        let is_switch = |node: u32| self.nodes[node as usize].tier.is_some();
        for link in self.links.iter().filter(|link| link.ends.iter().all(|&end| is_switch(end))) {
            let [from, to] = link.ends.map(|end| first_of(&mut nearer, end as usize));
            // The lesser number stands for the part: the first switch is found by it.
            nearer[from.max(to)] = from.min(to);
        }
        let mut parts: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for &Link { ends: [a, b], .. } in &self.links {
            for (host, switch) in [(a, b), (b, a)].into_iter().filter(|&(host, _)| !is_switch(host))
            {
                parts.entry(host).or_default().insert(first_of(&mut nearer, switch as usize));
            }
        }
        let mut switches = (0..).zip(&self.nodes).filter(|(_, node)| node.tier.is_some());
        let (first, Node { name, .. }) = switches.next()?;
        let part = first_of(&mut nearer, first);
        let (_, lost) = switches.find(|&(at, _)| first_of(&mut nearer, at) != part)?;
        if parts.values().all(|parts| parts.len() == 1) {
            let what =
                format!("no links lead from {} to {name}: the network is in parts", lost.name);
            return Some(Wrong::line(lost.line, what));
        }
        // Planes that are apart are one network where every two hosts share one.
        let mut known: BTreeMap<&BTreeSet<usize>, u32> = BTreeMap::new();
        for (&host, own) in &parts {
            if let Some((_, &other)) = known.iter().find(|(other, _)| other.is_disjoint(own)) {
                let [host, other] = [host, other].map(|node| &self.nodes[node as usize]);
                let what = format!(
                    "no links lead from the host {} to the host {}: hosts do not pass packets on",
                    host.name, other.name
                );
                return Some(Wrong::line(host.line, what));
            }
            known.entry(own).or_insert(host);
        }
        let led: BTreeSet<usize> = parts.values().flatten().copied().collect();
        let mut nodes = (0..).zip(&self.nodes).filter(|(_, node)| node.tier.is_some());
        let (_, idle) = nodes.find(|&(at, _)| !led.contains(&first_of(&mut nearer, at)))?;
        Some(Wrong::line(idle.line, format!("no links lead from {} to any host", idle.name)))
    }
}

/// A field of a line.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) line: u32,
    /// From 0.
    pub(super) column: usize,
    pub(super) text: &'a str,
}

impl Word<'_> {
    pub(super) fn wrong(&self, what: &str) -> Wrong {
        Wrong::field(self.line, self.column, format!("\"{}\": {what}", shown(self.text)))
    }

    /// A whole number below an end.
    pub(super) fn below(&self, end: u32, what: &str) -> Result<u32, Wrong> {
        let number = self.text.parse().ok().filter(|&number: &u32| number < end);
        number.ok_or_else(|| self.wrong(&format!("{what} is a whole number below {end}")))
    }
}

/// Lines with fields, each with its number from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u32, Vec<Word<'_>>)> {
    (1..).zip(text.lines()).filter_map(|(line, text)| {
        let word = |(column, text)| Word { line, column, text };
        let words: Vec<Word> = text.split_whitespace().enumerate().map(word).collect();
        (!words.is_empty()).then_some((line, words))
    })
}
