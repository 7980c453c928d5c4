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

use super::dynamic::dynamic_threshold;
use super::fab::Young;
use super::of_switch::Lengths;
use super::of_switch::{At, Policy};
use crate::hooks::Admission;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::DropReason;
use switchbed_units::{Bytes, Span, Time};

/// ABM.
#[derive(Clone, Debug)]
pub struct Abm {
    alphas: Box<[f64]>,
    /// Each port's young flows, and their larger α.
    young: Option<(Box<[Young]>, f64)>,
    saturation: f64,
    interval: Span,
    /// By queue, then by port: n counts queues of one number.
    lengths: Lengths,
    /// End of the interval under way, by port.
    ends: Box<[Time]>,
    /// By port, then by queue.
    drains: Box<[Drain]>,
}

/// How a queue drains.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Bytes that left in this interval.
    bytes: u64,
    /// μ/b.
    share: f64,
}

impl Abm {
    /// At a switch of so many ports whose queues have these α.
    pub fn new(
        ports: usize,
        alphas: &[f64],
        young: Option<(Young, f64)>,
        saturation: Bytes,
        interval: Span,
    ) -> Abm {
        Abm {
            alphas: alphas.into(),
            young: young.map(|(young, alpha)| (vec![young; ports].into(), alpha)),
            saturation: saturation.as_f64(),
            interval,
            lengths: Lengths::new(ports * alphas.len()),
            ends: vec![Time::ZERO + interval; ports].into(),
            drains: vec![Drain { bytes: 0, share: 1.0 }; ports * alphas.len()].into(),
        }
    }

    fn note(&mut self, at: &At, queue: QueueId) {
        let place = usize::from(queue) * self.ends.len() + at.number();
        self.lengths.note(place, at.port.queue_bytes(queue));
    }

    fn drain(&mut self, at: &At, queue: QueueId) -> &mut Drain {
        &mut self.drains[at.number() * self.alphas.len() + usize::from(queue)]
    }

    /// α for a queue whose packets have this one: DT's with n and μ/b.
    fn effective(&mut self, at: &At, queue: QueueId, alpha: f64) -> f64 {
        let part = |bytes: u64| (bytes as f64 / self.saturation).min(1.0);
        let (first, ports) = (usize::from(queue) * self.ends.len(), self.ends.len());
        let alike = self.lengths.filled(first..first + ports);
        let congested: f64 = alike.map(|(_, bytes)| part(bytes)).sum();
        alpha / congested.max(1.0) * self.drain(at, queue).share
    }

    /// Measures how fast the port's queues drain at the end of each interval. It is made up for as the port
    /// is next asked for it: nothing has left the port since.
    fn measure(&mut self, at: &At) {
        let end = &mut self.ends[at.number()];
        if *end > at.now {
            return;
        }
        let since = (at.now - *end).as_ps() / self.interval.as_ps();
        *end += self.interval * (since + 1);
        // Bytes that the line sends in an interval.
        let whole = at.port.rate().as_bps() as f64 / 8.0 * self.interval.as_secs_f64();
        let queues = self.alphas.len();
        let least = 1.0 / queues as f64;
        for drain in &mut self.drains[at.number() * queues..][..queues] {
            // Of several intervals the last had nothing.
            let bytes = if since == 0 { drain.bytes } else { 0 };
            let share = bytes as f64 / whole;
            // Outside this range the measurement says nothing: an idle queue is not a slow one.
            let measured = (least..=1.0).contains(&share);
            (drain.bytes, drain.share) = (0, if measured { share } else { 1.0 });
        }
    }
}

