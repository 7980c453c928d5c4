//! Deadlocks of lossless classes: paused queues that wait for each other in a circle.
//!
//! A queue that is held waits for those behind its peer in which packets of it wait: they fill the group
//! that holds it. It is stuck if all of these queues are stuck. What is left when every queue that is not
//! stuck is taken away waits for nothing else, and has circles. One whose queues have all been held
//! without a break for `switch.pfc.deadlock_time` is a deadlock.

use crate::ids::LinkId;
use crate::network::Network;
use crate::observe::observer::Observed;
use crate::ports::PortInfo;
use crate::table::{Table, Values};
use crate::topology::Node;
use std::collections::{BTreeMap, BTreeSet};
use switchbed_qdisc::memory::pfc::Pfc;
use switchbed_units::{Span, Time};

/// How many deadlocks a run remembers.
const MOST_FOUND: usize = 10_000;

/// A port's queue, by its class.
type Queue = (LinkId, u8);

/// Queues that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When the last of them was held.
    pub formed: Time,
    /// When it was found.
    pub found: Time,
    /// When the first of them was let go, if one was.
    pub broken: Option<Time>,
    /// Each queue, since when it is held, and its bytes: each waits for the next, the last for the first.
    pub cycle: Vec<(LinkId, u8, Time, u64)>,
}

/// Looks for deadlocks.
pub(crate) struct Deadlocks {
    time: Span,
    classes: Vec<u8>,
    /// Each switch's links that come in, as packets' inputs count them, and its own.
    inputs: Vec<Vec<LinkId>>,
    ports: Vec<Vec<LinkId>>,
    /// The switch that a switch's link leads to.
    leads: Vec<Option<usize>>,
    next: Time,
    found: Vec<Deadlock>,
}

impl Deadlocks {
    /// Makes the search for a network with flow control.
    pub(crate) fn new(pfc: &Pfc, ports: &[PortInfo]) -> Deadlocks {
        let switch = |node: Node| match node {
            Node::Switch(switch) => Some(switch.index()),
            Node::Host(_) => None,
        };
        let switches = ports.iter().filter_map(|port| switch(port.cable.from)).max();
        let links = |end: &dyn Fn(&PortInfo) -> Node| {
            let mut links = vec![Vec::new(); switches.map_or(0, |last| last + 1)];
            for (link, port) in ports.iter().enumerate() {
                if let Some(switch) = switch(end(port)) {
                    links[switch].push(LinkId::at(link));
                }
            }
            links
        };
        let (inputs, outputs) = (links(&|port| port.cable.to), links(&|port| port.cable.from));
        let leads = |port: &PortInfo| switch(port.cable.to).filter(|_| port.is_switch());
        Deadlocks {
            time: pfc.deadlock_time,
            classes: pfc.priorities.clone(),
            inputs,
            ports: outputs,
            leads: ports.iter().map(leads).collect(),
            next: Time::ZERO + pfc.deadlock_time,
            found: Vec::new(),
        }
    }

    /// When it looks next.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Returns the deadlocks found so far.
    pub(crate) fn found(&self) -> &[Deadlock] {
        &self.found
    }

    /// Whether one has not been broken.
    pub(crate) fn stands(&self) -> bool {
        self.found.iter().any(|found| found.broken.is_none())
    }

    /// Which of those that were found are over by now.
    pub(crate) fn look_back(&mut self, network: &Network, now: Time) {
        for found in self.found.iter_mut().filter(|found| found.broken.is_none()) {
            let over = |&(link, class, held, _): &(LinkId, u8, Time, u64)| {
                let state = network.port(link).state();
                if state.held_since(class, now) == Some(held) {
                    return None;
                }
                let holds = state.holds(class, now);
                Some(holds.iter().find(|hold| hold.0 == held).map_or(now, |hold| hold.1))
            };
            found.broken = found.cycle.iter().filter_map(over).min();
        }
    }

    /// Looks.
    pub(crate) fn look(&mut self, network: &Network, now: Time) {
        self.next = now + self.time;
        let since = |&(link, class): &Queue| {
            let state = network.port(link).state();
            state.held_since(class, now).filter(|_| state.queue_packets(class) > 0)
        };
        // First, so that a deadlock which is over is not taken for one that still stands.
        self.look_back(network, now);
        let long = |queue: &Queue| since(queue).is_some_and(|held| held + self.time <= now);
        let links = (0..self.leads.len()).filter(|&link| self.leads[link].is_some());
        let queues = links.flat_map(|link| self.classes.iter().map(move |&class| (link, class)));
        let queues = queues.map(|(link, class)| (LinkId::at(link), class));
        let held: BTreeSet<Queue> = queues.filter(long).collect();
        if held.is_empty() {
            return;
        }
        let waits = self.waits(network, held);
        for cycle in cycles(&waits) {
            let row = |&(link, class): &Queue| {
                let bytes = network.port(link).state().queue_bytes(class).get();
                (link, class, since(&(link, class)).unwrap_or(now), bytes)
            };
            let cycle: Vec<_> = cycle.iter().map(row).collect();
            let known = |found: &Deadlock| found.broken.is_none() && found.cycle == cycle;
            if self.found.len() < MOST_FOUND && !self.found.iter().any(known) {
                let formed = cycle.iter().map(|queue| queue.2).max().unwrap_or(now);
                self.found.push(Deadlock { formed, found: now, broken: None, cycle });
            }
        }
    }

