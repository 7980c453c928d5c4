//! Captures: each frame with its port's decision, equal to the counters, in bounded memory.

use crate::common::{every, frame, live, punctual, small, step, trimming, us};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption::Comment;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::BTreeMap;
use std::time::Duration;
use switchbed_live::capture::{Asked, MOST, Way};
use switchbed_live::stats::Counts;
use switchbed_units::Bytes;

/// A frame of a capture: interface, time in nanoseconds, comment, length, and bytes kept.
type Copied = (u32, u64, String, u32, Vec<u8>);

/// Frames of a pcapng file, and for each interface how many there were and were not copied.
fn read(file: &[u8]) -> (Vec<Copied>, Vec<(u64, u64)>) {
    let (mut frames, mut counts) = (Vec::new(), Vec::new());
    let mut reader = PcapNgReader::new(file).expect("a section header");
    while let Some(block) = reader.next_block() {
        match block.expect("a whole block") {
            Block::EnhancedPacket(packet) => {
                let comment = packet.options.iter().find_map(|option| match option {
                    Comment(text) => Some(text.to_string()),
                    _ => None,
                });
                frames.push((
                    packet.interface_id,
                    packet.timestamp.as_nanos() as u64,
                    comment.expect("each has one"),
                    packet.original_len,
                    packet.data.to_vec(),
                ));
            }
            Block::InterfaceStatistics(statistics) => {
                let number = |of: fn(&InterfaceStatisticsOption<'_>) -> Option<u64>| {
                    statistics.options.iter().find_map(of).expect("it is there")
                };
                counts.push((
                    number(|option| match option {
                        InterfaceStatisticsOption::IsbIfRecv(n) => Some(*n),
                        _ => None,
                    }),
                    number(|option| match option {
                        InterfaceStatisticsOption::IsbIfDrop(n) => Some(*n),
                        _ => None,
                    }),
                ));
            }
            _ => {}
        }
    }
    (frames, counts)
}

fn all(ports: u16) -> Asked {
    Asked { ports: (0..ports).collect(), way: None, snaplen: 10_000, count: None }
}

/// Everything of a capture that has ended.
fn drained(mut reader: switchbed_live::capture::Reader) -> Vec<u8> {
    let mut file = Vec::new();
    while !reader.ended() {
        let before = file.len();
        reader.read(&mut file).unwrap();
        assert!(reader.ended() || file.len() > before, "it would go on for ever");
    }
    file
}

