//! Printed means and percentiles that are mostly a wait for a timer or for pauses.

use crate::flow::FlowRecord;
use crate::run::results::{Held, times};
use crate::simulation::Simulation;
use crate::transport::Wait;
use std::collections::{BTreeMap, BTreeSet};
use switchbed_scenario::Scenario;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::traffic::Traffic;
use switchbed_units::Time;

/// The percentiles that a summary prints, in thousandths.
const PRINTED: [(usize, &str); 4] =
    [(500, "median"), (950, "95th"), (990, "99th"), (999, "99.9th percentile")];

/// A wait of this part of a completion time makes it a timer's; of all completion times together, their mean.
const MOST: f64 = 0.5;

/// Populations that are named of those with the same figures, and timers of a kind.
const NAMED: usize = 6;

/// Cause of a wait.
type Kind = Option<Wait>;

/// Pauses, which no timer ends.
const PAUSE: Kind = None;

/// A flow that counts and has ended.
struct Ended<'a> {
    flow: &'a FlowRecord,
    fct_s: f64,
    slowdown: f64,
    /// Longest wait, and its part of the completion time, if that is most of it.
    waited: Option<(Kind, f64)>,
}

/// Flows whose figures are printed together.
struct Population<'a> {
    name: String,
    of: Vec<&'a Ended<'a>>,
    /// Slowdowns are printed, too.
    slowdown: bool,
}

/// Names the timers whose length a printed mean or percentile is, a line for each kind of timer. No numbers of
/// flows: runs of a comparison that say the same say it once.
pub(super) fn figures(
    scenario: &Scenario,
    simulation: &Simulation,
    flows: &[FlowRecord],
    held: &Held,
) -> Vec<String> {
    let since = simulation.warmed_at();
    let counted = flows.iter().filter(|flow| flow.size.is_some() && flow.counts_since(since));
    let ended = |flow| {
        let (fct_s, slowdown) = times(simulation, flow);
        let waited = longest(flow, held).map(|(kind, took_s)| (kind, (took_s / fct_s).min(1.0)));
        let waited = waited.filter(|&(_, part)| part >= MOST);
        (!fct_s.is_nan()).then_some(Ended { flow, fct_s, slowdown, waited })
    };
    let ended: Vec<Ended<'_>> = counted.filter_map(ended).collect();
    if ended.iter().all(|of| of.waited.is_none()) {
        return Vec::new();
    }
    // For each kind the timers, and the populations by the figures that it decides.
    type Found = (BTreeSet<String>, Vec<(String, Vec<String>)>);
    let mut found: BTreeMap<Kind, Found> = BTreeMap::new();
    let protocols = Protocols::of(scenario);
    for population in populations(scenario, &protocols, flows, &ended, since) {
        for (kind, (figures, deciding)) in decided(&population) {
            let (timers, groups) = found.entry(kind).or_default();
            timers.extend(deciding.iter().map(|flow| timer(&protocols, flow, kind)));
            match groups.iter_mut().find(|(of, _)| *of == figures) {
                Some((_, names)) => names.push(population.name.clone()),
                None => groups.push((figures, vec![population.name.clone()])),
            }
        }
    }
    let said = |(kind, (timers, groups)): (Kind, Found)| {
        let of = |(figures, names): &(String, Vec<String>)| {
            let mut names = few(names);
            let last = names.pop().unwrap_or_default();
            let names = match names.is_empty() {
                true => last,
                false => format!("{} and {last}", names.join(", ")),
            };
            format!("of {names} ({figures})")
        };
        let groups: Vec<String> = groups.iter().map(of).collect();
        let (what, groups) = (if kind == PAUSE { "pauses" } else { "a timer" }, groups.join(", "));
        let timers = few(&timers.into_iter().collect::<Vec<_>>()).join("; ");
        format!("figures are mostly waits for {what}: {groups}, for {timers}")
    };
    found.into_iter().map(said).collect()
}

