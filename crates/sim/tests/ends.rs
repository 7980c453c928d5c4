//! A run comes to an end, and can be stopped on its way whatever it is busy with.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_scenario::measure::Convergence;
use switchbed_scenario::*;
use switchbed_sim::{Simulation, Status};
use switchbed_units::{Span, Time};

fn arrivals(load: f64) -> Arrivals {
    Arrivals {
        load,
        flows: 20,
        sizes: vec![sizes::named("web-search").expect("a known table")],
        from: vec![0, 1],
        to: vec![0, 1, 2],
        service: Service::ONE,
        connections: Connections::Fresh,
    }
}

fn poisson(load: f64) -> Scenario {
    Scenario { traffic: vec![arrive(arrivals(load))], ..star(3) }
}

#[test]
fn a_short_advance_is_short_however_often_a_run_looks() {
    let mut scenario = poisson(0.5);
    for every in ["series", "goodput", "convergence"] {
        scenario.measure.series_every = (every == "series").then_some(Span::from_ps(1));
        scenario.measure.goodput_every = (every == "goodput").then_some(Span::from_ps(1));
        scenario.measure.monitors.convergence = (every == "convergence").then(|| Convergence {
            port: "switch:2".into(),
            window: Span::from_ps(1),
            within: 0.1,
            windows: 3,
        });
        let mut simulation = Simulation::new(&scenario).expect("it builds");
        assert_eq!(simulation.advance(1_000), Status::Running);
        assert!(simulation.events() <= 1_100, "{every}: {}", simulation.events());
        assert!(simulation.take_series().len() <= 1_100);
    }
}

#[test]
fn a_flow_that_would_start_when_the_clock_has_ended_is_a_failure() {
    let mut scenario = poisson(1e-12);
    let mut simulation = Simulation::new(&scenario).expect("it builds");
    simulation.advance(100_000);
    let message = simulation.failure().expect("no flow can start").to_string();
    assert!(message.contains("after 213 days, where the clock ends"), "{message}");
    // With an end of its own a run needs none to start.
    scenario.run.until = Some(Span::from_ms(1));
    let mut simulation = Simulation::new(&scenario).expect("it builds");
    assert_eq!(simulation.advance(100_000), Status::Finished);
    assert_eq!(simulation.failure(), None);
    assert_eq!(simulation.unfinished(), []);
}

#[test]
fn a_flow_that_arrives_as_the_run_ends_has_ended() {
    for asked in [false, true] {
        let mut scenario = poisson(0.5);
        scenario.measure.fct_end = FctEnd::Received;
        if asked {
            scenario.traffic = vec![ask(100, arrivals(0.5))];
        }
        let (_, whole) = run(&scenario);
        for flow in whole.iter().take(8) {
            let end = flow.end.expect("nothing is lost for good");
            scenario.run.until = Some(end.since(Time::ZERO));
            let (_, cut) = run(&scenario);
            let same = cut.iter().find(|other| other.row == flow.row).expect("it started");
            assert_eq!((same.end, same.received), (flow.end, flow.received), "asked: {asked}");
        }
    }
}
