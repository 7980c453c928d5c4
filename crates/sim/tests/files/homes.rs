//! Hosts with several links: which link a packet leaves by, times by hand, failures, pauses of one link, and whole
//! networks drawn at random.

use crate::division;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use switchbed_scenario::topology::graph::Node;
use switchbed_scenario::traffic::Links;
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::ids::{LinkId, SwitchId};
use switchbed_sim::{Division, FlowRecord, PortReport, Simulation, Status};
use switchbed_units::{Span, Time};

/// A scenario on the topology of this file.
fn read(topology: &str, more: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t"), topology).expect("written");
    let scheme = if more.contains("[scheme]") { "" } else { "[scheme]\nname = \"none\"\n" };
    let buffer = if more.contains("[switch]") { "" } else { "[switch]\nbuffer = \"3MB\"\n" };
    let text = format!(
        "[topology]\nkind = \"file\"\npath = \"t\"\n[host]\nprofile = \"switchbed-0.1\"\n{buffer}{scheme}{more}"
    );
    let plans = plans_of("f.toml", &text, folder.path(), &[], None);
    plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string())
}

struct Ran {
    flows: Vec<FlowRecord>,
    ports: Vec<PortReport>,
    run: Simulation,
}

fn run(scenario: &Scenario) -> Ran {
    let mut run = Simulation::new(scenario).expect("builds");
    while run.advance(1 << 40) == Status::Running {}
    let mut flows = run.take_finished();
    flows.extend(run.unfinished());
    flows.sort_by_key(|flow| flow.row);
    let ports = run.port_reports();
    Ran { flows, ports, run }
}

impl Ran {
    fn of(topology: &str, more: &str) -> Ran {
        run(&read(topology, more).unwrap_or_else(|why| panic!("{why}")))
    }
    fn port(&self, name: &str) -> &PortReport {
        let found = self.ports.iter().find(|report| report.info.name == name);
        found.unwrap_or_else(|| panic!("no port {name}"))
    }
    /// Packets that began to leave by a port.
    fn sent(&self, name: &str) -> u64 {
        self.port(name).counters.sent
    }
    fn fct(&self, row: usize) -> Span {
        self.flows[row].end.expect("ends").since(self.flows[row].start)
    }
}

/// Two hosts with two links of 10 Gbps each to one switch: a bond.
const BOND: &str = "node,tier\na,host\nb,host\ns,tor\nfrom,to,rate,delay,count\na,s,10Gbps,1us,2\nb,s,10Gbps,1us,2\n";
/// Hosts with a link to each of two ToRs, which have a spine above them.
const DUAL: &str = "node,tier\na,host\nb,host\nc,host\ns,tor\nt,tor\nu,spine\nfrom,to,rate,delay\n\
                    a,s,10Gbps,1us\na,t,10Gbps,1us\nb,s,10Gbps,1us\nb,t,10Gbps,1us\nc,s,10Gbps,1us\n\
                    s,u,40Gbps,1us\nt,u,40Gbps,1us\n";
/// The same with two planes that are apart.
const PLANES: &str = "node,tier\na,host\nb,host\ns0,tor\ns1,tor\nt0,tor\nt1,tor\nu,spine\nv,spine\nfrom,to,rate,delay\n\
                      a,s0,10Gbps,1us\na,t0,10Gbps,1us\nb,s1,10Gbps,1us\nb,t1,10Gbps,1us\n\
                      s0,u,10Gbps,1us\ns1,u,10Gbps,1us\nt0,v,10Gbps,1us\nt1,v,10Gbps,1us\n";

/// Flows of a list: start in microseconds, source, destination, bytes.
fn list(flows: &[(f64, u32, u32, u64)]) -> (tempfile::NamedTempFile, String) {
    list_of(0, flows)
}

fn list_of(class: u8, flows: &[(f64, u32, u32, u64)]) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut text = "start_s,src,dst,size_bytes,class\n".to_owned();
    for (us, src, dst, bytes) in flows {
        text += &format!("{},{src},{dst},{bytes},{class}\n", us * 1e-6);
    }
    std::fs::write(file.path(), text).expect("written");
    let traffic = format!(
        "[[traffic]]\nkind = \"list\"\nfile = \"{}\"\nconnections = \"fresh-no-handshake\"\n",
        file.path().display()
    );
    (file, traffic)
}

