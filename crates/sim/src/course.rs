//! How far a rank is with its program.

use std::collections::{BTreeMap, VecDeque};
use switchbed_scenario::traffic::program::{ANY, Schedule};
use switchbed_units::{Span, Time};

/// No operation, or no message.
pub(crate) const NONE: u32 = u32::MAX;

/// How an operation of the repetition under way came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// When it began.
    pub(crate) began: Time,
    /// The operation at this rank whose end was the last that it waited for; [`NONE`]: a message, or the beginning.
    pub(crate) after: u32,
    /// The message that a receive took.
    pub(crate) message: u32,
}

impl Origin {
    const UNKNOWN: Origin = Origin { began: Time::ZERO, after: NONE, message: NONE };
}

/// Small numbers, a byte each; those from [`Few::LARGE`] on are kept apart. Schedules have millions of operations,
/// most of which wait for one or two others.
#[derive(Clone, Debug, Default)]
struct Few {
    small: Vec<u8>,
    large: BTreeMap<u32, u32>,
}

impl Few {
    const LARGE: u8 = u8::MAX;

    /// Makes so many zeros.
    fn zeros(count: usize) -> Few {
        Few { small: vec![0; count], large: BTreeMap::new() }
    }

    fn len(&self) -> usize {
        self.small.len()
    }

    #[inline]
    fn get(&self, nth: usize) -> u32 {
        match self.small[nth] {
            Few::LARGE => self.large.get(&(nth as u32)).copied().unwrap_or(0),
            small => small.into(),
        }
    }

    #[inline]
    fn set(&mut self, nth: usize, value: u32) {
        if self.small[nth] == Few::LARGE {
            self.large.remove(&(nth as u32));
        }
        self.small[nth] = match u8::try_from(value) {
            Ok(small) if small < Few::LARGE => small,
            _ => {
                self.large.insert(nth as u32, value);
                Few::LARGE
            }
        };
    }
}

/// A rank's part of a program, and which of its operations are done.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// First operation of the rank. Then for each operation how many others it still waits for; a
    /// receive also waits for its message.
    first: u32,
    missing: Few,
    /// Messages that have come for each, in all repetitions.
    arrived: Few,
    /// Receives that wait for nothing but a message that fits, and messages that have fitted none, in their order.
    posted: Vec<u32>,
    unexpected: Vec<u32>,
    /// Where somebody asks: how each operation came about.
    origins: Option<Vec<Origin>>,
    /// Operations that wait for nothing and are to be done, in the order in which that was so.
    ready: VecDeque<u32>,
    /// Operations of this repetition that are not done.
    left: u32,
    /// The repetitions that it has begun.
    begun: u32,
    /// When the last of them began.
    pub(crate) began: Time,
    /// When each of its processors is through with what it has been given.
    processors: BTreeMap<u32, Time>,
}

impl Course {
    /// A rank that has not begun.
    pub(crate) fn new(program: &Schedule, rank: u32, traced: bool) -> Course {
        let operations = program.of_rank(rank);
        let zeros = Few::zeros(operations.len());
        Course {
            first: operations.start,
            missing: zeros.clone(),
            arrived: zeros,
            posted: Vec::new(),
            unexpected: Vec::new(),
            origins: traced.then(|| vec![Origin::UNKNOWN; operations.len()]),
            ready: VecDeque::new(),
            left: 0,
            begun: 0,
            began: Time::ZERO,
            processors: BTreeMap::new(),
        }
    }

    /// The repetition under way, or the last.
    pub(crate) fn round(&self) -> u32 {
        self.begun.saturating_sub(1)
    }

    /// Whether all operations of all repetitions are done.
    pub(crate) fn is_over(&self, program: &Schedule) -> bool {
        self.left == 0 && self.begun == program.repeats
    }

    /// A repetition begins. Its messages may have come before.
    pub(crate) fn begin(&mut self, program: &Schedule, now: Time) {
        self.left = self.missing.len() as u32;
        for (number, nth) in (self.first..).zip(0..self.missing.len()) {
            let operation = program.operation(number);
            // Peers may be a repetition ahead: `arrived` counts all of a message's arrivals,
            // `begun` those used.
            let comes = operation.work.receives() && self.arrived.get(nth) <= self.begun;
            let missing = operation.waits_for + u32::from(comes);
            self.missing.set(nth, missing);
            if missing == 0 {
                self.ready.push_back(number);
            }
        }
        (self.begun, self.began) = (self.begun + 1, now);
        for (number, nth) in (self.first..).zip(0..self.missing.len()) {
            // A receive from anybody is posted once all but its message is there.
            if self.missing.get(nth) == 1 && program.operation(number).work.receives() {
                self.post(program, number);
            }
        }
    }

