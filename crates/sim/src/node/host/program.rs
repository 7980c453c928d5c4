//! Programs of a host: an operation begins at a time, or once those that it waits for are done on this host.

use super::halves::Expected;
use super::{Cx, Host, Net, Timer};
use crate::course::{Course, Origin};
use crate::flow::FlowRecord;
use crate::ids::{ConnId, HostId};
use std::collections::HashMap;
use switchbed_scenario::traffic::program::{Program, Schedule, Work};
use switchbed_scenario::traffic::{ConnectionUse, FlowStart};
use switchbed_units::{Bytes, Span, Time};

/// The numbers of schedules' flows have this bit; below it the traffic entry's place, and below that the
/// message's number through all repetitions.
const MARK: u64 = 1 << 63;
const ENTRY: u32 = 40;

/// Whether a schedule sends a flow of this number.
#[inline]
pub(super) fn is_ranks(number: u64) -> bool {
    number & MARK != 0
}

/// An operation that waits for nothing any more.
#[derive(Debug)]
enum Ready {
    /// A message goes to another host.
    Send(FlowStart),
    /// A request goes to the host that the flow comes from.
    Ask(FlowStart, Bytes),
    /// An answer goes back on the connection of its request.
    Answer { on: ConnId, number: u64, record: Box<FlowRecord> },
}

/// The programs of a run, by traffic entry.
#[derive(Debug)]
pub(crate) struct Programs {
    /// Each with the number of its first connection.
    of: Vec<(Program, u32)>,
    /// The ranks of hosts by entry.
    ranks: HashMap<(u32, HostId), u32>,
}

impl Programs {
    pub(crate) fn new(programs: Vec<Program>) -> Programs {
        let mut connections = 0;
        let mut ranks = HashMap::new();
        let mut of = Vec::new();
        for (entry, program) in (0..).zip(programs) {
            let first = connections;
            if let Program::Ranks(schedule) = &program {
                connections += schedule.connections();
                // Hosts look themselves up at each message: by a table, not by a search.
                let hosts = schedule.hosts.iter().zip(0..);
                ranks.extend(hosts.map(|(&host, rank)| ((entry, host), rank)));
            }
            of.push((program, first));
        }
        Programs { of, ranks }
    }

    /// The request for each flow of an entry; `None`: they come unasked.
    fn request(&self, entry: u32) -> Option<Bytes> {
        match self.of.get(entry as usize)?.0 {
            Program::Answers { request } => Some(request),
            Program::Timed | Program::Ranks(_) => None,
        }
    }

    /// The host that does something at a flow's time: it asks for the flow, or sends it.
    pub(crate) fn begins_at(&self, flow: &FlowStart) -> HostId {
        if self.request(flow.traffic).is_some() { flow.dst } else { flow.src }
    }

    /// A host's rank in an entry's program.
    fn rank(&self, entry: u32, host: HostId) -> Option<u32> {
        self.ranks.get(&(entry, host)).copied()
    }

    /// The schedules with their entries.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u32, &Schedule)> {
        (0..).zip(&self.of).filter_map(|(entry, (program, _))| match program {
            Program::Ranks(schedule) => Some((entry, &**schedule)),
            Program::Timed | Program::Answers { .. } => None,
        })
    }

    /// How many flows the schedules have.
    pub(crate) fn flows(&self) -> u64 {
        self.each().map(|(_, program)| program.flows()).sum()
    }

    /// An entry's schedule.
    pub(crate) fn schedule(&self, entry: u32) -> Option<&Schedule> {
        self.get(entry).map(|(schedule, _)| schedule)
    }

    fn get(&self, entry: u32) -> Option<(&Schedule, u32)> {
        match self.of.get(entry as usize)? {
            (Program::Ranks(schedule), first) => Some((schedule, *first)),
            _ => None,
        }
    }

    /// The entry of a flow, and its message.
    fn message(&self, number: u64) -> Option<(u32, u32)> {
        let entry = (number & !MARK) >> ENTRY;
        let (program, _) = self.get(entry as u32)?;
        let nth = number & ((1 << ENTRY) - 1);
        // Rows count over repetitions: the message is the row modulo their number.
        Some((entry as u32, (nth % u64::from(program.message_count())) as u32))
    }
}

