//! `[roce]`.

use crate::mistake::Mistake;
use crate::section::Section;
use crate::tree::{At, Entry, Node, Table};

use switchbed_spec::roce::RateControl;
use switchbed_spec::{NicQueue, Roce, Switch, Transport};
use switchbed_units::Bytes;

/// What the section has where the file gives no kind: the transport's, if that has queue pairs.
pub(crate) fn under(transport: &Transport) -> Table {
    let mut table = Table::default();
    if transport.control.about().roce {
        let value = Node::text(transport.control.word());
        table.entries.push(Entry { key: RateControl::KEY.to_owned(), at: At::Unwritten, value });
    }
    table
}

/// The queue pairs, if a class's flows have any: all where the transport says so, else those that the section
/// names, beside TCP. `shared`: the section is for entries of traffic that have a transport, too.
pub(crate) fn resolve(
    section: Section<'_>,
    transport: &Transport,
    switch: &Switch,
    mtu: Bytes,
    shared: bool,
) -> Result<Option<Roce>, Mistake> {
    let key = Roce::KEY;
    let about = transport.control.about();
    let kind = section.given(RateControl::KEY).is_some();
    if !about.roce && !kind {
        // Shared, it may be, with others of a comparison which have queue pairs.
        return Ok(None);
    }
    if !about.roce && shared && section.given(key.classes).is_none() {
        return Ok(None);
    }
    let roce = Roce::of(section.values()?, mtu).map_err(|unfit| section.unfit(unfit))?;
    let word = transport.control.word();
    if about.roce && roce.control.word() != word {
        let why =
            format!("transport.kind is \"{word}\": they must be the same, or leave this one away");
        return Err(section.refuse(RateControl::KEY, why));
    }
    match &roce.classes {
        Some(_) if about.roce => {
            let why = format!("transport.kind is \"{word}\", so that all classes have queue pairs");
            return Err(section.refuse(key.classes, why));
        }
        None if !about.roce => {
            let why = format!(
                "which classes have queue pairs? The others have transport.kind = \"{word}\""
            );
            return Err(section.unfit(switchbed_spec::param::Unfit::new(key.classes, why)));
        }
        Some(_) if !about.tcp => {
            let why = format!("queue pairs stand beside TCP, and transport.kind is \"{word}\"");
            return Err(section.refuse(key.classes, why));
        }
        _ => {}
    }
    check_classes(&section, &roce, switch.queues)?;
    section.close(&format!("kind = \"{}\"", roce.control.word()))?;
    Ok(Some(roce))
}

/// Refuses answers of a class without a queue.
pub(super) fn check_classes(
    section: &Section<'_>,
    roce: &Roce,
    queues: u16,
) -> Result<(), Mistake> {
    let key = Roce::KEY;
    for (name, class) in [(key.ack_class, roce.ack_class), (key.cnp_class, roce.cnp_class)] {
        if class.is_some_and(|class| u16::from(class) >= queues) {
            let why = format!("that class has no queue of its own: switch.queues is {queues}");
            return Err(section.refuse(name, why));
        }
    }
    Ok(())
}

/// A card that asks queue pairs for their packets holds none back for others.
pub(crate) fn card(section: &Section<'_>, nic: NicQueue) -> Result<NicQueue, Mistake> {
    match nic {
        NicQueue::Classes | NicQueue::Fifo(_) | NicQueue::Unlimited => Ok(nic),
        _ if section.given(NicQueue::KEY).is_some() => {
            let why = "queue pairs wait in their card, not behind each other: it must be \"classes\" or \
                       \"unlimited\", or be left away";
            Err(section.refuse(NicQueue::KEY, why))
        }
        _ => Ok(NicQueue::Classes),
    }
}
