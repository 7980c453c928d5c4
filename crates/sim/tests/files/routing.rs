//! `[routing]`: who chooses the path, and what that comes to.

use crate::division::divided;
use std::collections::BTreeMap;
use std::path::Path;
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::{FlowRecord, Progress, Simulation, Status};

/// Four leaves under four spines at 10 Gbps, two hosts on each.
const FABRIC: &str = "topology = { kind = \"leaf-spine\", leaves = 4, spines = 4, hosts_per_leaf = 2, \
                      host_rate = \"10Gbps\", host_delay = \"1us\" }\n\
                      host.profile = \"switchbed-0.1\"\nswitch.buffer = \"3MB\"\nscheme.name = \"none\"\n";
const ALL: [&str; 9] = [
    "{ kind = \"wcmp\" }",
    "{ kind = \"ecmp\", salt = \"same\" }",
    "{ kind = \"spray\" }",
    "{ kind = \"spray\", order = \"round-robin\" }",
    "{ kind = \"flowlet\", gap = \"5us\" }",
    "{ kind = \"adaptive\" }",
    "{ kind = \"adaptive\", bands = [], past = 0 }",
    "{ kind = \"adaptive\", each = \"flowlet\", gap = \"5us\", flowlets = 16 }",
    "{ kind = \"ecmp\", buckets = 7 }",
];
const ONE: &str = "traffic = [{ kind = \"incast\", from = 0, to = 7, sizes = \"5MB\", \
                   connections = \"fresh-no-handshake\" }]\n\
                   transport = { initial_window = 16, receive_window = 64 }\n";
const MANY: &str =
    "traffic = [{ kind = \"poisson\", load = 0.6, flows = 80, sizes = \"100KB\" }]\n";

fn read(routing: &str, more: &str) -> Result<Scenario, String> {
    let text = format!("{FABRIC}routing = {routing}\n{more}");
    let plans = plans_of("f.toml", &text, Path::new(""), &[], None);
    plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string())
}

/// The flows that ended, and the packets that each port was given.
fn run(scenario: &Scenario) -> (Vec<FlowRecord>, BTreeMap<String, u64>, Simulation) {
    let mut run = Simulation::new(scenario).expect("builds");
    while run.advance(1 << 40) == Status::Running {}
    let flows = run.take_finished();
    let sent = run.port_reports().into_iter().map(|of| (of.info.name, of.counters.arrived));
    let sent = sent.collect();
    (flows, sent, run)
}

/// The packets that leaf 0 had for each spine.
fn up(sent: &BTreeMap<String, u64>) -> Vec<u64> {
    (2..6).map(|port| sent[&format!("leaf0:{port}")]).collect()
}

#[test]
fn a_lone_flow_is_in_order_and_in_time_whoever_chooses() {
    for routing in ALL {
        let (flows, _, run) = run(&read(routing, ONE).unwrap_or_else(|why| panic!("{why}")));
        let fct = flows[0].end.expect("ends").since(flows[0].start);
        let ideal = run.empty_fct_of(&flows[0]).expect("of a size");
        // Slow start does not fill the line at once: it costs the same whatever the path.
        assert_eq!(flows[0].retransmissions, 0, "{routing}");
        let (plain, ..) = self::run(&read("{ kind = \"ecmp\" }", ONE).expect("reads"));
        let other = plain[0].end.expect("ends").since(plain[0].start);
        assert!(fct == other && fct >= ideal, "{routing}: {fct} {other} {ideal}");
    }
}

#[test]
fn packets_are_spread_as_the_rule_says() {
    let packets = 5_000_000_u64.div_ceil(1_460);
    let (_, sent, _) = run(&read(ALL[3], ONE).expect("reads"));
    let turns = up(&sent);
    assert_eq!(turns.iter().sum::<u64>(), packets);
    assert!(turns.iter().max().unwrap() - turns.iter().min().unwrap() <= 1, "{turns:?}");
    let (_, sent, _) = run(&read(ALL[2], ONE).expect("reads"));
    let drawn = up(&sent);
    // 856 each, a standard deviation of 25.
    assert!(drawn.iter().all(|&n| (740..980).contains(&n)), "{drawn:?}");
    let (_, sent, _) = run(&read("{ kind = \"ecmp\" }", ONE).expect("reads"));
    assert_eq!(up(&sent).iter().filter(|&&n| n > 0).count(), 1);
    // A flow without gaps is one flowlet.
    let long = "{ kind = \"flowlet\", gap = \"1ms\" }";
    let (_, sent, _) = run(&read(long, ONE).expect("reads"));
    assert_eq!(up(&sent).iter().filter(|&&n| n > 0).count(), 1);
}

