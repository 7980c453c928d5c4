//! Programs of hosts. A message begins at a time, or once what it waits for is done at the host that sends it,
//! never because of what another host has done.
//!
//! In a schedule a message belongs to a receive before the run: the k-th send of a rank to another with a tag goes
//! with the k-th receive there of that rank and tag, as MPI orders messages (MPI 4.1, section 3.5). So a message
//! without a receive and operations that wait for each other are found before the run, which needs no matching.
//! Only a rank that receives from any source, or with any tag, matches messages as they arrive.

mod draft;
mod messages;
mod operations;

pub use draft::{Draft, Envelope, Name, Step};
use messages::Messages;
pub use messages::{ANY, Message, Pattern};
use operations::Operations;
pub use operations::{Operation, Work};
use std::fmt;
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span, Time};

/// When hosts send the messages of a traffic entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// At the times of its flows, which wait for nothing else.
    Timed,
    /// A flow's receiver asks for it at its time, by a request of this payload. Its sender waits for the request
    /// alone.
    Answers {
        /// Payload of each request.
        request: Bytes,
    },
    /// As the operations of ranks are done that they wait for. Flows that never end begin at their times.
    Ranks(Box<Schedule>),
}

impl From<Schedule> for Program {
    fn from(schedule: Schedule) -> Program {
        Program::Ranks(Box::new(schedule))
    }
}

/// Operations of a traffic entry's ranks, each rank on a host of its own. Operations are numbered
/// through all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The hosts by rank.
    pub hosts: Vec<HostId>,
    /// When every rank begins.
    pub start: Time,
    /// Traffic entry whose part at a host is done before the host begins.
    pub after: Option<u32>,
    /// How often a rank does it all; it begins anew when all its operations are done.
    pub repeats: u32,
    /// How many of these are not measured.
    pub warmup: u32,
    /// Time that each message takes of a processor, before it is sent and after it has come.
    pub overhead: Span,
    /// By sending rank, and in a rank in the order of its sends.
    messages: Messages,
    operations: Operations,
    /// Receives of ranks that have one of any source or tag, by number.
    patterns: Vec<(u32, Pattern)>,
    followers: Vec<u32>,
    /// The end of each rank's operations.
    ends: Vec<u32>,
}

impl Schedule {
    /// A rank's operations: the first, and the one after the last.
    pub fn of_rank(&self, rank: u32) -> std::ops::Range<u32> {
        // `ends` are running totals: a rank begins where the one before ends.
        let first = rank.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        first..self.ends[rank as usize]
    }

    /// The rank of an operation.
    pub fn rank_of(&self, number: u32) -> u32 {
        self.ends.partition_point(|&end| end <= number) as u32
    }

    /// An operation.
    #[inline]
    pub fn operation(&self, number: u32) -> Operation {
        self.operations.get(number)
    }

    /// A message. They are numbered by sending rank, and in a rank in the order of its sends.
    pub fn message(&self, nth: u32) -> Message {
        self.messages.get(nth)
    }

    /// How many messages a repetition has.
    #[inline]
    pub fn message_count(&self) -> u32 {
        self.messages.len() as u32
    }

