//! Priority-based flow control between two switches: what is lossless, what frames do and when they
//! end, and what hostile ones do not do.

use crate::common::{frame, number, station, us};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;
use switchbed_live::Switch;
use switchbed_live::capture::Asked;
use switchbed_scenario::{Live, live_of};
use switchbed_units::{Span, Time};
use switchbed_wire::Mac;
use switchbed_wire::pfc::{self, Quanta};

const PEER: Mac = Mac([2, 0, 0, 0, 9, 9]);

/// A switch of so many ports of 100 Mbps whose class 1 is lossless, and which takes part in flow control
/// at one of them. `more` is for `[switch.pfc]`.
fn text(ports: usize, taking: usize, pool: &str, more: &str) -> String {
    let mut text = format!(
        "[live]\nrate = \"100Mbps\"\nfraction = 1\nbucket = \"1500B\"\n\
         [switch]\nqueues = 2\npool = \"{pool}\"\n\
         [switch.pfc]\npriorities = [1]\n{more}\n[scheme]\nname = \"none\"\n"
    );
    for port in 0..ports {
        text += &format!("[[port]]\nname = \"p{port}\"\n");
        text += if port == taking { "pfc = true\n" } else { "" };
    }
    text
}

fn read(text: &str, routes: &[(usize, usize)]) -> Live {
    let routes: Vec<String> = routes
        .iter()
        .map(|&(host, port)| {
            let mac: Vec<String> = station(host).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"{}=p{port}\"", mac.join(":"))
        })
        .collect();
    let set = format!("live.routes=[{}]", routes.join(", "));
    live_of("test", text, &[set]).unwrap_or_else(|mistake| panic!("{mistake}")).0
}

/// A frame for flow control of one class.
fn pause(class: usize, quanta: u16) -> [u8; 60] {
    let mut of: Quanta = [None; 8];
    of[class] = Some(quanta);
    pfc::build(PEER, &of)
}

/// A frame of a class to a host.
fn data(host: usize, class: u8, length: usize, number: u32) -> Vec<u8> {
    frame(0, host, class, 2, length, number)
}

/// A switch with two ports of which the second takes part, and a queue of its second port filled with
/// so many frames of class 1, of which the first leaves at once.
fn filled(frames: u32, more: &str) -> Switch {
    let live = read(&text(2, 1, "2MB", more), &[(0, 0), (1, 1)]);
    let mut switch = Switch::new(live);
    (0..frames).for_each(|i| switch.receive(us(0), 0, &data(1, 1, 1_250, i)));
    switch
}

/// When each data frame reaches the end of its line, by port, until a time. Frames of flow control are
/// left out.
fn departures(switch: &mut Switch, until: Time) -> Vec<(u16, Time, u32)> {
    let mut found = Vec::new();
    loop {
        let now = switch.next();
        if now > until {
            switch.settle(until);
            return found;
        }
        switch.settle(now);
        switch.deliver(now, |port, frame| {
            if !pfc::is_one(frame) {
                found.push((port, now, number(frame)));
            }
        });
    }
}

/// A run of two switches, of which the first's port 2 and the second's port 0 are joined: the frames that
/// hosts got, as host's port of the second switch, time and number.
fn joined(
    first: &mut Switch,
    second: &mut Switch,
    mut arrivals: VecDeque<(Time, u16, Vec<u8>)>,
) -> Vec<(Time, u32)> {
    let mut got = Vec::new();
    loop {
        let next = arrivals.front().map_or(Time::NEVER, |arrival| arrival.0);
        let now = next.min(first.next()).min(second.next());
        if now == Time::NEVER || now > us(10_000_000) {
            return got;
        }
        while let Some((_, port, frame)) = arrivals.pop_front_if(|arrival| arrival.0 <= now) {
            first.receive(now, port, &frame);
        }
        let mut over = [Vec::new(), Vec::new()];
        first.settle(now);
        first.deliver(now, |port, frame| {
            assert_eq!(port, 2, "hosts of the first switch are sent nothing");
            over[0].push(frame.to_vec());
        });
        second.settle(now);
        second.deliver(now, |port, frame| match port {
            0 => over[1].push(frame.to_vec()),
            _ => got.push((now, number(frame))),
        });
        over[0].iter().for_each(|frame| second.receive(now, 0, frame));
        over[1].iter().for_each(|frame| first.receive(now, 2, frame));
    }
}

