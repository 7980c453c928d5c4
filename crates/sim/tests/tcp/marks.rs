//! Congestion marks, from the receiver's echo to the sender's cut: ECN*, DCTCP, and TCP Prague over
//! accurate ECN (RFC 9768).

use super::pipe::*;
use crate::common::profile;
use switchbed_config::param;
use switchbed_qdisc::Ecn;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Flags, Segment};
use switchbed_units::{Bytes, Span, Time};

const DCTCP: CongestionControl = CongestionControl::Dctcp(DctcpParams {
    g: 1.0 / 16.0,
    alpha_start: 1.0,
    arithmetic: Arithmetic::Exact,
});

fn marking(numbers: &'static [usize]) -> impl FnMut(usize, &Segment) -> Fate + 'static {
    move |n, _| if numbers.contains(&n) { Fate::Mark } else { Fate::Deliver }
}

/// Numbers of the ACKs, or of the data segments, with `flag`.
fn with(flag: Flags, segments: &[(Time, Segment)]) -> Vec<usize> {
    (0..segments.len()).filter(|&n| segments[n].1.flags.contains(flag)).collect()
}

#[test]
fn ecn_star_echoes_until_it_hears_that_the_window_was_cut() {
    let mut pipe = Pipe::new(&marked(CongestionControl::EcnStar)).data(marking(&[4]));
    pipe.write(40);
    pipe.run();
    // The ACKs of 0 to 3 let packets out up to 17 and made the window 14. The ACK of 4
    // halves it to 7: the next new packet, 18, goes out when 11 is acknowledged.
    assert_eq!(with(Flags::CWR, &pipe.sent), [18]);
    let told = pipe.sent[18].1.offset / MSS;
    let heard = pipe.acks.iter().position(|a| a.1.offset > told * MSS).unwrap();
    assert_eq!(with(Flags::ECE, &pipe.acks), (4..heard).collect::<Vec<_>>());
    assert_eq!(pipe.sender.counters().mark_cuts, 1);
    assert_eq!(pipe.sender.ssthresh(), 7.0);
    pipe.assert_delivered(40);
}

#[test]
fn marks_cut_once_a_window_of_data() {
    // All marked: a cut whenever an ACK of data sent after the last cut comes.
    let mut pipe = Pipe::new(&marked(CongestionControl::EcnStar)).data(|_, _| Fate::Mark);
    pipe.write(40);
    pipe.run_until(round_trips(1));
    assert_eq!((pipe.sender.counters().mark_cuts, pipe.sender.cwnd()), (1, 5.0));
    pipe.run_until(round_trips(2));
    assert_eq!((pipe.sender.counters().mark_cuts, pipe.sender.cwnd()), (2, 2.5));
    pipe.run();
    assert_eq!(pipe.sender.cwnd(), 1.0);
    pipe.assert_delivered(40);
}

#[test]
fn a_mark_and_a_loss_of_one_window_halve_it_once_with_ecn_star() {
    let fate = |n: usize, _: &Segment| match n {
        0 => Fate::Mark,
        5 => Fate::Drop,
        _ => Fate::Deliver,
    };
    let mut pipe = Pipe::new(&marked(CongestionControl::EcnStar)).data(fate);
    pipe.write(40);
    pipe.run();
    assert_eq!(pipe.sender.ssthresh(), 5.0);
    assert_eq!(pipe.sender.counters().fast_recoveries, 1);
    pipe.assert_delivered(40);

    // DCTCP's cut by α/2 (here by 1/32) does not stand for a loss's.
    let small = CongestionControl::Dctcp(DctcpParams {
        g: 1.0 / 16.0,
        alpha_start: 0.0,
        arithmetic: Arithmetic::Exact,
    });
    let mut pipe = Pipe::new(&marked(small)).data(fate);
    pipe.write(40);
    pipe.run();
    assert!(pipe.sender.ssthresh() < 6.0, "{}", pipe.sender.ssthresh());
}

#[test]
fn a_mark_of_a_window_that_a_loss_has_cut_does_not_cut_it_again() {
    // The second round: 12 is lost, then 20 is marked and its echo comes in the recovery.
    let mut pipe = Pipe::new(&marked(CongestionControl::EcnStar)).data(|n, _| match n {
        12 => Fate::Drop,
        20 => Fate::Mark,
        _ => Fate::Deliver,
    });
    pipe.write(60);
    pipe.run();
    assert_eq!(pipe.sender.counters().fast_recoveries, 1);
    assert_eq!(pipe.sender.counters().mark_cuts, 0);
    pipe.assert_delivered(60);
}

#[test]
fn a_mark_from_before_a_timeout_does_not_cut_after_it() {
    // The second round is lost but for 15, which is marked; so is its ACK.
    let mut pipe = Pipe::new(&marked(CongestionControl::EcnStar))
        .data(|n, _| match n {
            15 => Fate::Mark,
            10..30 => Fate::Drop,
            _ => Fate::Deliver,
        })
        .ack(|n, _| if n == 10 { Fate::Drop } else { Fate::Deliver });
    pipe.write(60);
    pipe.run();
    assert_eq!(pipe.sender.counters().timeouts, 1);
    assert!(pipe.acks[11].1.flags.contains(Flags::ECE));
    assert_eq!(pipe.sender.counters().mark_cuts, 0);
    pipe.assert_delivered(60);
}

#[test]
fn a_mark_halves_no_more_than_the_receive_window() {
    let settings =
        Transport { initial_window: 20, receive_window: 8, ..marked(CongestionControl::EcnStar) };
    let mut pipe = Pipe::new(&settings).data(marking(&[0]));
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.cwnd(), 4.0);
}

