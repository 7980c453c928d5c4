//! Packet traces read back with a library that knows nothing of the simulator: what they
//! say agrees with the run's own counters.

use crate::common::*;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::{HashMap, HashSet};
use switchbed_scenario::*;
use switchbed_scenario::{PortNames, Scenario};
use switchbed_sim::Capture;
use switchbed_sim::ids::HostId;
use switchbed_units::{Bytes, Span};

/// What a frame says, as a reader of the file sees it.
#[derive(Debug)]
struct Seen {
    at_ns: u64,
    ends: [([u8; 4], u16); 2],
    dscp: u8,
    ecn: u8,
    /// Lengths: of the frame, and of the payload by IP and TCP.
    frame: u32,
    payload: u32,
    tcp: Option<etherparse::TcpHeader>,
}

fn read(capture: &Capture) -> Vec<Seen> {
    let mut reader = PcapNgReader::new(&capture.pcapng[..]).unwrap();
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        // The payload is not in the file: zeros.
        let mut frame = packet.data.to_vec();
        frame.resize(packet.original_len as usize, 0);
        let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("no IPv4") };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        let (ports, tcp, payload) = match &sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                let read = tcp.to_header();
                let checksum = read.calc_checksum_ipv4(&header, tcp.payload()).unwrap();
                assert_eq!(read.checksum, checksum);
                ((read.source_port, read.destination_port), Some(read), tcp.payload().len())
            }
            Some(TransportSlice::Udp(udp)) => {
                ((udp.source_port(), udp.destination_port()), None, udp.payload().len())
            }
            other => panic!("{other:?}"),
        };
        seen.push(Seen {
            at_ns: packet.timestamp.as_nanos() as u64,
            ends: [(header.source, ports.0), (header.destination, ports.1)],
            dscp: header.dscp.value(),
            ecn: header.ecn.value(),
            frame: packet.original_len,
            payload: payload as u32,
            tcp,
        });
    }
    assert_eq!(seen.len() as u64, capture.packets);
    assert!(seen.is_sorted_by_key(|seen| seen.at_ns));
    seen
}

/// Eight senders into a short buffer: marks, losses, SACK.
fn incast() -> Scenario {
    let mut scenario = star(9);
    scenario.scheme = scheme("per-queue", packets(20));
    scenario.switch.buffer = packets(30);
    scenario.measure.capture = PortNames(vec!["switch:8".into(), "host0".into(), "host8".into()]);
    scenario
}

fn rows(flows: u32, size: u64) -> Vec<(f64, u32, u32, u64)> {
    (0..flows).map(|n| (f64::from(n) * 1e-6, n % 8, 8, size)).collect()
}

#[test]
fn marks_and_repeated_data_are_what_the_run_counted() {
    let mut scenario = incast();
    let (_file, traffic) = list(&rows(16, 200_000), Connections::Fresh);
    scenario.traffic = traffic;
    let (mut simulation, records) = run(&scenario);
    let captures = simulation.captures();
    let names: Vec<&str> = captures.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["switch:8", "host0", "host8"]);
    let [port, sender, receiver] = [0, 1, 2].map(|i| read(&captures[i]));

    // At the port before the receiver: as many frames and CE marks as it counted.
    let reports = simulation.port_reports();
    let counted = reports.iter().find(|r| r.info.name == "switch:8").unwrap().counters;
    assert!(counted.marked > 0 && counted.dropped() > 0);
    assert_eq!(port.len() as u64, counted.sent);
    assert_eq!(port.iter().filter(|seen| seen.ecn == 3).count() as u64, counted.marked);

    // At a sender: data whose numbers were sent before.
    let mut numbers: HashMap<_, HashSet<u32>> = HashMap::new();
    let data = |seen: &&Seen| seen.payload > 0 && seen.ends[0].0 == [10, 0, 0, 1];
    let again = |seen: &&Seen| {
        let first = seen.tcp.as_ref().unwrap().sequence_number;
        !numbers.entry(seen.ends).or_default().insert(first)
    };
    let repeated = sender.iter().filter(data).filter(again).count() as u64;
    let of_sender = records.iter().filter(|r| r.src == HostId(0));
    let retransmitted: u64 = of_sender.map(|r| u64::from(r.retransmissions)).sum();
    assert!(retransmitted > 0);
    assert_eq!(repeated, retransmitted);

    // At the receiver: what arrived is what the port sent, a link's delay later.
    let arrived: Vec<_> = receiver.iter().filter(|s| s.ends[1].0 == [10, 0, 0, 9]).collect();
    assert_eq!(arrived.len(), port.len());
    for (sent, came) in port.iter().zip(&arrived) {
        let wire_ns = u64::from(sent.frame - 14) * 8 / 10;
        assert!(came.at_ns.abs_diff(sent.at_ns + wire_ns + 1_000) <= 2, "{sent:?} {came:?}");
        assert_eq!((sent.ends, &sent.tcp), (came.ends, &came.tcp));
    }
}

