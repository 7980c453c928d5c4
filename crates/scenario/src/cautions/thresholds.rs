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
use switchbed_config::param::{Param, ParamKind};
use switchbed_qdisc::memory::pfc::Input;
use switchbed_qdisc::schemes::divides_threshold;
use switchbed_units::ids::LinkId;
use switchbed_units::{Bytes, Rate, Span};

/// A port with a rate that its line has at some time.
#[derive(Clone)]
struct Line {
    port: String,
    rate: Rate,
    /// Memory of the port.
    memory: Bytes,
    /// Number of ports of its switch.
    ports: u32,
}

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
            let memory = scenario.switch.port_memory(1);
            kinds[0].1.push(Line { port: graph.port_name(link), rate, memory, ports: 1 });
        }
        Node::Host(_) => {}
        node @ Node::Switch(switch) => {
            let name = graph.name(switch);
            let port = format!("{name}:{}", graph.port_of(link).1.0);
            let kind = kind_of.get(name).copied().unwrap_or(0);
            let own = scenario.deploy.iter().find(|of| of.switches.iter().any(|of| of == name));
            let ports = graph.ports(node);
            let memory = match own {
                Some(deploy) => deploy.switch(&scenario.switch).port_memory(ports),
                None => scenario.switch.port_memory(ports),
            };
            kinds[kind].1.push(Line { port, rate, memory, ports });
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

/// A value at the port of a line.
enum At {
    /// Bytes of a queue.
    Bytes(f64),
    /// A wait.
    Wait(Span),
    /// A time over which a queue's growth is taken.
    Growth(Span),
}

fn of_scheme(scenario: &Scenario, Use { scheme, queues, lines }: &Use<'_>) -> Vec<String> {
    let (about, params) = (scheme.scheme.about(), scheme.params());
    let packet = scenario.host.mtu();
    let takes = |rate: Rate| rate.tx_time(packet.get() as u32);
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
    let at = |param: &Param, value: &Value, line: &Line| match (param.kind, value) {
        (ParamKind::Threshold, Value::Bytes(bytes)) => {
            Some(At::Bytes(bytes.as_f64() * scale(line.rate) * part))
        }
        (ParamKind::Part, Value::Number(part)) => {
            let layout = scheme.scheme.layout(line.ports);
            let memory = layout.map_or(line.memory, |layout| layout.part(line.memory));
            Some(At::Bytes(memory.as_f64() * part))
        }
        (ParamKind::Wait, Value::Span(span)) => Some(At::Wait(*span)),
        (ParamKind::Time, Value::Span(span)) if scheme.scheme.window() == Some(*span) => {
            (param.name == "t_i").then_some(At::Growth(*span))
        }
        (ParamKind::Number { .. }, Value::Number(packets))
            if param.name == "t_i_packets" && scheme.scheme.window().is_none() =>
        {
            let packet_s = takes(line.rate).as_secs_f64();
            Some(At::Growth(Span::from_secs_f64(packet_s * packets)))
        }
        _ => None,
    };
    let under = |param: &Param, value: &Value, line: &Line| match at(param, value, line) {
        Some(At::Bytes(bytes)) => bytes < packet.as_f64(),
        Some(At::Wait(span) | At::Growth(span)) => span < takes(line.rate),
        None => false,
    };
    // Of queues that divide a threshold, those with the least part.
    let smallest = |&queue: &usize| has(queue) && (!divides || quanta[queue] == least);
    let named: Vec<usize> = (0..quanta.len()).filter(smallest).collect();
    // Queues that a scheme makes itself are not the switch's.
    let all = named.len() == quanta.len() || about.fills_the_seats();
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
        let short: Vec<&Line> = lines.iter().filter(|line| under(param, value, line)).collect();
        let Some(slowest) = short.iter().min_by_key(|line| line.rate) else { continue };
        let Some(found) = at(param, value, slowest) else { continue };
        let given = match value {
            Value::Span(span) => span.to_string(),
            Value::Bytes(bytes) => bytes.to_string(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        let (there, needs) = match found {
            At::Bytes(bytes) => {
                let same = matches!(value, Value::Bytes(given) if given.as_f64() == bytes);
                let there = if same { String::new() } else { format!(" ({bytes:.0}B there)") };
                (there, format!("a packet, {packet}"))
            }
            At::Wait(_) | At::Growth(_) => {
                let (rate, takes) = (slowest.rate, takes(slowest.rate));
                (String::new(), format!("a packet's time at {rate}, {takes}"))
            }
        };
        let then = match found {
            At::Growth(_) => "growth over it means nothing",
            _ => "a packet that waits for one other is over it, and the line may not be filled",
        };
        // A port whose rate changes is one port.
        let mut others: Vec<&str> = short.iter().map(|line| line.port.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        let more = match others.len() - 1 {
            0 => String::new(),
            1 => " and 1 other port".to_owned(),
            n => format!(" and {n} other ports"),
        };
        said.push(format!(
            "{}'s {}{details} is {given}{there}, less than {needs} ({}{more}): {then}",
            scheme.label, param.name, slowest.port
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
        let links: Vec<Input> = inputs.iter().map(Cable::input).collect();
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
