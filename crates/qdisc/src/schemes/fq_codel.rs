//! FQ-CoDel (RFC 8290; Linux, net/sched/sch_fq_codel.c): flows are hashed into queues that are made as
//! they come, take turns by deficit round robin, those that have just come first, and each has CoDel's
//! state of its own. One policy over all seats.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | flows | – | 1024 (section 5.2.4) |
//! | quantum | bytes | the longest packet (section 5.2.5: 1514) |
//! | limit | packets | 10,240 (section 5.2.3); the port's memory besides |
//! | batch | packets | 64 (section 4.1) |
//! | interval, target, ecn, ce_threshold, sqrt | | [`crate::schemes::Codel`]'s |
//!
//! **Without space** the queue with the most bytes loses packets from its head: half of its bytes or
//! `batch` packets, whichever is less, which its CoDel counts (Linux). Here they go before the arrival
//! comes in, which is counted with its own queue; there is no other difference.
//!
//! As in Linux, "no more than a packet waits" is asked of all queues together. In the port's books
//! there is one queue, from inside of which packets leave. A line that becomes free finds out what is
//! empty: here that is made up for by the next arrival.

use crate::hooks::{Admission, Departure, Intent, Selection};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::scheme::{Needs, Scheme, Stored};
use crate::schemes::definition::{About, Definition, Equivalents, Layout};
use crate::schemes::fairness::Share;
use crate::schemes::flow_queues::{Flow, FlowQueueParams, FlowQueues};
use crate::schemes::site::{Built, Site};
use crate::schemes::{Codel, CodelParams, Controller, Rule};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

params! {
    /// FQ-CoDel's parameters.
    pub struct FqCodelParams {
        /// Queues of flows.
        queues: FlowQueueParams;
        /// Packets that the longest queue loses at most when there is no space for another.
        batch: u32 = "64" as count(1, 1_000_000);
        /// Each queue's CoDel.
        codel: CodelParams;
    }
}

impl Definition for FqCodel {
    type Params = FqCodelParams;

