//! A packet as a queueing discipline sees it, and packets by their number on a line: what it loses or marks on purpose.

use std::hash::Hasher;

/// A flow's number, or a hash of its addresses: whatever the caller tells flows apart by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Knuth's multiplicative hash: keys are small numbers, and none is chosen by an enemy.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(self.0 as u32 ^ u32::from(byte)));
    }
    fn write_u32(&mut self, key: u32) {
        let h = (key as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The table takes places from the low bits and tags from the high ones: both must be mixed.
        self.0 = h ^ (h >> 32);
    }
}

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

/// Counts packets and knows which are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    numbers: Vec<u64>,
    counted: u64,
}

impl Numbered {
    /// `numbers` are from 1, in any order.
    pub fn new(numbers: &[u64]) -> Numbered {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        Numbered { numbers, counted: 0 }
    }

    /// Counts the next packet; whether it is one of them.
    pub fn count(&mut self) -> bool {
        self.counted += 1;
        self.numbers.binary_search(&self.counted).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_count_from_one() {
        let mut numbered = Numbered::new(&[5, 1, 3]);
        let meant: Vec<u64> = (1..=8).filter(|_| numbered.count()).collect();
        assert_eq!(meant, [1, 3, 5]);
        assert!(!Numbered::new(&[]).count());
    }
}
