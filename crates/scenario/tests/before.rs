//! What a check says before anything runs: loads of links, fields of protocols, small thresholds.

use std::path::Path;
use switchbed_config::param::ParamKind;
use switchbed_scenario::scheme::schemes;
use switchbed_scenario::{Plan, plans_of, to_toml};

const STAR: &str = r#"[topology]
kind = "star"
hosts = 5
rate = "1Gbps"
delay = "25us"
[switch]
buffer = "100KB"
[scheme]
name = "none"
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
from = "0-3"
to = 4
load = 0.2
flows = 2000
sizes = "20KB"
"#;

const FABRIC: &str = r#"[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 4
host_rate = "10Gbps"
host_delay = "1us"
[switch]
buffer = "300KB"
[scheme]
name = "none"
[transport]
kind = "dctcp"
[[traffic]]
kind = "poisson"
load = 0.4
flows = 100
sizes = "web-search"
"#;

fn read(text: &str, sets: &[&str]) -> Result<Vec<Plan>, String> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    plans_of("f.toml", text, Path::new("no-such-folder"), &sets, None)
        .map_err(|mistake| mistake.to_string())
}

fn cautions(text: &str, sets: &[&str]) -> String {
    read(text, sets).expect("a scenario")[0].cautions().join("; ")
}

#[test]
fn a_link_that_is_offered_more_than_it_carries_is_refused_unless_it_is_meant() {
    let many = STAR.replace("0.2", "0.9");
    let refused = read(&many, &[]).unwrap_err();
    assert!(
        refused.starts_with("f.toml:16: traffic.load is 0.9: it offers switch:4's link 3.6"),
        "{refused}"
    );
    assert!(refused.ends_with("or write overload = true to mean it"), "{refused}");
    let meant = many.replace("load = 0.9", "load = 0.9\noverload = true");
    let scenario = read(&meant, &[]).unwrap().remove(0).scenario;
    assert_eq!(read(&to_toml(&scenario), &[]).unwrap()[0].scenario, scenario);
    // What is not over 1 says nothing of an overload that was not one.
    let free = STAR.replace("load = 0.2", "load = 0.2\noverload = true");
    assert_eq!(read(&free, &[]).unwrap()[0].scenario, read(STAR, &[]).unwrap()[0].scenario);
}

#[test]
fn an_oversubscribed_fabrics_links_count_and_all_entries_together() {
    // Of 4 hosts' 0.4 four sevenths leave the leaf: 0.914 of its only uplink.
    let busiest = read(FABRIC, &[]).unwrap()[0].offered();
    assert_eq!(busiest[0].port, "leaf0:4");
    assert!(busiest[0].fabric && (busiest[0].load - 4.0 * 0.4 * 4.0 / 7.0).abs() < 1e-9);
    let refused = read(FABRIC, &["load=0.5"]).unwrap_err();
    assert!(
        refused.contains("traffic.load is 0.5: it offers leaf0:4's link 1.1429 times"),
        "{refused}"
    );
    let again =
        "[[traffic]]\nkind = \"incast\"\nto = 0\nsizes = \"64KB\"\nrounds = 9\nevery = \"1ms\"\n";
    let both = format!("{FABRIC}{again}");
    // 4 senders of the other leaf, 64 KB each a ms: 2.048 Gbps more.
    let refused = read(&both, &[]).unwrap_err();
    assert!(refused.contains("leaf1:4's link with 1 other entry 1.1191 times"), "{refused}");
    let meant = both.replace("every = \"1ms\"", "every = \"1ms\"\noverload = true");
    assert!(read(&meant, &[]).is_ok());
    let sources = "[[traffic]]\nkind = \"on-off\"\nfrom = \"0-2\"\nto = 4\nburst = \"10KB\"\nrate = \"400Mbps\"\nstop = \"1ms\"\n";
    let refused = read(&format!("{STAR}{sources}"), &[]).unwrap_err();
    assert!(
        refused.contains("traffic.1.rate is \"400Mbps\": it offers switch:4's link"),
        "{refused}"
    );
}

