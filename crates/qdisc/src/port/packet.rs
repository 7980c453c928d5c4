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
    /// The transport is not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, codepoint ECT(1).
    // RFC 3168 numbers the codepoints against their names: ECT(1) is 01, ECT(0) is 10.
    Ect1 = 0b01,
    /// ECN-capable transport, codepoint ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced: the packet is marked.
    Ce = 0b11,
}

impl Ecn {
    /// Whether a mark can be carried (ECT or CE already).
    #[inline]
    pub const fn capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// Fields of a packet that a scheme may read. The bytes stay with the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Flow that the packet belongs to.
    pub flow: FlowId,
    /// Length on the wire in bytes.
    pub len_bytes: u32,
    /// The port of this switch it came in on.
    pub ingress: u16,
    /// Service class: the DSCP field.
    pub class: u8,
    /// ECN field at arrival. A mark of this port stays a [`Note`](super::arena::Note) until it
    /// leaves.
    pub ecn: Ecn,
}
