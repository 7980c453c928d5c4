//! Round-robin disciplines by bytes: DWRR (Shreedhar and Varghese 1996) and WRR as chips
//! have it (MQ-ECN, section 3.3.2). They differ in one line: WRR forgets what is left of
//! a quantum when a service ends.
//!
//! A queue that gets its first packet joins the end of the round with deficit 0. Its
//! quantum is added at its first visit in a round; it is served while its head fits the
//! deficit; then it goes to the end of the round again, or leaves if it is empty. Both
//! end a service, which is reported with its beginning (joined, or last put at the end).
//! A queue whose last packet is displaced by an arrival of its own was never empty to
//! anyone: it keeps its turn.
//!
//! Round robin: a packet from each queue that has one in turn (Nagle 1987).

use crate::hooks::{Scheduler, Selection, ServiceEnd};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Time;

// No queue has this number: a port has at most 64.
const NONE: QueueId = QueueId::MAX;

/// Aligned, so that none lies in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry {
    /// When it joined the round, or was last put at its end.
    started: Time,
    /// When its last packet was pushed out, if it is in the round without any.
    vacated: Time,
    /// Bytes it may still send in this visit.
    deficit: u64,
    prev: QueueId,
    next: QueueId,
    /// Whether the queue is in the round.
    listed: bool,
    /// The quantum of the current visit has been added.
    visited: bool,
    /// Whether the queue has sent a packet in the current visit.
    sent: bool,
}

/// The round: the backlogged queues in the order of their turns, and a rule for what is
/// left of a quantum.
#[derive(Clone, Debug)]
struct Round<const CARRY: bool> {
    entries: Box<[Entry]>,
    first: QueueId,
    last: QueueId,
}

impl<const CARRY: bool> Round<CARRY> {
    fn new(queues: usize) -> Self {
        let entry = Entry {
            started: Time::ZERO,
            vacated: Time::ZERO,
            deficit: 0,
            prev: NONE,
            next: NONE,
            listed: false,
            visited: false,
            sent: false,
        };
        Round { entries: vec![entry; queues].into(), first: NONE, last: NONE }
    }

    #[inline]
    fn push_back(&mut self, queue: QueueId) {
        let last = self.last;
        let entry = &mut self.entries[queue as usize];
        entry.prev = last;
        entry.next = NONE;
        if last == NONE {
            self.first = queue;
        } else {
            self.entries[last as usize].next = queue;
        }
        self.last = queue;
    }

    #[inline]
    fn unlink(&mut self, queue: QueueId) {
        let Entry { prev, next, .. } = self.entries[queue as usize];
        if prev == NONE {
            self.first = next;
        } else {
            self.entries[prev as usize].next = next;
        }
        if next == NONE {
            self.last = prev;
        } else {
            self.entries[next as usize].prev = prev;
        }
    }

    #[inline]
    fn move_last(&mut self, queue: QueueId) {
        if self.last != queue {
            self.unlink(queue);
            self.push_back(queue);
        }
    }

    #[inline]
    fn leave(&mut self, queue: QueueId) {
        self.unlink(queue);
        let entry = &mut self.entries[queue as usize];
        entry.deficit = 0;
        entry.visited = false;
        entry.listed = false;
    }

    #[inline]
    fn enqueued(&mut self, view: &View, queue: QueueId) {
        if view.port.queue_packets(queue) == 1 && !self.keeps_turn(queue, view.now) {
            self.push_back(queue);
            let entry = &mut self.entries[queue as usize];
            entry.listed = true;
            entry.started = view.now;
        }
    }

    /// Whether a queue that gets its first packet lost its last one to a push-out just now.
    #[inline]
    fn keeps_turn(&mut self, queue: QueueId, now: Time) -> bool {
        // Vacated earlier than now: the queue was seen empty, so it starts anew at the end.
        let entry = &self.entries[queue as usize];
        if entry.listed && entry.vacated < now {
            // Unlinked now, since `removed` could not know whether an arrival would follow at the
            // same instant.
            self.leave(queue);
        }
        self.entries[queue as usize].listed
    }

