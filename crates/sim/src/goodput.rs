//! Each class's goodput over time.

use crate::endpoints::Endpoints;
use switchbed_qdisc::units::{Span, Time};

/// What every class's receivers took in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct GoodputSample {
    /// The interval's end.
    pub at: Time,
    /// Payload in bytes, taken in order, by class.
    pub taken: Box<[u64; 256]>,
}

/// The series.
pub(crate) struct Goodputs {
    every: Span,
    /// When the interval under way ends.
    pub(crate) next: Time,
    /// What each class's receivers had taken when it began.
    before: Box<[u64; 256]>,
    pub(crate) samples: Vec<GoodputSample>,
}

impl Goodputs {
    /// One that begins with the run.
    pub(crate) fn new(every: Span) -> Goodputs {
        let next = Time::ZERO + every;
        Goodputs { every, next, before: Box::new([0; 256]), samples: Vec::new() }
    }

    /// An interval ends.
    pub(crate) fn sample(&mut self, hosts: &Endpoints, now: Time) {
        let after = hosts.taken();
        let mut taken = after.clone();
        taken.iter_mut().zip(self.before.iter()).for_each(|(taken, before)| *taken -= before);
        self.samples.push(GoodputSample { at: now, taken });
        self.before = after;
        self.next = now + self.every;
    }
}
