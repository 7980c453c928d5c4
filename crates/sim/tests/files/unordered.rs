//! Unordered delivery in a network: a lone message to the picosecond, and incasts within their bounds.

use std::path::Path;
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::{FlowRecord, Progress, Simulation, Status};

/// A star of 100 Gbps with htsim's packets, queue of one bandwidth-delay product and trimming.
fn star(hosts: u32, kind: &str, traffic: &str) -> Scenario {
    scenario(&text_of(hosts, kind, traffic))
}

fn scenario(text: &str) -> Scenario {
    let plans = plans_of("u.toml", text, Path::new(""), &[], None);
    plans.unwrap_or_else(|why| panic!("{why}"))[0].scenario.clone()
}

fn text_of(hosts: u32, kind: &str, traffic: &str) -> String {
    format!(
        r#"
[topology]
kind = "star"
hosts = {hosts}
rate = "100Gbps"
delay = "1us"
[switch]
queues = 2
buffer = "62250B"
discipline = "fifo"
[[switch.queue]]
queue = 1
strict = true
scheme = "none"
[switch.trimming]
size = "64B"
dscp = 1
mode = "htsim"
[scheme]
name = "red"
[scheme.params]
kmin = "12450B"
kmax = "49800B"
pmax = 1
weight = 1
mark_at = "dequeue"
[host]
mtu = "4150B"
delay = "0us"
[transport]
kind = "{kind}"
[roce]
mtu = "4086B"
header = "64B"
control_len = "64B"
ack_class = 1
{traffic}
"#
    )
}

fn run(scenario: &Scenario) -> Vec<FlowRecord> {
    let mut simulation = Simulation::new(scenario).expect("builds");
    while simulation.advance(1 << 40) == Status::Running {}
    assert!(simulation.unfinished().is_empty());
    simulation.take_finished()
}

fn last_us(flows: &[FlowRecord]) -> f64 {
    let ends = flows.iter().map(|flow| flow.end.expect("an end"));
    ends.max().expect("flows").as_secs_f64() * 1e6
}

#[test]
fn a_lone_message_takes_its_time_to_the_picosecond() {
    let traffic = |end: &str| {
        format!(
            "[measure]\nfct_end = \"{end}\"\n[[traffic]]\nkind = \"incast\"\nfrom = 0\nto = 1\nsizes = \"12258B\""
        )
    };
    for kind in ["nscc", "rccc", "nscc-rccc"] {
        // Three packets of 332 ns over two links of 1 us, and a SACK of 5.12 ns back.
        for (end, expected) in [("received", 3_328_000), ("acked", 3_328_000 + 2_010_240)] {
            let flows = run(&star(2, kind, &traffic(end)));
            let fct = flows[0].end.expect("an end").since(flows[0].start);
            assert_eq!(fct.as_ps(), expected, "{kind}, {end}");
        }
    }
}

#[test]
fn no_lone_message_takes_less_than_in_an_empty_network() {
    // The last packet's SACK is longer than the packet where that has a byte alone.
    let sizes = [1, 4087, 8172, 8173, 12_258, 12_259, 20_431, 40_861].iter();
    let sizes = sizes.flat_map(|&size| [size, size + 1, size + 100]);
    for (kind, size) in ["nscc", "rccc", "nscc-rccc"]
        .iter()
        .flat_map(|kind| sizes.clone().map(move |size| (kind, size)))
    {
        let traffic =
            format!("[[traffic]]\nkind = \"incast\"\nfrom = 0\nto = 1\nsizes = \"{size}B\"");
        let longer = text_of(2, kind, &traffic).replace("control_len = \"64B\"", "");
        let mut simulation = Simulation::new(&scenario(&longer)).expect("builds");
        while simulation.advance(1 << 40) == Status::Running {}
        let flows = simulation.take_finished();
        let took = flows[0].end.expect("an end").since(flows[0].start);
        let least = simulation.empty_fct_of(&flows[0]).expect("it ends");
        assert!(took >= least, "{kind}, {size}: {took}, and {least} in an empty network");
    }
}

