//! The window's way down after a cut, and recoveries and timeouts that were needless: what shows it, and
//! what is taken back. Round trips are 100 us, and nothing but they and what is late takes time; the
//! least timeout is 5 ms.

use super::pipe::*;
use super::sender::Bench;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Flags, Segment};
use switchbed_sim::transport::Counters;
use switchbed_units::Span;

/// RACK as Linux has it, with time stamps.
fn undoing() -> Transport {
    Transport {
        loss_detection: LossDetection::Rack,
        timer_slack: Span::ZERO,
        rtt_sampling: RttSampling::EveryAck,
        loss_halves: LossHalves::Window,
        dsack: true,
        undo: true,
        frto: true,
        ..transport()
    }
}

fn without_undo() -> Transport {
    Transport { undo: false, ..undoing() }
}

/// A path on which these segments, as they are sent, are late.
fn late(segments: std::ops::Range<usize>, by: Span) -> impl FnMut(usize, &Segment) -> Fate {
    move |n, _| if segments.contains(&n) { Fate::Late(by) } else { Fate::Deliver }
}

#[test]
fn a_fast_retransmit_of_a_late_packet_is_taken_back_by_a_dsack() {
    // 3 is 300 us late. 4 to 9 are SACKed after 100 us: 3 goes out again, and the window of 13 is halved.
    // 3 arrives at 150 us, and once more at 350: the ACK of 400 us reports it.
    let mut pipe = Pipe::new(&undoing()).data(late(3..4, Span::from_us(300)));
    pipe.write(100);
    pipe.run_until(us(399));
    assert_eq!((pipe.retransmitted(), pipe.last_sent(3)), (vec![3], us(100)));
    assert_eq!(pipe.sender.ssthresh(), 6.5);
    pipe.run_until(us(400));
    let (_, ack) = pipe.acks.iter().find(|(_, ack)| ack.twice().is_some()).unwrap();
    assert_eq!(ack.twice(), Some((3 * MSS, 4 * MSS)));
    assert_eq!(pipe.sender.ssthresh(), 1000.0);
    assert!(pipe.sender.cwnd() >= 13.0);
    assert_eq!(pipe.sender.counters().undone, 1);

    // Without it the cut stays.
    let mut pipe = Pipe::new(&without_undo()).data(late(3..4, Span::from_us(300)));
    pipe.write(100);
    pipe.run_until(us(400));
    assert_eq!(pipe.sender.ssthresh(), 6.5);
}

#[test]
fn a_dsack_of_data_beyond_a_hole_names_the_block_that_it_is_in() {
    // 1 is lost and 3 comes twice: 3 lies within what the second block reports.
    let script = |n: usize, _: &Segment| match n {
        1 => Fate::Drop,
        3 => Fate::Twice(Span::from_us(10)),
        _ => Fate::Deliver,
    };
    let mut pipe = Pipe::new(&undoing()).data(script);
    pipe.write(6);
    pipe.run_until(us(61));
    let (at, ack) = *pipe.acks.iter().find(|(_, ack)| ack.twice().is_some()).unwrap();
    assert_eq!((at, ack.offset, ack.twice()), (us(60), MSS, Some((3 * MSS, 4 * MSS))));
    let block = ack.sack_blocks()[0];
    assert_eq!((u64::from(block.start), u64::from(block.end)), (MSS, 5 * MSS));
    // The network has doubled it, not the sender: nothing is to be taken back.
    pipe.run();
    assert_eq!(pipe.sender.counters().undone, 0);
    pipe.assert_delivered(6);
}

