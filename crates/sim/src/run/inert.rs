//! Schemes that never acted, in the whole run or in queues that were busy, and why.

use crate::deployed::Deployed;
use crate::ids::LinkId;
use crate::observe::queue_stats::Lengths;
use crate::run::summary::Summary;
use crate::run::warnings::bottleneck;
use crate::simulation::{PortReport, Simulation};
use crate::topology::Node;
use switchbed_config::param::ParamKind;
use switchbed_qdisc::QueueId;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::scheme::{Value, find};
use switchbed_scenario::{NicQueue, Scenario, SchemeChoice};
use switchbed_units::Span;

/// A queue.
#[derive(Clone, Copy)]
struct Place<'a> {
    link: usize,
    queue: QueueId,
    acted: bool,
    /// None where it was not measured, and in a host's card, where packets wait for their own sender.
    lengths: Option<&'a Lengths>,
}

impl Place<'_> {
    fn max(&self) -> Option<u64> {
        self.lengths.map(|lengths| lengths.max_bytes)
    }

    /// Whether packets waited in it for half of the time (or, not `standing`, on average).
    fn busy(&self, mtu: f64, standing: bool) -> bool {
        let busy = |of: &Lengths| of.p50_bytes >= mtu || (!standing && of.mean_bytes >= mtu);
        self.lengths.is_some_and(busy)
    }
}

/// A scheme that does something about congestion, and the queues that have it.
struct Use<'a> {
    scheme: &'a SchemeChoice,
    places: Vec<Place<'a>>,
}

impl<'a> Use<'a> {
    fn acted(&self) -> bool {
        self.places.iter().any(|place| place.acted)
    }

    /// The queue that was longest, the first of several.
    fn longest(&self) -> Option<Place<'a>> {
        longest(self.places.iter())
    }
}

fn longest<'p, 'a: 'p>(places: impl Iterator<Item = &'p Place<'a>>) -> Option<Place<'a>> {
    let measured = places.copied().filter(|place| place.lengths.is_some());
    measured.reduce(|a, b| if b.max() > a.max() { b } else { a })
}

fn uses<'a>(
    scenario: &'a Scenario,
    simulation: &Simulation,
    reports: &'a [PortReport],
) -> Vec<Use<'a>> {
    let deployed = Deployed::new(scenario, simulation.graph());
    let mut uses: Vec<Use<'a>> = Vec::new();
    // Choices by address, which spares comparisons for each queue.
    let mut known: Vec<(*const SchemeChoice, Option<usize>)> = Vec::new();
    let host_of = scenario.host_of();
    let has_scheme = |report: &PortReport| match report.info.cable.from {
        Node::Switch(_) => true,
        Node::Host(host) => host_of(host).nic == NicQueue::Switch,
    };
    for (link, report) in reports.iter().enumerate().filter(|of| has_scheme(of.1)) {
        let (_, port) = deployed.at(report.info.cable.from);
        let measured = report.lengths.as_ref().map(|(queues, _)| queues);
        let queues = measured.map_or(usize::from(scenario.switch.queues), Vec::len);
        for queue in 0..queues {
            let scheme = port.at(queue);
            let nth = match known.iter().find(|of| std::ptr::eq(of.0, scheme)) {
                Some(&(_, nth)) => nth,
                None => {
                    let nth = scheme.acts().then(|| {
                        let alike = uses.iter().position(|of| of.scheme == scheme);
                        alike.unwrap_or_else(|| {
                            uses.push(Use { scheme, places: Vec::new() });
                            uses.len() - 1
                        })
                    });
                    known.push((scheme, nth));
                    nth
                }
            };
            if let Some(nth) = nth {
                let (lengths, queue) = (measured.and_then(|of| of.get(queue)), queue as QueueId);
                let lengths = lengths.filter(|_| report.info.is_switch());
                let acted = report.acted.contains(queue);
                uses[nth].places.push(Place { link, queue, acted, lengths });
            }
        }
    }
    uses
}

/// A line for each scheme that acted nowhere though something was to be done, or not in some queue that was
/// busy.
pub(super) fn inert(
    scenario: &Scenario,
    simulation: &Simulation,
    summary: &Summary,
    reports: &[PortReport],
) -> Vec<String> {
    let uses = uses(scenario, simulation, reports);
    let mut said: Vec<String> =
        without_ecn(scenario, summary, &uses, reports).into_iter().collect();
    let did = if scenario.reaction.is_some() { "notified nobody" } else { "marked nothing" };
    // Of a run without any act, the scheme of the longest queue.
    let whole = match uses.iter().any(Use::acted) {
        true => None,
        false => {
            let max = |of: &Use<'_>| of.longest().and_then(|place| place.max());
            uses.iter().reduce(|a, b| if max(b) > max(a) { b } else { a })
        }
    };
    if let Some(of) = whole {
        let mut why = bottleneck(summary, reports);
        if let Some(place) = of.longest() {
            let name = &reports[place.link].info.name;
            let longest = match place.max() {
                Some(0) | None => "no packet ever waited at a switch port".to_owned(),
                Some(max) => {
                    format!(
                        "the longest queue was queue {} of {name} with {max} bytes",
                        place.queue
                    )
                }
            };
            let reason = reason(scenario, simulation, of.scheme, place, reports);
            why = format!("{why}; {longest}{reason}");
        }
        said.push(format!("{} {did}: {why}", of.scheme.label));
    }
    let mtu = scenario.host.mtu().as_f64();
    for of in uses.iter().filter(|of| whole.is_none_or(|whole| !std::ptr::eq(*of, whole))) {
        let acted = of.acted();
        let idle = |place: &&Place<'_>| !place.acted && place.busy(mtu, acted);
        let Some(place) = longest(of.places.iter().filter(idle)) else { continue };
        let more = match of.places.iter().filter(idle).count() - 1 {
            0 => String::new(),
            1 => " and 1 other queue that was busy".to_owned(),
            n => format!(" and {n} other queues that were busy"),
        };
        let elsewhere = if acted { ", and acts in others" } else { "" };
        said.push(format!(
            "{} {did} in a busy queue{elsewhere}: queue {} of {}{more}; the longest held {} bytes{}",
            of.scheme.label,
            place.queue,
            reports[place.link].info.name,
            place.max().unwrap_or_default(),
            reason(scenario, simulation, of.scheme, place, reports)
        ));
    }
    said
}

