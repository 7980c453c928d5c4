//! The receiving half alone: when it acknowledges, and what its ACKs say.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Config, Flags, Receiver, Segment, Sender};
use switchbed_units::{Bytes, Span, Time};

/// A receiver, its settings and its clock.
struct Bench {
    config: Config,
    receiver: Receiver,
    now: Time,
}

/// An ACK as the tests look at it: packets, SACK blocks in packets, ECE, echoed time in us.
type Ack = (u64, Vec<(u64, u64)>, bool, u64);

impl Bench {
    fn new(settings: &Transport) -> Bench {
        let config = Config::new(settings).unwrap();
        Bench { config, receiver: Receiver::new(), now: Time::ZERO }
    }

    /// Packet `n` of the stream comes, stamped with the time; answers the ACKs it causes.
    fn gets(&mut self, n: u64, flags: Flags, ce: bool) -> Vec<Ack> {
        self.now += Span::from_us(1);
        let segment = Segment::data(n * MSS, MSS as u32, flags, self.now);
        self.receiver.on_segment(&self.config, &segment, ce, self.now);
        self.acks()
    }

    fn get(&mut self, n: u64) -> Vec<Ack> {
        self.gets(n, Flags::NONE, false)
    }

    fn acks(&mut self) -> Vec<Ack> {
        let poll = || self.receiver.poll_transmit(&self.config, self.now);
        let of = |a: Segment| {
            assert!(a.flags.contains(Flags::ACK));
            assert_eq!(self.config.wire_bytes(&a), [40, 50, 58, 66][a.sacks as usize]);
            let at = |distance: u32| (a.offset + distance as u64) / MSS;
            let blocks = a.sack_blocks().iter().map(|b| (at(b.start), at(b.end))).collect();
            let echo = a.stamp.as_ps() / 1_000_000;
            (a.offset / MSS, blocks, a.flags.contains(Flags::ECE), echo)
        };
        std::iter::from_fn(poll).map(of).collect()
    }
}

/// Numbers and blocks of the ACKs.
fn plain(acks: Vec<Ack>) -> Vec<(u64, Vec<(u64, u64)>)> {
    acks.into_iter().map(|(n, blocks, ..)| (n, blocks)).collect()
}

#[test]
fn the_block_that_changed_last_comes_first() {
    let mut b = Bench::new(&transport());
    let mut get = |n| plain(b.get(n)).remove(0);
    assert_eq!(get(0), (1, vec![]));
    assert_eq!(get(2), (1, vec![(2, 3)]));
    assert_eq!(get(4), (1, vec![(4, 5), (2, 3)]));
    assert_eq!(get(6), (1, vec![(6, 7), (4, 5), (2, 3)]));
    // Three blocks at most: the one that changed longest ago is left out.
    assert_eq!(get(8), (1, vec![(8, 9), (6, 7), (4, 5)]));
    // One that grows stays at the front, and the others where they are.
    assert_eq!(get(9), (1, vec![(8, 10), (6, 7), (4, 5)]));
    // Two that grow together are one.
    assert_eq!(get(5), (1, vec![(4, 7), (8, 10), (2, 3)]));
    // The hole is filled: what follows it counts, and goes.
    assert_eq!(get(1), (3, vec![(4, 7), (8, 10)]));
    assert_eq!(get(3), (7, vec![(8, 10)]));
    assert_eq!(get(7), (10, vec![]));
    assert_eq!(b.receiver.received(), 10 * MSS);
}

#[test]
fn blocks_are_as_many_as_the_setting_says() {
    for most in 0..=3 {
        let mut b = Bench::new(&Transport { sack_blocks: most, ..transport() });
        let acks = [1, 3, 5, 7].map(|n| b.get(n).remove(0));
        assert_eq!(acks[3].1.len(), most as usize);
    }
}

