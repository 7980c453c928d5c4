//! How long a flow takes in an empty network, whatever its windows.

use crate::ids::{HostId, SwitchId};
use crate::topology::{Cable, Graph, Hop, Node};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use switchbed_scenario::FctEnd;
use switchbed_scenario::protocols::Protocols;
use switchbed_units::{Bytes, Span};

/// Data for the duration of a flow in an empty network.
pub(crate) struct Paths {
    pub(crate) graph: Graph,
    pub(crate) protocols: Protocols,
    pub(crate) fct_end: FctEnd,
    /// Traffic entries whose flows end with the ACK whatever `fct_end` says: programs.
    pub(crate) acked: Vec<u32>,
    /// Paths between two switches, by those that were asked for.
    pub(crate) between: Mutex<Between>,
}

type Between = HashMap<(SwitchId, SwitchId), Arc<[Vec<Cable>]>>;

impl Paths {
    /// Returns the event that ends a traffic entry's flows of a class: their arrival, where there
    /// are no ACKs.
    pub(crate) fn end(&self, entry: u32, class: u8, hosts: (HostId, HostId)) -> FctEnd {
        match self.protocols.between(entry, class, hosts).is_reliable() {
            true if self.acked.contains(&entry) => FctEnd::Acked,
            true => self.fct_end,
            false => FctEnd::Received,
        }
    }

    /// How long the packets of a flow between two hosts keep the line of one of them.
    pub(crate) fn occupies(
        &self,
        host: HostId,
        hosts: (HostId, HostId),
        (entry, class): (u32, u8),
        size: Bytes,
    ) -> Span {
        let (mss, header) = self.protocols.between(entry, class, hosts).framing();
        let rate = self.graph.hosts[host.index()].rate;
        let (packets, rest) = (size.get() / mss.get(), size.get() % mss.get());
        let full = rate.tx_time((mss + header).get() as u32) * packets;
        if rest == 0 { full } else { full + rate.tx_time((rest + header.get()) as u32) }
    }

    /// The time of a flow of a traffic entry and class: its packets back to back over its path, and its last one's ACK where
    /// that ends it.
    pub(crate) fn flow(
        &self,
        (src, dst): (HostId, HostId),
        (entry, class): (u32, u8),
        size: Bytes,
        end: FctEnd,
    ) -> Span {
        let protocol = self.protocols.between(entry, class, (src, dst));
        let (mss, header) = protocol.framing();
        let (mss, header) = (mss.get(), header.get());
        let ack = protocol.ack_bytes();
        let full = (mss + header) as u32;
        let packets = size.get().div_ceil(mss).max(1);
        let last = (size.get() - (packets - 1) * mss + header) as u32;
        let packets = (full, last, packets);
        let there = self.paths(src, dst);
        let there = there.iter().map(|path| arrival(path, packets));
        let ends: Vec<Arrival> = there.collect();
        let least = |of: &mut dyn Iterator<Item = Span>| of.min().unwrap_or(Span::ZERO);
        match end {
            FctEnd::Received => least(&mut ends.iter().map(|arrival| arrival.last)),
            FctEnd::Acked => {
                let back = self.paths(dst, src);
                let mut all = ends
                    .iter()
                    .flat_map(|&arrival| back.iter().map(move |path| acked(path, arrival, ack)));
                least(&mut all)
            }
        }
    }

    /// The paths from one host to another that may take different times.
    fn paths(&self, src: HostId, dst: HostId) -> Vec<Vec<Cable>> {
        let graph = &self.graph;
        // Fixed topologies are built alike: every equal-cost path takes the same time.
        if !graph.is_free() {
            return vec![graph.path(src, Hop { dst, key: 0 })];
        }
        let [first, last] = [src, dst].map(|host| graph.hosts[host.index()]);
        let (Node::Switch(from), Node::Switch(to)) = (first.to, last.to) else { return Vec::new() };
        // A poisoned lock is as good as any: the map only remembers what can be computed again.
        let mut known = self.between.lock().unwrap_or_else(PoisonError::into_inner);
        let between = known.entry((from, to)).or_insert_with(|| graph.distinct(from, dst).into());
        let down = Cable { from: last.to, to: last.from, ..last };
        between.iter().map(|between| [&[first], &between[..], &[down]].concat()).collect()
    }
}

/// When a flow's last packet is there, and the last but one.
#[derive(Clone, Copy)]
struct Arrival {
    before: Option<Span>,
    last: Span,
}

/// When a flow of packets back to back is at the end of a path: full ones of so many bytes, the last one of so many, and
/// how many they are.
fn arrival(path: &[Cable], (full, last, packets): (u32, u32, u64)) -> Arrival {
    // When the last bit of the first packet, of the last but one and of the last leaves
    // a link, which each does behind the one ahead of it.
    let (mut first, mut ahead, mut at) = (Span::ZERO, Span::ZERO, Span::ZERO);
    let mut slowest = Span::ZERO;
    for cable in path {
        let tx = cable.rate.tx_time(full);
        slowest = slowest.max(tx);
        first += tx;
        // Back to back, packets leave at the pace of the slowest line so far, whatever comes before
        // it.
        let before = if packets > 1 { first + slowest * (packets - 2) } else { Span::ZERO };
        // The last packet may be short, and then has to wait for the longer one ahead of it.
        at = before.max(at) + cable.rate.tx_time(last) + cable.delay;
        first += cable.delay;
        ahead = before + cable.delay;
    }
    Arrival { before: (packets > 1).then_some(ahead), last: at }
}

/// When the ACK of the last packet is back, over a path of its own.
fn acked(path: &[Cable], Arrival { before, last }: Arrival, ack: u32) -> Span {
    let (mut ahead, mut at) = (before, last);
    for cable in path {
        let tx = cable.rate.tx_time(ack);
        ahead = ahead.map(|ahead| ahead + tx);
        // All ACKs are alike, but the last data packet may be short: its ACK can catch up with the
        // one ahead.
        at = ahead.map_or(at, |ahead| ahead.max(at)) + tx + cable.delay;
        ahead = ahead.map(|ahead| ahead + cable.delay);
    }
    at
}