#[test]
fn a_connection_reads_as_tcp_from_its_handshake_on() {
    let mut scenario = incast();
    scenario.switch.buffer = Bytes::new(10_000_000);
    scenario.transport.ecn_syn = false;
    let (_file, traffic) = list(&[(0.0, 0, 8, 3_000)], Connections::Fresh);
    scenario.traffic = traffic;
    let (simulation, _) = run(&scenario);
    let seen = read(&simulation.captures()[1]);
    let tcp = |i: usize| seen[i].tcp.as_ref().unwrap();
    let summary: Vec<_> = (0..seen.len())
        .map(|i| (tcp(i).syn, tcp(i).ack, tcp(i).sequence_number, seen[i].payload, seen[i].ecn))
        .collect();
    // SYN, SYN-ACK; three segments and the ACK of each.
    assert_eq!(summary[..2], [(true, false, 0, 0, 0), (true, true, 0, 0, 0)]);
    let data: Vec<_> = summary.iter().filter(|s| s.3 > 0).copied().collect();
    assert_eq!(
        data,
        [(false, true, 1, 1460, 2), (false, true, 1461, 1460, 2), (false, true, 2921, 80, 2)]
    );
    let acks: Vec<u32> = (2..seen.len())
        .filter(|&i| seen[i].payload == 0)
        .map(|i| tcp(i).acknowledgment_number)
        .collect();
    assert_eq!(acks, [1461, 2921, 3001]);
    // SYN with ECE and CWR, SYN-ACK with ECE: ECN is agreed on (RFC 3168, section 6.1.1).
    assert!(tcp(0).ece && tcp(0).cwr && tcp(1).ece && !tcp(1).cwr);
    // Both directions are one connection.
    assert_eq!(seen[0].ends[0], seen[1].ends[1]);
    assert_eq!(seen[0].ends[1], seen[1].ends[0]);
}

#[test]
fn the_class_is_the_dscp() {
    let mut scenario = long_lived(star(2), &[3, 46], Span::from_ms(1));
    scenario.measure.capture = PortNames(vec!["switch:2".into()]);
    let (simulation, _) = run(&scenario);
    let seen = read(&simulation.captures()[0]);
    let classes: HashSet<u8> = seen.iter().map(|seen| seen.dscp).collect();
    assert_eq!(classes, HashSet::from([3, 46]));
}

#[test]
fn a_limit_keeps_the_first_packets_and_counts_the_others() {
    let mut scenario = incast();
    scenario.measure.capture_packets = 100;
    let (_file, traffic) = list(&rows(8, 50_000), Connections::FreshNoHandshake);
    scenario.traffic = traffic;
    let (mut simulation, _) = run(&scenario);
    let captures = simulation.captures();
    let sent = simulation.port_reports();
    let sent = sent.iter().find(|r| r.info.name == "switch:8").unwrap().counters.sent;
    assert_eq!((captures[0].packets, captures[0].missed), (100, sent - 100));
}

#[test]
fn capturing_changes_nothing() {
    let mut scenario = incast();
    let (_file, traffic) = list(&rows(16, 100_000), Connections::Fresh);
    scenario.traffic = traffic;
    let (with, records) = run(&scenario);
    scenario.measure.capture = PortNames::default();
    let (without, same) = run(&scenario);
    assert_eq!((with.events(), records), (without.events(), same));
    assert!(without.captures().is_empty());
}
