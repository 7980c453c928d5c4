//! Queue pairs: how long they take by hand, what a loss costs them, what they come to.

use proptest::prelude::*;
use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::plans_of;
use switchbed_sim::{Division, FlowRecord, Simulation, Status};
use switchbed_units::Span;

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
fn losses_far_apart_cost_a_packet_each() {
    // 1.2 ms hold 119,000 packets of 10.08 ns: both are missing at once, more than 16 bits count apart.
    let (_, flow) = lone(&[
        "event.0.lose=[10, 70000]",
        "roce.recovery=selective",
        "roce.mtu=78B",
        "roce.rto=40ms",
        "traffic.0.sizes=8MB",
        "topology.delay=300us",
        "switch.pool=512MB",
    ]);
    assert!(flow.failed.is_none() && flow.end.is_some());
    assert_eq!((flow.timeouts, flow.retransmissions), (0, 2));
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

/// Endless messages of so many senders, measured at the receiver's port.
const LONG: [&str; 7] = [
    "traffic=[{kind=\"long-lived\", from=\"0-3\", to=16, classes=[3]}]",
    "measure.queues=[\"switch:16\"]",
    "measure.warmup=40ms",
    "run.until=80ms",
    "scheme.name=red",
    "scheme.params={kmin=\"12KB\", kmax=\"500KB\", pmax=0.01, weight=1, spacing=\"geometric\", mark_at=\"dequeue\"}",
    "switch.pfc.alpha=8",
];

/// What the receiver's queue held in bytes, on average and at most, and the goodput.
fn at_receiver(sets: &[&str]) -> (f64, f64, f64) {
    let mut run = simulation(&[&LONG[..], sets].concat(), Division::ALONE);
    let report = run.port_reports().into_iter().nth(17 + 16).expect("the receiver's port");
    let (_, lengths) = report.lengths.expect("it is measured");
    assert_eq!(report.counters.dropped(), 0);
    let received: u64 = run.unfinished().iter().map(|flow| flow.received.get()).sum();
    let seconds = (run.now() - run.warmed_at()).as_secs_f64();
    (lengths.mean_bytes, lengths.max_bytes as f64, received as f64 * 8.0 / seconds)
}

#[test]
fn dcqcns_queue_stands_at_its_fixed_point() {
    // "ECN or Delay" (CoNEXT 2016), equation 14, with timers alone; the HPCC authors' simulator, which has this
    // machine, comes to 34.2 and 64.3 KB (roce-checks 6).
    let sets = [
        "transport.kind=dcqcn",
        "roce.variant=connectx",
        "roce.g=0.00390625",
        "roce.alpha_timer=50us",
        "roce.cut_interval=50us",
        "roce.cnp_interval=0us",
        "roce.increase_timer=55us",
        "roce.recovery_steps=5",
        "roce.additive_increase=100Mbps",
        "roce.hyper_increase=100Mbps",
    ];
    for (from, expected) in [("0-1", 31_300.0), ("0-3", 60_800.0)] {
        let from = format!("traffic.0.from={from}");
        let (queue, _, goodput) = at_receiver(&[&sets[..], &[&from]].concat());
        assert!((queue / expected - 1.0).abs() < 0.15, "{from}: {queue}");
        // The line is hardly ever idle.
        assert!(goodput > 0.99 * 100e9 * 1_000.0 / 1_048.0, "{from}: {goodput}");
    }
}

#[test]
fn hpcc_leaves_what_eta_says() {
    // U = η/(1 − N·R_AI/(η·C)) to the first order; a packet has 42 bytes of INT.
    for (from, n) in [("0", 1.0), ("0-3", 4.0)] {
        let from = format!("traffic.0.from={from}");
        let sets = ["transport.kind=hpcc", "roce.state=rate", "roce.max_stage=0", &from];
        let (queue, _, goodput) = at_receiver(&sets);
        let used = 0.95 / (1.0 - n * 40e6 / (0.95 * 100e9));
        let expected = used * 100e9 * 1_000.0 / 1_090.0;
        assert!((goodput / expected - 1.0).abs() < 0.01, "{n}: {goodput} {expected}");
        assert!(queue < 5.0 * 1_090.0, "{n}: {queue}");
    }
}

#[test]
fn a_window_bounds_what_stands() {
    // Two windows of 52 packets, less what a round trip holds: 4,176 ns are 49.8 packets (roce-checks 9).
    let sets = ["transport.kind=roce", "roce.window=52000B", "traffic.0.from=0-1"];
    let (queue, ..) = at_receiver(&sets);
    let expected = (104.0 - 4_176.0 / PACKET) * 1_048.0;
    assert!((queue / expected - 1.0).abs() < 0.03, "{queue} {expected}");
}

#[test]
fn timely_cuts_no_rate_under_its_low_threshold() {
    // No RTT under T_low cuts: the queue grows to (T_low − T)·C, 573 KB, and each packet on the line back and
    // forth (roce-checks 10, whose step is the authors' 10 Mbps at any rate of the line).
    let (_, most, goodput) = at_receiver(&["transport.kind=timely", "roce.delta=10Mbps"]);
    let floor = (50e-6 - 4.176e-6) * 12.5e9;
    assert!((floor..1.3 * floor).contains(&most), "{most}");
    assert!(goodput > 0.95 * 100e9 * 1_000.0 / 1_048.0, "{goodput}");
}

#[test]
fn it_is_the_same_however_it_is_divided() {
    let kinds = ["dcqcn", "timely", "hpcc", "swift"];
    for kind in kinds {
        let kind = format!("transport.kind={kind}");
        let sets = [
            &*kind,
            "traffic.0.from=0-7",
            "traffic.0.rounds=3",
            "traffic.0.every=200us",
            "traffic.0.sizes=100KB",
            "scheme.name=red",
            "scheme.params={kmin=\"10KB\", kmax=\"100KB\", pmax=0.5, weight=1}",
            "switch.pfc.alpha=0.01",
        ];
        let state = |division| {
            let mut run = simulation(&sets, division);
            (format!("{:?} {:?}", run.take_finished(), run.port_reports()), run.now())
        };
        let whole = state(Division::ALONE);
        for (threads, shards) in [(1, 3), (2, 2)] {
            assert!(whole == state(Division { threads, shards, worthwhile: 0 }), "{kind}");
        }
    }
}

#[test]
fn tcp_and_queue_pairs_share_a_port_by_class() {
    // Two classes with equal weights: each has half of the line, however many flows it has.
    let sets = [
        "transport.kind=dctcp",
        "roce.kind=dcqcn",
        "roce.classes=[3]",
        "traffic=[{kind=\"long-lived\", from=\"0-3\", to=16, classes=[3]}, \
         {kind=\"long-lived\", from=\"4-5\", to=16, classes=[0]}]",
        "measure.warmup=20ms",
        "run.until=40ms",
        "scheme.params={kmin=\"100KB\", kmax=\"400KB\", pmax=0.2, weight=1}",
        "switch.quantum=1500B",
    ];
    let run = simulation(&[&LONG[..], &sets].concat(), Division::ALONE);
    let of = |class: u8| -> f64 {
        let flows = run.unfinished();
        let flows = flows.iter().filter(|flow| flow.class == class);
        flows.map(|flow| flow.received.as_f64() * 8.0 / 20e-3).sum()
    };
    let (pairs, tcp) = (of(3), of(0));
    assert!((0.9..1.1).contains(&(pairs / tcp)), "{pairs} {tcp}");
    assert!(pairs + tcp > 0.93 * 100e9, "{pairs} {tcp}");
}

#[test]
fn a_curve_is_in_proportion_to_each_line() {
    // DCQCN's 5 and 200 KB at 40 Gbps are 12.5 and 500 KB at 100.
    let own = "scheme.params={kmin=\"12500B\", kmax=\"500KB\", pmax=0.01, weight=1, spacing=\"geometric\"}";
    let curve = "scheme.params={curve=\"dcqcn\"}";
    let common = ["transport.kind=dcqcn", "traffic.0.from=0-3", "scheme.name=red"];
    let ends = |params| {
        let mut run = simulation(&[&common[..], &[params]].concat(), Division::ALONE);
        format!("{:?}", run.take_finished())
    };
    assert_eq!(ends(curve), ends(own));
}

#[test]
fn a_load_is_told_with_queue_pairs_headers() {
    // Flows of 4 MB are 4,000 packets of 48 bytes more each.
    let poisson =
        "traffic=[{kind=\"poisson\", load=0.5, flows=10, sizes=\"4MB\", service=\"one\"}]";
    let run = simulation(&[poisson, "run.until=1us", "event.0.at=0us"], Division::ALONE);
    let offered = &run.offered()[0];
    assert!((offered.wire_bps / offered.payload_bps - 1.048).abs() < 1e-9, "{offered:?}");
}

#[test]
fn a_victim_of_pauses_has_what_its_neighbour_has() {
    // It shares a paused uplink with host 0, though its own way on is idle (roce-checks 5).
    let text = include_str!("../../../../python/switchbed/data/scenarios/roce-victim.toml");
    let sets = ["measure.warmup=5ms".to_owned(), "run.until=10ms".to_owned()];
    let plans = plans_of("roce-victim.toml", text, Path::new(""), &sets, None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    let received = |kind: &str| {
        let plan = plans.iter().find(|plan| plan.label().contains(kind)).expect("it is compared");
        let mut run = Simulation::with(&plan.scenario, &Nothing, Division::ALONE).expect("builds");
        while run.advance(1 << 20) == Status::Running {}
        let flows = run.unfinished();
        let of = |src: u32| flows.iter().find(|flow| flow.src.0 == src).expect("it sends");
        (of(0).received.as_f64(), of(1).received.as_f64())
    };
    let (neighbour, victim) = received("=roce");
    assert!((victim / neighbour - 1.0).abs() < 0.02, "{victim} {neighbour}");
    // Under HPCC nobody is paused.
    let (neighbour, victim) = received("=hpcc");
    assert!(victim > 3.0 * neighbour, "{victim} {neighbour}");
}

fn refused(sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of("star.toml", STAR, Path::new(""), &sets, None);
    plans.err().map(|mistake| mistake.to_string()).expect("it is refused")
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let cases: [(&[&str], &str); 7] = [
        (
            &["transport.kind=dctcp", "roce.kind=dcqcn"],
            "star.toml:17: roce.classes is missing: which classes have queue pairs? The others have \
             transport.kind = \"dctcp\"",
        ),
        (
            &["roce.kind=hpcc"],
            "--set roce.kind=hpcc: roce.kind is \"hpcc\": transport.kind is \"roce\": they must be the \
             same, or leave this one away",
        ),
        (
            &["roce.classes=[3]"],
            "--set roce.classes=[3]: roce.classes is [3]: transport.kind is \"roce\", so that all classes \
             have queue pairs",
        ),
        (
            &["roce.mtu=1500B"],
            "--set roce.mtu=1500B: roce.mtu is \"1500B\": a full packet is 1.548KB with its headers, and \
             host.mtu is 1.5KB",
        ),
        (
            &["roce.cnp_class=6"],
            "--set roce.cnp_class=6: roce.cnp_class is 6: that class has no queue of its own: \
             switch.queues is 4",
        ),
        (
            &["host.nic=fq"],
            "--set host.nic=fq: host.nic is \"fq\": switch.pfc pauses classes at hosts, too: it must be \
             \"classes\", or be left away",
        ),
        (
            &["scheme.name=qcn"],
            "star.toml:11: scheme.name notifies sources, whose rate limiters are TCP's and UDP's: queue pairs \
             have roce instead",
        ),
    ];
    for (sets, message) in cases {
        assert_eq!(refused(sets), message);
    }
}

#[test]
fn who_reads_no_marks_is_not_told_that_none_came() {
    let warned = |kind: &str| {
        let sets = [
            format!("transport.kind={kind}"),
            "scheme.name=per-queue".to_owned(),
            "scheme.params.threshold=1MB".to_owned(),
        ];
        let plans = plans_of("star.toml", STAR, Path::new(""), &sets, None).expect("it is right");
        let done = switchbed_sim::run(&plans[0].scenario, &Default::default()).expect("builds");
        done.summary.warnings.iter().any(|warning| warning.contains("marked nothing"))
    };
    assert!(warned("dcqcn") && !warned("hpcc"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the control, the senders and their messages: all arrives, once, and nothing is lost where
    /// classes are lossless; where they are not, it arrives all the same.
    #[test]
    fn all_that_is_sent_arrives(
        kind in prop::sample::select(vec!["roce", "dcqcn", "timely", "hpcc", "swift"]),
        recovery in prop::sample::select(vec!["go-back-n", "selective"]),
        senders in 1..16_u32,
        size in 1..300_000_u32,
        mtu in 64..1_400_u32,
        ack_every in 1..5_u32,
        lossless in any::<bool>(),
        seed in 0..100_u32,
    ) {
        let class = if lossless { 3 } else { 0 };
        let sets = [
            format!("transport.kind={kind}"),
            format!("roce.recovery={recovery}"),
            format!("roce.mtu={mtu}B"),
            format!("roce.ack_every={ack_every}"),
            format!("traffic.0.from=0-{}", senders - 1),
            format!("traffic.0.sizes={size}B"),
            format!("traffic.0.classes=[{class}]"),
            "traffic.0.connections=single".to_owned(),
            "traffic.0.rounds=4".to_owned(),
            "traffic.0.every=10us".to_owned(),
            "traffic.0.overload=true".to_owned(),
            "switch.pool=4MB".to_owned(),
            "switch.alpha=0.02".to_owned(),
            "scheme.name=red".to_owned(),
            "scheme.params={kmin=\"10KB\", kmax=\"50KB\", pmax=0.5, weight=1}".to_owned(),
            format!("run.seed={seed}"),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let mut run = simulation(&sets, Division::ALONE);
        let flows = run.take_finished();
        prop_assert_eq!(flows.len() as u32, 4 * senders);
        prop_assert!(flows.iter().all(|flow| flow.received.get() == u64::from(size)));
        let dropped: u64 = run.port_reports().iter().map(|report| report.counters.dropped()).sum();
        if lossless {
            prop_assert_eq!(dropped, 0);
        }
    }
}
