//! Flows on connections: persistent ones carry flow after flow, a busy pair opens another,
//! numbers of closed ones are used again, and a flow's record holds the key of the path that its data took.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_scenario::*;
use switchbed_sim::ids::{HostId, SwitchId};
use switchbed_sim::topology::{Graph, Hop, Node};
use switchbed_sim::{FlowRecord, Simulation, Status};
use switchbed_units::{Bytes, Rate, Span, Time};

/// One packet between two hosts of the star: 2 × 1.2 us, 2 × 32 ns, 4 × 1 us.
const ONE_PACKET: Span = Span::from_ns(2 * 1200 + 2 * 32 + 4 * 1000);
/// A handshake before it: SYN and SYN-ACK of 40 B.
const HANDSHAKE: Span = Span::from_ns(4 * 32 + 4 * 1000);

fn flows(rows: &[(f64, u32, u32, u64)], connections: Connections) -> Vec<FlowRecord> {
    let mut scenario = star(3);
    let (_file, traffic) = list(rows, connections);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    run(&scenario).1
}

fn fct(record: &FlowRecord) -> Span {
    record.end.expect("finished").since(record.start)
}

#[test]
fn a_fresh_connection_pays_for_its_handshake() {
    let records = flows(&[(0.0, 0, 1, 1460)], Connections::Fresh);
    assert!(records[0].handshake);
    assert_eq!(fct(&records[0]), ONE_PACKET + HANDSHAKE);
    let records = flows(&[(0.0, 0, 1, 1460)], Connections::FreshNoHandshake);
    assert_eq!((records[0].handshake, fct(&records[0])), (false, ONE_PACKET));
}

#[test]
fn a_persistent_connection_is_opened_once_and_used_again() {
    let rows = [(0.0, 0, 1, 1460), (0.001, 0, 1, 1460), (0.002, 0, 2, 1460)];
    let records = flows(&rows, Connections::Persistent);
    let handshakes: Vec<bool> = records.iter().map(|record| record.handshake).collect();
    assert_eq!(handshakes, [true, false, true]);
    assert_eq!(fct(&records[1]), ONE_PACKET);
}

#[test]
fn a_flow_that_finds_its_pair_busy_opens_another_which_stays() {
    let rows = [(0.0, 0, 1, 10_000_000), (0.001, 0, 1, 1460), (0.1, 0, 1, 1460), (0.1, 0, 1, 1460)];
    let records = flows(&rows, Connections::Persistent);
    let handshakes: Vec<bool> = records.iter().map(|record| record.handshake).collect();
    assert_eq!(handshakes, [true, true, false, false]);
}

#[test]
fn a_thousand_fresh_flows_in_turn_need_few_places() {
    let rows: Vec<_> = (0..1000).map(|i| (i as f64 * 1e-4, 0, 1, 5000)).collect();
    let mut scenario = star(2);
    let (_file, traffic) = list(&rows, Connections::Fresh);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (simulation, records) = run(&scenario);
    assert!(records.iter().all(|record| record.end.is_some()));
    assert!(simulation.connections() < 10, "{} places", simulation.connections());
}

#[test]
fn rows_of_a_list_keep_their_numbers_whatever_their_order() {
    let records = flows(&[(0.002, 0, 1, 3000), (0.001, 1, 2, 6000)], Connections::Fresh);
    assert_eq!(records[0].size, Some(Bytes::new(3000)));
    assert_eq!(records[1].start, Time::ZERO + Span::from_ms(1));
}

#[test]
fn an_fct_may_end_at_the_receiver() {
    let mut scenario = star(2);
    scenario.measure.fct_end = FctEnd::Received;
    let (_file, traffic) = list(&[(0.0, 0, 1, 1460)], Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (simulation, records) = run(&scenario);
    assert_eq!(fct(&records[0]), Span::from_ns(2 * 1200 + 2 * 1000));
    assert_eq!(simulation.empty_fct(HostId(0), HostId(1), Bytes::new(1460)), fct(&records[0]));
}

#[test]
fn flows_that_end_at_the_receiver_follow_each_other_whole() {
    // A connection is idle to its sender when the ACK is there (6.464 us), not before.
    let mut scenario = star(2);
    scenario.measure.fct_end = FctEnd::Received;
    let rows = [(0.0, 0, 1, 1460), (0.001, 0, 1, 1460), (0.001_007, 0, 1, 2920)];
    let (_file, traffic) = list(&rows, Connections::Persistent);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (simulation, records) = run(&scenario);
    assert_eq!(simulation.connections(), 1);
    assert_eq!(fct(&records[1]), Span::from_ns(2 * 1200 + 2000));
    assert_eq!(fct(&records[2]), Span::from_ns(3 * 1200 + 2000));
    assert_eq!(records[2].received, Bytes::new(2920));
}

#[test]
fn an_endless_flow_stops_when_told_and_ends_when_it_has_arrived() {
    let mut scenario = long_lived(star(2), &[0], Span::from_ms(20));
    let Traffic::LongLived(LongLived { stop, .. }) = &mut scenario.traffic[0].source else {
        unreachable!()
    };
    *stop = Some(Span::from_ms(5));
    let (_, records) = run(&scenario);
    let end = records[0].end.expect("ended").as_secs_f64();
    assert!((0.005..0.0068).contains(&end), "{end}");
    let rate = records[0].received.as_f64() * 8.0 / end;
    assert!(rate > 0.8e10, "{rate}");
}

#[test]
fn what_was_before_the_warm_up_does_not_count() {
    let goodput = |warmup| {
        let mut scenario = long_lived(star(2), &[0, 0], Span::from_ms(20));
        scenario.measure.warmup = warmup;
        let (mut simulation, records) = run(&scenario);
        let sent: u64 = simulation.port_reports().iter().map(|r| r.counters.sent_bytes).sum();
        (goodputs(&simulation, &records).iter().sum::<f64>(), sent)
    };
    let (whole, sent) = goodput(Span::ZERO);
    let (half, sent_half) = goodput(Span::from_ms(10));
    assert!((whole / half - 1.0).abs() < 0.02, "{whole} and {half}");
    assert!((sent_half as f64 / sent as f64 - 0.5).abs() < 0.02);
}

#[test]
fn an_idle_connection_and_a_flow_in_flight_are_small() {
    let (connection, flow) = Simulation::sizes();
    assert!(connection <= 512, "{connection} bytes");
    assert!(connection + flow <= 1024, "{} bytes", connection + flow);
}

#[test]
fn a_list_that_changes_during_the_run_is_noticed() {
    // More than the reader's buffer, so that the end is read after the change.
    let rows: Vec<_> = (0..20_000).map(|i| (i as f64 * 1e-5, 0, 1, 100)).collect();
    let mut scenario = star(2);
    let (file, traffic) = list(&rows, Connections::Persistent);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (whole, records) = run(&scenario);
    assert_eq!((records.len(), whole.failure()), (rows.len(), None));

    let mut simulation = Simulation::new(&scenario).expect("builds");
    file.as_file().set_len(150_000).expect("cut");
    while simulation.advance(100_000) == Status::Running {}
    assert!(simulation.flows().0 < rows.len() as u64);
    let failure = simulation.failure().expect("noticed").to_string();
    assert!(failure.contains("changed while it was being read"), "{failure}");
}

/// A list with a column more.
fn flows_from(text: &str, mut scenario: Scenario) -> (Simulation, Vec<FlowRecord>) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("written");
    let path = file.path().to_str().expect("UTF-8").into();
    let connections = Connections::FreshNoHandshake;
    scenario.traffic = vec![listed(path, connections).into()];
    run(&scenario)
}

