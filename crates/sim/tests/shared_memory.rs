//! Memory that ports share, and crosspoint queues: an input's share of an output does not depend on its flows, and
//! small flows that share an output with large ones do not wait for them.

use crate::common::*;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_sim::ids::LinkId;
use switchbed_units::{Bytes, Rate, Span};

/// Four flows each to `receivers` hosts of one switch, without ECN: queues fill.
fn scenario(receivers: u32, alpha: f64) -> Scenario {
    let mut scenario = star(2);
    scenario.topology = match scenario.topology {
        Topology::Star(Star { rate, delay, .. }) => {
            Topology::Star(Star { hosts: 5 * receivers, rate, delay })
        }
        other => other,
    };
    scenario.traffic = (0..receivers)
        .map(|to| {
            Traffic::LongLived(LongLived {
                from: (receivers + 4 * to..receivers + 4 * (to + 1)).collect::<Vec<_>>().into(),
                to: OneHost(to),
                flows_each: 1,
                classes: vec![0],
                start: Span::ZERO,
                stagger: Span::ZERO,
                stop: None,
            })
            .into()
        })
        .collect();
    scenario.switch.policy = BufferPolicy::Dynamic;
    scenario.switch.pool = Some(Bytes::new(600_000));
    scenario.switch.alpha = Some(alpha);
    scenario.scheme = scheme("none", Bytes::ZERO);
    scenario.transport.ecn = false;
    scenario.run.until = Some(Span::from_ms(30));
    scenario
}

#[test]
fn n_full_queues_hold_alpha_over_one_plus_n_alpha_each() {
    // Choudhury and Hahne 1998, equation 3: Q = α·B / (1 + α·n).
    for (n, alpha) in [(1, 1.0), (2, 1.0), (4, 0.5), (3, 2.0)] {
        let (mut simulation, _) = run(&scenario(n, alpha));
        let expected = alpha * 600_000.0 / (1.0 + alpha * n as f64);
        for to in 0..n {
            let name = format!("switch:{to}");
            let reports = simulation.port_reports();
            let report = reports.iter().find(|report| report.info.name == name).expect("there");
            let longest = report.lengths.as_ref().expect("measured").1.max_bytes as f64;
            assert!(report.counters.dropped() > 0);
            // A queue may overshoot while the others are still short; never its lone share.
            assert!(longest >= 0.97 * expected, "{n} at {alpha}: {longest}, expected {expected}");
            assert!(
                longest <= alpha * 600_000.0 / (1.0 + alpha) + 1.0,
                "{n} at {alpha}: {longest}"
            );
        }
    }
}

/// The longest queue makes space: queues that are always full have equal parts of all there is.
#[test]
fn full_queues_share_all_of_it_where_the_longest_makes_room() {
    for n in [2, 3] {
        let mut scenario = scenario(n, 1.0);
        scenario.switch.policy = BufferPolicy::Lqd;
        scenario.measure.warmup = Span::from_ms(10);
        let (mut simulation, _) = run(&scenario);
        let reports = simulation.port_reports();
        let mut held = 0.0;
        for to in 0..n {
            let name = format!("switch:{to}");
            let report = reports.iter().find(|report| report.info.name == name).expect("there");
            let pushed =
                report.counters.drops[switchbed_qdisc::port::view::DropReason::PushedOut as usize];
            assert!(pushed > 0, "{name} of {n}");
            held += report.lengths.as_ref().expect("measured").1.max_bytes as f64;
        }
        // Each at its longest, which is not at once: more than all of it, and not by much.
        assert!((0.9..1.6).contains(&(held / 600_000.0)), "{n}: {held}");
    }
}

#[test]
fn a_threshold_for_the_pool_holds_what_one_port_would() {
    let held = |name: &str| {
        let mut scenario = scenario(2, 8.0);
        scenario.transport.ecn = true;
        scenario.scheme = scheme(name, packets(40));
        scenario.measure.warmup = Span::from_ms(10);
        let (mut simulation, _) = run(&scenario);
        let reports = simulation.port_reports();
        let of = |port: &str| {
            let report = reports.iter().find(|report| report.info.name == port).expect("there");
            report.lengths.as_ref().expect("measured").1.mean_bytes
        };
        of("switch:0") + of("switch:1")
    };
    // The same threshold for all ports together holds half of what one for each port does.
    let (pool, port) = (held("per-pool"), held("per-port"));
    assert!(pool < 0.7 * port, "{pool} and {port} bytes");
}

