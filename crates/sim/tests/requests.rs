//! Request and answer: the closed form in an empty network, one TCP connection for both
//! directions, answers in the order of their requests.

use crate::common::*;
use switchbed_scenario::event::{Change, Event};
use switchbed_scenario::topology::HostRates;
use switchbed_scenario::traffic::program::Program;
use switchbed_scenario::traffic::{Flows, Hosts};
use switchbed_scenario::*;
use switchbed_scenario::{QueueProbe, Scenario};
use switchbed_sim::ids::HostId;
use switchbed_sim::{FlowRecord, Simulation};
use switchbed_units::{Bytes, Rate, Span};

fn arrivals(load: f64, flows: u64, size: u64, connections: Connections) -> Arrivals {
    let sizes = Sizes {
        name: "one".into(),
        points: vec![(Bytes::new(size), 1.0)],
        mean_bytes: size as f64,
        round_up_to: None,
    };
    Arrivals {
        load,
        flows,
        sizes: vec![sizes],
        from: vec![0],
        to: vec![1],
        service: Service::ONE,
        connections,
    }
}

fn run_on(mut scenario: Scenario, traffic: Traffic, end: FctEnd) -> (Simulation, Vec<FlowRecord>) {
    scenario.traffic = vec![traffic.into()];
    scenario.measure.fct_end = end;
    run(&scenario)
}

fn fct(record: &FlowRecord) -> Span {
    record.end.expect("finished").since(record.start)
}

/// A request of 100 B on the star (140 B on the wire): 2 × 112 ns and 2 us.
const REQUEST: Span = Span::from_ns(2 * 112 + 2000);
/// The request's ACK goes ahead of the answer on the server's link: 40 B.
const AHEAD: Span = Span::from_ns(32);
/// An answer of one full packet: 2 × 1.2 us and 2 us.
const ANSWER: Span = Span::from_ns(2 * 1200 + 2000);
/// SYN and SYN-ACK of 40 B.
const HANDSHAKE: Span = Span::from_ns(4 * 32 + 4000);
/// The answer's last ACK.
const ACK: Span = Span::from_ns(2 * 32 + 2000);

#[test]
fn in_an_empty_network_a_flow_takes_its_request_and_its_answer() {
    for (connections, before) in
        [(Connections::FreshNoHandshake, Span::ZERO), (Connections::Fresh, HANDSHAKE)]
    {
        for (end, after) in [(FctEnd::Received, Span::ZERO), (FctEnd::Acked, ACK)] {
            let traffic = ask(100, arrivals(0.01, 5, 1460, connections));
            let (simulation, records) = run_on(star(2), traffic, end);
            assert_eq!(records.len(), 5);
            for record in &records {
                assert_eq!((record.src, record.dst), (HostId(0), HostId(1)));
                assert_eq!(fct(record), before + REQUEST + AHEAD + ANSWER + after);
                assert_eq!(simulation.empty_fct_of(record), Some(REQUEST + ANSWER + after));
                assert_eq!(record.received, Bytes::new(1460));
            }
        }
    }
}

#[test]
fn one_connection_carries_request_after_request_and_answers_in_their_order() {
    // At a load of 3 requests come faster than answers: they wait for each other.
    let traffic = ask(100, arrivals(3.0, 200, 20_000, Connections::Single));
    let (simulation, records) = run_on(star(2), traffic, FctEnd::Received);
    // One TCP connection: a half in each direction.
    assert_eq!(simulation.connections(), 2);
    let handshakes = records.iter().filter(|record| record.handshake).count();
    assert_eq!(handshakes, 1);
    let ends: Vec<_> = records.iter().map(|record| record.end.expect("finished")).collect();
    assert!(ends.is_sorted());
    assert!(fct(&records[199]) > fct(&records[0]) * 10, "they did not wait");
    // The server's link was never idle between the first answer and the last: 14 packets
    // an answer, 13 full ones and one of 1020 + 40 B, and at most an ACK a request.
    let wire = Span::from_ps((13 * 1500 + 1060) * 199 * 800);
    let between = ends[199].since(ends[0]);
    assert!((wire..=wire + AHEAD * 200).contains(&between), "{between} and {wire}");
}

#[test]
fn a_client_that_finds_its_connections_busy_opens_another_which_stays() {
    let traffic = ask(100, arrivals(3.0, 50, 20_000, Connections::Persistent));
    let (simulation, records) = run_on(star(2), traffic, FctEnd::Received);
    let opened = records.iter().filter(|record| record.handshake).count();
    assert!((2..50).contains(&opened), "{opened} opened");
    assert_eq!(simulation.connections(), 2 * opened);
    // At a low load the first is always free.
    let traffic = ask(100, arrivals(0.0001, 50, 20_000, Connections::Persistent));
    let (simulation, _) = run_on(star(2), traffic, FctEnd::Acked);
    assert_eq!(simulation.connections(), 2);
}

#[test]
fn fresh_connections_give_back_both_their_places() {
    for end in [FctEnd::Acked, FctEnd::Received] {
        let traffic = ask(100, arrivals(0.1, 1000, 1460, Connections::Fresh));
        let (simulation, records) = run_on(star(2), traffic, end);
        assert!(records.iter().all(|record| record.handshake && record.end.is_some()));
        assert!(simulation.connections() < 40, "{} places", simulation.connections());
    }
}

