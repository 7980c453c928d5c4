//! What is measured and how the work is divided decide nothing: flows end as they do when nobody
//! looks, on one thread.

use crate::every_scheme::plans_with;
use std::collections::BTreeSet;
use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::plans_of;
use switchbed_scenario::scheme::schemes;
use switchbed_scenario::{Measure, Scenario};
use switchbed_sim::{Division, FlowRecord, Simulation, Status};

fn flows(text: &str) -> Vec<FlowRecord> {
    let plans = plans_of("f.toml", text, Path::new(""), &[], None).expect("a scenario");
    outcome(&plans[0].scenario, Division::ALONE)
}

fn outcome(scenario: &Scenario, division: Division) -> Vec<FlowRecord> {
    let mut simulation = Simulation::with(scenario, &Nothing, division).expect("builds");
    while simulation.advance(10_000) == Status::Running {}
    let mut flows = simulation.take_finished();
    flows.extend(simulation.unfinished());
    flows.sort_by_key(|flow| flow.row);
    flows
}

/// Several congested ports that draw at each departure.
const LOT: &str = r#"[topology]
kind = "parking-lot"
switches = 4
hosts_per_switch = 3
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "300KB"
[scheme]
name = "red"
params = { kmin = "10pkt", kmax = "60pkt", pmax = 0.5, mark_at = "dequeue" }
[transport]
kind = "dctcp"
[host]
profile = "switchbed-0.1"
jitter = "1us"
[[traffic]]
kind = "poisson"
load = 0.6
overload = true
flows = 150
sizes = "web-search"
[measure]
queues = "all"
"#;

#[test]
fn a_series_of_queues_leaves_what_ports_draw_alone() {
    let unseen = flows(LOT);
    assert!(unseen.iter().any(|flow| flow.ecn_cuts > 0), "nothing was marked");
    for every in ["1us", "7us"] {
        let seen = flows(&format!("{LOT}series_every = \"{every}\"\n"));
        assert_eq!(unseen, seen, "every {every}");
    }
}

/// A leaf-spine under a burst to one host and a few flows between others.
const SETS: [&str; 6] = [
    "topology.leaves=4",
    "traffic.0.load=0.8",
    "traffic.0.flows=12",
    "traffic.0.sizes=60KB",
    "traffic.1.rounds=1",
    "measure.queues=off",
];

/// Each measurement alone, and none.
const MEASURES: [&str; 10] = [
    "",
    "queues = \"all\"",
    "queues = \"all\"\nseries_every = \"5us\"",
    "goodput_every = \"7us\"",
    "capture = [\"host0\", \"leaf0:1\"]",
    "changes = { ports = [\"leaf0:0\"], from = \"0s\", until = \"1ms\" }",
    "bursts = { ports = [\"leaf0:0\"], apart = \"100us\" }",
    "convergence = { port = \"leaf0:0\", window = \"50us\" }",
    "flow_series = { every = \"13us\", traffic = [0] }",
    "underflow = [\"leaf0:0\", \"spine0:1\"]",
];

/// What a measurement is as a scenario has it.
fn measure(text: &str) -> Measure {
    let fabric = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8\n\
                  host_rate = \"10Gbps\"\nhost_delay = \"1us\"";
    let text = format!(
        "[topology]\n{fabric}\n[switch]\nqueues = 8\nbuffer = \"300KB\"\n[scheme]\n\
         name = \"none\"\n[host]\nprofile = \"switchbed-0.1\"\n[transport]\nkind = \"dctcp\"\n[[traffic]]\nkind = \"poisson\"\n\
         load = 0.5\noverload = true\nflows = 1\nsizes = \"1KB\"\n[measure]\n{}\n",
        if text.contains("queues") { text.to_owned() } else { format!("queues = \"off\"\n{text}") },
    );
    let plans = plans_of("f.toml", &text, Path::new(""), &[], None);
    plans.unwrap_or_else(|mistake| panic!("{mistake}"))[0].scenario.measure.clone()
}

/// Every scheme, measurement, number of threads and of shards: each value of each, or, with
/// `SWITCHBED_WHOLE` set, their whole product (`make validate`).
#[test]
fn flows_are_the_same_whatever_looks_on_and_however_the_work_is_divided() {
    let whole = std::env::var_os("SWITCHBED_WHOLE").is_some();
    let measures = MEASURES.map(|text| (text, measure(text)));
    let divisions: Vec<Division> = (1..=3)
        .flat_map(|threads| (1..=5).map(move |shards| Division { threads, shards, worthwhile: 0 }))
        .collect();
    let (mut seen, mut nth) = (BTreeSet::new(), 0);
    for plan in plans_with(&SETS) {
        let name = plan.scenario.scheme.name().to_owned();
        if !seen.insert(name.clone()) {
            continue;
        }
        let alone = outcome(&plan.scenario, Division::ALONE);
        assert!(alone.iter().all(|flow| flow.end.is_some()), "{name}");
        let product = measures.iter().flat_map(|m| divisions.iter().map(move |d| (m, *d)));
        for (place, ((text, measure), division)) in product.enumerate() {
            // Steps that have no factor with the product's, so that all is met in turn.
            if whole || place == (nth * 37) % (MEASURES.len() * divisions.len()) {
                let scenario = Scenario {
                    measure: Measure { fct_end: plan.scenario.measure.fct_end, ..measure.clone() },
                    ..plan.scenario.clone()
                };
                assert!(
                    outcome(&scenario, division) == alone,
                    "{name}, {text:?}, {division:?}: other flows"
                );
            }
        }
        nth += 1;
    }
    let all = schemes().map(|scheme| scheme.name.to_owned());
    assert_eq!(seen, all.filter(|name| name != "python").collect());
}
