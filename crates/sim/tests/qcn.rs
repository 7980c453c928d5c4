//! QCN and AF-QCN end to end: messages, rate limiters, senders without TCP and with it.

use crate::common::*;
use switchbed_qdisc::ReactionSettings;
use switchbed_scenario::scheme::Value;
use switchbed_scenario::*;
use switchbed_scenario::{Measure, QueueProbe, Scenario};
use switchbed_sim::Simulation;
use switchbed_sim::ids::HostId;
use switchbed_units::{Bytes, Rate, Span};

/// The standard's.
fn reaction(limiters: Limiters) -> Reaction {
    let card = CardReaction { limiters, point: ReactionSettings::default() };
    Reaction { card, ..Reaction::default() }
}

fn notifier(name: &str) -> SchemeChoice {
    named(name, &[])
}

/// Backlogged senders of 1000-byte packets into the last host of a star, without TCP.
fn static_flows(name: &str, flows: usize, until: Span) -> Scenario {
    let base = star(2);
    let mut scenario = Scenario {
        scheme: notifier(name),
        host: Host { mtu: Bytes::new(1000), ..base.host.usual }.into(),
        transport: Transport {
            control: CongestionControl::Udp,
            mss: Bytes::new(960),
            header: Bytes::new(40),
            ..dctcp()
        },
        reaction: Some(reaction(Limiters::Flow)),
        topology: Topology::Star(Star {
            hosts: 2,
            rate: Rate::from_gbps(10),
            delay: Span::from_us(12),
        }),
        switch: Switch { buffer: Bytes::new(150_000), ..base.switch },
        measure: Measure { fct_end: FctEnd::Received, ..base.measure },
        ..base
    };
    scenario = long_lived(scenario, &vec![0; flows], until);
    scenario.measure.warmup = Span::from_ms(until.as_ps() / 2_000_000_000);
    scenario
}

fn port(simulation: &mut Simulation, name: &str) -> switchbed_sim::PortReport {
    let reports = simulation.port_reports();
    reports.into_iter().find(|report| report.info.name == name).expect("a port")
}

#[test]
fn a_sender_without_tcp_fills_its_link_from_the_start() {
    let mut scenario = static_flows("qcn", 1, Span::from_ms(2));
    scenario.measure.warmup = Span::ZERO;
    let (mut simulation, records) = run(&scenario);
    assert_eq!(records.len(), 1);
    // 24.8 us on the way (two links, a packet on each), then a packet each 0.8 us.
    let packets = (2_000.0 - 25.6) / 0.8;
    assert!((records[0].received.as_f64() / 960.0 - packets).abs() <= 1.5, "{records:?}");
    assert_eq!(port(&mut simulation, "switch:1").counters.dropped(), 0);
}

#[test]
fn af_qcn_shares_a_link_and_holds_the_queue() {
    let scenario = static_flows("af-qcn", 4, Span::from_ms(600));
    let (mut simulation, records) = run(&scenario);
    let rates = goodputs(&simulation, &records);
    let fair = 2.5e9 * 0.96;
    assert!(rates.iter().all(|rate| (rate / fair - 1.0).abs() < 0.15), "{rates:?}");
    let report = port(&mut simulation, "switch:4");
    assert!(report.utilisation > 0.99, "{}", report.utilisation);
    let mean = report.lengths.expect("measured").1.mean_bytes;
    assert!((mean / 26_000.0 - 1.0).abs() < 0.1, "Q_eq is 26 KB, the mean {mean}");
    // The start overflowed the queue; nothing was lost since.
    assert_eq!(report.counters.dropped(), 0);
}

