//! A scheme in Python as a scenario says it. What runs it is tested with the Python package.

use std::path::Path;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::{Plan, live_of, plans_of, to_toml};

const FILE: &str = "
title = \"t\"
[topology]
kind = \"star\"
hosts = 2
rate = \"1Gbps\"
delay = \"1us\"
[switch]
buffer = \"90KB\"
[scheme]
name = \"python\"
params = { file = \"lib.rs\", class = [\"A\", \"B\"], base = \"red\", kmax = \"20pkt\", mine = \"2us\" }
[[traffic]]
kind = \"long-lived\"
to = 0
[run]
until = \"1ms\"
";

fn plans(text: &str) -> Vec<Plan> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    plans_of("f.toml", text, &folder, &[], None).unwrap_or_else(|m| panic!("{m}"))
}

#[test]
fn the_base_takes_its_parameters_and_the_classes_the_rest() {
    let plan = &plans(FILE)[0];
    let scheme = &plan.scenario.scheme;
    assert_eq!(scheme.label, "A + B");
    let python = scheme.python.as_ref().unwrap();
    assert!(python.file.ends_with("src/lib.rs") && python.classes.names() == ["A", "B"]);
    // What the base leaves to defaults, and what follows from others, is resolved too.
    assert_eq!(scheme.scheme.about().name, "red");
    let base = scheme.scheme.values();
    assert!(base.contains_key("kmin") && base.contains_key("weight"));
    assert_eq!(python.own.len(), 1);
    assert!(matches!(python.own["mine"], Value::Span(_)));
    let again = plans_of("again", &to_toml(&plan.scenario), Path::new(""), &[], None);
    assert_eq!(again.unwrap()[0].scenario, plan.scenario);
}

#[test]
fn compared_schemes_keep_to_their_own_parameters() {
    let text = format!("{FILE}[compare]\nscheme = [\"python\", \"red\", \"none\"]\n");
    let names = |plan: &Plan| plan.scenario.scheme.params().keys().cloned().collect::<Vec<_>>();
    let plans = plans(&text);
    assert!(names(&plans[0]).contains(&"mine".to_owned()));
    assert!(names(&plans[1]).contains(&"kmax".to_owned()));
    assert!(!names(&plans[1]).contains(&"file".to_owned()));
    assert!(names(&plans[2]).is_empty());
}

#[test]
fn a_live_switch_has_none() {
    let text = format!(
        "port = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nswitch.buffer = \"90KB\"\n[scheme]\n\
         name = \"python\"\nparams = {{ file = \"{}/src/lib.rs\", class = \"A\" }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let mistake = live_of("l.toml", &text, &[]).unwrap_err().to_string();
    let says = "scheme.name is \"python\": it runs in the simulator alone";
    assert!(mistake.contains(says), "{mistake}");
}
