//! The monitors of `[measure]`.

use super::measure::port_names;
use crate::mistake::Mistake;
use crate::section::Section;
use switchbed_qdisc::units::Span;
use switchbed_spec::{Bursts, Changes, Convergence, Monitors, Run, Topology};

pub(crate) fn monitors(
    section: &Section<'_>,
    run: &Run,
    topology: &Topology,
) -> Result<Monitors, Mistake> {
    let changes = section.inner("changes")?;
    let bursts = section.inner("bursts")?;
    let convergence = section.inner("convergence")?;
    Ok(Monitors {
        changes: changes.map(|s| self::changes(&s, run, topology)).transpose()?,
        bursts: bursts
            .map(|s| {
                let ports = port_names(&s, "ports", topology)?;
                Ok(Bursts { ports, apart: s.get("apart")? })
            })
            .transpose()?,
        convergence: convergence.map(|s| self::convergence(&s, topology)).transpose()?,
        underflow: match section.given("underflow") {
            Some(_) => port_names(section, "underflow", topology)?,
            None => Vec::new(),
        },
    })
}

fn changes(section: &Section<'_>, run: &Run, topology: &Topology) -> Result<Changes, Mistake> {
    let ports = port_names(section, "ports", topology)?;
    let (from, until): (Span, Span) = (section.get("from")?, section.get("until")?);
    if until <= from {
        return Err(section.refuse("until", format!("the window must end after it begins, {from}")));
    }
    if let Some(end) = run.until
        && from >= end
    {
        return Err(section.refuse("from", format!("it must be less than run.until, {end}")));
    }
    let slope_over = section.maybe("slope_over")?;
    if slope_over == Some(Span::ZERO) {
        return Err(section.refuse("slope_over", "a time to grow in is longer than 0"));
    }
    Ok(Changes { ports, from, until, slope_over })
}

fn convergence(section: &Section<'_>, topology: &Topology) -> Result<Convergence, Mistake> {
    let port: String = section.get("port")?;
    super::measure::check_port(&port, topology).map_err(|why| section.refuse("port", why))?;
    let window = section.get("window")?;
    if window == Span::ZERO {
        return Err(section.refuse("window", "a window is longer than 0"));
    }
    let (within, windows) = (section.get("within")?, section.get("windows")?);
    Ok(Convergence { port, window, within, windows })
}
