//! A host: its network card and its delay.

use crate::param::{Param, ParamKind, Section};
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
}

/// `[host]`.
pub const SECTION: Section = Section {
    name: "host",
    repeated: false,
    doc: "Every host: its network card and its delay.",
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