    const ABOUT: About = About {
        name: "fq-codel",
        paper: "Hoeiland-Joergensen et al., The Flow Queue CoDel Packet Scheduler and Active Queue \
                Management Algorithm, RFC 8290, 2018",
        summary: "A queue for each flow with a CoDel of its own; flows that have just come go first, \
                  the others take turns.",
        source: "RFC 8290, sections 4 and 5; Linux, net/sched/sch_fq_codel.c",
        seats: [
            "hash of the flow",
            "the port's, the longest queue's head is pushed out",
            "CoDel on each flow's queue",
            "deficit round robin, new flows first",
            "none",
        ],
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { tc: "fq_codel", ..Equivalents::NONE };

    fn complete(params: &mut FqCodelParams, limit: Bytes) -> Result<(), Unfit> {
        params.queues.check()?;
        Codel::complete(&mut params.codel, limit)
    }

    fn layout(_: &FqCodelParams, _: u32) -> Option<Layout> {
        Some(Layout { queues: 1, cell: Bytes::new(1) })
    }

    fn build(params: &FqCodelParams, site: Site) -> Built {
        let policy = FqCodel::new(params, site.packet(), site.switch().buffer);
        site.whole(policy)
    }
}

/// FQ-CoDel: flow queues by hash, CoDel on each.
pub struct FqCodel {
    rule: Rule,
    batch: u32,
    queues: FlowQueues<Controller>,
    /// Queue that is losing packets for memory, while a batch lasts.
    victim: Option<Victim>,
}

/// A queue that loses packets, and how many and how much it is still to lose.
struct Victim {
    place: u32,
    packets: u32,
    bytes: u64,
}

impl FqCodel {
    /// Makes it for packets up to `packet` and so much memory; `params` are complete.
    pub fn new(params: &FqCodelParams, packet: Bytes, memory: Bytes) -> FqCodel {
        FqCodel {
            rule: Rule::new(&params.codel, packet),
            batch: params.batch,
            queues: FlowQueues::new(&params.queues, packet, memory, Controller::NEW),
            victim: None,
        }
    }
}

impl Scheme for FqCodel {
    fn classify(&mut self, _: &View, _: &Packet) -> QueueId {
        0
    }

    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn admit(&mut self, view: &View, _: QueueId, packet: &Packet, _: &mut dyn Random) -> Admission {
        let len = u64::from(packet.len_bytes);
        let own = self.queues.place(packet);
        // The port asks again after each push-out: the victim of the first call stays chosen.
        if self.victim.is_none() && !self.queues.has_space(view, packet) {
            let with_arrival =
                |place: u32, flow: &Flow<Controller>| flow.bytes + u64::from(place == own) * len;
            let lengths =
                (0..).zip(&self.queues.flows).map(|(at, flow)| (with_arrival(at, flow), at));
            // Of queues with the same length the first one, as a scan from the front finds it.
            let longest = lengths.max_by_key(|&(bytes, at)| (bytes, u32::MAX - at));
            self.victim = longest.map(|(bytes, place)| Victim {
                place,
                packets: self.batch,
                bytes: bytes / 2,
            });
        }
        let Some(victim) = &mut self.victim else { return Admission::In };
        let flow = &mut self.queues.flows[victim.place as usize];
        let Some(&head) = flow.packets.front() else {
            // The arrival's own queue is the longest and has no packet left besides the arrival.
            flow.controller.count_one();
            self.victim = None;
            return Admission::Out(DropReason::Full);
        };
        let gone = u64::from(view.arena.packet(head).len_bytes);
        victim.packets -= 1;
        // Half of the queue's bytes are gone, or as many packets as a batch may drop.
        if victim.packets == 0 || gone >= victim.bytes {
            self.victim = None;
        } else {
            victim.bytes -= gone;
        }
        Admission::PushOut(head)
    }

    fn stored(
        &mut self,
        view: &View,
        _: QueueId,
        slot: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Stored {
        self.queues.found_idle(view, Controller::empty);
        self.queues.store(view.arena.packet(slot), slot);
        Stored::default()
    }

    fn enqueued(&mut self, _: &View, _: QueueId, _: &Packet) {}

    fn refused(&mut self, _: &View, _: QueueId, _: &Packet, _: DropReason) {}

    fn removed(&mut self, _: &View, _: QueueId, packet: &Packet, why: DropReason) {
        let flow = self.queues.left(packet);
        if why == DropReason::PushedOut {
            flow.controller.count_one();
        } else if flow.packets.is_empty() {
            flow.controller.nothing_left();
        }
    }

    fn select(&mut self, _: &View) -> Selection {
        self.queues.select(Controller::empty)
    }

    fn depart(
        &mut self,
        view: &View,
        _: QueueId,
        slot: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let packet = *view.arena.packet(slot);
        let waited = view.now.since(view.arena.arrived(slot));
        let left = view.port.bytes() - Bytes::new(packet.len_bytes.into());
        let flow = self.queues.of(&packet);
        flow.controller.depart(&self.rule, view.now, waited, left, packet.ecn)
    }

    fn served(&mut self, _: &View, _: QueueId, packet: &Packet, _: Time) {
        self.queues.served(packet);
    }

    /// A port that is empty has no queue before the arrival's, which has a turn's deficit.
    fn passes(&self, _: &View, _: QueueId, _: &Packet) -> bool {
        true
    }

    fn passed(&mut self, view: &View, queue: QueueId, packet: &Packet, until: Time) {
        self.served(view, queue, packet, until);
    }

    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    fn tick(&mut self, _: &View) {}

    fn set_share(&mut self, _: u8, _: Share) {}

    fn asks_memory(&self) -> bool {
        false
    }

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        None
    }

    fn round_time(&self) -> Option<Span> {
        None
    }
}
