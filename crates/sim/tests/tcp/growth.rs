//! Windows without losses: slow start and what ends it early, congestion avoidance, limits, idling.

use super::pipe::*;
use super::sender::Bench;
use crate::common::profile;
use switchbed_config::param;
use switchbed_scenario::transport::*;
use switchbed_units::{Bytes, Span, Time};

/// Segments sent at time `t`.
fn sent_at(pipe: &Pipe, t: Time) -> usize {
    pipe.sent.iter().filter(|&&(at, _)| at == t).count()
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut pipe = Pipe::new(&transport());
    pipe.write(150);
    pipe.run();
    assert_eq!([0, 1, 2, 3].map(|n| sent_at(&pipe, round_trips(n))), [10, 20, 40, 80]);
    assert_eq!(pipe.sender.cwnd(), 160.0);
    assert_eq!(pipe.now, round_trips(4));
    assert_eq!(pipe.sender.srtt(), Some(Span::from_us(100)));
    pipe.assert_delivered(150);
}

#[test]
fn beyond_ssthresh_the_window_grows_by_one_packet_a_round_trip() {
    let mut pipe = Pipe::new(&Transport { initial_ssthresh: 12, ..transport() });
    pipe.write(70);
    pipe.run();
    assert_eq!([0, 1, 2, 3, 4].map(|n| sent_at(&pipe, round_trips(n))), [10, 12, 13, 14, 15]);
    pipe.assert_delivered(70);
}

#[test]
fn an_ack_of_two_segments_counts_once_in_slow_start() {
    let mut pipe = Pipe::new(&Transport { ack_every: 2, ..transport() });
    pipe.write(100);
    pipe.run_until(round_trips(1));
    assert_eq!(pipe.acks.len(), 5);
    assert_eq!(pipe.sender.cwnd(), 15.0);
}

#[test]
fn an_ack_of_two_segments_counts_twice_in_congestion_avoidance() {
    let settings = Transport { ack_every: 2, initial_ssthresh: 10, ..transport() };
    let mut pipe = Pipe::new(&settings);
    pipe.write(100);
    pipe.run_until(round_trips(1));
    let expected = (0..5).fold(10.0, |c, _| c + 2.0 / c);
    assert_eq!(pipe.sender.cwnd(), expected);
}

#[test]
fn the_receive_window_is_never_exceeded() {
    let mut pipe = Pipe::new(&Transport { receive_window: 25, ..transport() });
    pipe.write(100);
    pipe.run();
    assert_eq!([0, 1, 2, 3].map(|n| sent_at(&pipe, round_trips(n))), [10, 20, 25, 25]);
}

#[test]
fn the_send_buffer_is_never_exceeded() {
    let send_buffer = Some(Bytes::new(25 * MSS + 100));
    let mut pipe = Pipe::new(&Transport { send_buffer, ..transport() });
    pipe.write(100);
    pipe.run();
    assert_eq!([0, 1, 2, 3].map(|n| sent_at(&pipe, round_trips(n))), [10, 20, 25, 25]);
}

#[test]
fn a_short_tail_goes_out_at_once_and_the_next_flow_follows_it() {
    let mut pipe = Pipe::new(&transport());
    pipe.sender.write(2 * MSS + 100);
    pipe.write(0);
    let lens: Vec<_> = pipe.sent.iter().map(|(_, s)| s.len).collect();
    assert_eq!(lens, [1460, 1460, 100]);
    assert_eq!(pipe.config.wire_bytes(&pipe.sent[2].1), 140);
    pipe.write(1);
    assert_eq!((pipe.sent[3].1.offset, pipe.sent[3].1.len), (2 * MSS + 100, 1460));
    pipe.run();
    assert_eq!(pipe.sender.acked(), 3 * MSS + 100);
}

#[test]
fn an_app_limited_window_grows_only_if_the_setting_says_so() {
    // Of the second flow's 100 packets, 10 and 20 fill a window of 10; then 15 ACKs let
    // the last 30 out, and the one that comes next still finds the window full.
    for (grow, first, second) in [(true, 13.0, 113.0), (false, 10.0, 56.0)] {
        let mut pipe = Pipe::new(&Transport { grow_when_app_limited: grow, ..transport() });
        pipe.write(3);
        pipe.run();
        assert_eq!(pipe.sender.cwnd(), first);
        pipe.write(100);
        pipe.run();
        assert_eq!(pipe.sender.cwnd(), second);
    }
}

#[test]
fn a_window_is_full_when_no_full_segment_fits() {
    let settings = Transport { grow_when_app_limited: false, initial_window: 3, ..transport() };
    let mut pipe = Pipe::new(&settings);
    pipe.sender.write(2 * MSS + 100);
    pipe.write(0);
    pipe.run();
    // The first ACK finds the window full, the others do not.
    assert_eq!(pipe.sender.cwnd(), 4.0);
}

