//! The transports of a scenario, each once.

use crate::protocol::Protocol;
use crate::roce::Roce;
use crate::traffic::{Entry, Traffic};
use crate::transport::Transport;
use crate::{Scenario, stack};
use std::collections::BTreeSet;
use std::fmt::Write;
use switchbed_config::param::Value;
use switchbed_units::Bytes;
use switchbed_units::ids::HostId;

impl Scenario {
    /// The shortest packet that a transport sends.
    pub fn shortest(&self) -> Bytes {
        let protocols = Protocols::of(self);
        protocols.all().iter().map(Protocol::shortest).fold(Bytes::MAX, Bytes::min)
    }

    /// The longest that a transport sends.
    pub fn longest(&self) -> Bytes {
        let tcp = self.transport.mss + self.transport.header;
        Protocols::of(self).all().iter().map(Protocol::longest).fold(tcp, Bytes::max)
    }
}

/// The transports of a scenario's flows, each once. Where hosts differ, a transport is one that the hosts
/// of one stack send by to those of another.
#[derive(Clone, Debug)]
pub struct Protocols {
    all: Vec<Protocol>,
    /// Of each of them: the stack that sends by it, and whether its receivers echo each mark as it comes;
    /// `None`: as its kind has it.
    ends: Vec<(u8, Option<bool>)>,
    /// Of entries without a transport: what `[transport]` says.
    base: Choice,
    /// The queue pairs of `[roce]`'s classes, beside it.
    pairs: Option<(Vec<u8>, Choice)>,
    /// The transports of entries that have one.
    entries: Vec<Option<Choice>>,
    /// The stack of each host; empty where all are alike.
    stacks: Vec<u8>,
    /// Labels of the stacks.
    labels: Vec<String>,
    /// Where the keys of each stack's transport are written.
    paths: Vec<String>,
}

/// Places of the transports of flows, by the stacks of sender and receiver; one where hosts are alike.
type Choice = Vec<u8>;

/// Most transports of a run.
pub(crate) const MOST: usize = 200;

impl Protocols {
    /// The transports of a scenario: of `[transport]` and `[roce]` where an entry has none, then of the
    /// entries that have one.
    pub fn of(scenario: &Scenario) -> Protocols {
        let stacks = &scenario.host;
        let numbers = stacks.numbers(scenario.topology.hosts());
        let count = 1 + stacks.others.len() as u8;
        let written = stacks.others.iter().map(|stack| format!("host.{}.transport", stack.entry));
        let mut of = Protocols {
            all: Vec::new(),
            ends: Vec::new(),
            base: Choice::new(),
            pairs: None,
            entries: Vec::new(),
            stacks: numbers,
            labels: (0..count).map(|stack| stacks.label(stack).to_owned()).collect(),
            paths: std::iter::once("transport".to_owned()).chain(written).collect(),
        };
        let sends = |entry: &&Entry| !matches!(entry.source, Traffic::Probe(_));
        let mut senders = scenario.traffic.iter().filter(sends).peekable();
        // No entry sends, or one has no transport of its own: then the sections' are in use.
        if senders.peek().is_none() || senders.any(|entry| entry.transport.is_none()) {
            let pairs = scenario.roce.as_ref();
            let queue_pairs = |roce: &Roce| Protocol::QueuePairs(Box::new(roce.clone()));
            of.base = match pairs.filter(|roce| roce.classes.is_none()) {
                Some(roce) => of.add_all(&queue_pairs(roce)),
                None if scenario.transport.control.about().tcp => of.add_each(scenario),
                None => of.add_all(&Protocol::Transport(Box::new(scenario.transport.clone()))),
            };
            if let Some(roce) = pairs
                && let Some(classes) = &roce.classes
            {
                // Without the classes it can equal an entry's own queue pairs, and shares its
                // place.
                let bare = Roce { classes: None, ..roce.clone() };
                of.pairs = Some((classes.clone(), of.add_all(&queue_pairs(&bare))));
            }
        }
        for entry in &scenario.traffic {
            let own = entry.transport.as_ref().map(|protocol| of.add_all(protocol));
            of.entries.push(own);
        }
        if of.base.is_empty() {
            of.base = vec![0; of.ends_of().len()];
        }
        of
    }

