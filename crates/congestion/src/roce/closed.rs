//! Senders, one queue and its line, for tests: a packet is served in each slot, and its ACK is back a
//! fixed time later. What a host would do with a control, in as little as it takes.

use super::{IntHop, Path, RateControl, RateMemory, RoceAck};
use std::collections::VecDeque;
use switchbed_units::{Rate, Span, Time};

/// 1,048 bytes at 100 Gbps.
const SLOT: Span = Span::from_ps(83_840);
/// From the end of a packet's service to its ACK.
const BACK: u64 = 49;

pub(super) const PATH: Path = Path {
    line: Rate::from_gbps(100),
    // The pair's own slot and the way back: 4.192 us, 52,400 bytes.
    base_rtt: Span::from_ps(83_840 * (BACK + 1)),
    hops: 1,
    mss: 1_000,
    wire: 1_048,
};

struct Sender {
    memory: RateMemory,
    /// When it may send next.
    next: Time,
    sent: u64,
    acked: u64,
    /// The last CNP to it.
    notified: Option<Time>,
}

struct Packet {
    sender: usize,
    sent_at: Time,
    left: IntHop,
    marked: bool,
}

/// Averages over a number of slots.
pub(super) struct Seen {
    /// The part of them in which a packet was served.
    pub(super) served: f64,
    /// Bytes that waited, on average and at most.
    pub(super) waiting: f64,
    pub(super) most: f64,
}

pub(super) struct Closed {
    control: RateControl,
    senders: Vec<Sender>,
    /// Packets that wait, as their senders and when they were sent.
    queue: VecDeque<(usize, Time)>,
    back: VecDeque<(u64, Packet)>,
    /// Kmin and Kmax in bytes, and Pmax.
    pub(super) marking: Option<(f64, f64, f64)>,
    slot: u64,
    tx_bytes: u64,
    random: u64,
}

impl Closed {
    pub(super) fn new(control: RateControl, senders: usize) -> Closed {
        let sender = |_| Sender {
            memory: RateMemory::new(&control, &PATH, Time::ZERO),
            next: Time::ZERO,
            sent: 0,
            acked: 0,
            notified: None,
        };
        Closed {
            control,
            senders: (0..senders).map(sender).collect(),
            queue: VecDeque::new(),
            back: VecDeque::new(),
            marking: None,
            slot: 0,
            tx_bytes: 0,
            random: 1,
        }
    }

    /// Runs the model for `slots` slots.
    pub(super) fn run(&mut self, slots: u64) -> Seen {
        let (mut served, mut waited, mut most) = (0, 0, 0);
        for _ in 0..slots {
            served += u64::from(self.step());
            waited += self.queue.len();
            most = most.max(self.queue.len());
        }
        let bytes = f64::from(PATH.wire);
        Seen {
            served: served as f64 / slots as f64,
            waiting: waited as f64 / slots as f64 * bytes,
            most: most as f64 * bytes,
        }
    }

    fn step(&mut self) -> bool {
        let now = Time::ZERO + SLOT * self.slot;
        while let Some((_, packet)) = self.back.pop_front_if(|(due, _)| *due <= self.slot) {
            self.answer(now, packet);
        }
        let senders = self.senders.len();
        for i in 0..senders {
            self.send((i + self.slot as usize) % senders, now);
        }
        let packet = self.serve(now + SLOT);
        let busy = packet.is_some();
        self.back.extend(packet.map(|packet| (self.slot + 1 + BACK, packet)));
        self.slot += 1;
        busy
    }

    fn send(&mut self, i: usize, now: Time) {
        let sender = &mut self.senders[i];
        if sender.memory.next_timer() <= now {
            sender.memory.timer(&self.control, now);
        }
        let open = |sender: &Sender| {
            sender.memory.window().is_none_or(|window| sender.sent - sender.acked < window)
        };
        while sender.next <= now && open(sender) {
            sender.sent += u64::from(PATH.mss);
            sender.memory.sent(&self.control, PATH.wire, now);
            let gap = sender.memory.rate().tx_time(PATH.wire);
            sender.next = sender.next.max(now - SLOT.min(now - Time::ZERO)) + gap;
            self.queue.push_back((i, now));
        }
    }

    fn serve(&mut self, end: Time) -> Option<Packet> {
        let (sender, sent_at) = self.queue.pop_front()?;
        self.tx_bytes += u64::from(PATH.wire);
        let queue_bytes = self.queue.len() as u64 * u64::from(PATH.wire);
        // Knuth's generator; its upper half is good enough a die.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let drawn = (self.random >> 32) as f64 / (1_u64 << 32) as f64;
        let marked = self.marking.is_some_and(|(least, most, probability)| {
            let part = (queue_bytes as f64 - least) / (most - least);
            part >= 1.0 || drawn < probability * part
        });
        let left = IntHop { rate: PATH.line, at: end, tx_bytes: self.tx_bytes, queue_bytes };
        Some(Packet { sender, sent_at, left, marked })
    }

