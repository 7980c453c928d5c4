//! Transports: the halves of a connection as state machines without input or output of their
//! own. A half never sees the other's state, only what packets bring.
//!
//! Whoever drives a half hands in what arrives, with the time, then polls for what to send, then
//! asks when it wants to be woken. Settings are passed to every call.

mod counters;
pub mod datagram;
mod ranges;
pub mod roce;
pub mod tcp;

pub(crate) use counters::Tally;
pub use counters::{Counters, Wait, Waits};

use crate::packet::{Body, Flags};
use switchbed_qdisc::Ecn;
use switchbed_qdisc::fq::Terms;
use switchbed_scenario::Transport;
use switchbed_scenario::transport::Warm;
use switchbed_units::{Rate, Span, Time};

/// Transports' settings, one copy for all hosts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Those of flows without queue pairs.
    pub main: Main,
    /// Queue pairs'.
    pub roce: Option<Box<roce::Config>>,
}

/// What flows without queue pairs have.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for all hosts")]
pub enum Main {
    /// TCP.
    Tcp(tcp::Config),
    /// Senders without TCP.
    Datagrams(datagram::Config),
}

impl Settings {
    /// What a scenario asks for; `tcp` is the same read as TCP's.
    pub fn new(transport: &Transport, tcp: tcp::Config, roce: Option<roce::Config>) -> Settings {
        let about = transport.control.about();
        let main = match about.tcp || about.roce {
            true => Main::Tcp(tcp),
            false => Main::Datagrams(datagram::Config::new(transport)),
        };
        Settings { main, roce: roce.map(Box::new) }
    }

    /// Whether nothing is acknowledged.
    pub fn unanswered(&self) -> bool {
        matches!(self.main, Main::Datagrams(_))
    }

    /// Whether the network card paces senders, and asks all of them for their packets.
    pub fn paced_by_card(&self) -> bool {
        self.unanswered() || self.roce.is_some()
    }

    /// Whether senders have terms for their packets, and hear what has left the card.
    #[inline]
    pub(crate) fn shapes(&self) -> bool {
        matches!(&self.main, Main::Tcp(config) if config.shapes())
    }

    /// Whether packets gather INT.
    pub(crate) fn gathers(&self) -> bool {
        self.roce.as_ref().is_some_and(|config| config.gathers())
    }

    /// Payload of a full packet in bytes, of a flow without a queue pair.
    pub fn mss(&self) -> u32 {
        match &self.main {
            Main::Tcp(config) => config.mss(),
            Main::Datagrams(config) => config.mss,
        }
    }

    /// Whether a class's flows have queue pairs.
    pub fn pairs(&self, class: u8) -> bool {
        self.roce_of(class).is_some()
    }

    /// The queue pairs' of a class.
    fn roce_of(&self, class: u8) -> Option<&roce::Config> {
        self.roce.as_deref().filter(|config| config.carries(class))
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
    /// Its class, where that is not its connection's.
    pub class: Option<u8>,
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
    /// A queue pair's.
    Roce(Box<roce::Sender>),
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
}

fn segment(config: &tcp::Config, segment: tcp::Segment) -> Outgoing {
    let ecn = if config.ecn_capable(&segment) { config.ect() } else { Ecn::NotEct };
    Outgoing {
        body: Body::Segment(segment),
        len_bytes: config.wire_bytes(&segment),
        ecn,
        class: None,
    }
}

impl Sending {
    /// A connection of a class that begins so, at a card whose line has this rate.
    pub fn new(
        settings: &Settings,
        opening: Opening,
        warm: Option<&Warm>,
        class: u8,
        line: Rate,
        now: Time,
    ) -> Sending {
        if let Some(config) = settings.roce_of(class) {
            return Sending::Roce(Box::new(roce::Sender::new(config, line, now)));
        }
        match (&settings.main, opening, warm) {
            (Main::Datagrams(_), ..) => Sending::Datagrams(datagram::Sender::default()),
            (Main::Tcp(config), Opening::Warm, Some(warm)) => {
                Sending::Tcp(tcp::Sender::warm(config, warm))
            }
            (Main::Tcp(config), Opening::Handshake, _) => Sending::Tcp(tcp::Sender::new(config)),
            (Main::Tcp(config), ..) => Sending::Tcp(tcp::Sender::established(config)),
        }
    }

    /// The application appends `bytes` to the stream.
    pub fn write(&mut self, settings: &Settings, bytes: u64) {
        match self {
            Sending::Tcp(sender) => sender.write(bytes),
            Sending::Datagrams(sender) => sender.write(bytes),
            Sending::Roce(sender) => {
                if let Some(config) = &settings.roce {
                    sender.write(config, bytes);
                }
            }
        }
    }

