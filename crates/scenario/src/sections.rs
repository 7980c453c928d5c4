//! The tables of a scenario file.

use crate::measure;
use crate::scheme::schemes;
use crate::{
    deploy, event, host, reaction, roce, routing, run, scheme, stack, switch, topology, traffic,
    transport,
};
use switchbed_config::param::{Param, ParamKind, SectionSpec};
use switchbed_config::similar::similar;

/// In the order in which a reader wants them. Beside these a file has `title` and `[compare]`.
pub const SECTIONS: &[SectionSpec] = &[
    topology::SECTION,
    routing::SECTION,
    switch::SECTION,
    scheme::SECTION,
    deploy::SECTION,
    host::SECTION,
    stack::SECTION,
    transport::SECTION,
    roce::SECTION,
    reaction::SECTION,
    traffic::SECTION,
    event::SECTION,
    event::random::SECTION,
    measure::SECTION,
    run::SECTION,
];

/// Most places of a key that a message names: of more, each is as good as another.
const HOMES: usize = 3;

/// The full names of the keys that other sections, their tables or schemes call `name`, if they are few.
pub(crate) fn home(name: &str) -> Option<String> {
    let has = |keys: &[Param]| keys.iter().any(|param| param.name == name);
    let sections = SECTIONS.iter().filter(|section| has(section.keys));
    let mut homes: Vec<String> =
        sections.map(|section| format!("{}.{name}", section.name)).collect();
    if homes.is_empty() && schemes().any(|scheme| has(scheme.params)) {
        homes.push(format!("scheme.params.{name}"));
    }
    if homes.is_empty() {
        let keys = SECTIONS.iter().flat_map(|of| of.keys.iter().map(move |key| (of, key)));
        let tables = keys.filter(|(_, key)| match key.kind {
            ParamKind::Table(keys) => has(keys),
            _ => false,
        });
        homes = tables.map(|(of, key)| format!("{}.{}.{name}", of.name, key.name)).collect();
    }
    // Kinds share keys: a name can be in a section several times.
    homes.dedup();
    let last = homes.pop()?;
    match homes.len() {
        0 => Some(last),
        others if others < HOMES => Some(format!("{} or {last}", homes.join(", "))),
        _ => None,
    }
}

/// The full names of the keys that a misspelled `name` was probably meant to be.
pub(crate) fn similar_home(name: &str) -> Option<String> {
    let keys = SECTIONS.iter().flat_map(|section| section.keys);
    let keys = keys.chain(schemes().flat_map(|scheme| scheme.params));
    similar(name, keys.map(|key| key.name)).and_then(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::schemes;
    use switchbed_config::read::read;
    use switchbed_config::tree::{At, parse_value};
    use switchbed_units::Bytes;

    #[test]
    fn every_default_is_what_its_key_takes() {
        let packet = Some(Bytes::new(1500));
        let keys = SECTIONS.iter().flat_map(|section| section.keys);
        for Param { name, kind, default, required, doc, .. } in
            keys.chain(schemes().flat_map(|scheme| scheme.params))
        {
            assert!(!doc.is_empty(), "{name}");
            assert!(!required || default.is_none(), "{name}");
            let Some(default) = default else { continue };
            let node = parse_value(default, At::Unwritten).unwrap();
            match (kind, node.as_list()) {
                (ParamKind::List(item), Some(items)) => {
                    assert!(items.iter().all(|node| read(item, node, packet).is_ok()), "{name}");
                }
                _ => drop(read(kind, &node, packet).unwrap_or_else(|why| panic!("{name}: {why}"))),
            }
        }
    }
}
