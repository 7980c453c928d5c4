//! Flows that arrive, or are asked for, as Poisson processes; or over all senders together
//! as one process with log-normal gaps of the same mean, each flow's sender drawn by its
//! rate.
//!
//! Every ordered pair of a sender i and a receiver j ≠ i is a process of its own, of rate
//! load · link rate / (8 · mean size of the pair's service) / number of receivers, as in
//! MQ-ECN's simulations. A sender's processes are drawn as their sum: exponential gaps at
//! the summed rate, and for each flow the pair by its share of it. Receivers that are of
//! one service whoever sends form a group and are equally likely, so a flow costs one
//! step a group: one in all where the service does not depend on the receiver (fig9's 144
//! hosts and 8 services), never more than there are services.

use super::flow::{Begun, Drawn, Wrong};
use super::keys::OPEN_A_HOST;
use super::source::FIRST_WINDOW;
use super::{
    Around, ConnectionUse, Connections, Deal, Demand, Expected, FlowStart, Hosts, Offered,
};
use super::{Service, Site, Sizes, SizesByService, TableOffered};
use crate::topology::HostRates;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use switchbed_config::param::Unfit;
use switchbed_qdisc::{Random, params};
use switchbed_units::ids::HostId;
use switchbed_units::random::Stream;
use switchbed_units::{Bytes, PS_PER_S, Time};

params! {
    /// How much is offered.
    pub struct Load {
        /// Payload bits that each sender offers (request-response: that each client asks for), as a
        /// fraction of its link's rate; headers come on top.
        load: f64 as number(0.0, f64::INFINITY);
        /// A link that is offered more than it carries, which never drains, is meant. Default: it is
        /// refused.
        overload: Option<bool>;
        /// Flows in all, the first so many to start.
        flows: u64 as count(1, 1_000_000_000);
        /// Flow sizes. A built-in table's name, a size that all flows have
        /// ("64KB"), or a table of name, file, points, mean, round_up_to. In a list,
        /// service s takes entry s modulo the list's length.
        sizes: SizesByService;
    }
}

/// Days that a clock of 64 bits of picoseconds lasts.
const CLOCK_DAYS: f64 = 213.0;
/// Highest load of a source: those of several sources add up to a finite number.
pub(super) const MOST_LOAD: f64 = 1e9;

impl Load {
    /// Whether it is one; it says of an overload alone that it is meant.
    pub(super) fn complete(&mut self) -> Result<(), Unfit> {
        if self.load == 0.0 {
            return Err(Unfit::new(key!(load), "a load is greater than 0"));
        }
        if self.load > MOST_LOAD {
            return Err(Unfit::new(key!(load), "a load is at most 1e9"));
        }
        if self.load > 1.0 && self.overload != Some(true) {
            let why = "a load over 1 never drains; write overload = true to mean it";
            return Err(Unfit::new(key!(load), why));
        }
        // `false` says no more than nothing: only a meant overload stays written.
        self.overload = self.overload.filter(|&meant| meant);
        Ok(())
    }
}

/// Flows that arrive at random at a load.
#[derive(Clone, Copy)]
pub(super) struct Arrivals<'a> {
    pub(super) load: &'a Load,
    pub(super) from: &'a [u32],
    pub(super) to: &'a [u32],
    pub(super) service: &'a Service,
    pub(super) connections: Connections,
    /// `to` asks `from` for them with requests of this payload.
    pub(super) request: Option<Bytes>,
}

/// When flows come.
#[derive(Clone, Copy)]
pub(super) enum Clock {
    /// At every sender at random.
    Each,
    /// Over all senders together, with log-normal gaps of this σ.
    Together { sigma: f64 },
}