#[test]
fn an_ack_covers_as_many_segments_as_the_setting_says() {
    let mut b = Bench::new(&Transport { ack_every: 3, ..transport() });
    let acks = [0, 1, 2, 3, 4].map(|n| plain(b.get(n)));
    assert_eq!(acks, [vec![], vec![], vec![(3, vec![])], vec![], vec![]]);
    // The delay runs from the first that waits, which came at 4 us.
    assert_eq!(b.receiver.next_timeout(), Some(Time::ZERO + Span::from_us(4 + 500)));
    b.now = Time::ZERO + Span::from_us(504);
    b.receiver.on_timeout(&b.config, b.now);
    assert_eq!(plain(b.acks()), [(5, vec![])]);
    assert_eq!(b.receiver.next_timeout(), None);
}

#[test]
fn out_of_order_repeated_and_hole_filling_data_is_acknowledged_at_once() {
    let mut b = Bench::new(&Transport { ack_every: 10, ..transport() });
    assert_eq!(plain(b.get(0)), []);
    assert_eq!(plain(b.get(2)), [(1, vec![(2, 3)])]);
    assert_eq!(plain(b.get(2)), [(1, vec![(2, 3)])]);
    assert_eq!(plain(b.get(1)), [(3, vec![])]);
    assert_eq!(plain(b.get(0)), [(3, vec![])]);
    assert_eq!(plain(b.get(3)), []);
    assert_eq!(b.receiver.received(), 4 * MSS);
}

#[test]
fn the_echo_is_of_the_first_segment_that_an_ack_covers() {
    let mut b = Bench::new(&Transport { ack_every: 2, ..transport() });
    let mut echo = |n| b.get(n).first().map(|a| a.3);
    assert_eq!([0, 1].map(&mut echo), [None, Some(1)]);
    // Out of order, the last segment in order is echoed still; a hole's filler then is.
    assert_eq!([2, 4, 3].map(&mut echo), [None, Some(3), Some(5)]);
}

#[test]
fn segments_that_overlap_count_once() {
    let mut b = Bench::new(&transport());
    let mut get = |from: u64, to: u64| {
        let segment = Segment::data(from, (to - from) as u32, Flags::NONE, b.now);
        b.receiver.on_segment(&b.config, &segment, false, b.now);
        let ack = b.receiver.poll_transmit(&b.config, b.now).unwrap();
        (ack.offset, ack.sack_blocks().iter().map(|s| (s.start, s.end)).collect::<Vec<_>>())
    };
    assert_eq!(get(0, 100), (100, vec![]));
    assert_eq!(get(50, 150), (150, vec![]));
    assert_eq!(get(200, 300), (150, vec![(50, 150)]));
    assert_eq!(get(250, 400), (150, vec![(50, 250)]));
    assert_eq!(get(100, 220), (400, vec![]));
}

#[test]
fn with_ecn_star_a_mark_is_echoed_until_cwr() {
    let mut b = Bench::new(&marked(CongestionControl::EcnStar));
    let mut ece = |n, flags, ce| b.gets(n, flags, ce)[0].2;
    assert!(!ece(0, Flags::NONE, false));
    assert!(ece(1, Flags::NONE, true));
    assert!(ece(2, Flags::NONE, false));
    assert!(!ece(3, Flags::CWR, false));
    // Marked itself, the segment with CWR starts it again.
    assert!(ece(4, Flags::NONE, true));
    assert!(ece(5, Flags::CWR, true));
    assert!(!ece(6, Flags::CWR, false));
}

#[test]
fn with_dctcp_the_echo_is_the_mark_and_its_change_brings_acks_at_once() {
    let dctcp = CongestionControl::Dctcp(DctcpParams {
        g: 0.0625,
        alpha_start: 1.0,
        arithmetic: Arithmetic::Exact,
    });
    let mut b = Bench::new(&Transport { ack_every: 3, ..marked(dctcp) });
    let mut get = |n, ce| b.gets(n, Flags::NONE, ce);
    assert_eq!(get(0, false), []);
    assert_eq!(get(1, false), []);
    // First what was owed, unmarked, with its own echo.
    assert_eq!(get(2, true), [(2, vec![], false, 1), (3, vec![], true, 3)]);
    // Nothing was owed.
    assert_eq!(get(3, false), [(4, vec![], false, 4)]);
    assert_eq!(get(4, true), [(5, vec![], true, 5)]);
    assert_eq!(get(5, true), []);
    // Out of order, the mark is echoed as well.
    assert_eq!(get(7, true), [(6, vec![(7, 8)], true, 6)]);
    assert_eq!(get(8, false), [(6, vec![(7, 9)], false, 6)]);
}

