//! Each class's goodput over time.

use super::fair::FairShares;
use super::observer::{Asked, Observed, Observer, Site, Space, View};
use crate::ids::LinkId;
use crate::topology::Hop;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use switchbed_qdisc::schemes::fairness::Share;
use switchbed_scenario::traffic::{ConnectionUse, FlowStart};
use switchbed_units::{Rate, Span, Time};

/// Payload that the receivers of every class took in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct GoodputSample {
    /// End of the interval.
    pub at: Time,
    /// Up to the last class that anything was taken in or due to so far: its payload in bytes,
    /// taken in order, and the bits that it would have had in max-min fair shares
    /// ([`super::fair`]).
    classes: Box<[(u64, f64)]>,
}

impl GoodputSample {
    /// Payload of a class in bytes, taken in order.
    pub fn taken(&self, class: usize) -> u64 {
        self.classes.get(class).map_or(0, |class| class.0)
    }
    /// Payload in bits that a class would have had in max-min fair shares.
    pub fn fair_bits(&self, class: usize) -> f64 {
        self.classes.get(class).map_or(0.0, |class| class.1)
    }
}

pub(crate) struct Goodputs {
    every: Span,
    /// When the interval under way ends.
    next: Time,
    /// Bytes that each class had taken when the interval under way began.
    before: Box<[u64; 256]>,
    fair: FairShares,
    /// Starts and stops of flows that fair shares are to hear of.
    claims: BinaryHeap<Reverse<Claim>>,
    /// Bytes of each class's fair share when the interval under way began.
    fair_before: Box<[f64; 256]>,
    samples: Vec<GoodputSample>,
    space: Space,
}

pub(super) fn asked(site: &mut Site) -> Asked {
    let measure = &site.scenario.measure;
    let Some(every) = measure.goodput_every else { return Ok(None) };
    Ok(Some(Box::new(Goodputs {
        every,
        next: Time::ZERO + every,
        before: Box::new([0; 256]),
        fair: FairShares::of(site.scenario, site.graph, site.ports),
        claims: BinaryHeap::new(),
        fair_before: Box::new([0.0; 256]),
        samples: Vec::new(),
        space: Space::new(measure.samples),
    })))
}

impl Goodputs {
    pub(crate) fn samples(&self) -> &[GoodputSample] {
        &self.samples
    }

    /// Tells fair shares of the flows without end that began or stopped by now.
    fn claim(&mut self, view: &View) {
        // Connections that flows share are the hosts' choice, and their paths with them.
        let mut hops: Option<HashMap<u64, Hop>> = None;
        let all =
            || view.network.underway().into_iter().map(|flow| (flow.number, flow.hop)).collect();
        while self.claims.peek().is_some_and(|Reverse(claim)| claim.0 <= view.now) {
            let Some(Reverse(Claim(at, number, flow))) = self.claims.pop() else { return };
            match flow {
                Some(flow) => {
                    let fresh = [ConnectionUse::Fresh, ConnectionUse::FreshNoHandshake];
                    let known = match fresh.contains(&flow.connection) {
                        true => None,
                        false => hops.get_or_insert_with(all).get(&number).copied(),
                    };
                    self.fair.start(&flow, known, view.graph);
                }
                None => self.fair.remove(number, at),
            }
        }
    }

    /// An interval ends; `after` is what each class's receivers have taken so far.
    fn sample(&mut self, after: Box<[u64; 256]>, now: Time) {
        let fair_after = self.fair.bits(now);
        let seen = |class: &usize| after[*class] > 0 || fair_after[*class] > 0.0;
        let classes = (0..256).rfind(seen).map_or(0, |last| last + 1);
        self.next = now + self.every;
        // An interval in which nothing came takes a row too, or an idle run would fill the memory.
        if !self.space.take(classes.max(1) as u64, now) {
            self.next = Time::NEVER;
            return;
        }
        let of = |class| {
            let fair = fair_after[class] - self.fair_before[class];
            (after[class] - self.before[class], fair)
        };
        self.samples.push(GoodputSample { at: now, classes: (0..classes).map(of).collect() });
        (self.before, self.fair_before) = (after, fair_after);
    }
}

impl Observer for Goodputs {
    fn next(&self) -> Time {
        self.next
    }

    fn look(&mut self, view: &mut View) -> u64 {
        self.claim(view);
        self.sample(view.network.taken(), view.now);
        10 + view.graph.hosts() as u64
    }

    fn flow_starts(&mut self, flow: &FlowStart, _: &mut View) {
        if flow.size.is_none() {
            self.claims.push(Reverse(Claim(flow.start, flow.row, Some(*flow))));
            let stop = flow.stop.map(|stop| Reverse(Claim(stop, flow.row, None)));
            self.claims.extend(stop);
        }
    }

    fn rate_changes(&mut self, link: LinkId, rate: Rate, view: &mut View) {
        self.claim(view);
        self.fair.set_rate(link, rate, view.now);
    }

    fn share_changes(&mut self, class: u8, share: Share, view: &mut View) {
        self.claim(view);
        self.fair.set_share(class, share, view.now);
    }

    fn full(&self, _: &dyn Observed) -> Option<(&'static str, Time)> {
        Some(("goodput", self.space.full_at()?))
    }
}

/// A flow without end begins or stops: when, its number, and what begins.
#[derive(Debug)]
struct Claim(Time, u64, Option<FlowStart>);

impl Claim {
    fn key(&self) -> (Time, bool, u64) {
        // At one instant beginnings come first: a flow may stop as it starts.
        (self.0, self.2.is_none(), self.1)
    }
}
impl PartialEq for Claim {
    fn eq(&self, other: &Claim) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Claim {}
impl PartialOrd for Claim {
    fn partial_cmp(&self, other: &Claim) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Claim {
    fn cmp(&self, other: &Claim) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
