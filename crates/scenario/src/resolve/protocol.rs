//! The transport of a traffic entry: what its table says over `[transport]` or `[roce]`.

use super::roce::check_classes;
use crate::mistake::Mistake;
use crate::section::Section;
use crate::tree::{Data, Entry, Node, Table};
use switchbed_spec::param::{Field, Params, Value};
use switchbed_spec::protocol::{KIND, KINDS, Protocol, has_queue_pairs};
use switchbed_spec::{Roce, Transport};
use switchbed_units::Bytes;

/// What a traffic entry's transport lies over, where the file is read.
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

/// Reads it; the section's is called `name`.
pub(crate) fn read(
    section: &Section<'_>,
    name: &str,
    node: &Node,
    under: &Under,
) -> Result<Option<Value>, Mistake> {
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
