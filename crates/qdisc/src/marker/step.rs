//! Step marking: CE when a length is strictly over a threshold, the packet in question
//! counted. The length is a queue's, the port's or the pool's; instantaneous (DCTCP, SIGCOMM 2010,
//! section 3.1; MQ-ECN, section 2).
//!
//! | scheme | length | parameter |
//! | --- | --- | --- |
//! | per-queue | the packet's queue | threshold K (bytes): C·RTT·λ for the "standard" one |
//! | per-queue-min | the packet's queue | K, divided among the queues by quantum (MQ-ECN, eq. 2) |
//! | per-port | all queues of the port | K |
//! | per-pool | all that the switch's shared pool holds | K |

use super::MarkAt;
use crate::arena::{Note, SlotId};
use crate::packet::{Packet, QueueId};
use crate::random::Random;
use crate::seats::{Departure, Intent, Marker};
use crate::units::Bytes;
use crate::view::View;

#[derive(Clone, Copy, Debug)]
enum Length {
    Queue,
    Port,
    Pool,
}

/// Step marking.
#[derive(Clone, Debug)]
pub struct Step {
    length: Length,
    /// One for each queue; need not be whole bytes.
    thresholds_bytes: Box<[f64]>,
    at: MarkAt,
}

impl Step {
    /// The packet's own queue against the same threshold in all `queues`.
    pub fn per_queue(threshold: Bytes, queues: usize, at: MarkAt) -> Self {
        let thresholds_bytes = vec![threshold.as_f64(); queues].into();
        Step { length: Length::Queue, thresholds_bytes, at }
    }

    /// The packet's own queue against its part of the threshold, which is divided in
    /// proportion to the quanta (MQ-ECN, eq. 2).
    pub fn per_queue_min(threshold: Bytes, quanta: &[Bytes], at: MarkAt) -> Self {
        let sum: u64 = quanta.iter().map(|q| q.get()).sum();
        let part = |q: &Bytes| threshold.as_f64() * q.as_f64() / sum as f64;
        Step { length: Length::Queue, thresholds_bytes: quanta.iter().map(part).collect(), at }
    }

    /// All queues of the port together against one threshold.
    pub fn per_port(threshold: Bytes, queues: usize, at: MarkAt) -> Self {
        Step { length: Length::Port, ..Self::per_queue(threshold, queues, at) }
    }

    /// All that the switch's pool holds against one threshold (MQ-ECN, section 2.2.3).
    pub fn per_pool(threshold: Bytes, queues: usize, at: MarkAt) -> Self {
        Step { length: Length::Pool, ..Self::per_queue(threshold, queues, at) }
    }

    #[inline]
    fn length(&self, view: &View, queue: QueueId) -> Bytes {
        match self.length {
            Length::Queue => view.port.queue_bytes(queue),
            Length::Port => view.port.bytes(),
            Length::Pool => view.pool.used,
        }
    }
}

impl Marker for Step {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        let length = self.length(view, queue) + Bytes::new(packet.len_bytes as u64);
        let over = length.as_f64() > self.thresholds_bytes[queue as usize];
        if over && self.at == MarkAt::Enqueue { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let over = self.length(view, queue).as_f64() > self.thresholds_bytes[queue as usize];
        if over && self.at == MarkAt::Dequeue { Departure::Mark } else { Departure::Pass }
    }

    fn reads_pool(&self) -> bool {
        matches!(self.length, Length::Pool)
    }

    fn threshold_bytes(&self, _: &View, queue: QueueId) -> Option<f64> {
        Some(self.thresholds_bytes[queue as usize])
    }
}
