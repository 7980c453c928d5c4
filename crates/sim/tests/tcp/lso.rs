//! Large segment offload: how much goes out at once, and what does not wait.

use super::pipe::*;
use crate::common::LSO;
use switchbed_scenario::Lso;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Config, Sender};
use switchbed_units::{Bytes, Span, Time};

const THIRD: f64 = 1.0 / 3.0;
const LARGE: Bytes = Bytes::new(65_536);

/// The pipe with LSO at its sender.
fn with_lso(mut pipe: Pipe, max: Bytes, beta: f64) -> Pipe {
    let config: Config = pipe.config.clone();
    pipe.config = config.with_lso(&Lso { on: true, max, beta, after_cut: false, ..LSO }).unwrap();
    pipe.sender = Sender::established(&pipe.config);
    pipe
}

/// A window of `packets` from first to last.
fn fixed(packets: u32) -> Transport {
    Transport { initial_window: packets, receive_window: packets, ..transport() }
}

/// What each of the next ACKs lets out.
fn bursts(pipe: &mut Pipe, acks: usize) -> Vec<usize> {
    let mut bursts = Vec::new();
    for _ in 0..acks {
        let acked = pipe.sender.acked();
        let before = pipe.sent.len();
        while pipe.sender.acked() == acked {
            pipe.step();
        }
        bursts.push(pipe.sent.len() - before);
    }
    bursts
}

#[test]
fn bursts_are_the_lesser_of_l_and_beta_w() {
    let packets = |n| Bytes::new(n * MSS);
    for (window, max, beta, expected) in [
        (30, LARGE, THIRD, 10),
        (31, LARGE, THIRD, 11),
        (30, LARGE, 0.5, 15),
        (30, LARGE, 1.0, 30),
        (3, LARGE, THIRD, 1),
        (2, LARGE, THIRD, 1),
        // L in whole packets: 65,536 B are 44 of 1460 B.
        (300, LARGE, THIRD, 44),
        (30, packets(4), THIRD, 4),
        (30, Bytes::new(5 * MSS - 1), THIRD, 4),
    ] {
        let mut pipe = with_lso(Pipe::new(&fixed(window)), max, beta);
        pipe.write(100_000);
        let sent = bursts(&mut pipe, 20 * window as usize);
        for (n, &burst) in sent.iter().enumerate() {
            assert!(burst == 0 || burst == expected, "window {window}, ACK {n}: {burst}");
        }
        let (acks, all) = (sent.len(), sent.iter().sum::<usize>());
        assert!(acks.abs_diff(all) < expected, "{acks} ACKs let {all} packets out");
    }
}

#[test]
fn bursts_follow_a_window_that_grows() {
    let mut pipe = with_lso(Pipe::new(&transport()), LARGE, THIRD);
    pipe.write(100_000);
    let mut seen = 0;
    for _ in 0..1_000 {
        let burst = bursts(&mut pipe, 1)[0];
        // The ACK that let it out has made the window what it is now.
        let window = pipe.sender.window(&pipe.config) / MSS;
        let expected = window.div_ceil(3).min(44) as usize;
        assert!(burst == 0 || burst == expected, "window {window}: {burst}");
        seen += usize::from(burst > 0);
    }
    assert!(seen > 20, "{seen} bursts");
}

#[test]
fn the_end_of_what_is_written_does_not_wait() {
    // 30 go out at once; of the last 12, ten are let out together and two as soon as they
    // may be, though they are no third of the window.
    let mut pipe = with_lso(Pipe::new(&fixed(30)), LARGE, THIRD);
    pipe.write(42);
    assert_eq!(pipe.sent.len(), 30);
    let sent = bursts(&mut pipe, 12);
    assert_eq!(sent, [0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 2]);
    pipe.run();
    pipe.assert_delivered(42);
}

