//! What a file, its comparison and the overrides make together.

use std::path::Path;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::traffic::{Entry, Poisson};
use switchbed_scenario::{Plan, Sizes, Traffic, plans_of};

const FILE: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
delay = "1us"
[switch]
buffer = "300KB"
[scheme.params]
threshold = "65pkt"
[[traffic]]
kind = "poisson"
load = 0.5
flows = 10
sizes = "64KB"
[[traffic]]
kind = "poisson"
load = 0.2
flows = 20
sizes = "1KB"
from = [3, "0-1"]
[compare]
scheme = ["per-queue", { name = "mq-ecn", label = "fast", params = { beta = 0.5, threshold = "9pkt" } }]
load = [0.1, "50%"]
"#;

fn plans(text: &str, sets: &[&str], seed: Option<u64>) -> Vec<Plan> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    plans_of("f.toml", text, Path::new(""), &sets, seed).unwrap_or_else(|m| panic!("{m}"))
}

fn labels(sets: &[&str]) -> Vec<String> {
    plans(FILE, sets, None).iter().map(Plan::label).collect()
}

fn param(plan: &Plan, name: &str) -> String {
    match &plan.scenario.scheme.params()[name] {
        Value::Number(x) => x.to_string(),
        Value::Bytes(size) => size.to_string(),
        other => format!("{other:?}"),
    }
}

/// Each source's load, flows and sizes.
fn sources(plan: &Plan) -> Vec<(f64, u64, &[Sizes])> {
    let source = |entry: &Entry| matches!(entry.source, Traffic::Poisson(_));
    assert!(plan.scenario.traffic.iter().all(source));
    let poisson = plan.scenario.traffic.iter().filter_map(|traffic| match &traffic.source {
        Traffic::Poisson(Poisson { load, .. }) => Some((load.load, load.flows, &*load.sizes)),
        _ => None,
    });
    poisson.collect()
}

#[test]
fn the_first_key_is_the_slowest() {
    let all = plans(FILE, &[], None);
    let labels: Vec<String> = all.iter().map(Plan::label).collect();
    assert_eq!(
        labels,
        [
            "scheme=per-queue load=0.1",
            "scheme=per-queue load=50%",
            "scheme=fast load=0.1",
            "scheme=fast load=50%"
        ]
    );
    // load stands for every source's.
    let loads: Vec<f64> = sources(&all[1]).iter().map(|source| source.0).collect();
    assert_eq!(loads, [0.5, 0.5]);
    assert_eq!(sources(&all[0])[1].0, 0.1);
    let scheme = &all[2].scenario.scheme;
    assert_eq!((scheme.name(), scheme.label.as_str()), ("mq-ecn", "fast"));
    assert_eq!(all[0].scenario.scheme.label, "per-queue");
    assert!(all.iter().all(|plan| plan.scenario.run.seed == 1));
}

#[test]
fn a_compared_scheme_without_a_parameter_is_refused_at_its_own_line() {
    let text = FILE.replace("[\"per-queue\",", "[\"per-queue\", \"red\",");
    let refused = |text: &str| plans_of("f.toml", text, Path::new(""), &[], None).unwrap_err();
    let line = 1 + text.lines().position(|line| line.starts_with("scheme =")).unwrap() as u32;
    let mistake = refused(&text);
    assert_eq!((mistake.line, &*mistake.key), (Some(line), "scheme.params.kmax"));
    let text = FILE.replace("[\"per-queue\",", "[\"per-queue\", \"tcn\",");
    assert!(refused(&text).message.ends_with("a time is needed, such as \"85.2us\" (scheme tcn)"));
    // A value that is wrong keeps the line where it was written.
    let mistake = refused(&text.replace("65pkt", "-1pkt"));
    assert_eq!((mistake.line, &*mistake.key), (Some(10), "scheme.params.threshold"));
}

