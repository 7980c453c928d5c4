//! What is measured decides nothing: flows end as they do when nobody looks.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{FlowRecord, Simulation, Status};

fn flows(text: &str) -> Vec<FlowRecord> {
    let plans = plans_of("f.toml", text, Path::new(""), &[], None).expect("a scenario");
    let mut simulation = Simulation::new(&plans[0].scenario).expect("builds");
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
jitter = "1us"
[[traffic]]
kind = "poisson"
load = 0.6
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