#[test]
fn a_request_waits_for_its_own_packets_and_counts_its_losses() {
    // 10 packets of request, then the answer: the last request packet leaves 9 × 1.2 us
    // after the first.
    let traffic = ask(14_600, arrivals(0.001, 3, 1460, Connections::FreshNoHandshake));
    let (_, records) = run_on(star(2), traffic, FctEnd::Received);
    // The ACKs of the earlier ones are long gone, the last one's is ahead.
    let request = Span::from_ns(9 * 1200) + ANSWER;
    assert!(records.iter().all(|record| fct(record) == request + AHEAD + ANSWER));
    // A port that holds four packets loses some of a hundred clients' requests, and says so
    // of the flows that they ask for.
    let mut scenario = star(9);
    scenario.switch.buffer = packets(4);
    scenario.scheme = scheme("none", Bytes::ZERO);
    let clients = Arrivals {
        to: (1..9).collect(),
        ..arrivals(0.05, 200, 1460, Connections::FreshNoHandshake)
    };
    let (_, records) = run_on(scenario, ask(14_600, clients), FctEnd::Received);
    assert!(records.iter().all(|record| record.end.is_some()));
    assert!(records.iter().any(|record| record.retransmissions > 0));
}

#[test]
fn an_answer_goes_in_its_flows_class_on_a_connection_that_others_used() {
    let mut scenario = star(2);
    scenario.switch.queues = 4;
    scenario.switch.classify = Classify::Class;
    scenario.switch.discipline = Discipline::Dwrr;
    scenario.switch.quantum = vec![packets(1); 4];
    let service = Service::random(vec![0.25; 4]);
    // Two packets each, and the port to the client is half as fast, so that the second waits.
    let arrivals = Arrivals { service, ..arrivals(0.0001, 200, 2920, Connections::Persistent) };
    let change = Change::Rate { port: "switch:1".into(), rate: Rate::from_gbps(5) };
    scenario.event = vec![Event { at: Span::ZERO, change }];
    scenario.measure.queues = QueueProbe::Ports(vec!["switch:1".into()]);
    let (mut simulation, records) = run_on(scenario, ask(100, arrivals), FctEnd::Acked);
    assert_eq!(simulation.connections(), 2);
    // Every class's answers went through its own queue of the port to the client.
    let port = simulation.port_reports().into_iter().find(|r| r.info.name == "switch:1").unwrap();
    let (queues, _) = port.lengths.unwrap();
    for class in 0..4 {
        assert!(records.iter().any(|record| record.class == class));
        assert_eq!(queues[usize::from(class)].max_bytes, 1500, "class {class}");
    }
}

#[test]
fn the_load_is_what_each_client_asks_for() {
    let traffic = ask(
        100,
        Arrivals {
            from: (0..8).collect(),
            to: vec![8, 9],
            service: Service::random(vec![0.1, 0.2, 0.3, 0.4]),
            ..arrivals(0.5, 40_000, 10_000, Connections::Persistent)
        },
    );
    let hosts = Hosts {
        count: 10,
        numbers: None,
        rates: HostRates::Same(Rate::from_gbps(1)),
        mss: Bytes::new(1460),
        header: Bytes::new(40),
    };
    let mut flows = Flows::new([(&traffic, hosts)], 1).expect("makes flows");
    assert_eq!(flows.take_programs(), [Program::Answers { request: Bytes::new(100) }]);
    let offered = flows.offered()[0].clone();
    assert!((offered.nominal_bps / 1e9 - 1.0).abs() < 1e-12, "two clients, half a link each");
    let (mut classes, mut servers, mut clients) = ([0_u32; 4], [0_u32; 8], [0_u32; 2]);
    for flow in flows {
        classes[usize::from(flow.class)] += 1;
        servers[flow.src.index()] += 1;
        clients[flow.dst.index() - 8] += 1;
    }
    let near = |count: u32, share: f64| {
        let (expected, n) = (40_000.0 * share, f64::from(count));
        assert!((n - expected).abs() < 4.0 * (expected * (1.0 - share)).sqrt(), "{n}, {expected}");
    };
    classes.iter().zip([0.1, 0.2, 0.3, 0.4]).for_each(|(&n, share)| near(n, share));
    servers.iter().for_each(|&n| near(n, 0.125));
    clients.iter().for_each(|&n| near(n, 0.5));
}

#[test]
fn paths_by_row_are_the_answers_whatever_the_connections() {
    let keys = |connections| {
        let arrivals = Arrivals { from: vec![143], ..arrivals(0.5, 100, 20_000, connections) };
        let mut fabric = fig9("mq-ecn", 0.5, 0);
        fabric.transport.warm = None;
        fabric.run.ecmp_by_row = true;
        let (_, records) = run_on(fabric, ask(100, arrivals), FctEnd::Received);
        records.iter().map(|record| record.key).collect::<Vec<_>>()
    };
    let fresh = keys(Connections::Fresh);
    assert_eq!(keys(Connections::Persistent), fresh);
    assert_eq!(fresh.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
}
