//! Runs a sequence of operations on two ports that share an arena and a pool, as a switch
//! would: a port sends whenever its line is free and it has something to send.

use super::cases::Case;
use super::model::Model;
use super::spy::{PolicySpy, Seen, Spy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use switchbed_qdisc::hooks::{Expulsion, Feedback};
use switchbed_qdisc::memory::SwitchMemory;
use switchbed_qdisc::port::view::{DropReason, PortState};
use switchbed_qdisc::port::{Cx, Dequeued, Dropped, Enqueued, Outcome, Passed, Port, Qdisc};
use switchbed_qdisc::{Arena, Ecn, Packet, QueueId, QueueSet, Random, SlotId};
use switchbed_units::{Bytes, Rate, Span, Time};

/// Ports of the switch.
pub const PORTS: usize = 2;
/// Their rate at the start.
pub const RATE: Rate = Rate::from_gbps(10);

/// From a pause on to when the port heeds it.
const RESPONSE: Span = Span::from_ns(700);

/// One operation, so long after the one before.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub after: Span,
    pub port: usize,
    pub op: Op,
}

/// What happens to a port besides its own departures.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Arrive(Packet),
    SetRate(Rate),
    /// Its peer pauses a queue for so long, once the port has responded; no time at all is a resume. Where
    /// queues cannot be paused, nothing happens.
    Pause {
        queue: QueueId,
        lasts: Span,
    },
}

/// What came of it, in the order in which it happened. Packets are named by the step that
/// brought them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    In { step: usize, queue: QueueId },
    Refused { step: usize, queue: QueueId, why: DropReason },
    Dropped { step: usize, at: Time, queue: QueueId, why: DropReason },
    Told(Feedback),
    Sent { step: usize, at: Time, until: Time, queue: QueueId, ecn: Ecn, marked: bool },
    Waits { port: usize, at: Time, until: Time },
    Probe { thresholds_bytes: [Option<f64>; 4], round_time: Option<Span> },
}

/// How to run a sequence.
#[derive(Default)]
struct How {
    /// Settle every port at each of its tick times instead of leaving that to the port.
    eager: bool,
    /// Offer what finds an idle port to pass through.
    straight: bool,
    /// Steps to leave out; the clock runs as if they had come.
    skip: BTreeSet<usize>,
}

/// The whole suite on one sequence: everything that is checked after each operation; ticks
/// left to the port do what ticks at their own times do; a packet that passes through does
/// what one does that is stored and sent; and a refused arrival leaves no trace in a scheme
/// that commits on store only. Panics, naming the case, where a promise
/// is broken.
pub fn check(case: &Case, steps: &[Step]) {
    let trace = run(case, steps, &How::default());

    let eager = run(case, steps, &How { eager: true, ..How::default() });
    assert!(trace == eager, "{}: lazy ticks differ from eager ones", case.name);

    let straight = run(case, steps, &How { straight: true, ..How::default() });
    let same = events(&trace).eq(events(&straight));
    assert!(same, "{}: passing through differs from waiting for no time", case.name);

    if !case.remembers_refused {
        let skip = refused(&trace);
        let without = run(case, steps, &How { skip, ..How::default() });
        let same = visible(trace) == visible(without);
        assert!(same, "{}: a refused arrival changed what came later", case.name);
    }
}

/// Both do the same, to the last probe.
pub fn same(one: &Case, other: &Case, steps: &[Step]) {
    let how = How::default();
    let equal = run(one, steps, &how) == run(other, steps, &how);
    assert!(equal, "{} differs from {}", other.name, one.name);
}

/// What happened, without what probes saw between: an idle port's arrival has one fewer.
fn events(trace: &[Event]) -> impl Iterator<Item = &Event> {
    trace.iter().filter(|event| !matches!(event, Event::Probe { .. }))
}

/// What came out, without what a refused arrival may be seen in.
fn visible(trace: Vec<Event>) -> Vec<Event> {
    let stays = |event: &Event| !matches!(event, Event::Refused { .. } | Event::Probe { .. });
    trace.into_iter().filter(stays).collect()
}

