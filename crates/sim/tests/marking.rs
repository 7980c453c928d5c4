//! Marking in a network: RED, packets that are not ECN-capable, and queues of a port with schemes of
//! their own.

use crate::common::*;
use switchbed_qdisc::port::view::{Counters, DropReason};
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_sim::FlowRecord;
use switchbed_units::{Bytes, Span};

fn red(kmin: u64, kmax: u64, pmax: f64, weight: f64) -> SchemeChoice {
    let params = [
        ("kmin", Value::Bytes(packets(kmin))),
        ("kmax", Value::Bytes(packets(kmax))),
        ("pmax", Value::Number(pmax)),
        ("weight", Value::Number(weight)),
    ];
    named("red", &params)
}

fn received(scheme: SchemeChoice) -> (Vec<FlowRecord>, u64) {
    let mut scenario = long_lived(star(2), &[0; 4], Span::from_ms(30));
    scenario.scheme = scheme;
    let (mut simulation, records) = run(&scenario);
    let marks = simulation.port_reports().iter().map(|report| report.counters.marked).sum();
    (records, marks)
}

#[test]
fn with_one_threshold_and_no_averaging_it_is_step_marking() {
    assert!(received(red(65, 65, 1.0, 1.0)) == received(scheme("per-queue", packets(65))));
}

#[test]
fn a_low_probability_marks_less_and_queues_more() {
    let mean = |pmax| {
        let mut scenario = long_lived(star(2), &[0; 8], Span::from_ms(60));
        scenario.scheme = red(10, 190, pmax, 1.0);
        scenario.measure.warmup = Span::from_ms(20);
        let (mut simulation, _) = run(&scenario);
        let reports = simulation.port_reports();
        let port = reports.iter().find(|report| report.info.name == "switch:8").expect("there");
        port.lengths.as_ref().expect("measured").1.mean_bytes
    };
    let (often, seldom) = (mean(0.8), mean(0.05));
    assert!(often * 1.5 < seldom, "{often} and {seldom} bytes");
    assert!(Bytes::new(seldom as u64) < packets(190));
}

/// The congested port of a star whose TCP is not ECN-capable, under step marking.
fn port(unmarkable: Unmarkable) -> Counters {
    let mut scenario = long_lived(star(2), &[0; 4], Span::from_ms(20));
    scenario.switch.unmarkable = unmarkable;
    scenario.transport.ecn = false;
    let (mut simulation, _) = run(&scenario);
    let reports = simulation.port_reports();
    reports.iter().find(|report| report.info.name == "switch:4").expect("there").counters
}

fn dropped(counters: &Counters, why: DropReason) -> u64 {
    counters.drops[why as usize]
}

#[test]
fn are_dropped_and_leave_the_queue_at_its_threshold() {
    let counters = port(Unmarkable::Drop);
    assert!(dropped(&counters, DropReason::NotEcnCapable) > 0);
    assert_eq!(
        (dropped(&counters, DropReason::Full), counters.unmarkable, counters.marked),
        (0, 0, 0)
    );
}

#[test]
fn or_go_on_until_the_buffer_is_full() {
    let counters = port(Unmarkable::Pass);
    assert_eq!(dropped(&counters, DropReason::NotEcnCapable), 0);
    assert!(dropped(&counters, DropReason::Full) > 0);
    assert!(counters.unmarkable > 1000 && counters.marked == 0, "{counters:?}");
}

/// The congested port's counters and the flows' goodputs: four flows to one host, two queues.
fn outcome(classes: &[u8; 4], scheme: SchemeChoice) -> (Counters, Vec<f64>) {
    let mut scenario = long_lived(star(2), classes, Span::from_ms(20));
    scenario.switch = Switch {
        queues: 2,
        classify: Classify::Class,
        discipline: Discipline::Dwrr,
        quantum: vec![packets(1); 2],
        ..scenario.switch
    };
    scenario.scheme = scheme;
    let (mut simulation, records) = run(&scenario);
    let reports = simulation.port_reports();
    let port = reports.iter().find(|report| report.info.name == "switch:4").expect("there");
    (port.counters, goodputs(&simulation, &records))
}

fn mixed() -> SchemeChoice {
    let queues = vec![scheme("per-queue", packets(20)), named("none", &[])];
    SchemeChoice { queues, ..scheme("per-queue", packets(20)) }
}

#[test]
fn mark_as_if_they_had_the_port_s_scheme() {
    let (plain, goodputs) = outcome(&[0; 4], scheme("per-queue", packets(20)));
    let (counters, by_queue) = outcome(&[0; 4], mixed());
    assert!(counters.marked > 1000, "{counters:?}");
    assert_eq!((format!("{counters:?}"), by_queue), (format!("{plain:?}"), goodputs));
}

#[test]
fn and_do_not_where_they_have_none() {
    let (counters, _) = outcome(&[1; 4], mixed());
    assert_eq!(counters.marked, 0);
    assert!(counters.dropped() > 0, "a queue without marks fills {}", Bytes::new(300_000));
}
