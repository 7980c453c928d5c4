//! Traces worked out by hand from `tcp_bbr.c`: a path of one packet a microsecond and 100 us, whose
//! BDP is 100 packets.

use super::*;
use crate::Delivered;

const PARAMS: BbrParams = BbrParams {
    min_rtt_window: Span::from_ms(10_000),
    probe_rtt_time: Span::from_ms(200),
    lt_bw: true,
};
const MSS: u32 = 1000;
const RTT: u64 = 100;

/// BBR on a path, and the connection as it stands.
struct Path {
    bbr: Bbr,
    conn: Connection,
}

fn us(at: u64) -> Time {
    Time::ZERO + Span::from_us(at)
}

impl Path {
    fn new() -> Path {
        let conn = Connection::opened(MSS, RTT, 1);
        let mut bbr = Bbr::new(&PARAMS);
        bbr.keyed(7);
        bbr.begun(&PARAMS, &conn);
        Path { bbr, conn }
    }

    fn state(&self) -> &State {
        &self.bbr.0
    }

    /// An ACK at `at` of `packets` that came within `interval` us, in a round of its own.
    fn round(&mut self, at: u64, packets: u32, interval: u64) -> Steer {
        let sample = RateSample {
            newly: packets,
            rtt_us: Some(RTT),
            prior_in_flight: self.conn.in_flight,
            ..RateSample::default()
        };
        self.ack(at, packets, interval, sample)
    }

    fn ack(&mut self, at: u64, packets: u32, interval: u64, sample: RateSample) -> Steer {
        let prior = self.conn.delivered;
        (self.conn.now, self.conn.delivered_at) = (us(at), us(at));
        self.conn.delivered += u64::from(packets);
        let delivered = Delivered { packets: packets.into(), prior, interval_us: interval };
        let sample = RateSample { delivered: Some(delivered), ..sample };
        let steer = self.bbr.steer(&PARAMS, self.conn, &sample);
        self.conn.cwnd = steer.cwnd;
        steer
    }

    /// The path is known to be full, and drained.
    fn probing() -> Path {
        let mut path = Path::new();
        path.conn.in_flight = 80;
        for round in 1..=4 {
            path.round(RTT * round, 100, RTT);
        }
        assert_eq!(path.state().mode, Mode::ProbeBw);
        path
    }
}

#[test]
fn gains_are_the_kernels() {
    // 256·2885/1000 + 1 and 256·1000/2885.
    assert_eq!((HIGH_GAIN, DRAIN_GAIN, CWND_GAIN), (739, 88, 512));
    assert_eq!(CYCLE[..3], [320, 192, 256]);
    // 1000 bytes a microsecond less 1 %.
    assert_eq!(bytes_per_s(1000, 1 << SHIFT, UNIT), 990_000_000);
}

#[test]
fn the_first_rate_is_the_initial_window_a_round_trip_times_the_high_gain() {
    // 10 packets in 100 us: 1,677,721/2^24 of a packet a us; times 739/256 and 0.99.
    let bw = (10 << 24) / 100;
    assert_eq!(Path::new().state().pacing, bytes_per_s(MSS, bw, 739));
    let mut unknown = Path::new().conn;
    (unknown.srtt_us, unknown.min_rtt_us) = (None, None);
    let mut bbr = Bbr::new(&PARAMS);
    bbr.begun(&PARAMS, &unknown);
    assert_eq!(bbr.0.pacing, bytes_per_s(MSS, (10 << 24) / 1000, 739));
    // Nothing is known of the path: the window's target is the initial window.
    assert_eq!(bbr.0.bdp(1 << 24, 512), 10);
}

#[test]
fn startup_ends_after_three_rounds_that_grow_by_less_than_a_quarter() {
    let mut path = Path::new();
    path.conn.in_flight = 300;
    let mut modes = Vec::new();
    // 20, 40, 80 packets a round trip; 100 is a quarter more, 124 is not, and nor are the next two.
    for (round, packets) in (1..).zip([20, 40, 80, 100, 124, 120, 110]) {
        path.round(RTT * round, packets, RTT);
        modes.push((path.state().mode, path.state().full_rounds));
    }
    assert_eq!(
        modes,
        [0, 0, 0, 0, 1, 2, 3].map(|n| (if n < 3 { Mode::Startup } else { Mode::Drain }, n))
    );
    // 124 packets and a segment in three places: 1.24 GB/s·739/256·0.99 is over 65,215 in 1/1024 s, so
    // that a segment has 65 packets; 124 + 195 = 319, made even.
    assert_eq!(path.state().ssthresh, Some(320));
    assert_eq!(path.state().pacing_gain, DRAIN_GAIN);
}

