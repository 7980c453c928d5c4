//! TCP Prague over accurate ECN (RFC 9768).

use super::pipe::*;
use switchbed_qdisc::Ecn;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::Flags;
use switchbed_units::Span;

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
