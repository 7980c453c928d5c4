//! A random processing time that a host takes over each arrived frame, in order. Equal hosts
//! without noise act in lock-step: at a full queue the same flow's packet may come just
//! behind the other's, and be marked, for ever (Floyd and Jacobson, On Traffic Phase Effects
//! in Packet-Switched Gateways, 1992, who add such a time, as ns-2's `overhead_` does).

use crate::network::Delivery;
use crate::random::Stream;
use std::collections::VecDeque;
use switchbed_qdisc::units::{Span, Time};
use switchbed_qdisc::{Random, SlotId};
use switchbed_spec::Host;

/// All hosts' processing.
pub(super) struct Jitter {
    /// A frame takes from nothing to so long, uniformly.
    most: Span,
    hosts: Vec<Processing>,
}

/// One host's.
struct Processing {
    stream: Stream,
    /// Frames under way, in the order of arrival.
    frames: VecDeque<SlotId>,
    /// When the last of them is through.
    last: Time,
}

impl Jitter {
    /// `hosts` hosts in the run of `seed`; `None` where no time is taken.
    pub(super) fn new(host: &Host, hosts: usize, seed: u64) -> Option<Jitter> {
        let processing = |id| Processing {
            stream: Stream::new(seed, "jitter", id),
            frames: VecDeque::new(),
            last: Time::ZERO,
        };
        let hosts = (0..hosts as u64).map(processing).collect();
        (host.jitter > Span::ZERO).then_some(Jitter { most: host.jitter, hosts })
    }

    /// Takes an arrived frame; returns when it is through, not before those ahead of it.
    pub(super) fn take(&mut self, frame: &Delivery) -> Time {
        let Processing { stream, frames, last } = &mut self.hosts[frame.host as usize];
        let time = Span::from_ps(stream.below(self.most.as_ps() + 1));
        *last = (frame.at + time).max(*last);
        frames.push_back(frame.slot);
        *last
    }

    /// The frame of a host that is through next.
    pub(super) fn release(&mut self, host: u32) -> Option<SlotId> {
        self.hosts[host as usize].frames.pop_front()
    }
}