    #[inline]
    fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection {
        // The second test: a queue that a push-out emptied is still listed.
        if self.first == NONE || view.port.backlogged().is_empty() {
            return Selection::Empty;
        }
        loop {
            let queue = self.first;
            let head = view.head(queue);
            if head.is_none() {
                // Emptied by a push-out.
                self.leave(queue);
                continue;
            }
            if !view.port.backlogged().contains(queue) {
                // Paused: it keeps what it has of its quantum, and the others have their turns.
                self.move_last(queue);
                continue;
            }
            let head = view.arena.packet(head).len_bytes as u64;
            let entry = &mut self.entries[queue as usize];
            // Once a visit, however often the head is asked for.
            if !entry.visited {
                entry.visited = true;
                entry.sent = false;
                // A quantum is due once in a round, on top of what the queue carries over.
                entry.deficit += view.port.quantum(queue).get();
            }
            if head <= entry.deficit {
                return Selection::Queue(queue);
            }
            entry.visited = false;
            // A head larger than the quantum must save up, or it would wait for ever.
            if !CARRY && entry.sent {
                entry.deficit = 0;
            }
            ends(ServiceEnd { queue, started: entry.started, ended: view.now });
            entry.started = view.now;
            self.move_last(queue);
        }
    }

    #[inline]
    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    ) {
        let entry = &mut self.entries[queue as usize];
        // Never below zero: `select` has chosen a queue only where its head fits the deficit.
        entry.deficit -= packet.len_bytes as u64;
        entry.sent = true;
        if view.port.queue_packets(queue) == 0 {
            let started = entry.started;
            self.leave(queue);
            ends(ServiceEnd { queue, started, ended: until });
        }
    }

    /// A round of one packet: it joins, is served within its quantum and leaves.
    #[inline]
    fn passes(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        // Otherwise the packet would save up over several rounds, for which `select` must be asked.
        self.first == NONE && packet.len_bytes as u64 <= view.port.quantum(queue).get()
    }

    fn removed(&mut self, view: &View, queue: QueueId, why: DropReason) {
        if view.port.queue_packets(queue) > 0 {
            return;
        }
        // No service ended: nothing to report.
        match why {
            DropReason::PushedOut => self.entries[queue as usize].vacated = view.now,
            _ => self.leave(queue),
        }
    }
}

macro_rules! discipline {
    ($(#[$doc:meta])* $name:ident, $carry:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Round<$carry>);

        impl $name {
            /// Makes it for a port of `queues` queues; quanta are the port's.
            pub fn new(queues: usize) -> Self {
                Self(Round::new(queues))
            }
            /// A queue's deficit in bytes.
            pub fn deficit_bytes(&self, queue: QueueId) -> u64 {
                self.0.entries[queue as usize].deficit
            }
        }

        impl Scheduler for $name {
            #[inline]
            fn enqueued(&mut self, view: &View, queue: QueueId, _: &Packet) {
                self.0.enqueued(view, queue);
            }
            #[inline]
            fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection {
                self.0.select(view, ends)
            }
            #[inline]
            fn served(
                &mut self,
                view: &View,
                queue: QueueId,
                packet: &Packet,
                until: Time,
                ends: &mut dyn FnMut(ServiceEnd),
            ) {
                self.0.served(view, queue, packet, until, ends);
            }
            fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, why: DropReason) {
                self.0.removed(view, queue, why);
            }
            #[inline]
            fn passes(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
                self.0.passes(view, queue, packet)
            }
            #[inline]
            fn passed(
                &mut self,
                view: &View,
                queue: QueueId,
                _: &Packet,
                until: Time,
                ends: &mut dyn FnMut(ServiceEnd),
            ) {
                // `leave` would set the deficit to 0, where it already is: the queue never joined.
                ends(ServiceEnd { queue, started: view.now, ended: until });
            }
        }
    };
}

discipline! {
    /// Deficit weighted round robin: what is left of a quantum is carried to the next
    /// round while the queue stays backlogged.
    Dwrr, true
}
discipline! {
    /// Weighted round robin with a byte quantum: the deficit is reset when a service ends.
    /// A head longer than the quantum (a quantum under the MTU) saves up over rounds.
    Wrr, false
}

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