#[test]
fn an_incast_ends_near_its_bound() {
    // 15 messages of 490 packets, 2,031,360 bytes on the wire, on a line of 100 Gbps.
    let bound = 15.0 * 2_031_360.0 * 8.0 / 100e3;
    let incast = "[[traffic]]\nkind = \"incast\"\nfrom = \"0-14\"\nto = 15\nsizes = \"2MB\"";
    for (kind, most) in [("rccc", 1.02), ("nscc-rccc", 1.02), ("nscc", 1.04)] {
        let part = last_us(&run(&star(16, kind, incast))) / bound;
        println!("{kind}: {part}");
        assert!((1.0..most).contains(&part), "{kind}: {part}");
    }
}

#[test]
fn what_is_dropped_is_found_before_its_timeout() {
    // Fifteen windows of 62 KB meet a queue of 125 KB: most of them are dropped.
    let traffic = "[[traffic]]\nkind = \"incast\"\nfrom = \"0-14\"\nto = 15\nsizes = \"500KB\"";
    let text = text_of(16, "nscc", traffic).replace("62250B", "250KB");
    let (head, rest) = text.split_once("[switch.trimming]").expect("a table");
    let (_, rest) = rest.split_once("[scheme]").expect("a table");
    // A timeout that is far longer than the messages take, 15 times 40.8 us.
    let slow = "spray_rto = \"5ms\"\nack_class = 1";
    let text = format!("{head}[scheme]{rest}").replace("ack_class = 1", slow);
    let took = |text: &str| last_us(&run(&scenario(text)));
    let timed = took(&text);
    let found = took(&text.replace("ack_class = 1", "ack_class = 1\nsleek = true"));
    println!("{timed} {found}");
    assert!(timed > 5_000.0, "{timed}");
    assert!((612.0..0.5 * timed).contains(&found), "{found}");
    // Where switches trim, nothing is lost and little changes.
    let traffic = traffic.replace("500KB", "2MB");
    let text =
        text_of(16, "nscc", &traffic).replace("ack_class = 1", "ack_class = 1\nsleek = true");
    let took = took(&text);
    assert!((2_437.6..1.04 * 2_437.6).contains(&took), "{took}");
}

#[test]
fn a_ring_all_reduce_is_near_its_bound() {
    // 30 steps of 1 MB in 245 packets: 2,438 us on the wire, and latency.
    let ring = "[[traffic]]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = \"ring\"\nbytes = \"16MB\"";
    for kind in ["nscc", "rccc"] {
        let took = last_us(&run(&star(16, kind, ring)));
        assert!((2_438.0..1.12 * 2_438.0).contains(&took), "{kind}: {took}");
    }
}

/// A permutation of 128 hosts on 16 leaves under 8 spines, 2 MB each: the part of its rate that the busiest link between
/// leaves and spines sent over the mean, and when the last message was there.
fn permutation(transport: &str, trims: bool, more: &str) -> (f64, f64) {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("permutation.csv");
    // 5 i + 3 is odd where i is even: no host sends to itself.
    let row = |i: u32| format!("0,{i},{},2000000\n", (5 * i + 3) % 128);
    let rows: String = (0..128).map(row).collect();
    std::fs::write(&list, format!("start_s,src,dst,size_bytes\n{rows}")).expect("written");
    let file = list.display();
    let trimming = match trims {
        true => "buffer = \"90KB\"\ntrimming = { size = \"64B\", dscp = 1, mode = \"htsim\" }",
        false => "buffer = \"9MB\"",
    };
    let text = format!(
        r#"
[topology]
kind = "leaf-spine"
leaves = 16
spines = 8
hosts_per_leaf = 8
host_rate = "100Gbps"
host_delay = "1us"
[switch]
queues = 2
discipline = "fifo"
{trimming}
[[switch.queue]]
queue = 1
strict = true
scheme = "none"
[scheme]
name = "red"
[scheme.params]
kmin = "18KB"
kmax = "72KB"
pmax = 1
weight = 1
mark_at = "dequeue"
[host]
mtu = "4150B"
delay = "0us"
[roce]
mtu = "4086B"
header = "64B"
ack_class = 1
{transport}
[[traffic]]
kind = "list"
file = "{file}"
{more}
"#
    );
    let plans = plans_of("p.toml", &text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|why| panic!("{why}"));
    let results = switchbed_sim::run(&plans[0].scenario, &Progress::new()).expect("runs");
    let busiest = results.summary.paths.values().map(|of| of.busiest_over_mean);
    (busiest.fold(0.0, f64::max), last_us(&run(&plans[0].scenario)))
}

