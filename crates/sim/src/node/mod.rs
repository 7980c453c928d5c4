//! Nodes: what sends and receives packets. Each owns its state; they know of each other by
//! packets, and hosts by [`notice`]s.
//!
//! | file | what |
//! | --- | --- |
//! | `fabric` | the nodes of a shard, as the engine moves them |
//! | `lengths` | changes of measured queues on their way into statistics |
//! | `link` | a port with its line, and the way behind it |
//! | `links` | changes of links during a run |
//! | `met` | marks, drops and waits of each transport's packets |
//! | `switch` | a switch |
//! | `pausing` | its part in priority-based flow control |
//! | `host` | a host |
//! | `uplink` | the way out of a host |
//! | `notice` | what the applications at both ends of a connection know of each other |

pub(crate) mod fabric;
pub(crate) mod host;
mod lengths;
mod link;
mod links;
pub(crate) mod met;
pub(crate) mod notice;
mod pausing;
mod switch;
mod uplink;

pub(crate) use link::transit::terms;
pub(crate) use pausing::Cause;

use crate::engine::tie::Ties;
use crate::ids::{NodeId, ShardId};
use crate::packet::Payload;
use crate::topology::Route;
use notice::Notice;
use std::sync::Arc;
use switchbed_qdisc::memory::pfc::Pfc;
use switchbed_qdisc::{Cargo, Packet};
use switchbed_scenario::Routing;
use switchbed_units::{Span, Time};

/// State that all nodes share.
pub(crate) struct Shared {
    pub(crate) settings: host::Settings,
    pub(crate) route: Arc<dyn Route>,
    pub(crate) routing: Routing,
    /// Switches choose ports as packets arrive: packets leave for them with [`crate::routing::Noted`] in place of a port.
    pub(crate) routed: bool,
    /// Switches choose by the load of ports.
    pub(crate) looks_at_ports: bool,
    /// Switches choose by a table of flowlets.
    pub(crate) remembers_flows: bool,
    /// Links may go down or be drained: switches choose as packets arrive.
    pub(crate) reroutes: bool,
    pub(crate) ties: Ties,
    pub(crate) frames: Frames,
    /// Which classes are paused before they lose.
    pub(crate) pfc: Option<Pfc>,
    /// How many pauses a queue, and how many causes of them a switch remembers.
    pub(crate) remembers: [usize; 2],
    /// Each host's shard, and its number there.
    pub(crate) hosts: Vec<(ShardId, NodeId)>,
}

/// How congestion notifications travel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// Some scheme sends them.
    pub(crate) sent: bool,
    /// Service class of the notifications.
    pub(crate) class: u8,
    /// Length on the wire in bytes.
    pub(crate) len_bytes: u32,
    /// Time from the sample to the first bit.
    pub(crate) delay: Span,
}

/// Event for a node of another shard.
pub(crate) enum Parcel {
    /// A packet.
    Packet { at: Time, node: NodeId, packet: Packet, payload: Payload, cargo: Cargo },
    /// Word for a host.
    Notice { node: NodeId, notice: Box<Notice> },
}

/// Code of an event: a packet's slot, or with these bits set the number of a notice or of a flow
/// that starts. At one instant they come in this order.
const NOTICE: u32 = 1 << 30;
// The code with all bits set, of class 3, is `WAKE`.
const START: u32 = 2 << 30;

/// The class of an event.
#[inline]
const fn class(what: u32) -> u32 {
    what >> 30
}

/// Among those of its class.
#[inline]
const fn index(what: u32) -> u32 {
    what & (NOTICE - 1)
}
