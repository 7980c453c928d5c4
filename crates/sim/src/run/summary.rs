//! A run's headline figures. Field names are what others' scripts rely on; a change of
//! meaning raises [`SCHEMA_VERSION`].

use crate::flow::FlowRecord;
use crate::ids::LinkId;
use crate::jobs::JobTimes;
use crate::node::host::ProbeSample;
use crate::nullable::nullable;
use crate::observe::interference::Interference;
use crate::pauses::{Pause, Waited};
use crate::ports;
use crate::records::{Records, Timed};
use crate::run::decided::WaitCounts;
use crate::run::results::Held;
use crate::run::results::TrimCounts;
use crate::run::transports::TransportTimes;
use crate::run::warnings::warnings;
use crate::simulation::{PortReport, Simulation};
use crate::topology::{Graph, Node};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use switchbed_qdisc::hooks::GroupUse;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::Scenario;
use switchbed_scenario::traffic::{Entry, TableOffered, Traffic};
use switchbed_units::{Bytes, Span, Time};

/// The version of the results' form: 2 counts all since the warm-up, over flows that are `counted`.
pub const SCHEMA_VERSION: u32 = 2;
/// A hash of the sources that this was built from.
pub const BUILD: &str = env!("SWITCHBED_BUILD");

/// Flows counted and finished. One counts that starts after the warm-up, or sends as long as it runs and
/// had not stopped by then.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct FlowCounts {
    /// Flows that count, whether finished or not.
    pub count: u64,
    /// Flows of these that have finished.
    pub finished: u64,
    /// Flows that count and whose connection gave up; older summaries lack them.
    #[serde(default)]
    pub failed: u64,
}

/// A mean and percentiles. A percentile p is the sorted list's element ⌊p·n⌋, as the
/// MQ-ECN simulations have it. Without flows all are null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Fct {
    /// Number of flows behind these figures.
    pub n: u64,
    /// Arithmetic mean in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub mean_us: Option<f64>,
    /// Median in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p50_us: Option<f64>,
    /// 95th percentile in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p95_us: Option<f64>,
    /// 99th percentile in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p99_us: Option<f64>,
    /// 99.9th percentile in microseconds; older summaries lack it.
    #[serde(default)]
    pub p999_us: Option<f64>,
}

/// Slowdowns of flows, without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Slowdown {
    /// Number of flows behind these figures.
    pub n: u64,
    /// Arithmetic mean over the flows.
    #[serde(deserialize_with = "nullable")]
    pub mean: Option<f64>,
    /// Median over the flows.
    #[serde(deserialize_with = "nullable")]
    pub p50: Option<f64>,
    /// 95th percentile over the flows.
    #[serde(deserialize_with = "nullable")]
    pub p95: Option<f64>,
    /// 99th percentile over the flows.
    #[serde(deserialize_with = "nullable")]
    pub p99: Option<f64>,
    /// 99.9th percentile; older summaries lack it.
    #[serde(default)]
    pub p999: Option<f64>,
}

/// A figure for each size class.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct BySize<T> {
    /// Flows of every size.
    pub all: T,
    /// Flows up to `measure.small` bytes.
    pub small: T,
    /// Flows between small and large.
    pub medium: T,
    /// Flows over `measure.large` bytes.
    pub large: T,
}

/// A figure for each class of interference (see `measure.giant`).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct ByInterference<T> {
    /// Flows that met no giant one.
    pub nothing: T,
    /// Flows that met one at an output, and none on a path.
    pub output: T,
    /// Flows that met one on a path, a switch's input and output.
    pub path: T,
}

/// Numbers of packets dropped, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Drops {
    /// Arrivals refused because memory was full.
    pub full: u64,
    /// To be marked, not ECN-capable.
    pub not_ecn_capable: u64,
    /// Arrivals dropped on purpose.
    pub early: u64,
    /// Queued packets pushed out by arrivals.
    pub pushed_out: u64,
    /// Packets dropped instead of sent.
    pub at_departure: u64,
}

/// The switch port that sent for the largest share of the time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Bottleneck {
    /// Name of the port: switch and number.
    pub port: String,
    /// Share of the time in which it was sending, pause frames included; also while its line was down.
    pub utilisation: f64,
    /// Time-weighted mean length of its queues together; null where not measured.
    #[serde(deserialize_with = "nullable")]
    pub mean_bytes: Option<f64>,
    /// 99th percentile of the same.
    #[serde(deserialize_with = "nullable")]
    pub p99_bytes: Option<f64>,
    /// Greatest length since the warm-up.
    #[serde(deserialize_with = "nullable")]
    pub max_bytes: Option<u64>,
}

