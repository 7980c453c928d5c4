//! Queue pairs: how long they take by hand, what a loss costs them, what they come to.

use std::path::Path;
use switchbed_qdisc::units::Span;
use switchbed_scenario::plans_of;
use switchbed_sim::{Division, FlowRecord, Simulation, Status};
use switchbed_spec::build::Nothing;

/// Senders at 100 Gbps and 1 us, with the HPCC authors' packets: 1,000 bytes and 48 of headers.
const STAR: &str = r#"[topology]
kind = "star"
hosts = 17
rate = "100Gbps"
delay = "1us"
[switch]
queues = 4
pool = "32MB"
[switch.pfc]
priorities = [3]
[scheme]
name = "none"
[host]
profile = "ideal"
[transport]
kind = "roce"
[roce]
mtu = "1000B"
header = "48B"
[[traffic]]
kind = "incast"
from = [0]
to = 16
sizes = "4MB"
rounds = 1
every = "10ms"
connections = "fresh"
classes = [3]
[[event]]
at = "0us"
port = "host0"
lose = [1000000000]
[run]
seed = 1
"#;

fn simulation(sets: &[&str], division: Division) -> Simulation {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of("star.toml", STAR, Path::new(""), &sets, None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    let mut run = Simulation::with(&plans[0].scenario, &Nothing, division).expect("builds");
    while run.advance(1 << 20) == Status::Running {}
    run
}

/// The only flow of a run.
fn lone(sets: &[&str]) -> (Simulation, FlowRecord) {
    let mut run = simulation(&[sets, &["measure.fct_end=acked"]].concat(), Division::ALONE);
    let flows = run.take_finished();
    assert_eq!(flows.len(), 1);
    (run, flows[0])
}

fn fct(flow: &FlowRecord) -> Span {
    flow.end.expect("it ended").since(flow.start)
}

const NS: fn(f64) -> Span = |ns| Span::from_ps((ns * 1e3).round() as u64);
/// A full packet on the line, in ns.
const PACKET: f64 = 83.84;
/// What a message of one full packet takes: twice that, four cables of 1 us, and twice its ACK of 52 bytes.
const ONE: f64 = 2.0 * PACKET + 4_000.0 + 2.0 * 4.16;

#[test]
fn a_lone_message_takes_what_its_packets_take() {
    // The short packet waits at the switch for the one ahead of it.
    let by_hand = [("1000B", ONE), ("4MB", 3_999.0 * PACKET + ONE), ("1500B", ONE + 43.84)];
    for (size, ns) in by_hand {
        for kind in ["roce", "dcqcn", "timely", "swift"] {
            let sets = [format!("traffic.0.sizes={size}"), format!("transport.kind={kind}")];
            let (run, flow) = lone(&[&sets[0], &sets[1]]);
            assert_eq!(fct(&flow), NS(ns), "{size} {kind}");
            assert_eq!(run.empty_fct_of(&flow), Some(NS(ns)));
            assert!(!flow.handshake && flow.retransmissions == 0);
        }
    }
}

#[test]
fn a_loss_costs_go_back_n_a_round_trip_of_packets() {
    // The next packet is there 2,251.52 ns after the lost one began, and its NACK back after 4,259.84: then the
    // 51st packet since is on the line, and all of them are sent again.
    for (numbers, losses) in [("[100]", 1), ("[100, 1000]", 2)] {
        let (_, flow) = lone(&[&format!("event.0.lose={numbers}")]);
        assert_eq!(flow.retransmissions, 51 * losses);
        assert_eq!(fct(&flow), NS((3_999 + 51 * losses) as f64 * PACKET + ONE));
    }
}

#[test]
fn a_loss_costs_selective_repeat_a_packet() {
    for (numbers, losses) in [("[100]", 1), ("[100, 1000]", 2), ("[100, 101, 103]", 3)] {
        let sets = [&format!("event.0.lose={numbers}"), "roce.recovery=selective"];
        let (_, flow) = lone(&sets);
        assert_eq!(flow.retransmissions, losses);
        assert_eq!(fct(&flow), NS((3_999 + losses) as f64 * PACKET + ONE), "{numbers}");
    }
}

#[test]
fn a_lost_last_packet_waits_for_the_timer() {
    // From the ACK of the third packet on.
    for recovery in ["go-back-n", "selective"] {
        let recovery = format!("roce.recovery={recovery}");
        let sets = ["event.0.lose=[4]", "traffic.0.sizes=4000B", &recovery];
        let (_, flow) = lone(&sets);
        assert_eq!((flow.timeouts, flow.retransmissions), (1, 1));
        assert_eq!(fct(&flow), NS(2.0 * PACKET + ONE + 4e6 + ONE));
    }
}