#[test]
fn nothing_waits_from_a_cut_until_its_window_is_acknowledged() {
    // A window of 30 whose first packet is marked falls to 15. The 16th ACK finds space for
    // one packet, and each one after it; the 31st is of data sent after the cut.
    let settings = Transport { initial_ssthresh: 2, ..fixed(30) };
    let settings = Transport { control: CongestionControl::EcnStar, ecn: true, ..settings };
    let pipe = Pipe::new(&settings).data(|n, _| if n == 0 { Fate::Mark } else { Fate::Deliver });
    let mut pipe = with_lso(pipe, LARGE, THIRD);
    pipe.write(100_000);
    let sent = bursts(&mut pipe, 60);
    assert_eq!(sent[..15], [0; 15]);
    assert_eq!(sent[15..29], [1; 14]);
    let third = pipe.sender.window(&pipe.config).div_ceil(3 * MSS) as usize;
    assert!(sent[35..].iter().all(|&burst| burst == 0 || burst >= 5), "{:?}", &sent[29..]);
    assert!(sent[35..].contains(&third), "{:?}", &sent[29..]);
}

#[test]
fn data_waits_after_a_cut_too_where_the_setting_says_so() {
    let settings = Transport { initial_ssthresh: 2, ..fixed(30) };
    let settings = Transport { control: CongestionControl::EcnStar, ecn: true, ..settings };
    let mut pipe =
        Pipe::new(&settings).data(|n, _| if n == 0 { Fate::Mark } else { Fate::Deliver });
    let lso = Lso { on: true, max: LARGE, beta: THIRD, after_cut: true, ..LSO };
    pipe.config = pipe.config.with_lso(&lso).unwrap();
    pipe.sender = Sender::established(&pipe.config);
    pipe.write(100_000);
    // 15 packets more than the window of 15 holds, then a third of that at a time.
    let sent = bursts(&mut pipe, 30);
    assert_eq!(sent[..19], [0; 19]);
    assert!(sent[19..].iter().all(|&burst| burst == 0 || burst == 5), "{:?}", &sent[19..]);
    assert_eq!((sent[19], sent[24], sent[29]), (5, 5, 5));
}

#[test]
fn nothing_waits_while_losses_are_repaired() {
    let pipe = Pipe::new(&fixed(30)).dropping(&[40]);
    let mut pipe = with_lso(pipe, LARGE, THIRD);
    pipe.write(1_000);
    pipe.run();
    assert_eq!(pipe.sender.counters().timeouts, 0);
    assert_eq!(pipe.retransmitted(), [40]);
    pipe.assert_delivered(1_000);
}

#[test]
fn data_waits_two_milliseconds_at_most() {
    // The first five ACKs come; the sixth comes `late` and lets six packets out only if two
    // clock ticks have passed since they began to wait.
    for (late, burst) in [(1_999, 0), (2_000, 6)] {
        let pipe = Pipe::new(&fixed(30)).ack(move |n, _| match n {
            5.. => Fate::Late(Span::from_us(late)),
            _ => Fate::Deliver,
        });
        let mut pipe = with_lso(pipe, LARGE, THIRD);
        pipe.write(1_000);
        let sent = bursts(&mut pipe, 6);
        assert_eq!(sent, [0, 0, 0, 0, 0, burst], "{late} us");
        assert_eq!(pipe.now, Time::ZERO + DELAY + DELAY + Span::from_us(late));
    }
}

#[test]
fn data_waits_for_near_acks_alone_where_the_setting_says_so() {
    // The sixth ACK lets six packets out if the last segment left more than 1 ms ago: 100 us of
    // round trip, and as much as the ACK is late. Two clock ticks have not passed.
    for (late, burst) in [(900, 0), (901, 6)] {
        let pipe = Pipe::new(&fixed(30)).ack(move |n, _| match n {
            5.. => Fate::Late(Span::from_us(late)),
            _ => Fate::Deliver,
        });
        let mut pipe = with_lso(pipe, LARGE, THIRD);
        let lso = Lso { on: true, beta: THIRD, recent: Some(true), ..LSO };
        pipe.config = pipe.config.clone().with_lso(&lso).unwrap();
        pipe.write(1_000);
        assert_eq!(bursts(&mut pipe, 6), [0, 0, 0, 0, 0, burst], "{late} us");
    }
}

#[test]
fn a_window_that_waits_to_be_filled_grows_as_a_full_one() {
    // Slow start: a packet for each one acknowledged.
    let settings = Transport { grow_when_app_limited: false, ..transport() };
    let mut pipe = with_lso(Pipe::new(&settings), LARGE, THIRD);
    pipe.write(1_000);
    pipe.run_until(round_trips(5));
    let acked = pipe.sender.acked() / MSS;
    assert!(acked > 100, "{acked}");
    assert_eq!(pipe.sender.cwnd(), 10.0 + acked as f64);
}
