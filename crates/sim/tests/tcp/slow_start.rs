//! Slow start by ACKs, bytes and segments, and what ends it early.

use super::pipe::*;
use super::sender::Bench;
use crate::common::profile;
use switchbed_config::param;
use switchbed_scenario::transport::*;
use switchbed_units::{Bytes, Span, Time};

/// An ACK for two packets.
fn delayed() -> Transport {
    Transport { ack_every: 2, ..transport() }
}

/// cwnd after the five ACKs of a window of ten.
fn after_five_acks(settings: Transport) -> f64 {
    let mut pipe = Pipe::new(&settings);
    pipe.write(100);
    pipe.run_until(round_trips(1));
    assert_eq!(pipe.acks.len(), 5);
    pipe.sender.cwnd()
}

#[test]
fn slow_start_counts_acks_bytes_or_segments() {
    use SlowStart::*;
    let cwnd =
        |slow_start, abc_limit| after_five_acks(Transport { slow_start, abc_limit, ..delayed() });
    assert_eq!([cwnd(Bytes, 1), cwnd(Bytes, 2), cwnd(Bytes, 8)], [15.0, 20.0, 20.0]);
    assert_eq!([cwnd(Acks, 1), cwnd(SegmentsAndOne, 1), cwnd(Segments, 1)], [15.0, 20.0, 20.0]);
}

#[test]
fn slow_start_by_segments_ends_at_ssthresh_or_one_beyond() {
    // The second ACK reaches 13. With it a packet is left over for congestion avoidance; or else
    // the window is 14, and the next ACKs are congestion avoidance's.
    let cwnd = |slow_start| {
        let (initial_ssthresh, avoidance) = (13, Avoidance::Segments);
        after_five_acks(Transport { slow_start, initial_ssthresh, avoidance, ..delayed() })
    };
    assert_eq!(cwnd(SlowStart::Segments), 13.0 + 7.0 / 13.0);
    assert_eq!(cwnd(SlowStart::SegmentsAndOne), 14.0 + 6.0 / 14.0);
}

#[test]
fn after_a_timeout_an_ack_adds_one_packet_at_most() {
    // All ten are lost; then one goes out, two, and the ACK of the two comes.
    let grown = |abc_limit| {
        let settings = Transport { abc_limit, ..delayed() };
        let mut pipe =
            Pipe::new(&settings).data(|n, _| if n < 10 { Fate::Drop } else { Fate::Deliver });
        pipe.write(100);
        while pipe.sender.acked() < 3 * MSS {
            pipe.step();
        }
        assert_eq!(pipe.sender.counters().timeouts, 1);
        // Beyond ssthresh, 5, the limit holds again, but only in the next slow start.
        pipe.sender.cwnd()
    };
    assert_eq!([grown(1), grown(2)], [3.0, 3.0]);
}

/// A window of 16, twice: the round trips of the second are 4.2 ms longer, and all its ACKs come
/// together. Stands as they have come.
fn grown_queue(control: CongestionControl, hystart: Hystart) -> Pipe {
    let rtt_sampling = RttSampling::EveryAck;
    let settings = Transport { control, hystart, rtt_sampling, initial_window: 16, ..transport() };
    let mut pipe = Pipe::new(&settings).data(|n, _| match n {
        0..16 => Fate::Deliver,
        _ => Fate::Late(Span::from_us(4_200)),
    });
    pipe.write(200);
    while pipe.sender.acked() < 48 * MSS {
        pipe.step();
    }
    pipe
}

fn cubic() -> CongestionControl {
    let mut values = profile::values();
    values.insert("kind".into(), param::Value::Word("cubic".into()));
    Transport::of(values, Bytes::new(1500)).unwrap().control
}

#[test]
fn linuxs_delay_detector_ends_slow_start_at_the_ninth_sample() {
    let pipe = grown_queue(cubic(), Hystart::Linux);
    // 32, and the eight packets of the samples before.
    assert_eq!(pipe.sender.ssthresh(), 40.0);
    assert!(pipe.sender.cwnd() < 42.0, "{}", pipe.sender.cwnd());
    for (control, hystart) in [(cubic(), Hystart::Off), (CongestionControl::Reno, Hystart::Linux)] {
        let pipe = grown_queue(control, hystart);
        assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (64.0, 1000.0));
    }
}

/// The threshold at which slow start ends over a bottleneck of so many Mbit/s, 20 ms away and back.
fn exit_over_a_bottleneck(mbps: u64) -> f64 {
    let (control, hystart) = (cubic(), Hystart::Linux);
    let rtt_sampling = RttSampling::EveryAck;
    let (rto_initial, rto_min) = (Span::from_ms(1000), Span::from_ms(200));
    let settings =
        Transport { control, hystart, rtt_sampling, rto_initial, rto_min, ..transport() };
    let packet = Span::from_us(1500 * 8 / mbps);
    let mut free = Time::ZERO;
    let mut pipe = Pipe::new(&settings).data(move |_, segment| {
        free = free.max(segment.stamp) + packet;
        Fate::Late(free.since(segment.stamp) + Span::from_ms(20))
    });
    pipe.write(1_000);
    while pipe.sender.ssthresh() == 1000.0 {
        assert!(pipe.step());
    }
    pipe.sender.ssthresh()
}

#[test]
fn linuxs_train_detector_ends_slow_start_where_the_kernels_does() {
    // The least RTT is 20.7 ms; half of it and of a millisecond, 10.85 ms, is over with the twentieth
    // ACK, 0.6 ms apart, of the round that begins with a window of 20. A kernel, 6.12, was seen to
    // leave at 38 over 20 Mbit/s and 20 ms, unpaced.
    assert_eq!(exit_over_a_bottleneck(20), 39.0);
}

#[test]
fn hystart_plus_plus_slows_to_a_quarter_at_the_eighth_sample() {
    for control in [cubic(), CongestionControl::Reno] {
        let pipe = grown_queue(control, Hystart::PlusPlus);
        // 32, seven packets of the samples before, and a quarter for each of 25.
        assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (32.0 + 7.0 + 25.0 / 4.0, 1000.0));
    }
}

#[test]
fn hystart_plus_plus_is_for_the_first_slow_start_alone() {
    // A loss in the first window sets ssthresh, which the second slow start ends at.
    let settings = Transport {
        hystart: Hystart::PlusPlus,
        rtt_sampling: RttSampling::EveryAck,
        initial_window: 64,
        ..transport()
    };
    let mut pipe = Pipe::new(&settings).data(|n, _| match n {
        0..64 => Fate::Drop,
        64..80 => Fate::Deliver,
        _ => Fate::Late(Span::from_ms(4)),
    });
    pipe.write(200);
    while pipe.sender.counters().timeouts == 0 || pipe.sender.cwnd() < 32.0 {
        pipe.step();
    }
    // One packet an ACK all the way: 1 to 32 with 31 packets acknowledged.
    assert_eq!(pipe.sender.acked(), 31 * MSS);
    assert_eq!(pipe.sender.ssthresh(), 32.0);
}

/// 0 is lost of ten, 1 and 2 are SACKed before the timeout: its retransmission's ACK covers three
/// segments, of which one is new.
#[test]
fn what_was_sacked_before_does_not_count_again() {
    let (slow_start, reduction) = (SlowStart::Segments, Reduction::Prr);
    let mut b = Bench::new(&Transport { slow_start, reduction, ..transport() }, 60);
    b.sack(0, 1, 3);
    assert_eq!(b.time_out(), [0]);
    b.ack(3);
    assert_eq!(b.sender.cwnd(), 2.0);
}
