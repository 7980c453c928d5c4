//! Traces worked out by hand from the draft and its example test cases (appendix): a path of one packet a
//! microsecond and 100 us, whose BDP is 100 packets. A segment has 64 packets of 1000 bytes, so that what is
//! in flight has space for 195 packets at least.

use super::*;
use crate::Delivered;

const MSS: u32 = 1000;
const RTT: u64 = 100;

/// BBR on a path, and the connection as it stands.
struct Path {
    bbr: Bbr3,
    conn: Connection,
    at: u64,
}

fn us(at: u64) -> Time {
    Time::ZERO + Span::from_us(at)
}

impl Path {
    fn new() -> Path {
        let conn = Connection::opened(MSS, RTT, 1000);
        let mut bbr = Bbr3::new(&());
        bbr.keyed(7);
        bbr.begun(&(), &conn);
        Path { bbr, conn, at: 0 }
    }

    fn state(&mut self) -> &mut State {
        &mut self.bbr.0
    }

    fn mode(&self) -> Mode {
        self.bbr.0.mode
    }

    /// A round trip that delivers so many packets.
    fn round(&mut self, packets: u32) -> Steer {
        let sample = RateSample {
            newly: packets,
            rtt_us: Some(RTT),
            prior_in_flight: self.conn.in_flight,
            tx_in_flight: 100,
            ..RateSample::default()
        };
        self.ack(packets, sample)
    }

    fn ack(&mut self, packets: u32, sample: RateSample) -> Steer {
        self.at += RTT;
        let prior = self.conn.delivered;
        (self.conn.now, self.conn.delivered_at) = (us(self.at), us(self.at));
        self.conn.delivered += u64::from(packets);
        let delivered = Delivered { packets: packets.into(), prior, interval_us: RTT };
        let sample = RateSample { delivered: Some(delivered), ..sample };
        let steer = self.bbr.steer(&(), self.conn, &sample);
        self.conn.cwnd = steer.cwnd;
        steer
    }

    fn lose(&mut self, lost: u64, app_limited: bool) {
        let packet = LostPacket { from: 0, end: 1000, tx_in_flight: 100, lost, app_limited };
        self.bbr.lost(&(), &self.conn, &packet);
    }

    /// The path is full, its queue is drained, and the flow cruises.
    fn cruising() -> Path {
        let mut path = Path::new();
        (0..4).for_each(|_| {
            path.round(100);
        });
        path.conn.in_flight = 90;
        (0..2).for_each(|_| {
            path.round(100);
        });
        assert_eq!(path.mode(), Mode::Cruise);
        path
    }

    /// The same, and the flow probes.
    fn up() -> Path {
        let mut path = Path::cruising();
        path.state().rounds_since_probe_up = RENO_ROUNDS;
        path.round(100);
        assert_eq!(path.mode(), Mode::Refill);
        path.round(100);
        assert_eq!((path.mode(), path.state().is_bw_probe_sample), (Mode::Up, true));
        path
    }
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut path = Path::new();
    // 10 packets in 100 us at 2.77, less 1 %: 0.1 packets a us of 1000 bytes.
    assert_eq!(path.state().pacing, 274_230_000);
    let modes: Vec<(Mode, u8)> = [20, 40, 80, 100, 124, 120, 110]
        .map(|packets| {
            path.round(packets);
            (path.mode(), path.bbr.0.full_bw_count)
        })
        .to_vec();
    let startup = |count| (Mode::Startup, count);
    let expected = [startup(0), startup(0), startup(0), startup(0), startup(1), startup(2)];
    assert_eq!(modes[..6], expected);
    assert_eq!((modes[6].0, path.state().gains()), (Mode::Drain, (0.5, 2.0)));
}

#[test]
fn rounds_of_the_application_end_neither_startup_nor_a_probe() {
    let limited = RateSample { newly: 20, app_limited: true, ..RateSample::default() };
    let mut path = Path::new();
    path.round(100);
    (0..20).for_each(|_| {
        path.ack(20, limited);
    });
    assert_eq!(path.mode(), Mode::Startup);
    let mut path = Path::up();
    (0..20).for_each(|_| {
        path.ack(20, limited);
    });
    assert_eq!(path.mode(), Mode::Up);
}