#[test]
fn a_link_that_an_event_makes_too_slow_for_its_load_is_said() {
    let event = |what: &str| format!("{FABRIC}[[event]]\nat = \"1ms\"\n{what}\nrate = \"5Gbps\"\n");
    let said = "from 1ms on, leaf0:4's link has 5Gbps ([[event]]) and is offered 1.8286 times what it carries";
    for what in ["link = \"leaf0-spine0\"", "port = \"leaf0:4\""] {
        let cautions = cautions(&event(what), &[]);
        assert!(cautions.contains(said), "{cautions}");
    }
    let enough = event("link = \"leaf0-spine0\"").replace("5Gbps", "9500Mbps");
    assert!(!cautions(&enough, &[]).contains("[[event]]"));
}

#[test]
fn thresholds_under_a_packet_are_said_at_each_ports_rate() {
    let with = |scheme: &str| STAR.replace("name = \"none\"", scheme);
    for (scheme, said) in [
        (
            "name = \"tcn\"\nparams = { threshold = \"5us\" }",
            "tcn's threshold is 5us, less than a packet's time at 1Gbps, 12us",
        ),
        ("name = \"codel\"\nparams = { ce_threshold = \"5us\" }", "codel's ce_threshold is 5us"),
        (
            "name = \"ecn-sharp\"\nparams = { ins_target = \"5us\", pst_target = \"4us\", pst_interval = \"1ms\" }",
            "ecn-sharp's ins_target is 5us",
        ),
        (
            "name = \"per-queue\"\nparams = { threshold = \"1KB\" }",
            "per-queue's threshold is 1KB, less than a packet, 1.5KB",
        ),
        ("name = \"red\"\nparams = { kmin = \"1KB\", kmax = \"30KB\" }", "red's kmin is 1KB"),
    ] {
        let found = cautions(&with(scheme), &[]);
        assert!(found.contains(said), "{scheme}: {found}");
        assert!(found.contains("(switch:0 and 4 other ports)"), "{found}");
    }
    let enough = with("name = \"tcn\"\nparams = { threshold = \"13us\" }");
    assert_eq!(cautions(&enough, &[]), "");
    // A port that an event slows down is as slow as that.
    let slowed =
        format!("{enough}[[event]]\nat = \"1ms\"\nport = \"switch:4\"\nrate = \"500Mbps\"\n");
    assert!(cautions(&slowed, &[]).contains("a packet's time at 500Mbps, 24us (switch:4)"));
    // A threshold for a line of another rate is in proportion.
    let scaled =
        with("name = \"red\"\nparams = { kmin = \"10KB\", kmax = \"30KB\", rate = \"10Gbps\" }");
    assert!(cautions(&scaled, &[]).contains("red's kmin is 10KB (1000B"));
}

#[test]
fn what_a_field_cannot_hold_is_refused_or_said() {
    let captured = STAR.replace("to = 4", "to = 4\nservice = \"random\"\nservices = 80")
        + "[measure]\ncapture = [\"switch:4\"]\n";
    let captured = captured.replace("[switch]", "[switch]\nclassify = \"single\"");
    let refused = read(&captured, &[]).unwrap_err();
    assert!(
        refused.contains("traffic has class 79") && refused.contains("six bits: classes 0 to 63"),
        "{refused}"
    );
    assert!(read(&captured.replace("services = 80", "services = 64"), &[]).is_ok());

    let hpcc = FABRIC.replace("dctcp", "hpcc");
    assert!(read(&hpcc, &[]).is_ok());
    for gbps in ["30", "56", "75", "76", "150", "300"] {
        let refused = read(&hpcc, &[&format!("topology.fabric_rate={gbps}Gbps")]).unwrap_err();
        let said = format!("topology has a link of {gbps}Gbps: hpcc knows a line by INT's code");
        assert!(refused.contains(&said) && refused.contains("25Gbps, 40Gbps"), "{refused}");
    }
    let event = format!("{hpcc}[[event]]\nat = \"1ms\"\nport = \"spine0:0\"\nrate = \"76Gbps\"\n");
    assert!(read(&event, &[]).unwrap_err().contains("changes spine0:0 to 76Gbps: hpcc knows"));
    let row = hpcc.replace(
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nhost_rate",
        "kind = \"parking-lot\"\nswitches = 6\nhosts_per_switch = 1\nrate",
    );
    let row = row.replace("host_delay", "delay").replace("load = 0.4", "load = 0.1");
    assert!(cautions(&row, &[]).contains("a way has 6 switches, and INT has space for 5"));
    assert_eq!(cautions(&row, &["topology.switches=5"]), "");

    // 8 s at 10 Gbps are 9.2 million packets of 1,086 bytes, and 24 bits tell half of 16.8 apart.
    let far = ["transport.kind=roce", "topology.fabric_delay=2s"];
    let said = cautions(FABRIC, &far);
    assert!(
        said.contains("holds 9.208e6 packets at 10Gbps, and a queue pair has 8388608"),
        "{said}"
    );
    assert!(!cautions(FABRIC, &[&far[..], &["roce.window=1GB"]].concat()).contains("PSNs"));
    assert!(
        !cautions(FABRIC, &["transport.kind=roce", "topology.fabric_delay=1s"]).contains("PSNs")
    );

    let pfc = FABRIC.replace("buffer = \"300KB\"", "queues = 8\npool = \"16MB\"")
        + "[switch.pfc]\npriorities = [3, 4]\nquanta = 4\n";
    let refused = read(&pfc, &[]).unwrap_err();
    assert!(
        refused.contains("switch.pfc.quanta is 4") && refused.ends_with("at least 5"),
        "{refused}"
    );
    assert!(
        cautions(&pfc.replace("quanta = 4", "quanta = 100"), &[])
            .contains("take 4.000 % of a line")
    );
    assert!(!cautions(&pfc.replace("quanta = 4", "quanta = 400"), &[]).contains("of a line"));
}

