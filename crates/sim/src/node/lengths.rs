//! Lengths of measured queues on their way into statistics.
//!
//! A change is noted in a short log of the shard's and counted later, with many others: the tracks of
//! a large network are not in the cache, and so they are fetched while others are counted.

use crate::engine::prefetch::{prefetch, prefetch_lines};
use crate::ids::LocalLink;
use crate::observe::queue_stats::{Lengths, QueueStats};
use switchbed_qdisc::{PortState, QueueId};
use switchbed_units::Time;

/// Number of changes that are counted at a time, at least.
const LOT: usize = 256;
/// Changes between the fetch of a port's statistics and their use, and between that of its queue's
/// and their use.
const FAR: usize = 12;
const NEAR: usize = 6;
/// Number of links whose statistics are in the cache, so that nothing is fetched.
const CACHED: usize = 64;

/// A queue is not as long as before.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Time,
    queue_bytes: u64,
    port_bytes: u64,
    link: LocalLink,
    queue: QueueId,
}

/// Changes that are not counted yet.
#[derive(Default)]
pub(super) struct Log(Vec<Change>);

impl Log {
    /// A queue of a link has changed.
    #[inline(always)]
    pub(super) fn note(&mut self, link: LocalLink, queue: QueueId, at: Time, state: &PortState) {
        let (queue_bytes, port_bytes) = (state.queue_bytes(queue).get(), state.bytes().get());
        self.0.push(Change { at, queue_bytes, port_bytes, link, queue });
    }
}

/// Statistics of a shard's measured links.
#[derive(Default)]
pub(super) struct Measured {
    /// By link; shorter than there are links, or empty, where the last ones are not measured.
    ports: Vec<Option<QueueStats>>,
}

impl Measured {
    /// A link of so many queues is measured.
    pub(super) fn add(&mut self, link: LocalLink, queues: usize) {
        if self.ports.len() <= link.index() {
            self.ports.resize_with(link.index() + 1, || None);
        }
        self.ports[link.index()].get_or_insert_with(|| QueueStats::new(queues));
    }

    /// Counts what a log has, once that is much.
    #[inline(always)]
    pub(super) fn count_many(&mut self, log: &mut Log) {
        if log.0.len() >= LOT {
            self.count(log);
        }
    }

    /// Counts what a log has.
    #[inline(never)]
    pub(super) fn count(&mut self, log: &mut Log) {
        match self.ports.len() < CACHED {
            true => log.0.iter().for_each(|change| self.take(change)),
            false => self.count_ahead(log),
        }
        log.0.clear();
    }

    /// Counts what a log has, and fetches ahead.
    fn count_ahead(&mut self, log: &Log) {
        for (nth, change) in log.0.iter().enumerate() {
            // In two steps: where the queue's track is, is known only once the port is in the cache.
            if let Some(far) = log.0.get(nth + FAR)
                && let Some(port) = self.ports.get(far.link.index())
            {
                prefetch_lines(port, 2);
            }
            if let Some(near) = log.0.get(nth + NEAR)
                && let Some(Some(port)) = self.ports.get(near.link.index())
            {
                prefetch(port.track(near.queue));
            }
            self.take(change);
        }
    }

    #[inline(always)]
    fn take(&mut self, change: &Change) {
        if let Some(port) = &mut self.ports[change.link.index()] {
            port.change(change.at, change.queue, change.queue_bytes, change.port_bytes);
        }
    }

    /// The warm-up is over.
    pub(super) fn restart(&mut self, log: &mut Log, now: Time) {
        // Changes before the restart count before it.
        self.count(log);
        self.ports.iter_mut().flatten().for_each(|port| port.restart(now));
    }

    /// Each queue's lengths and a link's up to `now`, if it is measured.
    pub(super) fn lengths(
        &mut self,
        log: &mut Log,
        link: LocalLink,
        now: Time,
    ) -> Option<(Vec<Lengths>, Lengths)> {
        self.count(log);
        Some(self.ports.get_mut(link.index())?.as_mut()?.lengths(now))
    }
}