/// Evenness of the use of the links from one tier to another since the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct PathUse {
    /// Links, parallel ones counted each.
    pub links: u64,
    /// Links that sent nothing.
    pub unused: u64,
    /// Jain's index of the parts of their rates that they sent: 1 is even.
    pub jain: f64,
    /// The largest part over the mean.
    pub busiest_over_mean: f64,
}

impl PathUse {
    /// By tiers, where more than one link leads from one to another and anything was sent.
    fn of(graph: &Graph, reports: &[PortReport]) -> BTreeMap<String, PathUse> {
        let infos: Vec<_> = reports.iter().map(|report| report.info.clone()).collect();
        let tiers = ports::tiers(graph, &infos);
        let mut parts: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (PortReport { info, counters, .. }, name) in reports.iter().zip(tiers) {
            let (Node::Switch(_), Node::Switch(_)) = (info.cable.from, info.cable.to) else {
                continue;
            };
            // Bytes over the rate: links of different rates compare by how busy they were.
            let part = counters.sent_bytes as f64 / info.cable.rate.as_bps() as f64;
            parts.entry(name).or_default().push(part);
        }
        let each = |(name, parts): (String, Vec<f64>)| {
            let (n, sum) = (parts.len() as f64, parts.iter().sum::<f64>());
            let squares: f64 = parts.iter().map(|part| part * part).sum();
            let busiest = parts.iter().copied().fold(0.0, f64::max);
            (parts.len() > 1 && sum > 0.0).then(|| {
                let unused = parts.iter().filter(|&&part| part == 0.0).count() as u64;
                // Jain's index (DEC-TR-301, 1984): 1 where all are equal, 1/n where one link has
                // all.
                let (jain, over) = (sum * sum / (n * squares), busiest * n / sum);
                (name, PathUse { links: parts.len() as u64, unused, jain, busiest_over_mean: over })
            })
        };
        parts.into_iter().filter_map(each).collect()
    }
}

/// Flows that send as long as they run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Endless {
    /// Number of values behind the figures.
    pub n: u64,
    /// Jain's index of their goodputs since the warm-up, (Σx)² / (n·Σx²): 1 is even, 1/n is
    /// one flow alone (Jain, Chiu and Hawe 1984).
    pub jain: f64,
}

impl Endless {
    /// Goodput of flows that were there since the warm-up, at least in part.
    pub(super) fn of(flows: impl Iterator<Item = FlowRecord>, warmed_at: Time) -> Option<Endless> {
        let endless = flows.filter(|flow| flow.size.is_none() && !flow.ended_by(warmed_at));
        let received: Vec<f64> = endless.map(|flow| flow.received.as_f64()).collect();
        let n = received.len() as f64;
        let sum: f64 = received.iter().sum();
        let squares: f64 = received.iter().map(|x| x * x).sum();
        // Flows that have received nothing share it evenly.
        let jain = if squares > 0.0 { sum * sum / (n * squares) } else { 1.0 };
        (n > 0.0).then_some(Endless { n: n as u64, jain })
    }
}

/// Completion times of a traffic source's flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SourceTimes {
    /// Index among the scenario's traffic, from 0.
    pub traffic: u32,
    /// Word of the source's `kind`.
    pub kind: Cow<'static, str>,
    /// Completion times of its flows.
    pub fct: Fct,
    /// Slowdowns of its flows.
    pub slowdown: Slowdown,
    /// Query completion times: of an incast's rounds, each to its last flow's end, and of requests
    /// with their answers; null for other kinds.
    #[serde(deserialize_with = "nullable")]
    pub query: Option<Fct>,
}

