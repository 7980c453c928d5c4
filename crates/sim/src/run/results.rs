//! Results of a run: tables of flows, queues and ports, and a summary.

use crate::deployed::Deployed;
use crate::flow::FlowRecord;
use crate::jobs::{self, JobTimes};
use crate::node::host::ProbeSample;
use crate::observe::capture::Capture;
use crate::observe::interference::Interference;
use crate::observe::series::QueueSample;
use crate::pauses::{Pause, Waited};
use crate::ports;
use crate::records::Records;
use crate::run::impossible::Impossible;
use crate::run::summary::{PauseCounts, Summary};
use crate::run::{impossible, transports as of_transports};
use crate::simulation::{PortReport, Simulation};
use crate::table::{Names, Table, Values};
use crate::transport::Wait;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use switchbed_qdisc::port::trim::Trims;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::Scenario;
use switchbed_scenario::protocols::Protocols;
use switchbed_units::{Bytes, Span, Time};

/// Tables and summary of a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// Headline figures, as `--json` writes them.
    pub summary: Summary,
    /// A row a flow, in the order of starts (or of the flow list).
    pub flows: Table,
    /// A row a measured queue, and one a port for all its queues together.
    pub queues: Table,
    /// Table with a row for each port.
    pub ports: Table,
    /// A row a sample and queue, if a series was asked for.
    pub series: Table,
    /// A row an interval and class, if their goodput was asked for.
    pub goodput: Table,
    /// A row a probe, if there are any.
    pub probes: Table,
    /// The tables of the monitors that were asked for, by name.
    pub monitors: Vec<(&'static str, Table)>,
    /// Packet traces, if any were asked for.
    pub captures: Vec<Capture>,
}

impl Results {
    pub(crate) fn new(
        scenario: &Scenario,
        mut simulation: Simulation,
        mut flows: Records,
        series: Vec<QueueSample>,
    ) -> Result<Results, Impossible> {
        flows.time(|flow| times(&simulation, flow));
        let reports = simulation.port_reports();
        let jobs = simulation.jobs(scenario);
        // Before any table: results that cannot be must not be written.
        impossible::check(scenario, &simulation, &flows, &reports, &jobs)?;
        let met = scenario.measure.giant.map(|giant| simulation.met_giants(&flows, giant));
        let met = met.as_deref();
        let paused = simulation.pauses_of(flows.iter());
        let held = held(paused.as_ref());
        let mut summary = Summary::new(scenario, &simulation, &flows, met, &reports, &held);
        summary.pauses = paused.as_ref().map(|paused| PauseCounts::of(&simulation, paused));
        summary.warnings.extend(crate::run::stalled::deadlocks(scenario, &simulation));
        summary.jobs = jobs.iter().map(JobTimes::from).collect();
        summary.warnings.extend(jobs::warnings(&jobs));
        summary.trims = TrimCounts::of(&reports);
        let captures = simulation.captures();
        for Capture { name, packets, missed, .. } in captures.iter().filter(|c| c.missed > 0) {
            summary.warnings.push(format!(
                "the trace of {name} has {packets} packets and lacks {missed} more: \
                 measure.capture_packets is {}",
                scenario.measure.capture_packets
            ));
        }
        for (table, at) in simulation.full() {
            summary.warnings.push(format!(
                "the table {table} ends at {at}, full: measure.samples is {}",
                scenario.measure.samples
            ));
        }
        // The summary moves into the results before its tables are made.
        let transports = summary.by_transport.clone();
        let summary_trims = summary.trims.is_some();
        let [queues, ports] = [queue_table(scenario, &reports), port_table(&simulation, &reports)];
        let series = series_table(&simulation, series);
        let goodput = goodput_table(scenario, &simulation);
        let probes = probe_table(&simulation);
        let monitors = {
            let mut tables = simulation.take_monitored();
            let several = !transports.is_empty();
            tables.extend(several.then(|| ("transports", of_transports::table(&transports))));
            tables.extend(simulation.pauses().map(|table| ("pauses", table)));
            tables.extend(summary_trims.then(|| ("trims", trims(&reports))));
            tables.extend((!jobs.is_empty()).then(|| ("jobs", jobs::table(&jobs))));
            tables.extend(simulation.take_operations().map(|table| ("operations", table)));
            tables.extend(paused.iter().flat_map(|paused| simulation.pause_tables(paused)));
            tables
        };
        let run = (simulation.warmed_at(), simulation.now());
        // Programs and connections give their memory to the largest table.
        drop(simulation);
        let flows = flow_table(scenario, run, flows, met, &held);
        Ok(Results { summary, flows, queues, ports, series, goodput, probes, monitors, captures })
    }
}

