//! Reno's and CUBIC's windows under marking patterns whose outcome is known in closed form.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_units::{Span, Time};

/// The pipe's round trip.
const RTT_S: f64 = 100e-6;

/// In congestion avoidance from the first ACK.
fn avoiding(control: CongestionControl) -> Transport {
    let (initial_ssthresh, receive_window) = (2, 20_000);
    Transport { initial_ssthresh, receive_window, ..marked(control) }
}

fn cubic(c: f64) -> CongestionControl {
    CongestionControl::Cubic(CubicParams {
        c,
        beta: 0.7,
        fast_convergence: true,
        reno_friendly: true,
        arithmetic: Arithmetic::Exact,
    })
}

/// CUBIC's curve alone.
fn steep(c: f64) -> CongestionControl {
    CongestionControl::Cubic(CubicParams {
        c,
        beta: 0.7,
        fast_convergence: false,
        reno_friendly: false,
        arithmetic: Arithmetic::Exact,
    })
}

/// A steady state: the highest window, the lowest, and the mean by packets a round trip.
struct Steady {
    peak: f64,
    trough: f64,
    mean: f64,
}

/// One packet in `period` is marked, for a time that is long enough to forget the start.
fn under_periodic_marks(control: CongestionControl, period: usize) -> Steady {
    let mut pipe = Pipe::new(&avoiding(control)).data(move |n, _| match n % period {
        0 => Fate::Mark,
        _ => Fate::Deliver,
    });
    pipe.write(1 << 30);
    let cuts = |pipe: &Pipe, n| pipe.sender.counters().mark_cuts >= n;
    while !cuts(&pipe, 20) {
        pipe.step();
    }
    let (start, acked) = (pipe.now, pipe.sender.acked());
    let (mut peak, mut trough) = (f64::MIN, f64::MAX);
    while !cuts(&pipe, 40) {
        pipe.step();
        peak = peak.max(pipe.sender.cwnd());
        trough = trough.min(pipe.sender.cwnd());
    }
    let packets = (pipe.sender.acked() - acked) as f64 / MSS as f64;
    Steady { peak, trough, mean: packets * RTT_S / pipe.now.since(start).as_secs_f64() }
}

fn assert_near(what: &str, is: f64, expected: f64, tolerance: f64) {
    assert!((is / expected - 1.0).abs() < tolerance, "{what}: {is}, in closed form {expected}");
}

#[test]
fn reno_between_periodic_marks_swings_from_half_to_all_of_the_root_of_8_by_3p() {
    // From W/2 to W in W/2 round trips: 3/8·W² packets a mark.
    for period in [6_000, 30_000] {
        let steady = under_periodic_marks(CongestionControl::Reno, period);
        let w = libm::sqrt(8.0 * period as f64 / 3.0);
        assert_near("peak", steady.peak, w, 0.03);
        assert_near("trough", steady.trough, w / 2.0, 0.03);
        assert_near("mean", steady.mean, libm::sqrt(1.5 * period as f64), 0.03);
    }
}

#[test]
fn cubic_over_short_round_trips_is_an_aimd_as_fair_as_reno() {
    // From β·W to W by α = 3(1−β)/(1+β) a round trip (RFC 9438, section 4.3):
    // W = √(6/p)/(1+β), and the mean is Reno's.
    for period in [6_000, 30_000] {
        let steady = under_periodic_marks(cubic(0.4), period);
        let w = libm::sqrt(6.0 * period as f64) / 1.7;
        assert_near("peak", steady.peak, w, 0.03);
        assert_near("trough", steady.trough, 0.7 * w, 0.03);
        assert_near("mean", steady.mean, libm::sqrt(1.5 * period as f64), 0.03);
    }
}