impl Arrivals<'_> {
    /// Whether they fit there.
    pub(super) fn check(&self, site: &Site<'_>) -> Result<(), Unfit> {
        let asked = self.request.is_some();
        // Asked for, data flow from `to` to `from`: the checks look at the other end.
        match (self.from, self.to) {
            (from, [only]) if !asked && from.contains(only) => {
                let why = format!("host {only} sends too and would have nobody else to send to");
                return Err(Unfit::new(key!(to), why));
            }
            ([only], to) if asked && to.contains(only) => {
                let why = format!("host {only} asks too (traffic.to) and could only ask itself");
                return Err(Unfit::new(key!(from), why));
            }
            _ => {}
        }
        self.load.sizes.check(self.service.count())?;
        self.in_time(site)
    }

    /// Refuses a load so low that the clock ends before the last flow comes.
    fn in_time(&self, site: &Site<'_>) -> Result<(), Unfit> {
        let Load { load, flows, sizes, .. } = self.load;
        // The smallest sizes alone take the least time: refused is only what cannot fit.
        let smallest = sizes.iter().map(|table| table.mean_bytes).fold(f64::INFINITY, f64::min);
        let rates = site.topology.host_rates();
        let bps = rates.total(self.senders(), |rate| load * rate.as_bps() as f64);
        let days = *flows as f64 * smallest * 8.0 / bps / 86_400.0;
        if site.run.until.is_some() || days < CLOCK_DAYS {
            return Ok(());
        }
        let why = format!(
            "the last flow would come after {days:.0} days, and the clock ends at {CLOCK_DAYS}: \
             give a higher load, fewer flows, or until in [run]"
        );
        Err(Unfit::new(key!(load), why))
    }

    /// The hosts that have a load.
    fn senders(&self) -> &[u32] {
        if self.request.is_some() { self.to } else { self.from }
    }

    /// Payload bits a second by pairs of hosts, whatever the service: a pair's flows are rarer where
    /// they are longer.
    pub(super) fn demand(&self, lines: &HostRates) -> Demand {
        let each_bps = |host| self.load.load * lines.of(host).as_bps() as f64;
        match self.request {
            None => Demand::spread(self.from, self.to, each_bps),
            Some(_) => Demand::spread(self.to, self.from, each_bps).reversed(),
        }
    }

    /// Estimates the number and size of the flows.
    pub(super) fn expected(&self, around: &Around<'_>) -> Expected {
        let Load { load, sizes, .. } = self.load;
        let hosts = self.senders().len();
        let mean_bytes =
            sizes.iter().map(|table| table.mean_bytes).sum::<f64>() / sizes.len() as f64;
        let per_byte = sizes.iter().map(|table| 1.0 / table.mean_bytes).sum::<f64>();
        let rates = around.topology.host_rates();
        let offered = rates.total(self.senders(), |rate| load * rate.as_bps() as f64 / 8.0);
        let per_s = offered * per_byte / sizes.len() as f64;
        let flows = (self.load.flows as f64).min((per_s * around.until_s).ceil());
        let ends = self.from.len().min(self.to.len()) as f64;
        let (there, back) = around.frames.factors(sizes, self.connections.persist());
        // Lines of hosts that also receive carry the answers, too.
        let receivers: BTreeSet<u32> = self.to.iter().copied().collect();
        let both = self.from.iter().any(|host| receivers.contains(host));
        let back = if both { back } else { 0.0 };
        // Few receivers of many senders: their lines are as many times busier.
        let busy = load * (there * (hosts as f64 / ends).max(1.0) + back);
        let opens = around.frames.opens();
        let short = sizes.iter().all(|table| table.mean_bytes <= FIRST_WINDOW);
        let (queued, by_host) = match short {
            true => (
                queued_short(busy, flows, ends, opens),
                queued_by_host(busy, flows / ends, ends, opens) * ends,
            ),
            false => {
                let (line, host) = queued(busy, flows / ends, ends, opens);
                let queued = line * ends + host * hosts as f64;
                (queued, queued)
            }
        };
        let fabric = self.queued_between(around, busy, flows);
        let (queued, by_host) = (queued.max(fabric), by_host.max(fabric));
        let waiting = around.round_trips(per_s, mean_bytes);
        let open = flows.min(queued + waiting);
        // A pair that has a service of its own is one pair.
        let classes = self.service.shares().len().max(1);
        let pairs = (self.from.len() * self.to.len() * classes) as f64;
        // A host's table of connections keeps the size of its own peak, whenever that was.
        let held = of_all(flows, by_host.max(queued) + waiting);
        let connections = self.connections.kept(pairs, held, flows);
        let line = rates.most().as_bps() as f64 / 8.0;
        let most = Bytes::new((line * CARD_S.min(FILLS * around.until_s)) as u64);
        let reach = sizes.iter().map(|table| table.mean_reach(most)).sum::<f64>();
        // A line that flows share evenly is free for each at its rate less the load (processor sharing).
        let lasts_s = flows / per_s;
        let flowing = (busy < 1.0).then(|| {
            let free = line * (1.0 - busy);
            let sent = sizes.iter().map(|table| table.mean_up_to(free * lasts_s)).sum::<f64>();
            per_s * sent / sizes.len() as f64 / free
        });
        // Chance at many lines evens out, and a line that is seldom busy holds one flow.
        let crowded = flowing.map_or(1.0, |flowing| (flowing / ends / CROWD).min(1.0));
        // A short run has not met its worst moment.
        let met = (flows * mean_bytes / MET_BYTES).sqrt().min(1.0);
        let in_cards = libm::pow(ends, 0.6) * crowded * met * reach / sizes.len() as f64;
        let in_cards = in_cards.min(open * most.as_f64());
        let (senders, receivers) = (self.from.len() as f64, self.to.len() as f64);
        // Flows meet at their sender, at their receiver, and between switches.
        let within = if around.topology.switch_groups().len() > 1 { 1.0 / ends } else { 0.0 };
        let others = per_s * (1.0 / senders + 1.0 / receivers + within);
        let alone =
            sizes.iter().map(|table| table.mean_alone(per_s, line, others, lasts_s)).sum::<f64>();
        let alone = alone / sizes.len() as f64;
        let mean_bytes = Some(mean_bytes);
        let expected =
            Expected { receivers, lasts_s, in_cards, alone, flowing, ..Expected::default() };
        Expected { flows, open, mean_bytes, connections, ..expected }
    }

    /// Flows that wait at links between switches, where these are busier than hosts' links are by `busy`.
    fn queued_between(&self, around: &Around<'_>, busy: f64, flows: f64) -> f64 {
        let Some((load, lines)) = around.fabric.filter(|(load, _)| *load > busy) else {
            return 0.0;
        };
        // Each flow waits on its way up, and comes down in good order.
        let lines = (lines / 2.0).max(1.0);
        // Handshakes wait at hosts' own links.
        let part = if around.frames.opens() { 1.0 } else { BETWEEN };
        let short = self.load.sizes.iter().all(|table| table.mean_bytes <= FIRST_WINDOW);
        part * match short {
            true => queued_short(load, flows, lines, false),
            false => queued(load, flows / lines, lines, false).0 * lines,
        }
    }
}

