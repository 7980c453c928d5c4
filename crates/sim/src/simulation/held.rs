//! Results of flow control in a run: pauses, the flows that they held, groups' memory, deadlocks.

use super::Simulation;
use crate::deadlock::{Deadlock, Deadlocks};
use crate::flow::FlowRecord;
use crate::ids::LinkId;
use crate::observe::observer::Observed;
use crate::pauses::{self, Pause, Waited};
use crate::table::Table;
use switchbed_qdisc::hooks::GroupUse;
use switchbed_units::Span;

impl Simulation {
    /// Returns the table of pauses by port and lossless class; none without flow control.
    pub fn pauses(&self) -> Option<Table> {
        let frames = |link: usize| {
            let now = self.network.port(LinkId::at(link)).state().pause_frames(self.now);
            let before = &self.before[link].frames;
            (now.sent - before.sent, now.heard - before.heard)
        };
        let paused = self.held().iter().map(|of| of.1.as_secs_f64()).collect();
        Some(pauses::table(&self.ports, &self.network.pfc()?.priorities, paused, &frames))
    }

    /// All pauses by now and the flows, of these, that they held, where flows keep their paths; `None` without flow
    /// control.
    pub fn paused(&self, flows: &[FlowRecord]) -> Option<(Vec<Pause>, Option<Vec<Waited>>)> {
        self.pauses_of(flows.iter().copied())
    }

    /// The same of flows one by one.
    pub(crate) fn pauses_of(
        &self,
        flows: impl Iterator<Item = FlowRecord>,
    ) -> Option<(Vec<Pause>, Option<Vec<Waited>>)> {
        let graph = &self.paths.graph;
        let pauses =
            pauses::pauses(&self.network, graph, &self.ports, self.network.pfc()?, self.now);
        let times = (self.warmed_at, self.now);
        // A sender that sprays has no fixed path.
        let protocols = &self.paths.protocols;
        let one_path = |flow: &FlowRecord| {
            !protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)).sprays()
        };
        let flows = flows.filter(one_path);
        let waited = self.paths_known.then(|| pauses::waited(&pauses, graph, flows, times));
        Some((pauses, waited))
    }

    /// Time that each port and lossless class was held from the warm-up's end until now, and the
    /// number of its storms.
    pub fn held(&self) -> Vec<(LinkId, Span, u64)> {
        let classes = self.network.pfc().map_or(&[][..], |pfc| &pfc.priorities);
        let of = |link: LinkId| {
            let state = self.network.port(link).state();
            let before = &self.before[link.index()].held;
            let of = move |(nth, &class): (usize, &u8)| {
                let (held, storms) = before.get(nth).copied().unwrap_or_default();
                let paused = state.paused(class, self.now).as_ps() - held.as_ps();
                (link, Span::from_ps(paused), state.storms(class, self.now).count - storms)
            };
            classes.iter().enumerate().map(of)
        };
        self.network.links().flat_map(of).collect()
    }

    /// Uses of the switches' memories by their lossless groups since the warm-up, by port.
    pub fn groups(&self) -> Vec<(LinkId, GroupUse)> {
        pauses::groups(&self.network, &self.paths.graph, &self.ports)
    }

    /// Begins the counts of all lossless groups again.
    pub fn restart_groups(&mut self) {
        self.network.restart_groups();
    }

    /// The tables of pauses and of what they held.
    pub fn pause_tables(
        &self,
        (pauses, waited): &(Vec<Pause>, Option<Vec<Waited>>),
    ) -> impl Iterator<Item = (&'static str, Table)> + use<> {
        let watched = self.network.pfc().filter(|pfc| pfc.guard().is_some());
        let storms = watched.map(|pfc| pauses::storms(&self.network, &self.ports, pfc, self.now));
        let deadlocks = self.deadlocks.as_ref().filter(|of| !of.found().is_empty());
        let deadlocks = deadlocks.map(|of| of.table(&self.ports));
        let tables = [
            Some(("groups", pauses::groups_table(&self.groups(), &self.ports))),
            Some(("pause_tree", pauses::tree(pauses, &self.ports))),
            waited.as_ref().map(|waited| ("paused_flows", pauses::flows(waited))),
            storms.map(|table| ("storms", table)),
            deadlocks.map(|table| ("deadlocks", table)),
        ];
        tables.into_iter().flatten()
    }

    /// Circles of paused queues that waited for each other.
    pub fn deadlocks(&self) -> &[Deadlock] {
        self.deadlocks.as_ref().map_or(&[], Deadlocks::found)
    }
}
