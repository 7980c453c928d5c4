//! Flows are labelled by the giant flows that they met, and summed up by that, where it is
//! asked for; the run itself is the same.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::{Progress, Results, run};

fn results(giant: &str) -> Results {
    let text = format!(
        r#"
        host.profile = "switchbed-0.1"
        [topology]
        kind = "leaf-spine"
        leaves = 3
        spines = 2
        hosts_per_leaf = 4
        host_rate = "1Gbps"
        host_delay = "2us"
        [switch]
        buffer = "300KB"
        [scheme]
        name = "per-queue"
        params = {{ threshold = "20pkt" }}
        [[traffic]]
        kind = "log-normal"
        sigma = 1
        load = 0.6
        flows = 400
        sizes = "cqrd-assumed-short-tail"
        [measure]
        {giant}
        "#
    );
    let plans = plans_of("test.toml", &text, Path::new("."), &[], None).expect("a good scenario");
    run(&plans[0].scenario, &Progress::new()).expect("builds")
}

#[test]
fn flows_are_split_by_what_they_met() {
    let labelled = results("giant = \"1MB\"");
    let split = labelled.summary.fct_by_met.expect("asked for");
    let classes = [split.nothing, split.output, split.path];
    for class in &classes {
        assert!(class.all.n > 10, "{split:?}");
        assert_eq!(class.all.n, class.small.n + class.medium.n + class.large.n);
    }
    assert_eq!(classes.iter().map(|class| class.all.n).sum::<u64>(), 400);
    // Who shares an output, or a path, with a giant waits for it.
    let small = classes.map(|class| class.small.mean_us.unwrap());
    assert!(small[0] < small[1] && small[0] < small[2], "{small:?}");

    let plain = results("");
    assert_eq!(plain.summary.fct_by_met, None);
    assert_eq!(plain.summary.fct, labelled.summary.fct);
    let names = |results: &Results| -> Vec<&str> {
        results.flows.columns.iter().map(|column| column.name).collect()
    };
    // The label is the last column, and the only one more.
    assert_eq!(names(&labelled), [&names(&plain)[..], &["met"]].concat());
}
