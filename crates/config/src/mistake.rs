//! Mistakes in a scenario: what is wrong, where, and what would be right, in one line.

use crate::tree::At;
use std::fmt;
use std::path::PathBuf;

/// A scenario that is refused. Displayed, it is one line, such as
/// `fig9.toml:12: traffic.load is 1.2: a load over 1 never drains; …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or the override as it was given: `--set load=1.2`.
    pub file: String,
    /// The line in the file.
    pub line: Option<u32>,
    /// The key, dotted; empty where the text is no TOML at all.
    pub key: String,
    /// Text after the key: what is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let gap = if self.key.is_empty() { "" } else { " " };
        let text = format!("{}{line}: {}{gap}{}", self.file, self.key, self.message);
        // Keys and names are the user's: a line break in one must not make two lines.
        text.chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_debug()),
            false => write!(f, "{c}"),
        })
    }
}

impl std::error::Error for Mistake {}

/// Where a scenario comes from: what its mistakes are reported against.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file as the user named it.
    pub file: String,
    /// The folder that the scenario's own file names start from.
    pub folder: PathBuf,
    /// The overrides as the user gave them: `--set load=1.2`.
    pub overrides: Vec<String>,
    /// The full name of the key that another section calls so, if one does.
    pub home: fn(&str) -> Option<String>,
}

impl Origin {
    /// A mistake in what was written at `at`.
    pub fn mistake(&self, at: At, key: &str, message: impl Into<String>) -> Mistake {
        let (file, line) = match at {
            At::Line(line) => (self.file.clone(), Some(line)),
            At::Override(i) => (self.overrides[i].clone(), None),
            At::Unwritten => (self.file.clone(), None),
        };
        Mistake { file, line, key: key.to_owned(), message: message.into() }
    }
}

/// Joins words as in `a, b or c`.
pub fn list_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