/// cwnd when a packet is sent `pause` after the last one of a flow of 30.
fn cwnd_after(restart: Restart, pause: Span) -> f64 {
    let mut pipe = Pipe::new(&Transport { restart, ..transport() });
    pipe.write(30);
    pipe.run();
    assert_eq!(pipe.sender.cwnd(), 40.0);
    // The last packet left after one round trip.
    pipe.run_until(round_trips(1) + pause);
    pipe.write(1);
    pipe.sender.cwnd()
}

#[test]
fn an_idle_window_restarts_after_the_time_that_the_setting_names() {
    // srtt 100 us; the second sample, as large, brought rttvar from 50 to 37.5 us.
    let us = Span::from_us;
    assert_eq!(cwnd_after(Restart::Keep, us(1_000_000)), 40.0);
    assert_eq!(cwnd_after(Restart::AfterRto, us(5_000)), 40.0);
    assert_eq!(cwnd_after(Restart::AfterRto, us(5_001)), 10.0);
    assert_eq!(cwnd_after(Restart::AfterUnclampedRto, us(250)), 40.0);
    assert_eq!(cwnd_after(Restart::AfterUnclampedRto, us(251)), 10.0);
    // Half for each RTO of 5 ms that is over, down to the initial window.
    assert_eq!(cwnd_after(Restart::HalvePerRto, us(5_000)), 40.0);
    assert_eq!(cwnd_after(Restart::HalvePerRto, us(5_001)), 20.0);
    assert_eq!(cwnd_after(Restart::HalvePerRto, us(10_000)), 20.0);
    assert_eq!(cwnd_after(Restart::HalvePerRto, us(10_001)), 10.0);
    assert_eq!(cwnd_after(Restart::HalvePerRto, us(1_000_000)), 10.0);
}

#[test]
fn a_window_that_is_halved_for_idling_leaves_three_quarters_as_the_threshold() {
    let restart = Restart::HalvePerRto;
    let mut pipe = Pipe::new(&Transport { restart, initial_ssthresh: 2, ..transport() });
    pipe.write(30);
    pipe.run();
    assert_eq!(pipe.sender.cwnd().floor(), 12.0);
    pipe.run_until(pipe.now + Span::from_ms(100));
    pipe.write(1);
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (10.0, 6.0 + 3.0));
}

/// cwnd after a flow of so many packets in a window of 10.
fn cwnd_after_flow(cwnd_limited: CwndLimited, initial_ssthresh: u32, packets: u64) -> f64 {
    let grow_when_app_limited = false;
    let settings =
        Transport { cwnd_limited, initial_ssthresh, grow_when_app_limited, ..transport() };
    let mut pipe = Pipe::new(&settings);
    pipe.write(packets);
    pipe.run();
    pipe.sender.cwnd()
}

#[test]
fn a_window_limits_the_sender_when_the_setting_says_so() {
    use CwndLimited::*;
    // Of ten packets, the first ACK finds the window full, the others do not.
    assert_eq!([6, 8, 10].map(|n| cwnd_after_flow(AtAck, 1000, n)), [10.0, 10.0, 11.0]);
    // Space for three packets is as good as none; more is a third of the window or more here.
    assert_eq!(
        [6, 7, 8, 10].map(|n| cwnd_after_flow(AtAckNearly, 1000, n)),
        [10.0, 11.0, 11.0, 12.0]
    );
    // Slow start reaches twice of what was out; what stopped the sender grows with all its ACKs.
    assert_eq!([5, 6, 9, 10].map(|n| cwnd_after_flow(AtSend, 1000, n)), [10.0, 12.0, 18.0, 20.0]);
    // Congestion avoidance grows only with what stopped the sender.
    assert_eq!(cwnd_after_flow(AtSend, 2, 9), 10.0);
    assert_eq!(cwnd_after_flow(AtSend, 2, 10), (0..10).fold(10.0, |c, _| c + 1.0 / c));
}

#[test]
fn a_window_below_the_initial_one_is_raised_only_as_ns_2_does() {
    // The flow's one packet is lost: cwnd falls to 1, and grows to 2 with its ACK.
    let cwnd = |restart| {
        let mut pipe = Pipe::new(&Transport { restart, ..transport() }).dropping(&[0]);
        pipe.write(1);
        pipe.run();
        pipe.run_until(Time::ZERO + Span::from_ms(1000));
        pipe.write(1);
        pipe.sender.cwnd()
    };
    assert_eq!(cwnd(Restart::AfterRto), 2.0);
    assert_eq!(cwnd(Restart::AfterUnclampedRto), 10.0);
}

