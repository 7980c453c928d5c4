//! What happens to arrived frames before TCP, against times and counts worked out by hand.

use crate::common::*;
use switchbed_scenario::Scenario;
use switchbed_scenario::*;
use switchbed_sim::ids::HostId;
use switchbed_sim::{FlowRecord, Simulation};
use switchbed_units::{Bytes, Span};

const US: fn(u64) -> Span = Span::from_us;

/// One flow of `packets` full packets from host 0 to host 1 whose window is never the limit.
fn one_flow(host: impl Fn(Host) -> Host, packets: u64) -> (Simulation, FlowRecord) {
    let mut scenario = star(2);
    scenario.host.usual = host(scenario.host.usual);
    scenario.transport.initial_window = 200;
    let flow = [(0.0, 0, 1, packets * 1460)];
    let (_file, traffic) = list(&flow, Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (simulation, records) = run(&scenario);
    assert_eq!(records.len(), 1);
    (simulation, records[0])
}

fn fct(record: &FlowRecord) -> Span {
    record.end.expect("finished").since(record.start)
}

/// How much longer the flow takes than in an empty network without offloads.
fn delay(host: impl Fn(Host) -> Host, packets: u64) -> Span {
    let (simulation, record) = one_flow(host, packets);
    fct(&record) - simulation.empty_fct(HostId(0), HostId(1), Bytes::new(packets * 1460))
}

/// Frames that host 1's card sent: ACKs.
fn acks(simulation: &mut Simulation) -> u64 {
    let reports = simulation.port_reports();
    reports.iter().find(|r| r.info.name == "host1").expect("there").counters.sent
}

fn coalesce(frames: u32, time: Span) -> impl Fn(Host) -> Host {
    move |host| Host { coalesce: Coalesce { frames, time }, ..host }
}

fn merge(packets: u32, time: Span) -> impl Fn(Host) -> Host {
    move |host| Host { merge: Merge { packets, time, ..host.merge }, ..host }
}

#[test]
fn without_offloads_nothing_waits() {
    assert_eq!(delay(|host| host, 1), Span::ZERO);
    assert_eq!(delay(|host| host, 100), Span::ZERO);
}

#[test]
fn a_lone_frame_waits_for_the_interrupt_at_both_ends() {
    assert_eq!(delay(coalesce(0, US(30)), 1), US(60));
    assert_eq!(delay(coalesce(10, US(30)), 1), US(60));
}

fn jitter(most: Span) -> impl Fn(Host) -> Host {
    move |host| Host { jitter: most, ..host }
}

#[test]
fn a_frame_takes_a_random_time_up_to_the_jitter_at_both_ends() {
    // Packet by packet: 400 times at either end, half of the jitter on average.
    let mut scenario = star(2);
    scenario.transport.initial_window = 1;
    scenario.transport.receive_window = 1;
    scenario.host.usual = jitter(US(10))(scenario.host.usual);
    let (_file, traffic) = list(&[(0.0, 0, 1, 400 * 1460)], Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let took = |scenario: &Scenario| fct(&run(scenario).1[0]);
    let noisy = took(&scenario);
    scenario.run.seed = 2;
    assert_ne!(noisy, took(&scenario), "another seed, other times");
    scenario.host.usual = jitter(Span::ZERO)(scenario.host.usual);
    let mean_us = (noisy - took(&scenario)).as_secs_f64() * 1e6 / 800.0;
    // The standard error is 10 / sqrt(12 * 800) = 0.1 us.
    assert!((mean_us - 5.0).abs() < 0.4, "{mean_us} us a frame");
    let lone = delay(jitter(US(10)), 1);
    assert!(lone > Span::ZERO && lone <= US(20), "{lone:?}");
}

#[test]
fn frames_keep_their_order_under_jitter() {
    // Times of up to 40 packets' each; packets out of order would be repaired.
    let (mut simulation, record) = one_flow(jitter(US(48)), 200);
    assert_eq!(record.retransmissions, 0);
    assert_eq!(acks(&mut simulation), 200);
    let late = delay(jitter(US(48)), 200);
    assert!(late > US(48) && late <= US(96), "{late:?}");
}

#[test]
fn so_many_frames_interrupt_at_once() {
    // The fourth packet interrupts, and its four ACKs do at the sender. All four leave the
    // receiver then, so the last is three ACKs' times behind the first.
    let (simulation, record) = one_flow(coalesce(4, US(30)), 4);
    let ack = Span::from_ns(32);
    let size = Bytes::new(4 * 1460);
    assert_eq!(fct(&record), simulation.empty_fct(HostId(0), HostId(1), size) + ack * 3);
    // A fifth one waits, and so does its ACK.
    assert_eq!(delay(coalesce(4, US(30)), 5), US(60));
}

#[test]
fn an_interrupt_comes_when_the_first_frame_has_waited_long_enough() {
    // Frames come 1.2 us apart: 3 us after the first, two more are there. Ten packets make
    // interrupts for 3, 3, 3 and 1, the last 3 us after its only one.
    let (mut simulation, record) = one_flow(coalesce(0, US(3)), 10);
    assert_eq!(acks(&mut simulation), 10);
    assert_eq!(
        fct(&record),
        simulation.empty_fct(HostId(0), HostId(1), Bytes::new(14_600)) + US(6)
    );
}

#[test]
fn merged_packets_cause_one_ack() {
    for (packets, most, expected) in
        [(50, 5, 10), (52, 5, 11), (3, 5, 1), (1, 5, 1), (100, 1, 100), (100, 100, 1)]
    {
        let (mut simulation, record) = one_flow(merge(most, US(1_000)), packets);
        assert_eq!(acks(&mut simulation), expected, "{packets} packets, merged by {most}");
        // The last one ends its flow, so that none waits for a next.
        let size = Bytes::new(packets * 1460);
        assert_eq!(fct(&record), simulation.empty_fct(HostId(0), HostId(1), size));
    }
}

#[test]
fn a_merged_packet_is_acknowledged_whatever_the_delayed_ack_waits_for() {
    let mut scenario = star(2);
    scenario.transport = Transport { initial_window: 200, ack_every: 8, ..scenario.transport };
    scenario.host.usual.merge = Merge { packets: 5, time: US(1_000), ..MERGE };
    let (_file, traffic) = list(&[(0.0, 0, 1, 50 * 1460)], Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (mut simulation, _) = run(&scenario);
    assert_eq!(acks(&mut simulation), 10);
}

#[test]
fn a_packet_waits_for_the_next_only_so_long() {
    // Packets come 1.2 us apart: sixteen more within 20 us of a first.
    let (mut simulation, _) = one_flow(merge(100, US(20)), 100);
    assert_eq!(acks(&mut simulation), 100_u64.div_ceil(17));
    // A window of one packet: each but the last waits in vain.
    let mut scenario = star(2);
    scenario.transport.initial_window = 1;
    scenario.transport.receive_window = 1;
    let (_file, traffic) = list(&[(0.0, 0, 1, 4 * 1460)], Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (_, plain) = run(&scenario);
    scenario.host.usual.merge = Merge { packets: 5, time: US(20), ..MERGE };
    let (_, merged) = run(&scenario);
    assert_eq!(fct(&merged[0]), fct(&plain[0]) + US(60));
}

#[test]
fn what_one_interrupt_brings_is_merged() {
    // Interrupts for 3, 3, 3 and 1, as above; merged two by two, that is 2, 2, 2 and 1 ACKs.
    let both = |host| merge(2, US(1_000))(coalesce(0, US(3))(host));
    let (mut simulation, _) = one_flow(both, 10);
    assert_eq!(acks(&mut simulation), 7);
}

/// ACKs of one flow whose packets are merged as Linux does; interrupts every so long.
fn polled_acks(packets: u32, time: Span, sent: u64) -> u64 {
    let merge = Merge { packets, flush: MergeFlush::Poll, ..MERGE };
    let host = |host| Host { merge, ..coalesce(0, time)(host) };
    let (mut simulation, record) = one_flow(host, sent);
    assert_eq!(record.received.get(), sent * 1460);
    acks(&mut simulation)
}

#[test]
fn a_poll_brings_what_waits_64_frames_at_a_time_and_merges_up_to_64_kib() {
    // A frame each 1.2 us: 84 wait in 100 us. 44 of 1460 bytes and 40 of headers are less than
    // 64 KiB; after 64 frames a new merged packet begins, so that of 84 there are 44, 20, 20;
    // the last interrupt brings 32 of 200.
    assert_eq!(polled_acks(1_000, US(100), 200), 3 + 3 + 1);
    // Up to 17, as before 3.13: 17, 17, 17, 13 and 17, 3 twice; 17 and 15.
    assert_eq!(polled_acks(17, US(100), 200), 6 + 6 + 2);
    // Within the budget: 26 frames in 30 us, the last at the instant of the interrupt.
    assert_eq!(polled_acks(1_000, US(30), 52), 2);
    // Where each frame is an interrupt, nothing waits for another.
    assert_eq!(polled_acks(1_000, Span::ZERO, 50), 50);
}

#[test]
fn packets_marked_otherwise_are_not_merged() {
    // Two senders fill the receiver's port beyond a threshold of ten packets: ACKs come
    // where five packets are alike, where the mark changes, or where a flow ends.
    let mut scenario = star(3);
    scenario.scheme = scheme("per-queue", packets(8));
    scenario.transport.initial_window = 200;
    scenario.host.usual.merge = Merge { packets: 5, time: Span::from_ms(1), ..MERGE };
    let rows = [(0.0, 0, 2, 40 * 1460), (0.0, 1, 2, 40 * 1460)];
    let (_file, traffic) = list(&rows, Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (mut simulation, records) = run(&scenario);
    assert_eq!(records.iter().map(|r| r.received.get()).sum::<u64>(), 80 * 1460);
    let reports = simulation.port_reports();
    let sent = |name: &str| reports.iter().find(|r| r.info.name == name).expect("there").counters;
    assert!(sent("switch:2").marked > 0);
    // Each flow: ten packets or so unmarked, then marked to the end; the change costs an ACK.
    let acks = sent("host2").sent;
    assert!((17..=20).contains(&acks), "{acks} ACKs");
    // DCTCP's exact echo stays exact: α's samples see both kinds.
    assert!(records.iter().all(|r| r.ecn_cuts > 0));
}

#[test]
fn jumbo_frames_carry_what_the_mtu_allows() {
    for (mtu, expected) in [(1500, 100), (9000, 17), (9216, 16), (65_535, 3), (576, 273)] {
        let mut scenario = star(2);
        scenario.host.usual.mtu = Bytes::new(mtu);
        scenario.transport.mss = Bytes::new(mtu - 40);
        scenario.transport.initial_window = 300;
        let size = 146_000;
        let (_file, traffic) = list(&[(0.0, 0, 1, size)], Connections::FreshNoHandshake);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        let (mut simulation, records) = run(&scenario);
        assert_eq!(acks(&mut simulation), expected, "{mtu}");
        assert_eq!(fct(&records[0]), simulation.empty_fct(HostId(0), HostId(1), Bytes::new(size)));
    }
}

#[test]
fn all_of_them_together_deliver_every_flow_in_spite_of_losses() {
    let mut scenario = star(9);
    scenario.switch.buffer = packets(20);
    scenario.host.usual.lso =
        Lso { on: true, max: Bytes::new(65_536), beta: 1.0 / 3.0, after_cut: false, ..LSO };
    scenario.host.usual.coalesce = Coalesce { frames: 8, time: US(10) };
    scenario.host.usual.merge = Merge { packets: 5, time: US(20), ..MERGE };
    let rows: Vec<_> = (0..40u32)
        .map(|n| (f64::from(n) * 1e-5, n % 8, 8, u64::from(n % 7) * 40_000 + 777))
        .collect();
    for connections in [Connections::FreshNoHandshake, Connections::Persistent] {
        let (_file, traffic) = list(&rows, connections);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        let (simulation, records) = run(&scenario);
        assert_eq!(records.len(), 40);
        for record in &records {
            assert!(record.end.is_some());
            assert_eq!(Some(record.received), record.size);
        }
        assert!(records.iter().map(|r| r.retransmissions).sum::<u32>() > 0);
        let (again, same) = run(&scenario);
        assert_eq!((again.events(), same), (simulation.events(), records));
    }
}
