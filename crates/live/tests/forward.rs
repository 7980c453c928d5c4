//! The forwarding loop over devices in memory: where frames go, how fast, what is set while
//! it runs, and that no frame can harm it.

use crate::common::{
    ecn, every, forwarder, forwarder_of, frame, identified, joined, live, notifier, number, parted,
    punctual, scheme, small, station, step, trimming, us,
};
use proptest::prelude::*;
use std::io;
use std::os::fd::BorrowedFd;
use switchbed_live::device::{Device, Memory, Received};
use switchbed_live::forward::AnyDevice;
use switchbed_live::random::Stream;
use switchbed_live::{Clock, Fake, Forwarder, Stats, Switch};
use switchbed_scenario::Live;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Rate, Span, Time};
use switchbed_wire::offload::Header;

fn none() -> switchbed_scenario::SchemeChoice {
    scheme("none", &[])
}

fn learning(ports: usize) -> Live {
    let mut live = live(ports, none());
    live.live.routes.clear();
    live
}

#[test]
fn stations_are_learnt_and_others_flooded() {
    let (mut forwarder, sides) = punctual(learning(4));
    sides[0].arrive(us(0), frame(0, 1, 0, 0, 100, 1));
    sides[1].arrive(us(1000), frame(1, 0, 0, 0, 100, 2));
    sides[0].arrive(us(2000), frame(0, 1, 0, 0, 100, 3));
    sides[2].arrive(us(3000), [&[0xff; 6][..], &station(2), &[8, 6], &[0; 46]].concat());
    sides[0].arrive(us(4000), frame(2, 0, 0, 0, 100, 5));
    forwarder.run_until(us(5000)).unwrap();
    let counts: Vec<usize> = sides.iter().map(|side| side.sent().len()).collect();
    // 1 to all; 2 to port 0 alone; 3 to port 1 alone; the broadcast to all; the last is at home.
    assert_eq!(counts, [2, 3, 1, 2]);
    let stats = forwarder.stats();
    assert_eq!((stats.flooded, stats.refused.here, stats.frames), (2, 1, 0));
}

#[test]
fn a_link_delivers_after_the_last_bit_and_its_delay() {
    let mut live = live(2, none());
    live.port[1].delay = Span::from_us(250);
    let (mut forwarder, sides) = punctual(live);
    (0..3).for_each(|i| sides[0].arrive(us(10), frame(0, 1, 0, 0, 1250, i)));
    forwarder.run_until(us(1000)).unwrap();
    // 1250 bytes at 100 Mbps are 100 us.
    let times: Vec<Time> = sides[1].sent().iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [us(360), us(460), us(560)]);
}

#[test]
fn classes_follow_the_map() {
    let mut live = live(2, none());
    live.live.classes = [0; 64];
    live.live.classes[46] = 1;
    let (mut forwarder, sides) = punctual(live);
    for i in 0..6 {
        sides[0].arrive(us(0), frame(0, 1, if i < 3 { 10 } else { 46 }, 0, 1514, i));
    }
    forwarder.run_until(us(1)).unwrap();
    let queued: Vec<u32> = forwarder.stats().ports[1].queues.iter().map(|q| q.packets).collect();
    assert_eq!(queued, [2, 3]);
}

#[test]
fn what_is_no_frame_for_others_is_refused_with_its_reason() {
    let (mut forwarder, sides) = punctual(live(2, none()));
    let pause = [&[1, 0x80, 0xc2, 0, 0, 1][..], &station(0), &[0x88, 8], &[0; 46]].concat();
    sides[0].arrive(us(0), pause);
    sides[0].arrive(us(0), vec![0; 13]);
    sides[0].arrive(us(0), frame(0, 1, 0, 0, 1523, 1));
    sides[0].arrive(us(0), vec![0; 60_000]);
    sides[0].arrive(us(0), frame(0, 1, 0, 0, 1522, 1));
    forwarder.run_until(us(1000)).unwrap();
    let refused = forwarder.stats().refused;
    assert_eq!((refused.reserved, refused.truncated, refused.oversized), (1, 1, 2));
    assert_eq!(sides[1].sent().len(), 1);
}

/// A clock that wakes late by up to a time.
struct Late {
    now: Time,
    most: Span,
    rng: Stream,
}

