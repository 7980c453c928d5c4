//! The least and the greatest that each key may be, by the tables of keys, is run for a while or
//! refused in one line.

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;
use switchbed_config::param::{Param, ParamKind};
use switchbed_scenario::SECTIONS;
use switchbed_scenario::Scenario;
use switchbed_scenario::event::Change;
use switchbed_scenario::plans_of;
use switchbed_scenario::scheme::schemes;
use switchbed_sim::{Simulation, Status};

/// Keys that a scenario of this topology, transport and traffic needs, and a short end.
fn base(topology: &str, transport: &str, traffic: &str) -> String {
    format!(
        r#"
        [topology]
        {topology}
        [switch]
        queues = 2
        buffer = "300KB"
        [scheme]
        name = "per-queue"
        params.threshold = "20pkt"
        [transport]
        kind = "{transport}"
        [[traffic]]
        {traffic}
        [measure]
        queues = "off"
        [run]
        until = "20us"
        "#
    )
}

const STAR: &str = r#"
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us""#;
const POISSON: &str = r#"
kind = "poisson"
load = 0.5
flows = 20
sizes = "10KB""#;
const LONG_LIVED: &str = r#"
kind = "long-lived"
from = 0
to = 1"#;

/// Networks of every kind.
fn networks() -> Vec<String> {
    let of_hosts = "host_rate = \"10Gbps\"\nhost_delay = \"1us\"";
    let topologies = [
        STAR.to_owned(),
        "kind = \"dumbbell\"\nleft = 2\nright = 2\nrate = \"10Gbps\"\ndelay = \"1us\"".to_owned(),
        "kind = \"parking-lot\"\nswitches = 3\nhosts_per_switch = 1\nrate = \"10Gbps\"\ndelay = \"1us\""
            .to_owned(),
        format!("kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n{of_hosts}"),
        format!("kind = \"fat-tree\"\nk = 4\n{of_hosts}"),
        format!(
            "kind = \"clos\"\npods = 2\nedges_per_pod = 1\naggregations_per_pod = 1\ncores = 1\n\
             hosts_per_edge = 1\n{of_hosts}"
        ),
    ];
    topologies.iter().map(|topology| base(topology, "dctcp", POISSON)).collect()
}

/// Stars in which every other key has a place, each with the sections that it is for.
fn stars() -> Vec<(String, &'static [&'static str])> {
    let traffic = [
        "kind = \"log-normal\"\nsigma = 1\nload = 0.5\nflows = 20\nsizes = \"10KB\"",
        "kind = \"request-response\"\nload = 0.5\nflows = 20\nsizes = \"10KB\"\nfrom = 0\nto = 1",
        "kind = \"incast\"\nfrom = 0\nto = 1\nsizes = \"10KB\"\nevery = \"5us\"",
        "kind = \"on-off\"\nto = 1\nburst = \"10KB\"\nrate = \"1Gbps\"",
        "kind = \"long-lived\"\nto = 1\nstagger = \"1us\"\n[[traffic]]\nkind = \"probe\"\nto = 1\nevery = \"1us\"",
        LONG_LIVED,
    ];
    let events = format!(
        "{LONG_LIVED}\n[[event]]\nat = \"5us\"\nport = \"switch:1\"\nrate = \"1Gbps\"\n\
         [[event]]\nat = \"6us\"\nclass = 0\nweight = 2"
    );
    let star: &[&str] =
        &["switch", "scheme", "deploy", "host", "transport", "traffic", "measure", "run"];
    let traffic = traffic.map(|traffic| (base(STAR, "dctcp", traffic), &["traffic"][..]));
    let transports =
        ["bbr", "bbr3", "cubic", "reno", "ecn*", "udp", "dcqcn", "timely", "hpcc", "swift", "roce"]
            .map(|kind| (base(STAR, kind, POISSON), &["transport", "roce"][..]));
    let afqcn = base(STAR, "udp", &events)
        .replace("\"per-queue\"", "\"af-qcn\"")
        .replace("params.threshold = \"20pkt\"", "");
    [(base(STAR, "dctcp", POISSON), star), (afqcn, &["reaction", "event"])]
        .into_iter()
        .chain(traffic)
        .chain(transports)
        .collect()
}

