//! `[routing]`: how switches choose among the ports that lead to a destination over as few links.

use crate::measure::Measure;
use crate::topology::choice::{Choice, Set};
use crate::topology::graph::{Graph, Hop, Route, hashed};
use crate::topology::weighted::Weighted;
use std::sync::Arc;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::{Params, SectionSpec, Unfit};
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Node, Table};
use switchbed_config::{kinds, params, words};
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::{Bytes, Span};

kinds! {
    /// How switches choose among equal-cost ports.
    pub enum Routing {
        /// The rule of choice.
        kind = "ecmp";
        /// by a hash of the flow: all its packets take one path.
        Ecmp(Ecmp) = "ecmp",
        /// the same, by the capacity that lies behind each port (Zhou et al., EuroSys 2014).
        Wcmp = "wcmp",
        /// for each packet anew.
        Spray(Spray) = "spray",
        /// for each flowlet anew, at random: packets of a flow that follow each other closely stay together
        /// (Vanini et al., NSDI 2017).
        Flowlet(Flowlets) = "flowlet",
        /// the port with the least load, for each packet or flowlet.
        Adaptive(Adaptive) = "adaptive",
    }
}

params! {
    /// Choice by a hash.
    #[derive(Copy)]
    pub struct Ecmp {
        /// Input of the hash beside the flow. switch: the switch, so that tiers choose differently. same:
        /// nothing, so that switches one behind the other choose alike and leave ports unused (polarisation).
        salt: Salt = "switch";
        /// Entries of the table of a set of ports, to which the hash leads; its ports stand there in turn, so that some
        /// have one entry more than others where the ports do not divide them; at least one a port. Default: no table, equal
        /// parts.
        buckets: Option<u32> as count(1, 65_536);
        /// Whether TCP connections whose rounds are congested get another hash, as Linux's do for IPv6 with
        /// net.ipv4.tcp_plb_enabled and its defaults (protective load balancing).
        plb: bool = "false";
    }
}

impl Ecmp {
    /// The place of a flow's port among so many.
    pub fn place(&self, key: u32, switch: SwitchId, ports: u32) -> u32 {
        let salt = match self.salt {
            Salt::Switch => switch,
            Salt::Same => SwitchId(0),
        };
        match self.buckets {
            None => hashed(key, salt, ports),
            // Fewer buckets than ports would leave some unused.
            Some(buckets) => hashed(key, salt, buckets.max(ports)) % ports,
        }
    }
}

words! {
    /// Input of the hash beside the flow.
    pub enum Salt {
        /// The switch.
        Switch = "switch",
        /// Nothing.
        Same = "same",
    }
}

params! {
    /// Choice for each packet.
    #[derive(Copy)]
    pub struct Spray {
        /// random: each port alike, drawn for each packet. round-robin: one after the other at each switch, from a port
        /// that is drawn.
        order: Order = "random";
    }
}

words! {
    /// How packets are spread.
    pub enum Order {
        /// Drawn for each.
        Random = "random",
        /// In turn.
        RoundRobin = "round-robin",
    }
}

params! {
    /// Choice for each flowlet.
    #[derive(Copy)]
    pub struct Flowlets {
        /// A packet that comes so long after the last one of its entry begins a flowlet (SAI's default of its
        /// ARS profile).
        gap: Span = "256us";
        /// Entries of each switch's table. Flows that a hash leads to one entry share it, and its port.
        flowlets: u32 = "512" as count(1, 1_048_576);
    }
}

