//! A program as it is written: rank by rank, then each message with its receive, then in order.

use super::messages::Messages;
use super::operations::Operations;
use super::{ANY, Fault, Message, Operation, Pattern, Schedule, Work};
use std::collections::{BTreeMap, HashMap};
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span, Time};

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
    /// Tag, which the receive has, too; [`ANY`]: that of any receive.
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
        // Gates are numbered behind the rank's own operations, whose numbers stay.
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
    program: Schedule,
    /// Numbers of connections by their ranks and channel. Nothing goes through them in their order.
    connections: HashMap<(u32, u32, u32), u32>,
    /// The receives of the program.
    receives: Vec<(u32, u32)>,
    many: bool,
}

impl Draft {
    /// Makes a draft for `ranks` ranks, without operations.
    pub fn new(ranks: u32) -> Draft {
        let program = Schedule {
            overhead: Span::ZERO,
            hosts: Vec::new(),
            start: Time::ZERO,
            after: None,
            repeats: 1,
            warmup: 0,
            messages: Messages::new(),
            operations: Operations::default(),
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
            connections: HashMap::new(),
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

    /// Leaves a number in the order of writing to a flow that is no message.
    pub fn skip_row(&mut self) {
        self.rows += 1;
    }

    /// A message to a rank, once others at the sending rank are done.
    pub fn send(&mut self, rank: u32, envelope: Envelope, after: &[Step]) -> Step {
        let Envelope { to, tag, bytes, channel, class, path } = envelope;
        self.about[to as usize].any |= tag == ANY;
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
        self.add(rank, Work::Send(nth, 0), after)
    }

    /// A message from a rank.
    pub fn receive(&mut self, (rank, from): (u32, u32), tag: u32, after: &[Step]) -> Step {
        self.receive_any(rank, Pattern { from: Some(from), tag: Some(tag) }, after)
    }

    /// A message that fits.
    pub fn receive_any(&mut self, rank: u32, pattern: Pattern, after: &[Step]) -> Step {
        let [from, tag] = [pattern.from, pattern.tag].map(|of| of.unwrap_or(ANY));
        self.about[rank as usize].any |= from == ANY || tag == ANY;
        self.ranks[rank as usize].receives.push((from, tag));
        self.add(rank, Work::Receive(0), after)
    }

    /// The processor that a message occupies at its rank, where a program has an overhead.
    pub fn on_cpu(&mut self, step: Step, cpu: u8) {
        match &mut self.ranks[step.rank as usize].operations[step.nth as usize].work {
            Work::Send(_, of) | Work::Receive(of) => *of = cpu,
            Work::Calculate(..) => {}
        }
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
        for (nth, mut operation) in (0..).zip(of.operations) {
            if let Work::Send(message, _) = &mut operation.work {
                *message += sent;
            }
            while let Some((_, after)) = edge.next_if(|edge| edge.0 == nth) {
                program.followers.push(first + after);
            }
            operation.until = program.followers.len() as u32;
            program.operations.push(&operation);
        }
        for mut message in of.messages {
            message.sent_by += first;
            program.messages.push(&message, &mut self.connections);
        }
        self.receives.extend_from_slice(&of.receives);
        program.ends.push(program.operations.len() as u32);
    }

    /// The program, which ranks run on these hosts once.
    ///
    /// # Errors
    /// A message that only one side has, or operations that wait for each other.
    pub fn finish(self, hosts: Vec<HostId>, start: Time) -> Result<Schedule, Fault> {
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
    ) -> Result<Schedule, Fault> {
        if let Some(last) = self.ranks.len().checked_sub(1) {
            self.close(last as u32);
        }
        if self.many {
            return Err(Fault::Many);
        }
        let Draft { about, mut program, connections, receives, .. } = self;
        (program.hosts, program.start) = (hosts, start);
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
    fn named(&self, program: &Schedule, number: u32) -> (u32, String) {
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
    fn described(&self, program: &Schedule, number: u32) -> String {
        match program.operation(number).work {
            Work::Send(message, _) => {
                let Message { to, tag, .. } = program.message(message);
                format!("send to {to}, tag {tag}")
            }
            Work::Receive(_) => {
                let before = program.operations.iter().take(number as usize);
                let before = before.filter(|of| of.work.receives()).count();
                let (from, tag) = self.receives[before];
                let any = |word: u32| if word == ANY { "any".to_owned() } else { word.to_string() };
                format!("receive from {}, tag {}", any(from), any(tag))
            }
            Work::Calculate(span, _) => format!("calculate {span}"),
        }
    }

    /// The receives whose messages are known before the run, in the order of their keys; the others become patterns
    /// of the program.
    fn received(&self, program: &mut Schedule) -> Vec<Received> {
        let mut receives = self.receives.iter();
        let mut received = Vec::with_capacity(self.receives.len());
        let any = |word: u32| Some(word).filter(|&word| word != ANY);
        let mut patterns = Vec::new();
        for (rank, about) in (0..).zip(&self.about) {
            let numbers = program.of_rank(rank);
            let is_one = |&number: &u32| program.operation(number).work.receives();
            for (number, &(from, tag)) in numbers.filter(is_one).zip(receives.by_ref()) {
                match about.any {
                    true => patterns.push((number, Pattern { from: any(from), tag: any(tag) })),
                    false => received.push((from, rank, tag, number)),
                }
            }
        }
        program.patterns = patterns;
        received.sort_unstable();
        received
    }

    /// Messages and receives of a rank that takes any message are as many.
    fn check_any(&self, program: &Schedule) -> Result<(), Fault> {
        let mut uneven: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        let any = |rank: u32| self.about[rank as usize].any;
        for message in program.messages().filter(|message| any(message.to)) {
            uneven.entry(message.to).or_default().0 += 1;
        }
        for &(number, _) in &program.patterns {
            uneven.entry(program.rank_of(number)).or_default().1 += 1;
        }
        let wrong = uneven.iter().find(|(_, (sends, receives))| sends != receives);
        wrong.map_or(Ok(()), |(&rank, &counts)| Err(Fault::Uneven { rank, counts }))
    }

    /// Gives each message its receive.
    fn pair(&mut self, program: &mut Schedule) -> Result<(), Fault> {
        let received = self.received(program);
        self.check_any(program)?;
        let messages = &program.messages;
        let key = |&nth: &u32| {
            let Message { from, to, tag, .. } = messages.get(nth);
            (from, to, tag)
        };
        let mut sent: Vec<u32> = (0..messages.len() as u32).collect();
        sent.retain(|&nth| !self.about[messages.get(nth).to as usize].any);
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
                let (number, counts) = (messages.sent_by(nth), (group.len(), of.len()));
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
            program.messages.receive(nth, number);
        }
        // Only a receive of any source or tag asks for tags during the run.
        if program.patterns.is_empty() {
            program.messages.forget_tags();
        }
        Ok(())
    }

    /// Whether all operations can be done: a receive waits for its send, too.
    fn check_order(&self, program: &Schedule) -> Result<(), Fault> {
        let total = program.operations.len();
        // A receive that may take several messages is found here to wait for none.
        let message =
            |number: u32, of: Operation| of.work.receives() && program.pattern(number).is_none();
        let operations = (0..).zip(program.operations.iter());
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
    fn circle(&self, program: &Schedule, waits: &[u32]) -> Fault {
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

    fn finished(draft: &Draft, ranks: u32) -> Result<Schedule, Fault> {
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
        let pairs: Vec<_> = program.messages().map(|m| (m.sent_by, m.received_by)).collect();
        assert_eq!(pairs, [(0, 3), (1, 4), (2, 5)]);
        assert_eq!(program.message(2).bytes, Bytes::new(1));
        assert_eq!(program.connections(), 2);
        let connections: Vec<_> = program.messages().map(|m| m.connection).collect();
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
