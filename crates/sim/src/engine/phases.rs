//! Time cut into windows as long as the lookahead, and the phases in which nodes handle them.
//!
//! Each node has a *beat*: a period of one, two, four … windows, and which of the phases are its
//! own. In phase p the nodes whose turn it is handle their last period's windows, up to window p, at
//! one go. So a node with a period of 16 is visited a sixteenth as often, for 16 times as much. What
//! allows it:
//!
//! - What a node sends in window w arrives in window w + k at the earliest, where k is what its
//!   links' least delay has space for. A node whose period is at most k has handled window w by
//!   phase w + k − 1, and nobody handles window w + k before phase w + k.
//! - Where every link joins a red node and a black one, red nodes' phases are even and black ones'
//!   odd. Then two is a period for all, also where k is 1: a red node handles w in phase w or
//!   w + 1, and a black one handles w + 1 in the other's successor at the earliest.
//!
//! The nodes that are visited in a phase: those that something happens to, and those that asked
//! for it.

use crate::ids::NodeId;
use switchbed_units::{Span, Time};

/// The longest period: a visit then has as many events as amortise it.
pub(crate) const LONGEST: u64 = 16;

/// Windows, and who handles them when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phases {
    length_ps: u64,
    /// 2^64 / length, rounded down.
    reciprocal: u64,
    /// The longest period of a node.
    longest: u64,
}

/// When a node's turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Beat {
    /// One less than its period, a power of two.
    mask: u8,
    /// Number of its first phase; the others follow at whole periods.
    offset: u8,
}

impl Beat {
    /// The longest period up to so many windows, and its phases by number, of which neighbours may
    /// differ in the lowest bit.
    pub(crate) fn new(most: u64, number: u64) -> Beat {
        // The largest power of two that is not over `most`, less one: the phase's low bits.
        let mask = (1 << most.clamp(1, LONGEST).ilog2()) - 1;
        Beat { mask, offset: number as u8 & mask }
    }

    /// Returns the period in windows.
    pub(crate) fn period(self) -> u64 {
        u64::from(self.mask) + 1
    }
}

impl Phases {
    /// Makes phases for nodes whose periods are no longer than `longest`.
    pub(crate) fn new(lookahead: Span, longest: u64) -> Phases {
        let length_ps = lookahead.as_ps().max(1);
        Phases { length_ps, reciprocal: u64::MAX / length_ps, longest }
    }

    /// The window of a time.
    #[inline]
    pub(crate) fn window(self, at: Time) -> u64 {
        // Multiplying by the reciprocal is quicker than a division, and one too small at most.
        let at = at.as_ps();
        let window = ((u128::from(at) * u128::from(self.reciprocal)) >> 64) as u64;
        window + u64::from(at - window * self.length_ps >= self.length_ps)
    }

    /// The phase in which a node of this beat handles a time.
    #[inline]
    pub(crate) fn of(self, at: Time, beat: Beat) -> u64 {
        let window = self.window(at);
        // Steps forward to the next phase with the beat's offset modulo its period; the subtraction
        // may wrap, since only the low bits count.
        window + (u64::from(beat.offset).wrapping_sub(window) & u64::from(beat.mask))
    }

    /// The last phase in which a node may handle a window.
    #[inline]
    pub(crate) fn last(self, window: u64) -> u64 {
        window + self.longest - 1
    }

    /// The first window that a node may handle in a phase.
    #[inline]
    pub(crate) fn first(self, phase: u64) -> u64 {
        phase.saturating_sub(self.longest - 1)
    }

    /// The least time of a phase.
    #[inline]
    pub(crate) fn begin(self, phase: u64) -> Time {
        Time::from_ps(self.first(phase).saturating_mul(self.length_ps))
    }

    /// Returns the time before which everything is handled by the end of a phase.
    #[inline]
    pub(crate) fn end(self, phase: u64) -> Time {
        Time::from_ps((phase + 1).saturating_mul(self.length_ps))
    }

    /// The first phase that does not end by a time; all later ones end after it, too.
    #[inline]
    pub(crate) fn whole(self, until: Time) -> u64 {
        self.window(until)
    }

    /// When a run is over whose last flow ended at a time: once its window and the next are, and
    /// whatever a node may have handled when that is known. That depends on nothing but the flow.
    pub(crate) fn over(self, last: Time) -> Time {
        let window = self.window(last);
        self.end(self.last(window).max(window + 1))
    }
}

/// Phases ahead up to which a visit is a bit in a set. Visits further ahead are events.
const NEAR: u64 = LONGEST;
/// Sets: after a run that was cut short, phases that share windows with the last come again.
const SETS: usize = (NEAR + LONGEST) as usize;
const NONE: u64 = u64::MAX;

/// A shard's visits in the phases that come next.
pub(super) struct Wakes {
    /// By phase modulo [`SETS`], a bit for each node.
    nodes: [Box<[u64]>; SETS],
    /// By phase modulo [`SETS`], the phase, if a node is to be visited in it; then its bit is set.
    phases: [u64; SETS],
    taken: u32,
}

// `taken` has one bit for each set, and is rotated as a whole.
const _: () = assert!(SETS == u32::BITS as usize);

