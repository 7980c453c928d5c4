//! Packet memory. A port's queues share the port's, or each has its own part. Or the queues of all ports share
//! the switch's (`of_switch`), by a policy: dynamic thresholds, ABM's, FAB's or Occamy's, until the longest queue
//! loses a packet, or as in a switch chip (`cells`). `crosspoint` has parts in cells, and random drop.

mod abm;
mod cells;
pub mod chip;
mod crosspoint;
mod dynamic;
mod fab;
mod lossless;
mod lqd;
mod occamy;
mod of_port;
pub(crate) mod of_switch;
pub mod pfc;

pub use abm::Abm;
pub use cells::{AllHeadroom, Cells, GroupMay, HeadroomUse, Inputs, Own, Sizes};
pub use crosspoint::{Crosspoint, Overflow};
pub use dynamic::Dynamic;
pub use fab::{Fab, Young};

pub use lqd::Lqd;
pub use occamy::Occamy;
pub use of_port::{Limited, OfPort, OfSwitch};
pub use of_switch::{At, Policy, QueueOf, SwitchMemory};

use crate::hooks::{Admission, Buffer};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// A port's memory shared by its queues, first come first served.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// The port's memory.
    pub limit: Bytes,
}

impl Buffer for Shared {
    #[inline]
    fn admit(&mut self, view: &View, _: QueueId, packet: &Packet, _: &mut dyn Random) -> Admission {
        space(view.port.bytes(), packet, self.limit)
    }

    fn full(&self, view: &View, _: QueueId, packet: &Packet) -> bool {
        space(view.port.bytes(), packet, self.limit) != Admission::In
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
        space(view.port.queue_bytes(queue), packet, self.limit)
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        space(view.port.queue_bytes(queue), packet, self.limit) != Admission::In
    }
}

#[inline]
fn space(used: Bytes, packet: &Packet, limit: Bytes) -> Admission {
    if used.get() + packet.len_bytes as u64 <= limit.get() {
        Admission::In
    } else {
        Admission::Out(DropReason::Full)
    }
}
