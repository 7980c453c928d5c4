//! Probes: the round-trip time of an empty network to the picosecond, what a queue adds,
//! and when a run with probes ends. Goodput by class over time.

use crate::common::*;
use switchbed_scenario::*;
use switchbed_scenario::{QueueProbe, Scenario};
use switchbed_sim::{ProbeSample, Simulation, Status};
use switchbed_units::{Bytes, Rate, Span, Time};

fn probe(from: &[u32], to: u32, size: u64, stop: Option<Span>) -> Traffic {
    Traffic::Probe(Probe {
        from: from.to_vec().into(),
        to: OneHost(to),
        size: Bytes::new(size),
        every: Span::from_us(100),
        classes: vec![0],
        start: Span::from_us(50),
        stop,
    })
}

fn rtts(samples: &[ProbeSample]) -> Vec<Span> {
    samples.iter().filter_map(|sample| sample.rtt).collect()
}

#[test]
fn an_empty_networks_round_trip_is_exact() {
    // 67.2 ns for 84 B on each link, and the links' delays: 4 of 1 us on the star, on
    // fig9's fabric 8 across it (81.6 us) and 4 under one leaf (80.8 us).
    let fabric = Scenario { traffic: Vec::new(), ..fig9("mq-ecn", 0.5, 0) };
    let of_links = |delay: Span, links: u64| delay + Span::from_ps(67_200) * links;
    let cases = [
        (star(2), 1, of_links(Span::from_us(4), 4)),
        (fabric.clone(), 143, of_links(Span::from_ns(2 * 40_800), 8)),
        (fabric, 1, of_links(Span::from_ns(4 * 20_200), 4)),
    ];
    for (mut scenario, to, expected) in cases {
        scenario.traffic = vec![probe(&[0], to, 84, Some(Span::from_ms(1)))];
        let (simulation, records) = run(&scenario);
        assert!(records.is_empty());
        let samples = &simulation.probes()[..];
        // At 50, 150, … 950 us.
        assert_eq!(samples.len(), 10);
        assert_eq!(samples[9].sent, Time::ZERO + Span::from_us(950));
        // The last one has 50 us to come back in.
        let back = if expected > Span::from_us(50) { 9 } else { 10 };
        assert_eq!(rtts(samples), vec![expected; back]);
        // The run ends at most sixteen windows after its last event.
        let after = simulation.now().since(Time::ZERO + Span::from_ms(1));
        assert!(after < Span::from_us(5), "{after:?}");
    }
}

#[test]
fn unequal_links_count_each_for_itself() {
    let mut scenario = star(2);
    scenario.topology = Topology::Dumbbell(Dumbbell {
        left: 1,
        right: 1,
        rate: Rate::from_gbps(10),
        delay: Span::from_us(3),
        bottleneck_rate: Rate::from_gbps(1),
        bottleneck_delay: Span::from_us(10),
    });
    scenario.traffic = vec![probe(&[0], 1, 1000, Some(Span::from_ms(1)))];
    let (simulation, _) = run(&scenario);
    let one_way = Span::from_ns(800 + 8000 + 800 + 16_000);
    // The last one, of 950 us, is late for the end.
    // The tenth comes back while the run ends, or just not.
    let rtts = rtts(&simulation.probes());
    assert!(rtts.len() >= 9 && rtts.iter().all(|rtt| *rtt == one_way * 2), "{rtts:?}");
}

/// A star whose receiver's port has two DWRR queues, one of which three senders keep full.
fn busy(class: u8) -> Simulation {
    let mut scenario = long_lived(star(5), &[0, 0, 0], Span::from_ms(40));
    scenario.topology =
        Topology::Star(Star { hosts: 5, rate: Rate::from_gbps(10), delay: Span::from_us(1) });
    scenario.switch = Switch {
        queues: 2,
        classify: Classify::Class,
        discipline: Discipline::Dwrr,
        quantum: vec![packets(1); 2],
        ..scenario.switch
    };
    scenario.measure.warmup = Span::from_ms(10);
    scenario.measure.queues = QueueProbe::Ports(vec!["switch:3".into()]);
    let mut probe = probe(&[4], 3, 84, None);
    let Traffic::Probe(Probe { classes, .. }) = &mut probe else { unreachable!() };
    *classes = vec![class];
    scenario.traffic.push(probe);
    run(&scenario).0
}

#[test]
fn a_probe_waits_in_the_queue_of_its_class() {
    let empty = Span::from_ps(4 * 67_200 + 4_000_000).as_us_f64();
    let mean = |simulation: &Simulation| {
        let rtts = rtts(&simulation.probes());
        // 300 in the 30 ms after the warm-up; the last may still be out.
        assert!((299..=300).contains(&rtts.len()), "{}", rtts.len());
        rtts.iter().map(|rtt| rtt.as_us_f64()).sum::<f64>() / rtts.len() as f64
    };
    let mut busy_queue = busy(0);
    let waited = mean(&busy_queue) - empty;
    let reports = busy_queue.port_reports();
    let port = reports.iter().find(|report| report.info.name == "switch:3").unwrap();
    let queued_us = port.lengths.as_ref().unwrap().0[0].mean_bytes * 8.0 / 1e4;
    // The queue's mean length at 10 Gbps, and what is left of the packet on the wire.
    assert!(queued_us > 40.0, "{queued_us}");
    assert!((waited - queued_us).abs() < 0.1 * queued_us + 1.2, "{waited} and {queued_us}");
    // The other queue is empty: at most one packet is ahead, and one of the other queue.
    let waited = mean(&busy(1)) - empty;
    assert!((0.3..2.4).contains(&waited), "{waited}");
}

