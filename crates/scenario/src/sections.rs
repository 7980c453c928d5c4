//! The tables of a scenario file.

use crate::measure;
use crate::scheme::schemes;
use crate::{
    deploy, event, host, reaction, roce, routing, run, scheme, stack, switch, topology, traffic,
    transport,
};
use switchbed_config::param::Param;
use switchbed_config::param::SectionSpec;

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

/// The full name of the key that another section, or a scheme, calls `name`.
pub(crate) fn home(name: &str) -> Option<String> {
    let has = |keys: &[Param]| keys.iter().any(|param| param.name == name);
    let section = SECTIONS.iter().find(|section| has(section.keys));
    let scheme = || schemes().find(|scheme| has(scheme.params));
    let scheme = || scheme().map(|_| format!("scheme.params.{name}"));
    section.map(|section| format!("{}.{name}", section.name)).or_else(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::schemes;
    use switchbed_config::param::{Param, ParamKind};
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
