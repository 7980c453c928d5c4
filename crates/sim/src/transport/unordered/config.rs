//! Settings of unordered delivery.

use super::fields::Fields;
use crate::packet::Body;
use crate::packet::rdma::{Rdma, RdmaKind};
use crate::transport::Outgoing;
use switchbed_congestion::nscc::NsccPath;
use switchbed_qdisc::Ecn;
use switchbed_scenario::Roce;
use switchbed_scenario::roce::Spray;
use switchbed_units::{Rate, Span, Time};

/// Credit is counted in units of so many bytes.
const UNIT: u64 = 256;
/// Credit of a pull in bytes. htsim means four packets, and computes this before it knows their size.
pub(super) const PULLED: u64 = 16_384;

/// One copy for all.
#[derive(Clone, Debug)]
pub struct Config {
    /// End of the warm-up, from which waits count.
    pub(super) counts_from: Time,
    /// A sender has a window.
    pub(super) nscc: bool,
    /// A sender needs credit of its receiver.
    pub(super) credits: bool,
    pub(super) mtu: u32,
    /// Bytes of a data packet besides payload.
    pub(super) header: u32,
    /// Length of a SACK, and of a NACK, a pull and a request.
    pub(super) sack_bytes: u32,
    pub(super) control_bytes: u32,
    pub(super) ecn: Ecn,
    /// Bytes that a SACK may cover.
    pub(super) ack_after: u64,
    pub(super) rto: Span,
    pub(super) give_up: Span,
    pub(super) class: Option<u8>,
    pub(super) spray: Spray,
    /// A power of two.
    pub(super) entropies: u32,
    /// Class of packets that were trimmed at a port to a host, where it differs.
    pub(super) last_hop: Option<u8>,
    pub(super) rtt: Span,
    pub(super) target: Option<Span>,
    pub(super) trimming: bool,
    /// Packets that were lost without a trim are found by what came after them and by probes.
    pub(super) sleek: bool,
    /// How many times what the fabric carries hosts may send.
    pub(super) oversubscription: f64,
}

impl Config {
    /// Whether senders choose a path for each packet.
    pub(crate) fn sprays(&self) -> bool {
        self.entropies > 1
    }

    /// The same with waits that count from the end of a run's warm-up.
    #[must_use]
    pub(crate) fn counting(self, counts_from: Time) -> Config {
        Config { counts_from, ..self }
    }

    /// A scenario's; `rtt` is that of a full packet on the longest way of the network, and `drain` how long a full
    /// queue takes to empty. `trims`: the switches trim, and the class of packets that they trim at ports to hosts,
    /// where it differs.
    pub fn new(roce: &Roce, (rtt, drain): (Span, Span), trims: Option<Option<u8>>) -> Config {
        let about = roce.control.about();
        // htsim's driver.
        let rto = roce.spray_rto.unwrap_or(Span::from_us(15) + drain * 6);
        Config {
            counts_from: Time::ZERO,
            nscc: about.nscc,
            credits: about.credits,
            mtu: roce.mtu.get() as u32,
            header: roce.overhead().get() as u32,
            sack_bytes: roce.ack_bytes(),
            control_bytes: roce.control_bytes(),
            ecn: if roce.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            ack_after: roce.ack_after.get(),
            rto,
            give_up: roce.give_up,
            class: roce.ack_class,
            spray: roce.spray,
            entropies: roce.entropies,
            last_hop: trims.flatten(),
            rtt,
            target: roce.target_delay,
            trimming: trims.is_some(),
            sleek: roce.sleek && about.nscc,
            oversubscription: if about.credits { roce.oversubscription } else { 1.0 },
        }
    }

    /// Payload of a full packet in bytes.
    pub(crate) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Whether receivers give credit.
    pub(crate) fn credits(&self) -> bool {
        self.credits
    }

    /// How many times what the fabric carries hosts may send.
    pub(crate) fn oversubscription(&self) -> f64 {
        self.oversubscription
    }

    /// Whether a switch trimmed this packet, and which: `Some(true)` at the port to its receiver.
    pub(crate) fn trimmed(&self, data: &Rdma, (len_bytes, class): (u32, u8)) -> Option<bool> {
        let whole = u32::from(data.len) + self.header;
        (data.kind == RdmaKind::Sprayed && len_bytes < whole)
            .then_some(self.last_hop == Some(class))
    }

    /// Bytes of a full packet on the wire.
    pub(super) fn wire(&self) -> u64 {
        u64::from(self.mtu + self.header)
    }

    /// Bytes on the wire of so much payload.
    pub(super) fn on_wire(&self, payload: u64) -> u64 {
        payload + payload.div_ceil(self.mtu.into()) * u64::from(self.header)
    }

    /// The path from a card with such a line, as the window's constants are scaled by it.
    pub(super) fn path(&self, line: Rate) -> NsccPath {
        NsccPath {
            line,
            rtt: self.rtt,
            mss: self.mtu,
            mtu: self.wire() as u32,
            target: self.target,
            trimming: self.trimming,
        }
    }

    /// Makes a packet, which takes a path by its entropy.
    pub(super) fn packet(&self, fields: Fields, len_bytes: u32, class: Option<u8>) -> Outgoing {
        let entropy = fields.entropy();
        let body = Body::Rdma(fields.into_rdma());
        Outgoing { body, len_bytes, ecn: self.ecn, class, entropy: path_of(entropy) }
    }
}

/// Credit in whole units, rounded up.
pub(super) fn in_units(bytes: u64) -> u64 {
    bytes.next_multiple_of(UNIT)
}

/// Change of a connection's ECMP key by an entropy; never zero, which changes nothing.
fn path_of(entropy: u16) -> u32 {
    // Without the highest bit, which would pin a path; 0 would leave the connection's own.
    ((u32::from(entropy) + 1).wrapping_mul(0x9e37_79b1) & 0x7fff_ffff).max(1)
}
