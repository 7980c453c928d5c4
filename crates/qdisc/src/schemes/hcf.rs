//! HCF, Hashed Credits Fair (Shpiner, Keslassy, Bracha, Dagan, Iny, Soha: A Switch-Based
//! Approach to Throughput Collapse and Starvation in Data Centers, IWQoS 2010), as Chen, Zhao and
//! Pei describe and set it (Computer Networks 2015, sections 2.3 and 3.3). One policy over
//! classifier and scheduler.
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
//! or 1 of the port is the high one, by turns.

use crate::classifier::hashed;
use crate::hooks::{Classifier, Nobody, Scheduler, Selection, ServiceEnd};
use crate::memory::Overflow;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::scheme::Same;
use crate::schemes::cqrd::OwnPart;
use crate::schemes::definition::{About, Definition, Layout};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::{Bytes, Span, Time};

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
        own: OwnPart;
    }
}

impl Definition for Hcf {
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
        let (memory, marker) = (own.memory(&site, Overflow::Tail), own.step(&site));
        site.seats(Same, memory, marker, Hcf::new(settings), Nobody)
    }
}

/// Settings of HCF.
#[derive(Clone, Copy, Debug)]
pub struct HcfSettings {
    /// Bins that flows are hashed into, at least 1.
    pub bins: usize,
    /// Packets of a bin that may join the high queue between two swaps, at least 1.
    pub credits: u32,
    /// The hash key changes at the first swap after this time; [`Span::MAX`] is never.
    pub period: Span,
}

/// HCF: which queue of two, and which goes next.
pub struct Hcf {
    settings: HcfSettings,
    /// Credits left, indexed by bin.
    left: Box<[u32]>,
    key: u32,
    key_changed: Time,
    high: QueueId,
}

impl Hcf {
    /// Makes it for a port of two queues.
    pub fn new(settings: HcfSettings) -> Self {
        // As if all bins had just been renewed.
        let left = vec![settings.credits; settings.bins].into();
        Hcf { settings, left, key: 0, key_changed: Time::ZERO, high: 0 }
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
            // The golden ratio in 32 bits: successive keys differ in many bits.
            self.key = self.key.wrapping_add(0x9e37_79b9);
            self.key_changed = view.now;
        }
    }
}

impl Classifier for Hcf {
    fn classify(&mut self, _: &View, packet: &Packet) -> QueueId {
        if self.left[self.bin(packet)] > 0 { self.high } else { 1 - self.high }
    }
}

impl Scheduler for Hcf {
    fn enqueued(&mut self, _: &View, queue: QueueId, packet: &Packet) {
        if queue == self.high {
            self.left[self.bin(packet)] -= 1;
        }
    }

    fn select(&mut self, view: &View, _: &mut dyn FnMut(ServiceEnd)) -> Selection {
        let backlogged = view.port.backlogged();
        let turn = [self.high, 1 - self.high].into_iter().find(|&q| backlogged.contains(q));
        turn.map_or(Selection::Empty, Selection::Queue)
    }

    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        _: &Packet,
        _: Time,
        _: &mut dyn FnMut(ServiceEnd),
    ) {
        self.left(view, queue);
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        self.left(view, queue);
    }
}
