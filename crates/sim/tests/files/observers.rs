//! Observers decide nothing: flows end as they do when nobody looks, on one thread. Flow series and
//! interference are worked out by hand.

use super::division::plans_with;
use std::collections::BTreeSet;
use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::scheme::schemes;
use switchbed_scenario::{Measure, Scenario, plans_of};
use switchbed_sim::table::{Table, Values};
use switchbed_sim::{Division, FlowRecord, Progress, Results, Simulation, Status, run};

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
const MEASURES: [&str; 11] = [
    "",
    "queues = \"all\"",
    "queues = \"all\"\nseries_every = \"5us\"",
    "goodput_every = \"7us\"",
    "capture = [\"host0\", \"leaf0:1\"]",
    "changes = { ports = [\"leaf0:0\"], from = \"0s\", until = \"1ms\" }",
    "bursts = { ports = [\"leaf0:0\"], apart = \"100us\" }",
    "convergence = { port = \"leaf0:0\", window = \"50us\" }",
    "flow_series = { every = \"13us\", traffic = [0] }",
    "flow_series = { traffic = [0] }",
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

/// A host that sends to another, 4 ms away and back, with these sections and keys of the series.
fn text(sections: &str, series: &str) -> String {
    format!(
        "host.profile = \"ideal\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\n\
         delay = \"1ms\"\n[switch]\nbuffer = \"10MB\"\n[scheme]\nname = \"none\"\n{sections}\n\
         [[traffic]]\nkind = \"long-lived\"\nfrom = \"0\"\nto = 1\n[measure]\nflow_series = {{ {series} }}\n\
         [run]\nuntil = \"23ms\"\n"
    )
}

fn results(text: &str) -> Results {
    let plans = plans_of("flows.toml", text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    run(&plans[0].scenario, &Progress::new()).expect("runs")
}

fn series(of: &Results) -> &Table {
    let table = of.monitors.iter().find(|(name, _)| *name == "flow_series");
    &table.expect("a table").1
}

fn floats<'a>(of: &'a Table, column: &str) -> &'a [f64] {
    let found = of.columns.iter().find(|of| of.name == column).expect("a column");
    let Values::F64(values) = &found.values else { panic!("{column}") };
    values
}

#[test]
fn slow_start_doubles_up_to_the_threshold_and_then_adds_a_packet_a_round_trip() {
    // The handshake takes 4 ms; samples are in the middle of round trips, and between them.
    let transport = "[transport]\nkind = \"reno\"\ninitial_window = 10\ninitial_ssthresh = 40";
    let results = results(&text(transport, "every = \"2ms\""));
    let table = series(&results);
    let cwnd = floats(table, "cwnd_packets");
    // At 6, 10, 14, 18 and 22 ms. A round of 40 ACKs adds the sum of their 1/cwnd, just under a packet.
    let middle: Vec<f64> = cwnd.iter().copied().skip(2).step_by(2).map(f64::round).collect();
    assert_eq!(middle, [10.0, 20.0, 40.0, 41.0, 42.0]);
    assert_eq!(floats(table, "ssthresh_packets")[10], 40.0);
    let Values::U64(flight) = &table.columns[4].values else { panic!("in flight") };
    let mss = 1460;
    assert_eq!((flight[2], flight[4], flight[6]), (10 * mss, 20 * mss, 40 * mss));
    let srtt = floats(table, "srtt_s");
    assert!(srtt[0].is_nan() && (srtt[10] - 4e-3).abs() < 1e-5, "{srtt:?}");
    // Ten packets are acknowledged between 8 and 10 ms.
    let delivered = floats(table, "delivered_bps");
    assert!((delivered[4] - 10.0 * mss as f64 * 8.0 / 2e-3).abs() < 1e-3, "{delivered:?}");
    assert!(floats(table, "pacing_bps").iter().all(|rate| rate.is_nan()));
}

/// The table of changes, and its times.
fn changes(of: &Results) -> (&Table, &[f64]) {
    (series(of), floats(series(of), "time_s"))
}

#[test]
fn each_change_of_a_window_has_a_row_and_each_round_trip_that_is_measured() {
    let transport = "[transport]\nkind = \"reno\"\ninitial_window = 10\ninitial_ssthresh = 40";
    let results = results(&text(transport, "rows = [0]"));
    let (table, times) = changes(&results);
    // Twenty ACKs come from 8 ms on and forty from 12 ms on, in slow start; then each adds its part of a packet.
    let cwnd = floats(table, "cwnd_packets");
    let within = |from: f64, until: f64| {
        let of = times.iter().zip(cwnd).filter(move |(at, _)| (from..until).contains(*at));
        of.map(|(_, &cwnd)| cwnd).collect::<Vec<_>>()
    };
    let slow: Vec<f64> = (11..=20).map(f64::from).collect();
    assert_eq!(within(7e-3, 11e-3), slow);
    let slow: Vec<f64> = (21..=40).map(f64::from).collect();
    assert_eq!(within(11e-3, 15e-3), slow);
    assert_eq!(within(15e-3, 19e-3).len(), 40);
    // The handshake's round trip, of four frames of 40 B beside 4 ms, then each ACK's: its data frame of 1500 B
    // takes 120 ns a hop, its own 3.2 ns, and each frame waits for those before it in the card.
    let rtts: Vec<f64> =
        floats(table, "rtt_s").iter().copied().filter(|rtt| !rtt.is_nan()).collect();
    assert_eq!(rtts.len(), 1 + 10 + 20 + 40 + 40, "{rtts:?}");
    let waits = (0..10).map(|before| 246.4e-9 + 120e-9 * f64::from(before));
    let by_hand = std::iter::once(12.8e-9).chain(waits).map(|more| 4e-3 + more);
    assert!(rtts.iter().zip(by_hand).all(|(rtt, by_hand)| (rtt - by_hand).abs() < 1e-12));
    // Forty packets a round trip are delivered in the rounds before the last ACKs.
    let rate = 40.0 * 1460.0 * 8.0 / 4e-3;
    let last = times.iter().zip(floats(table, "delivered_bps")).filter(|(at, _)| **at > 20.01e-3);
    let (low, high) =
        last.fold((f64::MAX, 0.0_f64), |(low, high), (_, &rate)| (low.min(rate), high.max(rate)));
    assert!(low > 0.97 * rate && high < 1.03 * rate, "{low} to {high} beside {rate}");
}

