//! A connection in one direction: both halves, and the flows on it.

use super::PLACE_BITS;
use crate::nic::GroupId;
use crate::random::Stream;
use crate::tcp::{Config, Counters, Receiver, Segment, Sender};
use crate::topology::Hop;
use crate::traffic::FlowStart;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use switchbed_qdisc::units::{Bytes, Time};
use switchbed_qdisc::{Ecn, FlowId, Packet, Random};
use switchbed_spec::FctEnd;

/// What is known of a flow when it ends, or when the run does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// Its number in the order of starts, or its row in the list it came from.
    pub row: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Class.
    pub class: u8,
    /// The ECMP key of its data.
    pub key: u32,
    /// Payload; `None` for a flow that sends as long as it runs.
    pub size: Option<Bytes>,
    /// When the application wrote it.
    pub start: Time,
    /// When it ended (see [`FctEnd`]); `None` if it had not.
    pub end: Option<Time>,
    /// Payload of the request for it; `None`: it came unasked.
    pub request: Option<Bytes>,
    /// Payload that its receiver has taken since the warm-up ended.
    pub received: Bytes,
    /// Retransmission timeouts, its request's too.
    pub timeouts: u32,
    /// Segments sent again, its request's too.
    pub retransmissions: u32,
    /// Window cuts for marks, its request's too.
    pub ecn_cuts: u32,
    /// Whether it opened its connection with a handshake.
    pub handshake: bool,
}

impl FlowRecord {
    /// Whether it had ended by then.
    pub fn ended_by(&self, time: Time) -> bool {
        self.end.is_some_and(|end| end <= time)
    }

    /// Of a flow that starts.
    pub(crate) fn starting(flow: &FlowStart) -> FlowRecord {
        FlowRecord {
            row: flow.list_row.unwrap_or(flow.row),
            src: flow.src,
            dst: flow.dst,
            class: flow.class,
            key: 0,
            size: flow.size,
            start: flow.start,
            end: None,
            request: flow.request,
            received: Bytes::ZERO,
            timeouts: 0,
            retransmissions: 0,
            ecn_cuts: 0,
            handshake: false,
        }
    }
}

/// A flow, or the request for it, under way on a connection.
pub(super) struct Running {
    pub(super) record: FlowRecord,
    /// The stream offset of its first byte.
    pub(super) from: u64,
    /// The stream offset after its last byte.
    pub(super) until: u64,
    /// The sender's counters when it began.
    pub(super) before: Counters,
    /// The receiver's count when it began, or when the warm-up ended.
    pub(super) received_before: u64,
}

/// In this order the receiver is a cache line, and what goes with both halves the next.
#[repr(C, align(64))]
pub(super) struct Connection {
    pub(super) receiver: Receiver,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) class: u8,
    /// It closes with its flow.
    pub(super) fresh: bool,
    pub(super) generation: u8,
    /// Those that share its rate limiter, where rates are limited.
    pub(super) group: GroupId,
    /// It waits for its limiter to let the next packet out.
    pub(super) joined: bool,
    /// What ends its flows.
    pub(super) ends: FctEnd,
    /// Its flows are requests, and the connection at this place answers them; or [`NOBODY`].
    pub(super) answers: u32,
    /// ECMP keys of the data's direction and the ACKs'.
    pub(super) keys: [u32; 2],
    /// The earliest wake-up pending for the sender and for the receiver.
    pub(super) armed: [Time; 2],
    pub(super) sender: Sender,
    /// What its receiver had taken when it was of another class.
    pub(super) taken_before: u64,
    /// Flows, oldest first.
    pub(super) flows: VecDeque<Running>,
}

/// No connection's place.
pub(super) const NOBODY: u32 = u32::MAX;

impl Connection {
    /// Without hosts yet.
    pub(super) fn new(sender: Sender) -> Connection {
        Connection {
            sender,
            receiver: Receiver::new(),
            src: 0,
            dst: 0,
            class: 0,
            fresh: false,
            generation: 0,
            group: 0,
            joined: false,
            ends: FctEnd::Acked,
            answers: NOBODY,
            keys: [0; 2],
            armed: [Time::NEVER; 2],
            taken_before: 0,
            flows: VecDeque::new(),
        }
    }

    /// Payload that its receiver has taken in its present class; none of requests.
    pub(super) fn taken(&self) -> u64 {
        if self.answers == NOBODY { self.receiver.received() - self.taken_before } else { 0 }
    }

    #[inline]
    pub(super) fn packet(
        &self,
        segment: &Segment,
        class: u8,
        place: u32,
        config: &Config,
    ) -> Packet {
        Packet {
            flow: FlowId((self.generation as u32) << PLACE_BITS | place),
            len_bytes: segment.wire_bytes(config),
            ingress: 0,
            class,
            ecn: if segment.ecn_capable(config) { Ecn::Ect0 } else { Ecn::NotEct },
        }
    }

    /// Sees to it that a half is woken by `due`; a wake-up that comes too early is harmless.
    #[inline]
    pub(super) fn arm(
        &mut self,
        half: u8,
        due: Time,
        place: u32,
        timers: &mut BinaryHeap<Reverse<(Time, u32, u8)>>,
    ) {
        if due < self.armed[half as usize] {
            self.armed[half as usize] = due;
            timers.push(Reverse((due, (self.generation as u32) << PLACE_BITS | place, half)));
        }
    }

    pub(super) fn record(&self, flow: &Running) -> FlowRecord {
        let now = self.sender.counters();
        let received = match self.answers {
            NOBODY => self.receiver.received().clamp(flow.from, flow.until),
            // What has arrived is of the request, not of the flow.
            _ => flow.received_before,
        };
        let record = &flow.record;
        FlowRecord {
            received: Bytes::new(received.saturating_sub(flow.received_before)),
            timeouts: record.timeouts + now.timeouts - flow.before.timeouts,
            retransmissions: record.retransmissions + now.retransmits - flow.before.retransmits,
            ecn_cuts: record.ecn_cuts + now.mark_cuts - flow.before.mark_cuts,
            ..*record
        }
    }
}

/// ECMP keys for both directions.
pub fn keys(seed: u64, a: u64, b: u64) -> [u32; 2] {
    let bits = Stream::new(seed ^ b.rotate_left(17), "ecmp", a).next_u64();
    [bits as u32 & !Hop::PINNED, (bits >> 32) as u32 & !Hop::PINNED]
}
