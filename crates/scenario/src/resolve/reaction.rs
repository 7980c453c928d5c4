//! `[reaction]`.

use crate::mistake::Mistake;
use crate::section::Section;
use switchbed_qdisc::ReactionSettings;
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_spec::{Limiters, Reaction, SchemeChoice};

/// The hosts' reaction points, where a switch's scheme notifies; what is written is checked anyway,
/// for the schemes of a comparison share it.
pub(crate) fn resolve(
    section: Section<'_>,
    schemes: &[&SchemeChoice],
    mtu: Bytes,
) -> Result<Option<Reaction>, Mistake> {
    let (limiters, point) = limiters(&section)?;
    let reaction = Reaction {
        limiters,
        point,
        notification_class: section.get("notification_class")?,
        notification_size: section.get("notification_size")?,
        notification_delay: section.get("notification_delay")?,
    };
    if reaction.notification_size == Bytes::ZERO || reaction.notification_size > mtu {
        let why = format!("a frame has from 1 byte to host.mtu, {mtu}");
        return Err(section.refuse("notification_size", why));
    }
    // Whether classes of the user's own notify shows when they are loaded: who wants that says so.
    let written = section.is_written();
    let notifies = |choice: &&SchemeChoice| match choice.python {
        Some(_) => written,
        None => choice.scheme.about().notifies(),
    };
    Ok(schemes.iter().any(notifies).then_some(reaction))
}

/// What has a limiter, and how they work.
pub(crate) fn limiters(section: &Section<'_>) -> Result<(Limiters, ReactionSettings), Mistake> {
    let limiters = match section.get::<String>("limiters")?.as_str() {
        "flow" => Limiters::Flow,
        "class" => Limiters::Class,
        "host" => Limiters::Host,
        word => unreachable!("limiters {word}"),
    };
    let point = ReactionSettings {
        gain: section.get("gain")?,
        least_left: section.get("least_left")?,
        byte_cycle: section.get("byte_cycle")?,
        timer_cycle: section.get("timer_cycle")?,
        jitter: section.get("jitter")?,
        recovery_cycles: section.get("recovery_cycles")?,
        active_increase: section.get("active_increase")?,
        hyper_increase: section.get("hyper_increase")?,
        min_rate: section.get("min_rate")?,
        target_division: section.get("target_division")?,
    };
    if point.byte_cycle == Bytes::ZERO {
        return Err(section.refuse("byte_cycle", "a cycle is longer than 0"));
    }
    if point.timer_cycle == Span::ZERO {
        return Err(section.refuse("timer_cycle", "a cycle is longer than 0"));
    }
    Ok((limiters, point))
}
