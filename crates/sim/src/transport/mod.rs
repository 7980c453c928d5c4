//! Transports: the halves of a connection as state machines without input or output of their
//! own. A half never sees the other's state, only what packets bring.
//!
//! Whoever drives a half hands in what arrives, with the time, then polls for what to send, then
//! asks when it wants to be woken. Settings are passed to every call.

pub mod datagram;
pub mod tcp;

use crate::packet::{Body, Flags};
use switchbed_qdisc::Ecn;
use switchbed_qdisc::fq::Terms;
use switchbed_qdisc::units::Time;
use switchbed_spec::Transport;
use switchbed_spec::transport::Warm;
use tcp::Counters;

/// A transport's settings, one copy for all hosts.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for all hosts")]
pub enum Settings {
    /// TCP's.
    Tcp(tcp::Config),
    /// Those of senders without TCP.
    Datagrams(datagram::Config),
}

impl Settings {
    /// What a scenario asks for; `tcp` is the same read as TCP's.
    pub fn new(transport: &Transport, tcp: tcp::Config) -> Settings {
        match transport.control.about().tcp {
            true => Settings::Tcp(tcp),
            false => Settings::Datagrams(datagram::Config::new(transport)),
        }
    }

    /// Whether nothing but the network card paces a sender, which then asks for its packets.
    pub fn paced_by_card(&self) -> bool {
        matches!(self, Settings::Datagrams(_))
    }

    /// Whether senders have terms for their packets, and hear what has left the card.
    #[inline]
    pub(crate) fn shapes(&self) -> bool {
        matches!(self, Settings::Tcp(config) if config.shapes())
    }

    /// Payload of a full packet in bytes.
    pub fn mss(&self) -> u32 {
        match self {
            Settings::Tcp(config) => config.mss(),
            Settings::Datagrams(config) => config.mss,
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

/// A packet that a half wants sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// What is in it.
    pub body: Body,
    /// Its length on the wire in bytes.
    pub len_bytes: u32,
    /// Whether it may be marked.
    pub ecn: Ecn,
}

/// Either half of a connection.
pub trait Half {
    /// The next packet to send.
    fn poll_transmit(&mut self, settings: &Settings, now: Time) -> Option<Outgoing>;
    /// When [`Half::on_timeout`] is due.
    fn next_timeout(&self) -> Option<Time>;
    /// Time has passed; before it is due this does nothing.
    fn on_timeout(&mut self, settings: &Settings, now: Time);
}

/// The half that an application writes to.
#[derive(Clone, Debug)]
pub enum Sending {
    /// TCP's.
    Tcp(tcp::Sender),
    /// One without TCP.
    Datagrams(datagram::Sender),
}

/// The half that takes in what arrives.
#[derive(Clone, Debug)]
pub enum Receiving {
    /// TCP's.
    Tcp(tcp::Receiver),
    /// One without TCP.
    Datagrams(datagram::Receiver),
}

fn segment(config: &tcp::Config, segment: tcp::Segment) -> Outgoing {
    let ecn = if config.ecn_capable(&segment) { config.ect() } else { Ecn::NotEct };
    Outgoing { body: Body::Segment(segment), len_bytes: config.wire_bytes(&segment), ecn }
}

impl Sending {
    /// A connection that begins so.
    pub fn new(settings: &Settings, opening: Opening, warm: Option<&Warm>) -> Sending {
        match (settings, opening, warm) {
            (Settings::Datagrams(_), ..) => Sending::Datagrams(datagram::Sender::default()),
            (Settings::Tcp(config), Opening::Warm, Some(warm)) => {
                Sending::Tcp(tcp::Sender::warm(config, warm))
            }
            (Settings::Tcp(config), Opening::Handshake, _) => {
                Sending::Tcp(tcp::Sender::new(config))
            }
            (Settings::Tcp(config), ..) => Sending::Tcp(tcp::Sender::established(config)),
        }
    }

    /// The application appends `bytes` to the stream.
    pub fn write(&mut self, bytes: u64) {
        match self {
            Sending::Tcp(sender) => sender.write(bytes),
            Sending::Datagrams(sender) => sender.write(bytes),
        }
    }

    /// The application takes back what has not been sent yet; returns where the stream ends now.
    pub fn truncate(&mut self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.truncate(),
            Sending::Datagrams(sender) => sender.truncate(),
        }
    }

    /// Where the stream ends: bytes written.
    pub fn written(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.written(),
            Sending::Datagrams(sender) => sender.written(),
        }
    }