#[test]
fn startup_ends_at_a_round_of_recovery_that_loses_in_six_places() {
    for (places, ends) in [(5, false), (6, true)] {
        let mut path = Path::new();
        path.round(100);
        path.conn.repair = Repair::Recovery;
        path.round(130);
        // Each apart from the one before.
        for place in 1..=places {
            let from = 10_000 * place;
            let packet = LostPacket {
                from,
                end: from + 1000,
                tx_in_flight: 100,
                lost: place,
                app_limited: false,
            };
            path.bbr.lost(&(), &path.conn, &packet);
        }
        let sample =
            RateSample { newly: 170, tx_in_flight: 100, lost: places, ..RateSample::default() };
        path.ack(170, sample);
        assert_eq!(path.mode() == Mode::Drain, ends, "{places}");
        // The most of a round's delivery and the BDP: of 1.7 packets a us after 100 us.
        let bound = if ends { 170 } else { NO_BOUND };
        assert_eq!(path.state().inflight_longterm, bound);
    }
}

#[test]
fn drain_ends_with_the_bdp_in_flight_or_after_three_rounds() {
    let mut path = Path::new();
    (0..4).for_each(|_| {
        path.round(100);
    });
    assert_eq!(path.mode(), Mode::Drain);
    // Three segments of what pacing at half the rate sends in a millisecond, 65 packets at most.
    path.conn.in_flight = 196;
    path.round(100);
    assert_eq!(path.mode(), Mode::Drain);
    // DOWN, too, is over with the BDP in flight.
    path.conn.in_flight = 195;
    path.round(100);
    assert_eq!(path.mode(), Mode::Cruise);

    let mut path = Path::new();
    (0..4).for_each(|_| {
        path.round(100);
    });
    let rounds = (1..10).find(|_| {
        path.round(100);
        path.mode() != Mode::Drain
    });
    assert_eq!(rounds, Some(4));
}

#[test]
fn the_next_probe_comes_after_as_many_rounds_as_the_bdp_has_packets_or_by_the_clock() {
    // 63 rounds at most, of which two have been since the last probe, and one more by chance.
    let mut path = Path::cruising();
    let rounds = (1..100).find(|_| {
        path.round(100);
        path.mode() == Mode::Refill
    });
    assert!(matches!(rounds, Some(60..=63)), "{rounds:?}");
    // By the clock: 2 s at least, 3 at most.
    let mut path = Path::cruising();
    let wait = path.state().bw_probe_wait;
    assert!((Span::from_ms(2000)..=Span::from_ms(3000)).contains(&wait));
    path.at += wait.as_ps() / 1_000_000;
    path.round(100);
    assert_eq!(path.mode(), Mode::Refill);
}

#[test]
fn a_probe_ends_where_the_rate_grows_no_more() {
    let mut path = Path::up();
    assert_eq!(path.state().gains(), (1.25, 2.25));
    path.conn.in_flight = 300;
    let rounds = (1..10).find(|_| {
        path.round(101);
        path.mode() != Mode::Up
    });
    assert_eq!((rounds, path.mode()), (Some(3), Mode::Down));
    assert_eq!(path.state().inflight_longterm, NO_BOUND);
}

#[test]
fn a_probe_that_loses_over_two_per_cent_bounds_what_is_in_flight() {
    // 3 of 100, of which 2 before: (0.02·99 − 2)/0.98 is under a packet less than 99.
    assert_eq!(inflight_at_loss(3, 100), 98);
    assert!(!too_high(2, 100) && too_high(3, 100));
    let mut path = Path::up();
    path.lose(2, false);
    assert_eq!(path.mode(), Mode::Up);
    path.lose(3, false);
    assert_eq!((path.mode(), path.state().inflight_longterm), (Mode::Down, 98));
    // Cruising leaves 15 % of that free.
    assert_eq!(path.state().with_headroom(), 83);
    // Of a packet of the application's making nothing is learnt but that the probe is over.
    let mut path = Path::up();
    path.lose(3, true);
    assert_eq!((path.mode(), path.state().inflight_longterm), (Mode::Down, NO_BOUND));
    // Never under 0.7 of what is wanted in flight.
    let mut path = Path::up();
    path.state().bw = 2.0;
    path.conn.cwnd = 1000;
    path.lose(3, false);
    assert_eq!(path.state().inflight_longterm, 140);
}

#[test]
fn losses_between_probes_lower_the_short_term_bounds_to_what_arrives() {
    let mut path = Path::cruising();
    path.conn.cwnd = 200;
    path.lose(1, false);
    path.round(60);
    path.round(60);
    // The rate that arrived before the loss was 1, then 0.6; never under 0.7 of the bound at a time.
    let state = path.state();
    assert!(state.bw_shortterm < 1.01 && state.bw_shortterm >= 0.7, "{}", state.bw_shortterm);
    assert!(state.inflight_shortterm >= 140, "{}", state.inflight_shortterm);
    let before = state.bw_shortterm;
    path.lose(2, false);
    path.round(60);
    path.round(60);
    assert!((path.state().bw_shortterm / before - 0.7).abs() < 1e-9);
    let (bw, bound) = (path.state().bw, path.state().bw_shortterm);
    assert_eq!(bw, bound);
    // The next probe forgets them.
    path.state().rounds_since_probe_up = RENO_ROUNDS;
    path.round(60);
    assert_eq!(path.mode(), Mode::Refill);
    let state = path.state();
    assert_eq!((state.bw_shortterm, state.inflight_shortterm), (f64::INFINITY, NO_BOUND));
}

