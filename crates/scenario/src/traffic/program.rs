//! Programs of hosts: operations that wait for others at the same host. A host sends a message when what
//! the message waits for is done there, never because of what another host has done.
//!
//! A message belongs to a receive before the run: the k-th send of a rank to another with a tag goes with the
//! k-th receive there of that rank and tag, as MPI orders messages (MPI 4.1, section 3.5). So a message without a
//! receive and operations that wait for each other are found before the run, which needs no matching. Only a rank
//! that receives from any source, or with any tag, matches messages as they arrive.

use std::collections::BTreeMap;
use std::fmt;
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span, Time};

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A message, by its number in [`Program::messages`]; done with the ACK of its last byte.
    Send(u32),
    /// A message; done when its last byte is here.
    Receive,
    /// Duration on a processor, where operations run one after the other.
    Calculate(Span, u32),
}

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Work of the operation.
    pub work: Work,
    /// How many operations it waits for, of those that it follows.
    pub waits_for: u32,
    /// The end of those that wait for it in [`Program::followers`]; they begin where those of the operation before
    /// end.
    until: u32,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The operation that sends it, and the rank of that.
    pub sent_by: u32,
    /// See `sent_by`.
    pub from: u32,
    /// Tag, by which a receive of any source chooses it.
    pub tag: u32,
    /// The rank it goes to, and the operation there that receives it; [`ANY`]: the first that it fits as it arrives.
    pub to: u32,
    /// See `to`.
    pub received_by: u32,
    /// Payload.
    pub bytes: Bytes,
    /// Number of its connection among the program's, and the channel that this is of.
    pub connection: u32,
    /// See `connection`.
    pub channel: u32,
    /// Class of its packets.
    pub class: u8,
    /// Which of the equal paths it takes, in place of the hash.
    pub path: Option<u32>,
    /// Number in the order of writing.
    pub row: u32,
}

/// Stands for an operation that is not known before the run.
pub const ANY: u32 = u32::MAX;

/// Messages that a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Sending rank; `None`: any.
    pub from: Option<u32>,
    /// Tag; `None`: any.
    pub tag: Option<u32>,
}

