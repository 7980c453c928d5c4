//! Changes during a run, and packets that a line loses or marks because the scenario says so.

use crate::common::*;
use switchbed_scenario::event::{Change, Event};
use switchbed_scenario::*;
use switchbed_sim::FlowRecord;
use switchbed_units::{Bytes, Rate, Span};

fn rate_at(at: Span, port: &str, rate: Rate) -> Event {
    Event { at, change: Change::Rate { port: port.into(), rate } }
}

fn link_at(at: Span, port: &str, up: bool) -> Event {
    Event { at, change: Change::Link { port: port.into(), up } }
}

/// Two DCTCP senders into host 2.
fn two(until: Span) -> Scenario {
    let mut scenario = long_lived(star(3), &[0, 0], until);
    scenario.measure.goodput_every = Some(Span::from_ms(2));
    scenario
}

#[test]
fn a_ports_rate_falls_and_comes_back() {
    let mut scenario = two(Span::from_ms(60));
    let (ms, gbps) = (Span::from_ms, Rate::from_gbps);
    scenario.event =
        vec![rate_at(ms(20), "switch:2", gbps(1)), rate_at(ms(40), "switch:2", gbps(10))];
    let (mut simulation, _) = run(&scenario);
    let rate = |sample: &switchbed_sim::GoodputSample| sample.taken(0) as f64 * 8.0 / 2e-3;
    let rates: Vec<f64> = simulation.goodputs().iter().map(rate).collect();
    let payload = 1460.0 / 1500.0;
    for (i, expected) in [(5, 10e9), (15, 1e9), (18, 1e9), (27, 10e9)] {
        assert!((rates[i] / (expected * payload) - 1.0).abs() < 0.02, "{i}: {rates:?}");
    }
    // The port sent all the time, of what it could send at each rate.
    let report = simulation.port_reports().into_iter().find(|r| r.info.name == "switch:2").unwrap();
    assert!((0.95..=1.0).contains(&report.utilisation), "{}", report.utilisation);
}

#[test]
fn a_port_that_is_down_sends_nothing_until_it_is_up() {
    let ms = Span::from_ms;
    let mut scenario = two(ms(60));
    scenario.event = vec![
        link_at(ms(20), "switch:2", false),
        // No news, but for the rate that it will have.
        link_at(ms(24), "switch:2", false),
        rate_at(ms(26), "switch:2", Rate::from_gbps(5)),
        link_at(ms(40), "switch:2", true),
    ];
    let (mut simulation, _) = run(&scenario);
    let samples = simulation.goodputs();
    let rates: Vec<f64> = samples.iter().map(|s| s.taken(0) as f64 * 8.0 / 2e-3).collect();
    let fair: Vec<f64> = samples.iter().map(|s| s.fair_bits(0) / 2e-3).collect();
    // What was on the line as it went down still arrived.
    assert_eq!(rates[10], 2.0 * 1460.0 * 8.0 / 2e-3, "{rates:?}");
    for (i, expected) in [(5, 10e9), (11, 0.0), (15, 0.0), (19, 0.0), (27, 5e9)] {
        let payload = expected * 1460.0 / 1500.0;
        assert!((rates[i] - payload).abs() <= 0.02 * payload, "{i}: {rates:?}");
        assert!((fair[i] - payload).abs() <= 1e-6 * payload, "{i}: {fair:?}");
    }
    // All the time that it could.
    let report = simulation.port_reports().into_iter().find(|r| r.info.name == "switch:2").unwrap();
    assert!((0.95..=1.0).contains(&report.utilisation), "{}", report.utilisation);
}

#[test]
fn a_card_asks_for_nothing_while_its_line_is_down() {
    let mut scenario = two(Span::from_ms(10));
    scenario.transport.control = CongestionControl::Udp;
    scenario.measure.fct_end = FctEnd::Received;
    let at = |ms, up| link_at(Span::from_ms(ms), "host0", up);
    scenario.event = vec![at(2, false), at(6, true)];
    let (mut simulation, _) = run(&scenario);
    let reports = simulation.port_reports();
    let [down, other] = ["host0", "host1"].map(|name| {
        let report = reports.iter().find(|report| report.info.name == name).unwrap();
        assert_eq!(report.counters.dropped(), 0, "{name}");
        assert!(report.utilisation > 0.999, "{name}: {}", report.utilisation);
        report.counters.sent as f64
    });
    assert!((down / other - 0.6).abs() < 1e-3, "{down} of {other}");
}

#[test]
fn a_change_comes_before_the_arrivals_of_its_time() {
    // One packet alone: 1.2 us on host 0's link, 1 us on the way, then 1.2 us at 10 Gbps, 12 at
    // 1 Gbps. The rate changes just as it arrives, a picosecond before, and after.
    let fct_us = |late_ps: i64| {
        let mut scenario = star(3);
        let (file, traffic) = list(&[(0.0, 0, 2, 1460)], Connections::FreshNoHandshake);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        scenario.measure.fct_end = FctEnd::Received;
        let at = Span::from_ps((2_200_000 + late_ps) as u64);
        scenario.event = vec![rate_at(at, "switch:2", Rate::from_gbps(1))];
        let (_, records) = run(&scenario);
        drop(file);
        records[0].end.unwrap().since(records[0].start).as_us_f64()
    };
    assert_eq!(fct_us(-1), 15.2);
    assert_eq!(fct_us(0), 15.2);
    // It is on the wire by then, and keeps its end.
    assert_eq!(fct_us(1), 4.4);
}

