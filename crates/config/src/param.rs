//! A key of a scenario file: its name, type, unit, default and meaning. Sections and schemes
//! declare theirs with [`params!`](crate::params), once; the struct that holds them, reading, the
//! JSON Schema and the documentation all follow.

use crate::mistake::Mistake;
use crate::tree::Node;
#[doc(hidden)]
pub use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use switchbed_units::quantity;
use switchbed_units::{Bytes, Rate, Span};

/// A key of a section, or a parameter of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Name in the file, in snake_case.
    pub name: &'static str,
    /// Form of value that the key takes.
    pub kind: ParamKind,
    /// Value when the file does not give it, as the file would write it. Without one, the key must
    /// be given, means "none" or follows others: `doc` says which.
    pub default: Option<&'static str>,
    /// The file must give it.
    pub required: bool,
    /// Condition: the key applies only where another key of its table has one of these words.
    pub only: Option<(&'static str, &'static [&'static str])>,
    /// Meaning of the key, as documentation shows it.
    pub doc: &'static str,
}

/// Form of value that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// Bytes or packets: `"300KB"`, `"65pkt"`.
    Size,
    /// A size that a queue is compared with: refused where it is over the port's buffer.
    Threshold,
    /// A length of time: `"85.2us"`.
    Time,
    /// A time that a packet's wait is compared with: said where it is under a packet's time.
    Wait,
    /// A rate greater than zero: `"10Gbps"`.
    Rate,
    /// A number without a unit, or a percentage: `0.75`, `"75%"`.
    Number {
        /// Least value that is accepted.
        min: f64,
        /// Greatest value that is accepted.
        max: f64,
    },
    /// A whole number in a range.
    Count {
        /// Least value that is accepted.
        min: u64,
        /// Greatest value that is accepted.
        max: u64,
    },
    /// A fraction of a queue's own memory, from 0 to 1, that the queue is compared with: said where it is
    /// under a packet.
    Part,
    /// A number of packets, at least one: `"16pkt"` or `16`.
    Packets,
    /// One of a list of words.
    Word(&'static [&'static str]),
    /// A boolean, `true` or `false`.
    Flag,
    /// Any text between quotation marks.
    Text,
    /// A list whose items have one form.
    List(&'static ParamKind),
    /// A value in any of these forms.
    Either(&'static [ParamKind]),
    /// A table with these keys.
    Table(&'static [Param]),
    /// Any number of tables with these keys, `[[section.key]]`.
    Tables(&'static [Param]),
    /// A kind that a crate above has, with a reader of its own.
    Named(&'static Named),
    /// The parameters of the scheme that is chosen.
    SchemeParams,
}

/// A kind of key that a crate above this one has.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Name that distinguishes it from others.
    pub name: &'static str,
    /// Form in which it is written.
    pub form: ParamKind,
    /// A value, as a file writes it.
    pub example: &'static str,
    /// Reads a value of the section, called so in messages; `None`: as its form is read.
    pub read: Reader,
}

/// Reads a value of a section, called so in messages.
pub type Reader = fn(&crate::section::Section<'_>, &str, &Node) -> Result<Option<Value>, Mistake>;

impl PartialEq for Named {
    // Pointers to functions do not compare reliably: the name stands for the reader.
    fn eq(&self, other: &Named) -> bool {
        self.name == other.name
    }
}

/// A fraction from 0 to 1.
pub const FRACTION: ParamKind = number(0.0, 1.0);
/// A number over 0, to all ends of the earth.
pub const POSITIVE: ParamKind = number(0.000_001, f64::INFINITY);
/// A part over 0, up to all.
pub const PORTION: ParamKind = number(0.000_001, 1.0);

/// A number between two, both included.
pub const fn number(min: f64, max: f64) -> ParamKind {
    ParamKind::Number { min, max }
}

/// A whole number between two, both included.
pub const fn count(min: u64, max: u64) -> ParamKind {
    ParamKind::Count { min, max }
}

impl Param {
    /// A key that may be left out; `doc` says what then.
    pub const fn optional(name: &'static str, kind: ParamKind, doc: &'static str) -> Self {
        Param { name, kind, default: None, required: false, only: None, doc }
    }
    /// A key that must be given.
    pub const fn required(name: &'static str, kind: ParamKind, doc: &'static str) -> Self {
        Param { name, kind, default: None, required: true, only: None, doc }
    }
    /// A key with a default.
    pub const fn with_default(
        name: &'static str,
        kind: ParamKind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Param { name, kind, default: Some(default), required: false, only: None, doc }
    }
}

/// A table of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SectionSpec {
    /// Name of the section in the file.
    pub name: &'static str,
    /// `[[name]]`, any number of times, rather than `[name]`.
    pub repeated: bool,
    /// Meaning of the section, as documentation shows it.
    pub doc: &'static str,
    /// Keys that the section may have.
    pub keys: &'static [Param],
}

impl SectionSpec {
    /// The name of one of its keys: in a `const`, another does not compile.
    ///
    /// ```
    /// # use switchbed_config::param::{FRACTION, Param, SectionSpec};
    /// const KEYS: &[Param] = &[Param::optional("queues", FRACTION, "How many.")];
    /// const SECTION: SectionSpec = SectionSpec { name: "switch", repeated: false, doc: "A switch.", keys: KEYS };
    /// const QUEUES: &str = SECTION.key("queues");
    /// assert_eq!(QUEUES, "queues");
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # use switchbed_config::param::{FRACTION, Param, SectionSpec};
    /// # const KEYS: &[Param] = &[Param::optional("queues", FRACTION, "How many.")];
    /// # const SECTION: SectionSpec = SectionSpec { name: "switch", repeated: false, doc: "A switch.", keys: KEYS };
    /// const QUEUE: &str = SECTION.key("queue");
    /// assert_eq!(QUEUE, "queue");
    /// ```
    pub const fn key(&self, name: &'static str) -> &'static str {
        // A `const fn` has no iterators and compares no texts, here and below.
        let mut i = 0;
        while i < self.keys.len() {
            if same(self.keys[i].name, name) {
                return name;
            }
            i += 1;
        }
        // In a `const` this ends the build: a key that is misspelt does not compile.
        panic!("the section has no such key")
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Value of a parameter, by its form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// Whole number that is not negative.
    Count(u64),
    /// Boolean, written `true` or `false`.
    Flag(bool),
    /// Size, such as `30KB`.
    Bytes(Bytes),
    /// Time, such as `10us`.
    Span(Span),
    /// Rate, such as `10Gbps`.
    Rate(Rate),
    /// A word or a text.
    Word(String),
    /// List of values, in the file's order.
    List(Vec<Value>),
    /// Table of values by key.
    #[serde(serialize_with = "in_order")]
    Table(Entries),
}

/// Values by their keys: what a reader makes of a table, on its way into a struct, and what a
/// manifest holds.
pub type Values = BTreeMap<String, Value>;

/// Keys and their values, in order.
pub type Entries = Vec<(&'static str, Value)>;

fn in_order<S: Serializer>(entries: &Entries, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(entries.iter().map(|(name, value)| (name, value)))
}

/// A parameter that does not fit the others, and why; without a reason it is missing, without a
/// name it is the scheme itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfit {
    /// Name of the parameter concerned.
    pub param: &'static str,
    /// To be put after its name and value.
    pub why: String,
}

impl Unfit {
    /// Makes the complaint about a value that does not fit.
    pub fn new(param: &'static str, why: impl Into<String>) -> Self {
        Unfit { param, why: why.into() }
    }
    /// Makes the complaint about a parameter that must be given.
    pub fn missing(param: &'static str) -> Self {
        Unfit::new(param, "")
    }
}

/// The defaults of a table of keys, as far as they mean the same everywhere: not a number of
/// packets.
pub fn defaults(keys: &[Param]) -> Values {
    let value = |key: &Param| Some((key.name.to_owned(), key.kind.parse(key.default?).ok()?));
    keys.iter().filter_map(value).collect()
}

impl ParamKind {
    /// Whether a value is one that this takes.
    ///
    /// # Errors
    /// A description of what would be right.
    pub fn holds(&self, value: &Value) -> Result<(), String> {
        match (*self, value) {
            (ParamKind::Part, value) => FRACTION.holds(value),
            // `nan` and `inf` are numbers to `parse`, and none of a scenario.
            (ParamKind::Number { .. }, &Value::Number(x)) if !x.is_finite() => {
                Err("it must be finite".to_owned())
            }
            (ParamKind::Number { min, max }, &Value::Number(x)) if !(min..=max).contains(&x) => {
                Err(match max == f64::INFINITY {
                    true => format!("it must be at least {min}"),
                    false => format!("it must be from {min} to {max}"),
                })
            }
            (ParamKind::Count { min, max }, &Value::Count(n)) if !(min..=max).contains(&n) => {
                Err(format!("it must be a whole number from {min} to {max}"))
            }
            (ParamKind::Packets, Value::Count(0)) => {
                Err("it must be a whole number of packets, at least 1, such as \"16pkt\""
                    .to_owned())
            }
            (ParamKind::Rate, &Value::Rate(rate)) if rate.as_bps() == 0 => {
                Err("a rate must be greater than 0".to_owned())
            }
            (ParamKind::Table(keys), Value::Table(entries)) => check_ranges(keys, entries)
                .map_err(|Unfit { param, why }| format!("its {param} is wrong: {why}")),
            _ => Ok(()),
        }
    }

    /// A text as the key's value.
    ///
    /// # Errors
    /// A description of what would be right.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = self.parse_any(text)?;
        self.holds(&value).map(|()| value)
    }

    /// Reads a value from text without checking its range.
    fn parse_any(&self, text: &str) -> Result<Value, String> {
        // `50%` is a number as well.
        let number = |text: &str| text.parse().or_else(|_| quantity::percent(text));
        match *self {
            ParamKind::Size | ParamKind::Threshold => quantity::size(text, None).map(Value::Bytes),
            ParamKind::Time | ParamKind::Wait => quantity::time(text).map(Value::Span),
            ParamKind::Rate => quantity::rate(text).map(Value::Rate),
            ParamKind::Number { .. } | ParamKind::Part => number(text).map(Value::Number),
            ParamKind::Count { min, max } => {
                let wrong = |_| format!("it must be a whole number from {min} to {max}");
                text.parse().map(Value::Count).map_err(wrong)
            }
            ParamKind::Packets => quantity::packets(text).map(Value::Count),
            ParamKind::Word(words) if !words.contains(&text) => {
                Err(format!("it must be one of {}", words.join(", ")))
            }
            ParamKind::Flag => match text {
                "true" | "false" => Ok(Value::Flag(text == "true")),
                _ => Err("it must be true or false".to_owned()),
            },
            ParamKind::Word(_) | ParamKind::Text => Ok(Value::Word(text.to_owned())),
            ParamKind::List(item) => {
                let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                let items = inner.ok_or("it must be a list, [ … ]")?.split(',').map(str::trim);
                items
                    .filter(|text| !text.is_empty())
                    .map(|text| item.parse(text))
                    .collect::<Result<_, _>>()
                    .map(Value::List)
            }
            ParamKind::Either(kinds) => {
                // The first kind that takes the text, in the order of the list.
                let first = kinds.iter().find_map(|kind| kind.parse(text).ok());
                first.ok_or_else(|| "it cannot be written so".to_owned())
            }
            ParamKind::Named(named) => named.form.parse(text),
            ParamKind::Table(_) | ParamKind::SchemeParams => {
                Err("it must be a table, { … }".to_owned())
            }
            ParamKind::Tables(_) => Err("it must be a list of tables".to_owned()),
        }
    }
}

/// A struct whose fields are keys, as [`params!`](crate::params) declares it.
pub trait Params: Clone + std::fmt::Debug + PartialEq + Send + Sync + Sized + 'static {
    /// Declarations of the keys, in order.
    const TABLE: &'static [Param];
    /// From what was read by the table, defaults included.
    fn from_values(values: &mut Values) -> Self;
    /// Back again in the order of the table, without what is left out.
    fn entries(&self) -> Entries;

    /// Converts the parameters to values by name.
    fn to_values(&self) -> Values {
        self.entries().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Whether each number is where the table has it. Whoever read it by the table knows.
    ///
    /// # Errors
    /// The first that is not.
    fn check_ranges(&self) -> Result<(), Unfit> {
        check_ranges(Self::TABLE, &self.entries())
    }
}

fn check_ranges(keys: &[Param], entries: &Entries) -> Result<(), Unfit> {
    for (name, value) in entries {
        let kind = keys.iter().find(|param| param.name == *name).map(|param| param.kind);
        kind.map_or(Ok(()), |kind| kind.holds(value)).map_err(|why| Unfit::new(name, why))?;
    }
    Ok(())
}

/// Type that a key's value becomes.
pub trait Field: Sized {
    /// Form that a key of this type takes, unless the key states a narrower one.
    const KIND: ParamKind;
    /// The key may be left out.
    const OPTIONAL: bool = false;
    /// Keys of a group: the field stands for these keys instead of one of its own.
    const FLAT: Option<&'static [Param]> = None;
    /// `None` where the value is of another kind.
    fn from_value(value: Value) -> Option<Self>;
    /// `None` where it is left out.
    fn to_value(&self) -> Option<Value>;
    /// Value of a key that is left out, if it may be.
    fn left_out() -> Option<Self> {
        None
    }
    /// Takes itself out of what was read by the table of keys that it is in.
    fn take(values: &mut Values, name: &str) -> Self {
        let value = match values.remove(name) {
            Some(value) => Self::from_value(value),
            None => Self::left_out(),
        };
        value.unwrap_or_else(|| not_read(name))
    }
    /// Writes the value back under its name.
    fn put(&self, entries: &mut Entries, name: &'static str) {
        entries.extend(self.to_value().map(|value| (name, value)));
    }
}

/// Values are read by their table of keys before a struct is made of them.
#[doc(hidden)]
pub fn not_read(name: &str) -> ! {
    panic!("{name} was not read by its table of keys")
}

macro_rules! fields {
    ($($type:ty: $kind:expr, $variant:ident($inner:ident) => $read:expr, $write:expr;)*) => {$(
        impl Field for $type {
            const KIND: ParamKind = $kind;
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$variant($inner) => $read,
                    _ => None,
                }
            }
            fn to_value(&self) -> Option<Value> {
                let $inner = self;
                Some(Value::$variant($write))
            }
        }
    )*};
}
fields! {
    Bytes: ParamKind::Size, Bytes(x) => Some(x), *x;
    Span: ParamKind::Time, Span(x) => Some(x), *x;
    Rate: ParamKind::Rate, Rate(x) => Some(x), *x;
    f64: number(f64::NEG_INFINITY, f64::INFINITY), Number(x) => Some(x), *x;
    u64: count(0, u64::MAX), Count(n) => Some(n), *n;
    u32: count(0, u32::MAX as u64), Count(n) => n.try_into().ok(), u64::from(*n);
    u16: count(0, u16::MAX as u64), Count(n) => n.try_into().ok(), u64::from(*n);
    u8: count(0, u8::MAX as u64), Count(n) => n.try_into().ok(), u64::from(*n);
    bool: ParamKind::Flag, Flag(flag) => Some(flag), *flag;
    String: ParamKind::Text, Word(text) => Some(text), text.clone();
}

impl<T: Field> Field for Option<T> {
    const KIND: ParamKind = T::KIND;
    const OPTIONAL: bool = true;
    fn from_value(value: Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref()?.to_value()
    }
    fn left_out() -> Option<Self> {
        Some(None)
    }
}

impl<T: Field> Field for Vec<T> {
    const KIND: ParamKind = ParamKind::List(&T::KIND);
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::List(items) => items.into_iter().map(T::from_value).collect(),
            _ => None,
        }
    }
    fn to_value(&self) -> Option<Value> {
        self.iter().map(T::to_value).collect::<Option<_>>().map(Value::List)
    }
}

