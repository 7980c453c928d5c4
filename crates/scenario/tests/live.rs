//! The file of a live switch: what it becomes, and what is refused.

use switchbed_scenario::live::{Attach, Live, Route};
use switchbed_scenario::live_of;
use switchbed_units::{Bytes, Rate, Span};

const GOOD: &str = r#"
title = "Two hosts"
[live]
rate = "1Gbps"
delay = "50us"
classes = ["8-15=1", "46=1"]
routes = ["02:00:00:00:00:0a=left"]
[[port]]
name = "left"
netns = "a"
address = "10.0.0.1/24"
[[port]]
name = "right"
device = "interface"
rate = "100Mbps"
[switch]
queues = 2
buffer = "100pkt"
[scheme]
name = "per-queue"
params = { threshold = "20pkt" }
"#;

fn read(text: &str, sets: &[&str]) -> Result<Live, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    live_of("sw.toml", text, &sets).map(|(live, _)| live).map_err(|mistake| mistake.to_string())
}

#[test]
fn a_file_is_read_whole() {
    let live = read(GOOD, &[]).unwrap();
    assert_eq!(live.live.fraction, 0.995);
    assert_eq!(live.switch.buffer, Bytes::new(150_000));
    assert_eq!(live.live.classes[7..17], [7, 1, 1, 1, 1, 1, 1, 1, 1, 16]);
    assert_eq!(live.live.classes[46], 1);
    let route = Route { station: [2, 0, 0, 0, 0, 10], port: 0, name: "left".to_owned() };
    assert_eq!(live.live.routes, [route]);
    let [left, right] = &live.port[..] else { panic!("{:?}", live.port) };
    assert_eq!((left.rate, left.delay), (Rate::from_gbps(1), Span::from_us(50)));
    assert_eq!(right.rate, Rate::from_mbps(100));
    assert_eq!(right.attach, Attach::Interface);
    let tap = Attach::Tap { netns: Some("a".into()), address: Some("10.0.0.1/24".into()) };
    assert_eq!(left.attach, tap);
}

#[test]
fn a_value_can_be_set() {
    let set = |sets: &[&str]| read(GOOD, sets).unwrap();
    let changed = set(&["scheme.params.threshold=3pkt", "switch.buffer=30KB", "live.bucket=2500B"]);
    assert_eq!(changed.switch.buffer, Bytes::new(30_000));
    assert_eq!(changed.live.bucket, Some(Bytes::new(2500)));
    assert_ne!(changed.scheme, set(&[]).scheme);
    assert_eq!(set(&["port.right.rate=10Mbps"]).port[1].rate, Rate::from_mbps(10));
    let mq_ecn = set(&["scheme=mq-ecn", "scheme.params.beta=0.5"]);
    assert_eq!(mq_ecn.scheme.name(), "mq-ecn");
}

#[test]
fn mistakes_are_one_line_that_says_where_and_what() {
    let but = |old: &str, new: &str| read(&GOOD.replacen(old, new, 1), &[]).unwrap_err();
    let cases = [
        (but("[live]", "[lvie]"), "sw.toml:3: lvie is unknown: did you mean live?"),
        (but("rate = \"1Gbps\"", "rate = \"1Gbit\""), "sw.toml:4: live.rate is \"1Gbit\""),
        (
            but("rate = \"1Gbps\"", "rate = \"200Gbps\""),
            "sw.toml:4: live.rate is \"200Gbps\": a live port's rate is from",
        ),
        (but("\"46=1\"", "\"64=1\""), "sw.toml:6: live.classes.1 is \"64=1\": it must be a DSCP"),
        (
            but("46=1", "46=2"),
            "live.classes.1 is \"46=2\": class 2 has no queue: switch.queues is 2",
        ),
        (but("0a=left", "0a=lef"), "live.routes.0 is \"02:00:00:00:00:0a=lef\": there is no such"),
        (but("02:00:00", "02:00"), "it must be a station and a port"),
        (but("name = \"left\"", "name = \"\""), "sw.toml:9: port.0.name is \"\": an interface"),
        (but("name = \"left\"", "name = \"right\""), "port.1.name is \"right\": two ports"),
        (but("10.0.0.1/24", "10.0.0.1/33"), "port.0.address is \"10.0.0.1/33\""),
        (but("rate = \"100Mbps\"", "netns = \"b\""), "port.1.netns does not apply to device"),
        (but("rate = \"100Mbps\"", "rate = \"1kbps\""), "a live port's rate is from 10kbps"),
        (
            but("[[port]]\nname = \"right\"\ndevice = \"interface\"\nrate = \"100Mbps\"", ""),
            "at least two",
        ),
        (but("20pkt", "200pkt"), "scheme.params.threshold is \"200pkt\": it is over the buffer"),
        (but("delay = \"50us\"", "bucket = \"100B\""), "live.bucket is \"100B\": it must hold"),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected) && !found.contains('\n'), "{found}\n{expected}");
    }
}

