//! A host: its network card, its delay, and what it does to several packets at a time.

use crate::param::{FRACTION, Param, ParamKind, Section};
use serde::Serialize;
use switchbed_qdisc::units::{Bytes, Span};

/// Every host of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// The largest packet on the wire, headers counted; `pkt` as a unit means this.
    pub mtu: Bytes,
    /// The network card's queue.
    #[serde(flatten)]
    pub nic: NicQueue,
    /// Time between transport and wire, each way, added to the access link's propagation.
    pub delay: Span,
    /// The longest random processing time of an arrived packet; zero: none.
    pub jitter: Span,
    /// Sending several packets at once.
    #[serde(flatten)]
    pub lso: Lso,
    /// Interrupts for several frames.
    #[serde(flatten)]
    pub coalesce: Coalesce,
    /// Packets merged on arrival.
    #[serde(flatten)]
    pub merge: Merge,
}

/// Large segment offload (Shan and Ren, INFOCOM 2017, section II-A): a sender waits until it
/// may send min(L, β·window), and hands that over at once. Off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lso {
    /// Whether it is on.
    #[serde(rename = "lso")]
    pub on: bool,
    /// L, payload of the largest segment.
    #[serde(rename = "lso_max")]
    pub max: Bytes,
    /// β, the share of the window that is worth sending.
    #[serde(rename = "lso_beta")]
    pub beta: f64,
    /// Whether data is held back after a cut for a mark, too.
    #[serde(rename = "lso_after_cut")]
    pub after_cut: bool,
}

/// Interrupt coalescing: a host looks at arrived frames when so many wait, or when the
/// first has waited so long. Off where `time` is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coalesce {
    /// Frames that raise an interrupt at once; 0: only time does.
    #[serde(rename = "coalesce_frames")]
    pub frames: u32,
    /// The longest that a frame waits for the interrupt.
    #[serde(rename = "coalesce_time")]
    pub time: Span,
}

/// Receive offload: up to `packets` packets of a flow become one before TCP sees them, and
/// cause one ACK. Off where `packets` is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// Most packets merged.
    #[serde(rename = "merge_packets")]
    pub packets: u32,
    /// The longest that the first waits for the others, without interrupt coalescing; with
    /// it, what one interrupt brings is merged.
    #[serde(rename = "merge_time")]
    pub time: Span,
}

impl Default for Merge {
    fn default() -> Merge {
        Merge { packets: 1, time: Span::ZERO }
    }
}

/// `[host]`.
pub const SECTION: Section = Section {
    name: "host",
    repeated: false,
    doc: "Every host: its network card, its delay, and offloads, each off by default.",
    keys: &[
        Param::with_default(
            "mtu",
            ParamKind::Size,
            "1500B",
            "The largest packet on the wire, headers counted; the unit pkt means this.",
        ),
        Param::with_default(
            "nic",
            ParamKind::Word(&["fifo", "switch"]),
            "fifo",
            "The queue in front of the host's link. fifo: one queue with tail drop, which \
             never marks. switch: what [switch] and [scheme] say, marking included.",
        ),
        Param::with_default(
            "nic_buffer",
            ParamKind::Size,
            "1000pkt",
            "fifo: its size (Linux: 1000 packets).",
        ),
        Param::with_default(
            "delay",
            ParamKind::Time,
            "0us",
            "Time between transport and wire, each way.",
        ),
        Param::with_default(
            "jitter",
            ParamKind::Time,
            "0us",
            "The longest random time, uniform from 0us, that a host takes over each arrived \
             packet, in their order; 0us: none. Breaks the lock-step of equal hosts \
             (docs/hosts.md).",
        ),
        Param::with_default(
            "lso",
            ParamKind::Flag,
            "false",
            "Large segment offload: a sender holds new data back until it may send the lesser \
             of lso_max and lso_beta of its window, and sends that at line rate. Not held \
             back: the end of what the application wrote, and anything while losses are \
             repaired or (see lso_after_cut) the window was just cut.",
        ),
        Param::with_default(
            "lso_max",
            ParamKind::Size,
            "64KiB",
            "Payload of the largest segment handed over, in whole packets (Linux: 64 KiB).",
        ),
        Param::with_default(
            "lso_beta",
            FRACTION,
            "0.3333333333333333",
            "Share of the window that is worth a segment, β (Linux: 1/3).",
        ),
        Param::with_default(
            "lso_after_cut",
            ParamKind::Flag,
            "false",
            "Whether data is held back, too, from a cut for a mark until all that was out \
             then is acknowledged. Linux leaves its open state there and sends at once.",
        ),
        Param::with_default(
            "coalesce_frames",
            ParamKind::Count { min: 0, max: 10_000 },
            "0",
            "Interrupt coalescing: so many waiting frames interrupt the host at once; 0: \
             only coalesce_time does.",
        ),
        Param::with_default(
            "coalesce_time",
            ParamKind::Time,
            "0us",
            "Interrupt coalescing: the longest that an arrived frame waits for the host to \
             look at it; 0us: no frame waits.",
        ),
        Param::with_default(
            "merge_packets",
            ParamKind::Count { min: 1, max: 10_000 },
            "1",
            "Receive offload: so many packets of a flow, in order and marked alike, become \
             one and cause one ACK; 1: none are merged.",
        ),
        Param::with_default(
            "merge_time",
            ParamKind::Time,
            "20us",
            "Receive offload: the longest that a packet waits for the next of its flow; with \
             interrupt coalescing, what one interrupt brings is merged and this has no \
             effect.",
        ),
    ],
};

/// The queue in front of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "nic", rename_all = "kebab-case")]
pub enum NicQueue {
    /// One FIFO of the given size with tail drop, which never marks.
    Fifo {
        /// Its size.
        #[serde(rename = "nic_buffer")]
        buffer: Bytes,
    },
    /// The switch ports' own discipline, marking included (as MQ-ECN's simulations have it).
    Switch,
}
