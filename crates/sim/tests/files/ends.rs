//! Every run ends: what lets no packet through for ever is refused, or the run stops and says who.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{Progress, Summary, run};

/// A star of three hosts, two of which send 100 KB to the third.
const STAR: &str = r#"
topology = { kind = "star", hosts = 3, rate = "10Gbps", delay = "1us" }
switch.buffer = "300KB"
scheme.name = "none"
transport.kind = "dctcp"
traffic = [{ kind = "incast", from = "0-1", to = 2, sizes = "100KB" }]
"#;

fn with(sets: &[&str]) -> Result<Summary, String> {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let plans = plans_of("f.toml", STAR, Path::new("."), &sets, None);
    let plans = plans.map_err(|mistake| mistake.to_string())?;
    Ok(run(&plans[0].scenario, &Progress::new()).expect("ends").summary)
}

fn refused(sets: &[&str]) -> String {
    let refused = with(sets).expect_err("refused");
    assert!(!refused.contains('\n'), "{refused}");
    refused
}

const DYNAMIC: [&str; 2] = ["switch.policy='dynamic'", "switch.pool='1400KB'"];
const PFC: &str =
    "switch={ pool = '500KB', pfc = { priorities = [0], headroom = '0B', alpha = 0.001 } }";

#[test]
fn a_part_of_the_pool_that_holds_no_packet_is_refused() {
    let [policy, pool] = DYNAMIC;
    let line = refused(&[policy, pool, "switch.buffer='1400KB'", "switch.alpha=0.001"]);
    assert!(
        line.contains("switch.alpha") && line.contains("1.4MB") && line.contains("1.5KB"),
        "{line}"
    );
    with(&[policy, pool, "switch.buffer='1400KB'", "switch.alpha=0.01"])
        .expect("holds nine packets");
    for policy in ["fab", "abm", "occamy"] {
        let set = format!("switch.policy='{policy}'");
        let line = refused(&[&set, pool, "switch.alpha=0.0001"]);
        assert!(line.contains("switch.alpha"), "{policy}: {line}");
    }
}

/// Three queues at each port; the first is as the file has it, traffic has the class that follows.
fn of_queue(class: u8, entry: &str) -> [String; 5] {
    [
        "switch.policy='dynamic'".into(),
        "switch.pool='300KB'".into(),
        "switch.queues=3".into(),
        format!("switch.queue=[{{ queue = 1, {entry} }}]"),
        format!("traffic.0.classes=[{class}]"),
    ]
}

#[test]
fn a_queue_of_its_own_rules_that_lets_nothing_in_is_refused_if_traffic_has_it() {
    let with = |class, entry: &str, transport: &str| {
        let sets = of_queue(class, entry);
        let sets: Vec<&str> = sets.iter().map(String::as_str).chain([transport]).collect();
        with(&sets)
    };
    let (dctcp, cubic) = ("transport.kind='dctcp'", "transport.kind='cubic'");
    let line = with(1, "alpha = 0.001", dctcp).expect_err("holds no packet");
    let own = "switch.queue has alpha = 0.001: an empty queue 1 admits no packet of 1.5KB, alpha times 300KB";
    assert!(line.contains(own), "{line}");
    // The next queue, or a class that wraps round to it.
    with(2, "alpha = 0.001", dctcp).expect("has the port's alpha");
    with(1, "alpha = 0.01", dctcp).expect("holds two packets");

    let drops = "scheme = { name = 'per-queue', params = { threshold = '0B' } }";
    let line = with(1, drops, cubic).expect_err("drops every SYN");
    assert!(line.contains("per-queue marks at an empty queue, and SYNs are not ECN-capable"));
    with(0, drops, cubic).expect("another queue");
    with(1, &format!("{drops}, unmarkable = 'pass'"), cubic).expect("passes");
}

#[test]
fn a_threshold_that_drops_every_syn_or_ack_is_refused() {
    for scheme in ["per-queue", "per-port", "mq-ecn"] {
        let set = format!("scheme={{ name = '{scheme}', params = {{ threshold = '0B' }} }}");
        let line = refused(&["transport.kind='cubic'", &set]);
        assert!(line.contains("ECN-capable") && line.contains("threshold"), "{scheme}: {line}");
        let line = refused(&["transport.kind='cubic'", "transport.ecn_syn=true", &set]);
        assert!(line.contains("ACKs are not ECN-capable: each is dropped"), "{scheme}: {line}");
        let capable = ["transport.ecn_syn=true", "transport.ecn_acks=true"];
        with(&[&["transport.kind='cubic'", &set], &capable[..]].concat()).expect("are capable");
        // Such packets pass, or all are capable.
        with(&["transport.kind='cubic'", &set, "switch.unmarkable='pass'"]).expect("passes");
    }
}