#[test]
fn a_warm_connection_starts_with_its_window_and_rtt() {
    let mut pipe = Pipe::new(&transport());
    let warm = Warm { cwnd: 21.0, srtt: Span::from_us(100) };
    pipe.sender = switchbed_sim::tcp::Sender::warm(&pipe.config, &warm);
    pipe.write(50);
    assert_eq!(pipe.sent.len(), 21);
    assert_eq!(pipe.sender.next_timeout(), Some(Time::ZERO + Span::from_ms(5)));
    pipe.run();
    pipe.assert_delivered(50);
}

#[test]
fn a_handshake_comes_before_data_and_gives_an_rtt_sample() {
    let mut pipe = Pipe::fresh(&transport());
    assert_eq!(pipe.sender.poll_transmit(&pipe.config, pipe.now), None);
    pipe.write(3);
    assert_eq!(pipe.sent.len(), 1);
    assert_eq!(pipe.sender.next_timeout(), Some(Time::ZERO + Span::from_ms(10)));
    assert_eq!(pipe.config.wire_bytes(&pipe.sent[0].1), 40);
    pipe.run();
    assert_eq!(sent_at(&pipe, round_trips(1)), 3);
    assert_eq!(pipe.sender.srtt(), Some(Span::from_us(100)));
    assert_eq!(pipe.now, round_trips(2));
    pipe.assert_delivered(3);
}

#[test]
fn a_lost_syn_is_sent_again_with_doubling_timeouts() {
    for (lost, first_round) in [(1, 3), (2, 1)] {
        let mut pipe = Pipe::fresh(&transport())
            .data(move |n, _| if n < lost { Fate::Drop } else { Fate::Deliver });
        pipe.write(3);
        pipe.run_until(Time::ZERO + Span::from_ms(40));
        assert_eq!(pipe.sent[1].0, Time::ZERO + Span::from_ms(10));
        if lost == 2 {
            assert_eq!(pipe.sent[2].0, Time::ZERO + Span::from_ms(30));
        }
        assert_eq!(pipe.sender.counters().timeouts, lost as u32);
        let first_data = pipe.sent[lost + 1].0;
        assert_eq!(sent_at(&pipe, first_data), first_round);
        pipe.assert_delivered(3);
    }
}

#[test]
fn no_sample_is_taken_when_it_is_unclear_which_syn_was_answered() {
    let mut pipe = Pipe::fresh(&transport()).dropping(&[0]);
    pipe.write(3);
    while pipe.sent.len() < 3 {
        pipe.step();
    }
    assert_eq!(pipe.sender.srtt(), None);
    pipe.run();
    assert_eq!(pipe.sender.srtt(), Some(Span::from_us(100)));
}

#[test]
fn a_lost_syn_ack_makes_the_sender_ask_again() {
    let mut pipe =
        Pipe::fresh(&transport()).ack(|n, _| if n == 0 { Fate::Drop } else { Fate::Deliver });
    pipe.write(3);
    pipe.run();
    assert_eq!(pipe.sender.counters().timeouts, 1);
    pipe.assert_delivered(3);
}

#[test]
fn a_handshake_is_given_up_when_there_is_nothing_to_send_any_more() {
    let mut pipe = Pipe::fresh(&transport()).dropping(&[0]);
    pipe.write(3);
    assert_eq!(pipe.sender.truncate(), 0);
    pipe.run();
    assert_eq!((pipe.sent.len(), pipe.sender.next_timeout()), (1, None));
    pipe.write(2);
    pipe.run();
    pipe.assert_delivered(2);
}

#[test]
fn every_ack_is_a_sample_where_the_setting_says_so() {
    // The path gets slower: 100, 110, 120, … us. One sample a window sees fewer of them.
    let later = |n: usize, _: &_| Fate::Late(Span::from_us(10) * n as u64);
    let srtt = |rtt_sampling| {
        let mut pipe = Pipe::new(&Transport { rtt_sampling, ..transport() }).data(later);
        pipe.write(10);
        pipe.run();
        pipe.sender.srtt().unwrap()
    };
    assert_eq!(srtt(RttSampling::OneAtATime), Span::from_us(100));
    let every =
        (1..10).fold(100_000_000, |s: u64, n| s - s / 8 + (100_000_000 + n * 10_000_000) / 8);
    assert_eq!(srtt(RttSampling::EveryAck), Span::from_ps(every));
}

#[test]
fn an_early_wake_up_does_nothing() {
    let mut pipe = Pipe::new(&Transport { ack_every: 2, ..transport() });
    pipe.write(1);
    pipe.sender.on_timeout(&pipe.config, Time::ZERO + Span::from_us(9_999));
    assert_eq!(pipe.sender.counters().timeouts, 0);
    pipe.run_until(Time::ZERO + DELAY);
    pipe.receiver.on_timeout(&pipe.config, Time::ZERO + DELAY + Span::from_us(499));
    assert_eq!(pipe.receiver.poll_transmit(&pipe.config, pipe.now), None);
    pipe.run();
    assert_eq!(pipe.acks[0].0, Time::ZERO + DELAY + Span::from_us(500));
}

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