impl SourceTimes {
    /// Times of each source whose flows have ends, over flows that count.
    fn of(traffic: &[Entry], flows: &Records, warmed_at: Time) -> Vec<SourceTimes> {
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); traffic.len()];
        for (nth, flow) in (0..).zip(flows.iter()) {
            // Flows without an end have no completion time.
            if flow.size.is_some() && flow.counts_since(warmed_at) {
                places[flow.traffic as usize].push(nth);
            }
        }
        let each = |(place, (source, own)): (usize, (&Entry, Vec<u32>))| {
            let own = || own.iter().map(|&nth| flows.get_timed(nth as usize));
            let ended = || own().filter(|of| !of.fct_s.is_nan());
            let fct = Fct::of(ended().map(|of| of.fct_s * 1e6).collect());
            let query = match &source.source {
                Traffic::Incast(_) => Some(Fct::of(rounds(own()))),
                Traffic::RequestResponse(_) => Some(fct),
                _ => None,
            };
            SourceTimes {
                traffic: place as u32,
                kind: source.word().into(),
                fct,
                slowdown: Slowdown::of(ended().map(|of| of.slowdown).collect()),
                query,
            }
        };
        let sources = traffic.iter().zip(places).enumerate();
        sources.filter(|(_, (_, own))| !own.is_empty()).map(each).collect()
    }
}

/// How long each round took to its last flow's end; none of those that have not ended.
fn rounds(flows: impl Iterator<Item = Timed>) -> Vec<f64> {
    let mut rounds: BTreeMap<Time, f64> = BTreeMap::new();
    // An incast round's flows all start at one time, which serves as the round's number.
    for Timed { flow, fct_s, .. } in flows {
        let (us, longest) = (fct_s * 1e6, rounds.entry(flow.start).or_insert(0.0));
        // Unlike `f64::max`, it keeps what is no number.
        *longest = if us.is_nan() || us > *longest { us } else { *longest };
    }
    rounds.into_values().filter(|us| !us.is_nan()).collect()
}

/// A class's (a service's) part in the goodput, and its flows.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct ClassGoodput {
    /// Class of the packets (DSCP).
    pub class: u8,
    /// Payload received a second since the warm-up.
    pub goodput_bps: f64,
    /// FCTs of its flows that count; older summaries lack it.
    #[serde(default)]
    pub fct: Fct,
}

impl ClassGoodput {
    /// `ended` are the flows that count and have ended.
    fn of<I: Iterator<Item = Timed>>(
        flows: &Records,
        elapsed_s: f64,
        ended: &dyn Fn() -> I,
    ) -> Vec<ClassGoodput> {
        let mut received = BTreeMap::new();
        for flow in flows.iter() {
            *received.entry(flow.class).or_insert(0) += flow.received.get();
        }
        let goodput =
            |bytes: u64| if elapsed_s > 0.0 { bytes as f64 * 8.0 / elapsed_s } else { 0.0 };
        // A class whose flows all failed has no line of its own.
        received.retain(|_, bytes| *bytes > 0);
        let classes = received.into_iter();
        let times =
            |class| ended().filter(move |of| of.flow.class == class).map(|of| of.fct_s * 1e6);
        let each = |(class, bytes)| ClassGoodput {
            class,
            goodput_bps: goodput(bytes),
            fct: Fct::of(times(class).collect()),
        };
        classes.map(each).collect()
    }
}

/// Round-trip times that the probes of a pair and class found since the warm-up.
/// Percentiles are as [`Fct`]'s.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ProbeRtts {
    /// The host that sent them.
    pub src: u32,
    /// The host that sent them back.
    pub dst: u32,
    /// Class of the probes (DSCP).
    pub class: u8,
    /// Number of probes that came back.
    pub n: u64,
    /// Number of probes that did not come back, those still on their way included.
    pub lost: u64,
    /// Mean in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub mean_us: Option<f64>,
    /// Median in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p50_us: Option<f64>,
    /// 95th percentile in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p95_us: Option<f64>,
    /// 99th percentile in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p99_us: Option<f64>,
}

impl ProbeRtts {
    fn of(probes: &[ProbeSample]) -> Vec<ProbeRtts> {
        let mut rtts: BTreeMap<(u32, u32, u8), (u64, Vec<f64>)> = BTreeMap::new();
        for probe in probes {
            let (lost, rtts) = rtts.entry((probe.src.0, probe.dst.0, probe.class)).or_default();
            match probe.rtt {
                Some(rtt) => rtts.push(rtt.as_us_f64()),
                None => *lost += 1,
            }
        }
        let each = |((src, dst, class), (lost, rtts))| {
            let (n, [mean_us, p50_us, p95_us, p99_us, _]) = statistics(rtts);
            ProbeRtts { src, dst, class, n, lost, mean_us, p50_us, p95_us, p99_us }
        };
        rtts.into_iter().map(each).collect()
    }
}

