//! Round robin: a packet from each queue that has one in turn (Nagle 1987).

use crate::hooks::{Scheduler, Selection, ServiceEnd};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Time;

/// Round robin, one packet a turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    /// The queue after the one served last.
    next: QueueId,
}

impl Scheduler for RoundRobin {
    #[inline]
    fn enqueued(&mut self, _: &View, _: QueueId, _: &Packet) {}

    #[inline]
    fn select(&mut self, view: &View, _: &mut dyn FnMut(ServiceEnd)) -> Selection {
        match view.port.backlogged().next_from(self.next) {
            Some(queue) => Selection::Queue(queue),
            None => Selection::Empty,
        }
    }

    #[inline]
    fn served(
        &mut self,
        _: &View,
        queue: QueueId,
        _: &Packet,
        _: Time,
        _: &mut dyn FnMut(ServiceEnd),
    ) {
        // Past the last queue: `next_from` then begins at the lowest again.
        self.next = queue + 1;
    }

    fn removed(&mut self, _: &View, _: QueueId, _: &Packet, _: DropReason) {}

    #[inline]
    fn passes(&self, _: &View, _: QueueId, _: &Packet) -> bool {
        true
    }

    #[inline]
    fn passed(
        &mut self,
        _: &View,
        queue: QueueId,
        _: &Packet,
        _: Time,
        _: &mut dyn FnMut(ServiceEnd),
    ) {
        self.next = queue + 1;
    }
}
