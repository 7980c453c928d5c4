//! Windows, round trips and rates of flows' senders, at even times or as they change, as `ss -i` shows them.

use super::monitors::{Ahead, Monitor};
use super::observer::{Asked, Observed, Observer, Site, Space, View};
use crate::ports::PortInfo;
use crate::table::{Table, Values};
use crate::transport::Snapshot;
use std::collections::BTreeMap;
use switchbed_congestion::Model;
use switchbed_scenario::measure::FlowSeries;
use switchbed_units::{Span, Time};

impl Monitor for FlowSeries {
    const TABLES: &'static [&'static str] = &["flow_series"];

    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let samples = match self.every {
            Some(every) => run.lasts_s / every.as_secs_f64() * run.open,
            // Each packet's ACK may be a row.
            None => run.packets_per_s * run.lasts_s * run.open,
        };
        Some(("rows of flow_series", samples, size_of::<SenderChange>() as u64))
    }
    fn observe(&self, site: &mut Site) -> Asked {
        Ok(Some(Box::new(Sampling {
            asked: self.clone(),
            next: self.every.map_or(Time::NEVER, |every| Time::ZERO + every),
            acked: BTreeMap::new(),
            samples: Vec::new(),
            space: Space::new(site.scenario.measure.samples),
        })))
    }
}

/// A flow under way, as its sender has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderState {
    /// The number of the flow among all of the run, and its row.
    pub(crate) number: u64,
    pub(crate) row: u64,
    /// The place of its entry among the traffic.
    pub(crate) traffic: u32,
    pub(crate) class: u8,
    pub(crate) start: Time,
    /// Bytes of the flow that are acknowledged.
    pub(crate) acked: u64,
    pub(crate) snapshot: Snapshot,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderChange {
    pub(crate) at: Time,
    /// The number of the flow among all of the run, and its row.
    pub(crate) number: u64,
    pub(crate) row: u64,
    pub(crate) delivered_bps: f64,
    pub(crate) snapshot: Snapshot,
}

impl SenderChange {
    /// Mean rate of so many bytes in such a time, in bit/s.
    pub(crate) fn rate(bytes: u64, over: Span) -> f64 {
        if over > Span::ZERO { bytes as f64 * 8.0 / over.as_secs_f64() } else { 0.0 }
    }
}

/// Column of the round trips that were measured.
fn measured(samples: &[SenderChange]) -> Table {
    let rtt = |of: &SenderChange| of.snapshot.rtt.map_or(f64::NAN, Span::as_secs_f64);
    Table::new([(
        "rtt_s",
        "s",
        "round trip that was measured then; null: none. Only where measure.flow_series has no every",
        Values::F64(samples.iter().map(rtt).collect()),
    )])
}

/// Columns of what controls that steer by a model take the path for, under the names of `ss -i`.
fn models(samples: &[SenderChange]) -> Table {
    let f64s = |f: fn(&Model) -> Option<f64>| {
        let value = |of: &SenderChange| of.snapshot.model.as_ref().and_then(f).unwrap_or(f64::NAN);
        Values::F64(samples.iter().map(value).collect())
    };
    let mode = |of: &SenderChange| of.snapshot.model.as_ref().map_or("", |model| model.mode);
    Table::new([
        (
            "mode",
            "",
            "state of BBR: startup, drain, probe-bw (bbr3: with its phase), probe-rtt; empty: no BBR",
            Values::Names(samples.iter().map(mode).collect()),
        ),
        (
            "bw_bps",
            "bit/s",
            "bandwidth that BBR takes the path for, payload; null: no BBR",
            f64s(|of| Some(of.bw as f64 * 8.0)),
        ),
        (
            "mrtt_s",
            "s",
            "the least round trip that BBR goes by; null: no BBR, or none yet",
            f64s(|of| of.min_rtt_us.map(|us| us as f64 / 1e6)),
        ),
        (
            "pacing_gain",
            "",
            "gain of BBR's pacing rate over bw_bps; null: no BBR",
            f64s(|of| Some(of.pacing_gain)),
        ),
        (
            "cwnd_gain",
            "",
            "gain of BBR's window over bw_bps times mrtt_s; null: no BBR",
            f64s(|of| Some(of.cwnd_gain)),
        ),
    ])
}

