//! What waits in a sender's own card, and when it leaves: queues, pacing, small queues, segments
//! as large as the rate says; beside the kernel's, too.

use crate::common::*;
use proptest::prelude::*;
use std::path::Path;
use switchbed_scenario::*;
use switchbed_scenario::{QueueProbe, Scenario, plans_of};
use switchbed_sim::{FlowRecord, PortReport, Simulation, Status};
use switchbed_units::{Bytes, Span};

const MS: fn(u64) -> Span = Span::from_ms;

/// A flow of so many packets on a warm connection over 2 ms of links, before whose first ACK all
/// of a window of 20 has been sent: when its last packet's first bit leaves, in ps.
fn leaves(host: impl Fn(Host) -> Host, transport: impl Fn(Transport) -> Transport, n: u64) -> u64 {
    let mut scenario = star(2);
    if let Topology::Star(star) = &mut scenario.topology {
        star.delay = MS(1);
    }
    scenario.host.usual = host(scenario.host.usual);
    scenario.transport = transport(Transport {
        warm: Some(Warm { cwnd: 20.0, srtt: Span::from_us(100) }),
        rto_min: MS(100),
        ..scenario.transport
    });
    scenario.measure.fct_end = FctEnd::Received;
    let (_file, traffic) = list(&[(0.0, 0, 1, n * 1460)], Connections::Persistent);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    let (_, records) = run(&scenario);
    let end = records[0].end.expect("finished");
    // Two links of 1 ms and 1.2 us for each of the packet's transmissions.
    end.as_ps() - 2 * 1_000_000_000 - 2 * 1_200_000
}

fn paced(transport: Transport) -> Transport {
    Transport { pacing: Pacing::Linux, ..transport }
}

fn with_nic(nic: NicQueue) -> impl Fn(Host) -> Host {
    move |host| Host { nic, ..host }
}

#[test]
fn a_paced_packet_leaves_when_the_rate_says() {
    // The window is under half of the threshold: 2 * 20 * 1460 B / 100 us is a packet each
    // 2.5 us. The first ten leave at line rate, 1.2 us each, and those behind them catch up.
    for (n, ps) in [
        (10, 9 * 1_200_000),
        (11, 10 * 1_200_000),
        (18, 17 * 1_200_000),
        (19, 9 * 2_500_000),
        (20, 10 * 2_500_000),
    ] {
        for nic in [NicQueue::Fq, NicQueue::Unlimited] {
            assert_eq!(leaves(with_nic(nic), paced, n), ps, "{n} packets, {nic:?}");
        }
        assert_eq!(leaves(with_nic(NicQueue::Fq), |t| t, n), (n - 1) * 1_200_000);
    }
    // Near the threshold, 1.2 times: 4 166 666 ps and two thirds.
    let near = |transport| Transport { initial_ssthresh: 30, ..paced(transport) };
    for nic in [NicQueue::Fq, NicQueue::Unlimited] {
        assert_eq!(leaves(with_nic(nic), near, 20), 10 * 4_166_666, "{nic:?}");
    }
}

#[test]
fn a_paced_segment_leaves_in_one_piece_and_the_next_waits_for_all_of_it() {
    // Segments of a third of the window, 7 packets, at 2.5 us a packet: the second has the
    // tenth packet, so that the third waits for seven packets' time.
    let lso = Lso { on: true, after_cut: true, ..LSO };
    let host = |host| Host { lso, ..with_nic(NicQueue::Fq)(host) };
    assert_eq!(leaves(host, paced, 14), 13 * 1_200_000);
    assert_eq!(leaves(host, paced, 15), 7 * 2_500_000);
    assert_eq!(leaves(host, paced, 20), 7 * 2_500_000 + 5 * 1_200_000);
}

/// A host's card after a run.
fn card(simulation: &mut Simulation, host: u32) -> PortReport {
    let name = format!("host{host}");
    simulation.port_reports().into_iter().find(|r| r.info.name == name).expect("there")
}