#[test]
fn shared_parameters_hold_where_a_scheme_has_them_and_gives_none() {
    let text = FILE.replace("threshold = \"65pkt\"", "threshold = \"65pkt\"\nt_idle = \"3us\"");
    let all = plans(&text, &[], None);
    assert_eq!(param(&all[0], "threshold"), "97.5KB");
    assert!(!all[0].scenario.scheme.params().contains_key("t_idle"));
    assert_eq!(param(&all[2], "threshold"), "13.5KB");
    assert_eq!(param(&all[2], "beta"), "0.5");
    assert!(all[2].scenario.scheme.params().contains_key("t_idle"));
}

#[test]
fn what_is_typed_last_counts() {
    let all = plans(FILE, &["scheme.params.threshold=30pkt", "traffic.1.flows=7"], None);
    assert!(all.iter().all(|plan| param(plan, "threshold") == "45KB"));
    assert_eq!(sources(&all[0])[1].1, 7);
    assert_eq!(plans(FILE, &["flows=3", "flows=4"], None)[0].scenario, {
        plans(FILE, &["flows=4"], None)[0].scenario.clone()
    });
    assert_eq!(plans(FILE, &["seed=5"], Some(9))[0].scenario.run.seed, 9);
    assert_eq!(plans(FILE, &["title=one word more"], None)[0].scenario.title, "one word more");
}

#[test]
fn an_override_of_what_is_compared_takes_its_place() {
    assert_eq!(labels(&["load=0.3"]), ["scheme=per-queue load=0.3", "scheme=fast load=0.3"]);
    assert_eq!(labels(&["scheme=fast", "load=0.4"]), ["scheme=fast load=0.4"]);
    assert_eq!(labels(&["scheme=mq-ecn", "load=0.4"]), ["scheme=fast load=0.4"]);
    assert_eq!(labels(&["scheme=per-port", "load=0.4"]), ["scheme=per-port load=0.4"]);
    assert_eq!(
        labels(&["compare.scheme=[mq-ecn, none]", "load=0.4"]),
        ["scheme=mq-ecn load=0.4", "scheme=none load=0.4"]
    );
    assert_eq!(
        labels(&["scheme=fast", "load=0.4", "compare.seed=[1, 2]"]),
        ["scheme=fast load=0.4 seed=1", "scheme=fast load=0.4 seed=2"]
    );
    let seeds = plans(FILE, &["compare.seed=[7, 8]"], None);
    assert_eq!(seeds.iter().map(|p| p.scenario.run.seed).collect::<Vec<_>>()[..3], [7, 8, 7]);
}

#[test]
fn a_comparison_holds_beside_overrides_of_its_key_and_of_what_is_around() {
    let buffers = |sets: &[&str]| -> Vec<String> {
        let sets = [sets, &["scheme=fast", "load=0.4"]].concat();
        let all = plans(FILE, &sets, None);
        all.iter().map(|plan| format!("{:?}", plan.scenario.switch.buffer)).collect()
    };
    let compared = "compare.switch.buffer=[1MB, 2MB]";
    let expected = buffers(&[compared]);
    assert_ne!(expected[0], expected[1]);
    // An earlier value of the key gives way, and a later one takes its place.
    assert_eq!(buffers(&["switch.buffer=3MB", compared]), expected);
    assert_eq!(buffers(&[compared, "switch.buffer=2MB"]), expected[1..]);
    for around in
        [&["switch={queues=4, buffer=\"3MB\"}", compared], &[compared, "switch={queues=4}"]]
    {
        assert_eq!(buffers(around), expected);
    }
}

