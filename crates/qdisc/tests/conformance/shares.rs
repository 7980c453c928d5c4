//! Long runs with every queue backlogged: each gets its share of the line, whatever the
//! other seats remove. **A new scheduler that promises shares gets its line here.**

use crate::conformance::driver::SplitMix;
use crate::conformance::odd::{DropAtDeparture, PushOut, Victim};
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::{Buffer, Marker, Nobody, Scheduler};
use switchbed_qdisc::memory::Static;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::{Dwrr, RoundRobin, Strict, Wfq, Wrr};
use switchbed_qdisc::{Arena, Ecn, Packet, Port, PortState, Qdisc, QueueId, Seats, SwitchMemory};
use switchbed_units::{Bytes, Rate, Span, Time};

const QUEUES: usize = 4;

/// A scheduler and what it promises: queue 0 is kept for those with a priority queue.
struct Sharer {
    name: &'static str,
    make: fn() -> Box<dyn Scheduler + Send>,
    quanta: [u64; QUEUES],
    /// Packet lengths, in turn. WRR keeps shares when they divide the quanta.
    lens: &'static [u32],
    shares: [f64; QUEUES],
}

fn sharers() -> Vec<Sharer> {
    let unequal = [1500, 1500, 3000, 4500];
    let by_quantum = [0.0, 1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0];
    let equal = [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
    let sharer = |name, make, lens, shares| Sharer { name, make, quanta: unequal, lens, shares };
    vec![
        sharer("round robin", || Box::new(RoundRobin::default()), &[1500], equal),
        sharer("wrr", || Box::new(Wrr::new(QUEUES)), &[500], by_quantum),
        sharer("dwrr", || Box::new(Dwrr::new(QUEUES)), &[1500, 64, 700, 1000, 333], by_quantum),
        sharer("wfq", || Box::new(Wfq::new(QUEUES)), &[1500, 64, 700, 1000, 333], by_quantum),
        sharer(
            "dwrr under priority",
            || Box::new(Strict::new(1, Dwrr::new(QUEUES))),
            &[1500, 64, 700, 1000, 333],
            by_quantum,
        ),
    ]
}

/// A port and what an operation needs.
struct Bed {
    port: Box<dyn Qdisc>,
    arena: Arena,
    memory: SwitchMemory,
    rng: SplitMix,
    out: Outcome,
    now: Time,
}

impl Bed {
    fn new<B, M>(
        quanta: [u64; QUEUES],
        buffer: B,
        marker: M,
        scheduler: Box<dyn Scheduler + Send>,
    ) -> Self
    where
        B: Buffer + Send + 'static,
        M: Marker + Send + 'static,
    {
        let seats = Seats::new(ByClass, buffer, marker, scheduler, Nobody);
        let state = PortState::new(Rate::from_gbps(10), &quanta.map(Bytes::new));
        Bed {
            port: Box::new(Port::new(state, seats)),
            arena: Arena::new(),
            memory: SwitchMemory::new(Bytes::MAX),
            rng: SplitMix(1),
            out: Outcome::default(),
            now: Time::ZERO,
        }
    }

    fn with<T>(&mut self, f: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let Bed { arena, memory, rng, out, now, .. } = self;
        let answer = f(&mut *self.port, &mut Cx { now: *now, arena, memory, rng, out });
        self.out.dropped.drain(..).for_each(|dropped| self.arena.free(dropped.slot));
        answer
    }

    fn offer(&mut self, class: u8, len_bytes: u32) {
        let packet = Packet { class, len_bytes, ecn: Ecn::Ect0, ..Packet::default() };
        self.with(|port, cx| {
            let slot = cx.arena.alloc(packet);
            if let Enqueued::Dropped(..) = port.enqueue(slot, cx) {
                cx.arena.free(slot);
            }
        });
    }

    /// Sends a packet and waits for its end; its queue and length.
    fn send(&mut self) -> (QueueId, u32) {
        let Dequeued::Sent { slot, queue, until, .. } = self.with(|port, cx| port.dequeue(cx))
        else {
            panic!("a backlogged port sends")
        };
        self.now = until;
        let bytes = self.arena.packet(slot).len_bytes;
        self.arena.free(slot);
        (queue, bytes)
    }
}

/// Each queue's part of the bytes sent in a long run: before each departure every queue but
/// the first is offered some packets.
fn measured<B, M>(sharer: &Sharer, buffer: B, marker: M, offered: usize) -> [f64; QUEUES]
where
    B: Buffer + Send + 'static,
    M: Marker + Send + 'static,
{
    let mut bed = Bed::new(sharer.quanta, buffer, marker, (sharer.make)());
    let mut sent = [0u64; QUEUES];
    let mut lens = sharer.lens.iter().cycle();
    for _ in 0..30_000 {
        for class in (1..QUEUES as u8).cycle().take((QUEUES - 1) * offered) {
            bed.offer(class, *lens.next().unwrap());
        }
        let (queue, bytes) = bed.send();
        sent[queue as usize] += bytes as u64;
    }
    let all: u64 = sent.iter().sum();
    sent.map(|bytes| bytes as f64 / all as f64)
}

fn assert_shares(sharer: &Sharer, what: &str, measured: [f64; QUEUES]) {
    for (measured, promised) in measured.iter().zip(sharer.shares) {
        let off = (measured - promised).abs();
        assert!(
            off <= 0.01 * promised,
            "{}, {what}: {measured:.4} instead of {promised:.4}",
            sharer.name
        );
    }
}

#[test]
fn shares_follow_the_quanta_within_1_percent() {
    for sharer in sharers() {
        let limit = Bytes::new(15_000);
        assert_shares(&sharer, "tail drop", measured(&sharer, Static { limit }, Nobody, 3));
    }
}

#[test]
fn push_outs_leave_shares_alone() {
    for sharer in sharers() {
        for victim in [Victim::Head, Victim::Middle, Victim::Tail, Victim::Lot] {
            let limit = Bytes::new(15_000);
            let measured = measured(&sharer, PushOut { limit, victim }, Nobody, 3);
            assert_shares(&sharer, "push-out", measured);
        }
    }
}

#[test]
fn drops_at_departure_leave_shares_alone() {
    for sharer in sharers() {
        let limit = Bytes::new(15_000);
        let marker = DropAtDeparture::default();
        let measured = measured(&sharer, Static { limit }, marker, 12);
        assert_shares(&sharer, "drops at departure", measured);
    }
}

/// A queue whose only packet is displaced by an arrival of its own is backlogged before
/// and after: it must keep its turn, or it waits for ever.
#[test]
fn a_push_out_of_the_only_packet_keeps_the_turn() {
    for sharer in sharers() {
        let sharer = Sharer {
            quanta: [1500; QUEUES],
            shares: [0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
            lens: &[1500],
            ..sharer
        };
        for offered in [1, 2] {
            let buffer = PushOut { limit: Bytes::new(1500), victim: Victim::Head };
            let measured = measured(&sharer, buffer, Nobody, offered);
            assert_shares(&sharer, "a packet a queue", measured);
        }
    }
}

/// Displaced by another queue's arrival it was empty: it joins anew, at the end.
#[test]
fn a_queue_that_stayed_empty_after_a_push_out_joins_at_the_end() {
    let buffer = PushOut { limit: Bytes::new(3_000), victim: Victim::Longest };
    let mut bed = Bed::new([1500; QUEUES], buffer, Nobody, Box::new(Dwrr::new(QUEUES)));
    // The third arrival displaces the first; then that one's queue gets another.
    for (class, len_bytes) in [(1, 2_000), (2, 500), (3, 1_500), (1, 500)] {
        bed.now += Span::from_ps(1);
        bed.offer(class, len_bytes);
    }
    assert_eq!([(); 3].map(|()| bed.send()), [(2, 500), (3, 1_500), (1, 500)]);
}
