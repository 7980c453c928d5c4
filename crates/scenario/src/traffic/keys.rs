//! Keys that several kinds of traffic share.

use super::site::{MAX_CONNECTIONS, Site};
use crate::sizes::Sizes;
use crate::sizes::read::{SIZES, SIZES_BY_SERVICE};
use crate::switch::Classify;
use crate::topology::hosts::{HOSTS, ONE_HOST};
use std::ops::Deref;
use switchbed_config::param::{Field, Unfit};
use switchbed_config::param::{ParamKind, Value};
use switchbed_config::{params, words};
use switchbed_units::Span;
use switchbed_units::ids::HostId;
use switchbed_units::quantity;
use switchbed_units::random::Stream;

/// Hosts that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostSet {
    /// As many as there are.
    All,
    /// These.
    Named(Vec<u32>),
}

impl HostSet {
    /// Names those that are meant by all.
    pub(super) fn name(&mut self, site: &Site<'_>) {
        if *self == HostSet::All {
            *self = HostSet::Named((0..site.topology.hosts()).collect());
        }
    }

    /// The same for senders to one receiver: all means all others.
    pub(super) fn name_others(&mut self, to: OneHost, site: &Site<'_>) -> Result<(), Unfit> {
        let OneHost(to) = to;
        if *self == HostSet::All {
            let others = (0..site.topology.hosts()).filter(|&host| host != to);
            *self = HostSet::Named(others.collect());
        }
        match self.contains(&to) {
            true => {
                let why =
                    format!("host {to} is the receiver (traffic.to) and cannot send to itself");
                Err(Unfit::new(key!(from), why))
            }
            false => Ok(()),
        }
    }
}

words! {
    /// How ranks are dealt to hosts.
    pub enum Placement {
        /// As the hosts are listed.
        Listed = "listed",
        /// Drawn by the seed.
        Random = "random",
    }
}

impl Placement {
    /// The hosts by rank, for a seed and a traffic entry's place.
    pub(super) fn deal(self, hosts: &[u32], (seed, place): (u64, usize)) -> Vec<HostId> {
        let order = match self {
            Placement::Listed => return hosts.iter().copied().map(HostId).collect(),
            Placement::Random => {
                let mut stream = Stream::new(seed, "collective ranks", (place as u64) << 32);
                stream.permutation(hosts.len() as u32)
            }
        };
        order.into_iter().map(|nth| HostId(hosts[nth as usize])).collect()
    }
}

impl From<Vec<u32>> for HostSet {
    fn from(hosts: Vec<u32>) -> Self {
        HostSet::Named(hosts)
    }
}

impl Deref for HostSet {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        match self {
            HostSet::All => &[],
            HostSet::Named(hosts) => hosts,
        }
    }
}

impl Field for HostSet {
    const KIND: ParamKind = HOSTS;
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word(_) => Some(HostSet::All),
            hosts => Vec::from_value(hosts).map(HostSet::Named),
        }
    }
    /// Hosts in a row as a range, others as a list.
    fn to_value(&self) -> Option<Value> {
        match &**self {
            [first, .., last]
                if self.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) =>
            {
                Some(Value::Word(format!("{first}-{last}")))
            }
            hosts => hosts.to_vec().to_value(),
        }
    }
}

/// Hosts that receive: several, of which one is drawn, or one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receivers(pub HostSet);

