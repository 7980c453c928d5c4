//! Timers and pauses behind results: means and percentiles that are mostly a wait for one, the timers that flows waited
//! for, and connections that gave up.

use crate::flow::FlowRecord;
use crate::records::Records;
use crate::run::results::Held;
use crate::simulation::Simulation;
use crate::transport::Wait;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use switchbed_scenario::Scenario;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::traffic::Traffic;
use switchbed_units::Time;
use switchbed_units::ids::HostId;

/// The percentiles that a summary prints, in thousandths.
const PRINTED: [(usize, &str); 4] =
    [(500, "median"), (950, "95th"), (990, "99th"), (999, "99.9th")];

/// A wait of this part of a completion time makes it a timer's; of all completion times together, their mean.
const MOST: f64 = 0.5;

/// Populations that are named of those with the same figures, and timers of a kind.
const NAMED: usize = 6;

/// Cause of a wait.
type Kind = Option<Wait>;

/// Pauses, which no timer ends.
const PAUSE: Kind = None;

/// The flows of a run by their places, which take four bytes each.
#[derive(Clone, Copy)]
struct Run<'a> {
    flows: &'a Records,
    held: &'a Held,
}

impl Run<'_> {
    fn flow(self, nth: u32) -> FlowRecord {
        self.flows.get(nth as usize)
    }

    fn fct_s(self, nth: u32) -> f64 {
        self.flows.times(nth as usize).0
    }

    fn slowdown(self, nth: u32) -> f64 {
        self.flows.times(nth as usize).1
    }

    /// Longest wait of a flow that has ended, and its part of the completion time, if that is most of it.
    fn waited(self, nth: u32) -> Option<(Kind, f64)> {
        let (kind, took_s) = longest(&self.flow(nth), self.held)?;
        Some((kind, (took_s / self.fct_s(nth)).min(1.0))).filter(|&(_, part)| part >= MOST)
    }
}

/// Flows that count and have ended whose figures are printed together.
struct Population {
    name: String,
    of: Vec<u32>,
    /// Slowdowns are printed, too.
    slowdown: bool,
}