/// The arrivals that were refused.
fn refused(trace: &[Event]) -> BTreeSet<usize> {
    let step = |event: &Event| match *event {
        Event::Refused { step, .. } => Some(step),
        _ => None,
    };
    trace.iter().filter_map(step).collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014), for schemes that draw.
pub struct SplitMix(pub u64);

impl Random for SplitMix {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A port with what the test knows of it.
struct Line {
    port: Box<dyn Qdisc>,
    seen: Arc<Mutex<Seen>>,
    /// When to ask it for a packet next.
    wake: Option<Time>,
    /// What its peer has said, by queue: from each of these times on, until then.
    paused: BTreeMap<QueueId, Vec<(Time, Time)>>,
}

impl Line {
    /// Whether its peer keeps a queue from sending.
    fn held(&self, queue: QueueId, at: Time) -> bool {
        let said = self.paused.get(&queue).into_iter().flatten();
        said.rev().find(|said| said.0 <= at).is_some_and(|said| at < said.1)
    }
}

struct Switch<'a> {
    case: &'a Case,
    lines: Vec<Line>,
    model: Model,
    arena: Arena,
    memory: SwitchMemory,
    rng: SplitMix,
    out: Outcome,
    trace: Vec<Event>,
    /// An arrival has come in that others may have to go for.
    expelling: bool,
}

/// Runs the steps, then lets everything drain, and checks the books after each operation.
fn run(case: &Case, steps: &[Step], how: &How) -> Vec<Event> {
    let mut switch = Switch::new(case);
    let mut now = Time::ZERO;
    for (number, step) in steps.iter().enumerate() {
        now += step.after;
        switch.advance(now, how.eager);
        if !how.skip.contains(&number) {
            switch.apply(number, step, now, how.straight);
        }
    }
    switch.drain(how.eager);
    switch.trace
}

impl<'a> Switch<'a> {
    fn new(case: &'a Case) -> Self {
        let policy = (case.policy)();
        let line = |port: usize| {
            let seen = Arc::default();
            // The second port lets pass what it cannot mark.
            let passes = port == 1;
            let spy = Spy::new(case, passes, Arc::clone(&seen));
            let state = PortState::new(RATE, &case.quanta).numbered(port as u32);
            let state = if passes {
                state.passing_unmarkable(QueueSet::first_of(case.quanta.len()))
            } else {
                state
            };
            let port = Port::new(state, spy);
            assert_eq!(port.needs().pool, case.reads_pool, "{}: needs", case.name);
            assert_eq!(port.needs().memory, policy.is_some(), "{}: asks", case.name);
            Line { port: Box::new(port), seen, wake: None, paused: BTreeMap::new() }
        };
        let lines = (0..PORTS).map(line).collect();
        let capacity = case.limits.pool.unwrap_or(Bytes::MAX);
        let memory = match policy {
            None => SwitchMemory::new(capacity),
            Some(policy) => {
                let spy = PolicySpy::new(&case.name, policy, PORTS, case.quanta.len());
                SwitchMemory::shared(capacity, Box::new(spy))
            }
        };
        Switch {
            case,
            lines,
            model: Model::new(&case.name, case.quanta.len()),
            arena: Arena::new(),
            memory,
            rng: SplitMix(7),
            out: Outcome::default(),
            trace: Vec::new(),
            expelling: false,
        }
    }

    /// Lets departures (and ticks, if eager) up to and at `now` happen, in time order,
    /// a tick before a departure.
    fn advance(&mut self, now: Time, eager: bool) {
        loop {
            let tick = |line: &Line| line.seen.lock().unwrap().next_tick;
            let ticks = (0..PORTS).map(|p| (tick(&self.lines[p]), 0, p)).filter(|_| eager);
            let wakes = (0..PORTS).filter_map(|p| self.lines[p].wake.map(|at| (at, 1, p)));
            match ticks.chain(wakes).min() {
                Some((at, kind, p)) if at <= now => match kind {
                    0 => self.with(p, at, |port, cx| port.settle(cx)),
                    _ => self.depart(p, at),
                },
                _ => return,
            }
        }
    }