/// A struct of keys among others stands for its keys, as if they were written there; in an `Option` it
/// is a table of its own.
impl<P: Params> Field for P {
    const KIND: ParamKind = ParamKind::Table(P::TABLE);
    const FLAT: Option<&'static [Param]> = Some(P::TABLE);
    fn from_value(value: Value) -> Option<Self> {
        let Value::Table(entries) = value else { return None };
        let own = |(name, value): (&str, Value)| (name.to_owned(), value);
        Some(P::from_values(&mut entries.into_iter().map(own).collect()))
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Table(self.entries()))
    }
    fn take(values: &mut Values, _: &str) -> Self {
        // Flat: a struct's keys stand among those of the one it is in.
        P::from_values(values)
    }
    fn put(&self, entries: &mut Entries, _: &'static str) {
        entries.extend(self.entries());
    }
}

/// With each key at its default, where all have one or may be left out.
pub fn at_defaults<P: Params>() -> P {
    P::from_values(&mut defaults(P::TABLE))
}

/// One table out of several.
#[doc(hidden)]
pub const fn join<const N: usize>(parts: &[&[Param]]) -> [Param; N] {
    let mut all = [Param::optional("", ParamKind::Flag, ""); N];
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            all[n] = parts[part][i];
            (n, i) = (n + 1, i + 1);
        }
        part += 1;
    }
    all
}