    /// Bytes acknowledged; without TCP none is.
    #[inline]
    pub fn acked(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.acked(),
            Sending::Datagrams(_) => 0,
        }
    }

    /// Whether nothing that was written is left to send or to be acknowledged.
    #[inline]
    pub fn idle(&self) -> bool {
        match self {
            Sending::Tcp(sender) => sender.idle(),
            Sending::Datagrams(sender) => sender.unsent() == 0,
        }
    }

    /// Bytes written and not sent yet, or to be sent again after a timeout.
    pub fn unsent(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.unsent(),
            Sending::Datagrams(sender) => sender.unsent(),
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        match self {
            Sending::Tcp(sender) => *sender.counters(),
            Sending::Datagrams(_) => Counters::default(),
        }
    }

    /// DCTCP's α, the marked fraction.
    pub fn alpha(&self) -> Option<f64> {
        match self {
            Sending::Tcp(sender) => sender.alpha(),
            Sending::Datagrams(_) => None,
        }
    }

    /// The terms of the packet sent last; `None`: it may leave at once.
    pub(crate) fn terms(&self) -> Option<Terms> {
        match self {
            Sending::Tcp(sender) => Some(sender.terms()),
            Sending::Datagrams(_) => None,
        }
    }

    /// When a packet that waits for it may leave; [`Time::NEVER`] if none does.
    pub(crate) fn paced_until(&self) -> Time {
        match self {
            Sending::Tcp(sender) => sender.paced_until(),
            Sending::Datagrams(_) => Time::NEVER,
        }
    }

    /// A packet of so many bytes is no longer in the card; whether more may be handed over now.
    pub(crate) fn left_card(&mut self, bytes: u32) -> bool {
        match self {
            Sending::Tcp(sender) => sender.left_card(bytes),
            Sending::Datagrams(_) => false,
        }
    }

    /// An acknowledgement came.
    #[inline(always)]
    pub fn on_ack(&mut self, settings: &Settings, ack: &tcp::Segment, now: Time) {
        if let (Sending::Tcp(sender), Settings::Tcp(config)) = (self, settings) {
            sender.on_segment(config, ack, now);
        }
    }
}

impl Half for Sending {
    #[inline]
    fn poll_transmit(&mut self, settings: &Settings, now: Time) -> Option<Outgoing> {
        match (self, settings) {
            (Sending::Tcp(sender), Settings::Tcp(config)) => {
                Some(segment(config, sender.poll_transmit(config, now)?))
            }
            (Sending::Datagrams(sender), Settings::Datagrams(config)) => {
                sender.poll_transmit(config)
            }
            _ => None,
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Sending::Tcp(sender) => sender.next_timeout(),
            Sending::Datagrams(_) => None,
        }
    }

    fn on_timeout(&mut self, settings: &Settings, now: Time) {
        if let (Sending::Tcp(sender), Settings::Tcp(config)) = (self, settings) {
            sender.on_timeout(config, now);
        }
    }
}

impl Receiving {
    /// Nothing has come yet.
    pub fn new(settings: &Settings) -> Receiving {
        match settings {
            Settings::Tcp(_) => Receiving::Tcp(tcp::Receiver::new()),
            Settings::Datagrams(_) => Receiving::Datagrams(datagram::Receiver::default()),
        }
    }

    /// Where the stream is that has come: of TCP's in order, else after the last that came.
    #[inline]
    pub fn reached(&self) -> u64 {
        match self {
            Receiving::Tcp(receiver) => receiver.received(),
            Receiving::Datagrams(receiver) => receiver.reached(),
        }
    }

    /// Up to where all of the stream has come, if that is known.
    #[inline]
    pub fn in_order(&self) -> Option<u64> {
        match self {
            Receiving::Tcp(receiver) => Some(receiver.received()),
            Receiving::Datagrams(_) => None,
        }
    }

    /// Data came; `ce`: with a congestion mark, `merged`: several packets as one.
    #[inline(always)]
    pub fn on_data(&mut self, settings: &Settings, body: &Body, ce: bool, merged: bool, now: Time) {
        match (self, settings, body) {
            (Receiving::Tcp(receiver), Settings::Tcp(config), Body::Segment(segment)) => {
                if merged {
                    receiver.on_merged(config, segment, ce, now);
                } else {
                    receiver.on_segment(config, segment, ce, now);
                }
            }
            (Receiving::Datagrams(receiver), _, &Body::Datagram { offset, len }) => {
                receiver.on_datagram(offset, len);
            }
            _ => {}
        }
    }
}

impl Half for Receiving {
    #[inline]
    fn poll_transmit(&mut self, settings: &Settings, now: Time) -> Option<Outgoing> {
        match (self, settings) {
            (Receiving::Tcp(receiver), Settings::Tcp(config)) => {
                Some(segment(config, receiver.poll_transmit(config, now)?))
            }
            _ => None,
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Receiving::Tcp(receiver) => receiver.next_timeout(),
            Receiving::Datagrams(_) => None,
        }
    }

    fn on_timeout(&mut self, settings: &Settings, now: Time) {
        if let (Receiving::Tcp(receiver), Settings::Tcp(config)) = (self, settings) {
            receiver.on_timeout(config, now);
        }
    }
}

/// Whether a packet is data, which goes to a receiving half.
#[inline]
pub fn is_data(body: &Body) -> bool {
    match body {
        Body::Segment(segment) => !segment.flags.contains(Flags::ACK),
        Body::Datagram { .. } => true,
        Body::Echo { .. } | Body::Notification(_) | Body::Pause { .. } => false,
    }
}
