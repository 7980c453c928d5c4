//! In an empty network a flow's completion time is a closed form, to the picosecond.

use crate::common::*;
use std::io::Write;
use switchbed_scenario::Scenario;
use switchbed_scenario::*;
use switchbed_sim::ids::HostId;
use switchbed_units::{Bytes, Rate, Span};

/// Runs one flow alone; its FCT, and what [`switchbed_sim::Simulation::empty_fct`] says.
fn alone(mut scenario: Scenario, src: u32, dst: u32, size: u64) -> (Span, Span) {
    let mut list = tempfile::NamedTempFile::new().expect("a temporary file");
    writeln!(list, "start_s,src,dst,size_bytes\n0.001,{src},{dst},{size}").expect("written");
    scenario.traffic =
        vec![listed(list.path().to_str().expect("UTF-8").into(), Connections::FreshNoHandshake)];
    let (simulation, flows) = run(&scenario);
    let flow = flows[0];
    let fct = flow.end.expect("finished").since(flow.start);
    (fct, simulation.empty_fct(HostId(src), HostId(dst), Bytes::new(size)))
}

/// A window that never limits.
fn unlimited(scenario: Scenario) -> Scenario {
    let transport = Transport {
        initial_window: 1256,
        control: CongestionControl::EcnStar,
        ..scenario.transport
    };
    Scenario {
        transport,
        scheme: scheme("none", Bytes::ZERO),
        switch: Switch { buffer: Bytes::new(10_000_000), ..scenario.switch },
        ..scenario
    }
}

#[test]
fn one_packet_across_fig9s_fabric_takes_86_528_ns() {
    // Data: 4 × (1.2 us) + 20.2 + 0.2 + 0.2 + 20.2 us; ACK: 4 × 32 ns + 40.8 us.
    let (fct, _) = alone(fig9("mq-ecn", 0.5, 0), 0, 143, 1460);
    assert_eq!(fct, Span::from_ns(86_528));
}

#[test]
fn one_packet_under_one_leaf_takes_two_hops() {
    // 2 × 1.2 + 40.4 us there, 2 × 32 ns + 40.4 us back.
    let (fct, _) = alone(fig9("mq-ecn", 0.5, 0), 0, 1, 1460);
    assert_eq!(fct, Span::from_ns(2 * 1200 + 2 * 40_400 + 64));
}

#[test]
fn many_packets_are_spaced_by_the_slowest_link() {
    // n packets back to back: (n − 1) × 1.2 us more than one.
    for packets in [2, 10, 100] {
        let (fct, _) = alone(unlimited(fig9("none", 0.5, 0)), 0, 143, packets * 1460);
        assert_eq!(fct, Span::from_ns(86_528 + (packets - 1) * 1200), "{packets} packets");
    }
}

#[test]
fn a_short_last_packet_and_unequal_links_agree_with_the_formula() {
    let mut scenario = unlimited(star(2));
    scenario.topology = Topology::Dumbbell(Dumbbell {
        left: 1,
        right: 1,
        rate: Rate::from_gbps(10),
        delay: Span::from_us(3),
        bottleneck_rate: Rate::from_gbps(1),
        bottleneck_delay: Span::from_us(10),
    });
    // 1 packet of 1000 B, then 40 B of ACK: 10, 1, 10 Gbps.
    let (fct, formula) = alone(scenario.clone(), 0, 1, 960);
    assert_eq!(fct, Span::from_ns((800 + 8000 + 800) + 16_000 + (32 + 320 + 32) + 16_000));
    assert_eq!(formula, fct);
    for size in [1, 1460, 1461, 5000, 14_600, 100_001, 1_000_000] {
        let (fct, formula) = alone(scenario.clone(), 0, 1, size);
        assert_eq!(fct, formula, "{size} bytes");
    }
    // 10 packets wait for each other at the slow link alone: 12 us each.
    let (fct, _) = alone(scenario, 0, 1, 14_600);
    assert_eq!(fct, Span::from_ns(1200 + 10 * 12_000 + 1200 + 16_000 + 384 + 16_000));
}

#[test]
fn a_rate_that_no_picosecond_divides_is_exact_in_the_long_run() {
    let mut scenario = unlimited(star(2));
    let rate = Rate::from_bps(9_950_000_000);
    scenario.topology = Topology::Star(Star { hosts: 2, rate, delay: Span::from_us(1) });
    let packets = 995;
    let (fct, _) = alone(scenario, 0, 1, packets * 1460);
    // Both ports floor the sum of all bytes, not each packet.
    let all = 8 * 1500 * packets * 1_000_000_000_000 / rate.as_bps();
    let one = rate.tx_time(1500).as_ps();
    let ack = 2 * rate.tx_time(40).as_ps();
    let expected = all + one + ack + 4_000_000;
    assert!(fct.as_ps().abs_diff(expected) <= 4, "{} against {expected}", fct.as_ps());
}

#[test]
fn the_window_costs_round_trips_as_slow_start_says() {
    // 32 packets, initial window 16, per-packet ACKs: the second 16 follow the first
    // packet's ACK, an RTT (86.528 us) after its start, two an ACK, so back to back.
    let (fct, _) = alone(fig9("mq-ecn", 0.5, 0), 0, 143, 32 * 1460);
    assert_eq!(fct, Span::from_ns(86_528 * 2 + 15 * 1200));
}

/// 128 hosts at 1, 10 and 100 Gbps.
fn fat_tree() -> Scenario {
    let topology = Topology::FatTree(FatTree {
        k: 8,
        tiers: Tiers {
            host_rate: Rate::from_gbps(1),
            host_delay: Span::from_us(3),
            aggregation_rate: Rate::from_gbps(10),
            aggregation_delay: Span::from_us(2),
            core_rate: Rate::from_gbps(100),
            core_delay: Span::from_us(1),
        },
    });
    unlimited(Scenario { topology, ..star(2) })
}

#[test]
fn a_fat_trees_tiers_have_their_own_rates_and_delays() {
    // 1500 B take 12 us, 1.2 us and 120 ns, 40 B take 320, 32 and 3.2 ns.
    for (dst, there_ns, acks_ps, way_us) in [
        (1, 24_000, 640_000, 6),          // under the same edge
        (4, 24_000 + 2_400, 704_000, 10), // in the same pod
        (127, 24_000 + 2_400 + 240, 710_400, 12),
    ] {
        let expected = there_ns * 1_000 + acks_ps + 2 * way_us * 1_000_000;
        let (fct, formula) = alone(fat_tree(), 0, dst, 1460);
        assert_eq!(fct.as_ps(), expected, "to host {dst}");
        assert_eq!(formula, fct);
        // More of them wait at the host's own link alone.
        for packets in [2, 50] {
            let (fct, formula) = alone(fat_tree(), 0, dst, packets * 1460);
            assert_eq!(fct.as_ps(), expected + (packets - 1) * 12_000_000, "{packets} to {dst}");
            assert_eq!(formula, fct);
        }
    }
}