#[test]
fn loads_that_do_not_drain_with_headers_and_answers_are_said() {
    // 2,000 B are 2,104 in two packets; a SYN and two ACKs there and a SYN-ACK back are 52 each: 2,312 a flow and line.
    let all = STAR.replace("from = \"0-3\"\nto = 4\n", "").replace("\"20KB\"", "\"2KB\"");
    assert_eq!(cautions(&all, &["traffic.load=0.86"]), "");
    let said = cautions(&all, &["traffic.load=0.9"]);
    assert!(said.contains("link is offered 1.040 times what it carries"), "{said}");
    assert!(said.ends_with("loads of 0.96 of the scenario's drain"), "{said}");
    // Hosts that only send carry no answers: 2,208 there.
    let pairs = all.replace("kind = \"poisson\"", "kind = \"poisson\"\nfrom = [0, 1]\nto = [2, 3]");
    assert_eq!(cautions(&pairs, &["traffic.load=0.9"]), "");
    assert!(cautions(&pairs, &["traffic.load=0.92"]).contains("offered 1.016 times"));
    // Without a handshake, with longer headers, without answers.
    for (kind, times) in [("dcqcn", "1.015"), ("hpcc", "1.091")] {
        let said = cautions(
            &all,
            &["traffic.load=0.9", &format!("transport.kind={kind}"), "topology.rate=10Gbps"],
        );
        assert!(said.contains(&format!("offered {times} times")), "{kind}: {said}");
    }
    assert_eq!(cautions(&all, &["traffic.load=0.94", "transport.kind=udp"]), "");
    assert_eq!(cautions(&all, &["traffic.load=0.9", "traffic.connections=persistent"]), "");
    // Large flows have few headers, and what is meant is not said.
    assert_eq!(cautions(&all, &["traffic.load=0.93", "traffic.sizes=10MB"]), "");
    assert_eq!(cautions(&all, &["traffic.load=1.2", "traffic.overload=true"]), "");
}

/// [`FABRIC`] with two queues of schemes of their own.
fn by_queue(first: &str, second: &str) -> String {
    let queues = format!(
        "queues = 2\n[[switch.queue]]\nqueue = 0\nscheme = {first}\n[[switch.queue]]\nqueue = 1\nscheme = {second}\n"
    );
    FABRIC.replace("[scheme]", &format!("{queues}[scheme]"))
}

