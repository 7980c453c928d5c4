//! The JSON Schema of scenario files, from the tables of keys that they are read by.

use crate::catalog::{Row, rows};
use crate::profile;
use crate::sections::SECTIONS;
use serde_json::{Map, Value as Json, json};
use switchbed_spec::scheme::{SchemeInfo, schemes};
use switchbed_spec::{Param, ParamKind};
use switchbed_units::quantity;

/// The JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Json {
    let mut properties = Map::new();
    let title = json!({ "type": "string", "description": "What the scenario shows, in a line." });
    properties.insert("title".to_owned(), title);
    for section in SECTIONS {
        let mut table = table(section.name, section.keys);
        table["description"] = json!(section.doc);
        if section.repeated {
            table = json!({ "type": "array", "minItems": 1, "items": table });
        }
        properties.insert(section.name.to_owned(), table);
    }
    properties.insert("compare".to_owned(), compare());
    let mut defs = Map::new();
    for (name, pattern) in quantity::patterns() {
        defs.insert(name.to_owned(), json!({ "type": "string", "pattern": pattern }));
    }
    let or_nested =
        json!({ "anyOf": [{ "type": "array", "minItems": 1 }, { "$ref": "#/$defs/compared" }] });
    defs.insert(
        "compared".to_owned(),
        json!({ "type": "object", "additionalProperties": or_nested }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Switchbed scenario",
        "type": "object",
        "properties": properties,
        "required": ["topology", "switch", "traffic"],
        "additionalProperties": false,
        "$defs": defs,
    })
}

fn table(section: &str, keys: &'static [Param]) -> Json {
    let mut properties = Map::new();
    for row in rows(keys) {
        let (name, this) = (row.key.name.to_owned(), property(section, &row));
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

fn property(section: &str, row: &Row) -> Json {
    let param = row.key;
    let mut json = of_kind(&param.kind);
    let mut doc = row.doc();
    doc.push_str(&note(&param.kind));
    json["description"] = json!(doc);
    let usual = || profile::usual(section, param.name);
    if let Some(default) = param.default.map(str::to_owned).or_else(usual) {
        json["default"] = crate::tree::parse_value(&default, crate::tree::At::Unwritten)
            .map_or(json!(default), |node| node.to_json());
    }
    json
}

/// What a description adds about the form of its value.
fn note(kind: &ParamKind) -> String {
    match kind {
        ParamKind::Size | ParamKind::Threshold => {
            " A size with its unit: \"300KB\", \"65pkt\" (KB = 1000 bytes, pkt = host.mtu).".into()
        }
        ParamKind::Time | ParamKind::Wait => " A time with its unit: \"85.2us\".".into(),
        ParamKind::Rate => " A rate with its unit: \"10Gbps\".".into(),
        ParamKind::SchemeParams => {
            let of = |scheme: &SchemeInfo| {
                let names: Vec<&str> = scheme.params.iter().map(|param| param.name).collect();
                format!(" {}: {}.", scheme.name, names.join(", "))
            };
            schemes().filter(|scheme| !scheme.params.is_empty()).map(of).collect()
        }
        _ => String::new(),
    }
}

fn of_kind(kind: &ParamKind) -> Json {
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
        ParamKind::List(item) => json!({ "type": "array", "items": of_kind(item) }),
        ParamKind::Either(kinds) => {
            json!({ "anyOf": kinds.iter().map(of_kind).collect::<Vec<_>>() })
        }
        ParamKind::Table(keys) => table("", keys),
        ParamKind::Named(_, form) => of_kind(form),
        // Open: which parameters there are depends on the scheme.
        ParamKind::SchemeParams => json!({ "type": "object" }),
    }
}

/// `[compare]`: lists under dotted keys, written plainly or as tables.
fn compare() -> Json {
    json!({
        "description": "Keys and the values that each takes in turn: one run for each \
            combination, the first key slowest. A key is dotted (switch.queues, \
            scheme.params.threshold, traffic.0.load) or scheme, load, flows or seed. A \
            scheme is a name or a table of name, label and params.",
        "$ref": "#/$defs/compared",
    })
}
