//! A switch port's classifier, scheduler and buffer; the marker and whatever else is
//! the scheme's own comes from [`crate::scheme`].

use serde::Serialize;
use switchbed_qdisc::units::Bytes;

/// Every switch port of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Switch {
    /// Queues of a port, 1 to [`switchbed_qdisc::MAX_QUEUES`].
    pub queues: u16,
    /// Which queue a packet joins.
    pub classify: Classify,
    /// Who goes next among the queues below the strict-priority ones.
    pub discipline: Discipline,
    /// How many of the first queues are strict-priority queues above the rest
    /// (queue 0 first).
    pub strict: u16,
    /// Each queue's quantum (round-robin disciplines) or weight × 1 byte (others).
    pub quantum: Vec<Bytes>,
    /// A port's packet memory.
    pub buffer: Bytes,
    /// How the queues share it.
    pub policy: BufferPolicy,
}

/// Classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Classify {
    /// Everything into queue 0.
    Single,
    /// By the packet's class (DSCP): class modulo the number of queues.
    Class,
    /// By the port that the packet came in on (crosspoint queues).
    Ingress,
    /// By a hash of the flow.
    Hash,
}

/// Scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Discipline {
    /// First come first served over all queues.
    Fifo,
    /// A packet from each queue in turn.
    RoundRobin,
    /// Weighted round robin with a byte quantum; the deficit is dropped when a service ends.
    Wrr,
    /// Deficit weighted round robin (Shreedhar and Varghese 1996).
    Dwrr,
}

/// Buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum BufferPolicy {
    /// All queues share the port's memory, first come first served; tail drop.
    Shared,
    /// Every queue has an equal part of its own; tail drop.
    Static,
}
