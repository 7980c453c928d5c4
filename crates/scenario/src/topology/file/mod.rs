//! A topology from a file: nodes, and the links between them, each with its rate and delay. `table` reads our own form,
//! `hpcc` that of HPCC's simulator and those made from it (SimAI's among them), `htsim` that of htsim.
//!
//! Hosts and switches are numbered in the order of the file, and so are a switch's ports. Packets take a shortest path,
//! by links ([`super::tables`]).

mod fields;
mod hpcc;
mod htsim;
mod table;

use super::graph::{self, Cable, Graph, Tier};
use super::map::{Map, MapLink, MapNode};
use super::rates::HostRates;
use super::tables::Tables;
use super::{MAX_HOSTS, MAX_WAY, Shape, SwitchGroup};
use crate::file::FILE;
use hpcc::Head;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, ParamKind, Value};
use switchbed_config::{params, text, words};
use switchbed_units::ids::{HostId, SwitchId};
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

words! {
    /// The form of a topology's file.
    pub enum Format {
        /// The form that its first line shows.
        Auto = "auto",
        /// Nodes with tiers, then links, as CSV.
        Table = "table",
        /// Form of HPCC's simulator.
        Hpcc = "hpcc",
        /// Form of SimAI's networks.
        SimAi = "simai",
        /// The `.topo` of htsim.
        Htsim = "htsim",
    }
}

params! {
    /// A topology from a file.
    pub struct FromFile {
        /// The file, found from the scenario's folder.
        path: Read;
        /// The file's form. table: CSV, a line "node,tier" and each node with its tier (host: a host), then a line
        /// "from,to,rate,delay" (also count and mtu) and the links. hpcc: that of HPCC's simulator, "nodes switches
        /// links", then the switches, then "src dst rate delay error_rate". simai: SimAI's, "nodes gpus_per_server
        /// nvswitches switches links gpu_type", the rest likewise. htsim: its .topo, "Nodes", "Tiers", "Podsize" and a
        /// block for each tier. auto: what the first line shows.
        format: Format = "auto";
    }
}

/// A file that is named, and the network in it.
#[derive(Clone, Debug)]
pub struct Read {
    path: String,
    network: Arc<Network>,
}

impl PartialEq for Read {
    // Graphs follow from what the files describe.
    fn eq(&self, other: &Read) -> bool {
        self.path == other.path && self.network.described == other.network.described
    }
}

impl Field for Read {
    const KIND: ParamKind = FILE;
    fn from_value(value: Value) -> Option<Self> {
        let path = String::from_value(value)?;
        Some(Read { path, network: Arc::default() })
    }
    fn to_value(&self) -> Option<Value> {
        self.path.to_value()
    }
}

/// A network as its file has it, and its graph.
#[derive(Debug, Default)]
struct Network {
    described: Described,
    graph: Option<Graph>,
    /// The longest propagation between two hosts.
    longest: Span,
}

/// Nodes and links of a file.
#[derive(Clone, Debug, Default, PartialEq)]
struct Described {
    nodes: Vec<Node>,
    links: Vec<Link>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    name: String,
    /// `None`: a host, which has none.
    tier: Option<String>,
    line: u32,
}

/// A link, both directions alike.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Link {
    /// Places among the nodes.
    ends: [u32; 2],
    rate: Rate,
    delay: Span,
    /// The longest packet that it carries; `None`: any.
    mtu: Option<Bytes>,
    line: u32,
}

/// A mistake in a file: the line and the column, from 1, where there is one.
#[derive(Debug)]
struct Wrong {
    line: Option<u32>,
    column: Option<u32>,
    what: String,
}

impl Wrong {
    fn line(line: u32, what: impl Into<String>) -> Wrong {
        Wrong { line: Some(line), column: None, what: what.into() }
    }
    fn field(line: u32, column: usize, what: impl Into<String>) -> Wrong {
        Wrong { line: Some(line), column: Some(column as u32 + 1), what: what.into() }
    }
    fn file(what: impl Into<String>) -> Wrong {
        Wrong { line: None, column: None, what: what.into() }
    }
    fn of(self, file: String) -> Mistake {
        let Wrong { line, column, what } = self;
        let key = column.map_or(String::new(), |column| format!("column {column}:"));
        Mistake { file, line, key, message: what }
    }
}

/// Whether a name can stand in a scenario, beside numbers, ranges and ports.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
        && name != "all"
}

impl FromFile {
    /// Reads the file; a packet of `mtu` must fit all links.
    ///
    /// # Errors
    /// The file, and the line where there is one.
    pub(super) fn load(&mut self, mtu: Bytes) -> Result<(), Mistake> {
        let path = self.path.path.clone();
        let network = Network::read(Path::new(&path), self.format, mtu);
        self.path.network = Arc::new(network.map_err(|wrong| wrong.of(path))?);
        Ok(())
    }

    /// The topology in a file of a form that is called so.
    ///
    /// # Errors
    /// The file, and the line where there is one.
    pub fn read(path: &Path, format: &str) -> Result<FromFile, Mistake> {
        let format = Format::from_value(Value::Word(format.to_owned())).unwrap_or(Format::Auto);
        let path = Read { path: path.display().to_string(), network: Arc::default() };
        let mut file = FromFile { path, format };
        // A packet of a byte: whether rates suit a scenario's packets is asked there.
        file.load(Bytes::new(1)).map(|()| file)
    }

