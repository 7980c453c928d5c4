//! Tables of all switches after links have failed, come back, been drained or got another rate.

use crate::ids::LinkId;
use crate::topology::{Graph, Route};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use switchbed_scenario::topology::tables::Tables;
use switchbed_scenario::topology::weighted::Weighted;
use switchbed_units::Rate;

/// Why tables lead round a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The link is down.
    Down,
    /// The link is drained.
    Drained,
}

/// Links that tables lead round, and rates that weights go by.
#[derive(Debug)]
pub(crate) struct Rerouting {
    /// Directions, each with the reason.
    round: BTreeSet<(LinkId, Why)>,
    /// Whether ports have weights.
    weighs: bool,
    /// Rates that differ from those at first.
    rates: BTreeMap<LinkId, Rate>,
}

impl Rerouting {
    /// All links are used.
    pub(crate) fn new(weighs: bool) -> Rerouting {
        Rerouting { round: BTreeSet::new(), weighs, rates: BTreeMap::new() }
    }

    /// Makes all switches' tables lead round a link, or no longer for this reason.
    pub(crate) fn round(&mut self, links: [LinkId; 2], (why, round): (Why, bool)) {
        for link in links {
            match round {
                true => self.round.insert((link, why)),
                false => self.round.remove(&(link, why)),
            };
        }
    }

    /// Makes weights go by another rate of a link.
    pub(crate) fn weigh(&mut self, links: [LinkId; 2], rate: Rate) {
        self.rates.extend(links.map(|link| (link, rate)));
    }

    /// The tables: paths are those of the fewest links that are left.
    pub(crate) fn tables(&self, graph: &Graph) -> Arc<dyn Route> {
        let used = |link: LinkId| {
            [Why::Down, Why::Drained].iter().all(|&why| !self.round.contains(&(link, why)))
        };
        // Nothing out: the topology's own tables, which may be closed formulas, cheaper than sets
        // of ports.
        let sets: Arc<dyn Route> = match self.round.is_empty() {
            true => graph.route.clone(),
            false => {
                let usable = |switch, port| used(graph.link(switch, port));
                Arc::new(Tables::over(&graph.access, &graph.switches, usable))
            }
        };
        if !self.weighs || self.round.is_empty() && self.rates.is_empty() {
            return sets;
        }
        Arc::new(Weighted::over(graph, sets, &|link| self.rates.get(&link).copied()))
    }
}
