//! Notices between the applications at the ends of a connection, without a packet: that there is a
//! connection, how long its flows are, when one has arrived. No notice affects a packet. It arrives
//! one lookahead later, the earliest time possible.

use crate::flow::FlowRecord;
use crate::ids::{ConnId, HostId, Maybe};
use crate::transport::Opening;
use switchbed_qdisc::FlowId;
use switchbed_units::{Bytes, Time};

/// Word for a host.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    /// When it is there.
    pub(crate) at: Time,
    /// Which host it is for.
    pub(crate) to: HostId,
    /// Sequence number at the sender.
    pub(crate) nth: u64,
    /// The connection.
    pub(crate) flow: FlowId,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Here is the receiving half of a connection from host `src`.
    Opened {
        src: HostId,
        /// The sending half's number there.
        sender: ConnId,
        /// Whether it closes with its flow.
        fresh: bool,
        class: u8,
        /// The kind of transport of both ends.
        kind: u8,
        /// The ECMP key of the ACKs.
        key: u32,
        /// Connection that answers its flows, if they are requests.
        answers: Option<Answers>,
    },
    /// A flow was written to a connection.
    Written(Written),
    /// A flow's application has stopped; the stream ends at `until`.
    Stopped { until: u64, at: Time },
    /// All of the oldest flow that its sender knows of has arrived, or will not.
    Received {
        /// The sending half's number, if a packet has brought it.
        sender: Maybe<ConnId>,
        at: Time,
        /// Bytes that have arrived since the warm-up.
        received: Bytes,
    },
    /// The answer to the oldest request is through: on the connection that brings it.
    Answered(Box<FlowRecord>),
    /// The connection is closed.
    Closed,
}

/// The connection that answers requests, from the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    pub(crate) flow: FlowId,
    pub(crate) opening: Opening,
    /// The receiving half's number at the host that asks.
    pub(crate) receiver: ConnId,
    /// The ECMP keys of the data and of the ACKs.
    pub(crate) keys: [u32; 2],
    /// The kind of transport of both ends.
    pub(crate) kind: u8,
}

/// Flow that a receiver is to expect.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Number among all flows of the run.
    pub(crate) number: u64,
    /// The stream offsets of its first byte and after its last.
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) class: u8,
    /// The ECMP key of its ACKs from now on.
    pub(crate) key: u32,
    /// Record of the flow that this request asks for.
    pub(crate) asks: Option<Box<FlowRecord>>,
}

impl Notice {
    /// Whether it tells of something's end.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.what, What::Received { .. } | What::Answered(_))
    }

    /// The order of notices at one host and instant: by connection, whose notices are all from the
    /// other end, and as they were sent.
    pub(crate) fn order(&self) -> (u64, u64) {
        (self.flow.0.into(), self.nth)
    }
}