/// The first of a list, and how many more there are.
fn few(all: &[String]) -> Vec<String> {
    let more = all.len().saturating_sub(NAMED);
    let last = (more > 0).then(|| format!("{more} more"));
    all[..all.len() - more].iter().cloned().chain(last).collect()
}

/// The timer that a flow waited for longest, or pauses, and for how many seconds.
fn longest(flow: &FlowRecord, held: &Held) -> Option<(Kind, f64)> {
    let timer = flow.waits.longest().map(|(wait, took)| (Some(wait), took.as_secs_f64()));
    let pause = held.get(&(flow.traffic, flow.row)).map(|held| (PAUSE, held.as_secs_f64()));
    // Of two that took as long, the timer.
    pause.into_iter().chain(timer).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// All populations that a summary has figures of and that are not all flows again.
fn populations<'a>(
    scenario: &Scenario,
    protocols: &Protocols,
    flows: &[FlowRecord],
    ended: &'a [Ended<'a>],
    since: Time,
) -> Vec<Population<'a>> {
    let all: Vec<&Ended<'_>> = ended.iter().collect();
    let mut found = vec![Population { name: "all flows".into(), of: all, slowdown: true }];
    let mut put = |name: String, slowdown: bool, of: Vec<&'a Ended<'a>>| {
        if of.len() < ended.len() && of.iter().any(|one| one.waited.is_some()) {
            found.push(Population { name, of, slowdown });
        }
    };
    let (small, large) = (scenario.measure.small.get(), scenario.measure.large.get());
    let sizes = [
        ("small flows", 0..=small),
        ("medium flows", small.saturating_add(1)..=large),
        ("large flows", large.saturating_add(1)..=u64::MAX),
    ];
    for (name, sizes) in sizes {
        let has = |one: &&Ended<'_>| one.flow.size.is_some_and(|size| sizes.contains(&size.get()));
        put(name.into(), true, ended.iter().filter(has).collect());
    }
    let by = |key: &dyn Fn(&FlowRecord) -> u32| {
        let mut groups: BTreeMap<u32, Vec<&'a Ended<'a>>> = BTreeMap::new();
        for one in ended {
            groups.entry(key(one.flow)).or_default().push(one);
        }
        groups
    };
    for (class, of) in by(&|flow| flow.class.into()) {
        put(format!("class {class}"), false, of);
    }
    let traffic = |place: u32| &scenario.traffic[place as usize];
    for (place, of) in by(&|flow| flow.traffic) {
        put(format!("traffic {place} ({})", traffic(place).word()), true, of);
    }
    let names = protocols.names();
    for (place, of) in
        by(&|flow| u32::from(protocols.place(flow.traffic, flow.class, (flow.src, flow.dst))))
    {
        put(format!("transport {}", names[place as usize]), true, of);
    }
    for (place, of) in by(&|flow| flow.traffic) {
        if let Traffic::Incast(_) = traffic(place).source {
            let open = flows.iter().filter(|flow| {
                flow.traffic == place && flow.counts_since(since) && flow.end.is_none()
            });
            let open: BTreeSet<Time> = open.map(|flow| flow.start).collect();
            found.extend(rounds(place, of, &open));
        }
    }
    found
}

/// An incast's rounds, each as the flow that ended last; none of those with flows that have no end.
fn rounds<'a>(place: u32, of: Vec<&'a Ended<'a>>, open: &BTreeSet<Time>) -> Option<Population<'a>> {
    let mut last: BTreeMap<Time, &Ended<'_>> = BTreeMap::new();
    for one in of.into_iter().filter(|one| !open.contains(&one.flow.start)) {
        let last = last.entry(one.flow.start).or_insert(one);
        if one.fct_s > last.fct_s {
            *last = one;
        }
    }
    let of: Vec<&Ended<'_>> = last.into_values().collect();
    let waited = of.iter().any(|one| one.waited.is_some());
    waited.then(|| Population { name: format!("queries of traffic {place}"), of, slowdown: false })
}

