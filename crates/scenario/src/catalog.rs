//! Built-in lists as JSON, for `switchbed schemes` and `switchbed sizes`.

use crate::scheme::{SchemeInfo, schemes as registry};
use crate::sizes::{BUILT_IN, BuiltIn};
use serde_json::{Map, Value as Json, json};
use switchbed_config::param::{Param, Params, Value, defaults};
use switchbed_config::takes;
use switchbed_qdisc::memory::chip::{CHIPS, Chip, Observed};
use switchbed_qdisc::memory::pfc::{Input, Pfc};
use switchbed_qdisc::schemes::definition::Equivalents;
use switchbed_qdisc::switch::{POLICIES, PolicyInfo, SECTION};
use switchbed_units::{Bytes, Rate, Span};

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
pub fn size_tables() -> Json {
    BUILT_IN.iter().map(size_table).collect()
}

/// A link whose headroom is asked for, and what travels there.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Rate in bits per second.
    pub rate_bps: u64,
    /// Delay of the cable, one way, in picoseconds.
    pub delay_ps: u64,
    /// From the packet that crosses a threshold to the pause frame, in picoseconds.
    pub pipeline_ps: u64,
    /// The peer's response in picoseconds; `None`: the standard's.
    pub response_ps: Option<u64>,
    /// The longest packet in bytes.
    pub mtu: u64,
    /// The shortest packet in bytes.
    pub shortest: u64,
    /// A cell in bytes.
    pub cell: u32,
}

/// The bytes that still come in on a link after a pause, by term, and the cells that they may fill.
pub fn headroom(asked: &Asked) -> Json {
    // The defaults of all other keys; priorities have none, and play no part in headroom.
    let mut values = defaults(Pfc::TABLE);
    values.insert(Pfc::KEY.priorities.to_owned(), Value::List(Vec::new()));
    let pfc = Pfc {
        pipeline: Span::from_ps(asked.pipeline_ps),
        response: asked.response_ps.map(Span::from_ps),
        ..Pfc::from_values(&mut values)
    };
    let (rate, delay) = (Rate::from_bps(asked.rate_bps), Span::from_ps(asked.delay_ps));
    let input = Input { rate, delay, host: Span::ZERO };
    let (mtu, shortest) = (Bytes::new(asked.mtu), Bytes::new(asked.shortest));
    json!({
        "terms": pfc.headroom_terms(input, mtu).map(|(term, bytes)| json!([term, bytes.get()])),
        "cells": pfc.headroom_cells(input, mtu, shortest, asked.cell),
    })
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
        "models": chip.models,
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
    let Equivalents { main, compared, by_quantum, tc, wred, no_wred, nearest } = scheme.equivalents;
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
        "main": main,
        "compared": compared.word(),
        "by_quantum": by_quantum,
        "tc": tc,
        "wred": wred,
        "no_wred": no_wred,
        "nearest": nearest,
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
