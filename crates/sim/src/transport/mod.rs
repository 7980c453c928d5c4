//! Transports: the halves of a connection as state machines without input or output of their
//! own. A half never sees the other's state, only what packets bring.
//!
//! Whoever drives a half hands in what arrives, with the time, then polls for what to send, then
//! asks when it wants to be woken. The settings of its kind are passed to every call.

mod counters;
pub mod datagram;
mod ranges;
pub mod roce;
pub mod tcp;
pub mod unordered;

pub use crate::packet::Outgoing;
pub(crate) use counters::Tally;
pub use counters::{Counters, Wait, Waits};

use crate::packet::rdma::RdmaKind;
use crate::packet::{Body, Flags};
use switchbed_congestion::Model;
use switchbed_qdisc::fq::Terms;
use switchbed_qdisc::{Ecn, Packet};
use switchbed_scenario::transport::Warm;
use switchbed_units::{Rate, Span, Time};

/// The settings of a kind of transport, one copy for all hosts.
#[derive(Clone, Debug)]
pub enum Kind {
    /// TCP.
    Tcp(tcp::Config),
    /// Senders without TCP.
    Datagrams(datagram::Config),
    /// Queue pairs.
    Roce(roce::Config),
    /// Queue pairs whose packets come in any order.
    Unordered(unordered::Config),
}

/// Traces of the fabric on a packet of unordered delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// A switch marked it.
    pub(crate) marked: bool,
    /// A switch trimmed it; `true`: at the port to its receiver.
    pub(crate) trimmed: Option<bool>,
}

impl Kind {
    /// Whether senders have terms for their packets, and hear what has left the card.
    #[inline]
    pub(crate) fn shapes(&self) -> bool {
        matches!(self, Kind::Tcp(config) if config.shapes())
    }

    /// Whether packets gather INT.
    pub(crate) fn gathers(&self) -> bool {
        matches!(self, Kind::Roce(config) if config.gathers())
    }

    /// How many times what the fabric carries hosts may send, where receivers give credit.
    pub(crate) fn oversubscription(&self) -> f64 {
        match self {
            Kind::Unordered(config) => config.oversubscription(),
            _ => 1.0,
        }
    }

    /// Traces of the fabric on a packet, as its receiver sees them.
    pub(crate) fn sight(&self, packet: &Packet, body: &Body) -> Option<Sight> {
        let (Kind::Unordered(config), Body::Rdma(data)) = (self, body) else { return None };
        let trimmed = config.trimmed(data, (packet.len_bytes, packet.class));
        (data.kind == RdmaKind::Sprayed).then_some(Sight { marked: packet.ecn == Ecn::Ce, trimmed })
    }

    /// Whether receivers give credit.
    pub(crate) fn credits(&self) -> bool {
        matches!(self, Kind::Unordered(config) if config.credits())
    }

    /// Whether a card has to ask senders for their packets: nothing else would pace them.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_pairs() || matches!(self, Kind::Datagrams(_))
    }

    /// Whether senders choose a path for each packet.
    pub(crate) fn sprays(&self) -> bool {
        matches!(self, Kind::Unordered(config) if config.sprays())
    }

    /// Whether it is queue pairs.
    pub(crate) fn is_pairs(&self) -> bool {
        matches!(self, Kind::Roce(_) | Kind::Unordered(_))
    }

    /// Payload of a datagram that switches have cut off, where it came with such a length.
    pub(crate) fn trimmed(&self, len: u32, len_bytes: u32) -> u64 {
        match self {
            Kind::Datagrams(config) => config.trimmed(len, len_bytes).into(),
            Kind::Tcp(_) | Kind::Roce(_) | Kind::Unordered(_) => 0,
        }
    }

    /// Payload of a full packet in bytes.
    pub(crate) fn mss(&self) -> u32 {
        match self {
            Kind::Tcp(config) => config.mss(),
            Kind::Datagrams(config) => config.mss,
            Kind::Roce(config) => config.mtu(),
            Kind::Unordered(config) => config.mtu(),
        }
    }
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// With a handshake.
    Handshake,
    /// Established, with a cold window.
    Established,
    /// Established and used just before the clock started.
    Warm,
}

