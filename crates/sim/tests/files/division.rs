//! However the work of a run is divided, it is the same to the byte.

use std::collections::BTreeSet;
use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::scheme::schemes;
use switchbed_scenario::{Plan, Scenario, plans_of};
use switchbed_sim::{Division, FlowRecord, Simulation, Status};

/// A shipped scenario, the first of its comparison, with these settings.
fn scenario(name: &str, sets: &[&str]) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let file = folder.join(name);
    let text = std::fs::read_to_string(&file).expect("a shipped scenario");
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of(name, &text, &folder, &sets, None);
    plans.unwrap_or_else(|mistake| panic!("{mistake}"))[0].scenario.clone()
}

/// A run's flows, its ports' counts with the lengths of their queues, and all else as text.
pub(super) type Outcome = (Vec<FlowRecord>, String, String);

pub(super) fn run(scenario: &Scenario, division: Division, batch: u64) -> Outcome {
    let mut run = Simulation::with(scenario, &Nothing, division).expect("builds");
    while run.advance(batch) == Status::Running {}
    let mut flows = run.take_finished();
    flows.extend(run.unfinished());
    flows.sort_by_key(|flow| flow.row);
    let ports = format!("{:?}", run.port_reports());
    let (series, monitored) = (run.take_series(), run.take_monitored());
    let (goodputs, probes, captures) = (run.goodputs(), run.probes(), run.captures());
    let seen = format!("{series:?} {monitored:?} {goodputs:?} {probes:?} {captures:?}");
    (flows, ports, seen)
}

/// Whatever the threads, shards and pauses: the same.
pub(super) fn divided(scenario: &Scenario) -> Outcome {
    let whole = run(scenario, Division::ALONE, 1 << 40);
    for (threads, shards, batch) in [(1, 2, 1_000), (1, 5, 1 << 40), (2, 3, 1 << 40)] {
        let parts = run(scenario, Division { threads, shards, worthwhile: 0 }, batch);
        assert_eq!(whole.0, parts.0, "{threads} threads, {shards} shards");
        assert!(whole.1 == parts.1 && whole.2 == parts.2, "{threads} threads, {shards} shards");
    }
    whole
}

fn as_one(name: &str, sets: &[&str]) {
    divided(&scenario(name, sets));
}

#[test]
fn on_fig9s_fabric_with_each_scheme_of_the_paper() {
    for scheme in ["per-queue", "per-queue-min", "mq-ecn"] {
        as_one("mqecn-fig9.toml", &["flows=6", "load=0.8", &format!("scheme.name={scheme}")]);
    }
}

#[test]
fn with_endless_flows_a_warm_up_and_a_series() {
    as_one("star-dctcp.toml", &["run.until=8ms", "measure.warmup=2ms"]);
    as_one("red-average.toml", &[]);
}

#[test]
fn with_rounds_of_an_incast_and_a_flow_list() {
    as_one("two-flows.toml", &[]);
    as_one("flow-list.toml", &[]);
}

#[test]
fn with_requests_and_answers_that_lose_packets() {
    for connections in ["persistent", "single", "fresh"] {
        let connections = format!("traffic.connections={connections}");
        let small = ["switch.buffer=9KB", "scheme.params.threshold=9KB"];
        let sets = [&["flows=20", "load=0.9", &connections][..], &small].concat();
        let (flows, ..) = divided(&scenario("mqecn-fig7.toml", &sets));
        assert!(flows.iter().any(|flow| flow.retransmissions > 0));
    }
}

#[test]
fn with_flows_of_a_size_beside_endless_ones() {
    as_one("dumbbell.toml", &["run.until=10ms"]);
}

#[test]
fn with_bursts_changes_and_captures() {
    as_one("cedm-bursts.toml", &["run.until=7ms", "measure.warmup=3ms"]);
    as_one("eecn-fig7.toml", &["run.until=8ms", "measure.warmup=2ms"]);
}