/// Names the timers whose length a printed mean or percentile is, a line for each kind of timer. No numbers of
/// flows: runs of a comparison that say the same say it once.
pub(super) fn figures(
    scenario: &Scenario,
    simulation: &Simulation,
    flows: &Records,
    held: &Held,
) -> Vec<String> {
    let since = simulation.warmed_at();
    let run = Run { flows, held };
    let counts = |&(_, flow): &(u32, FlowRecord)| flow.size.is_some() && flow.counts_since(since);
    let counted = (0..).zip(flows.iter()).filter(counts).map(|(nth, _)| nth);
    let ended: Vec<u32> = counted.filter(|&nth| !run.fct_s(nth).is_nan()).collect();
    if ended.iter().all(|&nth| run.waited(nth).is_none()) {
        return Vec::new();
    }
    // For each kind the timers, and the populations by the figures that it decides.
    type Found = (BTreeSet<String>, Vec<(String, Vec<String>)>);
    let mut found: BTreeMap<Kind, Found> = BTreeMap::new();
    let protocols = Protocols::of(scenario);
    for population in populations(scenario, &protocols, run, &ended, since) {
        for (kind, (figures, deciding)) in decided(run, &population) {
            let (timers, groups) = found.entry(kind).or_default();
            timers.extend(deciding.iter().map(|&nth| timer(&protocols, &run.flow(nth), kind)));
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
        let (what, groups) = match kind {
            PAUSE => ("pauses, which decide them", groups.join(", ")),
            _ => ("a timer, which decides them", groups.join(", ")),
        };
        let timers = few(&timers.into_iter().collect::<Vec<_>>()).join("; ");
        format!("FCTs are mostly idle waits for {what}: {groups}, for {timers}")
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
fn populations(
    scenario: &Scenario,
    protocols: &Protocols,
    run: Run<'_>,
    ended: &[u32],
    since: Time,
) -> Vec<Population> {
    let all = ended.to_vec();
    let mut found = vec![Population { name: "all flows".into(), of: all, slowdown: true }];
    let mut put = |name: String, slowdown: bool, of: Vec<u32>| {
        if of.len() < ended.len() && of.iter().any(|&nth| run.waited(nth).is_some()) {
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
        let has = |&&nth: &&u32| run.flow(nth).size.is_some_and(|size| sizes.contains(&size.get()));
        put(name.into(), true, ended.iter().filter(has).copied().collect());
    }
    let by = |key: &dyn Fn(&FlowRecord) -> u32| {
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &nth in ended {
            groups.entry(key(&run.flow(nth))).or_default().push(nth);
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
    // Towards hosts of another stack a transport has a place of its own, and the same row in tables.
    let row = |place: u8| {
        let name = &names[usize::from(place)];
        names.iter().position(|other| other == name).unwrap_or_default() as u32
    };
    let place = |flow: &FlowRecord| protocols.place(flow.traffic, flow.class, (flow.src, flow.dst));
    for (place, of) in by(&|flow| row(place(flow))) {
        put(format!("transport {}", names[place as usize]), true, of);
    }
    for (place, of) in by(&|flow| flow.traffic) {
        if let Traffic::Incast(_) = traffic(place).source {
            let open = run.flows.iter().filter(|flow| {
                flow.traffic == place && flow.counts_since(since) && flow.end.is_none()
            });
            let open: BTreeSet<Time> = open.map(|flow| flow.start).collect();
            found.extend(rounds(place, run, of, &open));
        }
    }
    found
}

/// An incast's rounds, each as the flow that ended last; none of those with flows that have no end.
fn rounds(place: u32, run: Run<'_>, of: Vec<u32>, open: &BTreeSet<Time>) -> Option<Population> {
    let mut last: BTreeMap<Time, u32> = BTreeMap::new();
    for nth in of {
        let start = run.flow(nth).start;
        if open.contains(&start) {
            continue;
        }
        let last = last.entry(start).or_insert(nth);
        if run.fct_s(nth) > run.fct_s(*last) {
            *last = nth;
        }
    }
    let of: Vec<u32> = last.into_values().collect();
    let waited = of.iter().any(|&nth| run.waited(nth).is_some());
    waited.then(|| Population { name: format!("queries of traffic {place}"), of, slowdown: false })
}

/// The figures that each kind of wait decides, and the flows that it does by.
type Decided = BTreeMap<Kind, (String, Vec<u32>)>;

fn decided(run: Run<'_>, population: &Population) -> Decided {
    let fcts = by_kind(run, &population.of, |nth| run.fct_s(nth));
    let slowdowns = match population.slowdown {
        true => by_kind(run, &population.of, |nth| run.slowdown(nth)),
        false => BTreeMap::new(),
    };
    let kinds: BTreeSet<Kind> = fcts.keys().chain(slowdowns.keys()).copied().collect();
    let words = |figures: &[&str]| match figures.len() > PRINTED.len() {
        true => "mean and all percentiles".to_owned(),
        false => {
            let percentile = figures.last().is_some_and(|last| last.ends_with("th"));
            figures.join(", ") + if percentile { " percentile" } else { "" }
        }
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
fn by_kind(
    run: Run<'_>,
    of: &[u32],
    value: impl Fn(u32) -> f64,
) -> BTreeMap<Kind, (Vec<&'static str>, Vec<u32>)> {
    let mut found: BTreeMap<Kind, (Vec<&'static str>, Vec<u32>)> = BTreeMap::new();
    let mut waits: BTreeMap<Kind, (f64, u32)> = BTreeMap::new();
    for &nth in of {
        if let Some((kind, part)) = run.waited(nth) {
            let (sum, most) = waits.entry(kind).or_insert((0.0, nth));
            *sum += part * value(nth);
            if value(nth) > value(*most) {
                *most = nth;
            }
        }
    }
    let all: f64 = of.iter().map(|&nth| value(nth)).sum();
    for (kind, (sum, most)) in waits {
        if sum >= MOST * all {
            found.insert(kind, (vec!["mean"], vec![most]));
        }
    }
    let mut sorted = of.to_vec();
    sorted.sort_by(|&a, &b| value(a).total_cmp(&value(b)));
    for (permille, percentile) in PRINTED {
        if let Some(&nth) = sorted.get(sorted.len() * permille / 1000)
            && let Some((kind, _)) = run.waited(nth)
        {
            let (figures, flows) = found.entry(kind).or_default();
            figures.push(percentile);
            flows.push(nth);
        }
    }
    found
}

/// A timer by the keys that set it.
fn timer(protocols: &Protocols, flow: &FlowRecord, kind: Kind) -> String {
    let Some(wait) = kind else { return "ports that were held (switch.pfc)".to_owned() };
    let of = protocols.section(flow.traffic, flow.class, flow.src);
    let t = match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
        Protocol::QueuePairs(roce) if roce.control.about().unordered() => {
            let drained = "15us and six times what the switch's memory takes to drain".to_owned();
            let rto = roce.spray_rto.map_or(drained, |rto| rto.to_string());
            return format!("{of}.spray_rto, {rto}");
        }
        Protocol::QueuePairs(roce) if roce.rto_low < roce.rto => {
            let (rto, low) = (roce.rto, roce.rto_low);
            return format!("{of}.rto, {rto}, or {of}.rto_low, {low}");
        }
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

/// Waits that each timer ended since the warm-up, of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct WaitCounts {
    /// A lost SYN's, or that of a lost answer to one.
    pub syn: u64,
    /// The retransmission timer, or a tail loss probe's, before the first RTT sample: `rto_initial`.
    pub rto_initial: u64,
    /// The retransmission timer after that.
    pub rto: u64,
    /// Waits for a tail loss probe's timer.
    pub probe: u64,
    /// The receiver's, where its ACK was held back while the sender could send nothing.
    pub delayed_ack: u64,
}

impl WaitCounts {
    pub(crate) fn of(flows: impl Iterator<Item = FlowRecord>) -> WaitCounts {
        flows.fold(WaitCounts::default(), |sums, FlowRecord { waits, .. }| {
            let sum = |before, wait| before + u64::from(waits.count(wait));
            WaitCounts {
                syn: sum(sums.syn, Wait::Syn),
                rto_initial: sum(sums.rto_initial, Wait::RtoInitial),
                rto: sum(sums.rto, Wait::Rto),
                probe: sum(sums.probe, Wait::Probe),
                delayed_ack: sum(sums.delayed_ack, Wait::DelayedAck),
            }
        })
    }
}

/// Says how many flows failed, and what for, and whether all of them had an end that is `cut_off`.
pub(crate) fn failed(
    scenario: &Scenario,
    warmed_at: Time,
    flows: &Records,
    cut_off: impl Fn(HostId) -> bool,
) -> Option<(String, bool)> {
    let counted = || flows.iter().filter(|flow| flow.counts_since(warmed_at));
    let failed = || counted().filter(|flow| flow.failed.is_some());
    let protocols = Protocols::of(scenario);
    let waited = |flow: &FlowRecord, wait| flow.waits.count(wait) > 0;
    let waited_for_data =
        |flow: &FlowRecord| waited(flow, Wait::RtoInitial) || waited(flow, Wait::Rto);
    let key = |flow: &FlowRecord| {
        let of = protocols.section(flow.traffic, flow.class, flow.src);
        match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
            Protocol::QueuePairs(roce) => format!("{of}.give_up, {}", roce.give_up),
            // Since the warm-up: of its SYNs it may have sent some before.
            Protocol::Transport(t) if waited(flow, Wait::Syn) && !waited_for_data(flow) => {
                format!("{of}.syn_retries, {}", t.syn_retries)
            }
            Protocol::Transport(t) => format!("{of}.data_retries, {}", t.data_retries),
        }
    };
    let keys: BTreeSet<String> = failed().map(|flow| key(&flow)).collect();
    (!keys.is_empty()).then(|| {
        let all = failed().count();
        let down = failed().filter(|flow| cut_off(flow.src) || cut_off(flow.dst)).count();
        let of_links = match down {
            0 => String::new(),
            _ if down == all => "; their hosts' links are down ([[event]])".to_owned(),
            _ => format!("; the hosts' links of {down} are down ([[event]])"),
        };
        let text = format!(
            "{all} of {} flows failed: their connections gave up ({}){of_links}; FCTs are of the others",
            counted().count(),
            keys.into_iter().collect::<Vec<_>>().join("; ")
        );
        (text, down == all)
    })
}
