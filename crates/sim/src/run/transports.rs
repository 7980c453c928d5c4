//! Results by transport, where a run has several.

use crate::flow::FlowRecord;
use crate::node::met::Met;
use crate::nullable::nullable;
use crate::records::Records;
use crate::run::decided::WaitCounts;
use crate::run::summary::{Endless, Fct, Slowdown};
use crate::simulation::Simulation;
use crate::table::{Table, Values};
use serde::{Deserialize, Serialize};
use switchbed_scenario::Scenario;
use switchbed_scenario::protocols::Protocols;

/// Results of one transport's flows, where there is more than one transport.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct TransportTimes {
    /// The kind, with the keys by which it differs from others of that kind.
    pub transport: String,
    /// Flows that count.
    pub flows: u64,
    /// Of its flows that count and have ended.
    pub fct: Fct,
    /// Of the same flows.
    pub slowdown: Slowdown,
    /// Payload received a second since the warm-up.
    pub goodput_bps: f64,
    /// The part of all payload received.
    pub share: f64,
    /// Flows that send as long as they run; null without any.
    #[serde(deserialize_with = "nullable")]
    pub endless: Option<Endless>,
    /// Retransmission timeouts since the warm-up, of all its flows.
    pub timeouts: u64,
    /// Waits by the timer that ended them since the warm-up, of all its flows; older summaries lack them.
    #[serde(default)]
    pub waits: WaitCounts,
    /// Segments sent again since the warm-up, of all its flows.
    pub retransmissions: u64,
    /// Window cuts for marks since the warm-up, of all its flows.
    pub ecn_cuts: u64,
    /// Packets of it that left a port with a mark of that port since the warm-up. Older summaries
    /// lack this and the following.
    #[serde(default)]
    pub marks: u64,
    /// Packets of it that a port dropped since the warm-up.
    #[serde(default)]
    pub drops: u64,
    /// Waits of its data in switches' queues since the warm-up.
    #[serde(default)]
    pub wait: Waits,
}

/// Waits of packets in the queues that they passed, from arrival to the start of transmission: one a
/// packet and switch, 0 at an idle port. Percentiles are at most 1/64 too high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Waits {
    /// Waits behind these figures.
    pub n: u64,
    /// Mean in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub mean_us: Option<f64>,
    /// Median in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p50_us: Option<f64>,
    /// 99th percentile in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub p99_us: Option<f64>,
    /// Longest in microseconds.
    #[serde(deserialize_with = "nullable")]
    pub max_us: Option<f64>,
}

impl Waits {
    fn of(met: &Met) -> Waits {
        Waits {
            n: met.waited(),
            mean_us: met.mean_us(),
            p50_us: met.percentile_us(500),
            p99_us: met.percentile_us(990),
            max_us: met.max_us(),
        }
    }
}

impl TransportTimes {
    /// Of each transport of a scenario; of none where all flows have one.
    pub(super) fn of(
        scenario: &Scenario,
        simulation: &Simulation,
        flows: &Records,
        elapsed_s: f64,
    ) -> Vec<TransportTimes> {
        let protocols = Protocols::of(scenario);
        if protocols.all().len() < 2 {
            return Vec::new();
        }
        // Towards hosts of another stack a transport has the name of the one among its own.
        let known = protocols.names();
        let mut names: Vec<String> = Vec::new();
        let rows: Vec<usize> = known.iter().map(|name| row(&mut names, name)).collect();
        let since = simulation.warmed_at();
        let row_of = |flow: &FlowRecord| {
            rows[usize::from(protocols.place(flow.traffic, flow.class, (flow.src, flow.dst)))]
        };
        let all = flows.iter().map(|flow| flow.received.get()).sum::<u64>() as f64;
        let mut met = vec![Met::default(); names.len()];
        for (place, of) in simulation.met().iter().enumerate() {
            met[rows[place]].add(of);
        }
        let each = |((row, name), met): ((usize, String), Met)| {
            let own = || flows.timed().filter(|of| row_of(&of.flow) == row);
            let counted = || own().filter(|of| of.flow.counts_since(since));
            let ended = || counted().filter(|of| of.flow.size.is_some() && !of.fct_s.is_nan());
            let sum = |f: fn(&FlowRecord) -> u32| own().map(|of| u64::from(f(&of.flow))).sum();
            let bytes = own().map(|of| of.flow.received.get()).sum::<u64>() as f64;
            TransportTimes {
                transport: name,
                flows: counted().count() as u64,
                fct: Fct::of(ended().map(|of| of.fct_s * 1e6).collect()),
                slowdown: Slowdown::of(ended().map(|of| of.slowdown).collect()),
                goodput_bps: if elapsed_s > 0.0 { bytes * 8.0 / elapsed_s } else { 0.0 },
                share: if all > 0.0 { bytes / all } else { 0.0 },
                endless: Endless::of(own().map(|of| of.flow), since),
                timeouts: sum(|flow| flow.timeouts),
                waits: WaitCounts::of(own().map(|of| of.flow)),
                retransmissions: sum(|flow| flow.retransmissions),
                ecn_cuts: sum(|flow| flow.ecn_cuts),
                marks: met.marks,
                drops: met.drops,
                wait: Waits::of(&met),
            }
        };
        let rows = names.into_iter().enumerate().zip(met).map(each);
        // Not all stacks of hosts send by each entry's transport.
        let several = !protocols.stacks().is_empty();
        let sends = |row: &TransportTimes| row.flows > 0 || row.goodput_bps > 0.0 || row.wait.n > 0;
        rows.filter(|row| !several || row.endless.is_some() || sends(row)).collect()
    }
}

