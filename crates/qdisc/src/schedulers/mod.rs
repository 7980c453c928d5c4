//! Schedulers: they choose the queue whose head leaves next. [`Fifo`] is here, each other kind in a file.

mod round;
mod strict;
mod wfq;
use crate::hooks::{Scheduler, Selection, ServiceEnd};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
pub use round::{Dwrr, RoundRobin, Wrr};
pub use strict::{HighestFirst, Strict};
use switchbed_units::Time;
pub use wfq::Wfq;

/// First in, first out over a single queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl Scheduler for Fifo {
    #[inline]
    fn enqueued(&mut self, _: &View, _: QueueId, _: &Packet) {}

    #[inline]
    fn select(&mut self, view: &View, _: &mut dyn FnMut(ServiceEnd)) -> Selection {
        let backlogged = view.port.backlogged();
        let Some(first) = backlogged.first() else { return Selection::Empty };
        if view.port.queues() == 1 {
            return Selection::Queue(first);
        }
        // `min_by_key` keeps the first of equal times, so the lower queue number goes first.
        let oldest = backlogged.iter().min_by_key(|&q| view.arena.arrived(view.head(q)));
        Selection::Queue(oldest.unwrap_or(first))
    }

    #[inline]
    fn served(&mut self, _: &View, _: QueueId, _: &Packet, _: Time, _: &mut dyn FnMut(ServiceEnd)) {
    }

    fn removed(&mut self, _: &View, _: QueueId, _: &Packet, _: DropReason) {}

    #[inline]
    fn passes(&self, _: &View, _: QueueId, _: &Packet) -> bool {
        true
    }
}