/// Either half of a connection.
pub trait Half {
    /// The next packet to send.
    fn poll_transmit(&mut self, kind: &Kind, now: Time) -> Option<Outgoing>;
    /// When [`Half::on_timeout`] is due.
    fn next_timeout(&self) -> Option<Time>;
    /// Time has passed; before it is due this does nothing.
    fn on_timeout(&mut self, kind: &Kind, now: Time);
}

/// The half that an application writes to.
#[derive(Clone, Debug)]
pub enum Sending {
    /// TCP's.
    Tcp(tcp::Sender),
    /// One without TCP.
    Datagrams(datagram::Sender),
    /// A queue pair's.
    Roce(Box<roce::Sender>),
    /// One of unordered delivery.
    Unordered(Box<unordered::Sender>),
}

/// A sender's window, round trip and rate at a time; `None` where it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) cwnd_packets: Option<f64>,
    pub(crate) ssthresh_packets: Option<f64>,
    /// Payload thought to be in the network.
    pub(crate) in_flight_bytes: u64,
    pub(crate) srtt: Option<Span>,
    /// Round trip that was measured just now.
    pub(crate) rtt: Option<Span>,
    pub(crate) pacing_bps: Option<f64>,
    pub(crate) alpha: Option<f64>,
    pub(crate) model: Option<Model>,
}

/// The half that takes in what arrives.
#[derive(Clone, Debug)]
pub enum Receiving {
    /// TCP's.
    Tcp(tcp::Receiver),
    /// One without TCP.
    Datagrams(datagram::Receiver),
    /// A queue pair's.
    Roce(Box<roce::Receiver>),
    /// One of unordered delivery.
    Unordered(Box<unordered::Receiver>),
}

fn segment(config: &tcp::Config, segment: tcp::Segment) -> Outgoing {
    let ecn = if config.ecn_capable(&segment) { config.ect() } else { Ecn::NotEct };
    Outgoing {
        body: Body::Segment(segment),
        len_bytes: config.wire_bytes(&segment),
        ecn,
        class: None,
        entropy: 0,
    }
}

impl Sending {
    /// A connection of a kind that begins so, at a card whose line has this rate, with this ECMP key.
    pub fn new(
        kind: &Kind,
        opening: Opening,
        warm: Option<&Warm>,
        (line, key): (Rate, u32),
        now: Time,
    ) -> Sending {
        let tcp = |mut sender: tcp::Sender| {
            sender.keyed(key);
            Sending::Tcp(sender)
        };
        match (kind, opening, warm) {
            (Kind::Roce(config), ..) => {
                Sending::Roce(Box::new(roce::Sender::new(config, line, now)))
            }
            (Kind::Unordered(config), ..) => {
                Sending::Unordered(Box::new(unordered::Sender::new(config, line, key, now)))
            }
            (Kind::Datagrams(_), ..) => Sending::Datagrams(datagram::Sender::default()),
            (Kind::Tcp(config), Opening::Warm, Some(warm)) => tcp(tcp::Sender::warm(config, warm)),
            (Kind::Tcp(config), Opening::Handshake, _) => tcp(tcp::Sender::new(config)),
            (Kind::Tcp(config), ..) => tcp(tcp::Sender::established(config)),
        }
    }

    /// The application appends `bytes` to the stream.
    pub fn write(&mut self, kind: &Kind, bytes: u64) {
        match (self, kind) {
            (Sending::Tcp(sender), _) => sender.write(bytes),
            (Sending::Datagrams(sender), _) => sender.write(bytes),
            (Sending::Roce(sender), Kind::Roce(config)) => sender.write(config, bytes),
            (Sending::Unordered(sender), Kind::Unordered(config)) => sender.write(config, bytes),
            _ => {}
        }
    }

