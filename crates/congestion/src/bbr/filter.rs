//! Windowed maximum of three samples (Nichols's filter; Linux, `lib/win_minmax.c`): the best of the
//! window, the best of what came after it, and the best after that.

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