/// Queue pairs that wait at busy links between switches, for each that would wait at a host's link. (Measured: at most
/// 1.17.)
const BETWEEN: f64 = 1.2;
/// Part of a second whose data a card holds of flows that nothing holds back, by TCP small queues.
const CARD_S: f64 = 1.0 / 1024.0;
/// Flows at a line on average from which on its cards hold as much as they may.
const CROWD: f64 = 6.0;
/// Bytes after which so many hosts have met a moment at which cards hold most. (Measured: 1 to 20 GB.)
const MET_BYTES: f64 = 6e9;
/// Part of a short run in which cards fill.
const FILLS: f64 = 0.125;

/// Flows that remain of those that a line is offered which never drains, each in one first window or more.
fn remain(busy: f64, flows: f64, opens: bool) -> f64 {
    // TCP's are more than the line's lack: some of its time went to handshakes of flows that are not through.
    let part = if opens { 1.6 } else { 1.0 };
    (flows * (1.0 - 1.0 / busy) * part).clamp(0.0, flows)
}

/// Flows of one first window that are under way at so many lines, each offered a multiple of what it carries. Rather
/// too many.
///
/// Chance at many lines evens out: the sum's deviation rises with the root of their number.
fn queued_short(busy: f64, flows: f64, ends: f64, opens: bool) -> f64 {
    // (Measured: at most 2.4 times √n at each of 16 to 257 lines, 3.2 at one.)
    let by_chance = (2.3 + 1.2 / ends.sqrt()) * (flows * ends).sqrt();
    if busy >= 1.0 {
        return remain(busy, flows, opens) + by_chance;
    }
    // A line that is shared evenly has a geometric number, of this mean, and senders' lines have some more.
    let mean = busy / (1.0 - busy);
    let deviation = (ends * mean * (1.0 + mean)).sqrt();
    (1.5 * ends * mean + 12.0 * deviation).min(by_chance)
}

