//! `[scheme]` with `name = "python"`: the file, the classes, the base scheme, and whatever
//! else is given for the classes.

use super::{Given, knows, unknown};
use crate::SchemeChoice;
use crate::file::found;
use crate::scheme::python::{Python, PythonParams, is_open};
use crate::scheme::{Value, Values, find, python};
use switchbed_config::mistake::Mistake;
use switchbed_config::param::Params;
use switchbed_config::tree::{Data, Entry, Node, Table};
use switchbed_qdisc::switch::Switch;
use switchbed_units::quantity;

pub(super) fn resolve(
    given: &Given<'_>,
    node: Option<&Node>,
    switch: &Switch,
    label: Option<String>,
) -> Result<SchemeChoice, Mistake> {
    let scheme = &python::PYTHON;
    let named = |key: &str| scheme.params.iter().any(|param| param.name == key);
    // Parameters go three ways: the class's place, its base, and the class itself.
    let (ours, rest) = split(node, named);
    let (mut values, section) = given.read(scheme, ours.as_ref())?;
    let PythonParams { mut file, class: classes, base } = PythonParams::from_values(&mut values);
    if let Some(node) = section.given(PythonParams::KEY.file)
        // A class from memory has no file.
        && !file.starts_with(python::MEMORY)
    {
        file = found(&section, PythonParams::KEY.file, node)?.display().to_string();
    }
    let names = classes.names().join(" + ");
    if names.is_empty() {
        return Err(section.refuse(PythonParams::KEY.class, "at least one class is needed"));
    }
    let label = label.unwrap_or(names);

    let refuse = |why: &str| section.refuse(PythonParams::KEY.base, why);
    let base = find(&base).ok_or_else(|| refuse(&unknown(&base)))?;
    if is_open(base) || base.fills_the_seats() || base.notifies() {
        return Err(refuse("a base is a scheme that marks, and leaves the other seats free"));
    }
    if base.needs_pool && switch.pool.is_none() {
        return Err(refuse("it reads the switch's shared memory: write switch.pool"));
    }
    let (theirs, own) = split(rest.as_ref(), |key| knows(base, key));
    let limit = switch.pool.filter(|_| base.needs_pool).unwrap_or(switch.buffer);
    let (values, marks) =
        Given { limit, path: given.path.clone(), ..*given }.read(base, theirs.as_ref())?;
    let scheme =
        base.choose(values, limit).map_err(|unfit| marks.refuse(unfit.param, unfit.why))?;
    scheme.stands_on(switch.discipline).map_err(|unfit| refuse(&unfit.why))?;
    let python = Python { file, classes, own: own_values(given, own.as_ref())? };
    Ok(SchemeChoice { label, python: Some(python), ..scheme.into() })
}

/// The parameters with the file and the class that the scheme's name stands for.
pub(super) fn with_class(
    given: &Given<'_>,
    node: Option<Node>,
    (file, class): (String, String),
) -> Result<Node, Mistake> {
    let empty = Node { at: given.at, data: Data::Table(Table { entries: Vec::new() }) };
    let mut node = node.unwrap_or(empty);
    let at = node.at;
    let Data::Table(table) = &mut node.data else { return Ok(node) };
    for (key, text) in [(PythonParams::KEY.file, file), (PythonParams::KEY.class, class)] {
        if let Some(entry) = table.entries.iter().find(|entry| entry.key == key) {
            let message = "is what the scheme's name says already: leave it out";
            return Err(given.mistake(entry, message.to_owned()));
        }
        let value = Node { at, data: Data::Text(text) };
        table.entries.push(Entry { key: key.to_owned(), at, value });
    }
    Ok(node)
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
fn own_values(given: &Given<'_>, node: Option<&Node>) -> Result<Values, Mistake> {
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
            // No count is below 0.
            Err(_) => Value::Number(*n as f64),
        },
        Data::Number(x) => Value::Number(*x),
        Data::Text(text) => {
            let size = quantity::size(text, given.packet).map(Value::Bytes);
            let time = quantity::time(text).map(Value::Span);
            let rate = quantity::rate(text).map(Value::Rate);
            // A number with a unit that nearly is one is no word: `20kb`.
            let begins = text.trim_start().starts_with(|c: char| c.is_ascii_digit());
            let wrong = [&size, &time, &rate].into_iter().filter_map(|read| read.as_ref().err());
            let meant = wrong.map(ToString::to_string).find(|why| why.contains("did you mean"));
            // Sizes first: `10B` and `10Bps` do not read as each other.
            match (size.or(time).or(rate), meant.filter(|_| begins)) {
                (Ok(value), _) => value,
                (Err(_), Some(why)) => return Err(why),
                (Err(_), None) => Value::Word(text.clone()),
            }
        }
        Data::List(items) => {
            Value::List(items.iter().map(|item| value(given, item)).collect::<Result<_, _>>()?)
        }
        _ => return Err("a class takes texts, numbers, true or false, and lists of these".into()),
    })
}