#[test]
fn thresholds_under_a_packet_are_said_with_queue_and_scheme() {
    let (low, high) =
        ("{ params.threshold = \"1KB\" }", "{ name = \"per-queue\", params.threshold = \"30KB\" }");
    let standard = |text: &str| {
        text.replace("name = \"none\"", "name = \"per-queue\"\nparams.threshold = \"60KB\"")
    };
    let found = cautions(&standard(&by_queue(low, high)), &[]);
    assert!(found.contains("per-queue's threshold (queue 0) is 1KB"), "{found}");
    let named = low.replace("{ params", "{ name = \"per-queue\", label = \"low\", params");
    let found = cautions(&standard(&by_queue(high, &named)), &[]);
    assert!(found.contains("low's threshold (per-queue, queue 1) is 1KB"), "{found}");
    assert!(found.contains("(leaf0:0 and 11 other ports)"), "{found}");
    // Both queues have it: it is the port's.
    let found = cautions(&standard(&by_queue(&named, &named)), &[]);
    assert!(found.contains("low's threshold (per-queue) is 1KB"), "{found}");
    // 4 KB divided 3 to 1: 3,000 and 1,000 bytes.
    let divided = FABRIC
        .replace(
            "[scheme]",
            "queues = 2\nquantum = [\"4500B\", \"1500B\"]\ndiscipline = \"dwrr\"\n[scheme]",
        )
        .replace("name = \"none\"", "name = \"per-queue-min\"\nparams.threshold = \"4KB\"");
    let found = cautions(&divided, &[]);
    assert!(found.contains("per-queue-min's threshold (queue 1) is 4KB (1000B there)"), "{found}");
}

#[test]
fn thresholds_are_looked_at_where_an_event_slows_a_link() {
    let tcn = FABRIC.replace("name = \"none\"", "name = \"tcn\"\nparams.threshold = \"2us\"");
    assert_eq!(cautions(&tcn, &[]), "");
    let event = |what: &str| format!("{tcn}[[event]]\nat = \"1ms\"\n{what}\nrate = \"5Gbps\"\n");
    for (what, ports) in [
        ("link = \"leaf0-spine0\"", "(leaf0:4 and 1 other port)"),
        ("link = \"host1-leaf0\"", "(leaf0:1)"),
        ("port = \"spine0:1\"", "(spine0:1)"),
    ] {
        let found = cautions(&event(what), &[]);
        let said =
            format!("tcn's threshold is 2us, less than a packet's time at 5Gbps, 2.4us {ports}");
        assert!(found.contains(&said), "{found}");
    }
    assert!(!cautions(&event("port = \"host1\""), &[]).contains("tcn"));
    // A card that is a port like the switch's has the scheme, too.
    let found = cautions(&event("port = \"host1\""), &["host.nic=switch"]);
    assert!(found.contains("2.4us (host1)"), "{found}");
    // So it is where only some hosts have such cards, whichever entry they are of.
    for (others, own, there) in [("unlimited", "switch", true), ("switch", "unlimited", false)] {
        let hosts = format!(
            "[[host]]\nprofile = \"ideal\"\nnic = \"{others}\"\n\
             [[host]]\nhosts = 1\nnic = \"{own}\"\n"
        );
        let file = event("port = \"host1\"").replace("[[traffic]]", &format!("{hosts}[[traffic]]"));
        assert_eq!(cautions(&file, &[]).contains("2.4us (host1)"), there, "{own}");
    }
}

#[test]
fn thresholds_of_deployed_schemes_are_looked_at_where_they_are() {
    let mixed = FABRIC.replace("host_delay", "fabric_rate = \"40Gbps\"\nhost_delay");
    let deploy = |scheme: &str, switches: &str, threshold: &str| {
        format!(
            "[[deploy]]\nswitches = \"{switches}\"\nscheme = {{ name = \"{scheme}\", params.threshold = \"{threshold}\" }}\n"
        )
    };
    // 1,500 bytes take 300 ns at 40 Gbps and 1.2 us at 10 Gbps; the spine has no port of 10 Gbps.
    let spine = format!("{mixed}{}", deploy("tcn", "spine", "1us"));
    assert_eq!(cautions(&spine, &[]), "");
    let leaf = format!("{mixed}{}", deploy("tcn", "leaf0", "1us"));
    let found = cautions(&leaf, &[]);
    assert!(found.contains("(leaf0:0 and 3 other ports)"), "{found}");
    // [scheme] is nowhere but at the leaves.
    let everywhere = mixed.replace("name = \"none\"", "name = \"tcn\"\nparams.threshold = \"1us\"");
    let both = format!("{everywhere}{}", deploy("tcn", "leaf", "2us"));
    assert_eq!(cautions(&both, &[]), "");
    assert!(cautions(&everywhere, &[]).contains("(leaf0:0 and 7 other ports)"));
    // An event at the deployed switch is that scheme's.
    let slowed =
        format!("{spine}[[event]]\nat = \"1ms\"\nlink = \"leaf1-spine0\"\nrate = \"10Gbps\"\n");
    assert!(cautions(&slowed, &[]).contains("1.2us (spine0:1)"));
}

