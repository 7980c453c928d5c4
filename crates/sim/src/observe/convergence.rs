//! Convergence of the flows over a port to their fair share: an equal part of what they all
//! receive. Rates are means over windows of one length, counted from time 0; a flow counts in
//! the windows that it was under way through, and has a share to converge to in those that
//! another flow was under way through as well.

use super::monitors::{Ahead, Monitor};
use super::observer::{Asked, Observed, Observer, Site, Space, View};
use crate::ids::{HostId, LinkId};
use crate::ports::PortInfo;
use crate::table::{Table, Values};
use crate::topology::{Graph, Hop, Ways};
use std::collections::BTreeMap;
use switchbed_scenario::measure::Convergence;
use switchbed_units::{Span, Time};

impl Monitor for Convergence {
    const TABLES: &'static [&'static str] = &["convergence", "rates"];

    /// A flow's rate in a window and its row.
    fn rows(&self, run: &Ahead) -> Option<(&'static str, f64, u64)> {
        let windows = run.lasts_s / self.window.as_secs_f64();
        Some(("rows of rates", windows * run.open, 54))
    }
    fn observe(&self, site: &mut Site) -> Asked {
        let space = Space::new(site.scenario.measure.samples);
        Ok(Some(Box::new(Following::new(site.link(&self.port)?, self, space))))
    }
}

/// Flow that is under way as a window ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Underway {
    /// Number among all flows of the run, which is also that of its record.
    pub(crate) number: u64,
    pub(crate) row: u64,
    pub(crate) src: HostId,
    /// The way of its data.
    pub(crate) hop: Hop,
    pub(crate) start: Time,
    /// Bytes that the receiver has taken in order.
    pub(crate) received: u64,
}

/// A flow's rate in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RateSample {
    at: Time,
    /// Row in the table `flows`.
    row: u64,
    /// Payload received in order, in bits per second.
    rate_bps: f64,
    /// The mean of all flows over the port.
    fair_bps: f64,
}

/// How soon a flow had its fair share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Converged {
    /// Row in the table `flows`.
    row: u64,
    start: Time,
    /// From its start to the end of the first of the windows in a row; `None`: never.
    after: Option<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Track {
    converged: Converged,
    /// Whether its data crosses the port.
    crosses: bool,
    received: u64,
    /// Windows in a row with its fair share, and the end of the first.
    streak: u64,
    since: Time,
}

/// Follows the flows over a port.
#[derive(Clone, Debug)]
struct Following {
    link: LinkId,
    window: Span,
    within: f64,
    windows: u64,
    next: Time,
    /// Flows under way at the last look, by start and number.
    flows: BTreeMap<(Time, u64), Track>,
    ended: Vec<Converged>,
    samples: Vec<RateSample>,
    space: Space,
}

impl Observer for Following {
    fn next(&self) -> Time {
        self.next
    }

    fn look(&mut self, view: &mut View) -> u64 {
        let underway = view.network.underway();
        let work = view.graph.hosts() as u64 + underway.len() as u64;
        self.count(underway.into_iter(), view.graph);
        work
    }

    fn tables(&mut self, _: &mut View, _: &[PortInfo]) -> Vec<Table> {
        let (rates, flows) = self.take();
        let after = |flow: &Converged| flow.after.map_or(f64::NAN, |after| after.as_secs_f64());
        let convergence = Table::new([
            (
                "row",
                "",
                "the flow's row in the table flows",
                Values::U64(flows.iter().map(|flow| flow.row).collect()),
            ),
            (
                "start_s",
                "s",
                "when it started",
                Values::F64(flows.iter().map(|flow| flow.start.as_secs_f64()).collect()),
            ),
            (
                "converged_after_s",
                "s",
                "from then until the end of the first window of those in a row with its fair share; \
                 null: never",
                Values::F64(flows.iter().map(after).collect()),
            ),
        ]);
        let f64s = |f: &dyn Fn(&RateSample) -> f64| Values::F64(rates.iter().map(f).collect());
        let rates = Table::new([
            ("time_s", "s", "end of the window", f64s(&|rate| rate.at.as_secs_f64())),
            (
                "row",
                "",
                "the flow's row in the table flows",
                Values::U64(rates.iter().map(|rate| rate.row).collect()),
            ),
            ("rate_bps", "bit/s", "payload received in order", f64s(&|rate| rate.rate_bps)),
            (
                "fair_bps",
                "bit/s",
                "the mean of the flows that were under way through the window",
                f64s(&|rate| rate.fair_bps),
            ),
        ]);
        vec![convergence, rates]
    }

    fn full(&self, _: &dyn Observed) -> Option<(&'static str, Time)> {
        Some(("rates", self.space.full_at()?))
    }
}

impl Following {
    fn new(link: LinkId, asked: &Convergence, space: Space) -> Self {
        let Convergence { window, within, windows, .. } = *asked;
        Following {
            link,
            window,
            within,
            windows,
            next: Time::ZERO + window,
            flows: BTreeMap::new(),
            ended: Vec::new(),
            samples: Vec::new(),
            space,
        }
    }

    /// Whether all packets of a flow with these ways take the link.
    fn is_crossed(&self, ways: Ways) -> bool {
        // Of a sprayed flow only a part of the packets takes the link.
        ways.shares().is_some_and(|shares| shares.contains(&(self.link, 1.0)))
    }

