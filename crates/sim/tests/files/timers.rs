//! Timers decide tails: how long a flow waits for each, and that results name it. Times are worked out by
//! hand.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::Values;
use switchbed_sim::{Progress, Results, run};

/// Two hosts on a switch, 10 Gbps and 5 us a link, under a profile.
const STAR: &str = r#"
    topology = { kind = "star", hosts = 2, rate = "10Gbps", delay = "5us" }
    switch.buffer = "400KB"
    scheme.name = "none"
    measure = { fct_end = "received", queues = "off" }
    host.nic = "unlimited"
"#;
/// Host 0 asks host 1, once.
const ASK: &str = r#"
    [[traffic]]
    kind = "request-response"
    load = 0.01
    flows = 1
    from = "1"
    to = "0"
    connections = "fresh"
"#;
/// Host 0 sends to host 1.
const SEND: &str = r#"
    [[traffic]]
    kind = "incast"
    from = "0"
    to = 1
"#;

fn results(text: &str, sets: &[&str]) -> Results {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let plans = plans_of("test.toml", text, folder, &sets, None).expect("a good scenario");
    run(&plans[0].scenario, &Progress::new()).expect("builds")
}

/// Under this profile, with packets lost of these that a port sends, counted from 1.
fn losing(what: &str, profile: &str, port: &str, lose: &[u32], sets: &[&str]) -> Results {
    let event = match lose {
        [] => String::new(),
        _ => format!("[[event]]\nat = \"0s\"\nport = \"{port}\"\nlose = {lose:?}\n"),
    };
    let profile = format!("host.profile={profile}");
    results(&[STAR, what, &event].concat(), &[&[&profile[..]], sets].concat())
}

/// A column's only value.
fn one(results: &Results, column: &str) -> f64 {
    match column_of(results, column) {
        Values::F64(values) => values[0],
        Values::U32(values) => values[0].into(),
        Values::U64(values) => values[0] as f64,
        Values::Bool(values) => f64::from(u8::from(values[0])),
        _ => panic!("{column} is no number"),
    }
}

fn column_of<'a>(results: &'a Results, column: &str) -> &'a Values {
    let found = results.flows.columns.iter().find(|found| found.name == column);
    &found.unwrap_or_else(|| panic!("no column {column}")).values
}

fn waited_for(results: &Results) -> String {
    match column_of(results, "waited_for") {
        Values::Names(values) => values.names[values.rows[0] as usize].clone(),
        _ => panic!("no text"),
    }
}

#[track_caller]
fn near(is: f64, expected: f64, off: f64) {
    assert!((is - expected).abs() <= off, "{is} is not {expected}");
}

/// Seconds.
const US: f64 = 1e-6;
/// A packet of so many bytes over both links.
fn way(bytes: f64) -> f64 {
    2.0 * (bytes * 8.0 / 10e9 + 5.0 * US)
}
/// SYN, SYN-ACK and ACK of Linux, with timestamps.
const BARE: f64 = 52.0;
const REQUEST: f64 = 152.0;

#[test]
fn the_first_answer_lost_waits_for_the_kernels_timeout() {
    // The server's first RTT: its SYN-ACK, and the request that answers it.
    let rtt = way(BARE) + way(REQUEST);
    // The answer is written when the request is there, behind the request's ACK.
    let written = 2.0 * way(BARE) + way(REQUEST);
    // RFC 6298: srtt is the RTT, rttvar half of it; Linux adds 200 ms at least. The probe of a lone
    // packet would come 2·srtt + 200 ms after it, and comes no later than that.
    let rto = rtt + 0.2;
    for profile in ["linux-6.x", "linux-3.18"] {
        let found = losing(ASK, profile, "host1", &[3], &["traffic.0.sizes=1000B"]);
        near(one(&found, "fct_s"), written + rto + way(1052.0), 0.5 * US);
        assert_eq!((waited_for(&found).as_str(), one(&found, "timeouts")), ("probe", 0.0));
        near(one(&found, "waited_s"), rto, US);
        assert_eq!(found.summary.waits.probe, 1);
    }
    // Without a probe it is the timeout.
    let found = losing(ASK, "linux-2.6.38", "host1", &[3], &["traffic.0.sizes=1000B"]);
    near(one(&found, "fct_s"), written + rto + way(1052.0), 0.5 * US);
    assert_eq!((waited_for(&found).as_str(), one(&found, "timeouts")), ("rto", 1.0));
    // Ten packets: the probe goes out after two round trips and 2 ms, new data, of which there is
    // some, and its SACK starts the repair. The window is half of ten: rate reduction sends one
    // packet, two, four and five, a round trip of a packet and its ACK with a SACK block each, and
    // then the last, which is short.
    let lose: Vec<u32> = (3..=12).collect();
    let found = losing(ASK, "linux-6.x", "host1", &lose, &["traffic.0.sizes=20000B"]);
    let probe = 2.0 * rtt + 2e-3;
    assert_eq!((waited_for(&found).as_str(), found.summary.waits.probe), ("probe", 1));
    near(one(&found, "waited_s"), probe, 2.0 * US);
    let round = way(1500.0) + way(BARE + 10.0);
    let last = way(20_000.0 - 13.0 * 1448.0 + 52.0);
    near(one(&found, "fct_s"), written + probe + 5.0 * round + last, 0.5 * US);
}

