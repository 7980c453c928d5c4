//! Events of the run's start that files ask for: links that a connection matrix takes away are drained, as htsim's routes
//! never lead over them, and links with an error rate in the topology's file lose packets.

use crate::event::{Change, Event, LinkChange};
use crate::topology::graph::{Graph, Node};
use crate::topology::links;
use crate::traffic::{Entry, ListError};
use crate::{Topology, Traffic};
use switchbed_config::mistake::Mistake;
use switchbed_units::Span;
use switchbed_units::ids::{PortId, SwitchId};

/// Appends the losses that the topology's file asks for, unless the scenario has them.
pub(super) fn lose(topology: &Topology, events: &mut Vec<Event>) {
    let Topology::File(file) = topology else { return };
    let event = |(link, loss)| Event {
        at: Span::ZERO,
        change: Change::OfLink { link, what: LinkChange::Loss { loss, burst: None } },
    };
    let missing: Vec<Event> =
        file.losses().into_iter().map(event).filter(|event| !events.contains(event)).collect();
    // In front: the scenario's own events of that time replace them.
    events.splice(0..0, missing);
}

/// Appends the drains that flow lists ask for, unless the scenario has them.
pub(super) fn drain(
    traffic: &[Entry],
    graph: &Graph,
    events: &mut Vec<Event>,
) -> Result<(), Mistake> {
    for entry in traffic {
        let Traffic::List(list) = &entry.source else { continue };
        let refused = |error: ListError| Mistake {
            file: error.file,
            line: error.line.and_then(|line| line.try_into().ok()),
            key: String::new(),
            message: error.what,
        };
        for (line, switch, nth) in list.failures(graph.hosts() as u32).map_err(refused)? {
            let link = named(graph, switch, nth).map_err(|message| Mistake {
                file: list.file.clone(),
                line: line.try_into().ok(),
                key: String::new(),
                message,
            })?;
            let what = LinkChange::Drain { drain: true, converge: Span::ZERO };
            let event = Event { at: Span::ZERO, change: Change::OfLink { link, what } };
            // Two entries may read the same file.
            if !events.contains(&event) {
                // In front: they hold from time 0, before the file's own events of that time.
                events.insert(0, event);
            }
        }
    }
    Ok(())
}

/// The name of an aggregation switch's link to the nth of its cores, the first of parallel ones.
fn named(graph: &Graph, switch: u32, nth: u32) -> Result<String, String> {
    let tier = |names: [&str; 2]| graph.tiers.iter().find(|tier| names.contains(&&*tier.name));
    let (Some(aggregations), Some(cores)) = (tier(["agg", "aggregation"]), tier(["core", "cores"]))
    else {
        return Err("takes a link from an aggregation switch to a core, and the topology has no tiers agg and \
                    core; write an [[event]] with link and drain"
            .to_owned());
    };
    let all = aggregations.switches.len();
    let Some(&switch) = aggregations.switches.get(switch as usize) else {
        return Err(format!(
            "switch_id {switch}, and there are {all} aggregation switches, from 0"
        ));
    };
    let mut there: Vec<(SwitchId, usize)> = Vec::new();
    for (port, cable) in graph.switches[switch.index()].1.iter().enumerate() {
        if let Node::Switch(to) = cable.to
            && cores.switches.contains(&to)
            // Parallel links count once, as htsim's fabrics have none.
            && there.iter().all(|&(core, _)| core != to)
        {
            there.push((to, port));
        }
    }
    let Some(&(_, port)) = there.get(nth as usize) else {
        return Err(format!(
            "link_id {nth}, and the switch has links to {} cores, from 0",
            there.len()
        ));
    };
    Ok(links::named(graph, graph.link(switch, PortId::at(port))))
}
