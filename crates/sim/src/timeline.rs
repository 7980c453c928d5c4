//! Changes during a run: rates of ports, losses and marks of lines, shares of classes (where a
//! scheme has any), and the tables of all switches after links have failed, come back, been drained or got
//! another rate.

use crate::ids::LinkId;
use crate::packet::losses::{Chance, Fate, Pattern};
use crate::topology::{Graph, Node, Route};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use switchbed_qdisc::schemes::fairness::{Share, Shares};
use switchbed_scenario::event::{Change, Event, Held, LinkChange};
use switchbed_scenario::topology::links;
use switchbed_scenario::topology::tables::Tables;
use switchbed_scenario::topology::weighted::Weighted;
use switchbed_scenario::{Delays, Scenario, SchemeChoice};
use switchbed_units::{Rate, Span, Time};

/// A change, with what it names found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// A link's rate.
    Rate(LinkId, Rate),
    /// Whether a link is up.
    Up(LinkId, bool),
    /// Both directions of a link carry nothing any more, or carry again.
    Carry([LinkId; 2], bool),
    /// The ports at a link's ends know that it is up, or down; whether what waits there is dropped then.
    End([LinkId; 2], bool, bool),
    /// All switches' tables lead round a link for a reason, or no longer.
    Round([LinkId; 2], Why, bool),
    /// All switches' weights are by a link's new rate.
    Weigh([LinkId; 2], Rate),
    /// A direction's propagation.
    Delay(LinkId, Span),
    /// A direction's losses at random.
    Errors(LinkId, Option<Chance>),
    /// The packets that a link loses or marks, by their numbers.
    Lose(LinkId, Pattern),
    /// A link's port pauses a class of its peer's, again and again until a time.
    Pause(LinkId, u8, Time),
    /// A class's share.
    Share(u8, Share),
}

/// The changes to come, and the rates that there were.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// The latest first.
    actions: Vec<(Time, Action)>,
    /// Every change of a rate so far; a link that is down has none.
    rates: Vec<(Time, LinkId, Rate)>,
}

impl Timeline {
    /// A scenario's events; `link` finds a port by its name.
    ///
    /// # Errors
    /// The name of a port that there is not.
    pub(crate) fn new(
        scenario: &Scenario,
        graph: &Graph,
        link: impl Fn(&str) -> Option<LinkId>,
    ) -> Result<Timeline, String> {
        let mut shares = initial_shares(scenario);
        let mut actions = Vec::new();
        let deployed = scenario.deploy.iter().filter_map(|entry| entry.scheme.as_ref());
        let has_shares = deployed.chain([&scenario.scheme]).any(has_shares);
        let delays = scenario.delays();
        for Event { at, change } in &scenario.event {
            let action = match change {
                Change::Rate { port, rate } => {
                    Action::Rate(link(port).ok_or_else(|| port.clone())?, *rate)
                }
                Change::Link { port, up } => {
                    Action::Up(link(port).ok_or_else(|| port.clone())?, *up)
                }
                Change::OfLink { link, what } => {
                    let both = links::find(graph, link).ok_or_else(|| link.clone())?;
                    let of_link = of_link(both, what, (graph, &delays, scenario.routing.weighs()));
                    let at = Time::ZERO + *at;
                    actions.extend(of_link.into_iter().map(|(after, action)| (at + after, action)));
                    continue;
                }
                Change::Lose { port, flow, lose } => Action::Lose(
                    link(port).ok_or_else(|| port.clone())?,
                    Pattern::new(*flow, lose, Fate::Lost),
                ),
                Change::Mark { port, flow, mark } => Action::Lose(
                    link(port).ok_or_else(|| port.clone())?,
                    Pattern::new(*flow, mark, Fate::Marked),
                ),
                Change::Storm { port, storm, lasts } => {
                    let link = link(port).ok_or_else(|| port.clone())?;
                    Action::Pause(link, *storm, Time::ZERO + *at + *lasts)
                }
                Change::Share { .. } if !has_shares => continue,
                &Change::Share { class, weight, max } => {
                    let before = shares.of(class);
                    // Keys left out keep what was set before; the events are in the order of time
                    // here.
                    let weight = weight.unwrap_or(before.weight);
                    let share = Share { weight, cap: max.or(before.cap) };
                    shares.set(class, share);
                    Action::Share(class, share)
                }
            };
            actions.push((Time::ZERO + *at, action));
        }
        drop_overtaken(&mut actions);
        // Actions that an event brings later are sorted in among others; actions of one time keep their order.
        actions.sort_by_key(|&(at, _)| at);
        // Reversed, as the next action is popped from the end.
        actions.reverse();
        Ok(Timeline { actions, rates: Vec::new() })
    }

    /// When the next change comes; [`Time::NEVER`] if none does.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.actions.last().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Whether a change is to come that may let packets pass: pause frames only hold them.
    pub(crate) fn changes(&self) -> bool {
        self.actions.iter().any(|(_, action)| !matches!(action, Action::Pause(..)))
    }

    /// The next change, if it is due.
    pub(crate) fn take(&mut self, now: Time) -> Option<Action> {
        if self.next() > now {
            return None;
        }
        self.actions.pop().map(|(_, action)| action)
    }

    /// A change more, after those of its time.
    pub(crate) fn put(&mut self, at: Time, action: Action) {
        // The list runs backwards: in front of its equals is after them in time.
        let later = self.actions.partition_point(|&(time, _)| time > at);
        self.actions.insert(later, (at, action));
    }

