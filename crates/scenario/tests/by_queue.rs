//! Queues of one port with schemes of their own.

use std::path::Path;
use switchbed_qdisc::{Arena, Cx, Dequeued, Ecn, Enqueued, Outcome, Packet, Pool};
use switchbed_scenario::{Scenario, build, plans_of};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Time};

/// Five queues; queue 4 has `[scheme]`.
const FIVE: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
queues = 5
buffer = "300KB"
[[switch.queue]]
queue = [0, 1]
scheme = { params.threshold = "3KB" }
quantum = "3KB"
[[switch.queue]]
queue = 2
scheme = "none"
[[switch.queue]]
queue = 3
scheme = { name = "red", label = "ramp", params = { kmin = "9KB", kmax = "9KB", pmax = 1, weight = 1 } }
[scheme]
name = "per-queue"
params.threshold = "12KB"
[transport]
kind = "dctcp"
[[traffic]]
kind = "long-lived"
from = 0
to = 1
[run]
until = "1ms"
"#;

fn read(text: &str) -> Result<Scenario, String> {
    let plans = plans_of("f.toml", text, Path::new(""), &[], None);
    plans.map(|mut plans| plans.remove(0).scenario).map_err(|mistake| mistake.to_string())
}

/// Marks by queue where ten packets of 1500 bytes wait in each queue before any leaves.
fn marks(scenario: &Scenario) -> Vec<u32> {
    let Scenario { switch, scheme, .. } = scenario;
    let (rate, mtu) = (Rate::from_gbps(10), Bytes::new(1500));
    let place = build::first_place(switch, scheme, 3);
    let mut port = build::port(switch, scheme, 3, rate, mtu, &build::Nothing, place);
    let (mut arena, mut pool) = (Arena::new(), Pool::new(Bytes::MAX));
    let mut out = Outcome::default();
    let mut now = Time::from_ps(1);
    let mut marks = vec![0; usize::from(switch.queues)];
    macro_rules! cx {
        () => {
            Cx { now, arena: &mut arena, pool: &mut pool, rng: &mut NoRandom, out: &mut out }
        };
    }
    for class in (0..10).flat_map(|_| 0..switch.queues as u8) {
        let packet = Packet { len_bytes: 1500, class, ecn: Ecn::Ect0, ..Packet::default() };
        let slot = arena.alloc(packet);
        assert!(matches!(port.enqueue(slot, &mut cx!()), Enqueued::In(_)));
    }
    while let Dequeued::Sent { slot, queue, until, .. } = port.dequeue(&mut cx!()) {
        marks[usize::from(queue)] += u32::from(arena.packet(slot).ecn == Ecn::Ce);
        arena.free(slot);
        now = until;
    }
    marks
}

/// A queue that holds n packets after an arrival is over 3 KB from its third packet on, over 9 KB
/// from its seventh and over 12 KB from its ninth: 8, 4 and 2 of ten.
#[test]
fn mark_at_thresholds_of_their_own() {
    let scenario = read(FIVE).unwrap();
    assert_eq!(marks(&scenario), [8, 8, 0, 4, 2]);
    let labels: Vec<&str> = (0..5).map(|queue| scenario.scheme.at(queue).label.as_str()).collect();
    assert_eq!(labels, ["per-queue", "per-queue", "none", "ramp", "per-queue"]);
    let quanta: Vec<u64> = scenario.switch.quantum.iter().map(|bytes| bytes.get()).collect();
    assert_eq!(quanta, [3000, 3000, 1500, 1500, 1500]);
}

#[test]
fn one_scheme_in_all_entries_is_the_port_s() {
    let all = FIVE.replace("queue = [0, 1]", "queue = \"all\"");
    let end = all.find("[[switch.queue]]\nqueue = 2").unwrap();
    let all = format!("{}{}", &all[..end], &all[all.find("[scheme]").unwrap()..]);
    let scenario = read(&all).unwrap();
    assert!(scenario.scheme.queues.is_empty());
    assert_eq!(marks(&scenario), [8; 5]);
}

#[test]
fn switches_that_differ_have_another_scheme_in_some_queues() {
    let deploy = "[[deploy]]\nswitches = \"switch\"\nqueue = \"3-4\"\nscheme = \"none\"\n[run]";
    let scenario = read(&FIVE.replace("[run]", deploy)).unwrap();
    let scheme = scenario.deploy[0].scheme.clone().unwrap();
    assert_eq!(marks(&Scenario { scheme, ..scenario }), [8, 8, 0, 0, 0]);
}

#[test]
fn a_scheme_that_looks_at_the_port_is_beside_no_other() {
    let name = "name = \"per-queue\"\nparams";
    let text = FIVE.replace(name, "name = \"per-port\"\nparams");
    let why = read(&text).unwrap_err();
    assert!(why.contains("per-port cannot be the scheme of some queues only"), "{why}");
    // It is where only quanta differ.
    let start = text.find("scheme = { params").unwrap();
    let (before, after) = (&text[..start], &text[text.find("quantum").unwrap()..]);
    let end = after.find("[[switch.queue]]").unwrap();
    let rest = &after[after.find("[scheme]").unwrap()..];
    assert!(read(&format!("{before}{}{rest}", &after[..end])).is_ok());
}