#[test]
fn dctcp_follows_the_marked_fraction() {
    // Rounds of ten packets in a window that never limits them. The first ACK ends the
    // first window (RFC 8257: WindowEnd starts at SND.UNA), so α sees the packets
    // 0, then 1 to 10, 11 to 20, 21 to 30.
    let settings = Transport { initial_window: 100, ..marked(DCTCP) };
    let mut pipe = Pipe::new(&settings).data(marking(&[0, 1, 2, 12, 13, 14]));
    let mut alpha = 1.0;
    for fraction in [1.0, 0.2, 0.3, 0.0] {
        pipe.write(10);
        pipe.run();
        alpha = 15.0 / 16.0 * alpha + fraction / 16.0;
        assert_eq!(pipe.sender.alpha(), Some(alpha));
    }
}

#[test]
fn dctcp_cuts_by_half_of_alpha_once_a_window() {
    let control = CongestionControl::Dctcp(DctcpParams {
        g: 1.0 / 16.0,
        alpha_start: 0.5,
        arithmetic: Arithmetic::Exact,
    });
    let mut pipe =
        Pipe::new(&marked(control)).data(|n, _| if n < 10 { Fate::Mark } else { Fate::Deliver });
    pipe.write(12);
    pipe.run_until(round_trips(1));
    let alpha = 15.0 / 16.0 * 0.5 + 1.0 / 16.0;
    assert_eq!(pipe.sender.alpha(), Some(alpha));
    assert_eq!(pipe.sender.cwnd(), 10.0 * (1.0 - alpha / 2.0));
    assert_eq!(pipe.sender.ssthresh(), pipe.sender.cwnd());
    assert_eq!(pipe.sender.counters().mark_cuts, 1);
}

#[test]
fn alpha_outlives_flow_and_idleness() {
    let mut pipe = Pipe::new(&marked(DCTCP)).data(marking(&[0]));
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.alpha(), Some(1.0));
    pipe.run_until(Time::ZERO + Span::from_ms(100));
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.alpha(), Some(15.0 / 16.0));
}

#[test]
fn dctcp_echoes_each_change_of_the_mark_at_once() {
    // Six segments, an ACK every four; 2 and 3 are marked.
    let settings = Transport { ack_every: 4, ..marked(DCTCP) };
    let mut pipe = Pipe::new(&settings).data(marking(&[2, 3]));
    pipe.write(6);
    pipe.run();
    let acks: Vec<_> = pipe
        .acks
        .iter()
        .map(|(at, a)| (at.since(Time::ZERO) > DELAY, a.offset / MSS, a.flags.contains(Flags::ECE)))
        .collect();
    // Owed for 0 and 1; 2 at once; owed for 3; 4 at once; 5 when the delay is over.
    let expected = [
        (false, 2, false),
        (false, 3, true),
        (false, 4, true),
        (false, 5, false),
        (true, 6, false),
    ];
    assert_eq!(acks, expected);
    pipe.assert_delivered(6);
}

