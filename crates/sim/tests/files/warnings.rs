//! A run whose scheme had nothing to do says so, and where the bottleneck is.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{Progress, Summary, run};

fn warnings(scheme: &str, hosts: u32) -> Vec<String> {
    warnings_with(scheme, hosts, &[])
}

fn warnings_with(scheme: &str, hosts: u32, sets: &[&str]) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let text = format!(
        r#"
        host.profile = "switchbed-0.1"
        [topology]
        kind = "star"
        hosts = {hosts}
        rate = "10Gbps"
        delay = "1us"
        [switch]
        buffer = "300KB"
        [scheme]
        name = "{scheme}"
        [scheme.params]
        {params}
        [transport]
        kind = "dctcp"
        [[traffic]]
        kind = "long-lived"
        from = "1-{last}"
        to = 0
        [run]
        until = "5ms"
        "#,
        last = hosts - 1,
        params =
            if matches!(scheme, "none" | "cq" | "s-ecn") { "" } else { "threshold = \"65pkt\"" },
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &sets, None).expect("a good scenario");
    run(&plans[0].scenario, &Progress::new()).expect("builds").summary.warnings
}

#[test]
fn one_sender_fills_no_queue_but_its_own_cards() {
    let found = warnings("per-queue", 2);
    assert!(
        found[0]
            .starts_with("per-queue marked nothing: the bottleneck is host1's own network card"),
        "{found:?}"
    );
    let found = warnings("none", 2);
    assert!(
        found[0]
            .starts_with("no switch port ever held more than 0 bytes: the bottleneck is host1's"),
        "{found:?}"
    );
}

#[test]
fn a_scheme_without_a_threshold_is_not_blamed_for_marking_nothing() {
    for (sets, blamed) in [(&[][..], false), (&["scheme.params.ecn_threshold=1"][..], true)] {
        let found = warnings_with("cq", 3, sets);
        let blames = found.iter().any(|warning| warning.contains("marked nothing"));
        assert_eq!(blames, blamed, "{found:?}");
    }
}

#[test]
fn a_policy_that_is_nothing_to_the_scheme_is_named() {
    const ABM: [&str; 2] = ["switch.policy=abm", "switch.pool=1MB"];
    let said = |scheme, sets| {
        let found = warnings_with(scheme, 3, sets);
        found.into_iter().filter(|line| line.contains("switch.policy")).collect::<Vec<_>>()
    };
    assert_eq!(
        said("cq", &ABM),
        [
            "cq has queues and a buffer of its own, each port's: switch.policy = \"abm\" is nothing to it"
        ]
    );
    assert!(said("cq", &[]).is_empty());
    assert!(said("per-queue", &ABM).is_empty());
}

#[test]
fn a_window_shorter_than_a_packet_is_named() {
    // A packet takes 1.2 us.
    for (t_i, named) in [("1us", true), ("1.2us", false)] {
        let found = warnings_with("s-ecn", 3, &[&format!("scheme.params.t_i={t_i}")]);
        let warning = "t_i is 1us, shorter than a packet's time at 10Gbps, 1.2us: the growth of a \
                       queue means nothing then";
        assert_eq!(found.iter().any(|w| w == warning), named, "{found:?}");
    }
}

#[test]
fn two_senders_mark_and_no_warning_is_due() {
    let warmed = warnings_with("per-queue", 3, &["measure.warmup=1ms"]);
    assert_eq!(warmed, Vec::<String>::new());
}

#[test]
fn a_start_that_counts_is_named() {
    let found = warnings("per-queue", 3);
    assert!(found[0].starts_with("measure.warmup is 0"), "{found:?}");
    let asked = r#"traffic=[{kind="request-response", load=0.5, flows=50, sizes="30KB", to="0"}]"#;
    let listed = r#"traffic=[{kind="incast", sizes="30KB", from="1-2", to="0"}]"#;
    for (traffic, counts) in [(asked, true), (listed, false)] {
        let found = warnings_with("per-queue", 3, &[traffic, "run.until=500ms"]);
        assert_eq!(found.iter().any(|w| w.starts_with("measure.warmup")), counts, "{found:?}");
    }
}

#[test]
fn classes_with_few_flows_are_named() {
    let sets = [
        r#"traffic=[{kind="poisson", load=0.5, flows=1200, sizes="90KB", from="1", to="0"},
            {kind="poisson", load=0.2, flows=7, sizes="200KB", from="2", to="0"}]"#,
        "run.until=500ms",
    ];
    let found = warnings_with("per-queue", 3, &sets);
    let few = "99th percentiles rest on fewer than 1000 flows: medium";
    assert!(found.iter().any(|w| w == few), "{found:?}");
}

