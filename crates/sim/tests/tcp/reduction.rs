//! The window's way down after a cut, ACK by ACK.

use super::pipe::*;
use super::sender::Bench;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::Flags;

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
