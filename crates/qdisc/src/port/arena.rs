//! The slots that queued packets live in: one arena a switch (a simulator may share one
//! among many), ids that stay while the packet does, queues as doubly linked lists
//! through it. So removing a packet from inside a queue costs O(1), and a queue needs no
//! memory of its own.

use crate::port::packet::{Packet, QueueId};
use switchbed_units::Time;

/// A slot's id; [`SlotId::NONE`] is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId(u32);

impl SlotId {
    /// The id that stands for no slot; an arena never grows to it.
    pub const NONE: SlotId = SlotId(u32::MAX);

    /// The id of an index that is another's [`SlotId::index`].
    #[inline]
    pub const fn at(index: u32) -> SlotId {
        SlotId(index)
    }
    /// The id as an index, for a caller's table of what carries each packet.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    /// Returns whether this is [`SlotId::NONE`].
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}

/// A port's decision about a queued packet, carried out as the packet leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Note {
    /// Leave the ECN field as it arrived.
    #[default]
    Clear,
    /// Set the ECN field to CE.
    Mark,
    /// Leave the ECN field, whatever the marker says later: the packet was trimmed here.
    Trimmed,
    /// Of a packet that is not queued yet: it is never trimmed.
    Whole,
}

/// The part of a slot that is its caller's: what goes with the packet is found in the cache line
/// that a port needs anyway. Ports neither read nor change it.
#[derive(Clone, Copy, Debug)]
pub struct Cargo {
    /// Words whose meaning only the caller knows.
    pub words: [u32; 7],
}

impl Cargo {
    /// Cargo of a packet that carries nothing.
    pub const NONE: Cargo = Cargo { words: [0; 7] };
}

/// A packet with its queue links, in one cache line with an aligned start.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Slot {
    pub(crate) packet: Packet,
    pub(crate) prev: SlotId,
    pub(crate) next: SlotId,
    pub(crate) queue: QueueId,
    pub(crate) note: Note,
    pub(crate) arrived: Time,
    // These 28 bytes fill the cache line of 64: one word more would double every slot.
    cargo: Cargo,
}

/// Slots and their free list.
#[derive(Clone, Debug)]
pub struct Arena {
    slots: Vec<Slot>,
    free: SlotId,
    live: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Arena { slots: Vec::new(), free: SlotId::NONE, live: 0 }
    }
}

impl Arena {
    /// An arena with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a slot for a packet. The slot belongs to the caller, who may hand it to a
    /// port and gets it back when the packet leaves or is dropped.
    #[inline]
    pub fn alloc(&mut self, packet: Packet) -> SlotId {
        self.alloc_with(packet, Cargo::NONE)
    }

    /// Takes a slot for a packet with cargo.
    #[inline]
    pub fn alloc_with(&mut self, packet: Packet, cargo: Cargo) -> SlotId {
        self.live += 1;
        let slot = Slot {
            packet,
            prev: SlotId::NONE,
            next: SlotId::NONE,
            queue: 0,
            note: Note::Clear,
            arrived: Time::ZERO,
            cargo,
        };
        let id = self.free;
        if id.is_none() {
            // The id 2³² − 1 would be `NONE`, but slots of 64 bytes take 256 GB before it is
            // reached.
            let id = u32::try_from(self.slots.len()).expect("under 2^32 packets at a time");
            self.slots.push(slot);
            return SlotId(id);
        }
        // The free list is linked by `next`; the slot freed last comes first, still in the cache.
        let place = &mut self.slots[id.index()];
        self.free = place.next;
        *place = slot;
        id
    }

    /// Gives a slot back. It must be in no queue.
    #[inline]
    pub fn free(&mut self, id: SlotId) {
        self.live -= 1;
        // Nothing here detects a use after this: the old packet stays readable until the slot is
        // taken.
        self.slots[id.index()].next = self.free;
        self.free = id;
    }

    /// Number of slots taken now.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Slots ever taken at once: how long a caller's table by [`SlotId::index`] must be.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The packet in a slot.
    #[inline]
    pub fn packet(&self, id: SlotId) -> &Packet {
        &self.slots[id.index()].packet
    }

    /// The packet in a slot that is in no queue (a caller sets its ingress port).
    #[inline]
    pub fn packet_mut(&mut self, id: SlotId) -> &mut Packet {
        &mut self.slots[id.index()].packet
    }

