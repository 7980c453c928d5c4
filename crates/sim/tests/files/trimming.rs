//! Trimming in a network: datagrams of two senders to one, counted by hand, and what is refused.

use crate::division::divided;
use proptest::prelude::*;
use std::path::Path;
use switchbed_qdisc::memory::chip::{CHIPS, Chip};
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::{PortReport, Simulation, Status};

/// Two hosts send a third 10 datagrams each of 1,500 bytes on the wire at once. A queue holds two.
const UDP: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
queues = 2
buffer = "6000B"
policy = "static"
discipline = "fifo"
[switch.trimming]
dscp = 1
[scheme]
name = "none"
[host]
profile = "switchbed-0.1"
delay = "0us"
[transport]
kind = "udp"
[[traffic]]
kind = "incast"
from = [0, 1]
to = 2
sizes = "14600B"
"#;

fn scenario(text: &str) -> Result<Scenario, String> {
    let plans = plans_of("t.toml", text, Path::new(""), &[], None);
    plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string())
}

fn run(scenario: &Scenario) -> (Vec<PortReport>, u64) {
    let mut simulation = Simulation::new(scenario).expect("builds");
    while simulation.advance(1 << 40) == Status::Running {}
    let mut flows = simulation.take_finished();
    flows.extend(simulation.unfinished());
    (simulation.port_reports(), flows.iter().map(|flow| flow.received.get()).sum())
}

#[test]
fn datagrams_arrive_short() {
    // 20 datagrams of 1,500 bytes come in pairs each 1.2 us, in which one leaves. Of the first pair one passes and one
    // waits, and the second pair fills the queue. Of each of the eight others one finds the space of the one that has
    // just left, and one is cut. Cut packets take 102 ns each on the line: so once no datagram has left before a
    // pair comes, and both are cut.
    let (reports, received) = run(&scenario(UDP).unwrap());
    let port = reports.iter().find(|report| report.info.name == "switch:2").expect("a port");
    let counters = port.counters;
    let [data, cut] = port.trims[..] else { panic!("two queues") };
    assert_eq!((counters.dropped(), counters.sent, counters.arrived), (0, 20, 20));
    assert_eq!((data.trimmed, data.sent, data.dropped), (cut.sent, 0, 0));
    assert_eq!(counters.cut_bytes, data.trimmed * (1_500 - 128));
    assert_eq!(received, 20 * 1_460 - counters.cut_bytes);
    assert_eq!(data.trimmed, 8 + 1);
}

#[test]
fn counts_do_not_depend_on_the_division() {
    divided(&scenario(UDP).unwrap());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |from: &str, to: &str| {
        assert!(UDP.contains(from), "{from}");
        scenario(&UDP.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} is taken"))
    };
    for (from, to, told) in [
        ("dscp = 1", "dscp = 1\nsize = \"63B\"", "from 64B to a full packet"),
        ("dscp = 1", "dscp = 1\nsize = \"9001B\"", "switch.trimming.size"),
        ("dscp = 1", "dscp = 0\nqueues = [0]", "queue 0 is the trimmed packets'"),
        ("dscp = 1", "dscp = 2", "switch.queues is 2"),
        ("dscp = 1", "dscp = 1\nqueue = 2", "there is no queue 2"),
        ("dscp = 1", "dscp = 1\nqueues = [1]", "queue 1 is the trimmed packets'"),
        ("dscp = 1", "dscp = 1\nqueues = [2]", "there is no queue 2"),
        ("dscp = 1", "dscp = 1\nmode = \"htsim\"", "switch.policy must be \"shared\""),
        ("dscp = 1", "", "switch.trimming.dscp"),
        (
            "[switch.trimming]\ndscp = 1",
            "queue = [{ queue = 0, trim = true }]",
            "[switch.trimming]",
        ),
        ("name = \"none\"", "name = \"fq-codel\"", "has its own"),
        ("kind = \"udp\"", "kind = \"dctcp\"", "dctcp in a queue that [switch.trimming] trims"),
        ("kind = \"udp\"", "kind = \"roce\"", "roce in a queue"),
    ] {
        let why = refused(from, to);
        assert!(why.contains(told), "{to}: {why}");
    }
    let spared = UDP.replace("kind = \"udp\"", "kind = \"dctcp\"");
    let spared = spared.replace("queues = 2", "queues = 3");
    let spared = spared.replace("dscp = 1", "dscp = 1\nqueues = [2]");
    assert!(scenario(&spared).is_ok(), "{:?}", scenario(&spared).err());
}

