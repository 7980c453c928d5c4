//! Flow lists that several plans have.

use switchbed_scenario::plans_of;

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
