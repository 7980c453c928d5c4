//! One population and one window: all that is counted is of the time after the warm-up, endless and
//! unfinished flows included.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::{Table, Values};
use switchbed_sim::{Progress, Results, run};

fn results(text: &str) -> Results {
    let plans = plans_of("f.toml", text, Path::new("."), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    run(&plans[0].scenario, &Progress::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn column(table: &Table, name: &str) -> Vec<f64> {
    let column = table.columns.iter().find(|column| column.name == name).expect("a column");
    match &column.values {
        Values::F64(values) => values.clone(),
        Values::U64(values) => values.iter().map(|&n| n as f64).collect(),
        Values::U32(values) => values.iter().map(|&n| f64::from(n)).collect(),
        Values::Bool(values) => values.iter().map(|&b| f64::from(u8::from(b))).collect(),
        _ => panic!("{name} holds no numbers"),
    }
}

fn sum(table: &Table, name: &str) -> u64 {
    column(table, name).iter().sum::<f64>() as u64
}

/// A step at 30 KB, whose marks are to be answered by two endless flows.
fn step(traffic: &str, warmup: &str) -> Results {
    results(&format!(
        r#"
        topology = {{ kind = "star", hosts = 3, rate = "1Gbps", delay = "50us" }}
        switch = {{ buffer = "100KB", discipline = "fifo" }}
        scheme = {{ name = "red", params = {{ kmin = "30000B", kmax = "30001B", pmax = 1.0, weight = 0.25 }} }}
        transport.kind = "dctcp"
        {traffic}
        run.until = "200ms"
        measure.warmup = "{warmup}"
        "#
    ))
}

#[test]
fn endless_flows_count_their_cuts_in_the_window_of_the_marks() {
    let traffic = "traffic = [{ kind = \"long-lived\", from = \"0-1\", to = 2 }]";
    let [whole, late] = ["0ms", "50ms"].map(|warmup| step(traffic, warmup));
    for results in [&whole, &late] {
        let summary = &results.summary;
        assert!(summary.marks > 1000 && summary.ecn_cuts > 100, "{summary:?}");
        assert_eq!(column(&results.flows, "counted"), [1.0, 1.0]);
        assert_eq!((summary.flows.count, summary.flows.finished), (2, 0));
        for (name, count) in [
            ("ecn_cuts", summary.ecn_cuts),
            ("timeouts", summary.timeouts),
            ("retransmissions", summary.retransmissions),
        ] {
            assert_eq!(sum(&results.flows, name), count, "{name}");
        }
        assert_eq!(sum(&results.ports, "marked_packets"), summary.marks);
    }
    // Three quarters of the time, and of the cuts about as many.
    let part = late.summary.ecn_cuts as f64 / whole.summary.ecn_cuts as f64;
    let of_marks = late.summary.marks as f64 / whole.summary.marks as f64;
    assert!(
        (part - of_marks).abs() < 0.1 && part < 0.9,
        "{part} of the cuts, {of_marks} of the marks"
    );
}

#[test]
fn losses_of_unfinished_flows_count_as_the_drops_do() {
    // A megabyte for the third host's 30 KB, from the start: nothing has ended when the run does.
    let traffic = "traffic = [{ kind = \"incast\", from = \"0-1\", to = 2, sizes = \"90MB\" }]";
    let text = |warmup: &str| {
        format!(
            "topology = {{ kind = \"star\", hosts = 3, rate = \"1Gbps\", delay = \"50us\" }}\n\
             switch.buffer = \"30KB\"\nscheme.name = \"none\"\ntransport.kind = \"reno\"\n{traffic}\n\
             run.until = \"100ms\"\nmeasure.warmup = \"{warmup}\"\n"
        )
    };
    let [whole, late] = ["0ms", "50ms"].map(|warmup| results(&text(warmup)));
    let [all, half] = [&whole, &late].map(|results| &results.summary);
    assert!(half.drops > 0 && half.drops < all.drops, "{} of {}", half.drops, all.drops);
    assert!(half.retransmissions > 0 && half.retransmissions < all.retransmissions);
    assert_eq!(sum(&late.flows, "retransmissions"), half.retransmissions);
    assert_eq!(column(&late.flows, "counted"), [0.0, 0.0]);
    assert_eq!(column(&whole.flows, "counted"), [1.0, 1.0]);
    // No FCT counts, which is said, and nothing is blamed for it.
    let said = |results: &Results, words: &str| {
        results.summary.warnings.iter().any(|line| line.contains(words))
    };
    assert!(said(&late, "none of 2 flows started after measure.warmup"), "{:?}", half.warnings);
    assert!(!said(&whole, "measure.warmup,"), "{:?}", all.warnings);
}

#[test]
fn a_warm_up_that_outlasts_the_run_is_said() {
    let text = r#"
        topology = { kind = "star", hosts = 3, rate = "10Gbps", delay = "1us" }
        switch.buffer = "300KB"
        scheme = { name = "per-queue", params = { threshold = "100KB" } }
        transport.kind = "dctcp"
        traffic = [{ kind = "incast", to = 2, sizes = "20KB" }]
        measure.warmup = "10s"
        "#;
    let results = results(text);
    let warnings = &results.summary.warnings;
    assert!(warnings.iter().any(|line| line.contains("is longer than the run")), "{warnings:?}");
    assert_eq!(results.summary.flows.count, results.summary.flows.finished);
}

#[test]
fn pause_frames_count_since_the_warm_up_and_take_their_part_of_the_line() {
    let text = |warmup: &str| {
        format!(
            r#"
            topology = {{ kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }}
            switch = {{ queues = 1, pool = "300KB", pfc = {{ priorities = [0], quanta = 64 }} }}
            scheme.name = "none"
            transport.kind = "udp"
            traffic = [{{ kind = "long-lived", from = "0-2", to = 3 }}]
            measure.warmup = "{warmup}"
            run.until = "400us"
            "#
        )
    };
    let [whole, late] = ["0us", "300us"].map(|warmup| results(&text(warmup)));
    let pauses = |results: &Results, name: &str| {
        let table = results.monitors.iter().find(|(name, _)| *name == "pauses").expect("lossless");
        column(&table.1, name).iter().sum::<f64>()
    };
    for name in ["paused_s", "frames_sent", "frames_heard"] {
        let part = pauses(&late, name) / pauses(&whole, name);
        assert!((0.15..0.35).contains(&part), "{name}: {part}");
    }
    let count = |results: &Results| results.summary.pauses.as_ref().expect("lossless").count;
    assert!(count(&late) < count(&whole) / 2);
    // The ports to the senders carry pause frames alone.
    let used = column(&late.ports, "utilisation");
    assert!(used[4..7].iter().all(|&used| used > 0.005 && used < 0.6), "{used:?}");
    assert!(column(&late.ports, "sent_bytes")[4..7].iter().all(|&bytes| bytes == 0.0));
}

/// Two senders into a third host at 10 Gbps; the run ends at 20 ms.
fn since(transport: &str, warmup: &str, traffic: &str) -> Results {
    let text = format!(
        r#"
        host.profile = "switchbed-0.1"
        [topology]
        kind = "star"
        hosts = 3
        rate = "10Gbps"
        delay = "1us"
        [switch]
        queues = 2
        buffer = "300KB"
        [scheme]
        name = "none"
        [transport]
        kind = "{transport}"
        {traffic}
        [measure]
        warmup = "{warmup}"
        goodput_every = "1ms"
        [run]
        until = "20ms"
        "#
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &[], None).expect("a good scenario");
    run(&plans[0].scenario, &Progress::new()).expect("builds")
}

const POISSON: &str = r#"
[[traffic]]
kind = "poisson"
load = 0.4
flows = 100000
sizes = "100KB"
from = "0-1"
to = 2
service = "random"
"#;
const ON_OFF: &str = r#"
[[traffic]]
kind = "on-off"
from = "0-1"
to = 2
burst = "200KB"
rate = "4Gbps"
off = "constant"
start = "300us"
classes = [0, 1]
"#;
const LONG_LIVED: &str = r#"
[[traffic]]
kind = "long-lived"
from = "0-1"
to = 2
"#;

/// The goodput since `from`, by class: of the table of intervals of 1 ms.
fn sampled(results: &Results, from: f64, class: u8) -> f64 {
    let [times, classes, bps] =
        ["time_s", "class", "goodput_bps"].map(|name| column(&results.goodput, name));
    let since = |&i: &usize| times[i] > from + 1e-9 && classes[i] == f64::from(class);
    (0..times.len()).filter(since).map(|i| bps[i] * 1e-3).sum::<f64>() / (0.02 - from)
}

#[test]
fn flows_that_ended_in_the_warm_up_have_no_part_in_the_goodput() {
    for (transport, traffic) in [("dctcp", POISSON), ("udp", POISSON), ("udp", ON_OFF)] {
        let what = format!("{transport}: {traffic}");
        let results = since(transport, "12ms", traffic);
        let [starts, fcts, sizes, received] = ["start_s", "fct_s", "size_bytes", "received_bytes"]
            .map(|name| column(&results.flows, name));
        let mut seen = [0; 3];
        for i in 0..starts.len() {
            let ended = starts[i] + fcts[i];
            if ended <= 0.012 {
                seen[0] += 1;
                assert_eq!(received[i], 0.0, "{what}");
            } else if starts[i] < 0.012 && !ended.is_nan() {
                seen[1] += 1;
                assert!(received[i] <= sizes[i], "{what}");
            } else if !ended.is_nan() && transport != "udp" {
                seen[2] += 1;
                assert_eq!(received[i], sizes[i], "{what}");
            }
        }
        assert!(seen[0] > 50 && seen[1] > 0, "{what}: {seen:?}");
        // The three places that tell the goodput tell the same.
        let summary = &results.summary;
        assert!((3e9..9.74e9).contains(&summary.goodput_bps), "{what}: {}", summary.goodput_bps);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(close(received.iter().sum::<f64>() * 8.0 / 0.008, summary.goodput_bps), "{what}");
        assert_eq!(summary.classes.len(), 2, "{what}");
        for class in &summary.classes {
            let sampled = sampled(&results, 0.012, class.class);
            assert!(close(sampled, class.goodput_bps), "{what}: {sampled} of {class:?}");
        }
    }
}

#[test]
fn long_lived_flows_that_stopped_in_the_warm_up_share_nothing_since() {
    // Their windows fill no buffer, so that nothing waits for a timeout.
    let window = "receive_window = \"20pkt\"\n";
    let early = format!("{window}{LONG_LIVED}stop = \"5ms\"\n{LONG_LIVED}");
    let summary = since("dctcp", "10ms", &early).summary;
    let endless = summary.endless.expect("two go on");
    assert_eq!(endless.n, 2);
    assert!(endless.jain > 0.8, "{endless:?}");
    assert!(!summary.warnings.iter().any(|w| w.contains("received nothing")), "{summary:?}");
}

#[test]
fn what_is_sent_at_the_start_counts() {
    let results = since("dctcp", "0us", LONG_LIVED);
    let sent = column(&results.ports, "sent_packets");
    assert_eq!(sent.iter().sum::<f64>(), results.summary.packet_hops as f64);
}

#[test]
fn no_port_sends_more_than_its_line_could() {
    // A window of a few packets that begins and ends within one: the line never rests, and the
    // packet that is on it as the warm-up ends counts in part.
    for warmup in ["0us", "19.99ms", "19.9903ms", "19.9907ms"] {
        let results = since("udp", warmup, LONG_LIVED);
        let names = &results.ports.columns[0].values;
        let used = column(&results.ports, "utilisation");
        assert!(used.iter().all(|&used| used <= 1.0), "{warmup}: {used:?} of {names:?}");
        let busiest = results.summary.bottleneck.expect("a switch").utilisation;
        assert!(busiest > if warmup == "0us" { 0.999 } else { 1.0 - 1e-9 }, "{warmup}: {busiest}");
    }
}
