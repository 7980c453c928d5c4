//! A key of a scenario file ([`switchbed_qdisc::param`]), and what more than one section takes.

pub use switchbed_qdisc::param::*;

/// Hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`.
pub const HOSTS: ParamKind = ParamKind::Either(&[
    ParamKind::Text,
    HOST,
    ParamKind::List(&ParamKind::Either(&[ParamKind::Text, HOST])),
]);
/// A host's number.
pub const HOST: ParamKind = count(0, crate::topology::MAX_HOSTS - 1);
