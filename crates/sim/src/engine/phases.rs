//! Time cut into windows as long as the lookahead, and the phases in which nodes handle them.
//!
//! Where every link joins a red node and a black one, the colours take turns: in phase p the
//! nodes whose turn it is handle windows p − 1 and p at one go. What reaches them in window p
//! was sent in window p − 1 at the latest, which the others handled in the phase before. So a
//! node is visited half as often, for twice as much. Otherwise phase p is window p, for all.

use switchbed_qdisc::units::{Span, Time};

/// Windows, and who handles them when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phases {
    length_ps: u64,
    /// 2^64 / length, rounded down.
    reciprocal: u64,
    /// Two colours take turns.
    turns: bool,
}

/// A node's colour: 0 or 1, and always 0 where they do not take turns.
pub(crate) type Colour = u8;

impl Phases {
    pub(crate) fn new(lookahead: Span, turns: bool) -> Phases {
        let length_ps = lookahead.as_ps().max(1);
        Phases { length_ps, reciprocal: u64::MAX / length_ps, turns }
    }

    /// The window of a time.
    #[inline]
    pub(crate) fn window(self, at: Time) -> u64 {
        // A product in place of a division: one too small at most.
        let at = at.as_ps();
        let window = ((u128::from(at) * u128::from(self.reciprocal)) >> 64) as u64;
        window + u64::from(at - window * self.length_ps >= self.length_ps)
    }

    /// The phase in which a node of a colour handles a time.
    #[inline]
    pub(crate) fn of(self, at: Time, colour: Colour) -> u64 {
        let window = self.window(at);
        match self.turns {
            true => window + ((window ^ u64::from(colour)) & 1),
            false => window,
        }
    }

    /// The least time of a phase.
    pub(crate) fn begin(self, phase: u64) -> Time {
        let window = if self.turns { phase.saturating_sub(1) } else { phase };
        Time::from_ps(window.saturating_mul(self.length_ps))
    }

    /// What is before this time is handled by the end of a phase.
    pub(crate) fn end(self, phase: u64) -> Time {
        Time::from_ps((phase + 1).saturating_mul(self.length_ps))
    }

    /// When a run is over whose last flow ended at a time: once its window and the next are. That
    /// depends on nothing but the flow, and no phase can be further when it is known.
    pub(crate) fn over(self, last: Time) -> Time {
        self.end(self.window(last) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_window_is_a_division(length in 1u64..1 << 40, at in 0u64..u64::MAX / 2) {
            let phases = Phases::new(Span::from_ps(length), false);
            prop_assert_eq!(phases.window(Time::from_ps(at)), at / length);
        }

        #[test]
        fn a_node_handles_each_time_once_in_its_turn_and_before_what_follows_from_it(
            length in 1u64..1000, at in 0u64..100_000, colour in 0u8..2, more in 0u64..3000
        ) {
            let phases = Phases::new(Span::from_ps(length), true);
            let at = Time::from_ps(at);
            let phase = phases.of(at, colour);
            prop_assert_eq!(phase & 1, u64::from(colour));
            prop_assert!(phases.begin(phase) <= at && at < phases.end(phase));
            // A packet that is sent then reaches a node of the other colour in a later phase.
            let there = at + Span::from_ps(length + more);
            prop_assert!(phases.of(there, colour ^ 1) > phase);
            prop_assert!(phases.over(at) >= phases.end(phase));
        }
    }
}
