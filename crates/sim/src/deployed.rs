//! Which scheme and how much memory each switch has.

use crate::topology::{Cable, Graph, Node};
use switchbed_scenario::{Scenario, SchemeChoice, Switch};

/// Settings of each switch: the scenario's own, or those of a `[[deploy]]` entry.
pub(crate) struct Deployed<'a> {
    /// The scenario's, then each entry's.
    kinds: Vec<(Switch, &'a SchemeChoice)>,
    /// The place in `kinds` of each switch.
    kind: Vec<usize>,
}

impl<'a> Deployed<'a> {
    pub(crate) fn new(scenario: &'a Scenario, graph: &Graph) -> Self {
        let Scenario { switch, scheme, deploy, .. } = scenario;
        let differs =
            deploy.iter().map(|d| (d.switch(switch), d.scheme.as_ref().unwrap_or(scheme)));
        let kinds = [(switch.clone(), scheme)].into_iter().chain(differs).collect();
        let kind = |(name, _): &(String, Vec<Cable>)| {
            deploy.iter().position(|d| d.switches.contains(name)).map_or(0, |i| i + 1)
        };
        Deployed { kinds, kind: graph.switches.iter().map(kind).collect() }
    }

    /// Returns the settings that a node's ports are built from.
    pub(crate) fn at(&self, node: Node) -> (&Switch, &'a SchemeChoice) {
        let kind = match node {
            Node::Host(_) => 0,
            Node::Switch(switch) => self.kind[switch.index()],
        };
        let (switch, scheme) = &self.kinds[kind];
        (switch, scheme)
    }
}