impl Receivers {
    /// The only one.
    pub(super) fn only(&self) -> Option<u32> {
        match self[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Names those that are meant by all.
    pub(super) fn name(&mut self, site: &Site<'_>) {
        self.0.name(site);
    }
}

impl From<OneHost> for Receivers {
    fn from(OneHost(host): OneHost) -> Self {
        Receivers(HostSet::Named(vec![host]))
    }
}

impl Deref for Receivers {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl Field for Receivers {
    const KIND: ParamKind = HOSTS;
    fn from_value(value: Value) -> Option<Self> {
        HostSet::from_value(value).map(Receivers)
    }
    /// One as its number.
    fn to_value(&self) -> Option<Value> {
        match self.only() {
            Some(host) => host.to_value(),
            None => self.0.to_value(),
        }
    }
}

/// The one host that a file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneHost(pub u32);

impl Field for OneHost {
    const KIND: ParamKind = ONE_HOST;
    fn from_value(value: Value) -> Option<Self> {
        u32::from_value(value).map(OneHost)
    }
    fn to_value(&self) -> Option<Value> {
        self.0.to_value()
    }
}

impl Field for Sizes {
    const KIND: ParamKind = SIZES;
    fn from_value(value: Value) -> Option<Self> {
        let Value::Table(entries) = value else { return None };
        let mut sizes =
            Sizes { name: String::new(), points: Vec::new(), mean_bytes: 0.0, round_up_to: None };
        for entry in entries {
            match entry {
                ("name", Value::Word(name)) => sizes.name = name,
                ("points", Value::List(points)) => {
                    let point = |point| match point {
                        Value::List(pair) => match pair[..] {
                            [Value::Bytes(size), Value::Number(p)] => Some((size, p)),
                            _ => None,
                        },
                        _ => None,
                    };
                    sizes.points = points.into_iter().map(point).collect::<Option<_>>()?;
                }
                ("mean", Value::Word(mean)) => {
                    sizes.mean_bytes = quantity::mean_size(&mean).ok()?;
                }
                ("round_up_to", Value::Bytes(unit)) => sizes.round_up_to = Some(unit),
                _ => return None,
            }
        }
        Some(sizes)
    }
    fn to_value(&self) -> Option<Value> {
        let point = |&(size, p): &_| Value::List(vec![Value::Bytes(size), Value::Number(p)]);
        let mut entries = vec![
            ("name", Value::Word(self.name.clone())),
            ("points", Value::List(self.points.iter().map(point).collect())),
            // A mean may be no whole number of bytes, so it is written as a word.
            ("mean", Value::Word(format!("{}B", self.mean_bytes))),
        ];
        entries.extend(self.round_up_to.map(|unit| ("round_up_to", Value::Bytes(unit))));
        Some(Value::Table(entries))
    }
}

/// Flow-size distributions, which services take in turn (a service `s` entry `s mod n`).
#[derive(Clone, Debug, PartialEq)]
pub struct SizesByService(pub Vec<Sizes>);

impl SizesByService {
    pub(super) fn check(&self, services: usize) -> Result<(), Unfit> {
        match self.len() {
            0 => Err(Unfit::new(key!(sizes), "at least one table is needed")),
            n if n > services => {
                Err(Unfit::new(key!(sizes), format!("it lists {n} for {services} services")))
            }
            _ => Ok(()),
        }
    }
}

impl From<Vec<Sizes>> for SizesByService {
    fn from(sizes: Vec<Sizes>) -> Self {
        SizesByService(sizes)
    }
}

impl Deref for SizesByService {
    type Target = [Sizes];
    fn deref(&self) -> &[Sizes] {
        &self.0
    }
}

impl Field for SizesByService {
    const KIND: ParamKind = SIZES_BY_SERVICE;
    fn from_value(value: Value) -> Option<Self> {
        Vec::from_value(value).map(SizesByService)
    }
    fn to_value(&self) -> Option<Value> {
        self.0.to_value()
    }
}

params! {
    /// How flows are dealt to services.
    pub struct Service {
        /// Which service, and so which class, a flow belongs to.
        /// one: all to service 0. random: drawn by shares. pair (not request-response):
        /// ((dst + 1)·hosts + (src + 1)) modulo services, as in MQ-ECN's simulations.
        deal ("service"): Deal = "one";
        /// random, pair: number of services. Default: one for each of shares, or else one
        /// for each queue.
        services: Option<u8> as count(1, 255);
        /// random: each service's share of the flows; they sum to 1. Default: equal.
        shares: Option<Vec<f64>> as List(&FRACTION);
    }
}

words! {
    /// By what flows are dealt to services: [`Service`].
    pub enum Deal {
        /// All flows to service 0.
        One = "one",
        /// A service drawn for each flow.
        Random = "random",
        /// By the pair of hosts.
        Pair = "pair",
    }
}

impl Service {
    /// All flows in class 0.
    pub const ONE: Service = Service { deal: Deal::One, services: None, shares: None };

    /// A service drawn for each flow with these probabilities (they sum to 1).
    pub fn random(shares: Vec<f64>) -> Service {
        Service { deal: Deal::Random, services: None, shares: Some(shares) }
    }

    /// MQ-ECN's simulations: ((dst + 1)·hosts + (src + 1)) mod `services`.
    pub fn pair(services: u8) -> Service {
        Service { deal: Deal::Pair, services: Some(services), shares: None }
    }

    /// The probabilities, where services are drawn.
    pub(super) fn shares(&self) -> &[f64] {
        self.shares.as_deref().unwrap_or_default()
    }

    /// How many there are, and so how many classes.
    pub(super) fn count(&self) -> usize {
        match self.deal {
            Deal::One => 1,
            Deal::Random => self.shares().len(),
            Deal::Pair => self.services.map_or(0, usize::from),
        }
    }

    /// The last class.
    pub(super) fn last(&self) -> u16 {
        self.count().saturating_sub(1) as u16
    }

    /// Puts in the shares, or how many services there are.
    pub(super) fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        // The key that the message is about: the one that the file has.
        let key = if self.services.is_some() { key!(services) } else { key!(shares) };
        let given = self.shares.as_ref().map(Vec::len);
        let n =
            self.services.map_or(given.unwrap_or(site.switch.queues.into()).min(255), usize::from);
        let alone = |key, word: &str| {
            let right = if word == "one" { "\"pair\" or \"random\"" } else { "\"random\"" };
            Unfit::new(key, format!("service is \"{word}\", which has none: write {right}"))
        };
        *self = match (self.deal, self.shares.take()) {
            (Deal::One, None) if self.services.is_none() => Service::ONE,
            (Deal::One, _) => return Err(alone(key, "one")),
            (Deal::Pair, None) => Service::pair(n as u8),
            (Deal::Pair, Some(_)) => return Err(alone(key!(shares), "pair")),
            (Deal::Random, None) => Service::random(vec![1.0 / n as f64; n]),
            (Deal::Random, Some(shares)) => {
                if shares.is_empty() || shares.len() != n {
                    let why =
                        format!("it lists {} for {n} services: write one for each", shares.len());
                    return Err(Unfit::new(key!(shares), why));
                }
                let sum: f64 = shares.iter().sum();
                // Shares in decimal rarely add up to exactly 1.
                if (sum - 1.0).abs() > 1e-9 {
                    return Err(Unfit::new(key!(shares), format!("they sum to {sum}, not to 1")));
                }
                Service::random(shares)
            }
        };
        queues_for(self.count(), site).map_err(|why| Unfit::new(key, why))
    }
}

/// Refuses more classes than there are queues for.
fn queues_for(classes: usize, site: &Site<'_>) -> Result<(), String> {
    let queues = site.switch.queues;
    if site.switch.classify != Classify::Class || classes <= usize::from(queues) {
        return Ok(());
    }
    Err(format!(
        "classes 0 to {} need as many queues, and switch.queues is {queues} \
         (or write switch.classify = \"single\")",
        classes - 1
    ))
}

/// The class of all packets.
pub(super) fn check_class(class: u8, site: &Site<'_>) -> Result<(), Unfit> {
    queues_for(usize::from(class) + 1, site).map_err(|why| Unfit::new(key!(class), why))
}

/// Classes that are dealt in turn.
pub(super) fn check_classes(classes: &[u8], site: &Site<'_>) -> Result<(), Unfit> {
    let most = classes.iter().max().ok_or("at least one class is needed".to_owned());
    most.and_then(|&most| queues_for(usize::from(most) + 1, site))
        .map_err(|why| Unfit::new(key!(classes), why))
}

/// `flows` of `these`, which never end by themselves and start a stagger apart, must all get to run.
pub(super) fn check_times(
    these: &str,
    flows: u64,
    (start, stagger): (Span, Span),
    end: Option<Span>,
) -> Result<(), Unfit> {
    let Some(end) = end else {
        let why = format!("{these} never end; write stop = \"1s\", or until in [run]");
        return Err(Unfit::new(key!(stop), why));
    };
    // 128 bits, as stagger times flows may pass 2⁶⁴ ps.
    let last = u128::from(start.as_ps()) + u128::from(stagger.as_ps()) * u128::from(flows - 1);
    if last < u128::from(end.as_ps()) {
        return Ok(());
    }
    let key = if flows > 1 && start < end { key!(stagger) } else { key!(start) };
    Err(Unfit::new(key, format!("the last flow would start after the end, {end}")))
}

/// Flows from each of so many senders: at a time no more than there can be connections.
pub(super) fn check_flows_each(each: u32, senders: usize) -> Result<(), Unfit> {
    let flows = senders as u64 * u64::from(each);
    let most = MAX_CONNECTIONS;
    match flows <= most as u64 {
        true => Ok(()),
        false => {
            let why = format!("that makes {flows} flows at a time; at most {most}");
            Err(Unfit::new(key!(flows_each), why))
        }
    }
}

params! {
    /// How flows use connections, of their own unless a file says otherwise.
    #[derive(Copy)]
    pub struct Carried {
        /// How flows use connections. fresh: one
        /// each, its handshake inside the flow's time. fresh-no-handshake: one each that
        /// starts established. persistent: one for each ordered pair of hosts and class, carrying
        /// flow after flow; a
        /// flow that finds all of them busy opens another, which stays. single: one for each ordered
        /// pair and class, on which flows wait for each other.
        connections: Connections = "fresh";
    }
}

words! {
    /// How flows use connections.
    pub enum Connections {
        /// A new connection for each flow, its handshake inside the FCT.
        Fresh = "fresh",
        /// A new connection for each flow that starts established, without a handshake.
        FreshNoHandshake = "fresh-no-handshake",
        /// One for each ordered pair (and class), carrying flow after flow; a flow that finds
        /// all of its pair's connections busy opens another, which stays.
        Persistent = "persistent",
        /// One for each ordered pair and class, on which flows wait for each other.
        Single = "single",
    }
}

impl Connections {
    /// Whether flows share them.
    pub(super) fn persist(self) -> bool {
        matches!(self, Connections::Persistent | Connections::Single)
    }

    /// How many there will be at a time.
    pub(super) fn kept(self, pairs: f64, open: f64, flows: f64) -> f64 {
        match self {
            Connections::Fresh | Connections::FreshNoHandshake => open,
            // A pair opens another where all of its own are busy: as many more as flows are open at
            // a time.
            Connections::Persistent => flows.min(pairs + open),
            Connections::Single => flows.min(pairs),
        }
    }
}

/// Flows that a host may have under way by chance.
pub(super) const OPEN_A_HOST: f64 = 16.0;
