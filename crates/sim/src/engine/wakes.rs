//! The nodes that are visited in a phase: those that something happens to, and those that asked
//! for it.

use crate::ids::NodeId;

/// So many phases ahead a visit is a bit in a set; what is further away is an event.
const AHEAD: usize = 8;
/// No phase.
const NONE: u64 = u64::MAX;

/// A shard's visits in the phases that come next.
pub(super) struct Wakes {
    /// By phase modulo [`AHEAD`], a bit for each node.
    nodes: [Box<[u64]>; AHEAD],
    /// By phase modulo [`AHEAD`], the phase, if a node is to be visited in it.
    phases: [u64; AHEAD],
}

impl Wakes {
    pub(super) fn new(nodes: usize) -> Wakes {
        let none = || vec![0; nodes.div_ceil(64)].into();
        Wakes { nodes: std::array::from_fn(|_| none()), phases: [NONE; AHEAD] }
    }

    /// Whether a phase is near, seen from the one that is handled or was handled last. One less
    /// than there is room for: after a run that was cut short the last is handled again.
    #[inline]
    pub(super) fn near(phase: u64, now: u64) -> bool {
        phase.wrapping_sub(now) < AHEAD as u64 - 1
    }

    /// A node is to be visited in a phase that is near.
    #[inline]
    pub(super) fn add(&mut self, phase: u64, node: NodeId) {
        let place = phase as usize % AHEAD;
        debug_assert!(self.phases[place] == NONE || self.phases[place] == phase);
        self.phases[place] = phase;
        self.nodes[place][node.index() / 64] |= 1 << (node.0 % 64);
    }

    /// The first phase from this one on in which a node is to be visited; `u64::MAX`: there is none.
    #[inline]
    pub(super) fn next(&self, from: u64) -> u64 {
        let later = |&phase: &u64| if phase < from { NONE } else { phase };
        self.phases.iter().map(later).fold(NONE, u64::min)
    }

    /// The set of a phase's nodes, which is to be emptied.
    #[inline]
    pub(super) fn take(&mut self, phase: u64) -> &mut [u64] {
        let place = phase as usize % AHEAD;
        self.phases[place] = NONE;
        &mut self.nodes[place]
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
        // The room of the phase that was handled, and handled again, is another's only later.
        assert!(Wakes::near(14, 8) && !Wakes::near(15, 8) && !Wakes::near(7, 8));
    }
}