#[test]
fn without_the_sample_it_waits_for_the_initial_timeout_and_says_so() {
    let sets = ["traffic.0.sizes=1000B", "transport.rtt_of_syn_ack=false"];
    for (profile, initial) in [("linux-6.x", 1.0), ("switchbed-0.1", 1.0), ("ns-3", 3.0)] {
        let found = losing(ASK, profile, "host1", &[3], &sets);
        near(one(&found, "fct_s"), initial, 1e-3);
        assert_eq!(waited_for(&found), "rto_initial", "{profile}");
        assert_eq!((one(&found, "timeouts"), found.summary.timeouts), (1.0, 1), "{profile}");
        assert_eq!(found.summary.waits.rto_initial, 1);
        let named = "data without an RTT sample, transport.rto_initial";
        let warnings = &found.summary.warnings;
        assert!(warnings.iter().any(|warning| warning.contains(named)), "{warnings:?}");
    }
    // ns-3 takes it: its least timeout is 1 s.
    let found = losing(ASK, "ns-3", "host1", &[3], &["traffic.0.sizes=500B"]);
    near(one(&found, "fct_s"), 1.0, 1e-3);
    assert_eq!((waited_for(&found).as_str(), found.summary.waits.rto), ("rto", 1));
}

#[test]
fn a_request_sent_again_gives_the_sample_that_its_handshake_would_have() {
    // The request is lost, and sent again after 200 ms; the answer's first packet too. The SYN-ACK's
    // round trip is not 200 ms, so the second wait is no longer than the first.
    let text = [ASK, "[[event]]\nat = \"0s\"\nport = \"host0\"\nlose = [2]\n"].concat();
    let found = losing(&text, "linux-6.x", "host1", &[3], &["traffic.0.sizes=1000B"]);
    near(one(&found, "fct_s"), 0.4, 1e-3);
    assert_eq!(found.summary.waits.probe, 2);
}

#[test]
fn a_lost_syn_is_named() {
    let found = losing(SEND, "linux-6.x", "host0", &[1], &["traffic.0.sizes=1000B"]);
    near(one(&found, "fct_s"), 1.0, 1e-3);
    assert_eq!((waited_for(&found).as_str(), one(&found, "timeouts")), ("syn", 1.0));
    near(one(&found, "waited_s"), 1.0, US);
    let named = "a lost SYN, transport.rto_initial, 1s";
    assert!(found.summary.warnings.iter().any(|warning| warning.contains(named)));
    // Nothing is lost, and nothing waited for.
    let found = losing(SEND, "linux-6.x", "host0", &[], &["traffic.0.sizes=1000B"]);
    assert_eq!((waited_for(&found).as_str(), one(&found, "waited_s")), ("", 0.0));
    assert!(!found.summary.warnings.iter().any(|warning| warning.contains("waits for a timer")));
}

#[test]
fn a_median_that_is_a_delayed_ack_is_named() {
    // A window of one packet: the second waits until the first's ACK has, for 200 ms.
    let sets = [
        "traffic.0.sizes=1072B",
        "transport.quick_acks=0",
        "transport.initial_window=1pkt",
        "measure.fct_end=received",
    ];
    let found = losing(SEND, "ns-3", "host0", &[], &sets);
    near(one(&found, "fct_s"), 0.2, 1e-3);
    assert_eq!((waited_for(&found).as_str(), one(&found, "timeouts")), ("delayed_ack", 0.0));
    let named = "of all flows and queries of traffic 0 (mean and all percentiles), for a delayed ACK, transport.ack_delay, 200ms";
    let warnings = &found.summary.warnings;
    assert!(warnings.iter().any(|warning| warning.contains(named)), "{warnings:?}");
    // With ns-3's own quick ACK for the first packet it does not.
    let found = losing(SEND, "ns-3", "host0", &[], &[sets[0], sets[2], sets[3]]);
    assert_eq!(waited_for(&found), "");
}

