//! `[measure]` and `[run]`.

use crate::mistake::{Mistake, list_of};
use crate::section::Section;
use crate::tree::Data;
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_spec::{FctEnd, Measure, ParamKind, QueueProbe, Run, Topology};

pub(crate) fn run(section: &Section<'_>) -> Result<Run, Mistake> {
    let run = Run {
        seed: section.get("seed")?,
        until: section.maybe("until")?,
        ecmp_by_row: section.get("ecmp_by_row")?,
    };
    match run.until {
        Some(Span::ZERO) => Err(section.refuse("until", "a run lasts longer than 0")),
        _ => Ok(run),
    }
}

pub(crate) fn measure(
    section: Section<'_>,
    run: &Run,
    topology: &Topology,
) -> Result<Measure, Mistake> {
    let warmup = section.get("warmup")?;
    if let Some(until) = run.until
        && warmup >= until
    {
        return Err(section.refuse("warmup", format!("it must be less than run.until, {until}")));
    }
    let fct_end = match section.get::<String>("fct_end")?.as_str() {
        "acked" => FctEnd::Acked,
        "received" => FctEnd::Received,
        word => unreachable!("fct_end {word}"),
    };
    let (small, large): (Bytes, Bytes) = (section.get("small")?, section.get("large")?);
    if small > large {
        return Err(section.refuse("small", format!("it must be at most measure.large, {large}")));
    }
    let queues = queues(&section, topology)?;
    let series_every = section.maybe("series_every")?;
    if series_every == Some(Span::ZERO) {
        return Err(section.refuse("series_every", "an interval is longer than 0"));
    }
    if series_every.is_some() && queues == QueueProbe::Off {
        return Err(section.refuse("series_every", "with queues = \"off\" there is no series"));
    }
    section.close("a measurement")?;
    Ok(Measure { warmup, fct_end, small, large, queues, series_every })
}

fn queues(section: &Section<'_>, topology: &Topology) -> Result<QueueProbe, Mistake> {
    let node = section.node("queues").ok_or_else(|| section.missing("queues"))?;
    let Data::List(items) = &node.data else {
        let kind = &ParamKind::Word(&["off", "all"]);
        return Ok(match section.read::<String>(kind, &node, "queues")?.as_str() {
            "off" => QueueProbe::Off,
            _ => QueueProbe::All,
        });
    };
    let ports: Vec<String> = section.list("queues")?.unwrap_or_default();
    for (i, (port, item)) in ports.iter().zip(items).enumerate() {
        if let Err(why) = check_port(port, topology) {
            return Err(section.wrong(&format!("queues.{i}"), item, &why));
        }
    }
    Ok(QueueProbe::Ports(ports))
}

/// Whether the topology has the port, else what it has.
fn check_port(port: &str, topology: &Topology) -> Result<(), String> {
    let (device, number) = match port.split_once(':') {
        Some((device, number)) => (device, number.parse::<u32>().ok()),
        None => (port, None),
    };
    let split = device.find(|c: char| c.is_ascii_digit()).unwrap_or(device.len());
    let (name, index) = (&device[..split], device[split..].parse::<u32>().ok());
    if name == "host" && !port.contains(':') {
        let hosts = topology.hosts();
        return match index {
            Some(index) if index < hosts => Ok(()),
            _ => Err(format!("the topology has host0 to host{}", hosts - 1)),
        };
    }
    let groups = topology.switch_groups();
    let Some(group) = groups.iter().find(|group| group.name == name) else {
        let devices: Vec<String> = groups.iter().map(|group| format!("{}0", group.name)).collect();
        let devices = list_of(devices.iter().map(String::as_str));
        return Err(format!(
            "a port is a switch ({devices}, …) and a number, such as \"{}0:0\", or a host such as \"host0\"",
            groups[0].name
        ));
    };
    match (index, number) {
        (Some(index), Some(number)) if index < group.count && number < group.ports => Ok(()),
        _ => {
            let (last, ports) = (group.count - 1, group.ports - 1);
            Err(format!("the topology has {name}0:0 to {name}{last}:{ports}"))
        }
    }
}