impl Pattern {
    /// Whether it takes a message.
    pub fn takes(&self, message: &Message) -> bool {
        self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// Operations of a traffic entry's ranks, each rank on a host of its own. Operations are numbered
/// through all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
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
    /// Messages by sending rank, and in a rank in the order of its sends.
    pub messages: Vec<Message>,
    /// How many connections these have.
    pub connections: u32,
    operations: Vec<Operation>,
    /// Receives of ranks that have one of any source or tag, by number.
    patterns: Vec<(u32, Pattern)>,
    followers: Vec<u32>,
    /// The end of each rank's operations.
    ends: Vec<u32>,
}

impl Program {
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
    pub fn operation(&self, number: u32) -> &Operation {
        &self.operations[number as usize]
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
        let mut before = vec![0; self.operations.len()];
        self.followers.iter().for_each(|&after| before[after as usize] += 1);
        let some = |(_, (of, before)): &(usize, (&Operation, u32))| of.waits_for < *before;
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
        for message in &self.messages {
            // One that any receive may take keeps the tag by which receives choose it.
            let fixed = message.received_by != ANY;
            tags[message.sent_by as usize] = if fixed { message.row } else { message.tag };
            if fixed {
                tags[message.received_by as usize] = message.row;
            }
        }
        let mut from = vec![0; self.operations.len()];
        let ranks = 0..self.hosts.len() as u32;
        for rank in ranks.clone() {
            self.of_rank(rank).for_each(|number| from[number as usize] = rank);
        }
        let mut sent = vec![None; self.operations.len()];
        let known = self.messages.iter().filter(|of| of.received_by != ANY);
        known.for_each(|of| sent[of.received_by as usize] = Some(of));
        let mut lines = vec![format!("num_ranks {}", ranks.len())];
        for rank in ranks {
            let operations = self.of_rank(rank);
            let first = operations.start;
            lines.push(format!("rank {rank} {{"));
            for number in operations.clone() {
                let (nth, tag) = (number - first, tags[number as usize]);
                let text = match (self.operation(number).work, sent[number as usize]) {
                    (Work::Send(message), _) => {
                        let Message { to, bytes, channel, .. } = self.messages[message as usize];
                        // GOAL's nic and cpu are bytes.
                        let nic = channel % 256;
                        format!("send {}b to {to} tag {tag} cpu 0 nic {nic}", bytes.get())
                    }
                    (Work::Receive, Some(message)) => {
                        let (bytes, src) = (message.bytes.get(), from[message.sent_by as usize]);
                        format!(
                            "recv {bytes}b from {src} tag {tag} cpu 0 nic {}",
                            message.channel % 256
                        )
                    }
                    (Work::Calculate(span, cpu), _) => {
                        // To the nearest nanosecond.
                        format!("calc {} cpu {}", (span.as_ps() + 500) / 1000, cpu % 256)
                    }
                    (Work::Receive, None) => {
                        let any =
                            |word: Option<u32>| word.map_or("-1".into(), |word| word.to_string());
                        let pattern = self.pattern(number);
                        let [from, tag] =
                            [pattern.and_then(|of| of.from), pattern.and_then(|of| of.tag)]
                                .map(any);
                        format!("recv 1b from {from} tag {tag} cpu 0 nic 0")
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
            Work::Send(message) => Some(self.messages[message as usize].received_by),
            _ => None,
        };
        let received = received.filter(|&received| received != ANY);
        self.followers(number).iter().copied().chain(received)
    }

    /// Gives back memory that was reserved for more operations.
    fn shrink(&mut self) {
        self.messages.shrink_to_fit();
        self.operations.shrink_to_fit();
        self.followers.shrink_to_fit();
        self.patterns.shrink_to_fit();
    }

    /// How many operations there are.
    pub fn operations(&self) -> u32 {
        self.operations.len() as u32
    }

    /// How many messages are under way at most, where each step takes as long as any other.
    pub fn at_once(&self) -> u64 {
        let awaited = self.messages.iter().filter(|message| message.received_by != ANY);
        let mut waits: Vec<u32> = self.operations.iter().map(|of| of.waits_for).collect();
        awaited.for_each(|message| waits[message.received_by as usize] += 1);
        let ready = |&number: &u32| waits[number as usize] == 0;
        let mut wave: Vec<u32> = (0..self.operations()).filter(ready).collect();
        let (mut most, mut next) = (0, Vec::new());
        while !wave.is_empty() {
            let sends = |&&number: &&u32| matches!(self.operation(number).work, Work::Send(_));
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

    /// How many messages a run sends.
    pub fn flows(&self) -> u64 {
        self.messages.len() as u64 * u64::from(self.repeats)
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

/// An operation of a draft, by its rank and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    rank: u32,
    nth: u32,
}

impl Step {
    /// Number among the rank's operations.
    pub fn nth(self) -> u32 {
        self.nth
    }
}

/// A message as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The rank it goes to.
    pub to: u32,
    /// Tag, which the receive has, too.
    pub tag: u32,
    /// Payload; at least a byte is sent.
    pub bytes: Bytes,
    /// Messages of two ranks and a channel share a connection and follow each other.
    pub channel: u32,
    /// Class of its packets.
    pub class: u8,
    /// Which of the equal paths it takes, in place of the hash.
    pub path: Option<u32>,
}

/// Operations of a rank that is being written.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// Sends have their messages' numbers among the rank's.
    operations: Vec<Operation>,
    messages: Vec<Message>,
    /// Each receive's sender and tag, in the order of operations; [`ANY`]: any.
    receives: Vec<(u32, u32)>,
    /// Pairs of operations: the second waits for the end of the first.
    edges: Vec<(u32, u32)>,
    /// Pairs of operations: the second waits for the start of the first.
    starts: Vec<(u32, u32)>,
    /// Operations that wait for fewer than all of those before them, and for how many.
    least: BTreeMap<u32, u32>,
}

/// A rank's names and kind, which are known until the program is finished.
#[derive(Clone, Debug, Default)]
struct About {
    /// Operations with a name, in rising order.
    labels: BTreeMap<u32, Box<str>>,
    /// Operations that stand for the start of another: the first's number, and for which each does.
    gates: (u32, Vec<u32>),
    /// Whether a receive takes any source or tag.
    any: bool,
}

const NOTHING: Operation =
    Operation { work: Work::Calculate(Span::ZERO, 0), waits_for: 0, until: 0 };

impl Rank {
    /// Puts an operation before each whose start others wait for: it waits for all that this waits for.
    fn add_starts(&mut self) -> Vec<u32> {
        let first = self.operations.len() as u32;
        let (mut of, mut gates) = (Vec::new(), BTreeMap::new());
        for &(nth, _) in &self.starts {
            gates.entry(nth).or_insert_with(|| {
                of.push(nth);
                first + of.len() as u32 - 1
            });
        }
        self.operations.extend(of.iter().map(|_| NOTHING));
        let gate = |nth: u32| gates.get(&nth).copied().unwrap_or(nth);
        self.edges.iter_mut().for_each(|(_, after)| *after = gate(*after));
        let starts = std::mem::take(&mut self.starts).into_iter();
        self.edges.extend(starts.map(|(of, after)| (gate(of), gate(after))));
        self.edges.extend(of.iter().map(|&nth| (gate(nth), nth)));
        of
    }
}

/// A program as it is written.
#[derive(Clone, Debug)]
pub struct Draft {
    ranks: Vec<Rank>,
    about: Vec<About>,
    /// Messages so far.
    rows: u32,
    /// Ranks that are in the program: nothing is added to these any more.
    closed: u32,
    program: Program,
    connections: BTreeMap<(u32, u32, u32), u32>,
    /// The receives of the program.
    receives: Vec<(u32, u32)>,
    many: bool,
}

impl Draft {
    /// Makes a draft for `ranks` ranks, without operations.
    pub fn new(ranks: u32) -> Draft {
        let program = Program {
            hosts: Vec::new(),
            start: Time::ZERO,
            after: None,
            repeats: 1,
            warmup: 0,
            messages: Vec::new(),
            connections: 0,
            operations: Vec::new(),
            patterns: Vec::new(),
            followers: Vec::new(),
            ends: Vec::new(),
        };
        Draft {
            ranks: vec![Rank::default(); ranks as usize],
            about: vec![About::default(); ranks as usize],
            rows: 0,
            closed: 0,
            program,
            connections: BTreeMap::new(),
            receives: Vec::new(),
            many: false,
        }
    }

    fn add(&mut self, rank: u32, work: Work, after: &[Step]) -> Step {
        let of = &mut self.ranks[rank as usize];
        let nth = of.operations.len() as u32;
        of.operations.push(Operation { work, ..NOTHING });
        let step = Step { rank, nth };
        after.iter().for_each(|&before| self.order(before, step));
        step
    }

    /// A message to another rank, once others at the rank are done.
    pub fn send(&mut self, rank: u32, envelope: Envelope, after: &[Step]) -> Step {
        let Envelope { to, tag, bytes, channel, class, path } = envelope;
        let of = &mut self.ranks[rank as usize];
        let (sent_by, nth) = (of.operations.len() as u32, of.messages.len() as u32);
        let bytes = bytes.max(Bytes::new(1));
        of.messages.push(Message {
            sent_by,
            from: rank,
            tag,
            to,
            received_by: ANY,
            bytes,
            connection: 0,
            channel,
            class,
            path,
            row: self.rows,
        });
        self.rows += 1;
        self.add(rank, Work::Send(nth), after)
    }

    /// A message from another rank.
    pub fn receive(&mut self, (rank, from): (u32, u32), tag: u32, after: &[Step]) -> Step {
        self.receive_any(rank, Pattern { from: Some(from), tag: Some(tag) }, after)
    }

    /// A message that fits.
    pub fn receive_any(&mut self, rank: u32, pattern: Pattern, after: &[Step]) -> Step {
        let [from, tag] = [pattern.from, pattern.tag].map(|of| of.unwrap_or(ANY));
        self.about[rank as usize].any |= from == ANY || tag == ANY;
        self.ranks[rank as usize].receives.push((from, tag));
        self.add(rank, Work::Receive, after)
    }

    /// Adds a calculation of this duration on a processor of the rank.
    pub fn calculate(&mut self, (rank, cpu): (u32, u32), span: Span, after: &[Step]) -> Step {
        self.add(rank, Work::Calculate(span, cpu), after)
    }

    /// Makes an operation wait for another of its rank, whichever was written first.
    pub fn order(&mut self, before: Step, after: Step) {
        debug_assert_eq!(before.rank, after.rank, "operations wait at their own host");
        self.ranks[after.rank as usize].edges.push((before.nth, after.nth));
    }

    /// Makes an operation wait until another of its rank has started: until all that this one waits
    /// for is done.
    pub fn order_start(&mut self, before: Step, after: Step) {
        debug_assert_eq!(before.rank, after.rank, "operations wait at their own host");
        self.ranks[after.rank as usize].starts.push((before.nth, after.nth));
    }

    /// Lets an operation begin when so many of those that it waits for are done: at least 1, at most all.
    pub fn least(&mut self, step: Step, done: u32) {
        self.ranks[step.rank as usize].least.insert(step.nth, done);
    }

    /// Names an operation.
    pub fn label(&mut self, step: Step, label: &str) {
        self.about[step.rank as usize].labels.insert(step.nth, label.into());
    }

    /// Puts ranks into the program that are written to the end, up to this one. Readers call it rank by rank, so
    /// that operations are not held twice.
    pub fn close(&mut self, rank: u32) {
        while self.closed <= rank {
            let closed = self.closed;
            self.closed += 1;
            let of = std::mem::take(&mut self.ranks[closed as usize]);
            self.append(closed, of);
        }
    }

    /// Appends a rank to the program.
    fn append(&mut self, rank: u32, mut of: Rank) {
        if of.operations.is_empty() {
            of.operations.push(NOTHING);
        }
        let about = &mut self.about[rank as usize];
        about.gates = (of.operations.len() as u32, of.add_starts());
        let program = &mut self.program;
        let (first, sent) = (program.operations.len(), program.messages.len());
        self.many |= first + of.operations.len() >= u32::MAX as usize
            || program.followers.len() + of.edges.len() >= u32::MAX as usize;
        if self.many {
            program.ends.push(first as u32);
            return;
        }
        let (first, sent) = (first as u32, sent as u32);
        of.edges.sort_unstable();
        of.edges.dedup();
        for &(_, after) in &of.edges {
            of.operations[after as usize].waits_for += 1;
        }
        for (&nth, &done) in &of.least {
            let waits_for = &mut of.operations[nth as usize].waits_for;
            *waits_for = done.min(*waits_for);
        }
        let mut edge = of.edges.iter().peekable();
        let mut receives = of.receives.iter();
        for (nth, mut operation) in (0..).zip(of.operations) {
            match &mut operation.work {
                Work::Send(message) => *message += sent,
                Work::Receive => {
                    let taken = receives.next().filter(|_| about.any);
                    let any = |word: u32| Some(word).filter(|&word| word != ANY);
                    program.patterns.extend(taken.map(|&(from, tag)| {
                        (first + nth, Pattern { from: any(from), tag: any(tag) })
                    }));
                }
                Work::Calculate(..) => {}
            }
            while let Some((_, after)) = edge.next_if(|edge| edge.0 == nth) {
                program.followers.push(first + after);
            }
            operation.until = program.followers.len() as u32;
            program.operations.push(operation);
        }
        for mut message in of.messages {
            let next = self.connections.len() as u32;
            let of = (rank, message.to, message.channel);
            message.connection = *self.connections.entry(of).or_insert(next);
            message.sent_by += first;
            program.messages.push(message);
        }
        self.receives.extend_from_slice(&of.receives);
        program.ends.push(program.operations.len() as u32);
    }

    /// The program, which ranks run on these hosts once.
    ///
    /// # Errors
    /// A message that only one side has, or operations that wait for each other.
    pub fn finish(self, hosts: Vec<HostId>, start: Time) -> Result<Program, Fault> {
        self.finish_named(hosts, start, &|_, _| None)
    }

    /// The same, where operations without a label have the name that is found by their rank and number there.
    ///
    /// # Errors
    /// See [`Draft::finish`].
    pub fn finish_named(
        mut self,
        hosts: Vec<HostId>,
        start: Time,
        name: Name<'_>,
    ) -> Result<Program, Fault> {
        if let Some(last) = self.ranks.len().checked_sub(1) {
            self.close(last as u32);
        }
        if self.many {
            return Err(Fault::Many);
        }
        let Draft { about, mut program, connections, receives, .. } = self;
        (program.hosts, program.start) = (hosts, start);
        program.connections = connections.len() as u32;
        drop(connections);
        let mut draft = Finished { about, receives, name };
        draft.pair(&mut program)?;
        draft.check_order(&program)?;
        program.shrink();
        Ok(program)
    }
}

/// Name of an operation by its rank and number there, if it has one.
pub type Name<'a> = &'a dyn Fn(u32, u32) -> Option<String>;

/// A draft whose ranks are all in the program.
struct Finished<'a> {
    about: Vec<About>,
    receives: Vec<(u32, u32)>,
    name: Name<'a>,
}

/// A receive: its sender, receiver and tag, and its number.
type Received = (u32, u32, u32, u32);

impl Finished<'_> {
    /// The rank of an operation, and its label or what it does.
    fn named(&self, program: &Program, number: u32) -> (u32, String) {
        let rank = program.rank_of(number);
        let about = &self.about[rank as usize];
        let first = program.of_rank(rank).start;
        let gate = (number - first).checked_sub(about.gates.0);
        if let Some(&nth) = gate.and_then(|gate| about.gates.1.get(gate as usize)) {
            return (rank, format!("{} (its start)", self.named(program, first + nth).1));
        }
        let label = about.labels.get(&(number - first)).map(|label| label.to_string());
        let label = label.or_else(|| (self.name)(rank, number - first));
        (rank, label.unwrap_or_else(|| self.described(program, number)))
    }

    /// Describes an operation without a name.
    fn described(&self, program: &Program, number: u32) -> String {
        match program.operation(number).work {
            Work::Send(message) => {
                let Message { to, tag, .. } = program.messages[message as usize];
                format!("send to {to}, tag {tag}")
            }
            Work::Receive => {
                let before = &program.operations[..number as usize];
                let before = before.iter().filter(|of| of.work == Work::Receive).count();
                let (from, tag) = self.receives[before];
                let any = |word: u32| if word == ANY { "any".to_owned() } else { word.to_string() };
                format!("receive from {}, tag {}", any(from), any(tag))
            }
            Work::Calculate(span, _) => format!("calculate {span}"),
        }
    }

    /// The receives whose messages are known before the run, in the order of their keys.
    fn received(&self, program: &Program) -> Vec<Received> {
        let mut receives = self.receives.iter();
        let mut received = Vec::with_capacity(self.receives.len());
        for (rank, about) in (0..).zip(&self.about) {
            let numbers = program.of_rank(rank);
            let is_one = |&number: &u32| program.operation(number).work == Work::Receive;
            for (number, &(from, tag)) in numbers.filter(is_one).zip(receives.by_ref()) {
                if !about.any {
                    received.push((from, rank, tag, number));
                }
            }
        }
        received.sort_unstable();
        received
    }

    /// Messages and receives of a rank that takes any message are as many.
    fn check_any(&self, program: &Program) -> Result<(), Fault> {
        let mut uneven: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        let any = |rank: u32| self.about[rank as usize].any;
        for message in program.messages.iter().filter(|message| any(message.to)) {
            uneven.entry(message.to).or_default().0 += 1;
        }
        for &(number, _) in &program.patterns {
            uneven.entry(program.rank_of(number)).or_default().1 += 1;
        }
        let wrong = uneven.iter().find(|(_, (sends, receives))| sends != receives);
        wrong.map_or(Ok(()), |(&rank, &counts)| Err(Fault::Uneven { rank, counts }))
    }

    /// Gives each message its receive.
    fn pair(&mut self, program: &mut Program) -> Result<(), Fault> {
        self.check_any(program)?;
        let received = self.received(program);
        let messages = &program.messages;
        let key = |&nth: &u32| {
            let Message { from, to, tag, .. } = messages[nth as usize];
            (from, to, tag)
        };
        let mut sent: Vec<u32> = (0..messages.len() as u32).collect();
        sent.retain(|&nth| !self.about[messages[nth as usize].to as usize].any);
        sent.sort_unstable_by_key(|nth| (key(nth), *nth));
        // Sends without a receive are reported before receives without a send.
        let mut unsent = None;
        let mut pairs = received.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)).peekable();
        let mut lacks = |of: &[Received], sends: usize| {
            if let (None, Some(&(from, _, tag, number))) = (unsent, of.get(sends)) {
                unsent = Some((number, from, tag, (sends, of.len())));
            }
        };
        let mut received_by = Vec::with_capacity(sent.len());
        for group in sent.chunk_by(|a, b| key(a) == key(b)) {
            let (from, to, tag) = key(&group[0]);
            while let Some(before) =
                pairs.next_if(|of| (of[0].0, of[0].1, of[0].2) < (from, to, tag))
            {
                lacks(before, 0);
            }
            let of = pairs.next_if(|of| (of[0].0, of[0].1, of[0].2) == (from, to, tag));
            let of = of.unwrap_or_default();
            if let Some(&nth) = group.get(of.len()) {
                let (number, counts) = (messages[nth as usize].sent_by, (group.len(), of.len()));
                return Err(Fault::Unreceived {
                    from: self.named(program, number),
                    to,
                    tag,
                    counts,
                });
            }
            lacks(of, group.len());
            received_by.extend(of[..group.len()].iter().map(|of| of.3));
        }
        pairs.for_each(|of| lacks(of, 0));
        if let Some((number, from, tag, counts)) = unsent {
            return Err(Fault::Unsent { to: self.named(program, number), from, tag, counts });
        }
        drop(received);
        for (nth, number) in sent.into_iter().zip(received_by) {
            program.messages[nth as usize].received_by = number;
        }
        Ok(())
    }

