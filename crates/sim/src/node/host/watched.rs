//! Notes on senders at work, where somebody asks: whether they have something to send, and what changes about them.

use super::halves::SendHalf;
use super::{Cx, Host, Net, Settings};
use crate::flow::FlowRecord;
use crate::ids::ConnId;
use crate::observe::flow_series::{SenderChange, SenderState};
use crate::observe::underflow::Unsent;
use crate::topology::Hop;
use crate::transport::Snapshot;
use std::collections::BTreeMap;
use switchbed_units::{Span, Time};

/// Notes on connections, the last of each.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The ways of connections with something to send.
    unsent: BTreeMap<ConnId, Hop>,
    followed: BTreeMap<ConnId, Noted>,
}

/// The last row of a connection, and the flow that it is of.
#[derive(Debug)]
struct Noted {
    number: u64,
    snapshot: Snapshot,
    /// The rate of delivery in the last round trip that is over, and what was acknowledged at its end.
    delivered_bps: f64,
    at: Time,
    acked: u64,
}

impl SendHalf {
    /// The sender of the first flow under way; `None` where none is, or only a request.
    pub(super) fn state(&self, settings: &Settings) -> Option<SenderState> {
        let flow = self.running.front().filter(|_| self.open && !self.asks)?;
        let FlowRecord { row, traffic, class, start, .. } = flow.record;
        // Since a connection carries flows one after another: the part within this one.
        let acked = self.sending.acked().clamp(flow.from, flow.until) - flow.from;
        let snapshot = self.sending.snapshot(settings.transport(self.kind));
        Some(SenderState { number: flow.number, row, traffic, class, start, acked, snapshot })
    }
}

impl Host {
    /// Something has happened at a sender.
    #[cold]
    pub(super) fn note_sender<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        self.note_unsent(conn, cx, now);
        self.follow(conn, cx, now);
    }

    /// Tells who asks whether a connection has something to send.
    pub(super) fn note_unsent<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        if !cx.settings.tells_unsent {
            return;
        }
        let half = &self.senders[conn];
        let hop = (half.sending.unsent() > 0).then_some(half.hop());
        let unsent = &mut self.watched.get_or_insert_default().unsent;
        let before = unsent.get(&conn).copied();
        if hop == before {
            return;
        }
        let mut tell = |hop, begins| {
            cx.log.unsent.push(Unsent { at: now, host: self.id, hop, begins });
        };
        if let Some(hop) = before {
            tell(hop, false);
            unsent.remove(&conn);
        }
        if let Some(hop) = hop {
            tell(hop, true);
            unsent.insert(conn, hop);
        }
    }

    /// Tells who follows a sender what has changed about it, and each round trip that it has measured.
    fn follow<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let Some(asked) = &cx.settings.followed else { return };
        let half = &mut self.senders[conn];
        let rtt = half.sending.take_rtt();
        let Some(SenderState { number, row, traffic, class, start, acked, snapshot }) =
            half.state(cx.settings)
        else {
            return;
        };
        if !asked.has(row, traffic, class) {
            return;
        }
        // Each packet changes what is in the network: that alone is no row.
        let steady = Snapshot { in_flight_bytes: 0, ..snapshot };
        let followed = &mut self.watched.get_or_insert_default().followed;
        let before = followed.get(&conn).filter(|noted| noted.number == number);
        if rtt.is_none() && before.is_some_and(|noted| noted.snapshot == steady) {
            return;
        }
        let (mut delivered_bps, mut at, mut had) =
            before.map_or((0.0, start, 0), |noted| (noted.delivered_bps, noted.at, noted.acked));
        // From one ACK to the next a rate would say no more than how ACKs are spaced.
        let over = now.since(at);
        if over > Span::ZERO && over >= snapshot.srtt.unwrap_or(Span::ZERO) {
            delivered_bps = SenderChange::rate(acked.saturating_sub(had), over);
            (at, had) = (now, acked);
        }
        let noted = Noted { number, snapshot: steady, delivered_bps, at, acked: had };
        followed.insert(conn, noted);
        let snapshot = Snapshot { rtt, ..snapshot };
        cx.log.changed.push(SenderChange { at: now, number, row, delivered_bps, snapshot });
    }
}
