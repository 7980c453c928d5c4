//! Every scenario that comes with the program is read, written back and read again.

use std::path::{Path, PathBuf};
use switchbed_scenario::{plans, plans_of, to_toml};
use switchbed_sim::Simulation;
use switchbed_sim::{Progress, run};

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    assert!(files.len() >= 4);
    files
}

#[test]
fn every_scenario_builds_and_resolves_to_what_it_is_when_written_out() {
    for file in scenarios() {
        let plans = plans(&file, &[], None).unwrap_or_else(|mistake| panic!("{mistake}"));
        Simulation::new(&plans[0].scenario).unwrap_or_else(|error| panic!("{error}"));
        for plan in plans {
            let text = to_toml(&plan.scenario);
            let again = plans_of("again", &text, Path::new(""), &[], None);
            let again = again.unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
            assert_eq!(again.len(), 1);
            assert_eq!(again[0].scenario, plan.scenario, "{text}");
        }
    }
}

#[test]
fn every_port_that_is_built_can_be_measured_and_no_other() {
    let star = "kind = \"star\"\nhosts = 3\nrate = \"1Gbps\"\ndelay = \"1us\"";
    let dumbbell = star.replace("star", "dumbbell").replace("hosts = 3", "left = 2\nright = 1");
    let fabric = "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 1\n\
                  host_rate = \"1Gbps\"\nhost_delay = \"1us\"";
    let lot = "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 2\nrate = \"1Gbps\"\n\
               delay = \"1us\"";
    let ring =
        "kind = \"ring\"\nswitches = 3\nhosts_per_switch = 2\nrate = \"1Gbps\"\ndelay = \"1us\"";
    let tree = "kind = \"fat-tree\"\nk = 4\nhost_rate = \"1Gbps\"\nhost_delay = \"1us\"";
    let all = [
        (star, 6),
        (dumbbell.as_str(), 3 + 5),
        (lot, 8 + 6 + 8),
        (ring, 6 + 3 * 4),
        (fabric, 3 + 9 + 6),
        (tree, 16 + 20 * 4),
    ];
    for (topology, ports) in all {
        let read = |port: &str| {
            let text = format!(
                "topology = {{ {} }}\nswitch.buffer = \"9KB\"\nscheme.name = \"none\"\n\
                 traffic = [{{ kind = \"long-lived\", to = 0 }}]\nrun.until = \"1ms\"\n\
                 measure.queues = {port}",
                topology.replace('\n', ", ")
            );
            plans_of("f.toml", &text, Path::new(""), &[], None)
        };
        let plan = &read("\"all\"").unwrap()[0];
        let built = Simulation::new(&plan.scenario).unwrap();
        let names: Vec<&str> = built.ports().iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names.len(), ports);
        for name in &names {
            let plan = &read(&format!("[\"{name}\"]")).unwrap()[0];
            assert!(Simulation::new(&plan.scenario).is_ok());
        }
        let digits = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        for name in names.iter().map(|name| digits(name)) {
            for other in ["", "99", "00", "+0", "x", "0:0:0", "-1"] {
                let wrong = format!("{name}{other}");
                assert!(read(&format!("[\"{wrong}\"]")).is_err(), "{wrong}");
            }
        }
    }
}

#[test]
fn a_flow_list_is_read_before_anything_runs() {
    let folder = std::env::temp_dir().join(format!("switchbed-lists-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = std::fs::read_to_string(scenarios()[1].with_file_name("flow-list.toml")).unwrap();
    let said = |list: &str| {
        std::fs::write(folder.join("flow-list.csv"), list).unwrap();
        let mistake = plans_of("f.toml", &text, &folder, &[], None).err();
        mistake.map(|m| m.to_string().replace(folder.to_str().unwrap(), ""))
    };
    assert_eq!(said("start_s,src,dst,size_bytes,class\n0,0,4,9,1\n"), None);
    assert_eq!(
        said("start_s,src,dst,size_bytes,class\n0,0,4,9,1\n1,1,4,9,2\n").unwrap(),
        "/flow-list.csv: flow 1 has class 2, and switch.queues is 2: classes are 0 to 1 \
         (or write switch.classify = \"single\")"
    );
    let line = said("start_s,src,dst,size_bytes\n0,0,4,9\n1,1,5,9\n").unwrap();
    assert!(line.starts_with("/flow-list.csv:3: column dst: "), "{line}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn all_four_schemes_run_on_the_fat_tree_of_128_hosts() {
    // E-ECN's figure 12, 1, 10 and 100 Gbps, with fewer flows.
    let file = scenarios()[0].with_file_name("fat-tree.toml");
    let few = ["traffic.0.flows=60".to_owned()];
    let plans = plans(&file, &few, None).unwrap_or_else(|mistake| panic!("{mistake}"));
    let names: Vec<&str> = plans.iter().map(|plan| plan.scenario.scheme.name()).collect();
    assert_eq!(names, ["per-queue", "per-queue-dq", "s-ecn", "e-ecn"]);
    for plan in plans {
        let results = run(&plan.scenario, &Progress::new()).unwrap();
        assert_eq!((results.summary.flows.count, results.summary.flows.finished), (60, 60));
        assert!(results.summary.marks > 0, "{}", plan.scenario.scheme.name());
        // The host's rate bounds the FCT from below, whatever the tiers above.
        assert!(results.summary.slowdown.all.p50.is_some_and(|p50| p50 >= 1.0));
    }
}