/// The ends of what a key takes, and its place below `key`.
fn ends(key: &str, kind: &ParamKind) -> Vec<(String, String)> {
    let all = |values: &[&str]| values.iter().map(|v| (key.to_owned(), v.to_string())).collect();
    match kind {
        ParamKind::Count { min, max } => all(&[&min.to_string(), &max.to_string()]),
        ParamKind::Number { min, max } => {
            let max = if max.is_finite() { *max } else { f64::MAX };
            all(&[&format!("{min:?}"), &format!("{max:?}")])
        }
        ParamKind::Size | ParamKind::Threshold => all(&["0B", "1B", "1000GB"]),
        ParamKind::Time | ParamKind::Wait => all(&["0ps", "1ns", "100000s"]),
        ParamKind::Rate => all(&["1bps", "100Tbps", "1000000Tbps"]),
        ParamKind::Part => all(&["0.0", "1.0"]),
        ParamKind::Packets => all(&["1pkt", "4294967295pkt"]),
        ParamKind::List(item) => {
            ends(key, item).into_iter().map(|(key, value)| (key, format!("[{value}]"))).collect()
        }
        ParamKind::Either(kinds) => kinds.iter().flat_map(|kind| ends(key, kind)).collect(),
        ParamKind::Named(named) => ends(key, &named.form),
        ParamKind::Table(keys) => {
            keys.iter().flat_map(|p| ends(&format!("{key}.{}", p.name), &p.kind)).collect()
        }
        ParamKind::Tables(keys) => {
            let given = |(inner, value): (String, String)| {
                let value = if value.parse::<f64>().is_ok() { value } else { format!("{value:?}") };
                (key.to_owned(), format!("[{{ queue = 0, {inner} = {value} }}]"))
            };
            let others = keys.iter().filter(|param| param.name != "queue");
            others.flat_map(|p| ends(p.name, &p.kind)).map(given).collect()
        }
        ParamKind::Word(_) | ParamKind::Flag | ParamKind::Text | ParamKind::SchemeParams => {
            Vec::new()
        }
    }
}

/// Runs the scenario for some four thousand events, or shows the line that refuses it.
fn try_out(text: &str, sets: &[String]) -> Result<Scenario, String> {
    let plans = plans_of("f.toml", text, Path::new(""), sets, None);
    let plans = plans.map_err(|mistake| mistake.to_string())?;
    let scenario = &plans[0].scenario;
    let mut simulation = Simulation::new(scenario).map_err(|error| error.to_string())?;
    for _ in 0..2 {
        if simulation.advance(2_000) == Status::Finished {
            break;
        }
    }
    for report in simulation.port_reports() {
        assert!((0.0..=1.0).contains(&report.utilisation), "{sets:?}: {}", report.utilisation);
    }
    Ok(scenario.clone())
}

/// How often these keys were run and refused; one that panics is named.
fn try_all(text: &str, keys: impl IntoIterator<Item = (String, String)>) -> (u32, u32) {
    let (mut run, mut refused) = (0, 0);
    try_out(text, &[]).unwrap_or_else(|line| panic!("{line}\n{text}"));
    let mut panicked = Vec::new();
    for (key, value) in keys {
        let set = format!("{key}={value}");
        match catch_unwind(|| try_out(text, std::slice::from_ref(&set))) {
            Ok(Ok(_)) => run += 1,
            Ok(Err(line)) => {
                refused += 1;
                assert!(!line.contains('\n') && line.contains(": "), "{line}");
            }
            Err(_) => panicked.push(set),
        }
    }
    assert!(panicked.is_empty(), "{panicked:?}\n{text}");
    (run, refused)
}

fn keys_of(section: &str, place: &str, keys: &[Param]) -> Vec<(String, String)> {
    let of = |param: &Param| ends(&format!("{section}{place}.{}", param.name), &param.kind);
    keys.iter().flat_map(of).collect()
}

/// Each key where it has a place, or with `SWITCHBED_WHOLE` set in each network.
#[test]
fn every_key_at_both_ends_runs_or_is_refused() {
    let whole = std::env::var_os("SWITCHBED_WHOLE").is_some();
    let networks = networks().into_iter().map(|text| (text, &["topology"][..]));
    let (mut run, mut refused) = (0, 0);
    for (text, sections) in networks.chain(stars()) {
        let tried = SECTIONS.iter().filter(|section| whole || sections.contains(&section.name));
        let keys = tried.flat_map(|section| {
            keys_of(section.name, if section.repeated { ".0" } else { "" }, section.keys)
        });
        // Each takes seconds: `make validate` tries both, in networks of every kind.
        let large = ["flows_each=1000000", "topology.k=88"];
        let keys: BTreeSet<_> = keys
            .filter(|(key, value)| {
                whole || !large.iter().any(|set| format!("{key}={value}").ends_with(set))
            })
            .collect();
        let tried = try_all(&text, keys);
        (run, refused) = (run + tried.0, refused + tried.1);
    }
    assert!(run > 1000 && refused > 500, "{run} run, {refused} refused");
}

#[test]
fn every_schemes_parameters_at_both_ends_run_or_are_refused() {
    for scheme in schemes() {
        if scheme.name == "python" {
            continue;
        }
        // What each must be given, and one of two for these.
        let needed = scheme.params.iter().filter(|param| param.required);
        let or_else = match scheme.name {
            "cedm" => "params.k2 = \"30pkt\"",
            "e-ecn" => "params.t_a = \"10us\"",
            "red" => "params.kmax = \"20pkt\"",
            _ => "",
        };
        let given = needed.map(|param| match param.kind {
            ParamKind::Time | ParamKind::Wait => format!("params.{} = \"20us\"\n", param.name),
            _ => format!("params.{} = \"20pkt\"\n", param.name),
        });
        let given: String = given.chain([or_else.to_owned()]).collect();
        let text = base(STAR, "dctcp", POISSON)
            .replace("\"per-queue\"", &format!("\"{}\"", scheme.name))
            .replace("params.threshold = \"20pkt\"", &given)
            .replace("buffer = \"300KB\"", "buffer = \"300KB\"\npool = \"1MB\"")
            .replace("queues = 2", "queues = 8");
        try_all(&text, keys_of("scheme.params", "", scheme.params));
    }
}