/// Linux's delayed ACKs, with three quick ones.
fn quick() -> Transport {
    let ms = Span::from_ms;
    let (ack_delay, ack_delay_max, rto_min) = (ms(40), ms(200), ms(200));
    Transport { ack_every: 2, quick_acks: 3, ack_delay, ack_delay_max, rto_min, ..transport() }
}

impl Bench {
    /// Packet `n` comes after a pause; answers whether it is acknowledged at once.
    fn later(&mut self, ms: u64, n: u64) -> bool {
        self.now += Span::from_ms(ms);
        !self.get(n).is_empty()
    }

    /// The delay of the ACK that waits, in milliseconds.
    fn delay_ms(&self) -> f64 {
        self.receiver.next_timeout().unwrap().since(self.now).as_secs_f64() * 1e3
    }
}

#[test]
fn quick_acks_come_at_the_start_after_a_pause_and_after_repeated_data() {
    let mut b = Bench::new(&quick());
    let mut at_once = |ms, n| b.later(ms, n);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|n| at_once(0, n)), [true, true, true, false, true, false]);
    assert_eq!([6, 7, 8].map(|n| at_once(0, n)), [true, false, true]);
    // More than rto_min: it begins anew.
    assert!(at_once(201, 9));
    assert_eq!([10, 11, 12, 13].map(|n| at_once(0, n)), [true, true, false, true]);
    // An old packet is acknowledged, and then three of three.
    assert!(at_once(0, 5));
    assert_eq!([14, 15, 16, 17].map(|n| at_once(0, n)), [true, true, false, true]);
}

#[test]
fn the_delay_follows_the_gaps_between_arrivals_up_to_its_limits() {
    let delays = |settings: Transport, handshake: bool| {
        let mut b = Bench::new(&Transport { quick_acks: 1, ..settings });
        if handshake {
            let syn = Segment::data(0, 0, Flags::SYN, b.now);
            b.receiver.on_segment(&b.config, &syn, false, b.now);
            assert_eq!(b.acks().len(), 1);
            b.now += Span::from_ms(60);
        }
        assert!(b.later(0, 0));
        // Every second packet is acknowledged as it comes; all of them tell a gap.
        let mut delays = Vec::new();
        for (n, gap) in [30, 30, 45, 60, 95, 140, 10].into_iter().enumerate() {
            let held = !b.later(gap, n as u64 + 1);
            assert_eq!(held, n % 2 == 0);
            delays.extend(held.then(|| b.delay_ms().round()));
        }
        delays
    };
    // Half of the delay and the gap: 20 + 30; 25 + 30 (acknowledged); 27.5 + 45; 36.25 + 60;
    // 48.125 + 95; at most the timeout of 200 ms; a short gap counts as 20 ms.
    assert_eq!(delays(quick(), false), [50.0, 73.0, 143.0, 120.0]);
    let ack_delay_max = Span::from_ms(100);
    assert_eq!(delays(Transport { ack_delay_max, ..quick() }, false), [50.0, 73.0, 100.0, 100.0]);
    // A round trip of 60 ms.
    assert_eq!(delays(quick(), true), [50.0, 60.0, 60.0, 60.0]);
}

#[test]
fn a_delay_that_no_ack_cut_short_doubles() {
    let mut b = Bench::new(&Transport { quick_acks: 1, ..quick() });
    assert!(b.later(0, 0) && !b.later(0, 1));
    b.now = b.receiver.next_timeout().unwrap();
    b.receiver.on_timeout(&b.config, b.now);
    assert_eq!(plain(b.acks()), [(2, vec![])]);
    // Half of 80 ms, and the gap of 41.
    b.now = Time::ZERO + Span::from_ms(41);
    assert!(!b.later(0, 2));
    assert_eq!(b.delay_ms().round(), 81.0);
}

