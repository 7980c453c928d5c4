//! Weighted fair queueing, self-clocked (Golestani: A Self-Clocked Fair Queueing Scheme for
//! Broadband Applications, INFOCOM 1994): the packet with the least finish tag goes next, a
//! tag being its predecessor's, or the tag in service if its queue was empty, plus length /
//! weight. Weights are the port's quanta.
//!
//! Tags are kept for the queues' heads alone: in a backlogged queue a packet's start is its
//! predecessor's finish, whatever came in between, so a packet removed from inside leaves no
//! trace. When a port empties all tags return to zero, where they would be equal anyway.

use crate::hooks::{Scheduler, Selection, ServiceEnd};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Time;

/// Self-clocked fair queueing (Golestani, INFOCOM 1994).
#[derive(Clone, Debug)]
pub struct Wfq {
    /// The start tag of each queue's head, or of the next packet to come, in bytes a byte of
    /// weight.
    starts: Box<[f64]>,
    /// When each queue's only packet was last displaced by an arrival: one of its own at
    /// that instant finds the queue as good as backlogged and takes the tag over.
    vacated: Box<[Time]>,
    /// The finish tag of the packet in service: the virtual time.
    now: f64,
}

impl Wfq {
    /// Makes it for a port of `queues` queues.
    pub fn new(queues: usize) -> Self {
        Wfq {
            starts: vec![0.0; queues].into(),
            vacated: vec![Time::NEVER; queues].into(),
            now: 0.0,
        }
    }

    fn finish(&self, view: &View, queue: QueueId, len_bytes: u32) -> f64 {
        self.starts[queue as usize] + len_bytes as f64 / view.port.quantum(queue).as_f64()
    }
}

impl Scheduler for Wfq {
    fn enqueued(&mut self, view: &View, queue: QueueId, _: &Packet) {
        // The queue was busy until this instant, or it is again: its tag goes on where it stopped.
        if view.port.queue_packets(queue) > 1 || self.vacated[queue as usize] == view.now {
            return;
        }
        // Alone at the port, as the packet is: then all tags would be equal, and rounding errors
        // stop growing.
        if view.port.packets() == 1 {
            self.starts.fill(0.0);
            self.now = 0.0;
        } else {
            let start = &mut self.starts[queue as usize];
            // An idle queue cannot save up a right to send: it starts no earlier than the tag in
            // service.
            *start = start.max(self.now);
        }
    }

    fn select(&mut self, view: &View, _: &mut dyn FnMut(ServiceEnd)) -> Selection {
        let tag = |queue: QueueId| {
            let head = view.arena.packet(view.head(queue));
            self.finish(view, queue, head.len_bytes)
        };
        let backlogged = view.port.backlogged().iter();
        // The lowest queue among equals: min_by keeps the first.
        match backlogged.min_by(|&a, &b| tag(a).total_cmp(&tag(b))) {
            Some(queue) => Selection::Queue(queue),
            None => Selection::Empty,
        }
    }

    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: Time,
        _: &mut dyn FnMut(ServiceEnd),
    ) {
        let finish = self.finish(view, queue, packet.len_bytes);
        // The start of the packet behind it, as `finish` of this one.
        self.starts[queue as usize] = finish;
        // Where a push-out left a shorter head, a tag may lag behind the others'.
        self.now = self.now.max(finish);
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, why: DropReason) {
        if why == DropReason::PushedOut && view.port.queue_packets(queue) == 0 {
            self.vacated[queue as usize] = view.now;
        }
    }
}