/// Flows of one first window that are under way at a host at its busiest moment, of so many in all. Rather too many.
fn queued_by_host(busy: f64, flows: f64, ends: f64, opens: bool) -> f64 {
    // (Measured: at most 3.1 and 2.1 at the mean of 16 to 257 hosts, 2.7 beside those that remain.)
    let (all, few) = match opens {
        true => (if busy < 1.0 { 3.15 } else { 2.7 }, 0.5),
        false => (2.1, 1.1),
    };
    let by_chance = (all + few / ends.sqrt()) * flows.sqrt();
    if busy >= 1.0 {
        return remain(busy, flows, opens) + by_chance;
    }
    // A line that is busy for a part ρ of its time has n flows at a time once in ρ^−n of its busy times, of which 1 − ρ
    // of the flows begin one. (Measured: TCP's handshakes cross, and other flows are evened out at their senders.)
    let part = if opens { 1.2 } else { 0.85 };
    let most = 2.0 - part * libm::log(1.0 + flows * (1.0 - busy)) / libm::log(busy);
    (most * (1.0 + 0.5 / ends.sqrt())).min(by_chance)
}

/// Flows that are under way of so many in all, where without an end of them there would be so many.
fn of_all(flows: f64, endless: f64) -> f64 {
    // Few flows come in so short a time that most of them meet: a smooth least of both.
    flows * endless / libm::cbrt(flows * flows * flows + endless * endless * endless)
}

/// Flows under way at one of so many lines, each offered a multiple of what it carries, by so many flows in all; and at
/// a host by chance. Rather too many.
fn queued(busy: f64, flows: f64, ends: f64, opens: bool) -> (f64, f64) {
    // Flows of several windows: more of the line's time went to those that are not through.
    let remain = remain(busy, flows, opens) * if opens { 1.0 } else { 1.2 };
    // Near 1 as far as chance leads: as √n after n flows, at both ends' lines. (Measured: at most 3.2.)
    let by_chance = 3.5 * flows.sqrt();
    if busy >= 1.0 {
        return (remain + by_chance, OPEN_A_HOST);
    }
    // A line that is busy for a part ρ of its time, shared evenly, has ρ / (1 − ρ) flows. Four times the mean leaves space
    // for chance, as sizes have heavy tails; at many lines that evens out.
    let mean = busy / (1.0 - busy);
    let chance = (12.0 / ends.sqrt()).min(3.0);
    (((1.0 + chance) * mean).min(by_chance), fullest(busy, flows))
}

/// Flows at a line, shared evenly and busy for a part of its time, at its fullest moment of so many flows: the mean.
fn fullest(busy: f64, flows: f64) -> f64 {
    // A part 1 − ρ of flows begin a busy time, of which one in ρ^−n comes to n flows more.
    let (mut reached, mut times) = (0.0, flows * (1.0 - busy));
    while reached < OPEN_A_HOST && times > 1e-3 {
        reached -= libm::expm1(-times);
        times *= busy;
    }
    reached
}

/// Parameters of an entry's processes; hosts in rising order, no host twice.
struct Process<'a> {
    load: f64,
    hosts: Hosts,
    senders: Vec<u32>,
    receivers: Vec<u32>,
    sizes: &'a [Sizes],
    service: &'a Service,
}

/// The flows of one entry, in canonical order.
#[derive(Debug)]
struct Flows {
    senders: Vec<Sender>,
    clocks: Clocks,
    /// Flows yet to start.
    left: u64,
    pairs: Pairs,
    /// The shares of services that are drawn for each flow; empty: the pair's service.
    shares: Vec<f64>,
    sizes: Vec<Sizes>,
    /// Senders ask receivers for the flows.
    asked: bool,
    connection: ConnectionUse,
}

/// When the next flow starts, and whose it is.
#[derive(Debug)]
enum Clocks {
    /// Each sender's next start, by its place among them.
    Each(BinaryHeap<Reverse<(Time, u32)>>),
    Together(Together),
}

/// One process over all senders.
#[derive(Debug)]
struct Together {
    sigma: f64,
    /// Mean time between flows, in picoseconds.
    gap_ps: f64,
    /// The next start in mean gaps.
    clock: f64,
    arrivals: Stream,
    senders: Stream,
}

