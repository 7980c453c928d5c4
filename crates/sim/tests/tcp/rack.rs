//! Losses found by time (RFC 8985). Round trips are 100 us, and nothing but they takes time.

use super::pipe::*;
use super::sender::Bench;
use switchbed_scenario::transport::*;
use switchbed_sim::transport::Counters;
use switchbed_units::Span;

fn rack() -> Transport {
    Transport { loss_detection: LossDetection::Rack, timer_slack: Span::ZERO, ..transport() }
}

#[test]
fn losses_are_repaired_when_by_segments_that_overtook_them() {
    static EVERY_OTHER: [usize; 8] = [22, 24, 26, 28, 30, 32, 34, 36];
    static BURST: [usize; 12] = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
    for (packets, lost) in [(40, &[3][..]), (60, &[3, 7]), (100, &EVERY_OTHER), (100, &BURST)] {
        let (by_time, by_count) =
            (deliver(&rack(), packets, lost), deliver(&transport(), packets, lost));
        assert_eq!(by_time.retransmitted(), by_count.retransmitted());
        assert_eq!(by_time.sender.counters(), by_count.sender.counters());
        assert_eq!(by_time.now, by_count.now);
    }
}

#[test]
fn a_retransmission_that_is_lost_too_costs_a_round_trip() {
    // 3 goes out at 0 and, as the 18th segment and the last of its round, after 100 us. What follows
    // it goes out after 200 us and is SACKed after 300 us: 3 goes out a third time.
    let pipe = deliver(&rack(), 40, &[3, 18]);
    assert_eq!(pipe.retransmitted(), [3, 3]);
    assert_eq!(pipe.last_sent(3), us(300));
    let counters = Counters { retransmits: 2, fast_recoveries: 1, ..Counters::default() };
    assert_eq!(*pipe.sender.counters(), counters);
}

#[test]
fn with_fewer_than_three_sacks_a_quarter_of_the_round_trip_may_pass() {
    let mut b = Bench::new(&rack(), 60);
    assert_eq!(b.at(100).ack(1), [10, 11]);
    // 2 has overtaken 1; with an RTT of 101 us and a quarter of 100 us, 1 is due after 126.
    assert_eq!(b.at(101).sack(1, 2, 3), [12]);
    assert_eq!(b.sender.next_timeout(), Some(us(126)));
    assert_eq!((b.time_out(), b.recoveries()), (vec![1], 1));
    assert_eq!(b.now, us(126));
    assert_eq!(b.sender.counters().timeouts, 0);
}

#[test]
fn what_one_ack_tells_of_did_not_overtake_each_other() {
    // A delayed ACK of 0 and 1 goes out with the blocks of what came behind the lost 2.
    let mut b = Bench::new(&rack(), 60);
    assert_eq!(b.at(101).sack(2, 3, 6).last(), Some(&2));
    assert_eq!(b.recoveries(), 1);
}

#[test]
fn timers_are_late_by_the_slack() {
    let mut b = Bench::new(&Transport { timer_slack: Span::from_ms(2), ..rack() }, 60);
    b.at(100).ack(1);
    b.at(101).sack(1, 2, 3);
    assert_eq!(b.sender.next_timeout(), Some(us(2126)));
}

#[test]
fn with_three_sacks_there_is_no_wait_unless_reordering_was_seen() {
    let mut b = Bench::new(&rack(), 60);
    b.at(100).ack(1);
    assert_eq!(b.at(101).sack(1, 2, 5).last(), Some(&1));
    assert_eq!(b.recoveries(), 1);

    let mut b = Bench::new(&rack(), 60);
    b.at(100).ack(1);
    b.at(101).sack(1, 2, 3);
    // 1 was late. The retransmission timer runs from when 3, the first that is out, was sent.
    b.at(120).ack(3);
    assert_eq!(b.sender.next_timeout(), Some(us(5000)));
    // Four overtake 3: it is given its quarter of a round trip.
    b.at(130).sack(3, 4, 8);
    assert_eq!((b.recoveries(), b.sender.next_timeout()), (0, Some(us(155))));
    assert_eq!((b.time_out(), b.recoveries()), (vec![3], 1));
}

#[test]
fn a_window_lost_whole_is_sent_again_in_slow_start() {
    let pipe = deliver(&rack(), 10, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let ms = |ms, round| round_trips(round) + Span::from_ms(ms);
    let rounds = [0, 1, 2, 3].map(|r| pipe.sent.iter().filter(|s| s.0 == ms(10, r)).count());
    assert_eq!(rounds, [1, 2, 4, 3]);
    assert_eq!(pipe.sender.counters().timeouts, 1);
}

#[test]
fn after_a_timeout_what_was_sent_within_a_round_trip_is_in_flight() {
    // RTT 100 us, timeout 300 us after the ACK of 0; then 1 and 2 are old enough, 3 and 4, which
    // were written 50 us ago, are not: the window is 3 packets.
    let mut b = Bench::new(&Transport { rto_min: Span::from_us(1), ..rack() }, 3);
    b.at(100).ack(1);
    b.now = us(350);
    assert_eq!(b.write(2), [3, 4]);
    assert_eq!(b.sender.next_timeout(), Some(us(400)));
    assert_eq!(b.time_out(), [1]);
    assert_eq!((b.sender.cwnd(), b.sender.in_flight(&b.config)), (3.0, 3 * MSS));
    assert_eq!(b.at(450).sack(1, 3, 5), [2]);
    assert_eq!((b.ack(5).len(), b.sender.counters().retransmits), (0, 2));
}
