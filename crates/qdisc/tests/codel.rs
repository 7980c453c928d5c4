//! CoDel's controller to the packet, against cases worked out by hand (and for Linux's root by ns-3 3.44,
//! fed the same packets).

use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::schemes::{Codel, CodelParams, NextMark, Root};
use switchbed_qdisc::{Arena, Ecn, FlowId, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

const PACKET: u32 = 1500;

/// When, in microseconds, and which packet.
type Signals = Vec<(u64, u32)>;

fn params(sqrt: Root) -> CodelParams {
    let (interval, target) = (Span::from_ms(100), Some(Span::from_ms(5)));
    CodelParams { interval, target, ecn: true, ce_threshold: None, sqrt, next_mark: NextMark::Due }
}

/// Packets 0, 1, 2, … come every millisecond until `until`, and one is taken out 0.5 us after every
/// 1.2 ms, as a line of 10 Mbps would: in microseconds, when which was dropped, and when which left
/// with a mark.
fn play(params: &CodelParams, ecn: Ecn, until: Time) -> (Signals, Signals) {
    let codel = Codel::new(params, Bytes::new(PACKET.into()), 1);
    let seats = Seats::new(Single, Shared { limit: Bytes::MAX }, codel, Fifo, Nobody);
    let quantum = [Bytes::new(PACKET.into())];
    let mut port = Port::new(PortState::new(Rate::from_gbps(100), &quantum), seats);
    let (mut arena, mut memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
    let mut out = Outcome::default();
    let (mut dropped, mut marked) = (Vec::new(), Vec::new());
    let (mut number, mut taken) = (0, 0);
    let ended = Time::ZERO + Span::from_ms(3000);
    loop {
        let arrival = Time::ZERO + Span::from_ms(number);
        let departure = Time::ZERO + Span::from_ns(500 + 1_200_000 * taken);
        if arrival.min(departure) >= ended {
            return (dropped, marked);
        }
        let arrives = arrival < departure;
        let now = if arrives { arrival } else { departure };
        let mut cx =
            Cx { now, arena: &mut arena, memory: &mut memory, rng: &mut NoRandom, out: &mut out };
        if arrives {
            if now < until {
                // Its number is its flow's.
                let packet = Packet {
                    flow: FlowId(number as u32),
                    len_bytes: PACKET,
                    ecn,
                    ..Packet::default()
                };
                let slot = cx.arena.alloc(packet);
                port.enqueue(slot, &mut cx);
            }
            number += 1;
            continue;
        }
        taken += 1;
        let sent = port.dequeue(&mut cx);
        let us = now.as_ps() / 1_000_000;
        for gone in cx.out.dropped.drain(..) {
            dropped.push((us, cx.arena.packet(gone.slot).flow.0));
        }
        if let Dequeued::Sent { slot, marked: true, .. } = sent {
            marked.push((us, cx.arena.packet(slot).flow.0));
        }
    }
}

/// Packet k waits 0.2 k ms, so that the target is reached with 25 at 30.0 ms; an interval later the
/// first departure is at 130.8, then at 231.6 (230.8 is due), then interval/√2 after 230.8, …
#[test]
fn drops_follow_the_law_from_the_one_that_was_due() {
    let (dropped, marked) = play(&params(Root::Exact), Ecn::NotEct, Time::NEVER);
    let expected = [
        (130_800, 109),
        (231_600, 194),
        (302_400, 254),
        (360_000, 303),
        (410_400, 346),
        (454_800, 384),
        (495_600, 419),
        (532_800, 451),
        (568_800, 482),
        (602_400, 511),
        (633_600, 538),
        (663_600, 564),
    ];
    assert_eq!(dropped[..12], expected);
    assert_eq!((dropped.len(), marked.len()), (227, 0));
}

/// With Linux's root the second gap is half an interval: 280.8.
#[test]
fn linux_s_root_drops_as_linux_and_ns_3_do() {
    let (dropped, _) = play(&params(Root::Linux), Ecn::NotEct, Time::NEVER);
    let expected = [
        (130_800, 109),
        (231_600, 194),
        (280_800, 236),
        (337_200, 284),
        (386_400, 326),
        (430_800, 364),
        (470_400, 398),
        (508_800, 431),
        (543_600, 461),
        (577_200, 490),
        (608_400, 517),
        (638_400, 543),
    ];
    assert_eq!(dropped[..12], expected);
    assert_eq!(dropped.len(), 231);
}

/// A mark leaves the packet in the queue, which is one longer for each.
#[test]
fn marks_come_when_drops_would() {
    let (dropped, marked) = play(&params(Root::Linux), Ecn::Ect0, Time::NEVER);
    assert_eq!(dropped, []);
    let numbers: Vec<u32> = marked.iter().map(|mark| mark.1).collect();
    assert_eq!(numbers[..9], [109, 193, 234, 281, 322, 359, 392, 424, 453]);
    assert_eq!((marked[2].0, marked.len()), (280_800, 231));
    // What is not asked to be marked is dropped.
    let no_ecn = CodelParams { ecn: false, ..params(Root::Linux) };
    assert_eq!(play(&no_ecn, Ecn::Ect0, Time::NEVER).0.len(), 231);
}

/// ns-3 3.44 counts the gap from now where it marks, and makes 212 marks of the same packets.
#[test]
fn marks_come_as_in_ns_3_where_gaps_count_from_now() {
    let given = CodelParams { next_mark: NextMark::Now, ..params(Root::Linux) };
    let (_, marked) = play(&given, Ecn::Ect0, Time::NEVER);
    let times: Vec<u64> = marked.iter().map(|mark| mark.0).collect();
    assert_eq!(
        times[..8],
        [130_800, 231_600, 282_000, 338_400, 387_600, 432_000, 472_800, 511_200]
    );
    assert_eq!(marked.len(), 212);
}

/// Arrivals end at 1 s: the queue drains, and dropping ends with it.
#[test]
fn dropping_ends_below_the_target() {
    for (root, drops) in [(Root::Exact, 34), (Root::Linux, 36)] {
        let (dropped, _) = play(&params(root), Ecn::NotEct, Time::ZERO + Span::from_ms(1000));
        assert_eq!(dropped.len(), drops, "{root:?}");
    }
}

/// Packet k waits 0.2 k ms and half a microsecond, so that 10 is the first to wait for over 2 ms.
#[test]
fn the_threshold_marks_whatever_the_law_says() {
    let given = CodelParams { ce_threshold: Some(Span::from_ms(2)), ..params(Root::Exact) };
    let (dropped, marked) = play(&given, Ecn::Ect0, Time::NEVER);
    assert_eq!((dropped.len(), marked[0], marked[1]), (0, (12_000, 10), (13_200, 11)));
    assert_eq!(play(&given, Ecn::NotEct, Time::NEVER).1, []);
}
