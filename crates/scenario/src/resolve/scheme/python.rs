//! `[scheme]` with `name = "python"`: the file, the classes, the base scheme, and whatever
//! else is given for the classes.

use super::{Given, knows, no_rounds, unknown};
use crate::mistake::Mistake;
use crate::resolve::sizes::found;
use crate::tree::{Data, Entry, Node, Table};
use std::collections::BTreeMap;
use switchbed_spec::scheme::{Value, find, python};
use switchbed_spec::{Discipline, SchemeChoice, Switch, quantity};

pub(super) fn resolve(
    given: &Given<'_>,
    node: Option<&Node>,
    switch: &Switch,
    label: Option<String>,
) -> Result<SchemeChoice, Mistake> {
    let scheme = find(python::NAME).unwrap_or_else(|| unreachable!("it is in the registry"));
    let named = |key: &str| scheme.params.iter().any(|param| param.name == key);
    let (ours, rest) = split(node, named);
    let (mut choice, section) = given.read(scheme, String::new(), ours.as_ref())?;
    if !choice.python().is_some_and(|(file, _)| file.starts_with(python::MEMORY)) {
        let file = found(&section, "file")?.display().to_string();
        choice.params.insert("file".to_owned(), Value::Word(file));
    }
    let classes = choice.python().map_or(String::new(), |(_, classes)| classes.join(" + "));
    if classes.is_empty() {
        return Err(section.refuse("class", "at least one class is needed"));
    }
    choice.label = label.unwrap_or(classes);

    let base: String = section.get("base")?;
    let refuse = |why: &str| section.refuse("base", why);
    let base = find(&base).ok_or_else(|| refuse(&unknown(&base)))?;
    if base.is_open() || base.fills_the_seats() || base.seats[4] != "none" {
        return Err(refuse("a base is a scheme that marks, and leaves the other seats free"));
    }
    if base.needs_pool && switch.pool.is_none() {
        return Err(refuse("it reads the switch's shared memory: write switch.pool"));
    }
    let (theirs, own) = split(rest.as_ref(), |key| knows(base, key));
    let limit = switch.pool.filter(|_| base.needs_pool).unwrap_or(switch.buffer);
    let (marks, _) = Given { limit, path: given.path.clone(), ..*given }.read(
        base,
        String::new(),
        theirs.as_ref(),
    )?;
    let no_weights = base.needs_rounds
        && !matches!(switch.discipline, Discipline::Wrr | Discipline::Dwrr | Discipline::Wfq);
    if let Some(why) = no_rounds(&marks, switch.discipline) {
        return Err(refuse(why));
    } else if no_weights {
        return Err(refuse("it reads weights: write switch.discipline = \"wfq\""));
    }
    choice.params.extend(marks.params);
    choice.params.extend(values(given, own.as_ref())?);
    Ok(choice)
}

/// A table's entries with such keys, and the others.
fn split(node: Option<&Node>, of: impl Fn(&str) -> bool) -> (Option<Node>, Option<Node>) {
    let part = |wanted: bool| {
        let node = node?;
        let Data::Table(table) = &node.data else { return wanted.then(|| node.clone()) };
        let entries = table.entries.iter().filter(|entry| of(&entry.key) == wanted);
        let table = Table { entries: entries.cloned().collect() };
        Some(Node { at: node.at, data: Data::Table(table) })
    };
    (part(true), part(false))
}

/// The classes' parameters. Nothing says what they take, so a text that is a quantity is one.
fn values(given: &Given<'_>, node: Option<&Node>) -> Result<BTreeMap<String, Value>, Mistake> {
    let entries = node.and_then(Node::as_table).map_or(&[][..], |table| &table.entries);
    let read = |entry: &Entry| {
        let value = value(given, &entry.value).map_err(|why| {
            let message = format!("is {}: {why}", entry.value);
            given.mistake(entry, message)
        })?;
        Ok((entry.key.clone(), value))
    };
    entries.iter().map(read).collect()
}

fn value(given: &Given<'_>, node: &Node) -> Result<Value, String> {
    Ok(match &node.data {
        Data::Flag(flag) => Value::Flag(*flag),
        Data::Whole(n) => match u64::try_from(*n) {
            Ok(n) => Value::Count(n),
            Err(_) => Value::Number(*n as f64),
        },
        Data::Number(x) => Value::Number(*x),
        Data::Text(text) => {
            let size = quantity::size(text, given.packet).map(Value::Bytes);
            let time = || quantity::time(text).map(Value::Span);
            let rate = || quantity::rate(text).map(Value::Rate);
            size.or_else(|_| time()).or_else(|_| rate()).unwrap_or(Value::Word(text.clone()))
        }
        Data::List(items) => {
            Value::List(items.iter().map(|item| value(given, item)).collect::<Result<_, _>>()?)
        }
        _ => return Err("a class takes texts, numbers, true or false, and lists of these".into()),
    })
}