#[test]
fn rounds_of_the_application_do_not_fill_the_pipe_and_do_not_raise_the_bandwidth() {
    let mut path = Path::new();
    path.conn.in_flight = 300;
    path.round(RTT, 80, RTT);
    let limited = RateSample { newly: 20, app_limited: true, ..RateSample::default() };
    for round in 2..20 {
        path.ack(RTT * round, 20, RTT, limited);
    }
    let per_us = |packets: u64| (packets << SHIFT) / RTT;
    // Neither a lower bandwidth nor a full pipe, eighteen rounds on.
    assert_eq!(path.state().bw.get(), per_us(80));
    assert_eq!((path.state().mode, path.state().full_rounds), (Mode::Startup, 0));
    // A higher sample counts, though the application limited it.
    path.ack(RTT * 20, 90, RTT, limited);
    assert_eq!(path.state().bw.get(), per_us(90));
}

#[test]
fn drain_ends_when_no_more_than_the_bdp_is_in_flight() {
    let mut path = Path::new();
    path.conn.in_flight = 300;
    for round in 1..=4 {
        path.round(RTT * round, 100, RTT);
    }
    assert_eq!(path.state().mode, Mode::Drain);
    // 100 packets and 3 segments of 65, made even: 296. Pacing lets the next go in 3 us, when three
    // more have arrived.
    path.conn.in_flight = 300;
    path.conn.wait_us = 3;
    path.round(RTT * 5, 100, RTT);
    assert_eq!(path.state().mode, Mode::Drain);
    path.conn.wait_us = 4;
    path.round(RTT * 6, 100, RTT);
    assert_eq!(path.state().mode, Mode::ProbeBw);
    assert_ne!(path.state().cycle, 1, "the phase that drains never comes first");
}

#[test]
fn a_cycle_has_eight_phases_of_a_round_trip_unless_what_they_are_for_takes_less_or_more() {
    let mut path = Path::probing();
    path.bbr.0.cycle = 7;
    path.bbr.0.cycle_at = path.conn.now;
    let start = path.conn.now.as_ps() / 1_000_000;
    // ACKs every 10 us, of 10 packets in as many. Cruising ends after more than 100 us.
    let mut at = start;
    let mut changes = Vec::new();
    let mut last = 7;
    let mut ack = |path: &mut Path, in_flight| {
        at += 10;
        path.conn.in_flight = in_flight;
        path.round(at, 10, 10);
        if path.state().cycle != last {
            last = path.state().cycle;
            changes.push((at - start, last, path.state().pacing_gain));
        }
    };
    for _ in 0..11 {
        ack(&mut path, 200);
    }
    // Probing lasts until 5/4 of the BDP and its space are out: 125 + 195 + 2, made even, less the 65 of
    // the segment that comes next: 257.
    for _ in 0..20 {
        ack(&mut path, 256);
    }
    ack(&mut path, 257);
    // Draining is over as soon as the BDP and its space, 296, are out.
    ack(&mut path, 297);
    ack(&mut path, 296);
    for _ in 0..66 {
        ack(&mut path, 296);
    }
    let gain = |phase: usize| CYCLE[phase];
    let cruising = (0..6).map(|n| (340 + 110 * n, 2 + n as usize, 256));
    let mut expected = vec![(110, 0, gain(0)), (320, 1, gain(1))];
    expected.extend(cruising);
    expected.push((340 + 660, 0, gain(0)));
    assert_eq!(changes, expected);
}

