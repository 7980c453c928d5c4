//! CEDM, Combined Enqueue and Dequeue Marking (Shan and Ren: Improving ECN Marking Scheme
//! with Micro-burst Traffic in Data Center Networks, INFOCOM 2017), a queue at a time: marks
//! a packet as it arrives, and takes the mark back as it leaves if the queue that caused it
//! was a passing burst.
//!
//! Arrival (algorithm 1): mark if q ≥ K2, or if avg_s ≥ 0 and q ≥ K1. Departure (algorithm 2):
//! s = (q(t) − q(t')) / (t − t') since the departure before, avg_s ← (1 − w_s)·avg_s + w_s·s
//! (eq. 31); a mark goes if q < K2 and (q < K1 or avg_s < 0).
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | k1: where marking begins | bytes | the threshold of step marking |
//! | k2: where marks stay, whatever the slope | bytes | K1 + (N − 1)·B for N bursts of B |
//! | weight w_s of a new slope | – | 0.129, the most that bears 5 packets of decrease, N = 2 |
//! | header | bytes | – |
//!
//! Our reading: q is the queue as the operation leaves it, the arriving packet counted and
//! the departing one not. The first departure has none before it and gives no slope; a second
//! one at one instant updates nothing. A packet no longer than `header` carries no payload and is passed over,
//! slope included. Only this port's own mark is taken back.

use crate::arena::{Note, SlotId};
use crate::packet::{Packet, QueueId};
use crate::random::Random;
use crate::seats::{Departure, Intent, Marker};
use crate::units::{Bytes, PS_PER_S, Time};
use crate::view::View;

/// CEDM's parameters.
#[derive(Clone, Copy, Debug)]
pub struct CedmSettings {
    /// From here marks are given, if the queue does not shrink.
    pub k1: Bytes,
    /// From here marks are given and kept whatever the slope.
    pub k2: Bytes,
    /// Weight of a new slope in the average, in (0, 1].
    pub weight: f64,
    /// The longest packet without payload.
    pub header: Bytes,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// avg_s in bytes a picosecond.
    slope: f64,
    /// The last departure: when, and the bytes it left behind.
    last: Option<(Time, u64)>,
}

/// CEDM.
#[derive(Clone, Debug)]
pub struct Cedm {
    settings: CedmSettings,
    queues: Box<[Queue]>,
}

impl Cedm {
    /// For a port of so many queues.
    pub fn new(settings: CedmSettings, queues: usize) -> Self {
        Cedm { settings, queues: vec![Queue::default(); queues].into() }
    }

    /// The smoothed slope avg_s of a queue in bytes per second.
    pub fn slope(&self, queue: QueueId) -> f64 {
        self.queues[queue as usize].slope * PS_PER_S as f64
    }

    fn has_payload(&self, len_bytes: u32) -> bool {
        len_bytes as u64 > self.settings.header.get()
    }
}

impl Marker for Cedm {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        if !self.has_payload(packet.len_bytes) {
            return Intent::Pass;
        }
        let bytes = view.port.queue_bytes(queue) + Bytes::new(packet.len_bytes as u64);
        let grows = self.queues[queue as usize].slope >= 0.0;
        let marks = bytes >= self.settings.k2 || grows && bytes >= self.settings.k1;
        if marks { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        note: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let len_bytes = view.arena.packet(slot).len_bytes;
        if !self.has_payload(len_bytes) {
            return Departure::Pass;
        }
        let bytes = view.port.queue_bytes(queue).get() - len_bytes as u64;
        let CedmSettings { k1, k2, weight, .. } = self.settings;
        let Queue { slope, last } = &mut self.queues[queue as usize];
        match *last {
            Some((time, before)) if view.now > time => {
                let growth = bytes as f64 - before as f64;
                let sample = growth / (view.now - time).as_ps() as f64;
                *slope = (1.0 - weight) * *slope + weight * sample;
                *last = Some((view.now, bytes));
            }
            Some(_) => {}
            None => *last = Some((view.now, bytes)),
        }
        let passing = bytes < k2.get() && (bytes < k1.get() || *slope < 0.0);
        if note == Note::Mark && passing { Departure::Unmark } else { Departure::Pass }
    }

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.settings.k1.as_f64())
    }
}