    /// A message is here.
    pub(crate) fn arrive(&mut self, program: &Schedule, nth: u32) {
        let message = program.message(nth);
        if message.received_by != ANY {
            return self.take(program, message.received_by, nth);
        }
        let takes = |&number: &u32| program.pattern(number).is_some_and(|of| of.takes(&message));
        // MPI matches in the order of posting: the earliest receive that fits takes the message.
        match self.posted.iter().position(takes) {
            Some(at) => {
                let number = self.posted.remove(at);
                self.take(program, number, nth);
            }
            None => self.unexpected.push(nth),
        }
    }

    /// A receive that takes any message looks for one.
    fn post(&mut self, program: &Schedule, number: u32) {
        let Some(pattern) = program.pattern(number) else { return };
        let mut waiting = self.unexpected.iter();
        match waiting.position(|&nth| pattern.takes(&program.message(nth))) {
            Some(at) => {
                let nth = self.unexpected.remove(at);
                self.take(program, number, nth);
            }
            None => self.posted.push(number),
        }
    }

    /// An operation's message is here.
    fn take(&mut self, program: &Schedule, number: u32, message: u32) {
        if let Some(origin) = self.origin(number) {
            origin.message = message;
        }
        let nth = (number - self.first) as usize;
        let arrived = self.arrived.get(nth) + 1;
        self.arrived.set(nth, arrived);
        if arrived == self.begun {
            self.unblock(program, number, NONE);
        }
    }

    fn origin(&mut self, number: u32) -> Option<&mut Origin> {
        let nth = (number - self.first) as usize;
        self.origins.as_mut().map(|origins| &mut origins[nth])
    }

    /// How an operation that is done came about, where somebody asks.
    pub(crate) fn came_about(&self, number: u32) -> Option<Origin> {
        Some(self.origins.as_ref()?[(number - self.first) as usize])
    }

    fn unblock(&mut self, program: &Schedule, number: u32, after: u32) {
        let nth = (number - self.first) as usize;
        let missing = self.missing.get(nth);
        // One that waits for some of several may have begun already.
        let begins = missing == 1;
        if begins {
            self.ready.push_back(number);
        }
        let missing = missing.saturating_sub(1);
        self.missing.set(nth, missing);
        let receives = missing == 1 && program.operation(number).work.receives();
        if begins && let Some(origin) = self.origin(number) {
            origin.after = after;
        }
        if receives {
            self.post(program, number);
        }
    }

    /// The next operation to be done.
    pub(crate) fn next(&mut self, now: Time) -> Option<u32> {
        let number = self.ready.pop_front()?;
        if let Some(origin) = self.origin(number) {
            origin.began = now;
        }
        Some(number)
    }

    /// When a processor is through with something new.
    pub(crate) fn occupy(&mut self, cpu: u32, span: Span, now: Time) -> Time {
        let free = self.processors.entry(cpu).or_insert(now);
        *free = now.max(*free) + span;
        *free
    }

    /// An operation is done; whether the repetition is over with it.
    pub(crate) fn done(&mut self, program: &Schedule, number: u32) -> bool {
        program.followers(number).iter().for_each(|&next| self.unblock(program, next, number));
        self.left -= 1;
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn few_numbers_are_kept_whatever_their_size(
            sets in proptest::collection::vec((0usize..4, prop_oneof![0u32..4, 253u32..258, Just(u32::MAX)]), 0..40)
        ) {
            let (mut few, mut plain) = (Few::zeros(4), [0u32; 4]);
            for (nth, value) in sets {
                few.set(nth, value);
                plain[nth] = value;
                prop_assert_eq!([0, 1, 2, 3].map(|nth| few.get(nth)), plain);
                let large = plain.iter().filter(|&&value| value >= u32::from(Few::LARGE)).count();
                prop_assert_eq!(few.large.len(), large);
            }
        }
    }
}