const WINDOW: &str = "[transport]\ninitial_window = 64\nreceive_window = 64\n";
const RECEIVED: &str = "[measure]\nfct_end = \"received\"\n";

fn us(us: f64) -> Span {
    Span::from_ps((us * 1e6).round() as u64)
}

/// Flows from host 0 to a host, 100 us apart.
fn many(count: u32, dst: u32, bytes: u64) -> (tempfile::NamedTempFile, String) {
    many_of(0, count, dst, bytes)
}

fn many_of(class: u8, count: u32, dst: u32, bytes: u64) -> (tempfile::NamedTempFile, String) {
    let flows: Vec<_> = (0..count).map(|nth| (100.0 * f64::from(nth), 0, dst, bytes)).collect();
    list_of(class, &flows)
}

#[test]
fn a_flow_stays_on_one_link_and_a_sprayed_one_uses_both() {
    // Four packets: 1.2 us each at 10 Gbps.
    let (_file, traffic) = many(40, 1, 4 * 1460);
    let hashed = Ran::of(BOND, &format!("{traffic}{WINDOW}{RECEIVED}"));
    for row in 0..40 {
        assert_eq!(hashed.fct(row), us(4.0 * 1.2 + 1.0 + 1.2 + 1.0));
        assert_eq!(hashed.run.empty_fct_of(&hashed.flows[row]), Some(hashed.fct(row)));
    }
    let [first, second] = ["a.0", "a.1"].map(|port| hashed.sent(port));
    assert_eq!(first + second, 160);
    assert!(first % 4 == 0 && (40..=120).contains(&first), "{first}");

    let spray = "[routing]\nkind = \"spray\"\norder = \"round-robin\"\n";
    let sprayed = Ran::of(BOND, &format!("{traffic}{WINDOW}{RECEIVED}{spray}"));
    assert_eq!((sprayed.sent("a.0"), sprayed.sent("a.1")), (80, 80));
    // Two on each link; the switch, too, gives each of its two ports two.
    for row in 0..40 {
        assert_eq!(sprayed.fct(row), us(2.0 * 1.2 + 1.0 + 1.2 + 1.0));
        assert_eq!(sprayed.run.empty_fct_of(&sprayed.flows[row]), Some(sprayed.fct(row)));
    }
}

#[test]
fn of_two_tors_both_lead_to_a_host_of_both_and_one_to_a_host_of_one() {
    let (_file, traffic) = many(40, 1, 1460);
    let both = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}"));
    assert!(both.flows.iter().all(|flow| flow.end.is_some()));
    let [s, t] = ["a.0", "a.1"].map(|port| both.sent(port));
    assert!(s + t == 40 && s > 8 && t > 8, "{s} {t}");
    // None goes by the spine.
    assert_eq!((both.sent("u:0"), both.sent("u:1")), (0, 0));
    assert_eq!(both.fct(0), us(1.2 + 1.0 + 1.2 + 1.0));
    let (_file, traffic) = many(40, 2, 1460);
    let one = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}"));
    assert_eq!((one.sent("a.0"), one.sent("a.1"), one.sent("s:2")), (40, 0, 40));
}

#[test]
fn planes_that_are_apart_are_chosen_at_the_host() {
    let (_file, traffic) = many(40, 1, 1460);
    for routing in ["ecmp", "wcmp", "spray", "flowlet", "adaptive"] {
        let routing = format!("[routing]\nkind = \"{routing}\"\n");
        let ran = Ran::of(PLANES, &format!("{traffic}{WINDOW}{RECEIVED}{routing}"));
        for row in 0..40 {
            assert_eq!(ran.fct(row), us(4.0 * (1.2 + 1.0)), "{routing}");
        }
        let [u, v] = ["u:1", "v:1"].map(|port| ran.sent(port));
        assert!(u + v == 40 && u > 8 && v > 8, "{routing}: {u} {v}");
        assert_eq!((ran.sent("a.0"), ran.sent("a.1")), (u, v));
    }
}

