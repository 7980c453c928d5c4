//! Every key of a scenario file and every scheme's parameters, from the tables of keys that they are read by: as
//! Markdown, which `switchbed scenario keys` and a page of the documentation site show, and as a JSON Schema.

use crate::live::{LIVE, PORT};
use crate::profiles::usual;
use crate::scheme::{SchemeInfo, schemes};
use crate::sections::SECTIONS;
use crate::unread;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use switchbed_config::mistake::list_of;
use switchbed_config::param::{ParamKind, SectionSpec};
use switchbed_config::schema::{Chosen, Notes, keys, table};
use switchbed_units::quantity;

const HEAD: &str = "\
# Scenario files

A scenario is one TOML file. `switchbed scenario keys` prints this page, and
`switchbed scenario schema` the same as JSON Schema for editors. Values carry their units
(`\"10Gbps\"`, `\"85.2us\"`, `\"300KB\"`; KB is 1000 bytes, KiB 1024, and `pkt` is `host.mtu`).
A key that is unknown, or that does not apply to what the file chose, is refused with its
line.

A time is at most 100000s, a rate 100Tbps, a size 1000GB. A network has at most 1048575 ports,
hosts' own among them, and a switch 65535; a run has at most 16777215 connections open at a time. A
link's delay, host.delay, and what a packet of host.mtu takes at a link's rate are at most 5s each.

Defaults of `[host]` and `[transport]` are the host profile's ([hosts](hosts.md)); those here are of
the profile that `host.profile` has where a file does not give it.

`--set SECTION.KEY=VALUE` overrides a value; `load`, `flows`, `seed` and `scheme` stand for the
keys one means. `[compare]` lists values for such keys, and every combination is a run:

```toml
[compare]
scheme = [\"per-queue\", { name = \"mq-ecn\", label = \"MQ-ECN\", params = { beta = 0.5 } }]
load = [0.3, 0.5, 0.8]
seed = [1, 2, 3]
```
";

/// The reference of scenario files.
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        section_keys(&mut text, section, None);
    }
    text.push_str("\n## Schemes\n\nParameters go into `[scheme.params]`.\n");
    for scheme in schemes() {
        scheme_keys(&mut text, scheme);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A part of the reference: a section by name (`topology`), what applies where one of its keys has
/// a word (`topology.kind=clos`), or a scheme by name.
///
/// # Errors
///
/// Message for the user where nothing of that name exists.
pub fn reference_of(of: &str) -> Result<String, String> {
    let mut text = String::new();
    if let Some(scheme) = schemes().find(|scheme| scheme.name == of) {
        scheme_keys(&mut text, scheme);
        return Ok(text.trim().to_owned() + "\n");
    }
    let (place, word) = of.split_once('=').map_or((of, None), |(key, word)| (key, Some(word)));
    let (name, key) = place.split_once('.').map_or((place, None), |(name, key)| (name, Some(key)));
    if of == "compare" {
        let why =
            "its keys are those of other sections, each with a list: compare.load = [0.3, 0.6]";
        return Err(format!("{of}: {why}"));
    }
    let Some(section) = SECTIONS.iter().find(|section| section.name == name) else {
        let mut names: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
        names.dedup();
        return Err(format!(
            "{of}: no section or scheme has that name; sections are {}; `switchbed schemes` \
             prints the schemes",
            list_of(names.into_iter())
        ));
    };
    match (key, word) {
        (None, None) => {
            let both = SECTIONS.iter().filter(|section| section.name == name);
            both.for_each(|section| section_keys(&mut text, section, None));
        }
        (Some("name"), Some(word)) if name == "scheme" => return reference_of(word),
        (Some(key), Some(word)) => {
            let words = words_of(section, key);
            if !words.contains(&word) {
                return Err(match words.is_empty() {
                    true => format!("{of}: no table stands for {name}.{key} alone; write {name}"),
                    false => {
                        format!("{of}: {name}.{key} must be {}", list_of(words.iter().copied()))
                    }
                });
            }
            section_keys(&mut text, section, Some((key, word)));
            if name == "transport" && unread::is_roce(word) {
                let roce = SECTIONS.iter().find(|section| section.name == "roce");
                roce.into_iter().for_each(|roce| section_keys(&mut text, roce, Some((key, word))));
            }
        }
        (Some(key), None) if words_of(section, key).is_empty() => {
            return Err(format!("{of}: write {name}, which prints all of its keys"));
        }
        _ => return Err(format!("{of}: write SECTION, SECTION.KEY=WORD or a scheme's name")),
    }
    Ok(text.trim().to_owned() + "\n")
}

/// The words of a key on which others of its section depend.
fn words_of(section: &SectionSpec, key: &str) -> Vec<&'static str> {
    let of_keys = section.keys.iter().filter_map(|of| of.only);
    let named: BTreeSet<&str> =
        of_keys.filter(|(on, _)| *on == key).flat_map(|(_, words)| words).copied().collect();
    match section.keys.iter().find(|of| of.name == key).map(|of| of.kind) {
        Some(ParamKind::Word(words)) if !named.is_empty() => words.to_vec(),
        _ => named.into_iter().collect(),
    }
}

