//! A queue's growth over a window, as E-ECN's algorithm 1 (lines 5–9) estimates it: at the
//! first arrival that comes T_i or more after the last estimate, the change since then over
//! the time since then. The arriving packet is not counted.

use crate::port::arena::SlotId;
use crate::port::packet::QueueId;
use crate::port::view::View;
use crate::schemes::site::Site;
use switchbed_config::params;
use switchbed_units::{Span, Time};

params! {
    /// The window over which growth is taken.
    pub struct GrowthParams {
        /// The window over which the queue's growth is taken. Default: t_i_packets packets' times.
        /// Under one the growth means nothing (equation 3).
        t_i: Option<Span>;
        /// t_i in times of one MTU at the port's rate. The paper's: 1.1 to 1.5.
        t_i_packets: f64 = "1.25" as number(0.001, 1_000_000.0);
    }
}

impl GrowthParams {
    /// Window T_i on this line.
    pub(super) fn t_i(&self, site: &Site) -> Span {
        let packets = || site.packet_time().as_secs_f64() * self.t_i_packets;
        self.t_i.unwrap_or_else(|| Span::from_secs_f64(packets()))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// When the growth was estimated last, and the queue in bytes then.
    at: Time,
    bytes: u64,
    /// Growth in bytes a picosecond.
    rate: f64,
}

/// Growth estimates of all queues.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    window: Span,
    queues: Box<[Queue]>,
}

impl Growth {
    /// Makes estimates over `window`, T_i.
    pub(super) fn new(window: Span, queues: usize) -> Self {
        Growth { window, queues: vec![Queue::default(); queues].into() }
    }

    /// Computes a queue's estimate after an arrival that finds `bytes` in it.
    #[inline]
    fn updated(&self, now: Time, queue: QueueId, bytes: u64) -> Queue {
        let last = self.queues[queue as usize];
        let elapsed = now - last.at;
        // With a window of 0 simultaneous arrivals would divide by zero.
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
