//! `python`: seats taken by classes of the user's own, for prototypes. What runs them comes
//! from outside ([`crate::build::Outside`]); here is what a scenario says of them.

use switchbed_config::param::{Field, ParamKind, Params, Value, Values};
use switchbed_config::params;
use switchbed_qdisc::schemes::definition::{About, Choice, SchemeInfo, marker};

/// The name of the scheme.
pub const NAME: &str = "python";
/// Beginning of `file` where the caller has the classes already, and there is no file.
pub const MEMORY: &str = "memory:";

params! {
    /// Parameters for classes of the user's own.
    pub struct PythonParams {
        /// The Python file, from the scenario's folder.
        file: String;
        /// A class of it, or a list of them, one a seat. Every parameter that is not listed here is
        /// theirs.
        class: Classes;
        /// The scheme whose marker sits beside a classifier, buffer, scheduler or notifier of
        /// yours. Its parameters are given here too.
        base: String = "none";
    }
}

/// The entry of the registry: all else comes with the classes.
pub static PYTHON: SchemeInfo = SchemeInfo::described(
    About {
        name: NAME,
        paper: "",
        summary: "Classes of your own, written in Python, sit in seats of every port (simulator \
                  only).",
        source: "docs/prototyping.md",
        seats: marker("yours, or the base's"),
        needs_pool: false,
    },
    PythonParams::TABLE,
);

/// Whether a scheme has parameters that no table knows: those of the user's classes.
pub fn is_open(scheme: &SchemeInfo) -> bool {
    scheme.name == NAME
}

/// Classes of the user's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Python {
    /// The file that they are in.
    pub file: String,
    /// Names of the classes that the seats take from it.
    pub classes: Classes,
    /// Parameters of the classes.
    pub own: Values,
}

impl Python {
    /// Returns the values that a manifest has in addition to the base's parameters.
    pub(super) fn values(&self, base: &Choice) -> Values {
        let (file, class) = (self.file.clone(), self.classes.clone());
        let base = base.about().name.to_owned();
        let mut values = PythonParams { file, class, base }.to_values();
        values.extend(self.own.clone());
        values
    }
}

/// A class, or several.
#[derive(Clone, Debug, PartialEq)]
pub enum Classes {
    /// A name alone.
    One(String),
    /// A list.
    Several(Vec<String>),
}

impl Classes {
    /// Returns the names of the classes.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Classes::One(name) => vec![name],
            Classes::Several(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

impl Field for Classes {
    const KIND: ParamKind =
        ParamKind::Either(&[ParamKind::Text, ParamKind::List(&ParamKind::Text)]);
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::List(_) => Vec::from_value(value).map(Classes::Several),
            one => String::from_value(one).map(Classes::One),
        }
    }
    fn to_value(&self) -> Option<Value> {
        match self {
            Classes::One(name) => name.to_value(),
            Classes::Several(names) => names.to_value(),
        }
    }
}
