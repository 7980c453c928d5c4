//! `[[traffic]]`.

use super::hosts::hosts;
use super::sizes;
use crate::mistake::{Mistake, Origin};
use crate::section::Section;
use crate::tree::Table;
use switchbed_qdisc::units::{Bytes, Rate, Span};
use switchbed_spec::quantity::MAX_TIME;
use switchbed_spec::traffic::{Deal, Kind, MAX_CONNECTIONS, SECTION};
use switchbed_spec::{
    Arrivals, Classify, Connections, Incast, LongLived, Off, OnOff, Run, Service, Sizes, Switch,
    Topology, Traffic,
};

/// What a clock of 64 bits of picoseconds has.
const CLOCK_DAYS: f64 = 213.0;

/// What traffic is checked against.
pub(crate) struct Context<'a> {
    pub origin: &'a Origin,
    pub packet: Option<Bytes>,
    pub topology: &'a Topology,
    pub switch: &'a Switch,
    pub run: &'a Run,
}

impl Context<'_> {
    /// Every source of the file.
    pub(super) fn resolve(&self, root: &Table) -> Result<Vec<Traffic>, Mistake> {
        let node = root.get("traffic");
        let sources = node.and_then(|node| node.as_list()).unwrap_or_default();
        if sources.is_empty() {
            let at = node.map_or(crate::tree::At::Unwritten, |node| node.at);
            let message = "is missing: write [[traffic]] with its kind and what it needs";
            return Err(self.origin.mistake(at, "traffic", message));
        }
        let source = |(i, node)| {
            let path = match sources.len() {
                1 => "traffic".to_owned(),
                _ => format!("traffic.{i}"),
            };
            self.source(Section::open(self.origin, &path, SECTION.keys, Some(node), self.packet)?)
        };
        let sources = sources.iter().enumerate().map(source).collect::<Result<Vec<_>, _>>()?;
        if sources.iter().all(|source| matches!(source, Traffic::Probe { stop: None, .. })) {
            let why = "has probes alone, which never end; write stop = \"1s\", or until in [run]";
            let at = node.map_or(crate::tree::At::Unwritten, |node| node.at);
            return Err(self.origin.mistake(at, "traffic", why));
        }
        Ok(sources)
    }

    fn source(&self, section: Section<'_>) -> Result<Traffic, Mistake> {
        let kind: Kind = section.get("kind")?;
        let traffic = match kind {
            Kind::Poisson => Traffic::Poisson(self.arrivals(&section, false)?),
            Kind::LogNormal => {
                let sigma = section.maybe("sigma")?;
                let sigma = sigma.ok_or_else(|| section.missing_like("sigma", "2"))?;
                Traffic::LogNormal { sigma, arrivals: self.arrivals(&section, false)? }
            }
            Kind::RequestResponse => self.request_response(&section)?,
            Kind::Incast => self.incast(&section)?,
            Kind::OnOff => self.on_off(&section)?,
            Kind::LongLived => self.long_lived(&section)?,
            Kind::Probe => self.probe(&section)?,
            Kind::List => list(&section)?,
        };
        section.close(&format!("kind = \"{}\"", kind.word()))?;
        Ok(traffic)
    }

    /// What random arrivals have in common; `asked`: `to` asks `from`.
    fn arrivals(&self, section: &Section<'_>, asked: bool) -> Result<Arrivals, Mistake> {
        let load: f64 = section.get("load")?;
        let overload: bool = section.get("overload")?;
        if load == 0.0 {
            return Err(section.refuse("load", "a load is greater than 0"));
        }
        if load > 1.0 && !overload {
            let why = "a load over 1 never drains; write overload = true to mean it";
            return Err(section.refuse("load", why));
        }
        let from = hosts(section, "from", self.topology.hosts())?;
        let to = hosts(section, "to", self.topology.hosts())?;
        match (&from[..], &to[..]) {
            (_, [only]) if !asked && from.contains(only) => {
                let why = format!("host {only} sends too and would have nobody else to send to");
                return Err(section.refuse("to", why));
            }
            ([only], _) if asked && to.contains(only) => {
                let why = format!("host {only} asks too (traffic.to) and could only ask itself");
                return Err(section.refuse("from", why));
            }
            _ => {}
        }
        let service = self.service(section)?;
        if asked && matches!(service, Service::Pair(_)) {
            let why = "services of requests are \"one\" or \"random\"";
            return Err(section.refuse("service", why));
        }
        let sizes = sizes::resolve(section, services(&service))?;
        let flows = section.get("flows")?;
        self.in_time(section, load, flows, &sizes, if asked { to.len() } else { from.len() })?;
        let default = if asked { Connections::Persistent } else { Connections::Fresh };
        let connections = section.get_or("connections", default)?;
        Ok(Arrivals { load, flows, sizes, from, to, service, connections })
    }

    /// Refuses a load so low that the clock ends before the last flow comes.
    fn in_time(
        &self,
        section: &Section<'_>,
        load: f64,
        flows: u64,
        sizes: &[Sizes],
        senders: usize,
    ) -> Result<(), Mistake> {
        let smallest = sizes.iter().map(|table| table.mean_bytes).fold(f64::INFINITY, f64::min);
        let bps = load * self.topology.host_rate().as_bps() as f64 * senders as f64;
        let days = flows as f64 * smallest * 8.0 / bps / 86_400.0;
        if self.run.until.is_some() || days < CLOCK_DAYS {
            return Ok(());
        }
        let why = format!(
            "the last flow would come after {days:.0} days, and the clock ends at {CLOCK_DAYS}: \
             give a higher load, fewer flows, or until in [run]"
        );
        Err(section.refuse("load", why))
    }

    fn request_response(&self, section: &Section<'_>) -> Result<Traffic, Mistake> {
        if section.given("to").is_none() {
            return Err(section.missing_like("to", "8 (the clients)"));
        }
        let request: Bytes = section.get("request")?;
        if request == Bytes::ZERO {
            return Err(section.refuse("request", "a request has at least 1 byte"));
        }
        Ok(Traffic::RequestResponse { request, arrivals: self.arrivals(section, true)? })
    }

    fn service(&self, section: &Section<'_>) -> Result<Service, Mistake> {
        let service = match section.get("service")? {
            Deal::One => return Ok(Service::One),
            Deal::Random => Service::Random(self.shares(section)?),
            Deal::Pair => Service::Pair(self.count_services(section, None)?),
        };
        let n = services(&service);
        if self.switch.classify == Classify::Class && n > usize::from(self.switch.queues) {
            let key = if section.given("services").is_some() { "services" } else { "shares" };
            return Err(section.refuse(key, self.too_few_queues(n)));
        }
        Ok(service)
    }

    fn too_few_queues(&self, classes: usize) -> String {
        let queues = self.switch.queues;
        format!(
            "classes 0 to {} need as many queues, and switch.queues is {queues} \
             (or write switch.classify = \"single\")",
            classes - 1
        )
    }

    /// The number of services: as given, else one for each share, else one a queue.
    fn count_services(&self, section: &Section<'_>, shares: Option<usize>) -> Result<u8, Mistake> {
        let default = shares.unwrap_or(usize::from(self.switch.queues)).min(255) as u8;
        section.get_or("services", default)
    }

    fn shares(&self, section: &Section<'_>) -> Result<Vec<f64>, Mistake> {
        let shares: Option<Vec<f64>> = section.list("shares")?;
        let n = usize::from(self.count_services(section, shares.as_ref().map(Vec::len))?);
        let Some(shares) = shares else { return Ok(vec![1.0 / n as f64; n]) };
        if shares.is_empty() || shares.len() != n {
            let why = format!("it lists {} for {n} services: write one for each", shares.len());
            return Err(section.refuse("shares", why));
        }
        let sum: f64 = shares.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(section.refuse("shares", format!("they sum to {sum}, not to 1")));
        }
        Ok(shares)
    }

    fn incast(&self, section: &Section<'_>) -> Result<Traffic, Mistake> {
        let (from, to) = self.many_to_one(section, "incast goes to one host")?;
        let mut sizes = sizes::resolve(section, 1)?;
        let (Some(sizes), true) = (sizes.pop(), sizes.is_empty()) else {
            return Err(section.refuse("sizes", "incast takes one table"));
        };
        let rounds = section.get("rounds")?;
        let every: Option<Span> = section.maybe("every")?;
        let every = match every {
            Some(Span::ZERO) => return Err(section.refuse("every", "rounds are some time apart")),
            None if rounds > 1 => return Err(section.missing("every")),
            every => every.unwrap_or(Span::ZERO),
        };
        let start: Span = section.get("start")?;
        let last = u128::from(start.as_ps()) + u128::from(every.as_ps()) * u128::from(rounds - 1);
        let end = self.run.until.unwrap_or(MAX_TIME);
        if last >= u128::from(end.as_ps()) {
            let key = if rounds > 1 && start < end { "rounds" } else { "start" };
            let what = format!("the last round would start after the end, {end}");
            return Err(section.refuse(key, what));
        }
        let flows_each = flows_each(section, from.len())?;
        Ok(Traffic::Incast(Incast {
            from,
            to,
            sizes,
            flows_each,
            rounds,
            every,
            classes: self.classes(section)?,
            start,
            connections: section.get_or("connections", Connections::Fresh)?,
        }))
    }

    fn on_off(&self, section: &Section<'_>) -> Result<Traffic, Mistake> {
        let (from, to) = self.many_to_one(section, "on-off sources send to one host")?;
        let burst: Bytes = section.get("burst")?;
        if burst == Bytes::ZERO {
            return Err(section.refuse("burst", "a burst has at least 1 byte"));
        }
        let (rate, line): (Rate, Rate) = (section.get("rate")?, self.topology.host_rate());
        if rate > line {
            let why = format!("it is an average, and a host's link carries {line}");
            return Err(section.refuse("rate", why));
        }
        let off: Off = section.get("off")?;
        let classes = self.classes(section)?;
        let (start, stagger, stop) = self.when(section, from.len() as u64, "on-off sources")?;
        let stop = stop.or(self.run.until).unwrap_or(MAX_TIME);
        Ok(Traffic::OnOff(OnOff { from, to, burst, rate, off, classes, start, stagger, stop }))
    }

    /// Senders and the one receiver.
    fn many_to_one(&self, section: &Section<'_>, one: &str) -> Result<(Vec<u32>, u32), Mistake> {
        if section.given("to").is_none() {
            return Err(section.missing_like("to", "8"));
        }
        let to = match hosts(section, "to", self.topology.hosts())?[..] {
            [to] => to,
            _ => return Err(section.refuse("to", one)),
        };
        let mut from = hosts(section, "from", self.topology.hosts())?;
        // "all" means all others.
        if section.node("from").is_some_and(|node| node.as_text() == Some("all")) {
            from.retain(|&host| host != to);
        }
        if from.contains(&to) {
            let why = format!("host {to} is the receiver (traffic.to) and cannot send to itself");
            return Err(section.refuse("from", why));
        }
        Ok((from, to))
    }

    /// The classes that are dealt in turn.
    fn classes(&self, section: &Section<'_>) -> Result<Vec<u8>, Mistake> {
        let classes: Vec<u8> = section.list("classes")?.unwrap_or_default();
        match classes.iter().max() {
            None => Err(section.refuse("classes", "at least one class is needed")),
            Some(&class)
                if self.switch.classify == Classify::Class
                    && u16::from(class) >= self.switch.queues =>
            {
                Err(section.refuse("classes", self.too_few_queues(usize::from(class) + 1)))
            }
            _ => Ok(classes),
        }
    }

    fn long_lived(&self, section: &Section<'_>) -> Result<Traffic, Mistake> {
        let (from, to) = self.many_to_one(section, "long-lived flows go to one host")?;
        let flows_each = flows_each(section, from.len())?;
        let classes = self.classes(section)?;
        let flows = from.len() as u64 * u64::from(flows_each);
        let (start, stagger, stop) = self.when(section, flows, "long-lived flows")?;
        Ok(Traffic::LongLived(LongLived { from, to, flows_each, classes, start, stagger, stop }))
    }

    fn probe(&self, section: &Section<'_>) -> Result<Traffic, Mistake> {
        let (from, to) = self.many_to_one(section, "one host sends probes back")?;
        let size: Bytes = section.get("size")?;
        let mtu = self.packet.unwrap_or(Bytes::MAX);
        if size == Bytes::ZERO || size > mtu {
            let why = format!("a probe is one packet of at most host.mtu, {mtu}");
            return Err(section.refuse("size", why));
        }
        let every: Span = section.get("every")?;
        if every == Span::ZERO {
            return Err(section.refuse("every", "probes are some time apart"));
        }
        let classes = self.classes(section)?;
        let start: Span = section.get("start")?;
        let stop: Option<Span> = section.maybe("stop")?;
        let stop = stop.or(self.run.until);
        if let Some(end) = stop
            && start >= end
        {
            let why = format!("the first probe would be sent after the end, {end}");
            return Err(section.refuse("start", why));
        }
        Ok(Traffic::Probe { from, to, size, every, classes, start, stop })
    }

    /// Start, stagger and stop of `flows` of these that never end, all of which must get to
    /// run.
    fn when(
        &self,
        section: &Section<'_>,
        flows: u64,
        these: &str,
    ) -> Result<(Span, Span, Option<Span>), Mistake> {
        let (start, stagger): (Span, Span) = (section.get("start")?, section.get("stagger")?);
        let stop: Option<Span> = section.maybe("stop")?;
        let Some(end) = stop.or(self.run.until) else {
            let why =
                format!("is missing: {these} never end; write stop = \"1s\", or until in [run]");
            return Err(section.origin.mistake(section.at, &section.key("stop"), why));
        };
        let last = u128::from(start.as_ps()) + u128::from(stagger.as_ps()) * u128::from(flows - 1);
        if last >= u128::from(end.as_ps()) {
            let key = if flows > 1 && start < end { "stagger" } else { "start" };
            return Err(
                section.refuse(key, format!("the last flow would start after the end, {end}"))
            );
        }
        Ok((start, stagger, stop))
    }
}

