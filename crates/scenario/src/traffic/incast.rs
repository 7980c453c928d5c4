//! Incast: many senders at once to one receiver, round after round.

use super::arrivals::MOST_LOAD;
use super::flow::{Begun, Drawn, Wrong};
use super::keys::{check_classes, check_flows_each};
use super::{Around, Carried, ConnectionUse, Demand, Expected, FlowStart, HostSet, Hosts};
use super::{OneHost, Receivers, Site, Sizes, Source};
use crate::topology::HostRates;
use switchbed_config::param::Unfit;
use switchbed_qdisc::{Random, params};
use switchbed_units::ids::HostId;
use switchbed_units::quantity::MAX_TIME;
use switchbed_units::random::Stream;
use switchbed_units::{PS_PER_S, Span, Time};

params! {
    /// Many senders at once to one receiver, round after round.
    pub struct Incast {
        /// Sending hosts.
        from: HostSet = "all";
        /// The receiving host. Of several each round draws one, which does not send in that round.
        to: Receivers;
        /// Flow sizes: a built-in table's name, a size that all flows have
        /// ("64KB"), or a table of name, file, points, mean, round_up_to.
        sizes: Sizes;
        /// Flows from each sender in each round.
        flows_each: u32 = "1" as count(1, 1_000_000);
        /// Senders of a round, drawn anew for each. Default: all but the receiver.
        fan_in: Option<u32> as count(1, 16_777_215);
        /// How often there is a round.
        rounds: u64 = "1" as count(1, 1_000_000_000);
        /// From the start of a round to that of the next, whether or not it has
        /// ended; needed where rounds is over 1, unless load is given.
        every: Option<Span>;
        /// Payload bits that the rounds offer the receivers, as a fraction of their links' rates.
        /// Rounds start at random then, as a Poisson process. Default: rounds start by every.
        load: Option<f64> as number(0.0, f64::INFINITY);
        /// A link that is offered more than it carries, which never drains, is meant. Default: it is
        /// refused.
        overload: Option<bool>;
        /// Classes, dealt in turn to the flows of a round.
        classes: Vec<u8> = "[0]";
        /// When the first round starts; with load, when the time to the first begins.
        start: Span = "0us";
        /// How flows use connections.
        carried: Carried;
    }
}

impl Incast {
    /// How many hosts can send to a receiver.
    fn others(&self) -> impl Fn(u32) -> usize {
        let mut from = self.from.to_vec();
        from.sort_unstable();
        move |to| from.len() - usize::from(from.binary_search(&to).is_ok())
    }

    /// Senders of a round on average.
    fn fan(&self) -> f64 {
        let others = self.others();
        let sum = || self.to.iter().map(|&to| others(to) as f64).sum::<f64>();
        self.fan_in.map_or_else(|| sum() / self.to.len().max(1) as f64, f64::from)
    }

    /// Mean time between rounds in seconds; `None`: there is one round.
    fn gap_s(&self, lines: &HostRates) -> Option<f64> {
        match self.load {
            Some(load) => {
                let round_bits =
                    8.0 * self.sizes.mean_bytes * f64::from(self.flows_each) * self.fan();
                // A round goes to one receiver: each of several is met as many times more rarely.
                Some(round_bits / lines.total(&self.to, |line| load * line.as_bps() as f64))
            }
            None => self.every.filter(|_| self.rounds > 1).map(Span::as_secs_f64),
        }
    }

    /// Whether each round has its senders.
    fn check_senders(&self) -> Result<(), Unfit> {
        let others = self.others();
        match (self.to.iter().map(|&to| (others(to), to)).min(), self.fan_in) {
            (None, _) => Err(Unfit::new(key!(to), "at least one host is needed")),
            (Some((0, to)), _) => {
                let why = format!(
                    "host {to} is the only sender and can be drawn as receiver (traffic.to)"
                );
                Err(Unfit::new(key!(from), why))
            }
            (Some((others, to)), Some(fan_in)) if fan_in as usize > others => {
                let why = format!("at most {others} hosts of traffic.from can send to host {to}");
                Err(Unfit::new(key!(fan_in), why))
            }
            _ => Ok(()),
        }
    }