#[test]
fn unequal_rates_share_by_weight_under_wcmp() {
    let unequal = BOND.replace("a,s,10Gbps,1us,2", "a,s,40Gbps,1us,1\na,s,10Gbps,1us,1");
    // What lies behind is no less: else each link would weigh as much as that at most.
    let unequal = unequal.replace("b,s,10Gbps", "b,s,100Gbps");
    let (_file, traffic) = many(400, 1, 1460);
    let parts = |routing: &str| {
        let routing = format!("[routing]\nkind = \"{routing}\"\n");
        let ran = Ran::of(&unequal, &format!("{traffic}{WINDOW}{RECEIVED}{routing}"));
        assert!(ran.flows.iter().all(|flow| flow.end.is_some()));
        (ran.sent("a.0"), ran.sent("a.1"))
    };
    // Of 400 flows 320 and 80: a standard deviation is 8.
    let (fast, slow) = parts("wcmp");
    assert!(fast + slow == 400 && (288..=352).contains(&fast), "{fast} {slow}");
    let (fast, slow) = parts("ecmp");
    assert!(fast + slow == 400 && (160..=240).contains(&fast), "{fast} {slow}");
}

#[test]
fn a_failed_link_is_left_out_from_its_detection_on() {
    // Flows of one packet every 100 us. The link fails at 1 ms, its ends notice at 1.5 ms, others learn at 2.05 ms.
    let (_file, traffic) = many(40, 1, 1460);
    let event = "[[event]]\nat = \"950us\"\nlink = \"a-s\"\nup = false\ndetect = \"500us\"\nconverge = \"1100us\"\n";
    let ran = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}{event}"));
    let plain = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}"));
    let late: Vec<usize> = (0..40).filter(|&row| ran.fct(row) != plain.fct(row)).collect();
    // Lost on the wire between failure and detection: flows 10 to 14 whose hash is that link.
    assert!(!late.is_empty() && late.iter().all(|row| (10..15).contains(row)), "{late:?}");
    assert_eq!(ran.port("a.0").lost, late.len() as u64);
    // What came back of those is on the other link; all flows from 15 on are, too.
    let before = plain.sent("a.0");
    assert!(
        ran.sent("a.0") < before && ran.sent("a.0") + ran.sent("a.1") == 40 + late.len() as u64
    );
    // The other direction: from b to a by either ToR. Until others learn, s has no port to a.
    let flows: Vec<_> = (0..40).map(|nth| (100.0 * f64::from(nth), 1, 0, 1460)).collect();
    let (_file, traffic) = list(&flows);
    let event = event.replace("1100us", "1150us");
    let ran = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}{event}"));
    assert!(ran.run.no_route() > 0);
    assert!(ran.flows.iter().all(|flow| flow.end.is_some()));
    for row in 22..40 {
        assert_eq!(ran.fct(row), us(1.2 + 1.0 + 1.2 + 1.0), "{row}");
    }
    let sent = ran.sent("b.0");
    let plain = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}"));
    assert!(sent < plain.sent("b.0"));
}

#[test]
fn a_link_that_is_mended_is_used_again() {
    let (_file, traffic) = many(40, 1, 1460);
    let fails = "[[event]]\nat = \"0us\"\nlink = \"a-s\"\nup = false\ndetect = \"0us\"\nconverge = \"0us\"\n";
    let ran = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}{fails}"));
    assert_eq!((ran.sent("a.0"), ran.sent("a.1")), (0, 40));
    let mended = "[[event]]\nat = \"2ms\"\nlink = \"a-s\"\nup = true\ndetect = \"0us\"\nconverge = \"0us\"\n";
    let ran = Ran::of(DUAL, &format!("{traffic}{WINDOW}{RECEIVED}{fails}{mended}"));
    assert!(ran.sent("a.0") > 4 && ran.flows.iter().all(|flow| flow.timeouts == 0));
}

/// Queue pairs on lossless classes.
fn roce(traffic: &str) -> String {
    format!(
        "[switch]\nqueues = 4\nbuffer = \"2MB\"\npool = \"2MB\"\n[switch.pfc]\npriorities = [3]\n[transport]\nkind = \"dcqcn\"\n\
         {traffic}"
    )
}

