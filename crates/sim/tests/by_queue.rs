//! Queues of a port with schemes of their own, in a network.

use crate::common::*;
use switchbed_qdisc::port::view::Counters;
use switchbed_scenario::*;
use switchbed_units::{Bytes, Span};

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
