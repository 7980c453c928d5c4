//! Handling of arrived frames before a transport sees them: a random processing time, interrupts
//! for several frames at a time, and packets of a flow merged into one (Shan and Ren, INFOCOM 2017,
//! section II-A).
//!
//! Equal hosts without noise act in lock-step: at a full queue the same flow's packet may come
//! just behind the other's, and be marked, for ever (Floyd and Jacobson, On Traffic Phase
//! Effects in Packet-Switched Gateways, 1992, who add such a time, as ns-2's `overhead_` does).

use crate::ids::Rank;
use crate::packet::Payload;
use std::collections::VecDeque;
use switchbed_qdisc::{Packet, Random};
use switchbed_scenario::{Host, MergeFlush};
use switchbed_units::random::Stream;
use switchbed_units::{Span, Time};

/// A frame: what the network knows of it, and what it carries.
pub(super) type Frame = (Packet, Payload);

/// How hosts of a stack take frames in; `None` where each goes up as it comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// A frame takes from nothing to so long, uniformly.
    jitter: Span,
    /// Frames that raise an interrupt at once.
    pub(super) frames: usize,
    /// The longest that a frame waits for the interrupt; zero: none waits.
    pub(super) coalesce_time: Span,
    /// Most packets that become one.
    pub(super) merge_packets: u32,
    /// The longest that a packet waits for the next, where no interrupt ends it.
    pub(super) merge_time: Span,
    /// None waits beyond the poll that brought it, as in Linux's GRO.
    pub(super) polls: bool,
}

impl Settings {
    /// A scenario's, if it switches anything on.
    pub(crate) fn of(host: &Host) -> Option<Settings> {
        let Host { coalesce, merge, jitter, .. } = host;
        let coalesces = coalesce.time > Span::ZERO;
        // A poll of one frame has nothing to merge.
        let merges = merge.packets > 1 && (coalesces || merge.flush == MergeFlush::Time);
        let on = *jitter > Span::ZERO || coalesces || merges;
        on.then_some(Settings {
            jitter: *jitter,
            frames: match coalesce.frames {
                // 0 stands for no limit: then only the time raises the interrupt.
                0 => usize::MAX,
                frames => frames as usize,
            },
            coalesce_time: coalesce.time,
            merge_packets: merge.packets,
            merge_time: merge.time,
            polls: merge.flush == MergeFlush::Poll,
        })
    }
}

/// Frames that Linux takes in at a time (NAPI's weight).
pub(super) const BUDGET: usize = 64;
/// A merged packet is shorter, headers included (`GRO_LEGACY_MAX_SIZE`).
pub(super) const GRO_MAX: u32 = 65_536;

/// One host's receiving side.
#[derive(Debug)]
pub(super) struct Reception {
    pub(super) settings: Settings,
    stream: Stream,
    /// Frames that are being processed, in the order of arrival.
    processed: VecDeque<Frame>,
    /// When the last of them is through.
    last: Time,
    /// Frames that wait for the interrupt, in the order of arrival.
    pub(super) waiting: Vec<Frame>,
    /// Packets being merged, at most one a connection, the oldest first.
    pub(super) merged: Vec<Merged>,
    /// When to look at it again; [`Time::NEVER`] if nothing waits. An older timer that
    /// comes before does nothing.
    pub(super) due: Time,
}

/// Packets merged so far.
#[derive(Debug)]
pub(super) struct Merged {
    /// The first one, with the payload of all.
    pub(super) frame: Frame,
    pub(super) packets: u32,
    /// When it goes up at the latest.
    pub(super) deadline: Time,
}

impl Reception {
    pub(super) fn new(settings: Settings, rank: Rank, seed: u64) -> Reception {
        Reception {
            settings,
            stream: Stream::new(seed, "jitter", u64::from(rank.0)),
            processed: VecDeque::new(),
            last: Time::ZERO,
            waiting: Vec::new(),
            merged: Vec::new(),
            due: Time::NEVER,
        }
    }

    /// Takes an arrived frame in, where that takes time: when it is through, which is not before
    /// those ahead of it.
    pub(super) fn process(&mut self, frame: &Frame, now: Time) -> Option<Time> {
        let jitter = self.settings.jitter;
        if jitter == Span::ZERO {
            return None;
        }
        let time = Span::from_ps(self.stream.below(jitter.as_ps() + 1));
        self.last = (now + time).max(self.last);
        self.processed.push_back(*frame);
        Some(self.last)
    }

    /// The frame that is through next.
    pub(super) fn through(&mut self) -> Option<Frame> {
        self.processed.pop_front()
    }
}
