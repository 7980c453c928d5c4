//! Departures are settled at the end of a window at the latest, whatever the scheme: how the work
//! is divided and interrupted must change nothing (of single seats and disciplines,
//! sim/tests/lazy.rs).

use crate::every_scheme::plans_with;
use std::collections::BTreeSet;
use switchbed_scenario::Scenario;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::scheme::schemes;
use switchbed_sim::{Division, Simulation, Status};

/// Figure 9's fabric under a burst to one host and a few flows between others.
const SETS: [&str; 13] = [
    "topology.leaves=12",
    "topology.spines=12",
    "topology.hosts_per_leaf=12",
    "topology.host_delay=20.2us",
    "topology.fabric_rate=10Gbps",
    "topology.fabric_delay=0.2us",
    "traffic.0.load=0.8",
    "traffic.0.flows=10",
    "traffic.0.sizes=100KB",
    "traffic.1.rounds=1",
    "traffic.1.classes=[0, 0, 0, 1]",
    "traffic.1.sizes=60KB",
    "measure.queues=all",
];

/// Everything that a run leaves behind, as text, and its packet-hops.
fn outcome(scenario: &Scenario, division: Division, batch: u64) -> (String, u64) {
    let mut simulation = Simulation::with(scenario, &Nothing, division).expect("builds");
    while simulation.advance(batch) == Status::Running {}
    let records = (simulation.take_finished(), simulation.unfinished());
    let left =
        format!("{records:?} {:?} {:?}", simulation.port_reports(), simulation.take_series());
    (left, simulation.packet_hops())
}

#[test]
fn on_fig9s_fabric_with_every_scheme() {
    let mut seen = BTreeSet::new();
    for plan in plans_with(&SETS) {
        let name = plan.scenario.scheme.name().to_owned();
        if seen.insert(name.clone()) {
            let whole = outcome(&plan.scenario, Division::ALONE, 1_000_000);
            let parts =
                outcome(&plan.scenario, Division { threads: 1, shards: 3, worthwhile: 0 }, 1);
            assert!(whole.1 > 1000, "{name}: too little happened: {} packet-hops", whole.1);
            assert!(whole == parts, "{name}");
        }
    }
    // The one that the reader writes is whatever that does.
    let all = schemes().map(|scheme| scheme.name.to_owned());
    assert_eq!(seen, all.filter(|name| name != "python").collect());
}
