//! Which connection carries a flow: one that is there, or a new one.

use super::halves::{ReceiveHalf, SendHalf};
use super::settings::Carrier;
use super::{Cx, Host, Net, Settings, Toward, through};
use crate::flow::FlowRecord;
use crate::ids::{ConnId, GroupId, HostId, Maybe};
use crate::node::notice::{Answers, What};
use crate::packet::{LAST_ROW, Label, Payload, flow_id};
use crate::topology::Hop;
use crate::transport::{Opening, Outgoing, Receiving, Sending};
use std::collections::VecDeque;
use switchbed_qdisc::{FlowId, Packet};
use switchbed_scenario::traffic::{ConnectionUse, FlowStart};
use switchbed_units::{Bytes, Rate, Time};

/// Connections to a host that flows share, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shared {
    peer: HostId,
    by: By,
    /// The kind of transport.
    kind: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// A class's flows; a flow takes an idle connection.
    Class(u8),
    /// A client's requests, whatever the class of their answers; likewise.
    Requests,
    /// A class's flows, on one connection.
    Single(u8),
    /// A class's requests, on one connection.
    SingleRequests(u8),
    /// A flow list's key, on one connection.
    Key(u64),
    /// A program's connection and its channel.
    Program { number: u32, channel: u32 },
}

/// The way of a packet by its entropy; a pinned one keeps its path.
#[inline]
pub(super) fn sprayed(hop: Hop, entropy: u32) -> Hop {
    // Entropy 0: the transport leaves the path to the connection's key.
    match entropy == 0 || hop.key & Hop::PINNED != 0 {
        true => hop,
        false => Hop { key: hop.key ^ entropy, ..hop },
    }
}

impl SendHalf {
    /// The way of its data.
    pub(super) fn hop(&self) -> Hop {
        Hop { dst: self.dst, key: self.keys[0] }
    }

    /// Takes another path if its sender wants one; a list's path stays.
    #[cold]
    pub(super) fn repath(&mut self, settings: &Settings, now: Time) {
        let key = self.keys[0];
        if key & Hop::PINNED == 0 && self.sending.moves() {
            [self.keys[0], _] = settings.keys(u64::from(key), now.as_ps());
        }
    }

    /// Makes the packet of a segment, with the connection's number here.
    #[inline]
    pub(super) fn packet(&self, out: &Outgoing, conn: ConnId) -> (Packet, Payload, Toward) {
        let Outgoing { body, len_bytes, ecn, class, entropy } = *out;
        let class = class.unwrap_or(self.class);
        let packet = Packet { flow: self.flow, len_bytes, ingress: 0, class, ecn };
        let hop = sprayed(self.hop(), entropy);
        let toward = Toward { hop, label: Label::data(self.kind) };
        (packet, Payload { to: self.peer, from: conn.into(), body }, toward)
    }
}