#[test]
fn an_ack_with_ece_grows_the_window_as_the_setting_says() {
    // Congestion avoidance; 0 and 1 are marked, so their ACKs have ECE.
    let grown = |grow_on_repeated_ece| {
        let control = CongestionControl::Dctcp(DctcpParams {
            g: 1.0 / 16.0,
            alpha_start: 0.0,
            arithmetic: Arithmetic::Exact,
        });
        let settings = Transport { initial_ssthresh: 2, grow_on_repeated_ece, ..marked(control) };
        let mut pipe = Pipe::new(&settings).data(marking(&[0, 1]));
        pipe.write(2);
        pipe.run();
        pipe.sender.cwnd()
    };
    let cut = 10.0 * (1.0 - 1.0 / 32.0);
    assert_eq!(grown(false), cut);
    assert_eq!(grown(true), cut + 1.0 / cut);
}

#[test]
fn a_timeout_right_after_a_mark_cut_keeps_ssthresh_where_the_setting_says_so() {
    // Ten packets; the first is marked and the last is lost.
    for (keeps, ssthresh) in [(true, 5.0), (false, 2.0)] {
        let settings = Transport {
            timeout_after_cut_keeps_ssthresh: keeps,
            ..marked(CongestionControl::EcnStar)
        };
        let mut pipe = Pipe::new(&settings).data(|n, _| match n {
            0 => Fate::Mark,
            9 => Fate::Drop,
            _ => Fate::Deliver,
        });
        pipe.write(10);
        pipe.run();
        assert_eq!(pipe.sender.counters().timeouts, 1);
        assert_eq!(pipe.sender.ssthresh(), ssthresh);
        pipe.assert_delivered(10);
    }
}

#[test]
fn cuts_leave_one_packet_at_least() {
    let settings = Transport { initial_window: 1, ..marked(CongestionControl::EcnStar) };
    let mut pipe = Pipe::new(&settings).data(|_, _| Fate::Mark);
    pipe.write(5);
    pipe.run();
    assert_eq!((pipe.sender.cwnd(), pipe.sender.ssthresh()), (1.0, 2.0));
    pipe.assert_delivered(5);
}

#[test]
fn what_may_be_marked_follows_the_settings() {
    let settings = marked(DCTCP);
    let capable = |settings: &Transport, flags| {
        let config = switchbed_sim::tcp::Config::new(settings).unwrap();
        config.ecn_capable(&Segment::data(0, 1460, flags, Time::ZERO))
    };
    // Each kind by its own setting: pure ACKs, SYNs, retransmissions.
    let of = |[ecn_acks, ecn_syn, ecn_retransmits]: [bool; 3]| Transport {
        ecn_acks,
        ecn_syn,
        ecn_retransmits,
        ..settings.clone()
    };
    for (flags, by) in
        [(Flags::ACK, 0), (Flags::SYN, 1), (Flags::SYN.with(Flags::ACK), 1), (Flags::RETRANSMIT, 2)]
    {
        let (mut only, mut but) = ([false; 3], [true; 3]);
        (only[by], but[by]) = (true, false);
        assert!(capable(&of(only), flags) && !capable(&of(but), flags), "{flags:?}");
        assert!(!capable(&Transport { ecn: false, ..of(only) }, flags));
    }
    for flags in [Flags::NONE, Flags::CWR] {
        assert!(capable(&of([false; 3]), flags));
    }
}

#[test]
fn what_may_be_marked_follows_the_control_where_no_file_says() {
    for (kind, throughout) in [("dctcp", true), ("reno", false)] {
        let mut values = profile::values();
        values.remove(Transport::KEY.ecn_acks);
        values.insert("kind".into(), param::Value::Word(kind.into()));
        let t = Transport::of(values, Bytes::new(1500)).unwrap();
        assert_eq!([t.ecn_acks, t.ecn_syn, t.ecn_retransmits], [throughout; 3], "{kind}");
    }
}

fn prague() -> Transport {
    let control = CongestionControl::Prague(PragueParams { rtt_virtual: Span::from_ms(25) });
    Transport { ecn_acks: true, ecn_syn: true, ecn_retransmits: true, ..marked(control) }
}

/// The three bits as a number.
fn ace(flags: Flags) -> u16 {
    let bits = [(Flags::AE, 4), (Flags::CWR, 2), (Flags::ECE, 1)];
    bits.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, value)| value).sum()
}

