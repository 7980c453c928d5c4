//! Poisson arrivals of equal packets at a FIFO port: M/D/1, whose mean wait is
//! ρ / (2·(1 − ρ)) packets' times (Pollaczek and Khinchine).

use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::{Arena, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_units::random::Stream;
use switchbed_units::{Bytes, Rate, Span, Time};

const PACKETS: u64 = 1_000_000;

/// The mean wait before a packet's transmission, in packets' times.
fn mean_wait(load: f64, seed: u64) -> f64 {
    let rate = Rate::from_gbps(10);
    let service = rate.tx_time(1500);
    let seats = Seats::new(Single, Shared { limit: Bytes::MAX }, Nobody, Fifo, Nobody);
    let mut port = Port::new(PortState::new(rate, &[Bytes::new(1)]), seats);
    let (mut arena, mut memory, mut out) =
        (Arena::new(), SwitchMemory::new(Bytes::MAX), Outcome::default());
    let mut rng = Stream::new(seed, "switches", 0);
    let mut arrivals = Stream::new(seed, "arrivals", 0);
    let mut now = Time::ZERO;
    let mut waited = 0u128;
    for _ in 0..PACKETS {
        let gap = arrivals.exponential() / load * service.as_secs_f64();
        now += Span::from_secs_f64(gap);
        // Departures that are due come first, each when the line is free.
        while port.state().packets() > 0 && port.state().busy_until() <= now {
            let at = port.state().busy_until();
            waited += depart(&mut port, at, (&mut arena, &mut memory, &mut rng, &mut out));
        }
        let slot = arena.alloc(Packet { len_bytes: 1500, ..Packet::default() });
        let mut cx =
            Cx { now, arena: &mut arena, memory: &mut memory, rng: &mut rng, out: &mut out };
        port.enqueue(slot, &mut cx);
        if port.state().busy_until() <= now {
            waited += depart(&mut port, now, (&mut arena, &mut memory, &mut rng, &mut out));
        }
    }
    waited as f64 / PACKETS as f64 / service.as_ps() as f64
}

/// Sends the next packet at `at`; how long it waited, in picoseconds.
fn depart(
    port: &mut impl Qdisc,
    at: Time,
    (arena, memory, rng, out): (&mut Arena, &mut SwitchMemory, &mut Stream, &mut Outcome),
) -> u128 {
    let Dequeued::Sent { slot, .. } = port.dequeue(&mut Cx { now: at, arena, memory, rng, out })
    else {
        panic!("a backlogged port sends")
    };
    let waited = at.since(arena.arrived(slot)).as_ps();
    arena.free(slot);
    waited as u128
}

#[test]
fn the_mean_wait_is_pollaczeks_and_khinchines() {
    for load in [0.5, 0.8] {
        let runs: Vec<f64> = (1..=4).map(|seed| mean_wait(load, seed)).collect();
        let mean = runs.iter().sum::<f64>() / runs.len() as f64;
        let expected = load / (2.0 * (1.0 - load));
        assert!((mean / expected - 1.0).abs() < 0.02, "ρ = {load}: {mean}, expected {expected}");
    }
}
