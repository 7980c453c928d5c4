//! Incast and on–off sources.

mod common;

use common::*;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_sim::traffic::{ConnectionUse, FlowStart, Flows, Hosts};
use switchbed_spec::*;

const HOSTS: Hosts =
    Hosts { count: 9, rate: Rate::from_gbps(10), mss: Bytes::new(1460), header: Bytes::new(40) };

fn constant(bytes: u64) -> Sizes {
    let points = vec![(Bytes::new(bytes), 1.0)];
    Sizes { name: "one".into(), points, mean_bytes: bytes as f64, round_up_to: None }
}

fn incast(senders: u32, size: u64, rounds: u64) -> Traffic {
    Traffic::Incast {
        from: (0..senders).rev().collect(),
        to: senders,
        sizes: constant(size),
        flows_each: 1,
        rounds,
        every: Span::from_ms(1),
        classes: vec![0],
        start: Span::from_us(5),
        connections: Connections::FreshNoHandshake,
    }
}

fn flows(entry: &Traffic) -> Vec<FlowStart> {
    let flows = Flows::new(std::slice::from_ref(entry), HOSTS, 1).expect("makes flows");
    let total = flows.total();
    let flows: Vec<_> = flows.collect();
    assert_eq!(flows.len() as u64, total);
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    flows
}

/// Every sender's first packet is at the switch after 1.2 + 1 us; from then on the
/// receiver's link is busy with all packets one after another, 1.2 us each, and the last
/// takes 1 us more.
#[test]
fn the_last_byte_of_an_incast_arrives_when_the_receivers_link_has_sent_all() {
    for (senders, packets_each) in [(1, 1), (8, 1), (8, 10), (40, 16)] {
        let mut scenario = star(senders + 1);
        scenario.switch.buffer = Bytes::new(10_000_000);
        scenario.scheme = scheme("none", Bytes::ZERO);
        scenario.measure.fct_end = FctEnd::Received;
        scenario.traffic = vec![incast(senders, packets_each * 1460, 3)];
        let (_, records) = run(&scenario);
        assert_eq!(records.len() as u32, 3 * senders);
        for (round, records) in (0..).zip(records.chunks(senders as usize)) {
            let start = Time::ZERO + Span::from_us(5) + Span::from_ms(1) * round;
            assert!(records.iter().all(|record| record.start == start));
            let last = records.iter().map(|record| record.end.expect("finished")).max().unwrap();
            let packets = u64::from(senders) * packets_each;
            assert_eq!(last.since(start), Span::from_ns(2200 + packets * 1200 + 1000));
        }
    }
}

#[test]
fn an_incast_is_dealt_to_classes_sender_by_sender_and_drawn_from_its_table() {
    let mut entry = incast(3, 1460, 100);
    let Traffic::Incast { sizes, classes, flows_each, .. } = &mut entry else { unreachable!() };
    *sizes = switchbed_spec::sizes::named("web-search").unwrap();
    (*classes, *flows_each) = (vec![0, 1, 2, 3], 2);
    let flows = flows(&entry);
    let who: Vec<(u32, u8)> = flows.iter().map(|flow| (flow.src, flow.class)).collect();
    // Named 2, 1, 0, so that 2 has classes 0 and 1.
    assert_eq!(who[..6], [(0, 0), (0, 1), (1, 2), (1, 3), (2, 0), (2, 1)]);
    assert!(who.chunks(6).all(|round| round == &who[..6]));
    let sizes: std::collections::BTreeSet<_> = flows.iter().map(|flow| flow.size).collect();
    assert!(sizes.len() > 100, "{sizes:?}");
}

fn on_off(rate: Rate, off: Off) -> Traffic {
    Traffic::OnOff {
        from: vec![2, 1],
        to: 8,
        burst: Bytes::new(10_000),
        rate,
        off,
        classes: vec![0, 1],
        start: Span::from_ms(1),
        stagger: Span::from_us(3),
        stop: Span::from_ms(101),
    }
}

