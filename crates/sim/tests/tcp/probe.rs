//! The tail loss probe (RFC 8985, section 7). Round trips are 100 us, and nothing but they takes time;
//! the retransmission timeout is at its floor of 5 ms, timers are 2 ms late.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_sim::transport::Counters;
use switchbed_units::{Span, Time};

fn probing() -> Transport {
    Transport {
        loss_detection: LossDetection::Rack,
        tail_loss_probe: true,
        timer_slack: Span::from_ms(2),
        loss_halves: LossHalves::Window,
        ..transport()
    }
}

#[test]
fn a_lost_tail_costs_two_round_trips_the_slack_and_two_more() {
    // 8 and 9 of ten are lost. The ACK of 7 comes after 100 us; 200 us and 2 ms later 9 goes out
    // again. Its SACK shows that 8 is lost, whose retransmission takes another round trip.
    let pipe = deliver(&probing(), 10, &[8, 9]);
    let again: Vec<_> = pipe.sent[10..].iter().map(|s| (s.0, s.1.offset / MSS)).collect();
    assert_eq!(again, [(us(2300), 9), (us(2400), 8)]);
    assert_eq!(pipe.now, us(2500));
    let counters = Counters { retransmits: 2, fast_recoveries: 1, ..Counters::default() };
    assert_eq!(*pipe.sender.counters(), counters);
}

#[test]
fn without_it_a_lost_tail_waits_for_the_timeout() {
    // 5 ms after the last ACK at 0.1 ms; of two packets the second goes out with the first one's ACK.
    assert_eq!(deliver(&transport(), 10, &[8, 9]).now, us(5300));
    assert_eq!(deliver(&transport(), 10, &[9]).now, us(5200));
    let acks = |n: usize, _: &_| if n == 8 || n == 9 { Fate::Drop } else { Fate::Deliver };
    let mut pipe = Pipe::new(&transport()).ack(acks);
    pipe.write(10);
    pipe.run();
    assert_eq!(pipe.now, us(5200));
}

#[test]
fn all_but_the_first_lost_is_repaired_without_a_timeout() {
    let pipe = deliver(&probing(), 10, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(pipe.sender.counters().timeouts, 0);
    // The probe, 9, then 1 to 8 by slow start's rules from half of the window: 5.5 packets.
    assert_eq!(pipe.sent[10].1.offset, 9 * MSS);
    assert_eq!(pipe.now, us(2300 + 3 * 100));
}

#[test]
fn a_single_packet_may_have_its_ack_held_back() {
    // 2 RTTs and the least timeout are more than the timeout, at which the probe goes out instead:
    // no timeout, no window of one packet.
    let pipe = deliver(&probing(), 10, &[9]);
    assert_eq!((pipe.last_sent(9), pipe.now), (us(5100), us(5200)));
    assert_eq!(*pipe.sender.counters(), Counters { retransmits: 1, ..Counters::default() });
    assert_eq!(pipe.sender.cwnd(), 20.0);
}

#[test]
fn a_probe_that_repaired_a_loss_cuts_the_window_with_the_next_data() {
    let mut pipe = deliver(&probing(), 10, &[9]);
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.ssthresh(), 10.0);

    // 9 was only late: its second copy brings a duplicate ACK.
    let late = Fate::Late(Span::from_ms(6));
    let mut pipe =
        Pipe::new(&probing()).data(move |n, _| if n == 9 { late } else { Fate::Deliver });
    pipe.write(10);
    pipe.run();
    assert_eq!(pipe.retransmitted(), [9]);
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.ssthresh(), 1000.0);
}

#[test]
fn new_data_goes_first_whatever_the_window_says() {
    // Both packets that the window allows are lost. Without an RTT the probe waits as long as the
    // timeout.
    let settings = Transport { initial_window: 2, ..probing() };
    let pipe = deliver(&settings, 10, &[0, 1]);
    let sent: Vec<_> = pipe.sent[..4].iter().map(|s| (s.0, s.1.offset / MSS)).collect();
    let ms = |ms, us| Time::ZERO + Span::from_ms(ms) + Span::from_us(us);
    assert_eq!(sent, [(us(0), 0), (us(0), 1), (ms(10, 0), 2), (ms(10, 100), 0)]);
    assert_eq!(pipe.sender.counters().timeouts, 0);
}

#[test]
fn after_a_lost_probe_comes_a_timeout() {
    // 8, 9 and the probe: the timeout is 5 ms after the probe.
    let pipe = deliver(&probing(), 10, &[8, 9, 10]);
    let again: Vec<_> = pipe.sent[10..].iter().map(|s| (s.0, s.1.offset / MSS)).collect();
    assert_eq!(again, [(us(2300), 9), (us(7300), 8), (us(7400), 9)]);
    assert_eq!(pipe.sender.counters().timeouts, 1);
}

#[test]
fn a_lost_last_ack_is_asked_for_by_a_probe() {
    let mut pipe = Pipe::new(&probing()).ack(|n, _| match n {
        8 | 9 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pipe.write(10);
    pipe.run();
    pipe.assert_delivered(10);
    assert_eq!((pipe.now, pipe.sender.counters().timeouts), (us(2400), 0));
}

#[test]
fn it_serves_detection_by_count_where_few_segments_are_out() {
    // The probe's SACK is one of two; early retransmit makes that enough.
    let by_count = Transport { loss_detection: LossDetection::Dupthresh, ..probing() };
    let early = Transport { early_retransmit: EarlyRetransmit::AtOnce, ..by_count.clone() };
    assert_eq!(deliver(&early, 10, &[8, 9]).now, us(2500));
    let pipe = deliver(&by_count, 10, &[8, 9]);
    assert_eq!((pipe.last_sent(8), pipe.sender.counters().timeouts), (us(7300), 1));
}