impl Host {
    /// A connection for a flow that starts here, or for the request for it, and whether it has to be opened first.
    pub(super) fn connection<N: Net>(
        &mut self,
        flow: &FlowStart,
        asks: bool,
        cx: &mut Cx<N>,
    ) -> (ConnId, bool) {
        let kind = if asks { cx.settings.kind_back(flow) } else { cx.settings.kind_of(flow) };
        let by = match flow.connection {
            // A queue pair is there before its first packet.
            ConnectionUse::Fresh => {
                let handshake = !cx.settings.kind(kind).transport.is_pairs();
                return (self.open((flow, asks), Opening::Handshake, None, cx), handshake);
            }
            ConnectionUse::FreshNoHandshake => {
                return (self.open((flow, asks), Opening::Established, None, cx), false);
            }
            ConnectionUse::Persistent if asks => By::Requests,
            ConnectionUse::Persistent => By::Class(flow.class),
            ConnectionUse::Single if asks => By::SingleRequests(flow.class),
            ConnectionUse::Single => By::Single(flow.class),
            ConnectionUse::Keyed(key) => By::Key(key),
            ConnectionUse::Program { number, channel } => By::Program { number, channel },
        };
        let peer = if asks { flow.src } else { flow.dst };
        let key = Shared { peer, by, kind };
        let known = self.shared.get(&key).map_or(&[][..], Vec::as_slice);
        // Only these purposes look for an idle connection; on the others flows wait behind one
        // another.
        let usable =
            |&&conn: &&ConnId| !matches!(by, By::Class(_) | By::Requests) || self.is_idle(conn);
        if let Some(&conn) = known.iter().find(usable) {
            return (conn, false);
        }
        let (opening, handshake) = match known.is_empty() && cx.settings.kind(kind).warm.is_some() {
            true => (Opening::Warm, false),
            false => (Opening::Handshake, true),
        };
        // Connections of other kinds have other paths.
        let kinds = Shared { kind: 0, ..key }..=Shared { kind: u8::MAX, ..key };
        let nth: u64 = self.shared.range(kinds).map(|(_, known)| known.len() as u64).sum();
        // Salts of different purposes must not meet: classes are in the high half, keys are
        // complemented, and programs have the highest bit.
        let salt = match by {
            By::Class(class) | By::Single(class) | By::SingleRequests(class) => {
                u64::from(class) << 32 | nth
            }
            By::Requests => nth,
            By::Key(key) => !key,
            By::Program { channel, .. } => {
                1 << 63 | u64::from(flow.traffic) << 32 | u64::from(channel)
            }
        };
        let conn = self.open((flow, asks), opening, Some(salt), cx);
        self.shared.entry(key).or_default().push(conn);
        (conn, handshake)
    }

    /// Whether a connection carries nothing, as far as this end knows.
    fn is_idle(&self, conn: ConnId) -> bool {
        let half = &self.senders[conn];
        half.running.is_empty() && half.sending.idle()
    }

    /// Opens a connection for a flow; for one that is asked for, one in each direction, and
    /// returns the requests'. `salt` tells what stays from the pair's others; `None`: it
    /// closes with the flow.
    fn open<N: Net>(
        &mut self,
        (flow, asks): (&FlowStart, bool),
        opening: Opening,
        salt: Option<u64>,
        cx: &mut Cx<N>,
    ) -> ConnId {
        let settings = cx.settings;
        let keys = match salt {
            None => settings.keys(flow.row, 0),
            Some(salt) => settings.keys(u64::from(flow.src.0) << 32 | u64::from(flow.dst.0), salt),
        };
        let back = settings.kind_of(flow);
        let kind = if asks { settings.kind_back(flow) } else { back };
        // One TCP connection: the handshake opens both directions, and each data's path is
        // that of the other's ACKs.
        let [data, acks] = keys;
        let (dst, keys) = if asks { (flow.src, [acks, data]) } else { (flow.dst, keys) };
        // A program's connections are numbered from the other end of the rows.
        let row = match flow.connection {
            ConnectionUse::Program { number, .. } => LAST_ROW - u64::from(number),
            _ => flow.row,
        };
        let id = flow_id(row, asks);
        let answers = asks.then(|| {
            let answers = flow_id(flow.row, false);
            let at = (acks, flow.class, back);
            let receiver = self.receiver(answers, dst, Maybe::NONE, at, settings);
            let opening = match opening {
                // The request's SYN opens this direction too.
                Opening::Handshake => Opening::Established,
                opening => opening,
            };
            Answers { flow: answers, opening, receiver, keys: [data, acks], kind: back }
        });
        cx.log.open += 1;
        let begins = (flow.class, kind, opening);
        let line = self.line(Hop { dst, key: keys[0] }, kind, cx, flow.start);
        let conn = self.sender(id, dst, keys, begins, (settings, line, flow.start));
        let half = &mut self.senders[conn];
        (half.fresh, half.asks) = (salt.is_none(), asks);
        if let Some(Answers { receiver, .. }) = answers {
            self.receivers[receiver].other = Some(conn);
        }
        let opened = What::Opened {
            src: self.id,
            sender: conn,
            fresh: salt.is_none(),
            class: flow.class,
            kind,
            key: keys[1],
            answers,
        };
        cx.net.post(dst, id, opened, flow.start);
        conn
    }