impl Clock for Late {
    fn now(&mut self) -> Time {
        self.now
    }
    fn wait(&mut self, _: &[BorrowedFd<'_>], until: Time, ready: &mut Vec<bool>) -> io::Result<()> {
        ready.clear();
        self.now = until + Span::from_ps(self.rng.below(self.most.as_ps()));
        Ok(())
    }
}

/// A second of a source that always has more, through a switch that wakes late by up to
/// 400 us: the frames' times.
fn late(bucket: Bytes) -> (Vec<Time>, Stats) {
    let mut live = live(2, none());
    live.live.bucket = Some(bucket);
    live.live.fraction = 0.995;
    let clock = Late { now: Time::ZERO, most: Span::from_us(400), rng: Stream::new(7, 0) };
    let (mut forwarder, sides) = forwarder(live, clock);
    for i in 0..10_000 {
        sides[0].arrive(us(100 * i), frame(0, 1, 0, 0, 1514, i as u32));
    }
    forwarder.run_until(us(1_000_000)).unwrap();
    (sides[1].sent().iter().map(|&(at, _)| at).collect(), forwarder.stats())
}

/// A thread that wakes late hands over several packets at once: joined they are those that leave singly, with the
/// same marks and losses, and a packet that was dropped or marked parts its neighbours.
#[test]
fn packets_that_leave_in_a_row_leave_as_one() {
    let sent = |new: fn() -> Memory| {
        let mut live = live(2, step(6_000));
        live.switch.buffer = Bytes::new(20_000);
        let clock = Late { now: Time::ZERO, most: Span::from_us(900), rng: Stream::new(7, 0) };
        let (mut forwarder, sides) = forwarder_of(live, clock, new);
        for i in 0..2_000 {
            // Not ECN-capable packets are lost where others are marked.
            let ecn = if i % 17 == 0 { 0 } else { 2 };
            let frame = identified(frame(0, 1, 0, ecn, 1514, i as u32), i as u16);
            sides[0].arrive(us(90 * i), frame);
        }
        forwarder.run_until(us(400_000)).unwrap();
        let port = forwarder.stats().ports[1].clone();
        (sides[1].sent_with(), port)
    };
    let (single, port) = sent(Memory::new);
    let (joined, same) = sent(Memory::with_offload);
    assert_eq!(parted(&joined), parted(&single));
    assert!(port.marked_packets > 100 && port.drops_not_ecn_capable > 10, "{port:?}");
    assert_eq!((port.marked_packets, port.sent_packets), (same.marked_packets, same.sent_packets));
    assert!(joined.len() < single.len() * 2 / 3, "{} of {}", joined.len(), single.len());
}

#[test]
fn an_offload_header_that_lies_costs_its_frame_alone() {
    let (mut forwarder, sides) =
        forwarder_of(live(2, none()), Fake::default(), Memory::with_offload);
    let packet = |i: u32| (us(5), identified(frame(0, 1, 0, 0, 200, i), i as u16));
    let frames = joined(&[packet(0), packet(1)]);
    let [(at, header, bytes)] = &frames[..] else { panic!("one frame") };
    sides[0].arrive_with(*at, Header { gso_size: 0, ..*header }, bytes.clone());
    sides[0].arrive_with(*at, Header { csum_start: u16::MAX, ..*header }, bytes.clone());
    sides[0].arrive_with(*at, *header, bytes.clone());
    forwarder.run_until(us(1_000)).unwrap();
    let port = &forwarder.stats().ports[0];
    assert_eq!((port.bad_offloads, port.received_packets), (2, 2));
    let left = parted(&sides[1].sent_with());
    assert_eq!(left.iter().map(|(_, frame)| number(frame)).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn late_wakes_cost_no_rate_while_the_bucket_holds_them_and_never_exceed_it() {
    let rate = 99_500_000.0 / 8.0;
    let (times, stats) = late(Bytes::new(15_000));
    let sent = times.len() as f64 * 1514.0;
    assert!((0.995..=1.0001).contains(&(sent / rate)), "{sent}");
    assert!((200_000..400_000).contains(&stats.wakes.max_late_ns), "{:?}", stats.wakes);
    // In any window: the rate, what the bucket held, and the frame under way.
    for window in [Span::from_ms(1), Span::from_ms(10), Span::from_ms(100)] {
        let most = rate * window.as_secs_f64() + 15_000.0 + 1514.0;
        for (i, &from) in times.iter().enumerate() {
            let n = times[i..].iter().take_while(|&&at| at.since(from) < window).count();
            assert!(n as f64 * 1514.0 <= most + rate * 400e-6, "{n} frames in {window} at {from}");
        }
    }
    // A bucket smaller than what is missed loses rate.
    let (times, _) = late(Bytes::new(2500));
    assert!((times.len() as f64) * 1514.0 < 0.97 * rate, "{}", times.len());
}

#[test]
fn an_idle_port_saves_nothing_up() {
    let mut live = live(2, none());
    live.live.bucket = Some(Bytes::new(50_000));
    let (mut forwarder, sides) = punctual(live);
    (0..10).for_each(|i| sides[0].arrive(us(500_000), frame(0, 1, 0, 0, 1250, i)));
    forwarder.run_until(us(600_000)).unwrap();
    let times: Vec<Time> = sides[1].sent().iter().map(|&(at, _)| at).collect();
    assert_eq!(times, (1..=10).map(|i| us(500_000 + 100 * i)).collect::<Vec<_>>());
}

#[test]
fn what_is_queued_survives_a_change_of_scheme_in_order_and_with_its_marks() {
    let before = live(2, step(6_000));
    let (mut forwarder, sides) = punctual(before.clone());
    (0..20).for_each(|i| sides[0].arrive(us(i), frame(0, 1, 0, 2, 1250, i as u32)));
    forwarder.run_until(us(250)).unwrap();
    let marked = |sides: &[switchbed_live::device::Port]| {
        sides[1].sent().iter().filter(|(_, frame)| ecn(frame) == 3).count()
    };
    assert_eq!((sides[1].sent().len(), marked(&sides)), (2, 0));
    let mut after = live(2, none());
    after.switch.queues = 1;
    after.switch.quantum = vec![Bytes::new(1500)];
    after.port[1].rate = Rate::from_mbps(1000);
    forwarder.set(after);
    assert_eq!(forwarder.stats().ports[1].queues.len(), 1);
    forwarder.run_until(us(10_000)).unwrap();
    let numbers: Vec<u32> = sides[1].sent().iter().map(|(_, frame)| number(frame)).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    // The first leaves at once; four more find space under 6000 bytes; the others were marked.
    assert_eq!(marked(&sides), 15);
    let stats = forwarder.stats();
    assert_eq!((stats.ports[1].sent_packets, stats.ports[1].marked_packets), (20, 15));
    assert_eq!(stats.frames, 0);
    // The third was on the wire at the change, the rest take 10 us each.
    assert_eq!(sides[1].sent()[2].0, us(300));
    assert_eq!(sides[1].sent()[19].0, us(300 + 17 * 10));
}

#[test]
fn the_series_has_every_queue_at_every_interval() {
    let mut live = live(2, step(6_000));
    live.live.series_every = Some(Span::from_us(100));
    let (mut forwarder, sides) = punctual(live);
    (0..5).for_each(|i| sides[0].arrive(us(50), frame(0, 1, 1, 2, 1250, i)));
    forwarder.run_until(us(1_000)).unwrap();
    let samples = forwarder.take_samples();
    assert_eq!(samples.len(), 11 * 2 * 2);
    let queue = |n: usize| samples.iter().filter(|s| (s.port, s.queue) == (1, 1)).nth(n).unwrap();
    assert_eq!((queue(1).at, queue(1).bytes), (us(100), 4 * 1250));
    assert_eq!((queue(2).at, queue(2).bytes), (us(200), 3 * 1250));
    assert_eq!(queue(3).threshold_bytes, Some(6_000.0));
}

/// A device that fails when it is read.
struct Broken;

impl Device for Broken {
    fn receive(&mut self, _: Time, _: &mut Vec<u8>) -> io::Result<Received> {
        Err(io::Error::other("unplugged"))
    }
    fn send(&mut self, _: Time, _: &[u8]) -> io::Result<()> {
        Err(io::Error::other("unplugged"))
    }
    fn due(&self) -> Time {
        Time::ZERO
    }
}

#[test]
fn frames_that_find_no_memory_arrive_short() {
    let mut live = live(2, none());
    live.switch.buffer = Bytes::new(10_000);
    live.switch.policy = switchbed_scenario::BufferPolicy::Static;
    live.switch.trimming = Some(trimming());
    let (mut forwarder, sides) = punctual(live);
    (0..8).for_each(|i| sides[0].arrive(us(0), frame(0, 1, 0, 2, 1514, i)));
    forwarder.run_until(us(2_000)).unwrap();
    // One is on the line, three fill the 5,000 bytes, and four are cut.
    let sent: Vec<Vec<u8>> = sides[1].sent().into_iter().map(|(_, bytes)| bytes).collect();
    let of = |length| sent.iter().filter(move |frame| frame.len() == length).collect::<Vec<_>>();
    assert_eq!((of(1514).len(), of(128).len(), sent.len()), (4, 4, 8));
    for cut in of(128) {
        let ip = switchbed_wire::Frame::parse(cut).unwrap().ip.expect("its length fits");
        assert_eq!((ip.dscp(), ip.ecn()), (46, 2));
    }
    let port = &forwarder.stats().ports[1];
    let trims = (port.trim_packets, port.tx_trim_packets, port.dropped_trim_packets);
    assert_eq!((trims, port.drops_full), ((4, 4, 0), 0));
}

#[test]
fn a_broken_device_is_counted_and_holds_nobody_up() {
    let memory = Memory::new();
    let side = memory.port();
    let devices: Vec<AnyDevice> = vec![Box::new(memory), Box::new(Broken)];
    let mut forwarder = Forwarder::new(Switch::new(live(2, none())), devices, Fake::default());
    side.arrive(us(0), frame(0, 1, 0, 0, 100, 0));
    forwarder.run_until(us(1_000_000)).unwrap();
    let stats = forwarder.stats();
    // A reading every 100 ms, and one frame that could not be sent.
    assert!((9..=12).contains(&stats.ports[1].device_errors), "{:?}", stats.ports[1]);
}

#[test]
fn a_flood_of_small_frames_leaves_the_other_ports_their_rate() {
    let (mut forwarder, sides) = punctual(live(4, none()));
    for i in 0..20_000u64 {
        sides[0].arrive(us(i), frame(0, 1, 0, 0, 60, i as u32));
        if i % 200 == 0 {
            sides[2].arrive(us(i), frame(2, 3, 0, 0, 1514, i as u32));
        }
    }
    forwarder.run_until(us(100_000)).unwrap();
    assert_eq!(sides[3].sent().len(), 100);
    let flooded = &forwarder.stats().ports[1];
    assert!(flooded.drops_full > 10_000 && flooded.sent_packets > 4_000, "{flooded:?}");
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..200);
    let good = (0u8..4, 46usize..1600).prop_map(|(ecn, length)| frame(0, 1, 0, ecn, length, 0));
    let spoilt = (good.clone(), any::<prop::sample::Index>(), any::<u8>());
    let spoilt = spoilt.prop_map(|(mut frame, at, byte)| {
        *at.get_mut(&mut frame) = byte;
        frame
    });
    prop_oneof![noise, good, spoilt]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever comes in under whatever scheme and policy, nothing panics; what goes out is what came in
    /// but for marks, or a message to a source; every frame is sent, dropped or refused.
    #[test]
    fn nothing_that_arrives_does_harm(
        live in prop::sample::select(every(3)),
        frames in prop::collection::vec((0usize..3, 0u64..50, bytes()), 1..100),
    ) {
        let trims = live.switch.trimming.is_some();
        let (mut forwarder, sides) = punctual(small(live));
        let mut at = Time::ZERO;
        for (port, gap, bytes) in &frames {
            at += Span::from_us(*gap);
            sides[*port].arrive(at, bytes.clone());
        }
        forwarder.run_until(at + Span::from_ms(100)).unwrap();
        let stats = forwarder.stats();
        prop_assert_eq!(stats.frames, 0);
        let sent: Vec<Vec<u8>> =
            sides.iter().flat_map(|side| side.sent()).map(|(_, frame)| frame).collect();
        for frame in sent.iter().filter(|frame| switchbed_wire::cnm::parse(frame).is_none()) {
            let same = |(_, _, came): &(usize, u64, Vec<u8>)| {
                let differs = |i: usize| frame[i] != came[i];
                // A cut frame has other lengths, another DSCP and other checksums as well.
                let cut = trims && frame.len() < came.len();
                let fits = cut || frame.len() == came.len();
                let most = if cut { 10 } else { 3 };
                fits && (0..frame.len()).filter(|&i| differs(i)).count() <= most
            };
            prop_assert!(frames.iter().any(same));
        }
        let refused = stats.refused.truncated + stats.refused.oversized + stats.refused.reserved
            + stats.refused.here;
        let dropped: u64 = stats
            .ports
            .iter()
            .map(|port| {
                port.drops_full + port.drops_not_ecn_capable + port.drops_early
                    + port.drops_pushed_out + port.drops_at_departure
            })
            .sum();
        // A flooded frame leaves by two ports.
        let copies = frames.len() as u64 + stats.flooded + stats.notified;
        prop_assert_eq!(copies, sent.len() as u64 + dropped + refused);
    }
}

#[test]
fn messages_go_back_to_the_source_of_the_sampled_frame() {
    let mut live = live(3, notifier("qcn", &[("q_eq", "10KB")]));
    live.switch.buffer = Bytes::new(300_000);
    let (mut forwarder, sides) = punctual(live);
    (0..250).for_each(|i| sides[0].arrive(us(0), frame(0, 2, 0, 0, 1514, i)));
    forwarder.run_until(us(100_000)).unwrap();
    let back = sides[0].sent();
    assert!(!back.is_empty());
    assert_eq!(forwarder.stats().notified, back.len() as u64);
    assert!(sides[1].sent().is_empty());
    for (_, frame) in back {
        assert_eq!(frame[..6], station(0));
        let (message, sampled) = switchbed_wire::cnm::parse(&frame).unwrap();
        assert!(message.quantized > 0 && message.offset_bytes > 0, "{message:?}");
        assert_eq!((sampled[..2].to_vec(), sampled.len()), (vec![8, 0], 64));
    }
}

#[test]
fn frames_that_stay_whole_do_so_when_trimming_is_turned_on() {
    // To a group of stations, which nobody cuts.
    let mut whole = frame(0, 1, 0, 2, 1_250, 1);
    whole[0] |= 1;
    for trimmed_before in [false, true] {
        let mut first = live(2, step(50_000));
        first.switch.trimming = trimmed_before.then(trimming);
        let (mut forwarder, sides) = punctual(first.clone());
        (0..40).for_each(|_| sides[0].arrive(us(10), whole.clone()));
        forwarder.run_until(us(20)).unwrap();
        let mut little = first;
        // Eight frames, and what would be left of four more.
        little.switch.buffer = Bytes::new(8 * 1_250 + 600);
        little.switch.trimming = Some(trimming());
        forwarder.set(little);
        forwarder.run_until(us(1_000_000)).unwrap();
        let sent = sides[1].sent();
        assert!(sent.iter().all(|(_, frame)| *frame == whole), "{trimmed_before}");
        let port = &forwarder.stats().ports[1];
        assert_eq!((port.tx_trim_packets, port.sent_packets), (0, sent.len() as u64));
        assert!(port.drops_full > 0);
    }
}

#[test]
fn what_is_trimmed_as_trimming_is_turned_on_leaves_cut() {
    let (mut forwarder, sides) = punctual(live(2, step(50_000)));
    (0..40).for_each(|i| sides[0].arrive(us(10), frame(0, 1, 0, 2, 1_250, i)));
    forwarder.run_until(us(20)).unwrap();
    let mut little = live(2, step(50_000));
    little.switch.buffer = Bytes::new(8 * 1_250 + 600);
    little.switch.trimming = Some(trimming());
    forwarder.set(little);
    forwarder.run_until(us(1_000_000)).unwrap();
    let sent = sides[1].sent();
    let cut = sent.iter().filter(|(_, frame)| frame.len() == 128 && frame[15] >> 2 == 46).count();
    let port = &forwarder.stats().ports[1];
    assert_eq!(
        (cut as u64, port.sent_bytes),
        (port.tx_trim_packets, sent.iter().map(|(_, f)| f.len() as u64).sum())
    );
    assert!(cut > 0);
}

#[test]
fn trimming_of_queued_packets_is_refused() {
    // A fragment that waits must not be cut, which a port knows of arrivals alone.
    let text = |mode: &str| {
        format!(
            "[switch]\nqueues = 2\nbuffer = \"30KB\"\n\
             [switch.trimming]\nqueues = [0]\nqueue = 1\ndscp = 46\nmode = \"{mode}\"\n\
             [scheme]\nname = \"none\"\n[[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n"
        )
    };
    let read = |mode| {
        switchbed_scenario::live_of("test", &text(mode), &["live.classes=[\"46=1\"]".to_owned()])
    };
    assert_eq!(read("switch").map_err(|mistake| mistake.to_string()).err(), None);
    let refused = read("htsim").map(drop).expect_err("refused").to_string();
    assert!(refused.contains("switch.trimming.mode is \"htsim\""), "{refused}");
}