/// Samples the senders of a run.
struct Sampling {
    asked: FlowSeries,
    next: Time,
    /// Bytes acknowledged at the last sample, by flow.
    acked: BTreeMap<u64, (Time, u64)>,
    samples: Vec<SenderChange>,
    space: Space,
}

impl Observer for Sampling {
    fn next(&self) -> Time {
        self.next
    }

    fn look(&mut self, view: &mut View) -> u64 {
        let now = view.now;
        let mut states = view.network.senders();
        let work = view.graph.hosts() as u64 + states.len() as u64;
        states.retain(|of| self.asked.has(of.row, of.traffic, of.class));
        states.sort_unstable_by_key(|of| of.number);
        self.next = self.asked.every.map_or(Time::NEVER, |every| now + every);
        // All flows of a sample or none: half a sample would look like flows that have ended.
        if !self.space.take(states.len() as u64, now) {
            // Full for good: later samples would show other flows than earlier ones.
            self.next = Time::NEVER;
            return work;
        }
        let before = std::mem::take(&mut self.acked);
        for SenderState { number, row, start, acked, snapshot, .. } in states {
            // Before its first sample a flow had nothing, from its start on.
            let (since, had) = before.get(&number).copied().unwrap_or((start, 0));
            let delivered_bps = SenderChange::rate(acked.saturating_sub(had), now.since(since));
            self.acked.insert(number, (now, acked));
            self.samples.push(SenderChange { at: now, number, row, delivered_bps, snapshot });
        }
        work
    }

    fn senders_changed(&mut self, changes: &[SenderChange]) {
        let space = &mut self.space;
        self.samples.extend(changes.iter().take_while(|change| space.take(1, change.at)));
    }

    fn tables(&mut self, _: &mut View, _: &[PortInfo]) -> Vec<Table> {
        let samples = std::mem::take(&mut self.samples);
        let f64s = |f: fn(&SenderChange) -> Option<f64>| {
            Values::F64(samples.iter().map(|of| f(of).unwrap_or(f64::NAN)).collect())
        };
        let rows = Values::U64(samples.iter().map(|of| of.row).collect());
        let modelled = samples.iter().any(|of| of.snapshot.model.is_some());
        let bytes = Values::U64(samples.iter().map(|of| of.snapshot.in_flight_bytes).collect());
        let mut table = Table::new([
            ("time_s", "s", "when", f64s(|of| Some(of.at.as_secs_f64()))),
            ("row", "", "the flow's row in the table flows", rows),
            (
                "cwnd_packets",
                "packets",
                "congestion window; null: it has none",
                f64s(|of| of.snapshot.cwnd_packets),
            ),
            (
                "ssthresh_packets",
                "packets",
                "threshold of slow start; null: it has none",
                f64s(|of| of.snapshot.ssthresh_packets),
            ),
            ("in_flight_bytes", "bytes", "payload thought to be in the network", bytes),
            (
                "srtt_s",
                "s",
                "smoothed round-trip time; null before the first sample",
                f64s(|of| of.snapshot.srtt.map(Span::as_secs_f64)),
            ),
            (
                "pacing_bps",
                "bit/s",
                "rate at which it may send, headers of TCP not counted; null: it is not paced",
                f64s(|of| of.snapshot.pacing_bps),
            ),
            (
                "alpha",
                "",
                "marked fraction, smoothed; null: it has none",
                f64s(|of| of.snapshot.alpha),
            ),
            (
                "delivered_bps",
                "bit/s",
                "payload acknowledged since the sample before or the flow's start; of changes: in the last round trip",
                f64s(|of| Some(of.delivered_bps)),
            ),
        ]);
        if self.asked.every.is_none() {
            table.columns.extend(measured(&samples).columns);
        }
        if modelled {
            table.columns.extend(models(&samples).columns);
        }
        vec![table]
    }

    fn full(&self, _: &dyn Observed) -> Option<(&'static str, Time)> {
        Some(("flow_series", self.space.full_at()?))
    }
}