/// Two hosts send 300 frames each at line rate; the receiver's line has half of the rate of the trunk.
fn overload(pool: &str, class: u8) -> (Switch, Switch, Vec<(Time, u32)>) {
    let mut first = Switch::new(read(&text(3, 2, "4MB", ""), &[(2, 2), (0, 0), (1, 1)]));
    let mut of = read(&text(2, 0, pool, ""), &[(2, 1), (0, 0), (1, 0)]);
    of.port[1].rate = switchbed_units::Rate::from_mbps(50);
    let mut second = Switch::new(of);
    let arrivals = (0..600).map(|i| {
        let (at, from) = (us(u64::from(i / 2) * 100), i % 2);
        (at, from as u16, frame(from as usize, 2, class, 2, 1_250, i))
    });
    let got = joined(&mut first, &mut second, arrivals.collect());
    (first, second, got)
}

#[test]
fn overload_is_lossless_in_the_class_and_loses_without() {
    let (mut first, mut second, got) = overload("60KB", 1);
    assert_eq!(got.len(), 600, "every frame");
    for from in 0..2 {
        let of: Vec<u32> = got.iter().map(|of| of.1).filter(|i| i % 2 == from).collect();
        assert!(of.is_sorted(), "in order");
    }
    let (first, second) = (first.stats(us(10_000_000)), second.stats(us(10_000_000)));
    let (trunk, peer) = (&first.ports[2], &second.ports[0]);
    assert!(peer.tx_pfc_frames > 2, "{}", peer.tx_pfc_frames);
    assert_eq!((trunk.rx_pfc_frames, trunk.bad_pfc_frames), (peer.tx_pfc_frames, 0));
    assert_eq!((peer.rx_pfc_frames, trunk.tx_pfc_frames), (0, 0));
    assert!(second.ports.iter().all(|port| port.drops_full == 0));
    assert!(trunk.queues[1].paused_s > 0.01 && trunk.queues[0].paused_s == 0.0);
    // The class of the trunk's arrivals used its headroom, and is not paused any more.
    let group = &peer.groups[0];
    assert_eq!((group.class, group.lost_packets, group.paused), (1, 0, false));
    assert!(group.max_headroom_bytes > 0 && group.max_shared_bytes > 0);
    // The receiver's line is never idle: 600 frames of 200 us, from the first's end on the trunk.
    assert_eq!(got[599].0, us(100 + 600 * 200));

    let (_, mut second, got) = overload("60KB", 0);
    let lost = second.stats(us(10_000_000)).ports[1].drops_full;
    assert!(lost > 100, "{lost}");
    assert_eq!(got.len() as u64 + lost, 600);
}

#[test]
fn a_pause_lasts_its_quanta_at_the_lines_rate() {
    // 1,250 bytes take 100 us. 100 quanta of 512 bits take 512 us.
    let mut switch = filled(3, "");
    switch.receive(us(40), 1, &pause(1, 100));
    // The frame on the line ends.
    let all: Vec<Time> = departures(&mut switch, us(5_000)).iter().map(|of| of.1).collect();
    assert_eq!(all, [us(100), us(40 + 512 + 100), us(40 + 512 + 200)]);
    let stats = switch.stats(us(5_000));
    assert_eq!((stats.ports[1].rx_pfc_frames, stats.refused.reserved), (1, 0));
    assert!((stats.ports[1].queues[1].paused_s - 512e-6).abs() < 1e-12);
}

#[test]
fn zero_ends_a_pause_and_another_class_is_not_held() {
    let mut switch = filled(2, "");
    switch.receive(us(40), 1, &pause(1, 65_535));
    assert_eq!(departures(&mut switch, us(250)).len(), 1);
    switch.receive(us(250), 0, &data(1, 0, 1_250, 9));
    assert_eq!(departures(&mut switch, us(600)), [(1, us(350), 9)]);
    switch.receive(us(600), 1, &pause(1, 0));
    assert_eq!(departures(&mut switch, us(5_000)), [(1, us(700), 1)]);
    // The greatest time: 65,535 quanta of 5.12 us.
    let mut switch = filled(2, "");
    switch.receive(us(40), 1, &pause(1, 65_535));
    let all = departures(&mut switch, us(1_000_000));
    assert_eq!(all[1].1, us(140) + Span::from_ns(65_535 * 5_120));
}

