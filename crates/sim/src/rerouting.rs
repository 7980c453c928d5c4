//! Tables of all switches after links have failed, come back or been drained.

use crate::ids::LinkId;
use crate::topology::{Graph, Route};
use std::collections::BTreeSet;
use std::sync::Arc;
use switchbed_scenario::topology::tables::Tables;

/// Why tables lead round a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The link is down.
    Down,
    /// The link is drained.
    Drained,
}

/// Links that tables lead round.
#[derive(Debug, Default)]
pub(crate) struct Rerouting {
    /// Directions, each with the reason.
    round: BTreeSet<(LinkId, Why)>,
}

impl Rerouting {
    /// Makes all switches' tables lead round a link, or no longer for this reason. Paths are those
    /// of the fewest links that are left.
    pub(crate) fn change(
        &mut self,
        graph: &Graph,
        links: [LinkId; 2],
        (why, round): (Why, bool),
    ) -> Arc<dyn Route> {
        for link in links {
            match round {
                true => self.round.insert((link, why)),
                false => self.round.remove(&(link, why)),
            };
        }
        let used = |link: LinkId| {
            [Why::Down, Why::Drained].iter().all(|&why| !self.round.contains(&(link, why)))
        };
        // Nothing out: the topology's own tables, which may be closed formulas, cheaper than sets
        // of ports.
        if self.round.is_empty() {
            return graph.route.clone();
        }
        let usable = |switch, port| used(graph.link(switch, port));
        Arc::new(Tables::over(&graph.hosts, &graph.switches, usable))
    }
}
