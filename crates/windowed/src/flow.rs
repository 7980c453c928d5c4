//! What is known of a flow when it starts.

pub use switchbed_sim::FlowRecord;

use switchbed_qdisc::units::Bytes;
use switchbed_sim::traffic::FlowStart;

/// Endless flows write so much.
pub(crate) const ENDLESS: u64 = 1 << 60;

/// The record of a flow that starts.
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
