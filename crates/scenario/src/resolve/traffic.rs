//! `[[traffic]]`.

use super::offered;
use crate::mistake::{Mistake, Origin};
use crate::section::Section;
use crate::tree::{At, Node, Table};
use switchbed_spec::Traffic;
use switchbed_spec::param::Params;
use switchbed_spec::traffic::{SECTION, Site};

/// Every source of the file.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    site: &Site<'_>,
) -> Result<Vec<Traffic>, Mistake> {
    let node = root.get("traffic");
    let at = node.map_or(At::Unwritten, |node| node.at);
    let sources = node.and_then(Node::as_list).unwrap_or_default();
    if sources.is_empty() {
        let message = "is missing: write [[traffic]] with its kind and what it needs";
        return Err(origin.mistake(at, "traffic", message));
    }
    let open = |i: usize| {
        let path = match sources.len() {
            1 => "traffic".to_owned(),
            _ => format!("traffic.{i}"),
        };
        Section::open(origin, &path, SECTION.keys, Some(&sources[i]), Some(site.mtu))
    };
    let source = |i: usize| {
        let section = open(i)?.on(site.topology);
        let mut traffic = Traffic::from_values(&mut section.values()?);
        traffic.complete(site).map_err(|unfit| section.unfit(unfit))?;
        section.close(&format!("kind = \"{}\"", traffic.word()))?;
        Ok(traffic)
    };
    let mut found = (0..sources.len()).map(source).collect::<Result<Vec<_>, _>>()?;
    if found.iter().all(|source| source.never_ends()) {
        let why = "has probes alone, which never end; write stop = \"1s\", or until in [run]";
        return Err(origin.mistake(at, "traffic", why));
    }
    offered::check(site.topology, &mut found, open)?;
    Ok(found)
}
