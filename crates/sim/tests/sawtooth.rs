//! Long-lived DCTCP flows through one port, against the analysis of the DCTCP paper
//! (SIGCOMM 2010, section 3.3): queue between K + N − A and K + N, link full, no loss.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_scenario::*;
use switchbed_sim::{PortReport, Simulation};
use switchbed_units::{Bytes, Rate, Span};

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
