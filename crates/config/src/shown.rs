//! Keys as readers are shown them.

use crate::mistake::list_of;
use crate::param::{Param, ParamKind};

/// A key as its readers want it: once for all the kinds that it means the same to.
pub(crate) struct Row {
    pub key: &'static Param,
    kinds: Vec<&'static str>,
}

impl Row {
    /// The key's meaning, behind the kinds that have it.
    pub(crate) fn doc(&self) -> String {
        let (kinds, doc) = (self.kinds.join(", "), self.key.doc);
        match (doc.chars().next(), doc.chars().nth(1)) {
            _ if kinds.is_empty() => doc.to_owned(),
            // A word in capitals, such as ECN, stays as it is.
            (Some(first), Some('a'..='z' | ' ')) => {
                format!("{kinds}: {}{}", first.to_lowercase(), &doc[first.len_utf8()..])
            }
            _ => format!("{kinds}: {doc}"),
        }
    }
}

/// Choice of a table's keys to show.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Keys that apply where a key of the table has a word: `("kind", "star")`.
    pub word: Option<(&'a str, &'a str)>,
    /// Names of keys that are left out.
    pub without: &'a [&'a str],
}

impl Chosen<'static> {
    /// Every key.
    pub const ALL: Chosen<'static> = Chosen { word: None, without: &[] };
}

/// The keys of a table; those of one name together. Of what is chosen, those that apply to it.
pub(crate) fn rows(keys: &'static [Param], chosen: Chosen<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for key in keys.iter().filter(|key| !chosen.without.contains(&key.name)) {
        let kind = match (key.only, chosen.word) {
            (Some((on, words)), Some((key, word))) if on == key => {
                if !words.contains(&word) {
                    continue;
                }
                None
            }
            (only, _) => only.map(|(_, words)| words[0]),
        };
        let same = |row: &&mut Row| Param { only: key.only, ..*row.key } == *key;
        if let Some(row) = rows.iter_mut().find(same) {
            row.kinds.extend(kind);
            continue;
        }
        let named = rows.iter().rposition(|row| row.key.name == key.name);
        let row = Row { key, kinds: kind.into_iter().collect() };
        rows.insert(named.map_or(rows.len(), |place| place + 1), row);
    }
    rows
}

/// The values that a kind of key takes, in words, with their unit.
pub fn takes(kind: &ParamKind) -> String {
    match *kind {
        ParamKind::Size | ParamKind::Threshold => "a size, such as 300KB or 65pkt".to_owned(),
        ParamKind::Time | ParamKind::Wait => "a time, such as 85.2us".to_owned(),
        ParamKind::Rate => "a rate, such as 10Gbps".to_owned(),
        ParamKind::Number { min, max } if max.is_finite() => {
            format!("a number from {min} to {max}")
        }
        ParamKind::Number { min, .. } => format!("a number, at least {min}"),
        ParamKind::Count { min, max } => format!("a whole number from {min} to {max}"),
        ParamKind::Packets => "a number of packets, such as 16pkt".to_owned(),
        ParamKind::Word(words) => list_of(words.iter().copied()),
        ParamKind::Flag => "true or false".to_owned(),
        ParamKind::Text => "a text".to_owned(),
        ParamKind::List(item) => format!("a list, each {}", takes(item)),
        ParamKind::Either(kinds) => kinds.iter().map(takes).collect::<Vec<_>>().join("; or "),
        ParamKind::Named(named) => takes(&named.form),
        ParamKind::Table(_) | ParamKind::SchemeParams => "a table".to_owned(),
        ParamKind::Tables(_) => "tables, each under its own header".to_owned(),
    }
}

/// A value of this kind, as a file writes it.
pub(crate) fn example(kind: &ParamKind) -> String {
    match kind {
        ParamKind::Named(named) => named.example.to_owned(),
        ParamKind::Size => "\"300KB\"".to_owned(),
        ParamKind::Threshold => "\"65pkt\"".to_owned(),
        ParamKind::Time | ParamKind::Wait => "\"10us\"".to_owned(),
        ParamKind::Rate => "\"10Gbps\"".to_owned(),
        ParamKind::Number { .. } => "0.5".to_owned(),
        ParamKind::Count { min, .. } => min.max(&8).to_string(),
        ParamKind::Packets => "\"16pkt\"".to_owned(),
        ParamKind::Word(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            list_of(quoted.iter().map(String::as_str))
        }
        ParamKind::Flag => "true".to_owned(),
        ParamKind::Text => "\"…\"".to_owned(),
        ParamKind::List(item) => format!("[{}]", example(item)),
        ParamKind::Either(kinds) => kinds.first().map_or(String::new(), example),
        ParamKind::Table(_) | ParamKind::SchemeParams => "{ … }".to_owned(),
        ParamKind::Tables(_) => "[{ … }]".to_owned(),
    }
}
