//! `[switch.trimming]`: which packets are cut instead of dropped, and whose receivers understand that.

use crate::protocol::Protocol;
use crate::protocols::Protocols;
use crate::queue::Entry;
use crate::{Scenario, SchemeChoice, Switch};
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::Params;
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Node, Table};
use switchbed_qdisc::schemes::definition::Scope;
use switchbed_qdisc::switch::{BufferPolicy, Classify};
use switchbed_qdisc::trimming::{LEAST, TrimMode, Trimming};
use switchbed_units::Bytes;

const LIMIT: &str = crate::queue::SECTION.key("limit");
const SECTION: switchbed_config::param::SectionSpec = crate::switch::SECTION;

/// Reads the table; queues of `[[switch.queue]]` may join or leave. `switch` has no trimming yet.
pub(crate) fn resolve(
    section: &Section<'_>,
    entries: &[Entry<'_>],
    switch: &Switch,
    mtu: Bytes,
) -> Result<Option<Trimming>, Mistake> {
    let inner = section.inner(key!(trimming))?;
    let mut own = Vec::new();
    for entry in entries {
        let Some(trims) = entry.section.maybe::<bool>(crate::queue::TRIM)? else { continue };
        if trims && inner.is_none() {
            let why = "switch.trimming says how: write [switch.trimming]";
            return Err(entry.section.refuse(crate::queue::TRIM, why));
        }
        own.extend(entry.queues.iter().map(|&queue| (queue as u8, trims)));
    }
    let Some(inner) = inner else { return Ok(None) };
    let mut trimming = Trimming::from_values(&mut inner.values()?);
    let key = Trimming::KEY;
    if trimming.size < LEAST || trimming.size > mtu {
        let why = format!("it must be from {LEAST} to a full packet, {mtu}");
        return Err(inner.refuse(key.size, why));
    }
    let queues = switch.queues;
    if trimming.queue.is_none() && switch.classify != Classify::Class {
        let word = switch.classify.word();
        let why = format!(
            "switch.classify = \"{word}\" finds no queue by the class of a trimmed packet: write it"
        );
        return Err(inner.refuse(key.queue, why));
    }
    let Some(queue) = trimming.queue_in(switch) else { return Ok(None) };
    if u16::from(queue) >= queues {
        let why = format!("there is no queue {queue}: switch.queues is {queues}");
        return Err(inner.refuse(key.queue, why));
    }
    let at_hosts = |class: u8| trimming.queue.unwrap_or(class);
    let taken = [Some(queue), trimming.host_dscp.map(at_hosts)];
    let lossless = |queue: u8| switch.pfc.as_ref().is_some_and(|pfc| pfc.lossless(queue));
    if lossless(queue) {
        let why = format!("queue {queue} is lossless, and trimmed packets may be dropped");
        return Err(inner.refuse(key.queue, why));
    }
    let given = trimming.queues.is_some();
    let all = (0..queues as u8).filter(|queue| !taken.contains(&Some(*queue)) && !lossless(*queue));
    let mut eligible = trimming.queues.take().unwrap_or_else(|| all.collect());
    for &(queue, trims) in &own {
        eligible.retain(|other| *other != queue);
        if trims {
            eligible.push(queue);
        }
    }
    eligible.sort_unstable();
    eligible.dedup();
    let refuse = |why: String| {
        let at = entries.iter().find(|entry| entry.section.given(crate::queue::TRIM).is_some());
        Err(match (given, at) {
            (false, Some(entry)) => entry.section.refuse(crate::queue::TRIM, why),
            _ => inner.refuse(key.queues, why),
        })
    };
    for &queue in &eligible {
        if u16::from(queue) >= queues {
            return refuse(format!("there is no queue {queue}: switch.queues is {queues}"));
        }
        if taken.contains(&Some(queue)) {
            return refuse(format!(
                "queue {queue} is the trimmed packets': another must be trimmed"
            ));
        }
        if lossless(queue) {
            return refuse(format!("queue {queue} is lossless: it pauses before it loses"));
        }
    }
    if eligible.is_empty() {
        return refuse("no queue is trimmed: leave switch.trimming away".to_owned());
    }
    trimming.queues = Some(eligible);
    if trimming.mode == TrimMode::Htsim {
        let limited = entries.iter().find(|entry| entry.section.given(LIMIT).is_some());
        if let Some(entry) = limited {
            let why = "with switch.trimming.mode = \"htsim\" switch.buffer is each queue's limit";
            return Err(entry.section.refuse(LIMIT, why));
        }
        if switch.policy != BufferPolicy::Shared {
            let why = "it has the memory of each queue by itself: switch.policy must be \"shared\", \
                       without asic and pfc";
            return Err(inner.refuse(key.mode, why));
        }
    }
    Ok(Some(trimming))
}

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
                 understand trimmed packets: leave the queue out of switch.trimming.queues, or use udp",
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
    !protocol.is_reliable()
}
