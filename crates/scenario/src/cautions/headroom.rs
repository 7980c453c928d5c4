//! Whether lossless groups have the room that their links need (docs/pfc.md), where a file says how much.

use crate::Scenario;
use crate::topology::graph::{Cable, Graph};
use switchbed_qdisc::memory::chip::Asic;
use switchbed_qdisc::memory::pfc::{Input, Pfc};

/// Warns of a scenario's headroom if it is too small, before it runs.
pub(super) fn too_small(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let given = pfc.headroom?;
    let cell = scenario.switch.sharing.asic.map_or(1, |Asic(chip)| chip.cell);
    let computed = Pfc { headroom: None, ..pfc.clone() };
    let needed = |cable: &Cable| {
        let input = Input { rate: cable.rate, delay: cable.delay };
        let (longest, shortest) = (scenario.host.mtu, scenario.shortest());
        computed.headroom_cells(input, longest, shortest, cell) * u64::from(cell)
    };
    let inputs = graph.inputs();
    let all = inputs.iter().flatten().count();
    let short: Vec<u64> =
        inputs.iter().flatten().map(needed).filter(|&needed| needed > given.get()).collect();
    let most = short.iter().max()?;
    Some(format!(
        "switch.pfc.headroom is {given}, and {} of the {all} links that lead to switches need up to \
         {most}B: packets of lossless classes may be lost there; leave it away to have it computed",
        short.len()
    ))
}
