//! The events to come, by phase: a ring of buckets for the next phases, a heap for later ones.

use super::Event;
use super::phases::{Beat, Phases};
use super::prefetch::prefetch_room;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use switchbed_units::Time;

/// Most buckets of a ring: timers of milliseconds in windows of nanoseconds are far.
const MOST_BUCKETS: u64 = 4096;

/// A shard's events to come.
pub(crate) struct Calendar {
    phases: Phases,
    /// The first phase that the ring holds.
    first: u64,
    /// Buckets of the phases from `first` on, each at its number modulo their count.
    ring: Box<[Vec<Event>]>,
    /// Memory of buckets that are through: what was used last is nearest.
    spare: Vec<Vec<Event>>,
    /// A bit for each bucket that holds something; it has memory then, and only then.
    taken: Box<[u64]>,
    far: BinaryHeap<Reverse<(Event, Beat)>>,
    /// The window of the earliest of these; `u64::MAX`: there is none.
    far_window: u64,
}

impl Calendar {
    /// Empty; events of the next `reach` phases go into buckets.
    pub(crate) fn new(phases: Phases, reach: u64) -> Calendar {
        // At least one whole word of `taken`, and a power of two for `bucket_of`.
        let buckets = reach.clamp(64, MOST_BUCKETS).next_power_of_two() as usize;
        Calendar {
            phases,
            first: 0,
            ring: (0..buckets).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            taken: vec![0; buckets / 64].into(),
            far: BinaryHeap::new(),
            far_window: u64::MAX,
        }
    }

    #[inline]
    fn bucket_of(&self, phase: u64) -> usize {
        // The number of buckets is a power of two.
        phase as usize & (self.ring.len() - 1)
    }

    /// The phase in which a node of this beat handles a time.
    #[inline]
    pub(crate) fn phase(&self, at: Time, beat: Beat) -> u64 {
        self.phases.of(at, beat)
    }

    /// Adds an event of a node of this beat; its phase.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event, beat: Beat) -> u64 {
        let phase = self.phases.of(event.at, beat);
        if phase - self.first >= self.ring.len() as u64 {
            self.push_far(event, beat);
            return phase;
        }
        let number = self.bucket_of(phase);
        // A bucket with memory has its bit in `taken` already, so nothing else is to be set.
        if self.ring[number].capacity() == 0 {
            self.give_memory(number);
        }
        let bucket = &mut self.ring[number];
        prefetch_room(bucket, 16);
        bucket.push(event);
        phase
    }

    /// Adds an event for whose phase the ring has no bucket.
    #[cold]
    #[inline(never)]
    fn push_far(&mut self, event: Event, beat: Beat) {
        self.far.push(Reverse((event, beat)));
        self.far_window = self.far_window.min(self.phases.window(event.at));
    }

    /// Gives memory to a bucket without.
    #[inline(always)]
    fn give_memory(&mut self, number: usize) {
        self.taken[number / 64] |= 1 << (number % 64);
        let spare = self.spare.pop().unwrap_or_else(Self::new_memory);
        // Without a drop of what was there: it has no memory.
        std::mem::forget(std::mem::replace(&mut self.ring[number], spare));
    }

    #[cold]
    #[inline(never)]
    fn new_memory() -> Vec<Event> {
        Vec::with_capacity(64)
    }

    /// The next phase from this one on that may have an event; `u64::MAX`: there is none.
    #[inline]
    pub(crate) fn next(&self, from: u64) -> u64 {
        let from = from.max(self.first);
        let number = self.bucket_of(from);
        // Most often the next phase is in the same word as this one.
        let here = self.taken[number / 64] >> (number % 64);
        let nearest = from + u64::from(here.trailing_zeros());
        // A bit past the ring's end belongs to a phase before `from`, which came round.
        if here != 0 && nearest < self.first + self.ring.len() as u64 {
            // The event goes into the earliest phase that may handle it: one too early does no harm.
            return nearest.min(self.far_window.max(from));
        }
        self.next_far(from)
    }

    /// [`Calendar::next`] where the word of `from` has no later phase.
    #[inline(never)]
    fn next_far(&self, from: u64) -> u64 {
        let far = self.far_window.max(from);
        if from - self.first >= self.ring.len() as u64 {
            return far;
        }
        let number = self.bucket_of(from);
        let words = self.taken.len();
        // Word by word from that bucket on, its word's lower bits last.
        let near = (0..=words).find_map(|nth| {
            let word = (number / 64 + nth) % words;
            let mut bits = self.taken[word];
            if nth == 0 {
                bits &= u64::MAX << (number % 64);
            } else if nth == words {
                bits &= !(u64::MAX << (number % 64));
            }
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        });
        let near = near.map_or(u64::MAX, |near| {
            // Distance from `from`, round the end of the ring.
            let phase = from + (near.wrapping_sub(number) & (self.ring.len() - 1)) as u64;
            // Buckets before `from` come round last: they are no later phases'.
            if phase < self.first + self.ring.len() as u64 { phase } else { u64::MAX }
        });
        near.min(far)
    }

    /// Everything before a phase is handled, but for what a run that was cut short left in those
    /// that share windows with it: its events, in a vector that is to be given back.
    #[inline(always)]
    pub(crate) fn take(&mut self, phase: u64) -> Vec<Event> {
        // Moving `first` makes buckets for later phases, which far events may fit by now.
        self.first = self.first.max(self.phases.first(phase));
        if self.far_window != u64::MAX && self.is_near(self.far_window) {
            self.bring_near();
        }
        let number = self.bucket_of(phase);
        self.taken[number / 64] &= !(1 << (number % 64));
        std::mem::take(&mut self.ring[number])
    }

    /// Whether the ring has a bucket for a window, whoever handles it.
    #[inline]
    fn is_near(&self, window: u64) -> bool {
        self.phases.last(window) < self.first + self.ring.len() as u64
    }

    /// The window of the earliest of the events that are far away.
    fn earliest(&self) -> u64 {
        self.far.peek().map_or(u64::MAX, |Reverse((event, _))| self.phases.window(event.at))
    }

    /// Takes out events that are not to happen.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Event) -> bool) {
        // An emptied bucket keeps its bit: `next` may then name a phase without events, which does
        // no harm.
        self.ring.iter_mut().for_each(|bucket| bucket.retain(&mut keep));
        self.far.retain(|Reverse((event, _))| keep(event));
        self.far_window = self.earliest();
    }

    /// Events that were far away get into buckets.
    #[cold]
    #[inline(never)]
    fn bring_near(&mut self) {
        while let Some(&Reverse((event, beat))) = self.far.peek()
            && self.is_near(self.phases.window(event.at))
        {
            self.far.pop();
            self.push(event, beat);
        }
        self.far_window = self.earliest();
    }

    /// Takes back the vector from [`Calendar::take`], with the events that remain. Events that came
    /// meanwhile are added, and its memory is used again.
    #[inline(always)]
    pub(crate) fn give_back(&mut self, phase: u64, mut events: Vec<Event>) {
        let number = self.bucket_of(phase);
        let bucket = &mut self.ring[number];
        // Events of this very phase came while it was handled: the bucket got memory of its own.
        if bucket.capacity() > 0 {
            events.append(bucket);
            *bucket = Vec::new();
        }
        if events.capacity() == 0 {
            // The phase had visits only: there is no memory to keep.
            return;
        }
        if events.is_empty() {
            return self.spare.push(events);
        }
        self.taken[number / 64] |= 1 << (number % 64);
        self.ring[number] = events;
    }
}

