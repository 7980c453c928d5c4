//! The timers that flows waited for, and connections that gave up.

use crate::flow::FlowRecord;
use crate::records::Records;
use crate::transport::Wait;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use switchbed_scenario::Scenario;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_units::Time;
use switchbed_units::ids::HostId;

/// Waits that each timer ended since the warm-up, of all flows.
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
    pub(crate) fn of(flows: impl Iterator<Item = FlowRecord>) -> WaitCounts {
        flows.fold(WaitCounts::default(), |sums, FlowRecord { waits, .. }| {
            let sum = |before, wait| before + u64::from(waits.count(wait));
            WaitCounts {
                syn: sum(sums.syn, Wait::Syn),
                rto_initial: sum(sums.rto_initial, Wait::RtoInitial),
                rto: sum(sums.rto, Wait::Rto),
                probe: sum(sums.probe, Wait::Probe),
                delayed_ack: sum(sums.delayed_ack, Wait::DelayedAck),
            }
        })
    }
}

/// Says how many flows failed, and what for, and whether all of them had an end that is `cut_off`.
pub(crate) fn failed(
    scenario: &Scenario,
    warmed_at: Time,
    flows: &Records,
    cut_off: impl Fn(HostId) -> bool,
) -> Option<(String, bool)> {
    let counted = || flows.iter().filter(|flow| flow.counts_since(warmed_at));
    let failed = || counted().filter(|flow| flow.failed.is_some());
    let protocols = Protocols::of(scenario);
    let waited = |flow: &FlowRecord, wait| flow.waits.count(wait) > 0;
    let waited_for_data =
        |flow: &FlowRecord| waited(flow, Wait::RtoInitial) || waited(flow, Wait::Rto);
    let key = |flow: &FlowRecord| {
        let of = protocols.section(flow.traffic, flow.class, flow.src);
        match protocols.between(flow.traffic, flow.class, (flow.src, flow.dst)) {
            Protocol::QueuePairs(roce) => format!("{of}.give_up, {}", roce.give_up),
            // Since the warm-up: of its SYNs it may have sent some before.
            Protocol::Transport(t) if waited(flow, Wait::Syn) && !waited_for_data(flow) => {
                format!("{of}.syn_retries, {}", t.syn_retries)
            }
            Protocol::Transport(t) => format!("{of}.data_retries, {}", t.data_retries),
        }
    };
    let keys: BTreeSet<String> = failed().map(|flow| key(&flow)).collect();
    (!keys.is_empty()).then(|| {
        let all = failed().count();
        let down = failed().filter(|flow| cut_off(flow.src) || cut_off(flow.dst)).count();
        let of_links = match down {
            0 => String::new(),
            _ if down == all => "; their hosts' links are down ([[event]])".to_owned(),
            _ => format!("; the hosts' links of {down} are down ([[event]])"),
        };
        let text = format!(
            "{all} of {} flows failed: their connections gave up ({}){of_links}; FCTs are of the others",
            counted().count(),
            keys.into_iter().collect::<Vec<_>>().join("; ")
        );
        (text, down == all)
    })
}