    /// The application takes back what has not been sent yet; returns where the stream ends now.
    pub fn truncate(&mut self, settings: &Settings) -> u64 {
        match (self, &settings.roce) {
            (Sending::Tcp(sender), _) => sender.truncate(),
            (Sending::Datagrams(sender), _) => sender.truncate(),
            (Sending::Roce(sender), Some(config)) => sender.truncate(config),
            (Sending::Roce(sender), None) => sender.written(),
        }
    }

    /// Where the stream ends: bytes written.
    pub fn written(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.written(),
            Sending::Datagrams(sender) => sender.written(),
            Sending::Roce(sender) => sender.written(),
        }
    }

    /// Bytes acknowledged; without TCP none is.
    #[inline]
    pub fn acked(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.acked(),
            Sending::Datagrams(_) => 0,
            Sending::Roce(sender) => sender.acked(),
        }
    }

    /// Whether nothing that was written is left to send or to be acknowledged.
    #[inline]
    pub fn idle(&self) -> bool {
        match self {
            Sending::Tcp(sender) => sender.idle(),
            Sending::Datagrams(sender) => sender.unsent() == 0,
            Sending::Roce(sender) => sender.acked() == sender.written(),
        }
    }

    /// Bytes written and not sent yet, or to be sent again after a timeout.
    pub fn unsent(&self) -> u64 {
        match self {
            Sending::Tcp(sender) => sender.unsent(),
            Sending::Datagrams(sender) => sender.unsent(),
            Sending::Roce(sender) => sender.unsent(),
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        match self {
            Sending::Tcp(sender) => *sender.counters(),
            Sending::Datagrams(_) => Counters::default(),
            Sending::Roce(sender) => sender.counters(),
        }
    }

    /// The timers that it has waited for.
    pub fn waits(&self) -> Waits {
        match self {
            Sending::Tcp(sender) => sender.waits(),
            Sending::Datagrams(_) => Waits::default(),
            Sending::Roce(sender) => sender.waits(),
        }
    }

    /// Whether it has given up.
    pub fn failed(&self) -> bool {
        match self {
            Sending::Tcp(sender) => sender.failed(),
            Sending::Roce(sender) => sender.failed(),
            Sending::Datagrams(_) => false,
        }
    }

    /// Tells a passive opener that `answer` came `rtt` after its SYN-ACK.
    pub fn accepted(&mut self, settings: &Settings, answer: &tcp::Segment, rtt: Span) {
        if let (Sending::Tcp(sender), Main::Tcp(config)) = (self, &settings.main) {
            sender.accepted(config, rtt, answer.flags.contains(Flags::NO_ECN));
        }
    }

    /// DCTCP's α, the marked fraction.
    pub fn alpha(&self) -> Option<f64> {
        match self {
            Sending::Tcp(sender) => sender.alpha(),
            Sending::Datagrams(_) | Sending::Roce(_) => None,
        }
    }

    /// The terms of the packet sent last; `None`: it may leave at once.
    pub(crate) fn terms(&self) -> Option<Terms> {
        match self {
            Sending::Tcp(sender) => Some(sender.terms()),
            Sending::Datagrams(_) | Sending::Roce(_) => None,
        }
    }

    /// When a packet that waits for it may leave; [`Time::NEVER`] if none does.
    pub(crate) fn paced_until(&self) -> Time {
        match self {
            Sending::Tcp(sender) => sender.paced_until(),
            Sending::Datagrams(_) | Sending::Roce(_) => Time::NEVER,
        }
    }

    /// A packet of so many bytes is no longer in the card; whether more may be handed over now.
    pub(crate) fn left_card(&mut self, bytes: u32) -> bool {
        match self {
            Sending::Tcp(sender) => sender.left_card(bytes),
            Sending::Datagrams(_) | Sending::Roce(_) => false,
        }
    }

    /// What paces it in the card: when its next packet may leave, and whether it has one; `None`: nothing.
    #[inline]
    pub(crate) fn pace(&self, settings: &Settings) -> Option<(Time, bool)> {
        match (self, &settings.roce) {
            (Sending::Roce(sender), Some(config)) => {
                Some((sender.not_before(), sender.has_more(config)))
            }
            _ => None,
        }
    }

    /// What came for a sender: an acknowledgement, or another answer.
    #[inline(always)]
    pub fn on_answer(&mut self, settings: &Settings, body: &Body, now: Time) {
        match (self, body) {
            (Sending::Tcp(sender), Body::Segment(ack)) => {
                if let Main::Tcp(config) = &settings.main {
                    sender.on_segment(config, ack, now);
                }
            }
            (Sending::Roce(sender), Body::Rdma(answer)) => {
                if let Some(config) = &settings.roce {
                    sender.on_answer(config, answer, now);
                }
            }
            _ => {}
        }
    }
}

