//! Thresholds under one packet: a packet that waits for a single other one is over them, so that a line is
//! not filled.

use crate::Scenario;
use crate::SchemeChoice;
use crate::event::Change;
use crate::scheme::{Value, find};
use crate::topology::graph::Graph;
use crate::topology::ports::is_host;
use switchbed_config::param::ParamKind;
use switchbed_qdisc::schemes::divides_threshold;
use switchbed_units::Rate;

/// Each threshold of the scenario's schemes that is under a packet at some switch port's rate.
pub(super) fn under_a_packet(scenario: &Scenario, graph: &Graph) -> Vec<String> {
    let ports = graph.switches.iter().flat_map(|(name, cables)| {
        cables.iter().enumerate().map(move |(port, cable)| (format!("{name}:{port}"), cable.rate))
    });
    let changed = scenario.event.iter().filter_map(|event| match &event.change {
        Change::Rate { port, rate } if !is_host(port) => Some((port.clone(), *rate)),
        _ => None,
    });
    let ports: Vec<(String, Rate)> = ports.chain(changed).collect();
    let deployed = scenario.deploy.iter().filter_map(|deploy| deploy.scheme.as_ref());
    let schemes = std::iter::once(&scenario.scheme).chain(deployed);
    let each = schemes.flat_map(SchemeChoice::each);
    each.flat_map(|scheme| of_scheme(scenario, scheme, &ports)).collect()
}

fn of_scheme(scenario: &Scenario, scheme: &SchemeChoice, ports: &[(String, Rate)]) -> Vec<String> {
    let (about, params) = (scheme.scheme.about(), scheme.params());
    let packet = scenario.host.mtu;
    let scale = |rate: Rate| match params.get("rate") {
        Some(Value::Rate(of)) => rate.as_bps() as f64 / of.as_bps() as f64,
        _ => 1.0,
    };
    // A queue's part of a threshold that is divided by weights.
    let quanta = scenario.switch.quantum.iter().map(|quantum| quantum.as_f64());
    let least = quanta.clone().fold(f64::INFINITY, f64::min) / quanta.sum::<f64>();
    let part = if divides_threshold(about.name) { least } else { 1.0 };
    let under = |kind: ParamKind, value: &Value, rate: Rate| match (kind, value) {
        (ParamKind::Threshold, Value::Bytes(bytes)) => {
            bytes.as_f64() * scale(rate) * part < packet.as_f64()
        }
        (ParamKind::Wait, Value::Span(span)) => *span < rate.tx_time(packet.get() as u32),
        _ => false,
    };
    let mut said = Vec::new();
    let keys = find(about.name).map_or(&[][..], |info| info.params);
    for param in keys {
        let Some(value) = params.get(param.name) else { continue };
        let short: Vec<&(String, Rate)> =
            ports.iter().filter(|(_, rate)| under(param.kind, value, *rate)).collect();
        // The slowest has the smallest threshold, and the longest packet time.
        let Some((port, rate)) = short.iter().min_by_key(|(_, rate)| *rate) else { continue };
        let (given, needs) = match value {
            Value::Span(span) => {
                let takes = rate.tx_time(packet.get() as u32);
                (span.to_string(), format!("a packet's time at {rate}, {takes}"))
            }
            Value::Bytes(bytes) if part * scale(*rate) != 1.0 => {
                let has = bytes.as_f64() * part * scale(*rate);
                (format!("{bytes} ({has:.0}B there)"), format!("a packet, {packet}"))
            }
            Value::Bytes(bytes) => (bytes.to_string(), format!("a packet, {packet}")),
            _ => continue,
        };
        let more = match short.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} other ports"),
        };
        said.push(format!(
            "{}'s {} is {given}, less than {needs} ({port}{more}): a packet that waits for one other is over \
             it, and the line may not be filled",
            scheme.label, param.name
        ));
    }
    said
}
