//! Packets that a line loses or marks because the scenario says so.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_scenario::event::{Change, Event};
use switchbed_scenario::*;
use switchbed_sim::FlowRecord;
use switchbed_units::Span;

fn lose(port: &str, flow: Option<u64>, lose: &[u64]) -> Event {
    let change = Change::Lose { port: port.into(), flow, lose: lose.into() };
    Event { at: Span::ZERO, change }
}

/// A flow of so many packets between two hosts, after a handshake.
fn flow(packets: u64, events: Vec<Event>) -> FlowRecord {
    let mut scenario = star(2);
    let (_file, traffic) = list(&[(0.0, 0, 1, packets * 1460)], Connections::Fresh);
    (scenario.traffic, scenario.event) = (traffic, events);
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