    fn apply(&mut self, number: usize, step: &Step, now: Time, straight: bool) {
        let p = step.port;
        self.expelling = self.case.reads_pool && matches!(step.op, Op::Arrive(_));
        match step.op {
            Op::Arrive(packet) if straight && self.idle(p, now) => {
                self.pass(number, p, packet, now);
            }
            Op::Arrive(packet) => self.arrive(number, p, packet, now),
            Op::SetRate(rate) => {
                self.with(p, now, |port, cx| port.set_rate(rate, cx));
                self.model.ports[p].set_rate(rate);
            }
            Op::Pause { queue, lasts } => {
                self.with(p, now, |port, cx| port.settle(cx));
                if self.case.pausable && usize::from(queue) < self.case.quanta.len() {
                    self.pause(p, queue, (now + RESPONSE, now + RESPONSE + lasts), now);
                }
            }
        }
        self.check(p, now);
        self.advance(now, false);
        // As in a switch: what passes through has left.
        if let Op::Arrive(_) = step.op {
            self.expel(p, now);
            self.expelling = false;
            self.check(p, now);
        }
    }

    fn arrive(&mut self, step: usize, p: usize, packet: Packet, now: Time) {
        let slot = self.arena.alloc(packet);
        let answer = self.with(p, now, |port, cx| port.enqueue(slot, cx));
        self.model.ports[p].arrived(&packet);
        self.take_out(p, now);
        match answer {
            Enqueued::In(queue) => {
                self.stored(step, p, queue, slot, packet);
                self.wake(p, now);
            }
            Enqueued::Dropped(queue, why) => self.refused(step, p, queue, slot, packet, why),
        }
    }

    /// Whichever port's it is.
    fn expel(&mut self, p: usize, now: Time) {
        while let Some(Expulsion { of, end }) = self.memory.expels(now, self.lines[p].port.state())
        {
            let victim = of.port as usize;
            assert!(victim < PORTS, "{}: another switch's port", self.case.name);
            self.with(victim, now, |port, cx| port.expel(of.queue, end, cx));
            assert!(!self.out.dropped.is_empty(), "{}: expels nothing", self.case.name);
            self.take_out(victim, now);
        }
    }

    /// Whether a packet may pass straight through; never where the peer pauses queues.
    fn idle(&self, p: usize, now: Time) -> bool {
        let state = self.lines[p].port.state();
        state.packets() == 0 && state.busy_until() <= now && self.lines[p].paused.is_empty()
    }

    /// What waited for the end of a pause may wait for another.
    fn pause(&mut self, p: usize, queue: QueueId, (from, until): (Time, Time), now: Time) {
        self.lines[p].port.pause(queue, from, until, now);
        self.lines[p].paused.entry(queue).or_default().push((from, until));
        if self.lines[p].port.state().packets() > 0 {
            self.wake(p, now);
        }
    }

    fn pass(&mut self, step: usize, p: usize, packet: Packet, now: Time) {
        let slot = self.arena.alloc(packet);
        self.lines[p].seen.lock().unwrap().inside.clear();
        let answer = self.with(p, now, |port, cx| port.pass(slot, cx));
        self.model.ports[p].arrived(&packet);
        self.take_out(p, now);
        match answer {
            Passed::Sent { queue, until, marked } => {
                self.stored(step, p, queue, slot, packet);
                self.sent(p, queue, slot, now, until, marked);
            }
            Passed::Stored(queue) => {
                self.stored(step, p, queue, slot, packet);
                self.wake(p, now);
            }
            Passed::Dropped(queue, why @ DropReason::AtDeparture) => {
                self.stored(step, p, queue, slot, packet);
                self.out.dropped.push(Dropped { slot, queue, why });
                self.take_out(p, now);
            }
            Passed::Dropped(queue, why) => self.refused(step, p, queue, slot, packet, why),
        }
    }

    fn stored(&mut self, step: usize, p: usize, queue: QueueId, slot: SlotId, packet: Packet) {
        self.model.stored(p, queue, slot, step, packet, &self.lines[p].seen);
        self.trace.push(Event::In { step, queue });
    }

    fn refused(
        &mut self,
        step: usize,
        p: usize,
        queue: QueueId,
        slot: SlotId,
        packet: Packet,
        why: DropReason,
    ) {
        self.model.ports[p].lost(&packet, why);
        self.arena.free(slot);
        self.trace.push(Event::Refused { step, queue, why });
    }