#[derive(Debug)]
struct Sender {
    host: u32,
    /// Group and position of this host among the receivers, if it is one.
    own: Option<(usize, usize)>,
    /// Sum of its groups' weights.
    weight: f64,
    /// Mean time between its flows, in picoseconds.
    gap_ps: f64,
    /// Time of the next start, in mean gaps. A load only scales it, so that loads share flows.
    clock: f64,
    // A stream for each thing drawn, so that a change to one shifts no other.
    arrivals: Stream,
    services: Stream,
    receivers: Stream,
    sizes: Stream,
}

impl Arrivals<'_> {
    /// The first flows of the processes, and what they offer.
    ///
    /// # Errors
    /// Says what is wrong and what would be right.
    pub(super) fn begin(
        &self,
        clock: Clock,
        hosts: Hosts,
        seed: u64,
        entry: usize,
    ) -> Result<Begun, Wrong> {
        let request = self.request;
        let process = &self.process(hosts)?;
        let pairs = Pairs::new(process);
        let mut senders = Vec::with_capacity(process.senders.len());
        let mut flows_per_s = vec![0.0; process.sizes.len()];
        for &host in &process.senders {
            let own = pairs.place(host);
            // A sender among the receivers has one peer less, and sends the same rate to the rest.
            let others = process.receivers.len() - usize::from(own.is_some());
            if others == 0 {
                let why = match request {
                    None => format!("host {host} has no receiver but itself; add one to `to`"),
                    Some(_) => format!("host {host} has nobody but itself to ask; add to `from`"),
                };
                return Err(why.into());
            }
            let bytes_per_s = process.load * process.hosts.rates.of(host).as_bps() as f64 / 8.0;
            // Bytes are dealt evenly over pairs: a pair's flows a second are its bytes over its
            // mean size.
            let per_weight = bytes_per_s / others as f64;
            let mut weight = 0.0;
            for (group, in_group) in pairs.weights(host, own).enumerate() {
                weight += in_group;
                process.deal(pairs.service(group, host), per_weight * in_group, &mut flows_per_s);
            }
            // Entry and host in one number: no two senders of a run draw alike.
            let stream = |name| Stream::new(seed, name, (entry as u64) << 32 | u64::from(host));
            senders.push(Sender {
                host,
                own,
                weight,
                gap_ps: PS_PER_S as f64 / (per_weight * weight),
                clock: 0.0,
                arrivals: stream("traffic arrivals"),
                services: stream("traffic services"),
                receivers: stream("traffic receivers"),
                sizes: stream("traffic sizes"),
            });
        }
        let clocks = match clock {
            Clock::Together { sigma } => {
                // Rates of independent processes add up, gaps do not.
                let per_ps: f64 = senders.iter().map(|sender| 1.0 / sender.gap_ps).sum();
                let stream = |name| Stream::new(seed, name, entry as u64);
                let (arrivals, senders) = (stream("traffic gaps"), stream("traffic senders"));
                let (gap_ps, clock) = (1.0 / per_ps, 0.0);
                Clocks::Together(Together { sigma, gap_ps, clock, arrivals, senders })
            }
            Clock::Each => {
                let starts = senders.iter_mut().zip(0..);
                Clocks::Each(starts.map(|(s, place)| Reverse((s.next_start(), place))).collect())
            }
        };
        let shares = process.service.shares().to_vec();
        let sizes = process.sizes.to_vec();
        let offered = Some(process.offered(entry, &flows_per_s));
        let (left, connection) = (self.load.flows, self.connections.into());
        let asked = self.request.is_some();
        let flows = Flows { senders, clocks, left, pairs, shares, sizes, asked, connection };
        Ok(Begun { offered, ..Begun::new(flows, left) })
    }

    /// The processes of senders, or of clients that ask them.
    fn process(&self, hosts: Hosts) -> Result<Process<'_>, String> {
        let from = hosts.named("from", self.from)?;
        let to = hosts.named("to", self.to)?;
        let (senders, receivers) = if self.request.is_some() { (to, from) } else { (from, to) };
        let Load { load, sizes, .. } = self.load;
        let (load, service) = (*load, self.service);
        let process = Process { load, hosts, senders, receivers, sizes, service };
        process.check()?;
        Ok(process)
    }
}

impl Drawn for Flows {}