/// Three hosts send 1, 4 and 8 endless flows to a fourth.
fn unequal(scheme: SchemeChoice) -> Scenario {
    let mut scenario = Scenario {
        run: Run { seed: 1, until: Some(Span::from_ms(60)), ecmp_by_row: false },
        ..star(4)
    };
    scenario.traffic = [(0, 1), (1, 4), (2, 8)]
        .map(|(host, flows_each)| {
            Traffic::LongLived(LongLived {
                from: vec![host].into(),
                to: OneHost(3),
                flows_each,
                classes: vec![0],
                start: Span::ZERO,
                stagger: Span::ZERO,
                stop: None,
            })
            .into()
        })
        .into();
    scenario.switch.memory = Some(packets(256));
    scenario.transport.rto_min = Span::from_ms(1);
    scenario.measure.warmup = Span::from_ms(20);
    scenario.scheme = scheme;
    scenario
}

/// Each host's part of what the receiver got.
fn shares(scenario: &Scenario) -> Vec<f64> {
    let (simulation, records) = run(scenario);
    let mut by_host = [0.0; 3];
    for (record, rate) in records.iter().zip(goodputs(&simulation, &records)) {
        by_host[record.src.index()] += rate;
    }
    let sum: f64 = by_host.iter().sum();
    assert!(sum > 0.9 * 10e9 * 1460.0 / 1500.0, "{sum} bit/s");
    by_host.iter().map(|rate| rate / sum).collect()
}

#[test]
fn crosspoints_share_an_output_equally_among_inputs() {
    for (name, threshold) in [("cq", Some(0.4)), ("cqrd", Some(0.4)), ("cqrd", None), ("cq", None)]
    {
        let params = threshold.map(|part| ("ecn_threshold", Value::Number(part)));
        let mut scenario = unequal(named(name, params.as_slice()));
        scenario.transport.ecn = threshold.is_some();
        let shares = shares(&scenario);
        assert!(shares.iter().all(|share| (share * 3.0 - 1.0).abs() < 0.02), "{name}: {shares:?}");
    }
}

#[test]
fn one_queue_shares_among_flows() {
    let scenario = unequal(named("oq", &[("ecn_threshold", Value::Number(0.4))]));
    let shares = shares(&scenario);
    assert!(shares[0] < 0.15 && shares[2] > 0.5, "{shares:?}");
}

/// Four leaves of two hosts each; hosts of the first leaf send to the third leaf's.
fn fabric(deploy: Vec<Deploy>) -> Scenario {
    let mut scenario = Scenario { deploy, ..unequal(scheme("none", Bytes::ZERO)) };
    let rate = Rate::from_gbps(10);
    let delay = Span::from_us(1);
    scenario.topology = Topology::LeafSpine(LeafSpine {
        leaves: 4,
        spines: 2,
        hosts_per_leaf: 2,
        host_rate: rate,
        host_delay: delay,
        fabric_rate: rate,
        fabric_delay: delay,
    });
    scenario.switch.memory = Some(packets(40));
    scenario
}

#[test]
fn each_switch_has_what_was_deployed_there() {
    let cq = named("cq", &[]);
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let deploy = vec![
        Deploy { switches: names(&["leaf1", "leaf2"]), memory: None, scheme: Some(cq) },
        Deploy { switches: names(&["spine0"]), memory: Some(packets(80)), scheme: None },
    ];
    let (simulation, _) = run(&fabric(deploy));
    let queues: Vec<_> = simulation
        .ports()
        .iter()
        .zip(0..)
        .filter(|(port, _)| port.is_switch())
        .map(|(port, link)| (port.name.as_str(), simulation.port(LinkId(link)).queues()))
        .collect();
    for (name, queues) in queues {
        let expected = if name.starts_with("leaf1") || name.starts_with("leaf2") { 4 } else { 1 };
        assert_eq!(queues, expected, "{name}");
    }
}

#[test]
fn memory_is_what_was_deployed() {
    let longest = |deploy| {
        let (mut simulation, _) = run(&Scenario { deploy, ..unequal(named("oq", &[])) });
        let reports = simulation.port_reports();
        let lengths = reports.iter().filter_map(|report| report.lengths.as_ref());
        lengths.map(|(_, port)| port.max_bytes).max().unwrap()
    };
    let memory = Some(packets(4 * 10));
    let deploy = vec![Deploy { switches: vec!["switch".to_owned()], memory, scheme: None }];
    assert_eq!(longest(deploy), 10 * MTU);
    assert_eq!(longest(Vec::new()), 64 * MTU);
}
