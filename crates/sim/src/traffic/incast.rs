//! Incast: all senders at once to one receiver, round after round.

use super::{ConnectionUse, FlowStart, Hosts};
use crate::ids::HostId;
use crate::random::Stream;
use switchbed_qdisc::Random;
use switchbed_qdisc::units::{Span, Time};
use switchbed_spec::{Incast as Entry, Sizes};

/// An entry's flows, in canonical order: round by round, in a round by
/// sender. Sizes are drawn in that order. Classes are dealt to the flows of a round sender
/// by sender in the order named.
#[derive(Debug)]
pub(super) struct Incast {
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

impl Incast {
    /// # Errors
    /// Says what is wrong and what would be right.
    pub(super) fn new(
        entry: &Entry,
        hosts: Hosts,
        seed: u64,
        place: usize,
    ) -> Result<Incast, String> {
        let Entry { from, to, sizes, flows_each, rounds, every, classes, start, connections } =
            entry;
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
        Ok(Incast {
            flows: rounds.saturating_mul(round.len() as u64),
            round,
            next: 0,
            to: *to,
            start: Time::ZERO + *start,
            every: *every,
            sizes: sizes.clone(),
            drawn: Stream::new(seed, "traffic sizes", (place as u64) << 32),
            connection: (*connections).into(),
        })
    }

    /// How many there are in all.
    pub(super) fn flows(&self) -> u64 {
        self.flows
    }
}

impl Iterator for Incast {
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