/// Total length of the tables.
#[doc(hidden)]
pub const fn len(parts: &[&[Param]]) -> usize {
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        n += parts[part].len();
        part += 1;
    }
    n
}

/// A key that is left out is as another.
#[doc(hidden)]
pub fn follow(values: &mut Values, key: &str, other: &str) {
    // A key that was written does not follow.
    if let (false, Some(value)) = (values.contains_key(key), values.get(other)) {
        values.insert(key.to_owned(), value.clone());
    }
}

/// Returns the key's own form where the field's type can hold it.
#[doc(hidden)]
pub const fn fitting(own: &ParamKind, kind: ParamKind) -> ParamKind {
    assert!(fits(own, &kind), "the field's type does not hold what it is said to take");
    kind
}

const fn fits(own: &ParamKind, kind: &ParamKind) -> bool {
    use ParamKind::*;
    match (own, kind) {
        (Size, Size | Threshold) | (Time, Time | Wait) | (Rate, Rate) => true,
        (Number { .. }, Number { .. } | Part) => true,
        // A value that fits the range said must fit the type read.
        (Count { max: most, .. }, Count { max, .. }) => *max <= *most,
        // A number of packets is read as a u32.
        (Count { max, .. }, Packets) => *max >= u32::MAX as u64,
        (Text, Text) => true,
        (List(own), List(kind)) => fits(own, kind),
        (own, Named(named)) => fits(own, &named.form),
        _ => false,
    }
}

