//! Hosts without TCP, and cards that limit rates, packet by packet.

use crate::common::*;
use switchbed_qdisc::ReactionSettings;
use switchbed_qdisc::units::{Bytes, Span, Time};
use switchbed_sim::Simulation;
use switchbed_spec::*;

/// A star at 10 Gbps with 1 us links: 960 bytes of payload in 1000-byte packets, 0.8 us each.
fn udp(hosts: u32) -> Scenario {
    let base = star(hosts);
    Scenario {
        host: Host { mtu: Bytes::new(1000), ..base.host },
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
        scenario.traffic = traffic;
        let (simulation, records) = run(&scenario);
        let record = &records[0];
        assert_eq!(record.received, Bytes::new(size));
        let fct = record.end.expect("it ended").since(record.start);
        assert_eq!(fct, simulation.empty_fct(0, 2, Bytes::new(size)), "{size}");
    }
}

#[test]
fn connections_of_a_host_take_turns_and_flows_of_one_follow_each_other() {
    let mut scenario = udp(4);
    // Two flows to host 2, one to host 3, ten packets each.
    let rows = [(0.0, 0, 2, 9_600), (0.0, 0, 2, 9_600), (0.0, 0, 3, 9_600)];
    let (_file, traffic) = list(&rows, Connections::Single);
    scenario.traffic = traffic;
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
    scenario.traffic = traffic;
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
    scenario.traffic = traffic;
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
    // The last packet of 20 leaves a host after 16 us, and what was queued then is there by 22.
    assert!((16.0..22.0).contains(&us(ends[0])), "{}", ends[0]);
    assert_eq!(ends[0], ends[1], "looking must not change when it ends");
}