#[test]
fn the_slowest_link_and_the_longest_way_carry_packets() {
    // An ACK with three SACK blocks is longer than a full packet here.
    let topology = "kind = \"star\"\nhosts = 3\nrate = \"103bps\"\ndelay = \"5s\"";
    let text = base(topology, "dctcp", "kind = \"poisson\"\nload = 1\nflows = 8\nsizes = \"90B\"")
        .replace("until = \"20us\"", "until = \"3000s\"")
        .replace("[switch]", "[host]\nmtu = \"64B\"\ndelay = \"5s\"\n[switch]");
    let scenario = try_out(&text, &[]).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    while simulation.advance(1_000) == Status::Running {}
    assert!(simulation.packet_hops() > 50);
}

#[test]
fn what_is_too_much_names_the_limit() {
    let star = base(STAR, "dctcp", LONG_LIVED);
    let spine = "kind = \"leaf-spine\"\nleaves = 500\nspines = 500\nhosts_per_leaf = 600\n\
                 host_rate = \"10Gbps\"\nhost_delay = \"1us\"";
    let spine = base(spine, "dctcp", POISSON);
    let crowd = star.replace("hosts = 4", "hosts = 60000").replace("from = 0", "from = \"all\"");
    for (text, set, expected) in [
        (&star, "topology.hosts=1000000", "it must be a whole number from 2 to 65535"),
        (&star, "topology.rate=1000000Tbps", "it must be at most 100000Gbps"),
        (
            &star,
            "topology.rate=2399bps",
            "a packet of host.mtu, 1.5KB, may take 5s: at least 2.4kbps",
        ),
        (&star, "topology.delay=100000s", "it must be at most 5s"),
        (&star, "host.delay=6s", "it must be at most 5s"),
        (&star, "run.until=100001s", "it must be at most 100000s"),
        (&star, "switch.buffer=2000GB", "it must be at most 1000GB"),
        (&spine, "load=0.5", "that makes 1100000 ports with the hosts' own; at most 1048575"),
        (&crowd, "traffic.flows_each=300", "that makes 17999700 flows at a time; at most 16777215"),
    ] {
        let line = try_out(text, &[set.to_owned()]).unwrap_err();
        assert!(line.ends_with(expected), "{line}\ninstead of\n{expected}");
    }
}

#[test]
fn a_port_that_goes_down_is_said_so() {
    let text = base(STAR, "dctcp", LONG_LIVED) + "\n[[event]]\nat = \"5us\"\nport = \"switch:1\"\n";
    let scenario = try_out(&(text.clone() + "up = false"), &[]).unwrap();
    assert!(matches!(scenario.event[0].change, Change::Link { up: false, .. }));
    for rate in ["0bps", "1bps"] {
        let line = try_out(&format!("{text}rate = \"{rate}\""), &[]).unwrap_err();
        assert!(line.ends_with("(up = false is down)"), "{line}");
    }
    let line = try_out(&text, &[]).unwrap_err();
    assert!(line.ends_with("write rate = \"10Gbps\", or up = false, or lose = [3]"), "{line}");
    let both = try_out(&format!("{text}rate = \"1Gbps\"\nup = true"), &[]).unwrap_err();
    assert!(
        both.contains("event.rate does not apply to a port that goes down or comes up"),
        "{both}"
    );
}

#[test]
fn what_waits_behind_a_port_that_stays_down_needs_an_end() {
    let up = |at: u32, up: bool| {
        format!("\n[[event]]\nat = \"{at}us\"\nport = \"switch:1\"\nup = {up}\n")
    };
    let base = base(STAR, "dctcp", POISSON);
    let without = base.split("[run]").next().unwrap();
    for (events, refused) in [
        (up(5, false), true),
        (up(5, false) + &up(9, true), false),
        (up(9, true) + &up(5, false), false),
        (up(5, true) + &up(9, false), true),
        (up(5, false) + &up(9, true) + &up(12, false), true),
    ] {
        let found = plans_of("f.toml", &format!("{without}{events}"), Path::new(""), &[], None);
        let line = found.err().map(|mistake| mistake.to_string());
        assert_eq!(line.is_some(), refused, "{events}{line:?}");
        if let Some(line) = line {
            let why = "switch:1 stays down, and what waits for it never ends: let it come up again, or give until in [run]";
            assert!(line.ends_with(why), "{line}");
        }
        let sets = ["run.until=\"50us\"".to_owned()];
        try_out(&format!("{without}{events}"), &sets).unwrap();
    }
}
