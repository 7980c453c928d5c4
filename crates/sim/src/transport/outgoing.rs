//! A packet on its way from a half to the card.

use crate::packet::Body;
use switchbed_qdisc::Ecn;

/// A packet that a half wants sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Content of the packet.
    pub body: Body,
    /// Length on the wire in bytes.
    pub len_bytes: u32,
    /// Whether it may be marked.
    pub ecn: Ecn,
    /// Service class, where it differs from the connection's.
    pub class: Option<u8>,
    /// Change of its connection's ECMP key, where packets are sprayed; 0: none.
    pub entropy: u32,
}
