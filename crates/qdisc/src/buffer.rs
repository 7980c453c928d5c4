//! Buffers with tail drop: a port's queues share its memory, or each has its own part.

use crate::packet::{Packet, QueueId};
use crate::random::Random;
use crate::seats::{Admission, Buffer};
use crate::units::Bytes;
use crate::view::{DropReason, View};

/// A port's memory shared by its queues, first come first served.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// The port's memory.
    pub limit: Bytes,
}

impl Buffer for Shared {
    #[inline]
    fn admit(&mut self, view: &View, _: QueueId, packet: &Packet, _: &mut dyn Random) -> Admission {
        room(view.port.bytes(), packet, self.limit)
    }
}

/// An equal part of the port's memory for each queue, and no more.
#[derive(Clone, Copy, Debug)]
pub struct Static {
    /// Each queue's part.
    pub limit: Bytes,
}

impl Buffer for Static {
    #[inline]
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        room(view.port.queue_bytes(queue), packet, self.limit)
    }
}

#[inline]
fn room(used: Bytes, packet: &Packet, limit: Bytes) -> Admission {
    if used.get() + packet.len_bytes as u64 <= limit.get() {
        Admission::In
    } else {
        Admission::Out(DropReason::Full)
    }
}
