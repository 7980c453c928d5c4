//! Sources that hand over a burst, are silent, and so on; a flow is a burst, and a source's follow each
//! other on one connection.

use super::flow::{Begun, Drawn, Wrong};
use super::keys::{check_classes, check_times};
use super::{
    Around, ConnectionUse, Demand, Expected, FlowStart, HostSet, Hosts, OneHost, Site, Source,
};
use crate::topology::HostRates;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::ids::HostId;
use switchbed_units::quantity::MAX_TIME;
use switchbed_units::random::Stream;
use switchbed_units::{Bytes, PS_PER_S, Rate, Span, Time};

params! {
    /// Sources that hand over a burst, are silent, and so on.
    pub struct OnOff {
        /// Sending hosts.
        from: HostSet = "all";
        /// The one receiving host.
        to: OneHost;
        /// Payload handed over at once.
        burst: Bytes;
        /// Payload that a source offers, bursts and silences taken together.
        rate: Rate;
        /// A link that is offered more than it carries, which never drains, is meant. Default: it is
        /// refused.
        overload: Option<bool>;
        /// How long a source is silent after the time that its burst takes on its
        /// link: always as long as rate asks for, or drawn with that mean.
        off: Off = "exponential";
        /// Classes, dealt in turn to the sources.
        classes: Vec<u8> = "[0]";
        /// When the first starts.
        start: Span = "0us";
        /// How much later each next one starts.
        stagger: Span = "0us";
        /// When they stop. Default: at the end of the run.
        stop: Option<Span>;
    }
}

words! {
    /// How long an on–off source is silent.
    pub enum Off {
        /// Always as long.
        Constant = "constant",
        /// Exponentially distributed.
        Exponential = "exponential",
    }
}

impl Source for OnOff {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.from.name_others(self.to, site)?;
        self.overload = self.overload.filter(|&meant| meant);
        if self.burst == Bytes::ZERO {
            return Err(Unfit::new(key!(burst), "a burst has at least 1 byte"));
        }
        let lines = site.topology.host_rates();
        if let Some(line) = self.from.iter().map(|&host| lines.of(host)).find(|&of| of < self.rate)
        {
            let why = format!("it is an average, and a host's link carries {line}");
            return Err(Unfit::new(key!(rate), why));
        }
        check_classes(&self.classes, site)?;
        self.stop = self.stop.or(site.run.until);
        let times = (self.start, self.stagger);
        check_times("on-off sources", self.from.len() as u64, times, self.stop)
    }

    fn flows(&self, hosts: Hosts, seed: u64, place: usize) -> Result<Begun, Wrong> {
        let bursts = Bursts::new(self, hosts, seed, place)?;
        let expected = bursts.expected;
        Ok(Begun::new(bursts, expected))
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let lasts_s = self.stop().as_secs_f64().min(around.until_s);
        let each = (lasts_s - self.start.as_secs_f64()) * self.rate.as_bps() as f64 / 8.0;
        let sources = self.from.len() as f64;
        let flows = sources * (each / self.burst.as_f64()).ceil();
        let expected = Expected { receivers: 1.0, lasts_s, ..Expected::default() };
        Expected { flows, open: sources, connections: sources, ..expected }
    }

    fn demand(&self, _: &HostRates) -> Option<Demand> {
        Some(Demand::spread(&self.from, &[self.to.0], |_| self.rate.as_bps() as f64))
    }

    fn classes(&self) -> u16 {
        self.classes.iter().copied().max().map_or(0, u16::from)
    }

    fn has_class(&self, class: u16) -> bool {
        self.classes.iter().any(|own| u16::from(*own) == class)
    }

    fn offers(&mut self) -> Option<(&'static str, &mut Option<bool>)> {
        Some((key!(rate), &mut self.overload))
    }

    fn persists(&self) -> bool {
        true
    }
    fn goes_on(&self) -> bool {
        true
    }
}

impl OnOff {
    /// No burst starts from then on.
    pub fn stop(&self) -> Span {
        self.stop.unwrap_or(MAX_TIME)
    }
}

