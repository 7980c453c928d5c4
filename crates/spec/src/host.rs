//! A host: its network card and its delay.

use serde::Serialize;
use switchbed_qdisc::units::{Bytes, Span};

/// Every host of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// The largest packet on the wire, headers counted; `pkt` as a unit means this.
    pub mtu: Bytes,
    /// The network card's queue.
    pub nic: NicQueue,
    /// Time between transport and wire, each way, added to the access link's propagation.
    pub delay: Span,
}

/// The queue in front of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum NicQueue {
    /// One FIFO of the given size with tail drop, which never marks.
    Fifo {
        /// Its size.
        buffer: Bytes,
    },
    /// The switch ports' own discipline, marking included (as MQ-ECN's simulations have it).
    Switch,
}
