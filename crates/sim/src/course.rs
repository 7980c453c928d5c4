//! How far a rank is with its program.

use std::collections::{BTreeMap, VecDeque};
use switchbed_scenario::traffic::program::{Program, Work};
use switchbed_units::{Span, Time};

/// A rank's part of a program, and which of its operations are done.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// First operation of the rank. Then for each operation how many others it still waits for; a
    /// receive also waits for its message.
    first: u32,
    missing: Vec<u32>,
    /// Messages that have come for each, in all repetitions.
    arrived: Vec<u32>,
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
    pub(crate) fn new(program: &Program, rank: u32) -> Course {
        let operations = program.of_rank(rank);
        let zeros = vec![0; operations.len()];
        Course {
            first: operations.start,
            missing: zeros.clone(),
            arrived: zeros,
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
    pub(crate) fn is_over(&self, program: &Program) -> bool {
        self.left == 0 && self.begun == program.repeats
    }

    /// A repetition begins. Its messages may have come before.
    pub(crate) fn begin(&mut self, program: &Program, now: Time) {
        self.left = self.missing.len() as u32;
        for (number, nth) in (self.first..).zip(0..self.missing.len()) {
            let operation = program.operation(number);
            let comes = operation.work == Work::Receive && self.arrived[nth] <= self.begun;
            self.missing[nth] = operation.waits_for + u32::from(comes);
            if self.missing[nth] == 0 {
                self.ready.push_back(number);
            }
        }
        (self.begun, self.began) = (self.begun + 1, now);
    }

    /// A message for an operation is here.
    pub(crate) fn arrive(&mut self, number: u32) {
        let arrived = &mut self.arrived[(number - self.first) as usize];
        *arrived += 1;
        if *arrived == self.begun {
            self.unblock(number);
        }
    }

    fn unblock(&mut self, number: u32) {
        let missing = &mut self.missing[(number - self.first) as usize];
        // One that waits for some of several may have begun already.
        if *missing == 1 {
            self.ready.push_back(number);
        }
        *missing = missing.saturating_sub(1);
    }

    /// The next operation to be done.
    pub(crate) fn next(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// When a processor is through with something new.
    pub(crate) fn occupy(&mut self, cpu: u32, span: Span, now: Time) -> Time {
        let free = self.processors.entry(cpu).or_insert(now);
        *free = now.max(*free) + span;
        *free
    }

    /// An operation is done; whether the repetition is over with it.
    pub(crate) fn done(&mut self, program: &Program, number: u32) -> bool {
        program.followers(number).iter().for_each(|&after| self.unblock(after));
        self.left -= 1;
        self.left == 0
    }
}