    /// The application takes back what has not been sent yet; returns where the stream ends now.
    pub fn truncate(&mut self, kind: &Kind) -> u64 {
        match (self, kind) {
            (Sending::Tcp(sender), _) => sender.truncate(),
            (Sending::Datagrams(sender), _) => sender.truncate(),
            (Sending::Roce(sender), Kind::Roce(config)) => sender.truncate(config),
            (Sending::Roce(sender), _) => sender.written(),
            (Sending::Unordered(sender), Kind::Unordered(config)) => sender.truncate(config),
            (Sending::Unordered(sender), _) => sender.written(),
        }
    }

    /// Where the stream ends: bytes written.
    pub fn written(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.written(),
            Sending::Datagrams(sender) => sender.written(),
            Sending::Roce(sender) => sender.written(),
            Sending::Unordered(sender) => sender.written(),
        }
    }

    /// Whether data is never acknowledged.
    pub(crate) fn unanswered(&self) -> bool {
        matches!(self, Sending::Datagrams(_))
    }

    /// Bytes acknowledged; without TCP none is.
    #[inline]
    pub fn acked(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.acked(),
            Sending::Datagrams(_) => 0,
            Sending::Roce(sender) => sender.acked(),
            Sending::Unordered(sender) => sender.acked(),
        }
    }

    /// Whether nothing that was written is left to send or to be acknowledged.
    #[inline]
    pub fn idle(&self) -> bool {
        match self {
            Sending::Tcp(sender) => sender.idle(),
            Sending::Datagrams(sender) => sender.unsent() == 0,
            Sending::Roce(sender) => sender.acked() == sender.written(),
            Sending::Unordered(sender) => sender.acked() == sender.written(),
        }
    }

    /// Bytes written and not sent yet, or to be sent again after a timeout.
    pub fn unsent(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.unsent(),
            Sending::Datagrams(sender) => sender.unsent(),
            Sending::Roce(sender) => sender.unsent(),
            Sending::Unordered(sender) => sender.unsent(),
        }
    }

    /// Returns the connection's counts so far.
    pub fn counters(&self) -> Counters {
        match self {
            Sending::Tcp(sender) => *sender.counters(),
            Sending::Datagrams(_) => Counters::default(),
            Sending::Roce(sender) => sender.counters(),
            Sending::Unordered(sender) => sender.counters(),
        }
    }

    /// The timers that it has waited for.
    pub fn waits(&self) -> Waits {
        match self {
            Sending::Tcp(sender) => sender.waits(),
            Sending::Datagrams(_) => Waits::default(),
            Sending::Roce(sender) => sender.waits(),
            Sending::Unordered(sender) => sender.waits(),
        }
    }

    /// Whether it has given up.
    pub fn failed(&self) -> bool {
        match self {
            Sending::Tcp(sender) => sender.failed(),
            Sending::Roce(sender) => sender.failed(),
            Sending::Unordered(sender) => sender.failed(),
            Sending::Datagrams(_) => false,
        }
    }

    /// Whether the connection was opened without ECN, though the settings ask for it.
    pub fn without_ecn(&self) -> bool {
        matches!(self, Sending::Tcp(sender) if sender.without_ecn())
    }

    /// Tells a passive opener that `answer` came `rtt` after its SYN-ACK.
    pub fn accepted(&mut self, kind: &Kind, answer: &tcp::Segment, rtt: Span) {
        if let (Sending::Tcp(sender), Kind::Tcp(config)) = (self, kind) {
            sender.accepted(config, rtt, answer.flags.contains(Flags::NO_ECN));
        }
    }

    /// DCTCP's α, the marked fraction.
    pub fn alpha(&self) -> Option<f64> {
        match self {
            Sending::Tcp(sender) => sender.alpha(),
            Sending::Datagrams(_) | Sending::Roce(_) | Sending::Unordered(_) => None,
        }
    }

    /// Window, round trip and rate of the sender as they stand.
    pub(crate) fn snapshot(&self, kind: &Kind) -> Snapshot {
        match (self, kind) {
            (Sending::Tcp(sender), Kind::Tcp(config)) => Snapshot {
                cwnd_packets: Some(sender.cwnd()),
                ssthresh_packets: sender.threshold(config),
                in_flight_bytes: sender.in_flight(config),
                srtt: sender.srtt(),
                rtt: None,
                pacing_bps: sender.paces_at(config).map(|rate| rate as f64 * 8.0),
                alpha: sender.alpha(),
                model: sender.model(config),
            },
            (Sending::Roce(sender), _) => Snapshot {
                in_flight_bytes: (sender.written() - sender.unsent())
                    .saturating_sub(sender.acked()),
                pacing_bps: Some(sender.rate().as_bps() as f64),
                ..Snapshot::default()
            },
            (Sending::Unordered(sender), Kind::Unordered(config)) => Snapshot {
                cwnd_packets: Some(sender.window(config)),
                in_flight_bytes: sender.in_flight(),
                ..Snapshot::default()
            },
            _ => Snapshot::default(),
        }
    }

    /// Takes the last round trip that was measured, if there is one since the last call.
    pub(crate) fn take_rtt(&mut self) -> Option<Span> {
        match self {
            Sending::Tcp(sender) => sender.take_rtt(),
            Sending::Roce(sender) => sender.take_rtt(),
            Sending::Unordered(sender) => sender.take_rtt(),
            Sending::Datagrams(_) => None,
        }
    }

    /// The terms of the packet sent last; `None`: it may leave at once.
    pub(crate) fn terms(&self) -> Option<Terms> {
        match self {
            Sending::Tcp(sender) => Some(sender.terms()),
            Sending::Datagrams(_) | Sending::Roce(_) | Sending::Unordered(_) => None,
        }
    }

    /// When a packet that waits for it may leave; [`Time::NEVER`] if none does.
    pub(crate) fn paced_until(&self) -> Time {
        match self {
            Sending::Tcp(sender) => sender.paced_until(),
            Sending::Datagrams(_) | Sending::Roce(_) | Sending::Unordered(_) => Time::NEVER,
        }
    }

    /// A packet of so many bytes is no longer in the card; whether more may be handed over now.
    pub(crate) fn left_card(&mut self, bytes: u32) -> bool {
        match self {
            Sending::Tcp(sender) => sender.left_card(bytes),
            Sending::Datagrams(_) | Sending::Roce(_) | Sending::Unordered(_) => false,
        }
    }

    /// Returns what the card paces it by: when its next packet may leave, and whether it has one.
    /// `None`: the card does not pace it.
    #[inline]
    pub(crate) fn pace(&self, kind: &Kind) -> Option<(Time, bool)> {
        match (self, kind) {
            (Sending::Roce(sender), Kind::Roce(config)) => {
                Some((sender.not_before(), sender.has_more(config)))
            }
            (Sending::Unordered(sender), Kind::Unordered(config)) => {
                // A window and credit limit it, and no rate: the card may ask again at once.
                Some((Time::ZERO, sender.has_more(config)))
            }
            _ => None,
        }
    }

    /// The line of its host's card is down, or up again.
    #[cold]
    pub(crate) fn hold(&mut self, kind: &Kind, held: bool, now: Time) {
        match (self, kind) {
            (Sending::Roce(sender), Kind::Roce(config)) => sender.hold(config, held, now),
            (Sending::Unordered(sender), Kind::Unordered(config)) => {
                sender.hold(config, held, now);
            }
            _ => {}
        }
    }

    /// Whether it is to take another path from now on; says so once.
    pub(crate) fn moves(&mut self) -> bool {
        match self {
            Sending::Tcp(sender) => sender.moves(),
            _ => false,
        }
    }

    /// Handles an answer to a sender: an acknowledgement, or another.
    #[inline(always)]
    pub fn on_answer(&mut self, kind: &Kind, body: &Body, now: Time) {
        match (self, kind, body) {
            (Sending::Tcp(sender), Kind::Tcp(config), Body::Segment(ack)) => {
                sender.on_segment(config, ack, now);
            }
            (Sending::Roce(sender), Kind::Roce(config), Body::Rdma(answer)) => {
                sender.on_answer(config, answer, now);
            }
            (Sending::Unordered(sender), Kind::Unordered(config), Body::Rdma(answer)) => {
                sender.on_answer(config, answer, now);
            }
            _ => {}
        }
    }
}

