//! Shards moved on together, phase by phase, on one thread or on several.

use super::World;
use super::phases::{Beat, Phases};
use super::shard::Shard;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use switchbed_qdisc::units::{Span, Time};

/// A thread that waits for others lets go of its core after so many turns, about a millisecond: one
/// that lets go at once does not get it back in time on a machine that others use too.
const MOST_SPINS: u64 = 20_000;

/// Where phases are short it lets go sooner, after tens of microseconds: whom it waits for has no
/// core then, and a millisecond a phase is hundreds of times what the phase takes.
const LEAST_SPINS: u64 = 500;

/// An event takes as long as so many turns at most.
const SPINS_AN_EVENT: u64 = 50;

/// Why [`Engine::run`] returned, and the time before which everything has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It is there; or nothing more is to happen before, and this is when the last did.
    Through(Time),
    /// Nothing runs any more.
    Still(Time),
    /// So many events have been handled.
    Paused(Time),
}

/// All shards.
pub(crate) struct Engine<W: World> {
    pub(crate) shards: Vec<Shard<W>>,
    threads: usize,
    /// With fewer events a phase for each of them one thread does the work of all.
    worthwhile: u64,
    phases: Phases,
    /// The events of each phase's busiest shard, summed.
    busiest: u64,
    /// Events a phase, as the last call had them.
    a_phase: u64,
}

/// What every thread knows before a phase.
#[derive(Clone, Copy)]
struct Sum {
    /// The next phase with an event; `u64::MAX`: none.
    next: u64,
    running: u64,
    events: u64,
}

impl Sum {
    const NONE: Sum = Sum { next: u64::MAX, running: 0, events: 0 };

    fn and(self, other: Sum) -> Sum {
        Sum {
            next: self.next.min(other.next),
            running: self.running + other.running,
            events: self.events + other.events,
        }
    }
}

/// How far a call goes.
#[derive(Clone, Copy)]
struct Limits {
    until: Time,
    events: u64,
    /// It ends when nothing runs any more.
    last: bool,
    /// Why it will end.
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
            busiest: 0,
            a_phase: 0,
        }
    }

    /// Events handled so far.
    pub(crate) fn events(&self) -> u64 {
        self.shards.iter().map(|shard| shard.events).sum()
    }

    /// How many times as fast as one thread as many threads as there are shards can be at most,
    /// where a phase lasts as long as its busiest shard. Known of runs on one thread.
    pub(crate) fn bound(&self) -> f64 {
        self.events() as f64 / self.busiest.max(1) as f64
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
        self.exchange();
        let sum = self.shards.iter().map(|shard| sum(shard, 0)).fold(Sum::NONE, Sum::and);
        let before = self.events();
        let (ran, phases) =
            match self.threads > 1 && self.a_phase >= self.worthwhile * self.threads as u64 {
                true => self.run_threads(sum, limits),
                false => self.run_alone(sum, limits),
            };
        self.a_phase = (self.events() - before).checked_div(phases).unwrap_or(self.a_phase);
        ran
    }

    /// Delivers the mail.
    fn exchange(&mut self) {
        for from in 0..self.shards.len() {
            self.shards[from].earliest = Time::NEVER;
            for to in 0..self.shards.len() {
                if !self.shards[from].mail[to].is_empty() {
                    let mut mail = std::mem::take(&mut self.shards[from].mail[to]);
                    self.shards[to].take_in(&mut mail);
                    // Its memory serves again.
                    self.shards[from].mail[to] = mail;
                }
            }
        }
    }

    /// Also how many phases there were.
    fn run_alone(&mut self, mut before: Sum, mut limits: Limits) -> (Ran, u64) {
        let (mut done, mut count) = (None, 0);
        loop {
            let phase = match limits.decide(self.phases, before, done) {
                Ok(phase) => phase,
                Err(ran) => return (ran, count),
            };
            count += 1;
            let end = self.phases.end(phase).min(limits.until);
            let mut busiest = 0;
            for shard in &mut self.shards {
                let before = shard.events;
                shard.run(phase, end);
                busiest = busiest.max(shard.events - before);
            }
            self.busiest += busiest;
            if self.shards.len() > 1 {
                self.exchange();
            }
            let sums = self.shards.iter().map(|shard| sum(shard, phase + 1));
            before = sums.fold(Sum::NONE, Sum::and);
            done = Some(phase);
        }
    }

    /// Also how many phases there were.
    fn run_threads(&mut self, before: Sum, limits: Limits) -> (Ran, u64) {
        let phases = self.phases;
        let count = self.shards.len();
        let boxes: Vec<Mutex<Vec<W::Parcel>>> =
            (0..2 * count * count).map(|_| Mutex::new(Vec::new())).collect();
        let each = count.div_ceil(self.threads);
        let teams = count.div_ceil(each);
        let board: Vec<Posted> = (0..2 * teams).map(|_| Posted::default()).collect();
        let barrier = Barrier::new(teams as u64, self.a_phase);
        let work = |team: usize, shards: &mut [Shard<W>]| {
            let alarm = barrier.alarm();
            let place =
                |turn: usize, from: usize, to: usize| &boxes[(turn * count + from) * count + to];
            let (mut before, mut turn, mut done, mut limits) = (before, 0, None, limits);
            let mut met = 0;
            let ran = loop {
                let phase = match limits.decide(phases, before, done) {
                    Ok(phase) => phase,
                    Err(ran) => break ran,
                };
                met += 1;
                let until = phases.end(phase).min(limits.until);
                done = Some(phase);
                let mut own = Sum::NONE;
                for (nth, shard) in shards.iter_mut().enumerate() {
                    shard.run(phase, until);
                    for to in 0..count {
                        if !shard.mail[to].is_empty() {
                            let mut mail = lock(place(turn, team * each + nth, to));
                            std::mem::swap(&mut *mail, &mut shard.mail[to]);
                        }
                    }
                    let earliest = std::mem::replace(&mut shard.earliest, Time::NEVER);
                    let mut sum = sum(shard, phase + 1);
                    if earliest != Time::NEVER {
                        sum.next = sum.next.min(phases.window(earliest).max(phase + 1));
                    }
                    own = own.and(sum);
                }
                board[turn * teams + team].post(own);
                barrier.wait();
                for (nth, shard) in shards.iter_mut().enumerate() {
                    for from in 0..count {
                        let mut mail = lock(place(turn, from, team * each + nth));
                        shard.take_in(&mut mail);
                    }
                }
                let posted = &board[turn * teams..(turn + 1) * teams];
                before = posted.iter().map(Posted::read).fold(Sum::NONE, Sum::and);
                turn ^= 1;
            };
            alarm.off();
            (ran, met)
        };
        std::thread::scope(|scope| {
            let mut teams = self.shards.chunks_mut(each).enumerate();
            let first = teams.next();
            for (team, shards) in teams {
                let work = &work;
                scope.spawn(move || work(team, shards));
            }
            first.map_or((Ran::Through(limits.until), 0), |(team, shards)| work(team, shards))
        })
    }
}