impl Iterator for Flows {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        self.left = self.left.checked_sub(1)?;
        let (start, place) = match &mut self.clocks {
            Clocks::Each(next) => {
                // Replaced in place, the heap sifts once; a pop and a push would sift twice.
                let mut top = next.peek_mut()?;
                let Reverse((start, place)) = *top;
                *top = Reverse((self.senders[place as usize].next_start(), place));
                (start, place as usize)
            }
            Clocks::Together(process) => process.next(&self.senders),
        };
        let sender = &mut self.senders[place];
        let (src, own) = (sender.host, sender.own);
        let group = match self.pairs.groups.len() {
            // No draw where there is no choice.
            1 => 0,
            _ => pick(sender.services.unit() * sender.weight, self.pairs.weights(src, own)),
        };
        let dst = self.pairs.receiver(group, own, &mut sender.receivers);
        let service = match &self.shares[..] {
            [] => self.pairs.service(group, src),
            shares => pick(sender.services.unit(), shares.iter().copied()) as u8,
        };
        let table = &self.sizes[usize::from(service) % self.sizes.len()];
        // The client is at the flow's other end.
        let (src, dst) = if self.asked { (dst, src) } else { (src, dst) };
        Some(FlowStart {
            class: service,
            size: Some(table.quantile(sender.sizes.unit())),
            connection: self.connection,
            ..FlowStart::new(start, HostId(src), HostId(dst))
        })
    }
}

impl Sender {
    /// Draws the gap to its next flow.
    fn next_start(&mut self) -> Time {
        self.clock += self.arrivals.exponential();
        // Rounded from a running sum: errors of half a picosecond do not add up over flows.
        Time::from_ps((self.clock * self.gap_ps + 0.5) as u64)
    }
}

impl Together {
    /// The next flow's start, and the place of its sender.
    fn next(&mut self, senders: &[Sender]) -> (Time, usize) {
        // Rounded from a running sum, as above.
        self.clock += self.arrivals.log_normal(self.sigma);
        let rates = senders.iter().map(|sender| self.gap_ps / sender.gap_ps);
        let place = pick(self.senders.unit(), rates);
        (Time::from_ps((self.clock * self.gap_ps + 0.5) as u64), place)
    }
}

/// The receivers, by what makes a pair's service.
#[derive(Debug)]
struct Pairs {
    hosts: u64,
    groups: Vec<Group>,
    /// Mean flow size in bytes of each service of a pair.
    means: Vec<f64>,
}

/// Receivers j that share (j + 1)·hosts mod services.
#[derive(Debug)]
struct Group {
    key: u64,
    receivers: Vec<u32>,
}

impl Pairs {
    fn new(process: &Process) -> Pairs {
        // Fewer tables than services: they take turns.
        let mean = |service: usize| process.sizes[service % process.sizes.len()].mean_bytes;
        let means = match process.service.deal {
            Deal::One => vec![mean(0)],
            Deal::Random => {
                let shares = process.service.shares().iter().enumerate();
                // Drawn only after the pair, services give all pairs the same mean size.
                vec![shares.map(|(s, share)| share * mean(s)).sum()]
            }
            Deal::Pair => (0..process.service.count()).map(mean).collect(),
        };
        let mut pairs = Pairs { hosts: process.hosts.count.into(), groups: Vec::new(), means };
        for &host in &process.receivers {
            let key = pairs.key(host);
            match pairs.groups.binary_search_by_key(&key, |group| group.key) {
                Ok(g) => pairs.groups[g].receivers.push(host),
                Err(g) => pairs.groups.insert(g, Group { key, receivers: vec![host] }),
            }
        }
        pairs
    }

    fn key(&self, receiver: u32) -> u64 {
        // Pairs are numbered receiver by receiver, and services dealt round by that number.
        (u64::from(receiver) + 1) * self.hosts % self.means.len() as u64
    }

    /// The service of a sender's flows to a group; 0 if services are not the pairs'.
    fn service(&self, group: usize, sender: u32) -> u8 {
        ((self.groups[group].key + u64::from(sender) + 1) % self.means.len() as u64) as u8
    }

    /// The group and place of a host among the receivers.
    fn place(&self, host: u32) -> Option<(usize, usize)> {
        let group = self.groups.binary_search_by_key(&self.key(host), |group| group.key).ok()?;
        Some((group, self.groups[group].receivers.binary_search(&host).ok()?))
    }

    /// A group's receivers but for the sender itself.
    fn others(&self, group: usize, own: Option<(usize, usize)>) -> usize {
        self.groups[group].receivers.len() - usize::from(own.is_some_and(|own| own.0 == group))
    }