    /// A link has another rate from now on.
    pub(crate) fn note(&mut self, now: Time, link: LinkId, rate: Rate) {
        self.rates.push((now, link, rate));
    }

    /// How long a link, up at the start of the run, could send in a time.
    pub(crate) fn up(&self, link: LinkId, from: Time, until: Time) -> Span {
        let (mut span, mut since, mut up) = (Span::ZERO, from, true);
        let mut pass = |end: Time, after: bool| {
            if up {
                span += end.since(since);
            }
            (since, up) = (end.max(since), after);
        };
        for &(at, _, rate) in self.rates.iter().filter(|change| change.1 == link) {
            pass(at.clamp(from, until), rate.as_bps() > 0);
        }
        pass(until, true);
        span
    }
}

/// Drops what is learnt of an event after a later event of the same link is known: a link that came up at once is not
/// taken for down because its failure is noticed late. Actions are in the order of their events.
fn drop_overtaken(actions: &mut Vec<(Time, Action)>) {
    let mut known: BTreeMap<(u8, LinkId), Time> = BTreeMap::new();
    let mut is_news = |(at, action): &(Time, Action)| {
        let ([a, b], what) = match *action {
            Action::End(links, ..) => (links, 0),
            Action::Round(links, Why::Down, _) => (links, 1),
            Action::Round(links, Why::Drained, _) => (links, 2),
            Action::Weigh(links, _) => (links, 3),
            _ => return true,
        };
        // A link is the same by either end.
        let later = known.entry((what, a.min(b))).or_insert(Time::NEVER);
        let news = *at <= *later;
        *later = (*later).min(*at);
        news
    };
    actions.reverse();
    actions.retain(|action| is_news(action));
    actions.reverse();
}

/// Converts a link's change into actions, with the time after it of each.
fn of_link(
    both: [LinkId; 2],
    what: &LinkChange,
    (graph, delays, weighs): (&Graph, &Delays, bool),
) -> Vec<(Span, Action)> {
    let each = |action: &dyn Fn(LinkId) -> Action| {
        both.iter().map(|&link| (Span::ZERO, action(link))).collect()
    };
    match *what {
        LinkChange::Up { up, detect, converge, queue } => vec![
            (Span::ZERO, Action::Carry(both, up)),
            // Until the ends notice, ports go on sending into the dead link, and lose all of it.
            (detect, Action::End(both, up, queue == Some(Held::Drop))),
            // Routes lead around it only once routing has converged.
            (converge, Action::Round(both, Why::Down, !up)),
        ],
        LinkChange::Drain { drain, converge } => {
            vec![(converge, Action::Round(both, Why::Drained, drain))]
        }
        LinkChange::Rate { rate, converge } => {
            let mut actions: Vec<_> = each(&|link| Action::Rate(link, rate));
            let learnt = (converge.unwrap_or(Span::ZERO), Action::Weigh(both, rate));
            actions.extend(weighs.then_some(learnt));
            actions
        }
        LinkChange::Delay { delay } => {
            let cable = links::cable(graph, both[0]);
            let of_host = [cable.from, cable.to].iter().find_map(|end| match end {
                Node::Host(host) => Some(delays.of(*host)),
                Node::Switch(_) => None,
            });
            let delay = delay + of_host.unwrap_or(Span::ZERO);
            each(&|link| Action::Delay(link, delay))
        }
        LinkChange::Ber { ber } => {
            each(&|link| Action::Errors(link, (ber > 0.0).then(|| Chance::of_bits(ber))))
        }
        LinkChange::Loss { loss, burst } => each(&|link| {
            Action::Errors(link, (loss > 0.0).then(|| Chance::of_packets(loss, burst)))
        }),
    }
}

/// The shares of the classes when the run starts.
pub(crate) fn initial_shares(scenario: &Scenario) -> Shares {
    let shares = scenario.scheme.each().iter().find_map(|choice| choice.scheme.shares());
    shares.map_or(Shares::default(), |(_, shares)| shares)
}

/// Whether a scheme has weights and caps.
fn has_shares(choice: &SchemeChoice) -> bool {
    choice.each().iter().any(|choice| choice.scheme.shares().is_some())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_up_but_while_it_has_no_rate() {
        let at = |s: u64| Time::ZERO + Span::from_ms(1000 * s);
        let gbps = Rate::from_gbps;
        let rates = vec![
            (at(2), LinkId(7), gbps(1)),
            (at(3), LinkId(8), gbps(0)),
            (at(4), LinkId(7), gbps(0)),
            (at(5), LinkId(8), gbps(5)),
            // The line went down at 6, when a packet was on it until 8, and up again at 7.
            (at(8), LinkId(8), gbps(0)),
            (at(7), LinkId(8), gbps(5)),
        ];
        let timeline = Timeline { actions: Vec::new(), rates };
        let up = |link, from, until| timeline.up(LinkId(link), at(from), at(until)).as_secs_f64();
        assert_eq!([up(7, 0, 6), up(7, 3, 5), up(7, 4, 6), up(7, 0, 1)], [4.0, 1.0, 0.0, 1.0]);
        assert_eq!([up(9, 1, 2), up(8, 0, 9), up(8, 0, 20)], [1.0, 3.0 + 4.0, 3.0 + 15.0]);
    }
}
