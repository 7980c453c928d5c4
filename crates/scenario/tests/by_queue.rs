//! Queues of one port with schemes of their own.

use std::path::Path;
use switchbed_qdisc::{Arena, Cx, Dequeued, Ecn, Enqueued, Outcome, Packet};
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
    let mut port = build::port(switch, scheme, 3, rate, mtu, &build::Nothing, 0);
    let (mut arena, mut memory) = (Arena::new(), switch.memory(3, mtu).behind(port.needs().memory));
    let mut out = Outcome::default();
    let mut now = Time::from_ps(1);
    let mut marks = vec![0; usize::from(switch.queues)];
    macro_rules! cx {
        () => {
            Cx { now, arena: &mut arena, memory: &mut memory, rng: &mut NoRandom, out: &mut out }
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
    let acted = port.state().acted_since(Time::ZERO);
    for (queue, &marks) in marks.iter().enumerate() {
        assert_eq!(acted.contains(queue as u8), marks > 0, "queue {queue}");
    }
    assert!(port.state().acted_since(now).is_empty());
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
    // Allowed where only quanta differ.
    let start = text.find("scheme = { params").unwrap();
    let (before, after) = (&text[..start], &text[text.find("quantum").unwrap()..]);
    let end = after.find("[[switch.queue]]").unwrap();
    let rest = &after[after.find("[scheme]").unwrap()..];
    assert!(read(&format!("{before}{}{rest}", &after[..end])).is_ok());
}

/// [`FIVE`] with the first entry's keys in place of its scheme and quantum, and these in `[switch]`.
fn with(switch: &str, entry: &str) -> String {
    let own = "scheme = { params.threshold = \"3KB\" }\nquantum = \"3KB\"";
    FIVE.replace(own, entry).replace("queues = 5\n", &format!("queues = 5\n{switch}\n"))
}

/// How many packets of a class an idle port takes one after the other.
fn holds(scenario: &Scenario, class: u8, ecn: Ecn) -> usize {
    let Scenario { switch, scheme, .. } = scenario;
    let (rate, mtu) = (Rate::from_gbps(10), Bytes::new(1500));
    let mut port = build::port(switch, scheme, 3, rate, mtu, &build::Nothing, 0);
    let (mut arena, mut out) = (Arena::new(), Outcome::default());
    let mut memory = switch.memory(3, mtu).behind(port.needs().memory);
    let comes = |_: &usize| {
        let slot = arena.alloc(Packet { len_bytes: 1500, class, ecn, ..Packet::default() });
        let (now, rng) = (Time::from_ps(1), &mut NoRandom);
        let mut cx = Cx { now, arena: &mut arena, memory: &mut memory, rng, out: &mut out };
        matches!(port.enqueue(slot, &mut cx), Enqueued::In(_))
    };
    (0..1000).take_while(comes).count()
}

/// Of 100 KB queue 0, at α = 1, takes n packets while 1500 n <= 100,000 - 1500 (n - 1), 33, and queue 4,
/// at α = 1/4, while 1500 n <= (100,000 - 1500 (n - 1))/4, 13.
#[test]
fn share_memory_by_alphas_of_their_own() {
    let of = |policy: &str| {
        let switch = format!("policy = \"{policy}\"\npool = \"100KB\"\nalpha = 0.25");
        read(&with(&switch, "alpha = 1")).unwrap()
    };
    for policy in ["dynamic", "occamy"] {
        let scenario = of(policy);
        let held = [0, 1, 4].map(|class| holds(&scenario, class, Ecn::Ect0));
        assert_eq!(held, [33, 33, 13], "{policy}");
    }
    // Five queues of one number are never congested alone, and none has drained.
    assert_eq!([0, 4].map(|class| holds(&of("abm"), class, Ecn::Ect0)), [33, 13]);
}

#[test]
fn hold_no_more_than_their_limits() {
    let scenario = read(&with("", "limit = \"6.5KB\"")).unwrap();
    assert_eq!([0, 4].map(|class| holds(&scenario, class, Ecn::Ect0)), [4, 200]);
    let why =
        read(&with("", "scheme = { params.threshold = \"9KB\" }\nlimit = \"6.5KB\"")).unwrap_err();
    assert!(why.contains("it is over the buffer, 6.5KB"), "{why}");
}

/// Queue 1 marks from its third packet on, and what cannot be marked is dropped; queue 2 of `none` takes
/// all of the buffer.
#[test]
fn let_pass_what_cannot_be_marked() {
    let entry = "scheme = { params.threshold = \"3KB\" }";
    let held = |rule: &str| {
        let scenario = read(&with("", &format!("{entry}\n{rule}"))).unwrap();
        [0, 4].map(|class| holds(&scenario, class, Ecn::NotEct))
    };
    assert_eq!(held(""), [2, 8]);
    assert_eq!(held("unmarkable = \"pass\""), [200, 8]);
}

/// Two packets wait in each of queues 2 to 4, of which queue 3 alone is strict.
#[test]
fn go_first_where_they_are_strict() {
    let strict = FIVE.replace("queue = 3\n", "queue = 3\nstrict = true\n");
    let scenario = read(&strict).unwrap();
    let Scenario { switch, scheme, .. } = &scenario;
    let (rate, mtu) = (Rate::from_gbps(10), Bytes::new(1500));
    let mut port = build::port(switch, scheme, 3, rate, mtu, &build::Nothing, 0);
    let (mut arena, mut out) = (Arena::new(), Outcome::default());
    let (mut memory, mut now) =
        (switch.memory(3, mtu).behind(port.needs().memory), Time::from_ps(1));
    for class in [2, 2, 3, 3, 4, 4] {
        let slot = arena.alloc(Packet { len_bytes: 1500, class, ..Packet::default() });
        let rng = &mut NoRandom;
        port.enqueue(
            slot,
            &mut Cx { now, arena: &mut arena, memory: &mut memory, rng, out: &mut out },
        );
    }
    let mut order = Vec::new();
    loop {
        let rng = &mut NoRandom;
        let mut cx = Cx { now, arena: &mut arena, memory: &mut memory, rng, out: &mut out };
        let Dequeued::Sent { queue, until, .. } = port.dequeue(&mut cx) else { break };
        (order, now) = ([order, vec![queue]].concat(), until);
    }
    assert_eq!(order, [3, 3, 2, 4, 2, 4]);
    assert!(read(&with("strict = 1", "strict = false")).unwrap().switch.strict_queues().is_empty());
}

#[test]
fn make_their_classes_lossless() {
    let pfc = "pool = \"4MB\"\npfc.alpha = 0.5\nbuffer = \"4MB\"";
    let lossless = with(pfc, "lossless = true").replace("\nbuffer = \"300KB\"", "");
    let scenario = read(&lossless).unwrap();
    let pfc = scenario.switch.pfc.unwrap();
    assert_eq!((pfc.priorities, pfc.alpha), (vec![0, 1], Some(0.5)));
    let twice = lossless.replace("pfc.alpha = 0.5", "pfc.priorities = [3]");
    let why = read(&twice).unwrap_err();
    assert!(why.contains("switch.pfc.priorities lists the lossless classes"), "{why}");
    let alpha = lossless.replace("lossless = true", "lossless = true\nalpha = 2");
    let why = read(&alpha).unwrap_err();
    assert!(why.contains("queue 0 is lossless and counts at its inputs"), "{why}");
}
