//! CEDM's entry, and its settings that follow from others.

use super::{SchemeChoice, SchemeInfo, Unfit, Value};
use crate::param::{Param, ParamKind};
use switchbed_qdisc::units::Bytes;

pub(super) const CEDM: SchemeInfo = SchemeInfo {
    name: "cedm",
    paper: "Shan and Ren, Improving ECN Marking Scheme with Micro-burst Traffic in Data Center \
            Networks, INFOCOM 2017",
    summary: "Marks packets as they arrive, and takes a mark back if the queue has fallen under \
              the threshold, or falls, as the packet leaves.",
    source: "section IV, algorithms 1 and 2, equation 31",
    seats: ["any", "any", "CEDM on the queue", "any", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::required(
            "k1",
            ParamKind::Threshold,
            "From here packets are marked unless the queue shrinks. The paper's at 10 Gbps: 10pkt \
             with DCTCP.",
        ),
        Param::optional(
            "k2",
            ParamKind::Threshold,
            "From here packets are marked and stay so. Default: k1 + (senders - 1) times burst.",
        ),
        Param::optional(
            "burst",
            ParamKind::Size,
            "What a sender sends back to back, for k2: with LSO min(64KB, a third of its window).",
        ),
        Param::with_default(
            "senders",
            ParamKind::Count { min: 2, max: 1_000_000 },
            "2",
            "Senders whose bursts meet, for k2 and w_s.",
        ),
        Param::optional(
            "w_s",
            ParamKind::Number { min: 0.000_001, max: 1.0 },
            "Weight of a new slope in the average. Default: 1 - senders^(-1/decrease), the most \
             that keeps the slope positive over decrease; 0.129 with senders = 2.",
        ),
        Param::with_default(
            "decrease",
            ParamKind::Count { min: 1, max: 1_000_000 },
            "5",
            "Packets that may leave with none arriving before the queue counts as shrinking, \
             for w_s.",
        ),
        Param::with_default(
            "header",
            ParamKind::Size,
            "66B",
            "The longest packet without payload, which is passed over: an ACK with three SACK \
             blocks.",
        ),
    ],
};

/// Section IV-C: K2 = K1 + (N − 1)·B and w_s = 1 − N^(−1/L), where they are not given.
pub(super) fn complete(choice: &mut SchemeChoice, limit: Bytes) -> Result<(), Unfit> {
    let (k1, senders) = (choice.bytes("k1"), choice.count("senders"));
    match (choice.size("k2"), choice.size("burst")) {
        (None, None) => return Err(Unfit::missing("k2")),
        (Some(k2), _) if k2 < k1 => {
            return Err(Unfit::new("k2", format!("it must not be under k1, {k1}")));
        }
        (Some(_), Some(_)) => {
            let why = "it is for k2, which is given: write one of them";
            return Err(Unfit::new("burst", why.to_owned()));
        }
        (Some(_), None) => {}
        (None, Some(burst)) => {
            let above = burst.get().saturating_mul(senders - 1);
            let k2 = Bytes::new(k1.get().saturating_add(above));
            if k2 > limit {
                let why = format!(
                    "k2 = k1 + (senders - 1) times burst comes to {k2}, over the buffer, {limit}, \
                     and so is never reached"
                );
                return Err(Unfit::new("burst", why));
            }
            choice.params.insert("k2".to_owned(), Value::Bytes(k2));
        }
    }
    if !choice.params.contains_key("w_s") {
        let power = -1.0 / choice.count("decrease") as f64;
        let weight = 1.0 - libm::pow(senders as f64, power);
        choice.params.insert("w_s".to_owned(), Value::Number(weight));
    }
    choice.forget(&["burst", "senders", "decrease"]);
    Ok(())
}