    /// Computes for each queue that was held for long which of the others it waits for.
    fn waits(&self, network: &Network, held: BTreeSet<Queue>) -> BTreeMap<Queue, Vec<Queue>> {
        // Which queues behind a queue's peer hold packets of it.
        let behind = |&(link, class): &Queue| -> Vec<Queue> {
            let Some(switch) = self.leads[link.index()] else { return Vec::new() };
            let input = self.inputs[switch].iter().position(|&input| input == link);
            let input = input.map(|input| input as u16);
            let of = |&&port: &&LinkId| {
                let queued = network.queued_by_input(port, class);
                input.is_some_and(|input| queued.contains_key(&input))
            };
            self.ports[switch].iter().filter(of).map(|&port| (port, class)).collect()
        };
        let mut waits: BTreeMap<Queue, Vec<Queue>> =
            held.into_iter().map(|queue| (queue, behind(&queue))).collect();
        loop {
            // Free is a queue that waits for none, or for one that is free: no cycle holds it.
            let stuck = |next: &[Queue]| {
                !next.is_empty() && next.iter().all(|queue| waits.contains_key(queue))
            };
            let free: Vec<Queue> =
                waits.iter().filter(|(_, next)| !stuck(next)).map(|(&queue, _)| queue).collect();
            if free.is_empty() {
                return waits;
            }
            free.iter().for_each(|queue| _ = waits.remove(queue));
        }
    }

    /// A row for each queue of each deadlock.
    pub(crate) fn table(&self, ports: &[PortInfo]) -> Table {
        let rows = || {
            let numbered = self.found.iter().enumerate();
            numbered.flat_map(|(nth, found)| {
                found.cycle.iter().enumerate().map(move |(place, queue)| (nth, found, place, queue))
            })
        };
        let seconds = |of: &dyn Fn(&Deadlock) -> Option<Time>| {
            let seconds = |time: Option<Time>| time.map_or(f64::NAN, Time::as_secs_f64);
            Values::F64(rows().map(|row| seconds(of(row.1))).collect())
        };
        let held = rows().map(|row| row.3.2.as_secs_f64()).collect();
        Table::new([
            (
                "deadlock",
                "",
                "its number, from 0",
                Values::U32(rows().map(|row| row.0 as u32).collect()),
            ),
            (
                "formed_s",
                "s",
                "when the last of its queues was held",
                seconds(&|of| Some(of.formed)),
            ),
            ("found_s", "s", "when it had stood for deadlock_time", seconds(&|of| Some(of.found))),
            (
                "broken_s",
                "s",
                "when the first of its queues was let go; null: it stands",
                seconds(&|of| of.broken),
            ),
            (
                "place",
                "",
                "the queue's place in the circle: it waits for the next, the last for the first",
                Values::U32(rows().map(|row| row.2 as u32).collect()),
            ),
            (
                "port",
                "",
                "its port",
                Values::Names(rows().map(|row| ports[row.3.0.index()].name.as_str()).collect()),
            ),
            ("class", "", "its class", Values::U32(rows().map(|row| u32::from(row.3.1)).collect())),
            ("held_s", "s", "since when it was held", Values::F64(held)),
            (
                "queued_bytes",
                "bytes",
                "what waited there as it was found",
                Values::U64(rows().map(|row| row.3.3).collect()),
            ),
        ])
    }
}

/// The circles that one meets on the way from each queue to the first of those that it waits for, each
/// from its first queue on.
fn cycles(waits: &BTreeMap<Queue, Vec<Queue>>) -> Vec<Vec<Queue>> {
    let mut cycles = Vec::new();
    let mut seen = BTreeSet::new();
    for &first in waits.keys() {
        let (mut way, mut at) = (Vec::new(), first);
        // Every queue that is left waits for another that is left, so following any one of them ends
        // in a cycle.
        while seen.insert(at) {
            way.push(at);
            let Some(&next) = waits.get(&at).and_then(|next| next.first()) else { break };
            at = next;
        }
        if let Some(start) = way.iter().position(|&queue| queue == at) {
            let mut cycle = way.split_off(start);
            // Begins at its least queue, so that the same cycle compares equal wherever the search
            // entered it.
            let least =
                cycle.iter().enumerate().min_by_key(|&(_, queue)| queue).map_or(0, |(nth, _)| nth);
            cycle.rotate_left(least);
            cycles.push(cycle);
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(link: u32) -> Queue {
        (LinkId(link), 3)
    }

    #[test]
    fn a_circle_is_found_from_wherever_one_comes() {
        let waits = |pairs: &[(u32, &[u32])]| {
            let of = |&(at, next): &(u32, &[u32])| {
                (queue(at), next.iter().map(|&next| queue(next)).collect())
            };
            pairs.iter().map(of).collect::<BTreeMap<Queue, Vec<Queue>>>()
        };
        // 1 leads into 5 → 3 → 7 → 5; 8 waits for itself.
        let waits = waits(&[(1, &[5]), (3, &[7]), (5, &[3]), (7, &[5, 8]), (8, &[8])]);
        let found = cycles(&waits);
        assert_eq!(found, [vec![queue(3), queue(7), queue(5)], vec![queue(8)]]);
    }
}
