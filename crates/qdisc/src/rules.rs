//! Rules that one queue of a port may have and another not, beside its scheme and its quantum.

use crate::QueueId;
use crate::port::set::QueueSet;
use crate::switch::{Classify, Switch, Unmarkable};
use serde::Serialize;
use switchbed_units::Bytes;

/// Rules of one queue. [`Switch::queue`] has them for all queues where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueRules {
    /// Strict priority over queues that have none; among several [`Switch::strict_order`] decides.
    pub strict: bool,
    /// Fate of arrivals that are to be marked and are not ECN-capable.
    pub unmarkable: Unmarkable,
    /// α of the queue, where the policy has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Memory that it has for itself, of a chip's or a pool's. `None`: the chip's own reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Bytes>,
    /// The most that it may hold, whatever is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
}

impl Switch {
    /// The queue of a class's packets; where packets are not queued by class, the first.
    pub fn queue_of(&self, class: u8) -> usize {
        match self.classify {
            Classify::Class => usize::from(class) % usize::from(self.queues),
            Classify::Single | Classify::Ingress | Classify::Hash => 0,
        }
    }

    /// The rules of a queue.
    pub fn rules(&self, queue: usize) -> QueueRules {
        self.queue.get(queue).copied().unwrap_or(QueueRules {
            strict: queue < usize::from(self.strict),
            unmarkable: self.unmarkable,
            alpha: self.alpha,
            reserve: None,
            limit: None,
        })
    }

    /// The queues with strict priority.
    pub fn strict_queues(&self) -> QueueSet {
        self.queues_with(|rules| rules.strict)
    }

    /// The queues whose arrivals go on where they are to be marked and cannot be.
    pub fn passing_unmarkable(&self) -> QueueSet {
        self.queues_with(|rules| rules.unmarkable == Unmarkable::Pass)
    }

    fn queues_with(&self, has: impl Fn(&QueueRules) -> bool) -> QueueSet {
        let mut set = QueueSet::EMPTY;
        let queues = 0..usize::from(self.queues);
        let with = queues.filter(|&queue| has(&self.rules(queue)));
        with.for_each(|queue| set.insert(queue as QueueId));
        set
    }

    /// Each queue's α, or another that the policy has.
    pub(crate) fn alphas(&self, otherwise: f64) -> Box<[f64]> {
        let queues = 0..usize::from(self.queues);
        queues.map(|queue| self.rules(queue).alpha.unwrap_or(otherwise)).collect()
    }
}