#[test]
fn queue_pairs_leave_by_the_link_of_their_hash() {
    let (_file, traffic) = many_of(3, 40, 1, 100_000);
    let ran = Ran::of(BOND, &roce(&traffic));
    assert!(ran.flows.iter().all(|flow| flow.end.is_some()));
    for (row, flow) in ran.flows.iter().enumerate() {
        assert_eq!(ran.run.empty_fct_of(flow), Some(ran.fct(row)), "{row}");
    }
    let [first, second] = ["a.0", "a.1"].map(|port| ran.sent(port));
    assert!(first > 500 && second > 500, "{first} {second}");
    // Two at a time on two links do not hinder each other, unless they have the same.
    let flows: Vec<_> = (0..40).map(|nth| (200.0 * f64::from(nth / 2), 0, 1, 100_000)).collect();
    let (_file, traffic) = list_of(3, &flows);
    let wide = BOND.replace("b,s,10Gbps,1us,2", "b,s,100Gbps,1us,1");
    let ran = Ran::of(&wide, &roce(&traffic));
    let alone = ran.run.empty_fct_of(&ran.flows[0]).expect("of a size");
    let free = (0..40).filter(|&row| ran.fct(row) < alone + alone / 5).count();
    assert!((8..=32).contains(&free), "{free}");
    assert!((0..40).all(|row| ran.fct(row) >= alone && ran.fct(row) < alone * 3));
}

#[test]
fn a_pause_holds_one_link() {
    // The switch's port to the host asks for quiet on one link: what is on the other goes on.
    let storm = "[[event]]\nat = \"0us\"\nport = \"s:0\"\nstorm = 3\nlasts = \"1ms\"\n";
    let (_file, traffic) = many_of(3, 20, 1, 1000);
    let ran = Ran::of(BOND, &(roce(&traffic) + storm));
    let plain = Ran::of(BOND, &roce(&traffic));
    let held = (0..20).filter(|&row| ran.fct(row) != plain.fct(row)).count() as u64;
    // A flow is a packet. The last pause lasts beyond the last flow; the first may be through before it is heard.
    let on_it = plain.sent("a.0");
    assert!((4..=16).contains(&on_it) && (held == on_it || held + 1 == on_it), "{held} {on_it}");
    assert_eq!((ran.sent("a.0"), ran.sent("a.1")), (on_it, 20 - on_it));
    let of = |name: &str| ran.port(name).info.name.clone();
    assert_eq!([of("a.0"), of("a.1")], ["a.0", "a.1"]);
}

#[test]
fn queue_pairs_move_to_the_link_that_is_left() {
    let (_file, traffic) =
        list(&[(0.0, 0, 1, 3_000_000), (0.0, 0, 1, 3_000_000), (0.0, 0, 1, 3_000_000)]);
    let event = "[[event]]\nat = \"500us\"\nlink = \"a-s\"\nup = false\ndetect = \"10us\"\nconverge = \"20us\"\n";
    for transport in ["dcqcn", "nscc", "rccc"] {
        let text = format!(
            "[switch]\nbuffer = \"4MB\"\npool = \"4MB\"\n[transport]\nkind = \"{transport}\"\n{traffic}{event}"
        );
        let ran = Ran::of(DUAL, &text);
        assert!(ran.flows.iter().all(|flow| flow.end.is_some()), "{transport}");
        assert!(ran.sent("a.1") > 1_000, "{transport}");
        let until = Time::ZERO + us(500.0);
        // Six megabytes more come over one link of 10 Gbps.
        let last = ran.flows.iter().filter_map(|flow| flow.end).max().expect("ends");
        assert!(last > until + us(5_000.0), "{transport}");
    }
}

#[test]
fn senders_that_spray_use_all_links_and_take_the_sums_ideal_time_nearly() {
    for topology in [BOND, PLANES] {
        let (_file, traffic) = many(4, 1, 4_000_000);
        for transport in ["nscc", "rccc"] {
            let text = format!(
                "[switch]\nbuffer = \"4MB\"\npool = \"4MB\"\n[transport]\nkind = \"{transport}\"\n[roce]\nentropies = 64\nspray = \"oblivious\"\n{traffic}"
            );
            let ran = Ran::of(topology, &text);
            let [first, second] = ["a.0", "a.1"].map(|port| ran.sent(port));
            assert!(first.abs_diff(second) < (first + second) / 4, "{first} {second}");
            for (row, flow) in ran.flows.iter().enumerate() {
                let ideal = ran.run.empty_fct_of(flow).expect("of a size");
                assert!(ran.fct(row) >= ideal, "{transport} {row}");
            }
        }
    }
}