    /// Returns the caller's data of a packet.
    #[inline]
    pub fn cargo(&self, id: SlotId) -> &Cargo {
        &self.slots[id.index()].cargo
    }

    /// Returns the caller's data of a packet for writing.
    #[inline]
    pub fn cargo_mut(&mut self, id: SlotId) -> &mut Cargo {
        &mut self.slots[id.index()].cargo
    }

    /// A packet that leaves for the port of this number at the next switch: its cargo, for writing.
    #[inline]
    pub fn leaves_for(&mut self, id: SlotId, ingress: u16) -> &mut Cargo {
        let slot = &mut self.slots[id.index()];
        slot.packet.ingress = ingress;
        &mut slot.cargo
    }

    /// The note on a queued packet.
    #[inline]
    pub fn note(&self, id: SlotId) -> Note {
        self.slots[id.index()].note
    }

    /// Asks that a packet which is in no queue be dropped rather than trimmed.
    pub fn keep_whole(&mut self, id: SlotId) {
        self.slots[id.index()].note = Note::Whole;
    }

    /// The queue that a packet was stored in.
    #[inline]
    pub fn queue(&self, id: SlotId) -> QueueId {
        self.slots[id.index()].queue
    }

    /// When a queued packet arrived at its port.
    #[inline]
    pub fn arrived(&self, id: SlotId) -> Time {
        self.slots[id.index()].arrived
    }

    /// The same, once: until the packet is queued again, it is [`Time::ZERO`].
    #[inline]
    pub fn take_arrived(&mut self, id: SlotId) -> Time {
        std::mem::replace(&mut self.slots[id.index()].arrived, Time::ZERO)
    }

    /// The packet behind this one in its queue.
    #[inline]
    pub fn next(&self, id: SlotId) -> SlotId {
        self.slots[id.index()].next
    }

    #[inline]
    pub(crate) fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id.index()]
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, id: SlotId) -> &mut Slot {
        &mut self.slots[id.index()]
    }
}

/// A queue's ends; the list runs through the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) head: SlotId,
    pub(crate) tail: SlotId,
}

impl List {
    pub(crate) const EMPTY: List = List { head: SlotId::NONE, tail: SlotId::NONE };

    #[inline]
    pub(crate) fn push_back(&mut self, arena: &mut Arena, id: SlotId) {
        // The slot may come from another port's queue, whose links it still has.
        arena.slot_mut(id).next = SlotId::NONE;
        arena.slot_mut(id).prev = self.tail;
        if self.tail.is_none() {
            self.head = id;
        } else {
            arena.slot_mut(self.tail).next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub(crate) fn unlink(&mut self, arena: &mut Arena, id: SlotId) {
        // The slot's own links stay as they are: `push_back` and `free` overwrite them.
        let Slot { prev, next, .. } = *arena.slot(id);
        if prev.is_none() {
            self.head = next;
        } else {
            arena.slot_mut(prev).next = next;
        }
        if next.is_none() {
            self.tail = prev;
        } else {
            arena.slot_mut(next).prev = prev;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arena: &Arena, list: &List) -> Vec<SlotId> {
        let mut ids = Vec::new();
        let mut id = list.head;
        while !id.is_none() {
            ids.push(id);
            id = arena.next(id);
        }
        ids
    }

    #[test]
    fn slots_keep_their_ids_and_leave_from_anywhere() {
        let mut arena = Arena::new();
        let mut list = List::EMPTY;
        let ids: Vec<SlotId> = (0..4).map(|_| arena.alloc(Packet::default())).collect();
        for &id in &ids {
            list.push_back(&mut arena, id);
        }
        list.unlink(&mut arena, ids[1]);
        assert_eq!(order(&arena, &list), [ids[0], ids[2], ids[3]]);
        list.unlink(&mut arena, ids[3]);
        list.unlink(&mut arena, ids[0]);
        assert_eq!(order(&arena, &list), [ids[2]]);
        list.unlink(&mut arena, ids[2]);
        assert!(list.head.is_none() && list.tail.is_none());
        ids.iter().for_each(|&id| arena.free(id));
        assert_eq!(arena.live(), 0);
        arena.alloc(Packet::default());
        assert_eq!(arena.capacity(), 4);
    }

    #[test]
    fn a_slot_is_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 64);
    }
}
