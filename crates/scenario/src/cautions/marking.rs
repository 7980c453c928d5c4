//! Whether lossless classes are marked before they are paused (docs/pfc.md).

use crate::Scenario;
use crate::build::Inputs;
use crate::protocols::Protocols;
use crate::scheme::{Value, Values};
use crate::topology::graph::{Cable, Graph};
use switchbed_qdisc::memory::pfc::Input;
use switchbed_units::{Bytes, Rate};

/// A switch where a queue that stands where it is marked from has paused who fills it.
struct Late {
    switch: String,
    rate: Rate,
    marks_at: f64,
    pauses_at: f64,
}

/// Said where marks come too late even if nothing else is there.
pub(super) fn never_first(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let Late { switch, rate, marks_at, pauses_at } = late(scenario, graph, false)?;
    Some(format!(
        "{switch} marks at {rate} from {marks_at:.0} bytes on, and pauses an input that holds {pauses_at:.0} \
         bytes though nothing else is there: marks cannot keep it from pausing; mark earlier, or give groups \
         more (switch.pfc.alpha, switch.pool)"
    ))
}

/// The same where all inputs of a switch hold as much: the bound of DCQCN's paper (section 4).
pub(super) fn not_always_first(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let Late { switch, rate, marks_at, pauses_at } = late(scenario, graph, true)?;
    Some(format!(
        "{switch} marks at {rate} from {marks_at:.0} bytes on, and pauses inputs at {pauses_at:.0} bytes where \
         all of them hold as much: pauses may come before marks then (the bound of DCQCN's section 4)"
    ))
}

fn late(scenario: &Scenario, graph: &Graph, all: bool) -> Option<Late> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let protocols = Protocols::of(scenario);
    let answers = |&class: &u8| {
        let each = (0..scenario.traffic.len()).map(|entry| protocols.get(entry as u32, class));
        each.into_iter().any(|protocol| match protocol.queue_pairs() {
            Some(roce) => roce.control.about().cnp && roce.ecn,
            None => protocol.tcp().is_some_and(|tcp| tcp.ecn),
        })
    };
    if !pfc.priorities.iter().any(answers) {
        return None;
    }
    let by_class = pfc.priorities.iter().filter_map(|&class| {
        let params = scenario.scheme.at(class.into()).params();
        late_by(scenario, graph, &params, all)
    });
    by_class.max_by(|a, b| (a.marks_at - a.pauses_at).total_cmp(&(b.marks_at - b.pauses_at)))
}

/// The same where lossless queues have these parameters of a scheme.
fn late_by(scenario: &Scenario, graph: &Graph, params: &Values, all: bool) -> Option<Late> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let of = |key| match params.get(key) {
        Some(Value::Bytes(bytes)) => Some(bytes.as_f64()),
        _ => None,
    };
    let marks_at = of("kmin").or_else(|| of("threshold"))?;
    // Thresholds for a rate grow with the port's.
    let per_bps = match params.get("rate") {
        Some(Value::Rate(rate)) => Some(1.0 / rate.as_bps() as f64),
        _ => None,
    };
    let inputs = graph.inputs();
    let found = inputs.iter().zip(&graph.switches).filter_map(|(inputs, (name, ports))| {
        let links: Vec<Input> =
            inputs.iter().map(|&Cable { rate, delay, .. }| Input { rate, delay }).collect();
        let (longest, shortest): (Bytes, Bytes) = (scenario.host.mtu(), scenario.shortest());
        let may = scenario.switch.group_may(Inputs { links: &links, longest, shortest })?;
        // Each input and class is a group of its own.
        let groups = links.len() as f64 * pfc.priorities.len() as f64;
        let pauses_at = may.each_of(if all { groups } else { 1.0 });
        // The fastest port marks last.
        let rate = ports.iter().map(|port| port.rate).max()?;
        let marks_at = marks_at * per_bps.map_or(1.0, |per_bps| per_bps * rate.as_bps() as f64);
        // As late as the pause is too late: marks take a round trip to act.
        (marks_at >= pauses_at).then(|| Late { switch: name.clone(), rate, marks_at, pauses_at })
    });
    found.max_by(|a, b| (a.marks_at - a.pauses_at).total_cmp(&(b.marks_at - b.pauses_at)))
}