impl Half for Sending {
    #[inline]
    fn poll_transmit(&mut self, kind: &Kind, now: Time) -> Option<Outgoing> {
        match (self, kind) {
            (Sending::Tcp(sender), Kind::Tcp(config)) => {
                Some(segment(config, sender.poll_transmit(config, now)?))
            }
            (Sending::Datagrams(sender), Kind::Datagrams(config)) => sender.poll_transmit(config),
            (Sending::Roce(sender), Kind::Roce(config)) => sender.poll_transmit(config, now),
            (Sending::Unordered(sender), Kind::Unordered(config)) => {
                sender.poll_transmit(config, now)
            }
            _ => None,
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Sending::Tcp(sender) => sender.next_timeout(),
            Sending::Roce(sender) => sender.next_timeout(),
            Sending::Unordered(sender) => sender.next_timeout(),
            Sending::Datagrams(_) => None,
        }
    }

    fn on_timeout(&mut self, kind: &Kind, now: Time) {
        match (self, kind) {
            (Sending::Tcp(sender), Kind::Tcp(config)) => sender.on_timeout(config, now),
            (Sending::Roce(sender), Kind::Roce(config)) => sender.on_timeout(config, now),
            (Sending::Unordered(sender), Kind::Unordered(config)) => sender.on_timeout(config, now),
            _ => {}
        }
    }
}