#[test]
fn a_queue_joins_and_another_leaves() {
    let text = UDP
        .replace("queues = 2", "queues = 4")
        .replace("buffer = \"6000B\"", "buffer = \"12000B\"");
    let entries = "\n[[switch.queue]]\nqueue = 2\ntrim = true\n[[switch.queue]]\nqueue = 0\ntrim = false\n[scheme]";
    let text = text.replace("dscp = 1", "dscp = 1\nqueues = [0, 3]").replace("\n[scheme]", entries);
    let trimming = scenario(&text).unwrap().switch.trimming.expect("on");
    assert_eq!(trimming.queues, Some(vec![2, 3]));
}

/// Payload of a datagram of the tests of chips.
const PAYLOAD: u64 = 8_192;

/// A scenario in which `senders` hosts send another more than the chip's lossy pool holds.
fn overfilled(chip: &Chip, senders: u32, size: u64, lossless: bool) -> Option<Scenario> {
    let pool = chip.lossy.unwrap_or(chip.memory.0);
    // One sender's worth leaves as it comes, and the others' waits.
    let packets = 3 * pool / 2 / PAYLOAD / u64::from(senders - 1);
    let pfc = if lossless { "[switch.pfc]\npriorities = [2]\n" } else { "" };
    let text = UDP
        .replace("hosts = 3", &format!("hosts = {}", senders + 1))
        .replace("10Gbps", "100Gbps")
        .replace("queues = 2", "queues = 3")
        .replace("buffer = \"6000B\"\npolicy = \"static\"", &format!("asic = \"{}\"", chip.name))
        .replace("dscp = 1", &format!("dscp = 1\nqueues = [0]\nsize = \"{size}B\"\n{pfc}"))
        .replace("delay = \"0us\"", "delay = \"0us\"\nmtu = \"8246B\"")
        .replace("kind = \"udp\"", &format!("kind = \"udp\"\nmss = \"{PAYLOAD}B\""))
        .replace("from = [0, 1]\nto = 2", &format!("from = \"0-{}\"\nto = {senders}", senders - 1))
        .replace("14600B", &format!("{}B", packets * PAYLOAD));
    match scenario(&text) {
        // Nobody knows how the memory of some chips is shared.
        Err(why) if why.contains("how it shares its memory is not known") => None,
        found => Some(found.unwrap_or_else(|why| panic!("{why}\n{text}"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]

    /// On each chip: a payload that was sent has come, was cut off, or was dropped.
    #[test]
    fn each_chip_cuts_what_it_refuses(
        senders in 2_u32..9,
        size in 64_u64..1_500,
        lossless in any::<bool>(),
    ) {
        let mut tried = 0;
        for chip in CHIPS {
            let Some(scenario) = overfilled(chip, senders, size, lossless) else { continue };
            tried += 1;
            let (reports, received) = run(&scenario);
            let port = format!("switch:{senders}");
            let port = reports.iter().find(|report| report.info.name == port).expect("a port");
            let (counters, trims) = (port.counters, &port.trims);
            let each = |of: fn(&switchbed_qdisc::port::trim::Trims) -> u64| trims.iter().map(of).sum::<u64>();
            let (trimmed, left, lost) = (each(|of| of.trimmed), each(|of| of.sent), each(|of| of.dropped));
            prop_assert!(trimmed > 0, "{}: nothing was cut", chip.name);
            prop_assert_eq!(trimmed, left + lost, "{}", chip.name);
            prop_assert_eq!(counters.arrived, counters.sent + counters.dropped(), "{}", chip.name);
            let payload = counters.arrived * PAYLOAD;
            prop_assert_eq!(received + counters.cut_bytes + counters.dropped() * PAYLOAD, payload, "{}", chip.name);
        }
        prop_assert!(tried > CHIPS.len() / 2, "{tried} chips");
    }
}