impl Half for Sending {
    #[inline]
    fn poll_transmit(&mut self, settings: &Settings, now: Time) -> Option<Outgoing> {
        match (self, &settings.main) {
            (Sending::Tcp(sender), Main::Tcp(config)) => {
                Some(segment(config, sender.poll_transmit(config, now)?))
            }
            (Sending::Datagrams(sender), Main::Datagrams(config)) => sender.poll_transmit(config),
            (Sending::Roce(sender), _) => sender.poll_transmit(settings.roce.as_deref()?, now),
            _ => None,
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Sending::Tcp(sender) => sender.next_timeout(),
            Sending::Roce(sender) => sender.next_timeout(),
            Sending::Datagrams(_) => None,
        }
    }

    fn on_timeout(&mut self, settings: &Settings, now: Time) {
        match (self, &settings.main, &settings.roce) {
            (Sending::Tcp(sender), Main::Tcp(config), _) => sender.on_timeout(config, now),
            (Sending::Roce(sender), _, Some(config)) => sender.on_timeout(config, now),
            _ => {}
        }
    }
}

impl Receiving {
    /// Nothing has come yet.
    pub fn new(settings: &Settings, class: u8) -> Receiving {
        if settings.roce_of(class).is_some() {
            return Receiving::Roce(Box::default());
        }
        match settings.main {
            Main::Tcp(_) => Receiving::Tcp(tcp::Receiver::new()),
            Main::Datagrams(_) => Receiving::Datagrams(datagram::Receiver::default()),
        }
    }

    /// Where the stream is that has come: of TCP's in order, else after the last that came.
    #[inline]
    pub fn reached(&self) -> u64 {
        match self {
            Receiving::Tcp(receiver) => receiver.received(),
            Receiving::Datagrams(receiver) => receiver.reached(),
            Receiving::Roce(receiver) => receiver.received(),
        }
    }

    /// Up to where all of the stream has come, if that is known.
    #[inline]
    pub fn in_order(&self) -> Option<u64> {
        match self {
            Receiving::Tcp(receiver) => Some(receiver.received()),
            Receiving::Roce(receiver) => Some(receiver.received()),
            Receiving::Datagrams(_) => None,
        }
    }

    /// Whether it is a queue pair's.
    #[inline]
    pub fn is_pair(&self) -> bool {
        matches!(self, Receiving::Roce(_))
    }

    /// Whether a queue pair has an answer to send.
    pub fn answers(&self) -> bool {
        matches!(self, Receiving::Roce(receiver) if receiver.answers())
    }

    /// Tells that the data so far ends an application's write.
    #[cold]
    pub fn on_push(&mut self, settings: &Settings) {
        if let (Receiving::Tcp(receiver), Main::Tcp(config)) = (self, &settings.main) {
            receiver.on_push(config);
        }
    }

    /// Data came; `ce`: with a congestion mark, `merged`: several packets as one.
    #[inline(always)]
    pub fn on_data(&mut self, settings: &Settings, body: &Body, ce: bool, merged: bool, now: Time) {
        match (self, &settings.main, body) {
            (Receiving::Tcp(receiver), Main::Tcp(config), Body::Segment(segment)) => {
                if merged {
                    receiver.on_merged(config, segment, ce, now);
                } else {
                    receiver.on_segment(config, segment, ce, now);
                }
            }
            (Receiving::Datagrams(receiver), _, &Body::Datagram { offset, len }) => {
                receiver.on_datagram(offset, len);
            }
            (Receiving::Roce(receiver), _, Body::Rdma(data)) => {
                if let Some(config) = &settings.roce {
                    receiver.on_data(config, data, ce, now);
                }
            }
            _ => {}
        }
    }
}

impl Half for Receiving {
    #[inline]
    fn poll_transmit(&mut self, settings: &Settings, now: Time) -> Option<Outgoing> {
        match (self, &settings.main) {
            (Receiving::Tcp(receiver), Main::Tcp(config)) => {
                Some(segment(config, receiver.poll_transmit(config, now)?))
            }
            (Receiving::Roce(receiver), _) => {
                receiver.poll_transmit(settings.roce.as_deref()?, now)
            }
            _ => None,
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        match self {
            Receiving::Tcp(receiver) => receiver.next_timeout(),
            Receiving::Roce(receiver) => receiver.next_timeout(),
            Receiving::Datagrams(_) => None,
        }
    }

    fn on_timeout(&mut self, settings: &Settings, now: Time) {
        match (self, &settings.main, &settings.roce) {
            (Receiving::Tcp(receiver), Main::Tcp(config), _) => receiver.on_timeout(config, now),
            (Receiving::Roce(receiver), _, Some(config)) => receiver.on_timeout(config, now),
            _ => {}
        }
    }
}

/// Whether a packet is data, which goes to a receiving half.
#[inline]
pub fn is_data(body: &Body) -> bool {
    match body {
        Body::Segment(segment) => !segment.flags.contains(Flags::ACK),
        Body::Datagram { .. } => true,
        Body::Rdma(rdma) => rdma.kind.is_data(),
        Body::Echo { .. } | Body::Notification(_) | Body::Pause { .. } => false,
    }
}