#[test]
fn an_ack_of_the_first_sending_takes_a_timeout_back() {
    // Of ten packets 9 is late. Its timeout is 5 ms after the ACKs of 100 us, its first sending comes 30
    // us after that and so before the second: the ACK has the stamp of the first.
    let mut pipe = Pipe::new(&undoing()).data(late(9..10, Span::from_us(5_080)));
    pipe.write(10);
    pipe.run_until(us(5_179));
    assert_eq!((pipe.last_sent(9), pipe.sender.cwnd()), (us(5_100), 1.0));
    pipe.run_until(us(5_180));
    assert_eq!((pipe.sender.cwnd() >= 19.0, pipe.sender.ssthresh()), (true, 1000.0));
    let counters = Counters { timeouts: 1, retransmits: 1, undone: 1, ..Counters::default() };
    assert_eq!(*pipe.sender.counters(), counters);

    // Time stamps count milliseconds: at a least timeout of 0.5 ms both have the same.
    let fast = Transport { rto_min: Span::from_us(500), ..undoing() };
    let mut pipe = Pipe::new(&fast).data(late(9..10, Span::from_us(580)));
    pipe.write(10);
    pipe.run_until(us(680));
    assert_eq!((pipe.sender.acked(), pipe.sender.ssthresh()), (10 * MSS, 9.5));
    // 50 us later the second sending has arrived, which a DSACK tells 50 us after that.
    pipe.run();
    assert_eq!((pipe.now, pipe.sender.ssthresh()), (us(700), 1000.0));
}

#[test]
fn after_a_timeout_what_was_sent_once_shows_that_all_was_late() {
    // Nothing that is sent from 100 us on arrives before 6.15 ms, as behind a pause. At 5.1 ms 10 goes out
    // again. The ACK of 10 may be of either sending, for there are no time stamps, and lets new data out.
    // That of 11 is of what was sent once.
    let paused = |_: usize, segment: &Segment| {
        let (from, to) = (us(100), us(6_100));
        let held = segment.len > 0 && segment.stamp >= from && segment.stamp < to;
        if held { Fate::Late(to.since(segment.stamp)) } else { Fate::Deliver }
    };
    let settings = Transport { rtt_sampling: RttSampling::OneAtATime, ..undoing() };
    let mut pipe = Pipe::new(&settings).data(paused);
    pipe.write(60);
    pipe.run();
    pipe.assert_delivered(60);
    assert_eq!((pipe.retransmitted(), pipe.last_sent(10)), (vec![10], us(5_100)));
    assert_eq!(pipe.sent[31].0, us(6_200));
    assert_eq!((pipe.sender.counters().timeouts, pipe.sender.counters().undone), (1, 1));
    assert_eq!(pipe.sender.ssthresh(), 1000.0);

    let mut pipe = Pipe::new(&Transport { undo: false, ..settings }).data(paused);
    pipe.write(60);
    pipe.run();
    // Each ACK lets more of the old out.
    assert!(pipe.retransmitted().len() > 5, "{:?}", pipe.retransmitted());
}

#[test]
fn after_a_timeout_new_data_shows_that_the_rest_is_lost() {
    // The second window is lost whole. The ACK of its first packet lets two new ones out, 30 and 31, whose
    // SACKs show the loss: 11 to 29 follow.
    static WINDOW: [usize; 20] = const {
        let mut window = [10; 20];
        let mut nth = 0;
        while nth < 20 {
            window[nth] += nth;
            nth += 1;
        }
        window
    };
    let mut pipe = Pipe::new(&undoing()).dropping(&WINDOW);
    pipe.write(60);
    pipe.run();
    pipe.assert_delivered(60);
    let packets = |n: std::ops::Range<usize>| -> Vec<u64> {
        pipe.sent[n].iter().map(|(_, segment)| segment.offset / MSS).collect()
    };
    assert_eq!(packets(30..35), [10, 30, 31, 11, 12]);
    let mut again = pipe.retransmitted();
    again.sort_unstable();
    assert_eq!(again, (10..30).collect::<Vec<_>>());
    assert_eq!(pipe.sender.counters().undone, 0);
}

#[test]
fn without_new_data_a_timeout_repairs_as_before() {
    // Nothing but the window is written: the ACK of 10 lets 11 and 12 out again.
    static WINDOW: [usize; 20] =
        [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29];
    let pipe = deliver(&undoing(), 30, &WINDOW);
    let packets: Vec<_> = pipe.sent[30..33].iter().map(|(_, s)| s.offset / MSS).collect();
    assert_eq!(packets, [10, 11, 12]);
}