#[test]
fn runs_are_the_same_however_they_are_divided_or_looked_at() {
    for routing in ALL {
        let scenario = read(routing, MANY).expect("reads");
        let (flows, ports, _) = divided(&scenario);
        assert!(flows.len() == 80 && flows.iter().all(|flow| flow.end.is_some()), "{routing}");
        // Looks in between leave all as it is.
        let looked = read(routing, &format!("{MANY}measure.series_every = \"7us\"\n"));
        let (other, others, _) = divided(&looked.expect("reads"));
        assert_eq!(flows, other, "{routing}");
        assert!(ports == others, "{routing}");
    }
}

#[test]
fn switches_that_hash_alike_leave_ports_unused() {
    let tree = "topology = { kind = \"fat-tree\", k = 4, host_rate = \"10Gbps\", host_delay = \"1us\" }\n\
                switch.buffer = \"3MB\"\nscheme.name = \"none\"\n\
                traffic = [{ kind = \"poisson\", load = 0.2, flows = 400, sizes = \"3KB\" }]\n";
    let used = |salt: &str| {
        let text = format!("{tree}routing = {{ kind = \"ecmp\", salt = \"{salt}\" }}\n");
        let plans = plans_of("f.toml", &text, Path::new(""), &[], None).expect("reads");
        let (_, sent, _) = run(&plans[0].scenario);
        let up = |a: u32| (2..4).filter(|port| sent[&format!("aggregation{a}:{port}")] > 0).count();
        (0..8).map(up).collect::<Vec<_>>()
    };
    assert_eq!(used("switch"), [2; 8]);
    // The bit that led to the aggregation leads to its core, too.
    assert_eq!(used("same"), [1; 8]);
    let paths = |salt: &str| {
        let text = format!("{tree}routing = {{ kind = \"ecmp\", salt = \"{salt}\" }}\n");
        let plans = plans_of("f.toml", &text, Path::new(""), &[], None).expect("reads");
        let results = switchbed_sim::run(&plans[0].scenario, &Progress::new()).expect("runs");
        let up = results.summary.paths["aggregation-core"];
        let named: Vec<String> = results.summary.paths.into_keys().collect();
        assert_eq!(
            named,
            ["aggregation-core", "aggregation-edge", "core-aggregation", "edge-aggregation"]
        );
        (up.links, up.unused, up.jain, up.busiest_over_mean)
    };
    let (links, unused, jain, over) = paths("same");
    assert!((links, unused) == (16, 8) && jain < 0.5 && over > 2.0, "{jain} {over}");
    let (_, unused, jain, over) = paths("switch");
    assert!(unused == 0 && jain > 0.9 && over < 1.6, "{jain} {over}");
}

#[test]
fn adaptive_switches_leave_a_slow_spine_alone() {
    let slow = "[[event]]\nat = \"1ns\"\nport = \"leaf0:2\"\nrate = \"500Mbps\"\n";
    let sent = |routing: &str| {
        let more = format!(
            "transport.kind = \"udp\"\ntraffic = [{{ kind = \"long-lived\", from = 0, to = 7 }}]\n\
             run.until = \"2ms\"\n{slow}"
        );
        let (_, sent, _) = run(&read(routing, &more).unwrap_or_else(|why| panic!("{why}")));
        up(&sent)[0] as f64 / up(&sent).iter().sum::<u64>() as f64
    };
    let (spray, adaptive) = (sent(ALL[2]), sent("{ kind = \"adaptive\", bands = [], past = 0 }"));
    // The line carries a twentieth of what the host sends, and is never given more than waits there.
    assert!(spray > 0.2 && adaptive < 0.06, "{spray} {adaptive}");
}

#[test]
fn what_needs_a_path_is_refused_by_name() {
    let giant = "measure.giant = \"1MB\"\n";
    let convergence = "measure.convergence = { port = \"leaf0:0\", window = \"1ms\" }\n";
    let underflow = "measure.underflow = [\"leaf0:0\"]\n";
    let goodput = "measure.goodput_every = \"1ms\"\n";
    for (more, key) in [
        (giant, "measure.giant"),
        (convergence, "measure.convergence"),
        (underflow, "measure.underflow"),
    ] {
        for routing in &ALL[2..8] {
            let why = read(routing, &format!("{MANY}{more}")).expect_err(key);
            assert!(
                why.starts_with(&format!("f.toml:7: {key} needs the path of each flow")),
                "{why}"
            );
        }
        read(ALL[1], &format!("{MANY}{more}")).unwrap_or_else(|why| panic!("{why}"));
    }
    read(ALL[2], &format!("{MANY}{goodput}")).expect("parts are known");
    let why = read(ALL[4], &format!("{MANY}{goodput}")).expect_err("unknown");
    assert!(why.contains("measure.goodput_every needs the path"), "{why}");
}

