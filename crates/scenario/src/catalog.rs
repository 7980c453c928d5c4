//! What the program has built in as JSON, for `switchbed schemes` and `switchbed sizes`.

use crate::mistake::list_of;
use serde_json::{Map, Value as Json, json};
use switchbed_qdisc::memory::chip::{CHIPS, Chip, Observed};
use switchbed_qdisc::switch::{POLICIES, PolicyInfo, SECTION};
use switchbed_spec::scheme::{SchemeInfo, schemes as registry};
use switchbed_spec::sizes::{BUILT_IN, BuiltIn};
use switchbed_spec::{Param, ParamKind};

/// Every scheme: its name, paper, rule, source, seats and parameters with what they
/// take, their defaults and meanings.
pub fn schemes() -> Json {
    registry().map(scheme).collect()
}

/// Every policy of a switch's memory, as [`schemes`] has schemes, and the key that chooses it.
pub fn policies() -> Json {
    POLICIES.iter().map(policy).collect()
}

fn policy(of: &PolicyInfo) -> Json {
    let keys = SECTION.keys.iter().filter(|param| of.keys.contains(&param.name));
    json!({
        "name": of.policy.word(),
        "key": "switch.policy",
        "paper": of.paper,
        "summary": of.summary,
        "source": of.source,
        "parameters": keys.map(parameter).collect::<Vec<_>>(),
    })
}

/// Every built-in flow-size table: its name, source, mean and percentiles in bytes.
pub fn sizes() -> Json {
    BUILT_IN.iter().map(size_table).collect()
}

/// The switch chips: what is known of each, and what its memory comes to in cells.
pub fn chips() -> Json {
    CHIPS.iter().map(chip).collect()
}

fn chip(chip: &Chip) -> Json {
    let observed = |&seen: &Observed| {
        let (what, groups) = match seen {
            Observed::Pause { groups, .. } => ("pause", Some(groups)),
            Observed::Drop { .. } => ("drop", None),
        };
        json!({
            "what": what,
            "groups": groups,
            "cells": seen.cells(),
            "modelled_cells": chip.modelled(seen),
        })
    };
    json!({
        "name": chip.name,
        "switch": chip.switch,
        "cell_bytes": chip.cell,
        "partitions": chip.partitions,
        "ports": chip.ports,
        "memory_bytes": chip.memory.0,
        "memory_is": chip.memory.1,
        "ingress_bytes": chip.ingress.size,
        "headroom_bytes": chip.ingress.xoff,
        "ingress_is_gross": chip.ingress.gross,
        "lossy_bytes": chip.lossy,
        "alpha_group_log2": chip.alpha_group,
        "alpha_queue_log2": chip.alpha_queue,
        "alpha_port_log2": chip.alpha_port,
        "queue_reserve_bytes": chip.queue_reserve,
        "group_reserve_bytes": chip.group_reserve,
        "ingress_cells": chip.ingress_cells(),
        "lossy_cells": chip.lossy_cells(),
        "queue_limit_cells": chip.queue_limit(),
        "pause_cells": chip.pause(1),
        "observed": chip.observed.iter().map(observed).collect::<Vec<_>>(),
        "source": chip.source,
        "note": chip.note,
    })
}

fn size_table(table: &BuiltIn) -> Json {
    let sizes = table.sizes();
    let percentiles: Map<String, Json> = [1, 10, 25, 50, 75, 90, 95, 99, 100]
        .into_iter()
        .map(|p| (format!("p{p}"), sizes.quantile(f64::from(p) / 100.0).get().into()))
        .collect();
    json!({
        "name": table.name,
        "source": table.source,
        "mean_bytes": sizes.mean_bytes,
        "drawn_mean_bytes": sizes.exact_mean(),
        "percentiles_bytes": percentiles,
        "points": sizes.points.iter().map(|&(size, p)| json!([size.get(), p])).collect::<Vec<_>>(),
    })
}

fn scheme(scheme: &SchemeInfo) -> Json {
    let [classifier, buffer, marker, scheduler, notifier] = scheme.seats;
    json!({
        "name": scheme.name,
        "paper": scheme.paper,
        "summary": scheme.summary,
        "source": scheme.source,
        "seats": {
            "classifier": classifier,
            "buffer": buffer,
            "marker": marker,
            "scheduler": scheduler,
            "notifier": notifier,
        },
        "parameters": scheme.params.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn parameter(param: &Param) -> Json {
    json!({
        "name": param.name,
        "takes": takes(&param.kind),
        "default": param.default,
        "required": param.required,
        "meaning": param.doc,
    })
}

/// A key as its readers want it: once for all the kinds that it means the same to.
pub(crate) struct Row {
    pub key: &'static Param,
    kinds: Vec<&'static str>,
}

impl Row {
    /// Its meaning, behind the kinds that have it.
    pub(crate) fn doc(&self) -> String {
        let (kinds, doc) = (self.kinds.join(", "), self.key.doc);
        match (doc.chars().next(), doc.chars().nth(1)) {
            _ if kinds.is_empty() => doc.to_owned(),
            (Some(first), Some('a'..='z' | ' ')) => {
                format!("{kinds}: {}{}", first.to_lowercase(), &doc[first.len_utf8()..])
            }
            _ => format!("{kinds}: {doc}"),
        }
    }
}

/// The keys of a table; those of one name together.
pub(crate) fn rows(keys: &'static [Param]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for key in keys {
        let kind = key.only.map(|(_, words)| words[0]);
        let same = |row: &&mut Row| Param { only: key.only, ..*row.key } == *key;
        if let Some(row) = rows.iter_mut().find(same) {
            row.kinds.extend(kind);
            continue;
        }
        let named = rows.iter().rposition(|row| row.key.name == key.name);
        let row = Row { key, kinds: kind.into_iter().collect() };
        rows.insert(named.map_or(rows.len(), |place| place + 1), row);
    }
    rows
}

/// What a parameter takes, with its unit.
pub(crate) fn takes(kind: &ParamKind) -> String {
    match *kind {
        ParamKind::Size | ParamKind::Threshold => "a size, such as 300KB or 65pkt".to_owned(),
        ParamKind::Time | ParamKind::Wait => "a time, such as 85.2us".to_owned(),
        ParamKind::Rate => "a rate, such as 10Gbps".to_owned(),
        ParamKind::Number { min, max } if max.is_finite() => {
            format!("a number from {min} to {max}")
        }
        ParamKind::Number { min, .. } => format!("a number, at least {min}"),
        ParamKind::Count { min, max } => format!("a whole number from {min} to {max}"),
        ParamKind::Packets => "a number of packets, such as 16pkt".to_owned(),
        ParamKind::Word(words) => list_of(words.iter().copied()),
        ParamKind::Flag => "true or false".to_owned(),
        ParamKind::Text => "a text".to_owned(),
        ParamKind::List(item) => format!("a list, each {}", takes(item)),
        ParamKind::Either(kinds) => kinds.iter().map(takes).collect::<Vec<_>>().join("; or "),
        ParamKind::Named(_, form) => takes(form),
        ParamKind::Table(_) | ParamKind::SchemeParams => "a table".to_owned(),
    }
}
