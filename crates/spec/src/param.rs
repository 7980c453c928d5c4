//! A key of a scenario file: its name, type, unit, default and meaning. The sections'
//! keys and the schemes' parameters are tables of these; reading, the JSON Schema and
//! the documentation all follow the tables.

/// A key of a section, or a parameter of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// As the file writes it, snake_case.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParamKind,
    /// Its value when the file does not give it, as the file would write it. Without
    /// one, the key must be given or means "none" or follows others: `doc` says.
    pub default: Option<&'static str>,
    /// The file must give it.
    pub required: bool,
    /// Its meaning.
    pub doc: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// Bytes or packets: `"300KB"`, `"65pkt"`.
    Size,
    /// A size that a queue is compared with: refused where it is over the port's buffer.
    Threshold,
    /// A length of time: `"85.2us"`.
    Time,
    /// A rate greater than zero: `"10Gbps"`.
    Rate,
    /// A number without a unit, or a percentage: `0.75`, `"75%"`.
    Number {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// A whole number.
    Count {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A number of packets, at least one: `"16pkt"` or `16`.
    Packets,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// A list of these.
    List(&'static ParamKind),
    /// Any of these forms.
    Either(&'static [ParamKind]),
    /// A table with these keys.
    Table(&'static [Param]),
    /// The parameters of the scheme that is chosen.
    SchemeParams,
}

/// Hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`.
pub const HOSTS: ParamKind = ParamKind::Either(&[
    ParamKind::Text,
    HOST,
    ParamKind::List(&ParamKind::Either(&[ParamKind::Text, HOST])),
]);
/// A host's number.
pub const HOST: ParamKind = ParamKind::Count { min: 0, max: crate::topology::MAX_HOSTS - 1 };
/// A fraction from 0 to 1.
pub const FRACTION: ParamKind = ParamKind::Number { min: 0.0, max: 1.0 };

impl Param {
    /// A key that may be left out; `doc` says what then.
    pub const fn optional(name: &'static str, kind: ParamKind, doc: &'static str) -> Self {
        Param { name, kind, default: None, required: false, doc }
    }
    /// A key that must be given.
    pub const fn required(name: &'static str, kind: ParamKind, doc: &'static str) -> Self {
        Param { name, kind, default: None, required: true, doc }
    }
    /// A key with a default.
    pub const fn with_default(
        name: &'static str,
        kind: ParamKind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Param { name, kind, default: Some(default), required: false, doc }
    }
}

/// A table of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// As the file writes it.
    pub name: &'static str,
    /// `[[name]]`, any number of times, rather than `[name]`.
    pub repeated: bool,
    /// Its meaning.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Param],
}
