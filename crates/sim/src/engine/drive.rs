//! Shards moved on together, phase by phase, on one thread or on several ([`super::teams`]).

use super::World;
use super::phases::{Beat, Phases};
use super::shard::Shard;
use super::teams::Teams;
use switchbed_units::{Span, Time};

/// Why [`Engine::run`] returned, and the time before which everything has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// The end is reached, or no event is left before it; the time is that of the last one.
    Through(Time),
    /// No flow is under way any more.
    Still(Time),
    /// The requested number of events has been handled.
    Paused(Time),
}

/// All shards of a run, with the threads that move them.
pub(crate) struct Engine<W: World> {
    pub(crate) shards: Vec<Shard<W>>,
    threads: usize,
    /// With fewer events a phase for each of them one thread does the work of all.
    worthwhile: u64,
    phases: Phases,
    /// Events a phase, as the last call had them.
    a_phase: u64,
    /// From the first call on that they are worthwhile for.
    teams: Option<Teams<W>>,
}

/// State of all shards before a phase, which every thread knows.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    /// The next phase with an event; `u64::MAX`: none.
    pub(super) next: u64,
    pub(super) running: u64,
    pub(super) events: u64,
}

impl Sum {
    pub(super) const NONE: Sum = Sum { next: u64::MAX, running: 0, events: 0 };

    #[inline(always)]
    pub(super) fn and(self, other: Sum) -> Sum {
        Sum {
            next: self.next.min(other.next),
            running: self.running + other.running,
            events: self.events + other.events,
        }
    }
}

/// How far a call goes.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) until: Time,
    events: u64,
    /// Whether it ends when nothing is under way any more.
    last: bool,
    /// Reason for its end.
    why: fn(Time) -> Ran,
}

impl<W: World> Engine<W> {
    /// Shards of worlds with nodes of these beats. `reach` is how far ahead most events are.
    pub(crate) fn new(
        worlds: Vec<(W, Vec<Beat>)>,
        (threads, worthwhile): (usize, u64),
        phases: Phases,
        reach: Span,
    ) -> Engine<W> {
        let reach = phases.last(phases.window(Time::ZERO + reach)) + 4;
        let count = worlds.len();
        let shard = |(world, beats)| Shard::new(world, beats, count, phases, reach);
        let shards = worlds.into_iter().map(shard).collect();
        Engine {
            shards,
            threads: threads.clamp(1, count),
            worthwhile,
            phases,
            a_phase: 0,
            teams: None,
        }
    }

    /// Returns the number of events handled so far.
    pub(crate) fn events(&self) -> u64 {
        self.shards.iter().map(|shard| shard.events).sum()
    }

    /// Whether nothing is to come.
    pub(crate) fn idle(&self) -> bool {
        let empty =
            |shard: &Shard<W>| shard.next(0) == u64::MAX && shard.mail.iter().all(Vec::is_empty);
        self.shards.iter().all(empty)
    }

    /// Everything before `until`, or about so many events of it. `last`: nothing will come from
    /// outside, so that the run ends with what runs.
    pub(crate) fn run(&mut self, until: Time, events: u64, last: bool) -> Ran {
        let events = self.events().saturating_add(events);
        let limits = Limits { until, events, last, why: Ran::Through };
        // Changes from outside may have sent mail since the last call.
        self.exchange();
        let sum = self.shards.iter().map(|shard| sum(shard, 0)).fold(Sum::NONE, Sum::and);
        let before = self.events();
        let (ran, phases) =
            // The first call always runs alone: how many events a phase has is known only after it.
            match self.threads > 1 && self.a_phase >= self.worthwhile * self.threads as u64 {
                true => self.run_threads(sum, limits),
                false => self.run_alone(sum, limits),
            };
        // A call without a phase says nothing about how busy phases are.
        self.a_phase = (self.events() - before).checked_div(phases).unwrap_or(self.a_phase);
        ran
    }

    /// Delivers the mail between shards.
    pub(crate) fn exchange(&mut self) {
        for from in 0..self.shards.len() {
            self.shards[from].earliest = Time::NEVER;
            for to in 0..self.shards.len() {
                if !self.shards[from].mail[to].is_empty() {
                    let mut mail = std::mem::take(&mut self.shards[from].mail[to]);
                    self.shards[to].take_in(&mut mail);
                    // Given back empty, so that its memory is used again.
                    self.shards[from].mail[to] = mail;
                }
            }
        }
    }

    /// Also how many phases there were.
    fn run_alone(&mut self, mut before: Sum, mut limits: Limits) -> (Ran, u64) {
        let (mut done, mut count) = (None, 0);
        loop {
            let mut phase = match limits.decide(self.phases, before, done) {
                Ok(phase) => phase,
                Err(ran) => return (ran, count),
            };
            count += 1;
            let end = self.phases.end(phase).min(limits.until);
            before = match &mut self.shards[..] {
                // Apart, since a small phase costs less than the loops over shards.
                [shard] => {
                    shard.run(phase, end);
                    // While no limit is near, there is nothing to decide between phases.
                    let whole = self.phases.whole(limits.until);
                    let mut after = sum(shard, phase + 1);
                    while after.next < whole && !limits.reached(after) {
                        (phase, count) = (after.next, count + 1);
                        shard.run_whole(phase);
                        after = sum(shard, phase + 1);
                    }
                    after
                }
                _ => self.run_each(phase, end),
            };
            done = Some(phase);
        }
    }

    /// Runs a phase of each of several shards.
    #[inline(never)]
    fn run_each(&mut self, phase: u64, end: Time) -> Sum {
        self.shards.iter_mut().for_each(|shard| shard.run(phase, end));
        self.exchange();
        let sums = self.shards.iter().map(|shard| sum(shard, phase + 1));
        sums.fold(Sum::NONE, Sum::and)
    }

    /// Also how many phases there were.
    fn run_threads(&mut self, before: Sum, limits: Limits) -> (Ran, u64) {
        let Engine { shards, threads, phases, a_phase, teams, .. } = self;
        teams
            .get_or_insert_with(|| Teams::new(shards.len(), *threads, *phases))
            .run(shards, before, limits, *a_phase)
    }
}

#[inline(always)]
pub(super) fn sum<W: World>(shard: &Shard<W>, from: u64) -> Sum {
    Sum { next: shard.next(from), running: shard.world.running(), events: shard.events }
}

impl Limits {
    /// Nothing runs any more, nor will.
    #[inline(always)]
    fn still(&self, sum: Sum) -> bool {
        self.last && sum.running == 0
    }

    /// The run ends, wherever time is.
    #[inline(always)]
    fn reached(&self, sum: Sum) -> bool {
        self.still(sum) || sum.events >= self.events
    }

    /// The phase to run next, or why none is; `done`: the one that was run last.
    ///
    /// Nodes whose turn it was are a window ahead of the others: to end at one time for all, it
    /// ends at that of those ahead.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        phases: Phases,
        sum: Sum,
        done: Option<u64>,
    ) -> Result<u64, Ran> {
        if let Some(done) = done {
            let end = phases.end(done);
            // Never later than asked for: `until` only moves back.
            if self.reached(sum) && end < self.until {
                self.until = end;
                self.why = if self.still(sum) { Ran::Still } else { Ran::Paused };
            }
        }
        if sum.next != u64::MAX && phases.begin(sum.next) < self.until {
            return Ok(sum.next);
        }
        let last = done.map_or(Time::ZERO, |done| phases.end(done));
        Err((self.why)(if self.until == Time::NEVER { last } else { self.until }))
    }
}
