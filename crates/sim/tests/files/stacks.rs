//! Hosts that differ in one run: delays of their own, acknowledgements as the receiver has them, ECN where
//! both ends have it.

use super::division::divided;
use std::path::Path;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::{FlowRecord, Simulation, Status};
use switchbed_units::Span;

fn plan(text: &str) -> Scenario {
    let plans = plans_of("test.toml", text, Path::new("."), &[], None);
    plans.unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))[0].scenario.clone()
}

fn ended(scenario: &Scenario) -> (Vec<FlowRecord>, Simulation) {
    let mut run = Simulation::new(scenario).expect("builds");
    while run.advance(1 << 40) == Status::Running {}
    let mut flows = run.take_finished();
    flows.extend(run.unfinished());
    flows.sort_by_key(|flow| flow.row);
    (flows, run)
}

/// A flow of one full packet from host 0 to host 1 of a star of 10 Gbps and 1 us, and one back.
fn pair(hosts: &str) -> Scenario {
    plan(&format!(
        r#"
        [topology]
        kind = "star"
        hosts = 3
        rate = "10Gbps"
        delay = "1us"
        [switch]
        buffer = "1MB"
        [scheme]
        name = "none"
        {hosts}
        [[traffic]]
        kind = "incast"
        from = [0]
        to = 1
        sizes = "1460B"
        connections = "fresh-no-handshake"
        [[traffic]]
        kind = "incast"
        from = [1]
        to = 0
        sizes = "1460B"
        start = "100ms"
        connections = "fresh-no-handshake"
        "#
    ))
}

fn fcts(scenario: &Scenario) -> Vec<Span> {
    let (flows, run) = ended(scenario);
    let of = |flow: &FlowRecord| flow.end.expect("ended").since(flow.start);
    // An ideal network's duration is of the hosts' own delays, too.
    let ideal = run.empty_fct_of(&flows[0]).expect("a size");
    assert!(ideal <= of(&flows[0]), "{ideal}");
    flows.iter().map(of).collect()
}

/// By hand: 1500 bytes take 1.2 us on each of two links, an ACK of 40 bytes 0.032 us. A way has 2 us of
/// cables, and the delays of both hosts, here 3 and 7 us.
#[test]
fn a_round_trip_has_the_delays_of_both_hosts() {
    let hosts = r#"
        [[host]]
        profile = "ideal"
        delay = "3us"
        [[host]]
        hosts = 1
        delay = "7us"
    "#;
    let expected = Span::from_ps(2 * (1_200_000 + 32_000 + 2_000_000 + 3_000_000 + 7_000_000));
    let scenario = pair(hosts);
    assert_eq!(fcts(&scenario), [expected, expected]);
    let (flows, run) = ended(&scenario);
    assert_eq!(run.empty_fct_of(&flows[0]), Some(expected), "the ideal is that of these hosts");
    // The third host has the usual delay.
    let delays = scenario.delays();
    assert_eq!(delays.of(switchbed_units::ids::HostId(2)), Span::from_us(3));
    divided(&scenario);
}

/// The receiver's keys decide when an ACK goes out: host 1 waits 1 ms for a second packet, host 0 does not.
#[test]
fn acks_are_as_the_receiver_has_them() {
    let hosts = r#"
        [[host]]
        profile = "ideal"
        delay = "0us"
        [[host]]
        hosts = 1
        transport = { ack_every = 2, ack_delay = "1ms", ack_delay_max = "1ms" }
    "#;
    let plain = 2 * (1_200_000 + 32_000 + 2_000_000);
    let expected = [plain + 1_000_000_000, plain].map(Span::from_ps);
    assert_eq!(fcts(&pair(hosts)), expected);
}

/// A delay that is drawn is the one that the run has.
#[test]
fn a_drawn_delay_is_a_hosts_own() {
    let hosts = r#"
        [host]
        profile = "ideal"
        delay = { kind = "uniform", min = "1us", max = "50us" }
    "#;
    let scenario = pair(hosts);
    let delays = scenario.delays();
    let [a, b] = [0, 1].map(|host| delays.of(switchbed_units::ids::HostId(host)).as_ps());
    assert!(a != b && (1_000_000..=50_000_000).contains(&a.min(b)), "{a} {b}");
    let expected = Span::from_ps(2 * (1_200_000 + 32_000 + 2_000_000 + a + b));
    assert_eq!(fcts(&scenario), [expected, expected]);
    divided(&scenario);
}

