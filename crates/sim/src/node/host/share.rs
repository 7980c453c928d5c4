//! The part of its line's rate for which a host gives credit: less while switches inside the fabric trim or mark
//! (htsim's `-oversubscribed_cc`, `oversubscribed_cc.cpp`; constants of uet-htsim 40ccb05).

use crate::transport::Sight;
use switchbed_units::{Span, Time};

/// The part is set anew so often: 1.5 round trips of 12 us. htsim varies it by a quarter; here each host's intervals
/// begin with the first packet that it gets.
const INTERVAL: Span = Span::from_us(18);
/// Weight of the newest interval in the average of marks, and the average from which the part shrinks.
const WEIGHT: f64 = 0.5;
const TARGET: f64 = 0.3;
/// Decrease for each mark above the target, and increase in an interval.
const DECREASE: f64 = 0.5;
const INCREASE: f64 = 0.01;
/// The least part: this of what the fabric carries, but no less than that.
const SURE: f64 = 0.9;
const LEAST: f64 = 0.01;
/// The increase doubles no more often: it is over 1 then.
const DOUBLINGS: u32 = 7;

/// The part, and counts of the present interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    part: f64,
    least: f64,
    /// Average part of whole packets that were marked.
    marks: f64,
    packets: u32,
    marked: u32,
    trimmed_inside: u32,
    trimmed_last: u32,
    /// Intervals in a row that ended without a decrease.
    rises: u32,
    /// End of the interval.
    end: Time,
}

impl Share {
    /// The whole line, of a fabric for which hosts may send so many times what it carries.
    pub(super) fn new(oversubscription: f64) -> Share {
        Share {
            part: 1.0,
            least: (SURE / oversubscription).max(LEAST),
            marks: 0.0,
            packets: 0,
            marked: 0,
            trimmed_inside: 0,
            trimmed_last: 0,
            rises: 0,
            end: Time::NEVER,
        }
    }

    /// A packet came.
    pub(super) fn see(&mut self, sight: Sight, now: Time) {
        if self.end == Time::NEVER {
            self.end = now + INTERVAL;
        }
        self.settle(now);
        self.packets += 1;
        match sight.trimmed {
            Some(true) => self.trimmed_last += 1,
            Some(false) => self.trimmed_inside += 1,
            None => self.marked += u32::from(sight.marked),
        }
    }

    /// The part, 1 at most.
    pub(super) fn at(&mut self, now: Time) -> f64 {
        self.settle(now);
        self.part
    }

    /// Ends the intervals that are over.
    fn settle(&mut self, now: Time) {
        while self.end <= now {
            self.set();
            self.end += INTERVAL;
            // Idle intervals change nothing from here on.
            if self.part == 1.0 && self.marks < 1e-9 {
                let past = now.since(self.end.min(now)).as_ps() / INTERVAL.as_ps();
                self.end += INTERVAL * past;
            }
        }
    }

    /// Sets the part at the end of an interval.
    fn set(&mut self) {
        let whole = self.packets - self.trimmed_inside - self.trimmed_last;
        let fraction = f64::from(self.marked) / f64::from(whole.max(1));
        let mut falls = false;
        if self.trimmed_inside > 0 {
            self.part -= f64::from(self.trimmed_inside) / f64::from(self.packets);
            falls = true;
        }
        self.marks = self.marks * (1.0 - WEIGHT) + WEIGHT * fraction;
        if self.marks > TARGET {
            self.part *= 1.0 - (self.marks - TARGET) * DECREASE;
            falls = true;
        }
        if falls {
            self.rises = 0;
        } else {
            let doublings = if self.marked == 0 { self.rises.min(DOUBLINGS) } else { 0 };
            self.part += INCREASE * f64::from(1 << doublings);
            self.rises = self.rises.saturating_add(1);
        }
        self.part = self.part.clamp(self.least, 1.0);
        (self.packets, self.marked, self.trimmed_inside, self.trimmed_last) = (0, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval with so many packets marked, trimmed inside, trimmed at the last hop, and left alone.
    fn interval(share: &mut Share, nth: u64, counts: [u32; 4]) -> f64 {
        let start = Time::ZERO + INTERVAL * nth;
        let sights = [(true, None), (true, Some(false)), (false, Some(true)), (false, None)];
        for (count, (marked, trimmed)) in counts.into_iter().zip(sights) {
            for _ in 0..count {
                share.see(Sight { marked, trimmed }, start);
            }
        }
        share.at(start + INTERVAL)
    }

    #[test]
    fn the_part_follows_trims_and_marks_as_worked_out_by_hand() {
        let mut share = Share::new(4.0);
        let expected = [
            // Two of ten trimmed inside, one at the last hop; four of seven marked: average 2/7, no decrease by it.
            ([4, 2, 1, 3], 0.8),
            // Half are marked: average 1/7 + 1/4, 0.092857 above the target.
            ([5, 0, 0, 5], 0.8 * (1.0 - 0.5 * (1.0 / 7.0 + 0.25 - 0.3))),
            // One of ten: no doubling. Then free of marks, the second rise in a row, the third.
            ([1, 0, 0, 9], 0.762_857 + 0.01),
            ([0, 0, 0, 10], 0.762_857 + 0.03),
            ([0, 0, 0, 0], 0.762_857 + 0.07),
            ([0, 0, 3, 0], 0.762_857 + 0.15),
            ([0, 0, 0, 1], 1.0),
            // All are trimmed.
            ([0, 9, 0, 0], 0.225),
        ];
        for (nth, (counts, part)) in expected.into_iter().enumerate() {
            let got = interval(&mut share, nth as u64, counts);
            assert!((got - part).abs() < 1e-6, "interval {nth}: {got} instead of {part}");
        }
    }

    #[test]
    fn a_long_idle_time_ends_with_the_whole_line() {
        let mut share = Share::new(1_000.0);
        assert_eq!(interval(&mut share, 0, [0, 9, 0, 0]), 0.01);
        let later = Time::ZERO + Span::from_ms(3_600_000);
        assert_eq!(share.at(later), 1.0);
        assert!(share.end > later && share.end.since(later) <= INTERVAL);
    }
}