#[test]
fn a_lossless_group_that_admits_nothing_is_refused() {
    let line = refused(&[PFC]);
    assert!(line.contains("switch.pfc has a lossless group that admits nothing"), "{line}");
    let fits = PFC.replace("0.001", "0.125");
    with(&[&fits]).expect("holds packets");
}

#[test]
fn quanta_whose_frames_fill_the_line_are_refused() {
    let set = |quanta: u32, classes: &str| {
        format!(
            "switch={{ queues = 8, pool = '500KB', pfc = {{ priorities = {classes}, quanta = {quanta} }} }}"
        )
    };
    for (quanta, classes) in [(1, "[0]"), (2, "[0]"), (8, "[0, 1, 2, 3]")] {
        let line = refused(&[&set(quanta, classes)]);
        assert!(line.contains("quanta") && line.contains("times what a line carries"), "{line}");
    }
    with(&[&set(16, "[0]")]).expect("leaves space");
}

#[test]
fn a_line_that_stays_down_is_refused_where_the_run_has_no_end() {
    let down = "event=[{ at = '20us', port = 'switch:2', up = false }]";
    for kind in ["transport.kind='dcqcn'", "transport.kind='dctcp'"] {
        let line = refused(&[kind, down]);
        assert!(line.contains("switch:2 stays down"), "{line}");
        let summary = with(&[kind, down, "run.until='1s'"]).expect("has an end");
        assert_eq!(summary.flows.finished, 0);
    }
}

#[test]
fn a_run_whose_packets_are_refused_from_some_time_on_ends_and_says_by_what() {
    // A class's share falls to an eighth of a byte a second, over which the scheme drops all.
    let cap = "event=[{ at = '20us', class = 0, max = '1bps' }]";
    let afd = "scheme={ name = 'afd', params = { q_ref = '20pkt' } }";
    let rule = "queue 0 of switch:2 drops arrivals, as afd has it";
    let sets = ["transport.kind='dcqcn'", "traffic.0.sizes=20MB", afd, cap];
    let summary = with(&sets).expect("a good scenario");
    let [said] = &summary.warnings[..] else { panic!("{:?}", summary.warnings) };
    assert!(said.contains("connections gave up (roce.give_up, 470ms)"), "{said}");
    assert!(said.ends_with(rule), "{said}");
    assert_eq!(summary.flows.finished, 0);
}

#[test]
fn a_run_of_senders_that_never_give_up_stops_and_says_what_refuses() {
    let never = ["transport.syn_retries=0", "transport.data_retries=0"];
    let stopped = |sets: &[&str]| {
        let summary = with(&[&never, sets].concat()).expect("a good scenario");
        let said =
            summary.warnings.iter().find(|line| line.starts_with("the run stopped: nothing"));
        assert_eq!((summary.flows.finished, summary.flows.failed), (0, 0));
        said.unwrap_or_else(|| panic!("{sets:?}: {:?}", summary.warnings)).clone()
    };
    // The peer's pause frames hold the queue.
    let pfc = "switch={ pool = '500KB', pfc = { priorities = [0] } }";
    let storm = "event=[{ at = '0us', port = 'host2', storm = 0, lasts = '100000s' }]";
    let said = stopped(&[pfc, storm]);
    assert!(said.contains("as long as a sender retransmits (data 15 times"), "{said}");
    assert!(said.ends_with("is held by its peer's pause frames (switch.pfc)"), "{said}");
    assert!(said.contains("queue 0 of switch:2"), "{said}");
}

#[test]
fn waiting_for_a_late_flow_or_a_line_that_comes_back_is_no_stall() {
    let back = "event=[{ at = '20us', port = 'switch:2', up = false }, { at = '3000s', port = 'switch:2', up = true }]";
    let summary = with(&[back]).expect("a good scenario");
    assert!(
        !summary.warnings.iter().any(|line| line.starts_with("the run stopped")),
        "{:?}",
        summary.warnings
    );
    let late =
        "traffic=[{ kind = 'incast', from = '0-1', to = 2, sizes = '100KB', start = '5000s' }]";
    let summary = with(&[late]).expect("a good scenario");
    assert_eq!((summary.flows.finished, summary.flows.count), (2, 2));
}
