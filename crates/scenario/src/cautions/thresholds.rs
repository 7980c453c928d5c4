//! Thresholds that work otherwise than meant. Under one packet, a packet that waits for a single other one is over them,
//! and a line is not filled. Too high, lossless classes are paused before they are marked (docs/pfc.md).

use crate::build::Inputs;
use crate::event::{Change, LinkChange};
use crate::protocols::Protocols;
use crate::scheme::{Value, Values, find};
use crate::topology::graph::{Cable, Graph, Node};
use crate::topology::{links, ports};
use crate::{NicQueue, Scenario, SchemeChoice};
use std::collections::HashMap;
use switchbed_config::param::ParamKind;
use switchbed_qdisc::memory::pfc::Input;
use switchbed_qdisc::schemes::divides_threshold;
use switchbed_units::ids::LinkId;
use switchbed_units::{Bytes, Rate};

/// A port, and a rate that its line has at some time.
type Line = (String, Rate);

/// A scheme, the queues that have it (none: all of a port), and the ports.
struct Use<'a> {
    scheme: &'a SchemeChoice,
    queues: Vec<usize>,
    lines: Vec<Line>,
}

/// Each threshold of the scenario's schemes that is under a packet at the rate of a port that has it.
pub(super) fn under_a_packet(scenario: &Scenario, graph: &Graph) -> Vec<String> {
    uses(scenario, graph).iter().flat_map(|of| of_scheme(scenario, of)).collect()
}

/// The different schemes of queues, in the order of the file, each at its own switches.
fn uses<'a>(scenario: &'a Scenario, graph: &Graph) -> Vec<Use<'a>> {
    let mut kinds: Vec<(&SchemeChoice, Vec<Line>)> = vec![(&scenario.scheme, Vec::new())];
    let mut kind_of: HashMap<&str, usize> = HashMap::new();
    for deploy in &scenario.deploy {
        if let Some(scheme) = &deploy.scheme {
            kind_of.extend(deploy.switches.iter().map(|name| (name.as_str(), kinds.len())));
            kinds.push((scheme, Vec::new()));
        }
    }
    // Hosts' cards have [scheme] where they are ports like a switch's.
    let host_of = scenario.host_of();
    let mut put = |link: LinkId, rate: Rate| match links::cable(graph, link).from {
        Node::Host(host) if host_of(host).nic == NicQueue::Switch => {
            kinds[0].1.push((graph.port_name(link), rate));
        }
        Node::Host(_) => {}
        Node::Switch(switch) => {
            let name = graph.name(switch);
            let port = graph.port_of(link).1;
            let kind = kind_of.get(name).copied().unwrap_or(0);
            kinds[kind].1.push((format!("{name}:{}", port.0), rate));
        }
    };
    let switches: usize = graph.switches.iter().map(|(_, cables)| cables.len()).sum();
    // Switches' ports come first in a message.
    let hosts = graph.access.len();
    for link in (hosts..hosts + switches).chain(0..hosts).map(LinkId::at) {
        put(link, links::cable(graph, link).rate);
    }
    for event in &scenario.event {
        match &event.change {
            Change::Rate { port, rate } => {
                ports::find(graph, port).into_iter().for_each(|link| put(link, *rate));
            }
            Change::OfLink { link, what: LinkChange::Rate { rate, .. } } => {
                links::find(graph, link).into_iter().flatten().for_each(|link| put(link, *rate));
            }
            _ => {}
        }
    }
    let mut uses: Vec<Use<'_>> = Vec::new();
    for (scheme, lines) in kinds {
        for each in scheme.each() {
            let all = scheme.queues.iter().enumerate();
            let queues: Vec<usize> = all.filter(|of| of.1 == each).map(|of| of.0).collect();
            match uses.iter_mut().find(|of| of.scheme == each && of.queues == queues) {
                Some(of) => of.lines.extend(lines.iter().cloned()),
                None => uses.push(Use { scheme: each, queues, lines: lines.clone() }),
            }
        }
    }
    uses
}