/// The figures that each kind of wait decides, and the flows that it does by.
type Decided<'a> = BTreeMap<Kind, (String, Vec<&'a FlowRecord>)>;

fn decided<'a>(population: &Population<'a>) -> Decided<'a> {
    let fcts = by_kind(&population.of, |one| one.fct_s);
    let slowdowns = match population.slowdown {
        true => by_kind(&population.of, |one| one.slowdown),
        false => BTreeMap::new(),
    };
    let kinds: BTreeSet<Kind> = fcts.keys().chain(slowdowns.keys()).copied().collect();
    let words = |figures: &[&str]| match figures.len() > PRINTED.len() {
        true => "mean and all percentiles".to_owned(),
        false => figures.join(", "),
    };
    let of = |kind: Kind| {
        let (fct, slow) = (fcts.get(&kind), slowdowns.get(&kind));
        let own = fct.map(|(figures, _)| words(figures));
        // Slowdowns are named where other ones are a timer's than of the FCTs.
        let more = slow.filter(|slow| fct.is_none_or(|fct| fct.0 != slow.0));
        let more = more.map(|(figures, _)| format!("slowdown: {}", words(figures)));
        let figures: Vec<String> = own.into_iter().chain(more).collect();
        let flows = fct.into_iter().chain(slow).flat_map(|of| of.1.iter().copied());
        (kind, (figures.join("; "), flows.collect()))
    };
    kinds.into_iter().map(of).collect()
}

/// The mean and percentiles of a value that each kind of wait decides.
fn by_kind<'a>(
    of: &[&'a Ended<'a>],
    value: impl Fn(&Ended<'_>) -> f64,
) -> BTreeMap<Kind, (Vec<&'static str>, Vec<&'a FlowRecord>)> {
    let mut found: BTreeMap<Kind, (Vec<&'static str>, Vec<&'a FlowRecord>)> = BTreeMap::new();
    let mut waits: BTreeMap<Kind, (f64, &Ended<'_>)> = BTreeMap::new();
    for one in of {
        if let Some((kind, part)) = one.waited {
            let (sum, most) = waits.entry(kind).or_insert((0.0, one));
            *sum += part * value(one);
            if value(one) > value(most) {
                *most = one;
            }
        }
    }
    let all: f64 = of.iter().map(|one| value(one)).sum();
    for (kind, (sum, most)) in waits {
        if sum >= MOST * all {
            found.insert(kind, (vec!["mean"], vec![most.flow]));
        }
    }
    let mut sorted = of.to_vec();
    sorted.sort_by(|a, b| value(a).total_cmp(&value(b)));
    for (permille, percentile) in PRINTED {
        if let Some(one) = sorted.get(sorted.len() * permille / 1000)
            && let Some((kind, _)) = one.waited
        {
            let (figures, flows) = found.entry(kind).or_default();
            figures.push(percentile);
            flows.push(one.flow);
        }
    }
    found
}

/// A timer by the keys that set it.
fn timer(protocols: &Protocols, flow: &FlowRecord, kind: Kind) -> String {
    let Some(wait) = kind else { return "ports that were held (switch.pfc)".to_owned() };
    let of = protocols.section(flow.traffic, flow.class, flow.src);
    let t = match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
        Protocol::QueuePairs(roce) => return format!("{of}.rto, {}", roce.rto),
        Protocol::Transport(transport) => transport,
    };
    match wait {
        Wait::Syn => format!("a lost SYN, {of}.rto_initial, {}", t.rto_initial),
        Wait::RtoInitial => {
            format!("data without an RTT sample, {of}.rto_initial, {}", t.rto_initial)
        }
        Wait::Rto => format!("the retransmission timer, {of}.rto_min, {}", t.rto_min),
        Wait::Probe => format!(
            "a tail loss probe, two round trips and, of a lone packet, {of}.rto_min, {}",
            t.rto_min
        ),
        Wait::DelayedAck => format!("a delayed ACK, {of}.ack_delay, {}", t.ack_delay),
    }
}
