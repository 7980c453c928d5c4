//! What is sent: flows from generators or lists.

use serde::Serialize;
use switchbed_qdisc::units::{Bytes, Span};

/// A source of flows. A scenario may have several; their flows are numbered in the
/// order of their starts, ties by the source's place in the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Traffic {
    /// Flows that arrive at every sending host as a Poisson process.
    Poisson {
        /// Payload bits offered by each sender, as a fraction of its link's rate.
        load: f64,
        /// Flows in all: the first so many to start.
        flows: u64,
        /// Flow sizes, one table for each entry (a service takes entry `service mod n`).
        sizes: Vec<Sizes>,
        /// Sending hosts.
        from: Vec<u32>,
        /// Receiving hosts, drawn uniformly (never the sender itself).
        to: Vec<u32>,
        /// Which service, and so which class, a flow belongs to.
        service: Service,
        /// How flows use connections.
        connections: Connections,
    },
    /// Flows that send as long as they run.
    LongLived {
        /// Sending hosts.
        from: Vec<u32>,
        /// The receiving host.
        to: u32,
        /// Flows from each sender.
        flows_each: u32,
        /// Classes, dealt to the flows in turn.
        classes: Vec<u8>,
        /// When the first starts.
        start: Span,
        /// How much later each next one starts.
        stagger: Span,
        /// When they stop; `None`: at the end of the run.
        stop: Option<Span>,
    },
    /// Flows from a CSV file.
    List {
        /// The file, as found from the scenario's folder.
        path: String,
        /// How flows use connections.
        connections: Connections,
    },
}

/// A flow-size distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Its name: a built-in table's, or the file's.
    pub name: String,
    /// Points (bytes, cumulative probability), both rising, the last at 1; linear between.
    pub points: Vec<(Bytes, f64)>,
    /// The mean that turns a load into an arrival rate, in bytes.
    pub mean_bytes: f64,
    /// Sizes are rounded up to whole multiples of this payload; `None`: to whole bytes.
    pub round_up_to: Option<Bytes>,
}

/// How flows are dealt to services.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Service {
    /// All flows in class 0.
    One,
    /// A service drawn for each flow with these probabilities (they sum to 1).
    Random(Vec<f64>),
    /// MQ-ECN's simulations: ((dst + 1)·hosts + (src + 1)) mod `n`.
    Pair(u8),
}

/// How flows use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Connections {
    /// A new connection for each flow, its handshake inside the FCT.
    Fresh,
    /// A new connection for each flow that starts established, without a handshake.
    FreshNoHandshake,
    /// One for each ordered pair (and class), carrying flow after flow; a flow that finds
    /// all of its pair's connections busy opens another, which stays.
    Persistent,
}
