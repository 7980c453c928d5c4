//! A host: its network card, its delay, and what it does to several packets at a time.

use crate::param::{PROFILE, Params, Section};
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_qdisc::{kinds, params};

params! {
    /// Every host of the scenario. Defaults are the profile's: here is none but its name.
    pub struct Host {
        /// Where every key of [host] and [transport] that the file does not give has its value
        /// from: a host profile's name (switchbed host list), or a file of one's own, ending in
        /// .toml.
        profile: String = "linux-6.x" as PROFILE;
        /// The largest packet on the wire, headers counted; the unit pkt means this.
        mtu: Bytes;
        /// The network card's queue.
        nic: NicQueue;
        /// Time between transport and wire, each way.
        delay: Span;
        /// The longest random time, uniform from 0us, that a host takes over each arrived
        /// packet, in their order; 0us: none. Breaks the lock-step of equal hosts
        /// (docs/hosts.md).
        jitter: Span;
        /// Sending several packets at once.
        lso: Lso;
        /// Interrupts for several frames.
        coalesce: Coalesce;
        /// Packets merged on arrival.
        merge: Merge;
    }
}

/// `[host]`.
pub const SECTION: Section = Section {
    name: "host",
    repeated: false,
    doc: "Every host: its network card, its delay, and offloads.",
    keys: Host::TABLE,
};

kinds! {
    /// The queue in front of a host's link.
    #[derive(Copy, Eq)]
    pub enum NicQueue {
        /// The queue in front of the host's link.
        nic;
        /// one queue with tail drop, which never marks.
        Fifo(NicFifo) = "fifo",
        /// what [switch] and [scheme] say, marking included.
        Switch = "switch",
    }
}

params! {
    /// A network card's FIFO.
    #[derive(Copy, Eq)]
    pub struct NicFifo {
        /// Its size (Linux: 1000 packets).
        buffer("nic_buffer"): Bytes;
    }
}

params! {
    /// Large segment offload (Shan and Ren, INFOCOM 2017, section II-A): a sender waits until it
    /// may send min(L, β·window), and hands that over at once.
    #[derive(Copy)]
    pub struct Lso {
        /// Large segment offload: a sender holds new data back until it may send the lesser
        /// of lso_max and lso_beta of its window, and sends that at line rate. Not held
        /// back: the end of what the application wrote, and anything while losses are
        /// repaired or (see lso_after_cut) the window was just cut.
        on("lso"): bool;
        /// Payload of the largest segment handed over, in whole packets (Linux: 64 KiB).
        max("lso_max"): Bytes;
        /// Share of the window that is worth a segment, β (Linux: 1/3).
        beta("lso_beta"): f64 as FRACTION;
        /// Whether data is held back, too, from a cut for a mark until all that was out
        /// then is acknowledged. Linux leaves its open state there and sends at once.
        after_cut("lso_after_cut"): bool;
    }
}

params! {
    /// Interrupt coalescing: a host looks at arrived frames when so many wait, or when the
    /// first has waited so long. Off where `time` is zero.
    #[derive(Copy, Eq)]
    pub struct Coalesce {
        /// Interrupt coalescing: so many waiting frames interrupt the host at once; 0:
        /// only coalesce_time does.
        frames("coalesce_frames"): u32 as count(0, 10_000);
        /// Interrupt coalescing: the longest that an arrived frame waits for the host to
        /// look at it; 0us: no frame waits.
        time("coalesce_time"): Span;
    }
}

params! {
    /// Receive offload: up to `packets` packets of a flow become one before TCP sees them, and
    /// cause one ACK. Off where `packets` is 1.
    #[derive(Copy, Eq)]
    pub struct Merge {
        /// Receive offload: so many packets of a flow, in order and marked alike, become
        /// one and cause one ACK; 1: none are merged.
        packets("merge_packets"): u32 as count(1, 10_000);
        /// Receive offload: the longest that a packet waits for the next of its flow; with
        /// interrupt coalescing, what one interrupt brings is merged and this has no
        /// effect.
        time("merge_time"): Span;
    }
}