    /// The messages by number.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        (0..self.message_count()).map(|nth| self.messages.get(nth))
    }

    /// The operation that sends a message.
    #[inline]
    pub fn sent_by(&self, nth: u32) -> u32 {
        self.messages.sent_by(nth)
    }

    /// How many connections the messages have.
    pub fn connections(&self) -> u32 {
        self.messages.connections() as u32
    }

    /// Messages that a receive takes as they arrive; `None`: its message is known before the run.
    pub fn pattern(&self, number: u32) -> Option<&Pattern> {
        let found = self.patterns.binary_search_by_key(&number, |of| of.0);
        found.ok().map(|at| &self.patterns[at].1)
    }

    /// The operations that wait for one.
    pub fn followers(&self, number: u32) -> &[u32] {
        // `until` is a running total, as `ends` is.
        let first = number.checked_sub(1).map_or(0, |before| self.operation(before).until);
        &self.followers[first as usize..self.operation(number).until as usize]
    }

    /// One repetition as GOAL's text, each message with a tag of its own; times are rounded to nanoseconds.
    ///
    /// # Errors
    /// An operation waits for some of several, which GOAL has no word for.
    pub fn goal(&self) -> Result<String, String> {
        // Operations before each: GOAL can say that all are waited for, and nothing less.
        let mut before = vec![0; self.operations.len()];
        self.followers.iter().for_each(|&after| before[after as usize] += 1);
        let some = |(_, (of, before)): &(usize, (Operation, u32))| of.waits_for < *before;
        let found = self.operations.iter().zip(before).enumerate().find(some);
        if let Some((number, (of, before))) = found {
            let rank = self.rank_of(number as u32);
            return Err(format!(
                "operation {} of rank {rank} waits for {} of {before} others, and GOAL's text only has waits \
                 for all",
                number as u32 - self.of_rank(rank).start,
                of.waits_for
            ));
        }
        let mut tags = vec![0; self.operations.len()];
        for message in self.messages() {
            // One that any receive may take keeps the tag by which receives choose it.
            let fixed = message.received_by != ANY;
            tags[message.sent_by as usize] = if fixed { message.row } else { message.tag };
            if fixed {
                tags[message.received_by as usize] = message.row;
            }
        }
        // A message knows its sending operation; GOAL names the rank of that.
        let mut from = vec![0; self.operations.len()];
        let ranks = 0..self.hosts.len() as u32;
        for rank in ranks.clone() {
            self.of_rank(rank).for_each(|number| from[number as usize] = rank);
        }
        let mut sent = vec![None; self.operations.len()];
        let known = self.messages().filter(|of| of.received_by != ANY);
        known.for_each(|of| sent[of.received_by as usize] = Some(of));
        let any = |word: Option<u32>| match word {
            None | Some(ANY) => "-1".to_owned(),
            Some(word) => word.to_string(),
        };
        let mut lines = vec![format!("num_ranks {}", ranks.len())];
        for rank in ranks {
            let operations = self.of_rank(rank);
            let first = operations.start;
            lines.push(format!("rank {rank} {{"));
            for number in operations.clone() {
                let (nth, tag) = (number - first, tags[number as usize]);
                let text = match (self.operation(number).work, sent[number as usize]) {
                    (Work::Send(message, cpu), _) => {
                        let Message { to, bytes, channel, .. } = self.message(message);
                        // GOAL's nic and cpu are bytes.
                        let nic = channel % 256;
                        let (bytes, tag) = (bytes.get(), any(Some(tag)));
                        format!("send {bytes}b to {to} tag {tag} cpu {cpu} nic {nic}")
                    }
                    (Work::Receive(cpu), Some(message)) => {
                        let (bytes, src) = (message.bytes.get(), from[message.sent_by as usize]);
                        format!(
                            "recv {bytes}b from {src} tag {tag} cpu {cpu} nic {}",
                            message.channel % 256
                        )
                    }
                    (Work::Calculate(span, cpu), _) => {
                        // To the nearest nanosecond.
                        format!("calc {} cpu {}", (span.as_ps() + 500) / 1000, cpu % 256)
                    }
                    (Work::Receive(cpu), None) => {
                        let pattern = self.pattern(number);
                        let [from, tag] =
                            [pattern.and_then(|of| of.from), pattern.and_then(|of| of.tag)]
                                .map(any);
                        format!("recv 1b from {from} tag {tag} cpu {cpu} nic 0")
                    }
                };
                lines.push(format!("o{nth}: {text}"));
            }
            for number in operations {
                let waits =
                    |after: &u32| format!("o{} requires o{}", after - first, number - first);
                lines.extend(self.followers(number).iter().map(waits));
            }
            lines.push("}".to_owned());
        }
        lines.push(String::new());
        Ok(lines.join("\n"))
    }

    /// Operations that wait for one, a message's receive included, if it is known.
    fn freed_by(&self, number: u32) -> impl Iterator<Item = u32> {
        let received = match self.operation(number).work {
            Work::Send(message, _) => Some(self.messages.received_by(message)),
            _ => None,
        };
        // The receive that takes the message is known only as it arrives.
        let received = received.filter(|&received| received != ANY);
        self.followers(number).iter().copied().chain(received)
    }

    /// Gives back memory that was reserved for more operations.
    fn shrink(&mut self) {
        self.messages.shrink();
        self.operations.shrink();
        self.followers.shrink_to_fit();
        self.patterns.shrink_to_fit();
    }

    /// Bytes of memory that its tables take.
    pub fn held(&self) -> u64 {
        let Schedule { messages, operations, patterns, followers, ends, hosts, .. } = self;
        let lists = size_of_val(&patterns[..]) + size_of_val(&followers[..]);
        let ranks = size_of_val(&ends[..]) + size_of_val(&hosts[..]);
        (messages.held() + operations.held() + lists + ranks) as u64
    }

    /// Operations of the rank that has most.
    pub fn longest(&self) -> u32 {
        let ranks = 0..self.hosts.len() as u32;
        ranks.map(|rank| self.of_rank(rank).len() as u32).max().unwrap_or(0)
    }

    /// How many operations there are.
    pub fn operations(&self) -> u32 {
        self.operations.len() as u32
    }

    /// How many messages are under way at most, where each step takes as long as any other.
    pub fn at_once(&self) -> u64 {
        let awaited = self.messages().filter(|message| message.received_by != ANY);
        let mut waits: Vec<u32> = self.operations.iter().map(|of| of.waits_for).collect();
        // A receive waits for its message as for an operation.
        awaited.for_each(|message| waits[message.received_by as usize] += 1);
        let ready = |&number: &u32| waits[number as usize] == 0;
        let mut wave: Vec<u32> = (0..self.operations()).filter(ready).collect();
        // Wave after wave of what is ready: each message takes one step, as any other does.
        let (mut most, mut next) = (0, Vec::new());
        while !wave.is_empty() {
            let sends = |&&number: &&u32| matches!(self.operation(number).work, Work::Send(..));
            most = most.max(wave.iter().filter(sends).count() as u64);
            for number in wave.drain(..) {
                for after in self.freed_by(number) {
                    let waits = &mut waits[after as usize];
                    // One that waits for some of several may be done already.
                    if *waits == 1 {
                        next.push(after);
                    }
                    *waits = waits.saturating_sub(1);
                }
            }
            std::mem::swap(&mut wave, &mut next);
        }
        most
    }

    /// How many messages a run sends through the network.
    pub fn flows(&self) -> u64 {
        let own = self.messages().filter(|message| message.stays()).count();
        (self.messages.len() - own) as u64 * u64::from(self.repeats)
    }
}

