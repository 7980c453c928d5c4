//! Memory that the ports of a switch share.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_scenario::*;
use switchbed_units::{Bytes, Span};

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

/// The longest queue makes room: queues that are always full have equal parts of all there is.
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
