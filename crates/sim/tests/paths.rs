//! A flow's record holds the key of the path that its data took.

use crate::common::*;
use switchbed_scenario::*;
use switchbed_sim::ids::{HostId, SwitchId};
use switchbed_sim::topology::{Graph, Hop, Node};
use switchbed_units::{Bytes, Rate, Span};

#[test]
fn the_recorded_key_leads_along_the_ports_that_sent() {
    let rate = Rate::from_gbps(10);
    let delay = Span::from_us(1);
    let mut used = [0; 4];
    for seed in 1..=12 {
        let mut scenario = fig9("per-queue", 0.1, 1);
        scenario.run.seed = seed;
        scenario.topology = Topology::LeafSpine(LeafSpine {
            leaves: 2,
            spines: 4,
            hosts_per_leaf: 2,
            host_rate: rate,
            host_delay: delay,
            fabric_rate: rate,
            fabric_delay: delay,
        });
        let arrivals = Arrivals {
            load: 0.1,
            flows: 1,
            sizes: vec![sizes::named("web-search").unwrap()],
            from: vec![0],
            to: vec![3],
            service: Service::ONE,
            connections: [Connections::Fresh, Connections::Persistent][seed as usize % 2],
        };
        scenario.traffic = vec![arrive(arrivals)];
        let (mut simulation, records) = run(&scenario);
        let graph = Graph::new(&scenario.topology, Span::ZERO);
        let path = graph.path(HostId(0), Hop { dst: HostId(3), key: records[0].key });
        let Node::Switch(spine) = path[1].to else { panic!("{path:?}") };
        used[spine.index() - 2] += 1;
        for report in simulation.port_reports() {
            let (port, sent) = (&report.info, report.counters.sent_bytes);
            let uplink = port.cable.from == Node::Switch(SwitchId(0))
                && matches!(port.cable.to, Node::Switch(_));
            let expected = port.cable.to == Node::Switch(spine);
            assert!(!uplink || (sent > 0) == expected, "{}: {sent}", port.name);
        }
        assert!(records[0].size > Some(Bytes::ZERO));
    }
    assert!(used.iter().filter(|&&n| n > 0).count() > 1, "{used:?}");
}
