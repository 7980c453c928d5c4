//! The retransmission timer: its settings, its restarts, waits by timer, and when a sender gives up.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_sim::Wait;
use switchbed_sim::tcp::{Config, Flags, Sender};
use switchbed_units::{Span, Time};

fn dctcp() -> CongestionControl {
    let arithmetic = Arithmetic::Exact;
    CongestionControl::Dctcp(DctcpParams { g: 0.0625, alpha_start: 1.0, arithmetic })
}

#[test]
fn a_passive_opener_has_the_rtt_of_its_handshake_or_none() {
    let rto = |rtt_of_syn_ack, rto_floor| {
        let (rto_min, ms) = (Span::from_ms(200), Span::from_ms);
        let settings = Transport { rtt_of_syn_ack, rto_floor, rto_min, ..transport() };
        let config = Config::new(&settings).unwrap();
        let mut sender = Sender::established(&config);
        sender.accepted(&config, ms(8), false);
        // A later segment of the request is no sample.
        sender.accepted(&config, ms(80), false);
        sender.rto(&config)
    };
    assert_eq!(rto(false, RtoFloor::Variance), Span::from_ms(10));
    // The kernel's 208 ms: the RTT and at least 200 ms; RFC 6298's 8 + 4·4 is under the floor.
    assert_eq!(rto(true, RtoFloor::Variance), Span::from_ms(208));
    assert_eq!(rto(true, RtoFloor::Timeout), Span::from_ms(200));
}

#[test]
fn the_impatient_variant_restarts_the_timer_for_the_first_partial_ack_alone() {
    // 60 of a hundred packets are lost: NewReno repairs one in a round trip of 100 us, so the last
    // after 6.1 ms; the timer of 5 ms runs from the first partial ACK, at 200 us.
    let run = |partial_acks, sack_blocks| {
        let settings = Transport {
            partial_acks,
            sack_blocks,
            initial_window: 100,
            rtt_sampling: RttSampling::EveryAck,
            ..transport()
        };
        let mut pipe = Pipe::new(&settings).data(|n, _| match n {
            10..70 => Fate::Drop,
            _ => Fate::Deliver,
        });
        pipe.write(100);
        pipe.run();
        pipe.assert_delivered(100);
        (pipe.sender.counters().timeouts, pipe.now)
    };
    assert_eq!(run(PartialAcks::All, 0).0, 0);
    let (timeouts, end) = run(PartialAcks::First, 0);
    assert_eq!(timeouts, 1);
    // The rest follows in slow start.
    assert!((us(5_200)..us(6_000)).contains(&end), "{end:?}");
    // With SACK the repair takes a few round trips, and no timer.
    assert_eq!(run(PartialAcks::First, 3).0, 0);
}

#[test]
fn sacks_of_data_sent_before_the_head_restart_the_timer() {
    // Packet 0 and its retransmission are lost. It is sent again at 100 us, when the SACKs of 1 to 8
    // come; that of 9 comes 60 us later.
    let again = |sacks_restart_timer| {
        let settings = Transport {
            sacks_restart_timer,
            loss_detection: LossDetection::Rack,
            rtt_sampling: RttSampling::EveryAck,
            ..transport()
        };
        let mut lost = 0;
        let mut pipe = Pipe::new(&settings).data(move |n, segment| match (segment.offset, n) {
            (0, _) if lost < 2 => {
                lost += 1;
                Fate::Drop
            }
            (_, 9) => Fate::Late(Span::from_us(60)),
            _ => Fate::Deliver,
        });
        pipe.write(10);
        pipe.run();
        pipe.assert_delivered(10);
        assert_eq!(pipe.sender.counters().timeouts, 1);
        pipe.last_sent(0)
    };
    // Without a sample the initial timeout, 10 ms from the retransmission.
    assert_eq!(again(false), us(10_100));
    // SACKs are samples of 100 and 160 us, whose timeout is the floor, 5 ms from the last of them.
    assert_eq!(again(true), us(5_160));
}

#[test]
fn sacks_of_data_sent_after_the_head_leave_the_timer() {
    // Packet 0 is lost, and 1 and 2 alone are SACKed, which is too few: the timer runs from the start.
    let settings = Transport {
        sacks_restart_timer: true,
        early_retransmit: EarlyRetransmit::Off,
        rtt_sampling: RttSampling::EveryAck,
        ..transport()
    };
    let mut pipe = Pipe::new(&settings).dropping(&[0]);
    pipe.write(3);
    pipe.run();
    pipe.assert_delivered(3);
    assert_eq!(pipe.sent[3].0, us(10_000));
    assert_eq!(pipe.sender.waits().count(Wait::Rto), 1);
}

