//! The entries of QCN, AFD and AF-QCN.

use super::{SchemeChoice, SchemeInfo, Unfit};
use crate::param::{Param, ParamKind};
use switchbed_qdisc::units::{Bytes, Span};

const PAPER: &str = "Kabbani, Alizadeh, Yasuda, Pan and Prabhakar, AF-QCN: Approximate Fairness \
                     with Quantized Congestion Notification for Multi-tenanted Data Centers, Hot \
                     Interconnects 2010";
const POSITIVE: ParamKind = ParamKind::Number { min: 0.000_001, max: f64::INFINITY };
const PORTION: ParamKind = ParamKind::Number { min: 0.000_001, max: 1.0 };

const Q_EQ: Param = Param::with_default(
    "q_eq",
    ParamKind::Size,
    "26KB",
    "The queue length that it steers to, Q_eq. The standard's; the task group's simulations \
     have 33KB.",
);
const W: Param = Param::with_default(
    "w",
    ParamKind::Number { min: 0.0, max: 1_000.0 },
    "2",
    "Weight of the queue's growth since the last sample.",
);
const JITTER: Param = Param::with_default(
    "jitter",
    ParamKind::Number { min: 0.0, max: 0.99 },
    "0.15",
    "How much a sampling period varies to either side, as a fraction of it.",
);
const PARTY: Param = Param::with_default(
    "by",
    ParamKind::Word(&["flow", "class"]),
    "flow",
    "Whose traffic is counted together: a flow's, or a class's (a tenant's).",
);
const WEIGHTS: Param = Param::with_default(
    "weights",
    ParamKind::List(&POSITIVE),
    "[]",
    "Weights of the classes 0, 1, …; a flow has its class's. Default: 1.",
);
const MAX: Param = Param::with_default(
    "max",
    ParamKind::List(&ParamKind::Rate),
    "[]",
    "The most that the classes 0, 1, … may have; a flow has its class's. Default: no cap.",
);
const T_S: Param = Param::with_default(
    "t_s",
    ParamKind::Time,
    "1ms",
    "The interval over which arrivals are measured, T_s.",
);

pub(super) const QCN: SchemeInfo = SchemeInfo {
    name: "qcn",
    paper: "IEEE 802.1Qau-2010; Alizadeh et al., Data Center Transport Mechanisms, Allerton 2008",
    summary: "Samples packets and tells their sources how far the queue is over its set point, \
              and how fast it grows.",
    source: "section 3.1; AF-QCN, section II-A, equation 1",
    seats: ["any", "any", "none", "any", "QCN's congestion point on the queue"],
    needs_rounds: false,
    needs_pool: false,
    params: &[Q_EQ, W, JITTER],
};

pub(super) const AFD: SchemeInfo = SchemeInfo {
    name: "afd",
    paper: "Pan, Breslau, Prabhakar and Shenker, Approximate Fairness through Differential \
            Dropping, CCR 2003",
    summary: "Drops or marks packets of flows that send over the fair share, which follows the \
              queue's length.",
    source: "AF-QCN, section II-B, equations 2 and 3",
    seats: ["any", "any", "AFD on the queue", "any", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::required(
            "q_ref",
            ParamKind::Threshold,
            "The queue length that it steers to, Q_ref.",
        ),
        T_S,
        Param::with_default(
            "a1",
            ParamKind::Number { min: 0.0, max: 1_000.0 },
            "1.8",
            "Weight of the present length's distance from q_ref.",
        ),
        Param::with_default(
            "a2",
            ParamKind::Number { min: 0.0, max: 1_000.0 },
            "1.7",
            "Weight of the distance an interval ago.",
        ),
        Param::with_default(
            "beta",
            PORTION,
            "1",
            "Weight of a new interval in the smoothed arrivals; 1: it alone.",
        ),
        PARTY,
        WEIGHTS,
        MAX,
        Param::with_default(
            "ecn",
            ParamKind::Flag,
            "false",
            "ECN-capable packets are marked instead of dropped.",
        ),
    ],
};

pub(super) const AF_QCN: SchemeInfo = SchemeInfo {
    name: "af-qcn",
    paper: PAPER,
    summary: "QCN whose message is the stronger, the more the packet's flow has over its \
              weighted max-min share.",
    source: "section III, equations 4 to 8",
    seats: ["any", "any", "none", "any", "AF-QCN's congestion point on the queue"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Q_EQ,
        W,
        JITTER,
        Param::with_default(
            "alpha",
            ParamKind::Number { min: 0.0, max: 1.0 },
            "0.125",
            "The fairness controller's part in the message; the paper keeps to 0.25 at most.",
        ),
        T_S,
        Param::with_default(
            "beta",
            PORTION,
            "0.125",
            "Weight of a new interval in the smoothed arrivals.",
        ),
        Param::with_default(
            "active_threshold",
            ParamKind::Size,
            "20KB",
            "Only who sends more than this in an interval has a share.",
        ),
        PARTY,
        WEIGHTS,
        MAX,
        Param::with_default(
            "signed",
            ParamKind::Flag,
            "true",
            "QCN's measure may be negative in equation 4, and then outweigh unfairness; \
             otherwise it is at least 0.",
        ),
        Param::with_default(
            "rounding",
            ParamKind::Word(&["nearest", "down", "up"]),
            "nearest",
            "How equation 4's value becomes a whole number. down: QCN's 1 alone vanishes.",
        ),
    ],
};

/// Lengths and times that the rules divide by.
pub(super) fn check(choice: &SchemeChoice) -> Result<(), Unfit> {
    let has = |name: &str| choice.params.contains_key(name);
    if has("q_eq") && choice.size("q_eq") == Some(Bytes::ZERO) {
        return Err(Unfit::new("q_eq", "it must be over 0, such as 26KB".to_owned()));
    }
    if has("t_s") && choice.span("t_s") == Some(Span::ZERO) {
        return Err(Unfit::new("t_s", "it must be over 0, such as 1ms".to_owned()));
    }
    Ok(())
}
