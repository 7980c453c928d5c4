//! The timers that flows waited for: how often, and the percentiles that are such a wait.

use crate::flow::FlowRecord;
use crate::run::results::times;
use crate::simulation::Simulation;
use crate::transport::Wait;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use switchbed_scenario::Scenario;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_units::Time;

/// Waits that each timer ended, of the flows that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct WaitCounts {
    /// A lost SYN's, or that of a lost answer to one.
    pub syn: u64,
    /// The retransmission timer, or a tail loss probe's, before the first RTT sample: `rto_initial`.
    pub rto_initial: u64,
    /// The retransmission timer after that.
    pub rto: u64,
    /// Waits for a tail loss probe's timer.
    pub probe: u64,
    /// The receiver's, where its ACK was held back while the sender could send nothing.
    pub delayed_ack: u64,
}

impl WaitCounts {
    pub(crate) fn of(flows: &[&FlowRecord]) -> WaitCounts {
        let sum = |wait| flows.iter().map(|flow| u64::from(flow.waits.count(wait))).sum();
        WaitCounts {
            syn: sum(Wait::Syn),
            rto_initial: sum(Wait::RtoInitial),
            rto: sum(Wait::Rto),
            probe: sum(Wait::Probe),
            delayed_ack: sum(Wait::DelayedAck),
        }
    }
}

/// The percentiles that a summary prints.
const PRINTED: [(f64, &str); 4] =
    [(0.5, "median"), (0.95, "95th"), (0.99, "99th"), (0.999, "99.9th percentile")];

/// A wait of this part of a completion time makes it a timer's.
const MOST: f64 = 0.5;

/// Names the timers whose length a printed percentile is. No numbers of flows: runs of a comparison that
/// say the same say it once.
pub(crate) fn percentiles(
    scenario: &Scenario,
    simulation: &Simulation,
    flows: &[FlowRecord],
    warmed_at: Time,
) -> Vec<String> {
    let protocols = Protocols::of(scenario);
    let (small, large) = (scenario.measure.small.get(), scenario.measure.large.get());
    let mut ended: Vec<(&FlowRecord, f64)> = flows
        .iter()
        .filter(|flow| flow.start >= warmed_at && flow.size.is_some())
        .map(|flow| (flow, times(simulation, flow).0))
        .filter(|(_, fct)| !fct.is_nan())
        .collect();
    // In the order of `statistics`, so that `at` below names the very flow behind the printed
    // number.
    ended.sort_by(|a, b| a.1.total_cmp(&b.1));
    let classes = [
        ("all flows", 0..=u64::MAX),
        ("small flows", 0..=small),
        ("medium flows", small.saturating_add(1)..=large),
        ("large flows", large.saturating_add(1)..=u64::MAX),
    ];
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (name, class) in classes {
        let of_class =
            |flow: &FlowRecord| flow.size.is_some_and(|size| class.contains(&size.get()));
        let of: Vec<_> = ended.iter().filter(|(flow, _)| of_class(flow)).collect();
        // This class holds all flows: its percentiles are those said already.
        if of.len() == ended.len() && name != "all flows" {
            continue;
        }
        let mut by_timer: Vec<(String, Vec<&str>)> = Vec::new();
        for (p, percentile) in PRINTED {
            let at = (p * of.len() as f64) as usize;
            let Some((flow, fct)) = of.get(at) else { continue };
            let Some((wait, took)) = flow.waits.longest() else { continue };
            if took.as_secs_f64() < MOST * fct {
                continue;
            }
            let timer = timer(&protocols, flow, wait);
            match by_timer.iter_mut().find(|(of, _)| *of == timer) {
                Some((_, all)) => all.push(percentile),
                None => by_timer.push((timer, vec![percentile])),
            }
        }
        for (timer, percentiles) in by_timer {
            let of = format!("{name} ({})", percentiles.join(", "));
            match found.iter_mut().find(|(other, _)| *other == timer) {
                Some((_, all)) => all.push(of),
                None => found.push((timer, vec![of])),
            }
        }
    }
    let said = |(timer, of): (String, Vec<String>)| {
        format!("percentiles are mostly waits for a timer: of {}, for {timer}", of.join(", of "))
    };
    found.into_iter().map(said).collect()
}

/// A timer by the keys that set it.
fn timer(protocols: &Protocols, flow: &FlowRecord, wait: Wait) -> String {
    let of = protocols.section(flow.traffic, flow.class, flow.src);
    let t = match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
        Protocol::QueuePairs(roce) => return format!("{of}.rto, {}", roce.rto),
        Protocol::Transport(transport) => transport,
    };
    match wait {
        Wait::Syn => format!("a lost SYN, {of}.rto_initial, {}", t.rto_initial),
        Wait::RtoInitial => {
            format!("data without an RTT sample, {of}.rto_initial, {}", t.rto_initial)
        }
        Wait::Rto => format!("the retransmission timer, {of}.rto_min, {}", t.rto_min),
        Wait::Probe => format!(
            "a tail loss probe, two round trips and, of a lone packet, {of}.rto_min, {}",
            t.rto_min
        ),
        Wait::DelayedAck => format!("a delayed ACK, {of}.ack_delay, {}", t.ack_delay),
    }
}

/// Says how many flows failed, and what for.
pub(crate) fn failed(scenario: &Scenario, warmed_at: Time, flows: &[FlowRecord]) -> Option<String> {
    let counted: Vec<_> = flows.iter().filter(|flow| flow.start >= warmed_at).collect();
    let failed: Vec<_> = counted.iter().filter(|flow| flow.failed.is_some()).collect();
    let protocols = Protocols::of(scenario);
    let key = |flow: &&FlowRecord| {
        let of = protocols.section(flow.traffic, flow.class, flow.src);
        match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
            Protocol::QueuePairs(roce) => format!("{of}.give_up, {}", roce.give_up),
            Protocol::Transport(t) if flow.waits.count(Wait::Syn) > t.syn_linear_timeouts => {
                format!("{of}.syn_retries, {}", t.syn_retries)
            }
            Protocol::Transport(t) => format!("{of}.data_retries, {}", t.data_retries),
        }
    };
    let keys: BTreeSet<String> = failed.iter().map(|flow| key(flow)).collect();
    (!failed.is_empty()).then(|| {
        format!(
            "{} of {} flows failed: their connections gave up ({}); FCTs are of the others",
            failed.len(),
            counted.len(),
            keys.into_iter().collect::<Vec<_>>().join("; ")
        )
    })
}
