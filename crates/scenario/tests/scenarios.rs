//! Every scenario that comes with the program is read, written back and read again.

use std::path::{Path, PathBuf};
use switchbed_scenario::{plans, plans_of, to_toml};

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    assert!(files.len() >= 4);
    files
}

#[test]
fn every_scenario_resolves_to_what_it_is_when_written_out() {
    for file in scenarios() {
        let plans = plans(&file, &[], None).unwrap_or_else(|mistake| panic!("{mistake}"));
        for plan in plans {
            let text = to_toml(&plan.scenario);
            let again = plans_of("again", &text, Path::new(""), &[], None);
            let again = again.unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
            assert_eq!(again.len(), 1);
            assert_eq!(again[0].scenario, plan.scenario, "{text}");
        }
    }
}
