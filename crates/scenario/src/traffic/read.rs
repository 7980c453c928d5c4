//! The entries of a file's traffic, and what does not go together in them: links that are offered more than they
//! carry, too.

use super::{Entry, LinkLoad, Links, SECTION, Site, Traffic};
use crate::protocol::Under;
use crate::transport::Transport;
use switchbed_config::mistake::{Mistake, Origin};
use switchbed_config::param::Params;
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Node, Table};
use switchbed_units::ids::LinkId;

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
    check_overload(site, &mut found, open)?;
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

/// Rounding apart, a link is not offered more than it carries.
const FULL: f64 = 1.0 + 1e-9;

/// Refuses a link's load over 1 that no source across it means; without any, nothing is left to mean.
fn check_overload<'a>(
    site: &Site<'_>,
    traffic: &mut [Entry],
    section: impl Fn(usize) -> Result<Section<'a>, Mistake>,
) -> Result<(), Mistake> {
    let Some(links) = Links::new(site.graph, site.topology.host_rates()) else { return Ok(()) };
    let loads = links.loads(traffic.iter().map(|entry| &entry.source));
    let meant: Vec<bool> = traffic
        .iter_mut()
        .map(|source| source.offers().is_some_and(|(_, overload)| *overload == Some(true)))
        .collect();
    let over = |load: f64| load > FULL;
    if !loads.iter().any(|&load| over(load)) {
        let sources = traffic.iter_mut().filter_map(|source| source.offers());
        sources.for_each(|(_, overload)| *overload = None);
        return Ok(());
    }
    // Links with some meant overload pass, whatever else crosses them.
    let means =
        links.loads(traffic.iter().zip(&meant).filter(|(_, m)| **m).map(|(t, _)| &t.source));
    let worst = (0..loads.len())
        .filter(|&link| over(loads[link]) && means[link] == 0.0)
        // Of equals the first: `max_by` takes the last, hence the reversed tie.
        .max_by(|&a, &b| loads[a].total_cmp(&loads[b]).then(b.cmp(&a)));
    let Some(worst) = worst else { return Ok(()) };
    let share = |source: &Entry| links.loads([&source.source])[worst];
    let shares: Vec<f64> = traffic.iter().map(share).collect();
    let most = (0..shares.len())
        // Of equals the first, as above.
        .max_by(|&a, &b| shares[a].total_cmp(&shares[b]).then(b.cmp(&a)))
        .unwrap_or(0);
    let LinkLoad { port, load, .. } = links.named(LinkId::at(worst), loads[worst]);
    let together = match shares.iter().filter(|&&share| share > 0.0).count() {
        1 => String::new(),
        2 => " with 1 other entry".to_owned(),
        n => format!(" with {} other entries", n - 1),
    };
    let key = traffic[most].offers().map_or("kind", |(key, _)| key);
    let why = format!(
        "it offers {port}'s link{together} {load:.4} times what it carries, which never drains; \
         offer less, or write overload = true to mean it"
    );
    Err(section(most)?.refuse(key, why))
}