impl Policy for Abm {
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        self.measure(at);
        let young = self.young.as_ref().filter(|(of, _)| of[at.number()].is_young(at.now, packet));
        let alpha = young.map_or(self.alphas[usize::from(queue)], |&(_, alpha)| alpha);
        dynamic_threshold(at, queue, packet, self.effective(at, queue, alpha))
    }

    fn stored(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.note(at, queue);
        if let Some((young, _)) = &mut self.young {
            young[at.number()].sent(at.now, packet);
        }
    }

    fn removed(&mut self, at: &At, queue: QueueId, _: &Packet, _: DropReason) {
        self.note(at, queue);
    }

    fn sent(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.measure(at);
        self.note(at, queue);
        self.drain(at, queue).bytes += u64::from(packet.len_bytes);
    }

    fn passed(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        if let Some((young, _)) = &mut self.young {
            young[at.number()].sent(at.now, packet);
        }
        self.measure(at);
        // The queue was empty before and is again: its length is noted already.
        self.drain(at, queue).bytes += u64::from(packet.len_bytes);
    }

    // An interval that has ended is measured against the rate that the line had.
    fn rate_changes(&mut self, at: &At) {
        self.measure(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortState;
    use switchbed_units::Rate;

    /// Ports of 10 Gbps with two queues.
    fn port(number: u32) -> PortState {
        PortState::new(Rate::from_gbps(10), &[Bytes::new(1500); 2]).numbered(number)
    }

    fn at(port: &PortState, us: u64) -> At<'_> {
        let (capacity, used) = (Bytes::new(1_000_000), Bytes::new(400_000));
        At { now: Time::ZERO + Span::from_us(us), port, capacity, used }
    }

    fn packet(len_bytes: u32) -> Packet {
        Packet { len_bytes, ..Packet::default() }
    }

    fn abm(ports: usize, young: Option<(Young, f64)>) -> Abm {
        Abm::new(ports, &[0.5; 2], young, Bytes::new(28_000), Span::from_us(30))
    }

    /// 1,000,000 bytes, 400,000 taken; α = 0.5, three congested queues, half of the line: a limit of
    /// 0.5·600,000/3/2 = 50,000. With α = 64 it is 6,400,000, and what is free binds alone.
    #[test]
    fn the_limit_is_as_worked_out_by_hand() {
        let young = || Some((Young::new(Bytes::MAX), 64.0));
        let full = Admission::Out(DropReason::Full);
        let (mut half, mut new) = (abm(3, None), abm(3, young()));
        let holds = |abm: &mut Abm, number: u32, bytes: u64| {
            let mut long = port(number);
            long.queues[0].bytes = bytes;
            abm.note(&at(&long, 0), 0);
        };
        let empty = port(0);
        for abm in [&mut half, &mut new] {
            // Half of what 10 Gbps carry in 30 us, 37,500 bytes.
            abm.sent(&at(&empty, 0), 0, &packet(18_750));
            (0..3).for_each(|number| holds(abm, number, 133_333));
            abm.measure(&at(&empty, 30));
        }
        let then = at(&empty, 30);
        assert_eq!(half.effective(&then, 0, 0.5) * 600_000.0, 50_000.0);
        assert_eq!(half.admit(&then, 0, &packet(50_000)), Admission::In);
        assert_eq!(half.admit(&then, 0, &packet(50_001)), full);
        // 14,000 bytes count as half a queue.
        holds(&mut half, 1, 14_000);
        assert_eq!(half.effective(&then, 0, 0.5), 0.5 / 2.5 * 0.5);
        assert_eq!(new.effective(&then, 0, 64.0) * 600_000.0, 6_400_000.0);
        assert_eq!(new.admit(&then, 0, &packet(600_000)), Admission::In);
        assert_eq!(new.admit(&then, 0, &packet(600_001)), full);
    }

    #[test]
    fn a_queue_that_hardly_drains_counts_as_if_it_had_the_line() {
        let (mut abm, port) = (abm(1, None), port(0));
        // 18,749 of 37,500 bytes are less than one of two queues' part.
        abm.sent(&at(&port, 29), 0, &packet(18_749));
        abm.sent(&at(&port, 29), 1, &packet(30_000));
        abm.measure(&at(&port, 59));
        assert_eq!((abm.drains[0].share, abm.drains[1].share), (1.0, 0.8));
        // Nothing left in the last of two intervals.
        abm.sent(&at(&port, 59), 1, &packet(30_000));
        abm.measure(&at(&port, 120));
        assert_eq!(abm.drains[1].share, 1.0);
    }

    /// A port that is asked late measures what one does that is asked at the end of each interval.
    #[test]
    fn intervals_that_ended_long_ago_are_made_up_for() {
        let port = port(0);
        let (mut late, mut prompt) = (abm(1, None), abm(1, None));
        for us in [3, 29, 30, 44, 61, 95, 200, 211, 239, 241] {
            (1..=us / 30).for_each(|end| prompt.measure(&at(&port, 30 * end)));
            for abm in [&mut late, &mut prompt] {
                abm.sent(&at(&port, us), 1, &packet(20_000));
            }
            let of = |abm: &Abm| (abm.ends[0], abm.drains[1].bytes, abm.drains[1].share);
            assert_eq!(of(&late), of(&prompt), "{us}");
        }
    }

    #[test]
    fn an_interval_is_measured_against_the_rate_that_the_line_had() {
        let (mut abm, mut port) = (abm(1, None), port(0));
        abm.sent(&at(&port, 0), 0, &packet(30_000));
        abm.rate_changes(&at(&port, 31));
        port.set_rate(Rate::from_gbps(40));
        abm.measure(&at(&port, 32));
        assert_eq!(abm.drains[0].share, 0.8);
    }
}
