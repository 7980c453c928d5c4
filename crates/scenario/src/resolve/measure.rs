//! `[measure]` and `[run]`.

use crate::mistake::Mistake;
use crate::section::Section;
use switchbed_sim::{Measure, QueueProbe};
use switchbed_spec::param::Params;
use switchbed_spec::topology::SwitchGroup;
use switchbed_spec::{Run, Topology};
use switchbed_units::Span;

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
    let (switch, number) = port.split_once(':').unwrap_or((port, ""));
    let is_of = |group: &SwitchGroup| {
        let index = switch.strip_prefix(group.name);
        let named = |index: &str| group.count.map_or(index.is_empty(), |n| below(index, n));
        index.is_some_and(named) && below(number, group.ports)
    };
    let is_host = port.strip_prefix("host").is_some_and(|host| below(host, topology.hosts()));
    if is_host || topology.switch_groups().iter().any(is_of) {
        return Ok(());
    }
    Err(format!("the topology has {}", all_ports(topology)))
}

/// All ports by name, tier by tier.
fn all_ports(topology: &Topology) -> String {
    let group = |group: &SwitchGroup| {
        let SwitchGroup { name, count, ports } = *group;
        match count {
            Some(count) => format!("{name}0:0 to {name}{}:{}", count - 1, ports - 1),
            None => format!("{name}:0 to {name}:{}", ports - 1),
        }
    };
    let hosts = format!("host0 to host{}", topology.hosts() - 1);
    topology.switch_groups().iter().map(group).chain([hosts]).collect::<Vec<_>>().join(", ")
}