    /// The nodes and links in a file.
    ///
    /// # Errors
    /// As of [`FromFile::read`].
    pub fn map(path: &Path, format: &str) -> Result<Map, Mistake> {
        let format = Format::from_value(Value::Word(format.to_owned())).unwrap_or(Format::Auto);
        let described = Described::read(path, format, Bytes::new(1));
        described.map(Described::into_map).map_err(|wrong| wrong.of(path.display().to_string()))
    }

    /// The rates of its links, or of hosts' alone, each once, rising.
    pub fn rates(&self, hosts: bool) -> BTreeSet<Rate> {
        let Described { nodes, links } = &self.network().described;
        let at_host =
            |link: &&Link| link.ends.iter().any(|&end| nodes[end as usize].tier.is_none());
        links.iter().filter(|link| !hosts || at_host(link)).map(|link| link.rate).collect()
    }

    fn network(&self) -> &Network {
        &self.path.network
    }
}

impl Network {
    fn read(path: &Path, format: Format, mtu: Bytes) -> Result<Network, Wrong> {
        let described = Described::read(path, format, mtu)?;
        described.check_hosts()?;
        if let Some(error) = described.unconnected() {
            return Err(error);
        }
        let graph = described.graph();
        let longest = graph.longest();
        Ok(Network { described, graph: Some(graph), longest })
    }
}

impl Described {
    fn read(path: &Path, format: Format, mtu: Bytes) -> Result<Described, Wrong> {
        let text = text::read(path)
            .map_err(|error| Wrong::file(format!("cannot read the topology: {error}")))?;
        let described = Described::parse(&text, format)?;
        described.check(mtu).map(|()| described)
    }

    fn into_map(self) -> Map {
        let node = |Node { name, tier, .. }| MapNode { name, tier };
        let link = |Link { ends, rate, delay, mtu, .. }| MapLink {
            ends,
            rate_bps: rate.as_bps(),
            delay_ps: delay.as_ps(),
            mtu_bytes: mtu.map(Bytes::get),
        };
        Map {
            nodes: self.nodes.into_iter().map(node).collect(),
            links: self.links.into_iter().map(link).collect(),
        }
    }

    fn parse(text: &str, format: Format) -> Result<Described, Wrong> {
        match format {
            Format::Table => table::parse(text),
            Format::Hpcc => hpcc::parse(text, Head::Hpcc),
            Format::SimAi => hpcc::parse(text, Head::SimAi),
            Format::Htsim => htsim::parse(text),
            Format::Auto => {
                let begins = [
                    (Format::Table, table::is_one(text)),
                    (Format::Hpcc, Head::Hpcc.begins(text)),
                    (Format::SimAi, Head::SimAi.begins(text)),
                    (Format::Htsim, htsim::is_one(text)),
                ];
                match begins.into_iter().find(|&(_, begins)| begins) {
                    Some((format, _)) => Described::parse(text, format),
                    None => Err(Wrong::file(
                        "its first line is none of \"node,tier\" (format = \"table\"), nodes switches links, three \
                         whole numbers (\"hpcc\"), five and a GPU's name (\"simai\"), \"Nodes\" and a number (\"htsim\")",
                    )),
                }
            }
        }
    }

    /// Refuses faults that no topology may have.
    fn check(&self, mtu: Bytes) -> Result<(), Wrong> {
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
        match self.nodes.iter().zip(&links).find(|&(_, &links)| links == 0) {
            Some((node, _)) => {
                let kind = if node.tier.is_none() { "host" } else { "switch" };
                Err(Wrong::line(node.line, format!("the {kind} {} has no link", node.name)))
            }
            None => Ok(()),
        }
    }

    /// Refuses names of nodes that are those of ports of hosts with several links.
    fn check_hosts(&self) -> Result<(), Wrong> {
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

    /// How many links each node has.
    fn links_of_nodes(&self) -> Vec<u32> {
        let mut links = vec![0u32; self.nodes.len()];
        for link in &self.links {
            link.ends.iter().for_each(|&end| links[end as usize] += 1);
        }
        links
    }

    /// The graph.
    fn graph(&self) -> Graph {
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
                let cable = Cable { from, to, rate, delay };
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
    fn unconnected(&self) -> Option<Wrong> {
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

impl Shape for FromFile {
    fn hosts(&self) -> u32 {
        self.network().graph.as_ref().map_or(0, |graph| graph.hosts() as u32)
    }
    fn host_links(&self) -> u64 {
        self.network().graph.as_ref().map_or(0, |graph| graph.access.len() as u64)
    }
    fn access(&self) -> (Rate, Span) {
        // Cables have delays of their own: `across` holds all of the way.
        (self.host_rates().most(), Span::ZERO)
    }
    fn host_rates(&self) -> HostRates {
        let Some(graph) = &self.network().graph else { return HostRates::Each(Arc::default()) };
        let rate = |host| match graph.cables(host) {
            [only] => only.rate,
            cables => Rate::from_bps(cables.iter().map(|cable| cable.rate.as_bps()).sum()),
        };
        HostRates::Each((0..graph.hosts()).map(HostId::at).map(rate).collect())
    }
    fn across(&self) -> Span {
        self.network().longest
    }
    fn switch_groups(&self) -> Vec<SwitchGroup> {
        let switches = self.network().graph.iter().flat_map(|graph| &graph.switches);
        let group = |(name, ports): &(String, Vec<Cable>)| SwitchGroup {
            name: name.clone().into(),
            count: None,
            ports: ports.len() as u32,
        };
        switches.map(group).collect()
    }
    fn size(&self) -> &'static str {
        FromFile::KEY.path
    }
    fn graph(&self) -> Graph {
        let Some(graph) = &self.network().graph else { unreachable!("a topology is read first") };
        graph.clone()
    }
}