/// The window at the end of each round trip after one mark has cut a window of about 200.
fn after_one_mark(control: CongestionControl, round_trips: usize) -> (f64, Vec<(Time, f64)>) {
    let settings = Transport { initial_window: 200, ..avoiding(control) };
    let mut pipe = Pipe::new(&settings).data(|n, _| match n {
        100 => Fate::Mark,
        _ => Fate::Deliver,
    });
    pipe.write(1 << 30);
    let mut before = 0.0;
    while pipe.sender.counters().mark_cuts == 0 {
        before = pipe.sender.cwnd();
        pipe.step();
    }
    let mut windows: Vec<(Time, f64)> = Vec::new();
    while windows.len() < round_trips {
        pipe.step();
        let (now, cwnd) = (pipe.now, pipe.sender.cwnd());
        match windows.last_mut() {
            Some(last) if last.0 == now => last.1 = cwnd,
            _ => windows.push((now, cwnd)),
        }
    }
    (before, windows)
}

#[test]
fn cubics_window_follows_its_curve() {
    // C such that K = ∛(0.3·W/C) is 5 ms, fifty round trips.
    let c = 0.3 * 200.0 / (5e-3_f64 * 5e-3 * 5e-3);
    let (w_max, windows) = after_one_mark(steep(c), 150);
    let k_s = libm::cbrt(0.3 * w_max / c);
    // The stage begins with the first ACK without ECE.
    let first = windows.iter().position(|w| w.1 > 0.7 * w_max + 1e-9).expect("growth");
    let epoch = windows[first].0;
    assert!(epoch.since(Time::ZERO) < Span::from_us(400), "{epoch:?}");
    let curve = |t_s: f64| {
        let d = t_s - k_s;
        c * d * d * d + w_max
    };
    let (mut checked, mut flat) = (0, f64::MAX);
    for &(now, cwnd) in &windows[first + 1..] {
        let t_s = now.since(epoch).as_secs_f64();
        if t_s > 2.0 * k_s {
            break;
        }
        // ACKs aim at the curve one round trip ahead; a round trip of them gets most of the
        // way there.
        let (least, most) = (curve(t_s - RTT_S), curve(t_s + RTT_S));
        assert!(cwnd > least - 0.01 && cwnd < most + 0.01, "{cwnd} at {t_s} s, {least} to {most}");
        (checked, flat) = (checked + 1, flat.min((cwnd - w_max).abs()));
    }
    assert!(checked > 90 && flat < 0.1, "{checked} windows, {flat} from W_max at the nearest");
}

#[test]
fn a_mark_cuts_cubics_window_to_beta_and_renos_to_half() {
    for (control, kept) in [(cubic(0.4), 0.7), (steep(1e8), 0.7), (CongestionControl::Reno, 0.5)] {
        let (before, windows) = after_one_mark(control, 1);
        assert_eq!(windows[0].1, before.floor() * kept);
    }
}

#[test]
fn a_flow_that_has_stopped_growing_gives_way() {
    // Marks in a row, a round trip apart: W_max falls to cwnd·(1+β)/2 instead of cwnd, so
    // that the window comes to rest lower.
    let rest = |fast_convergence| {
        let control = CongestionControl::Cubic(CubicParams {
            c: 1e9,
            beta: 0.7,
            fast_convergence,
            reno_friendly: false,
            arithmetic: Arithmetic::Exact,
        });
        let settings = Transport { initial_window: 200, ..avoiding(control) };
        let mut pipe = Pipe::new(&settings).data(|n, _| match n {
            100 | 600 => Fate::Mark,
            _ => Fate::Deliver,
        });
        pipe.write(1 << 30);
        let mut before = 0.0;
        while pipe.sender.counters().mark_cuts < 2 {
            before = pipe.sender.cwnd();
            pipe.step();
        }
        assert!(before < 200.0, "{before} is below the first W_max");
        let mut windows = Vec::new();
        for _ in 0..40 * 200 {
            pipe.step();
            windows.push(pipe.sender.cwnd());
        }
        // Where it grows least: among the windows of successive ACKs.
        let steps = windows.windows(400).map(|w| (w[399] - w[0], w[200]));
        let steps = steps.filter(|step| step.0 > 0.0);
        (before, steps.min_by(|a, b| a.0.total_cmp(&b.0)).expect("growth").1)
    };
    let (before, at_rest) = rest(true);
    assert_near("W_max with fast convergence", at_rest, before.floor() * 0.85, 0.03);
    let (before, at_rest) = rest(false);
    assert_near("W_max without", at_rest, before.floor(), 0.03);
}

