//! `[[event]]`.

use super::links;
use super::measure::check_port;
use crate::mistake::{Mistake, Origin};
use crate::section::Section;
use crate::tree::Table;
use switchbed_qdisc::units::Bytes;
use switchbed_spec::event::{Change, Event, SECTION};
use switchbed_spec::{Run, Topology};

/// The file's events in the order of their times.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    topology: &Topology,
    run: &Run,
    mtu: Bytes,
) -> Result<Vec<Event>, Mistake> {
    let nodes = root.get(SECTION.name).and_then(|node| node.as_list()).unwrap_or_default();
    let mut events = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let path = if nodes.len() == 1 { "event".to_owned() } else { format!("event.{i}") };
        let section = Section::open(origin, &path, SECTION.keys, Some(node), None)?;
        events.push(event(section, topology, run, mtu)?);
    }
    events.sort_by_key(|event| event.at);
    Ok(events)
}

fn event(
    section: Section<'_>,
    topology: &Topology,
    run: &Run,
    mtu: Bytes,
) -> Result<Event, Mistake> {
    let at = section.get("at")?;
    if let Some(until) = run.until
        && at > until
    {
        return Err(section.refuse("at", format!("the run ends at {until} (run.until)")));
    }
    if let Some(port) = section.maybe::<String>("port")? {
        check_port(&port, topology).map_err(|why| section.refuse("port", why))?;
        if let Some(up) = section.maybe("up")? {
            section.close("a port that goes down or comes up")?;
            return Ok(Event { at, change: Change::Link { port, up } });
        }
        if section.given("rate").is_none() {
            return Err(section.missing_like("rate", "\"10Gbps\", or up = false"));
        }
        let outage = |Mistake { message, .. }: &Mistake| format!("{message} (up = false is down)");
        let rate = links::rate(&section, "rate", mtu)
            .map_err(|mistake| Mistake { message: outage(&mistake), ..mistake })?;
        section.close("a change of a port's rate")?;
        return Ok(Event { at, change: Change::Rate { port, rate } });
    }
    let Some(class) = section.maybe("class")? else {
        return Err(section.missing_like("port", "\"left:0\", or class = 0"));
    };
    let (weight, max) = (section.maybe("weight")?, section.maybe("max")?);
    if weight.is_none() && max.is_none() {
        return Err(section.missing_like("weight", "2.0, or max = \"1Gbps\""));
    }
    section.close("a change of a class's share")?;
    Ok(Event { at, change: Change::Share { class, weight, max } })
}
