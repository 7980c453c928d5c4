//! HCF, Hashed Credits Fair (Shpiner, Keslassy, Bracha, Dagan, Iny, Soha: A Switch-Based
//! Approach to Throughput Collapse and Starvation in Data Centers, IWQoS 2010), as Chen, Zhao and
//! Pei describe and set it (Computer Networks 2015, sections 2.3 and 3.3). One policy over
//! classifier, buffer and scheduler.
//!
//! Flows are hashed into bins. A packet whose bin has credit left spends one and joins the
//! high queue, others join the low one. The high queue goes first; when it empties, the two
//! change places and every bin has its credits again.
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | bins | – | 20 |
//! | credits of a bin | packets | 1 |
//! | period after which the hash key changes | time | not given |
//! | memory of each queue | bytes | half of the output's |
//!
//! **Order within a flow.** A packet in the high queue must not overtake one of its flow in the
//! low queue. Between two swaps a bin only loses credit, so that a flow goes from high to low
//! and not back; what is in the low queue at a swap is in front of everything after it. A
//! change of the key would break that, since a flow's new bin may have credit: it waits for the
//! next swap, when all bins are alike.
//!
//! Our reading: a packet that finds its queue full is dropped, and has spent no credit. Queue 0
//! or 1 of the port is the high one, by turns. A paused high queue lets the low one go first.

use crate::arena::{Note, SlotId};
use crate::buffer::{Crosspoint, Overflow};
use crate::classifier::hashed;
use crate::cqrd::OwnPart;
use crate::definition::{About, Definition, Layout};
use crate::packet::{Packet, QueueId};
use crate::param::{Flat, Unfit};
use crate::params;
use crate::random::Random;
use crate::scheme::{Scheme, Stored};
use crate::seats::{Admission, Buffer, Departure, Intent, Marker, Selection};
use crate::site::{Built, Site};
use crate::units::{Bytes, Span, Time};
use crate::view::{DropReason, View};

params! {
    /// HCF's parameters, as a scenario gives them.
    pub struct HcfParams {
        /// Bins that flows are hashed into.
        bins: u32 = "20" as count(1, 1_000_000);
        /// Packets of a bin that may go first each time.
        credits: u32 = "1" as count(1, 1_000_000);
        /// The hash key changes when credits are renewed, at the earliest after this time. The
        /// paper gives none.
        period: Span = "10ms";
        /// Each queue's memory.
        own: Flat<OwnPart>;
    }
}

impl Definition for Hcf<Box<dyn Marker + Send>> {
    type Params = HcfParams;

    const ABOUT: About = About {
        name: "hcf",
        paper: "Shpiner, Keslassy, Bracha, Dagan, Iny, Soha, A Switch-Based Approach to \
                Throughput Collapse and Starvation in Data Centers, IWQoS 2010",
        summary: "Flows are hashed into bins with credits: packets with credit go first, the rest \
                  when those are gone and credits are renewed.",
        source: "as Chen, Zhao, Pei have it, sections 2.3 and 3.3",
        seats: ["HCF", "half each, tail drop", "step on the queue", "HCF", "none"],
        needs_pool: false,
    };

    fn complete(params: &mut HcfParams, _: Bytes) -> Result<(), Unfit> {
        params.own.check()
    }

    fn layout(params: &HcfParams, _: u32) -> Option<Layout> {
        Some(params.own.layout(2))
    }

    fn acts(params: &HcfParams) -> bool {
        params.own.acts()
    }

    fn build(params: &HcfParams, site: Site) -> Built {
        let HcfParams { bins, credits, period, ref own } = *params;
        let settings = HcfSettings { bins: bins as usize, credits, period };
        let hcf = Hcf::new(settings, own.memory(&site, Overflow::Tail), own.step(&site));
        site.whole(hcf)
    }
}

/// HCF's settings.
#[derive(Clone, Copy, Debug)]
pub struct HcfSettings {
    /// Bins that flows are hashed into, at least 1.
    pub bins: usize,
    /// Packets of a bin that may join the high queue between two swaps, at least 1.
    pub credits: u32,
    /// The hash key changes at the first swap after this time; [`Span::MAX`] is never.
    pub period: Span,
}

/// HCF, with a marker of its two queues.
pub struct Hcf<M> {
    settings: HcfSettings,
    /// Credits left, by bin.
    left: Box<[u32]>,
    key: u32,
    key_changed: Time,
    high: QueueId,
    buffer: Crosspoint,
    marker: M,
}

impl<M> Hcf<M> {
    /// For a port of two queues, which `buffer` holds.
    pub fn new(settings: HcfSettings, buffer: Crosspoint, marker: M) -> Self {
        let left = vec![settings.credits; settings.bins].into();
        Hcf { settings, left, key: 0, key_changed: Time::ZERO, high: 0, buffer, marker }
    }

    fn bin(&self, packet: &Packet) -> usize {
        hashed(packet.flow, self.key, self.settings.bins)
    }

    /// A packet has left `queue`: if it was the high queue's last, a new turn begins.
    fn left(&mut self, view: &View, queue: QueueId) {
        if queue != self.high || view.port.queue_packets(queue) > 0 {
            return;
        }
        self.high = 1 - self.high;
        self.left.fill(self.settings.credits);
        if view.now.since(self.key_changed) >= self.settings.period {
            self.key = self.key.wrapping_add(0x9e37_79b9);
            self.key_changed = view.now;
        }
    }
}

impl<M: Marker> Scheme for Hcf<M> {
    fn classify(&mut self, _: &View, packet: &Packet) -> QueueId {
        if self.left[self.bin(packet)] > 0 { self.high } else { 1 - self.high }
    }

    fn intend(&self, view: &View, q: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        self.marker.intend(view, q, packet, rng)
    }

    fn admit(
        &mut self,
        view: &View,
        q: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        self.buffer.admit(view, q, packet, rng)
    }

    fn stored(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        intent: Intent,
        rng: &mut dyn Random,
    ) -> Stored {
        let packet = view.arena.packet(slot);
        if q == self.high {
            self.left[self.bin(packet)] -= 1;
        }
        self.buffer.stored(view, q, packet);
        Stored { mark: self.marker.stored(view, q, slot, intent, rng), feedback: None }
    }

    fn refused(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason) {
        self.buffer.refused(view, q, packet, why);
        self.marker.refused(view, q, packet, why);
    }

    fn removed(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason) {
        self.buffer.removed(view, q, packet, why);
        self.marker.removed(view, q, packet, why);
        self.left(view, q);
    }

    fn select(&mut self, view: &View) -> Selection {
        let eligible = view.port.eligible();
        let turn = [self.high, 1 - self.high].into_iter().find(|&q| eligible.contains(q));
        turn.map_or(Selection::Empty, Selection::Queue)
    }

    fn depart(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        note: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        self.marker.depart(view, q, slot, note, rng)
    }

    fn served(&mut self, view: &View, q: QueueId, packet: &Packet, _: Time) {
        self.buffer.sent(view, q, packet);
        self.left(view, q);
    }

    fn threshold_bytes(&self, view: &View, q: QueueId) -> Option<f64> {
        self.marker.threshold_bytes(view, q)
    }
}
