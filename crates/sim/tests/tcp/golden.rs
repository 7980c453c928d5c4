//! Recoveries worked by hand: RFC 9937's proportional rate reduction ACK by ACK, and the timers of
//! RFC 8985 beside what Linux 6.12 was measured to do (ten packets of one window at once, a round
//! trip of 20 ms, a clock of 4 ms). Packets count from 0.

use super::pipe::*;
use super::sender::Bench;
use switchbed_scenario::transport::*;
use switchbed_units::{Span, Time};

/// Packets 1, 2, 3 … of ten are SACKed one by one, 0 is lost: what goes out for each, and what is in
/// flight after it.
fn reduced(control: CongestionControl) -> (Vec<Vec<u64>>, Vec<u64>, Bench) {
    let settings = Transport {
        control,
        reduction: Reduction::Prr,
        loss_halves: LossHalves::Window,
        ..transport()
    };
    let mut b = Bench::new(&settings, 60);
    let (mut out, mut in_flight) = (Vec::new(), Vec::new());
    for to in 2..=12 {
        out.push(b.sack(0, 1, to));
        in_flight.push(b.sender.in_flight(&b.config) / MSS);
    }
    (out, in_flight, b)
}

#[test]
fn reno_lets_half_of_what_arrives_out_again() {
    // 10 and 11 by limited transmit. Then sndcnt = ceil(d · 5/10) - sent: 1 for d = 1 (the lost 0),
    // 3, 5; once 4 are in flight, fewer than the threshold of 5, what arrives.
    let (out, in_flight, mut b) = reduced(CongestionControl::EcnStar);
    let expected: [&[u64]; 11] =
        [&[10], &[11], &[0], &[], &[12], &[], &[13], &[], &[], &[14], &[15]];
    assert_eq!(out, expected);
    assert_eq!(in_flight[2..], [9, 8, 8, 7, 7, 6, 5, 5, 5]);
    // The ACK of 0 covers all that was out when it was found to be lost.
    b.ack(12);
    assert_eq!((b.sender.cwnd(), b.recoveries()), (5.0, 1));
}

#[test]
fn cubic_lets_seven_tenths_out_again() {
    let cubic = CubicParams {
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        reno_friendly: true,
        arithmetic: Arithmetic::Exact,
    };
    let (out, in_flight, mut b) = reduced(CongestionControl::Cubic(cubic));
    let expected: [&[u64]; 11] =
        [&[10], &[11], &[0], &[12], &[13], &[], &[], &[14], &[15], &[16], &[17]];
    assert_eq!(out, expected);
    assert_eq!(in_flight[2..], [9, 9, 9, 8, 7, 7, 7, 7, 7]);
    b.ack(12);
    assert_eq!(b.sender.ssthresh(), 7.0);
}

/// The clock of the kernel that was measured. It rounds a timer's length up and is never early, so that
/// a timer is late by less than two of them.
const JIFFY_MS: f64 = 4.0;

/// When what arrives as the nth is acknowledged, in us.
fn arrival_us(n: u64) -> u64 {
    20_460 + 530 * n
}

/// Ten packets out at 0, and the ACKs of the first `acked`.
fn acked(acked: u64, timer_slack: Span) -> Bench {
    let settings = Transport {
        loss_detection: LossDetection::Rack,
        tail_loss_probe: true,
        timer_slack,
        rto_floor: RtoFloor::Variance,
        rto_min: Span::from_ms(200),
        rtt_sampling: RttSampling::EveryAck,
        loss_halves: LossHalves::Window,
        ..transport()
    };
    let mut b = Bench::new(&settings, 10);
    for n in 0..acked {
        b.at(arrival_us(n)).ack(n + 1);
    }
    b
}

/// How long after the last ACK the next timer is due, in ms.
fn wait_ms(b: &Bench) -> f64 {
    (b.sender.next_timeout().unwrap() - b.now).as_secs_f64() * 1e3
}

#[test]
fn the_third_sack_ends_the_wait_for_reordering() {
    let mut b = acked(5, Span::from_ms(8));
    assert_eq!(b.at(arrival_us(5)).sack(5, 6, 7), [0; 0]);
    assert_eq!(b.at(arrival_us(6)).sack(5, 6, 8), [0; 0]);
    assert_eq!(b.at(arrival_us(7)).sack(5, 6, 9), [5]);
    assert_eq!(b.sender.counters().timeouts, 0);
}

#[test]
fn a_single_sack_waits_for_the_reordering_timer() {
    // Linux: the SACK at 24.70 ms, the retransmission at 35.24.
    let mut b = acked(8, Span::from_ms(8));
    assert_eq!(b.at(arrival_us(8)).sack(8, 9, 10), [0; 0]);
    assert!((wait_ms(&b) - 10.54).abs() < JIFFY_MS, "{} ms", wait_ms(&b));
    assert_eq!((b.time_out(), b.recoveries()), (vec![8], 1));
    assert_eq!(b.sender.counters().timeouts, 0);
}

#[test]
fn a_lost_last_packet_is_probed_when_the_timeout_would_be() {
    // Linux: 226.3 ms after the last ACK, less than 2 · srtt + 200 ms; and the window stays.
    let mut b = acked(9, Span::from_ms(2));
    let window = b.sender.cwnd();
    let late = 226.3 - wait_ms(&b);
    assert!((0.0..2.0 * JIFFY_MS).contains(&late), "{late} ms");
    assert_eq!((b.time_out(), b.sender.cwnd()), (vec![9], window));
    assert_eq!((b.sender.counters().timeouts, b.recoveries()), (0, 0));
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips_and_its_sack_repairs_it() {
    // srtt goes by eighths (RFC 6298).
    let mut b = acked(5, Span::from_ms(2));
    let rtt_ms = |n| arrival_us(n) as f64 / 1e3;
    let srtt_ms = (1..5).fold(rtt_ms(0), |srtt, n| srtt * 7.0 / 8.0 + rtt_ms(n) / 8.0);
    assert!((wait_ms(&b) - (2.0 * srtt_ms + 2.0)).abs() < 0.01, "{} ms", wait_ms(&b));
    assert_eq!(b.time_out(), [9]);
    let back = b.now + Span::from_ms(21) - Time::ZERO;
    assert_eq!(b.at(back.as_ps() / 1_000_000).sack(5, 9, 10), [5, 6, 7, 8]);
    assert_eq!((b.sender.counters().timeouts, b.recoveries()), (0, 1));
}