#[test]
fn each_dsack_after_reordering_makes_the_wait_a_quarter_longer() {
    // 8 is late, but not as late as the wait for it: the network reorders. Then every tenth packet is 60 us
    // late: more than a quarter of a round trip, less than three.
    let script = |n: usize, _: &Segment| match n {
        8 => Fate::Late(Span::from_us(10)),
        n if n > 10 && n % 10 == 3 => Fate::Late(Span::from_us(60)),
        _ => Fate::Deliver,
    };
    let again = |settings: &Transport| {
        let settings = Transport { receive_window: 20, ..settings.clone() };
        let mut pipe = Pipe::new(&settings).data(script);
        pipe.write(2_000);
        pipe.run();
        pipe.retransmitted().len()
    };
    // With one quarter every late packet is sent again; with three none is.
    let (with, without) = (again(&undoing()), again(&Transport { dsack: false, ..undoing() }));
    assert!(with < 40 && without > 150, "{with} {without}");
}

#[test]
fn a_dsack_of_a_probe_says_that_nothing_was_lost() {
    let probing = Transport { tail_loss_probe: true, timer_slack: Span::from_ms(2), ..undoing() };
    let mut pipe = Pipe::new(&probing).data(late(9..10, Span::from_ms(6)));
    pipe.write(10);
    pipe.run();
    assert_eq!(pipe.retransmitted(), [9]);
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.ssthresh(), 1000.0);
}

fn prr() -> Transport {
    Transport { reduction: Reduction::Prr, ..marked(CongestionControl::EcnStar) }
}

fn halving() -> Transport {
    Transport { reduction: Reduction::RateHalving, ..prr() }
}

/// A window of twenty, and more to send.
fn twenty(settings: Transport) -> Bench {
    Bench::new(&Transport { initial_window: 20, ..settings }, 60)
}

/// The packets that go out for each of these ACKs.
fn each(acks: std::ops::RangeInclusive<u64>, ack: impl FnMut(u64) -> Vec<u64>) -> Vec<Vec<u64>> {
    acks.map(ack).collect()
}

#[test]
fn prr_sends_a_packet_for_every_other_that_arrives_after_a_loss() {
    // 0 of twenty is lost. Two duplicates let new data out, the third ends the wait: threshold 10,
    // and of d packets delivered since then, d/2, rounded up, go out again: with d = 1 the one that is
    // missing. In flight are 22 + new - 1 lost + 1 - SACKed.
    let mut b = twenty(prr());
    let out = each(1..=19, |k| b.sack(0, 1, 1 + k));
    let mut expected: Vec<Vec<u64>> = vec![vec![20], vec![21], vec![0]];
    for d in 2..=16 {
        expected.push(if d % 2 == 1 { vec![21 + d / 2] } else { vec![] });
    }
    // The 17th: 29 + 1 - 1 - 19 SACKed are 10 in flight, the threshold; nothing goes out.
    expected.push(vec![]);
    assert_eq!(out, expected);
    assert_eq!(b.sender.in_flight(&b.config), 10 * MSS);
    // From here on in flight is kept at the threshold: packets 20 and 21 arrive.
    assert_eq!([b.sack(0, 1, 21), b.sack(0, 1, 22)], [[29], [30]]);
    // 0 arrives and ends it: 9 are out.
    assert_eq!(b.ack(22), [31]);
    assert_eq!(b.sender.cwnd(), 10.0);
}

#[test]
fn prr_makes_up_for_a_burst_of_losses_as_in_slow_start() {
    // 0 to 5 of ten are lost; threshold 5. With the SACK of 8, six are lost and 9, 10 and 11 are in
    // flight, less than the threshold: what arrives goes out.
    let mut b = Bench::new(&prr(), 60);
    let out = each(7..=12, |to| b.sack(0, 6, to));
    assert_eq!(out, [[10], [11], [0], [1], [2], [3]]);
    // 0 arrives: the ACK is of new data and tells of no more losses, so a packet more goes out, until
    // as many as the threshold are in flight.
    assert_eq!(b.sack(1, 6, 12), [4, 5]);
    assert_eq!(b.sack(2, 6, 12), [12]);
    assert_eq!(b.sender.in_flight(&b.config), 5 * MSS);
}