const LOT: &str = r#"[topology]
kind = "parking-lot"
switches = 3
hosts_per_switch = 2
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "150KB"
classify = "single"
[scheme]
name = "af-qcn"
params = { weights = [4, 1], max = ["1Gbps"] }
[host]
profile = "switchbed-0.1"
[transport]
kind = "udp"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 5
classes = [0, 1]
[[event]]
at = "1ms"
port = "middle0:0"
rate = "1Gbps"
[[event]]
at = "2ms"
class = 0
max = "2Gbps"
[[event]]
at = "3ms"
port = "middle0:0"
up = false
[[event]]
at = "4ms"
port = "middle0:0"
up = true
[measure]
goodput_every = "500us"
[run]
until = "6ms"
"#;

#[test]
fn with_notifications_and_changes_of_the_network() {
    let plans = plans_of("lot.toml", LOT, Path::new(""), &[], None).expect("a scenario");
    let flows = divided(&plans[0].scenario).0;
    assert!(flows.iter().all(|flow| flow.received.get() > 0), "{flows:?}");
}

const CARDS: &str = r#"[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "5us"
[switch]
buffer = "60KB"
[scheme]
name = "per-queue"
params = { threshold = "20pkt" }
[host]
profile = "switchbed-0.1"
small_queues = true
lso = true
jitter = "1us"
coalesce_time = "10us"
merge_packets = 64
merge_flush = "poll"
[transport]
kind = "dctcp"
rto_initial = "1ms"
rto_min = "1ms"
[[traffic]]
kind = "long-lived"
from = "0-2"
to = 3
flows_each = 3
stagger = "50us"
[[event]]
at = "1ms"
port = "host0"
rate = "1Gbps"
[[event]]
at = "2ms"
port = "host1"
up = false
[[event]]
at = "3ms"
port = "host1"
up = true
[measure]
queues = ["host0", "host1", "switch:3"]
series_every = "20us"
capture = ["host1"]
[run]
until = "5ms"
"#;

#[test]
fn with_hosts_whose_connections_wait_for_their_card_and_their_pace() {
    for (nic, autosize, pacing) in [
        ("fifo", "off", "off"),
        ("fifo", "rate", "linux"),
        ("unlimited", "rate-and-rtt", "off"),
        ("switch", "off", "linux"),
        ("fq", "rate-and-rtt", "linux"),
        ("fq", "rate", "off"),
    ] {
        let sets =
            [("host.nic", nic), ("host.lso_autosize", autosize), ("transport.pacing", pacing)];
        let sets = sets.map(|(key, word)| format!("{key}={word}"));
        let plans = plans_of("cards.toml", CARDS, Path::new(""), &sets, None).expect("a scenario");
        let flows = divided(&plans[0].scenario).0;
        assert!(flows.iter().all(|flow| flow.received.get() > 0), "{sets:?}: {flows:?}");
    }
}

#[test]
fn with_schemes_that_hash_flows() {
    let flows = divided(&scenario("cqrd-fig8.toml", &["flows=60"])).0;
    assert!(flows.iter().any(|flow| flow.end.is_some()));
}

#[test]
fn looking_changes_nothing() {
    let plain = run(&scenario("dumbbell.toml", &["run.until=8ms"]), Division::ALONE, 1 << 40);
    for sets in [
        ["run.until=8ms", "measure.series_every=3us"],
        ["run.until=8ms", "measure.goodput_every=7us"],
        ["run.until=8ms", "measure.queues=all"],
        ["run.until=8ms", "measure.capture=[\"host0\"]"],
    ] {
        let seen = run(&scenario("dumbbell.toml", &sets), Division::ALONE, 1 << 40);
        assert_eq!(plain.0, seen.0, "{sets:?}");
    }
}

/// Runs of the scenario, with these settings.
pub fn plans_with(sets: &[&str]) -> Vec<Plan> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    plans_of("every_scheme.toml", include_str!("every_scheme.toml"), Path::new(""), &sets, None)
        .unwrap_or_else(|mistake| panic!("{mistake}"))
}

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