#[test]
fn what_an_override_makes_refuse_all_is_named_by_the_override() {
    let refused = read(STAR, &["switch.policy=dynamic", "switch.pool=100KB", "switch.alpha=0.001"]);
    let refused = refused.unwrap_err();
    assert!(refused.starts_with("--set switch.alpha=0.001: switch.alpha is 0.001"), "{refused}");
    assert!(refused.ends_with("it must be at least 0.015"), "{refused}");
    let file = STAR.replace(
        "buffer = \"100KB\"",
        "buffer = \"100KB\"\npolicy = \"dynamic\"\npool = \"100KB\"\nalpha = 0.001",
    );
    let refused = read(&file, &[]).unwrap_err();
    assert!(refused.starts_with("f.toml:10: switch.alpha is 0.001"), "{refused}");
}

/// Sizes, times and fractions that no queue and no wait is compared with.
const NOT_COMPARED: &[(&str, &[&str])] = &[
    ("a probability, or a step of one", &["pmax", "ecn_up_to", "increment", "decrement"]),
    ("a weight", &["alpha", "beta", "weight", "w_s", "classic_weight"]),
    ("the spread of a period", &["jitter"]),
    ("a period", &["interval", "pst_interval", "t_update", "t_s", "period", "clock", "t_idle"]),
    ("how long it is quiet, or looks ahead", &["max_burst", "t_a", "base_rtt"]),
    ("a packet's or a burst's size", &["header", "burst", "cell", "quantum"]),
    ("what a sender sends, not what waits", &["active_threshold"]),
    ("what all queues hold before the longest loses packets", &["memory_limit"]),
];

#[test]
fn every_schemes_threshold_is_said_where_it_is_under_a_packet() {
    let mut unknown = Vec::new();
    for scheme in schemes() {
        let mut small = Vec::new();
        let mut given = Vec::new();
        for param in scheme.params {
            let value = match param.kind {
                ParamKind::Threshold if param.name == "k2" => "\"1100B\"",
                ParamKind::Threshold => "\"1KB\"",
                ParamKind::Wait => "\"1us\"",
                ParamKind::Part => "0.001",
                _ if param.name == "t_i" => "\"1us\"",
                ParamKind::Size | ParamKind::Time => {
                    let known = NOT_COMPARED.iter().any(|(_, names)| names.contains(&param.name));
                    if !known {
                        unknown.push(format!("{}.{}", scheme.name, param.name));
                    }
                    if !param.required && !["t_a"].contains(&param.name) {
                        continue;
                    }
                    "\"100us\""
                }
                ParamKind::Number { min, max } if max <= 1.0 && min < 0.01 => {
                    let known = NOT_COMPARED.iter().any(|(_, names)| names.contains(&param.name));
                    if !known {
                        unknown.push(format!("{}.{}", scheme.name, param.name));
                    }
                    continue;
                }
                _ => continue,
            };
            given.push(format!("{} = {value}", param.name));
            if !matches!(param.kind, ParamKind::Size | ParamKind::Time) || param.name == "t_i" {
                small.push(param.name);
            }
        }
        if scheme.name == "python" {
            continue;
        }
        let text = STAR
            .replace("buffer = \"100KB\"", "buffer = \"100KB\"\npool = \"1MB\"")
            .replace("name = \"none\"", &format!("name = \"{}\"", scheme.name))
            .replace("[transport]", &format!("[scheme.params]\n{}\n[transport]", given.join("\n")));
        let found = cautions(&text, &[]);
        for name in small {
            let said = format!("{}'s {name} is ", scheme.name);
            assert!(found.contains(&said), "{said}: {found}");
        }
    }
    assert!(unknown.is_empty(), "are these compared with a queue or a wait? {unknown:?}");
}