#[test]
fn after_a_timeout_cubics_curve_starts_flat() {
    // All of the second window is lost. Slow start ends at β of it, and from there the
    // curve rises as C·t³, not towards the window before the timeout.
    let control = steep(1e9);
    let settings = Transport { initial_window: 100, ..avoiding(control) };
    let mut pipe = Pipe::new(&settings).data(|n, _| match n {
        100..200 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pipe.write(1 << 30);
    while pipe.sender.cwnd() > 1.0 {
        pipe.step();
    }
    let ssthresh = pipe.sender.ssthresh();
    assert_near("ssthresh", ssthresh, 70.0, 0.02);
    while pipe.sender.cwnd() < ssthresh {
        pipe.step();
    }
    let (start, flat) = (pipe.now, pipe.sender.cwnd());
    for _ in 0..10 * 75 {
        pipe.step();
    }
    let t_s = pipe.now.since(start).as_secs_f64() + RTT_S;
    assert!(t_s > 0.5e-3 && t_s < 2e-3, "{t_s}");
    let expected = flat + 1e9 * t_s * t_s * t_s;
    assert_near("window", pipe.sender.cwnd(), expected, 0.02);
}

#[test]
fn cubics_clock_stands_still_while_the_application_pauses() {
    // The same windows after a pause as without, though a second is an age of the curve.
    let cwnd = |pause: Span| {
        let settings = Transport {
            grow_when_app_limited: false,
            restart: Restart::Keep,
            initial_window: 100,
            ..avoiding(steep(1e8))
        };
        let mut pipe = Pipe::new(&settings);
        pipe.write(2_000);
        pipe.run();
        let before = pipe.sender.cwnd();
        pipe.run_until(pipe.now + pause);
        pipe.write(2_000);
        pipe.run();
        (before, pipe.sender.cwnd())
    };
    let (before, after) = cwnd(Span::from_ms(1_000));
    assert!(after > before + 1.0, "{before} to {after}");
    assert_eq!((before, after), cwnd(Span::ZERO));
}

#[test]
fn reno_answers_a_mark_as_a_loss_where_the_application_leaves_the_window_open() {
    // Six packets out of a window of 10, the last marked: ECN* halves the window, Reno the
    // flight before the ACK, one packet by then, but not below 2 (RFC 5681, equation 4).
    let ssthresh = |control| {
        let settings = Transport { grow_when_app_limited: false, ..marked(control) };
        let mut pipe = Pipe::new(&settings).data(|n, _| match n {
            5 => Fate::Mark,
            _ => Fate::Deliver,
        });
        pipe.write(6);
        pipe.run();
        pipe.sender.ssthresh()
    };
    assert_eq!(ssthresh(CongestionControl::EcnStar), 5.0);
    assert_eq!(ssthresh(CongestionControl::Reno), 2.0);
}

#[test]
fn a_mark_leaves_cubic_one_packet_at_least_and_a_threshold_of_two() {
    // RFC 9438, section 4.6.
    let settings = Transport { initial_window: 2, ..avoiding(cubic(0.4)) };
    let mut pipe = Pipe::new(&settings).data(|_, _| Fate::Mark);
    pipe.write(1 << 20);
    let mut windows = Vec::new();
    for cut in 1..5 {
        while pipe.sender.counters().mark_cuts < cut {
            pipe.step();
        }
        windows.push((pipe.sender.cwnd(), pipe.sender.ssthresh()));
    }
    assert_eq!(windows, [(1.4, 2.0), (1.0, 2.0), (1.0, 2.0), (1.0, 2.0)]);
}

#[test]
fn a_loss_leaves_cubic_two_packets_at_least() {
    let settings = Transport { initial_window: 2, ..avoiding(cubic(0.4)) };
    let mut pipe = Pipe::new(&settings).data(|n, _| match n {
        0 => Fate::Drop,
        _ => Fate::Deliver,
    });
    pipe.write(4);
    pipe.run();
    assert_eq!(pipe.sender.ssthresh(), 2.0);
    pipe.assert_delivered(4);
}
