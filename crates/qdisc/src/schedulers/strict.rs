//! Strict priority: some queues of a port, lowest or highest number first, above another discipline
//! for the rest.

use crate::hooks::{Scheduler, Selection, ServiceEnd};
use crate::port::packet::{Packet, QueueId};
use crate::port::set::QueueSet;
use crate::port::view::{DropReason, View};
use switchbed_units::Time;

/// Which queues have strict priority: the first so many, or a set.
pub trait Levels {
    /// Whether a queue has it.
    fn has(&self, queue: QueueId) -> bool;
    /// The first of these that has it.
    fn first_of(&self, backlogged: QueueSet) -> Option<QueueId>;
}

impl Levels for QueueId {
    fn has(&self, queue: QueueId) -> bool {
        queue < *self
    }
    fn first_of(&self, backlogged: QueueSet) -> Option<QueueId> {
        // The lowest backlogged queue is strict, or none is.
        backlogged.first().filter(|queue| queue < self)
    }
}

impl Levels for QueueSet {
    fn has(&self, queue: QueueId) -> bool {
        self.contains(queue)
    }
    fn first_of(&self, backlogged: QueueSet) -> Option<QueueId> {
        // The intersection of two sets, by taking away twice.
        backlogged.without(backlogged.without(*self)).first()
    }
}

/// A set of strict-priority queues whose highest number goes first.
#[derive(Clone, Copy, Debug)]
pub struct HighestFirst(pub QueueSet);

impl Levels for HighestFirst {
    fn has(&self, queue: QueueId) -> bool {
        self.0.contains(queue)
    }
    fn first_of(&self, backlogged: QueueSet) -> Option<QueueId> {
        backlogged.without(backlogged.without(self.0)).last()
    }
}

/// Queues of `levels` by strict priority, the others by `below`, which hears of its own queues
/// only. `below` is asked only while all of `levels` are empty.
#[derive(Clone, Debug)]
pub struct Strict<S, L = QueueId> {
    levels: L,
    below: S,
}

impl<S, L> Strict<S, L> {
    /// Adds strict-priority queues above the scheduler `below`.
    pub fn new(levels: L, below: S) -> Self {
        Strict { levels, below }
    }
}

impl<S: Scheduler, L: Levels> Scheduler for Strict<S, L> {
    fn enqueued(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        if !self.levels.has(queue) {
            self.below.enqueued(view, queue, packet);
        }
    }

    fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection {
        match self.levels.first_of(view.port.backlogged()) {
            Some(queue) => Selection::Queue(queue),
            None => self.below.select(view, ends),
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
        if !self.levels.has(queue) {
            self.below.served(view, queue, packet, until, ends);
        }
    }

    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        if !self.levels.has(queue) {
            self.below.removed(view, queue, packet, why);
        }
    }

    fn passes(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        self.levels.has(queue) || self.below.passes(view, queue, packet)
    }

    fn passed(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    ) {
        if !self.levels.has(queue) {
            self.below.passed(view, queue, packet, until, ends);
        }
    }
}