#[test]
fn a_run_does_not_wait_for_changes_that_touch_nobody() {
    let mut scenario = star(3);
    let (_file, traffic) = list(&[(0.0, 0, 2, 1460)], Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    scenario.event = vec![rate_at(Span::from_ms(1_000), "switch:2", Rate::from_gbps(1))];
    let (simulation, records) = run(&scenario);
    assert!(records[0].end.is_some());
    assert!(simulation.now().as_ps() < 1_000_000_000, "{}", simulation.now());
}

#[test]
fn a_change_at_the_start_is_there_from_the_start() {
    let mut scenario = two(Span::from_ms(10));
    scenario.event = vec![rate_at(Span::ZERO, "switch:2", Rate::from_gbps(1))];
    let (simulation, records) = run(&scenario);
    let rates = goodputs(&simulation, &records);
    assert!(rates.iter().sum::<f64>() < 1e9, "{rates:?}");
    assert!(records.iter().all(|record| record.received > Bytes::ZERO));
}

fn lose(port: &str, flow: Option<u64>, lose: &[u64]) -> Event {
    let change = Change::Lose { port: port.into(), flow, lose: lose.into() };
    Event { at: Span::ZERO, change }
}

/// A flow of so many packets between two hosts, after a handshake.
fn flow(packets: u64, events: Vec<Event>) -> FlowRecord {
    let mut scenario = star(2);
    let (_file, traffic) = list(&[(0.0, 0, 1, packets * 1460)], Connections::Fresh);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    scenario.event = events;
    run(&scenario).1[0]
}

fn fct(record: &FlowRecord) -> Span {
    record.end.expect("it has ended").since(record.start)
}

/// How much longer the flow takes, in picoseconds.
fn longer(packets: u64, events: Vec<Event>) -> u64 {
    fct(&flow(packets, events)).as_ps() - fct(&flow(packets, Vec::new())).as_ps()
}

#[test]
fn syns_cost_the_first_timeouts() {
    let rto = dctcp().rto_initial.as_ps();
    assert_eq!(longer(1, vec![lose("host0", None, &[1])]), rto);
    assert_eq!(longer(1, vec![lose("host0", None, &[1, 2])]), rto + 2 * rto);
    // The SYN-ACK.
    assert_eq!(longer(1, vec![lose("host1", None, &[1])]), rto);
}

#[test]
fn a_packet_alone_and_the_last_ack_cost_a_timeout() {
    let rto = dctcp().rto_min.as_ps();
    assert_eq!(longer(1, vec![lose("host0", None, &[2])]), rto);
    assert_eq!(longer(1, vec![lose("host1", None, &[2])]), rto);
    // Its retransmission too.
    assert_eq!(longer(1, vec![lose("host0", None, &[2, 3])]), rto + 2 * rto);
}

#[test]
fn a_packet_in_the_middle_is_sent_again_after_three_acks() {
    // SYN, then packets 2 to 11: the fifth of ten is lost on the switch's line, too.
    for port in ["host0", "switch:1"] {
        let record = flow(10, vec![lose(port, None, &[6])]);
        assert_eq!((record.timeouts, record.retransmissions), (0, 1), "{port}");
    }
}

#[test]
fn of_one_flow_alone() {
    let mut scenario = long_lived(star(2), &[0, 0], Span::from_ms(1));
    let sent = |scenario: &Scenario| {
        let (mut simulation, records) = run(scenario);
        let lost: u64 = simulation.port_reports().iter().map(|report| report.lost).sum();
        (records.iter().map(|record| record.retransmissions).collect::<Vec<_>>(), lost)
    };
    assert_eq!(sent(&scenario), (vec![0, 0], 0));
    scenario.event = vec![lose("switch:2", Some(1), &[20])];
    assert_eq!(sent(&scenario), (vec![0, 1], 1));
}

#[test]
fn marks_of_one_window_cut_it_once() {
    let cuts = |port: &str, numbers: &[u64]| {
        let change = Change::Mark { port: port.into(), flow: None, mark: numbers.into() };
        let record = flow(200, vec![Event { at: Span::ZERO, change }]);
        assert_eq!((record.timeouts, record.retransmissions), (0, 0));
        record.ecn_cuts
    };
    assert_eq!(cuts("host0", &[30]), 1);
    assert_eq!(cuts("switch:1", &[30, 31]), 1);
    assert_eq!(cuts("host0", &[30, 150]), 2);
    // ACKs, of which nobody reads a mark.
    assert_eq!(cuts("host1", &[30]), 0);
}
