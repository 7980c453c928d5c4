//! Fields of unordered delivery's packets, in the words that a queue pair's packet has. Lengths on the wire are those
//! of Ultra Ethernet's headers (xdp2, `include/uet/pds.h`).

use crate::packet::rdma::{Rdma, RdmaKind, Trail};

/// A packet's fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields(Rdma);

// Word 0 has the entropy in its lowest 16 bits, and flags above.
const MARKED: u64 = 1 << 16;
const ASKS: u64 = 1 << 17;
const LAST_HOP: u64 = 1 << 18;
const AGAIN: u64 = 1 << 19;
const REQUESTED: u64 = 1 << 20;

impl Fields {
    /// Makes a packet of a kind: at a stream offset, with a number, and a path's entropy.
    pub(super) fn new(kind: RdmaKind, offset: u64, psn: u32, entropy: u16) -> Fields {
        let trail = Trail::of([entropy.into(), 0, 0, 0, 0]);
        Fields(Rdma { offset, trail, psn, len: 0, hops: 0, kind })
    }

    /// Reads a packet.
    pub(super) fn of(rdma: &Rdma) -> Fields {
        Fields(*rdma)
    }

    pub(super) fn into_rdma(self) -> Rdma {
        self.0
    }

    fn word(&self, nth: usize) -> u64 {
        self.0.trail.words()[nth]
    }
    fn with(mut self, nth: usize, word: u64) -> Fields {
        let mut words = self.0.trail.words();
        words[nth] = word;
        self.0.trail = Trail::of(words);
        self
    }
    fn flag(&self, flag: u64) -> bool {
        self.word(0) & flag != 0
    }
    fn with_flag(self, flag: u64, set: bool) -> Fields {
        let word = self.word(0);
        self.with(0, if set { word | flag } else { word })
    }

    pub(super) fn kind(&self) -> RdmaKind {
        self.0.kind
    }
    pub(super) fn offset(&self) -> u64 {
        self.0.offset
    }
    pub(super) fn psn(&self) -> u32 {
        self.0.psn
    }

    /// Payload in bytes.
    pub(super) fn len(&self) -> u16 {
        self.0.len
    }
    pub(super) fn with_len(mut self, len: u16) -> Fields {
        self.0.len = len;
        self
    }

    /// Number of the path; answers have that of the packet that they answer.
    pub(super) fn entropy(&self) -> u16 {
        self.word(0) as u16
    }

    /// Of a SACK or a NACK: the packet that it answers was marked.
    pub(super) fn marked(&self) -> bool {
        self.flag(MARKED)
    }
    pub(super) fn with_marked(self, marked: bool) -> Fields {
        self.with_flag(MARKED, marked)
    }

    /// Of data: a SACK is wanted at once.
    pub(super) fn asks(&self) -> bool {
        self.flag(ASKS)
    }
    pub(super) fn with_asks(self, asks: bool) -> Fields {
        self.with_flag(ASKS, asks)
    }

    /// Of data: it was sent before. Of SACKs and NACKs: the packet that they answer says so.
    pub(super) fn again(&self) -> bool {
        self.flag(AGAIN)
    }
    pub(super) fn with_again(self, again: bool) -> Fields {
        self.with_flag(AGAIN, again)
    }

    /// Of a SACK: it answers a request, and its number is the request's.
    pub(super) fn requested(&self) -> bool {
        self.flag(REQUESTED)
    }
    pub(super) fn with_requested(self) -> Fields {
        self.with_flag(REQUESTED, true)
    }

    /// Of a NACK: the packet was trimmed at the port to its receiver.
    pub(super) fn last_hop(&self) -> bool {
        self.flag(LAST_HOP)
    }
    pub(super) fn with_last_hop(self, last: bool) -> Fields {
        self.with_flag(LAST_HOP, last)
    }

    /// Of data and requests: credit that the sender wants in all, in bytes. Of a pull: credit that it has got in all.
    pub(super) fn credit(&self) -> u64 {
        self.word(1)
    }
    pub(super) fn with_credit(self, bytes: u64) -> Fields {
        self.with(1, bytes)
    }

    /// Of a SACK: packets that came before others which are missing.
    pub(super) fn early(&self) -> u64 {
        self.word(1)
    }
    pub(super) fn with_early(self, packets: u64) -> Fields {
        self.with(1, packets)
    }

    /// Of SACKs and NACKs: bytes that the receiver has got in all, counted on the wire.
    pub(super) fn received(&self) -> u64 {
        self.word(2)
    }
    pub(super) fn with_received(self, bytes: u64) -> Fields {
        self.with(2, bytes)
    }

    /// Of a SACK: packets that have come, a bit each from a number on.
    pub(super) fn bitmap(&self) -> (u32, u64) {
        (self.word(3) as u32, self.word(4))
    }
    pub(super) fn with_bitmap(self, (from, bits): (u32, u64)) -> Fields {
        self.with(3, from.into()).with(4, bits)
    }
}