/// A flow-size table in use.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct TableMean {
    /// Name of the table, or of its file.
    pub name: String,
    /// The mean that turns the load into flows a second.
    pub mean_bytes: f64,
    /// The exact mean of the sizes as drawn.
    pub drawn_mean_bytes: f64,
}

/// Load that a Poisson source offers by both definitions, and its flow sizes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct OfferedLoad {
    /// Means of its flow-size tables.
    pub sizes: Vec<TableMean>,
    /// Payload bits a sender over its link's rate: the scenario's `load`.
    pub payload: f64,
    /// Load with headers, as the wire has it.
    pub wire: f64,
}

fn ideal() -> Cow<'static, str> {
    "ideal".into()
}

/// Data packets that arrived while bytes before them were missing: another had been overtaken, or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct EarlyPackets {
    /// How many.
    pub packets: u64,
    /// The most bytes that were missing before one.
    pub most_bytes: u64,
}

impl EarlyPackets {
    fn of((packets, most): (u64, Bytes)) -> EarlyPackets {
        EarlyPackets { packets, most_bytes: most.get() }
    }
}

/// Headline figures of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Summary {
    /// Numbers of flows that count and that finished.
    pub flows: FlowCounts,
    /// Flow completion times by size class, of finished flows.
    pub fct: BySize<Fct>,
    /// FCTs by source; older summaries lack it.
    #[serde(default)]
    pub by_traffic: Vec<SourceTimes>,
    /// FCTs by transport; only where flows have more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_transport: Vec<TransportTimes>,
    /// Durations of collectives; only where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobTimes>,
    /// FCTs by what flows met of giant ones; null without `measure.giant`.
    #[serde(deserialize_with = "nullable")]
    pub fct_by_met: Option<ByInterference<BySize<Fct>>>,
    /// FCT over the ideal one: packets back to back at the line's rate, without handshake or window.
    pub slowdown: BySize<Slowdown>,
    /// The FCT that slowdowns are over: `ideal`; older summaries lack it.
    #[serde(default = "ideal")]
    pub slowdown_over: Cow<'static, str>,
    /// Payload received a second, all flows together, since the warm-up.
    pub goodput_bps: f64,
    /// Goodput of each class that received anything, and its FCTs.
    pub classes: Vec<ClassGoodput>,
    /// Round-trip times of each pair's and class's probes.
    pub probes: Vec<ProbeRtts>,
    /// Flows that send as long as they run, and how evenly they shared; null without any.
    #[serde(deserialize_with = "nullable")]
    pub endless: Option<Endless>,
    /// Packets that left a port with a CE mark of that port since the warm-up.
    pub marks: u64,
    /// Congestion notifications sent to sources; older summaries lack them.
    #[serde(default)]
    pub notifications: u64,
    /// Packets dropped since the warm-up.
    pub drops: u64,
    /// Numbers of dropped packets by reason.
    pub drops_by_reason: Drops,
    /// Packets that lines lost since the warm-up, as `[[event]]` said; older summaries lack them.
    #[serde(default)]
    pub lost: u64,
    /// Packets that switches dropped since the warm-up, since links were down and no port led on; older summaries
    /// lack them.
    #[serde(default)]
    pub no_route: u64,
    /// Data packets that came to hosts beyond a gap since the warm-up; older summaries lack them.
    #[serde(default)]
    pub early: EarlyPackets,
    /// Retransmission timeouts and probes before the first RTT sample since the warm-up, like marks and
    /// drops those of all flows.
    pub timeouts: u64,
    /// Waits by the timer that ended them since the warm-up, like timeouts those of all flows; older summaries
    /// lack them.
    #[serde(default)]
    pub waits: WaitCounts,
    /// Segments sent again since the warm-up, of all flows.
    pub retransmissions: u64,
    /// Window cuts for marks, likewise.
    pub ecn_cuts: u64,
    /// Counts of flow control, where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseCounts>,
    /// Counts of trimmed packets, where switches trim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<TrimCounts>,
    /// Use of the links between two tiers, by their names, such as `leaf-spine` and `spine-leaf`; older summaries
    /// lack it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, PathUse>,
    /// Busiest port of a switch.
    #[serde(deserialize_with = "nullable")]
    pub bottleneck: Option<Bottleneck>,
    /// Load that each Poisson source offers.
    pub offered: Vec<OfferedLoad>,
    /// Packets transmitted by ports, ACKs and the warm-up included.
    pub packet_hops: u64,
    /// Number of events that the engine handled.
    pub events: u64,
    /// Simulated time at the end, in seconds.
    pub simulated_s: f64,
    /// The run reached its end: of one that was stopped nothing is kept.
    pub complete: bool,
    /// Warnings to read before trusting the other figures.
    pub warnings: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// Version of Switchbed that ran it.
    pub version: Cow<'static, str>,
    /// A hash of the sources that this was built from.
    pub build: Cow<'static, str>,
    /// Version of the format: [`SCHEMA_VERSION`].
    pub schema_version: u32,
}

