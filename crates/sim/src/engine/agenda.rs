//! Agenda of a shard: its coming events, and the visits of its nodes.

use super::calendar::Calendar;
use super::phases::{Beat, Phases};
use super::wakes::Wakes;
use super::{Event, WAKE};
use crate::ids::NodeId;
use switchbed_units::Time;

/// A shard's events and visits to come.
pub(super) struct Agenda {
    pub(super) calendar: Calendar,
    /// By node.
    beats: Vec<Beat>,
    /// Visits in the phases that come next.
    pub(super) wakes: Wakes,
    /// By node, its earliest visit that was asked for, is still to come and is further away.
    pub(super) far: Vec<Time>,
    /// The phase that is handled, or was handled last.
    phase: u64,
}

impl Agenda {
    /// Makes an empty agenda for nodes of these beats. Events of the next `reach` phases go into buckets.
    pub(super) fn new(beats: Vec<Beat>, phases: Phases, reach: u64) -> Agenda {
        let nodes = beats.len();
        Agenda {
            calendar: Calendar::new(phases, reach),
            beats,
            wakes: Wakes::new(nodes),
            far: vec![Time::NEVER; nodes],
            phase: 0,
        }
    }

    /// Adds an event; its phase.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) -> u64 {
        self.calendar.push(event, self.beats[event.node().index()])
    }

    /// Sees to it that a node is visited by a time.
    #[inline]
    pub(super) fn wake(&mut self, node: NodeId, at: Time) {
        let phase = self.calendar.phase(at, self.beats[node.index()]);
        if Wakes::near(phase, self.phase) {
            self.wakes.add(phase, node);
        } else if at < self.far[node.index()] {
            // The event of a later visit, if any, stays: one visit too many does no harm.
            self.far[node.index()] = at;
            self.push(Event::new(at, node, WAKE));
        }
    }

    /// The next phase from this one on with something to do; `u64::MAX`: none.
    #[inline]
    pub(super) fn next(&self, from: u64) -> u64 {
        self.calendar.next(from).min(self.wakes.next(from))
    }

    /// A phase's events, in a vector that is to be given back to the calendar.
    #[inline]
    pub(super) fn take(&mut self, phase: u64) -> Vec<Event> {
        self.phase = phase;
        self.calendar.take(phase)
    }
}