#[test]
fn a_bad_override_names_itself() {
    for (set, expected) in [
        ("live.rate", "set live.rate: an override is written key=value"),
        ("rate=1Gbps", "set rate=1Gbps: rate cannot be set: write switch.KEY"),
        ("port.up.rate=1Gbps", "port.up.rate names no port: there are left or right"),
        ("live.fraction=2", "set live.fraction=2: live.fraction is 2: it must be from 0.01 to 1"),
        ("scheme=mq", "there is no such scheme"),
        (
            "scheme=purple",
            "one of your own is among them once its package is installed (docs/plug-in.md)",
        ),
        ("scheme=red", "set scheme=red: scheme.params.kmax is missing: write kmax"),
        ("scheme.name=red", "set scheme.name=red: scheme.params.kmax is missing"),
        ("scheme={ name = 'red' }", "set scheme={ name = 'red' }: scheme.params.kmax is missing"),
    ] {
        let found = read(GOOD, &[set]).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn another_scheme_drops_the_parameters_of_the_old_one_and_says_so() {
    let red = GOOD.replace("per-queue", "red").replace("threshold = \"20pkt\"", "kmax = \"20pkt\"");
    let set = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        live_of("sw.toml", &red, &sets).map_err(|mistake| mistake.to_string())
    };
    let threshold = "scheme.params.threshold=5pkt";
    // Whatever holds it: the file or an earlier override, and whoever sets what first.
    for sets in [
        &["scheme=per-queue", threshold][..],
        &["scheme.name=per-queue", threshold],
        &[threshold, "scheme=per-queue"],
        &["scheme.params.kmin=1pkt", "scheme={ name = \"per-queue\" }", threshold],
    ] {
        let (live, notes) = set(sets).unwrap();
        assert_eq!(live.scheme.name(), "per-queue", "{sets:?}");
        let [note] = &notes[..] else { panic!("{sets:?}: {notes:?}") };
        assert!(note.starts_with("kmax") && note.contains("of scheme red dropped"), "{note}");
    }
    // Back again, they are gone; what both have stays; nobody's is nobody's.
    assert!(set(&["scheme=none", "scheme=red"]).unwrap_err().contains("kmax"));
    let threshold_of = |sets| read(GOOD, sets).unwrap().scheme.params()["threshold"].clone();
    assert_eq!(threshold_of(&["scheme=mq-ecn"]), threshold_of(&[]));
    assert_eq!(set(&["switch.buffer=50pkt"]).unwrap().1, Vec::<String>::new());
    let mistake = set(&["scheme=per-queue", threshold, "scheme.params.kmax=3pkt"]).unwrap_err();
    assert!(mistake.contains("no parameter of per-queue"), "{mistake}");
}

#[test]
fn it_shows_the_classes_and_routes_as_a_file_has_them() {
    let shown = serde_json::to_value(read(GOOD, &[]).unwrap()).unwrap();
    // 1 is class 1 of itself: that need not be said.
    assert_eq!(shown["live"]["classes"], serde_json::json!(["8-15=1", "46=1"]));
    assert_eq!(shown["live"]["routes"], serde_json::json!(["02:00:00:00:00:0a=left"]));
}