#[test]
fn a_late_packet_of_a_closed_connection_reaches_no_other_in_its_place() {
    // A timeout of 3 us, less than the round trip: the packet is sent twice. The first
    // one's ACK closes the connection after 6.464 us; the copy's ACK arrives after that, when
    // the next flow has been on the same place since 7 us. Taken for that flow's, it would
    // end it early.
    for (end, expected) in
        [(FctEnd::Acked, ONE_PACKET), (FctEnd::Received, Span::from_ns(2 * 1200 + 2000))]
    {
        let mut scenario = star(4);
        (scenario.transport.rto_min, scenario.transport.rto_initial) =
            (Span::from_us(3), Span::from_us(3));
        scenario.measure.fct_end = end;
        let rows = "start_s,src,dst,size_bytes\n0,0,1,1460\n0.000007,0,3,1460\n";
        let (simulation, records) = flows_from(rows, scenario);
        assert_eq!(simulation.connections(), 1, "the place is used again");
        assert!(records[0].retransmissions > 0, "there is a late packet");
        assert_eq!((fct(&records[0]), fct(&records[1])), (expected, expected));
    }
}

#[test]
fn flows_of_one_key_wait_for_each_other_and_others_do_not() {
    let rows = "start_s,src,dst,size_bytes,connection\n\
                0,0,1,1460000,7\n0.000001,0,1,1460,7\n0.000001,0,1,1460,8\n0.01,0,1,1460,7\n";
    let (simulation, records) = flows_from(rows, star(2));
    assert_eq!(simulation.connections(), 2);
    let handshakes: Vec<bool> = records.iter().map(|record| record.handshake).collect();
    assert_eq!(handshakes, [true, false, true, false]);
    let end = |row: usize| records[row].end.expect("finished");
    // One packet behind a thousand on the same connection, sent back to back.
    assert_eq!(end(1).since(end(0)), Span::from_ns(1200));
    assert!(end(2) < end(0), "a key of its own waits for nobody");
    assert_eq!(fct(&records[3]), ONE_PACKET, "the connection is still open");
}

#[test]
fn a_flow_with_a_path_takes_that_one_modulo_their_number() {
    // Twelve spines; a leaf's ports 12 to 23 lead to them.
    let rows = "start_s,src,dst,size_bytes,path\n\
                0,0,143,146000,0\n0.001,0,143,146000,7\n0.002,0,143,146000,7\n\
                0.003,0,143,146000,35\n";
    let (mut simulation, records) = flows_from(rows, fig9("mq-ecn", 0.5, 0));
    assert!(records.iter().all(|record| record.end.is_some()));
    let sent: Vec<u64> = (12..24)
        .map(|port| {
            let name = format!("leaf0:{port}");
            let reports = simulation.port_reports();
            let report = reports.iter().find(|report| report.info.name == name).unwrap();
            report.counters.sent_bytes
        })
        .collect();
    let flow = 100 * 1500;
    let mut expected = vec![0; 12];
    (expected[0], expected[7], expected[11]) = (flow, 2 * flow, flow);
    assert_eq!(sent, expected);
}

#[test]
fn too_many_connections_at_a_time_end_the_run_with_a_message() {
    for control in [dctcp().control, CongestionControl::Udp] {
        let mut scenario = long_lived(star(3), &[0; 12], Span::from_ms(1));
        scenario.transport.control = control;
        let failure = |most| {
            let mut simulation = Simulation::new(&scenario).unwrap();
            simulation.limit_connections(most);
            simulation.advance(1_000);
            simulation.failure().map(|error| error.to_string())
        };
        assert_eq!(failure(20), None);
        let said = failure(10).expect("12 flows do not fit");
        assert!(said.starts_with("more than 10 connections are open at a time"), "{said}");
    }
}

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
        scenario.traffic = vec![arrive(arrivals).into()];
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
