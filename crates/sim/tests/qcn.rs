//! QCN and AF-QCN end to end: messages, rate limiters, senders without TCP and with it.

mod common;

use common::*;
use std::collections::BTreeMap;
use switchbed_qdisc::units::{Bytes, Rate, Span};
use switchbed_sim::Simulation;
use switchbed_spec::scheme::Value;
use switchbed_spec::*;

/// The standard's.
fn reaction(limiters: Limiters) -> Reaction {
    Reaction {
        limiters,
        gain: 1.0 / 128.0,
        least_left: 0.5,
        byte_cycle: Bytes::new(150_000),
        timer_cycle: Span::from_ms(15),
        jitter: 0.15,
        recovery_cycles: 5,
        active_increase: Rate::from_bps(5_000_000),
        hyper_increase: Rate::from_bps(50_000_000),
        min_rate: Rate::from_bps(10_000_000),
        target_division: 8.0,
        notification_class: 0,
        notification_size: Bytes::new(64),
        notification_delay: Span::ZERO,
    }
}

fn notifier(name: &str) -> SchemeChoice {
    let params = BTreeMap::from(
        [
            ("q_eq", Value::Bytes(Bytes::new(26_000))),
            ("w", Value::Number(2.0)),
            ("jitter", Value::Number(0.15)),
            ("alpha", Value::Number(0.125)),
            ("t_s", Value::Span(Span::from_ms(1))),
            ("beta", Value::Number(0.125)),
            ("active_threshold", Value::Bytes(Bytes::new(20_000))),
            ("by", Value::Word("flow".into())),
            ("weights", Value::List(Vec::new())),
            ("max", Value::List(Vec::new())),
            ("signed", Value::Flag(true)),
            ("rounding", Value::Word("nearest".into())),
        ]
        .map(|(name, value)| (name.to_string(), value)),
    );
    SchemeChoice { name: name.into(), label: name.into(), params }
}

/// Backlogged senders of 1000-byte packets into the last host of a star, without TCP.
fn static_flows(name: &str, flows: usize, until: Span) -> Scenario {
    let base = star(2);
    let mut scenario = Scenario {
        scheme: notifier(name),
        host: Host { mtu: Bytes::new(1000), ..base.host },
        transport: Transport {
            control: CongestionControl::Udp,
            mss: Bytes::new(960),
            header: Bytes::new(40),
            ..dctcp()
        },
        reaction: Some(reaction(Limiters::Flow)),
        topology: Topology::Star { hosts: 2, rate: Rate::from_gbps(10), delay: Span::from_us(12) },
        switch: Switch { buffer: Bytes::new(150_000), ..base.switch },
        measure: Measure { fct_end: FctEnd::Received, ..base.measure },
        ..base
    };
    scenario = long_lived(scenario, &vec![0; flows], until);
    scenario.measure.warmup = Span::from_ms(until.as_ps() / 2_000_000_000);
    scenario
}

fn port(simulation: &mut Simulation, name: &str) -> switchbed_sim::PortReport {
    let reports = simulation.port_reports();
    reports.into_iter().find(|report| report.info.name == name).expect("a port")
}

#[test]
fn a_sender_without_tcp_fills_its_link_from_the_start() {
    let mut scenario = static_flows("qcn", 1, Span::from_ms(2));
    scenario.measure.warmup = Span::ZERO;
    let (mut simulation, records) = run(&scenario);
    assert_eq!(records.len(), 1);
    // 24.8 us on the way (two links, a packet on each), then a packet each 0.8 us.
    let packets = (2_000.0 - 25.6) / 0.8;
    assert!((records[0].received.as_f64() / 960.0 - packets).abs() <= 1.5, "{records:?}");
    assert_eq!(port(&mut simulation, "switch:1").counters.dropped(), 0);
}

#[test]
fn af_qcn_shares_a_link_and_holds_the_queue() {
    let scenario = static_flows("af-qcn", 4, Span::from_ms(600));
    let (mut simulation, records) = run(&scenario);
    let rates = goodputs(&simulation, &records);
    println!("{rates:?}");
    let report = port(&mut simulation, "switch:4");
    println!("{:?} {:?}", report.utilisation, report.lengths);
    for rate in &rates {
        assert!((rate / (2.5e9 * 0.96) - 1.0).abs() < 0.1, "{rates:?}");
    }
    assert!(report.utilisation > 0.98, "{}", report.utilisation);
}
