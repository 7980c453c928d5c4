//! A switch port's classifier, scheduler and buffer; the marker and whatever else is
//! the scheme's own comes from [`crate::scheme`].

use crate::param::{Param, ParamKind, Section};
use serde::{Serialize, Serializer};
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
    #[serde(serialize_with = "one_or_each")]
    pub quantum: Vec<Bytes>,
    /// A port's packet memory; with `memory` that of the ports with the least.
    pub buffer: Bytes,
    /// The memory of a whole switch, in equal parts for its ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// How the queues share it.
    pub policy: BufferPolicy,
    /// The memory that all ports of a switch share, where the policy or the scheme reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Bytes>,
    /// Dynamic thresholds' α.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

/// `[switch]`.
pub const SECTION: Section = Section {
    name: "switch",
    repeated: false,
    doc: "Queues, scheduler and buffer of every switch port.",
    keys: &[
        Param::with_default(
            "queues",
            ParamKind::Count { min: 1, max: switchbed_qdisc::MAX_QUEUES as u64 },
            "1",
            "Queues of a port.",
        ),
        Param::with_default(
            "classify",
            ParamKind::Word(&["single", "class", "ingress", "hash"]),
            "class",
            "Which queue a packet joins. single: queue 0. class: by its class (DSCP). \
             ingress: by the port it came in on. hash: by a hash of its flow.",
        ),
        Param::with_default(
            "discipline",
            ParamKind::Word(&["fifo", "round-robin", "wrr", "dwrr", "wfq"]),
            "dwrr",
            "Who goes next. fifo: first come first served over all queues. round-robin: a \
             packet from each queue in turn. wrr: weighted round robin with a byte quantum, \
             the deficit dropped when a service ends. dwrr: deficit weighted round robin. wfq: \
             weighted fair queueing, self-clocked (Golestani 1994), weights from the quanta.",
        ),
        Param::with_default(
            "strict",
            ParamKind::Count { min: 0, max: switchbed_qdisc::MAX_QUEUES as u64 },
            "0",
            "How many of the first queues have strict priority over the rest, queue 0 first.",
        ),
        Param::with_default(
            "quantum",
            ParamKind::Either(&[ParamKind::Size, ParamKind::List(&ParamKind::Size)]),
            "1pkt",
            "Bytes that a queue may send in a round, and its weight for schemes that need \
             one: one for all queues, or a list with one for each.",
        ),
        Param::optional(
            "buffer",
            ParamKind::Size,
            "A port's packet memory. This or memory must be given.",
        ),
        Param::optional(
            "memory",
            ParamKind::Size,
            "The packet memory of a whole switch, in equal parts for its ports.",
        ),
        Param::with_default(
            "policy",
            ParamKind::Word(&["shared", "static", "dynamic"]),
            "shared",
            "How the queues share the memory. shared: the port's, first come first served. \
             static: an equal part of the port's for each. dynamic: a queue may hold alpha times \
             what the switch's pool has left (Choudhury and Hahne 1998). All drop what does not \
             fit.",
        ),
        Param::optional(
            "pool",
            ParamKind::Size,
            "The memory that all ports of a switch share: for policy = \"dynamic\" and for \
             per-pool marking. A host's card counts as a switch of its own.",
        ),
        Param::optional(
            "alpha",
            ParamKind::Number { min: 0.001, max: 1000.0 },
            "dynamic: a queue's part of the free pool. Default: 1.",
        ),
    ],
};

impl Switch {
    /// The packet memory of a port of a switch of so many ports.
    pub fn port_memory(&self, ports: u32) -> Bytes {
        self.memory.map_or(self.buffer, |memory| Bytes::new(memory.get() / u64::from(ports)))
    }

    /// As a port of a switch of so many ports has it.
    pub(crate) fn of_ports(&self, ports: u32) -> Switch {
        Switch { buffer: self.port_memory(ports), memory: None, ..self.clone() }
    }
}

/// What all queues have alike once, else a list.
fn one_or_each<S: Serializer>(each: &[Bytes], serializer: S) -> Result<S::Ok, S::Error> {
    match each {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            first.serialize(serializer)
        }
        _ => each.serialize(serializer),
    }
}

/// Classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// First come first served over all queues.
    Fifo,
    /// A packet from each queue in turn.
    RoundRobin,
    /// Weighted round robin with a byte quantum; the deficit is dropped when a service ends.
    Wrr,
    /// Deficit weighted round robin (Shreedhar and Varghese 1996).
    Dwrr,
    /// Weighted fair queueing, self-clocked (Golestani 1994).
    Wfq,
}

/// Buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPolicy {
    /// All queues share the port's memory, first come first served; tail drop.
    Shared,
    /// Every queue has an equal part of its own; tail drop.
    Static,
    /// A queue may hold α times what the switch's pool has left; tail drop.
    Dynamic,
}
