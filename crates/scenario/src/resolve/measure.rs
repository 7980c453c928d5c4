//! `[measure]` and `[run]`.

use crate::mistake::{Mistake, list_of};
use crate::section::Section;
use crate::tree::{Data, Node};
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_spec::topology::SwitchGroup;
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
    let goodput_every = section.maybe("goodput_every")?;
    if goodput_every == Some(Span::ZERO) {
        return Err(section.refuse("goodput_every", "an interval is longer than 0"));
    }
    let monitors = super::monitors::monitors(&section, run, topology)?;
    let giant = section.maybe("giant")?;
    let capture = port_names(&section, "capture", topology)?;
    let capture_packets = section.get("capture_packets")?;
    let samples = section.get("samples")?;
    section.close("a measurement")?;
    Ok(Measure {
        warmup,
        fct_end,
        small,
        large,
        queues,
        series_every,
        giant,
        goodput_every,
        monitors,
        capture,
        capture_packets,
        samples,
    })
}

fn queues(section: &Section<'_>, topology: &Topology) -> Result<QueueProbe, Mistake> {
    let node = section.node("queues").ok_or_else(|| section.missing("queues"))?;
    let Data::List(_) = &node.data else {
        let kind = &ParamKind::Word(&["off", "all"]);
        return Ok(match section.read::<String>(kind, &node, "queues")?.as_str() {
            "off" => QueueProbe::Off,
            _ => QueueProbe::All,
        });
    };
    Ok(QueueProbe::Ports(port_names(section, "queues", topology)?))
}

/// A list of ports.
pub(super) fn port_names(
    section: &Section<'_>,
    name: &str,
    topology: &Topology,
) -> Result<Vec<String>, Mistake> {
    let ports: Vec<String> = section.list(name)?.ok_or_else(|| section.missing(name))?;
    let node = section.node(name);
    let items = node.as_ref().and_then(Node::as_list).unwrap_or_default();
    for (i, (port, item)) in ports.iter().zip(items).enumerate() {
        if let Err(why) = check_port(port, topology) {
            return Err(section.wrong(&format!("{name}.{i}"), item, &why));
        }
    }
    Ok(ports)
}

/// Whether the topology has the port, else what it has.
pub(super) fn check_port(port: &str, topology: &Topology) -> Result<(), String> {
    // Only a number as it is printed: not `03`, not `+3`.
    let below =
        |text: &str, end: u32| text.parse().is_ok_and(|n: u32| n < end && n.to_string() == text);
    if let Some(index) = port.strip_prefix("host") {
        let hosts = topology.hosts();
        return match below(index, hosts) {
            true => Ok(()),
            false => Err(format!("the topology has host0 to host{}", hosts - 1)),
        };
    }
    let groups = topology.switch_groups();
    let (switch, number) = port.split_once(':').unwrap_or((port, ""));
    let Some((group, index)) =
        groups.iter().find_map(|group| Some((group, switch.strip_prefix(group.name)?)))
    else {
        let first = |group: &SwitchGroup| match group.count {
            Some(_) => format!("\"{}0:0\"", group.name),
            None => format!("\"{}:0\"", group.name),
        };
        let examples: Vec<String> =
            groups.iter().map(first).chain(["\"host0\"".to_owned()]).collect();
        let examples = list_of(examples.iter().map(String::as_str));
        return Err(format!("a port is a switch and a number, or a host, such as {examples}"));
    };
    let named = group.count.map_or(index.is_empty(), |count| below(index, count));
    if named && below(number, group.ports) {
        return Ok(());
    }
    let (name, last) = (group.name, group.ports - 1);
    Err(match group.count {
        Some(count) => format!("the topology has {name}0:0 to {name}{}:{last}", count - 1),
        None => format!("the topology has {name}:0 to {name}:{last}"),
    })
}