    /// A sending half gets its number.
    pub(super) fn sender(
        &mut self,
        flow: FlowId,
        dst: HostId,
        keys: [u32; 2],
        (class, kind, opening): (u8, u8, Opening),
        (settings, line, now): (&Settings, Rate, Time),
    ) -> ConnId {
        let group = match &mut self.card {
            Some(card) => {
                card.asks_all |= settings.transport(kind).is_asked();
                card.group(class, settings.reaction.as_ref())
            }
            None => GroupId(0),
        };
        if let Some(links) = &mut self.links {
            links.mirror(group, class);
        }
        let Carrier { transport, warm, .. } = settings.kind(kind);
        let conn = self.senders.put(SendHalf {
            sending: Sending::new(transport, opening, warm.as_ref(), (line, keys[0]), now),
            flow,
            dst,
            peer: Maybe::NONE,
            keys,
            class,
            kind,
            open: true,
            fresh: false,
            asks: false,
            joined: false,
            exit: 0,
            group,
            armed: Time::NEVER,
            running: VecDeque::new(),
            due: u64::MAX,
        });
        if settings.reaction.is_some() {
            self.sources.insert(flow, conn);
        }
        conn
    }

    /// A receiving half gets its number.
    pub(super) fn receiver(
        &mut self,
        flow: FlowId,
        src: HostId,
        peer: Maybe<ConnId>,
        (key, class, kind): (u32, u8, u8),
        settings: &Settings,
    ) -> ConnId {
        let conn = self.receivers.put(ReceiveHalf {
            receiving: Receiving::new(&settings.kind(kind).transport),
            flow,
            src,
            peer,
            key,
            class,
            kind,
            open: true,
            answers: false,
            other: None,
            armed: Time::NEVER,
            last: Time::ZERO,
            expected: VecDeque::new(),
            due: u64::MAX,
        });
        self.receiving.insert(flow, conn);
        if let Some(card) = &mut self.card {
            // The other end of a queue pair is one, too.
            card.asks_all |= settings.transport(kind).is_pairs();
        }
        conn
    }

    /// A connection has given up, and its flows with it.
    #[cold]
    pub(super) fn fail<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.senders[conn];
        let acked = half.sending.acked();
        for flow in std::mem::take(&mut half.running) {
            let received = Bytes::new(acked.clamp(flow.from, flow.until) - flow.from);
            let received = if half.asks { Bytes::ZERO } else { received };
            let record = FlowRecord { failed: Some(now), received, ..half.record(&flow) };
            match half.asks {
                true => {
                    cx.log.through(now);
                    cx.log.finished.push((flow.number, record));
                }
                false => through(half.dst, half.flow, flow.number, record, cx, now),
            }
        }
        half.set_due();
        for connections in self.shared.values_mut() {
            connections.retain(|&other| other != conn);
        }
        // The other direction of requests and answers has its end here.
        let other = self.receiving.iter().find(|&(_, &at)| self.receivers[at].other == Some(conn));
        if let Some((flow, at)) = other.map(|(&flow, &at)| (flow, at)) {
            self.receiving.remove(&flow);
            self.receivers[at].open = false;
            self.receivers.free(at);
        }
        self.note_unsent(conn, cx, now);
        let half = &mut self.senders[conn];
        if half.joined {
            // The card knows the number too, until it asks for a packet and gets none.
            half.fresh = true;
        } else {
            self.close(conn, cx, now);
        }
    }

    /// A connection has nothing more to send: its other half hears of it.
    pub(super) fn close<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.senders[conn];
        half.open = false;
        let (to, flow) = (half.dst, half.flow);
        if let Some(card) = &mut self.card {
            // A group that still waits at another link's card keeps its number.
            if self.links.as_ref().is_none_or(|links| !links.wait(half.group)) {
                card.leave(half.group, cx.settings.reaction.as_ref());
            }
            self.sources.remove(&half.flow);
        }
        cx.log.open -= 1;
        cx.net.post(to, flow, What::Closed, now);
        self.senders.free(conn);
    }
}
