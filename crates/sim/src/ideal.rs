//! Least duration of a program. Each message takes as long as a flow does in an empty network, and
//! messages of a connection follow each other. A rank ends a repetition no sooner than its line can
//! have carried what it sends, and what it receives: the bandwidth term of the full-duplex one-port
//! model (Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 3). The order of messages on a line is
//! left open, since another order may take less time.

use crate::course::Course;
use crate::empty_network::Paths;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use switchbed_scenario::FctEnd;
use switchbed_scenario::traffic::program::{Schedule, Work};
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span, Time};

/// Event of an operation, at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Begins,
    Arrives(u32),
    /// A message leaves, as the processor is through with it.
    Goes(u32),
    Ends(u32),
}

/// Load of one direction of a rank's line in a repetition.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// The first bit, at the soonest.
    first: Time,
    busy: Span,
    /// The least time from the last bit to the message's end.
    tail: Span,
}

impl Load {
    const NONE: Load = Load { first: Time::NEVER, busy: Span::ZERO, tail: Span::ZERO };

    fn add(&mut self, first: Time, busy: Span, tail: Span) {
        self.tail = if self.busy == Span::ZERO { tail } else { self.tail.min(tail) };
        (self.first, self.busy) = (self.first.min(first), self.busy + busy);
    }

    /// Time when all of it is through.
    fn until(&self) -> Time {
        if self.busy == Span::ZERO { Time::ZERO } else { self.first + self.busy + self.tail }
    }
}

/// A rank, and the load of its line: of what it sends in this repetition, and of what it receives by
/// repetition.
struct Rank {
    course: Course,
    sends: Load,
    receives: BTreeMap<u32, Load>,
}

/// Times of a message in an empty network.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Time for which its packets keep the sender's line, and the receiver's.
    out: Span,
    into: Span,
    /// Time until it is there, and from then on until its last ACK.
    there: Span,
    back: Span,
    /// The same of a packet of one byte, and from its first bit until it comes to the receiver's line.
    tail: Span,
    lead: Span,
}

impl Times {
    fn of(paths: &Paths, hosts: (HostId, HostId), on: (u32, u8), bytes: Bytes) -> Times {
        let flow = |bytes, end| paths.flow(hosts, on, bytes, end);
        let less =
            |from: Span, part: Span| Span::from_ps(from.as_ps().saturating_sub(part.as_ps()));
        let [out, into] = [hosts.0, hosts.1].map(|host| paths.occupies(host, hosts, on, bytes));
        let there = flow(bytes, FctEnd::Received);
        let byte = Bytes::new(1);
        let [first, last] = [hosts.0, hosts.1].map(|host| paths.slowest(host, hosts, on, byte));
        Times {
            out,
            into,
            there,
            back: less(flow(bytes, FctEnd::Acked), there),
            tail: less(flow(byte, FctEnd::Acked), first),
            lead: less(flow(byte, FctEnd::Received), last),
        }
    }
}

/// Least time from when the first rank begins the first repetition that is measured until the last rank ends the last.
pub(crate) fn ideal(program: &Schedule, entry: u32, paths: &Paths) -> Span {
    let mut times: HashMap<(u32, u32, u8, u64), Times> = HashMap::new();
    // When a connection is through with what it was given, at either end.
    let mut connections = vec![(Time::ZERO, Time::ZERO); program.connections() as usize];
    let mut ranks: Vec<Rank> = (0..program.hosts.len() as u32)
        .map(|rank| Rank {
            course: Course::new(program, rank, false),
            sends: Load::NONE,
            receives: BTreeMap::new(),
        })
        .collect();
    let mut to_come: BinaryHeap<Reverse<(Time, u32, Happens)>> = (0..ranks.len() as u32)
        .map(|rank| Reverse((program.start, rank, Happens::Begins)))
        .collect();
    // All of a measured repetition happens after the first rank begins it, whatever was before.
    let measured = program.repeats - program.warmup;
    let mut ended = program.start;
    while let Some(Reverse((now, rank, happens))) = to_come.pop() {
        let (mut going, mut sent) = (Vec::new(), Vec::new());
        let Rank { course, sends, receives } = &mut ranks[rank as usize];
        let mut over = |course: &mut Course, number: u32| {
            if !course.done(program, number) {
                return None;
            }
            let round = course.round();
            let carried = receives.remove(&round).unwrap_or(Load::NONE);
            let at = now.max(sends.until()).max(carried.until());
            *sends = Load::NONE;
            ended = ended.max(at);
            (round + 1 < measured).then_some(at)
        };
        let mut next = None;
        match happens {
            Happens::Begins => course.begin(program, now),
            Happens::Arrives(message) => course.arrive(program, message),
            Happens::Goes(message) => going.push(message),
            Happens::Ends(number) => next = over(course, number),
        }
        while let Some(number) = course.next(now) {
            let work = program.operation(number).work;
            let (cpu, span) = work.occupies(program.overhead);
            match work {
                _ if span != Span::ZERO => {
                    let at = course.occupy(cpu, span, now);
                    let then = match work {
                        Work::Send(message, _) => Happens::Goes(message),
                        _ => Happens::Ends(number),
                    };
                    to_come.push(Reverse((at, rank, then)));
                }
                Work::Send(message, _) => going.push(message),
                _ => next = over(course, number),
            }
        }
        for nth in going {
            let message = program.message(nth);
            if message.stays() {
                let happens = [Happens::Arrives(nth), Happens::Ends(message.sent_by)];
                to_come.extend(happens.map(|happens| Reverse((now, rank, happens))));
                continue;
            }
            let [src, dst] = [rank, message.to].map(|rank| program.hosts[rank as usize]);
            let of = (src.0, dst.0, message.class, message.bytes.get());
            let on = (entry, message.class);
            let times =
                *times.entry(of).or_insert_with(|| Times::of(paths, (src, dst), on, message.bytes));
            sent.push((nth, message, times));
        }
        let round = course.round();
        to_come.extend(next.map(|at| Reverse((at, rank, Happens::Begins))));
        for (nth, message, Times { out, into, there, back, tail, lead }) in sent {
            let (sends_until, arrives_at) = &mut connections[message.connection as usize];
            let from = now.max(*sends_until);
            *sends_until = from + out;
            *arrives_at = (from + there).max(*arrives_at + into);
            let at = *arrives_at;
            ranks[rank as usize].sends.add(from, out, tail);
            let received = ranks[message.to as usize].receives.entry(round);
            received.or_insert(Load::NONE).add(from + lead, into, Span::ZERO);
            to_come.push(Reverse((at, message.to, Happens::Arrives(nth))));
            to_come.push(Reverse((at + back, rank, Happens::Ends(message.sent_by))));
        }
    }
    ended.since(program.start)
}
