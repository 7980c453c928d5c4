//! The JSON Schema of a section, from the table of keys that it is read by.

use crate::param::{Param, ParamKind};
use crate::shown::{Chosen, Row, rows};
use serde_json::{Map, Value as Json, json};

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