/// Why a draft is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A send without a receive.
    Unreceived {
        /// Rank that sends, and the operation's label.
        from: (u32, String),
        /// Where to.
        to: u32,
        /// With which tag.
        tag: u32,
        /// How many sends and receives there are of that kind.
        counts: (usize, usize),
    },
    /// A receive without a send.
    Unsent {
        /// Rank that receives, and the operation's label.
        to: (u32, String),
        /// Where from.
        from: u32,
        /// With which tag.
        tag: u32,
        /// How many sends and receives there are of that kind.
        counts: (usize, usize),
    },
    /// Messages and receives of a rank that takes any are not as many.
    Uneven {
        /// The rank.
        rank: u32,
        /// How many messages are sent to it, and how many it receives.
        counts: (usize, usize),
    },
    /// Operations that wait for each other, each for the next and the last for the first: ranks and labels.
    Circle(Vec<(u32, String)>),
    /// More operations or messages than can be numbered.
    Many,
}

impl Fault {
    /// Fault with other numbers of the ranks.
    pub fn renamed(mut self, name: impl Fn(u32) -> u32) -> Fault {
        match &mut self {
            Fault::Unreceived { from: (one, _), to: other, .. }
            | Fault::Unsent { to: (one, _), from: other, .. } => {
                (*one, *other) = (name(*one), name(*other));
            }
            Fault::Uneven { rank, .. } => *rank = name(*rank),
            Fault::Circle(circle) => circle.iter_mut().for_each(|(rank, _)| *rank = name(*rank)),
            Fault::Many => {}
        }
        self
    }
}

/// Number of operations of a cycle that a message names.
const NAMED: usize = 8;

impl Fault {
    /// Message with another word for a rank.
    pub fn of(&self, word: &str) -> String {
        match self {
            Fault::Unreceived { from: (rank, label), to, tag, counts: (sends, receives) } => {
                format!(
                    "{word} {rank}: `{label}` has no receive at {word} {to} with tag {tag}: {sends} sends, {receives} \
                 receives"
                )
            }
            Fault::Unsent { to: (rank, label), from, tag, counts: (sends, receives) } => format!(
                "{word} {rank}: `{label}` has no send at {word} {from} with tag {tag}: {sends} sends, {receives} \
                 receives"
            ),
            Fault::Uneven { rank, counts: (sends, receives) } => {
                format!(
                    "{word} {rank}: {sends} messages are sent to it, and it receives {receives}"
                )
            }
            Fault::Circle(circle) => {
                let named = |(rank, label): &(u32, String)| format!("{word} {rank} `{label}`");
                let mut each: Vec<String> = circle.iter().map(named).collect();
                // Several operations may have one label.
                each.dedup();
                let more = each.len().saturating_sub(NAMED);
                each.truncate(NAMED);
                each.extend((more > 0).then(|| format!("{more} more")));
                // The first again closes the cycle.
                each.extend(circle.first().map(named));
                format!("deadlock: {}", each.join(" waits for "))
            }
            Fault::Many => "more than 4294967295 operations".to_owned(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of("rank"))
    }
}
impl std::error::Error for Fault {}