    fn sent(
        &mut self,
        p: usize,
        queue: QueueId,
        slot: SlotId,
        now: Time,
        until: Time,
        marked: bool,
    ) {
        let ecn = self.arena.packet(slot).ecn;
        let seen = &self.lines[p].seen;
        let step = self.model.sent(p, queue, slot, now, until, ecn, marked, seen);
        self.arena.free(slot);
        self.trace.push(Event::Sent { step, at: now, until, queue, ecn, marked });
        self.lines[p].wake = Some(until);
    }

    fn depart(&mut self, p: usize, now: Time) {
        self.lines[p].seen.lock().unwrap().inside.clear();
        let pauses = !self.lines[p].paused.is_empty();
        let answer = self.with(p, now, |port, cx| match pauses {
            false => port.dequeue(cx),
            true => port.dequeue_unpaused(cx),
        });
        self.take_out(p, now);
        match answer {
            Dequeued::Sent { slot, queue, until, marked } => {
                assert!(!self.lines[p].held(queue, now), "{}: {queue} is paused", self.case.name);
                self.sent(p, queue, slot, now, until, marked);
            }
            Dequeued::Empty => {
                self.model.must_have_nothing_to_send(p);
                self.lines[p].wake = None;
            }
            Dequeued::NotBefore(until) => {
                // It waits for nothing but the ends of pauses.
                let line = &self.lines[p];
                let all = |queue| line.held(queue, now);
                let held = pauses && line.port.state().backlogged().iter().all(all);
                let may = self.case.waits || held;
                assert!(may, "{}: waits, but nothing holds it", self.case.name);
                assert!(until > now, "{}: waits for the past", self.case.name);
                self.trace.push(Event::Waits { port: p, at: now, until });
                self.lines[p].wake = Some(until);
            }
        }
        self.check(p, now);
    }

    /// Ask the port as soon as its line is free.
    fn wake(&mut self, p: usize, now: Time) {
        self.lines[p].wake = Some(now.max(self.lines[p].port.state().busy_until()));
    }

    /// Takes over what an operation dropped or said.
    fn take_out(&mut self, p: usize, now: Time) {
        for dropped in std::mem::take(&mut self.out.dropped) {
            let step = self.model.removed(p, dropped, &self.lines[p].seen);
            self.arena.free(dropped.slot);
            let (queue, why) = (dropped.queue, dropped.why);
            self.trace.push(Event::Dropped { step, at: now, queue, why });
        }
        self.model.ports[p].told(self.out.feedback.len());
        self.trace.extend(self.out.feedback.drain(..).map(Event::Told));
    }

    /// The books and the limits, and what a probe would see.
    fn check(&mut self, p: usize, now: Time) {
        self.model.check(&self.lines.iter().map(|l| l.port.state()).collect::<Vec<_>>());
        self.model.check_shared(&self.arena, &self.memory, &self.case.limits);
        let fits = self.expelling || self.memory.used() <= self.memory.capacity();
        assert!(fits, "{}: the pool overflows", self.case.name);
        let port = &self.lines[p].port;
        let mut thresholds_bytes = [None; 4];
        for (queue, threshold) in (0..).zip(&mut thresholds_bytes) {
            *threshold = port.threshold_bytes(now, &self.arena, &self.memory, queue);
        }
        self.trace.push(Event::Probe { thresholds_bytes, round_time: port.round_time() });
    }

    /// Waits for the last packet.
    fn drain(&mut self, eager: bool) {
        while let Some(next) = self.lines.iter().filter_map(|line| line.wake).min() {
            self.advance(next, eager);
        }
        assert_eq!(self.arena.live(), 0, "{}: packets stay behind", self.case.name);
        assert_eq!(self.memory.used(), Bytes::ZERO, "{}: the pool stays taken", self.case.name);
    }

    fn with<T>(&mut self, p: usize, now: Time, f: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let mut cx = Cx {
            now,
            arena: &mut self.arena,
            memory: &mut self.memory,
            rng: &mut self.rng,
            out: &mut self.out,
        };
        f(&mut *self.lines[p].port, &mut cx)
    }
}
