//! `[reaction]`.

use crate::mistake::Mistake;
use crate::section::Section;
use switchbed_qdisc::ReactionSettings;
use switchbed_spec::param::Params;
use switchbed_spec::{CardReaction, Reaction, SchemeChoice};
use switchbed_units::{Bytes, Span};

/// The hosts' reaction points, where a switch's scheme notifies; what is written is checked anyway,
/// for the schemes of a comparison share it.
pub(crate) fn resolve(
    section: Section<'_>,
    schemes: &[&SchemeChoice],
    mtu: Bytes,
) -> Result<Option<Reaction>, Mistake> {
    let reaction = Reaction::from_values(&mut section.values()?);
    check(&section, &reaction.card)?;
    if reaction.notification_size == Bytes::ZERO || reaction.notification_size > mtu {
        let why = format!("a frame has from 1 byte to host.mtu, {mtu}");
        return Err(section.refuse(Reaction::KEY.notification_size, why));
    }
    // Whether classes of the user's own notify shows when they are loaded: who wants that says so.
    let written = section.is_written();
    let notifies = |choice: &&SchemeChoice| match choice.python {
        Some(_) => written,
        None => choice.scheme.about().notifies(),
    };
    Ok(schemes.iter().any(notifies).then_some(reaction))
}

/// What live cards do.
pub(crate) fn live(section: Section<'_>) -> Result<CardReaction, Mistake> {
    let reaction = CardReaction::from_values(&mut section.values()?);
    check(&section, &reaction).map(|()| reaction)
}

fn check(section: &Section<'_>, CardReaction { point, .. }: &CardReaction) -> Result<(), Mistake> {
    if point.byte_cycle == Bytes::ZERO {
        return Err(section.refuse(ReactionSettings::KEY.byte_cycle, "a cycle is longer than 0"));
    }
    if point.timer_cycle == Span::ZERO {
        return Err(section.refuse(ReactionSettings::KEY.timer_cycle, "a cycle is longer than 0"));
    }
    Ok(())
}
