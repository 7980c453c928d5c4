//! Shards moved on by several threads, some of them each, that meet after each phase.
//!
//! The threads live as long as the engine, for a run is many calls: one that is started begins on
//! its starter's core as often as not, where the two take turns until the kernel moves one. A
//! shard goes to its thread for the length of a call.
//!
//! Where threads wait for each other after each phase: they spin, for a phase takes microseconds,
//! then let others run.

use super::World;
use super::drive::{Limits, Ran, Sum, sum};
use super::phases::Phases;
use super::shard::Shard;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use switchbed_units::Time;

/// How many turns a thread waits for its next call before it sleeps, some tens of microseconds: most
/// come soon.
const SPINS_FOR_A_CALL: u32 = 1_000;

/// The threads of an engine. The caller's is the first; the others sleep between calls.
pub(super) struct Teams<W: World> {
    meeting: Arc<Meeting<W>>,
    others: Vec<Team<W>>,
}

/// One that is not the caller's.
struct Team<W: World> {
    /// None once it is to end.
    tasks: Option<Sender<Task<W>>>,
    done: Receiver<Vec<Shard<W>>>,
    thread: Option<JoinHandle<()>>,
}

/// A call, as one thread has it.
struct Task<W: World> {
    shards: Vec<Shard<W>>,
    before: Sum,
    limits: Limits,
    spins: u64,
}

/// State that the threads share.
struct Meeting<W: World> {
    phases: Phases,
    /// Number of all shards.
    count: usize,
    /// Number of shards of a thread.
    each: usize,
    barrier: Barrier,
    /// Reports of the threads after a phase, in two turns: one is read while the other is written.
    board: Vec<Posted>,
    /// Mail by turn, sender and receiver.
    boxes: Vec<Mutex<Vec<W::Parcel>>>,
}

impl<W: World> Teams<W> {
    /// Starts the threads, which share the shards evenly.
    pub(super) fn new(count: usize, threads: usize, phases: Phases) -> Teams<W> {
        let each = count.div_ceil(threads);
        // Rounding up may leave the last threads without a shard: they are not started.
        let teams = count.div_ceil(each);
        let meeting = Arc::new(Meeting {
            phases,
            count,
            each,
            barrier: Barrier::new(teams as u64),
            board: (0..2 * teams).map(|_| Posted::default()).collect(),
            boxes: (0..2 * count * count).map(|_| Mutex::new(Vec::new())).collect(),
        });
        let others = (1..teams).map(|team| Team::new(team, &meeting)).collect();
        Teams { meeting, others }
    }

    /// See [`super::Engine::run`]; `a_phase`: events of a phase. Also how many phases there were.
    pub(super) fn run(
        &mut self,
        shards: &mut Vec<Shard<W>>,
        before: Sum,
        limits: Limits,
        a_phase: u64,
    ) -> (Ran, u64) {
        let spins = spins(a_phase);
        // From the back, so that each split leaves the shards of the threads before it in place.
        for (nth, other) in self.others.iter().enumerate().rev() {
            let shards = shards.split_off((nth + 1) * self.meeting.each);
            other.begin(Task { shards, before, limits, spins });
        }
        // The caller works on the first shards itself, while the others work on theirs.
        let ran = self.meeting.work(0, shards, before, limits, spins);
        // In the order of the threads, which restores the order of the shards.
        for other in &mut self.others {
            shards.append(&mut other.end());
        }
        ran
    }
}

impl<W: World> Team<W> {
    fn new(team: usize, meeting: &Arc<Meeting<W>>) -> Team<W> {
        let (tasks, given) = channel::<Task<W>>();
        let (give_back, done) = channel();
        let meeting = Arc::clone(meeting);
        let thread = std::thread::spawn(move || {
            while let Some(Task { mut shards, before, limits, spins }) = next(&given) {
                meeting.work(team, &mut shards, before, limits, spins);
                // The engine was dropped during the call: nobody takes the shards.
                if give_back.send(shards).is_err() {
                    return;
                }
            }
        });
        Team { tasks: Some(tasks), done, thread: Some(thread) }
    }

