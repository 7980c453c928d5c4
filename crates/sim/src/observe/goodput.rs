//! Each class's goodput over time.

use super::fair::FairShares;
use super::room::Room;
use switchbed_qdisc::units::{Span, Time};

/// What every class's receivers took in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct GoodputSample {
    /// The interval's end.
    pub at: Time,
    /// Up to the last class that anything was taken in or due to so far: its payload in bytes,
    /// taken in order, and the bits that it would have had in max-min fair shares
    /// ([`super::fair`]).
    classes: Box<[(u64, f64)]>,
}

impl GoodputSample {
    /// Payload of a class in bytes, taken in order.
    pub fn taken(&self, class: usize) -> u64 {
        self.classes.get(class).map_or(0, |class| class.0)
    }
    /// Payload in bits that a class would have had in max-min fair shares.
    pub fn fair_bits(&self, class: usize) -> f64 {
        self.classes.get(class).map_or(0.0, |class| class.1)
    }
}

/// The series.
pub(crate) struct Goodputs {
    every: Span,
    /// When the interval under way ends.
    pub(crate) next: Time,
    /// What each class's receivers had taken when it began.
    before: Box<[u64; 256]>,
    fair: FairShares,
    /// What each class would have had when the interval under way began.
    fair_before: Box<[f64; 256]>,
    pub(crate) samples: Vec<GoodputSample>,
    pub(crate) room: Room,
}

impl Goodputs {
    /// One that begins with the run.
    pub(crate) fn new(every: Span, fair: FairShares, room: Room) -> Goodputs {
        let next = Time::ZERO + every;
        Goodputs {
            every,
            next,
            before: Box::new([0; 256]),
            fair,
            fair_before: Box::new([0.0; 256]),
            samples: Vec::new(),
            room,
        }
    }

    /// Who shares what, to be told of changes.
    pub(crate) fn fair(&mut self) -> &mut FairShares {
        &mut self.fair
    }

    /// An interval ends; `after` is what each class's receivers have taken so far.
    pub(crate) fn sample(&mut self, after: Box<[u64; 256]>, now: Time) {
        let fair_after = self.fair.bits(now);
        let seen = |class: &usize| after[*class] > 0 || fair_after[*class] > 0.0;
        let classes = (0..256).rfind(seen).map_or(0, |last| last + 1);
        self.next = now + self.every;
        if !self.room.take(classes.max(1) as u64, now) {
            self.next = Time::NEVER;
            return;
        }
        let of = |class| {
            let fair = fair_after[class] - self.fair_before[class];
            (after[class] - self.before[class], fair)
        };
        self.samples.push(GoodputSample { at: now, classes: (0..classes).map(of).collect() });
        (self.before, self.fair_before) = (after, fair_after);
    }
}