#[test]
fn a_handshake_asks_for_accurate_ecn_and_says_how_the_syn_came() {
    // ECT(1), and marked.
    for (fate, answer) in [(Fate::Deliver, 0b011), (Fate::Mark, 0b110)] {
        let mut pipe =
            Pipe::fresh(&prague()).data(move |n, _| if n == 0 { fate } else { Fate::Deliver });
        pipe.write(1);
        pipe.run();
        assert_eq!(pipe.config.ect(), Ecn::Ect1);
        assert!(pipe.config.ecn_capable(&pipe.sent[0].1));
        assert_eq!(ace(pipe.sent[0].1.flags), 0b111);
        assert_eq!([0, 1].map(|n| ace(pipe.acks[n].1.flags)), [answer, 5]);
        assert_eq!(pipe.sender.counters().mark_cuts, 0);
    }
}

#[test]
fn acks_count_marks_and_the_first_of_some_comes_at_once() {
    let mut pipe = Pipe::new(&Transport { ack_every: 2, ..prague() }).data(|n, _| match n {
        1 | 2 | 3 | 6 => Fate::Mark,
        _ => Fate::Deliver,
    });
    pipe.write(8);
    pipe.run();
    let acks: Vec<_> =
        pipe.acks.iter().map(|(_, a)| (a.offset / MSS, a.marked, ace(a.flags))).collect();
    assert_eq!(acks, [(2, 1, 6), (4, 3, 0), (6, 3, 0), (7, 4, 1), (8, 4, 1)]);
    // The first ACK ends a round with half of two marked, the last one with three of six.
    let alpha = 0.5 / 16.0 * 15.0 / 16.0 + 0.5 / 16.0;
    assert_eq!(pipe.sender.alpha(), Some(alpha));
    // One cut, to half; what is not marked grows the window, in that round, too.
    let grown = [1.0, 0.0, 2.0, 0.0, 1.0].iter().fold(5.0, |cwnd, packets| cwnd + packets / cwnd);
    assert_eq!((pipe.sender.counters().mark_cuts, pipe.sender.cwnd()), (1, grown));
    pipe.assert_delivered(8);
}

#[test]
fn lost_acks_leave_no_doubt_with_the_option_and_count_as_marks_without() {
    for (accecn_option, cuts) in [(true, 0), (false, 1)] {
        let settings = Transport { accecn_option, initial_window: 20, ..prague() };
        let mut pipe =
            Pipe::new(&settings).ack(|n, _| if n < 12 { Fate::Drop } else { Fate::Deliver });
        pipe.write(20);
        pipe.run();
        // Three bits cannot tell none of 13 packets from eight.
        assert_eq!(pipe.sender.counters().mark_cuts, cuts);
        pipe.assert_delivered(20);
    }
}

#[test]
fn the_option_leaves_room_for_two_sack_blocks() {
    for (accecn_option, blocks, bytes) in [(true, 2, 40 + 8 + 18), (false, 3, 40 + 26)] {
        let mut pipe = Pipe::new(&Transport { accecn_option, ..prague() }).dropping(&[0, 2, 4, 6]);
        pipe.write(8);
        pipe.run();
        let most = pipe.acks.iter().map(|(_, ack)| ack).max_by_key(|ack| ack.sacks).unwrap();
        assert_eq!((most.sacks, pipe.config.wire_bytes(most)), (blocks, bytes));
        pipe.assert_delivered(8);
    }
}

#[test]
fn marks_that_duplicate_acks_tell_of_cut_at_once_and_count_once() {
    // Of the second window the first is lost and the second marked, which a duplicate ACK tells.
    let mut pipe = Pipe::new(&prague()).data(|n, _| match n {
        10 => Fate::Drop,
        11 => Fate::Mark,
        _ => Fate::Deliver,
    });
    pipe.write(30);
    pipe.run_until(round_trips(2));
    assert_eq!((pipe.sender.acked(), pipe.sender.counters().mark_cuts), (10 * MSS, 1));
    pipe.run();
    assert_eq!(pipe.sender.counters().mark_cuts, 1);
    // One of the twenty that the retransmission's ACK covers.
    assert_eq!(pipe.sender.alpha(), Some(0.05 / 16.0));
    pipe.assert_delivered(30);
}