/// An entry's bursts, in canonical order. A source is on for the time that
/// its burst takes on its link, and off for what is left of burst / rate: exactly so, or
/// exponentially distributed with that mean. It waits for nobody: bursts queue up on its
/// connection.
#[derive(Debug)]
struct Bursts {
    sources: Vec<Silent>,
    /// Each source's next burst: when, its host, its place in `sources`.
    next: BinaryHeap<Reverse<(Time, u32, u32)>>,
    to: u32,
    burst: Bytes,
    silence: Off,
    stop: Time,
    /// How many there will be in all: exactly so many where silences are constant.
    expected: u64,
}

#[derive(Debug)]
struct Silent {
    class: u8,
    on: Span,
    /// Mean.
    off: Span,
    silences: Stream,
}

impl Bursts {
    /// # Errors
    /// Says what is wrong and what would be right.
    fn new(entry: &OnOff, hosts: Hosts, seed: u64, place: usize) -> Result<Bursts, String> {
        let OnOff { from, to, burst, rate, off: off_law, classes, start, stagger, .. } = entry;
        hosts.many_to_one(from, *to)?;
        if classes.is_empty() {
            return Err("`classes` is empty; give at least one, as in `[0]`".into());
        }
        if *burst == Bytes::ZERO {
            return Err("`burst` is 0; give at least 1 byte".into());
        }
        // A burst and its silence at the mean rate take as long as the burst at that rate.
        let period = time_of(*burst, *rate)?;
        let stop = Time::ZERO + entry.stop();
        let mut expected = 0_u64;
        let mut next = BinaryHeap::new();
        let mut sources = Vec::with_capacity(from.len());
        for (k, &host) in from.iter().enumerate() {
            let later = stagger.as_ps().checked_mul(k as u64);
            let first = later.and_then(|later| later.checked_add(start.as_ps()));
            let first = first.map(Time::from_ps).filter(|&first| first < stop);
            let first = first.ok_or("the last source would start after `stop`")?;
            // As if each silence were the mean: how many come in fact is known only as they are
            // drawn.
            expected += stop.since(first).as_ps().div_ceil(period.as_ps());
            let line = hosts.rates.of(host);
            let on = time_of(*burst, line)?;
            // A silence fills up the period, so that the rate is the mean over both.
            let Some(off) = period.as_ps().checked_sub(on.as_ps()).map(Span::from_ps) else {
                return Err(format!("`rate` is {rate}, and a host's link carries {line}"));
            };
            let entity = (place as u64) << 32 | u64::from(host);
            // Ties go by host, then by place in the entry.
            next.push(Reverse((first, host, k as u32)));
            sources.push(Silent {
                class: classes[k % classes.len()],
                on,
                off,
                silences: Stream::new(seed, "traffic silences", entity),
            });
        }
        let (to, burst, silence) = (to.0, *burst, *off_law);
        Ok(Bursts { sources, next, to, burst, silence, stop, expected })
    }
}

impl Drawn for Bursts {}

impl Iterator for Bursts {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let Reverse((start, host, place)) = self.next.pop()?;
        let source = &mut self.sources[place as usize];
        let off_ps = match self.silence {
            Off::Constant => source.off.as_ps(),
            Off::Exponential => {
                (source.silences.exponential() * source.off.as_ps() as f64 + 0.5) as u64
            }
        };
        let following = start.as_ps().saturating_add(source.on.as_ps()).saturating_add(off_ps);
        if following < self.stop.as_ps() {
            self.next.push(Reverse((Time::from_ps(following), host, place)));
        }
        Some(FlowStart {
            class: source.class,
            size: Some(self.burst),
            // A source's bursts follow each other in one connection, as an application's writes.
            connection: ConnectionUse::Single,
            ..FlowStart::new(start, HostId(host), HostId(self.to))
        })
    }
}

/// The time that a burst's payload takes at a rate.
fn time_of(burst: Bytes, rate: Rate) -> Result<Span, String> {
    let bits_ps = u128::from(burst.get()) * 8 * u128::from(PS_PER_S);
    let ps = bits_ps.checked_div(rate.as_bps().into()).and_then(|ps| u64::try_from(ps).ok());
    match ps {
        Some(ps @ 1..) => Ok(Span::from_ps(ps)),
        _ => Err(format!("a burst of {burst} at {rate} takes no time that can be counted")),
    }
}
