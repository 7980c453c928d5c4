//! Links that are offered more than they carry.

use crate::traffic::{Entry, LinkLoad, Links, Site};
use switchbed_config::mistake::Mistake;
use switchbed_config::section::Section;
use switchbed_units::ids::LinkId;

/// Rounding apart, a link is not offered more than it carries.
const FULL: f64 = 1.0 + 1e-9;

/// Refuses a link's load over 1 that no source across it means; without any, nothing is left to mean.
pub(crate) fn check<'a>(
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
