//! A sender's own card under `linux-6.x` beside the kernel's, on a line of its own of 20 Mbps with an
//! RTT of 20 ms (33 packets).

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{Simulation, Status};
use switchbed_units::Bytes;

const LINE: &str = r#"[topology]
kind = "star"
hosts = 2
rate = "20Mbps"
delay = "5ms"
[switch]
buffer = "1000pkt"
[scheme]
name = "none"
[host]
profile = "linux-6.x"
[transport]
kind = "cubic"
ecn = false
[[traffic]]
kind = "long-lived"
from = 0
to = 1
[measure]
queues = ["host0"]
warmup = "1s"
[run]
until = "10s"
"#;

/// The longest queue of the sender's card, and what it dropped.
fn card(sets: &[&str]) -> (u64, u64) {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of("line.toml", LINE, Path::new(""), &sets, None).expect("a scenario");
    let mut run = Simulation::new(&plans[0].scenario).expect("builds");
    while run.advance(1 << 20) == Status::Running {}
    let flows = run.unfinished();
    // 20 Mbps for 9 s, less headers.
    assert!(flows[0].received > Bytes::new(21_000_000), "{:?}", flows[0]);
    let reports = run.port_reports();
    let report = reports.iter().find(|report| report.info.name == "host0").expect("there");
    let (_, all) = report.lengths.as_ref().expect("measured");
    (all.max_bytes, report.counters.dropped())
}

#[test]
fn what_waits_in_a_card_is_what_waits_in_the_kernels() {
    // 6.12, whose window had come to 150 packets: two segments of six, whatever the limit. One
    // packet of them is on the line.
    let at_150 = ["transport.initial_window=150pkt", "transport.initial_ssthresh=150pkt"];
    for limit in ["1MiB", "100MiB"] {
        let limit = format!("host.small_queue_limit={limit}");
        assert_eq!(card(&[at_150[0], at_150[1], &limit]), (11 * 1500, 0));
    }
    // 6.18, where HyStart had ended slow start at 38: 33 to 35 packets were out.
    let (longest, dropped) = card(&[]);
    assert!(longest <= 3 * 1500 && dropped == 0, "{longest} bytes");
    // Without small queues, what the window lets out waits.
    let (longest, _) = card(&[at_150[0], at_150[1], "host.small_queues=false"]);
    assert!(longest > 117 * 1500, "{longest} bytes");
}
