//! Trimmed packets: which schemes and live switches can have them, and whose receivers understand them.

use crate::protocol::Protocol;
use crate::protocols::Protocols;
use crate::{Scenario, SchemeChoice, Switch};
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::tree::{At, Node, Table};
use switchbed_qdisc::schemes::definition::Scope;
use switchbed_qdisc::switch::Classify;
use switchbed_qdisc::trimming::TrimMode;

/// Refuses a scheme that has a port's queues for itself.
pub(crate) fn check_scheme(
    origin: &Origin,
    root: &Table,
    switch: &Switch,
    schemes: &[&SchemeChoice],
) -> Result<(), Mistake> {
    let whole = schemes.iter().find(|choice| choice.scheme.scope() == Scope::Whole);
    let Some(choice) = whole.filter(|_| switch.trimming.is_some()) else { return Ok(()) };
    let at = root.get("switch").map_or(At::Unwritten, |node| node.at);
    let name = choice.name();
    let why = format!("needs queues of [switch], and {name} has its own: leave it away");
    Err(origin.mistake(at, "switch.trimming", why))
}

/// Refuses flows whose receivers take a trimmed packet for a whole one.
pub(crate) fn check(origin: &Origin, root: &Table, scenario: &Scenario) -> Result<(), Mistake> {
    let Some(rules) = scenario.switch.trim() else { return Ok(()) };
    if let Some(trimming) = &scenario.switch.trimming
        && scenario.switch.classify == Classify::Class
    {
        let queues = scenario.switch.queues;
        let classes = [("dscp", Some(trimming.dscp)), ("host_dscp", trimming.host_dscp)];
        let above = |class: Option<u8>| class.is_some_and(|class| u16::from(class) >= queues);
        if let Some((name, class)) = classes.into_iter().find(|&(_, class)| above(class)) {
            let at = root.get("switch").map_or(At::Unwritten, |node| node.at);
            let class = class.unwrap_or_default();
            let why = format!(
                "is {class}: that class has no queue of its own, since switch.queues is {queues}"
            );
            return Err(origin.mistake(at, &format!("switch.trimming.{name}"), why));
        }
    }
    let protocols = Protocols::of(scenario);
    let entries = root.get("traffic").and_then(Node::as_list).unwrap_or_default();
    let by_class = scenario.switch.classify == Classify::Class;
    for (i, entry) in scenario.traffic.iter().enumerate() {
        let eligible = |class: u16| {
            // Classes beyond the queues wrap round, as the classifier does it.
            let queue = (class % scenario.switch.queues) as u8;
            !by_class || rules.eligible.contains(queue)
        };
        let classes = (0..=entry.classes()).filter(|&class| entry.has_class(class));
        for class in classes.filter(|&class| eligible(class)) {
            let protocol = protocols.get(i as u32, class as u8);
            if understands(protocol) {
                continue;
            }
            let at = entries.get(i).map_or(At::Unwritten, |entry| entry.at);
            let key = if entries.len() > 1 { format!("traffic.{i}") } else { "traffic".to_owned() };
            let why = format!(
                "has {} in a queue that [switch.trimming] trims (class {class}), and its receivers do not \
                 understand trimmed packets: leave the queue out of switch.trimming.queues, or use nscc, rccc or udp",
                protocol.kind()
            );
            return Err(origin.mistake(at, &key, why));
        }
    }
    Ok(())
}

/// Refuses what a live switch cannot do.
pub(crate) fn check_live(origin: &Origin, root: &Table, switch: &Switch) -> Result<(), Mistake> {
    let Some(trimming) = &switch.trimming else { return Ok(()) };
    let at = root.get("switch").map_or(At::Unwritten, |node| node.at);
    if trimming.host_dscp.is_some() {
        let why = "a live switch does not know which ports face hosts: leave it away";
        return Err(origin.mistake(at, "switch.trimming.host_dscp", why));
    }
    if trimming.mode == TrimMode::Htsim {
        let why = "is \"htsim\", which trims queued packets: a live switch may not cut all of them";
        return Err(origin.mistake(at, "switch.trimming.mode", why));
    }
    match trimming.queue {
        Some(_) => Ok(()),
        None => {
            let why = "is missing: a live switch has the queue of trimmed packets by number, such as queue = 1";
            Err(origin.mistake(at, "switch.trimming.queue", why))
        }
    }
}

/// Whether receivers know a trimmed packet. UDP's get a shorter datagram.
fn understands(protocol: &Protocol) -> bool {
    let unordered = protocol.queue_pairs().is_some_and(|pairs| pairs.control.about().unordered());
    unordered || !protocol.is_reliable()
}
