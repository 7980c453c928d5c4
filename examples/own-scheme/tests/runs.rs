//! The program runs its scheme, and a mistake in what it takes is told like any other.

use std::process::{Command, Output};

fn own_scheme(sets: &[&str]) -> Output {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/waiting.toml");
    let program = Command::new(env!("CARGO_BIN_EXE_own-scheme")).arg(file).args(sets).output();
    program.expect("the program was built")
}

#[test]
fn a_scheme_of_ones_own_runs_beside_ours() {
    let output = own_scheme(&[]);
    let lines = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = lines.lines().collect();
    let [waiting, per_queue] = lines[..] else {
        panic!("{lines:?}: {output:?}", output = output.stderr)
    };
    assert!(waiting.starts_with("waiting: 16 flows, "), "{waiting}");
    assert!(per_queue.starts_with("per-queue: 16 flows, "), "{per_queue}");
    assert!(!waiting.contains(" 0 marks"), "{waiting}");
}

#[test]
fn its_mistakes_name_the_key_and_what_would_be_right() {
    let of = |set: &str| {
        let output = own_scheme(&["scheme=waiting", set]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    for (set, says) in [
        ("scheme.params.treshold=5us", "is no parameter of waiting: did you mean threshold?"),
        ("scheme.params.threshold=5KB", "that is a size, a time is needed, such as \"85.2us\""),
        ("scheme.params.threshold=0us", "scheme.params.threshold is \"0us\": it must be over 0"),
        ("scheme=wating", "there is no such scheme; did you mean \"waiting\"?"),
    ] {
        let line = of(set);
        assert!(line.contains(says) && line.lines().count() == 1, "{line}");
    }
}

#[test]
fn a_scheme_in_python_is_refused() {
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tests/support/prototype_schemes.py");
    let set = format!("scheme={{name=\"python\",params={{file=\"{file}\",class=\"Mine\"}}}}");
    let output = own_scheme(&[&set]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("which this program has not") && said.lines().count() == 1, "{said}");
}
