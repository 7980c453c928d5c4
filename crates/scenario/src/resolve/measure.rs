//! `[measure]` and `[run]`.

use crate::mistake::{Mistake, list_of};
use crate::section::Section;
use switchbed_qdisc::units::Span;
use switchbed_sim::{Measure, QueueProbe};
use switchbed_spec::param::Params;
use switchbed_spec::topology::SwitchGroup;
use switchbed_spec::{Run, Topology};

pub(crate) fn run(section: &Section<'_>) -> Result<Run, Mistake> {
    let run = Run::from_values(&mut section.values()?);
    match run.until {
        Some(Span::ZERO) => Err(section.refuse(Run::KEY.until, "a run lasts longer than 0")),
        _ => Ok(run),
    }
}

pub(crate) fn measure(
    section: Section<'_>,
    run: &Run,
    topology: &Topology,
) -> Result<Measure, Mistake> {
    let section = section.on(topology);
    let measure = Measure::from_values(&mut section.values()?);
    let Measure { warmup, small, large, series_every, goodput_every, .. } = measure;
    if let Some(until) = run.until
        && warmup >= until
    {
        return Err(
            section.refuse(Measure::KEY.warmup, format!("it must be less than run.until, {until}"))
        );
    }
    if small > large {
        return Err(section
            .refuse(Measure::KEY.small, format!("it must be at most measure.large, {large}")));
    }
    if series_every == Some(Span::ZERO) {
        return Err(section.refuse(Measure::KEY.series_every, "an interval is longer than 0"));
    }
    if series_every.is_some() && measure.queues == QueueProbe::Off {
        return Err(
            section.refuse(Measure::KEY.series_every, "with queues = \"off\" there is no series")
        );
    }
    if goodput_every == Some(Span::ZERO) {
        return Err(section.refuse(Measure::KEY.goodput_every, "an interval is longer than 0"));
    }
    measure.monitors.check(run).map_err(|(monitor, unfit)| match section.inner(monitor) {
        Ok(Some(inner)) => inner.unfit(unfit),
        Ok(None) => section.refuse(monitor, unfit.why),
        Err(mistake) => mistake,
    })?;
    Ok(measure)
}

/// Whether the topology has the port, else what it has.
pub(crate) fn check_port(port: &str, topology: &Topology) -> Result<(), String> {
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
