//! Where threads wait for each other after each phase: they spin, for a phase takes microseconds,
//! then let others run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A thread that waits for others lets go of its core after so many turns, about a millisecond: one
/// that lets go at once does not get it back in time on a machine that others use too.
const MOST_SPINS: u64 = 20_000;

/// Where phases are short it lets go sooner, after tens of microseconds: whom it waits for has no
/// core then, and a millisecond a phase is hundreds of times what the phase takes.
const LEAST_SPINS: u64 = 500;

/// An event takes as long as so many turns at most.
const SPINS_AN_EVENT: u64 = 50;

/// How many turns a thread waits for others that handle so many events a phase with it.
pub(super) fn spins(a_phase: u64) -> u64 {
    (a_phase * SPINS_AN_EVENT).clamp(LEAST_SPINS, MOST_SPINS)
}

pub(super) struct Barrier {
    count: u64,
    waiting: AtomicU64,
    turn: AtomicU64,
    /// A thread has panicked: nobody waits for it.
    broken: AtomicBool,
}

impl Barrier {
    pub(super) fn new(count: u64) -> Barrier {
        let (waiting, turn) = (AtomicU64::new(0), AtomicU64::new(0));
        Barrier { count, waiting, turn, broken: AtomicBool::new(false) }
    }

    /// Waits until all are here, so many turns before it lets others run.
    pub(super) fn wait(&self, most_spins: u64) {
        // Read before counting oneself in: afterwards the last one may begin the next turn at once.
        let turn = self.turn.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            // Before the new turn is released: whoever sees that turn may count itself in at once.
            self.waiting.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            // Checked in the loop: a thread that has panicked never comes to the barrier.
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the run panicked");
            spins += 1;
            if spins > most_spins {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Tells the others if this thread panics before it is switched off.
    pub(super) fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }
}

/// Rings if its thread panics.
pub(super) struct Alarm<'a>(&'a Barrier);

impl Alarm<'_> {
    pub(super) fn off(self) {
        // Not dropped, so it does not ring.
        std::mem::forget(self);
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}
