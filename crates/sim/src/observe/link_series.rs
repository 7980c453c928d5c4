//! How busy links were, interval by interval.

use super::monitors::{Ahead, Monitor};
use super::observer::{Asked, Observed, Observer, Site, Space, View};
use crate::ids::LinkId;
use crate::ports::{self, PortInfo};
use crate::table::{Names, Table, Values};
use std::collections::BTreeSet;
use switchbed_scenario::measure::LinkSeries;
use switchbed_units::{Rate, Span, Time};

impl Monitor for LinkSeries {
    const TABLES: &'static [&'static str] = &["link_series"];

    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let links = self.ports.as_ref().map_or(run.links, |ports| ports.len() as f64);
        Some(("rows of link_series", links * run.lasts_s / self.every.as_secs_f64(), 90))
    }

    fn observe(&self, site: &mut Site) -> Asked {
        let links = match &self.ports {
            Some(names) => site.links(names)?,
            None => (0..site.ports.len()).map(LinkId::at).collect(),
        };
        Ok(Some(Box::new(Links {
            every: self.every,
            next: Time::ZERO + self.every,
            since: Time::ZERO,
            before: vec![Span::ZERO; links.len()],
            down: BTreeSet::new(),
            links,
            rows: Vec::new(),
            space: Space::new(site.scenario.measure.samples),
        })))
    }
}

/// A link's use in an interval.
struct Row {
    /// End of the interval.
    at: Time,
    link: LinkId,
    /// Rate of the link at the end; zero while it is down.
    rate: Rate,
    /// Part of the interval in which it was sending.
    used: f64,
}

/// The links that are looked at.
struct Links {
    every: Span,
    next: Time,
    /// Beginning of the interval.
    since: Time,
    links: Vec<LinkId>,
    /// How long each had been sending when the interval began.
    before: Vec<Span>,
    down: BTreeSet<LinkId>,
    rows: Vec<Row>,
    space: Space,
}

impl Links {
    /// Ends an interval.
    fn note(&mut self, now: Time, network: &dyn Observed) -> u64 {
        let lasts = now.since(self.since).as_ps() as f64;
        let rows = self.links.len() as u64;
        if lasts == 0.0 || !self.space.take(rows, now) {
            return 0;
        }
        for (&link, before) in self.links.iter().zip(&mut self.before) {
            let state = network.port(link).state();
            let busy = state.busy(now);
            let used = (busy.as_ps() - before.as_ps()) as f64 / lasts;
            let rate = if self.down.contains(&link) { Rate::from_bps(0) } else { state.rate() };
            *before = busy;
            self.rows.push(Row { at: now, link, rate, used });
        }
        self.since = now;
        rows
    }
}

impl Observer for Links {
    fn next(&self) -> Time {
        self.next
    }

    fn look(&mut self, view: &mut View) -> u64 {
        let rows = self.note(view.now, view.network);
        self.next = if rows > 0 { view.now + self.every } else { Time::NEVER };
        rows
    }

    fn rate_changes(&mut self, link: LinkId, rate: Rate, _: &mut View) {
        match rate.as_bps() {
            0 => self.down.insert(link),
            _ => self.down.remove(&link),
        };
    }

    fn tables(&mut self, view: &mut View, ports: &[PortInfo]) -> Vec<Table> {
        // The last interval may be shorter than the others.
        if self.space.full_at().is_none() {
            self.note(view.now, view.network);
        }
        let tiers = ports::tiers(view.graph, ports);
        let (mut names, mut between) = (Names::default(), Names::default());
        for row in &self.rows {
            names.push(&ports[row.link.index()].name);
            between.push(&tiers[row.link.index()]);
        }
        let f64s = |of: &dyn Fn(&Row) -> f64| Values::F64(self.rows.iter().map(of).collect());
        vec![Table::new([
            ("time_s", "s", "the interval's end", f64s(&|row| row.at.as_secs_f64())),
            ("port", "", "switch and port number, or host", Values::Names(names)),
            (
                "tiers",
                "",
                "tiers of the nodes at its line's ends, such as leaf-spine; a host's is host",
                Values::Names(between),
            ),
            (
                "rate_bps",
                "bit/s",
                "line rate at the interval's end; 0 while the line is down",
                f64s(&|row| row.rate.as_bps() as f64),
            ),
            (
                "utilisation",
                "",
                "share of the interval in which it was sending, pause frames included",
                f64s(&|row| row.used),
            ),
        ])]
    }

    fn full(&self, _: &dyn Observed) -> Option<(&'static str, Time)> {
        Some(("link_series", self.space.full_at()?))
    }
}
