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
    pub fn goal(&self) -> String {
        let mut tags = vec![0; self.operations.len()];
        for message in &self.messages {
            tags[message.sent_by as usize] = message.row;
            if message.received_by != ANY {
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
        lines.join("\n")
    }

    /// How many operations there are.
    pub fn operations(&self) -> u32 {
        self.operations.len() as u32
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

#[derive(Clone, Copy, Debug)]
enum Drafted {
    Send(Envelope, u32),
    Receive(Pattern),
    Calculate(Span, u32),
}

#[derive(Clone, Debug, Default)]
struct Rank {
    operations: Vec<(Drafted, Option<Box<str>>)>,
    /// Pairs of operations: the second waits for the end of the first.
    edges: Vec<(u32, u32)>,
    /// Pairs of operations: the second waits for the start of the first.
    starts: Vec<(u32, u32)>,
    /// Operations that wait for fewer than all of those before them, and for how many.
    least: BTreeMap<u32, u32>,
    /// Whether a receive takes any source or tag.
    any: bool,
}

impl Rank {
    /// Puts an operation before each whose start others wait for: it waits for all that this waits for.
    fn add_starts(&mut self) {
        let mut gates = BTreeMap::new();
        for &(of, _) in &self.starts {
            gates.entry(of).or_insert_with(|| {
                let name = format!("{} (its start)", text(&self.operations[of as usize]));
                self.operations.push((Drafted::Calculate(Span::ZERO, 0), Some(name.into())));
                self.operations.len() as u32 - 1
            });
        }
        let gate = |nth: u32| gates.get(&nth).copied().unwrap_or(nth);
        self.edges.iter_mut().for_each(|(_, after)| *after = gate(*after));
        let starts = self.starts.drain(..).map(|(of, after)| (gate(of), gate(after)));
        self.edges.extend(starts);
        self.edges.extend(gates.iter().map(|(&nth, &gate)| (gate, nth)));
    }
}

/// An operation's label, or what it does.
fn text((operation, label): &(Drafted, Option<Box<str>>)) -> String {
    match (label, *operation) {
        (Some(label), _) => label.to_string(),
        (None, Drafted::Send(Envelope { to, tag, .. }, _)) => format!("send to {to}, tag {tag}"),
        (None, Drafted::Receive(Pattern { from, tag })) => {
            let any = |word: Option<u32>| word.map_or("any".to_owned(), |word| word.to_string());
            format!("receive from {}, tag {}", any(from), any(tag))
        }
        (None, Drafted::Calculate(span, _)) => format!("calculate {span}"),
    }
}

/// A program as it is written.
#[derive(Clone, Debug)]
pub struct Draft {
    ranks: Vec<Rank>,
    /// Messages so far.
    rows: u32,
}

impl Draft {
    /// Makes a draft for `ranks` ranks, without operations.
    pub fn new(ranks: u32) -> Draft {
        Draft { ranks: vec![Rank::default(); ranks as usize], rows: 0 }
    }

    fn add(&mut self, rank: u32, operation: Drafted, after: &[Step]) -> Step {
        let of = &mut self.ranks[rank as usize];
        let nth = of.operations.len() as u32;
        of.operations.push((operation, None));
        let step = Step { rank, nth };
        after.iter().for_each(|&before| self.order(before, step));
        step
    }

    /// A message to another rank, once others at the rank are done.
    pub fn send(&mut self, rank: u32, envelope: Envelope, after: &[Step]) -> Step {
        self.rows += 1;
        self.add(rank, Drafted::Send(envelope, self.rows - 1), after)
    }

    /// A message from another rank.
    pub fn receive(&mut self, (rank, from): (u32, u32), tag: u32, after: &[Step]) -> Step {
        self.receive_any(rank, Pattern { from: Some(from), tag: Some(tag) }, after)
    }

    /// A message that fits.
    pub fn receive_any(&mut self, rank: u32, pattern: Pattern, after: &[Step]) -> Step {
        let any = pattern.from.is_none() || pattern.tag.is_none();
        self.ranks[rank as usize].any |= any;
        self.add(rank, Drafted::Receive(pattern), after)
    }

    /// Adds a calculation of this duration on a processor of the rank.
    pub fn calculate(&mut self, (rank, cpu): (u32, u32), span: Span, after: &[Step]) -> Step {
        self.add(rank, Drafted::Calculate(span, cpu), after)
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
        self.ranks[step.rank as usize].operations[step.nth as usize].1 = Some(label.into());
    }

    fn named(&self, step: Step) -> (u32, String) {
        (step.rank, text(&self.ranks[step.rank as usize].operations[step.nth as usize]))
    }

    /// The program, which ranks run on these hosts once.
    ///
    /// # Errors
    /// A message that only one side has, or operations that wait for each other.
    pub fn finish(mut self, hosts: Vec<HostId>, start: Time) -> Result<Program, Fault> {
        self.complete();
        let total: usize = self.ranks.iter().map(|rank| rank.operations.len()).sum();
        let edges: usize = self.ranks.iter().map(|rank| rank.edges.len()).sum();
        if total.max(edges) >= u32::MAX as usize {
            return Err(Fault::Many);
        }
        let mut program = Program {
            hosts,
            start,
            after: None,
            repeats: 1,
            warmup: 0,
            messages: Vec::new(),
            connections: 0,
            operations: Vec::with_capacity(total),
            patterns: Vec::new(),
            followers: Vec::with_capacity(edges),
            ends: Vec::with_capacity(self.ranks.len()),
        };
        let mut connections = BTreeMap::new();
        for (rank, of) in self.ranks.iter().enumerate() {
            let first = program.operations.len() as u32;
            let mut edges = of.edges.clone();
            edges.sort_unstable();
            // A wait written twice would count twice, and be done once.
            edges.dedup();
            let mut edge = edges.iter().peekable();
            for (nth, (operation, _)) in (0..).zip(&of.operations) {
                let work = match *operation {
                    Drafted::Send(envelope, row) => {
                        let Envelope { to, tag, bytes, channel, class, path } = envelope;
                        let next = connections.len() as u32;
                        let connection =
                            *connections.entry((rank as u32, to, channel)).or_insert(next);
                        let (sent_by, from, received_by) = (first + nth, rank as u32, ANY);
                        // A flow without payload would have no packet to end with.
                        let bytes = bytes.max(Bytes::new(1));
                        let message = Message {
                            sent_by,
                            from,
                            tag,
                            to,
                            received_by,
                            bytes,
                            connection,
                            channel,
                            class,
                            path,
                            row,
                        };
                        program.messages.push(message);
                        Work::Send(program.messages.len() as u32 - 1)
                    }
                    Drafted::Receive(pattern) => {
                        // Pushed in rising order, which `pattern` relies on for its search.
                        if of.any {
                            program.patterns.push((first + nth, pattern));
                        }
                        Work::Receive
                    }
                    Drafted::Calculate(span, cpu) => Work::Calculate(span, cpu),
                };
                while let Some((_, after)) = edge.next_if(|edge| edge.0 == nth) {
                    program.followers.push(first + after);
                }
                let until = program.followers.len() as u32;
                program.operations.push(Operation { work, waits_for: 0, until });
            }
            for &(_, after) in &edges {
                program.operations[(first + after) as usize].waits_for += 1;
            }
            for (nth, &done) in &of.least {
                let waits_for = &mut program.operations[(first + nth) as usize].waits_for;
                // A step cannot wait for more than there is.
                *waits_for = done.min(*waits_for);
            }
            program.ends.push(program.operations.len() as u32);
        }
        program.connections = connections.len() as u32;
        self.pair(&mut program)?;
        self.check_order(&program)?;
        Ok(program)
    }

    /// Puts in the operations that stand for starts, and one for a rank without any.
    fn complete(&mut self) {
        for rank in &mut self.ranks {
            // A rank with nothing to do would never be done with a repetition.
            if rank.operations.is_empty() {
                rank.operations.push((Drafted::Calculate(Span::ZERO, 0), None));
            }
            rank.add_starts();
        }
    }

    /// The operations with their numbers.
    fn steps(&self) -> impl Iterator<Item = (Step, Drafted)> {
        let ranks = (0..).zip(&self.ranks);
        ranks.flat_map(|(rank, of)| {
            let operations = (0..).zip(&of.operations);
            operations.map(move |(nth, &(operation, _))| (Step { rank, nth }, operation))
        })
    }

    /// Gives each message its receive.
    fn pair(&self, program: &mut Program) -> Result<(), Fault> {
        let mut sends: BTreeMap<(u32, u32, u32), Vec<(u32, Step)>> = BTreeMap::new();
        let mut receives: BTreeMap<(u32, u32, u32), Vec<(u32, Step)>> = BTreeMap::new();
        let mut uneven: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for (number, (step, operation)) in (0..).zip(self.steps()) {
            match operation {
                // Matched only at run time, by arrival: here the counts can be compared, no more.
                Drafted::Send(Envelope { to, .. }, _) if self.ranks[to as usize].any => {
                    uneven.entry(to).or_default().0 += 1;
                }
                Drafted::Receive(_) if self.ranks[step.rank as usize].any => {
                    uneven.entry(step.rank).or_default().1 += 1;
                }
                Drafted::Send(Envelope { to, tag, .. }, _) => {
                    sends.entry((step.rank, to, tag)).or_default().push((number, step));
                }
                Drafted::Receive(Pattern { from: Some(from), tag: Some(tag) }) => {
                    receives.entry((from, step.rank, tag)).or_default().push((number, step));
                }
                Drafted::Receive(_) | Drafted::Calculate(..) => {}
            }
        }
        let wrong = uneven.iter().find(|(_, (sends, receives))| sends != receives);
        if let Some((&rank, &counts)) = wrong {
            return Err(Fault::Uneven { rank, counts });
        }
        let none = Vec::new();
        for (&(from, to, tag), sent) in &sends {
            let received = receives.get(&(from, to, tag)).unwrap_or(&none);
            // As MPI's messages do not overtake, the n-th send with a tag belongs to the n-th
            // receive.
            for (nth, &(number, step)) in sent.iter().enumerate() {
                let counts = (sent.len(), received.len());
                let Some(&(receive, _)) = received.get(nth) else {
                    return Err(Fault::Unreceived { from: self.named(step), to, tag, counts });
                };
                if let Work::Send(message) = program.operations[number as usize].work {
                    program.messages[message as usize].received_by = receive;
                }
            }
        }
        for (&(from, _, tag), received) in &receives {
            let sent = received.first().and_then(|&(_, step)| sends.get(&(from, step.rank, tag)));
            let sent = sent.unwrap_or(&none).len();
            // More receives than sends: the first that stays without.
            if let Some(&(_, step)) = received.get(sent) {
                let counts = (sent, received.len());
                return Err(Fault::Unsent { to: self.named(step), from, tag, counts });
            }
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
            let received = match program.operation(number).work {
                Work::Send(message) => Some(program.messages[message as usize].received_by),
                _ => None,
            };
            let received = received.filter(|&received| received != ANY);
            for after in program.followers(number).iter().copied().chain(received) {
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
            let received = match program.operation(number).work {
                Work::Send(message) => Some(program.messages[message as usize].received_by),
                _ => None,
            };
            let received = received.filter(|&received| received != ANY);
            for after in program.followers(number).iter().copied().chain(received) {
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
        let steps: Vec<Step> = self.steps().map(|(step, _)| step).collect();
        let mut circle = vec![self.named(steps[at as usize])];
        let mut next = waits_for[at as usize];
        while next != at {
            circle.push(self.named(steps[next as usize]));
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