#[test]
fn what_is_over_a_full_segment_or_short_is_acknowledged_at_once() {
    let segment = |b: &mut Bench, from: u64, len: u32| {
        b.now += Span::from_us(1);
        let segment = Segment::data(from, len, Flags::NONE, b.now);
        b.receiver.on_segment(&b.config, &segment, false, b.now);
        b.acks().len()
    };
    for (ack_short, at_once) in [(false, 0), (true, 1)] {
        let mut b = Bench::new(&Transport { quick_acks: 1, ack_short, ..quick() });
        assert_eq!(segment(&mut b, 0, 1460), 1);
        assert_eq!(segment(&mut b, 1460, 100), at_once);
        // 200 bytes are no full segment; with another full one they are more.
        assert_eq!(segment(&mut b, 1560, 100), at_once);
        assert_eq!(segment(&mut b, 1660, 1460), 1 - at_once);
    }
}

#[test]
fn a_first_mark_hurries_the_acks_and_cwr_is_answered_at_once() {
    let ecn_star = marked(CongestionControl::EcnStar);
    let settings = Transport { ecn: ecn_star.ecn, control: ecn_star.control, ..quick() };
    let mut b = Bench::new(&settings);
    let mut at_once = |n, flags, ce| !b.gets(n, flags, ce).is_empty();
    for n in 0..3 {
        assert!(at_once(n, Flags::NONE, false));
    }
    assert!(!at_once(3, Flags::NONE, false));
    // The mark's ACK and the next.
    assert!(at_once(4, Flags::NONE, true) && at_once(5, Flags::NONE, true));
    assert!(!at_once(6, Flags::NONE, true));
    assert!(at_once(7, Flags::CWR, false));
    assert!(!at_once(8, Flags::NONE, false));
}

#[test]
fn a_syn_is_answered_each_time_and_its_mark_means_nothing() {
    let mut b = Bench::new(&marked(CongestionControl::EcnStar));
    for _ in 0..2 {
        b.receiver.on_segment(&b.config, &Segment::data(0, 0, Flags::SYN, b.now), true, b.now);
        let answer = b.receiver.poll_transmit(&b.config, b.now).unwrap();
        assert!(answer.flags.contains(Flags::SYN.with(Flags::ACK)));
        assert_eq!(b.receiver.poll_transmit(&b.config, b.now), None);
    }
    assert_eq!(b.get(0), [(1, vec![], false, 1)]);
}

/// A window of 45 packets that opens, 65,700 bytes: that is more than the buffer's first 64 KiB, so it
/// stands until a round trip has brought more than ten packets.
#[test]
fn a_window_that_opens_follows_what_a_round_trip_brings() {
    let windows =
        Transport { receive_window: 4096, initial_receive_window: Bytes::new(45 * MSS), ..quick() };
    let settings = Transport { quick_acks: 100, ..windows };
    let config = Config::new(&settings).unwrap();
    let mut receiver = Receiver::new();
    let mut now = Time::ZERO;
    // All data takes 30 us there; the handshake's round trip was 100 us.
    let mut get = |at_us: u64, segment: Segment| {
        now = Time::ZERO + Span::from_us(at_us);
        receiver.on_segment(&config, &segment, false, now);
        let ack = receiver.poll_transmit(&config, now).expect("quick");
        (ack.len, config.wire_bytes(&ack))
    };
    let us = |us| Time::ZERO + Span::from_us(us);
    let syn = Segment::data(0, 0, Flags::SYN, us(0));
    assert_eq!(get(0, syn), (45 * 1460, 40), "an ACK's window takes no space on the wire");
    let data = |n: u64, at: u64| Segment::data(n * MSS, MSS as u32, Flags::NONE, us(at - 30));
    for n in 0..10 {
        assert_eq!(get(100 + n, data(n, 100 + n)).0, 45 * 1460);
    }
    // The round trip began with the first packet, at 100 us, and ends at 200 us: eleven packets,
    // 16,060 bytes of which 1,460 are more than 14,600. 2 * 16,060 + 16 * 1,460 = 55,480 and twice
    // 55,480 / 10 more are 66,576 bytes; two packets more than the window would be 68,620.
    assert_eq!(get(200, data(10, 200)).0, 66_576);
    assert_eq!(get(201, data(11, 201)).0, 66_576);
    // The next brings 22 packets by 300 us: 32,120 bytes, 16,060 more: 87,600, and twice that more.
    for n in 12..32 {
        assert_eq!(get(202 + n, data(n, 202 + n)).0, 66_576);
    }
    for (n, window) in [(32, 69_496), (33, 72_416), (34, 75_336)] {
        assert_eq!(get(268 + n, data(n, 268 + n)).0, window);
    }
    // Out of order, too; what has been offered once stays so where a hole holds the ACK back.
    assert_eq!(get(303, data(36, 303)).0, 78_256);
}