    /// The numbers of the stacks of each pair of sender and receiver.
    fn ends_of(&self) -> Vec<(u8, u8)> {
        let count = if self.stacks.is_empty() { 1 } else { self.labels.len() as u8 };
        (0..count).flat_map(|from| (0..count).map(move |to| (from, to))).collect()
    }

    /// Whether hosts have a stack.
    fn is_used(&self, stack: u8) -> bool {
        self.stacks.is_empty() || self.stacks.contains(&stack)
    }

    /// A transport of all hosts.
    fn add_all(&mut self, protocol: &Protocol) -> Choice {
        let ends = self.ends_of();
        let add = |(from, _)| match self.is_used(from) {
            true => self.add(protocol.clone(), (from, None)),
            false => 0,
        };
        ends.into_iter().map(add).collect()
    }

    /// TCP as each stack's hosts have it towards each.
    fn add_each(&mut self, scenario: &Scenario) -> Choice {
        let own = |stack: u8| scenario.host.transport(stack).unwrap_or(&scenario.transport);
        let ends = self.ends_of();
        let add = |(from, to): (u8, u8)| {
            if !self.is_used(from) || !self.is_used(to) {
                return 0;
            }
            let both = Protocol::Transport(Box::new(match from == to {
                true => own(from).clone(),
                false => own(from).toward(own(to)),
            }));
            let echo = (from != to).then(|| own(to).echoes_exactly());
            self.add(both, (from, echo))
        };
        ends.into_iter().map(add).collect()
    }

    fn add(&mut self, protocol: Protocol, ends: (u8, Option<bool>)) -> u8 {
        let mut known = self.all.iter().zip(&self.ends);
        let place = known.position(|(other, of)| *other == protocol && *of == ends);
        let place = place.unwrap_or_else(|| {
            self.all.push(protocol);
            self.ends.push(ends);
            self.all.len() - 1
        });
        // Too many are refused later (`MOST`), with a message: here it must only not wrap.
        place.min(usize::from(u8::MAX)) as u8
    }

    /// All of them.
    pub fn all(&self) -> &[Protocol] {
        &self.all
    }

    /// The stack whose hosts send by the transport at this place, and whether its receivers echo each mark
    /// as it comes; `None`: as its kind has it.
    pub fn ends(&self, place: usize) -> (u8, Option<bool>) {
        self.ends[place]
    }

    /// Labels of hosts' stacks; none where all are alike.
    pub fn stacks(&self) -> &[String] {
        if self.stacks.is_empty() { &[] } else { &self.labels }
    }

    /// The stack of a host, by number.
    pub fn stack(&self, host: HostId) -> u8 {
        stack::of(&self.stacks, host)
    }

    fn choice(&self, entry: u32, class: u8) -> &Choice {
        match (self.entries.get(entry as usize), &self.pairs) {
            (Some(Some(own)), _) => own,
            (_, Some((classes, pairs))) if classes.contains(&class) => pairs,
            _ => &self.base,
        }
    }

    /// The place among them of the transport of a traffic entry's flows of a class from a host to another.
    pub fn place(&self, entry: u32, class: u8, (src, dst): (HostId, HostId)) -> u8 {
        let choice = self.choice(entry, class);
        if self.stacks.is_empty() {
            return choice[0];
        }
        let [from, to] = [src, dst].map(|host| usize::from(self.stack(host)));
        choice[from * self.labels.len() + to]
    }

    /// The transport of a traffic entry's flows of a class from a host to another.
    pub fn between(&self, entry: u32, class: u8, hosts: (HostId, HostId)) -> &Protocol {
        &self.all[usize::from(self.place(entry, class, hosts))]
    }

    /// The transport of a traffic entry's flows of a class, where only what all hosts have in common is
    /// asked.
    pub fn get(&self, entry: u32, class: u8) -> &Protocol {
        let choice = self.choice(entry, class);
        let nth = match (0..self.labels.len()).find(|&stack| self.is_used(stack as u8)) {
            Some(stack) if !self.stacks.is_empty() => stack * self.labels.len() + stack,
            _ => 0,
        };
        &self.all[usize::from(choice[nth])]
    }