#[test]
fn parts_of_memory_are_said_by_what_they_are_at_a_port() {
    let with = |scheme: &str, memory: &str| {
        STAR.replace("buffer = \"100KB\"", &format!("memory = \"{memory}\""))
            .replace("name = \"none\"", scheme)
    };
    // 500 KB are 100 KB a port of five, and 20 KB a crosspoint.
    let marks = |name: &str, part: &str| {
        with(&format!("name = \"{name}\"\nparams.ecn_threshold = {part}"), "500KB")
    };
    let said = "cqrd's ecn_threshold is 0.07 (1400B there), less than a packet, 1.5KB";
    let found = cautions(&marks("cqrd", "0.07"), &[]);
    assert!(found.contains(said) && found.contains("(switch:0 and 4 other ports)"), "{found}");
    assert_eq!(cautions(&marks("cq", "0.08"), &[]), "");
    assert_eq!(cautions(&marks("oq", "0.02"), &[]), "");
    assert!(cautions(&marks("oq", "0.01"), &[]).contains("is 0.01 (1000B there)"));
    // Two queues of half of 100 KB.
    assert!(cautions(&marks("hcf", "0.02"), &[]).contains("is 0.02 (1000B there)"));
    assert_eq!(cautions(&marks("hcf", "0.03"), &[]), "");
    // RED's default is half of a queue's memory: 20 KB over five inputs are enough, one packet's are not.
    let red = |memory: &str| with("name = \"cqrd-configured\"", memory);
    assert_eq!(cautions(&red("500KB"), &[]), "");
    let found = cautions(&red("50KB"), &[]);
    assert!(found.contains("cqrd-configured's kmin is 0.5 (1000B there)"), "{found}");
    assert!(!found.contains("kmax"), "{found}");
    // Memory and scheme of switches of their own, with as many ports as each has.
    let mixed = FABRIC.replace("buffer = \"300KB\"", "memory = \"500KB\"")
        + "[[deploy]]\nswitches = \"spine\"\nmemory = \"20KB\"\n\
           scheme = { name = \"oq\", params.ecn_threshold = 0.1 }\n";
    let found = cautions(&mixed, &[]);
    assert!(found.contains("oq's ecn_threshold is 0.1 (1000B there)"), "{found}");
    assert!(found.contains("(spine0:0 and 1 other port)"), "{found}");
    let memory = mixed.replace("name = \"none\"", "name = \"oq\"\nparams.ecn_threshold = 0.1");
    let memory = memory.replace("scheme = { name = \"oq\", params.ecn_threshold = 0.1 }\n", "");
    let found = cautions(&memory, &[]);
    assert!(found.contains("(spine0:0 and 1 other port)"), "{found}");
}

#[test]
fn defaults_that_a_slow_line_makes_small_are_said() {
    // At 1 Mbps a packet takes 12 ms: over CoDel's target of 5 ms and DualPI2's step of 1 ms, under PIE's of 15 ms.
    let slow = |scheme: &str| {
        STAR.replace("name = \"none\"", &format!("name = \"{scheme}\"")).replace("1Gbps", "1Mbps")
    };
    for (scheme, said) in [
        ("codel", "codel's target is 5ms, less than a packet's time at 1Mbps, 12ms"),
        ("fq-codel", "fq-codel's target is 5ms"),
        ("cobalt", "cobalt's target is 5ms"),
        ("dualpi2", "dualpi2's step is 1ms"),
    ] {
        let found = cautions(&slow(scheme), &[]);
        assert!(found.contains(said), "{scheme}: {found}");
    }
    for scheme in ["pie", "fq-pie"] {
        assert!(!cautions(&slow(scheme), &[]).contains("target"), "{scheme}");
    }
    let growth = "name = \"s-ecn\"\nparams.t_i_packets = 0.5";
    let found = cautions(&STAR.replace("name = \"none\"", growth), &[]);
    assert!(found.contains("s-ecn's t_i_packets is 0.5, less than a packet's time"), "{found}");
    assert!(found.contains("growth over it means nothing"), "{found}");
    let given = growth.replace("t_i_packets = 0.5", "t_i = \"20us\"\nparams.t_i_packets = 0.5");
    assert_eq!(cautions(&STAR.replace("name = \"none\"", &given), &[]), "");
    let enough = growth.replace("0.5", "1");
    assert_eq!(cautions(&STAR.replace("name = \"none\"", &enough), &[]), "");
}
