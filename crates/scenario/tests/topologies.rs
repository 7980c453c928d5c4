//! Topologies' files: forms of others by hand, and mutants of each form.

use switchbed_scenario::topology::graph::{Graph, Hop, Node, Route};
use switchbed_scenario::topology::tables::Tables;
use switchbed_scenario::{FromFile, Shape};
use switchbed_units::ids::{HostId, PortId, SwitchId};
use switchbed_units::random::{Random, Stream};
use switchbed_units::{Rate, Span};

fn read(text: &str, format: &str) -> Result<FromFile, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t");
    std::fs::write(&path, text).expect("written");
    let place = format!("{}/", folder.path().display());
    FromFile::read(&path, format).map_err(|why| why.to_string().replace(&place, ""))
}

fn graph(text: &str, format: &str) -> Graph {
    read(text, format).unwrap_or_else(|why| panic!("{why}")).graph()
}

/// Links and switches of a network.
fn shown(text: &str) -> String {
    let graph = graph(text, "auto");
    format!("{:?}", (graph.access, graph.switches))
}

/// 16 hosts in two pods; each aggregation has two links to each of its cores.
const HTSIM: &str = "\
# two pods
Nodes 16
tiers 3
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Queue_Up 100
Oversubscribed 2
Downlink_Latency_ns 1000
Switch_Latency_ns 100
Tier 1
DOWNLINK_SPEED_GBPS 100  # also above
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 500
Switch_Latency_ns 300
Tier 2
Downlink_speed_Gbps 400
Radix_Down 4
Bundle 2
Downlink_Latency_ns 700
";

const HPCC: &str = "\
6 2 6
4 5
0 4 100Gbps 1us 0
1 4 100Gbps 1us 0.0
2 5 25000000000.0 1us 0
3 5 25Gbps 1us 0
4 5 100Gbps 2us 0
5 4 100Gbps 2us 0
";

/// As SimAI's generator writes it, without links to NVSwitches.
const SIMAI: &str = "\
7 1 0 3 6 H100
4 5 6 
0 4 400Gbps 0.0005ms 0
1 5 400Gbps 0.0005ms 0
2 4 400Gbps 0.0005ms 0
3 5 400Gbps 0.0005ms 0
4 6 400Gbps 0.0005ms 0
5 6 400Gbps 0.0005ms 0
";

const TABLE: &str = "\
# A comment.
node,tier
a,host
b,host
s,left
t,right
from,to,rate,delay,count,mtu
a,s,10Gbps,1us,,
b,t,1Gbps,2us,,9216B
s,t,5Gbps,3us,2,
";

#[test]
fn htsims_numbers_make_its_fat_tree() {
    let graph = graph(HTSIM, "auto");
    let names: Vec<&str> = graph.switches.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names[..4], ["tor0", "tor1", "tor2", "tor3"]);
    assert_eq!(names[4..], ["agg0", "agg1", "agg2", "agg3", "core0", "core1", "core2", "core3"]);
    // tor2 is pod 1's first: hosts 8 to 11, then agg2 and agg3.
    let (_, tor) = &graph.switches[2];
    let to: Vec<Node> = tor.iter().map(|cable| cable.to).collect();
    let hosts = (8..12).map(|host| Node::Host(HostId(host)));
    let aggs = [6, 7].map(|agg| Node::Switch(SwitchId(agg)));
    assert_eq!(to, hosts.chain(aggs).collect::<Vec<_>>());
    // Half of the ToR's latency; half of both ends'.
    assert_eq!([tor[0].delay, tor[4].delay], [1050, 700].map(Span::from_ns));
    // agg1 is the second of its pod: core1 and core3, twice each.
    let (_, agg) = &graph.switches[5];
    let to: Vec<Node> = agg[2..].iter().map(|cable| cable.to).collect();
    assert_eq!(to, [9, 9, 11, 11].map(|core| Node::Switch(SwitchId(core))));
    assert_eq!((agg[2].rate, agg[2].delay), (Rate::from_gbps(400), Span::from_ns(850)));
    // Over two links up, and two ways to each core.
    assert_eq!(graph.route.ways(HostId(15), SwitchId(0)).len(), 2);
    let ways: Vec<PortId> = graph.route.ways(HostId(15), SwitchId(4)).iter().collect();
    assert_eq!(ways, [2, 3, 4, 5].map(PortId));
    // 2 × (1 us + 500 ns + 700 ns) of links; switches 100 + 300 + 0 + 300 + 100 ns.
    let file = read(HTSIM, "htsim").expect("read");
    assert_eq!(file.across(), Span::from_ns(4_400 + 800));
    // Four ports to hosts with two links each: two hosts a ToR, four ToRs a pod.
    let twice = HTSIM.replacen("Radix_Down 4", "Radix_Down 4\nBundle 2", 1);
    let graph = self::graph(&twice.replacen("Radix_Down 2", "Radix_Down 4", 1), "auto");
    assert_eq!((graph.hosts(), graph.access.len(), graph.tiers[0].switches.len()), (16, 32, 8));
    assert_eq!(graph.access[7].to, Node::Switch(SwitchId(1)));
}