/// Two flows of 1000 packets from host 0, with windows for all of it.
fn two_flows(nic: NicQueue, small_queues: SmallQueues) -> (Simulation, Vec<FlowRecord>) {
    let mut scenario = star(2);
    scenario.scheme = scheme("none", packets(1));
    scenario.transport.initial_window = 1000;
    scenario.host = Host { nic, small_queues, ..scenario.host.usual }.into();
    scenario.measure.queues = QueueProbe::Ports(vec!["host0".into()]);
    let rows = [(0.0, 0, 1, 1_460_000), (0.0, 0, 1, 1_460_000)];
    let (_file, traffic) = list(&rows, Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    run(&scenario)
}

fn small(limit: u64) -> SmallQueues {
    SmallQueues { on: true, limit: Bytes::new(limit) }
}

const OFF: SmallQueues = SmallQueues { on: false, limit: Bytes::new(1 << 20) };
const SHORT: NicQueue = NicQueue::Fifo(NicFifo { buffer: Bytes::new(150_000) });

#[test]
fn a_card_drops_unless_it_is_unlimited_or_connections_wait_for_it() {
    for (nic, small_queues, drops) in [
        (SHORT, OFF, true),
        (NicQueue::Unlimited, OFF, false),
        (NicQueue::Fq, OFF, true),
        (SHORT, small(60_000), false),
        (NicQueue::Fq, small(60_000), false),
    ] {
        let (mut simulation, records) = two_flows(nic, small_queues);
        let report = card(&mut simulation, 0);
        assert_eq!(report.counters.dropped() > 0, drops, "{nic:?} {small_queues:?}");
        let repaired = records.iter().any(|record| record.retransmissions > 0);
        assert_eq!(repaired, drops, "{nic:?} {small_queues:?}");
        assert!(records.iter().all(|record| Some(record.received) == record.size));
        // The line is busy throughout where nothing is lost: 2000 packets of 1.2 us.
        if !drops {
            let last = records.iter().filter_map(|record| record.end).max().expect("ended");
            assert!(last.as_ps() < 2_000 * 1_200_000 + 10_000_000, "{nic:?}: {last}");
        }
    }
}

#[test]
fn a_connection_has_two_packets_in_its_card_or_the_limit() {
    // Without an RTT the rate is unbounded: the limit counts. 40 packets of 1500 bytes are
    // enough, one of them on the line; and two packets at the least whatever it says.
    for (limit, queued) in [(60_000, 2 * 40 - 1), (59_999, 2 * 40 - 1), (60_001, 2 * 41 - 1)] {
        let (mut simulation, _) = two_flows(NicQueue::Unlimited, small(limit));
        let (_, all) = card(&mut simulation, 0).lengths.expect("measured");
        assert_eq!(all.max_bytes, queued * 1500, "{limit}");
    }
}

#[test]
fn a_light_flow_does_not_wait_for_a_heavy_one_in_a_fair_queue() {
    // A packet each 100 us beside a flow that fills the card.
    let end = |nic, small_queues| {
        let mut scenario = star(3);
        scenario.scheme = scheme("none", packets(1));
        scenario.transport.initial_window = 1000;
        scenario.host = Host { nic, small_queues, ..scenario.host.usual }.into();
        let mut rows = vec![(0.0, 0, 1, 1_460_000)];
        rows.extend((1..10).map(|nth| (f64::from(nth) * 1e-4, 0, 2, 1460)));
        let (_file, traffic) = list(&rows, Connections::FreshNoHandshake);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        let (_, records) = run(&scenario);
        let fct = |r: &FlowRecord| r.end.expect("ended").since(r.start).as_ps();
        records[1..].iter().map(fct).max().expect("some")
    };
    let alone = 2 * 1_200_000 + 4 * 1_000_000 + 2 * 32_000;
    assert!(end(NicQueue::Unlimited, OFF) > alone + 500_000_000);
    // Small queues alone: what the heavy flow may have in the card is ahead of it.
    let waits = end(NicQueue::Unlimited, small(60_000));
    assert!((alone + 30_000_000..alone + 50_000_000).contains(&waits), "{waits}");
    // A fair queue: the packet on the line, and no more than the rest of a turn of two.
    let waits = end(NicQueue::Fq, small(60_000));
    assert!((alone..=alone + 3 * 1_200_000).contains(&waits), "{waits}");
}

#[test]
fn segments_and_limits_of_any_size_do_not_overflow() {
    for autosize in [Autosize::Off, Autosize::Rate, Autosize::RateAndRtt] {
        let mut scenario = long_lived(star(3), &[0, 0], MS(2));
        scenario.host.usual.small_queues = small(u64::MAX);
        scenario.host.usual.lso = Lso { on: true, max: Bytes::MAX, autosize, ..LSO };
        let (_, records) = run(&scenario);
        assert!(records.iter().all(|record| record.received > Bytes::ZERO), "{autosize:?}");
    }
}

#[test]
fn paced_flows_whose_rates_their_cards_limit_end() {
    // Three senders into a queue whose switch notifies them: their cards ask for packets, and
    // find that some have to wait.
    let mut scenario = star(4);
    scenario.scheme = named("qcn", &[]);
    scenario.reaction = Some(Reaction::default());
    scenario.switch.buffer = packets(1000);
    scenario.transport.pacing = Pacing::Linux;
    scenario.host =
        Host { nic: NicQueue::Unlimited, small_queues: small(60_000), ..scenario.host.usual }
            .into();
    let rows = [(0.0, 0, 3, 3_000_000), (0.0, 1, 3, 3_000_000), (0.0, 2, 3, 3_000_000)];
    let (_file, traffic) = list(&rows, Connections::FreshNoHandshake);
    scenario.traffic = traffic.into_iter().map(Into::into).collect();
    scenario.run.until = Some(Span::from_ms(2_000));
    let (mut simulation, records) = run(&scenario);
    let notified: u64 = simulation.port_reports().iter().map(|r| r.counters.notified).sum();
    assert!(notified > 0);
    assert!(records.iter().all(|record| record.end.is_some()), "{records:?}");
}

/// Random flows through cards of every kind.
fn random_hosts() -> impl Strategy<Value = (Scenario, Vec<(f64, u32, u32, u64)>)> {
    let flow = (0..200u32, 0..3u32, 1..120_000u64);
    let flows = prop::collection::vec(flow, 1..20);
    let nics =
        [NicQueue::Fq, NicQueue::Unlimited, NicQueue::Fifo(NicFifo { buffer: packets(4000) })];
    let settings = (prop::sample::select(nics.to_vec()), 1..40u64, any::<[bool; 4]>(), 0..3u8);
    (flows, settings).prop_map(
        |(flows, (nic, limit, [pace, segments, slow, batches], autosize))| {
            let mut scenario = star(4);
            scenario.switch.buffer = packets(if slow { 15 } else { 200 });
            scenario.host.usual.nic = nic;
            scenario.host.usual.small_queues = small(limit * 1500);
            let autosize =
                [Autosize::Off, Autosize::Rate, Autosize::RateAndRtt][usize::from(autosize)];
            scenario.host.usual.lso = Lso { on: segments, autosize, ..LSO };
            if batches {
                scenario.host.usual.jitter = Span::from_us(1);
                scenario.host.usual.coalesce = Coalesce { frames: 8, time: Span::from_us(10) };
                scenario.host.usual.merge = Merge { packets: 64, flush: MergeFlush::Poll, ..MERGE };
            }
            scenario.transport.pacing = if pace { Pacing::Linux } else { Pacing::Off };
            let rows = flows.iter().map(|&(at, src, size)| (f64::from(at) * 1e-6, src, 3, size));
            (scenario, rows.collect())
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nothing_is_lost_in_a_card_and_every_flow_ends((scenario, rows) in random_hosts()) {
        let mut scenario = scenario;
        let (_file, traffic) = list(&rows, Connections::FreshNoHandshake);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        scenario.run.until = Some(Span::from_ms(60_000));
        let (mut simulation, records) = run(&scenario);
        for record in &records {
            prop_assert!(record.end.is_some(), "{:?}", record);
            prop_assert_eq!(Some(record.received), record.size);
        }
        for report in simulation.port_reports() {
            let counters = &report.counters;
            if !report.info.is_switch() {
                prop_assert_eq!(counters.dropped(), 0);
            }
            prop_assert_eq!(counters.arrived, counters.sent + counters.dropped());
        }
    }

    /// One flow of a host: its card never holds more than is enough and one segment that was
    /// handed over just before.
    #[test]
    fn a_flow_never_holds_more_in_its_card_than_the_limit(
        (scenario, rows) in random_hosts(), limit in 3..60u64,
    ) {
        let mut scenario = scenario;
        scenario.host.usual.small_queues = small(limit * 1500);
        scenario.host.usual.lso.on = false;
        scenario.transport.pacing = Pacing::Off;
        scenario.switch.buffer = packets(2000);
        scenario.measure.queues =
            QueueProbe::Ports((0..3).map(|host| format!("host{host}")).collect());
        let mut seen = [false; 3];
        let alone = |row: &&(f64, u32, u32, u64)| !std::mem::replace(&mut seen[row.1 as usize], true);
        let rows: Vec<_> = rows.iter().filter(alone).copied().collect();
        let (_file, traffic) = list(&rows, Connections::FreshNoHandshake);
        scenario.traffic = traffic.into_iter().map(Into::into).collect();
        let (mut simulation, records) = run(&scenario);
        prop_assert!(records.iter().all(|record| record.retransmissions == 0));
        for host in 0..3 {
            let (_, all) = card(&mut simulation, host).lengths.expect("measured");
            // One packet of them is on the line.
            prop_assert!(all.max_bytes <= (limit - 1) * 1500, "{} of {limit} packets", all.max_bytes);
        }
    }
}

/// A line of its own of 20 Mbps with an RTT of 20 ms (33 packets), under `linux-6.x`.
const LINE: &str = r#"[topology]
kind = "star"
hosts = 2
rate = "20Mbps"
delay = "5ms"
[switch]
buffer = "1000pkt"
[scheme]
name = "none"
[host]
profile = "linux-6.x"
[transport]
kind = "cubic"
ecn = false
[[traffic]]
kind = "long-lived"
from = 0
to = 1
[measure]
queues = ["host0"]
warmup = "1s"
[run]
until = "10s"
"#;

/// The longest queue of the sender's card, and what it dropped.
fn in_card(sets: &[&str]) -> (u64, u64) {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let plans = plans_of("line.toml", LINE, Path::new(""), &sets, None).expect("a scenario");
    let mut run = Simulation::new(&plans[0].scenario).expect("builds");
    while run.advance(1 << 20) == Status::Running {}
    let flows = run.unfinished();
    // 20 Mbps for 9 s, less headers.
    assert!(flows[0].received > Bytes::new(21_000_000), "{:?}", flows[0]);
    let reports = run.port_reports();
    let report = reports.iter().find(|report| report.info.name == "host0").expect("there");
    let (_, all) = report.lengths.as_ref().expect("measured");
    (all.max_bytes, report.counters.dropped())
}

#[test]
fn what_waits_in_a_card_is_what_waits_in_the_kernels() {
    // 6.12, whose window had come to 150 packets: two segments of six, whatever the limit. One
    // packet of them is on the line.
    let at_150 = ["transport.initial_window=150pkt", "transport.initial_ssthresh=150pkt"];
    for limit in ["1MiB", "100MiB"] {
        let limit = format!("host.small_queue_limit={limit}");
        assert_eq!(in_card(&[at_150[0], at_150[1], &limit]), (11 * 1500, 0));
    }
    // 6.18, where HyStart had ended slow start at 38: 33 to 35 packets were out.
    let (longest, dropped) = in_card(&[]);
    assert!(longest <= 3 * 1500 && dropped == 0, "{longest} bytes");
    // Without small queues, what the window lets out waits.
    let (longest, _) = in_card(&[at_150[0], at_150[1], "host.small_queues=false"]);
    assert!(longest > 117 * 1500, "{longest} bytes");
}
