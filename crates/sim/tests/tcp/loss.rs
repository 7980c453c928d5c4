//! Losses: repaired by SACK, by NewReno, by timeout; ACKs lost; segments out of order; found by time
//! (RACK, RFC 8985) and by number (limited transmit, early retransmit, FACK). Round trips are 100 us.

use super::pipe::*;
use super::sender::Bench;
use switchbed_scenario::transport::*;
use switchbed_sim::transport::Counters;
use switchbed_units::{Span, Time};

fn newreno() -> Transport {
    Transport { sack_blocks: 0, ..transport() }
}

#[test]
fn one_loss_is_repaired_within_a_round_trip() {
    for settings in [transport(), newreno()] {
        let pipe = deliver(&settings, 40, &[3]);
        assert_eq!(pipe.retransmitted(), [3]);
        let counters = Counters { retransmits: 1, fast_recoveries: 1, ..Counters::default() };
        assert_eq!(*pipe.sender.counters(), counters);
        // Ten packets in a burst: three were acknowledged, so 13 are out when the third
        // duplicate comes.
        assert_eq!(pipe.sender.ssthresh(), 13.0 / 2.0);
    }
}

#[test]
fn a_timed_segment_that_is_sent_again_is_no_rtt_sample() {
    // Packet 10, the first of the second round, is timed.
    for settings in [transport(), newreno()] {
        let pipe = deliver(&settings, 40, &[10]);
        assert_eq!(pipe.sender.srtt(), Some(Span::from_us(100)));
    }
}

#[test]
fn two_losses_of_a_window_cut_it_once() {
    for settings in [transport(), newreno()] {
        let pipe = deliver(&settings, 60, &[3, 7]);
        assert_eq!(pipe.retransmitted(), [3, 7]);
        assert_eq!(pipe.sender.counters().timeouts, 0);
        assert_eq!(pipe.sender.counters().fast_recoveries, 1);
        assert_eq!(pipe.sender.ssthresh(), 13.0 / 2.0);
    }
}

#[test]
fn sack_sends_all_that_is_missing_in_one_round_trip() {
    // Every other packet of a good part of the second round's.
    static LOST: [usize; 8] = [22, 24, 26, 28, 30, 32, 34, 36];
    let pipe = deliver(&transport(), 100, &LOST);
    assert_eq!(pipe.retransmitted(), LOST.map(|n| n as u64));
    assert_eq!(pipe.sender.counters().timeouts, 0);
    assert_eq!(pipe.sender.counters().fast_recoveries, 1);
    let (first, last) = (pipe.last_sent(22), pipe.last_sent(36));
    assert!(last.since(first) <= Span::from_us(100), "{}", last.since(first));
}

#[test]
fn what_is_lost_is_in_flight_or_not_as_the_setting_says() {
    // Twenty in flight, packets 0 and 5 lost: 18 duplicates, of which the third begins the recovery, and
    // the seventh proves packet 5 lost. After the kth, 22 - k are out, one of them sent again; without
    // what is lost that is 9 at the twelfth, and with it 9 at the fourteenth.
    let sent = |lost_in_flight| {
        let settings = Transport { initial_window: 20, lost_in_flight, ..transport() };
        let mut pipe = Pipe::new(&settings).dropping(&[0, 5]);
        pipe.write(60);
        pipe.run_until(round_trips(1));
        let sent: Vec<_> = pipe.sent[20..].iter().map(|s| s.1.offset / MSS).collect();
        pipe.run();
        pipe.assert_delivered(60);
        sent
    };
    assert_eq!(sent(false), [20, 21, 0, 5, 22, 23, 24, 25, 26, 27]);
    assert_eq!(sent(true), [20, 21, 0, 5, 22, 23, 24, 25]);
}