    fn begin(&self, task: Task<W>) {
        // If its thread has panicked, the barrier says so.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
    }

    fn end(&mut self) -> Vec<Shard<W>> {
        self.done.recv().unwrap_or_else(|_| match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => unreachable!("a thread of the run has left"),
        })
    }
}

impl<W: World> Drop for Team<W> {
    fn drop(&mut self) {
        // Closing the channel ends the thread's loop.
        self.tasks = None;
        // `end` has passed its panic on already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A thread's next call; none if there is none to come.
fn next<T>(tasks: &Receiver<T>) -> Option<T> {
    // Sleeping and waking would cost more than most waits last.
    for _ in 0..SPINS_FOR_A_CALL {
        match tasks.try_recv() {
            Ok(task) => return Some(task),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
    tasks.recv().ok()
}

impl<W: World> Meeting<W> {
    fn mailbox(&self, turn: usize, from: usize, to: usize) -> &Mutex<Vec<W::Parcel>> {
        &self.boxes[(turn * self.count + from) * self.count + to]
    }

    /// A thread's part in a call. Also how many phases there were.
    fn work(
        &self,
        team: usize,
        shards: &mut [Shard<W>],
        mut before: Sum,
        mut limits: Limits,
        spins: u64,
    ) -> (Ran, u64) {
        // If this thread panics before `alarm.off`, the others do not wait for it for ever.
        let alarm = self.barrier.alarm();
        let first = team * self.each;
        let teams = self.board.len() / 2;
        let (mut turn, mut done, mut met) = (0, None, 0);
        let ran = loop {
            // Every thread decides on the same sums, so all end in the same phase.
            let phase = match limits.decide(self.phases, before, done) {
                Ok(phase) => phase,
                Err(ran) => break ran,
            };
            met += 1;
            let until = self.phases.end(phase).min(limits.until);
            done = Some(phase);
            let mut own = Sum::NONE;
            for (from, shard) in (first..).zip(&mut *shards) {
                shard.run(phase, until);
                for (to, mail) in shard.mail.iter_mut().enumerate() {
                    if !mail.is_empty() {
                        // The box was emptied two phases ago: the swap hands its memory back.
                        std::mem::swap(&mut *lock(self.mailbox(turn, from, to)), mail);
                    }
                }
                let earliest = std::mem::replace(&mut shard.earliest, Time::NEVER);
                let mut sum = sum(shard, phase + 1);
                // Mail is in no calendar until after the barrier, so it is counted here. Its phase is
                // its window at the earliest, and never the present one.
                if earliest != Time::NEVER {
                    sum.next = sum.next.min(self.phases.window(earliest).max(phase + 1));
                }
                own = own.and(sum);
            }
            // Relaxed stores are enough: the barrier orders them before the reads below.
            self.board[turn * teams + team].post(own);
            self.barrier.wait(spins);
            // By sender's number, so that the order does not depend on which thread was first.
            for (to, shard) in (first..).zip(&mut *shards) {
                for from in 0..self.count {
                    shard.take_in(&mut lock(self.mailbox(turn, from, to)));
                }
            }
            let posted = &self.board[turn * teams..(turn + 1) * teams];
            before = posted.iter().map(Posted::read).fold(Sum::NONE, Sum::and);
            // A fast thread may post for the next phase while a slow one still reads this one. Two
            // turns suffice, because nobody passes the next barrier before all have read.
            turn ^= 1;
        };
        alarm.off();
        (ran, met)
    }
}

/// Report of a thread to the others after a phase. Aligned to a cache line, since each thread
/// writes its own.
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // After a panic the run ends anyway, and the panic itself is the better message.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that waits for others lets go of its core after so many turns, about a millisecond: one
/// that lets go at once does not get it back in time on a machine that others use too.
const MOST_SPINS: u64 = 20_000;

/// Where phases are short it lets go sooner, after tens of microseconds: whom it waits for has no
/// core then, and a millisecond a phase is hundreds of times what the phase takes.
const LEAST_SPINS: u64 = 500;

/// An event takes as long as so many turns at most.
const SPINS_AN_EVENT: u64 = 50;

/// How many turns a thread waits for others that handle so many events a phase with it.
pub(super) fn spins(a_phase: u64) -> u64 {
    (a_phase * SPINS_AN_EVENT).clamp(LEAST_SPINS, MOST_SPINS)
}

pub(super) struct Barrier {
    count: u64,
    waiting: AtomicU64,
    turn: AtomicU64,
    /// A thread has panicked: nobody waits for it.
    broken: AtomicBool,
}

impl Barrier {
    pub(super) fn new(count: u64) -> Barrier {
        let (waiting, turn) = (AtomicU64::new(0), AtomicU64::new(0));
        Barrier { count, waiting, turn, broken: AtomicBool::new(false) }
    }

    /// Waits until all are here, so many turns before it lets others run.
    pub(super) fn wait(&self, most_spins: u64) {
        // Read before counting oneself in: afterwards the last one may begin the next turn at once.
        let turn = self.turn.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            // Before the new turn is released: whoever sees that turn may count itself in at once.
            self.waiting.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            // Checked in the loop: a thread that has panicked never comes to the barrier.
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the run panicked");
            spins += 1;
            if spins > most_spins {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Tells the others if this thread panics before it is switched off.
    pub(super) fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }
}

/// Rings if its thread panics.
pub(super) struct Alarm<'a>(&'a Barrier);

impl Alarm<'_> {
    pub(super) fn off(self) {
        // Not dropped, so it does not ring.
        std::mem::forget(self);
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::phases::Beat;
    use super::super::{Engine, Event, Outbox, Stage};
    use super::*;
    use crate::ids::NodeId;
    use std::thread::{ThreadId, current};
    use switchbed_units::Span;

    /// A node that something happens to every window, until one of its shard's turns is too many.
    struct Ticking {
        threads: Vec<ThreadId>,
        turns: u32,
    }

    impl World for Ticking {
        type Parcel = Event;

        fn fetch(&self, _: &Event, _: Stage) {}

        fn prepares(&self) -> bool {
            false
        }

        fn prepare(&mut self, _: NodeId, _: &mut [Event], _: Stage) {}

        fn visit(
            &mut self,
            node: NodeId,
            events: &mut [Event],
            end: Time,
            out: &mut Outbox<Event>,
        ) -> Time {
            self.turns = self.turns.checked_sub(1).expect("a turn too many");
            self.threads.push(current().id());
            self.threads.dedup();
            events.iter().for_each(|_| out.event(Event::new(end, node, 0)));
            Time::NEVER
        }

        fn unpack(&mut self, parcel: Event) -> Event {
            parcel
        }

        fn running(&self) -> u64 {
            1
        }
    }

    fn engine(turns: [u32; 3], threads: usize) -> Engine<Ticking> {
        let beat = Beat::new(1, 0);
        let worlds = turns.map(|turns| (Ticking { threads: Vec::new(), turns }, vec![beat]));
        let phases = Phases::new(Span::from_ps(100), 1);
        let mut engine = Engine::new(worlds.into(), (threads, 0), phases, Span::from_ps(1000));
        for shard in &mut engine.shards {
            shard.push(Event::new(Time::ZERO, NodeId(0), 0));
        }
        engine
    }

    #[test]
    fn a_shard_stays_with_its_thread_from_call_to_call() {
        let mut engine = engine([u32::MAX; 3], 3);
        for call in 1..50 {
            engine.run(Time::from_ps(1000 * call), u64::MAX, false);
        }
        assert_eq!(engine.events(), 3 * 490);
        let threads: Vec<_> = engine.shards.iter().map(|shard| &shard.world.threads).collect();
        assert!(threads.iter().all(|own| own.len() == 1), "{threads:?}");
        assert!(threads[0][0] == current().id());
        assert!(threads[1] != threads[0] && threads[2] != threads[0] && threads[2] != threads[1]);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        for turns in [[15, 90, 90], [90, 15, 90], [90, 90, 15]] {
            let mut engine = engine(turns, 2);
            engine.run(Time::from_ps(1000), u64::MAX, false);
            let run = || engine.run(Time::from_ps(9000), u64::MAX, false);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        }
    }
}