#[test]
fn an_endless_flow_stops_when_told_and_its_place_is_used_again() {
    let mut scenario = udp(3);
    scenario.traffic = vec![
        Traffic::LongLived {
            from: vec![0],
            to: 2,
            flows_each: 1,
            classes: vec![0],
            start: Span::ZERO,
            stagger: Span::ZERO,
            stop: Some(Span::from_us(80)),
        },
        Traffic::LongLived {
            from: vec![0],
            to: 2,
            flows_each: 1,
            classes: vec![0],
            start: Span::from_us(200),
            stagger: Span::ZERO,
            stop: Some(Span::from_us(240)),
        },
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
    Reaction {
        limiters: Limiters::Flow,
        point: ReactionSettings {
            byte_cycle: Bytes::new(1 << 50),
            timer_cycle: Span::from_ms(100_000_000),
            jitter: 0.0,
            ..ReactionSettings::default()
        },
        notification_class: 0,
        notification_size: Bytes::new(64),
        notification_delay: Span::ZERO,
    }
}

mod cards {
    use super::still;
    use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
    use switchbed_qdisc::{FlowId, Packet};
    use switchbed_sim::network::Network;
    use switchbed_sim::nic::{GroupId, Nics};
    use switchbed_sim::tcp::{Flags, Segment};
    use switchbed_sim::topology::{Graph, Hop};
    use switchbed_spec::{Limiters, Reaction, Topology};

    const RATE: Rate = Rate::from_gbps(10);

    fn network() -> Network {
        let topology = Topology::Star { hosts: 2, rate: RATE, delay: Span::from_us(1) };
        let graph = Graph::new(&topology, Span::ZERO);
        Network::new(&graph, &[0, 1, 2, 3], 1, Bytes::MAX, |cable| {
            use switchbed_qdisc::{Port, PortState, Seats, buffer::Shared, classifier::Single};
            use switchbed_qdisc::{scheduler::Fifo, seats::Nobody};
            let seats = Seats::new(Single, Shared { limit: Bytes::MAX }, Nobody, Fifo, Nobody);
            Box::new(Port::new(PortState::new(cable.rate, &[Bytes::new(1000)]), seats))
        })
    }

    /// When each of the connections' packets left, in ns, up to `until`.
    fn sent(nics: &mut Nics, until: Span) -> Vec<(u32, u64)> {
        let mut net = network();
        let mut log = Vec::new();
        while nics.next_timer() <= Time::ZERO + until {
            nics.fire(&mut net, |connection, now| {
                log.push((connection, now.as_ps() / 1_000));
                let packet =
                    Packet { flow: FlowId(connection), len_bytes: 1000, ..Packet::default() };
                Some((packet, Segment::data(0, 960, Flags::NONE, now), Hop { dst: 1, key: 0 }))
            });
        }
        log
    }

    fn nics(reaction: Reaction) -> Nics {
        Nics::new([RATE, RATE].into_iter(), Some(reaction), 1)
    }

    fn groups(nics: &mut Nics, classes: &[u8]) -> Vec<GroupId> {
        classes.iter().map(|&class| nics.group(0, class, None)).collect()
    }

    #[test]
    fn limiters_are_a_connections_a_classs_or_a_hosts() {
        let of = |limiters| {
            let mut nics = nics(Reaction { limiters, ..still() });
            groups(&mut nics, &[0, 1, 0])
        };
        let [a, b, c] = of(Limiters::Flow)[..] else { panic!() };
        assert!(a != b && b != c && a != c);
        let [a, b, c] = of(Limiters::Class)[..] else { panic!() };
        assert!(a == c && a != b);
        let [a, b, c] = of(Limiters::Host)[..] else { panic!() };
        assert!(a == b && b == c);
    }

    #[test]
    fn a_limited_packet_leaves_when_the_rate_says() {
        let mut nics = nics(still());
        let [free, limited] = groups(&mut nics, &[0, 0])[..] else { panic!() };
        // A quarter twice: 5.625 Gbps, a packet each 1422.2 ns.
        nics.notify(limited, 32, Time::ZERO);
        nics.notify(limited, 32, Time::ZERO);
        assert!(nics.limited(limited) && !nics.limited(free));
        assert_eq!(nics.rate_bps(limited, Time::ZERO), 5.625e9);
        nics.join(limited, 7, Time::ZERO);
        let log = sent(&mut nics, Span::from_us(7));
        assert_eq!(log, [(7, 0), (7, 1422), (7, 2844), (7, 4266), (7, 5688)]);
    }

    #[test]
    fn the_free_take_what_the_limited_leave_and_rates_hold_beside_them() {
        let mut nics = nics(still());
        let [free, limited] = groups(&mut nics, &[0, 0])[..] else { panic!() };
        // Twice by 63 steps: 2.579 Gbps.
        nics.notify(limited, 63, Time::ZERO);
        nics.notify(limited, 63, Time::ZERO);
        nics.join(free, 1, Time::ZERO);
        nics.join(limited, 2, Time::ZERO);
        let log = sent(&mut nics, Span::from_us(8_000));
        let of = |connection| log.iter().filter(|sent| sent.0 == connection).count() as f64;
        assert!((of(2) * 8_000.0 / 8e-3 / 2.5787e9 - 1.0).abs() < 0.002, "{}", of(2));
        // The line is never idle: a packet each 800 ns.
        assert!(log.windows(2).all(|pair| pair[1].1 - pair[0].1 == 800));
    }

    #[test]
    fn groups_of_equal_rates_and_connections_of_a_group_take_turns() {
        let mut nics = nics(still());
        let [a, b] = groups(&mut nics, &[0, 0])[..] else { panic!() };
        nics.join(a, 1, Time::ZERO);
        nics.join(a, 2, Time::ZERO);
        nics.join(b, 3, Time::ZERO);
        let order: Vec<u32> =
            sent(&mut nics, Span::from_us(7)).into_iter().map(|sent| sent.0).collect();
        assert_eq!(order[..8], [1, 3, 2, 3, 1, 3, 2, 3]);
    }

    #[test]
    fn a_connection_that_falls_silent_leaves_its_group_and_may_come_back() {
        let mut nics = nics(still());
        let group = nics.group(0, 0, None);
        nics.join(group, 1, Time::ZERO);
        let mut net = network();
        nics.fire(&mut net, |_, _| None);
        assert_eq!(nics.next_timer(), Time::NEVER);
        let later = Time::ZERO + Span::from_us(5);
        nics.join(group, 1, later);
        assert_eq!(nics.next_timer(), later);
    }

    #[test]
    fn a_place_that_is_used_again_starts_without_a_limiter() {
        let mut nics = nics(still());
        let group = nics.group(0, 0, None);
        nics.notify(group, 63, Time::ZERO);
        assert_eq!(nics.group(0, 0, Some(group)), group);
        assert!(!nics.limited(group));
        // Not while a connection is still in it.
        nics.notify(group, 63, Time::ZERO);
        nics.join(group, 1, Time::ZERO);
        assert_ne!(nics.group(0, 0, Some(group)), group);
    }
}

#[test]
fn a_settled_run_is_a_run_with_notifications_too() {
    // Ports settled at odd moments change nothing.
    let mut scenario = udp(4);
    scenario.reaction = Some(still());
    scenario.reaction.as_mut().expect("set").point.jitter = 0.15;
    scenario.scheme = SchemeChoice {
        name: "qcn".into(),
        label: "qcn".into(),
        params: [("q_eq", 26_000.0), ("w", 2.0), ("jitter", 0.15)]
            .map(|(name, value)| {
                let value = match name {
                    "q_eq" => scheme::Value::Bytes(Bytes::new(value as u64)),
                    _ => scheme::Value::Number(value),
                };
                (name.to_string(), value)
            })
            .into(),
    };
    scenario = long_lived(scenario, &[0, 0, 0], Span::from_ms(5));
    let (_, plain) = run(&scenario);
    let mut simulation = Simulation::new(&scenario).expect("builds");
    while simulation.advance(97) == switchbed_sim::Status::Running {
        simulation.settle();
    }
    assert_eq!(simulation.unfinished(), plain);
    assert!(plain.iter().all(|record| record.received > Bytes::ZERO));
}
