//! Memory of a run follows what is under way, not how long the run lasts.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{FlowRecord, Simulation, Status};

/// Two senders of a lossless class to one host.
const STAR: &str = r#"
title = "storm"
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"
[switch]
queues = 4
pool = "2MB"
[switch.pfc]
priorities = [3]
[scheme]
name = "none"
[transport]
kind = "roce"
[[traffic]]
kind = "incast"
from = [0, 1]
to = 2
sizes = "1MB"
classes = [3]
"#;
const HOST_DOWN: &str = "[[event]]\nat = \"1us\"\nport = \"host2\"\nup = false\n";
const SWITCH_DOWN: &str = "[[event]]\nat = \"1us\"\nport = \"switch:2\"\nup = false\n";
const STORM: &str = "[[event]]\nat = \"1us\"\nport = \"host2\"\nstorm = 3\nlasts = \"100000s\"\n";
const UNTIL: &str = "[run]\nuntil = \"400s\"\n";

/// The flows of a run, when it ended, and the most packets that there were at a time.
fn run(parts: &[&str], sets: &[&str]) -> (Vec<FlowRecord>, f64, usize) {
    let text = [&[STAR], parts].concat().concat();
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of("star.toml", &text, Path::new(""), &sets, None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    let mut run = Simulation::new(&plans[0].scenario).expect("builds");
    while run.advance(1 << 20) == Status::Running {}
    (run.take_finished(), run.now().as_secs_f64(), run.packet_places())
}

#[test]
fn a_queue_pair_that_nobody_answers_gives_up() {
    for (event, end) in [(HOST_DOWN, UNTIL), (SWITCH_DOWN, UNTIL), (STORM, "")] {
        for kind in ["roce", "dcqcn", "timely", "hpcc", "swift"] {
            let (flows, ended_s, _) = run(&[event, end], &[&format!("transport.kind={kind}")]);
            assert!(flows.len() == 2 && flows.iter().all(|flow| flow.failed.is_some()), "{event}");
            // Seven times 67.1 ms, and the timer after that.
            assert!((0.470..0.480).contains(&ended_s), "{kind} {event}: {ended_s}");
        }
    }
}

#[test]
fn a_queue_pair_whose_own_line_is_down_gives_up() {
    let down = "[[event]]\nat = \"30us\"\nport = \"host0\"\nup = false\n";
    let up = "[[event]]\nat = \"400ms\"\nport = \"host0\"\nup = true\n";
    // A message under way, one that finds the line down, and both.
    for starts in [vec!["0us"], vec!["1ms"], vec!["0us", "1ms"]] {
        for kind in ["roce", "dcqcn", "timely", "hpcc", "swift", "nscc", "rccc"] {
            let kind = format!("transport.kind={kind}");
            let start = format!("traffic.0.start={}", starts[0]);
            let sets = [&*kind, &*start, "traffic.0.from=[0]"];
            let again = "[[traffic]]\nkind = \"incast\"\nfrom = [0]\nto = 2\nsizes = \"1MB\"\nclasses = [3]\n\
                         start = \"1ms\"\n";
            let more = if starts.len() > 1 { again } else { "" };
            let (flows, ended_s, _) = run(&[more, down, UNTIL], &sets);
            assert_eq!(flows.len(), starts.len(), "{sets:?}");
            assert!(flows.iter().all(|flow| flow.failed.is_some()), "{sets:?}: {flows:?}");
            assert!((0.46..0.49).contains(&ended_s), "{sets:?} {ended_s}");
            let (flows, ended_s, _) = run(&[more, down, up, UNTIL], &sets);
            assert!(flows.iter().all(|flow| flow.end.is_some()), "{sets:?}: {flows:?}");
            assert!((0.4..0.402).contains(&ended_s), "{sets:?} {ended_s}");
        }
    }
}

#[test]
fn a_queue_pair_tries_seven_times_at_least() {
    let (flows, ended_s, _) = run(&[SWITCH_DOWN, UNTIL], &["roce.rto=200ms"]);
    assert!(flows.iter().all(|flow| flow.failed.is_some() && flow.timeouts == 8));
    assert!((1.6..1.7).contains(&ended_s), "{ended_s}");
    let (flows, ended_s, _) = run(&[SWITCH_DOWN, UNTIL], &["roce.give_up=2s"]);
    assert!(flows.iter().all(|flow| flow.failed.is_some()) && (2.0..2.01).contains(&ended_s));
}

#[test]
fn a_queue_pair_that_only_hears_nacks_gives_up() {
    // Of each round of two packets the first is lost, and the second brings a NACK.
    let first: Vec<String> = (0..10_000).map(|round| (2 * round + 1).to_string()).collect();
    let lose =
        format!("[[event]]\nat = \"0us\"\nport = \"host0\"\nlose = [{}]\n", first.join(", "));
    let sets = [
        "traffic.0.from=[0]",
        "traffic.0.sizes=2KB",
        "roce.mtu=1KB",
        "roce.recovery=go-back-n",
        "roce.give_up=1ms",
    ];
    let (flows, ended_s, _) = run(&[&lose, UNTIL], &sets);
    assert!(flows.len() == 1 && flows[0].failed.is_some(), "{flows:?}");
    // A receiver sends one NACK for a gap: seven tries are four NACKs and three timeouts of 4 ms.
    assert!((0.012..0.0121).contains(&ended_s), "{ended_s}");
}

#[test]
fn a_line_that_comes_up_in_time_loses_no_queue_pair() {
    let up = "[[event]]\nat = \"400ms\"\nport = \"host2\"\nup = true\n";
    let (flows, _, _) = run(&[HOST_DOWN, up, UNTIL], &[]);
    assert!(flows.len() == 2 && flows.iter().all(|flow| flow.end.is_some()), "{flows:?}");
}

#[test]
fn a_card_whose_line_is_down_holds_so_many_answers() {
    let sets = ["roce.give_up=1s", "run.until=1s"];
    let (_, _, places) = run(&[HOST_DOWN, UNTIL], &sets);
    assert!((10_000..14_000).contains(&places), "{places}");
}

/// The most packets that there were at a time in a run of a file.
fn places(text: &str) -> usize {
    let plans = plans_of("test.toml", text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
    let mut run = Simulation::new(&plans[0].scenario).expect("builds");
    while run.advance(1 << 20) == Status::Running {}
    run.packet_places()
}

/// A star of TCP hosts with one card or another.
fn tcp(nic: &str, more: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "star", hosts = 3, rate = "10Gbps", delay = "1us" }}
        switch.buffer = "300KB"
        scheme.name = "none"
        transport = {{ kind = "reno", receive_window = 300 }}
        host.nic = "{nic}"
        {more}
        "#
    )
}

