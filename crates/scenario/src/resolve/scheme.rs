//! `[scheme]`.

use crate::mistake::{Mistake, list_of, near};
use crate::section::Section;
use crate::tree::{Data, Node};
use switchbed_qdisc::units::Bytes;
use switchbed_spec::scheme::{SchemeInfo, Value, find, schemes};
use switchbed_spec::{Discipline, ParamKind, SchemeChoice, Switch};

/// `ports` are those of every kind of switch.
pub(crate) fn resolve(
    section: Section<'_>,
    switch: &Switch,
    ports: &[u32],
    packet: Option<Bytes>,
    compared: &[&'static SchemeInfo],
) -> Result<SchemeChoice, Mistake> {
    let name: Option<String> = section.maybe("name")?;
    let name = name.ok_or_else(|| section.missing_like("name", "\"mq-ecn\""))?;
    let scheme = find(&name).ok_or_else(|| section.refuse("name", unknown(&name)))?;
    if scheme.needs_pool && switch.pool.is_none() {
        return Err(
            section.refuse("name", "it reads the switch's shared memory: write switch.pool")
        );
    }
    let limit = switch.pool.filter(|_| scheme.needs_pool).unwrap_or(switch.buffer);
    let label = section.get_or("label", name)?;
    let given = section.given("params");
    let (origin, at, path) = (section.origin, section.at, section.key("params"));
    section.close("a scheme")?;

    let node = given.map(|node| without_others(node, scheme, compared));
    let entries = node.iter().filter_map(Node::as_table).flat_map(|table| &table.entries);
    for entry in entries {
        if !knows(scheme, &entry.key) {
            let key = format!("{path}.{}", entry.key);
            return Err(origin.mistake(entry.at, &key, no_parameter(&entry.key, scheme)));
        }
    }
    let mut params = Section::open(origin, &path, scheme.params, node.as_ref(), packet)?;
    if given.is_none() {
        params.at = at;
    }
    let mut values = std::collections::BTreeMap::new();
    for param in scheme.params {
        let value = match params.node(param.name) {
            Some(_) if matches!(param.kind, ParamKind::List(_)) => {
                Value::List(params.list(param.name)?.unwrap_or_default())
            }
            Some(node) => params.read::<Value>(&param.kind, &node, param.name)?,
            None if param.required => return Err(params.missing(param.name)),
            None => continue,
        };
        if let (ParamKind::Threshold, &Value::Bytes(bytes)) = (param.kind, &value)
            && bytes > limit
        {
            let why = format!("it is over the buffer, {limit}, and so never reached");
            return Err(params.refuse(param.name, why));
        }
        values.insert(param.name.to_owned(), value);
    }
    let mut choice = SchemeChoice { name: scheme.name.to_owned(), label, params: values };
    choice.complete(limit).map_err(|unfit| params.refuse(unfit.param, unfit.why))?;
    let rounds = matches!(switch.discipline, Discipline::Wrr | Discipline::Dwrr);
    if choice.reads_rounds() && !rounds {
        return Err(section.refuse("name", no_rounds(switch.discipline)));
    }
    if scheme.needs_rounds && !rounds && switch.discipline != Discipline::Wfq {
        let why = "queues have weights with wfq, wrr and dwrr: write switch.discipline = \"wfq\"";
        return Err(params.refuse("share", why));
    }
    let mut misfits = ports.iter().filter_map(|&ports| choice.misfit(switch, ports, packet?));
    if let Some(why) = misfits.next() {
        return Err(section.refuse("name", why));
    }
    Ok(choice)
}

/// What is wrong with a scheme that reads rounds on a discipline without them.
fn no_rounds(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Wfq => {
            "it reads rounds, which wfq does not have: write scheme.params.share = \"weights\", \
             or switch.discipline = \"dwrr\""
        }
        _ => "it reads rounds, which wrr and dwrr have: write switch.discipline = \"dwrr\"",
    }
}

/// What is wrong with a name that no scheme has.
fn unknown(name: &str) -> String {
    let names = schemes().iter().map(|scheme| scheme.name);
    match near(name, names.clone()) {
        Some(guess) => format!("there is no such scheme; did you mean \"{guess}\"?"),
        None => format!("there is no such scheme; there are {}", list_of(names)),
    }
}

fn knows(scheme: &SchemeInfo, key: &str) -> bool {
    scheme.params.iter().any(|param| param.name == key)
}

/// What is wrong with a parameter that the scheme does not have.
fn no_parameter(key: &str, scheme: &SchemeInfo) -> String {
    let names = || scheme.params.iter().map(|param| param.name);
    let name = scheme.name;
    match near(key, names()) {
        Some(guess) => format!("is no parameter of {name}: did you mean {guess}?"),
        None if scheme.params.is_empty() => format!("is no parameter of {name}, which has none"),
        None => format!("is no parameter of {name}, which takes {}", list_of(names())),
    }
}

/// `[scheme.params]` are shared by the schemes of a comparison: those that this scheme
/// does not know but another one does are not meant for it.
fn without_others(node: &Node, scheme: &SchemeInfo, compared: &[&SchemeInfo]) -> Node {
    let mut node = node.clone();
    if let Data::Table(table) = &mut node.data {
        table.entries.retain(|entry| {
            knows(scheme, &entry.key) || !compared.iter().any(|other| knows(other, &entry.key))
        });
    }
    node
}
