//! Long runs with every queue backlogged: each gets its share of the line, whatever the
//! other seats remove. **A new scheduler that promises shares gets its line here.**

use super::suite::driver::SplitMix;
use super::suite::odd::{DropAtDeparture, PushOut, Victim};
use switchbed_qdisc::buffer::Static;
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::scheduler::{Dwrr, RoundRobin, Strict, Wfq, Wrr};
use switchbed_qdisc::seats::{Buffer, Marker, Nobody, Scheduler};
use switchbed_qdisc::units::{Bytes, Rate, Time};
use switchbed_qdisc::{Arena, Ecn, Packet, Pool, Port, PortState, Qdisc, Seats};

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

/// Each queue's part of the bytes sent: `rounds` departures, before each of which every
/// queue but the first is offered `offered` packets.
fn measured<B, M>(sharer: &Sharer, buffer: B, marker: M, offered: usize) -> [f64; QUEUES]
where
    B: Buffer + Send,
    M: Marker + Send,
{
    let quanta = sharer.quanta.map(Bytes::new);
    let seats = Seats::new(ByClass, buffer, marker, (sharer.make)(), Nobody);
    let mut port = Port::new(PortState::new(Rate::from_gbps(10), &quanta), seats);
    let mut arena = Arena::new();
    let (mut pool, mut rng, mut out) = (Pool::new(Bytes::MAX), SplitMix(1), Outcome::default());
    let mut sent = [0u64; QUEUES];
    let mut lens = sharer.lens.iter().cycle();
    let mut now = Time::ZERO;
    for _ in 0..30_000 {
        let mut cx = Cx { now, arena: &mut arena, pool: &mut pool, rng: &mut rng, out: &mut out };
        for class in (1..QUEUES as u8).cycle().take((QUEUES - 1) * offered) {
            let len_bytes = *lens.next().unwrap();
            let packet = Packet { class, len_bytes, ecn: Ecn::Ect0, ..Packet::default() };
            let slot = cx.arena.alloc(packet);
            if let Enqueued::Dropped(..) = port.enqueue(slot, &mut cx) {
                cx.arena.free(slot);
            }
        }
        if let Dequeued::Sent { slot, queue, until, .. } = port.dequeue(&mut cx) {
            sent[queue as usize] += cx.arena.packet(slot).len_bytes as u64;
            cx.arena.free(slot);
            now = until;
        } else {
            panic!("{}: a backlogged port sends", sharer.name);
        }
        cx.out.dropped.drain(..).for_each(|dropped| cx.arena.free(dropped.slot));
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