#[test]
fn a_card_holds_what_its_senders_windows_allow_in_whatever_profile() {
    for nic in ["fifo", "fq", "switch", "unlimited", "classes"] {
        for event in ["up = false", "rate = \"100kbps\""] {
            let places = places(&tcp(
                nic,
                &format!(
                    r#"
                    traffic = [{{ kind = "long-lived", from = "0", to = 2, flows_each = 20 }}]
                    event = [{{ at = "5ms", port = "host0", {event} }}]
                    run.until = "20s"
                    "#
                ),
            ));
            // 20 windows and what is sent again; the answers of 20 flows.
            assert!((20..2 * 20 * 300).contains(&places), "{nic} {event}: {places}");
        }
    }
}

#[test]
fn a_card_takes_no_more_probes_than_it_holds() {
    // Linux's fq takes 100 of a flow (flow_limit).
    for (nic, most) in [("fq", 100), ("unlimited", 10_000)] {
        let places = places(&tcp(
            nic,
            r#"
            traffic = [{ kind = "probe", from = "0", to = 2, every = "1us", stop = "40ms" }]
            event = [{ at = "1us", port = "host0", up = false }]
            run.until = "41ms"
            "#,
        ));
        assert!((most..most + 100).contains(&places), "{nic}: {places}");
    }
}

#[test]
fn a_ports_line_is_promised_to_few_pause_frames() {
    // Quanta near the least: a frame for each class every few hundred nanoseconds.
    for until in ["200us", "2ms"] {
        let places = places(&format!(
            r#"
            topology = {{ kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }}
            switch = {{ queues = 4, pool = "4MB", pfc = {{ priorities = [0, 1, 2, 3], quanta = 10 }} }}
            scheme.name = "none"
            transport.kind = "roce"
            traffic = [{{ kind = "incast", to = 3, sizes = "10MB", flows_each = 4, classes = [0, 1, 2, 3] }}]
            run.until = "{until}"
            "#
        ));
        // The switch's memory, some in each line and card, and pause frames: two a class and port.
        assert!(places < 4_000, "{until}: {places}");
    }
}
