//! Warnings about a run's figures: a scheme that never marked, a queue that never filled,
//! percentiles on too few flows.

use crate::flow::FlowRecord;
use crate::ids::HostId;
use crate::records::Records;
use crate::run::decided;
use crate::run::inert::inert;
use crate::run::results::Held;
use crate::run::summary::{BySize, Fct, Summary};
use crate::simulation::{PortReport, Simulation};
use crate::topology::Node;
use crate::transport::Wait;
use std::collections::BTreeSet;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::traffic::{Probe, Traffic};
use switchbed_scenario::{NicQueue, Recovery, Scenario, Transport, cautions};
use switchbed_units::{Bytes, Span, Time};

/// A 99th percentile of fewer flows than this rests on a handful.
const FEW: u64 = 1000;

/// Share of the bytes that arrived which may be of open flows at the last arrival. In a steady state it is the
/// completion time of a byte's flow over the time of all arrivals.
const UNSERVED: f64 = 0.25;

pub(crate) fn warnings(
    scenario: &Scenario,
    simulation: &Simulation,
    summary: &Summary,
    flows: &Records,
    reports: &[PortReport],
    held: &Held,
) -> Vec<String> {
    let mut warnings = cautions::of_a_run(scenario);
    warnings.extend(crate::run::stalled::stopped(scenario, simulation));
    let since = simulation.warmed_at();
    let (warmup, end) = (scenario.measure.warmup, simulation.now());
    if !simulation.is_warm() {
        warnings.push(format!(
            "measure.warmup, {warmup}, is longer than the run, which ended at {:.6} s: nothing was left out, \
             and all flows count",
            end.as_secs_f64()
        ));
    } else if summary.flows.count == 0 && !flows.is_empty() {
        warnings.push(format!(
            "none of {} flows started after measure.warmup, {warmup}: no FCT counts",
            flows.len()
        ));
    }
    let finite = flows.iter().filter(|flow| flow.size.is_some() && flow.counts_since(since));
    let open: Vec<_> = finite.filter(|flow| flow.end.is_none() && flow.failed.is_none()).collect();
    let cut_off = |host| simulation.is_cut_off(host);
    if let Some((failed, all_cut_off)) = decided::failed(scenario, since, flows, cut_off) {
        // A full queue is no reason where the line itself is gone.
        let by = simulation.refusing().filter(|_| !all_cut_off);
        let by =
            by.map(|by| format!("; {}", crate::run::stalled::refusing(scenario, simulation, by)));
        warnings.push(failed + &by.unwrap_or_default());
    }
    let endless = summary.fct.all.n == 0 && scenario.run.until.is_some();
    if !open.is_empty() && !endless {
        let why = match scenario.run.until {
            Some(until) => format!("had not finished at {until} (run.until)"),
            None if !simulation.deadlocks().is_empty() => {
                "never finished: they wait in a deadlock".into()
            }
            None if simulation.stalled().is_some() => {
                "never finished: nothing was delivered any more".into()
            }
            None => format!("never finished: {}", lost(simulation, &open)),
        };
        let (open, all) = (open.len(), summary.flows.count);
        warnings.push(format!("{open} of {all} flows {why}; FCTs are of the others"));
    }
    // Marks are nothing to rates that follow delays or INT.
    let protocols = Protocols::of(scenario);
    let answers = protocols
        .all()
        .iter()
        .any(|protocol| protocol.queue_pairs().is_none_or(|roce| roce.control.about().cnp));
    let nothing = flows.iter().all(|flow| flow.ended_by(since));
    let inert = match answers && !nothing {
        true => inert(scenario, simulation, summary, reports),
        false => Vec::new(),
    };
    if !inert.is_empty() {
        warnings.extend(inert);
    } else if let Some(max) = longest_switch_queue(reports)
        && max <= scenario.host.mtu().get()
        && !nothing
    {
        warnings.push(format!(
            "no switch port ever held more than {max} bytes: {}",
            bottleneck(summary, reports)
        ));
    }
    warnings.extend(short_window(scenario, reports));
    let silent = |flow: &FlowRecord| {
        flow.size.is_none()
            && flow.received == Bytes::ZERO
            && !flow.ended_by(simulation.warmed_at())
    };
    let why = |flow: FlowRecord| {
        let of = protocols.section(flow.traffic, flow.class, flow.src);
        match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
            Protocol::QueuePairs(roce) => format!("what is lost waits for {of}.rto, {}", roce.rto),
            Protocol::Transport(tcp) if tcp.control.about().tcp => {
                format!("a lost SYN waits for {of}.rto_initial, {}", tcp.rto_initial)
            }
            Protocol::Transport(_) => "nothing is sent twice".to_string(),
        }
    };
    let silent: Vec<String> = flows.iter().filter(silent).map(why).collect();
    let reasons: BTreeSet<&str> = silent.iter().map(String::as_str).collect();
    if !silent.is_empty() {
        let (n, why) = (silent.len(), reasons.into_iter().collect::<Vec<_>>().join("; "));
        warnings.push(format!("{n} endless flows received nothing since the warm-up ({why})"));
    }
    warnings.extend(few(&summary.fct));
    warnings.extend(decided::figures(scenario, simulation, flows, held));
    warnings.extend(straggler(scenario, flows));
    warnings.extend(idle_beginning(simulation, flows));
    warnings.extend(piling_up(scenario, simulation, flows));
    warnings.extend(own_cards(scenario, reports));
    warnings.extend(sent_in_vain(&protocols, flows));
    warnings.extend(unmarkable(scenario, summary, flows, reports));
    if scenario.measure.warmup == Span::ZERO
        && scenario.traffic.iter().any(|traffic| traffic.goes_on())
    {
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

/// Whether a flow's SYN, or the answer to it, was sent again.
fn waited_first(flow: &FlowRecord) -> bool {
    flow.waits.count(Wait::Syn) > 0
}

/// A run without an end of its own lasts as long as its last flow, which may wait for a timer when
/// all else is over.
fn straggler(scenario: &Scenario, flows: &Records) -> Option<String> {
    let begin = flows.iter().map(|flow| flow.start).min()?;
    let started = flows.iter().map(|flow| flow.start).max()?;
    let mut two: [Option<Time>; 2] = [None; 2];
    for end in flows.iter().filter_map(|flow| flow.end) {
        two = match two {
            [last, _] if Some(end) >= last => [Some(end), last],
            [last, before] => [last, before.max(Some(end))],
        };
    }
    let last = two[0]?;
    let others = two[1]?.max(started);
    let alone = last.since(begin).as_ps() >= 10 * others.since(begin).as_ps();
    (scenario.run.until.is_none() && alone).then(|| {
        "one flow took ten times as long as all others together or more: averages over time (queues, \
         utilisation, goodput) are mostly of its wait; run.until ends a run before"
            .to_string()
    })
}

/// Warns of averages over time that are mostly of the time before the first flow.
fn idle_beginning(simulation: &Simulation, flows: &Records) -> Option<String> {
    let (since, end) = (simulation.warmed_at(), simulation.now());
    let began = flows.iter().filter(|flow| !flow.ended_by(since)).map(|flow| flow.start).min()?;
    let idle = began.max(since).since(since);
    let all = end.since(since);
    (2 * idle.as_ps() > all.as_ps()).then(|| {
        format!(
            "no flow had begun for the first {idle} that count, {:.1}% of the time: averages over time \
             (queues, utilisation, goodput) are mostly of no traffic; measure.warmup = \"{began}\" leaves \
             that time out",
            100.0 * idle.as_ps() as f64 / all.as_ps() as f64
        )
    })
}

/// Warns of random arrivals that the network did not keep up with in the time that counts. Times of arrival are compared,
/// so a run until its last flow has ended is judged like one with an end of its own.
fn piling_up(scenario: &Scenario, simulation: &Simulation, flows: &Records) -> Option<String> {
    let since = simulation.warmed_at();
    let random: Vec<bool> = scenario.traffic.iter().map(|entry| entry.goes_on()).collect();
    let counted = || {
        let sized = flows.iter().filter_map(|flow| Some((flow.size?, flow)));
        sized.filter(|(_, flow)| random[flow.traffic as usize] && flow.counts_since(since))
    };
    let last = counted().map(|(_, flow)| flow.start).max()?;
    let bytes = |open: bool| -> f64 {
        let of = counted().filter(|(_, flow)| !(open && flow.ended_by(last)));
        of.map(|(size, _)| size.get() as f64).sum()
    };
    let open = bytes(true) / bytes(false);
    (open > UNSERVED).then(|| {
        format!(
            "the run is too short for its load: when the last flow began, at {:.6} s of {:.6} s, {:.0}% of the \
             bytes that counted flows bring were of flows still open, so FCTs, queues and goodput are of a network \
             that fills and empties; take more flows or a later run.until, and a lower load if that does not help",
            last.as_secs_f64(),
            simulation.now().as_secs_f64(),
            100.0 * open
        )
    })
}

/// Warns of packets that senders lose in their own cards, before any switch.
fn own_cards(scenario: &Scenario, reports: &[PortReport]) -> Option<String> {
    let host_of = scenario.host_of();
    let bounded = |report: &PortReport| {
        let Node::Host(host) = report.info.cable.from else { return None };
        let nic = host_of(host).nic;
        let full = report.counters.drops[DropReason::Full as usize] > 0;
        (full && !matches!(nic, NicQueue::Unlimited | NicQueue::Classes)).then_some(nic)
    };
    let buffer = match reports.iter().find_map(bounded)? {
        NicQueue::Fifo(fifo) => format!("host.nic_buffer, {}", fifo.buffer),
        NicQueue::Switch => format!("switch.buffer, {}, as host.nic says", scenario.switch.buffer),
        NicQueue::Fq => "host.nic = \"fq\", 100 packets of a flow".to_owned(),
        NicQueue::Unlimited | NicQueue::Classes => return None,
    };
    Some(format!("packets were lost in hosts' own cards ({buffer}): drops_full in the table ports"))
}

/// Warns of queue pairs that mostly send again what their receivers threw away behind a lost packet: with enough
/// losses hardly anything arrives (Guo et al., SIGCOMM 2016, section 4.1, call it a livelock).
fn sent_in_vain(protocols: &Protocols, flows: &Records) -> Option<String> {
    // Packets sent again, and those that came, by transport.
    let mut of = vec![(0_u64, 0_u64); protocols.all().len()];
    // Flows that failed have a warning of their own, which says by what.
    for flow in flows.iter().filter(|flow| flow.failed.is_none()) {
        let place = usize::from(protocols.place(flow.traffic, flow.class, (flow.src, flow.dst)));
        let pairs = protocols.all()[place].queue_pairs();
        if let Some(roce) = pairs.filter(|roce| roce.recovery == Recovery::GoBackN) {
            of[place].0 += u64::from(flow.retransmissions);
            of[place].1 += flow.received.get().div_ceil(roce.mtu.get());
        }
    }
    let names = protocols.names();
    let vain = of.iter().zip(&names).filter(|((again, came), _)| *again > *came.max(&FEW));
    let vain: Vec<String> = vain
        .map(|((again, came), name)| {
            format!("{name} sent {again} packets again for {came} that came")
        })
        .collect();
    (!vain.is_empty()).then(|| {
        format!(
            "{}: go-back-n drops what follows a lost packet; roce.recovery = \"selective\", a lossless class \
             ([switch.pfc]) or marks before queues are full avoid that",
            vain.join("; ")
        )
    })
}

/// Warns of packets that marking dropped because they were not ECN-capable, while others were, and of a scheme
/// that found no others.
fn unmarkable(
    scenario: &Scenario,
    summary: &Summary,
    flows: &Records,
    reports: &[PortReport],
) -> Option<String> {
    let protocols = Protocols::of(scenario);
    if !protocols.all().iter().any(Protocol::ecn) {
        return None;
    }
    let dropped = summary.drops_by_reason.not_ecn_capable > 0;
    let passed = reports.iter().any(|report| report.counters.unmarkable > 0);
    let marked = summary.marks > 0;
    let who = || not_capable(scenario, &protocols, flows);
    match (dropped, marked) {
        (true, _) => Some(format!(
            "packets that are not ECN-capable were dropped where {} marked: {}; switch.unmarkable = \
             \"pass\" lets them go on",
            if marked { "others are" } else { "others would be" },
            who()
        )),
        (false, false) if passed && scenario.reaction.is_none() => Some(format!(
            "packets to be marked are not ECN-capable and went on, and no other was marked: {}",
            who()
        )),
        _ => None,
    }
}

/// Packets of the scenario that are not ECN-capable, though some are.
fn not_capable(scenario: &Scenario, protocols: &Protocols, flows: &Records) -> String {
    let mut who: Vec<String> = Vec::new();
    let mut put = |is: bool, what: &str| who.extend(is.then(|| what.to_owned()));
    let none = |is: fn(&Transport) -> bool| protocols.tcp().any(|tcp| tcp.ecn && !is(tcp));
    let mixed = protocols.tcp().any(|tcp| !tcp.ecn);
    put(mixed, "all packets of some transports (transport.ecn)");
    let pairs = protocols.queue_pairs().any(|roce| !roce.ecn);
    put(pairs, "all packets of some queue pairs (roce.ecn)");
    let probes = scenario.traffic.iter().any(|of| match &of.source {
        Traffic::Probe(Probe { from, to, .. }) => {
            from.iter().any(|&src| !scenario.probes_have_ecn(HostId(src), HostId(to.0)))
        }
        _ => false,
    });
    put(probes, "probes (transport.ecn)");
    put(none(|tcp| tcp.ecn_acks), "ACKs (transport.ecn_acks)");
    let syns = match flows.iter().any(|flow| waited_first(&flow)) {
        true => "SYNs (transport.ecn_syn), and flows waited for transport.rto_initial",
        false => "SYNs (transport.ecn_syn)",
    };
    put(none(|tcp| tcp.ecn_syn), syns);
    let again = "retransmissions (transport.ecn_retransmits)";
    put(none(|tcp| tcp.ecn_retransmits), again);
    put(scenario.reaction.is_some(), "congestion notifications");
    let lost: BTreeSet<String> = flows
        .iter()
        .filter(|flow| flow.without_ecn)
        .map(|flow| protocols.section(flow.traffic, flow.class, flow.src))
        .collect();
    for section in lost {
        let fallback = "flows whose SYN was sent again, without ECN (RFC 3168, section 6.1.1.1)";
        put(true, &format!("{fallback}: {section}.ecn_fallback"));
    }
    match who.is_empty() {
        true => "packets of connections without ECN".to_owned(),
        false => who.join(", "),
    }
}

/// A window in which no packet can come and go (E-ECN's equation 3).
fn short_window(scenario: &Scenario, reports: &[PortReport]) -> Option<String> {
    let t_i = scenario.scheme.each().iter().find_map(|choice| choice.scheme.window())?;
    let switches = reports.iter().filter(|report| report.info.is_switch());
    let slowest = switches.map(|report| report.info.cable.rate).min()?;
    let packet_time = slowest.tx_time(scenario.host.mtu().get() as u32);
    (t_i < packet_time).then(|| {
        format!(
            "t_i is {t_i}, shorter than a packet's time at {slowest}, {packet_time}: the growth of \
             a queue means nothing then"
        )
    })
}

/// Why flows of a run that has nothing left to do are open.
fn lost(simulation: &Simulation, open: &[FlowRecord]) -> String {
    // A queue pair sends when its card asks, and the card of a line that is down never does: no
    // timer of it runs.
    let down = open.iter().filter(|flow| simulation.is_cut_off(flow.src)).count();
    const GONE: &str = "last packets were lost, and udp sends nothing twice";
    match open.len() - down {
        0 => "their hosts' links are down ([[event]])".into(),
        _ if down == 0 => format!("their {GONE}"),
        rest => {
            format!("the hosts' links of {down} are down ([[event]]), and of {rest} the {GONE}")
        }
    }
}

/// The longest that any switch port's queues were; none where they were not measured.
fn longest_switch_queue(reports: &[PortReport]) -> Option<u64> {
    let switches = reports.iter().filter(|report| report.info.is_switch());
    switches.filter_map(|report| report.lengths.as_ref()).map(|(_, port)| port.max_bytes).max()
}

/// Where packets waited instead, as far as the ports' use of their time tells.
pub(super) fn bottleneck(summary: &Summary, reports: &[PortReport]) -> String {
    let mut busy: Vec<&PortReport> = reports.iter().collect();
    busy.sort_by(|a, b| b.sending.total_cmp(&a.sending));
    // A card comes first: where a host's own line is the bottleneck, no switch has a queue to mark.
    match (busy.first(), &summary.bottleneck) {
        (Some(first), _) if !first.info.is_switch() => format!(
            "the bottleneck is {}'s own network card, sending {:.1} % of the time",
            first.info.name,
            first.sending * 100.0
        ),
        (_, Some(port)) => format!(
            "the busiest switch port is {}, sending {:.1} % of the time",
            port.port,
            port.utilisation * 100.0
        ),
        _ => "no port sent anything".to_string(),
    }
}