    /// Whether the last round starts before the end.
    fn check_times(&self, site: &Site<'_>) -> Result<(), Unfit> {
        let Incast { start, rounds, .. } = *self;
        let end = site.run.until.unwrap_or(MAX_TIME);
        if self.every == Some(Span::ZERO) {
            return Err(Unfit::new(key!(every), "rounds are some time apart"));
        }
        let last = match self.load {
            Some(0.0) => return Err(Unfit::new(key!(load), "a load is greater than 0")),
            Some(_) if self.every.is_some() => {
                let why = "rounds start at random at a load, or by every: leave one out";
                return Err(Unfit::new(key!(load), why));
            }
            // The end of the run cuts off what does not fit.
            Some(_) if site.run.until.is_some() => 0,
            // Twice the mean leaves space for chance.
            Some(_) => {
                let gap_s = self.gap_s(&site.topology.host_rates()).unwrap_or(0.0);
                (2.0 * gap_s * rounds as f64 * PS_PER_S as f64) as u128
            }
            None if rounds == 1 => 0,
            None => match self.every {
                Some(every) => u128::from(every.as_ps()) * u128::from(rounds - 1),
                None => return Err(Unfit::missing(key!(every))),
            },
        };
        if u128::from(start.as_ps()) + last < u128::from(end.as_ps()) {
            return Ok(());
        }
        let key = if rounds > 1 && start < end { "rounds" } else { "start" };
        Err(Unfit::new(key, format!("the last round would start after the end, {end}")))
    }
}

/// Rounds under way where each has drained before the next begins. (Measured: at most 1.05.)
const DRAINED_ROUNDS: f64 = 1.1;

impl Source for Incast {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        match self.to.only() {
            Some(to) => self.from.name_others(OneHost(to), site)?,
            None => {
                self.to.name(site);
                self.from.name(site);
            }
        }
        self.overload = self.overload.filter(|&meant| meant);
        if self.load.is_some_and(|load| load > MOST_LOAD) {
            return Err(Unfit::new("load", "a load is at most 1e9"));
        }
        self.check_senders()?;
        self.check_times(site)?;
        check_flows_each(self.flows_each, self.from.len())?;
        check_classes(&self.classes, site)
    }

    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong> {
        let flows = Rounds::new(self, hosts, seed, place)?;
        let each = self.fan() * f64::from(self.flows_each);
        Ok(Begun::new(flows, (each * self.rounds as f64) as u64))
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let round = self.fan() * f64::from(self.flows_each);
        let gap_s = self.gap_s(&around.topology.host_rates()).unwrap_or(0.0);
        let fit = if gap_s > 0.0 { (around.until_s / gap_s).ceil() } else { 1.0 };
        let rounds = (self.rounds as f64).min(fit);
        let flows = round * rounds;
        // Of rounds that take longer than from one to the next, those that are left.
        let (there, _) = around.frames.factors(self.sizes(), self.carried.connections.persist());
        let rates = around.topology.host_rates();
        let line_bps = self.to.iter().map(|&to| rates.of(to).as_bps() as f64).fold(0.0, f64::max);
        let takes_s = round * there * self.sizes.mean_bytes * 8.0 / line_bps / self.to.len() as f64;
        let bytes = round * there * self.sizes.mean_bytes;
        let drains = takes_s <= gap_s || bytes <= around.space;
        let takes_s = takes_s.max(around.frames.repeated_s(bytes, around.space));
        let left = if takes_s > gap_s { rounds * (1.0 - gap_s / takes_s) } else { 0.0 };
        // A round may meet the one before; at random, those that a line of this load has in work.
        let met = left
            + self.load.map_or(0.0, |load| {
                let busy = load * there;
                let queued = if busy < 1.0 { busy / (1.0 - busy) } else { f64::INFINITY };
                // Near 1 as far as chance leads.
                (4.0 * queued).min(4.0 * rounds.sqrt()) * self.to.len() as f64
            });
        // A round of TCP repeats what it lost, and others may begin while the one before drains.
        let drained = !around.frames.opens() && takes_s < gap_s;
        let own = if drained { DRAINED_ROUNDS } else { 2.0 };
        let open = flows.min((own + met) * round);
        let pairs = (self.from.len() * self.to.len() * self.classes.len()) as f64;
        let connections = self.carried.connections.kept(pairs, open, flows);
        let losing = if drains { 0.0 } else { connections };
        let lasts_s = self.start.as_secs_f64() + gap_s * rounds;
        let (receivers, mean_bytes) = (self.to.len() as f64, Some(self.sizes.mean_bytes));
        let expected = Expected { receivers, mean_bytes, lasts_s, ..Expected::default() };
        Expected { flows, open, together: round, connections, losing, ..expected }
    }

    fn demand(&self, lines: &HostRates) -> Option<Demand> {
        let gap_s = self.gap_s(lines)?;
        let each_bps = 8.0 * self.sizes.mean_bytes * f64::from(self.flows_each) / gap_s;
        let (drawn, others) = (each_bps / self.to.len() as f64, self.others());
        // The chance that a host is among the senders drawn.
        let part = |&to: &u32| match self.fan_in {
            Some(fan_in) => (to, f64::from(fan_in) / others(to) as f64),
            None => (to, 1.0),
        };
        let from = self.from.iter().map(|&from| (from, drawn)).collect();
        Some(Demand { from, to: self.to.iter().map(part).collect() })
    }

    fn sizes(&self) -> &[Sizes] {
        std::slice::from_ref(&self.sizes)
    }

    fn classes(&self) -> u16 {
        self.classes.iter().copied().max().map_or(0, u16::from)
    }

    fn has_class(&self, class: u16) -> bool {
        self.classes.iter().any(|own| u16::from(*own) == class)
    }

    fn offers(&mut self) -> Option<(&'static str, &mut Option<bool>)> {
        let key = if self.load.is_some() { key!(load) } else { key!(every) };
        Some((key, &mut self.overload))
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
    entry: Incast,
    /// Sender and class of each flow of the round under way.
    round: Vec<(u32, u8)>,
    /// The flow of the round that is next.
    next: usize,
    /// Rounds begun.
    begun: u64,
    to: u32,
    start: Time,
    /// The start of the round under way in mean gaps, where rounds start at random.
    clock: f64,
    /// Mean gap between rounds in picoseconds.
    gap_ps: f64,
    connection: ConnectionUse,
    // A stream for each thing drawn, so that a change to one shifts no other.
    sizes: Stream,
    arrivals: Stream,
    receivers: Stream,
    senders: Stream,
}