#[test]
fn prr_spreads_a_marks_cut_over_the_round_trip() {
    // The ACK of 0 has an echo: from 20 to 10. In flight before the nth ACK's packets: 20 + sent - n.
    let mut b = twenty(prr());
    let out = each(1..=21, |n| b.acks(n, if n == 1 { Flags::ECE } else { Flags::NONE }));
    for (n, sent) in (1..).zip(&out[..18]) {
        assert_eq!(*sent, if n % 2 == 1 { vec![20 + n / 2] } else { vec![] }, "ACK of {n}");
    }
    // Ten in flight; nine; and with the first ACK of what was sent after the cut it is over.
    assert_eq!(out[18..], [vec![], vec![29], vec![30]]);
    assert_eq!(b.sender.ssthresh(), 10.0);
    // That ACK grows the window again.
    assert_eq!(b.sender.cwnd(), 10.1);
}

#[test]
fn at_once_waits_for_half_a_window() {
    let mut b = twenty(Transport { reduction: Reduction::AtOnce, ..prr() });
    let out = each(1..=11, |n| b.acks(n, if n == 1 { Flags::ECE } else { Flags::NONE }));
    assert_eq!(out[..10], vec![Vec::<u64>::new(); 10]);
    assert_eq!(out[10], [20]);
}

#[test]
fn rate_halving_takes_a_packet_with_every_second_ack() {
    let mut b = twenty(halving());
    let out = each(1..=21, |n| b.acks(n, if n == 1 { Flags::ECE } else { Flags::NONE }));
    for (n, sent) in (1..).zip(&out[..20]) {
        assert_eq!(*sent, if n % 2 == 1 { vec![20 + n / 2] } else { vec![] }, "ACK of {n}");
    }
    assert_eq!((b.sender.ssthresh(), out[20].clone()), (10.0, vec![30]));
}

#[test]
fn an_ack_of_many_packets_lets_one_out_with_rate_halving_and_half_with_prr() {
    assert_eq!(twenty(halving()).acks(9, Flags::ECE), [20]);
    assert_eq!(twenty(prr()).acks(9, Flags::ECE), [20, 21, 22, 23, 24]);
}

#[test]
fn rate_halving_keeps_what_the_clamp_has_taken() {
    // An ACK of eighteen packets leaves 2 in flight: the window is 3, below the threshold of 10, and
    // three are out. It is over with the ACK of packet 20.
    let mut b = twenty(halving());
    assert_eq!(b.acks(18, Flags::ECE), [20]);
    assert_eq!(b.ack(20), [21]);
    // Two packets, and slow start from there.
    assert_eq!((b.ack(21), b.sender.cwnd()), (vec![22, 23], 3.0));
}

#[test]
fn a_loss_on_the_way_down_after_a_mark_does_not_cut_again() {
    // ACKs of 1 (marked) to 4, then 4 turns out to be lost.
    let mut b = twenty(prr());
    b.acks(1, Flags::ECE);
    each(2..=4, |n| b.ack(n));
    let out = each(6..=9, |to| b.sack(4, 5, to));
    assert_eq!(b.sender.ssthresh(), 10.0);
    assert_eq!(b.sender.counters().fast_recoveries, 1);
    // Delivered 5 to 8 packets, sent 3 so far and 4 before the third SACK: a packet for every other.
    assert_eq!(out.concat(), [22, 4]);
}

#[test]
fn a_timeout_ends_the_way_down() {
    let mut b = twenty(prr());
    b.acks(1, Flags::ECE);
    assert_eq!(b.time_out(), [1]);
    assert_eq!(b.sender.cwnd(), 1.0);
    assert_eq!(b.ack(2), [2, 3]);
}

#[test]
fn without_sack_duplicates_count_as_packets_that_arrived() {
    let mut b = twenty(Transport { sack_blocks: 0, ..prr() });
    let out = each(1..=9, |_| b.ack(0));
    assert_eq!(out.concat(), [20, 21, 0, 22, 23, 24]);
    assert_eq!([&out[4], &out[6], &out[8]], [&[22], &[23], &[24]]);
}
