//! Topologies from files: paths, times by hand, names, the same bytes on any division, and what is refused.

use crate::division::divided;
use std::path::Path;
use switchbed_scenario::{Scenario, plans_of};
use switchbed_sim::Simulation;
use switchbed_sim::ids::HostId;
use switchbed_sim::{Progress, run};
use switchbed_units::{Bytes, Span};

/// A folder with a topology `t` and the scenario in it, with more lines.
fn read(topology: &str, more: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t"), topology).expect("written");
    let text = format!(
        "[topology]\nkind = \"file\"\npath = \"t\"\n[host]\nprofile = \"switchbed-0.1\"\n\
         [switch]\nbuffer = \"300KB\"\n[scheme]\nname = \"none\"\n{more}"
    );
    let plans = plans_of("f.toml", &text, folder.path(), &[], None);
    let place = format!("{}/", folder.path().display());
    plans.map(|plans| plans[0].scenario.clone()).map_err(|why| why.to_string().replace(&place, ""))
}

const ENDLESS: &str =
    "[[traffic]]\nkind = \"long-lived\"\nfrom = 1\nto = 0\n[run]\nuntil = \"1ms\"\n";

/// Two hosts of 10 and 1 Gbps, two switches, two links of 5 Gbps between them.
const PARALLEL: &str = "\
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

/// Four switches, each joined to each, with two hosts on each.
fn k4() -> String {
    let mut text = "node,tier\n".to_owned();
    (0..8).for_each(|h| text += &format!("h{h},host\n"));
    (0..4).for_each(|s| text += &format!("s{s},switch\n"));
    text += "from,to,rate,delay\n";
    (0..8).for_each(|h| text += &format!("h{h},s{},{}Gbps,1us\n", h / 2, [10, 25][h % 2]));
    for a in 0..4 {
        (a + 1..4).for_each(|b| text += &format!("s{a},s{b},10Gbps,2us\n"));
    }
    text
}

/// A ring of five, a host on each, with each link twice.
fn ring5() -> String {
    let mut text = "node,tier\n".to_owned();
    (0..5).for_each(|h| text += &format!("h{h},host\ns{h},ring\n"));
    text += "delay,from,to,rate,count\n";
    (0..5).for_each(|h| text += &format!("1us,h{h},s{h},10Gbps,1\n"));
    (0..5).for_each(|s| text += &format!("700ns,s{s},s{},10Gbps,2\n", (s + 1) % 5));
    text
}

fn us(us: f64) -> Span {
    Span::from_ps((us * 1e6).round() as u64)
}

#[test]
fn a_flow_alone_takes_the_time_worked_out_by_hand() {
    // 1,500 B: 1.2 us at 10 Gbps, 2.4 us at 5, 12 us at 1; ACKs of 40 B: 32, 64 and 320 ns.
    let data = 1.2 + 1.0 + 2.4 + 3.0 + 12.0 + 2.0;
    let ack = 0.32 + 2.0 + 0.064 + 3.0 + 0.032 + 1.0;
    let scenario = read(PARALLEL, ENDLESS).expect("a topology");
    let simulation = Simulation::new(&scenario).expect("builds");
    let alone = |src, dst| simulation.empty_fct(HostId(src), HostId(dst), Bytes::new(1460));
    assert_eq!(alone(0, 1), us(data + ack));
    // Back to back, the slowest link spaces them.
    let three = simulation.empty_fct(HostId(0), HostId(1), Bytes::new(3 * 1460));
    assert_eq!(three, us(data + ack + 24.0));

    let simulation = Simulation::new(&read(&k4(), ENDLESS).expect("a topology")).expect("builds");
    // One link between any two of four: 10 Gbps, 10 Gbps, 25 Gbps (0.48 us; ACKs 12.8 ns).
    let alone = simulation.empty_fct(HostId(0), HostId(7), Bytes::new(1460));
    assert_eq!(
        alone,
        us(1.2 + 1.0 + 1.2 + 2.0 + 0.48 + 1.0 + 0.0128 + 1.0 + 0.032 + 2.0 + 0.032 + 1.0)
    );
}

#[test]
fn of_paths_with_as_many_links_the_ideal_is_the_fastest() {
    let text = "node,tier\na,host\nb,host\ns,edge\nfast,mid\nslow,mid\nt,edge\n\
                from,to,rate,delay\na,s,10Gbps,1us\nb,t,10Gbps,1us\ns,fast,10Gbps,1us\nfast,t,10Gbps,1us\n\
                s,slow,1Gbps,1us\nslow,t,10Gbps,5us\n";
    let scenario = read(text, ENDLESS).expect("a topology");
    let simulation = Simulation::new(&scenario).expect("builds");
    let alone = simulation.empty_fct(HostId(0), HostId(1), Bytes::new(1460));
    assert_eq!(alone, us(4.0 * 1.2 + 4.0 + 4.0 * 0.032 + 4.0));
}

