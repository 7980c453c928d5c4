//! E-ECN beside a model of algorithm 1 that was written from the paper alone: which packets are marked,
//! dropped and kept, on random sequences into a small buffer, ECN-capable or not.

use proptest::prelude::*;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::{Crosspoint, Overflow, Shared, Static};
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::schemes::EEcn;
use switchbed_qdisc::{
    Arena, Ecn, Note, Packet, Port, PortState, Qdisc, Seats, SwitchMemory, hooks::Buffer,
};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

const LIMIT: u64 = 9_000;
const K: f64 = 6_000.0;
const T_I_NS: u64 = 2_000;
const T_A_PS: f64 = 3_000_000.0;

/// Algorithm 1 and what RFC 3168 does about a packet that cannot be marked.
#[derive(Default)]
struct Model {
    /// Bytes a picosecond.
    rate: f64,
    last_ns: u64,
    last_bytes: f64,
}

impl Model {
    fn arrival(&mut self, now_ns: u64, queue: u64, packet: &Packet) -> &'static str {
        let full = queue + u64::from(packet.len_bytes) > LIMIT;
        let (rate, last_ns, last_bytes) = if now_ns >= self.last_ns + T_I_NS {
            let elapsed = ((now_ns - self.last_ns) * 1_000) as f64;
            ((queue as f64 - self.last_bytes) / elapsed, now_ns, queue as f64)
        } else {
            (self.rate, self.last_ns, self.last_bytes)
        };
        let marks = queue as f64 + rate * T_A_PS >= K;
        if !full {
            (self.rate, self.last_ns, self.last_bytes) = (rate, last_ns, last_bytes);
        }
        match (marks && !packet.ecn.capable(), full, marks) {
            (true, ..) => "not-ecn-capable",
            (_, true, _) => "full",
            (.., true) => "mark",
            _ => "in",
        }
    }
}

/// An arrival after so many nanoseconds, or a departure.
fn operations() -> impl Strategy<Value = Vec<(u64, Option<(u32, bool)>)>> {
    let packet = (prop_oneof![Just(1_500u32), 40..3_000u32], prop::bool::weighted(0.6));
    let operation = (0..1_500u64, prop::option::weighted(0.7, packet));
    prop::collection::vec(operation, 1..300)
}

fn check(
    buffer: impl Buffer + Send + 'static,
    operations: &[(u64, Option<(u32, bool)>)],
) -> Result<(), TestCaseError> {
    let e_ecn = EEcn::new(Bytes::new(K as u64), Span::from_ns(T_I_NS), Span::from_us(3), 1);
    let seats = Seats::new(Single, buffer, e_ecn, Fifo, Nobody);
    // 8 Gbps: a byte takes a nanosecond.
    let mut port = Port::new(PortState::new(Rate::from_gbps(8), &[Bytes::new(1500)]), seats);
    let (mut arena, mut memory, mut out) =
        (Arena::new(), SwitchMemory::new(Bytes::MAX), Outcome::default());
    let (mut model, mut now_ns, mut free_ns) = (Model::default(), 0, 0);
    for &(after_ns, operation) in operations {
        now_ns += after_ns;
        let now = Time::ZERO + Span::from_ns(now_ns);
        let mut cx =
            Cx { now, arena: &mut arena, memory: &mut memory, rng: &mut NoRandom, out: &mut out };
        if let Some((len_bytes, capable)) = operation {
            let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
            let packet = Packet { len_bytes, ecn, ..Packet::default() };
            let wanted = model.arrival(now_ns, port.state().queue_bytes(0).get(), &packet);
            let slot = cx.arena.alloc(packet);
            let got = match port.enqueue(slot, &mut cx) {
                Enqueued::In(_) if cx.arena.note(slot) == Note::Mark => "mark",
                Enqueued::In(_) => "in",
                Enqueued::Dropped(_, why @ (DropReason::Full | DropReason::NotEcnCapable)) => {
                    cx.arena.free(slot);
                    why.name()
                }
                Enqueued::Dropped(_, why) => panic!("dropped for {why:?}"),
            };
            prop_assert_eq!(got, wanted, "at {} ns", now_ns);
        } else if now_ns >= free_ns
            && let Dequeued::Sent { slot, until, .. } = port.dequeue(&mut cx)
        {
            cx.arena.free(slot);
            free_ns = until.as_ps() / 1_000;
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn e_ecn_is_algorithm_1(operations in operations()) {
        let limit = Bytes::new(LIMIT);
        check(Shared { limit }, &operations)?;
        check(Static { limit }, &operations)?;
        check(Crosspoint::new(limit, Bytes::new(1), Overflow::Tail, 1), &operations)?;
    }
}