#[test]
fn an_override_says_what_comparison_it_takes_the_place_of() {
    let said = |sets: &[&str]| plans(FILE, sets, None)[0].cautions();
    let about = |sets: &[&str]| -> Vec<String> {
        said(sets).into_iter().filter(|line| line.contains("compare.")).collect()
    };
    let n = plans(FILE, &["scheme=fast"], None).len();
    assert_eq!(
        about(&["load=0.3"]),
        [format!(
            "--set load=0.3: is run in place of the {n} values of compare.load; \
             --set 'compare.load=[…]' compares others"
        )]
    );
    // A list that is typed, one that has a single value, and other keys are no surprise.
    for quiet in
        [&["compare.load=[0.3]"][..], &["compare.load=[0.3]", "load=0.4"], &["flows=3"], &[]]
    {
        assert_eq!(about(quiet), Vec::<String>::new(), "{quiet:?}");
    }
    assert_eq!(about(&["scheme=fast", "load=0.4"]).len(), 2);
}

#[test]
fn keys_may_be_dotted_quoted_or_nested() {
    let compare = |keys: &str| {
        let text = &FILE[..FILE.find("[compare]").unwrap()];
        let text =
            text.replace("[scheme.params]", "[scheme]\nname = \"per-queue\"\n[scheme.params]");
        let all = plans(&format!("{text}{keys}"), &[], None);
        all.iter().map(|plan| (param(plan, "threshold"), plan.label())).collect::<Vec<_>>()
    };
    let dotted = compare("[compare]\nscheme.params.threshold = [\"9pkt\", \"8pkt\"]");
    assert_eq!(dotted[1], ("12KB".to_owned(), "scheme.params.threshold=8pkt".to_owned()));
    assert_eq!(dotted, compare("[compare]\n\"scheme.params.threshold\" = [\"9pkt\", \"8pkt\"]"));
    assert_eq!(dotted, compare("[compare.scheme.params]\nthreshold = [\"9pkt\", \"8pkt\"]"));
}

#[test]
fn a_comparison_has_its_bounds() {
    let numbers: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    let list = format!("[{}]", numbers.join(","));
    let set = [format!("compare.seed={list}"), format!("compare.topology.hosts={list}")];
    let mistake = plans_of("f.toml", FILE, Path::new(""), &set, None).unwrap_err();
    assert_eq!(mistake.line, Some(23));
    assert_eq!(mistake.message, "makes more than 100000 runs: compare less in one file");
}

#[test]
fn sizes_may_be_a_name_a_size_or_points() {
    let text = FILE.replace(
        "sizes = \"1KB\"",
        "sizes = { points = [[\"1KB\", 0.5], [\"2KB\", 1]], name = \"mine\", mean = \"1.5KB\" }",
    );
    let plan = &plans(&text, &[], None)[0];
    let [fixed, mine] = [0, 1].map(|i| &sources(plan)[i].2[0]);
    assert_eq!((fixed.points.len(), fixed.mean_bytes, fixed.name.as_str()), (1, 64_000.0, "64KB"));
    assert_eq!((mine.points.len(), mine.mean_bytes, mine.name.as_str()), (2, 1500.0, "mine"));
}

/// Each plan is checked by its own end: a list that one plan may have is refused for another.
#[test]
fn an_endless_flow_of_a_list_needs_an_end_in_every_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 0\n";
    std::fs::write(folder.path().join("flows.cm"), list).expect("written");
    let text = "topology = { kind = \"star\", hosts = 2, rate = \"1Gbps\", delay = \"1us\" }\n\
                switch = { buffer = \"1MB\" }\nscheme = { name = \"none\" }\n\
                [[traffic]]\nkind = \"list\"\nfile = \"flows.cm\"\n";
    let of = |compare: &str| {
        let text = format!("{text}[compare]\nrun = {compare}\n");
        plans_of("f.toml", &text, folder.path(), &[], None).map(|plans| plans.len())
    };
    assert_eq!(of("[{ until = \"1s\" }, { until = \"2s\" }]").expect("ends"), 2);
    for order in ["[{ until = \"1s\" }, {}]", "[{}, { until = \"1s\" }]"] {
        let said = of(order).expect_err("one has no end").to_string();
        assert!(said.contains("never ends"), "{said}");
    }
}
