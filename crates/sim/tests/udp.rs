//! Hosts without TCP, and cards that limit rates, packet by packet.

use crate::common::*;
use switchbed_qdisc::ReactionSettings;
use switchbed_scenario::*;
use switchbed_scenario::{Measure, Scenario};
use switchbed_sim::Simulation;
use switchbed_sim::ids::HostId;
use switchbed_units::{Bytes, Span, Time};

/// A star at 10 Gbps with 1 us links: 960 bytes of payload in 1000-byte packets, 0.8 us each.
fn udp(hosts: u32) -> Scenario {
    let base = star(hosts);
    Scenario {
        host: Host { mtu: Bytes::new(1000), ..base.host.usual }.into(),
        transport: Transport {
            control: CongestionControl::Udp,
            mss: Bytes::new(960),
            header: Bytes::new(40),
            ..dctcp()
        },
        measure: Measure { fct_end: FctEnd::Received, ..base.measure },
        ..base
    }
}

fn us(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}

#[test]
fn a_flow_alone_takes_what_the_empty_network_takes() {
    for size in [1, 960, 961, 9_600, 100_000] {
        let mut scenario = udp(3);
        let (_file, traffic) = list(&[(0.0, 0, 2, size)], Connections::Fresh);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        let (simulation, records) = run(&scenario);
        let record = &records[0];
        assert_eq!(record.received, Bytes::new(size));
        let fct = record.end.expect("it ended").since(record.start);
        assert_eq!(fct, simulation.empty_fct(HostId(0), HostId(2), Bytes::new(size)), "{size}");
    }
}

#[test]
fn connections_of_a_host_take_turns_and_flows_of_one_follow_each_other() {
    let mut scenario = udp(4);
    // Two flows to host 2, one to host 3, ten packets each.
    let rows = [(0.0, 0, 2, 9_600), (0.0, 0, 2, 9_600), (0.0, 0, 3, 9_600)];
    let (_file, traffic) = list(&rows, Connections::Single);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (simulation, records) = run(&scenario);
    assert_eq!(simulation.connections(), 2);
    // By turns the first and the third flow share the link for 20 packets; the second has it
    // alone after them. A packet's way takes 2 + 2·0.8 us, of which 0.8 are in the count.
    let end = |packets: f64| packets * 0.8 + 2.8;
    let ends: Vec<f64> = records.iter().map(|r| us(r.end.expect("it ended"))).collect();
    assert_eq!(ends, [end(19.0), end(30.0), end(20.0)]);
}

#[test]
fn what_is_lost_stays_lost_and_a_flow_whose_last_packet_was_lost_ends_with_the_next() {
    let mut scenario = udp(4);
    scenario.switch.buffer = Bytes::new(3_000);
    // Two hosts send 20 packets each at once into a queue of three; then one packet more each.
    let rows = [(0.0, 0, 3, 19_200), (0.0, 1, 3, 19_200), (0.0001, 0, 3, 960), (0.0001, 1, 3, 960)];
    let (_file, traffic) = list(&rows, Connections::Single);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (mut simulation, records) = run(&scenario);
    let port = simulation.port_reports().into_iter().find(|r| r.info.name == "switch:3").unwrap();
    let lost = port.counters.dropped();
    // At 2 packets in and 1 out a packet's time the queue of three and the line take 23 of 40.
    assert!((15..=18).contains(&lost), "{lost}");
    let received: u64 = records.iter().map(|r| r.received.get()).sum();
    assert_eq!(received, (42 - lost) * 960);
    assert!(records.iter().all(|r| r.end.is_some()), "{records:?}");
    assert!(records[2..].iter().all(|r| r.received == Bytes::new(960)));
    // Whose last packet was lost ended with the packet sent 100 us later.
    let late = records[..2].iter().filter(|r| us(r.end.unwrap()) > 100.0).count();
    assert_eq!(late, 1, "{records:?}");
}

