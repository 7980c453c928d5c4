//! The nodes that are visited in a phase: those that something happens to, and those that asked
//! for it.

use super::phases::LONGEST;
use crate::ids::NodeId;

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
    pub(super) fn nodes_mut(&mut self, phase: u64) -> &mut [u64] {
        &mut self.nodes[phase as usize % SETS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