/// A text out of the lines of a doc comment.
#[doc(hidden)]
pub const fn text(lines: &'static str) -> &'static str {
    lines.trim_ascii()
}

/// A struct whose fields are keys of a scenario file. Each field has its meaning as its comment,
/// then its type; its default as the file would write it, if there is one; and what it takes, where
/// the type alone does not say. A key that `follows` another may be left out and is as that then; where
/// it only `follows`, the reader puts in what follows from others. An `Option` may be left out. A field of another such type stands for
/// the keys of that, and in an `Option` it is a table of its own. A key that is not called as its field is
/// stands in parentheses.
///
/// ```
/// use switchbed_config::param::Params;
/// use switchbed_config::params;
/// use switchbed_units::{Bytes, Span};
///
/// params! {
///     /// What a scheme takes.
///     pub struct MyParams {
///         /// Longer queues are marked.
///         threshold: Bytes as Threshold;
///         /// Weight of the present length.
///         weight: f64 = "0.002" as number(0.0, 1.0);
///         /// How long it waits. Default: it does not.
///         wait: Option<Span>;
///     }
/// }
///
/// let [threshold, weight, wait] = MyParams::TABLE else { panic!("three keys") };
/// assert_eq!((threshold.name, threshold.required), (MyParams::KEY.threshold, true));
/// assert_eq!((weight.default, weight.doc), (Some("0.002"), "Weight of the present length."));
/// assert!(!wait.required);
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$attr:meta])* $vis:vis struct $name:ident {$(
        $(#[doc = $doc:literal])+
        $field:ident $(($key:literal))?: $type:ty
            $(= $default:literal)? $(as $kind:expr)? $(, $follows:ident $($other:ident)?)?;
    )*}) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {$(
            $(#[doc = $doc])+
            pub $field: $type,
        )*}

        const _: () = {
            /// Names of the keys, by field.
            pub struct Keys {$(pub $field: &'static str,)*}

            impl $name {
                /// Names of the keys, by field.
                pub const KEY: Keys = Keys {$($field: $crate::params!(@name $field $($key)?),)*};
            }
        };

        impl $crate::param::Params for $name {
            const TABLE: &'static [$crate::param::Param] = {
                const PARTS: &[&[$crate::param::Param]] = &[$(
                    match <$type as $crate::param::Field>::FLAT {
                        Some(keys) => keys,
                        None => &[$crate::param::Param {
                            name: $crate::params!(@name $field $($key)?),
                            kind: {
                                const OWN: $crate::param::ParamKind =
                                    <$type as $crate::param::Field>::KIND;
                                $crate::params!(@kind OWN $(, $kind)?)
                            },
                            default: $crate::params!(@default $($default)?),
                            required: !<$type as $crate::param::Field>::OPTIONAL
                                && $crate::params!(@required $($default)? $($follows)?),
                            only: None,
                            doc: $crate::param::text(concat!($($doc),+)),
                        }],
                    },
                )*];
                &$crate::param::join::<{ $crate::param::len(PARTS) }>(PARTS)
            };
            #[allow(unused_variables)]
            fn from_values(values: &mut $crate::param::Values) -> Self {
                $($($(
                    $crate::param::follow(values, $name::KEY.$field, $name::KEY.$other);
                )?)?)*
                $name {$($field: $crate::param::Field::take(values, $name::KEY.$field),)*}
            }
            #[allow(unused_mut)]
            fn entries(&self) -> $crate::param::Entries {
                let mut entries = $crate::param::Entries::new();
                $($crate::param::Field::put(&self.$field, &mut entries, $name::KEY.$field);)*
                entries
            }
        }

        $crate::params!(@serialize $name);
    };
    (@serialize $name:ident) => {
        impl $crate::param::Serialize for $name {
            fn serialize<S: $crate::param::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_map($crate::param::Params::entries(self))
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@kind $own:ident) => { $own };
    (@kind $own:ident, $kind:expr) => {{
        #[allow(unused_imports)]
        use $crate::param::{FRACTION, PORTION, POSITIVE, ParamKind::*, count, number};
        $crate::param::fitting(&$own, $kind)
    }};
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
    (@required) => { true };
    (@required $default:literal) => { false };
    (@required follows) => { false };
}

/// An enum whose variants are words of a scenario file.
#[macro_export]
macro_rules! words {
    ($(#[$attr:meta])* $vis:vis enum $name:ident {$(
        $(#[$inner:meta])* $variant:ident = $word:literal,
    )+}) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {$(
            $(#[$inner])* $variant,
        )+}

        impl $name {
            /// Returns the word that a file writes for it.
            pub const fn word(self) -> &'static str {
                match self {$($name::$variant => $word,)+}
            }
        }

        impl $crate::param::Field for $name {
            const KIND: $crate::param::ParamKind = $crate::param::ParamKind::Word(&[$($word),+]);
            fn from_value(value: $crate::param::Value) -> Option<Self> {
                match value {
                    $crate::param::Value::Word(word) => match word.as_str() {
                        $($word => Some($name::$variant),)+
                        _ => None,
                    },
                    _ => None,
                }
            }
            fn to_value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::Value::Word(self.word().to_owned()))
            }
        }

        impl $crate::param::Serialize for $name {
            fn serialize<S: $crate::param::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.word())
            }
        }
    };
}

