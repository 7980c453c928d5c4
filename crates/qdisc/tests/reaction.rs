//! The reaction point against traces worked out by hand, and its bounds.

use proptest::prelude::*;
use switchbed_qdisc::{Random, ReactionPoint, ReactionSettings};
use switchbed_units::{Rate, Span, Time};

/// SplitMix64.
struct Draws(u64);

impl Random for Draws {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The standard's, without jitter.
fn standard() -> ReactionSettings {
    ReactionSettings { jitter: 0.0, ..ReactionSettings::default() }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// On a 10 Gbps link.
fn point(settings: &ReactionSettings, now: Time) -> ReactionPoint<Draws> {
    ReactionPoint::new(settings, Rate::from_gbps(10), now, Draws(1))
}

/// Rate and target in Mbps, to the bit.
fn mbps(point: &ReactionPoint<Draws>) -> (f64, f64) {
    (point.rate_bps() / 1e6, point.target_bps() / 1e6)
}

/// Sends so many bytes at once.
fn send(point: &mut ReactionPoint<Draws>, settings: &ReactionSettings, bytes: u32, now: Time) {
    (0..bytes / 1000).for_each(|_| point.on_sent(settings, 1000, now));
}

#[test]
fn byte_cycles_recover_and_then_increase_actively() {
    let s = standard();
    let mut p = point(&s, at(0));
    // 32 steps of 1/128 take a quarter.
    p.on_notification(&s, 32, at(0));
    assert_eq!(mbps(&p), (7_500.0, 10_000.0));
    // Fast recovery: five cycles of 150 KB, each halving the distance.
    send(&mut p, &s, 149_000, at(10));
    assert_eq!((mbps(&p), p.cycles()), ((7_500.0, 10_000.0), (0, 0)));
    send(&mut p, &s, 1_000, at(10));
    assert_eq!((mbps(&p), p.cycles()), ((8_750.0, 10_000.0), (1, 0)));
    // A notification after a full cycle: the rate is the new target. 63 steps take 63/128.
    p.on_notification(&s, 63, at(20));
    assert_eq!((mbps(&p), p.cycles()), ((4_443.359375, 8_750.0), (0, 0)));
    // Another within the first cycle: the target stays.
    send(&mut p, &s, 149_000, at(30));
    p.on_notification(&s, 16, at(30));
    assert_eq!(mbps(&p), (3_887.939453125, 8_750.0));
    // And its byte cycle goes on: 1 KB ends it.
    send(&mut p, &s, 1_000, at(30));
    assert_eq!((mbps(&p), p.cycles()), ((6_318.9697265625, 8_750.0), (1, 0)));
    send(&mut p, &s, 600_000, at(40));
    // Distance 2431.0302734375 after the first cycle, a 16th of it after four more.
    assert_eq!((mbps(&p), p.cycles()), ((8_598.060607910156, 8_750.0), (5, 0)));
    // The sixth is the first of active increase, and 75 KB long: target + 5.
    send(&mut p, &s, 74_000, at(50));
    assert_eq!(p.cycles(), (5, 0));
    send(&mut p, &s, 1_000, at(50));
    assert_eq!((mbps(&p), p.cycles()), ((8_676.530303955078, 8_755.0), (6, 0)));
    send(&mut p, &s, 75_000, at(60));
    assert_eq!((mbps(&p), p.cycles()), ((8_718.265151977539, 8_760.0), (7, 0)));
}

#[test]
fn timer_cycles_recover_alone_and_both_together_are_hyper_active() {
    let s = standard();
    let mut p = point(&s, at(0));
    p.on_notification(&s, 63, at(0));
    p.on_notification(&s, 63, at(0));
    p.on_notification(&s, 63, at(0));
    // (65/128)³ of 10 Gbps.
    let rate = 10_000.0 * 274_625.0 / 2_097_152.0;
    assert_eq!(mbps(&p), (rate, 10_000.0));
    p.advance(&s, at(14_999));
    assert_eq!(p.cycles(), (0, 0));
    // A timer cycle every 15 ms. Target not over ten times the rate: no division.
    p.advance(&s, at(15_000));
    assert_eq!((mbps(&p), p.cycles()), (((rate + 10_000.0) / 2.0, 10_000.0), (0, 1)));
    // Five, then one every 7.5 ms.
    p.advance(&s, at(75_000));
    assert_eq!((p.cycles(), p.target_bps()), ((0, 5), 10e9));
    p.advance(&s, at(82_499));
    assert_eq!(p.cycles(), (0, 5));
    p.advance(&s, at(82_500));
    // Active increase would be over the line.
    assert_eq!((p.cycles(), p.target_bps()), ((0, 6), 10e9));

    // Hyper-active: a target well under the line, six cycles of each.
    let mut p = point(&s, at(0));
    p.on_notification(&s, 63, at(0));
    for _ in 0..3 {
        send(&mut p, &s, 150_000, at(0));
        p.on_notification(&s, 63, at(0));
    }
    let target = p.target_bps();
    assert!(target < 7e9, "{target}");
    send(&mut p, &s, 750_000, at(0));
    assert_eq!((p.cycles(), p.target_bps()), ((5, 0), target));
    p.advance(&s, at(75_000));
    assert_eq!((p.cycles(), p.target_bps()), ((5, 5), target));
    send(&mut p, &s, 75_000, at(75_000));
    assert_eq!((p.cycles(), p.target_bps()), ((6, 5), target + 5e6));
    p.advance(&s, at(82_500));
    assert_eq!((p.cycles(), p.target_bps()), ((6, 6), target + 55e6));
    send(&mut p, &s, 75_000, at(82_500));
    assert_eq!((p.cycles(), p.target_bps()), ((7, 6), target + 105e6));
    p.advance(&s, at(90_000));
    assert_eq!((p.cycles(), p.target_bps()), ((7, 7), target + 205e6));
}

#[test]
fn a_target_far_above_the_rate_is_divided_at_the_first_cycle() {
    let s = standard();
    let mut p = point(&s, at(0));
    // Seven times 65/128: 87 Mbps under a target of 10 Gbps.
    (0..7).for_each(|_| p.on_notification(&s, 63, at(0)));
    let rate = p.rate_bps();
    assert!(rate < 1e8 && p.target_bps() == 10e9);
    send(&mut p, &s, 150_000, at(1));
    assert_eq!((p.target_bps(), p.rate_bps()), (1.25e9, (rate + 1.25e9) / 2.0));
    // Never below the minimum.
    (0..20).for_each(|_| p.on_notification(&s, 63, at(2)));
    assert_eq!(p.rate_bps(), 10e6);
}

#[test]
fn a_rate_that_is_back_at_the_line_needs_no_limiter() {
    let s = standard();
    let mut p = point(&s, at(0));
    p.on_notification(&s, 1, at(0));
    assert!(!p.recovered());
    let mut cycles = 0;
    while !p.recovered() {
        send(&mut p, &s, 75_000, at(1));
        cycles += 1;
    }
    // 78 Mbps halve to under one bit in 27 cycles, five of them of 150 KB.
    assert!((27..=33).contains(&cycles), "{cycles}");
    assert_eq!(p.rate_bps(), 10e9);
}

proptest! {
    #[test]
    fn rates_stay_between_the_minimum_and_the_line(
        events in prop::collection::vec((0..20_000u64, 0..64u8, 0..400u32), 1..300),
        jitter in 0.0..0.5,
        line in 1..100u64,
    ) {
        let s = ReactionSettings { jitter, ..standard() };
        let line = Rate::from_gbps(line);
        let mut p = ReactionPoint::new(&s, line, at(0), Draws(1));
        let mut now = at(0);
        for (later_us, steps, packets) in events {
            now += Span::from_us(later_us);
            if steps > 0 {
                p.on_notification(&s, steps, now);
            }
            (0..packets).for_each(|_| p.on_sent(&s, 1000, now));
            for rate in [p.rate_bps(), p.target_bps()] {
                prop_assert!((10e6..=line.as_bps() as f64).contains(&rate), "{rate}");
            }
            // Packets come no faster than the rate.
            let gap = p.gap(1500).as_ps() as f64 + 1.0;
            prop_assert!(gap >= 12e15 / p.rate_bps() && gap >= line.tx_time(1500).as_ps() as f64);
        }
    }
}
