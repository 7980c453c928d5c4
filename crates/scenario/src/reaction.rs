//! Reaction of hosts to congestion notifications (IEEE 802.1Qau): how notifications travel, and
//! rate limiters.

use crate::SchemeChoice;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Params, SectionSpec, at_defaults};
use switchbed_config::section::Section;
use switchbed_qdisc::{ReactionSettings, params, words};
use switchbed_units::{Bytes, Span};

params! {
    /// Notifications and reaction points; where a scheme notifies.
    #[derive(Copy)]
    pub struct Reaction {
        /// Reaction of the cards.
        card: CardReaction;
        /// Class of the notifications' frames.
        notification_class: u8 = "0";
        /// Length of the notifications' frames.
        notification_size: Bytes = "64B";
        /// Time from the sample to the notification's first bit.
        notification_delay: Span = "0us";
    }
}

impl Default for Reaction {
    fn default() -> Self {
        at_defaults()
    }
}

params! {
    /// Reaction of a network card to notifications.
    #[derive(Copy)]
    pub struct CardReaction {
        /// Unit that has a rate limiter of its own: each connection, each class of a host, or each
        /// host.
        limiters: Limiters = "flow";
        /// The limiters themselves.
        point: ReactionSettings;
    }
}

words! {
    /// Unit that has a rate limiter of its own.
    pub enum Limiters {
        /// Each connection.
        Flow = "flow",
        /// Each class of a host.
        Class = "class",
        /// Each host.
        Host = "host",
    }
}

/// `[reaction]` of a live switch's file, where notifications are frames like others.
pub const LIVE_SECTION: SectionSpec = SectionSpec {
    doc: "What the cards of ports with reaction = true do about congestion notifications: IEEE \
          802.1Qau's reaction point. A flow starts without a rate limiter, gets one with its \
          first notification, and loses it when its rate is back at host_rate, or at the \
          port's rate where there is none. The defaults are for 10 Gbps.",
    keys: CardReaction::TABLE,
    ..SECTION
};

/// `[reaction]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "reaction",
    repeated: false,
    doc: "What hosts do about congestion notifications, where the scheme sends any (qcn, af-qcn): \
          IEEE 802.1Qau's reaction point in the network card. A flow starts without a rate \
          limiter, gets one with its first notification, and loses it when its rate is back at \
          its link's.",
    keys: Reaction::TABLE,
};

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

/// Reads the reaction of live cards.
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