/// Said where a scheme could mark nothing since no transport is ECN-capable.
fn without_ecn(
    scenario: &Scenario,
    summary: &Summary,
    uses: &[Use<'_>],
    reports: &[PortReport],
) -> Option<String> {
    let protocols = Protocols::of(scenario);
    let acted = uses.iter().find(|of| of.acted())?;
    let others = summary.marks + summary.notifications + summary.drops_by_reason.early;
    if others > 0 || scenario.reaction.is_some() || protocols.all().iter().any(Protocol::ecn) {
        return None;
    }
    let pairs = |of: &Protocol| of.queue_pairs().is_some();
    let keys = match (protocols.all().iter().all(pairs), protocols.all().iter().any(pairs)) {
        (true, _) => "roce.ecn is",
        (false, false) => "transport.ecn is",
        (false, true) => "transport.ecn and roce.ecn are",
    };
    let departing =
        |report: &PortReport| report.counters.drops[DropReason::AtDeparture as usize] > 0;
    let dropped = summary.drops_by_reason.not_ecn_capable > 0 || reports.iter().any(departing);
    let done = if dropped { "are dropped" } else { "go on unmarked" };
    let label = &acted.scheme.label;
    Some(format!("{label} marked nothing: {keys} off, so packets to be marked {done}"))
}

/// A queue's length against the threshold there, where both are known, and a time that was too short.
fn reason(
    scenario: &Scenario,
    simulation: &Simulation,
    scheme: &SchemeChoice,
    place: Place<'_>,
    reports: &[PortReport],
) -> String {
    let Some(max) = place.max() else { return String::new() };
    let against = match simulation.threshold_bytes(LinkId::at(place.link), place.queue) {
        // A step marks only what is over its threshold.
        Some(threshold) if threshold >= max as f64 => {
            format!(", never above its threshold of {threshold:.0} bytes")
        }
        Some(threshold) => format!(
            "; its threshold, {threshold:.0} bytes at the end, is for an average, a time or a growth that \
             never got there"
        ),
        None => String::new(),
    };
    let rate = reports[place.link].info.cable.rate;
    let wait = rate.tx_time(max.min(u32::MAX.into()) as u32);
    let own = std::ptr::eq(scheme, &scenario.scheme);
    let given = if own { "scheme.params.interval" } else { "its interval" };
    let why = match not_for_long(scheme, given, wait) {
        Some(why) => format!("; {why}"),
        None if against.is_empty() => below(scheme, max, wait).unwrap_or_default(),
        None => String::new(),
    };
    format!("{against}{why}")
}

/// The least wait or length that a scheme compares with, beside a queue's.
fn below(scheme: &SchemeChoice, max: u64, wait: Span) -> Option<String> {
    let (params, info) = (scheme.params(), find(scheme.scheme.about().name)?);
    let given = info.params.iter().filter_map(|param| Some((param, params.get(param.name)?)));
    let waits = given.clone().filter_map(|(param, value)| match (param.kind, value) {
        (ParamKind::Wait, Value::Span(span)) => Some((*span, param.name)),
        _ => None,
    });
    if let Some((span, name)) = waits.min() {
        return Some(format!(", which take {wait} to send; its {name} is {span}"));
    }
    let mut sizes = given.filter_map(|(param, value)| match (param.kind, value) {
        (ParamKind::Threshold, Value::Bytes(bytes)) => Some((*bytes, param.name)),
        _ => None,
    });
    let (bytes, name) = sizes.next()?;
    Some(match max <= bytes.get() {
        true => format!(", never above its {name}, {bytes}"),
        false => format!("; its {name} is {bytes}"),
    })
}

/// Why an AQM with a target did not mark. One of CoDel's kind first does when packets have waited over `target`, a
/// twentieth of `interval` unless given, throughout an `interval` (RFC 8289, sections 3.2 and 4.3).
fn not_for_long(scheme: &SchemeChoice, given: &str, wait: Span) -> Option<String> {
    let params = scheme.params();
    let span = |key| match params.get(key) {
        Some(Value::Span(span)) => Some(*span),
        _ => None,
    };
    let Some(interval) = span("interval") else {
        // An AQM of PIE's kind: a probability rises while packets wait over the target (RFC 8033, section 4.2).
        let target = span("target")?;
        return Some(match wait > target {
            true => format!("packets waited over the target, {target}, but too briefly"),
            false => {
                format!("no packet waited over the target, {target}: a shorter one marks sooner")
            }
        });
    };
    let target = span("target").unwrap_or(interval / 20);
    let longest = "the longest round trip here";
    Some(match wait > target {
        true => format!(
            "packets waited over the target, {target}, but never throughout {given}, {interval}: a shorter \
             one ({longest}) marks sooner"
        ),
        false => format!(
            "no packet waited over the target, {target}, a twentieth of {given}, {interval}, unless given: \
             a shorter interval ({longest}) marks sooner"
        ),
    })
}
