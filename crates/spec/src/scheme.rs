//! The registry: every scheme by name, its seats, its parameters and its source.

mod afqcn;
mod cedm;
mod complete;
mod cqrd;
mod eecn;
mod mq_ecn;
pub mod python;
mod values;

pub use complete::Unfit;

use crate::param::{Param, ParamKind, Section};
use serde::Serialize;
use std::collections::BTreeMap;
use switchbed_qdisc::units::{Bytes, Rate, Span};

/// A scheme as a scenario asks for it, its parameters resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchemeChoice {
    /// A name of the registry.
    pub name: String,
    /// What plots and tables call it.
    pub label: String,
    /// Every parameter, those not given at their defaults; one without a default that
    /// is not given is absent.
    pub params: BTreeMap<String, Value>,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// A size.
    Bytes(Bytes),
    /// A time.
    Span(Span),
    /// A rate.
    Rate(Rate),
    /// A word or a text.
    Word(String),
    /// Several.
    List(Vec<Value>),
}

/// `[scheme]`.
pub const SECTION: Section = Section {
    name: "scheme",
    repeated: false,
    doc: "The queue-management scheme of every switch port.",
    keys: &[
        Param::required("name", ParamKind::Text, "A scheme of the registry."),
        Param::optional(
            "label",
            ParamKind::Text,
            "What plots and tables call it. Default: its name.",
        ),
        Param::optional("params", ParamKind::SchemeParams, "The scheme's own parameters."),
    ],
};

/// A scheme of the registry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemeInfo {
    /// Its paper's name for it, kebab-case.
    pub name: &'static str,
    /// The paper or RFC.
    pub paper: &'static str,
    /// The rule, in a line.
    pub summary: &'static str,
    /// Where in the paper.
    pub source: &'static str,
    /// Who sits in each seat: classifier, buffer, marker, scheduler, notifier; `any`
    /// where the scenario chooses.
    pub seats: [&'static str; 5],
    /// It reads the rounds or the weights of the scheduler, which a FIFO does not have.
    pub needs_rounds: bool,
    /// It reads the pool of the switch, which the scenario then must give.
    pub needs_pool: bool,
    /// Its parameters.
    pub params: &'static [Param],
}

const STANDARD_THRESHOLD: Param = Param::required(
    "threshold",
    ParamKind::Threshold,
    "The standard threshold C·RTT·λ. The field's for DCTCP: 65pkt at 10 Gbps, 20pkt at 1 Gbps.",
);
const MARK_AT: Param = Param::with_default(
    "mark_at",
    ParamKind::Word(&["enqueue", "dequeue"]),
    "enqueue",
    "Whether a packet is marked as it arrives or as it leaves.",
);

/// Every scheme, in the order that `switchbed schemes` prints.
const REGISTRY: &[SchemeInfo] = &[
    SchemeInfo {
        name: "none",
        paper: "",
        summary: "Nothing is marked: the buffer drops what does not fit.",
        source: "",
        seats: ["any", "any", "none", "any", "none"],
        needs_rounds: false,
        needs_pool: false,
        params: &[],
    },
    SchemeInfo {
        name: "per-queue",
        paper: "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010",
        summary: "Marks when the packet's queue is longer than the threshold.",
        source: "section 3.1; with a queue a service: Bai et al., NSDI 2016, section 2.2.1",
        seats: ["any", "any", "step on the queue", "any", "none"],
        needs_rounds: false,
        needs_pool: false,
        params: &[STANDARD_THRESHOLD, MARK_AT],
    },
    SchemeInfo {
        name: "per-queue-min",
        paper: "Bai et al., Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016",
        summary: "Marks when the packet's queue is longer than its quantum's share of the \
                  threshold.",
        source: "section 2.2.2",
        seats: ["any", "any", "step on the queue", "any", "none"],
        needs_rounds: false,
        needs_pool: false,
        params: &[STANDARD_THRESHOLD, MARK_AT],
    },
    SchemeInfo {
        name: "per-port",
        paper: "Bai et al., Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016",
        summary: "Marks when the port's queues together are longer than the threshold.",
        source: "section 2.2.3",
        seats: ["any", "any", "step on the port", "any", "none"],
        needs_rounds: false,
        needs_pool: false,
        params: &[STANDARD_THRESHOLD, MARK_AT],
    },
    SchemeInfo {
        name: "per-pool",
        paper: "Bai et al., Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016",
        summary: "Marks when all queues of the switch together are longer than the threshold.",
        source: "section 2.2.3",
        seats: ["any", "any", "step on the switch's pool", "any", "none"],
        needs_rounds: false,
        needs_pool: true,
        params: &[STANDARD_THRESHOLD, MARK_AT],
    },
    mq_ecn::MQ_ECN,
    SchemeInfo {
        name: "red",
        paper: "Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, \
                IEEE/ACM Transactions on Networking, 1993",
        summary: "Marks with a probability that rises with the queue's averaged length.",
        source: "sections 4 and 7; gentle: Floyd, Recommendation on using the gentle variant of \
                 RED, 2000",
        seats: ["any", "any", "RED on the queue", "any", "none"],
        needs_rounds: false,
        needs_pool: false,
        params: &[
            Param::optional(
                "kmin",
                ParamKind::Threshold,
                "Up to this average nothing is marked. Default: half of kmax.",
            ),
            Param::required(
                "kmax",
                ParamKind::Threshold,
                "At this average packets are marked with probability pmax, above it all are.",
            ),
            Param::with_default(
                "pmax",
                ParamKind::Number { min: 0.0, max: 1.0 },
                "0.1",
                "The probability of a mark at kmax.",
            ),
            Param::with_default(
                "weight",
                ParamKind::Number { min: 0.000_001, max: 1.0 },
                "0.002",
                "Weight of the present length in the average; 1 is the present length itself.",
            ),
            Param::with_default(
                "gentle",
                ParamKind::Flag,
                "false",
                "Above kmax the probability rises from pmax to 1 at twice kmax.",
            ),
            Param::with_default(
                "spacing",
                ParamKind::Word(&["uniform", "geometric"]),
                "uniform",
                "How marks are spread. uniform: evenly (section 7). geometric: each packet by \
                 itself, as chips do.",
            ),
            MARK_AT,
        ],
    },
    eecn::PER_QUEUE_DQ,
    cedm::CEDM,
    eecn::E_ECN,
    eecn::S_ECN,
    afqcn::QCN,
    afqcn::AFD,
    afqcn::AF_QCN,
    cqrd::OQ,
    cqrd::CQ,
    cqrd::CQRD,
    cqrd::CQRD_CONFIGURED,
    cqrd::HCF,
    python::PYTHON,
];

/// Every scheme.
pub fn schemes() -> &'static [SchemeInfo] {
    REGISTRY
}

/// The scheme called `name`.
pub fn find(name: &str) -> Option<&'static SchemeInfo> {
    REGISTRY.iter().find(|scheme| scheme.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unique() {
        for (i, scheme) in REGISTRY.iter().enumerate() {
            assert!(scheme.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
            assert!(REGISTRY[..i].iter().all(|other| other.name != scheme.name));
            assert_eq!(find(scheme.name), Some(scheme));
        }
    }
}
