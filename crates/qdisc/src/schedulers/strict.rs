//! Strict priority: the first queues of a port, lowest number first, above another
//! discipline for the rest.

use crate::hooks::{Scheduler, Selection, ServiceEnd};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Time;

/// Queues 0…`levels`−1 by strict priority, the others by `below`, which is told of its
/// own queues only.
#[derive(Clone, Debug)]
pub struct Strict<S> {
    levels: QueueId,
    below: S,
}

impl<S> Strict<S> {
    /// `levels` strict-priority queues above `below`.
    pub fn new(levels: QueueId, below: S) -> Self {
        Strict { levels, below }
    }
}

impl<S: Scheduler> Scheduler for Strict<S> {
    fn enqueued(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        if queue >= self.levels {
            self.below.enqueued(view, queue, packet);
        }
    }

    fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection {
        match view.port.backlogged().first() {
            Some(queue) if queue < self.levels => Selection::Queue(queue),
            // None above has packets, so the discipline below sees its own queues alone.
            _ => self.below.select(view, ends),
        }
    }

    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    ) {
        if queue >= self.levels {
            self.below.served(view, queue, packet, until, ends);
        }
    }

    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        if queue >= self.levels {
            self.below.removed(view, queue, packet, why);
        }
    }

    fn passes(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        queue < self.levels || self.below.passes(view, queue, packet)
    }

    fn passed(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    ) {
        if queue >= self.levels {
            self.below.passed(view, queue, packet, until, ends);
        }
    }
}
