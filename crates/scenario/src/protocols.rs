//! The transports of a scenario, each once.

use crate::Scenario;
use crate::protocol::Protocol;
use crate::roce::Roce;
use crate::traffic::{Entry, Traffic};
use crate::transport::Transport;
use std::fmt::Write;
use switchbed_config::param::Value;
use switchbed_units::Bytes;

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

/// The transports of a scenario's flows, each once.
#[derive(Clone, Debug)]
pub struct Protocols {
    all: Vec<Protocol>,
    /// Of entries without a transport: what `[transport]` says.
    base: u8,
    /// The queue pairs of `[roce]`'s classes, beside it.
    pairs: Option<(Vec<u8>, u8)>,
    /// The transports of entries that have one.
    entries: Vec<Option<u8>>,
}

/// Most transports of a run.
pub(crate) const MOST: usize = 200;

impl Protocols {
    /// The transports of a scenario: of `[transport]` and `[roce]` where an entry has none, then of the
    /// entries that have one.
    pub fn of(scenario: &Scenario) -> Protocols {
        let mut of = Protocols { all: Vec::new(), base: 0, pairs: None, entries: Vec::new() };
        let sends = |entry: &&Entry| !matches!(entry.source, Traffic::Probe(_));
        let mut senders = scenario.traffic.iter().filter(sends).peekable();
        // No entry sends, or one has no transport of its own: then the sections' are in use.
        if senders.peek().is_none() || senders.any(|entry| entry.transport.is_none()) {
            let pairs = scenario.roce.as_ref();
            let queue_pairs = |roce: &Roce| Protocol::QueuePairs(Box::new(roce.clone()));
            of.base = match pairs.filter(|roce| roce.classes.is_none()) {
                Some(roce) => of.add(queue_pairs(roce)),
                None => of.add(Protocol::Transport(Box::new(scenario.transport.clone()))),
            };
            if let Some(roce) = pairs
                && let Some(classes) = &roce.classes
            {
                // Without the classes it can equal an entry's own queue pairs, and shares its
                // place.
                let bare = Roce { classes: None, ..roce.clone() };
                of.pairs = Some((classes.clone(), of.add(queue_pairs(&bare))));
            }
        }
        for entry in &scenario.traffic {
            let own = entry.transport.clone().map(|protocol| of.add(protocol));
            of.entries.push(own);
        }
        of
    }

    fn add(&mut self, protocol: Protocol) -> u8 {
        // By value: entries that write the same share a place, and results.
        let known = self.all.iter().position(|other| *other == protocol);
        let place = known.unwrap_or_else(|| {
            self.all.push(protocol);
            self.all.len() - 1
        });
        // Too many are refused later (`MOST`), with a message: here it must only not wrap.
        place.min(usize::from(u8::MAX)) as u8
    }

    /// All of them.
    pub fn all(&self) -> &[Protocol] {
        &self.all
    }

    /// The place among them of the transport of a traffic entry's flows of a class.
    pub fn place(&self, entry: u32, class: u8) -> u8 {
        match (self.entries.get(entry as usize), &self.pairs) {
            // An entry's own transport carries all its classes.
            (Some(&Some(own)), _) => own,
            (_, Some((classes, pairs))) if classes.contains(&class) => *pairs,
            _ => self.base,
        }
    }

    /// The transport of a traffic entry's flows of a class.
    pub fn get(&self, entry: u32, class: u8) -> &Protocol {
        &self.all[usize::from(self.place(entry, class))]
    }

    /// The transports of a traffic entry's flows of any class.
    pub fn of_entry(&self, entry: u32) -> impl Iterator<Item = &Protocol> {
        let own = self.entries.get(entry as usize).copied().flatten();
        let pairs = self.pairs.as_ref().filter(|_| own.is_none()).map(|(_, place)| *place);
        [Some(own.unwrap_or(self.base)), pairs]
            .into_iter()
            .flatten()
            .map(|place| &self.all[usize::from(place)])
    }

    /// Where the keys of the transport of a traffic entry's flows of a class are written.
    pub fn section(&self, entry: u32, class: u8) -> String {
        match (self.entries.get(entry as usize), self.get(entry, class)) {
            (Some(Some(_)), _) if self.entries.len() == 1 => "traffic.transport".to_owned(),
            (Some(Some(_)), _) => format!("traffic.{entry}.transport"),
            (_, Protocol::QueuePairs(_)) => "roce".to_owned(),
            (_, Protocol::Transport(_)) => "transport".to_owned(),
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
    /// the first of them.
    pub fn names(&self) -> Vec<String> {
        let name = |(place, protocol): (usize, &Protocol)| {
            let kind = protocol.kind();
            let first = self.all.iter().position(|other| other.kind() == kind);
            // The first of a kind goes by the kind alone, others by how they differ from it.
            let Some(first) = first.filter(|&first| first < place) else { return kind.to_owned() };
            let (first, own) = (self.all[first].entries(), protocol.entries());
            let differs = own.into_iter().filter(|entry| !first.contains(entry));
            let mut keys = String::new();
            for (key, value) in differs {
                let separator = if keys.is_empty() { "" } else { ", " };
                let _ = write!(keys, "{separator}{key} = {}", shown(&value));
            }
            format!("{kind} ({keys})")
        };
        self.all.iter().enumerate().map(name).collect()
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
