//! ABM (Addanki, Apostolaki, Ghobadi, Schmid, Vanbever: ABM, Active Buffer Management in
//! Datacenters, SIGCOMM 2022): a queue may hold α·(B − Q)/n·μ/b. B − Q is the memory that the
//! switch has left, and n the number of congested queues with its number at all ports. μ/b is the
//! part of its line that it drains at.
//!
//! As its authors' simulator has it (github.com/inet-tub/ns3-datacenter): a queue counts in n by its length
//! over `saturation`, at most as one; n is 1 at least; μ/b is what left in the last `interval`, and 1 if
//! that is less than one of the port's queues would have, or more than there is. Theirs counts a queue at its
//! own arrivals and n once an interval; here both are as they are when the arrival comes.
//!
//! Hosts in the paper tag the packets of a flow's first round trip, which have a larger α. Packets carry no such
//! tag here: flows that have sent little yet may have it instead ([`Young`]).

use super::dynamic_threshold;
use super::fab::Young;
use super::holdings::Place;
use crate::hooks::{Admission, Buffer};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span};

/// ABM.
#[derive(Clone, Debug)]
pub struct Abm {
    /// Limit below which a flow is young, and the larger α of young flows.
    young: Option<(Young, f64)>,
    saturation: f64,
    interval: Span,
    place: Place,
    queues: Box<[Drain]>,
}

/// How a queue drains.
#[derive(Clone, Copy, Debug)]
struct Drain {
    alpha: f64,
    /// Bytes that left in this interval.
    bytes: u64,
    /// μ/b.
    share: f64,
}

impl Abm {
    /// At a port whose queues have these α.
    pub fn new(
        alphas: &[f64],
        young: Option<(Young, f64)>,
        saturation: Bytes,
        interval: Span,
        place: Place,
    ) -> Abm {
        let drain = |&alpha: &f64| Drain { alpha, bytes: 0, share: 1.0 };
        let queues = alphas.iter().map(drain).collect();
        Abm { young, saturation: saturation.as_f64(), interval, place, queues }
    }

    /// α for a queue whose packets have this one: DT's with n and μ/b.
    fn effective(&self, queue: QueueId, alpha: f64) -> f64 {
        let part = |bytes: Bytes| (bytes.as_f64() / self.saturation).min(1.0);
        // Read as the arrival comes, from the lengths that every port writes down as they change.
        let congested: f64 = self.place.alike(queue).map(part).sum();
        alpha / congested.max(1.0) * self.queues[queue as usize].share
    }
}

impl Buffer for Abm {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        let mut alpha = self.queues[usize::from(queue)].alpha;
        if let Some((young, alpha_young)) = &self.young
            && young.is_young(view.now, packet)
        {
            alpha = *alpha_young;
        }
        dynamic_threshold(view, queue, packet, self.effective(queue, alpha))
    }

    fn stored(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.place.note(view, queue);
        if let Some((young, _)) = &mut self.young {
            young.sent(view.now, packet);
        }
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        self.place.note(view, queue);
    }

    fn sent(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.place.note(view, queue);
        self.queues[queue as usize].bytes += u64::from(packet.len_bytes);
    }

    fn reads_pool(&self) -> bool {
        true
    }

    fn period(&self) -> Option<Span> {
        Some(self.interval)
    }

    fn tick(&mut self, view: &View, n: u64) {
        // Bytes that the line sends in an interval.
        let whole = view.port.rate().as_bps() as f64 / 8.0 * self.interval.as_secs_f64();
        let least = 1.0 / self.queues.len() as f64;
        for drain in &mut self.queues {
            // Of several intervals the last had nothing.
            let bytes = if n == 1 { drain.bytes } else { 0 };
            let share = bytes as f64 / whole;
            // Outside this range the measurement says nothing: an idle queue is not a slow one.
            let measured = (least..=1.0).contains(&share);
            (drain.bytes, drain.share) = (0, if measured { share } else { 1.0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, Pool, PortState};
    use switchbed_units::random::NoRandom;
    use switchbed_units::{Rate, Time};

    /// 1,000,000 bytes, 400,000 taken; α = 0.5, three congested queues, half of the line: a limit of
    /// 0.5·600,000/3/2 = 50,000. With α = 64 it is 6,400,000, and what is free binds alone.
    #[test]
    fn the_limit_is_as_worked_out_by_hand() {
        let first = Place::first(3, 2);
        let at = |port| (0..port).fold(first.clone(), |place, _| place.next());
        let packet = |len_bytes| Packet { len_bytes, ..Packet::default() };
        let abm = |place, young| {
            let (saturation, interval) = (Bytes::new(28_000), Span::from_us(30));
            Abm::new(&[0.5; 2], young, saturation, interval, place)
        };
        let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500); 2]);
        let (arena, mut pool) = (Arena::new(), Pool::new(Bytes::new(1_000_000)));
        pool.used = Bytes::new(400_000);
        let view = View::new(Time::ZERO, &state, &pool, &arena);
        let holds = |port: u32, bytes: u64| {
            let mut long = state.clone();
            long.queues[0].bytes = bytes;
            at(port).note(&View { port: &long, ..view }, 0);
        };
        (0..3).for_each(|port| holds(port, 133_333));
        // Half of what 10 Gbps carry in 30 us, 37,500 bytes.
        let mut half = abm(at(0), None);
        half.queues[0].bytes = 18_750;
        half.tick(&view, 1);
        assert_eq!(half.effective(0, 0.5) * 600_000.0, 50_000.0);
        assert_eq!(half.admit(&view, 0, &packet(50_000), &mut NoRandom), Admission::In);
        let full = Admission::Out(DropReason::Full);
        assert_eq!(half.admit(&view, 0, &packet(50_001), &mut NoRandom), full);
        // 14,000 bytes count as half a queue.
        holds(1, 14_000);
        assert_eq!(half.effective(0, 0.5), 0.5 / 2.5 * 0.5);
        holds(1, 133_333);
        let young = Some((Young::new(Bytes::MAX), 64.0));
        let mut new = Abm { queues: half.queues.clone(), ..abm(at(0), young) };
        assert_eq!(new.effective(0, 64.0) * 600_000.0, 6_400_000.0);
        assert_eq!(new.admit(&view, 0, &packet(600_000), &mut NoRandom), Admission::In);
        assert_eq!(new.admit(&view, 0, &packet(600_001), &mut NoRandom), full);
    }

    #[test]
    fn a_queue_that_hardly_drains_counts_as_if_it_had_the_line() {
        let mut abm =
            Abm::new(&[0.5; 2], None, Bytes::new(28_000), Span::from_us(30), Place::first(1, 2));
        let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500); 2]);
        let (arena, pool) = (Arena::new(), Pool::new(Bytes::MAX));
        let view = View::new(Time::ZERO, &state, &pool, &arena);
        // 18,749 of 37,500 bytes are less than one of two queues' part.
        (abm.queues[0].bytes, abm.queues[1].bytes) = (18_749, 30_000);
        abm.tick(&view, 1);
        assert_eq!((abm.queues[0].share, abm.queues[1].share), (1.0, 0.8));
        abm.queues[1].bytes = 30_000;
        abm.tick(&view, 2);
        assert_eq!(abm.queues[1].share, 1.0);
    }
}
