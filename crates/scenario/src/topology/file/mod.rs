//! A topology from a file: nodes, and the links between them, each with its rate and delay. `table` reads our own form,
//! `hpcc` that of HPCC's simulator and those made from it (SimAI's among them), `htsim` that of htsim.
//!
//! Hosts and switches are numbered in the order of the file, and so are a switch's ports. Packets take a shortest path,
//! by links ([`super::tables`]).

mod described;
mod hpcc;
mod htsim;
mod table;

use super::graph::{Cable, Graph, SwitchGroup};
use super::map::Map;
use super::shape::HostRates;
use super::shape::Shape;
use crate::file::FILE;
use described::{Described, Link, Wrong};
use hpcc::Head;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, ParamKind, Value};
use switchbed_config::{params, text, words};
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Rate, Span};

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
        /// links" (ns3-datacenter: "nodes switches tors links"), then the switches, then "src dst rate delay error_rate". simai: SimAI's, "nodes gpus_per_server
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
    /// Numbers of the hosts' nodes in the file, where those are not the hosts'.
    numbers: Option<Arc<[u32]>>,
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
        let described = read(path, format, Bytes::new(1));
        described.map(Described::into_map).map_err(|wrong| wrong.of(path.display().to_string()))
    }

    /// The rates of its links, or of hosts' alone, each once, rising.
    pub fn rates(&self, hosts: bool) -> BTreeSet<Rate> {
        let Described { nodes, links, .. } = &self.network().described;
        let at_host =
            |link: &&Link| link.ends.iter().any(|&end| nodes[end as usize].tier.is_none());
        links.iter().filter(|link| !hosts || at_host(link)).map(|link| link.rate).collect()
    }

    /// Numbers of the hosts' nodes in the file, rising; `None`: those of the hosts.
    pub fn numbers(&self) -> Option<Arc<[u32]>> {
        self.network().numbers.clone()
    }

    /// Links that lose packets, by their names in events, and the fraction of packets that each loses.
    pub fn losses(&self) -> Vec<(String, f64)> {
        self.network().described.losses()
    }

    /// Says that rows of the file are not read, as its first line has it.
    pub fn unread(&self) -> Option<String> {
        let Described { links, unread, .. } = &self.network().described;
        (*unread > 0).then(|| {
            format!(
                "{}: its first line says {} links: these are read, and {unread} rows behind them are not",
                self.path.path,
                links.len()
            )
        })
    }

    fn network(&self) -> &Network {
        &self.path.network
    }
}

impl Network {
    fn read(path: &Path, format: Format, mtu: Bytes) -> Result<Network, Wrong> {
        let described = read(path, format, mtu)?;
        described.check_hosts()?;
        if let Some(error) = described.unconnected() {
            return Err(error);
        }
        let graph = described.graph();
        let longest = graph.longest();
        let numbers = described.numbers();
        Ok(Network { described, graph: Some(graph), longest, numbers })
    }
}

/// Reads what a file describes, and checks it.
fn read(path: &Path, format: Format, mtu: Bytes) -> Result<Described, Wrong> {
    let text = text::read(path)
        .map_err(|error| Wrong::file(format!("cannot read the topology: {error}")))?;
    let described = parse(&text, format)?;
    described.check(mtu).map(|()| described)
}

/// Reads what a text of a form describes.
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
                Some((format, _)) => parse(text, format),
                None => Err(Wrong::file(
                    "its first line is none of \"node,tier\" (format = \"table\"), nodes switches links or nodes \
                     switches tors links (\"hpcc\"), five numbers and a GPU's name (\"simai\"), \"Nodes\" and a number (\"htsim\")",
                )),
            }
        }
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
