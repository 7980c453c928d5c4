//! Whether lossless groups have the headroom that their links need, and whether a switch's pool has it for all at
//! once (docs/pfc.md).

use crate::Scenario;
use crate::build::Inputs;
use crate::topology::graph::{Cable, Graph};
use serde::Serialize;
use std::collections::BTreeMap;
use switchbed_qdisc::memory::chip::Asic;
use switchbed_qdisc::memory::pfc::{Input, Pfc};

/// Headroom of the lossless groups of links that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomOfLinks {
    /// Bit/s.
    pub rate_bps: u64,
    /// Delay of the cable, one way.
    pub delay_ns: f64,
    /// Number of links that lead to switches.
    pub links: u64,
    /// Bytes that a group needs (docs/pfc.md).
    pub needed_bytes: u64,
    /// Bytes that a group has.
    pub configured_bytes: u64,
}

/// Headroom pool of switches whose links are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadroomOfSwitches {
    /// Name of the first.
    pub switch: String,
    /// Number of switches.
    pub switches: u64,
    /// Number of links that lead to each.
    pub ports: u64,
    /// Number of lossless classes.
    pub classes: u64,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// Bytes that all groups would take at once.
    pub all_bytes: u64,
    /// Number of ports, those with the largest headroom first, that the pool holds at once.
    pub holds_ports: u64,
    /// Whether the pool holds all groups at once.
    pub holds_all: bool,
}

/// Headroom of a scenario by kind of link and of switch; both empty without lossless classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Headroom {
    /// By rate and delay.
    pub links: Vec<HeadroomOfLinks>,
    /// By the links that lead to a switch.
    pub switches: Vec<HeadroomOfSwitches>,
}

fn input(cable: &Cable) -> Input {
    Input { rate: cable.rate, delay: cable.delay }
}

/// Bytes of memory that a link's group needs, whatever the file gives it.
fn needed<'a>(scenario: &'a Scenario, pfc: &Pfc) -> impl Fn(Input) -> u64 + use<'a> {
    let cell = scenario.switch.sharing.asic.map_or(1, |Asic(chip)| chip.cell);
    // As if none were written: what it should be.
    let computed = Pfc { headroom: None, ..pfc.clone() };
    move |input: Input| {
        let (longest, shortest) = (scenario.host.mtu(), scenario.shortest());
        computed.headroom_cells(input, longest, shortest, cell) * u64::from(cell)
    }
}

/// Describes a scenario's headroom, before it runs.
pub(crate) fn described(scenario: &Scenario) -> Headroom {
    let Some(pfc) = scenario.switch.pfc.as_ref() else { return Headroom::default() };
    let graph = scenario.graph();
    let needed = needed(scenario, pfc);
    let (longest, shortest) = (scenario.host.mtu(), scenario.shortest());
    let mut links: BTreeMap<(u64, u64), HeadroomOfLinks> = BTreeMap::new();
    let mut switches: BTreeMap<Vec<(u64, u64)>, HeadroomOfSwitches> = BTreeMap::new();
    for ((name, _), inputs) in graph.switches.iter().zip(graph.inputs()) {
        let inputs: Vec<Input> = inputs.iter().map(input).collect();
        let of = Inputs { links: &inputs, longest, shortest };
        let Some(room) = scenario.switch.headroom_use(of) else { continue };
        let kind = |input: &Input| (input.rate.as_bps(), input.delay.as_ps());
        for (&input, each) in inputs.iter().zip(&room.each) {
            let found = links.entry(kind(&input)).or_insert_with(|| HeadroomOfLinks {
                rate_bps: input.rate.as_bps(),
                delay_ns: input.delay.as_ps() as f64 / 1e3,
                links: 0,
                needed_bytes: needed(input),
                configured_bytes: each.get(),
            });
            found.links += 1;
        }
        // Switches with the same links need the same: one stands for all.
        let alike = switches.entry(inputs.iter().map(kind).collect());
        let found = alike.or_insert_with(|| HeadroomOfSwitches {
            switch: name.clone(),
            switches: 0,
            ports: inputs.len() as u64,
            classes: room.classes,
            pool_bytes: room.pool.get(),
            all_bytes: room.classes * room.each.iter().map(|each| each.get()).sum::<u64>(),
            holds_ports: room.largest,
            holds_all: room.all,
        });
        found.switches += 1;
    }
    Headroom {
        // Keyed by rate first: the fastest come first.
        links: links.into_values().rev().collect(),
        switches: switches.into_values().collect(),
    }
}

/// Warns of a scenario's headroom if it is too small, before it runs.
pub(super) fn too_small(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let given = pfc.headroom?;
    let needed = needed(scenario, pfc);
    let inputs = graph.inputs();
    let all = inputs.iter().flatten().count();
    let each = inputs.iter().flatten().map(|cable| needed(input(cable)));
    let short: Vec<u64> = each.filter(|&needed| needed > given.get()).collect();
    let most = short.iter().max()?;
    Some(format!(
        "switch.pfc.headroom is {given}, and {} of the {all} links that lead to switches need up to \
         {most}B: packets of lossless classes may be lost there; leave it away to have it computed",
        short.len()
    ))
}