/// The FCT in seconds and the slowdown; NaN where there is none.
pub(crate) fn times(simulation: &Simulation, flow: &FlowRecord) -> (f64, f64) {
    let (Some(end), Some(empty)) = (flow.end, simulation.empty_fct_of(flow)) else {
        return (f64::NAN, f64::NAN);
    };
    let fct = end.since(flow.start).as_secs_f64();
    (fct, fct / empty.as_secs_f64())
}

/// A flow's place among its source's, by which pauses are found.
type Place = (u32, u64);

/// How long ports on flows' ways were held while they were under way since the warm-up.
pub(super) type Held = BTreeMap<Place, Span>;

fn held(paused: Option<&(Vec<Pause>, Option<Vec<Waited>>)>) -> Held {
    let waited = paused.iter().flat_map(|(_, waited)| waited.iter().flatten());
    waited.map(|of| ((of.flow.traffic, of.flow.row), of.held)).collect()
}

/// Columns of the table of flows, which are filled from the last row to the first.
struct FlowColumns {
    rows: Vec<u64>,
    /// Source, destination, class and traffic.
    about: [Vec<u32>; 4],
    sizes: Vec<f64>,
    starts_s: Vec<f64>,
    received: Vec<u64>,
    /// Timeouts, retransmissions and cuts.
    counts: [Vec<u32>; 3],
    counted: Vec<bool>,
    handshake: Vec<bool>,
    waited_for: Vec<u32>,
    waited_s: Vec<f64>,
    failed: Vec<bool>,
}

/// Words of the column `waited_for`, by its numbers.
const WAITED_FOR: [&str; Wait::ALL.len() + 2] = {
    let mut words = [""; Wait::ALL.len() + 2];
    let mut nth = 0;
    while nth < Wait::ALL.len() {
        words[nth + 1] = Wait::ALL[nth].name();
        nth += 1;
    }
    words[nth + 1] = "pause";
    words
};

impl FlowColumns {
    fn new(rows: usize) -> FlowColumns {
        // Zeros take no memory before they are written over.
        let u32s = || vec![0; rows];
        FlowColumns {
            rows: vec![0; rows],
            about: [u32s(), u32s(), u32s(), u32s()],
            sizes: vec![0.0; rows],
            starts_s: vec![0.0; rows],
            received: vec![0; rows],
            counts: [u32s(), u32s(), u32s()],
            counted: vec![false; rows],
            handshake: vec![false; rows],
            waited_for: u32s(),
            waited_s: vec![0.0; rows],
            failed: vec![false; rows],
        }
    }

    /// Writes a flow's row; `now` is the end of the run, and `warmed_at` that of its warm-up.
    fn put(&mut self, nth: usize, flow: &FlowRecord, held: &Held, warmed_at: Time, now: Time) {
        // Waits are in whole microseconds, rounded up.
        let over = flow.end.or(flow.failed).unwrap_or(now);
        // Rounding must not make a wait longer than the flow was under way.
        let most = over.since(flow.start.max(warmed_at).min(over));
        let timer = flow.waits.longest().map(|(wait, took)| (wait as usize + 1, took.min(most)));
        let pause = held.get(&(flow.traffic, flow.row)).map(|&held| (WAITED_FOR.len() - 1, held));
        // Of two that took as long, the timer.
        let longest = pause.into_iter().chain(timer).max_by_key(|&(_, took)| took);
        let (word, waited) = longest.unwrap_or((0, Span::ZERO));
        (self.waited_for[nth], self.waited_s[nth]) = (word as u32, waited.as_secs_f64());
        self.rows[nth] = flow.row;
        let about = [flow.src.0, flow.dst.0, flow.class.into(), flow.traffic];
        let counts = [flow.timeouts, flow.retransmissions, flow.ecn_cuts];
        for (column, value) in self.about.iter_mut().zip(about) {
            column[nth] = value;
        }
        for (column, value) in self.counts.iter_mut().zip(counts) {
            column[nth] = value;
        }
        self.sizes[nth] = flow.size.map_or(f64::NAN, Bytes::as_f64);
        self.starts_s[nth] = flow.start.as_secs_f64();
        self.received[nth] = flow.received.get();
        self.counted[nth] = flow.counts_since(warmed_at);
        self.handshake[nth] = flow.handshake;
        self.failed[nth] = flow.failed.is_some();
    }
}