/// The row of a name, which is put last if it has none.
fn row(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|other| other == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// The same as a table, a row a transport.
pub(super) fn table(all: &[TransportTimes]) -> Table {
    let u64s = |f: fn(&TransportTimes) -> u64| Values::U64(all.iter().map(f).collect());
    let f64s = |f: fn(&TransportTimes) -> Option<f64>| {
        Values::F64(all.iter().map(|of| f(of).unwrap_or(f64::NAN)).collect())
    };
    let names = Values::Text(all.iter().map(|of| of.transport.clone()).collect());
    Table::new([
        (
            "transport",
            "",
            "kind, with the keys by which it differs from others of that kind",
            names,
        ),
        ("flows", "", "flows that count", u64s(|of| of.flows)),
        (
            "goodput_bps",
            "bit/s",
            "payload received a second since the warm-up",
            f64s(|of| Some(of.goodput_bps)),
        ),
        ("share", "", "part of all payload received", f64s(|of| Some(of.share))),
        (
            "jain",
            "",
            "Jain's index of the goodputs of its endless flows; null without any",
            f64s(|of| of.endless.map(|endless| endless.jain)),
        ),
        ("finished", "", "flows behind the FCTs", u64s(|of| of.fct.n)),
        ("fct_mean_us", "us", "mean FCT", f64s(|of| of.fct.mean_us)),
        ("fct_p50_us", "us", "median FCT", f64s(|of| of.fct.p50_us)),
        ("fct_p99_us", "us", "99th percentile of FCTs", f64s(|of| of.fct.p99_us)),
        ("slowdown_mean", "", "mean slowdown", f64s(|of| of.slowdown.mean)),
        ("slowdown_p99", "", "99th percentile of slowdowns", f64s(|of| of.slowdown.p99)),
        (
            "wait_mean_us",
            "us",
            "mean wait of its data in a switch's queue",
            f64s(|of| of.wait.mean_us),
        ),
        ("wait_p50_us", "us", "median of these waits", f64s(|of| of.wait.p50_us)),
        ("wait_p99_us", "us", "99th percentile of these waits", f64s(|of| of.wait.p99_us)),
        ("wait_max_us", "us", "longest of these waits", f64s(|of| of.wait.max_us)),
        (
            "waits",
            "",
            "waits behind these figures, one a data packet and switch",
            u64s(|of| of.wait.n),
        ),
        ("marks", "", "packets that left a port with a mark of that port", u64s(|of| of.marks)),
        ("drops", "", "packets that a port dropped", u64s(|of| of.drops)),
        ("timeouts", "", "retransmission timeouts since the warm-up", u64s(|of| of.timeouts)),
        (
            "retransmissions",
            "",
            "segments sent again since the warm-up",
            u64s(|of| of.retransmissions),
        ),
        ("ecn_cuts", "", "window cuts for marks since the warm-up", u64s(|of| of.ecn_cuts)),
    ])
}