#[test]
fn first_phases_follow_the_key_and_come_equally_often() {
    let first = |key| {
        let mut path = Path::new();
        path.bbr.keyed(key);
        path.bbr.0.probe_bw(&path.conn);
        path.state().cycle
    };
    let mut counts = [0_u32; 8];
    (0..7000).for_each(|key| counts[first(key)] += 1);
    assert_eq!(counts[1], 0);
    // 1000 each, within five standard deviations of 29.
    assert!(counts.iter().enumerate().all(|(n, count)| n == 1 || count.abs_diff(1000) < 150));
    assert_eq!(first(3), first(3));
}

#[test]
fn a_least_round_trip_of_ten_seconds_ago_is_measured_anew_with_four_packets() {
    let mut path = Path::probing();
    let from = path.state().min_rtt_at.as_ps() / 1_000_000;
    path.conn.in_flight = 200;
    let longer = |path: &mut Path, at: u64| {
        let sample = RateSample { newly: 100, rtt_us: Some(RTT + 20), ..RateSample::default() };
        path.ack(at, 100, RTT, sample)
    };
    // One that is as long does not put that off.
    let equal = RateSample { newly: 100, rtt_us: Some(RTT), ..RateSample::default() };
    path.ack(from + 5_000_000, 100, RTT, equal);
    longer(&mut path, from + 10_000_000);
    assert_eq!((path.state().mode, path.state().min_rtt_us), (Mode::ProbeBw, Some(RTT)));
    let before = path.conn.cwnd;
    let start = from + 10_000_001;
    let steer = longer(&mut path, start);
    assert_eq!((path.state().mode, path.state().min_rtt_us), (Mode::ProbeRtt, Some(RTT + 20)));
    assert_eq!((steer.cwnd, steer.app_limited, path.state().pacing_gain), (4, true, UNIT));
    // 200 ms run from when four are in flight, and a round must end.
    path.conn.in_flight = 4;
    path.round(start + 100, 4, RTT);
    assert_eq!(path.state().min_rtt_us, Some(RTT));
    path.round(start + 100 + 200_000, 4, RTT);
    assert_eq!((path.state().mode, path.conn.cwnd), (Mode::ProbeRtt, 4));
    let steer = path.round(start + 100 + 200_001, 4, RTT);
    assert_eq!(path.state().mode, Mode::ProbeBw);
    // The window of before, up to the target.
    assert!(steer.cwnd >= before.min(200), "{before} {}", steer.cwnd);
}

#[test]
fn a_repair_begins_with_a_packet_for_each_that_arrives_and_gives_the_window_back() {
    let mut path = Path::probing();
    path.conn.in_flight = 200;
    path.conn.cwnd = 210;
    path.bbr.cut(&PARAMS, 210.0);
    path.conn.repair = Repair::Recovery;
    // Within the round: 2 arrive, 1 is lost, 190 are out.
    (path.conn.in_flight, path.conn.lost) = (190, 1);
    let within = |path: &mut Path, newly, losses| {
        let rate = Delivered { packets: 100, prior: 0, interval_us: RTT };
        let sample = RateSample { newly, losses, delivered: Some(rate), ..RateSample::default() };
        path.conn.delivered += u64::from(newly);
        path.conn.cwnd = path.bbr.steer(&PARAMS, path.conn, &sample).cwnd;
        path.conn.cwnd
    };
    assert_eq!(within(&mut path, 2, 1), 192);
    path.conn.in_flight = 180;
    assert_eq!(within(&mut path, 1, 0), 192);
    // The round is over: slow start.
    path.conn.in_flight = 100;
    let at = path.conn.now.as_ps() / 1_000_000;
    path.round(at + RTT, 5, RTT);
    assert_eq!(path.conn.cwnd, 197);
    path.conn.repair = Repair::Open;
    assert_eq!(within(&mut path, 1, 0), 211);
}

#[test]
fn a_timeout_forgets_that_the_pipe_was_nearly_full() {
    let mut path = Path::new();
    path.conn.in_flight = 300;
    path.round(RTT, 100, RTT);
    path.round(2 * RTT, 100, RTT);
    assert_eq!(path.state().full_rounds, 1);
    path.bbr.timed_out(&PARAMS, &path.conn);
    path.round(3 * RTT, 100, RTT);
    assert_eq!((path.state().full_rounds, path.state().mode), (0, Mode::Startup));
}