#[test]
fn a_run_whose_last_packets_were_lost_is_over_when_nothing_moves() {
    let mut scenario = udp(3);
    scenario.switch.buffer = Bytes::new(3_000);
    let (_file, traffic) =
        list(&[(0.0, 0, 2, 19_200), (0.0, 1, 2, 19_200)], Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let watched = Measure {
        series_every: Some(Span::from_us(1)),
        goodput_every: Some(Span::from_us(1)),
        ..scenario.measure.clone()
    };
    let mut ends = Vec::new();
    for measure in [scenario.measure.clone(), watched] {
        let scenario = Scenario { measure, ..scenario.clone() };
        let mut simulation = Simulation::new(&scenario).expect("it builds");
        assert_eq!(simulation.advance(100_000), switchbed_sim::Status::Finished);
        let lost: u64 = simulation.port_reports().iter().map(|r| r.counters.dropped()).sum();
        let mut records = simulation.take_finished();
        let unfinished = simulation.unfinished();
        assert!(!unfinished.is_empty() && unfinished.iter().all(|record| record.end.is_none()));
        records.extend(unfinished);
        let received: u64 = records.iter().map(|record| record.received.get()).sum();
        assert_eq!(received, (40 - lost) * 960);
        ends.push(simulation.now());
    }
    // The last packet of 20 leaves a host after 16 us, and what was queued then is there by 22; the
    // sender has word of it two windows later, and the run ends with the next.
    assert!((16.0..27.0).contains(&us(ends[0])), "{}", ends[0]);
    assert_eq!(ends[0], ends[1], "looking must not change when it ends");
}

#[test]
fn an_endless_flow_stops_when_told_and_its_place_is_used_again() {
    let mut scenario = udp(3);
    scenario.traffic = vec![
        Traffic::LongLived(LongLived {
            from: vec![0].into(),
            to: OneHost(2),
            flows_each: 1,
            classes: vec![0],
            start: Span::ZERO,
            stagger: Span::ZERO,
            stop: Some(Span::from_us(80)),
        })
        .into(),
        Traffic::LongLived(LongLived {
            from: vec![0].into(),
            to: OneHost(2),
            flows_each: 1,
            classes: vec![0],
            start: Span::from_us(200),
            stagger: Span::ZERO,
            stop: Some(Span::from_us(240)),
        })
        .into(),
    ];
    let (simulation, records) = run(&scenario);
    let packets: Vec<u64> = records.iter().map(|r| r.received.get() / 960).collect();
    assert_eq!(packets, [100, 50]);
    let ends: Vec<f64> = records.iter().map(|r| us(r.end.expect("it ended"))).collect();
    // The last packet left at 80 us, and arrives 2 us and a transmission later.
    assert_eq!(ends, [82.8, 242.8]);
    assert_eq!(simulation.connections(), 1);
}

/// Reaction points whose rates stay where notifications put them.
fn still() -> Reaction {
    let point = ReactionSettings {
        byte_cycle: Bytes::new(1 << 50),
        timer_cycle: Span::from_ms(100_000_000),
        jitter: 0.0,
        ..ReactionSettings::default()
    };
    Reaction { card: CardReaction { limiters: Limiters::Flow, point }, ..Reaction::default() }
}

#[test]
fn an_interrupted_run_is_the_same_with_notifications_too() {
    // A run that is interrupted at odd moments is the same.
    let mut scenario = udp(4);
    scenario.reaction = Some(still());
    scenario.reaction.as_mut().expect("set").card.point.jitter = 0.15;
    scenario.scheme = named("qcn", &[]);
    scenario = long_lived(scenario, &[0, 0, 0], Span::from_ms(5));
    let (_, plain) = run(&scenario);
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(97) == switchbed_sim::Status::Running {}
    assert_eq!(simulation.unfinished(), plain);
    assert!(plain.iter().all(|record| record.received > Bytes::ZERO));
}
