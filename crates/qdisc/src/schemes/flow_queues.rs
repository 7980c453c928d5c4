//! Queues of flows that are made as they come and take turns by deficit round robin, those that have just
//! come first (RFC 8290, section 4; Linux, sch_fq_codel.c and sch_fq_pie.c). Each has a controller of its own.

use crate::classifier::hashed;
use crate::hooks::Selection;
use crate::port::arena::SlotId;
use crate::port::packet::Packet;
use crate::port::view::View;
use std::collections::VecDeque;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Bytes;

params! {
    /// Queues of flows.
    pub struct FlowQueueParams {
        /// Queues that flows are hashed into.
        flows: u32 = "1024" as count(1, 65_536);
        /// Bytes that a queue sends in a turn. Default: the longest packet.
        quantum: Option<Bytes>;
        /// The most packets of a port, which its memory limits besides.
        limit: u32 = "10240" as count(1, 10_000_000);
    }
}

impl FlowQueueParams {
    pub(super) fn check(&self) -> Result<(), Unfit> {
        match self.quantum {
            Some(Bytes::ZERO) => Err(Unfit::new(Self::KEY.quantum, "a turn has at least 1 byte")),
            _ => Ok(()),
        }
    }
}

/// A flow's queue, with the controller `L` for its packets.
pub(super) struct Flow<L> {
    pub(super) packets: VecDeque<SlotId>,
    pub(super) bytes: u64,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// Whether the queue is in turn, among the new or the old.
    listed: bool,
    pub(super) controller: L,
}

/// Queues of flows, and their turns.
pub(super) struct FlowQueues<L> {
    /// The most packets and bytes of the port.
    limit: u32,
    memory: Bytes,
    quantum: i64,
    /// Where a hash's queue is; most have none.
    places: Box<[Option<u32>]>,
    /// Every queue that there has been; each keeps its controller's state.
    pub(super) flows: Vec<Flow<L>>,
    /// Queues in turn: those that have just come, then the others.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Controller of a queue that is made.
    first: L,
}

impl<L: Clone> FlowQueues<L> {
    /// Makes them for packets up to `packet` and so much memory, each with the controller `first`.
    pub(super) fn new(params: &FlowQueueParams, packet: Bytes, memory: Bytes, first: L) -> Self {
        FlowQueues {
            limit: params.limit,
            memory,
            quantum: params.quantum.unwrap_or(packet).get() as i64,
            places: vec![None; params.flows as usize].into(),
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            first,
        }
    }

    /// Whether the port has space for an arrival.
    pub(super) fn has_space(&self, view: &View, packet: &Packet) -> bool {
        let len = Bytes::new(packet.len_bytes.into());
        view.port.packets() < self.limit && view.port.bytes() + len <= self.memory
    }

    /// The place of a packet's queue, which is made if it is not there.
    pub(super) fn place(&mut self, packet: &Packet) -> u32 {
        let hash = hashed(packet.flow, 0, self.places.len());
        *self.places[hash].get_or_insert_with(|| {
            let (packets, controller) = (VecDeque::new(), self.first.clone());
            self.flows.push(Flow { packets, bytes: 0, deficit: 0, listed: false, controller });
            self.flows.len() as u32 - 1
        })
    }

    /// A packet's queue, if it has been made.
    pub(super) fn look(&self, packet: &Packet) -> Option<&Flow<L>> {
        let place = self.places[hashed(packet.flow, 0, self.places.len())]?;
        self.flows.get(place as usize)
    }

    /// A packet's queue.
    pub(super) fn of(&mut self, packet: &Packet) -> &mut Flow<L> {
        let place = self.place(packet);
        &mut self.flows[place as usize]
    }

    /// A packet is stored at the end of its queue, which gets a turn if it had none.
    pub(super) fn store(&mut self, packet: &Packet, slot: SlotId) {
        let (place, quantum) = (self.place(packet), self.quantum);
        let flow = &mut self.flows[place as usize];
        flow.packets.push_back(slot);
        flow.bytes += u64::from(packet.len_bytes);
        if !flow.listed {
            (flow.listed, flow.deficit) = (true, quantum);
            self.new.push_back(place);
        }
    }

    /// A packet has left the head of its queue.
    pub(super) fn left(&mut self, packet: &Packet) -> &mut Flow<L> {
        let flow = self.of(packet);
        flow.packets.pop_front();
        flow.bytes -= u64::from(packet.len_bytes);
        flow
    }

    /// A packet was sent, by its queue's turn.
    pub(super) fn served(&mut self, packet: &Packet) {
        self.left(packet).deficit -= i64::from(packet.len_bytes);
    }

    /// A packet came: if the line was free and has found all queues empty since, none is in turn any more.
    pub(super) fn found_idle(&mut self, view: &View, mut empty: impl FnMut(&mut L)) {
        // Linux asks for a packet as the line gets free. A port here does not, so the next arrival
        // makes up for it.
        if view.port.packets() != 1 || view.now < view.port.busy_until() {
            return;
        }
        for place in self.new.drain(..).chain(self.old.drain(..)) {
            let flow = &mut self.flows[place as usize];
            flow.listed = false;
            empty(&mut flow.controller);
        }
    }

    /// The next packet; `empty` hears of queues whose turn finds them so.
    pub(super) fn select(&mut self, mut empty: impl FnMut(&mut L)) -> Selection {
        loop {
            let fresh = !self.new.is_empty();
            let turns = if fresh { &mut self.new } else { &mut self.old };
            let Some(&place) = turns.front() else { return Selection::Empty };
            let flow = &mut self.flows[place as usize];
            if flow.deficit > 0
                && let Some(&head) = flow.packets.front()
            {
                return Selection::Packet(head);
            }
            turns.pop_front();
            // RFC 8290, section 4.2: a queue that has used its quantum goes behind the old ones.
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.old.push_back(place);
                continue;
            }
            empty(&mut flow.controller);
            // An empty new queue becomes old first, so that a flow cannot stay new by sending slowly
            // (RFC 8290, section 4.2).
            if fresh && !self.old.is_empty() {
                self.old.push_back(place);
            } else {
                flow.listed = false;
            }
        }
    }
}