    /// Whether all operations can be done: a receive waits for its send, too.
    fn check_order(&self, program: &Program) -> Result<(), Fault> {
        let total = program.operations.len();
        // A receive that may take several messages is found here to wait for none.
        let message = |number: u32, of: &Operation| {
            of.work == Work::Receive && program.pattern(number).is_none()
        };
        let operations = (0..).zip(&program.operations);
        let mut waits: Vec<u32> =
            operations.map(|(number, of)| of.waits_for + u32::from(message(number, of))).collect();
        let mut ready: Vec<u32> = (0..total as u32).filter(|&n| waits[n as usize] == 0).collect();
        let mut done = 0;
        while let Some(number) = ready.pop() {
            done += 1;
            for after in program.freed_by(number) {
                let waits = &mut waits[after as usize];
                // One that waits for some of several may be done already.
                if *waits == 1 {
                    ready.push(after);
                }
                *waits = waits.saturating_sub(1);
            }
        }
        if done == total { Ok(()) } else { Err(self.circle(program, &waits)) }
    }

    /// Operations that wait for each other, among those that still wait.
    fn circle(&self, program: &Program, waits: &[u32]) -> Fault {
        // Of what each of them waits for, the first that waits itself.
        let mut waits_for = vec![u32::MAX; waits.len()];
        for number in (0..waits.len() as u32).filter(|&number| waits[number as usize] > 0) {
            for after in program.freed_by(number) {
                let first = &mut waits_for[after as usize];
                *first = number.min(*first);
            }
        }
        let mut seen = vec![false; waits.len()];
        let first = waits.iter().position(|&waits| waits > 0).unwrap_or(0);
        let mut at = first as u32;
        // Each waits for another that waits: some step comes twice, and from there the circle
        // begins.
        while !std::mem::replace(&mut seen[at as usize], true) {
            at = waits_for[at as usize];
        }
        let mut circle = vec![self.named(program, at)];
        let mut next = waits_for[at as usize];
        while next != at {
            circle.push(self.named(program, next));
            next = waits_for[next as usize];
        }
        Fault::Circle(circle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(count: u32) -> Vec<HostId> {
        (0..count).map(HostId).collect()
    }

    fn finished(draft: &Draft, ranks: u32) -> Result<Program, Fault> {
        draft.clone().finish(hosts(ranks), Time::ZERO)
    }

    fn to(to: u32, bytes: u64, tag: u32, channel: u32) -> Envelope {
        Envelope { to, tag, bytes: Bytes::new(bytes), channel, class: 0, path: None }
    }

    #[test]
    fn messages_go_with_receives_in_the_order_of_writing() {
        let mut draft = Draft::new(2);
        // The receive written first takes the message written first, whatever waits for what.
        let second = draft.receive((1, 0), 7, &[]);
        let first = draft.receive((1, 0), 7, &[]);
        draft.order(first, second);
        draft.send(0, to(1, 1000, 7, 0), &[]);
        draft.send(0, to(1, 2000, 7, 1), &[]);
        draft.send(0, to(1, 0, 8, 0), &[]);
        draft.receive((1, 0), 8, &[]);
        let program = finished(&draft, 2).unwrap();
        let pairs: Vec<_> = program.messages.iter().map(|m| (m.sent_by, m.received_by)).collect();
        assert_eq!(pairs, [(0, 3), (1, 4), (2, 5)]);
        assert_eq!(program.messages[2].bytes, Bytes::new(1));
        assert_eq!(program.connections, 2);
        let connections: Vec<_> = program.messages.iter().map(|m| m.connection).collect();
        assert_eq!(connections, [0, 1, 0]);
        assert_eq!((program.of_rank(0), program.of_rank(1)), (0..3, 3..6));
        assert_eq!((program.followers(4), program.operation(3).waits_for), (&[3][..], 1));
        assert_eq!(program.flows(), 3);
    }

    #[test]
    fn a_message_that_one_side_lacks_is_named_by_rank_and_operation() {
        let mut draft = Draft::new(3);
        let sent = draft.send(2, to(1, 5, 4, 0), &[]);
        draft.label(sent, "s9");
        let fault = finished(&draft, 3).unwrap_err();
        let expected = "rank 2: `s9` has no receive at rank 1 with tag 4: 1 sends, 0 receives";
        assert_eq!(fault.to_string(), expected);
        draft.receive((1, 2), 4, &[]);
        draft.receive((1, 2), 4, &[]);
        let fault = finished(&draft, 3).unwrap_err();
        let expected =
            "rank 1: `receive from 2, tag 4` has no send at rank 2 with tag 4: 1 sends, 2 receives";
        assert_eq!(fault.to_string(), expected);
    }

    #[test]
    fn operations_that_wait_for_each_other_are_named() {
        // Each sends once it has received, behind something that waits in vain, too.
        let mut draft = Draft::new(2);
        for rank in 0..2 {
            let got = draft.receive((rank, 1 - rank), 0, &[]);
            draft.send(rank, to(1 - rank, 1, 0, 0), &[got]);
            draft.calculate((rank, 0), Span::from_ns(1), &[got]);
        }
        let fault = finished(&draft, 2).unwrap_err();
        let expected = "deadlock: rank 0 `receive from 1, tag 0` waits for rank 1 `send to 0, tag 0` waits for \
                        rank 1 `receive from 0, tag 0` waits for rank 0 `send to 1, tag 0` waits for rank 0 \
                        `receive from 1, tag 0`";
        assert_eq!(fault.to_string(), expected);
        let mut draft = Draft::new(1);
        let [a, b] = [(); 2].map(|()| draft.calculate((0, 0), Span::ZERO, &[]));
        draft.order(a, b);
        assert!(finished(&draft, 1).is_ok());
        draft.order(b, a);
        assert!(matches!(finished(&draft, 1), Err(Fault::Circle(circle)) if circle.len() == 2));
    }
}