#[test]
fn waits_are_of_the_timer_that_ended_them() {
    // A SYN, the first data and, once there is a sample, later data are lost.
    let mut pipe = Pipe::fresh(&Transport { initial_window: 1, ..transport() });
    pipe = pipe.data(|n, _| if [0, 4].contains(&n) { Fate::Drop } else { Fate::Deliver });
    pipe.write(4);
    pipe.run();
    pipe.assert_delivered(4);
    let waits = pipe.sender.waits();
    assert_eq!((waits.count(Wait::Syn), waits.count(Wait::Rto)), (1, 1));
    assert_eq!(waits.count(Wait::RtoInitial), 0);
    assert_eq!(waits.longest(), Some((Wait::Syn, Span::from_ms(10))));
    // An established connection without a sample waits for the initial timeout.
    let pipe = deliver(&transport(), 1, &[0]);
    assert_eq!(pipe.sender.waits().longest(), Some((Wait::RtoInitial, Span::from_ms(10))));
    assert_eq!(deliver(&transport(), 30, &[]).sender.waits().longest(), None);
}

#[test]
fn an_ack_that_a_timer_held_back_is_a_wait_if_the_sender_needed_it() {
    // A window of one packet: the ACK of each packet is held back for 500 us.
    let settings = Transport { ack_every: 2, initial_window: 1, receive_window: 1, ..transport() };
    let pipe = deliver(&settings, 3, &[]);
    let (wait, took) = pipe.sender.waits().longest().unwrap();
    assert_eq!((wait, took), (Wait::DelayedAck, Span::from_us(3 * 600)));
    let held = pipe.acks.iter().filter(|(_, ack)| ack.flags.contains(Flags::HELD)).count();
    assert_eq!(held, 3);
    // Two packets of three are acknowledged at once; the last waits.
    let settings = Transport { ack_every: 2, ..transport() };
    let pipe = deliver(&settings, 3, &[]);
    assert_eq!(pipe.sender.waits().count(Wait::DelayedAck), 1);
}

#[test]
fn the_last_segment_is_acknowledged_at_once_where_push_does_that() {
    for (ack_pushed, acks) in [(false, vec![]), (true, vec![1])] {
        let config = Config::new(&Transport { ack_every: 2, ack_pushed, ..transport() }).unwrap();
        let mut receiver = switchbed_sim::tcp::Receiver::new();
        let segment = switchbed_sim::tcp::Segment::data(0, MSS as u32, Flags::NONE, Time::ZERO);
        receiver.on_segment(&config, &segment, false, us(1));
        receiver.on_push(&config);
        let poll = || receiver.poll_transmit(&config, us(1)).map(|ack| ack.offset / MSS);
        assert_eq!(std::iter::from_fn(poll).collect::<Vec<_>>(), acks);
    }
}

#[test]
fn a_mark_may_leave_one_packet_and_so_may_the_threshold() {
    let after = |mark_least| {
        let settings = Transport { mark_least, initial_window: 1, ..marked(dctcp()) };
        let mut pipe = Pipe::new(&settings).data(|_, _| Fate::Mark);
        pipe.write(1);
        pipe.run();
        (pipe.sender.cwnd(), pipe.sender.ssthresh())
    };
    assert_eq!(after(2), (1.0, 2.0));
    assert_eq!(after(1), (1.0, 1.0));
}

#[test]
fn two_lost_syns_leave_one_packet_or_the_initial_window() {
    let flight = |one_after_lost_syns| {
        let settings = Transport { one_after_lost_syns, ..transport() };
        let mut pipe = Pipe::fresh(&settings).dropping(&[0, 1]);
        pipe.write(30);
        pipe.run();
        let first = pipe.sent[3].0;
        pipe.sent[3..].iter().filter(|(at, _)| *at == first).count()
    };
    assert_eq!((flight(true), flight(false)), (1, 10));
}

