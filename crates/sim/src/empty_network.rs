//! How long a flow takes in an empty network, whatever its windows.

use crate::ids::{HostId, LinkId, SwitchId};
use crate::topology::{Cable, Graph, Hop};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use switchbed_scenario::FctEnd;
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::roce::Roce;
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// Data for the duration of a flow in an empty network.
pub(crate) struct Paths {
    pub(crate) graph: Graph,
    pub(crate) protocols: Protocols,
    pub(crate) fct_end: FctEnd,
    /// Traffic entries whose flows end with the ACK whatever `fct_end` says: programs.
    pub(crate) acked: Vec<u32>,
    /// Switches may send packets of a flow over different paths, or over others than its first.
    pub(crate) moves: bool,
    /// Paths between two switches, or hosts with several links, by those that were asked for.
    pub(crate) between: Mutex<Between>,
}

type Between = HashMap<(SwitchId, SwitchId), Arc<[Vec<Cable>]>>;

/// Paths that are kept at most: those of hosts with several links are found anew beyond.
const MOST_KEPT: usize = 1 << 16;

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
        let rate = Paths::rate(self.graph.cables(host));
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
        let spreads = self.moves || protocol.sprays();
        let together = self.together((src, dst), packets, (&there, spreads));
        let there = there.iter().map(|path| match together {
            // Over several links at once: none of the paths bounds the flow alone, but its longest packet has one.
            Some(least) => {
                let longest = if packets.2 > 1 { full.max(last) } else { last };
                let alone = arrival(path, (longest, longest, 1));
                Arrival { before: None, last: alone.last.max(least) }
            }
            None => arrival(path, packets),
        });
        // Packets that come in any order are acknowledged together, but for the first: no other answer is sure to go
        // ahead of the last.
        let grouped = |roce: &Roce| roce.control.about().unordered();
        let sure = !protocol.queue_pairs().is_some_and(grouped) || packets.2 == 2;
        let there =
            there.map(|arrival| Arrival { before: arrival.before.filter(|_| sure), ..arrival });
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
        let ((first, from), (last, to)) = (graph.start(src), graph.start(dst));
        let only = |link: LinkId| graph.access[link.index()];
        // A poisoned lock is as good as any: the map only remembers what can be computed again.
        let mut known = self.between.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KEPT && first.is_none() | last.is_none() {
            known.clear();
        }
        let between = known.entry((from, to)).or_insert_with(|| graph.distinct(from, dst).into());
        let first: Vec<Cable> = first.map(only).into_iter().collect();
        let down = last.map(only).map(|last| Cable { from: last.to, to: last.from, ..last });
        let down: Vec<Cable> = down.into_iter().collect();
        between.iter().map(|between| [&first[..], &between[..], &down[..]].concat()).collect()
    }

    /// The rate of a host's cables together.
    fn rate(cables: &[Cable]) -> Rate {
        Rate::from_bps(cables.iter().map(|cable| cable.rate.as_bps()).sum())
    }

    /// The least time of a flow whose packets may take several paths at once: both hosts' links together carry all of
    /// it, and the rest of a path its shortest packet. `None`: it is bound to the links of one path.
    fn together(
        &self,
        (src, dst): (HostId, HostId),
        (full, last, packets): (u32, u32, u64),
        (paths, spreads): (&[Vec<Cable>], bool),
    ) -> Option<Span> {
        // Between hosts of one switch there is one path, unless their own links are several.
        let several = |host| self.graph.is_multihomed(host);
        let between = paths.iter().any(|path| path.len() > 2);
        if !spreads || !between && !several(src) && !several(dst) {
            return None;
        }
        let bytes = u64::from(full) * (packets - 1) + u64::from(last);
        let least = full.min(last);
        let lasts = |host| {
            let bps = u128::from(Paths::rate(self.graph.cables(host)).as_bps());
            Span::from_ps((u128::from(8 * bytes) * u128::from(PS_PER_S) / bps.max(1)) as u64)
        };
        let way = |cables: &[Cable]| {
            cables
                .iter()
                .fold(Span::ZERO, |sum, cable| sum + cable.rate.tx_time(least) + cable.delay)
        };
        let behind = |path: &Vec<Cable>| path[0].delay + way(&path[1..]);
        let before = |path: &Vec<Cable>| {
            let end = path.len() - 1;
            way(&path[..end]) + path[end].delay
        };
        let sent = lasts(src) + paths.iter().map(behind).min().unwrap_or(Span::ZERO);
        let came = lasts(dst) + paths.iter().map(before).min().unwrap_or(Span::ZERO);
        Some(sent.max(came))
    }

    /// How long a packet of a flow keeps the slowest of a host's lines.
    pub(crate) fn slowest(
        &self,
        host: HostId,
        hosts: (HostId, HostId),
        (entry, class): (u32, u8),
        size: Bytes,
    ) -> Span {
        let (_, header) = self.protocols.between(entry, class, hosts).framing();
        let rates = self.graph.cables(host).iter().map(|cable| cable.rate);
        let rate = rates.min().unwrap_or(Rate::from_bps(1));
        rate.tx_time((size + header).get() as u32)
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
