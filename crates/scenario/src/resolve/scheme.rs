//! `[scheme]`.

use crate::mistake::{Mistake, list_of, near};
use crate::section::Section;
use crate::tree::{Data, Node};
use switchbed_qdisc::units::Bytes;
use switchbed_spec::scheme::{SchemeInfo, Value, find, schemes};
use switchbed_spec::{Discipline, ParamKind, SchemeChoice, Switch};

pub(crate) fn resolve(
    section: Section<'_>,
    switch: &Switch,
    packet: Option<Bytes>,
    compared: &[&'static SchemeInfo],
) -> Result<SchemeChoice, Mistake> {
    let name: String = section.get("name")?;
    let scheme = find(&name).ok_or_else(|| section.refuse("name", unknown(&name)))?;
    if scheme.needs_rounds && switch.discipline == Discipline::Fifo {
        let why = "it needs rounds, which a fifo has not: write switch.discipline = \"dwrr\"";
        return Err(section.refuse("name", why));
    }
    let label = section.get_or("label", name)?;
    let given = section.given("params");
    let (origin, at) = (section.origin, section.at);
    section.close("a scheme")?;

    let node = given.map(|node| without_others(node, scheme, compared));
    let mut params = Section::open(origin, "scheme.params", scheme.params, node.as_ref(), packet)?;
    if given.is_none() {
        params.at = at;
    }
    let mut values = std::collections::BTreeMap::new();
    for param in scheme.params {
        let value = match params.node(param.name) {
            Some(node) => params.read::<Value>(&param.kind, &node, param.name)?,
            None if param.required => return Err(params.missing(param.name)),
            None => continue,
        };
        if let (ParamKind::Threshold, &Value::Bytes(bytes)) = (param.kind, &value)
            && bytes > switch.buffer
        {
            let why = format!("it is over the buffer, {}, and so never reached", switch.buffer);
            return Err(params.refuse(param.name, why));
        }
        values.insert(param.name.to_owned(), value);
    }
    Ok(SchemeChoice { name: scheme.name.to_owned(), label, params: values })
}

/// What is wrong with a name that no scheme has.
fn unknown(name: &str) -> String {
    let names = schemes().iter().map(|scheme| scheme.name);
    match near(name, names.clone()) {
        Some(guess) => format!("there is no such scheme; did you mean \"{guess}\"?"),
        None => format!("there is no such scheme; there are {}", list_of(names)),
    }
}

/// `[scheme.params]` are shared by the schemes of a comparison: those that this scheme
/// does not know but another one does are not meant for it.
fn without_others(node: &Node, scheme: &SchemeInfo, compared: &[&SchemeInfo]) -> Node {
    let knows = |scheme: &SchemeInfo, key: &str| scheme.params.iter().any(|p| p.name == key);
    let mut node = node.clone();
    if let Data::Table(table) = &mut node.data {
        table.entries.retain(|entry| {
            knows(scheme, &entry.key) || !compared.iter().any(|other| knows(other, &entry.key))
        });
    }
    node
}