    /// Counts a window that ends now.
    fn count(&mut self, underway: impl Iterator<Item = Underway>, graph: &Graph) {
        let now = self.next;
        self.next = now + self.window;
        let mut flows = BTreeMap::new();
        let mut rates = Vec::new();
        for flow in underway {
            let key = (flow.start, flow.number);
            let track = match self.flows.remove(&key) {
                Some(mut track) => {
                    if track.crosses {
                        // From its second window on: the first one may have begun in its midst.
                        let bits = 8 * (flow.received - track.received);
                        rates.push((key, bits as f64 / self.window.as_secs_f64()));
                    }
                    track.received = flow.received;
                    track
                }
                None => Track {
                    converged: Converged { row: flow.row, start: flow.start, after: None },
                    crosses: self.is_crossed(graph.ways(flow.src, flow.hop)),
                    received: flow.received,
                    streak: 0,
                    since: Time::ZERO,
                },
            };
            flows.insert(key, track);
        }
        // A sum of floating-point numbers depends on its order, which must not depend on shards.
        rates.sort_by_key(|&(key, _)| key);
        // None makes it not a number, which nothing is compared with.
        let fair_bps = rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
        for (key, rate_bps) in &rates {
            let Some(track) = flows.get_mut(key) else { continue };
            let row = track.converged.row;
            if self.space.take(1, now) {
                self.samples.push(RateSample { at: now, row, rate_bps: *rate_bps, fair_bps });
            }
            // A flow alone is at its fair share without a merit.
            if rates.len() < 2 || (rate_bps - fair_bps).abs() > self.within * fair_bps {
                track.streak = 0;
                continue;
            }
            if track.streak == 0 {
                // The end of the first of these windows.
                track.since = now;
            }
            track.streak += 1;
            if track.streak == self.windows && track.converged.after.is_none() {
                track.converged.after = Some(track.since.since(track.converged.start));
            }
        }
        // Flows not seen again have ended.
        let ended = std::mem::replace(&mut self.flows, flows);
        self.ended
            .extend(ended.values().filter(|track| track.crosses).map(|track| track.converged));
    }

    /// Every window's rates, and every flow that was under way at the end of a window, in the
    /// order of their starts.
    fn take(&mut self) -> (Vec<RateSample>, Vec<Converged>) {
        let left = std::mem::take(&mut self.flows);
        let mut flows = std::mem::take(&mut self.ended);
        flows.extend(left.values().filter(|track| track.crosses).map(|track| track.converged));
        flows.sort_by_key(|flow| (flow.start, flow.row));
        (std::mem::take(&mut self.samples), flows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_scenario::{Star, Topology};
    use switchbed_units::Rate;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A flow to host 2 of a star of four, whose port is link 4 + 2; or to host 3.
    fn flow(row: u64, start_us: u64, received: u64, dst: u32) -> Underway {
        let hop = Hop { dst: HostId(dst), key: 0 };
        Underway { number: row, row, src: HostId(0), hop, start: us(start_us), received }
    }

    #[test]
    fn a_flow_converges_with_the_first_of_its_windows_in_a_row() {
        let topology =
            Topology::Star(Star { hosts: 4, rate: Rate::from_gbps(1), delay: Span::from_us(1) });
        let graph = Graph::new(&topology, Span::ZERO);
        // Windows of 100 us, within 10 % twice in a row.
        let asked = Convergence {
            port: "switch:2".into(),
            window: Span::from_us(100),
            within: 0.1,
            windows: 2,
        };
        let mut monitor = Following::new(LinkId(6), &asked, Space::new(100));
        // Flow 0 alone, then flow 1 joins at 150 us and has half from the fourth window on,
        // but for the fifth. Flow 2 goes elsewhere. Flow 3 comes and goes.
        let looks: [&[Underway]; 8] = [
            &[flow(0, 0, 1_000, 2), flow(2, 0, 70_000, 3)],
            &[flow(0, 0, 11_000, 2), flow(2, 0, 90_000, 3), flow(1, 150, 100, 2)],
            &[flow(0, 0, 19_000, 2), flow(1, 150, 2_100, 2), flow(3, 240, 0, 2)],
            // 5500 and 4500 of 10,000: 10 % off.
            &[flow(0, 0, 24_500, 2), flow(1, 150, 6_600, 2)],
            &[flow(0, 0, 30_500, 2), flow(1, 150, 10_600, 2)],
            &[flow(0, 0, 35_500, 2), flow(1, 150, 15_600, 2)],
            &[flow(0, 0, 40_500, 2), flow(1, 150, 20_600, 2)],
            &[flow(1, 150, 30_600, 2)],
        ];
        for look in looks {
            assert_eq!(monitor.next().as_ps() % 100_000_000, 0);
            monitor.count(look.iter().copied(), &graph);
        }
        let (samples, flows) = monitor.take();
        let after = |row, start, after| Converged { row, start: us(start), after };
        let span = Span::from_us;
        assert_eq!(
            flows,
            // The sixth window, 500 to 600 us, is the first of two.
            [after(0, 0, Some(span(600))), after(1, 150, Some(span(450))), after(3, 240, None)]
        );
        let sample = |at, row, rate_bps: f64, fair_bps: f64| (us(at), row, rate_bps, fair_bps);
        let found: Vec<_> =
            samples.iter().map(|s| (s.at, s.row, s.rate_bps.round(), s.fair_bps.round())).collect();
        assert_eq!(
            found[..5],
            [
                // 10,000 B in 100 us.
                sample(200, 0, 800e6, 800e6),
                sample(300, 0, 640e6, 400e6),
                sample(300, 1, 160e6, 400e6),
                sample(400, 0, 440e6, 400e6),
                sample(400, 1, 360e6, 400e6),
            ]
        );
        assert_eq!(found.last(), Some(&sample(800, 1, 800e6, 800e6)));
    }
}