#[test]
fn a_sender_gives_up_after_so_many_syns_or_timeouts() {
    let run = |settings: Transport, fresh: bool| {
        let mut pipe = if fresh { Pipe::fresh(&settings) } else { Pipe::new(&settings) };
        pipe = pipe.data(|_, _| Fate::Drop);
        pipe.write(1);
        for _ in 0..100 {
            if !pipe.step() {
                break;
            }
        }
        assert_eq!(pipe.sender.next_timeout(), None);
        assert!(pipe.sender.failed() && pipe.sender.unsent() == 0);
        (pipe.sent.len(), pipe.now)
    };
    let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
    // SYNs at 0, 10, 30 and 70 ms, and 80 ms for the last.
    assert_eq!(run(Transport { syn_retries: 3, ..transport() }, true), (4, ms(150)));
    // One more, since the first timeout does not double the next.
    let settings = Transport { syn_retries: 3, syn_linear_timeouts: 1, ..transport() };
    assert_eq!(run(settings, true), (5, ms(160)));
    // Data at 0, then timeouts at 10, 30 and 70 ms; at 150 ms it is enough.
    let settings = Transport { data_retries: 3, ..transport() };
    assert_eq!(run(settings, false), (4, ms(150)));
    // Linux's time of one timeout, and one more, from 200 ms up: 600 ms after the first, at 10 ms. They
    // are at 30, 70, 150, 310 and 630 ms.
    let data_retries_by = RetriesBy::Time;
    let settings = Transport { data_retries: 1, data_retries_by, ..transport() };
    assert_eq!(run(settings, false), (6, ms(630)));
}

#[test]
fn an_ack_of_new_data_renews_the_patience() {
    // Each packet is lost twice: two timeouts in a row, never three.
    let settings = Transport { data_retries: 2, initial_window: 1, ..transport() };
    let mut pipe = Pipe::new(&settings).data(|n, _| match n % 3 {
        2 => Fate::Deliver,
        _ => Fate::Drop,
    });
    pipe.write(5);
    pipe.run();
    assert!(!pipe.sender.failed());
    pipe.assert_delivered(5);
}

#[test]
fn a_connection_without_ecn_answers_no_mark_and_marks_nothing() {
    for control in [dctcp(), CongestionControl::Reno, CongestionControl::EcnStar] {
        let settings = Transport { ecn_fallback: true, ecn_syn: true, ..marked(control) };
        let mut pipe = Pipe::fresh(&settings).data(|n, _| match n {
            0 => Fate::Drop,
            _ => Fate::Mark,
        });
        pipe.write(40);
        pipe.run();
        pipe.assert_delivered(40);
        assert!(pipe.sender.without_ecn());
        assert_eq!(pipe.sender.counters().mark_cuts, 0);
        let capable = |s: &&(Time, _)| pipe.config.ecn_capable(&s.1);
        assert_eq!(pipe.sent.iter().filter(capable).count(), 1, "the first SYN");
        assert_eq!(pipe.acks.iter().filter(capable).count(), 0);
        // The window grows as Reno's.
        assert!(pipe.sender.cwnd() > 40.0, "{}", pipe.sender.cwnd());
    }
}

#[test]
fn the_floor_may_be_of_what_the_timeout_adds_to_the_rtt() {
    let rto = |rto_floor| {
        let mut pipe = Pipe::new(&Transport { rto_floor, ..transport() });
        pipe.write(1);
        pipe.run();
        pipe.sender.rto(&pipe.config)
    };
    // An RTT of 100 us, a deviation of 50: four times that is less than 5 ms.
    assert_eq!(rto(RtoFloor::Timeout), Span::from_us(5000));
    assert_eq!(rto(RtoFloor::Variance), Span::from_us(5100));
}

#[test]
fn the_first_syn_timeouts_may_be_alike() {
    let at = |syn_linear_timeouts| {
        let settings = Transport { syn_linear_timeouts, ..transport() };
        let mut pipe = Pipe::fresh(&settings).dropping(&[0, 1, 2, 3, 4, 5]);
        pipe.write(1);
        pipe.run();
        pipe.assert_delivered(1);
        let ms = |at: Time| at.since(Time::ZERO).as_ps() / 1_000_000_000;
        pipe.sent[..7].iter().map(|s| ms(s.0)).collect::<Vec<_>>()
    };
    assert_eq!(at(0), [0, 10, 30, 70, 150, 310, 630]);
    // Linux since 6.5: four more tries a second apart, then as before.
    assert_eq!(at(4), [0, 10, 20, 30, 40, 50, 70]);
}

#[test]
fn a_timeout_in_a_recovery_cuts_again_or_not() {
    // 3 of ten is lost and its retransmission too: thirteen were out when it was found.
    let ssthresh = |timeout_cuts_again| {
        let settings = Transport { timeout_cuts_again, ..transport() };
        let mut pipe = Pipe::new(&settings).dropping(&[3, 18]);
        pipe.write(40);
        pipe.run();
        assert_eq!(pipe.sender.counters().timeouts, 1);
        pipe.sender.ssthresh()
    };
    assert_eq!(ssthresh(false), 6.5);
    assert!(ssthresh(true) < 6.5);
}
