//! What flows share with a giant one, worked out by hand.

use crate::common::*;
use std::io::Write;
use switchbed_scenario::Scenario;
use switchbed_scenario::*;
use switchbed_sim::observe::interference::Interference::{self, Nothing, Output, Path};
use switchbed_units::{Bytes, Span};

/// Runs a flow list and labels its flows; giants are over 1 MB.
fn labels(mut scenario: Scenario, rows: &str) -> Vec<Interference> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    write!(file, "start_s,src,dst,size_bytes,path\n{rows}").expect("written");
    let path = file.path().to_str().expect("UTF-8").into();
    let connections = Connections::FreshNoHandshake;
    scenario.traffic.push(listed(path, connections).into());
    let (simulation, records) = run(&scenario);
    simulation.interference(&records, Bytes::new(1_000_000))
}

/// A giant of 2 MB takes 1.65 ms at 10 Gbps.
const GIANT: &str = "0,0,3,2000000,\n";

#[test]
fn on_one_switch_the_output_and_the_input_decide() {
    let rows = format!(
        "{GIANT}0.0005,1,3,1460,\n0.0005,0,3,1460,\n0.0005,0,2,1460,\n0.0005,1,2,1460,\n\
         0.0005,3,0,1460,\n"
    );
    assert_eq!(labels(star(4), &rows), [Nothing, Output, Path, Nothing, Nothing, Nothing]);
}

#[test]
fn flows_meet_only_while_both_last() {
    // One that is there before the giant and ends after its start, one that is gone before,
    // one that comes after.
    let rows = "0.001,0,3,2000000,\n0.0009,1,3,500000,\n0.0005,1,3,1460,\n0.005,1,3,1460,\n";
    assert_eq!(labels(star(4), rows), [Nothing, Output, Nothing, Nothing]);
}

#[test]
fn giants_meet_each_other_and_not_themselves() {
    assert_eq!(labels(star(4), GIANT), [Nothing]);
    let two = format!("{GIANT}0.0001,1,3,2000000,\n");
    assert_eq!(labels(star(4), &two), [Output, Output]);
    // 1 MB is not over 1 MB.
    let one = format!("{GIANT}0.0001,0,3,1000000,\n");
    assert_eq!(labels(star(4), &one), [Nothing, Path]);
}

#[test]
fn an_endless_flow_is_a_giant() {
    let scenario = long_lived(star(4), &[0], Span::from_ms(10));
    let scenario = Scenario {
        topology: Topology::Star(Star {
            hosts: 4,
            rate: scenario.topology.host_rates().most(),
            delay: Span::from_us(1),
        }),
        ..scenario
    };
    // The endless one is from 0 to 1, and the second row, after those that finished.
    assert_eq!(labels(scenario, "0.009,2,1,1460,\n0.009,2,3,1460,\n"), [Output, Nothing, Nothing]);
}

#[test]
fn on_a_fabric_any_switch_on_the_way_counts() {
    // Hosts 0 to 11 are leaf 0's, 12 to 23 leaf 1's; the giant goes over spine 2.
    let rows = "0,0,12,2000000,2\n\
                0.0005,1,24,1460,2\n\
                0.0005,1,13,1460,2\n\
                0.0005,1,13,1460,3\n\
                0.0005,1,12,1460,3\n\
                0.0005,30,12,1460,2\n\
                0.0005,0,24,1460,2\n\
                0.0005,13,12,1460,\n";
    let mut fabric = fig9("mq-ecn", 0.5, 0);
    fabric.traffic.clear();
    // Leaf 0's port to spine 2; that and spine 2 from leaf 0 to leaf 1; nothing; leaf 1's
    // port to host 12 from another spine; the same from the same spine, but another leaf;
    // leaf 0 from host 0 to spine 2; leaf 1's port to host 12.
    assert_eq!(labels(fabric, rows), [Nothing, Output, Path, Nothing, Output, Path, Path, Output]);
}

#[test]
fn an_answers_way_is_the_answers_not_its_requests() {
    // Host 2 asks host 0; the giant goes from host 0 to host 2, as the answers do.
    let mut scenario = star(3);
    scenario.traffic = vec![
        ask(
            100,
            Arrivals {
                load: 0.01,
                flows: 3,
                sizes: vec![Sizes {
                    name: "one".into(),
                    points: vec![(Bytes::new(1460), 1.0)],
                    mean_bytes: 1460.0,
                    round_up_to: None,
                }],
                from: vec![0],
                to: vec![2],
                service: Service::ONE,
                connections: Connections::Persistent,
            },
        )
        .into(),
    ];
    let labels = labels(scenario, "0,0,2,20000000,\n");
    assert_eq!(labels.iter().filter(|label| **label == Path).count(), 3);
}
