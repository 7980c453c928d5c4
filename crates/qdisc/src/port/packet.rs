//! A packet as a queueing discipline sees it.

/// A flow's number, or a hash of its addresses: whatever the caller tells flows apart by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A queue of a port, from 0.
pub type QueueId = u8;

/// The ECN field of the IP header (RFC 3168, section 5), with its values on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Whether a mark can be carried (ECT or CE already).
    #[inline]
    pub const fn capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// What a scheme may know of a packet. The bytes stay with the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowId,
    /// Its length on the wire in bytes.
    pub len_bytes: u32,
    /// The port of this switch it came in on.
    pub ingress: u16,
    /// Its service class (DSCP).
    pub class: u8,
    /// Its ECN field as it arrived; a mark of this port is a note until it leaves.
    pub ecn: Ecn,
}