/// An enum whose variants are words of one key, each with parameters of its own, which apply to it
/// alone. What a variant's comment says goes into the key's meaning, after its word. With a trait
/// behind its name the enum is, to those who use it, what its parameters make of that trait.
#[macro_export]
macro_rules! kinds {
    ($(#[$attr:meta])* $vis:vis enum $name:ident $(: $trait:ident)? {
        $(#[doc = $doc:literal])+
        $key:ident $(= $default:literal)?;
        $(
            $(#[doc = $inner:literal])+
            $variant:ident $(($params:ty))? = $word:literal $(| $alias:literal)*,
        )+
    }) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {$(
            $(#[doc = $inner])+ $variant $(($params))?,
        )+}

        impl $name {
            /// Name of the key that chooses.
            pub const KEY: &'static str = stringify!($key);

            /// Returns the word that a file writes for it.
            pub const fn word(&self) -> &'static str {
                match self {$($name::$variant {..} => $word,)+}
            }
        }

        impl $crate::param::Params for $name {
            const TABLE: &'static [$crate::param::Param] = {
                const PARTS: &[&[$crate::param::Param]] = &[
                    &[$crate::param::Param {
                        name: stringify!($key),
                        kind: $crate::param::ParamKind::Word(&[$($word, $($alias,)*)+]),
                        default: $crate::params!(@default $($default)?),
                        required: $crate::params!(@required $($default)?),
                        only: None,
                        doc: $crate::param::text(concat!(
                            $($doc,)+ $(" ", $word, $(" or ", $alias,)* ":", $($inner),+),+
                        )),
                    }],
                    $($crate::kinds!(@keys $key [$word $(, $alias)*] $($params)?),)+
                ];
                &$crate::param::join::<{ $crate::param::len(PARTS) }>(PARTS)
            };
            fn from_values(values: &mut $crate::param::Values) -> Self {
                let word: String = $crate::param::Field::take(values, stringify!($key));
                match word.as_str() {
                    $($word $(| $alias)* => $name::$variant $((
                        <$params as $crate::param::Params>::from_values(values)
                    ))?,)+
                    _ => $crate::param::not_read(stringify!($key)),
                }
            }
            fn entries(&self) -> $crate::param::Entries {
                let word = $crate::param::Value::Word(self.word().to_owned());
                let mut entries = vec![(stringify!($key), word)];
                $($crate::kinds!(@put self, entries, $name::$variant $(, $params)?);)+
                entries
            }
        }

        $crate::params!(@serialize $name);
        $crate::kinds!(@deref $name [$($trait)?] $($variant)+);
    };
    (@deref $name:ident [] $($variant:ident)+) => {};
    (@deref $name:ident [$trait:ident] $($variant:ident)+) => {
        impl std::ops::Deref for $name {
            type Target = dyn $trait;
            fn deref(&self) -> &(dyn $trait + 'static) {
                match self {$($name::$variant(params) => params,)+}
            }
        }
        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut (dyn $trait + 'static) {
                match self {$($name::$variant(params) => params,)+}
            }
        }
    };
    (@keys $key:ident $words:tt) => { &[] };
    (@keys $key:ident $words:tt $params:ty) => {
        &{
            const KEYS: &[$crate::param::Param] = <$params as $crate::param::Params>::TABLE;
            $crate::param::only::<{ KEYS.len() }>(KEYS, (stringify!($key), &$words))
        }
    };
    (@put $self:ident, $entries:ident, $name:ident::$variant:ident) => {};
    (@put $self:ident, $entries:ident, $name:ident::$variant:ident, $params:ty) => {
        if let $name::$variant(params) = $self {
            $entries.extend($crate::param::Params::entries(params));
        }
    };
}

/// The same keys, which apply only where another key has one of these words.
#[doc(hidden)]
pub const fn only<const N: usize>(
    keys: &[Param],
    only: (&'static str, &'static [&'static str]),
) -> [Param; N] {
    let mut all = join::<N>(&[keys]);
    let mut i = 0;
    while i < N {
        all[i].only = Some(only);
        i += 1;
    }
    all
}
