//! No text and no override makes the reader panic; what it says is one line; what it
//! accepts reads back from what it writes. (`fuzz/` goes further, where there is time.)

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use switchbed_config::param::{Param, ParamKind};
use switchbed_scenario::SECTIONS;
use switchbed_scenario::{plans_of, to_toml};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// The scenarios that come with the program, and one with the rarer keys.
fn texts() -> Vec<String> {
    let names = ["star-dctcp", "dumbbell", "flow-list", "mqecn-fig9"];
    let read = |name| std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    names.into_iter().map(read).chain([RARE.to_owned()]).collect()
}

const RARE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
host_rate = "1Gbps"
host_delay = "1us"
[switch]
queues = 3
strict = 1
quantum = ["1pkt", "2pkt", "3pkt"]
buffer = "300KB"
[scheme]
name = "per-port"
params = { threshold = "20pkt", mark_at = "dequeue" }
[transport]
kind = "ecn*"
[[traffic]]
kind = "poisson"
load = 0.5
flows = 3
service = "random"
shares = ["20%", 0.3, 0.5]
sizes = ["cache", { points = [["1KB", 0.5], ["2KB", 1]], mean = "1501.5B", round_up_to = "1KB" }]
[measure]
queues = ["leaf1:2", "spine0:1", "host3"]
[compare]
seed = [1, 2]
switch.queues = [3]
"#;

/// Reads the text and checks what comes of it.
fn check(text: &str, sets: &[String]) -> Result<(), TestCaseError> {
    match plans_of("f.toml", text, &folder(), sets, None) {
        Err(mistake) => {
            let line = mistake.to_string();
            prop_assert!(!line.contains(['\n', '\r']), "{line:?}");
            prop_assert!(
                mistake.line.is_none_or(|n| n >= 1 && n as usize <= text.lines().count() + 1)
            );
            prop_assert!(!mistake.message.is_empty());
        }
        Ok(plans) => {
            prop_assert!(!plans.is_empty());
            let scenario = &plans[0].scenario;
            let written = to_toml(scenario);
            let again = plans_of("again", &written, Path::new(""), &[], None);
            let again =
                again.map_err(|mistake| TestCaseError::fail(format!("{mistake}\n{written}")))?;
            prop_assert_eq!(&again[0].scenario, scenario);
        }
    }
    Ok(())
}

/// Values to try on a key: what it takes, and what it does not.
fn values(kind: &ParamKind) -> Vec<String> {
    let mut values: Vec<String> = match kind {
        ParamKind::Word(words) => words.iter().map(|word| word.to_string()).collect(),
        ParamKind::Either(kinds) => kinds.iter().flat_map(values).collect(),
        ParamKind::List(item) => values(item).iter().map(|value| format!("[{value}]")).collect(),
        ParamKind::Count { min, max } => vec![min.to_string(), max.to_string()],
        _ => Vec::new(),
    };
    let more = [
        "0",
        "1",
        "-1",
        "0.5",
        "1e300",
        "nan",
        "true",
        "x",
        "",
        "all",
        "0-1",
        "1us",
        "1Gbps",
        "1KB",
        "0B",
        "3pkt",
        "50%",
        "[]",
        "[1, x]",
        "{}",
        "{cwnd = 2, srtt = '1us'}",
        "flow-list.csv",
        "18446744073709551615",
        "99999999999999999999s",
    ];
    values.extend(more.map(str::to_owned));
    values
}

/// Each value of each key with one text in turn, or with `SWITCHBED_WHOLE` set with each.
#[test]
fn every_key_with_every_sort_of_value() {
    let texts = texts();
    let whole = std::env::var_os("SWITCHBED_WHOLE").is_some();
    let mut tried = 0;
    for section in SECTIONS {
        for Param { name, kind, .. } in section.keys {
            let place = if section.repeated { ".0" } else { "" };
            for value in values(kind) {
                let sets = [format!("{}{place}.{name}={value}", section.name)];
                let with = if whole { 0..texts.len() } else { tried % 5..tried % 5 + 1 };
                texts[with].iter().for_each(|text| check(text, &sets).unwrap());
                tried += 1;
            }
        }
    }
    assert!(tried > 1000);
}

/// A change of a text: cut, doubled or exchanged lines, words and characters.
fn mutate(text: &str, edits: &[(u8, u16, u16, String)]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for (what, a, b, insert) in edits {
        let at = |n: u16| usize::from(n) * (text.len() + 1) / (usize::from(u16::MAX) + 1);
        let (a, b) = (at(*a).min(at(*b)), at(*a).max(at(*b)));
        let line_end = |i: usize| i + text[i..].iter().take_while(|&&c| c != '\n').count();
        match what % 5 {
            0 => drop(text.splice(a..a, insert.chars())),
            1 => drop(text.drain(a..line_end(a))),
            2 => drop(text.drain(a..b.min(a + 20))),
            3 => {
                let line: Vec<char> = text[a..line_end(a)].to_vec();
                text.splice(b..b, line);
            }
            _ => {
                let end = a + text[a..].iter().take_while(|c| c.is_alphanumeric()).count();
                text.splice(a..end, insert.chars());
            }
        }
    }
    text.into_iter().collect()
}

/// Two hundred cases, or as many as `PROPTEST_CASES` says: `make validate` asks for more.
fn config() -> ProptestConfig {
    let cases = std::env::var_os("PROPTEST_CASES").map_or(200, |_| ProptestConfig::default().cases);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_changed_scenario_panics(
        which in 0usize..5,
        edits in prop::collection::vec(
            (any::<u8>(), any::<u16>(), any::<u16>(), "[-a-z0-9.\"'\\[\\]{}=, \n#_%µ]{0,12}|[0-9]{1,20}(KB|us|pkt|Gbps)?"),
            1..6,
        ),
    ) {
        check(&mutate(&texts()[which], &edits), &[])?;
    }

    #[test]
    fn no_override_panics(which in 0usize..5, set in "[a-z_.]{0,20}(load|seed|scheme|compare.load|traffic.0.from)?=[-a-z0-9.\"\\[\\]{}=, %]{0,20}") {
        check(&texts()[which], &[set])?;
    }

    #[test]
    fn no_text_panics(text in "(\\PC|[\n\r\t\"=\\[\\].#]){0,200}") {
        check(&text, &[])?;
    }
}