#[test]
fn constant_silences_make_bursts_exactly_at_the_rate() {
    // 10 KB at 1 Gbps are 80 us: 1250 bursts in 100 ms, one more of neither source.
    let flows = flows(&on_off(Rate::from_gbps(1), Off::Constant));
    assert_eq!(flows.len(), 2500);
    for (host, class, first) in [(2, 0, Span::from_ms(1)), (1, 1, Span::from_us(1003))] {
        let of_host = flows.iter().filter(|flow| flow.src == host);
        for (k, flow) in of_host.enumerate() {
            assert_eq!(flow.start, Time::ZERO + first + Span::from_us(80) * k as u64);
            assert_eq!((flow.class, flow.dst, flow.size), (class, 8, Some(Bytes::new(10_000))));
            assert_eq!(flow.connection, ConnectionUse::Single);
        }
    }
}

#[test]
fn exponential_silences_have_the_rate_on_average_and_begin_after_the_burst() {
    let mut entry = on_off(Rate::from_gbps(6), Off::Exponential);
    let Traffic::OnOff { stop, .. } = &mut entry else { unreachable!() };
    *stop = Span::from_ms(2001);
    let flows: Vec<_> = Flows::new(&[entry], HOSTS, 1).expect("makes flows").collect();
    let starts: Vec<f64> =
        flows.iter().filter(|f| f.src == 2).map(|f| f.start.as_secs_f64()).collect();
    // On for 8 us (10 Gbps), off for 16/3 us on average: a period of 40/3 us.
    let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) * 1e6).collect();
    assert!(gaps.iter().all(|&gap| gap >= 8.0 - 1e-6));
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let (off, period) = (16.0 / 3.0, 40.0 / 3.0);
    assert!((mean - period).abs() < 4.0 * off / n.sqrt(), "{mean}");
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n;
    assert!((variance / (off * off) - 1.0).abs() < 4.0 * (8.0 / n).sqrt(), "{variance}");
    assert!((n / (2e6 / period) - 1.0).abs() < 0.01, "{n} bursts");
}

#[test]
fn bursts_wait_for_each_other_on_one_connection() {
    // Two sources that offer 6 Gbps each to one link of 10: what waits is lost to neither.
    let mut scenario = star(9);
    scenario.traffic = vec![on_off(Rate::from_gbps(6), Off::Constant)];
    scenario.traffic.iter_mut().for_each(|entry| {
        let Traffic::OnOff { classes, stop, .. } = entry else { unreachable!() };
        (*classes, *stop) = (vec![0], Span::from_ms(11));
    });
    let (simulation, records) = run(&scenario);
    assert_eq!(simulation.connections(), 2);
    assert_eq!(records.iter().filter(|record| record.handshake).count(), 2);
    for host in [1, 2] {
        let ends: Vec<_> = records.iter().filter(|r| r.src == host).map(|r| r.end).collect();
        assert!(ends.len() > 700 && ends.is_sorted() && ends.iter().all(Option::is_some));
    }
}

#[test]
fn what_makes_no_bursts_is_refused() {
    let refused = |entry: Traffic, expected: &str| {
        let error = Flows::new(&[entry], HOSTS, 1).expect_err("refused").to_string();
        assert!(error.starts_with(&format!("traffic entry 1: {expected}")), "{error}");
    };
    let change = |mut entry: Traffic, change: &dyn Fn(&mut Traffic)| {
        change(&mut entry);
        entry
    };
    refused(incast(9, 1, 1), "`to` names host 9; the hosts are 0 to 8");
    let to_itself = change(incast(3, 1, 1), &|entry| {
        let Traffic::Incast { to, .. } = entry else { unreachable!() };
        *to = 1;
    });
    refused(to_itself, "host 1 is both in `from` and `to`");
    let late = change(incast(3, 1, u64::MAX), &|_| ());
    refused(late, "the last round starts too late");
    let fast = on_off(Rate::from_gbps(11), Off::Constant);
    refused(fast, "`rate` is 11Gbps, and a host's link carries 10Gbps");
    let late = change(on_off(Rate::from_gbps(1), Off::Constant), &|entry| {
        let Traffic::OnOff { stop, .. } = entry else { unreachable!() };
        *stop = Span::from_us(1002);
    });
    refused(late, "the last source would start after `stop`");
}