/// Counts of flow control since the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseCounts {
    /// Times that a port's class was held.
    pub count: u64,
    /// How long that was, all ports together.
    pub held_s: f64,
    /// The port that was held longest, and for how long.
    #[serde(deserialize_with = "nullable")]
    pub longest_port: Option<String>,
    /// How long that one was.
    pub longest_s: f64,
    /// Flows that count and waited behind a port that was held; `None`: flows have no path that is known.
    #[serde(deserialize_with = "nullable")]
    pub flows: Option<u64>,
    /// Flows of these that waited for a port that is not on their way.
    #[serde(deserialize_with = "nullable")]
    pub victims: Option<u64>,
    /// How often the watchdog acted.
    pub storms: u64,
    /// Circles of queues that waited for each other.
    pub deadlocks: u64,
    /// Packets of lossless classes that switches dropped for want of space; older summaries lack it.
    #[serde(default)]
    pub lost: u64,
    /// Packets of lossless classes that the scheme or the watchdog dropped; older summaries lack it.
    #[serde(default)]
    pub dropped: u64,
    /// Port and class of a group that lost the most; older summaries lack it.
    #[serde(default)]
    pub lost_most: Option<String>,
    /// Most headroom that a group used; older summaries lack it.
    #[serde(default)]
    pub headroom_max_bytes: u64,
}

impl PauseCounts {
    pub(crate) fn of(
        simulation: &Simulation,
        (pauses, waited): &(Vec<Pause>, Option<Vec<Waited>>),
    ) -> PauseCounts {
        let since = simulation.warmed_at();
        let counted = |counts: &dyn Fn(&Waited) -> bool| {
            let each = waited.as_ref()?.iter();
            Some(each.filter(|of| of.flow.counts_since(since) && counts(of)).count() as u64)
        };
        let held = simulation.held();
        // Of several, the first.
        let longest = held.iter().rev().max_by_key(|&&(_, held, _)| held);
        let longest = longest.filter(|longest| longest.1 > Span::ZERO);
        let name = |link: LinkId| simulation.ports()[link.index()].name.clone();
        let groups = simulation.groups();
        let loses = |of: &&(LinkId, GroupUse)| of.1.lost + of.1.dropped > 0;
        let lost_most = groups.iter().rev().filter(loses).max_by_key(|of| of.1.lost + of.1.dropped);
        PauseCounts {
            count: pauses.iter().filter(|pause| pause.until > since).count() as u64,
            held_s: held.iter().map(|of| of.1.as_secs_f64()).sum(),
            longest_port: longest.map(|&(link, ..)| name(link)),
            longest_s: longest.map_or(0.0, |longest| longest.1.as_secs_f64()),
            flows: counted(&|_| true),
            victims: counted(&|of| of.victim > Span::ZERO),
            storms: held.iter().map(|of| of.2).sum(),
            deadlocks: simulation.deadlocks().len() as u64,
            lost: groups.iter().map(|of| of.1.lost).sum(),
            dropped: groups.iter().map(|of| of.1.dropped).sum(),
            lost_most: lost_most.map(|&(link, of)| format!("{} class {}", name(link), of.class)),
            headroom_max_bytes: groups.iter().map(|of| of.1.headroom.get()).max().unwrap_or(0),
        }
    }
}