    /// Weights of the groups for a sender: receivers over mean size.
    fn weights(&self, sender: u32, own: Option<(usize, usize)>) -> impl Iterator<Item = f64> {
        (0..self.groups.len()).map(move |group| {
            let mean = self.means[usize::from(self.service(group, sender))];
            self.others(group, own) as f64 / mean
        })
    }

    /// A receiver of the group, never the sender.
    fn receiver(&self, group: usize, own: Option<(usize, usize)>, stream: &mut Stream) -> u32 {
        let drawn = stream.below(self.others(group, own) as u64) as usize;
        // Skips the sender's own place.
        let skip = own.is_some_and(|own| own.0 == group && own.1 <= drawn);
        self.groups[group].receivers[drawn + usize::from(skip)]
    }
}

impl Process<'_> {
    fn check(&self) -> Result<(), String> {
        if !(self.load.is_finite() && self.load > 0.0) {
            return Err(format!("the load {} is no load; give one over 0", self.load));
        }
        if self.sizes.is_empty() {
            return Err("no flow-size table; give at least one".into());
        }
        // Flows a second are the load over the stated mean: 0 would make them infinite.
        for table in self.sizes {
            if !(table.mean_bytes.is_finite() && table.mean_bytes > 0.0) {
                let (name, mean) = (&table.name, table.mean_bytes);
                return Err(format!("the mean of `{name}` is {mean} bytes; it must be over 0"));
            }
        }
        let shares = self.service.shares();
        match self.service.deal {
            Deal::Pair if self.service.count() == 0 => Err("0 services; give at least 1".into()),
            Deal::Random if shares.len() > 256 => {
                Err(format!("{} services; there are at most 256", shares.len()))
            }
            Deal::Random => {
                let sum: f64 = shares.iter().sum();
                // Shares in decimal rarely add up to exactly 1.
                let sums_to_1 = (sum - 1.0).abs() < 1e-9;
                if sums_to_1 && shares.iter().all(|&share| share >= 0.0) {
                    return Ok(());
                }
                Err(format!("the services' shares are {shares:?}; they must sum to 1"))
            }
            Deal::One | Deal::Pair => Ok(()),
        }
    }

    /// Adds the flows of a pair's service to those of their tables.
    fn deal(&self, service: u8, flows_per_s: f64, per_table: &mut [f64]) {
        let mut add = |service: usize, flows| per_table[service % self.sizes.len()] += flows;
        match self.service.shares() {
            [] => add(service.into(), flows_per_s),
            shares => {
                shares.iter().enumerate().for_each(|(s, share)| add(s, flows_per_s * share));
            }
        }
    }

    fn offered(&self, entry: usize, flows_per_s: &[f64]) -> Offered {
        let (mss, header) = (self.hosts.mss, self.hosts.header);
        let bps = |mean: &dyn Fn(&Sizes) -> f64| {
            self.sizes.iter().zip(flows_per_s).map(|(table, flows)| 8.0 * flows * mean(table)).sum()
        };
        // Headers as of the mean count of packets: an exact mean, since headers are linear in it.
        let with_headers = |t: &Sizes| t.exact_mean() + header.as_f64() * t.mean_packets(mss);
        let tables = self.sizes.iter().zip(flows_per_s).map(|(table, &flows_per_s)| TableOffered {
            name: table.name.clone(),
            stated_mean_bytes: table.mean_bytes,
            drawn_mean_bytes: table.exact_mean(),
            flows_per_s,
        });
        Offered {
            entry,
            load: self.load,
            senders: self.senders.len() as u32,
            flows_per_s: flows_per_s.iter().sum(),
            nominal_bps: bps(&|table| table.mean_bytes),
            payload_bps: bps(&Sizes::exact_mean),
            wire_bps: bps(&with_headers),
            tables: tables.collect(),
        }
    }
}

/// The index that `drawn`, uniform below the weights' sum, falls on. Never one of weight 0.
fn pick(mut drawn: f64, weights: impl Iterator<Item = f64>) -> usize {
    let mut last = 0;
    // The last is taken where rounding leaves some over: it must have a weight.
    for (i, weight) in weights.enumerate().filter(|&(_, weight)| weight > 0.0) {
        if drawn < weight {
            return i;
        }
        drawn -= weight;
        last = i;
    }
    // Rounding left a little over.
    last
}
