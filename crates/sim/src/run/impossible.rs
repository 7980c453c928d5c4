//! Results that no network can have: a flow or a collective that took less than in an empty network, a line that sent for
//! longer than it was up. Such a run is an error of the simulator's, and leaves nothing.

use crate::jobs::Job;
use crate::records::{Records, Timed};
use crate::simulation::{PortReport, Simulation};
use std::fmt;
use switchbed_scenario::Scenario;
use switchbed_scenario::event::{Change, LinkChange};
use switchbed_scenario::protocols::Protocols;
use switchbed_units::Span;

/// Divisions of packets' times are rounded, each by less than a picosecond.
const ROUNDING: Span = Span::from_ns(1);

/// Description of an impossible result, which shows an error of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible(String);

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Impossible {}

/// Whether a run's flows, ports and jobs can be.
///
/// # Errors
/// The first that cannot.
pub(crate) fn check(
    scenario: &Scenario,
    simulation: &Simulation,
    flows: &Records,
    reports: &[PortReport],
    jobs: &[Job],
) -> Result<(), Impossible> {
    for PortReport { info, utilisation, .. } in reports {
        // The fraction is a quotient of sums in floating point: full may come out a little above 1.
        if !(0.0..=1.0 + 1e-9).contains(utilisation) {
            let what = format!("{} was sending for {utilisation} of the time", info.name);
            return Err(Impossible(what));
        }
    }
    // The time in an empty network is that of the rates at the start, and of what is sent until it arrives.
    let faster = |change: &Change| {
        let of_link =
            |what: &LinkChange| matches!(what, LinkChange::Rate { .. } | LinkChange::Delay { .. });
        match change {
            Change::Rate { .. } => true,
            Change::OfLink { what, .. } => of_link(what),
            _ => false,
        }
    };
    let protocols = Protocols::of(scenario);
    let reliable = |Timed { flow, .. }: &Timed| {
        protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)).is_reliable()
    };
    if scenario.event.iter().any(|event| faster(&event.change)) {
        return Ok(());
    }
    // Of one that took longer by a millionth than alone, no rounding hides that it is possible.
    let quick = |of: &Timed| of.slowdown < 1.0 + 1e-6;
    for Timed { flow, .. } in flows.timed().filter(quick).filter(reliable) {
        let (Some(end), Some(empty)) = (flow.end, simulation.empty_fct_of(&flow)) else { continue };
        let took = end.since(flow.start);
        if took + ROUNDING < empty {
            let row = flow.row;
            let what = format!("flow {row} took {took}, and {empty} in an empty network");
            return Err(Impossible(what));
        }
    }
    for job in jobs.iter().filter(|job| job.done && job.bus_factor.is_finite()) {
        if job.time_s + ROUNDING.as_secs_f64() < job.ideal_s {
            let (traffic, took, ideal) = (job.traffic, job.time_s, job.ideal_s);
            let what =
                format!("traffic.{traffic} took {took} s, and {ideal} s in an empty network");
            return Err(Impossible(what));
        }
    }
    Ok(())
}
