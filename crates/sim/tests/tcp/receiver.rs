//! The receiving half alone: when it acknowledges, and what its ACKs say.

use super::pipe::*;
use switchbed_qdisc::units::{Span, Time};
use switchbed_sim::tcp::{Config, Flags, Receiver, Segment};
use switchbed_spec::transport::*;

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
    let dctcp = CongestionControl::Dctcp(DctcpParams { g: 0.0625, alpha_start: 1.0 });
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