/// The table of flows of a run with this end of its warm-up, and this end.
fn flow_table(
    scenario: &Scenario,
    (warmed_at, now): (Time, Time),
    flows: Records,
    met: Option<&[Interference]>,
    held: &Held,
) -> Table {
    let (transports, senders) = (transports(scenario, &flows), senders(scenario, &flows));
    let mut of = FlowColumns::new(flows.len());
    let ((fcts_s, slowdowns), rows) = flows.into_times_and_rows();
    for (nth, flow) in rows {
        of.put(nth, &flow, held, warmed_at, now);
    }
    let [src, dst, class, traffic] = of.about.map(Values::U32);
    let [timeouts, retransmissions, ecn_cuts] = of.counts.map(Values::U32);
    let waited_for = Values::Names(Names::with_rows(&WAITED_FOR, of.waited_for));
    let columns = [
        (
            "row",
            "",
            "number in the order of starts, or row of the flow list, from 0",
            Values::U64(of.rows),
        ),
        ("src", "", "sending host", src),
        ("dst", "", "receiving host", dst),
        ("class", "", "class (DSCP)", class),
        ("traffic", "", "its source's place among `[[traffic]]`, from 0", traffic),
        (
            "size_bytes",
            "bytes",
            "payload; null: it sends as long as it runs",
            Values::F64(of.sizes),
        ),
        (
            "start_s",
            "s",
            "when the application wrote it, or asked for it",
            Values::F64(of.starts_s),
        ),
        ("fct_s", "s", "flow completion time; null: not finished", Values::F64(fcts_s)),
        (
            "slowdown",
            "",
            "fct over the ideal one: packets back to back at the line's rate, no handshake, no window",
            Values::F64(slowdowns),
        ),
        (
            "received_bytes",
            "bytes",
            "payload taken in order by the receiver since the warm-up",
            Values::U64(of.received),
        ),
        ("timeouts", "", "retransmission timeouts since the warm-up", timeouts),
        ("retransmissions", "", "segments sent again since the warm-up", retransmissions),
        ("ecn_cuts", "", "window cuts for marks since the warm-up", ecn_cuts),
        (
            "counted",
            "",
            "whether FCTs, slowdowns and numbers of flows count it: it started after the warm-up, or sends \
             as long as it runs and had not stopped by then",
            Values::Bool(of.counted),
        ),
        ("handshake", "", "whether it opened its connection", Values::Bool(of.handshake)),
        (
            "waited_for",
            "",
            "what it waited for longest since the warm-up: syn, rto_initial, rto, probe, delayed_ack (timers), \
             or pause; empty: for nothing",
            waited_for,
        ),
        ("waited_s", "s", "how long, all such waits together", Values::F64(of.waited_s)),
        ("failed", "", "whether its connection gave up", Values::Bool(of.failed)),
    ];
    let met = met.map(|met| {
        let words = Values::Names(met.iter().map(|met| met.name()).collect());
        ("met", "", "what it met of giant flows: nothing, output or path", words)
    });
    Table::new(columns.into_iter().chain(transports).chain(senders).chain(met))
}

/// The column of flows' transports, where there is more than one.
fn transports(
    scenario: &Scenario,
    flows: &Records,
) -> Option<(&'static str, &'static str, &'static str, Values)> {
    let protocols = Protocols::of(scenario);
    let known = protocols.names();
    let mut names = Names::with_capacity(flows.len());
    for flow in flows.iter() {
        // A transport may follow from the entry, the class or the pair of hosts.
        let place = protocols.place(flow.traffic, flow.class, (flow.src, flow.dst));
        names.push(&known[usize::from(place)]);
    }
    let doc = "its transport: the kind, with the keys by which it differs from others of that kind";
    (known.len() > 1).then_some(("transport", "", doc, Values::Names(names)))
}

/// The column of the senders' hosts, where hosts differ.
fn senders(
    scenario: &Scenario,
    flows: &Records,
) -> Option<(&'static str, &'static str, &'static str, Values)> {
    let protocols = Protocols::of(scenario);
    let labels = protocols.stacks();
    let mut names = Names::with_capacity(flows.len());
    if !labels.is_empty() {
        let label = |flow: FlowRecord| &labels[usize::from(protocols.stack(flow.src))];
        flows.iter().for_each(|flow| names.push(label(flow)));
    }
    let doc = "label of its sender's [[host]] entry";
    (!labels.is_empty()).then_some(("hosts", "", doc, Values::Names(names)))
}

