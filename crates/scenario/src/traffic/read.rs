//! The entries of a file's traffic, and what does not go together in them.

use super::{Entry, SECTION, Site, Traffic, overload};
use crate::protocol::Under;
use crate::transport::Transport;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::Params;
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Node, Table};

/// Every source of the file.
pub(crate) fn resolve(
    origin: &Origin,
    root: &Table,
    site: &Site<'_>,
    transports: &Under,
) -> Result<Vec<Entry>, Mistake> {
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
        let entry = sources[i].as_table();
        let probes = entry.and_then(|entry| entry.get(Traffic::KEY)?.as_text()) == Some("probe");
        let own = entry.and_then(|entry| entry.get(Entry::KEY.transport)).filter(|_| probes);
        if let Some(node) = own {
            let why = "does not apply to kind = \"probe\", whose packets have no transport";
            return Err(origin.mistake(
                node.at,
                &format!("{path}.{}", Entry::KEY.transport),
                why.to_owned(),
            ));
        }
        let keys = if probes { Traffic::TABLE } else { SECTION.keys };
        Section::open(origin, &path, keys, Some(&sources[i]), Some(site.mtu))
    };
    let source = |i: usize| {
        let section = open(i)?.on(site.graph).on(transports);
        let mut entry = Entry::from_values(&mut section.values()?);
        entry.complete(site).map_err(|unfit| section.unfit(unfit))?;
        section.close(&format!("kind = \"{}\"", entry.word()))?;
        check(&section, &entry)?;
        Ok(entry)
    };
    let mut found = (0..sources.len()).map(source).collect::<Result<Vec<_>, _>>()?;
    if found.iter().all(|source| source.never_ends()) {
        let why = "has probes alone, which never end; write stop = \"1s\", or until in [run]";
        return Err(origin.mistake(at, "traffic", why));
    }
    for (i, entry) in found.iter().enumerate() {
        let Some(before) = entry.after().map(|before| before as usize) else { continue };
        if before >= i || !found[before].waits() {
            let why = format!(
                "traffic.{before} is no collective or schedule above this entry; entries are numbered from 0"
            );
            let section = open(i)?;
            let at = section.given("after").map_or(section.at, |node| node.at);
            return Err(origin.mistake(at, &section.key("after"), why));
        }
    }
    overload::check(site, &mut found, open)?;
    Ok(found)
}

/// Whether an entry's transport goes with its source.
fn check(section: &Section<'_>, entry: &Entry) -> Result<(), Mistake> {
    let (key, warm) = (Entry::KEY.transport, Transport::KEY.warm);
    let Some(protocol) = &entry.transport else { return Ok(()) };
    if entry.asks() && !protocol.is_reliable() {
        let why = format!("\"{}\" brings no answers, which this kind asks for", protocol.kind());
        let at = section.given(key).map_or(section.at, |node| node.at);
        return Err(section.origin.mistake(at, &section.key(key), why));
    }
    let written = section.given(key).and_then(|node| node.as_table()?.get(warm));
    if let Some(node) = written
        && !entry.persists()
    {
        let why = "warms persistent connections: write connections = \"persistent\"".to_owned();
        return Err(section.origin.mistake(node.at, &section.key(&format!("{key}.{warm}")), why));
    }
    Ok(())
}