#[test]
fn frames_that_are_not_for_the_port_hold_nothing() {
    let mut short = pause(1, 65_535).to_vec();
    short.truncate(33);
    let mut all_priorities = pause(1, 65_535);
    all_priorities[15] = 0x01;
    all_priorities[14] = 0x00;
    // Class 0 is not lossless, class 7 has no queue.
    let frames: [(&[u8], [u64; 3]); 4] = [
        (&short, [0, 1, 0]),
        (&all_priorities, [0, 0, 1]),
        (&pause(0, 65_535), [1, 0, 0]),
        (&pause(7, 65_535), [1, 0, 0]),
    ];
    for (bytes, counts) in frames {
        let mut switch = filled(2, "");
        switch.receive(us(40), 1, bytes);
        assert_eq!(departures(&mut switch, us(1_000)).len(), 2);
        let stats = switch.stats(us(1_000));
        let port = &stats.ports[1];
        let found = [port.rx_pfc_frames, port.bad_pfc_frames, stats.refused.reserved];
        assert_eq!(found, counts);
    }
    // A port that takes no part drops them as a bridge does.
    let mut switch = filled(2, "");
    switch.receive(us(40), 0, &pause(1, 65_535));
    let stats = switch.stats(us(1_000));
    assert_eq!((stats.refused.reserved, stats.ports[0].rx_pfc_frames), (1, 0));
}

/// The quanta of class 1 in frames that a port sends until a time, with their times.
fn told(switch: &mut Switch, from: u16, until: Time) -> Vec<(Time, u16)> {
    let mut found = Vec::new();
    loop {
        let now = switch.next();
        if now > until {
            return found;
        }
        switch.settle(now);
        switch.deliver(now, |port, frame| {
            if let Some(quanta) = pfc::parse(frame) {
                assert_eq!(port, from);
                found.push((now, quanta[1].expect("of the lossless class")));
            }
        });
    }
}

/// A switch that has paused its peer at port 0, since port 1's peer does not let it send.
fn paused(more: &str) -> Switch {
    let more = format!("threshold = \"4KB\"\nheadroom = \"40KB\"\n{more}");
    let both = text(2, 1, "200KB", &more).replace("name = \"p0\"\n", "name = \"p0\"\npfc = true\n");
    let mut switch = Switch::new(read(&both, &[(0, 0), (1, 1)]));
    switch.receive(us(0), 1, &pause(1, 65_535));
    (0..5).for_each(|i| switch.receive(us(10), 0, &data(1, 1, 1_250, i)));
    switch
}

#[test]
fn a_pause_is_sent_at_the_threshold_renewed_at_half_and_taken_back() {
    // Three frames of 1,250 bytes fit under 4,000; the fourth pauses. 60 bytes take 4.8 us.
    // 1,000 quanta are 5.12 ms: renewed every 2.56 ms.
    let mut switch = paused("quanta = 1000");
    let sent = told(&mut switch, 0, us(10_000));
    let at = |nth: u64| us(10) + Span::from_us(2_560) * nth + Span::from_ns(4_800);
    assert_eq!(sent, (0..4).map(|nth| (at(nth), 1_000)).collect::<Vec<_>>());
    assert!(switch.stats(us(10_000)).ports[0].groups[0].paused);
    // The peer lets it send again: with the headroom empty and 3,072 bytes less, the group resumes.
    switch.receive(us(10_000), 1, &pause(1, 0));
    let rest = told(&mut switch, 0, us(60_000));
    assert_eq!(rest.iter().map(|of| of.1).filter(|&quanta| quanta == 0).count(), 1);
    assert_eq!(rest.last().map(|of| of.1), Some(0), "nothing is renewed after it");
    let stats = switch.stats(us(60_000));
    assert_eq!(stats.ports[1].sent_packets, 5);
    assert_eq!(stats.ports[0].tx_pfc_frames, (sent.len() + rest.len()) as u64);
}

