//! Contents of packets between hosts: the network carries a [`Payload`] without looking at it.

pub(crate) mod losses;
pub mod rdma;
pub mod segment;

pub use rdma::Rdma;
pub use segment::{Flags, MAX_SACKS, SackBlock, Segment};

use crate::ids::{ConnId, Maybe};
use switchbed_qdisc::hooks::Feedback;
use switchbed_qdisc::{Ecn, FlowId};

/// Content of a packet for its host, in a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Payload {
    /// The half that it is for; where that is not known yet, the packet's flow tells.
    pub to: Maybe<ConnId>,
    /// The half that it is from.
    pub from: Maybe<ConnId>,
    /// Kind of content.
    pub body: Body,
}

/// Kind of a packet's content.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// TCP's data or acknowledgement.
    Segment(Segment),
    /// Data that is never sent again.
    Datagram {
        /// Offset of its first byte in the connection's stream.
        offset: u64,
        /// Bytes.
        len: u32,
    },
    /// A queue pair's data, or the answer to it.
    Rdma(Rdma),
    /// A probe on its way there or back.
    Echo {
        /// Number of its source among all.
        source: u32,
        /// Number at that source.
        number: u32,
        /// On its way back.
        back: bool,
    },
    /// A switch's message to a source (IEEE 802.1Qau's congestion notification message).
    Notification(Feedback),
    /// A MAC control frame: a class is paused for so many quanta, none is a resume (IEEE 802.1Q, clause 36).
    Pause {
        /// The class.
        class: u8,
        /// The time, in 512 bit times of the line.
        quanta: u16,
    },
}

// One cache line: a field more would cost a second.
const _: () = assert!(size_of::<Payload>() == 64);

impl Payload {
    /// Makes a payload that belongs to no connection.
    pub fn loose(body: Body) -> Payload {
        Payload { to: Maybe::NONE, from: Maybe::NONE, body }
    }
}

/// The transport that a packet is of, by number among the run's, and whether it carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u16);

impl Label {
    /// Bits in use.
    pub(crate) const BITS: u32 = 9;
    /// No transport's: probes and the frames of switches.
    pub(crate) const NONE: Label = Label(u8::MAX as u16);
    // The low byte is the kind, of which there are 255 at most; the bit above it says data.
    const DATA: u16 = 1 << 8;

    /// Of data.
    pub(crate) const fn data(kind: u8) -> Label {
        Label(kind as u16 | Self::DATA)
    }
    /// Of an answer to data.
    pub(crate) const fn answer(kind: u8) -> Label {
        Label(kind as u16)
    }
    /// The transport's number.
    pub(crate) fn kind(self) -> usize {
        usize::from(self.0 as u8)
    }
    /// Whether the packet carries data.
    pub(crate) fn is_data(self) -> bool {
        self.0 & Self::DATA != 0
    }
    /// To be written down.
    pub(crate) const fn word(self) -> u32 {
        self.0 as u32
    }
    /// The one that was written down so.
    pub(crate) const fn of(word: u32) -> Label {
        Label(word as u16)
    }
}

/// The flow that notifications' frames are of: no connection's.
pub const NOTIFICATIONS: FlowId = FlowId(u32::MAX);
/// The flow of all probes' packets.
pub const PROBES: FlowId = FlowId(u32::MAX - 1);
/// Flow id of pause frames.
pub const PAUSES: FlowId = FlowId(u32::MAX - 2);

/// The last row whose connection has a name of its own.
pub const LAST_ROW: u64 = (1 << 31) - 3;

/// Returns the id of a connection that flow `row` opened: the direction of the flow's data, or that
/// of the requests for it.
pub fn flow_id(row: u64, requests: bool) -> FlowId {
    // The lowest bit tells a connection's two directions; `LAST_ROW` keeps clear of the ids above.
    FlowId((row as u32) << 1 | u32::from(requests))
}

/// The number of the flow that opened a connection; `None`: it is called for something else.
pub fn row_of(flow: FlowId) -> Option<u64> {
    (flow < PAUSES).then_some(u64::from(flow.0 >> 1))
}

/// A packet that a half wants sent, on its way to the card.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Content of the packet.
    pub body: Body,
    /// Length on the wire in bytes.
    pub len_bytes: u32,
    /// Whether it may be marked.
    pub ecn: Ecn,
    /// Service class, where it differs from the connection's.
    pub class: Option<u8>,
    /// Change of its connection's ECMP key, where packets are sprayed; 0: none.
    pub entropy: u32,
}
