//! `python`: seats taken by classes of the user's own, for prototypes. What runs them comes
//! from outside ([`crate::build::Outside`]); here is what a scenario says of them.

use super::{SchemeChoice, SchemeInfo, Value, find};
use crate::param::{Param, ParamKind};
use std::collections::BTreeMap;

/// The name of the scheme.
pub const NAME: &str = "python";
/// What `file` begins with where the caller has the classes already, and there is no file.
pub const MEMORY: &str = "memory:";

pub(super) const PYTHON: SchemeInfo = SchemeInfo {
    name: NAME,
    paper: "",
    summary: "Classes of your own, written in Python, sit in seats of every port (simulator only).",
    source: "docs/prototyping.md",
    seats: ["any", "any", "yours, or the base's", "any", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::required("file", ParamKind::Text, "The Python file, from the scenario's folder."),
        Param::required(
            "class",
            ParamKind::Either(&[ParamKind::Text, ParamKind::List(&ParamKind::Text)]),
            "A class of it, or a list of them, one a seat. Every parameter that is not listed here \
             is theirs.",
        ),
        Param::with_default(
            "base",
            ParamKind::Text,
            "none",
            "The scheme whose marker sits beside a classifier, buffer or scheduler of yours. Its \
             parameters are given here too.",
        ),
    ],
};

impl SchemeInfo {
    /// It has parameters that no table knows: those of the user's classes.
    pub fn is_open(&self) -> bool {
        self.name == NAME
    }
}

impl SchemeChoice {
    /// The scheme beside the user's classes; `None` where there are none of these.
    pub fn base(&self) -> Option<SchemeChoice> {
        (self.name == NAME)
            .then(|| SchemeChoice { name: self.word("base").to_owned(), ..self.clone() })
    }

    /// The Python file and the classes that the scheme's seats take from it.
    pub fn python(&self) -> Option<(&str, Vec<&str>)> {
        fn class(value: &Value) -> &str {
            match value {
                Value::Word(word) => word,
                other => panic!("a class is a word and not {other:?}"),
            }
        }
        let classes = match self.params.get("class")? {
            Value::List(items) => items.iter().map(class).collect(),
            one => vec![class(one)],
        };
        (self.name == NAME).then(|| (self.word("file"), classes))
    }

    /// The parameters that are the user's classes' own.
    pub fn own_params(&self) -> BTreeMap<&str, &Value> {
        let base = self.base().and_then(|base| find(&base.name));
        let known = |name: &str| {
            let of = |scheme: &SchemeInfo| scheme.params.iter().any(|param| param.name == name);
            of(&PYTHON) || base.is_some_and(of)
        };
        let params = self.params.iter().map(|(name, value)| (name.as_str(), value));
        params.filter(|(name, _)| !known(name)).collect()
    }
}
