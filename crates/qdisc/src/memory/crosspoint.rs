//! A queue's own memory, counted in cells, with tail drop or random drop: the crosspoint
//! buffers of CQ and CQRD (Chen, Zhao, Pei: Alleviating flow interference in data center
//! networks through fine-grained switch queue management, Computer Networks 2015, section 4.2),
//! and with one queue an output queue.
//!
//! Random drop: while the arrival does not fit, one packet of its queue, or the arrival
//! itself, is drawn with probability by its length in cells, and dropped.
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | memory of a queue | bytes, of which whole cells are used | all memory / (inputs · outputs) |
//! | cell: a packet takes whole ones | bytes | no larger than the smallest packet; 1 counts bytes |
//!
//! The packet on the wire is out of the queue and never drawn. An arrival that an empty queue
//! could not hold is refused without a draw. To find the victim, the queue is walked from its
//! head; to remove it costs O(1). At the paper's sizes (4.5 to 18 KB a crosspoint, 141 KB in its
//! testbed) that is a walk over 3 to 94 full packets, and only when a packet is lost.

use crate::hooks::{Admission, Buffer};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// Treatment of an arrival at a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Drops the arrival.
    Tail,
    /// Packets drawn by length are dropped until it fits or is drawn.
    Random,
}

/// A queue's own memory in cells.
#[derive(Clone, Debug)]
pub struct Crosspoint {
    cell_bytes: u32,
    /// Cells of each queue.
    limit: u64,
    overflow: Overflow,
    /// Cells taken, by queue.
    used: Box<[u64]>,
}

impl Crosspoint {
    /// Makes `queues` queues of `memory` each. `cell` is over zero.
    pub fn new(memory: Bytes, cell: Bytes, overflow: Overflow, queues: usize) -> Self {
        let cell_bytes = u32::try_from(cell.get()).expect("a cell under 4 GB");
        let limit = memory.get() / cell.get();
        Crosspoint { cell_bytes, limit, overflow, used: vec![0; queues].into() }
    }

    #[inline]
    fn cells(&self, packet: &Packet) -> u64 {
        packet.len_bytes.div_ceil(self.cell_bytes) as u64
    }

    /// The packet that is dropped for an arrival of so many cells; none is the arrival.
    fn drawn(
        &self,
        view: &View,
        queue: QueueId,
        arrival: u64,
        rng: &mut dyn Random,
    ) -> Option<crate::SlotId> {
        // One draw over all cells, the arrival's last: who holds more of them is hit more often.
        let mut left = rng.below(self.used[queue as usize] + arrival);
        view.slots(queue).find(|&slot| {
            let cells = self.cells(view.arena.packet(slot));
            let here = left < cells;
            // Wraps only at the packet that was found, after which nothing is read.
            left = left.wrapping_sub(cells);
            here
        })
    }
}

impl Buffer for Crosspoint {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        let arrival = self.cells(packet);
        if self.used[queue as usize] + arrival <= self.limit {
            return Admission::In;
        }
        let victim = match self.overflow {
            // Larger than the whole queue: no number of victims would make it fit.
            Overflow::Random if arrival <= self.limit => self.drawn(view, queue, arrival, rng),
            _ => None,
        };
        victim.map_or(Admission::Out(DropReason::Full), Admission::PushOut)
    }

    fn full(&self, _: &View, queue: QueueId, packet: &Packet) -> bool {
        let arrival = self.cells(packet);
        // Random drop can always make space, unless the packet is larger than the queue.
        let held = if self.overflow == Overflow::Tail { self.used[queue as usize] } else { 0 };
        held + arrival > self.limit
    }

    fn stored(&mut self, _: &View, queue: QueueId, packet: &Packet) {
        self.used[queue as usize] += self.cells(packet);
    }
    fn removed(&mut self, _: &View, queue: QueueId, packet: &Packet, _: DropReason) {
        self.used[queue as usize] -= self.cells(packet);
    }
    fn sent(&mut self, _: &View, queue: QueueId, packet: &Packet) {
        self.used[queue as usize] -= self.cells(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{SplitMix, chi_square};
    use crate::memory::SwitchMemory;
    use crate::port::view::PortState;
    use crate::{Arena, SlotId};
    use switchbed_units::{Rate, Time};

    /// Packets of these lengths in the only queue of a port.
    fn queued(lengths: &[u32]) -> (PortState, Arena, Vec<SlotId>) {
        let mut port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500)]);
        let mut arena = Arena::new();
        let slots = lengths.iter().map(|&len_bytes| {
            let slot = arena.alloc(Packet { len_bytes, ..Packet::default() });
            port.queues[0].list.push_back(&mut arena, slot);
            slot
        });
        let slots = slots.collect();
        (port, arena, slots)
    }

    #[test]
    fn the_victim_is_drawn_by_length_the_arrival_among_them() {
        let lengths = [40, 1500, 700, 64, 1500, 65];
        let (port, arena, slots) = queued(&lengths);
        let memory = SwitchMemory::new(Bytes::MAX);
        let view = View::new(Time::ZERO, &port, &memory, &arena);
        let arrival = Packet { len_bytes: 1000, ..Packet::default() };
        for cell in [1, 64] {
            let memory = Bytes::new(3900);
            let mut buffer = Crosspoint::new(memory, Bytes::new(cell), Overflow::Random, 1);
            for &len_bytes in &lengths {
                buffer.stored(&view, 0, &Packet { len_bytes, ..Packet::default() });
            }
            let mut rng = SplitMix(1);
            let mut hits = [0u64; 7];
            for _ in 0..100_000 {
                let victim = match buffer.admit(&view, 0, &arrival, &mut rng) {
                    Admission::PushOut(slot) => slots.iter().position(|&s| s == slot).unwrap(),
                    Admission::Out(DropReason::Full) => 6,
                    other => panic!("{other:?} of a full queue"),
                };
                hits[victim] += 1;
            }
            let weights: Vec<f64> = lengths
                .iter()
                .chain([&arrival.len_bytes])
                .map(|len| len.div_ceil(cell as u32) as f64)
                .collect();
            // 6 degrees of freedom: over 22.46 once in a thousand.
            let chi = chi_square(&hits, &weights);
            assert!(chi < 22.46, "{chi}: {hits:?} for {weights:?}");
        }
    }
}