    fn answer(&mut self, now: Time, packet: Packet) {
        let sender = &mut self.senders[packet.sender];
        sender.acked += u64::from(PATH.mss);
        let (acked, sent) = (sender.acked, sender.sent);
        let (bytes, rtt, marked) = (PATH.mss, now - packet.sent_at, packet.marked);
        let ack = RoceAck { now, rtt, bytes, acked, sent, hops: &[packet.left] };
        sender.memory.acked(&self.control, &PATH, &ack);
        let Some(interval) = self.control.cnp_interval() else { return };
        if marked && sender.notified.is_none_or(|last| now - last >= interval) {
            sender.notified = Some(now);
            sender.memory.cnp(&self.control, now);
        }
    }
}

mod tests {
    use super::*;
    use crate::roce::{DcqcnParams, DcqcnVariant, SwiftParams};
    use switchbed_config::param::at_defaults;
    use switchbed_units::Bytes;

    /// Marking curve: Kmin and Kmax in bytes, and Pmax.
    const CURVE: (f64, f64, f64) = (12_000.0, 500_000.0, 0.01);

    /// Timers of 50, 50 and 55 us, F = 5, R_AI = R_HAI = 100 Mbps, g = 1/256, no byte counter.
    fn dcqcn(variant: DcqcnVariant) -> DcqcnParams {
        let rai = Some(Rate::from_mbps(100));
        let vendor = variant == DcqcnVariant::Connectx;
        let us = |us| Some(Span::from_us(us));
        DcqcnParams {
            variant,
            g: Some(1.0 / 256.0),
            alpha_timer: us(if vendor { 50 } else { 55 }),
            cut_interval: if vendor { us(50) } else { None },
            cnp_interval: us(if vendor { 0 } else { 50 }),
            increase_timer: us(55),
            recovery_steps: Some(5),
            byte_counter: Some(Bytes::ZERO),
            additive_increase: rai,
            hyper_increase: rai,
            ..at_defaults::<DcqcnParams>()
        }
    }

    #[test]
    fn dcqcns_queue_stands_at_its_fixed_point() {
        // "ECN or Delay", equation 14, in packets per second: p = ∛(R_AI·N²/(τ·C²)·(N/(T·C))²), and
        // the queue where the curve marks so: 31.3, 60.8, 134.9, 321.6 KB with τ = 50 us.
        let bits = f64::from(PATH.wire) * 8.0;
        let (rai, c) = (100e6 / bits, 100e9 / bits);
        for variant in [DcqcnVariant::Connectx, DcqcnVariant::Paper] {
            let params = dcqcn(variant);
            let tau = params.alpha_timer.map_or(0.0, Span::as_secs_f64);
            for n in [2_u32, 4, 8, 16] {
                let (flows, steps) = (f64::from(n), f64::from(n) / (55e-6 * c));
                let p = libm::cbrt(rai * flows * flows / (tau * c * c) * steps * steps);
                let expected = CURVE.0 + p * (CURVE.1 - CURVE.0) / CURVE.2;
                let mut closed = Closed::new(RateControl::Dcqcn(params), n as usize);
                closed.marking = Some(CURVE);
                // Sixteen senders at line rate take most of 100 ms to settle, without PFC.
                closed.run(1_200_000);
                let Seen { served, waiting, .. } = closed.run(600_000);
                assert!(served > 0.99, "{variant:?}, {n}: {served}");
                assert!((waiting / expected - 1.0).abs() < 0.15, "{variant:?}, {n}: {waiting}");
            }
        }
    }

    #[test]
    fn timely_lets_the_queue_grow_up_to_its_low_threshold() {
        // Under it nobody cuts: (50 − 4.192) us at 100 Gbps are 572,600 bytes.
        let mut closed = Closed::new(RateControl::Timely(at_defaults()), 8);
        closed.run(900_000);
        let Seen { served, waiting, most } = closed.run(300_000);
        assert!(most > 572_600.0 && waiting < 572_600.0, "{waiting}, {most}");
        assert!(served > 0.9, "{served}");
    }

    #[test]
    fn swifts_delay_stands_at_its_target() {
        let params = at_defaults::<SwiftParams>();
        for senders in [8, 64] {
            let mut closed = Closed::new(RateControl::Swift(params), senders);
            closed.run(100_000);
            let Seen { served, waiting, .. } = closed.run(100_000);
            let rtt = PATH.base_rtt.as_secs_f64() + waiting * 8.0 / 100e9;
            let window = rtt / SLOT.as_secs_f64() / senders as f64;
            let target = params.target(1, window);
            assert_eq!(served, 1.0);
            assert!((rtt / target - 1.0).abs() < 0.1, "{senders}: {rtt}, {target}");
        }
    }
}