fn section_keys(text: &mut String, section: &SectionSpec, chosen: Option<(&str, &str)>) {
    let (open, close) = if section.repeated { ("[[", "]]") } else { ("[", "]") };
    let _ = write!(text, "\n## `{open}{}{close}`\n\n{}\n\n", section.name, section.doc);
    let unread = match chosen {
        Some(("kind", word)) => unread::under(section.name, word),
        _ => Vec::new(),
    };
    let chosen = Chosen { word: chosen, without: &unread };
    keys(text, "key", section.name, section.keys, usual, chosen);
}

fn scheme_keys(text: &mut String, scheme: &SchemeInfo) {
    let _ = write!(text, "\n### `{}`\n\n{}", scheme.name, scheme.summary);
    let source: Vec<&str> =
        [scheme.paper, scheme.source].into_iter().filter(|part| !part.is_empty()).collect();
    if !source.is_empty() {
        let _ = write!(text, " ({})", source.join("; "));
    }
    text.push_str("\n\n");
    if !scheme.params.is_empty() {
        keys(text, "parameter", "", scheme.params, usual, Chosen::ALL);
    }
}

const LIVE_HEAD: &str = "\
# Files of live switches

One TOML file says what a live switch joins and how. `[switch]` and `[scheme]` are those of
[scenario files](scenario.md); `pkt` is `live.mtu`. `switchbed live keys` prints this page.
";

/// The reference of live switches' files.
pub fn live_reference() -> String {
    let mut text = LIVE_HEAD.to_owned();
    for section in [LIVE, PORT, crate::reaction::LIVE_SECTION] {
        let (open, close) = if section.repeated { ("[[", "]]") } else { ("[", "]") };
        let _ = write!(text, "\n## `{open}{}{close}`\n\n{}\n\n", section.name, section.doc);
        keys(&mut text, "key", "", section.keys, usual, Chosen::ALL);
    }
    text
}

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

#[cfg(test)]
mod tests {
    use super::{SECTIONS, live_reference, reference, reference_of, schemes};

    #[test]
    fn every_section_and_scheme_has_its_heading_and_its_keys() {
        let page = reference();
        for section in SECTIONS {
            assert!(page.contains(&format!("[{}]", section.name)), "{}", section.name);
            for key in section.keys {
                assert!(page.contains(&format!("\n| `{}` |", key.name)), "{}", key.name);
            }
        }
        for scheme in schemes() {
            assert!(page.contains(&format!("\n### `{}`\n", scheme.name)), "{}", scheme.name);
        }
        assert!(live_reference().contains("\n## `[[port]]`\n"));
    }

    #[test]
    fn a_chosen_kind_has_its_keys_alone() {
        let clos = reference_of("topology.kind=clos").unwrap();
        assert!(clos.starts_with("## `[topology]`\n"), "{clos}");
        for key in ["kind", "pods", "core_rate"] {
            assert!(clos.contains(&format!("\n| `{key}` |")), "{key}");
        }
        for other in ["| `hosts` |", "| `leaves` |", "| `path` |", "fat-tree, clos:"] {
            assert!(!clos.contains(other), "{other}");
        }
        assert_eq!(reference_of("mq-ecn"), reference_of("scheme.name=mq-ecn"));
        assert!(reference_of("switch").unwrap().contains("\n| `queues` |"));
    }

    #[test]
    fn a_transport_has_the_keys_that_it_reads() {
        let has = |page: &str, key: &str| page.contains(&format!("\n| `{key}` |"));
        let dcqcn = reference_of("transport.kind=dcqcn").unwrap();
        assert!(dcqcn.contains("\n## `[roce]`\n"), "{dcqcn}");
        for (key, read) in
            [("kind", true), ("recovery", true), ("cnp_class", true), ("rto_min", false)]
        {
            assert_eq!(has(&dcqcn, key), read, "{key}");
        }
        assert!(!has(&dcqcn, "spray") && !has(&dcqcn, "eta"), "{dcqcn}");
        let rccc = reference_of("roce.kind=rccc").unwrap();
        assert!(has(&rccc, "spray") && !has(&rccc, "recovery"), "{rccc}");
        assert!(!has(&rccc, "target_delay") && !has(&rccc, "cnp_class"), "{rccc}");
        let udp = reference_of("transport.kind=udp").unwrap();
        assert!(has(&udp, "mss") && !has(&udp, "initial_window"), "{udp}");
        assert!(!udp.contains("## `[roce]`"), "{udp}");
        assert!(has(&reference_of("transport.kind=cubic").unwrap(), "initial_window"));
    }

    #[test]
    fn a_part_that_is_not_there_is_refused_by_name() {
        for (of, said) in [
            ("topologie", "topologie: no section or scheme has that name"),
            ("topology.kind=mesh", "topology.kind must be star, dumbbell,"),
            ("topology.hosts=4", "no table stands for topology.hosts alone; write topology"),
            ("switch.policy=abm", "no table stands for switch.policy alone; write switch"),
            ("topology.kind", "write SECTION, SECTION.KEY=WORD or a scheme's name"),
            ("topology.delay", "topology.delay: write topology, which prints all"),
            ("compare", "compare: its keys are those of other sections"),
            ("scheme.name=mq", "mq: no section or scheme has that name"),
        ] {
            let message = reference_of(of).unwrap_err();
            assert!(message.contains(said), "{message}");
        }
    }
}
