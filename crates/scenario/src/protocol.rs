//! The transport of flows: TCP or UDP, as `[transport]` has them, or queue pairs, as `[roce]` has them;
//! of a traffic entry's flows what its table says over these sections.

use crate::roce::{RateControl, Roce, check_classes};
use crate::transport::{CongestionControl, Transport};
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Named, Param, ParamKind, Params, Value, Values, join, len};
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Entry, Node, Table};
use switchbed_units::Bytes;

/// A transport's kind, `"dctcp"`, or a table whose keys lie over those of `[transport]`, or, where its
/// kind has queue pairs, of `[roce]`. The reader hands over all its keys.
pub const PROTOCOL: ParamKind = ParamKind::Named(&Named {
    name: "transport",
    form: ParamKind::Either(&[KINDS, ParamKind::Table(KEYS)]),
    example: "\"dctcp\"",
    read,
});
/// The kinds of `[transport]`, those with queue pairs among them.
const KINDS: ParamKind = CongestionControl::TABLE[0].kind;
const PARTS: &[&[Param]] = &[Transport::TABLE, Roce::TABLE];
const KEYS: &[Param] = &join::<{ len(PARTS) }>(PARTS);
/// The key that chooses a kind, in either table.
const KIND: &str = CongestionControl::KEY;

/// The transport of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// TCP, or UDP.
    Transport(Box<Transport>),
    /// Queue pairs.
    QueuePairs(Box<Roce>),
}

impl Protocol {
    /// The kind, as a file writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Protocol::Transport(transport) => transport.control.word(),
            Protocol::QueuePairs(roce) => roce.control.word(),
        }
    }

    /// TCP's settings, if it is TCP.
    pub fn tcp(&self) -> Option<&Transport> {
        match self {
            Protocol::Transport(transport) if transport.control.about().tcp => Some(transport),
            _ => None,
        }
    }

    /// The queue pairs, if flows have any.
    pub fn queue_pairs(&self) -> Option<&Roce> {
        match self {
            Protocol::Transport(_) => None,
            Protocol::QueuePairs(roce) => Some(roce),
        }
    }

    /// Whether a flow's packets take many paths at a time.
    pub fn sprays(&self) -> bool {
        self.queue_pairs()
            .is_some_and(|roce| roce.control.about().unordered() && roce.entropies > 1)
    }

    /// Whether data is acknowledged, and sent again where it is lost.
    pub fn is_reliable(&self) -> bool {
        self.tcp().is_some() || self.queue_pairs().is_some()
    }

    /// Whether data packets are ECN-capable.
    pub fn ecn(&self) -> bool {
        match self {
            Protocol::Transport(transport) => transport.ecn,
            Protocol::QueuePairs(roce) => roce.ecn,
        }
    }

    /// Payload of a full packet, and headers of each data packet.
    pub fn framing(&self) -> (Bytes, Bytes) {
        match self {
            Protocol::Transport(transport) => (transport.mss, transport.header),
            Protocol::QueuePairs(roce) => (roce.mtu, roce.overhead()),
        }
    }

    /// The length of an ACK without options on the wire.
    pub fn ack_bytes(&self) -> u32 {
        match self {
            Protocol::Transport(transport) => transport.header.get() as u32,
            Protocol::QueuePairs(roce) => roce.ack_bytes(),
        }
    }

    /// The shortest packet on the wire.
    pub fn shortest(&self) -> Bytes {
        match self {
            Protocol::Transport(transport) => transport.header,
            Protocol::QueuePairs(roce) => roce.shortest(),
        }
    }

    /// The longest packet on the wire.
    pub fn longest(&self) -> Bytes {
        let (payload, header) = self.framing();
        payload + header
    }

    /// The keys and their values.
    pub(crate) fn entries(&self) -> Vec<(&'static str, Value)> {
        match self {
            Protocol::Transport(transport) => transport.entries(),
            Protocol::QueuePairs(roce) => roce.entries(),
        }
    }
}