/// A program that a host takes part in.
#[derive(Debug)]
pub(super) struct Part {
    entry: u32,
    course: Course,
}

/// A repetition that a rank has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The program's traffic entry.
    pub(crate) entry: u32,
    /// Which one, from 0.
    pub(crate) nth: u32,
    pub(crate) began: Time,
    pub(crate) ended: Time,
}

/// An operation that a rank has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Did {
    /// The program's traffic entry.
    pub(crate) entry: u32,
    /// The repetition, from 0.
    pub(crate) nth: u32,
    /// Number through all ranks.
    pub(crate) number: u32,
    pub(crate) origin: Origin,
    pub(crate) ended: Time,
}

impl Host {
    /// Takes up its parts of programs.
    pub(super) fn join(&mut self, programs: &Programs, traced: bool, running: &mut u64) {
        for (entry, program) in programs.each() {
            let Some(rank) = programs.rank(entry, self.id) else { continue };
            *running += 1;
            // A host without a part in the program before never learns of its end.
            let waits = program.after.is_some_and(|of| programs.rank(of, self.id).is_some());
            if !waits {
                self.wake(program.start, Timer::Begin(self.parts.len() as u32));
            }
            self.parts.push(Part { entry, course: Course::new(program, rank, traced) });
        }
    }

    /// A program begins.
    pub(super) fn begin<N: Net>(&mut self, nth: u32, cx: &mut Cx<N>, now: Time) {
        let part = &mut self.parts[nth as usize];
        if let Some((program, _)) = cx.settings.programs.get(part.entry) {
            part.course.begin(program, now);
            self.go_on(nth, cx, now);
        }
    }

    /// The time of a flow that waits for nothing else.
    #[cold]
    pub(crate) fn on_time<N: Net>(&mut self, flow: FlowStart, cx: &mut Cx<N>) {
        let now = flow.start;
        let ready = match cx.settings.programs.request(flow.traffic) {
            Some(request) => Ready::Ask(flow, request),
            None => Ready::Send(flow),
        };
        self.perform(ready, cx, now);
    }

    /// Does what waits for nothing any more.
    fn perform<N: Net>(&mut self, ready: Ready, cx: &mut Cx<N>, now: Time) {
        match ready {
            Ready::Send(flow) => self.start(&flow, None, cx),
            Ready::Ask(flow, request) => self.start(&flow, Some(request), cx),
            Ready::Answer { on, number, record } => {
                self.senders[on].keys[0] = record.key;
                self.write(on, number, *record, record.size, cx, now);
            }
        }
    }

    /// A message that operations here wait for has arrived whole; `back` is the other direction of its connection.
    #[cold]
    pub(super) fn got<N: Net>(
        &mut self,
        message: Expected,
        back: Option<ConnId>,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        let Expected { number, asks, .. } = message;
        if let Some(record) = asks {
            // One operation waits for a request, and for nothing else: no state is kept for it.
            let Some(on) = back else { return };
            return self.perform(Ready::Answer { on, number, record }, cx, now);
        }
        let Some((nth, message)) = self.part_of(number, cx) else { return };
        let part = &mut self.parts[nth as usize];
        if let Some((program, _)) = cx.settings.programs.get(part.entry) {
            part.course.arrive(program, message);
            self.go_on(nth, cx, now);
        }
    }

    /// A schedule's flow from here is acknowledged.
    #[cold]
    pub(super) fn gave<N: Net>(&mut self, number: u64, cx: &mut Cx<N>, now: Time) {
        let Some((nth, message)) = self.part_of(number, cx) else { return };
        if let Some((program, _)) = cx.settings.programs.get(self.parts[nth as usize].entry) {
            self.did(nth, program.sent_by(message), cx, now);
            self.go_on(nth, cx, now);
        }
    }

    /// A processor is through with an operation: a message goes, anything else is done.
    pub(super) fn calculated<N: Net>(&mut self, nth: u32, number: u32, cx: &mut Cx<N>, now: Time) {
        let Some((program, _)) = cx.settings.programs.get(self.parts[nth as usize].entry) else {
            return;
        };
        match program.operation(number).work {
            Work::Send(message, _) => self.send(nth, message, cx, now),
            _ => self.did(nth, number, cx, now),
        }
        self.go_on(nth, cx, now);
    }

