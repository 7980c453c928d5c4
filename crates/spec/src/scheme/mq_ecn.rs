//! MQ-ECN's entry, and which of its forms go together.

use super::{MARK_AT, STANDARD_THRESHOLD, SchemeChoice, SchemeInfo, Unfit, Value};
use crate::param::{Param, ParamKind};
use switchbed_qdisc::units::Span;

pub(super) const MQ_ECN: SchemeInfo = SchemeInfo {
    name: "mq-ecn",
    paper: "Bai et al., Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016",
    summary: "Marks when the packet's queue is longer than the threshold times the share of \
              the line rate that the queue's quantum gets in a round.",
    source: "equations 5 and 6, sections 3.3.1, 3.4 and 4.1",
    seats: ["any", "any", "step or RED on the queue, scaled by its share", "any", "none"],
    needs_rounds: true,
    needs_pool: false,
    params: &[
        STANDARD_THRESHOLD,
        Param::with_default(
            "beta",
            ParamKind::Number { min: 0.0, max: 1.0 },
            "0.75",
            "Weight of the old value when the round time is smoothed; below 1.",
        ),
        Param::optional(
            "t_idle",
            ParamKind::Time,
            "The round time decays by beta for every such time that the port is idle. \
             Default: the time of one MTU at the port's rate.",
        ),
        Param::with_default(
            "share",
            ParamKind::Word(&["rounds", "weights"]),
            "rounds",
            "What a queue's share is read off. rounds: the round time of wrr or dwrr. \
             weights: the smoothed sum of the weights of the queues that are not empty, as \
             an approximation for wfq.",
        ),
        Param::optional(
            "clock",
            ParamKind::Time,
            "The round time, or the sum of weights, is updated once in such a time, as \
             chips would, and t_idle does not apply. Default: with every sample.",
        ),
        Param::optional(
            "kmax",
            ParamKind::Threshold,
            "Makes marking probabilistic: above the threshold with a probability that \
             rises to pmax here, above it always. Both follow the share. Default: the \
             threshold.",
        ),
        Param::optional(
            "pmax",
            ParamKind::Number { min: 0.0, max: 1.0 },
            "The probability of a mark at kmax. Default: 0.1.",
        ),
        Param::with_default(
            "weight",
            ParamKind::Number { min: 0.000_001, max: 1.0 },
            "1",
            "Weight of the present queue length in the average that is compared; 1 is the \
             present length itself.",
        ),
        MARK_AT,
    ],
};

/// pmax belongs to kmax, t_idle to updates without a clock.
pub(super) fn complete(choice: &mut SchemeChoice) -> Result<(), Unfit> {
    let unfit = |param, why: &str| Err(Unfit::new(param, why.to_owned()));
    if choice.number("beta") == 1.0 {
        return unfit("beta", "the round time would never change: it must be below 1");
    }
    for time in ["t_idle", "clock"] {
        if choice.span(time) == Some(Span::ZERO) {
            return unfit(time, "it must be over 0");
        }
    }
    if choice.span("t_idle").is_some() && choice.span("clock").is_some() {
        return unfit("t_idle", "a clock sees by itself that the port is idle: leave it out");
    }
    let (threshold, given) = (choice.bytes("threshold"), choice.params.contains_key("pmax"));
    match choice.size("kmax") {
        None if given => return unfit("pmax", "it is the probability at kmax: write kmax too"),
        None => {}
        Some(kmax) if threshold > kmax => {
            return Err(Unfit::new("threshold", format!("it must not be over kmax, {kmax}")));
        }
        Some(_) if given => {}
        Some(_) => {
            choice.params.insert("pmax".to_owned(), Value::Number(0.1));
        }
    }
    Ok(())
}

impl SchemeChoice {
    /// Whether it reads the rounds of its discipline.
    pub fn reads_rounds(&self) -> bool {
        self.name == MQ_ECN.name && self.word("share") == "rounds"
    }
}