#[test]
fn recovery_sends_when_the_pipe_is_below_the_halved_window() {
    // Twenty in flight, the first lost: 19 duplicates. The first two let new data out
    // (limited transmit), the third the missing packet. 22 less k are in flight after the
    // kth, so that from the thirteenth on the halved window of 10 has space for one more.
    for settings in [transport(), newreno()] {
        let mut pipe = Pipe::new(&Transport { initial_window: 20, ..settings }).dropping(&[0]);
        pipe.write(60);
        pipe.run_until(round_trips(1));
        let sent: Vec<_> = pipe.sent[20..].iter().map(|s| s.1.offset / MSS).collect();
        assert_eq!(sent, [20, 21, 0, 22, 23, 24, 25, 26, 27, 28]);
        assert_eq!(pipe.sender.cwnd(), 10.0);
        assert_eq!(pipe.sender.in_flight(&pipe.config), 10 * MSS);
        // The ACK that ends the recovery does not grow the window.
        while pipe.sender.acked() == 0 {
            pipe.step();
        }
        assert_eq!(pipe.sender.cwnd(), 10.0);
        pipe.run();
        pipe.assert_delivered(60);
    }
}

#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    let pipe = deliver(&newreno(), 100, &[22, 24, 26]);
    assert_eq!(pipe.retransmitted(), [22, 24, 26]);
    assert_eq!(pipe.sender.counters().timeouts, 0);
    assert_eq!(pipe.last_sent(24).since(pipe.last_sent(22)), Span::from_us(100));
    assert_eq!(pipe.last_sent(26).since(pipe.last_sent(24)), Span::from_us(100));
}

#[test]
fn a_burst_of_losses_leaves_no_hole() {
    static LOST: [usize; 12] = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
    let pipe = deliver(&transport(), 100, &LOST);
    assert_eq!(pipe.retransmitted(), LOST.map(|n| n as u64));
    assert_eq!(pipe.sender.counters().timeouts, 0);
}

#[test]
fn what_is_missing_but_not_yet_lost_is_sent_when_nothing_else_is() {
    // Only 18 and 19 follow 17: too few to take it for lost, but the window has space.
    let settings = Transport { initial_window: 20, ..transport() };
    let pipe = deliver(&settings, 20, &[0, 17]);
    assert_eq!(pipe.retransmitted(), [0, 17]);
    assert_eq!(pipe.last_sent(17), round_trips(1));
}

#[test]
fn one_ack_that_reports_enough_begins_the_recovery() {
    // All duplicates but the last are lost; it reports nine segments.
    let fate = |n: usize, _: &_| if n < 8 { Fate::Drop } else { Fate::Deliver };
    let mut pipe = Pipe::new(&transport()).dropping(&[0]).ack(fate);
    pipe.write(10);
    pipe.run();
    let counters = Counters { retransmits: 1, fast_recoveries: 1, ..Counters::default() };
    assert_eq!(*pipe.sender.counters(), counters);
}

#[test]
fn three_blocks_begin_the_recovery_however_small() {
    // Segments of 100 bytes, every other lost; of the duplicates the third comes.
    let fate = |n: usize, _: &_| if n < 2 { Fate::Drop } else { Fate::Deliver };
    let mut pipe = Pipe::new(&transport()).dropping(&[0, 2, 4]).ack(fate);
    for _ in 0..6 {
        pipe.sender.write(100);
        pipe.write(0);
    }
    pipe.run();
    assert_eq!(pipe.sender.acked(), 600);
    assert_eq!(pipe.sender.counters().fast_recoveries, 1);
    assert_eq!(pipe.sender.counters().timeouts, 0);
}

#[test]
fn a_timeout_in_a_recovery_starts_with_one_packet() {
    // The fast retransmission, the eighth segment after the ten, is lost too.
    for settings in [transport(), newreno()] {
        let mut pipe = Pipe::new(&settings).dropping(&[3, 18]);
        pipe.write(100);
        while pipe.sender.counters().timeouts == 0 {
            pipe.step();
        }
        assert_eq!(pipe.sent.iter().filter(|s| s.0 == pipe.now).count(), 1);
        pipe.run();
        pipe.assert_delivered(100);
    }
}

#[test]
fn a_retransmission_that_is_lost_too_needs_a_timeout() {
    // Six packets follow the ACKs of 0 to 2, two the first duplicates of 3's; then 3 again.
    let pipe = deliver(&transport(), 40, &[3, 18]);
    assert_eq!(pipe.sent[18].1.offset, 3 * MSS);
    assert_eq!(pipe.sender.counters().timeouts, 1);
    // What the receiver holds is not sent again.
    assert_eq!(pipe.retransmitted(), [3, 3]);
}