    /// Sends a message of a part.
    fn send<N: Net>(&mut self, nth: u32, message: u32, cx: &mut Cx<N>, now: Time) {
        let (settings, part) = (cx.settings, &self.parts[nth as usize]);
        let Some((program, connection)) = settings.programs.get(part.entry) else { return };
        if program.message(message).stays() {
            self.parts[nth as usize].course.arrive(program, message);
            return self.did(nth, program.sent_by(message), cx, now);
        }
        let place = (part.entry, part.course.round());
        let flow = flow(program, message, place, (self.id, connection), now);
        cx.log.running += 1;
        self.perform(Ready::Send(flow), cx, now);
    }

    /// The part here that a program's flow belongs to, and its message.
    fn part_of<N: Net>(&self, number: u64, cx: &Cx<N>) -> Option<(u32, u32)> {
        let (entry, message) = cx.settings.programs.message(number)?;
        // A handful of parts a host.
        let nth = self.parts.iter().position(|part| part.entry == entry)?;
        Some((nth as u32, message))
    }

    /// An operation is done, and perhaps a repetition with it.
    fn did<N: Net>(&mut self, nth: u32, number: u32, cx: &mut Cx<N>, now: Time) {
        let Part { entry, course } = &mut self.parts[nth as usize];
        let Some((program, _)) = cx.settings.programs.get(*entry) else { return };
        if let Some(origin) = course.came_about(number) {
            let (entry, nth) = (*entry, course.round());
            cx.log.operations.push(Did { entry, nth, number, origin, ended: now });
        }
        // All of the repetition's operations are done.
        if !course.done(program, number) {
            return;
        }
        let (entry, began) = (*entry, course.began);
        cx.log.rounds.push(Round { entry, nth: course.round(), began, ended: now });
        match course.is_over(program) {
            true => {
                cx.log.through(now);
                // Programs behind this one begin here as their ranks end, not when all have.
                self.begin_behind(entry, cx, now);
            }
            false => course.begin(program, now),
        }
    }

    /// Wakes the parts that begin once that of an entry is done.
    fn begin_behind<N: Net>(&mut self, entry: u32, cx: &mut Cx<N>, now: Time) {
        for nth in 0..self.parts.len() {
            let Some((program, _)) = cx.settings.programs.get(self.parts[nth].entry) else {
                continue;
            };
            if program.after == Some(entry) {
                // Not before its own start either.
                self.wake(now.max(program.start), Timer::Begin(nth as u32));
            }
        }
    }

    /// Does what waits for nothing.
    fn go_on<N: Net>(&mut self, nth: u32, cx: &mut Cx<N>, now: Time) {
        let settings = cx.settings;
        // Each step may make others ready: until none is.
        while let Some(number) = self.parts[nth as usize].course.next(now) {
            let part = &mut self.parts[nth as usize];
            let Some((program, _)) = settings.programs.get(part.entry) else { return };
            let work = program.operation(number).work;
            let (cpu, span) = work.occupies(program.overhead);
            if span != Span::ZERO {
                let at = part.course.occupy(cpu, span, now);
                self.wake(at, Timer::Calculated { part: nth, number });
                continue;
            }
            // Nothing takes time: done at once, without an event.
            match work {
                Work::Send(message, _) => self.send(nth, message, cx, now),
                _ => self.did(nth, number, cx, now),
            }
        }
    }
}

/// A message as a flow.
fn flow(
    program: &Schedule,
    nth: u32,
    (entry, round): (u32, u32),
    (src, first): (HostId, u32),
    now: Time,
) -> FlowStart {
    let message = program.message(nth);
    // Repetitions have rows of their own.
    let before = u64::from(round) * u64::from(program.message_count());
    FlowStart {
        row: MARK | u64::from(entry) << ENTRY | (before + u64::from(nth)),
        traffic: entry,
        start: now,
        src,
        dst: program.hosts[message.to as usize],
        class: message.class,
        size: Some(message.bytes),
        stop: None,
        connection: ConnectionUse::Program {
            number: first + message.connection,
            channel: message.channel,
        },
        path: message.path,
        list_row: Some(before + u64::from(message.row)),
    }
}
