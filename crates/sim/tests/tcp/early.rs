//! What counts as lost by number: limited transmit, early retransmit, FACK.

use super::pipe::*;
use super::sender::Bench;
use switchbed_scenario::transport::*;
use switchbed_units::{Span, Time};

/// Three packets, the first lost; nothing else to send.
fn three(early_retransmit: EarlyRetransmit, sack_blocks: u8) -> Pipe {
    let settings = Transport { early_retransmit, sack_blocks, ..transport() };
    let mut pipe = Pipe::new(&settings).dropping(&[0]);
    pipe.write(3);
    pipe.run();
    pipe.assert_delivered(3);
    pipe
}

#[test]
fn early_retransmit_needs_acks_of_all_but_one() {
    for sack_blocks in [0, 3] {
        let end = |early| three(early, sack_blocks).now;
        // The second duplicate comes after 100 us; the retransmission takes as long.
        assert_eq!(end(EarlyRetransmit::AtOnce), round_trips(2));
        // A quarter of the round trip is less than the shortest wait.
        assert_eq!(end(EarlyRetransmit::Delayed), round_trips(2) + Span::from_ms(2));
        assert_eq!(end(EarlyRetransmit::Off), round_trips(1) + Span::from_ms(10));
    }
}

#[test]
fn delayed_early_retransmit_waits_for_a_quarter_of_the_rtt() {
    // The first RTT is 20 ms: the timeout 60 ms after it, the wait 5 ms.
    let settings = Transport {
        early_retransmit: EarlyRetransmit::Delayed,
        rto_initial: Span::from_ms(100),
        ..transport()
    };
    let ms = |ms| Some(Time::ZERO + Span::from_ms(ms));
    let mut b = Bench::new(&settings, 4);
    b.at(20_000).ack(1);
    b.at(21_000).sack(1, 2, 4);
    assert_eq!(b.sender.next_timeout(), ms(26));
    assert_eq!((b.time_out(), b.recoveries()), (vec![1], 1));
    assert_eq!(b.sender.counters().timeouts, 0);
    // What was only late is not sent again.
    let mut b = Bench::new(&settings, 4);
    b.at(20_000).ack(1);
    b.at(21_000).sack(1, 2, 4);
    b.at(22_000).ack(4);
    assert_eq!((b.sender.next_timeout(), b.recoveries()), (None, 0));
}

#[test]
fn early_retransmit_is_not_for_who_can_send_more() {
    let settings =
        Transport { early_retransmit: EarlyRetransmit::AtOnce, initial_window: 3, ..transport() };
    let mut b = Bench::new(&settings, 60);
    assert_eq!([b.sack(0, 1, 2), b.sack(0, 1, 3), b.sack(0, 1, 4)], [[3], [4], [0]]);
}

#[test]
fn without_limited_transmit_the_first_duplicates_let_nothing_out() {
    for sack_blocks in [0, 3] {
        let settings = Transport { limited_transmit: false, sack_blocks, ..transport() };
        let mut pipe = Pipe::new(&Transport { initial_window: 4, ..settings }).dropping(&[0]);
        pipe.write(20);
        pipe.run();
        pipe.assert_delivered(20);
        let offsets: Vec<_> = pipe.sent[4..6].iter().map(|s| s.1.offset / MSS).collect();
        assert_eq!(offsets, [0, 4]);
    }
}

#[test]
fn fack_goes_by_the_highest_block() {
    let fack = Transport { loss_detection: LossDetection::Fack, ..transport() };
    // 4 has come: 0 and 1 are lost, 2 and 3 may be late. Seven are in flight and five may be.
    let mut b = Bench::new(&fack, 10);
    assert_eq!(b.sack(0, 4, 5), [0]);
    assert_eq!((b.recoveries(), b.sender.in_flight(&b.config)), (1, 8 * MSS));
    let mut b = Bench::new(&transport(), 10);
    assert_eq!(b.sack(0, 4, 5), [0; 0]);
    assert_eq!(b.recoveries(), 0);
    let mut b = Bench::new(&fack, 10);
    assert_eq!((b.sack(0, 2, 3), b.recoveries()), (vec![], 0));
}