/// The column of queues' schemes, where a port's differ.
fn queue_schemes(
    scenario: &Scenario,
    reports: &[PortReport],
) -> Option<(&'static str, &'static str, &'static str, Values)> {
    let Scenario { scheme, deploy, .. } = scenario;
    let mut all = deploy.iter().filter_map(|entry| entry.scheme.as_ref()).chain([scheme]);
    all.any(|scheme| !scheme.queues.is_empty()).then(|| {
        let graph = scenario.graph();
        let deployed = Deployed::new(scenario, &graph);
        let mut names = Names::with_capacity(reports.len());
        for report in reports {
            let Some((queues, _)) = &report.lengths else { continue };
            let (_, scheme) = deployed.at(report.info.cable.from);
            (0..queues.len()).for_each(|queue| names.push(&scheme.at(queue).label));
            names.push(&scheme.label);
        }
        ("scheme", "", "label of the queue's scheme, or of the port's", Values::Names(names))
    })
}

fn queue_table(scenario: &Scenario, reports: &[PortReport]) -> Table {
    let measured = || reports.iter().filter_map(|r| Some((&r.info.name, r.lengths.as_ref()?)));
    let rows = measured().map(|(_, (queues, _))| queues.len() + 1).sum();
    let (mut ports, mut queues) = (Names::with_capacity(rows), Names::with_capacity(rows));
    for (name, (lengths, _)) in measured() {
        for queue in 0..lengths.len() {
            ports.push(name);
            queues.push(&queue.to_string());
        }
        ports.push(name);
        queues.push("all");
    }
    let f64s = |f: &dyn Fn(&crate::observe::queue_stats::Lengths) -> f64| {
        let mut column = Vec::with_capacity(rows);
        column
            .extend(measured().flat_map(|(_, (queues, port))| queues.iter().chain([port]).map(f)));
        Values::F64(column)
    };
    let columns = [
        ("port", "", "switch and port number, or host", Values::Names(ports)),
        ("queue", "", "queue number, or `all` for the port", Values::Names(queues)),
        ("mean_bytes", "bytes", "time-weighted mean length", f64s(&|l| l.mean_bytes)),
        ("p50_bytes", "bytes", "time-weighted median", f64s(&|l| l.p50_bytes)),
        ("p95_bytes", "bytes", "95th percentile of time", f64s(&|l| l.p95_bytes)),
        ("p99_bytes", "bytes", "99th percentile of time", f64s(&|l| l.p99_bytes)),
        ("max_bytes", "bytes", "longest", f64s(&|l| l.max_bytes as f64)),
    ];
    Table::new(columns.into_iter().chain(queue_schemes(scenario, reports)))
}

fn port_table(simulation: &Simulation, reports: &[PortReport]) -> Table {
    let tiers = ports::tiers(simulation.graph(), simulation.ports());
    let u64s = |f: &dyn Fn(&PortReport) -> u64| Values::U64(reports.iter().map(f).collect());
    let drops = |why: DropReason| u64s(&|r| r.counters.drops[why as usize]);
    let rates = Values::F64(reports.iter().map(|r| r.info.cable.rate.as_bps() as f64).collect());
    let utilisation = Values::F64(reports.iter().map(|r| r.utilisation).collect());
    let names = Values::Text(reports.iter().map(|r| r.info.name.clone()).collect());
    // A node's name is what its ports' begin with.
    let node = |r: &PortReport| r.info.name.split(':').next().unwrap_or_default().to_string();
    let nodes: BTreeMap<_, _> = reports.iter().map(|r| (r.info.cable.from, node(r))).collect();
    let to = Values::Text(reports.iter().map(|r| nodes[&r.info.cable.to].clone()).collect());
    let underflow =
        reports.iter().map(|r| r.underflow.map_or(f64::NAN, |idle| idle.as_secs_f64())).collect();
    Table::new([
        ("port", "", "switch and port number, or host", names),
        ("to", "", "the host or switch at its line's other end", to),
        ("rate_bps", "bit/s", "line rate", rates),
        (
            "utilisation",
            "",
            "share of the time that its line was up in which it was sending, pause frames included",
            utilisation,
        ),
        (
            "underflow_s",
            "s",
            "time that the line idled while a sender had data for it; null: not monitored",
            Values::F64(underflow),
        ),
        (
            "sent_packets",
            "",
            "packets whose transmission began, pause frames apart",
            u64s(&|r| r.counters.sent),
        ),
        ("sent_bytes", "bytes", "their bytes", u64s(&|r| r.counters.sent_bytes)),
        (
            "marked_packets",
            "",
            "packets that left with a CE mark of this port",
            u64s(&|r| r.counters.marked),
        ),
        (
            "unmarkable_packets",
            "",
            "marks that could not be carried out: not ECN-capable",
            u64s(&|r| r.counters.unmarkable),
        ),
        (
            "notified_packets",
            "",
            "packets whose source was sent a congestion notification",
            u64s(&|r| r.counters.notified),
        ),
        (
            "lost_packets",
            "",
            "sent packets that the line lost, as an `[[event]]` said",
            u64s(&|r| r.lost),
        ),
        ("drops_full", "", "arrivals refused because the buffer was full", drops(DropReason::Full)),
        (
            "drops_not_ecn_capable",
            "",
            "arrivals to be marked that were not ECN-capable",
            drops(DropReason::NotEcnCapable),
        ),
        ("drops_early", "", "arrivals dropped on purpose", drops(DropReason::Early)),
        (
            "drops_pushed_out",
            "",
            "queued packets displaced by arrivals",
            drops(DropReason::PushedOut),
        ),
        (
            "drops_at_departure",
            "",
            "packets dropped instead of sent",
            drops(DropReason::AtDeparture),
        ),
        (
            "tiers",
            "",
            "tiers of the nodes at its line's ends, such as `leaf-spine`; a host's is `host`",
            Values::Text(tiers),
        ),
    ])
}