#[test]
fn a_lost_tail_waits_for_timeouts_that_double() {
    let pipe = deliver(&transport(), 10, &[9, 10, 11, 12, 13]);
    let at: Vec<_> = pipe.sent[9..].iter().map(|s| s.0.since(round_trips(1))).collect();
    // The timer last started with the ACK of 8; RTO is at its floor of 5 ms.
    assert_eq!(at[1..], [5, 15, 35, 75, 155].map(Span::from_ms));
    assert_eq!(pipe.retransmitted(), [9; 5]);
    assert_eq!(pipe.sender.counters().timeouts, 5);
    assert_eq!(pipe.sender.counters().fast_recoveries, 0);
    // One packet was out: the threshold is at its floor.
    assert_eq!(pipe.sender.ssthresh(), 2.0);
    // No sample since (Karn): the back-off stays until new data is timed.
    assert_eq!(pipe.sender.rto(&pipe.config), Span::from_ms(160));
}

#[test]
fn a_sample_ends_the_back_off() {
    let mut pipe = deliver(&transport(), 10, &[9]);
    assert_eq!(pipe.sender.rto(&pipe.config), Span::from_ms(10));
    pipe.write(1);
    pipe.run();
    assert_eq!(pipe.sender.rto(&pipe.config), Span::from_ms(5));
}

#[test]
fn the_timeout_has_a_ceiling() {
    let settings = Transport { rto_max: Span::from_ms(12), ..transport() };
    let pipe = deliver(&settings, 10, &[9, 10, 11, 12]);
    let at: Vec<_> = pipe.sent[10..].iter().map(|s| s.0.since(round_trips(1))).collect();
    assert_eq!(at, [5, 15, 27, 39].map(Span::from_ms));
}