#[test]
fn keys_of_another_kind_and_values_that_make_no_sense_are_refused() {
    for (routing, told) in [
        ("{ kind = \"ecmp\", gap = \"1us\" }", "routing.gap does not apply to kind = \"ecmp\""),
        (
            "{ kind = \"flowlet\", gap = \"0us\" }",
            "routing.gap is \"0us\": it must be greater than 0",
        ),
        ("{ kind = \"flowlet\", flowlets = 0 }", "it must be a whole number from 1 to 1048576"),
        (
            "{ kind = \"adaptive\", every = \"0us\" }",
            "routing.every is \"0us\": it must be greater than 0",
        ),
        (
            "{ kind = \"adaptive\", bands = [\"3KB\", \"3KB\"] }",
            "each must be greater than the one before",
        ),
        ("{ kind = \"spray\", order = \"none\" }", "it must be random or round-robin"),
    ] {
        let why = read(routing, MANY).expect_err(told);
        assert!(why.contains(told), "{why} instead of {told}");
    }
}

#[test]
fn connections_leave_a_path_that_stays_congested() {
    // Eight flows of 4 MB under two spines, one of which has a tenth of the rate. Some are hashed to it, and take
    // 32 ms each there; all take 26 ms by the other.
    let text = |seed: u32, plb: bool| {
        format!(
            "topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2, host_rate = \"10Gbps\", \
             host_delay = \"1us\", fabric_rate = \"10Gbps\" }}\nhost.profile = \"linux-6.x\"\nswitch.buffer = \"1MB\"\n\
             scheme = {{ name = \"per-queue\", params = {{ threshold = \"2pkt\" }} }}\ntransport.kind = \"dctcp\"\n\
             routing = {{ kind = \"ecmp\", plb = {plb} }}\nrun.seed = {seed}\n\
             event = [{{ at = \"0us\", link = \"leaf0-spine1\", rate = \"1Gbps\" }}]\n\
             traffic = [{{ kind = \"incast\", from = 0, to = 2, sizes = \"4MB\", flows_each = 8 }}]\n"
        )
    };
    let took = |seed: u32, plb: bool| {
        let plans = plans_of("f.toml", &text(seed, plb), Path::new(""), &[], None);
        let (flows, ..) = run(&plans.unwrap_or_else(|why| panic!("{why}"))[0].scenario);
        assert_eq!(flows.len(), 8);
        flows.iter().map(|flow| flow.end.expect("ends").as_secs_f64()).fold(0.0, f64::max)
    };
    for seed in 1..3 {
        let (stays, moves) = (took(seed, false), took(seed, true));
        assert!(stays > 0.09 && moves < 0.6 * stays, "{seed}: {stays} {moves}");
    }
}

#[test]
fn a_flow_over_many_slow_links_takes_no_less_than_in_an_empty_network() {
    let text = |transport: &str, routing: &str| {
        format!(
            r#"
            switch = {{ queues = 2, buffer = "4MB" }}
            scheme.name = "none"
            topology = {{ kind = "leaf-spine", leaves = 2, spines = 4, hosts_per_leaf = 2, host_rate = "25Gbps",
                host_delay = "1us", fabric_rate = "10Gbps", fabric_delay = "1us" }}
            transport.kind = "{transport}"
            routing.kind = "{routing}"
            [[traffic]]
            kind = "incast"
            from = [0]
            to = 2
            sizes = "2000001B"
            "#
        )
    };
    for (transport, routing) in [
        ("nscc", "ecmp"),
        ("rccc", "ecmp"),
        ("dctcp", "spray"),
        ("dctcp", "adaptive"),
        ("dctcp", "ecmp"),
    ] {
        let plans =
            plans_of("r.toml", &text(transport, routing), Path::new("."), &[], None).unwrap();
        let mut simulation = Simulation::new(&plans[0].scenario).unwrap();
        while simulation.advance(1 << 40) == Status::Running {}
        let flows = simulation.take_finished();
        let took = flows[0].end.unwrap().since(flows[0].start);
        let least = simulation.empty_fct_of(&flows[0]).unwrap();
        assert!(took >= least, "{transport}, {routing}: {took}, and {least} in an empty network");
        // One path has 10 Gbps, four have the host's 25.
        let bps = 8.0 * 2_000_001.0 / least.as_secs_f64();
        let one = (transport, routing) == ("dctcp", "ecmp");
        assert!(
            if one { bps < 10e9 } else { bps > 20e9 && bps < 25e9 },
            "{transport}, {routing}: {bps}"
        );
    }
}
