//! CQRD's random mark (Chen, Zhao, Pei: Computer Networks 2015, section 4.3.3): when an
//! arrival makes its queue longer than a threshold, one packet of the queue, the arrival among
//! them, is drawn with probability by its length and marked.
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | threshold | bytes | 40 % of a queue's memory |
//!
//! Our reading: the arrival is counted and the comparison strict, as in step marking. One
//! draw an arrival: a packet that is drawn again, came marked, or is not ECN-capable stays as
//! it is, and nobody is drawn in its place.

use crate::hooks::{Intent, Marker};
use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use switchbed_units::Bytes;
use switchbed_units::random::Random;

/// Marker of the CQRD paper that marks at random.
#[derive(Clone, Copy, Debug)]
pub struct RandomMark {
    /// A queue's length over which a packet of it is marked.
    pub threshold: Bytes,
}

impl Marker for RandomMark {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Intent,
        rng: &mut dyn Random,
    ) -> Option<SlotId> {
        let bytes = view.port.queue_bytes(queue);
        let drawn = || view.slot_at_byte(queue, Bytes::new(rng.below(bytes.get())));
        (bytes > self.threshold).then(drawn)
    }

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.threshold.as_f64())
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

    #[test]
    fn the_marked_packet_is_drawn_by_length() {
        let lengths = [1500, 40, 9000, 700];
        let mut port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500)]);
        let mut arena = Arena::new();
        let slots: Vec<SlotId> = lengths
            .iter()
            .map(|&len_bytes| {
                let slot = arena.alloc(Packet { len_bytes, ..Packet::default() });
                port.queues[0].list.push_back(&mut arena, slot);
                port.queues[0].bytes += len_bytes as u64;
                slot
            })
            .collect();
        let memory = SwitchMemory::new(Bytes::MAX);
        let view = View::new(Time::ZERO, &port, &memory, &arena);
        let mut marker = RandomMark { threshold: Bytes::new(11_239) };
        let mut rng = SplitMix(2);
        let mut hits = [0u64; 4];
        for _ in 0..100_000 {
            let marked = marker.stored(&view, 0, slots[3], Intent::Pass, &mut rng).unwrap();
            hits[slots.iter().position(|&slot| slot == marked).unwrap()] += 1;
        }
        // 3 degrees of freedom: over 16.27 once in a thousand.
        let chi = chi_square(&hits, &lengths.map(f64::from));
        assert!(chi < 16.27, "{chi}: {hits:?}");

        marker.threshold = Bytes::new(11_240);
        assert_eq!(marker.stored(&view, 0, slots[3], Intent::Pass, &mut rng), None);
    }
}
