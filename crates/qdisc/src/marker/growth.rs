//! A queue's growth over a window, as E-ECN's algorithm 1 (lines 5–9) estimates it: at the
//! first arrival that comes T_i or more after the last estimate, the change since then over
//! the time since then. The arriving packet is not counted.

use crate::arena::SlotId;
use crate::packet::QueueId;
use crate::units::{Span, Time};
use crate::view::View;

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// When the growth was estimated last, and the queue in bytes then.
    at: Time,
    bytes: u64,
    /// Bytes a picosecond.
    rate: f64,
}

/// Each queue's growth.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    window: Span,
    queues: Box<[Queue]>,
}

impl Growth {
    /// Estimates over `window`, T_i.
    pub(super) fn new(window: Span, queues: usize) -> Self {
        Growth { window, queues: vec![Queue::default(); queues].into() }
    }

    /// What an arrival that finds so many bytes makes of a queue's estimate.
    #[inline]
    fn updated(&self, now: Time, queue: QueueId, bytes: u64) -> Queue {
        let last = self.queues[queue as usize];
        let elapsed = now - last.at;
        if elapsed < self.window || elapsed == Span::ZERO {
            return last;
        }
        let rate = (bytes as f64 - last.bytes as f64) / elapsed.as_ps() as f64;
        Queue { at: now, bytes, rate }
    }

    /// The growth that an arrival finds, in bytes a picosecond (not counted by the view).
    #[inline]
    pub(super) fn found(&self, view: &View, queue: QueueId) -> f64 {
        self.updated(view.now, queue, view.port.queue_bytes(queue).get()).rate
    }

    /// An arrival was decided on and stored (counted by the view).
    #[inline]
    pub(super) fn stored(&mut self, view: &View, queue: QueueId, slot: SlotId) {
        let len = view.arena.packet(slot).len_bytes as u64;
        let found = view.port.queue_bytes(queue).get() - len;
        self.queues[queue as usize] = self.updated(view.now, queue, found);
    }

    /// An arrival was decided on, and dropped for not being ECN-capable.
    pub(super) fn refused(&mut self, view: &View, queue: QueueId) {
        let found = view.port.queue_bytes(queue).get();
        self.queues[queue as usize] = self.updated(view.now, queue, found);
    }
}
