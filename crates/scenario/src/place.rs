//! Where in the tree a key of `[compare]` or of an override points, and putting a value
//! there. Keys are dotted (`switch.queues`, `traffic.0.load`) or short names.

use crate::Traffic;
use crate::resolve::unknown_name;
use crate::sections::SECTIONS;
use crate::stack;
use switchbed_config::mistake::list_of;
use switchbed_config::param::Params;
use switchbed_config::tree::{Data, Node, Table};

/// Short names: `load` and `flows` of every source that has a load, `seed` of the run. A fourth,
/// `scheme`, is no place but the scheme as a whole.
const ALIASES: [&str; 3] = ["load", "flows", "seed"];

/// The kinds of traffic that have `load` or `flows`.
fn with(key: &str) -> impl Iterator<Item = &'static str> {
    let loads = Traffic::TABLE.iter().filter(move |param| param.name == key);
    loads.filter_map(|param| param.only).flat_map(|(_, kinds)| kinds).copied()
}

/// Sets what `key` stands for. `root` decides which sources a short name means.
pub(crate) fn set(root: &mut Table, key: &str, value: &Node) -> Result<(), String> {
    if key == "scheme" {
        return choose_scheme(root, value);
    }
    places(root, key)?.iter().try_for_each(|target| put(root, target, value.clone()))
}

/// The places in the tree that a key of `[compare]` or of an override stands for.
pub(crate) fn places(root: &Table, key: &str) -> Result<Vec<Vec<String>>, String> {
    let sources = root.get("traffic").and_then(Node::as_list).unwrap_or_default();
    let path = |steps: &[&str]| steps.iter().map(|&step| step.to_owned()).collect();
    match key {
        "seed" => return Ok(vec![path(&["run", "seed"])]),
        "load" | "flows" => {
            let kind = |node: &Node| node.as_table()?.get("kind")?.as_text().map(str::to_owned);
            let has_load =
                |node: &Node| kind(node).is_some_and(|kind| with(key).any(|with| with == kind));
            let loaded = sources.iter().enumerate().filter(|(_, node)| has_load(node));
            // Incast beside other flows keeps its load: it is a small part of what links carry.
            let (rounds, flows): (Vec<_>, Vec<_>) =
                loaded.partition(|(_, node)| kind(node).as_deref() == Some("incast"));
            let chosen = if flows.is_empty() { rounds } else { flows };
            let found: Vec<_> =
                chosen.iter().map(|(i, _)| path(&["traffic", &i.to_string(), key])).collect();
            return match found.is_empty() {
                true => Err(format!(
                    "stands for the {key} of traffic of kind {}, and there is none",
                    list_of(with(key))
                )),
                false => Ok(found),
            };
        }
        _ => {}
    }
    let mut steps: Vec<&str> = key.split('.').map(str::trim).collect();
    if steps.contains(&"") {
        return Err("is no key: write its section and name, as in switch.queues".to_owned());
    }
    if steps[0] == "compare" {
        return Err("names no key: write compare.load=[0.1, 0.5]".to_owned());
    }
    if steps[0] != "title" && SECTIONS.iter().all(|section| section.name != steps[0]) {
        return Err(unknown_name(steps[0], &ALIASES));
    }
    let in_list = stack::places(root).filter(|_| steps[0] == stack::SECTION.name);
    if let ([_, name, ..], Some((usual, n))) = (&steps[..], in_list)
        && name.parse::<usize>().is_err()
    {
        // A key that entries alone have is of the one entry that there is; others are of all other hosts.
        let only = (0..n).filter(|nth| Some(*nth) != usual).collect::<Vec<_>>();
        let place = match (stack::is_own(name), usual, &only[..]) {
            (true, _, [one]) | (false, None, [one]) => *one,
            (false, Some(usual), _) => usual,
            _ => return Err(format!("could be any of {n} entries: write host.0.{name}, …")),
        };
        let place = place.to_string();
        let steps = [&steps[..1], &[place.as_str()], &steps[1..]].concat();
        return Ok(vec![path(&steps)]);
    }
    let alone = |name: &str| SECTIONS.iter().filter(|section| section.name == name).count() == 1;
    let repeated = SECTIONS
        .iter()
        .any(|section| section.repeated && section.name == steps[0] && alone(steps[0]));
    if let [section, name, ..] = steps[..]
        && repeated
        && name.parse::<usize>().is_err()
    {
        match root.get(section).and_then(Node::as_list).unwrap_or_default().len() {
            0 | 1 => steps.insert(1, "0"),
            n => return Err(format!("could be any of {n} entries: write {section}.0.{name}, …")),
        }
    }
    Ok(vec![path(&steps)])
}

/// Puts a name, or a table of name, label and parameters, in the place of `[scheme]`'s. Parameters
/// that it does not give stay as `[scheme.params]` has them.
fn choose_scheme(root: &mut Table, value: &Node) -> Result<(), String> {
    let Data::Table(scheme) = &mut root.get_or_insert("scheme", value.at).data else {
        return Ok(()); // refused when the section is read
    };
    // The label was that of the scheme before.
    scheme.remove("label");
    match &value.data {
        Data::Text(_) => scheme.insert("name", value.clone()),
        Data::Table(entries) if entries.get("name").is_some() => {
            for entry in &entries.entries {
                match (entry.key.as_str(), &entry.value.data) {
                    // Parameters in the file hold for all compared schemes, unless a table has its
                    // own.
                    ("params", Data::Table(params)) => {
                        let shared = scheme.get_or_insert("params", entry.at);
                        if let Data::Table(shared) = &mut shared.data {
                            for param in &params.entries {
                                shared.insert(&param.key, param.value.clone());
                            }
                        }
                    }
                    (key, _) => scheme.insert(key, entry.value.clone()),
                }
            }
        }
        _ => {
            let form = "a name or a table, { name = \"mq-ecn\", params = { beta = 0.5 } }";
            return Err(format!("is {value}: it must be {form}"));
        }
    }
    Ok(())
}

/// Puts the value at a place in the tree.
pub(crate) fn put(table: &mut Table, steps: &[String], value: Node) -> Result<(), String> {
    let (step, rest) = match steps {
        [] => return Ok(()),
        [last] => {
            table.insert(last, value);
            return Ok(());
        }
        [step, rest @ ..] => (step, rest),
    };
    put_in(table.get_or_insert(step, value.at), step, rest, value)
}

fn put_in(node: &mut Node, name: &str, steps: &[String], value: Node) -> Result<(), String> {
    let shown = node.to_string();
    match (&mut node.data, steps) {
        (_, []) => *node = value,
        (Data::Table(table), steps) => return put(table, steps, value),
        (Data::List(items), [step, rest @ ..]) => {
            let n = items.len();
            let item = step.parse::<usize>().ok().and_then(|i| items.get_mut(i));
            let Some(item) = item else {
                return Err(match n {
                    0 => format!("cannot be set: {name} lists nothing"),
                    _ => format!("cannot be set: {name} has 0 to {}", n - 1),
                });
            };
            return put_in(item, step, rest, value);
        }
        _ => return Err(format!("cannot be set: {name} is {shown} and has no keys")),
    }
    Ok(())
}