#[test]
fn connections_give_up_as_their_hosts_do() {
    let syns: Vec<u32> = (1..=40).collect();
    // Linux 6.x: five a second apart, then doubled: SYNs at 0 to 5, 7, 11, 19, 35 and 67 s, and 64 s
    // for the last. 3.18: 1 + 2 + … + 64 s. 2.6.38: 3 + 6 + … + 96 s, and ns-3 for its six SYNs, but that
    // here rto_max, 60 s, bounds the last wait too.
    for (profile, seconds, timeouts) in [
        ("linux-6.x", 131.0, 11.0),
        ("linux-3.18", 127.0, 7.0),
        ("linux-2.6.38", 189.0, 6.0),
        ("ns-3", 153.0, 6.0),
    ] {
        for (what, port) in [(SEND, "host0"), (ASK, "host0")] {
            let found = losing(what, profile, port, &syns, &["traffic.0.sizes=1000B"]);
            assert_eq!(one(&found, "failed"), 1.0, "{profile}");
            assert!(one(&found, "fct_s").is_nan());
            assert_eq!(one(&found, "timeouts"), timeouts, "{profile}");
            near(found.summary.simulated_s, seconds, 2e-2 * seconds);
            let flows = &found.summary.flows;
            assert_eq!((flows.count, flows.finished, flows.failed), (1, 0, 1));
            let warnings = &found.summary.warnings;
            let named = "1 of 1 flows failed: their connections gave up (transport.syn_retries";
            assert!(warnings.iter().any(|warning| warning.starts_with(named)), "{warnings:?}");
            assert!(!warnings.iter().any(|warning| warning.contains("never finished")));
        }
    }
    // For ever, until run.until.
    let sets = ["traffic.0.sizes=1000B", "run.until=300s"];
    let found = losing(SEND, "switchbed-0.1", "host0", &syns, &sets);
    assert_eq!((one(&found, "failed"), found.summary.flows.failed), (0.0, 0));
}

#[test]
fn data_that_is_never_acknowledged_fails_its_flow() {
    let data: Vec<u32> = (2..=99).collect();
    // The first retransmission timeout is after 200 ms; then 400 ms, doubled nine times to 102.4 s, and
    // 120 s each: 204.4 + 7·120 = 1,044.4 s is the first that comes 924.6 s after it.
    let found = losing(SEND, "linux-2.6.38", "host0", &data, &["traffic.0.sizes=1000B"]);
    assert_eq!((one(&found, "failed"), one(&found, "received_bytes")), (1.0, 0.0));
    near(found.summary.simulated_s, 1_044.6, 0.5);
    // ns-3: 1 + 2 + … + 32 s are six timeouts, the next, after 60 s (64, at most), is the last.
    let found = losing(SEND, "ns-3", "host0", &data, &["traffic.0.sizes=500B"]);
    assert_eq!((one(&found, "failed"), one(&found, "timeouts")), (1.0, 7.0));
    near(found.summary.simulated_s, 63.0 + 60.0, 0.5);
    // Answers that never come fail the flow at the host that asked.
    let answers: Vec<u32> = (3..=99).collect();
    let found = losing(ASK, "ns-3", "host1", &answers, &["traffic.0.sizes=500B"]);
    assert_eq!((one(&found, "failed"), one(&found, "timeouts")), (1.0, 7.0));
    assert_eq!(found.summary.flows.failed, 1);
}

#[test]
fn after_a_failed_connection_the_next_request_has_a_new_one() {
    // The first answer never arrives; requests come about 200 s apart.
    let answers: Vec<u32> = (3..=14).collect();
    let sets = [
        "traffic.0.sizes=500B",
        "traffic.0.flows=3",
        "traffic.0.load=0.000000002",
        "traffic.0.connections=persistent",
    ];
    let found = losing(ASK, "ns-3", "host1", &answers, &sets);
    let flows = &found.summary.flows;
    assert_eq!(flows.count, 3);
    assert_eq!(flows.finished + flows.failed, 3);
    assert!(flows.failed >= 1 && flows.finished >= 1, "{flows:?}");
}

