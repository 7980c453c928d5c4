//! Runs that would never end: flows are under way, and nothing is delivered.
//!
//! A look every so often compares what has been delivered with what had been at the look before. The
//! time between two looks is the longest that a sender of the run keeps trying without an answer, so a
//! run stops after once to twice that time. A run with `run.until` ends anyway.

use crate::ids::LinkId;
use crate::network::Network;
use crate::observe::observer::Observed;
use crate::ports::PortInfo;
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::{PortState, QueueId};
use switchbed_scenario::event::{Change, LinkChange};
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::roce::RETRIES;
use switchbed_scenario::{Scenario, Transport};
use switchbed_units::{Bytes, Span, Time};

/// Retransmissions of data and of a SYN before Linux gives up: `tcp_retries2` and `tcp_syn_retries`
/// (Documentation/networking/ip-sysctl.rst).
const TCP_RETRIES: [u32; 2] = [15, 6];

/// Why nothing is delivered at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Packets are dropped.
    Drops(DropReason),
    /// The peer has paused the queue.
    Held,
    /// The line is down.
    Down,
}

/// A run that stopped since nothing was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Nothing was delivered for so long.
    pub lasted: Span,
    /// The port that refuses most, its queue and why, if one does.
    pub by: Option<(LinkId, QueueId, Refusal)>,
}

/// Counts of progress as of the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    started: u64,
    ended: u64,
    arrived: u64,
    probes: usize,
}

/// Looks for a stall.
pub(crate) struct Stalls {
    every: Span,
    next: Time,
    before: Progress,
    /// Packets dropped by each port up to the last look.
    dropped: Vec<u64>,
    found: Option<Stall>,
}

/// Packets' times on the slowest line that a look waits for at least: what is on its way counts as
/// delivered only at its end.
const PACKETS: u64 = 64;

/// How long a sender of a scenario keeps trying without an answer.
fn patience(scenario: &Scenario) -> Span {
    let backoff = |t: &Transport, first: Span, times: u32| {
        // Linux doubles the timeout with each retry, up to TCP_RTO_MAX.
        let each = (0..=times).map(|nth| (first * (1 << nth)).min(t.rto_max));
        each.fold(Span::ZERO, |sum, wait| sum + wait)
    };
    let each = |protocol: &Protocol| match protocol {
        Protocol::Transport(t) => {
            let data = backoff(t, t.rto_min, TCP_RETRIES[0]);
            data.max(backoff(t, t.rto_initial, TCP_RETRIES[1]))
        }
        // A queue pair fails at the first timeout after it has tried long enough.
        Protocol::QueuePairs(roce) => {
            (roce.rto * u64::from(RETRIES + 1)).max(roce.give_up + roce.rto)
        }
    };
    Protocols::of(scenario).all().iter().map(each).max().unwrap_or(Span::ZERO)
}

impl Stalls {
    /// Makes the search for a scenario without an end of its own, and its ports.
    pub(crate) fn new(scenario: &Scenario, ports: &[PortInfo]) -> Option<Stalls> {
        let changed = scenario.event.iter().filter_map(|event| match event.change {
            Change::Rate { rate, .. }
            | Change::OfLink { what: LinkChange::Rate { rate, .. }, .. } => Some(rate),
            _ => None,
        });
        let slowest = ports.iter().map(|port| port.cable.rate).chain(changed).min()?;
        let packet = slowest.tx_time(scenario.host.mtu().get() as u32);
        // On a very slow line one packet can take longer than all the retries.
        let every = patience(scenario).max(packet * PACKETS);
        scenario.run.until.is_none().then(|| Stalls {
            every,
            next: Time::ZERO + every,
            before: Progress::default(),
            dropped: Vec::new(),
            found: None,
        })
    }

    /// Looks after this long, and so long after each look.
    #[cfg(test)]
    pub(crate) fn look_after(&mut self, every: Span) {
        (self.every, self.next) = (every, Time::ZERO + every);
    }

    /// When it looks next.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The one that was found.
    pub(crate) fn found(&self) -> Option<&Stall> {
        self.found.as_ref()
    }

    /// Looks at a network in which so many flows have started and ended, the last one started at a time;
    /// `changes`: something will still change it. Whether nothing has been delivered since the last look.
    pub(crate) fn look(
        &mut self,
        network: &Network,
        (started, ended, last_start): (u64, u64, Time),
        changes: bool,
    ) -> bool {
        let now = self.next;
        // Where a change or a flow is still to come, silence is no stall.
        let idle = !changes && last_start + self.every <= now;
        self.next = now + self.every;
        let arrived = network.arriving().values().map(|bytes| bytes.get()).sum();
        let probes = network.probes().iter().filter(|probe| probe.rtt.is_some()).count();
        let progress = Progress { started, ended, arrived, probes };
        // Probes beyond the table's end are not counted: their number stands still without a stall.
        let full = network.probes_full_at().is_some();
        if idle && !full && network.running() > 0 && progress == self.before {
            let by = refuses(network, &self.dropped, now);
            self.found = Some(Stall { lasted: self.every, by });
        }
        self.before = progress;
        let dropped = |link| network.port(link).state().counters().dropped();
        self.dropped = network.links().map(dropped).collect();
        self.found.is_some()
    }
}

/// The port that has dropped most beyond what each had `before`; else one that is held or down with
/// packets. With its queue.
pub(crate) fn refuses(
    network: &Network,
    before: &[u64],
    now: Time,
) -> Option<(LinkId, QueueId, Refusal)> {
    let drops = |link: LinkId| {
        let before = before.get(link.index()).copied().unwrap_or(0);
        network.port(link).state().counters().dropped() - before
    };
    // Of several, the first.
    let most = network.links().rev().max_by_key(|&link| drops(link))?;
    if drops(most) > 0
        && let Some((queue, why)) = network.port(most).state().last_drop()
    {
        // A line that is down leaves no space, whatever the rule.
        let why = if network.is_up(most) { Refusal::Drops(why) } else { Refusal::Down };
        return Some((most, queue, why));
    }
    let waiting = |link: LinkId| {
        let state: &PortState = network.port(link).state();
        let queues: Vec<QueueId> = (0..state.queues() as QueueId)
            .filter(|&queue| state.queue_packets(queue) > 0)
            .collect();
        let held = |&queue: &QueueId| state.held_since(queue, now).is_some();
        let down = !network.is_up(link);
        let held = queues.iter().copied().find(held).map(|queue| (link, queue, Refusal::Held));
        let down = queues.first().filter(|_| down).map(|&queue| (link, queue, Refusal::Down));
        let bytes: Bytes = state.bytes();
        held.or(down).map(|by| (bytes, by))
    };
    let waiting = network.links().rev().filter_map(waiting);
    waiting.max_by_key(|&(bytes, _)| bytes).map(|(_, by)| by)
}
