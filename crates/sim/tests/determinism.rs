//! The same seed gives the same run, wherever and beside whatever it runs.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_sim::FlowRecord;

fn outcome(scenario: &Scenario) -> (Vec<FlowRecord>, String, u64) {
    let (mut simulation, records) = run(scenario);
    let reports = format!("{:?}", simulation.port_reports());
    (records, reports, simulation.events())
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_thread() {
    let scenario = fig9("mq-ecn", 0.7, 200);
    let once = outcome(&scenario);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let scenario = scenario.clone();
            std::thread::spawn(move || outcome(&scenario))
        })
        .collect();
    for thread in threads {
        assert!(thread.join().expect("no panic") == once);
    }
}

#[test]
fn another_seed_gives_another_run() {
    let one = fig9("mq-ecn", 0.7, 50);
    let mut two = one.clone();
    two.run.seed = 2;
    assert!(outcome(&one).0 != outcome(&two).0);
}

#[test]
fn two_schemes_meet_the_same_flows() {
    let arrivals = |name| {
        let (_, records) = run(&fig9(name, 0.5, 300));
        let flow = |r: &FlowRecord| (r.row, r.start, r.src, r.dst, r.class, r.size);
        let fcts: Vec<_> = records.iter().map(|r| r.end).collect();
        (records.iter().map(flow).collect::<Vec<_>>(), fcts)
    };
    let (std, min) = (arrivals("per-queue"), arrivals("per-queue-min"));
    assert_eq!(std.0, min.0);
    assert!(std.1 != min.1, "the schemes made no difference at all");
}