impl Summary {
    /// A summary that was written before, or why the text is none.
    pub fn read(text: &str) -> Result<Summary, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    pub(crate) fn new(
        scenario: &Scenario,
        simulation: &Simulation,
        flows: &Records,
        met: Option<&[Interference]>,
        reports: &[PortReport],
        held: &Held,
    ) -> Summary {
        let warmed_at = simulation.warmed_at();
        let counted = || flows.timed().filter(|of| of.flow.counts_since(warmed_at));
        // Endless flows have no size, flows under way no end: neither has a completion time.
        let ended = || counted().filter(|of| of.flow.size.is_some() && !of.fct_s.is_nan());
        let (small, large) = (scenario.measure.small.get(), scenario.measure.large.get());
        let fct_by_met = met.map(|met| {
            let of = |class: Interference| {
                let flows = flows.timed().zip(met).filter(|(_, met)| **met == class);
                let counted = flows.map(|(of, _)| of).filter(|of| of.flow.counts_since(warmed_at));
                let fcts = |of: Timed| {
                    let us = of.fct_s * 1e6;
                    of.flow.size.filter(|_| !us.is_nan()).map(|size| (size.get(), us))
                };
                Fct::by_size(&counted.filter_map(fcts).collect::<Vec<_>>(), small, large)
            };
            ByInterference {
                nothing: of(Interference::Nothing),
                output: of(Interference::Output),
                path: of(Interference::Path),
            }
        });
        let of = |class: &dyn Fn(u64) -> bool| {
            let chosen = || ended().filter(|of| of.flow.size.is_some_and(|size| class(size.get())));
            let fct = Fct::of(chosen().map(|of| of.fct_s * 1e6).collect());
            (fct, Slowdown::of(chosen().map(|of| of.slowdown).collect()))
        };
        let all = of(&|_| true);
        let small_flows = of(&|size| size <= small);
        let medium = of(&|size| size > small && size <= large);
        let large = of(&|size| size > large);
        let elapsed = simulation.now().since(warmed_at).as_secs_f64();
        let received: u64 = flows.iter().map(|flow| flow.received.get()).sum();
        let sum =
            |f: &dyn Fn(&FlowRecord) -> u32| flows.iter().map(|flow| u64::from(f(&flow))).sum();
        let drops = |why: DropReason| {
            reports.iter().map(|report| report.counters.drops[why as usize]).sum()
        };
        let drops_by_reason = Drops {
            full: drops(DropReason::Full),
            not_ecn_capable: drops(DropReason::NotEcnCapable),
            early: drops(DropReason::Early),
            pushed_out: drops(DropReason::PushedOut),
            at_departure: drops(DropReason::AtDeparture),
        };
        let offered = simulation.offered().iter();
        let mut summary = Summary {
            flows: FlowCounts {
                count: counted().count() as u64,
                finished: all.0.n,
                failed: counted().filter(|of| of.flow.failed.is_some()).count() as u64,
            },
            fct: BySize { all: all.0, small: small_flows.0, medium: medium.0, large: large.0 },
            by_traffic: SourceTimes::of(&scenario.traffic, flows, warmed_at),
            by_transport: TransportTimes::of(scenario, simulation, flows, elapsed),
            jobs: Vec::new(),
            fct_by_met,
            slowdown: BySize { all: all.1, small: small_flows.1, medium: medium.1, large: large.1 },
            slowdown_over: ideal(),
            goodput_bps: if elapsed > 0.0 { received as f64 * 8.0 / elapsed } else { 0.0 },
            classes: ClassGoodput::of(flows, elapsed, &ended),
            probes: ProbeRtts::of(&simulation.probes()),
            endless: Endless::of(flows.iter(), warmed_at),
            marks: reports.iter().map(|report| report.counters.marked).sum(),
            notifications: reports.iter().map(|report| report.counters.notified).sum(),
            drops: reports.iter().map(|report| report.counters.dropped()).sum(),
            drops_by_reason,
            lost: reports.iter().map(|report| report.lost).sum(),
            no_route: simulation.no_route(),
            early: EarlyPackets::of(simulation.early()),
            timeouts: sum(&|flow| flow.timeouts),
            waits: WaitCounts::of(flows.iter()),
            retransmissions: sum(&|flow| flow.retransmissions),
            ecn_cuts: sum(&|flow| flow.ecn_cuts),
            pauses: None,
            trims: None,
            paths: PathUse::of(simulation.graph(), reports),
            bottleneck: bottleneck(reports),
            offered: offered
                .map(|o| OfferedLoad {
                    sizes: o.tables.iter().map(TableMean::of).collect(),
                    payload: o.payload_load(),
                    wire: o.wire_load(),
                })
                .collect(),
            packet_hops: simulation.packet_hops(),
            events: simulation.events(),
            simulated_s: simulation.now().as_secs_f64(),
            complete: true,
            warnings: Vec::new(),
            seed: scenario.run.seed,
            version: env!("CARGO_PKG_VERSION").into(),
            build: BUILD.into(),
            schema_version: SCHEMA_VERSION,
        };
        summary.warnings = warnings(scenario, simulation, &summary, flows, reports, held);
        summary
    }
}