#[cfg(test)]
mod tests {
    use super::super::phases::LONGEST;
    use super::*;
    use crate::ids::NodeId;
    use proptest::prelude::*;
    use switchbed_units::Span;

    #[test]
    fn phases_without_events_leave_nothing() {
        let phases = Phases::new(Span::from_ps(100), LONGEST);
        let mut calendar = Calendar::new(phases, 64);
        for phase in 0..10_000 {
            let events = calendar.take(phase);
            calendar.give_back(phase, events);
        }
        assert!(calendar.spare.is_empty(), "{}", calendar.spare.len());
        // Memory that there is serves again.
        for phase in 10_000..20_000 {
            let (at, beat) = (phases.end(phase - 1), Beat::new(1, 0));
            let own = calendar.push(Event::new(at, NodeId(0), 0), beat);
            let mut events = calendar.take(own);
            events.clear();
            calendar.give_back(own, events);
        }
        assert!(calendar.spare.len() <= 2, "{}", calendar.spare.len());
    }

    proptest! {
        #[test]
        fn phases_come_in_order_with_all_their_events(
            pushes in prop::collection::vec((0u64..200_000, (1u64..40, 0u64..40), 1u8..4), 1..300)
        ) {
            let phases = Phases::new(Span::from_ps(100), LONGEST);
            let mut calendar = Calendar::new(phases, 64);
            let mut all: Vec<(u64, Event)> = Vec::new();
            let mut seen: Vec<(u64, Event)> = Vec::new();
            let (mut now, mut phase) = (0, 0);
            let mut take = |calendar: &mut Calendar, phase: u64| {
                let events = calendar.take(phase);
                seen.extend(events.iter().map(|&event| (phase, event)));
                calendar.give_back(phase, Vec::new());
            };
            for (ahead, (period, number), times) in pushes {
                let (at, beat) = (Time::from_ps(now + ahead), Beat::new(period, number));
                let event = Event::new(at, NodeId::at(all.len()), 0);
                all.push((calendar.push(event, beat), event));
                for _ in 1..times {
                    let next = calendar.next(phase);
                    if next == u64::MAX {
                        break;
                    }
                    take(&mut calendar, next);
                    phase = next + 1;
                    now = phases.end(next).as_ps();
                }
            }
            loop {
                let next = calendar.next(phase);
                if next == u64::MAX {
                    break;
                }
                take(&mut calendar, next);
                phase = next + 1;
            }
            prop_assert!(seen.is_sorted_by_key(|(phase, _)| *phase));
            seen.sort();
            all.sort();
            prop_assert_eq!(seen, all);
        }
    }
}
