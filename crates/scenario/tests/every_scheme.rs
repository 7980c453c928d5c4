//! The fabric of the comparison, with every scheme.

use std::path::Path;
use switchbed_scenario::{Plan, plans};

/// Those that the comparison's file does not have.
const OTHERS: &str = r#"compare.scheme=[
    { name = "tcn", params = { threshold = "78us" } },
    { name = "codel", params = { interval = "500us" } },
    { name = "fq-codel", params = { interval = "500us" } },
    { name = "cobalt", params = { interval = "500us" } },
    { name = "pie", params = { target = "50us" } },
    { name = "dualpi2", params = { target = "50us" } },
    { name = "pmsb", params = { threshold = "65pkt" } },
    { name = "ecn-sharp", params = { ins_target = "70us", pst_target = "10us", pst_interval = "70us" } },
]"#;

/// Its runs, with what is set.
pub fn plans_with(sets: &[&str]) -> Vec<Plan> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../python/switchbed/papers/fabrics/10-40.toml");
    let with = |others: &[&str]| {
        let sets: Vec<String> = sets.iter().chain(others).map(|&set| set.to_owned()).collect();
        plans(&file, &sets, None).unwrap_or_else(|mistake| panic!("{mistake}"))
    };
    [with(&[]), with(&[&OTHERS.replace('\n', "")])].concat()
}
