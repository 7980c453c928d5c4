//! RED in a network.

use crate::common::*;
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