const MIX: &str = r#"
    [topology]
    kind = "star"
    hosts = 9
    rate = "10Gbps"
    delay = "5us"
    [switch]
    buffer = "200KB"
    [scheme]
    name = "per-queue"
    [scheme.params]
    threshold = "65pkt"
    [transport]
    kind = "dctcp"
    [[traffic]]
    kind = "long-lived"
    from = "0-7"
    to = 8
    [[traffic]]
    kind = "request-response"
    from = "0-7"
    to = 8
    load = 0.2
    flows = 60
    sizes = "30KB"
    [measure]
    queues = ["switch:8"]
    [run]
    until = "12ms"
"#;

fn mixed(hosts: &str) -> Scenario {
    plan(&format!("{MIX}{hosts}"))
}

/// Entries that say what all hosts have are the same as none, to the packet.
#[test]
fn equal_stacks_are_as_one() {
    let alone = mixed("[host]\nprofile = \"linux-6.x\"\ndelay = \"2us\"\n");
    let equal = mixed(
        "[[host]]\nprofile = \"linux-6.x\"\ndelay = \"2us\"\n[[host]]\nshare = 0.5\n\
         profile = \"linux-6.x\"\n[[host]]\nhosts = \"0-1\"\ntransport = \"dctcp\"\n",
    );
    let none = mixed(
        "[[host]]\nprofile = \"linux-6.x\"\ndelay = \"2us\"\n[[host]]\nshare = 0\n\
         transport = \"cubic\"\n",
    );
    let (flows, _) = ended(&alone);
    assert!(flows.iter().any(|flow| flow.request.is_some()) && flows.len() > 60);
    assert!(flows == ended(&equal).0);
    assert!(flows == ended(&none).0, "a share of 0 changes nothing");
}

/// Half of the senders are CUBIC without ECN: the step drops what it would mark of theirs, and they alone
/// lose; DCTCP's are marked.
#[test]
fn a_step_marks_those_with_ecn_and_drops_the_others() {
    let scenario = mixed(
        "[[host]]\nprofile = \"linux-6.x\"\n[[host]]\nhosts = \"0-3\"\nlabel = \"old\"\n\
         transport = { kind = \"cubic\", ecn = false }\n",
    );
    let (flows, mut run) = ended(&scenario);
    let cuts = |of: std::ops::Range<u32>| -> u32 {
        let sent = flows.iter().filter(|flow| of.contains(&flow.src.0));
        sent.map(|flow| flow.ecn_cuts).sum()
    };
    assert_eq!(cuts(0..4), 0);
    assert!(cuts(4..8) > 0);
    let dropped: u64 = run
        .port_reports()
        .iter()
        .map(|report| report.counters.drops[DropReason::NotEcnCapable as usize])
        .sum();
    assert!(dropped > 0);
    let again = |flow: &&FlowRecord| flow.retransmissions > 0;
    let lossy: Vec<u32> = flows.iter().filter(again).map(|flow| flow.src.0).collect();
    assert!(!lossy.is_empty() && lossy.iter().all(|src| *src < 4), "{lossy:?}");
    divided(&scenario);
}

/// ECN needs both ends: towards a receiver without it a DCTCP sender is marked nowhere.
#[test]
fn a_receiver_without_ecn_has_senders_without() {
    let scenario = mixed(
        "[[host]]\nprofile = \"linux-6.x\"\n[[host]]\nhosts = 8\ntransport = { ecn = false }\n",
    );
    let (flows, mut run) = ended(&scenario);
    assert!(flows.iter().all(|flow| flow.ecn_cuts == 0));
    assert_eq!(run.port_reports().iter().map(|report| report.counters.marked).sum::<u64>(), 0);
}