#[test]
fn a_window_lost_whole_is_sent_again_in_slow_start() {
    for settings in [transport(), newreno()] {
        let pipe = deliver(&settings, 10, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        // No sample yet: the initial RTO of 10 ms. Then 1, 2, 4 and 3 packets.
        let ms = |ms, round| round_trips(round) + Span::from_ms(ms);
        let rounds = [0, 1, 2, 3].map(|r| pipe.sent.iter().filter(|s| s.0 == ms(10, r)).count());
        assert_eq!(rounds, [1, 2, 4, 3]);
        assert_eq!(pipe.sender.ssthresh(), 5.0);
        assert_eq!(pipe.sender.counters().retransmits, 10);
    }
}

#[test]
fn a_second_timeout_of_a_segment_leaves_ssthresh() {
    static LOST: [usize; 11] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let pipe = deliver(&transport(), 10, &LOST);
    assert_eq!(pipe.sender.counters().timeouts, 2);
    assert_eq!(pipe.sender.ssthresh(), 5.0);
}

#[test]
fn the_initial_timeout_is_not_raised_to_the_floor() {
    let settings = Transport { rto_initial: Span::from_ms(2), ..transport() };
    let pipe = deliver(&settings, 1, &[0]);
    assert_eq!(pipe.sent[1].0, Time::ZERO + Span::from_ms(2));
}

#[test]
fn a_loss_halves_the_flight_or_the_window() {
    // A window grown to 40, a flow of 4 packets whose last is lost.
    for (loss_halves, ssthresh) in [(LossHalves::Flight, 2.0), (LossHalves::Window, 43.0 / 2.0)] {
        let mut pipe = Pipe::new(&Transport { loss_halves, ..transport() }).dropping(&[33]);
        pipe.write(30);
        pipe.run();
        pipe.write(4);
        pipe.run();
        assert_eq!(pipe.sender.ssthresh(), ssthresh);
    }
}

#[test]
fn a_cut_window_is_whole_where_the_setting_says_so() {
    let settings = Transport { cut: WindowCut::WholePackets, ..transport() };
    assert_eq!(deliver(&settings, 40, &[3]).sender.ssthresh(), 6.0);
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_duplicates() {
    for settings in [transport(), newreno()] {
        let settings = Transport { initial_window: 4, ..settings };
        let pipe = deliver(&settings, 20, &[0]);
        // Three duplicates: two new packets, then the missing one.
        let offsets: Vec<_> = pipe.sent[4..7].iter().map(|s| s.1.offset / MSS).collect();
        assert_eq!(offsets, [4, 5, 0]);
        assert_eq!(pipe.sender.ssthresh(), 2.0);
        assert_eq!(pipe.sender.counters().timeouts, 0);
    }
}

#[test]
fn lost_acks_cost_nothing_if_later_ones_come() {
    let mut pipe =
        Pipe::new(&transport()).ack(|n, _| if n % 3 == 0 { Fate::Drop } else { Fate::Deliver });
    pipe.write(60);
    pipe.run();
    pipe.assert_delivered(60);
    assert_eq!(*pipe.sender.counters(), Counters::default());
}

#[test]
fn a_lost_last_ack_is_asked_for_by_timeout() {
    let mut pipe =
        Pipe::new(&transport()).ack(|n, _| if n == 9 { Fate::Drop } else { Fate::Deliver });
    pipe.write(10);
    pipe.run();
    pipe.assert_delivered(10);
    assert_eq!(pipe.sender.counters().timeouts, 1);
    assert_eq!(pipe.acks.len(), 11);
}

#[test]
fn a_segment_two_places_late_is_no_loss_and_three_places_late_is_one() {
    // 40 packets, one round of them 1 us apart by the path's doing.
    for (places, recoveries) in [(2, 0), (3, 1)] {
        let us = |n: usize| Span::from_us(n as u64);
        let mut pipe = Pipe::new(&transport()).data(move |n, _| {
            Fate::Late(us(n) + if n == 4 { us(places) + Span::from_ns(500) } else { Span::ZERO })
        });
        pipe.write(10);
        pipe.run();
        pipe.assert_delivered(10);
        assert_eq!(pipe.sender.counters().fast_recoveries, recoveries);
        assert_eq!(pipe.sender.counters().timeouts, 0);
    }
}

#[test]
fn late_acks_are_no_loss() {
    for settings in [transport(), newreno()] {
        let late =
            |n: usize, _: &_| if n < 5 { Fate::Late(Span::from_us(9)) } else { Fate::Deliver };
        let mut pipe = Pipe::new(&settings).ack(late);
        pipe.write(20);
        pipe.run();
        pipe.assert_delivered(20);
        assert_eq!(*pipe.sender.counters(), Counters::default());
    }
}

#[test]
fn repeated_segments_and_acks_are_no_loss() {
    let twice = |_: usize, _: &_| Fate::Twice(Span::from_us(7));
    let mut pipe = Pipe::new(&transport()).data(twice).ack(twice);
    pipe.write(50);
    pipe.run();
    pipe.assert_delivered(50);
    assert_eq!(*pipe.sender.counters(), Counters::default());
}

#[test]
fn nothing_is_sent_twice_after_a_timeout_in_the_middle() {
    // All of the second round but its last packet is lost, and the ACK of that too.
    let mut pipe = Pipe::new(&transport())
        .data(|n, _| if (10..29).contains(&n) { Fate::Drop } else { Fate::Deliver })
        .ack(|n, _| if n == 10 { Fate::Drop } else { Fate::Deliver });
    pipe.write(30);
    pipe.run();
    pipe.assert_delivered(30);
    assert_eq!(pipe.sender.counters().timeouts, 1);
    // The timeout sends 10; its ACK tells that 29 has come.
    assert_eq!(pipe.retransmitted(), (10..29).collect::<Vec<_>>());
    assert!(pipe.now > Time::ZERO + Span::from_ms(5));
}

fn rack() -> Transport {
    Transport { loss_detection: LossDetection::Rack, timer_slack: Span::ZERO, ..transport() }
}

#[test]
fn losses_are_repaired_when_by_segments_that_overtook_them() {
    static EVERY_OTHER: [usize; 8] = [22, 24, 26, 28, 30, 32, 34, 36];
    static BURST: [usize; 12] = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
    for (packets, lost) in [(40, &[3][..]), (60, &[3, 7]), (100, &EVERY_OTHER), (100, &BURST)] {
        let (by_time, by_count) =
            (deliver(&rack(), packets, lost), deliver(&transport(), packets, lost));
        assert_eq!(by_time.retransmitted(), by_count.retransmitted());
        assert_eq!(by_time.sender.counters(), by_count.sender.counters());
        assert_eq!(by_time.now, by_count.now);
    }
}

#[test]
fn a_retransmission_that_is_lost_too_costs_a_round_trip() {
    // 3 goes out at 0 and, as the 18th segment and the last of its round, after 100 us. What follows
    // it goes out after 200 us and is SACKed after 300 us: 3 goes out a third time.
    let pipe = deliver(&rack(), 40, &[3, 18]);
    assert_eq!(pipe.retransmitted(), [3, 3]);
    assert_eq!(pipe.last_sent(3), us(300));
    let counters = Counters { retransmits: 2, fast_recoveries: 1, ..Counters::default() };
    assert_eq!(*pipe.sender.counters(), counters);
}

#[test]
fn with_fewer_than_three_sacks_a_quarter_of_the_round_trip_may_pass() {
    let mut b = Bench::new(&rack(), 60);
    assert_eq!(b.at(100).ack(1), [10, 11]);
    // 2 has overtaken 1; with an RTT of 101 us and a quarter of 100 us, 1 is due after 126.
    assert_eq!(b.at(101).sack(1, 2, 3), [12]);
    assert_eq!(b.sender.next_timeout(), Some(us(126)));
    assert_eq!((b.time_out(), b.recoveries()), (vec![1], 1));
    assert_eq!(b.now, us(126));
    assert_eq!(b.sender.counters().timeouts, 0);
}

#[test]
fn what_one_ack_tells_of_did_not_overtake_each_other() {
    // A delayed ACK of 0 and 1 goes out with the blocks of what came behind the lost 2.
    let mut b = Bench::new(&rack(), 60);
    assert_eq!(b.at(101).sack(2, 3, 6).last(), Some(&2));
    assert_eq!(b.recoveries(), 1);
}

#[test]
fn timers_are_late_by_the_slack() {
    let mut b = Bench::new(&Transport { timer_slack: Span::from_ms(2), ..rack() }, 60);
    b.at(100).ack(1);
    b.at(101).sack(1, 2, 3);
    assert_eq!(b.sender.next_timeout(), Some(us(2126)));
}

#[test]
fn with_three_sacks_there_is_no_wait_unless_reordering_was_seen() {
    let mut b = Bench::new(&rack(), 60);
    b.at(100).ack(1);
    assert_eq!(b.at(101).sack(1, 2, 5).last(), Some(&1));
    assert_eq!(b.recoveries(), 1);

    let mut b = Bench::new(&rack(), 60);
    b.at(100).ack(1);
    b.at(101).sack(1, 2, 3);
    // 1 was late. The retransmission timer runs from when 3, the first that is out, was sent.
    b.at(120).ack(3);
    assert_eq!(b.sender.next_timeout(), Some(us(5000)));
    // Four overtake 3: it is given its quarter of a round trip.
    b.at(130).sack(3, 4, 8);
    assert_eq!((b.recoveries(), b.sender.next_timeout()), (0, Some(us(155))));
    assert_eq!((b.time_out(), b.recoveries()), (vec![3], 1));
}

#[test]
fn a_window_that_rack_finds_lost_is_sent_again_in_slow_start() {
    let pipe = deliver(&rack(), 10, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let ms = |ms, round| round_trips(round) + Span::from_ms(ms);
    let rounds = [0, 1, 2, 3].map(|r| pipe.sent.iter().filter(|s| s.0 == ms(10, r)).count());
    assert_eq!(rounds, [1, 2, 4, 3]);
    assert_eq!(pipe.sender.counters().timeouts, 1);
}

#[test]
fn after_a_timeout_what_was_sent_within_a_round_trip_is_in_flight() {
    // RTT 100 us, timeout 300 us after the ACK of 0; then 1 and 2 are old enough, 3 and 4, which
    // were written 50 us ago, are not: the window is 3 packets.
    let mut b = Bench::new(&Transport { rto_min: Span::from_us(1), ..rack() }, 3);
    b.at(100).ack(1);
    b.now = us(350);
    assert_eq!(b.write(2), [3, 4]);
    assert_eq!(b.sender.next_timeout(), Some(us(400)));
    assert_eq!(b.time_out(), [1]);
    assert_eq!((b.sender.cwnd(), b.sender.in_flight(&b.config)), (3.0, 3 * MSS));
    assert_eq!(b.at(450).sack(1, 3, 5), [2]);
    assert_eq!((b.ack(5).len(), b.sender.counters().retransmits), (0, 2));
}

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
