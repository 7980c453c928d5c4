//! State that a scheme may see: only values that a switch chip could export.

pub use super::state::{Counters, DropReason, PauseFrames, PortState};

use crate::memory::of_switch::SwitchMemory;
use crate::port::arena::{Arena, SlotId};
use crate::port::packet::{Packet, QueueId};
use switchbed_units::{Bytes, Span, Time};

/// A port as a scheme's hook sees it, at the hook's time.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The time of the hook.
    pub now: Time,
    /// Queues and line of the port.
    pub port: &'a PortState,
    /// The memory of the port's switch.
    pub memory: &'a SwitchMemory,
    /// Slots of the queued packets.
    pub arena: &'a Arena,
    pub(crate) idle: Span,
}

impl<'a> View<'a> {
    /// Makes a view of a port that is not idle, or whose idle time nobody needs.
    #[inline(always)]
    pub fn new(
        now: Time,
        port: &'a PortState,
        memory: &'a SwitchMemory,
        arena: &'a Arena,
    ) -> View<'a> {
        View { now, port, memory, arena, idle: Span::ZERO }
    }

    /// Sets how long the port has been idle, for the hooks of an arrival.
    #[inline(always)]
    pub(crate) fn idle_for(self, idle: Span) -> View<'a> {
        View { idle, ..self }
    }

    /// The slot at the head of a queue, or [`SlotId::NONE`].
    #[inline]
    pub fn head(&self, queue: QueueId) -> SlotId {
        self.port.queues[queue as usize].list.head
    }
    /// The slot at the tail of a queue, or [`SlotId::NONE`].
    pub fn tail(&self, queue: QueueId) -> SlotId {
        self.port.queues[queue as usize].list.tail
    }
    /// The packet at the head of a queue.
    #[inline]
    pub fn head_packet(&self, queue: QueueId) -> Option<&'a Packet> {
        let head = self.head(queue);
        (!head.is_none()).then(|| self.arena.packet(head))
    }
    /// In the hooks of an arrival: how long the port had been idle, from the end of its
    /// last transmission (or the drop of its last packet, if that came later). Zero if it
    /// was busy or had packets.
    #[inline]
    pub fn idle(&self) -> Span {
        self.idle
    }
    /// The slots of a queue from its head.
    pub fn slots(&self, queue: QueueId) -> impl Iterator<Item = SlotId> + use<'a> {
        let arena = self.arena;
        let mut id = self.head(queue);
        std::iter::from_fn(move || {
            let here = id;
            (!here.is_none()).then(|| {
                id = arena.next(here);
                here
            })
        })
    }
    /// The slot that holds byte `offset` of a queue, counted from its head; a victim
    /// drawn uniformly by bytes. [`SlotId::NONE`] if the queue is no longer than that.
    /// Walks from the head: O(packets before it).
    pub fn slot_at_byte(&self, queue: QueueId, offset: Bytes) -> SlotId {
        let mut left = offset.get();
        for id in self.slots(queue) {
            let len = self.arena.packet(id).len_bytes as u64;
            if left < len {
                return id;
            }
            left -= len;
        }
        SlotId::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_units::Rate;

    #[test]
    fn a_byte_of_a_queue_is_in_a_slot() {
        let mut port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500); 2]);
        let (memory, mut arena) = (SwitchMemory::new(Bytes::MAX), Arena::new());
        let slots = [100, 40, 60].map(|len_bytes| {
            let slot = arena.alloc(Packet { len_bytes, ..Packet::default() });
            port.queues[1].list.push_back(&mut arena, slot);
            slot
        });
        let view = View::new(Time::ZERO, &port, &memory, &arena);
        let at = |offset| view.slot_at_byte(1, Bytes::new(offset));
        assert_eq!([0, 99, 100, 139, 140, 199].map(at), [0, 0, 1, 1, 2, 2].map(|i| slots[i]));
        assert!(at(200).is_none() && view.slot_at_byte(0, Bytes::ZERO).is_none());
        assert_eq!(view.head_packet(1), Some(arena.packet(slots[0])));
        assert_eq!(view.head_packet(0), None);
    }
}
