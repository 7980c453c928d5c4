//! The parameters of QCN, AF-QCN and AFD as their settings.

use crate::scheme::{SchemeChoice, Value};
use switchbed_qdisc::fairness::{Party, Share, Shares};
use switchbed_qdisc::marker::AfdSettings;
use switchbed_qdisc::notifier::{AfQcnSettings, QcnSettings, Rounding};

pub(super) fn qcn(scheme: &SchemeChoice) -> QcnSettings {
    QcnSettings {
        set_point: scheme.bytes("q_eq"),
        weight: scheme.number("w"),
        jitter: scheme.number("jitter"),
    }
}

pub(super) fn af_qcn(scheme: &SchemeChoice) -> AfQcnSettings {
    AfQcnSettings {
        qcn: qcn(scheme),
        alpha: scheme.number("alpha"),
        interval: scheme.span("t_s").expect("resolved"),
        beta: scheme.number("beta"),
        active_threshold: scheme.bytes("active_threshold"),
        party: party(scheme),
        shares: shares(scheme),
        signed: scheme.flag("signed"),
        rounding: match scheme.word("rounding") {
            "down" => Rounding::Down,
            "up" => Rounding::Up,
            _ => Rounding::Nearest,
        },
    }
}

pub(super) fn afd(scheme: &SchemeChoice) -> AfdSettings {
    AfdSettings {
        reference: scheme.bytes("q_ref"),
        interval: scheme.span("t_s").expect("resolved"),
        a1: scheme.number("a1"),
        a2: scheme.number("a2"),
        beta: scheme.number("beta"),
        party: party(scheme),
        shares: shares(scheme),
        marks: scheme.flag("ecn"),
    }
}

fn party(scheme: &SchemeChoice) -> Party {
    match scheme.word("by") {
        "class" => Party::Class,
        _ => Party::Flow,
    }
}

/// The classes' weights and caps: two lists, of which either may be the longer.
pub fn shares(scheme: &SchemeChoice) -> Shares {
    let (weights, caps) = (scheme.list("weights"), scheme.list("max"));
    let share = |class: usize| Share {
        weight: match weights.get(class) {
            Some(&Value::Number(weight)) => weight,
            _ => 1.0,
        },
        cap: match caps.get(class) {
            Some(&Value::Rate(cap)) => Some(cap),
            _ => None,
        },
    };
    Shares::new((0..weights.len().max(caps.len())).map(share).collect())
}