impl Receiving {
    /// Nothing has come yet.
    pub fn new(kind: &Kind) -> Receiving {
        match kind {
            Kind::Tcp(_) => Receiving::Tcp(tcp::Receiver::new()),
            Kind::Datagrams(_) => Receiving::Datagrams(datagram::Receiver::default()),
            Kind::Roce(_) => Receiving::Roce(Box::default()),
            Kind::Unordered(_) => Receiving::Unordered(Box::default()),
        }
    }

    /// Where the stream is that has come: of TCP's in order, else after the last that came.
    #[inline]
    pub fn reached(&self) -> u64 {
        match self {
            Receiving::Tcp(receiver) => receiver.received(),
            Receiving::Datagrams(receiver) => receiver.reached(),
            Receiving::Roce(receiver) => receiver.received(),
            Receiving::Unordered(receiver) => receiver.received(),
        }
    }

    /// Up to where all of the stream has come, if that is known.
    #[inline]
    pub fn in_order(&self) -> Option<u64> {
        match self {
            Receiving::Tcp(receiver) => Some(receiver.received()),
            Receiving::Roce(receiver) => Some(receiver.received()),
            Receiving::Unordered(receiver) => Some(receiver.received()),
            Receiving::Datagrams(_) => None,
        }
    }

    /// Bytes of the stream below an offset that have come, those beyond gaps too, if that is known.
    pub(crate) fn came_below(&self, offset: u64) -> Option<u64> {
        let (next, beyond) = match self {
            Receiving::Tcp(receiver) => (receiver.received(), receiver.came_beyond(offset)),
            Receiving::Roce(receiver) => (receiver.received(), receiver.came_beyond(offset)),
            Receiving::Unordered(receiver) => (receiver.received(), receiver.came_beyond(offset)),
            Receiving::Datagrams(_) => return None,
        };
        Some(next.min(offset) + beyond)
    }

    /// Whether it is a queue pair's.
    #[inline]
    pub fn is_pair(&self) -> bool {
        matches!(self, Receiving::Roce(_) | Receiving::Unordered(_))
    }