/// Mean and percentiles 50, 95, 99, 99.9 of a list; none of an empty one.
fn statistics(mut values: Vec<f64>) -> (u64, [Option<f64>; 5]) {
    // A total order, by bits where need be: `partial_cmp` would leave the order to the input.
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 {
        return (0, [None; 5]);
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    // The value with ⌊np⌋ below it: of 100 values the 99th percentile is the greatest.
    let percentile = |permille: usize| Some(values[(n * permille / 1000).min(n - 1)]);
    (n as u64, [Some(mean), percentile(500), percentile(950), percentile(990), percentile(999)])
}

impl TableMean {
    fn of(table: &TableOffered) -> TableMean {
        TableMean {
            name: table.name.clone(),
            mean_bytes: table.stated_mean_bytes,
            drawn_mean_bytes: table.drawn_mean_bytes,
        }
    }
}

impl Fct {
    /// FCTs by size class, of flows given by size in bytes and FCT in microseconds.
    fn by_size(flows: &[(u64, f64)], small: u64, large: u64) -> BySize<Fct> {
        let of = |class: &dyn Fn(u64) -> bool| {
            Fct::of(flows.iter().filter(|(size, _)| class(*size)).map(|&(_, us)| us).collect())
        };
        BySize {
            all: of(&|_| true),
            small: of(&|size| size <= small),
            medium: of(&|size| size > small && size <= large),
            large: of(&|size| size > large),
        }
    }

    pub(super) fn of(values_us: Vec<f64>) -> Fct {
        let (n, [mean_us, p50_us, p95_us, p99_us, p999_us]) = statistics(values_us);
        Fct { n, mean_us, p50_us, p95_us, p99_us, p999_us }
    }
}

impl Slowdown {
    pub(super) fn of(values: Vec<f64>) -> Slowdown {
        let (n, [mean, p50, p95, p99, p999]) = statistics(values);
        Slowdown { n, mean, p50, p95, p99, p999 }
    }
}

fn bottleneck(reports: &[PortReport]) -> Option<Bottleneck> {
    let ports = reports.iter().filter(|report| report.info.is_switch());
    // The first of the busiest, so that equals do not depend on the iterator.
    let busiest = ports.reduce(|a, b| if b.sending > a.sending { b } else { a })?;
    let lengths = busiest.lengths.as_ref().map(|(_, port)| port);
    Some(Bottleneck {
        port: busiest.info.name.clone(),
        utilisation: busiest.sending,
        mean_bytes: lengths.map(|l| l.mean_bytes),
        p99_bytes: lengths.map(|l| l.p99_bytes),
        max_bytes: lengths.map(|l| l.max_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HostId;
    use switchbed_units::Bytes;

    #[test]
    fn jains_index_of_a_lone_flow_among_four_is_a_quarter() {
        let flow = |received| FlowRecord {
            row: 0,
            traffic: 0,
            src: HostId(0),
            dst: HostId(1),
            key: 0,
            class: 0,
            size: None,
            start: Time::ZERO,
            end: None,
            request: None,
            received: Bytes::new(received),
            timeouts: 0,
            waits: crate::transport::Waits::default(),
            failed: None,
            retransmissions: 0,
            ecn_cuts: 0,
            handshake: false,
            without_ecn: false,
        };
        let jain = |received: &[u64]| {
            let flows: Vec<_> = received.iter().map(|&r| flow(r)).collect();
            Endless::of(flows.into_iter(), Time::ZERO).map(|e| (e.n, e.jain))
        };
        assert_eq!(jain(&[1000, 0, 0, 0]), Some((4, 0.25)));
        assert_eq!(jain(&[700, 700]), Some((2, 1.0)));
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn percentiles_are_the_element_at_p_n() {
        let (n, found) = statistics((0..2000).rev().map(f64::from).collect());
        let wanted = [999.5, 1000.0, 1900.0, 1980.0, 1998.0].map(Some);
        assert_eq!((n, found), (2000, wanted));
        assert_eq!(statistics(vec![7.0]), (1, [Some(7.0); 5]));
        assert_eq!(statistics(vec![]), (0, [None; 5]));
    }
}
