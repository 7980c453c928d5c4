//! The entries of what the E-ECN paper compares, beside those that others have defined.

use super::{STANDARD_THRESHOLD, SchemeChoice, SchemeInfo, Unfit, Value};
use crate::param::{Param, ParamKind};
use switchbed_qdisc::units::Span;

const PAPER: &str = "Wang, Han, Zhuang, Xue, Sun, Lu, Early Marking for Controllable Maximum Queue \
                     Length in Data Center Networks";

const T_I: Param = Param::optional(
    "t_i",
    ParamKind::Time,
    "The window over which the queue's growth is taken. Default: t_i_packets packets' times. \
     Under one the growth means nothing (equation 3).",
);
const T_I_PACKETS: Param = Param::with_default(
    "t_i_packets",
    ParamKind::Number { min: 0.001, max: 1_000_000.0 },
    "1.25",
    "t_i in times of one MTU at the port's rate. The paper's: 1.1 to 1.5.",
);

pub(super) const PER_QUEUE_DQ: SchemeInfo = SchemeInfo {
    name: "per-queue-dq",
    paper: "Wu, Ju, Lu, Guo, Xiong, Zhang, Tuning ECN for Data Center Networks, CoNEXT 2012",
    summary: "Marks a packet as it leaves when its queue is longer than the threshold then.",
    source: "dequeue marking; +dq in Wang et al., section IV-C",
    seats: ["any", "any", "step on the queue, at dequeue", "any", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[STANDARD_THRESHOLD],
};

pub(super) const E_ECN: SchemeInfo = SchemeInfo {
    name: "e-ecn",
    paper: PAPER,
    summary: "Marks when the queue's length, carried forward by its growth, reaches the threshold.",
    source: "section III-A, algorithm 1",
    seats: ["any", "any", "E-ECN on the queue", "any", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::required(
            "threshold",
            ParamKind::Threshold,
            "What the queue shall not grow over. The paper's: 60pkt at 10 Gbps.",
        ),
        T_I,
        T_I_PACKETS,
        Param::optional(
            "t_a",
            ParamKind::Time,
            "How far ahead it looks. Default: t_a_rtts times base_rtt; one of t_a and base_rtt \
             must be given.",
        ),
        Param::optional(
            "base_rtt",
            ParamKind::Time,
            "The round-trip time of the empty network, for t_a.",
        ),
        Param::with_default(
            "t_a_rtts",
            ParamKind::Number { min: 0.001, max: 1000.0 },
            "3",
            "t_a in base RTTs. The paper's: 1 to 5.",
        ),
    ],
};

pub(super) const S_ECN: SchemeInfo = SchemeInfo {
    name: "s-ecn",
    paper: PAPER,
    summary: "Marks with a probability that is linear in the queue's growth, whatever its length.",
    source: "section II-A, which leaves the slope open",
    seats: ["any", "any", "S-ECN on the queue", "any", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::optional(
            "slope",
            ParamKind::Rate,
            "The growth at which every packet is marked. Default: the port's rate.",
        ),
        T_I,
        T_I_PACKETS,
    ],
};

/// Section III-C: T_a in base RTTs, where it is not given as a time.
pub(super) fn complete(choice: &mut SchemeChoice) -> Result<(), Unfit> {
    match (choice.span("t_a"), choice.span("base_rtt")) {
        (None, None) => return Err(Unfit::missing("t_a")),
        (Some(_), Some(_)) => {
            let why = "it is for t_a, which is given: write one of them";
            return Err(Unfit::new("base_rtt", why.to_owned()));
        }
        (Some(_), None) => {}
        (None, Some(rtt)) => {
            let ahead = Span::from_secs_f64(rtt.as_secs_f64() * choice.number("t_a_rtts"));
            choice.params.insert("t_a".to_owned(), Value::Span(ahead));
        }
    }
    choice.forget(&["base_rtt", "t_a_rtts"]);
    Ok(())
}