    /// Whether data is never acknowledged.
    #[inline]
    pub(crate) fn unanswered(&self) -> bool {
        matches!(self, Receiving::Datagrams(_))
    }

    /// Whether a queue pair has an answer to send.
    pub fn answers(&self) -> bool {
        match self {
            Receiving::Roce(receiver) => receiver.answers(),
            Receiving::Unordered(receiver) => receiver.answers(),
            Receiving::Tcp(_) | Receiving::Datagrams(_) => false,
        }
    }

    /// Whether its sender wants credit.
    #[inline]
    pub(crate) fn wants_pull(&self) -> bool {
        matches!(self, Receiving::Unordered(receiver) if receiver.wants_pull())
    }

    /// Gives its sender credit, which the next answer brings; how many bytes.
    pub(crate) fn pull(&mut self) -> u64 {
        match self {
            Receiving::Unordered(receiver) => receiver.pull(),
            _ => 0,
        }
    }

    /// Tells that the data so far ends an application's write.
    #[cold]
    pub fn on_push(&mut self, kind: &Kind) {
        if let (Receiving::Tcp(receiver), Kind::Tcp(config)) = (self, kind) {
            receiver.on_push(config);
        }
    }

    /// Data came in a packet; `merged`: several packets as one.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        kind: &Kind,
        (packet, body): (&Packet, &Body),
        merged: bool,
        now: Time,
    ) {
        let ce = packet.ecn == Ecn::Ce;
        match (self, kind, body) {
            (Receiving::Tcp(receiver), Kind::Tcp(config), Body::Segment(segment)) => {
                if merged {
                    receiver.on_merged(config, segment, ce, now);
                } else {
                    receiver.on_segment(config, segment, ce, now);
                }
            }
            (Receiving::Datagrams(receiver), _, &Body::Datagram { offset, len }) => {
                receiver.on_datagram(offset, len);
            }
            (Receiving::Roce(receiver), Kind::Roce(config), Body::Rdma(data)) => {
                receiver.on_data(config, data, ce, now);
            }
            (Receiving::Unordered(receiver), Kind::Unordered(config), Body::Rdma(data)) => {
                receiver.on_data(config, data, (ce, packet.len_bytes, packet.class));
            }
            _ => {}
        }
    }
}

impl Half for Receiving {
    #[inline]
    fn poll_transmit(&mut self, kind: &Kind, now: Time) -> Option<Outgoing> {
        match (self, kind) {
            (Receiving::Tcp(receiver), Kind::Tcp(config)) => {
                Some(segment(config, receiver.poll_transmit(config, now)?))
            }
            (Receiving::Roce(receiver), Kind::Roce(config)) => receiver.poll_transmit(config, now),
            (Receiving::Unordered(receiver), Kind::Unordered(config)) => {
                receiver.poll_transmit(config)
            }
            _ => None,
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Receiving::Tcp(receiver) => receiver.next_timeout(),
            Receiving::Roce(receiver) => receiver.next_timeout(),
            Receiving::Datagrams(_) | Receiving::Unordered(_) => None,
        }
    }

    fn on_timeout(&mut self, kind: &Kind, now: Time) {
        match (self, kind) {
            (Receiving::Tcp(receiver), Kind::Tcp(config)) => receiver.on_timeout(config, now),
            (Receiving::Roce(receiver), Kind::Roce(config)) => receiver.on_timeout(config, now),
            _ => {}
        }
    }
}

/// Whether a packet is data, which goes to a receiving half.
#[inline]
pub fn is_data(body: &Body) -> bool {
    match body {
        // A SYN goes to a receiving half like data; a SYN-ACK has the flag.
        Body::Segment(segment) => !segment.flags.contains(Flags::ACK),
        Body::Datagram { .. } => true,
        Body::Rdma(rdma) => rdma.kind.is_data(),
        Body::Echo { .. } | Body::Notification(_) | Body::Pause { .. } => false,
    }
}