#[test]
fn a_permutation_has_no_hot_link() {
    // Each of 8 connections a leaf deals its packets to 64 entropies, whose hashes put 512 of them on 8 links: 64 each, with a
    // standard deviation of 7.5. The busiest of 256 links has 1.45 of the mean in one draw of sixty.
    for spray in ["oblivious", "bitmap", "reps"] {
        let transport =
            format!("spray = \"{spray}\"\ncontrol_len = \"64B\"\n[transport]\nkind = \"nscc\"");
        let (busiest, took) = permutation(&transport, true, "");
        println!("{spray}: {busiest} {took}");
        assert!((1.0..1.45).contains(&busiest), "{spray}: {busiest}");
        // 162.5 us on a line of its own; the busiest link takes so much longer.
        assert!((162.5..1.45 * 162.5).contains(&took), "{spray}: {took}");
    }
    // One path a flow: of 8 flows on 8 links three or more share one.
    let (busiest, took) = permutation("[transport]\nkind = \"dcqcn\"", false, "");
    assert!(busiest > 2.5 && took > 3.0 * 162.5, "{busiest} {took}");
}

#[test]
fn a_permutation_leaves_a_slow_link_where_its_paths_are_chosen_by_what_they_give() {
    // Leaf 0 and spine 0 have a link of 25 Gbps, so that the leaf has 725 Gbps for eight hosts: 1.10 of the time at least.
    // Oblivious packets fill that link four times: 650 us for its part, unless they are trimmed and sent again elsewhere.
    let slow = "[[event]]\nat = \"0us\"\nlink = \"leaf0-spine0\"\nrate = \"25Gbps\"\n";
    let took = |spray: &str, routing: &str| {
        let transport =
            format!("spray = \"{spray}\"\ncontrol_len = \"64B\"\n[transport]\nkind = \"nscc\"");
        permutation(&transport, true, &format!("{slow}{routing}")).1
    };
    let oblivious = took("oblivious", "");
    let reps = took("reps", "");
    let adaptive = took("oblivious", "[routing]\nkind = \"adaptive\"\npast = 0.0\nbands = []\n");
    println!("{oblivious} {reps} {adaptive}");
    assert!(reps > 1.1 * 162.5 && adaptive > 1.1 * 162.5, "{reps} {adaptive}");
    assert!(reps < 0.9 * oblivious && adaptive < 0.9 * oblivious, "{oblivious} {reps} {adaptive}");
}

#[test]
fn a_permutation_uses_all_paths_whatever_the_spray() {
    // Sixteen hosts of a fat-tree send 500 KB each to another pod: 123 packets, 40.6 us on a line. Twelve links of 1 us
    // there and back and five more hops of a packet, 332 ns each, make 54.3 us. If two of these flows shared a link
    // from first to last, it would be 94.9 us.
    let flows: String = (0..16)
        .map(|from| {
            let to = (from + 5) % 16;
            format!("[[traffic]]\nkind = \"incast\"\nfrom = {from}\nto = {to}\nsizes = \"500KB\"\n")
        })
        .collect();
    for kind in ["nscc", "rccc"] {
        for spray in ["oblivious", "bitmap", "reps", "mixed"] {
            let text = text_of(16, kind, &flows)
                .replace(
                    "kind = \"star\"\nhosts = 16\nrate",
                    "kind = \"fat-tree\"\nk = 4\nhost_rate",
                )
                .replace("\ndelay = \"1us\"", "\nhost_delay = \"1us\"")
                .replace("ack_class = 1", &format!("ack_class = 1\nspray = \"{spray}\""));
            let took = last_us(&run(&scenario(&text)));
            assert!((54.3..1.6 * 54.3).contains(&took), "{kind}, {spray}: {took}");
        }
    }
}