#[test]
fn a_flow_that_never_got_going_is_named() {
    // It starts with the end of the run.
    let found = warnings_with("per-queue", 3, &["traffic.stagger=4999us"]);
    assert!(found.iter().any(|w| w.starts_with("1 endless flows received nothing")), "{found:?}");
}

#[test]
fn what_decides_the_tail_beside_the_switch_is_named() {
    let has = |found: &[String], what: &str| found.iter().any(|warning| warning.contains(what));
    // Sixty senders at once into 20 packets of buffer.
    let incast = r#"traffic=[{kind="incast", sizes="30KB", from="1-59", to="0"}]"#;
    let sets = [incast, "switch.buffer=30KB", "run.until=2s"];
    let found = warnings_with("none", 60, &sets);
    assert!(has(&found, "the retransmission timer, transport.rto_min, 200ms"), "{found:?}");
    assert!(!has(&found, "own cards") && !has(&found, "not ECN-capable"), "{found:?}");
    // A probe in the timer's place is waited for as long, and large flows wait, too.
    let large = r#"traffic=[{kind="incast", sizes="200KB", from="1-59", to="0"}]"#;
    for traffic in [incast, large] {
        let sets = ["host.profile=linux-6.x", traffic, "switch.buffer=30KB", "run.until=2s"];
        let found = warnings_with("none", 60, &sets);
        assert!(
            has(&found, "FCTs are mostly idle waits for a timer, which decides them: of all flows"),
            "{found:?}"
        );
    }
    // SYN-ACKs and ACKs cross the card that bulk fills, and step marking drops them.
    let both =
        r#"traffic=[{kind="long-lived", from="1-2", to=0}, {kind="long-lived", from=0, to=1}]"#;
    let found = warnings_with("per-queue", 3, &[both, "host.nic=switch"]);
    assert!(
        has(
            &found,
            "not ECN-capable were dropped where others are marked: ACKs (transport.ecn_acks); switch"
        ),
        "{found:?}"
    );
    let found =
        warnings_with("per-queue", 3, &[both, "host.nic=switch", "transport.ecn_acks=true"]);
    assert!(!has(&found, "not ECN-capable"), "{found:?}");
    // A window larger than a card.
    let found =
        warnings_with("none", 2, &["host.nic=fifo", "host.nic_buffer=10pkt", "switch.buffer=9MB"]);
    assert!(
        has(&found, "packets were lost in hosts' own cards (host.nic_buffer, 15KB)"),
        "{found:?}"
    );
}