#[test]
fn two_tiers_may_say_how_many_links_the_second_would_have_up() {
    // Versions of csg-htsim refuse two tiers without it.
    let two = "Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
               Radix_Up 4\nDownlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\n\
               Downlink_Latency_ns 1000\n";
    let more = format!("{two}Radix_Up 7\nQueue_Up 100\n");
    assert_eq!(shown(two), shown(&more));
}

#[test]
fn no_more_links_are_read_than_hpccs_first_line_says() {
    let note = "\n0 5 100Gbps 1us 0\n1 5 100Gbps 1us 0\n\nFirst line: total node #, switch node #, link #\n\
                src0 dst0 rate delay error_rate\n...\n";
    let text = format!("{HPCC}{note}");
    assert_eq!(shown(&text), shown(HPCC));
    let said = read(&text, "auto").expect("read").unread().expect("rows behind");
    assert!(said.ends_with(
        "t: its first line says 6 links: these are read, and 2 rows behind them are not"
    ));
    assert_eq!(read(HPCC, "auto").expect("read").unread(), None);
}

#[test]
fn the_first_line_of_ns3_datacenter_also_counts_tors() {
    // As its `PowerTCP/topology.txt` and its `Reverie/leaf-spine.txt`.
    let (_, rest) = HPCC.split_once('\n').expect("lines");
    for head in ["6 2 1 6", "6 2 2 6 100000000000 400000000000"] {
        assert_eq!(shown(&format!("{head}\n{rest}")), shown(HPCC), "{head}");
    }
    for (head, told) in [
        ("6 2 3 6", "t:1: column 3: \"3\": the number of ToRs is a whole number below 3"),
        ("6 2 1 6 1e11", "t: its first line is none of"),
        ("6 2 1 6 -5 1", "t:1: column 5: \"-5\": a rate"),
    ] {
        let why = read(&format!("{head}\n{rest}"), "auto").expect_err(told);
        assert!(why.starts_with(told), "{why} instead of {told}");
    }
}

#[test]
fn error_rates_of_hpccs_links_are_losses() {
    let lossy = HPCC
        .replacen("2 5 25000000000.0 1us 0", "2 5 25000000000.0 1us 0.001", 1)
        .replacen("5 4 100Gbps 2us 0", "5 4 100Gbps 2us 5e-2", 1);
    let lost = read(&lossy, "auto").expect("read").losses();
    assert_eq!(lost, [("host2-switch5".to_owned(), 0.001), ("switch5-switch4#2".to_owned(), 0.05)]);
    assert!(read(HPCC, "auto").expect("read").losses().is_empty());
    for wrong in ["0.6", "-0.1", "x", "nan"] {
        let why = read(&lossy.replacen("0.001", wrong, 1), "auto").expect_err(wrong);
        assert!(why.starts_with(&format!("t:5: column 5: \"{wrong}\": an error rate")), "{why}");
    }
}

#[test]
fn hosts_behind_switches_have_the_numbers_of_their_nodes() {
    // As HPCC's `mix/topology.txt`, whose switch is node 0.
    let text = "4 1 3\n0\n0 1 40Gbps 0.001ms 0\n0 2 40Gbps 0.001ms 0\n0 3 40Gbps 0.001ms 0\n";
    assert_eq!(read(text, "auto").expect("read").numbers().as_deref(), Some(&[1, 2, 3][..]));
    assert_eq!(read(HPCC, "auto").expect("read").numbers(), None);
    assert_eq!(read(TABLE, "auto").expect("read").numbers(), None);
}