fn sum<W: World>(shard: &Shard<W>, from: u64) -> Sum {
    Sum { next: shard.next(from), running: shard.world.running(), events: shard.events }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Limits {
    /// The phase to run next, or why none is; `done`: the one that was run last.
    ///
    /// Nodes whose turn it was are a window ahead of the others: to end at one time for all, it
    /// ends at that of those ahead.
    fn decide(&mut self, phases: Phases, sum: Sum, done: Option<u64>) -> Result<u64, Ran> {
        if let Some(done) = done {
            let still = self.last && sum.running == 0;
            let end = phases.end(done);
            if (still || sum.events >= self.events) && end < self.until {
                self.until = end;
                self.why = if still { Ran::Still } else { Ran::Paused };
            }
        }
        if sum.next != u64::MAX && phases.begin(sum.next) < self.until {
            return Ok(sum.next);
        }
        let last = done.map_or(Time::ZERO, |done| phases.end(done));
        Err((self.why)(if self.until == Time::NEVER { last } else { self.until }))
    }
}

/// What a thread tells the others after a phase.
#[derive(Default)]
#[repr(align(64))]
struct Posted {
    next: AtomicU64,
    running: AtomicU64,
    events: AtomicU64,
}

impl Posted {
    fn post(&self, sum: Sum) {
        self.next.store(sum.next, Ordering::Relaxed);
        self.running.store(sum.running, Ordering::Relaxed);
        self.events.store(sum.events, Ordering::Relaxed);
    }

    fn read(&self) -> Sum {
        Sum {
            next: self.next.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
        }
    }
}

/// Where threads wait for each other after each phase: they spin, for a phase takes
/// microseconds, then let others run.
struct Barrier {
    count: u64,
    spins: u64,
    waiting: AtomicU64,
    turn: AtomicU64,
    /// A thread has panicked: nobody waits for it.
    broken: AtomicBool,
}

impl Barrier {
    /// For so many threads that each handle some of so many events a phase.
    fn new(count: u64, a_phase: u64) -> Barrier {
        Barrier {
            count,
            spins: (a_phase * SPINS_AN_EVENT).clamp(LEAST_SPINS, MOST_SPINS),
            waiting: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn wait(&self) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.waiting.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the run panicked");
            spins += 1;
            if spins > self.spins {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }
}

/// Rings if its thread panics.
struct Alarm<'a>(&'a Barrier);

impl Alarm<'_> {
    fn off(self) {
        std::mem::forget(self);
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}
