//! RoCE's queue pairs: messages over an Ethernet that loses little or nothing.
//!
//! | file | what |
//! | --- | --- |
//! | `sender` | the requester: what leaves, at what rate, and again |
//! | `messages` | which packets a stream of messages is cut into |
//! | `receiver` | the responder: ACKs, NACKs, CNPs |
//!
//! The control of the rate is in crate `congestion` ([`switchbed_congestion::roce`]); the network card sends a
//! packet when that allows it. A queue pair is set up beforehand, without packets.

mod messages;
mod receiver;
mod sender;
pub(in crate::transport) use messages::Messages;
pub use receiver::Receiver;
pub use sender::Sender;
use switchbed_congestion::roce::{Path, RateAbout, RateControl};
use switchbed_qdisc::Ecn;
use switchbed_scenario::{Recovery, Roce};
use switchbed_units::{Rate, Span, Time};

/// One copy for all.
#[derive(Clone, Debug)]
pub struct Config {
    /// End of the warm-up, from which waits count.
    counts_from: Time,
    control: RateControl,
    about: RateAbout,
    path: Path,
    mtu: u32,
    /// Bytes of a data packet besides payload.
    header: u32,
    ack_bytes: u32,
    cnp_bytes: u32,
    ecn: Ecn,
    ack_every: u32,
    recovery: Recovery,
    nack_interval: Span,
    rto: Span,
    rto_low: Span,
    give_up: Span,
    window: u64,
    cnp_interval: Option<Span>,
    ack_class: Option<u8>,
    cnp_class: Option<u8>,
}

impl Config {
    /// The same with waits that count from the end of a run's warm-up.
    #[must_use]
    pub(crate) fn counting(self, counts_from: Time) -> Config {
        Config { counts_from, ..self }
    }

    /// A scenario's; `base_rtt` is that of a full packet on the longest way of the network, which leads over so
    /// many switches.
    pub fn new(roce: &Roce, base_rtt: Span, hops: u32) -> Config {
        let mtu = roce.mtu.get() as u32;
        Config {
            counts_from: Time::ZERO,
            about: *roce.control.about(),
            cnp_interval: roce.control.cnp_interval(),
            control: roce.control,
            path: Path {
                line: Rate::from_bps(0),
                base_rtt,
                hops,
                mss: mtu,
                wire: roce.wire_bytes(mtu),
            },
            mtu,
            header: roce.overhead().get() as u32,
            ack_bytes: roce.ack_bytes(),
            cnp_bytes: roce.cnp_bytes(),
            ecn: if roce.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            ack_every: roce.ack_every,
            recovery: roce.recovery,
            nack_interval: roce.nack_interval,
            rto: roce.rto,
            rto_low: roce.rto_low,
            give_up: roce.give_up,
            window: roce.window.map_or(u64::MAX, |window| window.get()),
            ack_class: roce.ack_class,
            cnp_class: roce.cnp_class.or(roce.ack_class),
        }
    }

    /// Payload of a full packet in bytes.
    pub(crate) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Whether packets gather INT.
    pub(crate) fn gathers(&self) -> bool {
        self.about.int
    }

    /// Returns the properties of the path from a card with such a line.
    fn path(&self, line: Rate) -> Path {
        Path { line, ..self.path }
    }
}
