//! Duration of a program in an empty network. Each message takes as long as a flow does there. The
//! messages of a host follow each other on its line: those that it sends in the order in which they
//! could start, those that it receives in the order in which they reach it. This is the full-duplex one-port model (Thakur, Rabenseifner and Gropp, IJHPCA
//! 2005, section 3).

use crate::course::Course;
use crate::empty_network::Paths;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use switchbed_scenario::FctEnd;
use switchbed_scenario::traffic::program::{Program, Work};
use switchbed_units::{Span, Time};

/// Event of an operation, at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Begins,
    /// A message reaches the rank's line, which it occupies so long; its sender knows of its arrival so long after.
    Reaches(u32, [Span; 2]),
    Arrives(u32),
    Ends(u32),
}

/// A rank, and when its line is free of the messages that it sends and receives.
struct Rank {
    course: Course,
    sends_until: Time,
    receives_until: Time,
}

/// From when the first rank begins the first repetition that is measured until the last rank ends the last.
pub(crate) fn ideal(program: &Program, entry: u32, paths: &Paths) -> Span {
    let mut times: HashMap<(u32, u32, u8, u64), [Span; 4]> = HashMap::new();
    let mut ranks: Vec<Rank> = (0..program.hosts.len() as u32)
        .map(|rank| Rank {
            course: Course::new(program, rank, false),
            sends_until: Time::ZERO,
            receives_until: Time::ZERO,
        })
        .collect();
    let mut to_come: BinaryHeap<Reverse<(Time, u32, Happens)>> = (0..ranks.len() as u32)
        .map(|rank| Reverse((program.start, rank, Happens::Begins)))
        .collect();
    let (mut began, mut ended) = (Time::NEVER, Time::ZERO);
    while let Some(Reverse((now, rank, happens))) = to_come.pop() {
        let mut sent = Vec::new();
        let course = &mut ranks[rank as usize].course;
        let mut over = |course: &mut Course, number: u32| {
            if !course.done(program, number) {
                return;
            }
            if course.round() >= program.warmup {
                began = began.min(course.began);
                ended = ended.max(now);
            }
            if !course.is_over(program) {
                course.begin(program, now);
            }
        };
        match happens {
            Happens::Begins => course.begin(program, now),
            Happens::Reaches(message, [into, back]) => {
                let received = &mut ranks[rank as usize].receives_until;
                *received = now.max(*received) + into;
                let sent = &program.messages[message as usize];
                to_come.push(Reverse((*received, rank, Happens::Arrives(message))));
                to_come.push(Reverse((*received + back, sent.from, Happens::Ends(sent.sent_by))));
                continue;
            }
            Happens::Arrives(message) => course.arrive(program, message),
            Happens::Ends(number) => over(course, number),
        }
        while let Some(number) = course.next(now) {
            match program.operation(number).work {
                Work::Send(nth) => {
                    let message = &program.messages[nth as usize];
                    let [src, dst] = [rank, message.to].map(|rank| program.hosts[rank as usize]);
                    let of = (src.0, dst.0, message.class, message.bytes.get());
                    let times = *times.entry(of).or_insert_with(|| {
                        let on = (entry, message.class);
                        let time = |end| paths.flow((src, dst), on, message.bytes, end);
                        let (there, acked) = (time(FctEnd::Received), time(FctEnd::Acked));
                        let [out, into] =
                            [src, dst].map(|host| paths.occupies(host, on, message.bytes));
                        [out, into, there, Span::from_ps(acked.as_ps() - there.as_ps())]
                    });
                    sent.push(((nth, message.to), times));
                }
                Work::Receive | Work::Calculate(Span::ZERO, _) => over(course, number),
                Work::Calculate(span, cpu) => {
                    let at = course.occupy(cpu, span, now);
                    to_come.push(Reverse((at, rank, Happens::Ends(number))));
                }
            }
        }
        for ((message, to), [out, into, there, back]) in sent {
            let from = now.max(ranks[rank as usize].sends_until);
            ranks[rank as usize].sends_until = from + out;
            let reaches = from + Span::from_ps(there.as_ps().saturating_sub(into.as_ps()));
            to_come.push(Reverse((reaches, to, Happens::Reaches(message, [into, back]))));
        }
    }
    ended.since(began.min(ended))
}
