//! Which of a port's queues may not send, as its peer has asked by pause frames (IEEE 802.1Q, clause 36,
//! priority-based flow control).
//!
//! A frame takes effect when its receiver has responded, and ends by itself; a resume is a pause of no
//! length. Both are facts about the line with their times, so a port that is settled late sees each
//! departure's own: nothing need be done as a pause begins or ends.

use crate::packet::QueueId;
use crate::set::QueueSet;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// One queue's pauses.
#[derive(Clone, Debug)]
struct Paused {
    queue: QueueId,
    /// The pause in force is from then to then.
    from: Time,
    until: Time,
    /// Those that will take its place, each from a time on.
    next: VecDeque<(Time, Time)>,
    /// How long it was paused before that one.
    total: Span,
}

impl Paused {
    /// What has taken effect by now.
    fn advance(&mut self, now: Time) {
        while let Some(&(from, until)) = self.next.front().filter(|next| next.0 <= now) {
            self.next.pop_front();
            self.total += self.until.min(from).since(self.from);
            (self.from, self.until) = (from, until);
        }
    }

    /// When what holds now may be otherwise.
    fn changes(&self, now: Time) -> Time {
        let next = self.next.front().map_or(Time::NEVER, |next| next.0);
        if self.until > now { self.until.min(next) } else { next }
    }
}

/// A port's.
#[derive(Clone, Debug, Default)]
pub struct Pauses(Vec<Paused>);

impl Pauses {
    /// A queue may not send from a time on until another. Frames come in the order of their times.
    pub fn pause(&mut self, queue: QueueId, from: Time, until: Time) {
        let of = |paused: &Paused| paused.queue == queue;
        let nth = self.0.iter().position(of).unwrap_or_else(|| {
            let (from, until, next) = (Time::ZERO, Time::ZERO, VecDeque::new());
            self.0.push(Paused { queue, from, until, next, total: Span::ZERO });
            self.0.len() - 1
        });
        self.0[nth].next.push_back((from, until));
    }

    /// The queues that may not send now.
    pub fn held(&mut self, now: Time) -> QueueSet {
        let mut held = QueueSet::EMPTY;
        for paused in &mut self.0 {
            paused.advance(now);
            if paused.until > now {
                held.insert(paused.queue);
            }
        }
        held
    }

    /// When one of these queues, all of which are held now, may send.
    pub fn ends(&self, queues: QueueSet, now: Time) -> Time {
        let of = self.0.iter().filter(|paused| queues.contains(paused.queue));
        of.map(|paused| paused.changes(now)).min().unwrap_or(Time::NEVER)
    }

    /// How long a queue has been paused by now.
    pub fn total(&self, queue: QueueId, now: Time) -> Span {
        let Some(paused) = self.0.iter().find(|paused| paused.queue == queue) else {
            return Span::ZERO;
        };
        let mut paused = paused.clone();
        paused.advance(now);
        paused.total + paused.until.min(now).since(paused.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ps(1_000 * ns)
    }

    #[test]
    fn a_pause_lasts_until_it_ends_by_itself_or_a_resume_comes() {
        let mut pauses = Pauses::default();
        pauses.pause(3, at(10), at(100));
        let held = |pauses: &mut Pauses, ns| pauses.held(at(ns)).contains(3);
        assert!(!held(&mut pauses, 9) && held(&mut pauses, 10) && held(&mut pauses, 99));
        assert!(!held(&mut pauses, 100));
        pauses.pause(3, at(200), at(300));
        pauses.pause(3, at(250), at(250));
        assert!(held(&mut pauses, 200));
        let mut of = QueueSet::EMPTY;
        of.insert(3);
        assert_eq!(pauses.ends(of, at(200)), at(250));
        assert!(held(&mut pauses, 249));
        // 90 and 50.
        assert_eq!(pauses.total(3, at(240)), Span::from_ns(90 + 40));
        assert!(!held(&mut pauses, 250));
        assert_eq!(pauses.total(3, at(400)), Span::from_ns(140));
    }

    #[test]
    fn a_pause_that_is_renewed_goes_on_and_is_counted_once() {
        let mut pauses = Pauses::default();
        pauses.pause(0, at(10), at(110));
        pauses.pause(0, at(60), at(160));
        let mut of = QueueSet::EMPTY;
        of.insert(0);
        // The change at 60 may be looked at for nothing.
        assert!(pauses.held(at(50)).contains(0) && pauses.ends(of, at(50)) == at(60));
        assert!(pauses.held(at(110)).contains(0) && pauses.ends(of, at(110)) == at(160));
        assert_eq!(pauses.total(0, at(200)), Span::from_ns(150));
    }
}