/// Eight senders in one rack, their receivers in another, and two links of the hosts' rate between them.
#[test]
fn receivers_find_what_an_oversubscribed_fabric_carries() {
    let entry = |i| {
        format!("[[traffic]]\nkind = \"incast\"\nfrom = {i}\nto = {}\nsizes = \"8MB\"\n", i + 8)
    };
    let flows: String = (0..8).map(entry).collect();
    let text = text_of(16, "rccc", &flows)
        .replace(
            "kind = \"star\"\nhosts = 16\nrate",
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\nhost_rate",
        )
        .replace("\ndelay = \"1us\"", "\nhost_delay = \"1us\"")
        .replace("dscp = 1\n", "dscp = 1\nhost_dscp = 2\n")
        .replace("queues = 2", "queues = 3")
        .replace("[[switch.queue]]\nqueue = 1", "[[switch.queue]]\nqueue = \"1-2\"");
    let measured = |text: &str| {
        let results = switchbed_sim::run(&scenario(text), &Progress::new()).expect("runs");
        (results.summary.trims.expect("they trim").trim_packets, last_us(&run(&scenario(text))))
    };
    let (trims, whole) = measured(&text);
    let (fewer, took) =
        measured(&text.replace("ack_class = 1", "ack_class = 1\noversubscription = 4"));
    println!("{trims} {whole} {fewer} {took}");
    // 8 messages of 1,958 packets on two lines: 2,600 us.
    assert!((2_600.0..1.15 * 2_600.0).contains(&whole), "{whole}");
    assert!((2_600.0..1.15 * 2_600.0).contains(&took), "{took}");
    assert!(20 * fewer < trims, "{fewer} of {trims}");
}

/// Two senders in one rack and their receivers in another, behind two spines as fast as the hosts.
fn racks(kind: &str, measure: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"
topology = {{ kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, host_rate = "10Gbps", fabric_rate = "10Gbps", host_delay = "1us", fabric_delay = "1us" }}
switch.buffer = "1MB"
scheme = {{ name = "none" }}
transport.kind = "{kind}"
measure = {{ {measure} }}
run.until = "2ms"
traffic = [{{ kind = "long-lived", from = 0, to = 2 }}, {{ kind = "long-lived", from = 1, to = 3 }}]
"#
    );
    let plans = plans_of("u.toml", &text, Path::new(""), &[], None);
    plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string())
}

/// Hashes put both flows on one spine for some seeds: each has half a line then, and a whole one where
/// senders spray.
#[test]
fn senders_that_spray_have_fair_shares_of_all_paths() {
    let fair = |kind, seed| {
        let mut scenario = racks(kind, "goodput_every = \"1ms\"").expect("a good file");
        scenario.run.seed = seed;
        let mut run = Simulation::new(&scenario).expect("builds");
        while run.advance(1 << 40) == Status::Running {}
        let samples = run.goodputs();
        samples.last().expect("two intervals").fair_bits(0) / 1e-3 / 1e9
    };
    let shares = |kind| (1..=6).map(|seed| fair(kind, seed)).collect::<Vec<f64>>();
    // Two flows of 10 Gbps, less headers.
    assert!(
        shares("nscc").iter().all(|&gbps| (18.0..20.0).contains(&gbps)),
        "{:?}",
        shares("nscc")
    );
    let by_hash = shares("dctcp");
    assert!(by_hash.iter().any(|&gbps| gbps < 10.0), "{by_hash:?}");
}

#[test]
fn what_needs_one_path_is_refused_where_senders_spray() {
    let convergence = "convergence = { port = \"leaf1:0\", window = \"100us\" }";
    for (measure, key) in
        [(convergence, "measure.convergence"), ("giant = \"1MB\"", "measure.giant")]
    {
        let refused = racks("nscc", measure).expect_err("no path");
        let said = format!("{key} needs the path of each flow, and nscc sprays packets over all");
        assert!(refused.contains(&said), "{refused}");
        assert!(racks("dctcp", measure).is_ok());
    }
}
