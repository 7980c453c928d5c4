//! Runs against analysis: the wait of M/D/1, the sawtooth of long-lived DCTCP flows, and the steady
//! state of E-ECN.

use crate::common::*;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::{Arena, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_sim::{PortReport, Simulation};
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

/// Base RTT 100 us at 10 Gbps: C·RTT is 83.3 packets.
fn flows(n: usize, k: u64) -> Scenario {
    let mut scenario = long_lived(star(2), &vec![0; n], Span::from_ms(60));
    let Topology::Star(Star { delay, .. }) = &mut scenario.topology else { unreachable!() };
    // Two data packets of 1.2 us and two ACKs of 32 ns on the way.
    *delay = Span::from_ps((100_000_000 - 2 * 1_200_000 - 2 * 32_000) / 4);
    scenario.scheme = scheme("per-queue", packets(k));
    scenario.measure.warmup = Span::from_ms(20);
    scenario.transport.restart = Restart::Keep;
    scenario
}

fn bottleneck(simulation: &mut Simulation, hosts: u32) -> PortReport {
    let name = format!("switch:{}", hosts - 1);
    let reports = simulation.port_reports();
    reports.into_iter().find(|report| report.info.name == name).expect("the receiver's port")
}

#[test]
fn dctcp_keeps_the_link_full_and_the_queue_near_k() {
    // C·RTT + K in packets, and the payload's share of the line.
    let (cd, k) = (100.0 / 1.2, 65.0);
    for n in [2, 8, 20] {
        let (mut simulation, records) = run(&flows(n, k as u64));
        let report = bottleneck(&mut simulation, n as u32 + 1);
        assert!(report.utilisation > 0.999, "{n} flows: {}", report.utilisation);
        assert_eq!(report.counters.dropped(), 0);
        let goodput: f64 = goodputs(&simulation, &records).iter().sum();
        assert!((goodput / (1e10 * 1460.0 / 1500.0) - 1.0).abs() < 0.002, "{goodput}");
        // Synchronized flows: W* = (C·RTT + K)/N, α = √(2/W*), D = (W* + 1)·α/2,
        // amplitude N·D, peak K + N. Flows out of step stay inside.
        let w = (cd + k) / n as f64;
        let alpha = libm::sqrt(2.0 / w);
        let amplitude = n as f64 * (w + 1.0) * alpha / 2.0;
        let (_, port) = report.lengths.expect("measured");
        let max = port.max_bytes as f64 / MTU as f64;
        let mean = port.mean_bytes / MTU as f64;
        assert!(max <= k + 2.0 * n as f64 + 1.0, "{n} flows: at most {max} packets");
        assert!(max >= k, "{n} flows: at most {max} packets");
        let low = k + n as f64 - 1.5 * amplitude;
        assert!(mean >= low && mean <= k + n as f64, "{n} flows: mean {mean}, from {low}");
    }
}

#[test]
fn dctcp_converges_to_the_square_root_of_two_over_w() {
    let n = 2;
    let (simulation, _) = run(&flows(n, 65));
    let w = (100.0 / 1.2 + 65.0) / n as f64;
    let expected = libm::sqrt(2.0 / w);
    for alpha in simulation.alphas() {
        assert!((alpha / expected - 1.0).abs() < 0.35, "α {alpha}, analysis {expected}");
    }
}

#[test]
fn fair_shares_among_equal_flows() {
    let mut scenario = flows(8, 65);
    scenario.run.until = Some(Span::from_ms(400));
    scenario.measure.warmup = Span::from_ms(50);
    let (simulation, records) = run(&scenario);
    let rates = goodputs(&simulation, &records);
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let jain = sum * sum / (rates.len() as f64 * squares);
    assert!(jain > 0.98, "Jain's index {jain}");
}

#[test]
fn ecn_star_needs_a_threshold_of_the_bandwidth_delay_product() {
    // Halving from C·RTT + K leaves the link full if K ≥ C·RTT; with K near 0 one flow
    // gets about three quarters (MQ-ECN, section 5.3.2).
    let utilisation = |k| {
        let mut scenario = flows(1, k);
        // Hosts faster than the bottleneck: at equal rates one sender fills no queue but
        // its own card's.
        scenario.topology = Topology::Dumbbell(Dumbbell {
            left: 1,
            right: 1,
            rate: Rate::from_gbps(40),
            delay: Span::from_us(12),
            bottleneck_rate: Rate::from_gbps(10),
            bottleneck_delay: Span::from_us(25),
        });
        scenario.transport.control = CongestionControl::EcnStar;
        scenario.run.until = Some(Span::from_ms(200));
        let (mut simulation, _) = run(&scenario);
        let reports = simulation.port_reports();
        reports.iter().find(|report| report.info.name == "left:0").expect("there").utilisation
    };
    assert!(utilisation(84) > 0.995, "{}", utilisation(84));
    let shallow = utilisation(1);
    assert!((0.70..0.82).contains(&shallow), "{shallow}");
}

#[test]
fn without_ecn_the_buffer_is_what_bounds_the_queue() {
    let mut scenario = flows(2, 65);
    scenario.scheme = scheme("none", Bytes::ZERO);
    scenario.transport.ecn = false;
    let (mut simulation, _) = run(&scenario);
    let report = bottleneck(&mut simulation, 3);
    let (_, port) = report.lengths.expect("measured");
    assert!(port.max_bytes > 295_000 && port.max_bytes <= 300_000, "{port:?}");
    assert!(report.counters.dropped() > 0);
}

/// The threshold: 60 packets of 1000 bytes.
const K: u64 = 60_000;

/// `flows` long-lived DCTCP flows to one host over 10 us links; a base RTT of 42 us.
fn many_to_one(flows: usize, scheme: SchemeChoice) -> Scenario {
    let mut scenario = long_lived(star(2), &vec![0; flows], Span::from_ms(40));
    let Topology::Star(Star { delay, .. }) = &mut scenario.topology else { unreachable!() };
    *delay = Span::from_us(10);
    scenario.scheme = scheme;
    scenario.switch.buffer = Bytes::new(1_000_000);
    scenario.host.usual.mtu = Bytes::new(1_000);
    scenario.transport = Transport {
        control: CongestionControl::Dctcp(DctcpParams {
            g: 1.0 / 16.0,
            alpha_start: 1.0,
            arithmetic: Arithmetic::Exact,
        }),
        mss: Bytes::new(960),
        initial_window: 2,
        restart: Restart::Keep,
        grow_on_repeated_ece: false,
        cut: WindowCut::Exact,
        ..scenario.transport
    };
    scenario.measure.warmup = Span::from_ms(20);
    scenario.measure.series_every = Some(Span::from_us(3));
    scenario.measure.queues = QueueProbe::Ports(vec![format!("switch:{flows}")]);
    scenario
}

fn step() -> SchemeChoice {
    scheme("per-queue", Bytes::new(K))
}

/// A window of 10 us, as in the paper's figure 11, and three base RTTs ahead.
fn e_ecn() -> SchemeChoice {
    let params = [
        ("threshold", Value::Bytes(Bytes::new(K))),
        ("t_i", Value::Span(Span::from_us(10))),
        ("t_a", Value::Span(Span::from_us(3 * 42))),
    ];
    named("e-ecn", &params)
}

/// Share of the samples below the threshold, longest queue in packets, use of the link.
fn measure(flows: usize, scheme: SchemeChoice) -> (f64, f64, f64) {
    let (mut simulation, _) = run(&many_to_one(flows, scheme));
    let warmed_at = simulation.warmed_at();
    let series = simulation.take_series();
    let warm: Vec<_> = series.iter().filter(|s| s.at >= warmed_at).collect();
    let below = warm.iter().filter(|s| s.bytes < Bytes::new(K)).count();
    let reports = simulation.port_reports();
    let measured = reports.iter().find_map(|r| r.lengths.as_ref().map(|l| (l.1, r.utilisation)));
    let (lengths, utilisation) = measured.expect("one port is measured");
    (below as f64 / warm.len() as f64, lengths.max_bytes as f64 / 1e3, utilisation)
}

#[test]
fn e_ecn_keeps_the_queue_below_its_threshold_and_the_link_full() {
    let mut longest = Vec::new();
    for flows in [5, 10, 20] {
        let (below, max, utilisation) = measure(flows, step());
        let (early_below, early_max, early_utilisation) = measure(flows, e_ecn());
        assert!(utilisation > 0.999 && early_utilisation > 0.999, "{early_utilisation}");
        assert!((0.4..0.8).contains(&below), "{flows} flows, step: {below} below K");
        assert!(early_below > 0.97, "{flows} flows, E-ECN: {early_below} below K");
        assert!(early_max < 70.0, "{flows} flows, E-ECN: {early_max} packets");
        longest.push((flows as f64, max));
    }
    // Step marking: a packet a flow beyond K, for each of the round trip's growth.
    for (flows, max) in longest {
        assert!((max - 60.0 - flows).abs() <= 3.0, "{flows} flows: {max} packets");
    }
}