#[test]
fn samples_are_the_last_changes_before_them() {
    for transport in ["reno", "cubic", "bbr", "prague", "dcqcn", "timely", "nscc"] {
        let of =
            |series: &str| {
                let host = match transport {
                    "reno" | "cubic" | "bbr" | "prague" => "linux-6.x",
                    _ => "ideal",
                };
                let text = text(&format!("[transport]\nkind = \"{transport}\""), series);
                let text = text.replace("\"ideal\"", &format!("\"{host}\""));
                // Some of them answer a queue.
                results(&text.replace(
                    "name = \"none\"",
                    "name = \"per-queue\"\nparams.threshold = \"9pkt\"",
                ))
            };
        let (sampled, changed) = (of("every = \"1500us\""), of("rows = [0]"));
        let (changes, at) = changes(&changed);
        // The rate of DCQCN changes with marks alone, of which there are none.
        let least = if transport == "dcqcn" { 1 } else { 10 };
        assert!(changes.rows() >= least, "{transport}: {} rows", changes.rows());
        for column in ["cwnd_packets", "ssthresh_packets", "srtt_s", "pacing_bps", "alpha"] {
            let (rows, values) = (floats(series(&sampled), "time_s"), floats(changes, column));
            for (time, value) in rows.iter().zip(floats(series(&sampled), column)) {
                let last = at.partition_point(|at| at <= time) - 1;
                let same = values[last] == *value || values[last].is_nan() && value.is_nan();
                assert!(same, "{transport}, {column} at {time}: {value} beside {}", values[last]);
            }
        }
    }
}

#[test]
fn a_queue_pair_has_its_lines_rate_until_something_cuts_it() {
    let results = results(&text("[transport]\nkind = \"dcqcn\"", "every = \"5ms\", rows = [0]"));
    let table = series(&results);
    assert_eq!(table.rows(), 4);
    assert!(floats(table, "pacing_bps").iter().all(|&rate| rate == 100e9));
    assert!(floats(table, "cwnd_packets").iter().all(|cwnd| cwnd.is_nan()));
}

#[test]
fn keys_choose_flows_and_are_refused_by_name() {
    for (keys, rows) in
        [("rows = [1]", 0), ("classes = [0]", 4), ("traffic = [0], classes = [3]", 0)]
    {
        let of = results(&text("", &format!("every = \"5ms\", {keys}")));
        assert_eq!(series(&of).rows(), rows, "{keys}");
    }
    for (keys, says) in [
        ("every = \"0s\"", "measure.flow_series.every"),
        ("every = \"1ms\", traffic = [1]", "there is no traffic 1: the last is 0"),
        ("every = \"1ms\", rows = []", "measure.flow_series.rows"),
        ("rows = []", "measure.flow_series.rows"),
    ] {
        let refused = plans_of("flows.toml", &text("", keys), Path::new(""), &[], None);
        let said = refused.expect_err(keys).to_string();
        assert!(said.contains(says) && said.starts_with("flows.toml:"), "{keys}: {said}");
    }
}

fn with_giants(giant: &str) -> Results {
    let text = format!(
        r#"
        host.profile = "switchbed-0.1"
        [topology]
        kind = "leaf-spine"
        leaves = 3
        spines = 2
        hosts_per_leaf = 4
        host_rate = "1Gbps"
        host_delay = "2us"
        [switch]
        buffer = "300KB"
        [scheme]
        name = "per-queue"
        params = {{ threshold = "20pkt" }}
        [[traffic]]
        kind = "log-normal"
        sigma = 1
        load = 0.6
        flows = 400
        sizes = "cqrd-assumed-short-tail"
        [measure]
        {giant}
        "#
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &[], None).expect("a good scenario");
    run(&plans[0].scenario, &Progress::new()).expect("builds")
}

#[test]
fn flows_are_split_by_what_they_met() {
    let labelled = with_giants("giant = \"1MB\"");
    let split = labelled.summary.fct_by_met.expect("asked for");
    let classes = [split.nothing, split.output, split.path];
    for class in &classes {
        assert!(class.all.n > 10, "{split:?}");
        assert_eq!(class.all.n, class.small.n + class.medium.n + class.large.n);
    }
    assert_eq!(classes.iter().map(|class| class.all.n).sum::<u64>(), 400);
    // Who shares an output, or a path, with a giant waits for it.
    let small = classes.map(|class| class.small.mean_us.unwrap());
    assert!(small[0] < small[1] && small[0] < small[2], "{small:?}");

    let plain = with_giants("");
    assert_eq!(plain.summary.fct_by_met, None);
    assert_eq!(plain.summary.fct, labelled.summary.fct);
    let names = |results: &Results| -> Vec<&str> {
        results.flows.columns.iter().map(|column| column.name).collect()
    };
    // The label is the last column, and the only one more.
    assert_eq!(names(&labelled), [&names(&plain)[..], &["met"]].concat());
}
