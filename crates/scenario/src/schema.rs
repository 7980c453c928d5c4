//! The JSON Schema of scenario files, from the tables of keys that they are read by.

use crate::profiles::usual;
use crate::scheme::{SchemeInfo, schemes};
use crate::sections::SECTIONS;
use serde_json::{Map, Value as Json, json};
use switchbed_config::schema::{Notes, table};
use switchbed_units::quantity;

/// The JSON Schema (draft 2020-12) of a scenario file.
pub fn schema() -> Json {
    let of = |scheme: &SchemeInfo| {
        let names: Vec<&str> = scheme.params.iter().map(|param| param.name).collect();
        format!(" {}: {}.", scheme.name, names.join(", "))
    };
    let parameters: String = schemes().filter(|scheme| !scheme.params.is_empty()).map(of).collect();
    let notes = Notes { usual, scheme_params: &parameters };
    let mut properties = Map::new();
    let title = json!({ "type": "string", "description": "What the scenario shows, in a line." });
    properties.insert("title".to_owned(), title);
    for section in SECTIONS {
        let mut table = table(section.name, section.keys, &notes);
        table["description"] = json!(section.doc);
        if section.repeated {
            table = json!({ "type": "array", "minItems": 1, "items": table });
        }
        let table = match properties.remove(section.name) {
            // A section of both forms: what is said of tables counts for a table, what of lists for a list.
            Some(mut one) => {
                one["type"] = json!(["object", "array"]);
                for key in ["minItems", "items"] {
                    one[key] = table[key].take();
                }
                one
            }
            None => table,
        };
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