    /// The transports of a traffic entry's flows of a class.
    pub fn of_class(&self, entry: u32, class: u8) -> impl Iterator<Item = &Protocol> {
        let places: BTreeSet<u8> = self.choice(entry, class).iter().copied().collect();
        places.into_iter().map(|place| &self.all[usize::from(place)])
    }

    /// The transports of a traffic entry's flows of any class.
    pub fn of_entry(&self, entry: u32) -> impl Iterator<Item = &Protocol> {
        let own = self.entries.get(entry as usize).and_then(Option::as_ref);
        let pairs = self.pairs.as_ref().filter(|_| own.is_none()).map(|(_, places)| places);
        let places: BTreeSet<u8> =
            own.unwrap_or(&self.base).iter().chain(pairs.into_iter().flatten()).copied().collect();
        places.into_iter().map(|place| &self.all[usize::from(place)])
    }

    /// Where the keys of the transport of a traffic entry's flows of a class are written that a host sends.
    pub fn section(&self, entry: u32, class: u8, src: HostId) -> String {
        match (self.entries.get(entry as usize), self.get(entry, class)) {
            (Some(Some(_)), _) if self.entries.len() == 1 => "traffic.transport".to_owned(),
            (Some(Some(_)), _) => format!("traffic.{entry}.transport"),
            (_, Protocol::QueuePairs(_)) => "roce".to_owned(),
            (_, Protocol::Transport(_)) => self.paths[usize::from(self.stack(src))].clone(),
        }
    }

    /// The queue pairs among them.
    pub fn queue_pairs(&self) -> impl Iterator<Item = &Roce> {
        self.all.iter().filter_map(Protocol::queue_pairs)
    }

    /// TCP's settings among them.
    pub fn tcp(&self) -> impl Iterator<Item = &Transport> {
        self.all.iter().filter_map(Protocol::tcp)
    }

    /// A name of each: its kind, and where others have the same kind, the keys by which it differs from
    /// the first of them. Where hosts differ, the label of the sending hosts if others have the same
    /// kind, too: several have one name then.
    pub fn names(&self) -> Vec<String> {
        let of_pairs = |choice: &Choice, place: usize| {
            let nth = choice.iter().position(|&of| usize::from(of) == place)?;
            let from = nth / self.labels.len();
            Some(usize::from(choice[from * self.labels.len() + from]))
        };
        // Towards hosts of another stack it has the name of the transport among its own.
        let own = |place: usize| {
            if self.stacks.is_empty() {
                return place;
            }
            let choices = self.entries.iter().flatten().chain(self.pairs.iter().map(|(_, of)| of));
            let mut choices = std::iter::once(&self.base).chain(choices);
            choices.find_map(|choice| of_pairs(choice, place)).unwrap_or(place)
        };
        let name = |place: usize| {
            let (place, stack) = (own(place), self.ends[place].0);
            let protocol = &self.all[place];
            let kind = protocol.kind();
            let first =
                self.all.iter().zip(&self.ends).enumerate().position(|(nth, (other, ends))| {
                    other.kind() == kind && ends.0 == stack && own(nth) == nth
                });
            let mut keys = String::new();
            let elsewhere =
                |(other, ends): (&Protocol, &(u8, _))| other.kind() == kind && ends.0 != stack;
            if self.all.iter().zip(&self.ends).any(elsewhere) {
                keys.push_str(&self.labels[usize::from(stack)]);
            }
            if let Some(first) = first.filter(|&first| first < place) {
                let (first, own) = (self.all[first].entries(), protocol.entries());
                for (key, value) in own.into_iter().filter(|entry| !first.contains(entry)) {
                    let separator = if keys.is_empty() { "" } else { ", " };
                    let _ = write!(keys, "{separator}{key} = {}", shown(&value));
                }
            }
            if keys.is_empty() { kind.to_owned() } else { format!("{kind} ({keys})") }
        };
        (0..self.all.len()).map(name).collect()
    }
}

/// A value as a file writes it.
fn shown(value: &Value) -> String {
    match value {
        Value::Number(x) => x.to_string(),
        Value::Count(n) => n.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Bytes(bytes) => bytes.to_string(),
        Value::Span(span) => span.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::Word(word) => word.clone(),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(entries) => {
            let of = |(key, value): &(&str, Value)| format!("{key} = {}", shown(value));
            let entries: Vec<String> = entries.iter().map(of).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}
