//! What is told of a port's doings.

use super::bursts::Peaks;
use super::capture::Tap;
use super::changes::Changes;
use super::queue_stats::QueueStats;
use crate::ids::HostId;
use crate::packet::Payload;
use switchbed_qdisc::units::Time;
use switchbed_qdisc::{Packet, PortState, QueueId};

/// A packet that a port has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When its transmission began.
    pub left: Time,
    /// When its last bit reaches the far end.
    pub arrives: Time,
    /// The packet as it left, its mark included.
    pub packet: Packet,
    /// What it carries.
    pub payload: Payload,
    /// The host that sent it; `None`: a switch did.
    pub from: Option<HostId>,
    /// The host that it is for.
    pub to: HostId,
}

/// Who watches a port.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Its queues' lengths.
    pub(crate) stats: Option<QueueStats>,
    /// Every change of them.
    pub(crate) changes: Option<Changes>,
    /// The longest after each burst.
    pub(crate) peaks: Option<Peaks>,
    /// The beginning and the end of each transmission that nobody has looked at yet.
    pub(crate) busy: Option<Vec<(Time, Time)>>,
    /// What it sends.
    pub(crate) tap: Option<Tap>,
}

impl Watch {
    pub(crate) fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        let bytes = state.queue_bytes(queue);
        if let Some(stats) = &mut self.stats {
            stats.change(now, queue, bytes, state.bytes());
        }
        if let Some(changes) = &mut self.changes {
            changes.change(now, queue, bytes);
        }
        if let Some(peaks) = &mut self.peaks {
            peaks.change(now, queue, bytes);
        }
    }

    pub(crate) fn sent(&mut self, sent: Sent, until: Time) {
        if let Some(busy) = &mut self.busy {
            busy.push((sent.left, until));
        }
        if let Some(tap) = &mut self.tap {
            tap.note(sent);
        }
    }
}