/// Counts by port and by the words of the comments that are no numbers.
fn tally(frames: &[Copied]) -> BTreeMap<(u32, String), u64> {
    let mut counts = BTreeMap::new();
    for (port, _, comment, ..) in frames {
        let words = comment.split(' ').filter_map(|word| match word.split_once('=') {
            None => Some(word.to_owned()),
            Some(("reason", reason)) => Some(reason.to_owned()),
            Some(("trimmed-from", _)) => Some("trimmed".to_owned()),
            Some(_) => None,
        });
        for word in words {
            *counts.entry((*port, word)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn each_decision_is_copied_and_equals_the_counters() {
    for case in every(3) {
        let label = format!("{} {:?}", case.scheme.label, case.switch.policy);
        let (mut forwarder, sides) = punctual(small(case));
        let reader = forwarder.capture(&all(3), Duration::from_secs(1_000)).expect("space");
        // Bursts of 2 ports' rate into the third, of which some are ECN-capable, and a few for nobody.
        for i in 0..600_u32 {
            let at = us(u64::from(i) * 40);
            let (dscp, ecn) = ((i / 3 % 2) as u8, (i % 3) as u8);
            let length = 400 + (i as usize * 137) % 1_000;
            sides[0].arrive(at, frame(0, 1 + (i as usize % 50) / 49, dscp, ecn, length, i));
            sides[2].arrive(at, frame(2, 1, dscp, ecn, length, i));
        }
        sides[0].arrive(us(24_000), frame(0, 0, 0, 0, 100, 0));
        sides[1].arrive(us(24_000), vec![1; 9]);
        forwarder.run_until(us(200_000)).unwrap();
        let stats = forwarder.stats();
        forwarder.end_captures();
        let (frames, counts) = read(&drained(reader));
        let found = tally(&frames);
        let of = |port: u32, word: &str| found.get(&(port, word.to_owned())).copied().unwrap_or(0);
        for (i, port) in (0..).zip(&stats.ports) {
            assert_eq!(of(i, "sent"), port.sent_packets, "{label} {i}");
            assert_eq!(of(i, "marked"), port.marked_packets, "{label} {i}");
            assert_eq!(of(i, "full"), port.drops_full, "{label} {i}");
            assert_eq!(of(i, "not-ecn-capable"), port.drops_not_ecn_capable, "{label} {i}");
            assert_eq!(of(i, "early"), port.drops_early, "{label} {i}");
            assert_eq!(of(i, "pushed-out"), port.drops_pushed_out, "{label} {i}");
            assert_eq!(of(i, "at-departure"), port.drops_at_departure, "{label} {i}");
            // Queues and DSCPs divide what the port counts; messages of a scheme have no DSCP.
            let sum = |of: fn(&Counts) -> u64| -> (u64, u64) {
                let queues = port.queues.iter().map(|queue| of(&queue.tally.counts)).sum();
                (queues, port.dscps.iter().map(|each| of(&each.counts)).sum())
            };
            let twice = |count| (count, count);
            let (queues, dscps) = sum(|of| of.sent_packets);
            assert_eq!(queues, port.sent_packets, "{label} {i}");
            assert!((dscps..=dscps + stats.notified).contains(&port.sent_packets), "{label} {i}");
            assert_eq!(sum(|of| of.sent_bytes).0, port.sent_bytes, "{label} {i}");
            assert_eq!(sum(|of| of.marked_packets), twice(port.marked_packets), "{label} {i}");
            assert_eq!(sum(|of| of.drops_full), twice(port.drops_full), "{label} {i}");
            assert_eq!(sum(|of| of.drops_early), twice(port.drops_early), "{label} {i}");
            assert_eq!(sum(|of| of.drops_pushed_out), twice(port.drops_pushed_out), "{label} {i}");
            assert!(port.dscps.iter().all(|each| each.dscp < 2), "{label} {i}");
            for queue in &port.queues {
                let lengths: u64 = queue.tally.lengths.iter().sum();
                assert_eq!(lengths, queue.tally.counts.sent_packets, "{label} {i}");
            }
            let of_sent = frames
                .iter()
                .filter(|f| f.0 == i && f.2.starts_with("sent") && f.2.contains("trimmed-from"));
            assert_eq!(of_sent.count() as u64, port.tx_trim_packets, "{label} {i}");
            assert_eq!(of(i, "received") + of(i, "refused"), port.received_packets, "{label} {i}");
            let copied = frames.iter().filter(|f| f.0 == i).count() as u64;
            assert_eq!(counts[i as usize], (copied, 0), "{label} {i}");
        }
        assert_eq!((of(0, "here"), of(1, "truncated")), (1, 1), "{label}");
        assert!(stats.ports[1].sent_packets > 100, "{label}");
        // Frames sent are those that left, byte for byte, and in order of time.
        let sent: Vec<&[u8]> = frames
            .iter()
            .filter(|f| f.0 == 1 && f.2.starts_with("sent"))
            .map(|f| &f.4[..])
            .collect();
        let left = crate::common::parted(&sides[1].sent_with());
        assert_eq!(sent, left.iter().map(|(_, f)| &f[..]).collect::<Vec<_>>(), "{label}");
        assert!(frames.iter().all(|f| f.1 >= 1_000_000_000_000), "since 1970");
    }
}

#[test]
fn decisions_by_hand() {
    // 100 Mbps: 1,250 bytes take 100 us. Marked from 1,500 bytes on; three fit, a fourth does not.
    let mut case = live(2, step(1_500));
    case.switch.buffer = Bytes::new(3_750);
    let (mut forwarder, sides) = punctual(case);
    let reader = forwarder.capture(&all(2), Duration::ZERO).unwrap();
    (0..5).for_each(|i| sides[0].arrive(us(10), frame(0, 1, 1, 2, 1_250, i)));
    forwarder.run_until(us(1_000)).unwrap();
    forwarder.end_captures();
    let (frames, _) = read(&drained(reader));
    let of = |port| -> Vec<(u64, &str)> {
        frames.iter().filter(|f| f.0 == port).map(|f| (f.1 / 1_000, &*f.2)).collect()
    };
    assert_eq!(of(0), [(10, "received"); 5]);
    let expected = [
        (10, "sent queue=1 delay=0.000us"),
        (10, "dropped queue=1 reason=full"),
        (110, "sent queue=1 delay=100.000us"),
        (210, "sent queue=1 delay=200.000us marked"),
        (310, "sent queue=1 delay=300.000us marked"),
    ];
    assert_eq!(of(1), expected);
}

#[test]
fn a_trimmed_frame_says_how_long_it_was() {
    let mut case = live(2, step(50_000));
    case.switch.buffer = Bytes::new(3_000);
    case.switch.trimming = Some(trimming());
    let (mut forwarder, sides) = punctual(case);
    let asked = Asked { way: Some(Way::Out), snaplen: 60, ..all(2) };
    let reader = forwarder.capture(&asked, Duration::ZERO).unwrap();
    (0..4).for_each(|i| sides[0].arrive(us(10), frame(0, 1, 0, 2, 1_250, i)));
    forwarder.run_until(us(1_000)).unwrap();
    forwarder.end_captures();
    let (frames, _) = read(&drained(reader));
    assert_eq!(frames.len(), 4, "{frames:?}");
    let cut: Vec<_> = frames.iter().filter(|f| f.2.ends_with("trimmed-from=1250")).collect();
    assert_eq!(cut.len(), 1, "{frames:?}");
    assert_eq!((cut[0].3, cut[0].4.len()), (128, 60));
}

#[test]
fn a_reader_that_does_not_read_costs_frames_of_its_capture_alone() {
    let (mut forwarder, sides) = punctual(live(2, step(50_000)));
    let idle = forwarder.capture(&all(2), Duration::ZERO).unwrap();
    let mut kept = forwarder.capture(&Asked { ports: vec![1], ..all(2) }, Duration::ZERO).unwrap();
    let (mut file, mut sent) = (Vec::new(), 0);
    for round in 0..400_u64 {
        for i in 0..20 {
            sides[0].arrive(us(round * 2_500 + i * 120), frame(0, 1, 0, 2, 1_400, sent));
            sent += 1;
        }
        forwarder.run_until(us((round + 1) * 2_500)).unwrap();
        kept.read(&mut file).unwrap();
    }
    forwarder.end_captures();
    file.extend(drained(kept));
    let (frames, counts) = read(&file);
    assert_eq!((frames.len() as u32, counts), (sent, vec![(u64::from(sent), 0)]));
    // 128 batches of a round each, and one that was being filled: 40 frames, in and out, a round.
    let (frames, counts) = read(&drained(idle));
    let missed: u64 = counts.iter().map(|count| count.1).sum();
    assert_eq!(frames.len() as u64 + missed, 2 * u64::from(sent));
    assert!((1..12_000_000).contains(&(frames.len() * 1_450)), "{}", frames.len());
    assert!(missed > 0);
    assert_eq!(forwarder.stats().ports[1].sent_packets, u64::from(sent));
}

#[test]
fn captures_are_counted_and_end_by_count() {
    let (mut forwarder, sides) = punctual(live(2, step(50_000)));
    let asked = Asked { ports: vec![1], count: Some(3), ..all(2) };
    let mut readers: Vec<_> =
        (0..MOST).map(|_| forwarder.capture(&asked, Duration::ZERO).unwrap()).collect();
    assert!(forwarder.capture(&asked, Duration::ZERO).is_none(), "one more");
    // One that is put away makes space for another.
    drop(readers.pop());
    forwarder.run_until(us(1)).unwrap();
    readers.push(forwarder.capture(&asked, Duration::ZERO).unwrap());
    (0..9).for_each(|i| sides[0].arrive(us(10), frame(0, 1, 0, 2, 1_250, i)));
    forwarder.run_until(us(2_000)).unwrap();
    for reader in readers {
        let (frames, counts) = read(&drained(reader));
        assert_eq!((frames.len(), &counts[..]), (3, &[(3, 0)][..]));
    }
    assert!(forwarder.capture(&asked, Duration::ZERO).is_some(), "all have ended");
}