#[test]
fn a_sender_keeps_to_the_window_that_is_offered() {
    let settings = Transport { initial_receive_window: Bytes::new(4 * MSS), ..transport() };
    let config = Config::new(&settings).unwrap();
    let (now, mut sender) = (Time::ZERO, Sender::established(&config));
    sender.write(20 * MSS);
    let sent =
        |sender: &mut Sender| std::iter::from_fn(|| sender.poll_transmit(&config, now)).count();
    assert_eq!(sent(&mut sender), 4);
    let mut ack = Segment::ack(2 * MSS, Flags::NONE, now);
    ack.len = 4 * MSS as u32;
    sender.on_segment(&config, &ack, now);
    assert_eq!(sent(&mut sender), 2);
    // A window that has shrunk takes nothing back.
    (ack.offset, ack.len) = (3 * MSS, MSS as u32);
    sender.on_segment(&config, &ack, now);
    assert_eq!(sent(&mut sender), 0);
    (ack.offset, ack.len) = (6 * MSS, 100 * MSS as u32);
    sender.on_segment(&config, &ack, now);
    // Three ACKs have opened the congestion window to 13.
    assert_eq!(sent(&mut sender), 13);
}

/// A receiver with Linux's delayed ACKs and no quick one left, that has acknowledged so many packets.
fn calm(packets: u64) -> Bench {
    let mut b = Bench::new(&Transport { quick_acks: 1, dsack: true, ..quick() });
    for n in 0..packets {
        b.get(n);
    }
    b
}

#[test]
fn the_ack_of_a_fin_waits_as_that_of_a_small_segment() {
    let fin = |b: &mut Bench, hurry: bool| {
        b.now += Span::from_us(1);
        let segment = Segment::data(3 * MSS, 1, Flags::NONE, b.now);
        b.receiver.on_fin(&b.config, &segment, false, hurry, b.now);
        b.acks()
    };
    for hurry in [false, true] {
        let mut b = calm(3);
        assert_eq!(fin(&mut b, hurry).len(), usize::from(hurry));
        assert_eq!(b.receiver.received(), 3 * MSS + 1);
        if !hurry {
            let due = b.receiver.next_timeout().unwrap();
            assert_eq!(due, b.now + Span::from_ms(40));
            b.now = due;
            b.receiver.on_timeout(&b.config, b.now);
            assert_eq!(b.acks().len(), 1);
        }
        // The same FIN again is acknowledged at once.
        assert_eq!(fin(&mut b, false).len(), 1);
    }
}

#[test]
fn a_fin_ends_the_blocks_to_report_and_one_beyond_a_gap_waits() {
    let fin = |b: &mut Bench, n: u64| {
        let segment = Segment::data(n * MSS, MSS as u32 + 1, Flags::NONE, b.now);
        b.receiver.on_fin(&b.config, &segment, false, false, b.now);
        plain(b.acks())
    };
    let mut b = calm(1);
    assert_eq!(fin(&mut b, 2), [(1, vec![(2, 3)])]);
    assert_eq!(b.receiver.received(), MSS);
    assert_eq!(plain(b.get(1)), [(3, vec![])]);
    assert_eq!(b.receiver.received(), 3 * MSS + 1);
    // A packet that is here already, with a FIN behind it: no D-SACK.
    let mut b = calm(1);
    assert_eq!(fin(&mut b, 0), []);
    let due = b.receiver.next_timeout().unwrap();
    b.receiver.on_timeout(&b.config, due);
    assert_eq!(plain(b.acks()), [(1, vec![])]);
}