params! {
    /// Choice by load.
    pub struct Adaptive {
        /// packet: for each packet. flowlet: for each flowlet.
        each: Each = "packet";
        /// A flowlet begins with a packet that comes so long after the last one of its entry.
        gap: Span = "256us";
        /// Entries of each switch's table of flowlets.
        flowlets: u32 = "512" as count(1, 1_048_576);
        /// Bytes handed to a port are counted for so long; the past load is their moving average, of which the
        /// newest count is a quarter.
        every: Span = "16us";
        /// Weight of a port's past load.
        past: f64 = "1" as number(0.0, 1e6);
        /// Weight of the bytes that wait at the port.
        queued: f64 = "1" as number(0.0, 1e6);
        /// Loads between two of these sizes are alike, and so are those below the first and above the last; of alike
        /// ports one is drawn. An empty list: the least load, exactly.
        bands: Vec<Bytes> = "[\"3KB\", \"6KB\", \"12KB\", \"25KB\", \"50KB\", \"100KB\", \"200KB\"]";
    }
}

words! {
    /// The unit of choice: a packet or a flowlet.
    pub enum Each {
        /// Each packet.
        Packet = "packet",
        /// Each flowlet.
        Flowlet = "flowlet",
    }
}

/// `[routing]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "routing",
    repeated: false,
    doc: "How switches choose among the ports that lead to a destination over as few links.",
    keys: Routing::TABLE,
};

/// The rule of a file without the section.
const PLAIN: Ecmp = Ecmp { salt: Salt::Switch, buckets: None, plb: false };

/// Choice by a hash, in a way of its own, over the sets of other routes.
struct ByHash {
    sets: Arc<dyn Route>,
    hash: Ecmp,
}

impl Route for ByHash {
    fn route(&self, hop: Hop, switch: SwitchId) -> PortId {
        // A pinned path names its ports itself: no hash.
        if hop.key & Hop::PINNED != 0 {
            return self.sets.route(hop, switch);
        }
        let set = self.sets.ways(hop.dst, switch);
        set.at(self.hash.place(hop.key, switch, set.len()))
    }
    fn ways(&self, dst: HostId, switch: SwitchId) -> Set<'_> {
        self.sets.ways(dst, switch)
    }
}

impl Default for Routing {
    fn default() -> Self {
        Routing::Ecmp(PLAIN)
    }
}

impl Routing {
    /// Whether it is what a file without the section has.
    pub(crate) fn is_default(&self) -> bool {
        *self == Routing::default()
    }

    /// The rule by which flows are hashed.
    pub fn hash(&self) -> &Ecmp {
        match self {
            Routing::Ecmp(ecmp) => ecmp,
            _ => &PLAIN,
        }
    }

    /// Whether ports have weights, by the capacity behind them.
    pub fn weighs(&self) -> bool {
        matches!(self, Routing::Wcmp)
    }

    /// Whether a flow keeps its path as long as no link changes.
    pub fn keeps_paths(&self) -> bool {
        self.choice() == Choice::ByFlow && !self.plb()
    }

    /// Whether connections leave congested paths.
    pub fn plb(&self) -> bool {
        matches!(self, Routing::Ecmp(Ecmp { plb: true, .. }))
    }

    /// How much of a path is known before a run.
    pub fn choice(&self) -> Choice {
        match self {
            Routing::Ecmp(_) | Routing::Wcmp => Choice::ByFlow,
            Routing::Spray(_) => Choice::ByPacket,
            Routing::Flowlet(_) | Routing::Adaptive(_) => Choice::ByState,
        }
    }

    /// The graph with paths as this chooses them.
    pub fn on(&self, mut graph: Graph) -> Graph {
        graph.choice = self.choice();
        match self {
            Routing::Ecmp(hash) if *hash != PLAIN => {
                graph.route = Arc::new(ByHash { sets: graph.route, hash: *hash });
            }
            Routing::Wcmp => graph.route = Arc::new(Weighted::new(&graph)),
            _ => {}
        }
        graph
    }

    fn check(&self) -> Result<(), Unfit> {
        let zero = |key| Err(Unfit::new(key, "it must be greater than 0"));
        match self {
            Routing::Flowlet(Flowlets { gap: Span::ZERO, .. }) => zero(Flowlets::KEY.gap),
            Routing::Adaptive(Adaptive { gap: Span::ZERO, .. }) => zero(Adaptive::KEY.gap),
            Routing::Adaptive(Adaptive { every: Span::ZERO, .. }) => zero(Adaptive::KEY.every),
            Routing::Adaptive(Adaptive { bands, .. }) if !bands.is_sorted_by(|a, b| a < b) => {
                Err(Unfit::new(Adaptive::KEY.bands, "each must be greater than the one before"))
            }
            _ => Ok(()),
        }
    }
}