#[test]
fn a_probe_of_the_round_trip_has_half_a_bdp_of_before_it_expired() {
    let mut path = Path::cruising();
    path.state().bw = 1.0;
    path.at += 10_000_000;
    path.conn.in_flight = 150;
    let longer = RateSample { newly: 100, rtt_us: Some(2 * RTT), ..RateSample::default() };
    let steer = path.ack(100, longer);
    assert_eq!(path.mode(), Mode::ProbeRtt);
    assert_eq!((steer.cwnd, steer.app_limited), (50, true));
    assert_eq!(path.state().min_rtt_us, Some(2 * RTT));
    path.conn.in_flight = 50;
    path.round(50);
    path.at += 200_000;
    path.round(50);
    assert_eq!(path.mode(), Mode::Cruise);
    assert_eq!(path.state().min_rtt_us, Some(RTT));
}

#[test]
fn losses_that_were_none_bound_nothing() {
    // Between probes: the bounds of before the last round trip with losses.
    let mut path = Path::cruising();
    path.conn.cwnd = 200;
    path.lose(1, false);
    path.round(60);
    path.round(60);
    let (bw, inflight) = (path.state().bw_shortterm, path.state().inflight_shortterm);
    path.lose(2, false);
    path.round(60);
    path.round(60);
    assert!(path.state().bw_shortterm < bw);
    path.bbr.undone(&(), &path.conn);
    let state = path.state();
    assert_eq!((state.bw_shortterm, state.inflight_shortterm), (bw, inflight));
    assert_eq!((path.mode(), path.bbr.0.full_bw), (Mode::Cruise, 0.0));
    // Nothing is left to take back.
    path.bbr.undone(&(), &path.conn);
    assert_eq!(path.state().bw_shortterm, bw);
}

#[test]
fn a_probe_that_losses_ended_begins_anew_where_they_were_none() {
    let mut path = Path::up();
    path.lose(3, false);
    assert_eq!((path.mode(), path.state().inflight_longterm), (Mode::Down, 98));
    path.bbr.undone(&(), &path.conn);
    assert_eq!((path.mode(), path.state().inflight_longterm), (Mode::Refill, NO_BOUND));
    // PROBE_RTT goes on.
    let mut path = Path::up();
    path.lose(3, false);
    path.state().mode = Mode::ProbeRtt;
    path.bbr.undone(&(), &path.conn);
    assert_eq!((path.mode(), path.state().inflight_longterm), (Mode::ProbeRtt, NO_BOUND));
}

#[test]
fn startup_goes_on_where_what_ended_it_was_not_lost() {
    let mut path = Path::new();
    path.round(100);
    path.conn.repair = Repair::Recovery;
    path.round(130);
    for place in 1..=6 {
        let from = 10_000 * place;
        let packet = LostPacket {
            from,
            end: from + 1000,
            tx_in_flight: 100,
            lost: place,
            app_limited: false,
        };
        path.bbr.lost(&(), &path.conn, &packet);
    }
    let sample = RateSample { newly: 170, tx_in_flight: 100, lost: 6, ..RateSample::default() };
    path.ack(170, sample);
    assert_eq!((path.mode(), path.state().full_bw_reached), (Mode::Drain, true));
    path.bbr.undone(&(), &path.conn);
    let state = path.state();
    assert_eq!((state.mode, state.full_bw_reached), (Mode::Startup, false));
    assert_eq!(state.inflight_longterm, NO_BOUND);
}

#[test]
fn a_timeout_leaves_the_window_of_before_to_come_back_to() {
    let mut path = Path::cruising();
    path.bbr.cut(&(), 200.0);
    path.conn.cwnd = 1;
    path.bbr.timed_out(&(), &path.conn);
    path.lose(1, false);
    assert_eq!(path.state().prior_cwnd, 200);
    path.bbr.undone(&(), &path.conn);
    path.conn.in_flight = 90;
    let steer = path.round(1);
    assert!(steer.cwnd >= 196, "{}", steer.cwnd);
}

#[test]
fn a_round_with_a_mark_is_one_with_a_loss() {
    let mut path = Path::cruising();
    assert_eq!(path.bbr.marked(&(), 100.0, Time::ZERO), Mark::Ignored);
    (0..2).for_each(|_| {
        path.round(50);
    });
    assert!(path.state().bw_shortterm < f64::INFINITY);
}