#[test]
fn setting_the_switch_keeps_its_peers_pauses_and_takes_its_own_back() {
    let mut switch = paused("");
    assert_eq!(told(&mut switch, 0, us(1_000)).len(), 1);
    let mut live = switch.live().clone();
    live.switch.pool = Some(switchbed_units::Bytes::new(400_000));
    switch.set(us(1_000), live);
    // What is queued is over the threshold in the new memory, too: resumed, and paused anew.
    let sent: Vec<u16> = told(&mut switch, 0, us(2_000)).iter().map(|of| of.1).collect();
    assert_eq!(sent, [0, 65_535]);
    assert_eq!(switch.stats(us(2_000)).ports[1].sent_packets, 0, "still held by its peer");
    switch.receive(us(2_000), 1, &pause(1, 0));
    assert_eq!(told(&mut switch, 0, us(50_000)).last().map(|of| of.1), Some(0));
    assert_eq!(switch.stats(us(50_000)).ports[1].sent_packets, 5);
}

#[test]
fn a_watchdog_ends_a_storm_without_an_end() {
    let mut switch = filled(10, "watchdog = \"drop\"\ndetection_time = \"10ms\"");
    // One a millisecond for 50 ms, and data behind.
    for ms in 0..50_u64 {
        let now = us(ms * 1_000);
        switch.settle(now);
        switch.deliver(now, |_, _| ());
        switch.receive(now, 1, &pause(1, 65_535));
        switch.receive(now, 0, &data(1, 0, 1_250, 0));
    }
    let stats = switch.stats(us(50_000));
    let queue = &stats.ports[1].queues[1];
    assert_eq!((queue.storms, queue.packets, queue.storm_drops), (1, 0, 9));
    assert!(stats.ports[1].sent_packets >= 49, "the other class goes on");
}

#[test]
fn a_capture_has_frames_of_flow_control() {
    let mut switch = paused("");
    let asked = Asked { ports: vec![0, 1], way: None, snaplen: 99, count: None };
    let mut reader = switch.capture(&asked, Duration::ZERO).unwrap();
    switch.receive(us(10_000), 1, &pause(1, 0));
    told(&mut switch, 0, us(60_000));
    switch.end_captures();
    let mut file = Vec::new();
    reader.read(&mut file).unwrap();
    let text = String::from_utf8_lossy(&file);
    // Received by port 1, sent by port 0.
    assert_eq!(text.matches("pfc class1=0").count(), 2, "{text}");
    assert!(!text.contains("reason=reserved"));
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |text: &str| match live_of("test", text, &[]) {
        Ok(_) => panic!("taken: {text}"),
        Err(mistake) => mistake.to_string(),
    };
    assert!(refused(&text(2, 9, "2MB", "")).contains("needs a [[port]] with pfc = true"));
    let without = text(2, 1, "2MB", "")
        .replace("[switch.pfc]\npriorities = [1]\n", "")
        .replace("pool =", "buffer =");
    assert!(refused(&without).contains("write switch.pfc"));
    let little = refused(&text(2, 1, "9KB", ""));
    assert!(little.contains("headroom") && little.contains("switch.pool"), "{little}");
}

proptest! {
    #[test]
    fn hostile_frames_are_accounted_for(
        frames in prop::collection::vec((any::<[u8; 20]>(), 16..60_usize, 0..3_u8), 1..200),
    ) {
        let mut switch = paused("watchdog = \"forward\"\ndetection_time = \"1ms\"");
        let (mut now, mut fed) = (us(20), 1);
        for (bytes, length, port) in frames {
            let mut hostile = pause(1, 1);
            hostile[16..36].copy_from_slice(&bytes);
            now += Span::from_us(50);
            match port {
                2 => switch.receive(now, 0, &data(1, 1, 700, 7)),
                port => switch.receive(now, port.into(), &hostile[..length]),
            }
            fed += u64::from(port < 2);
            switch.deliver(now, |_, _| ());
        }
        let stats = switch.stats(now);
        let heard: u64 = stats.ports.iter().map(|p| p.rx_pfc_frames + p.bad_pfc_frames).sum();
        prop_assert_eq!(heard, fed);
        // Nothing holds for longer than the last frame's quanta, or the watchdog.
        let end = now + Span::from_ms(2_000);
        while switch.next() <= end {
            let at = switch.next();
            switch.settle(at);
            switch.deliver(at, |_, _| ());
        }
        let stats = switch.stats(end);
        prop_assert_eq!(stats.frames, 0);
        prop_assert!(stats.ports.iter().all(|p| p.groups.iter().all(|group| !group.paused)));
    }
}