#[test]
fn flows_take_their_ideal_time_alone() {
    let list = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(list.path(), "start_s,src,dst,size_bytes\n0,0,1,14600\n0.01,1,0,14600\n")
        .expect("written");
    let more = format!(
        "[[traffic]]\nkind = \"list\"\nfile = \"{}\"\nconnections = \"fresh-no-handshake\"\n\
         [transport]\ninitial_window = 16\n",
        list.path().display()
    );
    let scenario = read(PARALLEL, &more).expect("a topology");
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(1 << 40) == switchbed_sim::Status::Running {}
    let flows = simulation.take_finished();
    assert_eq!(flows.len(), 2);
    for flow in flows {
        let fct = flow.end.expect("ends").since(flow.start);
        assert_eq!(fct, simulation.empty_fct(flow.src, flow.dst, Bytes::new(14_600)));
    }
}

#[test]
fn runs_are_the_same_however_they_are_divided() {
    let more = "[[traffic]]\nkind = \"poisson\"\nload = 0.3\nflows = 60\nsizes = \"20KB\"\n\
                [[event]]\nat = \"200us\"\nport = \"s0:1\"\nrate = \"1Gbps\"\n\
                [measure]\nseries_every = \"100us\"\ngoodput_every = \"100us\"\n";
    for topology in [k4(), ring5()] {
        let (flows, ..) = divided(&read(&topology, more).expect("a topology"));
        assert!(flows.len() == 60 && flows.iter().all(|flow| flow.end.is_some()));
    }
}

#[test]
fn nodes_and_ports_have_the_files_names() {
    let more = "[[deploy]]\nswitches = \"right\"\nscheme = \"tcn\"\n\
                [[traffic]]\nkind = \"long-lived\"\nfrom = \"b\"\nto = \"a\"\n\
                [[event]]\nat = \"200us\"\nport = \"t:2\"\nup = false\n\
                [measure]\nqueues = [\"s:0\", \"t:2\"]\ncapture = [\"a\"]\n[run]\nuntil = \"1ms\"\n";
    let scenario = read(
        PARALLEL,
        &more.replace("\"tcn\"", "{ name = \"per-queue\", params = { threshold = \"30KB\" } }"),
    )
    .unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(scenario.deploy[0].switches, ["t"]);
    let results = run(&scenario, &Progress::new()).expect("runs");
    let port = results.ports.columns.iter().find(|column| column.name == "port").expect("ports");
    assert!(format!("{:?}", port.values).contains("\"t:2\""), "{:?}", port.values);
    let again =
        plans_of("again", &switchbed_scenario::to_toml(&scenario), Path::new(""), &[], None);
    assert!(again.expect_err("the folder is gone").to_string().contains("there is no file"));
}

#[test]
fn loads_are_of_each_hosts_own_rate() {
    // Host 0 at 10 Gbps, host 1 at 25: offered 0.4 of each.
    let more = "[[traffic]]\nkind = \"poisson\"\nload = 0.4\nflows = 100\nsizes = \"20KB\"\nfrom = [0, 1]\n\
                to = [2, 4, 6]\n";
    let scenario = read(&k4(), more).expect("a topology");
    let simulation = Simulation::new(&scenario).expect("builds");
    let offered = &simulation.offered()[0];
    assert!((offered.nominal_bps / 0.4 - 35e9).abs() < 1.0, "{offered:?}");
}

const HPCC: &str = "\
5 2 4
3 4
0 3 100Gbps 0.001ms 0
1 4 25000000000.0 1us 0.0
2\t4\t100Gbps 1us 0
3 4 400Gbps 1us 0
";

