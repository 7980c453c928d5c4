//! Incast: all senders at once to one receiver, round after round.

use super::flows::{Begun, Drawn, Wrong};
use super::keys::{check_classes, check_flows_each};
use super::{Around, Carried, ConnectionUse, Demand, Expected, FlowStart, HostSet, Hosts};
use super::{OneHost, Site, Sizes, Source};
use crate::ids::HostId;
use crate::param::Unfit;
use crate::quantity::MAX_TIME;
use crate::random::Stream;
use switchbed_qdisc::units::{Rate, Span, Time};
use switchbed_qdisc::{Random, params};

params! {
    /// All senders at once to one receiver, round after round.
    pub struct Incast {
        /// Sending hosts.
        from: HostSet = "all";
        /// The one receiving host.
        to: OneHost;
        /// Flow sizes: a built-in table's name, a size that all flows have
        /// ("64KB"), or a table of name, file, points, mean, round_up_to.
        sizes: Sizes;
        /// Flows from each sender in each round.
        flows_each: u32 = "1" as count(1, 1_000_000);
        /// How often all senders send.
        rounds: u64 = "1" as count(1, 1_000_000_000);
        /// From the start of a round to that of the next, whether or not it has
        /// ended; needed where rounds is over 1.
        every: Option<Span>;
        /// A link that is offered more than it carries, which never drains, is meant. Default: it is
        /// refused.
        overload: Option<bool>;
        /// Classes, dealt in turn to the flows of a round.
        classes: Vec<u8> = "[0]";
        /// When the first round starts.
        start: Span = "0us";
        /// How flows use connections.
        carried: Carried;
    }
}

impl Source for Incast {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.from.name_others(self.to, site)?;
        self.overload = self.overload.filter(|&meant| meant);
        match self.every {
            Some(Span::ZERO) => return Err(Unfit::new(key!(every), "rounds are some time apart")),
            None if self.rounds > 1 => return Err(Unfit::missing(key!(every))),
            _ => {}
        }
        let Incast { start, rounds, .. } = *self;
        let every = u128::from(self.every.map_or(0, Span::as_ps));
        let last = u128::from(start.as_ps()) + every * u128::from(rounds - 1);
        let end = site.run.until.unwrap_or(MAX_TIME);
        if last >= u128::from(end.as_ps()) {
            let key = if rounds > 1 && start < end { "rounds" } else { "start" };
            let why = format!("the last round would start after the end, {end}");
            return Err(Unfit::new(key, why));
        }
        check_flows_each(self.flows_each, self.from.len())?;
        check_classes(&self.classes, site)
    }

    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong> {
        let flows = Rounds::new(self, hosts, seed, place)?;
        let total = flows.flows;
        Ok(Begun::new(flows, total))
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let round = self.from.len() as f64 * f64::from(self.flows_each);
        let every = self.every.map_or(0.0, Span::as_secs_f64);
        let fit = if every > 0.0 { (around.until_s / every).ceil() } else { 1.0 };
        let rounds = (self.rounds as f64).min(fit);
        let flows = round * rounds;
        // A round may meet the one before.
        let open = flows.min(2.0 * round);
        let pairs = (self.from.len() * self.classes.len()) as f64;
        let connections = self.carried.connections.kept(pairs, open, flows);
        let lasts_s = self.start.as_secs_f64() + every * rounds;
        let mean_bytes = Some(self.sizes.mean_bytes);
        let expected = Expected { receivers: 1.0, mean_bytes, lasts_s, ..Expected::default() };
        Expected { flows, open, together: round, connections, ..expected }
    }

    fn demand(&self, _: Rate) -> Option<Demand> {
        let every = self.every.filter(|_| self.rounds > 1)?.as_secs_f64();
        let each_bps = 8.0 * self.sizes.mean_bytes * f64::from(self.flows_each) / every;
        Some(Demand::spread(&self.from, &[self.to.0], each_bps))
    }

    fn classes(&self) -> u16 {
        self.classes.iter().copied().max().map_or(0, u16::from)
    }

    fn offers(&mut self) -> Option<(&'static str, &mut Option<bool>)> {
        Some((key!(every), &mut self.overload))
    }

    fn persists(&self) -> bool {
        self.carried.connections.persist()
    }
}

/// An entry's flows, in canonical order: round by round, in a round by
/// sender. Sizes are drawn in that order. Classes are dealt to the flows of a round sender
/// by sender in the order named.
#[derive(Debug)]
struct Rounds {
    /// Sender and class of each flow of a round.
    round: Vec<(u32, u8)>,
    /// The flow that starts next, counted over all rounds.
    next: u64,
    flows: u64,
    to: u32,
    start: Time,
    every: Span,
    sizes: Sizes,
    drawn: Stream,
    connection: ConnectionUse,
}

impl Rounds {
    /// # Errors
    /// Says what is wrong and what would be right.
    fn new(entry: &Incast, hosts: Hosts, seed: u64, place: usize) -> Result<Rounds, String> {
        let Incast { from, to, sizes, flows_each, rounds, every, classes, start, carried, .. } =
            entry;
        let every = every.unwrap_or(Span::ZERO);
        hosts.many_to_one(from, *to)?;
        if *flows_each == 0 || *rounds == 0 {
            return Err("`flows_each` and `rounds` are at least 1".into());
        }
        if classes.is_empty() {
            return Err("`classes` is empty; give at least one, as in `[0]`".into());
        }
        let sources = from.iter().flat_map(|&src| std::iter::repeat_n(src, *flows_each as usize));
        let mut round: Vec<(u32, u8)> = sources.zip(classes.iter().copied().cycle()).collect();
        round.sort_by_key(|&(src, _)| src);
        let length = (*rounds - 1).checked_mul(every.as_ps());
        if length.and_then(|length| length.checked_add(start.as_ps())).is_none() {
            return Err("the last round starts too late; a run lasts at most 213 days".into());
        }
        Ok(Rounds {
            flows: rounds.saturating_mul(round.len() as u64),
            round,
            next: 0,
            to: to.0,
            start: Time::ZERO + *start,
            every,
            sizes: sizes.clone(),
            drawn: Stream::new(seed, "traffic sizes", (place as u64) << 32),
            connection: carried.connections.into(),
        })
    }
}

impl Drawn for Rounds {}

impl Iterator for Rounds {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        if self.next == self.flows {
            return None;
        }
        let each = self.round.len() as u64;
        let (src, class) = self.round[(self.next % each) as usize];
        let start = self.start + self.every * (self.next / each);
        self.next += 1;
        let size = Some(self.sizes.quantile(self.drawn.unit()));
        Some(FlowStart {
            class,
            size,
            connection: self.connection,
            ..FlowStart::new(start, HostId(src), HostId(self.to))
        })
    }
}