/// Flows from each of so many senders: at a time no more than there can be connections.
fn flows_each(section: &Section<'_>, senders: usize) -> Result<u32, Mistake> {
    let each: u32 = section.get("flows_each")?;
    let flows = senders as u64 * u64::from(each);
    match flows <= MAX_CONNECTIONS as u64 {
        true => Ok(each),
        false => {
            let why = format!("that makes {flows} flows at a time; at most {MAX_CONNECTIONS}");
            Err(section.refuse("flows_each", why))
        }
    }
}

/// The number of services, and so of classes.
fn services(service: &Service) -> usize {
    match service {
        Service::One => 1,
        Service::Random(shares) => shares.len(),
        Service::Pair(n) => usize::from(*n),
    }
}

fn list(section: &Section<'_>) -> Result<Traffic, Mistake> {
    let path = sizes::found(section, "file")?.display().to_string();
    Ok(Traffic::List { path, connections: section.get_or("connections", Connections::Fresh)? })
}

/// Whether the source's flows share connections.
pub(crate) fn is_persistent(traffic: &Traffic) -> bool {
    match traffic {
        Traffic::Poisson(Arrivals { connections, .. })
        | Traffic::LogNormal { arrivals: Arrivals { connections, .. }, .. }
        | Traffic::RequestResponse { arrivals: Arrivals { connections, .. }, .. }
        | Traffic::Incast(Incast { connections, .. })
        | Traffic::List { connections, .. } => {
            matches!(connections, Connections::Persistent | Connections::Single)
        }
        Traffic::OnOff(_) => true,
        Traffic::LongLived(_) | Traffic::Probe { .. } => false,
    }
}