#[test]
fn queue_pairs_that_mostly_send_again_are_named() {
    let of = |sets: &[&str]| {
        let few = ["transport.kind=dcqcn", "run.until=20ms"];
        let found = warnings_with("none", 9, &[&few, sets].concat());
        found.into_iter().find(|warning| warning.contains("packets again for"))
    };
    let named = of(&["switch.buffer=60KB"]).expect("senders that nothing slows down");
    assert!(named.starts_with("dcqcn sent ") && named.contains("selective"), "{named}");
    assert_eq!(of(&["switch.buffer=60KB", "roce.recovery=selective"]), None);
    assert_eq!(of(&[r#"switch={pool="9MB", pfc={priorities=[0]}}"#]), None);
    // Two of three transports, each by its name.
    let traffic = r#"traffic=[{kind="long-lived", from="1-3", to=0, transport="timely"},
        {kind="long-lived", from="4-6", to=0}, {kind="long-lived", from="7-8", to=0, transport="cubic"}]"#;
    let named = of(&[traffic, "switch.buffer=30KB"]).expect("the same beside TCP");
    assert!(named.contains("dcqcn sent ") && !named.contains("cubic"), "{named}");
}

#[test]
fn what_waits_for_a_delayed_ack_is_named() {
    // 21 segments: the last is acknowledged with no other.
    let traffic = r#"traffic=[{kind="incast", sizes="30660B", from="1-2", to="0"}]"#;
    let named = |sets: &[&str]| {
        let sets = [&[traffic, "run.until=2s", "transport.ack_every=2"], sets].concat();
        let found = warnings_with("none", 3, &sets);
        found.iter().any(|warning| warning.contains("a delayed ACK, transport.ack_delay, 40ms"))
    };
    assert!(named(&[]));
    assert!(!named(&["measure.fct_end=received"]));
    assert!(!named(&["transport.ack_every=1"]));
    assert!(!named(&["transport.ack_short=true", "traffic.0.sizes=30KB"]));
}

#[test]
fn syns_that_marking_dropped_are_named() {
    // Windows of six senders, of a packet or two each, are more than fit on the way: there is a queue
    // as the seventh's SYN comes.
    let traffic = r#"traffic=[{kind="long-lived", from="1-6", to=0},
        {kind="incast", sizes="1KB", from="7", to="0", start="2ms"}]"#;
    let sets = [traffic, "scheme.params.threshold=2pkt", "run.until=1.1s"];
    let found = warnings_with("per-queue", 8, &[&sets[..], &["transport.ecn_syn=false"]].concat());
    let named = "SYNs (transport.ecn_syn), and flows waited for transport.rto_initial";
    assert!(found.iter().any(|warning| warning.contains(named)), "{found:?}");
    let found = warnings_with("per-queue", 8, &sets);
    assert!(!found.iter().any(|warning| warning.contains("SYNs")), "{found:?}");
}

/// The summary of flows under DCTCP at a switch that marks nothing.
fn unmarked(traffic: &str, more: &str) -> Summary {
    let text = format!(
        r#"
        host.profile = "switchbed-0.1"
        topology = {{ kind = "star", hosts = 4, rate = "10Gbps", delay = "1us" }}
        switch.buffer = "300KB"
        scheme.name = "none"
        transport.kind = "dctcp"
        traffic = [{traffic}]
        {more}
        "#
    );
    let plans = plans_of("t.toml", &text, Path::new("."), &[], None).expect("a good scenario");
    run(&plans[0].scenario, &Progress::new()).expect("builds").summary
}

#[test]
fn a_run_that_one_flow_drags_on_is_named() {
    let dragged = |large: &str, until: &str| {
        let traffic = format!(
            r#"{{ kind = "incast", from = "1-3", to = 0, sizes = "30KB" }},
               {{ kind = "incast", from = "1", to = 2, sizes = "{large}" }}"#
        );
        let found = unmarked(&traffic, until).warnings;
        found.iter().any(|warning| warning.starts_with("one flow took ten times as long"))
    };
    assert!(dragged("10MB", ""));
    assert!(!dragged("60KB", ""));
    assert!(!dragged("10MB", "run.until = \"1s\""));
}

#[test]
fn a_time_without_traffic_that_counts_is_said() {
    let said = |start: &str, warmup: &str| {
        let traffic = format!(
            r#"{{ kind = "incast", from = "1-3", to = 0, sizes = "60KB", start = "{start}" }}"#
        );
        let summary = unmarked(&traffic, &format!("measure.warmup = \"{warmup}\""));
        let found = summary.warnings.into_iter().find(|line| line.starts_with("no flow had begun"));
        (found, summary.goodput_bps)
    };
    let (warning, low) = said("50ms", "0us");
    let warning = warning.expect("an idle beginning");
    let start = "no flow had begun for the first 50ms that count, ";
    assert!(warning.starts_with(start), "{warning}");
    let advice = "measure.warmup = \"50ms\" leaves that time out";
    assert!(warning.contains(advice), "{warning}");
    let (after, full) = said("50ms", "50ms");
    assert_eq!(after, None);
    assert!(full > 10.0 * low, "{full} {low}");
    // Under half of the time.
    assert_eq!(said("100us", "0us").0, None);
    assert!(said("50ms", "30ms").0.expect("20 ms").contains("for the first 20ms that count"));
}

#[test]
fn arrivals_that_outrun_the_network_are_said() {
    let said = |load: f64, flows: u32, more: &str| {
        let traffic = format!(
            r#"{{ kind = "poisson", from = "1-3", to = "0", load = {load}, flows = {flows}, sizes = "300KB",
                 overload = true }}"#
        );
        let found = unmarked(&traffic, more).warnings;
        found.into_iter().find(|line| line.starts_with("the run is too short for its load: "))
    };
    // 240 us a flow, one each 800 us.
    assert_eq!(said(0.1, 200, ""), None);
    assert_eq!(said(0.1, 200, "measure.warmup = \"2ms\""), None);
    let six = said(0.3, 6, "").expect("six flows, one each 267 us");
    assert!(six.contains(": when the last flow began, at 0.00"), "{six}");
    assert!(six.ends_with("and a lower load if that does not help"), "{six}");
    assert!(said(0.1, 200, "run.until = \"1ms\"").is_some(), "an end of its own");
    assert!(said(0.8, 200, "").is_some(), "2.4 times what the line carries");
}

#[test]
fn flows_that_begin_at_once_do_not_outrun_the_network() {
    let traffic = r#"{ kind = "incast", from = "1-3", to = 0, sizes = "300KB" }"#;
    let found = unmarked(traffic, "").warnings;
    assert!(!found.iter().any(|line| line.contains("too short for its load")), "{found:?}");
}
