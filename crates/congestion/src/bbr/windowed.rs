//! Windowed maximum of three samples (Nichols's filter; Linux, `lib/win_minmax.c`): the best of the
//! window, the best of what came after it, and the best after that.
//!
//! Aggregation of ACKs (Linux, `bbr_update_ack_aggregation`): the most packets that arrived beyond the
//! bandwidth's share, over the last 5 to 10 rounds. The window grows by so many.

use super::SHIFT;
use crate::Connection;
use switchbed_units::Time;

/// A windowed maximum; time counts in rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax([(u32, u64); 3]);

impl WindowedMax {
    pub(super) fn get(&self) -> u64 {
        self.0[0].1
    }

    /// Takes in `value` of the round `at`; samples older than `window` rounds leave.
    pub(super) fn update(&mut self, window: u32, at: u32, value: u64) {
        let best = &mut self.0;
        let new = (at, value);
        if value >= best[0].1 || at - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = at - best[0].0;
        if age > window {
            // The first leaves, and the second too where it is too old.
            *best = [best[1], best[2], new];
            if at - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            // A quarter of the window without a second choice: one of the second quarter.
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}

/// Rounds of either half of the window.
const ROUNDS: u32 = 5;
/// An epoch with so many packets begins anew.
const EPOCH: u64 = 1 << 20;

/// Packets beyond the bandwidth's share.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Time,
    acked: u64,
    /// The most of the half of the window that runs and of the one before.
    extra: [u64; 2],
    rounds: u32,
}

fn us(at: Time) -> u64 {
    at.as_ps() / 1_000_000
}

impl Aggregation {
    /// A new epoch begins.
    pub(super) fn begin(&mut self, at: Time) {
        (self.since, self.acked) = (at, 0);
    }

    pub(super) fn most(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }

    /// An ACK of `newly` packets came.
    pub(super) fn update(&mut self, conn: &Connection, bw: u64, newly: u32, round: bool) {
        if round {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                (self.rounds, self.extra) = (0, [0, self.extra[0]]);
            }
        }
        let took = us(conn.delivered_at).saturating_sub(us(self.since));
        let expected = (u128::from(bw) * u128::from(took)) >> SHIFT;
        let mut expected = u64::try_from(expected).unwrap_or(u64::MAX);
        if self.acked <= expected || self.acked + u64::from(newly) >= EPOCH {
            self.begin(conn.delivered_at);
            expected = 0;
        }
        self.acked = (self.acked + u64::from(newly)).min(EPOCH - 1);
        let extra = self.acked.saturating_sub(expected).min(conn.cwnd.into());
        self.extra[0] = self.extra[0].max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_sample_leaves_after_the_window_and_the_next_best_takes_over() {
        let mut max = WindowedMax::default();
        max.update(10, 1, 100);
        for round in 2..=11 {
            max.update(10, round, 80 - u64::from(round));
            assert_eq!(max.get(), 100, "round {round}");
        }
        // Round 12 is 11 after the best. The second choice is of round 4, the first that was more than
        // a quarter of the window (2 rounds) after the best: 76.
        max.update(10, 12, 50);
        assert_eq!(max.get(), 76);
        max.update(10, 13, 76);
        assert_eq!(max.get(), 76);
        max.update(10, 24, 10);
        assert_eq!(max.get(), 10);
    }
}
