//! The bytes of the packets in the switch, found by their slots; memory is used again.

use switchbed_qdisc::{Arena, Note, Packet, SlotId};
use switchbed_wire::Ip;

/// Every frame in the switch.
#[derive(Default)]
pub struct Frames {
    arena: Arena,
    carried: Vec<Carried>,
}

#[derive(Default)]
struct Carried {
    bytes: Vec<u8>,
    ip: Option<Ip>,
}

impl Frames {
    /// Arena of the packets, as schemes see it.
    pub fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }
    /// Arena of the packets, for reading.
    pub fn packets(&self) -> &Arena {
        &self.arena
    }
    /// Stores a frame and returns its slot.
    pub fn store(&mut self, packet: Packet, bytes: &[u8], ip: Option<Ip>) -> SlotId {
        let slot = self.arena.alloc(packet);
        if slot.index() >= self.carried.len() {
            self.carried.resize_with(slot.index() + 1, Carried::default);
        }
        let carried = &mut self.carried[slot.index()];
        carried.bytes.clear();
        carried.bytes.extend_from_slice(bytes);
        carried.ip = ip;
        slot
    }
    /// The bytes of a frame.
    pub fn bytes(&self, slot: SlotId) -> &[u8] {
        &self.carried[slot.index()].bytes
    }
    /// DSCP that a frame came with; `None`: it has no IP header.
    pub fn dscp(&self, slot: SlotId) -> Option<u8> {
        self.carried[slot.index()].ip.map(Ip::dscp)
    }
    /// Sets CE on a frame.
    pub fn mark(&mut self, slot: SlotId) {
        let carried = &mut self.carried[slot.index()];
        if let Some(ip) = &carried.ip {
            let set = switchbed_wire::set_ce(&mut carried.bytes, ip);
            debug_assert!(set, "a packet that is not ECN-capable was marked");
        }
    }
    /// Cuts a frame whose packet its port has trimmed, and gives it another DSCP.
    pub fn trim(&mut self, slot: SlotId, dscp: u8) {
        if self.arena.note(slot) != Note::Trimmed {
            return;
        }
        let carried = &mut self.carried[slot.index()];
        let len = (self.arena.packet(slot).len_bytes as usize).min(carried.bytes.len());
        if let Some(ip) = &carried.ip {
            let cut = switchbed_wire::trim(&mut carried.bytes, ip, len, dscp);
            debug_assert!(cut, "a frame that must stay whole was trimmed");
        }
    }
    /// Has a frame dropped rather than trimmed, if its headers are more than what would go on, or cannot be cut.
    pub fn protect(&mut self, slot: SlotId, size: usize) {
        let Carried { bytes, ip } = &self.carried[slot.index()];
        if switchbed_wire::trim::least(bytes, ip.as_ref()).is_none_or(|least| least > size) {
            self.arena.keep_whole(slot);
        }
    }
    /// Moves a frame to a slot that is in no queue.
    pub fn renew(&mut self, slot: SlotId) -> SlotId {
        let carried = std::mem::take(&mut self.carried[slot.index()]);
        let packet = *self.arena.packet(slot);
        self.arena.free(slot);
        self.store(packet, &carried.bytes, carried.ip)
    }
    /// Releases the slot of a frame.
    pub fn free(&mut self, slot: SlotId) {
        self.arena.free(slot);
    }
    /// Number of frames in the switch.
    pub fn live(&self) -> usize {
        self.arena.live()
    }
}