impl Rounds {
    /// # Errors
    /// Says what is wrong and what would be right.
    fn new(entry: &Incast, hosts: Hosts, seed: u64, place: usize) -> Result<Rounds, String> {
        let Incast { from, to, flows_each, rounds, every, classes, start, carried, .. } = entry;
        match to.only() {
            Some(to) => hosts.many_to_one(from, OneHost(to))?,
            None => {
                hosts.named("from", from)?;
                hosts.named("to", to)?;
            }
        }
        if *flows_each == 0 || *rounds == 0 {
            return Err("`flows_each` and `rounds` are at least 1".into());
        }
        if classes.is_empty() {
            return Err("`classes` is empty; give at least one, as in `[0]`".into());
        }
        // The sums of starts below must not wrap.
        let length = (*rounds - 1).checked_mul(every.map_or(0, Span::as_ps));
        if length.and_then(|length| length.checked_add(start.as_ps())).is_none() {
            return Err("the last round starts too late; a run lasts at most 213 days".into());
        }
        let stream = |name| Stream::new(seed, name, (place as u64) << 32);
        Ok(Rounds {
            entry: entry.clone(),
            round: Vec::new(),
            next: 0,
            begun: 0,
            to: 0,
            start: Time::ZERO + *start,
            clock: 0.0,
            gap_ps: entry.gap_s(&hosts.rates).unwrap_or(0.0) * PS_PER_S as f64,
            connection: carried.connections.into(),
            sizes: stream("traffic sizes"),
            arrivals: stream("traffic arrivals"),
            receivers: stream("traffic receivers"),
            senders: stream("traffic senders"),
        })
    }

    /// Begins the next round; `None`: there is none.
    fn begin(&mut self) -> Option<()> {
        let Incast { from, to, fan_in, flows_each, rounds, every, classes, start, load, .. } =
            &self.entry;
        if self.begun == *rounds {
            return None;
        }
        if load.is_some() {
            self.clock += self.arrivals.exponential();
            // Rounded from a running sum: errors do not add up over rounds.
            let later = Span::from_ps((self.clock * self.gap_ps + 0.5) as u64);
            self.start = Time::ZERO + start.saturating_add(later);
        } else if self.begun > 0 {
            self.start += every.unwrap_or(Span::ZERO);
        }
        (self.next, self.begun) = (0, self.begun + 1);
        // Receiver and senders are the same as before.
        if self.begun > 1 && to.only().is_some() && fan_in.is_none() {
            return Some(());
        }
        self.to = match to.only() {
            Some(to) => to,
            None => to[self.receivers.below(to.len() as u64) as usize],
        };
        let mut senders: Vec<u32> = from.iter().copied().filter(|&src| src != self.to).collect();
        if let Some(fan_in) = *fan_in {
            // Fisher and Yates's permutation, as far as it is needed.
            for place in 0..fan_in as usize {
                let left = (senders.len() - place) as u64;
                senders.swap(place, place + self.senders.below(left) as usize);
            }
            senders.truncate(fan_in as usize);
        }
        let sources =
            senders.into_iter().flat_map(|src| std::iter::repeat_n(src, *flows_each as usize));
        self.round.clear();
        self.round.extend(sources.zip(classes.iter().copied().cycle()));
        // Stable: of a host's flows, classes stay in the order in which they were dealt.
        self.round.sort_by_key(|&(src, _)| src);
        Some(())
    }
}

impl Drawn for Rounds {}

impl Iterator for Rounds {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        if self.next == self.round.len() {
            self.begin()?;
        }
        let &(src, class) = self.round.get(self.next)?;
        self.next += 1;
        let size = Some(self.entry.sizes.quantile(self.sizes.unit()));
        Some(FlowStart {
            class,
            size,
            connection: self.connection,
            ..FlowStart::new(self.start, HostId(src), HostId(self.to))
        })
    }
}
