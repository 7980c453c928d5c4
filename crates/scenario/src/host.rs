//! A host: its network card, its delay, and what it does to several packets at a time.

use crate::delay::HostDelay;
use crate::profiles::names::PROFILE;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Params, SectionSpec};
use switchbed_config::section::Section;
use switchbed_qdisc::{kinds, params, words};
use switchbed_units::{Bytes, Span};

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
        /// Time between transport and wire, each way: 2us, or a distribution from which each host draws
        /// its own by run.seed, { kind = "uniform", min = "1us", max = "20us" }.
        delay: HostDelay;
        /// The longest random time, uniform from 0us, that a host takes over each arrived
        /// packet, in their order; 0us: none. Breaks the lock-step of equal hosts
        /// (docs/hosts.md).
        jitter: Span;
        /// Sending several packets at once.
        lso: Lso;
        /// How much of a connection waits in the card.
        small_queues: SmallQueues;
        /// Interrupts for several frames.
        coalesce: Coalesce;
        /// Packets merged on arrival.
        merge: Merge;
    }
}

/// `[host]`.
pub const SECTION: SectionSpec = SectionSpec {
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
        /// one queue that never drops and never marks.
        Unlimited = "unlimited",
        /// a queue a class, which never drops and never marks, in turn: what switch.pfc can pause.
        Classes = "classes",
        /// a fair queue over flows, as Linux's fq: turns of two packets, the first of ten; space for
        /// 10000 packets or segments, 100 of a flow; packets leave when transport.pacing says.
        Fq = "fq",
    }
}

params! {
    /// A network card's FIFO.
    #[derive(Copy, Eq)]
    pub struct NicFifo {
        /// Size of the card's queue (Linux: 1000 packets).
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
        /// Limit that makes segments smaller than lso_max, as Linux does by the pacing rate (which
        /// it knows whether it paces or not). off: none. rate: what the rate sends in 1/1024 s, at
        /// least two packets (3.12 to 5.17). rate-and-rtt: as much and lso_max more, halved for
        /// every 512 us of the least RTT (since 5.18). lso_beta no longer limits a segment.
        autosize("lso_autosize"): Autosize;
        /// Share of the window that is worth a segment, β (Linux: 1/3).
        beta("lso_beta"): f64 as FRACTION;
        /// Whether data is held back, too, from a cut for a mark until all that was out
        /// then is acknowledged. Linux leaves its open state there and sends at once.
        after_cut("lso_after_cut"): bool;
        /// Data is held back only while the next ACK is near: a segment left within the last millisecond,
        /// and the oldest unacknowledged one left half a smoothed RTT ago or earlier (Linux since 4.20:
        /// tcp_tso_should_defer). Default: false.
        recent("lso_recent"): Option<bool>;
    }
}

words! {
    /// Limit that makes segments smaller.
    pub enum Autosize {
        /// Nothing.
        Off = "off",
        /// The pacing rate.
        Rate = "rate",
        /// The pacing rate and the least RTT.
        RateAndRtt = "rate-and-rtt",
    }
}

params! {
    /// TCP small queues: a connection that has enough in its host's card waits until some of it
    /// has left.
    #[derive(Copy, Eq)]
    pub struct SmallQueues {
        /// TCP small queues: a connection hands its card nothing more while the card holds two
        /// of its segments (packets without lso) and what the pacing rate sends in 1/1024 s,
        /// or small_queue_limit; twice that while losses are repaired. It goes on when a
        /// packet of it has left. So nothing is lost in a sender's own card.
        on("small_queues"): bool;
        /// TCP small queues: the most that a connection whose packets are not paced has in its
        /// card (Linux 3.18: 128 KiB, 6.12: 1 MiB, 6.18: 4 MiB).
        limit("small_queue_limit"): Bytes;
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
        /// Receive offload: until when packets wait for others. time: merge_time, or what one
        /// interrupt brings. poll: as in Linux's GRO what one interrupt brings, 64 frames at a
        /// time, up to 64 KiB; merge_time has no effect.
        flush("merge_flush"): MergeFlush;
    }
}

words! {
    /// Until when packets wait for others.
    pub enum MergeFlush {
        /// For a time.
        Time = "time",
        /// Until the poll that brought them ends.
        Poll = "poll",
    }
}

/// The section as a file has it; packets are so long.
pub(crate) fn resolve(section: Section<'_>, mtu: Bytes) -> Result<Host, Mistake> {
    if mtu.get() < 64 || mtu.get() > 65_535 {
        return Err(section.refuse(Host::KEY.mtu, "a packet has from 64 to 65535 bytes"));
    }
    let host = Host::from_values(&mut section.values()?);
    if let NicQueue::Fifo(NicFifo { buffer }) = host.nic
        && buffer < mtu
    {
        return Err(section.refuse(NicFifo::KEY.buffer, format!("it must hold a packet, {mtu}")));
    }
    if host.lso.max < mtu {
        return Err(section.refuse(Lso::KEY.max, format!("it must hold a packet, {mtu}")));
    }
    if host.lso.beta == 0.0 {
        return Err(section.refuse(Lso::KEY.beta, "a share is greater than 0"));
    }
    // The timer is off at 0: frames below the count would never be delivered.
    if host.coalesce.frames > 0 && host.coalesce.time == Span::ZERO {
        let why = "fewer frames would wait for ever: give coalesce_time, too";
        return Err(section.refuse(Coalesce::KEY.frames, why));
    }
    let waits = host.merge.packets > 1 && host.merge.flush == MergeFlush::Time;
    if waits && host.merge.time + host.coalesce.time == Span::ZERO {
        let why = "a packet would not wait for the next: it must be longer, or coalesce_time";
        return Err(section.refuse(Merge::KEY.time, why));
    }
    section.close("nic = \"switch\"")?;
    Ok(host)
}

/// A card that can be paused, unless the file asks for another: the profile's cannot.
pub(crate) fn pausable(section: &Section<'_>, nic: NicQueue) -> Result<NicQueue, Mistake> {
    if section.given(NicQueue::KEY).is_some() && nic != NicQueue::Classes {
        let why =
            "switch.pfc pauses classes at hosts, too: it must be \"classes\", or be left away";
        return Err(section.refuse(NicQueue::KEY, why));
    }
    Ok(NicQueue::Classes)
}
