//! What a reader must know before trusting a run's figures: a scheme that never marked, a
//! queue that never filled, percentiles on too few flows.

use crate::summary::{BySize, Fct, Summary};
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_qdisc::view::DropReason;
use switchbed_sim::{FlowRecord, PortReport, Simulation};
use switchbed_spec::{Scenario, Traffic};

/// A 99th percentile of fewer flows than this rests on a handful.
const FEW: u64 = 1000;

pub(crate) fn warnings(
    scenario: &Scenario,
    simulation: &Simulation,
    summary: &Summary,
    flows: &[FlowRecord],
    reports: &[PortReport],
) -> Vec<String> {
    let mut warnings = Vec::new();
    let open = summary.flows.count - summary.flows.finished;
    let endless = summary.fct.all.n == 0 && scenario.run.until.is_some();
    if open > 0 && !endless {
        let why = match scenario.run.until {
            Some(until) => format!("had not finished at {until} (run.until)"),
            None => {
                "never finished: their last packets were lost, and udp sends nothing twice".into()
            }
        };
        warnings
            .push(format!("{open} of {} flows {why}; FCTs are of the others", summary.flows.count));
    }
    let early: u64 =
        reports.iter().map(|report| report.counters.drops[DropReason::Early as usize]).sum();
    let acts = summary.marks + summary.notifications + early;
    if scenario.scheme.acts() && acts == 0 {
        warnings.push(format!(
            "{} {}: {}",
            scenario.scheme.label,
            if scenario.reaction.is_some() { "notified nobody" } else { "marked nothing" },
            why_unmarked(scenario, summary, reports)
        ));
    } else if let Some(max) = longest_switch_queue(reports)
        && max <= scenario.host.mtu.get()
    {
        warnings.push(format!(
            "no switch port ever held more than {max} bytes: {}",
            bottleneck(summary, reports)
        ));
    }
    warnings.extend(short_window(scenario, reports));
    let silent = |flow: &&FlowRecord| {
        flow.size.is_none()
            && flow.received == Bytes::ZERO
            && !flow.ended_by(simulation.warmed_at())
    };
    let silent = flows.iter().filter(silent).count();
    if silent > 0 {
        let why = match scenario.transport.control.about().tcp {
            false => "nothing is sent twice".to_string(),
            true => {
                let timeout = scenario.transport.rto_initial;
                format!("a lost SYN waits for transport.rto_initial, {timeout}")
            }
        };
        warnings.push(format!("{silent} endless flows received nothing since the warm-up ({why})"));
    }
    warnings.extend(few(&summary.fct));
    if scenario.measure.warmup == Span::ZERO && scenario.traffic.iter().any(goes_on) {
        warnings.push(
            "measure.warmup is 0: flows and queues of the time when the network was still \
             filling count"
                .to_string(),
        );
    }
    warnings
}

/// The classes whose 99th percentile says little.
fn few(fct: &BySize<Fct>) -> Option<String> {
    let classes = [("small", fct.small.n), ("medium", fct.medium.n), ("large", fct.large.n)];
    let few = classes.into_iter().filter(|(_, n)| (1..FEW).contains(n));
    let few: Vec<&str> = few.map(|(class, _)| class).collect();
    let message = || format!("99th percentiles rest on fewer than {FEW} flows: {}", few.join(", "));
    (!few.is_empty()).then(message)
}

/// Whether the traffic stands for what has been going on for long; what a list holds is a
/// case of its own.
fn goes_on(traffic: &Traffic) -> bool {
    matches!(
        traffic,
        Traffic::Poisson { .. }
            | Traffic::LogNormal { .. }
            | Traffic::RequestResponse { .. }
            | Traffic::LongLived(_)
            | Traffic::OnOff(_)
    )
}

/// A window in which no packet can come and go (E-ECN's equation 3).
fn short_window(scenario: &Scenario, reports: &[PortReport]) -> Option<String> {
    let t_i = scenario.scheme.scheme.window()?;
    let switches = reports.iter().filter(|report| report.info.is_switch());
    let slowest = switches.map(|report| report.info.cable.rate).min()?;
    let packet_time = slowest.tx_time(scenario.host.mtu.get() as u32);
    (t_i < packet_time).then(|| {
        format!(
            "t_i is {t_i}, shorter than a packet's time at {slowest}, {packet_time}: the growth of \
             a queue means nothing then"
        )
    })
}

fn why_unmarked(scenario: &Scenario, summary: &Summary, reports: &[PortReport]) -> String {
    if !scenario.transport.ecn && scenario.reaction.is_none() {
        return "transport.ecn is off, so packets to be marked are dropped".to_string();
    }
    let where_to = bottleneck(summary, reports);
    match summary.bottleneck.as_ref().and_then(|port| port.max_bytes) {
        Some(max) => format!("{where_to}; its queues never held more than {max} bytes"),
        None => where_to,
    }
}

/// The longest that any switch port's queues were; none where they were not measured.
fn longest_switch_queue(reports: &[PortReport]) -> Option<u64> {
    let switches = reports.iter().filter(|report| report.info.is_switch());
    switches.filter_map(|report| report.lengths.as_ref()).map(|(_, port)| port.max_bytes).max()
}

/// Where packets waited instead, as far as the ports' use of their time tells.
fn bottleneck(summary: &Summary, reports: &[PortReport]) -> String {
    let mut busy: Vec<&PortReport> = reports.iter().collect();
    busy.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    match (busy.first(), &summary.bottleneck) {
        (Some(first), _) if !first.info.is_switch() => format!(
            "the bottleneck is {}'s own network card, sending {:.1} % of the time",
            first.info.name,
            first.utilisation * 100.0
        ),
        (_, Some(port)) => format!(
            "the busiest switch port is {}, sending {:.1} % of the time",
            port.port,
            port.utilisation * 100.0
        ),
        _ => "no port sent anything".to_string(),
    }
}
