//! Changes during a run.

mod change;
pub(crate) mod random;

use change::check_rate_words;
pub use change::{Change, Event, Held, LinkChange, SECTION};

use crate::topology::graph::Graph;
use crate::topology::ports::check_port;
use crate::{Routing, Run};
use switchbed_config::key;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::section::Section;
use switchbed_config::tree::Table;
use switchbed_qdisc::memory::pfc::Pfc;
use switchbed_units::Bytes;

/// The file's events in the order of their times.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    graph: &Graph,
    run: &Run,
    (mtu, pfc): (Bytes, Option<&Pfc>),
) -> Result<Vec<Event>, Mistake> {
    // A single entry is named without its number, as users write it.
    let nodes = root.get(SECTION.name).and_then(|node| node.as_list()).unwrap_or_default();
    let section = |i: usize| {
        let path = if nodes.len() == 1 { "event".to_owned() } else { format!("event.{i}") };
        Section::open(origin, &path, SECTION.keys, Some(&nodes[i]), None)
    };
    let mut events = Vec::new();
    for i in 0..nodes.len() {
        events.push(event(section(i)?, graph, run, (mtu, pfc))?);
    }
    // A port that stays down leaves flows that never end, and so a run that never does.
    if run.until.is_none()
        && let Some(i) = events.iter().position(|event| stays_down(event, &events))
    {
        let section = section(i)?;
        let port: String = section.get(key!(port))?;
        let why = format!(
            "{port} stays down, and what waits for it never ends: let it come up again, or give \
             until in [run]"
        );
        return Err(section.refuse(key!(up), why));
    }
    events.extend(random::resolve(origin, root, graph, run)?);
    // Stable: events of one time stay in the order of the file.
    events.sort_by_key(|event| event.at);
    Ok(events)
}

/// Whether a port goes down by this event and never comes up again.
fn stays_down(event: &Event, events: &[Event]) -> bool {
    let Change::Link { port: down, up: false } = &event.change else { return false };
    !events.iter().any(|other| {
        other.at > event.at
            && matches!(&other.change, Change::Link { port, up: true } if port == down)
    })
}

fn event(
    section: Section<'_>,
    graph: &Graph,
    run: &Run,
    (mtu, pfc): (Bytes, Option<&Pfc>),
) -> Result<Event, Mistake> {
    let at = section.get(key!(at))?;
    if let Some(until) = run.until
        && at > until
    {
        return Err(section.refuse(key!(at), format!("the run ends at {until} (run.until)")));
    }
    if let Some(link) = section.maybe::<String>(key!(link))? {
        let what = change::read_link(&section, &link, graph, mtu)?;
        return Ok(Event { at, change: Change::OfLink { link, what } });
    }
    if let Some(port) = section.maybe::<String>(key!(port))? {
        check_port(&port, graph).map_err(|why| section.refuse(key!(port), why))?;
        if let Some(lose) = packets(&section, key!(lose))? {
            let flow = section.maybe(key!(flow))?;
            section.close("a line that loses packets")?;
            return Ok(Event { at, change: Change::Lose { port, flow, lose } });
        }
        if let Some(mark) = packets(&section, key!(mark))? {
            let flow = section.maybe(key!(flow))?;
            section.close("a line that marks packets")?;
            return Ok(Event { at, change: Change::Mark { port, flow, mark } });
        }
        if let Some(up) = section.maybe(key!(up))? {
            section.close("a port that goes down or comes up")?;
            return Ok(Event { at, change: Change::Link { port, up } });
        }
        if let Some(storm) = section.maybe(key!(storm))? {
            if !pfc.is_some_and(|pfc| pfc.lossless(storm)) {
                let why = "only a lossless class can be paused: switch.pfc.priorities lists them";
                return Err(section.refuse(key!(storm), why));
            }
            let lasts = section.get(key!(lasts))?;
            section.close("a storm of pause frames")?;
            return Ok(Event { at, change: Change::Storm { port, storm, lasts } });
        }
        if section.given(key!(rate)).is_none() {
            return Err(
                section.missing_like(key!(rate), "\"10Gbps\", or up = false, or lose = [3]")
            );
        }
        let rate = check_rate_words(&section, mtu)?;
        section.close("a change of a port's rate")?;
        return Ok(Event { at, change: Change::Rate { port, rate } });
    }
    let Some(class) = section.maybe(key!(class))? else {
        return Err(section.missing_like(key!(port), "\"left:0\", or a link, or class = 0"));
    };
    let (weight, max) = (section.maybe(key!(weight))?, section.maybe(key!(max))?);
    if weight.is_none() && max.is_none() {
        return Err(section.missing_like(key!(weight), "2.0, or max = \"1Gbps\""));
    }
    section.close("a change of a class's share")?;
    Ok(Event { at, change: Change::Share { class, weight, max } })
}

/// Whether packets may take other paths after some event.
pub fn reroute(routing: &Routing, events: &[Event]) -> bool {
    let reroutes = |event: &Event| match &event.change {
        Change::OfLink { what: LinkChange::Rate { .. }, .. } => routing.weighs(),
        Change::OfLink { what, .. } => what.reroutes(),
        _ => false,
    };
    events.iter().any(reroutes)
}

/// The numbers of packets that a key lists, if it is given.
fn packets(section: &Section<'_>, key: &str) -> Result<Option<Vec<u64>>, Mistake> {
    if section.given(key).is_none() {
        return Ok(None);
    }
    let numbers: Vec<u64> = section.list(key)?.unwrap_or_default();
    if numbers.is_empty() {
        return Err(section.refuse(key, "it lists no packet: [3] is the third"));
    }
    Ok(Some(numbers))
}