#[test]
fn files_of_hpccs_simulator_are_read() {
    let more = ENDLESS.replace("until", "# until").replace("# until = \"1ms\"", "until = \"1ms\"");
    let scenario =
        read(HPCC, &(more + "[measure]\nqueues = [\"switch3:1\", \"switch4:2\"]\n")).expect("read");
    let simulation = Simulation::new(&scenario).expect("builds");
    // 0.12, 0.03 and 0.48 us; ACKs 3.2, 0.8 and 12.8 ns.
    let alone = simulation.empty_fct(HostId(0), HostId(1), Bytes::new(1460));
    assert_eq!(alone, us(0.12 + 0.03 + 0.48 + 0.0032 + 0.0008 + 0.0128 + 6.0));
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_column() {
    let change = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        read(&text.replacen(from, to, 1), ENDLESS).expect_err(to)
    };
    for (from, to, told) in [
        ("a,host", "a,host,1", "t:3: has 3 fields, and its header has 2"),
        ("a,host", "3,host", "t:3: column 1: \"3\" is no name: a letter, then letters, digits"),
        ("a,host", "all,host", "t:3: column 1: \"all\" is no name"),
        ("a,host", "a,host\na,host", "t:4: a is a node already, on line 3"),
        ("s,left", "s,", "t:5: column 2: \"\" is no tier"),
        ("node,tier", "node,kind", "t:2: column 2: there is no column \"kind\""),
        ("node,tier", "node,node", "t:2: column 2: the column node is there twice"),
        ("from,to,rate,delay,count,mtu", "from,to,rate,count,mtu,x", "there is no column \"x\""),
        ("a,s,10Gbps", "a,x,10Gbps", "t:9: column 2: there is no node \"x\""),
        ("a,s,10Gbps", "a,s,0Gbps", "t:9: column 3: \"0Gbps\": a rate must be greater than 0"),
        ("a,s,10Gbps", "a,s,1bps", "t:9: a packet of host.mtu, 1.5KB, may take 5s"),
        ("a,s,10Gbps,1us", "a,s,10Gbps,1", "t:9: column 4: \"1\": it has no unit"),
        ("a,s,10Gbps,1us", "a,s,10Gbps,9s", "t:9: a delay is at most 5s"),
        ("3us,2,", "3us,0,", "t:11: column 5: \"0\": parallel links are a whole number"),
        ("9216B", "1000B", "t:10: carries packets up to 1KB, and host.mtu is 1.5KB"),
        ("s,t,5Gbps,3us,2,", "", "t:6: no links lead from t to s: the network is in parts"),
        ("a,s,10Gbps,1us,,", "", "t:3: the host a has no link"),
        ("a,s,10Gbps,1us,,", "a,b,10Gbps,1us,,", "t:9: joins the hosts a and b"),
        ("s,t,5Gbps", "s,s,5Gbps", "t:11: the link joins s to itself"),
    ] {
        let why = change(PARALLEL, from, to);
        assert!(why.starts_with(told) || why.contains(told), "{why} instead of {told}");
    }
    for (from, to, told) in [
        ("5 2 4", "5 2 5", "t: ends after 4 of 5 links"),
        // A row behind the links that the first line says is none of them.
        ("5 2 4", "5 2 3", "t:2: no links lead from switch4 to switch3: the network is in parts"),
        (
            "5 2 4",
            "5 3 4",
            "t:3: column 2: \"3\": the first line says 3 switches, and this is one more",
        ),
        ("3 4\n", "3 3\n", "t:2: column 2: \"3\": this switch is named already"),
        (
            "5 2 4",
            "5 7 4",
            "t:1: column 2: \"7\": the number of switches is a whole number below 5",
        ),
        ("3 4\n", "3 9\n", "t:2: column 2: \"9\": a switch is a whole number below 5"),
        (
            "400Gbps 1us 0",
            "400Gbps 1us 0.1x",
            "t:6: column 5: \"0.1x\": an error rate is the fraction of packets that the link loses, from 0 to 0.5",
        ),
        ("400Gbps", "fast", "t:6: column 3: \"fast\""),
        (
            "25000000000.0",
            "0",
            "t:4: column 3: \"0\": a rate is a number of bits a second of at least 1",
        ),
        (
            "3 4 400Gbps 1us 0",
            "3 4 400Gbps",
            "t:6: has 3 fields: a link is src dst rate delay error_rate",
        ),
    ] {
        let why = change(HPCC, from, to);
        assert!(why.starts_with(told), "{why} instead of {told}");
    }
    assert!(read("", ENDLESS).expect_err("empty").contains("t: its first line is none of"));
    assert!(
        read("node,tier\na,host\n", ENDLESS).expect_err("no links").contains("t: has no links")
    );
}

#[test]
fn packets_that_overtake_others_are_counted_with_the_bytes_that_are_missing() {
    // Two ways, of which one takes 1.8 us longer: one and a half packets at 10 Gbps. Sprayed in turn, each packet
    // of the short way overtakes the one before it, and no other.
    let topology = "node,tier\na,host\nb,host\ns,leaf\nt,leaf\nm,spine\nn,spine\n\
                    from,to,rate,delay\na,s,10Gbps,1us\nb,t,10Gbps,1us\ns,m,10Gbps,1us\nm,t,10Gbps,1us\n\
                    s,n,10Gbps,1900ns\nn,t,10Gbps,1900ns\n";
    let more = |routing: &str| {
        format!(
            "[routing]\n{routing}\n[transport]\ninitial_window = 8\nreceive_window = 64\n[[traffic]]\n\
             kind = \"incast\"\nfrom = 0\nto = 1\nsizes = \"11680B\"\nconnections = \"fresh-no-handshake\"\n"
        )
    };
    let early = |routing: &str| {
        let mut run =
            Simulation::new(&read(topology, &more(routing)).expect("reads")).expect("builds");
        while run.advance(1 << 40) == switchbed_sim::Status::Running {}
        run.early()
    };
    let (packets, most) = early("kind = \"spray\"\norder = \"round-robin\"");
    // Of eight packets four take the short way; the first of all overtakes none.
    assert!((3..=4).contains(&packets), "{packets}");
    assert_eq!(most, Bytes::new(1460));
    assert_eq!(early("kind = \"ecmp\""), (0, Bytes::ZERO));
}
