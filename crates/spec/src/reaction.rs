//! What a host does about congestion notifications (IEEE 802.1Qau): how they travel, and its
//! rate limiters.

use crate::param::{Param, ParamKind, Section};
use serde::Serialize;
use switchbed_qdisc::ReactionSettings;
use switchbed_qdisc::units::{Bytes, Span};

/// Notifications and reaction points; where a scheme notifies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reaction {
    /// What has a rate limiter of its own.
    pub limiters: Limiters,
    /// The limiters themselves.
    #[serde(flatten)]
    pub point: ReactionSettings,
    /// Class of the notifications' frames.
    pub notification_class: u8,
    /// Length of the notifications' frames.
    pub notification_size: Bytes,
    /// Time from the sample to the notification's first bit.
    pub notification_delay: Span,
}

/// What has a rate limiter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limiters {
    /// Each connection.
    Flow,
    /// Each class of a host.
    Class,
    /// Each host.
    Host,
}

const PORTION: ParamKind = ParamKind::Number { min: 0.0, max: 1.0 };

/// `[reaction]` of a live switch's file, where notifications are frames like others: the last
/// three keys say how a simulation's travel.
pub const LIVE_SECTION: Section = Section {
    doc: "What the cards of ports with reaction = true do about congestion notifications: IEEE \
          802.1Qau's reaction point. A flow starts without a rate limiter, gets one with its \
          first notification, and loses it when its rate is back at host_rate, or at the \
          port's rate where there is none. The defaults are for 10 Gbps.",
    keys: SECTION.keys.split_at(SECTION.keys.len() - 3).0,
    ..SECTION
};

/// `[reaction]`.
pub const SECTION: Section = Section {
    name: "reaction",
    repeated: false,
    doc: "What hosts do about congestion notifications, where the scheme sends any (qcn, af-qcn): \
          IEEE 802.1Qau's reaction point in the network card. A flow starts without a rate \
          limiter, gets one with its first notification, and loses it when its rate is back at \
          its link's.",
    keys: &[
        Param::with_default(
            "limiters",
            ParamKind::Word(&["flow", "class", "host"]),
            "flow",
            "What has a rate limiter of its own: each connection, each class of a host, or each \
             host.",
        ),
        Param::with_default(
            "gain",
            PORTION,
            "0.0078125",
            "What one step of feedback (of 63) takes off the rate, as a fraction of it, G_d.",
        ),
        Param::with_default(
            "least_left",
            PORTION,
            "0.5",
            "The least that a message leaves of the rate.",
        ),
        Param::with_default("byte_cycle", ParamKind::Size, "150KB", "The byte counter's cycle."),
        Param::with_default("timer_cycle", ParamKind::Time, "15ms", "The timer's cycle."),
        Param::with_default(
            "jitter",
            ParamKind::Number { min: 0.0, max: 0.99 },
            "0.15",
            "How much a cycle varies to either side, as a fraction of it.",
        ),
        Param::with_default(
            "recovery_cycles",
            ParamKind::Count { min: 1, max: 1_000 },
            "5",
            "Cycles of fast recovery; then both cycles are half as long.",
        ),
        Param::with_default(
            "active_increase",
            ParamKind::Rate,
            "5Mbps",
            "What active increase adds to the target rate in a cycle, R_AI.",
        ),
        Param::with_default(
            "hyper_increase",
            ParamKind::Rate,
            "50Mbps",
            "What hyper-active increase adds, times the number of its cycle, R_HAI.",
        ),
        Param::with_default("min_rate", ParamKind::Rate, "10Mbps", "The least rate."),
        Param::with_default(
            "target_division",
            ParamKind::Number { min: 1.0, max: 1e6 },
            "8",
            "A target over ten times the rate is divided by this at the first cycle.",
        ),
        Param::with_default(
            "notification_class",
            ParamKind::Count { min: 0, max: 255 },
            "0",
            "Class of the notifications' frames.",
        ),
        Param::with_default(
            "notification_size",
            ParamKind::Size,
            "64B",
            "Length of the notifications' frames.",
        ),
        Param::with_default(
            "notification_delay",
            ParamKind::Time,
            "0us",
            "Time from the sample to the notification's first bit.",
        ),
    ],
};