/// The section as a file has it.
pub(crate) fn resolve(section: Section<'_>) -> Result<Routing, Mistake> {
    let routing = Routing::from_values(&mut section.values()?);
    routing.check().map_err(|unfit| section.unfit(unfit))?;
    section.close(&format!("kind = \"{}\"", routing.word()))?;
    Ok(routing)
}

/// Refuses what must know the path of each flow, where a flow has none of its own.
pub(crate) fn check(
    origin: &Origin,
    root: &Table,
    routing: &Routing,
    measure: &Measure,
) -> Result<(), Mistake> {
    let choice = routing.choice();
    if routing.plb() {
        let why = "with routing.plb it changes: leave it out, or plb";
        return check_paths(origin, root, Choice::ByState, measure, why);
    }
    if choice == Choice::ByFlow {
        return Ok(());
    }
    let why = format!(
        "with routing.kind = \"{}\" it has none of its own: leave it out, or choose \"ecmp\" or \"wcmp\"",
        routing.word()
    );
    check_paths(origin, root, choice, measure, &why)
}

/// Refuses what must know the path of each flow, where events change it.
pub(crate) fn check_events(
    origin: &Origin,
    root: &Table,
    routing: &Routing,
    measure: &Measure,
) -> Result<(), Mistake> {
    let why = match routing.weighs() {
        true => {
            "events of links that go down, are drained or have another rate ([[event]] link) change it: leave it out, \
                 or the event"
        }
        false => {
            "links that go down or are drained ([[event]] link) change it: leave it out, or the event"
        }
    };
    check_paths(origin, root, Choice::ByState, measure, why)
}

/// Refuses what must know the path of each flow.
pub(crate) fn check_paths(
    origin: &Origin,
    root: &Table,
    choice: Choice,
    measure: &Measure,
    why: &str,
) -> Result<(), Mistake> {
    let monitors = &measure.monitors;
    let asked = [
        ("measure.giant", measure.giant.is_some()),
        ("measure.convergence", monitors.convergence.is_some()),
        ("measure.underflow", !monitors.underflow.is_empty()),
        // Parts are known where packets are sprayed.
        ("measure.goodput_every", measure.goodput_every.is_some() && choice == Choice::ByState),
    ];
    let Some((key, _)) = asked.into_iter().find(|(_, asked)| *asked) else { return Ok(()) };
    let mut keys = key.split('.');
    let mut node = root.get(keys.next().unwrap_or(key));
    for key in keys {
        // The deepest node that is written has the line to show.
        node = node.and_then(Node::as_table).and_then(|table| table.get(key)).or(node);
    }
    let at = node.map_or(At::Unwritten, |node| node.at);
    Err(origin.mistake(at, key, format!("needs the path of each flow, and {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_finite_size_give_some_ports_an_entry_more() {
        let counts = |buckets, ports: u32| {
            let mut counts = vec![0u32; ports as usize];
            let hash = Ecmp { salt: Salt::Switch, buckets, plb: false };
            (0..80_000).for_each(|key| counts[hash.place(key, SwitchId(5), ports) as usize] += 1);
            counts.into_iter().map(|count| f64::from(count) / 80_000.0).collect::<Vec<_>>()
        };
        let near = |found: Vec<f64>, wanted: &[f64]| {
            let off = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(found.len() == wanted.len() && off < 0.01, "{found:?} {wanted:?}");
        };
        near(counts(Some(8), 3), &[3.0 / 8.0, 3.0 / 8.0, 2.0 / 8.0]);
        near(counts(Some(2), 4), &[0.25; 4]);
        near(counts(None, 3), &[1.0 / 3.0; 3]);
    }
}
