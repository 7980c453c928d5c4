//! Trimmed packets of a run: their sums, and the table `trims`.

use crate::simulation::PortReport;
use crate::table::{Names, Table, Values};
use serde::{Deserialize, Serialize};
use switchbed_qdisc::port::trim::Trims;

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
pub(crate) fn table(reports: &[PortReport]) -> Table {
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