fn series_table(simulation: &Simulation, series: Vec<QueueSample>) -> Table {
    series_of(series.iter().map(|s| SeriesRow {
        time_s: s.at.as_secs_f64(),
        port: &simulation.ports()[s.link.index()].name,
        queue: s.queue as u32,
        bytes: s.bytes.get(),
        threshold_bytes: s.threshold_bytes,
        round_time_s: s.round_time.as_secs_f64(),
        port_marked: s.port_marked,
        port_dropped: s.port_dropped,
    }))
}

/// A row of the table `series`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "its columns say what they mean")]
pub struct SeriesRow<'a> {
    pub time_s: f64,
    pub port: &'a str,
    pub queue: u32,
    pub bytes: u64,
    pub threshold_bytes: f64,
    pub round_time_s: f64,
    pub port_marked: u64,
    pub port_dropped: u64,
}

/// The table `series` of these rows, whoever measured them; there may be millions.
pub fn series_of<'a>(rows: impl ExactSizeIterator<Item = SeriesRow<'a>>) -> Table {
    let n = rows.len();
    let mut times = Vec::with_capacity(n);
    let mut ports = Names::with_capacity(n);
    let mut queues = Vec::with_capacity(n);
    let mut lengths = Vec::with_capacity(n);
    let mut thresholds = Vec::with_capacity(n);
    let mut round_times = Vec::with_capacity(n);
    let mut marked = Vec::with_capacity(n);
    let mut dropped = Vec::with_capacity(n);
    for row in rows {
        times.push(row.time_s);
        ports.push(row.port);
        queues.push(row.queue);
        lengths.push(row.bytes);
        thresholds.push(row.threshold_bytes);
        round_times.push(row.round_time_s);
        marked.push(row.port_marked);
        dropped.push(row.port_dropped);
    }
    Table::new([
        ("time_s", "s", "when", Values::F64(times)),
        ("port", "", "switch and port number, or host", Values::Names(ports)),
        ("queue", "", "queue number", Values::U32(queues)),
        ("bytes", "bytes", "its length", Values::U64(lengths)),
        (
            "threshold_bytes",
            "bytes",
            "the marking threshold in force; null where there is none",
            Values::F64(thresholds),
        ),
        (
            "round_time_s",
            "s",
            "the smoothed round time; 0 where the scheme has none",
            Values::F64(round_times),
        ),
        (
            "port_marked_packets",
            "",
            "packets that had left its port with a CE mark of that port",
            Values::U64(marked),
        ),
        ("port_dropped_packets", "", "packets that its port had dropped", Values::U64(dropped)),
    ])
}