impl Wakes {
    pub(super) fn new(nodes: usize) -> Wakes {
        let none = || vec![0; nodes.div_ceil(64)].into();
        Wakes { nodes: std::array::from_fn(|_| none()), phases: [NONE; SETS], taken: 0 }
    }

    /// Whether a phase is within [`NEAR`] of the one that is handled or was handled last.
    #[inline]
    pub(super) fn near(phase: u64, now: u64) -> bool {
        // A phase before `now` wraps to a large number, and is not near either.
        phase.wrapping_sub(now) < NEAR
    }

    /// Has a node visited in a phase within [`NEAR`].
    #[inline]
    pub(super) fn add(&mut self, phase: u64, node: NodeId) {
        let place = phase as usize % SETS;
        debug_assert!(self.phases[place] == NONE || self.phases[place] == phase);
        self.phases[place] = phase;
        self.taken |= 1 << place;
        self.nodes[place][node.index() / 64] |= 1 << (node.0 % 64);
    }

    /// The first phase from this one on in which a node is to be visited; `u64::MAX`: there is none.
    #[inline]
    pub(super) fn next(&self, from: u64) -> u64 {
        if self.taken == 0 {
            return NONE;
        }
        // Rotated so that bit 0 is `from`: the lowest bit is the next phase, unless a run that was cut
        // short left an older one in its place.
        let ahead = self.taken.rotate_right(from as u32 % u32::BITS).trailing_zeros();
        let nearest = from + u64::from(ahead);
        if self.phases[nearest as usize % SETS] == nearest {
            return nearest;
        }
        // Rare: search all sets for the least phase that is not before `from`.
        let (mut taken, mut next) = (self.taken, NONE);
        while taken != 0 {
            let phase = self.phases[taken.trailing_zeros() as usize];
            next = if phase < from { next } else { next.min(phase) };
            taken &= taken - 1;
        }
        next
    }

    /// The set of a phase's nodes, which is to be emptied.
    #[inline]
    pub(super) fn take(&mut self, phase: u64) -> &mut [u64] {
        let place = phase as usize % SETS;
        self.phases[place] = NONE;
        self.taken &= !(1 << place);
        &mut self.nodes[place]
    }

    /// The set of a phase's nodes, bit by bit.
    #[inline]
    pub(super) fn nodes_mut(&mut self, phase: u64) -> &mut Box<[u64]> {
        &mut self.nodes[phase as usize % SETS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_window_is_a_division(length in 1u64..1 << 40, at in 0u64..u64::MAX / 2) {
            let phases = Phases::new(Span::from_ps(length), 1);
            prop_assert_eq!(phases.window(Time::from_ps(at)), at / length);
        }

        #[test]
        fn a_node_handles_each_time_once_in_its_turn_and_before_what_follows_from_it(
            length in 1u64..1000,
            at in 0u64..100_000,
            colour in 0u64..2,
            number in 0u64..32,
            (sends, hears) in (1u64..40, 1u64..40),
            (ahead, more) in (1u64..40, 0u64..3000),
        ) {
            let phases = Phases::new(Span::from_ps(length), LONGEST);
            let at = Time::from_ps(at);
            // A period that the links allow, and at least two, of colours apart.
            let sender = Beat::new(sends.min(ahead).max(2), 2 * number + colour);
            let phase = phases.of(at, sender);
            prop_assert_eq!(phase % 2, colour);
            prop_assert!(phases.first(phase) <= phases.window(at));
            prop_assert!(phase <= phases.last(phases.window(at)));
            prop_assert!(phases.begin(phase) <= at && at < phases.end(phase));
            prop_assert!(phase - phases.window(at) < sender.period());
            let there = at + Span::from_ps(ahead * length + more);
            let receiver = Beat::new(hears.max(2), number / 3 * 2 + (colour ^ 1));
            prop_assert!(phases.of(there, receiver) > phase);
            prop_assert!(phases.over(at) >= phases.end(phase));
            // Without colours a period is no longer than the links allow.
            let sender = Beat::new(sends.min(ahead), number);
            let receiver = Beat::new(hears, number * 7);
            prop_assert!(phases.of(there, receiver) > phases.of(at, sender));
        }
    }

    #[test]
    fn a_phase_has_the_nodes_that_asked_for_it_once() {
        let mut wakes = Wakes::new(100);
        assert_eq!(wakes.next(0), NONE);
        for (phase, node) in [(9, 70), (12, 3), (9, 1), (9, 70)] {
            assert!(Wakes::near(phase, 8));
            wakes.add(phase, NodeId(node));
        }
        assert_eq!((wakes.next(0), wakes.next(10), wakes.next(13)), (9, 12, NONE));
        let nodes = wakes.take(9);
        assert_eq!(std::mem::take(&mut nodes[0]), 1 << 1);
        assert_eq!(std::mem::take(&mut nodes[1]), 1 << (70 - 64));
        assert_eq!(wakes.next(0), 12);
        assert!(Wakes::near(8 + NEAR - 1, 8) && !Wakes::near(8 + NEAR, 8) && !Wakes::near(7, 8));
    }
}
