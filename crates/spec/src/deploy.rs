//! Switches that differ from the rest: another scheme, or other memory, on a tier, on
//! switches by name, or on the first part of them.

use crate::param::{FRACTION, Param, ParamKind, Section};
use crate::{SchemeChoice, Switch};
use serde::Serialize;
use switchbed_units::Bytes;

/// Some switches, and what is different there; what is `None` is as everywhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deploy {
    /// Their names. No switch is in two entries.
    pub switches: Vec<String>,
    /// Their memory, in equal parts for the ports of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Their scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<SchemeChoice>,
}

/// `[[deploy]]`.
pub const SECTION: Section = Section {
    name: "deploy",
    repeated: true,
    doc: "Switches that differ from the rest in scheme or memory.",
    keys: &[
        Param::required(
            "switches",
            ParamKind::Either(&[ParamKind::Text, ParamKind::List(&ParamKind::Text)]),
            "Which: a tier such as \"leaf\", a switch such as \"spine1\", a range such as \
             \"leaf0-11\", or a list of these.",
        ),
        Param::with_default(
            "fraction",
            FRACTION,
            "1",
            "The first so many of them, rounded: neighbours, as the CQRD paper deploys by clusters.",
        ),
        Param::optional(
            "scheme",
            ParamKind::Either(&[ParamKind::Text, ParamKind::Table(crate::scheme::SECTION.keys)]),
            "Their scheme: a name, or a table as [scheme] is. Default: [scheme].",
        ),
        Param::optional(
            "memory",
            ParamKind::Size,
            "The packet memory of each, in equal parts for its ports. Default: as [switch] has it.",
        ),
    ],
};

impl Deploy {
    /// `[switch]` as these switches have it.
    pub fn switch(&self, switch: &Switch) -> Switch {
        Switch { memory: self.memory.or(switch.memory), ..switch.clone() }
    }
}