/// Every interval has a row for each class that ever received anything or was due anything.
fn goodput_table(scenario: &Scenario, simulation: &Simulation) -> Table {
    let every = scenario.measure.goodput_every.map_or(0.0, Span::as_secs_f64);
    let samples = simulation.goodputs();
    let class_has = |class: &usize| {
        samples.iter().any(|sample| sample.taken(*class) > 0 || sample.fair_bits(*class) > 0.0)
    };
    // Classes that nobody used have no rows.
    let classes: Vec<usize> = (0..256).filter(class_has).collect();
    let rows = || samples.iter().flat_map(|sample| classes.iter().map(move |&c| (sample, c)));
    let goodput = rows().map(|(sample, class)| sample.taken(class) as f64 * 8.0 / every);
    let fair = rows().map(|(sample, class)| sample.fair_bits(class) / every);
    let ends = rows().map(|(sample, _)| sample.at.as_secs_f64());
    Table::new([
        ("time_s", "s", "the interval's end", Values::F64(ends.collect())),
        ("class", "", "class (DSCP)", Values::U32(rows().map(|(_, c)| c as u32).collect())),
        (
            "goodput_bps",
            "bit/s",
            "payload that its receivers took in order, over the interval",
            Values::F64(goodput.collect()),
        ),
        (
            "fair_bps",
            "bit/s",
            "payload that endless flows and on-off sources would have in max-min fair shares, \
             by the scheme's weights and caps",
            Values::F64(fair.collect()),
        ),
    ])
}

fn probe_table(simulation: &Simulation) -> Table {
    let probes = simulation.probes();
    let u32s = |f: &dyn Fn(&ProbeSample) -> u32| Values::U32(probes.iter().map(f).collect());
    let f64s = |f: &dyn Fn(&ProbeSample) -> f64| Values::F64(probes.iter().map(f).collect());
    Table::new([
        ("time_s", "s", "when it was sent", f64s(&|probe| probe.sent.as_secs_f64())),
        ("src", "", "the host that sent it", u32s(&|probe| probe.src.0)),
        ("dst", "", "the host that sent it back", u32s(&|probe| probe.dst.0)),
        ("class", "", "class (DSCP), there and back", u32s(&|probe| u32::from(probe.class))),
        (
            "rtt_s",
            "s",
            "round-trip time; null: lost, or still on its way",
            f64s(&|probe| probe.rtt.map_or(f64::NAN, Span::as_secs_f64)),
        ),
    ])
}

/// Sums of trimmed packets over all ports since the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrimCounts {
    /// Packets that were cut because the memory refused them, those that were then dropped among them.
    pub trim_packets: u64,
    /// Cut packets that left the port that had cut them.
    pub tx_trim_packets: u64,
    /// Cut packets that were dropped there: their queue refused or lost them.
    pub dropped_trim_packets: u64,
    /// Bytes that were cut off packets which were then queued.
    pub cut_bytes: u64,
}

impl TrimCounts {
    /// Sums over a run's ports; `None` where none trims.
    pub(crate) fn of(reports: &[PortReport]) -> Option<TrimCounts> {
        let trims = || reports.iter().filter(|report| !report.trims.is_empty());
        trims().next()?;
        let sum = trims().fold(Trims::NONE, |sum, report| sum.with(&report.counters.trims));
        Some(TrimCounts {
            trim_packets: sum.trimmed,
            tx_trim_packets: sum.sent,
            dropped_trim_packets: sum.dropped,
            cut_bytes: trims().map(|report| report.counters.cut_bytes).sum(),
        })
    }
}

/// The table `trims`: queues with trimmed packets.
fn trims(reports: &[PortReport]) -> Table {
    let queues = |report: &'_ PortReport| report.trims.clone().into_iter().enumerate();
    let rows: Vec<(&PortReport, usize, Trims)> = reports
        .iter()
        .flat_map(|report| queues(report).map(move |(queue, trims)| (report, queue, trims)))
        .filter(|(_, _, trims)| *trims != Trims::NONE)
        .collect();
    let mut ports = Names::with_capacity(rows.len());
    rows.iter().for_each(|(report, ..)| ports.push(&report.info.name));
    let counts =
        |count: fn(&Trims) -> u64| Values::U64(rows.iter().map(|row| count(&row.2)).collect());
    let numbers = rows.iter().map(|row| row.1 as u32).collect();
    Table::new([
        ("port", "", "switch and port number, or host", Values::Names(ports)),
        ("queue", "", "queue number", Values::U32(numbers)),
        (
            "trim_packets",
            "",
            "packets of this queue that were cut because the memory refused them",
            counts(|trims| trims.trimmed),
        ),
        ("tx_trim_packets", "", "cut packets that left by this queue", counts(|trims| trims.sent)),
        (
            "dropped_trim_packets",
            "",
            "cut packets that were dropped: of this queue where no other admitted them, or in it",
            counts(|trims| trims.dropped),
        ),
    ])
}
