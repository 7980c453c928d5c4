//! Each class's goodput over time.

use switchbed_qdisc::units::{Span, Time};
use switchbed_sim::fair::FairShares;

/// What every class's receivers took in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct GoodputSample {
    /// The interval's end.
    pub at: Time,
    /// Payload in bytes, taken in order, by class.
    pub taken: Box<[u64; 256]>,
    /// Payload in bits that each class would have had in max-min fair shares ([`switchbed_sim::fair`]).
    pub fair_bits: Box<[f64; 256]>,
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
}

impl Goodputs {
    /// One that begins with the run.
    pub(crate) fn new(every: Span, fair: FairShares) -> Goodputs {
        let next = Time::ZERO + every;
        Goodputs {
            every,
            next,
            before: Box::new([0; 256]),
            fair,
            fair_before: Box::new([0.0; 256]),
            samples: Vec::new(),
        }
    }

    /// Who shares what, to be told of changes.
    pub(crate) fn fair(&mut self) -> &mut FairShares {
        &mut self.fair
    }

    /// An interval ends; `after` is what each class's receivers have taken so far.
    pub(crate) fn sample(&mut self, after: Box<[u64; 256]>, now: Time) {
        let mut taken = after.clone();
        taken.iter_mut().zip(self.before.iter()).for_each(|(taken, before)| *taken -= before);
        let fair_after = self.fair.bits(now);
        let mut fair_bits = fair_after.clone();
        fair_bits
            .iter_mut()
            .zip(self.fair_before.iter())
            .for_each(|(bits, before)| *bits -= before);
        self.fair_before = fair_after;
        self.samples.push(GoodputSample { at: now, taken, fair_bits });
        self.before = after;
        self.next = now + self.every;
    }
}