#[test]
fn probes_sent_before_the_warm_ups_end_do_not_count_and_those_at_it_do() {
    for (warmup_us, first_us, count) in [(0, 50, 10), (50, 50, 10), (51, 150, 9), (450, 450, 6)] {
        let mut scenario = star(2);
        scenario.traffic = vec![probe(&[0], 1, 84, Some(Span::from_ms(1)))];
        scenario.measure.warmup = Span::from_us(warmup_us);
        let (simulation, _) = run(&scenario);
        let samples = &simulation.probes()[..];
        assert_eq!((samples.len(), rtts(samples).len()), (count, count), "{warmup_us}");
        assert_eq!(samples[0].sent, Time::ZERO + Span::from_us(first_us));
    }
}

#[test]
fn probes_end_with_the_flows_where_nothing_else_ends_them() {
    let mut scenario = star(3);
    let (_file, mut traffic) = list(&[(0.001, 0, 1, 1460)], Connections::FreshNoHandshake);
    traffic.push(probe(&[2], 1, 84, None));
    scenario.traffic = traffic;
    let (simulation, records) = run(&scenario);
    assert!(records[0].end.is_some());
    let after = simulation.now().since(records[0].end.expect("ended"));
    assert!(after < Span::from_us(5), "{after:?}");
    assert_eq!(simulation.probes().len(), 10);
    assert_eq!(simulation.flows(), (1, 1, 1));
}

#[test]
fn a_lost_probe_has_no_rtt() {
    // A port that holds nothing but what it sends loses what comes beside.
    let mut scenario = star(9);
    scenario.switch.buffer = Bytes::new(84);
    scenario.scheme = scheme("none", Bytes::ZERO);
    scenario.traffic = vec![probe(&[0, 1, 2, 3], 8, 84, Some(Span::from_ms(1)))];
    let (simulation, _) = run(&scenario);
    let samples = &simulation.probes()[..];
    // One is on the wire, one waits, two of the four are lost.
    assert_eq!((samples.len(), rtts(samples).len()), (40, 20));
}

#[test]
fn goodputs_over_time_add_up_to_what_was_received() {
    // Two classes, one of which stops half-way; and asked-for flows of both on one
    // connection, which changes its class.
    let mut scenario = long_lived(star(3), &[0, 1], Span::from_ms(20));
    scenario.switch = Switch {
        queues: 2,
        classify: Classify::Class,
        discipline: Discipline::Dwrr,
        quantum: vec![packets(1); 2],
        ..scenario.switch
    };
    let Traffic::LongLived(LongLived { stop, .. }) = &mut scenario.traffic[1] else {
        unreachable!()
    };
    *stop = Some(Span::from_ms(10));
    scenario.traffic.push(ask(
        100,
        Arrivals {
            load: 0.02,
            flows: 200,
            sizes: vec![sizes::named("hadoop").unwrap()],
            from: vec![0],
            to: vec![1],
            service: Service::random(vec![0.5, 0.5]),
            connections: Connections::Persistent,
        },
    ));
    scenario.measure.goodput_every = Some(Span::from_ms(1));
    scenario.measure.series_every = Some(Span::from_us(700));
    let (mut simulation, records) = run(&scenario);
    let goodputs = simulation.goodputs().to_vec();
    let ends: Vec<Time> = goodputs.iter().map(|sample| sample.at).collect();
    assert_eq!(ends, (1..=20).map(|ms| Time::ZERO + Span::from_ms(ms)).collect::<Vec<_>>());
    assert_eq!(simulation.take_series().len() % 28, 0);
    for class in [0, 1] {
        let taken: u64 = goodputs.iter().map(|sample| sample.taken(class)).sum();
        let received: u64 = records
            .iter()
            .filter(|record| usize::from(record.class) == class)
            .map(|record| record.received.get())
            .sum();
        assert_eq!(taken, received, "class {class}");
    }
    // 2 ms to find their shares: half the link each, then all of it for class 0.
    let gbps = |ms: usize, class: usize| goodputs[ms].taken(class) as f64 * 8.0 / 1e6;
    assert!((3.5..6.0).contains(&gbps(8, 0)) && (3.5..6.0).contains(&gbps(8, 1)));
    assert!(gbps(15, 0) > 9.0 && gbps(15, 1) < 1.0, "{} {}", gbps(15, 0), gbps(15, 1));
}

#[test]
fn places_used_again_keep_what_was_taken_on_them() {
    let rows: Vec<_> = (0..500).map(|i| (f64::from(i) * 1e-5, 0, 1, 5000)).collect();
    let mut scenario = star(2);
    let (_file, traffic) = list(&rows, Connections::Fresh);
    scenario.traffic = traffic;
    scenario.measure.goodput_every = Some(Span::from_us(100));
    scenario.run.until = Some(Span::from_ms(6));
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(100) == Status::Running {}
    assert!(simulation.connections() < 10);
    let taken: u64 = simulation.goodputs().iter().map(|sample| sample.taken(0)).sum();
    // The last intervals may end after the last flow: the run does not wait for them.
    assert!((2_450_000..=2_500_000).contains(&taken), "{taken}");
}
