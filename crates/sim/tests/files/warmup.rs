//! What is said to be since the warm-up is: flows' bytes, goodputs, ports' packets.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::{Table, Values};
use switchbed_sim::{Progress, Results, run};

/// Two senders into a third host at 10 Gbps; the run ends at 20 ms.
fn results(transport: &str, warmup: &str, traffic: &str) -> Results {
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

fn column(table: &Table, name: &str) -> Vec<f64> {
    let column = table.columns.iter().find(|column| column.name == name).expect("a column");
    match &column.values {
        Values::F64(values) => values.clone(),
        Values::U64(values) => values.iter().map(|&n| n as f64).collect(),
        Values::U32(values) => values.iter().map(|&n| f64::from(n)).collect(),
        _ => panic!("{name} holds no numbers"),
    }
}

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
        let results = results(transport, "12ms", traffic);
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
    let summary = results("dctcp", "10ms", &early).summary;
    let endless = summary.endless.expect("two go on");
    assert_eq!(endless.n, 2);
    assert!(endless.jain > 0.8, "{endless:?}");
    assert!(!summary.warnings.iter().any(|w| w.contains("received nothing")), "{summary:?}");
}

#[test]
fn what_is_sent_at_the_start_counts() {
    let results = results("dctcp", "0us", LONG_LIVED);
    let sent = column(&results.ports, "sent_packets");
    assert_eq!(sent.iter().sum::<f64>(), results.summary.packet_hops as f64);
}

#[test]
fn no_port_sends_more_than_its_line_could() {
    // A window of a few packets that begins and ends within one: the line never rests, and the
    // packet that is on it as the warm-up ends counts in part.
    for warmup in ["0us", "19.99ms", "19.9903ms", "19.9907ms"] {
        let results = results("udp", warmup, LONG_LIVED);
        let names = &results.ports.columns[0].values;
        let used = column(&results.ports, "utilisation");
        assert!(used.iter().all(|&used| used <= 1.0), "{warmup}: {used:?} of {names:?}");
        let busiest = results.summary.bottleneck.expect("a switch").utilisation;
        assert!(busiest > if warmup == "0us" { 0.999 } else { 1.0 - 1e-9 }, "{warmup}: {busiest}");
    }
}
