//! Segments between the halves of a TCP connection.

use switchbed_units::Time;

/// A TCP segment as the simulator carries it: a plain value, no bytes.
///
/// Data goes one way and ACKs the other, so one stream offset does for both: a data
/// segment's says where its payload begins, an ACK's which byte is expected next.
/// A SYN takes no place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Data: offset of the first payload byte. ACK: offset of the next byte expected.
    pub offset: u64,
    /// Data: when it was sent. ACK: the echo of that (RFC 7323's timestamps; their bytes
    /// are not counted).
    pub stamp: Time,
    /// The first `sacks` are what the receiver holds beyond `offset` (RFC 2018), the
    /// block that changed last first; before them may be what came twice (RFC 2883).
    pub sack: [SackBlock; MAX_SACKS],
    /// Data: payload in bytes. ACK: the receive window in bytes, where that opens.
    pub len: u32,
    /// Flags of the TCP header.
    pub flags: Flags,
    /// Number of SACK blocks in use.
    pub sacks: u8,
    /// ACK: the packets that came with a mark so far (accurate ECN's option, RFC 9768).
    pub marked: u16,
}

/// SACK blocks that fit into an ACK beside RFC 7323's timestamps.
pub const MAX_SACKS: usize = 3;

/// A block of received bytes, as distances from the ACK's `offset`; `end` is excluded. Distances
/// to what is below it wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Offset of its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

/// A set of flags: TCP's, and what else of a packet the halves of a connection tell each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// None: a plain data segment.
    pub const NONE: Flags = Flags(0);
    /// Opens a connection.
    pub const SYN: Flags = Flags(1);
    /// Acknowledges.
    pub const ACK: Flags = Flags(2);
    /// Echoes a congestion mark (RFC 3168).
    pub const ECE: Flags = Flags(4);
    /// The sender has reduced its window (RFC 3168).
    pub const CWR: Flags = Flags(8);
    /// Not on the wire: this data has been sent before.
    pub const RETRANSMIT: Flags = Flags(16);
    /// Accurate ECN, with ECE and CWR its counter (RFC 9768).
    pub const AE: Flags = Flags(32);
    /// Not ECN-capable whatever the settings are: its connection was opened without.
    pub const NO_ECN: Flags = Flags(64);
    /// Not on the wire: a timer held this ACK back.
    pub const HELD: Flags = Flags(128);

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns these flags and `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Returns these flags, and `other` too if `condition` holds.
    #[must_use]
    pub const fn with_if(self, other: Flags, condition: bool) -> Flags {
        if condition { self.with(other) } else { self }
    }
}

impl Segment {
    /// `len` bytes of payload from `offset`.
    pub const fn data(offset: u64, len: u32, flags: Flags, now: Time) -> Segment {
        let sack = [SackBlock { start: 0, end: 0 }; MAX_SACKS];
        Segment { offset, stamp: now, sack, len, flags, sacks: 0, marked: 0 }
    }

    /// An acknowledgement without SACK blocks.
    pub const fn ack(offset: u64, flags: Flags, echo: Time) -> Segment {
        Segment::data(offset, 0, flags.with(Flags::ACK), echo)
    }

    /// Bytes of payload.
    pub fn payload(&self) -> u32 {
        if self.flags.contains(Flags::ACK) { 0 } else { self.len }
    }

    /// Returns all blocks in order, what came twice among them.
    pub fn blocks(&self) -> &[SackBlock] {
        &self.sack[..self.sacks as usize]
    }

    /// Returns the blocks that the receiver holds beyond `offset`, in order.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.blocks()[usize::from(self.reports_twice())..]
    }

    /// Start and end of the data that the receiver has had twice, if the ACK reports some: its first
    /// block is below `offset`, or lies within the second (RFC 2883, section 4).
    pub fn twice(&self) -> Option<(u64, u64)> {
        let at = |distance: u32| self.offset.wrapping_add_signed(i64::from(distance as i32));
        self.reports_twice().then(|| (at(self.sack[0].start), at(self.sack[0].end)))
    }

    fn reports_twice(&self) -> bool {
        match self.blocks() {
            // A window is smaller than half of the distances (`Transport::check`).
            [first, ..] if (first.start as i32) < 0 => true,
            [first, second, ..] => first.start >= second.start && first.end <= second.end,
            _ => false,
        }
    }
}
