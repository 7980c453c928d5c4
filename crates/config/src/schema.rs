//! Keys as readers are shown them: the JSON Schema and the reference of a section, from the table of keys that it
//! is read by.

use crate::mistake::list_of;
use crate::param::{FRACTION, Param, ParamKind};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// Facts that the schema has beyond the keys.
#[derive(Clone, Copy)]
pub struct Notes<'a> {
    /// The default of a section's key whose table has none.
    pub usual: fn(&str, &str) -> Option<String>,
    /// The parameters of each scheme.
    pub scheme_params: &'a str,
}

/// A section's table of keys.
pub fn table(section: &str, keys: &'static [Param], notes: &Notes<'_>) -> Json {
    let mut properties = Map::new();
    for row in rows(keys, Chosen::ALL) {
        let (name, this) = (row.key.name.to_owned(), property(section, &row, notes));
        let joined = match properties.remove(&name) {
            Some(other) => either(other, this),
            None => this,
        };
        properties.insert(name, joined);
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// A property that is one thing to some kinds and another to others.
fn either(mut one: Json, mut other: Json) -> Json {
    let description = |of: &mut Json| of.as_object_mut().and_then(|of| of.remove("description"));
    let docs = [description(&mut one), description(&mut other)];
    let docs: Vec<&str> = docs.iter().flatten().filter_map(Json::as_str).collect();
    let mut both = if one == other { one } else { json!({ "anyOf": [one, other] }) };
    both["description"] = json!(docs.join(" "));
    both
}

fn property(section: &str, row: &Row, notes: &Notes<'_>) -> Json {
    let param = row.key;
    let mut json = of_kind(&param.kind, notes);
    let mut doc = row.doc();
    doc.push_str(&note(&param.kind, notes));
    json["description"] = json!(doc);
    let usual = || (notes.usual)(section, param.name);
    if let Some(default) = param.default.map(str::to_owned).or_else(usual) {
        json["default"] = crate::tree::parse_value(&default, crate::tree::At::Unwritten)
            .map_or(json!(default), |node| node.to_json());
    }
    json
}

/// The sentence that a description adds about the form of its value.
fn note(kind: &ParamKind, notes: &Notes<'_>) -> String {
    match kind {
        ParamKind::Size | ParamKind::Threshold => {
            " A size with its unit: \"300KB\", \"65pkt\" (KB = 1000 bytes, pkt = host.mtu).".into()
        }
        ParamKind::Time | ParamKind::Wait => " A time with its unit: \"85.2us\".".into(),
        ParamKind::Rate => " A rate with its unit: \"10Gbps\".".into(),
        ParamKind::SchemeParams => notes.scheme_params.to_owned(),
        _ => String::new(),
    }
}

fn of_kind(kind: &ParamKind, notes: &Notes<'_>) -> Json {
    let percent = json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)? ?%$" });
    match *kind {
        ParamKind::Size | ParamKind::Threshold => json!({ "$ref": "#/$defs/size" }),
        ParamKind::Time | ParamKind::Wait => json!({ "$ref": "#/$defs/time" }),
        ParamKind::Rate => json!({ "$ref": "#/$defs/rate" }),
        ParamKind::Part => of_kind(&FRACTION, notes),
        ParamKind::Number { min, max } => {
            let mut number = json!({ "type": "number", "minimum": min });
            if max.is_finite() {
                number["maximum"] = json!(max);
            }
            json!({ "anyOf": [number, percent] })
        }
        ParamKind::Count { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        ParamKind::Packets => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "^[0-9]+(\\.0+)? ?pkt$" },
        ] }),
        ParamKind::Word(words) => json!({ "enum": words }),
        ParamKind::Flag => json!({ "type": "boolean" }),
        ParamKind::Text => json!({ "type": "string" }),
        ParamKind::List(item) => json!({ "type": "array", "items": of_kind(item, notes) }),
        ParamKind::Either(kinds) => {
            json!({ "anyOf": kinds.iter().map(|kind| of_kind(kind, notes)).collect::<Vec<_>>() })
        }
        ParamKind::Table(keys) => table("", keys, notes),
        ParamKind::Tables(keys) => {
            json!({ "type": "array", "minItems": 1, "items": table("", keys, notes) })
        }
        ParamKind::Named(named) => of_kind(&named.form, notes),
        // Open: which parameters there are depends on the scheme.
        ParamKind::SchemeParams => json!({ "type": "object" }),
    }
}

/// The default of a section's key whose table has none.
pub type Usual = fn(&str, &str) -> Option<String>;

/// A section's keys as a table in Markdown, headed so; of what is chosen, those that apply to it.
pub fn keys(
    text: &mut String,
    head: &str,
    section: &str,
    keys: &'static [Param],
    usual: Usual,
    chosen: Chosen<'_>,
) {
    let _ = writeln!(text, "| {head} | takes | default | meaning |\n| --- | --- | --- | --- |");
    write_rows(text, section, "", keys, usual, chosen);
}

fn write_rows(
    text: &mut String,
    section: &str,
    within: &str,
    keys: &'static [Param],
    usual: Usual,
    chosen: Chosen<'_>,
) {
    for row in rows(keys, chosen) {
        let Param { name, kind, default, required, .. } = row.key;
        let default = default.map(str::to_owned).or_else(|| usual(section, name));
        let default = match (default, required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "required".to_owned(),
            (None, false) => String::new(),
        };
        let name = format!("{within}{name}");
        // A bar would end the table's cell.
        let (takes, doc) = (takes(kind).replace('|', "\\|"), row.doc().replace('|', "\\|"));
        let _ = writeln!(text, "| `{name}` | {takes} | {default} | {doc} |");
        if let ParamKind::Table(inner) | ParamKind::Tables(inner) = kind {
            write_rows(text, "", &format!("{name}."), inner, usual, Chosen::ALL);
        }
    }
}

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
        ParamKind::Part => takes(&FRACTION),
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
        ParamKind::Number { min, max } => 0.5_f64.clamp(*min, *max).to_string(),
        ParamKind::Part => "0.5".to_owned(),
        ParamKind::Count { min, max } => 8.clamp(*min, *max).to_string(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_in_the_range_of_their_key() {
        let count = |min, max| example(&ParamKind::Count { min, max });
        assert_eq!([count(0, 7), count(1, 100), count(9, 20)], ["7", "8", "9"]);
        let number = |min, max| example(&ParamKind::Number { min, max });
        let found = [number(0.0, 1.0), number(0.0, 0.25), number(1.0, f64::INFINITY)];
        assert_eq!(found, ["0.5", "0.25", "1"]);
    }
}