/// The first bytes of each captured IPv4 packet: ECN field and TCP flags.
fn captured(pcapng: &[u8]) -> Vec<(u8, u8)> {
    let word = |at: usize| u32::from_le_bytes(pcapng[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < pcapng.len() {
        if word(at) == 6 {
            let ip = at + 28 + 14;
            let tcp = ip + 4 * usize::from(pcapng[ip] & 15);
            found.push((pcapng[ip + 1] & 3, pcapng[tcp + 13]));
        }
        at += word(at + 4);
    }
    found
}

/// Case c53: the first SYN is lost.
fn fallback(kind: &str, sets: &[&str]) -> Results {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("hundred-pkts.csv"), "start_s,src,dst,size_bytes\n0,0,1,144800\n")
        .expect("a folder");
    let text = format!(
        r#"
        [topology]
        kind = "star"
        hosts = 2
        rate = "10Gbps"
        delay = "5us"
        [switch]
        buffer = "400KB"
        [scheme]
        name = "per-queue"
        params = {{ threshold = "2pkt" }}
        [transport]
        kind = "{kind}"
        [[traffic]]
        kind = "list"
        file = "hundred-pkts.csv"
        [[event]]
        at = "0us"
        port = "host0"
        lose = [1]
        [measure]
        capture = ["host0"]
        "#
    );
    results(&text, sets)
}

#[test]
fn a_syn_that_is_sent_again_asks_for_no_ecn() {
    const SYN: u8 = 0x02;
    const SYN_ACK: u8 = 0x12;
    const ECE_CWR: u8 = 0xc0;
    for kind in ["cubic", "reno", "dctcp", "prague"] {
        let found = fallback(kind, &[]);
        let packets = captured(&found.captures[0].pcapng);
        let syns: Vec<u8> = packets.iter().map(|of| of.1).filter(|f| f & SYN != 0).collect();
        assert_eq!(syns[0] & ECE_CWR, ECE_CWR, "{kind}");
        assert_eq!(syns[1..], [SYN, SYN_ACK], "{kind}");
        // What is sent then is not ECN-capable, ACKs included; marking drops what it would mark.
        assert!(packets.len() > 100, "{kind}");
        assert!(packets[1..].iter().all(|&(ecn, _)| ecn == 0), "{kind}");
        assert_eq!((found.summary.marks, found.summary.ecn_cuts), (0, 0), "{kind}");
        // Older kernels and RFC 3168's letter ask again.
        let found = fallback(kind, &["transport.ecn_fallback=false"]);
        let packets = captured(&found.captures[0].pcapng);
        let syns: Vec<u8> = packets.iter().map(|of| of.1).filter(|f| f & SYN != 0).collect();
        assert_eq!(syns[1] & ECE_CWR, ECE_CWR, "{kind}");
        assert!(packets[3..].iter().any(|&(ecn, _)| ecn != 0), "{kind}");
    }
}

#[test]
fn requests_and_answers_of_a_connection_without_ecn_have_none() {
    let capture = "[measure]\ncapture = [\"host0\", \"host1\"]\n";
    let star = STAR.replace("measure = { fct_end = \"received\", queues = \"off\" }", "");
    let event = "[[event]]\nat = \"0s\"\nport = \"host0\"\nlose = [1]\n";
    let text = [&star, ASK, event, capture].concat();
    let sets = ["transport.kind=dctcp", "traffic.0.sizes=100KB"];
    for capture in results(&text, &sets).captures {
        let packets = captured(&capture.pcapng);
        assert!(packets.len() > 70);
        // The lost SYN alone is ECN-capable.
        let capable = packets.iter().filter(|&&(ecn, _)| ecn != 0).count();
        assert!(capable <= 1, "{capable}");
    }
}

#[test]
fn ns3_acknowledges_the_first_packet_and_then_each_second() {
    // Case ns3-last2: of 100 packets at 100 Mbps the last two are lost; ns-3 3.44 takes 333.27 ms.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("ns3-flows.csv"), "start_s,src,dst,packets\n0,0,1,100\n")
        .expect("a folder");
    let text = r#"
        [topology]
        kind = "dumbbell"
        left = 1
        right = 1
        rate = "100Gbps"
        delay = "0us"
        bottleneck_rate = "100Mbps"
        bottleneck_delay = "10ms"
        [switch]
        queues = 1
        buffer = "10000pkt"
        [scheme]
        name = "none"
        [host]
        profile = "ns-3"
        mtu = "1502B"
        nic = "unlimited"
        [transport]
        mss = "1460B"
        header = "42B"
        kind = "reno"
        sack_blocks = 3
        ack_every = 2
        rto_min = "200ms"
        receive_window = 2739
        slow_start = "acks"
        avoidance = "acks"
        [[traffic]]
        kind = "list"
        file = "ns3-flows.csv"
        connections = "fresh"
        [[event]]
        at = "0s"
        port = "left:0"
        lose = [100, 101]
        [measure]
        fct_end = "received"
        queues = "off"
        [run]
        until = "100s"
    "#;
    near(one(&results(text, &[]), "fct_s"), 0.33327, 0.05 * 0.33327);
}