#[test]
fn a_needless_repair_forgets_what_its_losses_showed() {
    let mut path = Path::new();
    path.conn.in_flight = 300;
    for round in 1..=3 {
        path.round(round * RTT, 100, RTT);
    }
    assert_eq!((path.state().full_rounds, path.state().mode), (2, Mode::Startup));
    let cwnd = path.conn.cwnd;
    path.bbr.undone(&PARAMS, &path.conn);
    assert_eq!((path.state().full_rounds, path.state().full_bw, path.conn.cwnd), (0, 0, cwnd));
    // The next round is the first with such a bandwidth: three more end STARTUP.
    for (round, full) in [(4, 0), (5, 1), (6, 2)] {
        path.round(round * RTT, 100, RTT);
        assert_eq!((path.state().full_rounds, path.state().mode), (full, Mode::Startup));
    }
    path.round(7 * RTT, 100, RTT);
    assert_ne!(path.state().mode, Mode::Startup);
    // A policer's rate is used no longer.
    path.bbr.0.long_term.used = true;
    path.bbr.undone(&PARAMS, &path.conn);
    assert!(!path.state().long_term.used);
}

#[test]
fn two_lossy_intervals_of_the_same_rate_are_a_policers_for_48_rounds() {
    let mut path = Path::probing();
    let mut at = path.conn.now.as_ps() / 1_000_000;
    let mut lossy = |path: &mut Path, packets: u32| {
        at += 1000;
        path.conn.lost += 30;
        let sample = RateSample { newly: packets, losses: 30, ..RateSample::default() };
        path.ack(at, packets, 1000, sample);
    };
    // The first loss begins the interval and is of its first round; the fourth ends it: 300 packets in
    // 3 ms.
    for _ in 0..3 {
        lossy(&mut path, 100);
    }
    assert_eq!(path.state().long_term.bw, 0);
    lossy(&mut path, 100);
    let tenth = (1 << SHIFT) / 10;
    assert!(path.state().long_term.bw.abs_diff(tenth) <= 1, "{:?}", path.state().long_term);
    assert!(!path.state().long_term.used);
    // The next is a tenth faster, under an eighth: their mean is used.
    for _ in 0..4 {
        lossy(&mut path, 110);
    }
    let state = path.state();
    assert!(state.long_term.used && state.pacing_gain == UNIT);
    assert!(state.bandwidth().abs_diff(tenth * 105 / 100) <= 2);
    for _ in 0..47 {
        lossy(&mut path, 100);
    }
    assert!(path.state().long_term.used);
    lossy(&mut path, 100);
    assert!(!path.state().long_term.used);
}

#[test]
fn acks_that_come_at_once_add_their_excess_to_the_window() {
    let mut path = Path::probing();
    let mut at = path.conn.now.as_ps() / 1_000_000;
    // Nothing for 50 us, then 50 packets: as many as the bandwidth has for the time, so that an epoch
    // begins, of which they are the excess.
    path.bbr.0.aggregation = Aggregation::default();
    for _ in 0..3 {
        at += 50;
        path.round(at, 50, 50);
    }
    assert_eq!(path.state().aggregation.most(), 50);
    // 200 and 50, and 3 segments: of 65 packets.
    path.conn.cwnd = 1000;
    at += 50;
    path.bbr.0.cycle = 3;
    assert_eq!(path.round(at, 50, 50).cwnd, 200 + 50 + 195 + 1);
}

#[test]
fn a_sender_that_was_idle_paces_at_the_bandwidth() {
    let mut path = Path::probing();
    path.bbr.0.pacing = 1;
    path.conn.app_limited = false;
    path.bbr.restarted(&PARAMS, path.conn);
    assert_eq!(path.state().pacing, 1);
    path.conn.app_limited = true;
    path.bbr.restarted(&PARAMS, path.conn);
    assert_eq!(path.state().pacing, 990_000_000);
    assert!(path.state().idle_restart);
}

#[test]
fn marks_change_nothing() {
    assert_eq!(Bbr::new(&PARAMS).marked(&PARAMS, 100.0, Time::ZERO), Mark::Ignored);
}