#[test]
fn every_notification_is_a_frame_to_the_source_of_the_packet() {
    for delay in [Span::ZERO, Span::from_us(30)] {
        let mut scenario = static_flows("qcn", 3, Span::from_ms(40));
        scenario.measure.warmup = Span::ZERO;
        let reaction = scenario.reaction.as_mut().expect("set");
        (reaction.notification_delay, reaction.notification_size) = (delay, Bytes::new(80));
        let (mut simulation, _) = run(&scenario);
        let notified = port(&mut simulation, "switch:3").counters.notified;
        let to_senders: Vec<u64> = (0..3)
            .map(|host| {
                let counters = port(&mut simulation, &format!("switch:{host}")).counters;
                assert_eq!(counters.sent_bytes, 80 * counters.sent, "frames of 80 bytes alone");
                counters.sent
            })
            .collect();
        let sent: u64 = to_senders.iter().sum();
        // The last ones may still wait to be sent.
        assert!(notified > 30 && (notified - 5..=notified).contains(&sent), "{notified} {sent}");
        assert!(to_senders.iter().all(|&n| n > 0), "{to_senders:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_messages() {
    let of = |seed| {
        let mut scenario = static_flows("af-qcn", 5, Span::from_ms(60));
        scenario.run.seed = seed;
        let (mut simulation, records) = run(&scenario);
        let notified = port(&mut simulation, "switch:5").counters.notified;
        (records.iter().map(|record| record.received).collect::<Vec<_>>(), notified)
    };
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

/// AF-QCN's figure 10, all six flows at once: flow 0 over three full links, flow 1 over the
/// first two, flow 2 over the last two, the others over one each. Rates over max-min shares.
fn parking_lot(name: &str) -> Vec<f64> {
    let mut scenario = static_flows(name, 1, Span::from_ms(1_500));
    scenario.topology = Topology::ParkingLot(ParkingLot {
        switches: 4,
        hosts_per_switch: 6,
        rate: Rate::from_gbps(10),
        delay: Span::from_ns(6_250),
        bottleneck_rate: Rate::from_gbps(10),
        bottleneck_delay: Span::from_us(25),
    });
    let ends = [(0, 18), (1, 12), (6, 19), (2, 7), (8, 13), (14, 20)];
    scenario.traffic = ends
        .iter()
        .zip(0..)
        .map(|(&(from, to), class)| {
            Traffic::LongLived(LongLived {
                from: vec![from].into(),
                to: OneHost(to),
                flows_each: 1,
                classes: vec![class],
                start: Span::ZERO,
                stagger: Span::ZERO,
                stop: None,
            })
            .into()
        })
        .collect();
    scenario.measure.warmup = Span::ZERO;
    scenario.measure.goodput_every = Some(Span::from_ms(100));
    let (simulation, _) = run(&scenario);
    let late = simulation.goodputs().iter().filter(|s| s.at.as_secs_f64() > 0.75);
    let (mut taken, mut fair) = ([0.0; 6], [0.0; 6]);
    for sample in late {
        for class in 0..6 {
            taken[class] += sample.taken(class) as f64 * 8.0;
            fair[class] += sample.fair_bits(class);
        }
    }
    (0..6).map(|class| taken[class] / fair[class]).collect()
}

#[test]
fn af_qcn_is_max_min_fair_on_a_parking_lot_where_qcn_starves_many_hop_flows() {
    let af = parking_lot("af-qcn");
    assert!(af.iter().all(|ratio| (ratio - 1.0).abs() < 0.1), "{af:?}");
    let qcn = parking_lot("qcn");
    assert!(qcn[0] < 0.6 && qcn[1..3].iter().all(|ratio| *ratio < 0.9), "{qcn:?}");
    assert!(qcn[3..].iter().all(|ratio| *ratio > 1.1), "{qcn:?}");
}

#[test]
fn a_bursty_source_that_offers_too_much_is_held_to_its_share() {
    let of = |gbps| {
        let mut scenario = static_flows("af-qcn", 4, Span::from_ms(1_000));
        scenario.traffic.truncate(3);
        scenario.traffic.push(
            Traffic::OnOff(OnOff {
                overload: None,
                from: vec![3].into(),
                to: OneHost(4),
                burst: Bytes::new(10_000),
                rate: Rate::from_gbps(gbps),
                off: Off::Constant,
                classes: vec![1],
                start: Span::from_ms(100),
                stagger: Span::ZERO,
                stop: Some(Span::from_ms(1_000)),
            })
            .into(),
        );
        scenario.measure.goodput_every = Some(Span::from_ms(100));
        let (simulation, _) = run(&scenario);
        let late: Vec<_> = simulation.goodputs().iter().skip(5).collect();
        let mean = |class: usize| {
            let taken: u64 = late.iter().map(|sample| sample.taken(class)).sum();
            taken as f64 * 8.0 / 0.1 / late.len() as f64
        };
        [mean(0) / 3.0, mean(1)]
    };
    let [others, bursty] = of(1);
    assert!((bursty / 1e9 - 1.0).abs() < 0.03 && (others / 2.86e9 - 1.0).abs() < 0.05);
    let [others, bursty] = of(6);
    assert!((bursty / 2.38e9 - 1.0).abs() < 0.15, "{bursty}");
    assert!((others / 2.4e9 - 1.0).abs() < 0.1, "{others}");
}

#[test]
fn tcp_over_a_rate_limiter_loses_nothing_and_fills_the_link() {
    let base = static_flows("qcn", 3, Span::from_ms(300));
    let transport = Transport { control: CongestionControl::Reno, ecn: false, ..dctcp() };
    let scenario = Scenario {
        transport: Transport { mss: Bytes::new(960), header: Bytes::new(40), ..transport },
        measure: Measure { fct_end: FctEnd::Acked, ..base.measure.clone() },
        ..base
    };
    let (mut simulation, records) = run(&scenario);
    let report = port(&mut simulation, "switch:3");
    assert!(report.counters.notified > 100, "{:?}", report.counters);
    assert_eq!(report.counters.dropped(), 0);
    assert!(report.utilisation > 0.95, "{}", report.utilisation);
    let p99 = report.lengths.expect("measured").1.p99_bytes;
    assert!(p99 < 60_000.0, "{p99}");
    let rates = goodputs(&simulation, &records);
    assert!(rates.iter().all(|&rate| rate > 1e9), "{rates:?}");
    // Without notifications the same senders fill the buffer until it overflows.
    let plain = Scenario { scheme: notifier("none"), reaction: None, ..scenario };
    let (mut simulation, _) = run(&plain);
    let report = port(&mut simulation, "switch:3");
    assert!(
        report.counters.dropped() > 0 && report.lengths.expect("measured").1.p99_bytes > 100_000.0
    );
}

#[test]
fn flows_of_a_host_may_share_a_limiter() {
    // Host 0 has three connections, host 1 one: with a limiter a host each host gets half.
    let of = |limiters| {
        let mut scenario = static_flows("qcn", 2, Span::from_ms(1_000));
        scenario.reaction = Some(reaction(limiters));
        if let Traffic::LongLived(LongLived { flows_each, .. }) = &mut scenario.traffic[0].source {
            *flows_each = 3;
        }
        let (simulation, records) = run(&scenario);
        let rates = goodputs(&simulation, &records);
        let of_host = |host| -> f64 {
            let mine = records.iter().zip(&rates).filter(|(record, _)| record.src == host);
            mine.map(|(_, rate)| rate).sum()
        };
        of_host(HostId(0)) / (of_host(HostId(0)) + of_host(HostId(1)))
    };
    let [flow, host] = [Limiters::Flow, Limiters::Host].map(of);
    assert!(flow > 0.62, "{flow}");
    assert!((host - 0.5).abs() < 0.1, "{host}");
}

#[test]
fn flows_on_a_permanent_connection_follow_each_other_and_all_arrive() {
    let mut scenario = static_flows("af-qcn", 2, Span::from_ms(400));
    scenario.reaction = Some(reaction(Limiters::Host));
    scenario.traffic.truncate(1);
    scenario.traffic.push(
        arrive(Arrivals {
            load: 0.1,
            flows: 2_000,
            sizes: vec![Sizes {
                name: "30KB".into(),
                points: vec![(Bytes::new(30_000), 0.0), (Bytes::new(30_000), 1.0)],
                mean_bytes: 30_000.0,
                round_up_to: None,
            }],
            from: vec![1],
            to: vec![2],
            service: Service::ONE,
            connections: Connections::Single,
        })
        .into(),
    );
    scenario.measure.warmup = Span::ZERO;
    scenario.run.until = Some(Span::from_ms(3_000));
    let (simulation, records) = run(&scenario);
    assert_eq!(simulation.connections(), 2);
    let flows: Vec<_> = records.iter().filter(|record| record.src == HostId(1)).collect();
    assert_eq!(flows.len(), 2_000);
    let ends: Vec<_> = flows.iter().map(|flow| flow.end.expect("it ended")).collect();
    assert!(ends.is_sorted());
    let whole = flows.iter().filter(|flow| flow.received == Bytes::new(30_000)).count();
    assert!(whole > 1_950, "{whole} flows came whole");
}

#[test]
fn messages_about_packets_that_pass_an_idle_port_are_sent_too() {
    // Unsigned, AF-QCN tells who is over the share even where the queue is empty. Ports that
    // are not measured let packets pass straight through; that must change nothing.
    let of = |queues| {
        let mut scenario = static_flows("af-qcn", 2, Span::from_ms(60));
        scenario.scheme = but(&scenario.scheme, "signed", Value::Flag(false));
        // Host 0 is held to 2 Gbps, host 1 to 1: the link is never full.
        let weights = [Rate::from_gbps(2), Rate::from_gbps(1)].map(Value::Rate);
        scenario.scheme = but(&scenario.scheme, "max", Value::List(weights.into()));
        if let Traffic::LongLived(LongLived { classes, .. }) = &mut scenario.traffic[1].source {
            *classes = vec![1];
        }
        scenario.measure.queues = queues;
        let (mut simulation, records) = run(&scenario);
        let notified = port(&mut simulation, "switch:2").counters.notified;
        (records.iter().map(|record| record.received).collect::<Vec<_>>(), notified)
    };
    let measured = of(QueueProbe::All);
    assert!(measured.1 > 20, "{measured:?}");
    assert_eq!(of(QueueProbe::Off), measured);
}
