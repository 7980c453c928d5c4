//! The tables of the monitors that a scenario asks for.

use crate::table::{Table, Values};
use switchbed_sim::Simulation;
use switchbed_sim::ids::LinkId;
use switchbed_sim::observe::monitors::{Burst, Converged, LengthChange, RateSample, slopes_bps};
use switchbed_spec::{Monitors, Scenario};

/// Each by its name; none of a monitor that was not asked for.
pub(crate) fn tables(
    scenario: &Scenario,
    simulation: &mut Simulation,
) -> Vec<(&'static str, Table)> {
    let Monitors { changes, bursts, convergence, .. } = &scenario.measure.monitors;
    let monitored = simulation.take_monitored();
    let port = |link: LinkId| &*simulation.ports()[link.index()].name;
    let mut tables = Vec::new();
    if let Some(asked) = changes {
        let slopes = |rows: &[LengthChange]| match asked.slope_over {
            Some(over) => slopes_bps(rows, over),
            None => vec![f64::NAN; rows.len()],
        };
        tables.push(("changes", change_table(&monitored.changes, slopes, port)));
    }
    if bursts.is_some() {
        tables.push(("bursts", burst_table(&monitored.bursts, port)));
    }
    if convergence.is_some() {
        tables.push(("convergence", convergence_table(&monitored.converged)));
        tables.push(("rates", rate_table(&monitored.rates)));
    }
    tables
}

fn change_table<'a>(
    changes: &[(LinkId, Vec<LengthChange>)],
    slopes_bps: impl Fn(&[LengthChange]) -> Vec<f64>,
    port: impl Fn(LinkId) -> &'a str,
) -> Table {
    let rows = || changes.iter().flat_map(|(link, rows)| rows.iter().map(move |row| (*link, row)));
    let slopes = changes.iter().flat_map(|(_, rows)| slopes_bps(rows)).collect();
    Table::new([
        ("time_s", "s", "when", Values::F64(rows().map(|(_, row)| row.at.as_secs_f64()).collect())),
        (
            "port",
            "",
            "switch and port number, or host",
            Values::Names(rows().map(|(link, _)| port(link)).collect()),
        ),
        (
            "queue",
            "",
            "queue number",
            Values::U32(rows().map(|(_, row)| u32::from(row.queue)).collect()),
        ),
        (
            "bytes",
            "bytes",
            "its length from then on; the first row of a queue is what the window opens with",
            Values::U64(rows().map(|(_, row)| row.bytes.get()).collect()),
        ),
        (
            "slope_bps",
            "bit/s",
            "its growth over the last slope_over; null where the window does not reach back so far",
            Values::F64(slopes),
        ),
    ])
}

fn burst_table<'a>(bursts: &[Burst], port: impl Fn(LinkId) -> &'a str) -> Table {
    let mut rows = Vec::new();
    for (nth, burst) in bursts.iter().enumerate() {
        for (link, peaks) in &burst.peaks {
            rows.extend(peaks.iter().enumerate().map(|(q, peak)| (nth, burst, *link, q, peak)));
        }
    }
    Table::new([
        ("burst", "", "number, from 0", Values::U64(rows.iter().map(|row| row.0 as u64).collect())),
        (
            "start_s",
            "s",
            "start of its first flow",
            Values::F64(rows.iter().map(|row| row.1.start.as_secs_f64()).collect()),
        ),
        (
            "flows",
            "",
            "flows that started in it",
            Values::U64(rows.iter().map(|row| row.1.flows).collect()),
        ),
        (
            "port",
            "",
            "switch and port number, or host",
            Values::Names(rows.iter().map(|row| port(row.2)).collect()),
        ),
        ("queue", "", "queue number", Values::U32(rows.iter().map(|row| row.3 as u32).collect())),
        (
            "max_bytes",
            "bytes",
            "its longest until the next burst, or the end",
            Values::U64(rows.iter().map(|row| row.4.bytes.get()).collect()),
        ),
        (
            "max_at_s",
            "s",
            "when it first was so long",
            Values::F64(rows.iter().map(|row| row.4.at.as_secs_f64()).collect()),
        ),
    ])
}

fn convergence_table(flows: &[Converged]) -> Table {
    let after = |flow: &Converged| flow.after.map_or(f64::NAN, |after| after.as_secs_f64());
    Table::new([
        (
            "row",
            "",
            "the flow's row in the table flows",
            Values::U64(flows.iter().map(|flow| flow.row).collect()),
        ),
        (
            "start_s",
            "s",
            "when it started",
            Values::F64(flows.iter().map(|flow| flow.start.as_secs_f64()).collect()),
        ),
        (
            "converged_after_s",
            "s",
            "from then until the end of the first window of those in a row with its fair share; \
             null: never",
            Values::F64(flows.iter().map(after).collect()),
        ),
    ])
}

fn rate_table(rates: &[RateSample]) -> Table {
    let f64s = |f: &dyn Fn(&RateSample) -> f64| Values::F64(rates.iter().map(f).collect());
    Table::new([
        ("time_s", "s", "end of the window", f64s(&|rate| rate.at.as_secs_f64())),
        (
            "row",
            "",
            "the flow's row in the table flows",
            Values::U64(rates.iter().map(|rate| rate.row).collect()),
        ),
        ("rate_bps", "bit/s", "payload received in order", f64s(&|rate| rate.rate_bps)),
        (
            "fair_bps",
            "bit/s",
            "the mean of the flows that were under way through the window",
            f64s(&|rate| rate.fair_bps),
        ),
    ])
}