#[test]
fn captures_events_and_monitors_name_ports_of_hosts() {
    let (_file, traffic) = many(20, 1, 1460);
    let text = format!(
        "{traffic}{WINDOW}[measure]\nqueues = [\"a.1\"]\ncapture = [\"a.0\", \"a.1\"]\n\
         [[event]]\nat = \"1ms\"\nport = \"a.1\"\nrate = \"5Gbps\"\n"
    );
    let ran = Ran::of(BOND, &text);
    let captures = ran.run.captures();
    let names: Vec<&str> = captures.iter().map(|capture| capture.name.as_str()).collect();
    assert_eq!(names, ["a.0", "a.1"]);
    // Each capture has what leaves by the link and what comes in by it.
    for (nth, capture) in captures.iter().enumerate() {
        let back = ran.sent(&format!("s:{nth}"));
        assert_eq!(capture.packets, ran.sent(&capture.name) + back);
    }
    for (event, told) in [
        ("port = \"a\"\nup = false", "the host a has the ports a.0 to a.1"),
        ("port = \"a.2\"\nup = false", "the topology has s:0 to s:3, a.0 to b.1"),
        ("link = \"a-s#3\"\nup = false\ndetect = \"0us\"\nconverge = \"0us\"", "a-s"),
    ] {
        let why = read(BOND, &format!("{traffic}[[event]]\nat = \"1us\"\n{event}\n"));
        let why = why.expect_err(event);
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn what_cannot_be_meant_is_told() {
    let (_file, traffic) = many(1, 1, 1460);
    let refused =
        |topology: &str, more: &str| read(topology, &format!("{traffic}{more}")).expect_err(more);
    let names = BOND.replace("b,host", "b,host\na.1,host") + "a.1,s,10Gbps,1us,\n";
    let why = refused(&names, "");
    assert!(
        why.contains("t:4: a.1 is the name of a port: the host a has 2 links, a.0 to a.1"),
        "{why}"
    );
    let apart = PLANES
        .replace("b,s1,10Gbps,1us\n", "c,s1,10Gbps,1us\n")
        .replace("b,host", "b,host\nc,host");
    let why = refused(&apart, "");
    assert!(
        why.contains("no links lead from the host") && why.contains("hosts do not pass packets on"),
        "{why}"
    );
    let idle = PLANES.replace("v,spine", "v,spine\nw,spine\nx,spine") + "w,x,10Gbps,1us\n";
    assert!(refused(&idle, "").contains("no links lead from w to any host"));
    let qcn = "[scheme]\nname = \"qcn\"\n[switch]\nbuffer = \"3MB\"\n";
    let why = refused(BOND, qcn);
    assert!(why.contains("rate limiters have one link, and the host a has 2"), "{why}");
}

#[test]
fn mutants_of_files_are_refused_in_a_line_or_run() {
    let (_file, traffic) = list(&[(0.0, 0, 1, 30_000), (0.0, 1, 0, 30_000)]);
    let more = format!("{traffic}{WINDOW}");
    let (mut ran, mut told) = (0, 0);
    for topology in [BOND, DUAL, PLANES] {
        let lines: Vec<&str> = topology.lines().collect();
        let mut mutants: Vec<Vec<String>> = Vec::new();
        for (nth, line) in lines.iter().enumerate() {
            let others = |at: usize| lines[at].to_string();
            mutants.push((0..lines.len()).filter(|&at| at != nth).map(others).collect());
            mutants.push((0..=lines.len()).map(|at| others(at - usize::from(at > nth))).collect());
            for (field, old) in line.split(',').enumerate() {
                for new in ["", "a", "s", "a.0", "0", "65535", "1ps", "9Tbps", "\u{fe}"] {
                    let mut fields: Vec<&str> = line.split(',').collect();
                    fields[field] = new;
                    let mut mutant: Vec<String> = lines.iter().map(ToString::to_string).collect();
                    mutant[nth] = fields.join(",");
                    if old != new {
                        mutants.push(mutant);
                    }
                }
            }
        }
        assert!(mutants.len() > 100);
        for mutant in mutants {
            let text = mutant.join("\n") + "\n";
            // Ports of a bundle of 65,535 take a gigabyte.
            if text.contains(",65535") && text.contains("count") {
                continue;
            }
            match read(&text, &more) {
                Ok(scenario) => {
                    let flows = run(&scenario).flows;
                    assert!(flows.iter().all(|flow| flow.end.is_some()), "{text}");
                    ran += 1;
                }
                Err(why) => {
                    assert!(!why.trim().contains('\n') && why.len() < 600, "{why}");
                    told += 1;
                }
            }
        }
    }
    assert!(ran > 50 && told > 200, "{ran} {told}");
}

/// A network of hosts with some links each, drawn: switches in a ring, links between hosts and switches.
fn drawn() -> impl Strategy<Value = String> {
    let hosts = prop::collection::vec(prop::collection::vec((0..4u32, 0..3usize), 1..4), 2..6);
    (2..5u32, hosts, prop::bool::ANY).prop_map(|(switches, hosts, twice)| {
        let mut text = "node,tier\n".to_owned();
        (0..hosts.len()).for_each(|h| text += &format!("h{h},host\n"));
        (0..switches).for_each(|s| text += &format!("s{s},ring\n"));
        text += "from,to,rate,delay,count\n";
        for (h, links) in hosts.iter().enumerate() {
            for (to, rate) in links {
                let rate = [10, 25, 40][*rate];
                text += &format!("h{h},s{},{rate}Gbps,1us,1\n", to % switches);
            }
        }
        for s in 0..if switches == 2 { 1 } else { switches } {
            let count = if twice { 2 } else { 1 };
            text += &format!("s{s},s{},10Gbps,700ns,{count}\n", (s + 1) % switches);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn networks_of_hosts_with_several_links_lose_no_packet_and_are_the_same_on_any_division(
        topology in drawn(),
        routing in prop::sample::select(vec![
            "ecmp", "wcmp", "spray", "flowlet", "adaptive",
        ]),
        transport in prop::sample::select(vec!["dctcp", "dcqcn", "nscc", "rccc", "udp"]),
        fails in prop::bool::ANY,
    ) {
        let event = match fails {
            true => "[[event]]\nat = \"100us\"\nlink = \"h0-S\"\nup = false\ndetect = \"20us\"\nconverge = \"60us\"\n\
                     [[event]]\nat = \"400us\"\nlink = \"h0-S\"\nup = true\ndetect = \"20us\"\nconverge = \"60us\"\n",
            false => "",
        };
        let first = topology.lines().find(|line| line.starts_with("h0,s")).expect("a link");
        let switch = first.split(',').nth(1).expect("a switch");
        let event = event.replace('S', switch).replace(&format!("h0-{switch}{switch}"), &format!("h0-{switch}"));
        let text = format!(
            "[switch]\nbuffer = \"30MB\"\npool = \"30MB\"\n[transport]\nkind = \"{transport}\"\n[routing]\nkind = \"{routing}\"\n\
             [[traffic]]\nkind = \"poisson\"\nload = 0.03\nflows = 40\nsizes = \"40960B\"\n{event}"
        );
        let scenario = read(&topology, &text).unwrap_or_else(|why| panic!("{why}\n{topology}"));
        let whole = division::run(&scenario, Division::ALONE, 1 << 40);
        for shards in [2, 3, 5] {
            let parts = Division { threads: 1, shards, worthwhile: 0 };
            prop_assert!(whole == division::run(&scenario, parts, 1 << 40), "{} shards", shards);
        }
        prop_assert_eq!(whole.0.len(), 40);
        let ran = run(&scenario);
        let reliable = transport != "udp" || event.is_empty();
        for (row, flow) in ran.flows.iter().enumerate() {
            prop_assert!(!reliable || flow.end.is_some(), "{} {}", row, topology);
            // A flow of datagrams ends with its last one, which may overtake others.
            let in_order = matches!(routing, "ecmp" | "wcmp") && event.is_empty();
            if flow.end.is_some() && (transport != "udp" || in_order) {
                let ideal = ran.run.empty_fct_of(flow).expect("of a size");
                prop_assert!(ran.fct(row) >= ideal, "{} {:?} {:?}\n{}", row, ran.fct(row), ideal, topology);
            }
        }
        // What came to each port left it, but for what the end of the run leaves there.
        for port in &ran.ports {
            let counters = &port.counters;
            let dropped: u64 = counters.drops.iter().sum();
            let left = counters.arrived as i64 - (counters.sent + dropped) as i64;
            prop_assert!((0..=1_000).contains(&left), "{} {}", port.info.name, left);
            prop_assert!(!event.is_empty() || dropped == 0);
        }
        // What came to each switch went to its ports.
        for switch in (0..scenario.graph().switches.len()).map(|at| Node::Switch(SwitchId::at(at))) {
            let ports = ran.ports.iter();
            let came: u64 = ports.clone().filter(|of| of.info.cable.to == switch)
                .map(|of| of.counters.sent - of.lost).sum();
            let went: u64 = ports.filter(|of| of.info.cable.from == switch)
                .map(|of| of.counters.arrived).sum();
            let gone = came as i64 - went as i64 - ran.run.no_route() as i64;
            prop_assert!(gone.unsigned_abs() <= 200 + ran.run.no_route(), "{} {}", came, went);
        }
    }
}

/// Payload that ports carried, by name.
fn carried(ran: &Ran) -> BTreeMap<String, f64> {
    let packets = ran.ports.iter().map(|of| (of.info.name.clone(), of.counters.sent_bytes as f64));
    packets.collect()
}

#[test]
fn offered_loads_are_those_that_links_carry() {
    for routing in ["ecmp", "wcmp"] {
        let topology = DUAL.replace("b,t,10Gbps", "b,t,40Gbps") + "c,u,25Gbps,1us\n";
        let text = format!(
            "[routing]\nkind = \"{routing}\"\n[transport]\nkind = \"udp\"\n[[traffic]]\nkind = \"poisson\"\nload = 0.2\n\
             flows = 30000\nsizes = \"1460B\"\n"
        );
        let scenario = read(&topology, &text).expect("reads");
        let graph = scenario.graph();
        let rates = scenario.topology.host_rates();
        let links = Links::new(&graph, rates).expect("small");
        let loads = links.loads(scenario.traffic.iter().map(|entry| &entry.source));
        let ran = run(&scenario);
        let carried = carried(&ran);
        let offered: BTreeMap<String, f64> = loads
            .iter()
            .enumerate()
            .map(|(link, load)| {
                let link = LinkId::at(link);
                (graph.port_name(link), load * links.rate(link).as_bps() as f64)
            })
            .collect();
        let total = |of: &BTreeMap<String, f64>| of.values().sum::<f64>();
        let (all, sum) = (total(&offered), total(&carried));
        let mut seen = BTreeSet::new();
        for (port, bps) in &offered {
            let (part, other) = (bps / all, carried[port] / sum);
            assert!((part - other).abs() < 0.006, "{routing} {port}: {part} {other}");
            if *bps > 0.0 {
                seen.insert(port.clone());
            }
        }
        assert!(seen.len() >= 10, "{seen:?}");
    }
}

#[test]
fn collectives_take_their_bound_at_least() {
    for topology in [BOND, DUAL, PLANES] {
        for (transport, routing) in [
            ("roce", "ecmp"),
            ("roce", "wcmp"),
            ("nscc", "ecmp"),
            ("dctcp", "spray"),
            ("dctcp", "ecmp"),
        ] {
            for operation in ["all-to-all", "all-reduce"] {
                let text = format!(
                    "[transport]\nkind = \"{transport}\"\n[routing]\nkind = \"{routing}\"\n[[traffic]]\n\
                     kind = \"collective\"\noperation = \"{operation}\"\nbytes = \"393216B\"\n"
                );
                let scenario = read(topology, &text).unwrap_or_else(|why| panic!("{why}"));
                let ran = run(&scenario);
                let job = &ran.run.jobs(&scenario)[0];
                assert!(job.done && job.time_s >= job.ideal_s, "{transport} {routing} {job:?}");
                assert!(job.time_s < 8.0 * job.ideal_s, "{transport} {routing} {job:?}");
            }
        }
    }
}