#[test]
fn rates_and_delays_may_have_ns3s_units() {
    let link = |rate: &str, delay: &str| {
        let text = HPCC.replacen("0 4 100Gbps 1us 0", &format!("0 4 {rate} {delay} 0"), 1);
        read(&text, "auto").map(|file| {
            let cable = file.graph().access[0];
            (cable.rate.as_bps(), cable.delay.as_ps())
        })
    };
    for (rate, bps) in [
        ("12.5GB/s", 100_000_000_000),
        ("12.5GBps", 100_000_000_000),
        ("100Gb/s", 100_000_000_000),
        ("1e11", 100_000_000_000),
        ("40000Mb/s", 40_000_000_000),
        ("1Gib/s", 1 << 30),
        ("1024KiB/s", 8 << 20),
        ("800Kbps", 800_000),
        ("5000000b/s", 5_000_000),
    ] {
        assert_eq!(link(rate, "1us"), Ok((bps, 1_000_000)), "{rate}");
    }
    for (delay, ps) in [
        ("0.001ms", 1_000_000),
        ("1e-06s", 1_000_000),
        ("1.5e-3ms", 1_500_000),
        ("0.000002", 2_000_000),
        ("1000000fs", 1_000),
        ("5E2ns", 500_000),
    ] {
        assert_eq!(link("100Gbps", delay), Ok((100_000_000_000, ps)), "{delay}");
    }
    for (rate, delay, told) in [
        ("1GiGps", "1us", "t:3: column 3: \"1GiGps\": there is no unit"),
        ("0GB/s", "1us", "t:3: column 3: \"0GB/s\": a rate must be greater than 0"),
        ("20000GB/s", "1us", "t:3: column 3: \"20000GB/s\": it must be at most"),
        ("1Gbps", "1e-06m", "t:3: column 4: \"1e-06m\": "),
        ("1Gbps", "-1us", "t:3: column 4: \"-1us\": it cannot be negative"),
        ("1Gbps", "1e", "t:3: column 4: \"1e\": "),
    ] {
        let why = link(rate, delay).expect_err(told);
        assert!(why.starts_with(told), "{why} instead of {told}");
    }
}

#[test]
fn simais_files_are_hpccs_with_nvswitches() {
    let graph = graph(SIMAI, "auto");
    let tiers: Vec<(&str, usize)> =
        graph.tiers.iter().map(|tier| (&tier.name[..], tier.switches.len())).collect();
    assert_eq!(tiers, [("tier1", 2), ("tier2", 1)]);
    assert_eq!(graph.access[3].delay, Span::from_ns(500));
    // Two GPUs on an NVSwitch and a leaf each.
    let two = "5 2 1 2 6 A100\n2 3 4\n0 2 2880Gbps 25ns 0\n1 2 2880Gbps 25ns 0\n0 3 400Gbps 1us 0\n\
               1 4 400Gbps 1us 0\n3 4 400Gbps 1us 0\n3 4 400Gbps 1us 0\n";
    let graph = self::graph(two, "auto");
    let links = |host| graph.cables(HostId(host)).iter().map(|cable| cable.to).collect::<Vec<_>>();
    assert_eq!(links(0), [0, 1].map(|switch| Node::Switch(SwitchId(switch))));
    // Over the NVSwitch alone, which is nearer.
    let chooser = graph.chooser(HostId(0)).expect("two links");
    assert_eq!(graph.route.ways(HostId(1), chooser).iter().collect::<Vec<_>>(), [PortId(0)]);
}

/// Two hosts on both of two ToRs under a spine, and one on the first ToR alone.
const DUAL: &str = "node,tier\na,host\nb,host\nc,host\ns,tor\nt,tor\nu,spine\nfrom,to,rate,delay\n\
                    a,s,10Gbps,1us\na,t,10Gbps,1us\nb,s,10Gbps,1us\nb,t,10Gbps,1us\nc,s,10Gbps,1us\n\
                    s,u,40Gbps,1us\nt,u,40Gbps,1us\n";

#[test]
fn hosts_with_several_links_choose_those_of_the_shortest_paths() {
    let graph = graph(DUAL, "auto");
    let [a, b, c] = [0, 1, 2].map(HostId);
    let [s, u] = [0, 2].map(SwitchId);
    let [at_a, at_b] = [a, b].map(|host| graph.chooser(host).expect("two links"));
    let ways = |route: &dyn Route, dst, at| -> Vec<u32> {
        route.ways(dst, at).iter().map(|port| port.0).collect()
    };
    let plain = |dst, at| ways(&*graph.route, dst, at);
    assert_eq!((plain(b, at_a), plain(c, at_a)), (vec![0, 1], vec![0]));
    // The ToR's ports are a, b, c and the spine; the spine's s and t.
    assert_eq!((plain(b, s), plain(b, u), plain(c, u)), (vec![1], vec![0, 1], vec![0]));
    // Without the link from a to s.
    let usable = |at, port| port != PortId(0) || at != s && at != at_a;
    let tables = Tables::over(&graph.access, &graph.switches, usable);
    let left = |dst, at| ways(&tables, dst, at);
    assert_eq!((left(a, s), left(a, u), left(a, at_b)), (vec![3], vec![1], vec![1]));
    assert_eq!((left(b, at_a), left(c, at_a)), (vec![1], vec![1]));
    // Numbers of pinned paths take each.
    let path = |n| graph.path(a, Hop { dst: b, key: Hop::PINNED | n })[0].to;
    assert_eq!([path(0), path(1)], [0, 1].map(|tor| Node::Switch(SwitchId(tor))));
}