fn of_scheme(scenario: &Scenario, Use { scheme, queues, lines }: &Use<'_>) -> Vec<String> {
    let (about, params) = (scheme.scheme.about(), scheme.params());
    let packet = scenario.host.mtu();
    let scale = |rate: Rate| match params.get("rate") {
        Some(Value::Rate(of)) => rate.as_bps() as f64 / of.as_bps() as f64,
        _ => 1.0,
    };
    // A queue's part of a threshold that is divided by weights.
    let quanta: Vec<f64> = scenario.switch.quantum.iter().map(|of| of.as_f64()).collect();
    let has = |queue: usize| queues.is_empty() || queues.contains(&queue);
    let own = quanta.iter().copied().enumerate().filter(|&(queue, _)| has(queue));
    let least = own.map(|(_, quantum)| quantum).fold(f64::INFINITY, f64::min);
    let divides = divides_threshold(about.name);
    let part = if divides { least / quanta.iter().sum::<f64>() } else { 1.0 };
    let under = |kind: ParamKind, value: &Value, rate: Rate| match (kind, value) {
        (ParamKind::Threshold, Value::Bytes(bytes)) => {
            bytes.as_f64() * scale(rate) * part < packet.as_f64()
        }
        (ParamKind::Wait, Value::Span(span)) => *span < rate.tx_time(packet.get() as u32),
        _ => false,
    };
    // Of queues that divide a threshold, those with the least part.
    let smallest = |&queue: &usize| has(queue) && (!divides || quanta[queue] == least);
    let named: Vec<usize> = (0..quanta.len()).filter(smallest).collect();
    let all = named.len() == quanta.len();
    let mut details = Vec::new();
    if scheme.label != scheme.name() {
        details.push(scheme.name().to_owned());
    }
    if !all {
        details.push(listed(&named));
    }
    let details = match details.is_empty() {
        true => String::new(),
        false => format!(" ({})", details.join(", ")),
    };
    let mut said = Vec::new();
    let keys = find(about.name).map_or(&[][..], |info| info.params);
    for param in keys {
        let Some(value) = params.get(param.name) else { continue };
        let short: Vec<&Line> =
            lines.iter().filter(|(_, rate)| under(param.kind, value, *rate)).collect();
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
        // A port whose rate changes is one port.
        let mut others: Vec<&str> = short.iter().map(|(name, _)| name.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        let more = match others.len() - 1 {
            0 => String::new(),
            1 => " and 1 other port".to_owned(),
            n => format!(" and {n} other ports"),
        };
        said.push(format!(
            "{}'s {}{details} is {given}, less than {needs} ({port}{more}): a packet that waits for one other \
             is over it, and the line may not be filled",
            scheme.label, param.name
        ));
    }
    said
}

/// `queue 3`, or `queues 0-2, 5`.
fn listed(queues: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &queue in queues {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == queue => *last = queue,
            _ => runs.push((queue, queue)),
        }
    }
    let run = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let each: Vec<String> = runs.iter().map(run).collect();
    format!("queue{} {}", if queues.len() > 1 { "s" } else { "" }, each.join(", "))
}

/// A switch where a queue that stands where it is marked from has paused who fills it.
struct Late {
    switch: String,
    rate: Rate,
    marks_at: f64,
    pauses_at: f64,
}

/// Said where marks come too late even if nothing else is there.
pub(super) fn never_first(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let Late { switch, rate, marks_at, pauses_at } = late(scenario, graph, false)?;
    Some(format!(
        "{switch} marks at {rate} from {marks_at:.0} bytes on, and pauses an input that holds {pauses_at:.0} \
         bytes though nothing else is there: marks cannot keep it from pausing; mark earlier, or give groups \
         more (switch.pfc.alpha, switch.pool)"
    ))
}

/// The same where all inputs of a switch hold as much: the bound of DCQCN's paper (section 4).
pub(super) fn not_always_first(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let Late { switch, rate, marks_at, pauses_at } = late(scenario, graph, true)?;
    Some(format!(
        "{switch} marks at {rate} from {marks_at:.0} bytes on, and pauses inputs at {pauses_at:.0} bytes where \
         all of them hold as much: pauses may come before marks then (the bound of DCQCN's section 4)"
    ))
}

fn late(scenario: &Scenario, graph: &Graph, all: bool) -> Option<Late> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let protocols = Protocols::of(scenario);
    let answers = |&class: &u8| {
        let each = (0..scenario.traffic.len()).map(|entry| protocols.get(entry as u32, class));
        each.into_iter().any(|protocol| match protocol.queue_pairs() {
            Some(roce) => roce.control.about().cnp && roce.ecn,
            None => protocol.tcp().is_some_and(|tcp| tcp.ecn),
        })
    };
    if !pfc.priorities.iter().any(answers) {
        return None;
    }
    let by_class = pfc.priorities.iter().filter_map(|&class| {
        let params = scenario.scheme.at(class.into()).params();
        late_by(scenario, graph, &params, all)
    });
    by_class.max_by(|a, b| (a.marks_at - a.pauses_at).total_cmp(&(b.marks_at - b.pauses_at)))
}

/// The same where lossless queues have these parameters of a scheme.
fn late_by(scenario: &Scenario, graph: &Graph, params: &Values, all: bool) -> Option<Late> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let of = |key| match params.get(key) {
        Some(Value::Bytes(bytes)) => Some(bytes.as_f64()),
        _ => None,
    };
    let marks_at = of("kmin").or_else(|| of("threshold"))?;
    // Thresholds for a rate grow with the port's.
    let per_bps = match params.get("rate") {
        Some(Value::Rate(rate)) => Some(1.0 / rate.as_bps() as f64),
        _ => None,
    };
    let inputs = graph.inputs();
    let found = inputs.iter().zip(&graph.switches).filter_map(|(inputs, (name, ports))| {
        let links: Vec<Input> =
            inputs.iter().map(|&Cable { rate, delay, .. }| Input { rate, delay }).collect();
        let (longest, shortest): (Bytes, Bytes) = (scenario.host.mtu(), scenario.shortest());
        let may = scenario.switch.group_may(Inputs { links: &links, longest, shortest })?;
        // Each input and class is a group of its own.
        let groups = links.len() as f64 * pfc.priorities.len() as f64;
        let pauses_at = may.each_of(if all { groups } else { 1.0 });
        // The fastest port marks last.
        let rate = ports.iter().map(|port| port.rate).max()?;
        let marks_at = marks_at * per_bps.map_or(1.0, |per_bps| per_bps * rate.as_bps() as f64);
        // As late as the pause is too late: marks take a round trip to act.
        (marks_at >= pauses_at).then(|| Late { switch: name.clone(), rate, marks_at, pauses_at })
    });
    found.max_by(|a, b| (a.marks_at - a.pauses_at).total_cmp(&(b.marks_at - b.pauses_at)))
}
