//! Sources that hand over a burst, are silent, and so on.

use super::{ConnectionUse, FlowStart, Hosts};
use crate::ids::HostId;
use crate::random::Stream;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use switchbed_qdisc::units::{Bytes, PS_PER_S, Rate, Span, Time};
use switchbed_spec::{Off, OnOff as Entry};

/// An entry's bursts, in canonical order. A source is on for the time that
/// its burst takes on its link, and off for what is left of burst / rate: exactly so, or
/// exponentially distributed with that mean. It waits for nobody: bursts queue up on its
/// connection.
#[derive(Debug)]
pub(super) struct OnOff {
    sources: Vec<Source>,
    /// Each source's next burst: when, its host, its place in `sources`.
    next: BinaryHeap<Reverse<(Time, u32, u32)>>,
    to: u32,
    burst: Bytes,
    on: Span,
    /// Mean.
    off: Span,
    law: Off,
    stop: Time,
    expected: u64,
}

#[derive(Debug)]
struct Source {
    class: u8,
    silences: Stream,
}

impl OnOff {
    /// # Errors
    /// Says what is wrong and what would be right.
    pub(super) fn new(
        entry: &Entry,
        hosts: Hosts,
        seed: u64,
        place: usize,
    ) -> Result<OnOff, String> {
        let Entry { from, to, burst, rate, off: off_law, classes, start, stagger, stop } = entry;
        hosts.many_to_one(from, *to)?;
        if classes.is_empty() {
            return Err("`classes` is empty; give at least one, as in `[0]`".into());
        }
        if *burst == Bytes::ZERO {
            return Err("`burst` is 0; give at least 1 byte".into());
        }
        let (period, on) = (time_of(*burst, *rate)?, time_of(*burst, hosts.rate)?);
        let Some(off) = period.as_ps().checked_sub(on.as_ps()).map(Span::from_ps) else {
            return Err(format!("`rate` is {rate}, and a host's link carries {}", hosts.rate));
        };
        let stop = Time::ZERO + *stop;
        let mut expected = 0_u64;
        let mut next = BinaryHeap::new();
        let mut sources = Vec::with_capacity(from.len());
        for (k, &host) in from.iter().enumerate() {
            let later = stagger.as_ps().checked_mul(k as u64);
            let first = later.and_then(|later| later.checked_add(start.as_ps()));
            let first = first.map(Time::from_ps).filter(|&first| first < stop);
            let first = first.ok_or("the last source would start after `stop`")?;
            expected += stop.since(first).as_ps().div_ceil(period.as_ps());
            let entity = (place as u64) << 32 | u64::from(host);
            next.push(Reverse((first, host, k as u32)));
            sources.push(Source {
                class: classes[k % classes.len()],
                silences: Stream::new(seed, "traffic silences", entity),
            });
        }
        let (to, burst, law) = (*to, *burst, *off_law);
        Ok(OnOff { sources, next, to, burst, on, off, law, stop, expected })
    }

    /// How many bursts to expect in all: exactly so many where silences are constant.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }
}

impl Iterator for OnOff {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let Reverse((start, host, place)) = self.next.pop()?;
        let source = &mut self.sources[place as usize];
        let off_ps = match self.law {
            Off::Constant => self.off.as_ps(),
            Off::Exponential => {
                (source.silences.exponential() * self.off.as_ps() as f64 + 0.5) as u64
            }
        };
        let following = start.as_ps().saturating_add(self.on.as_ps()).saturating_add(off_ps);
        if following < self.stop.as_ps() {
            self.next.push(Reverse((Time::from_ps(following), host, place)));
        }
        Some(FlowStart {
            class: source.class,
            size: Some(self.burst),
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