#[test]
fn what_is_wrong_with_forms_of_others_is_told_with_its_line_and_column() {
    for (text, from, to, told) in [
        (
            HTSIM,
            "Nodes 16",
            "Nodes 15",
            "t:4: column 2: \"8\": Nodes, 15, is a multiple of Podsize",
        ),
        (HTSIM, "Nodes 16\n", "", "t: has no Nodes before its first Tier"),
        (HTSIM, "tiers 3", "tiers 4", "t:3: column 2: \"4\": a fat-tree has 2 or 3 tiers"),
        (HTSIM, "tiers 3", "tiers 2", "t:20: this tier is one more: Tiers is 2"),
        (HTSIM, "Tier 2", "Tier 1", "t:20: column 2: \"1\": this tier is there already"),
        (HTSIM, "Tier 2", "Tier 3", "t:20: column 2: \"3\": a tier is a whole number below 3"),
        (HTSIM, "Radix_Up 2", "Radix_Up", "t:9: column 1: \"Radix_Up\": a number is missing"),
        (HTSIM, "Radix_Up 2", "Radix_Up 2 2", "t:9: column 3: \"2\": a line has an attribute and"),
        (HTSIM, "Radix_Up 2", "Radix 2", "t:9: column 1: \"Radix\": there is no such attribute"),
        (HTSIM, "Radix_Up 2\n", "", "t:6: this tier has no Radix_Up"),
        (HTSIM, "Radix_Up 2", "Radix_Up 0", "t:9: column 2: \"0\": it is a whole number over 0"),
        (HTSIM, "Queue_Up 100", "Radix_Up 3", "t:10: column 1: \"Radix_Up\": it is there already"),
        (
            HTSIM,
            "Bundle 2",
            "Radix_Up 2",
            "t:23: column 1: \"Radix_Up\": the uppermost tier has no",
        ),
        (HTSIM, "Radix_Down 2", "Radix_Down 3", "t:16: column 2: \"3\": an aggregation is linked"),
        (HTSIM, "Radix_Up 4", "Radix_Up 3", "t:22: column 2: \"4\": the tier below has Radix_Up 3"),
        (HTSIM, "Bundle 2\n", "", "t:22: column 2: \"4\": a core is linked to one aggregation"),
        (
            HTSIM,
            "Oversubscribed 2",
            "Oversubscribed 3",
            "t:11: column 2: \"3\": its links make it 2",
        ),
        (HTSIM, "Gbps 400", "Gbps 4e2", "t:21: column 2: \"4e2\": Downlink_speed_Gbps is a whole"),
        (SIMAI, "7 1 0 3 6 H100", "7 1 0 3 6 H100 x", "t: its first line is none of"),
        (SIMAI, "7 1 0 3 6", "7 1 9 3 6", "t:1: column 3: \"9\": the number of NVSwitches is"),
        (
            SIMAI,
            "7 1 0 3 6",
            "7 1 2 5 6",
            "t:1: column 4: \"5\": the number of switches is a whole",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let why = read(&text.replacen(from, to, 1), "auto").expect_err(to);
        assert!(why.starts_with(told), "{why} instead of {told}");
    }
}

/// A text with a small fault: of its characters, words or lines.
fn mutant(text: &str, rng: &mut Stream) -> String {
    let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = below(lines.len());
    match below(6) {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[below(lines.len())].clone()),
        2 => lines.truncate(line),
        3 => {
            let other = below(lines.len());
            lines.swap(line, other);
        }
        4 => {
            let chars = ["-", "x", "999999999999", "0", ",", " ", "\u{e9}", "1e400", "nan", "#"];
            let at = below(lines[line].len() + 1);
            lines[line].insert_str(at, chars[below(chars.len())]);
        }
        _ if !lines[line].is_empty() => {
            let at = below(lines[line].len());
            lines[line].remove(at);
        }
        _ => {}
    }
    lines.join("\n") + "\n"
}

#[test]
fn mutants_of_each_form_are_read_or_refused_by_one_line() {
    for (format, text) in
        [("table", TABLE), ("table", DUAL), ("hpcc", HPCC), ("simai", SIMAI), ("htsim", HTSIM)]
    {
        assert!(read(text, format).is_ok());
        let mut rng = Stream::new(7, format, 0);
        let mut refused = 0;
        for _ in 0..400 {
            let text = mutant(text, &mut rng);
            for form in [format, "auto"] {
                let Err(why) = read(&text, form) else { continue };
                assert!(why.starts_with("t:") && !why.contains('\n'), "{why}\n{text}");
                assert!(why.len() < 400, "{why}");
                refused += 1;
            }
        }
        assert!(refused > 200, "{format}: {refused} refused");
    }
}