impl Field for Protocol {
    const KIND: ParamKind = PROTOCOL;
    fn from_value(value: Value) -> Option<Self> {
        let Value::Table(entries) = value else { return None };
        let own = |(name, value): (&str, Value)| (name.to_owned(), value);
        let mut values: Values = entries.into_iter().map(own).collect();
        let Some(Value::Word(kind)) = values.get(KIND) else { return None };
        Some(match has_queue_pairs(kind) {
            true => Protocol::QueuePairs(Box::new(Roce::from_values(&mut values))),
            false => Protocol::Transport(Box::new(Transport::from_values(&mut values))),
        })
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Table(self.entries()))
    }
}

/// Whether flows of a kind have queue pairs.
fn has_queue_pairs(kind: &str) -> bool {
    matches!(RateControl::TABLE[0].kind, ParamKind::Word(words) if words.contains(&kind))
}

/// The tables that a traffic entry's transport lies over, while a file is read.
#[derive(Clone, Debug)]
pub(crate) struct Under {
    /// `[transport]` over the host profile's.
    pub(crate) transport: Table,
    /// `[roce]`, with the kind that `[transport]` implies.
    pub(crate) roce: Table,
    /// The kind of `[transport]`.
    pub(crate) kind: &'static str,
    /// host.mtu.
    pub(crate) mtu: Bytes,
    /// switch.queues.
    pub(crate) queues: u16,
}

impl Under {
    /// A section of the file over what stands under that; without the keys that are the section's alone.
    pub(crate) fn table(written: Option<&Node>, under: Option<&Table>, not: &[&str]) -> Table {
        let mut table = under.cloned().unwrap_or_default();
        for entry in written.and_then(Node::as_table).iter().flat_map(|table| &table.entries) {
            table.insert(&entry.key, entry.value.clone());
        }
        table.entries.retain(|entry| !not.contains(&entry.key.as_str()));
        table
    }
}

fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    let Some(under) = section.context::<Under>() else { return Ok(None) };
    let kind = match &node.data {
        Data::Text(_) => section.read(&KINDS, node, name)?,
        Data::Table(table) => match table.get(KIND) {
            Some(kind) => section.read(&KINDS, kind, &format!("{name}.{KIND}"))?,
            None => under.kind.to_owned(),
        },
        _ => {
            let why = "it must be a transport's kind, such as \"dctcp\", or a table of keys over \
                       [transport]'s, { kind = \"cubic\", ecn = false }";
            return Err(section.wrong(name, node, why));
        }
    };
    let mut written = node.clone();
    if let Data::Text(_) = node.data {
        let entry = Entry { key: KIND.to_owned(), at: node.at, value: node.clone() };
        written.data = Data::Table(Table { entries: vec![entry] });
    }
    let (origin, path) = (section.origin, section.key(name));
    let open = |keys| Section::open(origin, &path, keys, Some(&written), Some(under.mtu));
    let protocol = match has_queue_pairs(&kind) {
        true => {
            let inner = open(Roce::TABLE)?.over(&under.roce);
            if inner.given(Roce::KEY.classes).is_some() {
                let why =
                    "all flows of the entry have queue pairs, whatever their class: leave it away";
                return Err(inner.refuse(Roce::KEY.classes, why));
            }
            let roce = Roce::of(inner.values()?, under.mtu).map_err(|unfit| inner.unfit(unfit))?;
            check_classes(&inner, &roce, under.queues)?;
            inner.close(&format!("kind = \"{kind}\""))?;
            Protocol::QueuePairs(Box::new(roce))
        }
        false => {
            let inner = open(Transport::TABLE)?.over(&under.transport);
            let transport = Transport::of(inner.values()?, under.mtu);
            let transport = transport.map_err(|unfit| inner.unfit(unfit))?;
            inner.close(&format!("kind = \"{kind}\""))?;
            Protocol::Transport(Box::new(transport))
        }
    };
    Ok(protocol.to_value())
}
