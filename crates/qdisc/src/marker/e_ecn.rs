//! E-ECN (Wang, Han, Zhuang, Xue, Sun, Lu: Early Marking for Controllable Maximum Queue
//! Length in Data Center Networks), a queue at a time: marks on the length that the queue will
//! have by the time the mark takes effect.
//!
//! rate = the queue's growth over a window of at least T_i; mark if q + rate·T_a ≥ K
//! (algorithm 1).
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | threshold K | bytes | 60 packets at 10 Gbps, 30 to 50 at 1 Gbps |
//! | t_i | time | 1.1 to 1.5 packets' times; the growth means nothing below one (eq. 3) |
//! | t_a: how far ahead it looks | time | 1 to 5 base RTTs |
//!
//! Our reading: the arriving packet is not counted; an arrival that finds no room updates
//! nothing (the algorithm returns before), one that is dropped for not being ECN-capable does.

use super::growth::Growth;
use crate::arena::SlotId;
use crate::packet::{Packet, QueueId};
use crate::random::Random;
use crate::seats::{Intent, Marker};
use crate::units::{Bytes, Span};
use crate::view::{DropReason, View};

/// E-ECN.
#[derive(Clone, Debug)]
pub struct EEcn {
    threshold_bytes: f64,
    /// T_a in picoseconds.
    ahead_ps: f64,
    growth: Growth,
}

impl EEcn {
    /// For a port of so many queues.
    pub fn new(threshold: Bytes, t_i: Span, t_a: Span, queues: usize) -> Self {
        EEcn {
            threshold_bytes: threshold.as_f64(),
            ahead_ps: t_a.as_ps() as f64,
            growth: Growth::new(t_i, queues),
        }
    }
}

impl Marker for EEcn {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        let bytes = view.port.queue_bytes(queue).as_f64();
        let predicted = bytes + self.growth.found(view, queue) * self.ahead_ps;
        if predicted >= self.threshold_bytes { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        self.growth.stored(view, queue, slot);
        None
    }

    fn refused(&mut self, view: &View, queue: QueueId, _: &Packet, why: DropReason) {
        if why == DropReason::NotEcnCapable {
            self.growth.refused(view, queue);
        }
    }

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.threshold_bytes)
    }
}
