//! FQ-PIE (Linux, net/sched/sch_fq_pie.c; RFC 8290's flow queues with RFC 8033): flows are hashed into queues that
//! are made as they come, take turns by deficit round robin, those that have just come first, and each has
//! PIE's state of its own. One policy over all seats.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | flows | – | 1024 |
//! | quantum | bytes | the longest packet |
//! | limit | packets | 10,240; the port's memory besides |
//! | target, t_update, alpha, beta, max_burst, ecn_up_to, derandomize | | [`crate::schemes::PieParams`]'s |
//!
//! Arrivals alone are marked or dropped; without space the arrival is refused. Three things differ from
//! Linux: all queues are worked out anew at once, where Linux does so for 2048 at a time; memory counts
//! bytes on the wire; the estimate by the rate of departures (`dq_rate_estimator`) and `bytemode` are
//! left out.

use crate::hooks::{Admission, Departure, Intent, Selection};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::scheme::{Needs, Scheme, Stored};
use crate::schemes::definition::{About, Definition, Equivalents, Layout};
use crate::schemes::fairness::Share;
use crate::schemes::flow_queues::{FlowQueueParams, FlowQueues};
use crate::schemes::pie::{Control, Controller};
use crate::schemes::site::{Built, Site};
use crate::schemes::{Pie, PieParams};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

params! {
    /// FQ-PIE's parameters.
    pub struct FqPieParams {
        /// Queues of flows.
        queues: FlowQueueParams;
        /// Each queue's PIE.
        pie: PieParams;
    }
}

impl Definition for FqPie {
    type Params = FqPieParams;

    const ABOUT: About = About {
        name: "fq-pie",
        paper: "Ramakrishnan et al., FQ-PIE Queue Discipline in the Linux Kernel: Design, Implementation \
                and Challenges, LCN 2019",
        summary: "A queue for each flow with a PIE of its own; flows that have just come go first, the \
                  others take turns.",
        source: "Linux, net/sched/sch_fq_pie.c; RFC 8290, section 4; RFC 8033, sections 4 and 5",
        seats: [
            "hash of the flow",
            "the port's, an arrival without space is refused",
            "PIE on each flow's queue",
            "deficit round robin, new flows first",
            "none",
        ],
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents =
        Equivalents { main: "target", tc: "fq_pie", ..Equivalents::NONE };

    fn complete(params: &mut FqPieParams, limit: Bytes) -> Result<(), Unfit> {
        params.queues.check()?;
        Pie::complete(&mut params.pie, limit)
    }

    fn layout(_: &FqPieParams, _: u32) -> Option<Layout> {
        Some(Layout { queues: 1, cell: Bytes::new(1) })
    }

    fn build(params: &FqPieParams, site: Site) -> Built {
        let policy = FqPie::new(params, site.packet(), site.switch().buffer);
        site.whole(policy)
    }
}

/// FQ-PIE: flow queues by hash, PIE on each.
pub struct FqPie {
    controller: Controller,
    queues: FlowQueues<Control>,
    /// When probabilities are worked out next.
    next: Time,
}

impl FqPie {
    /// Makes it for packets up to `packet` and so much memory; `params` are complete.
    pub fn new(params: &FqPieParams, packet: Bytes, memory: Bytes) -> FqPie {
        let controller = Controller::new(&params.pie, packet);
        let first = Control::new(&controller.settings);
        let queues = FlowQueues::new(&params.queues, packet, memory, first);
        let next = Time::ZERO + controller.settings.t_update;
        FqPie { controller, queues, next }
    }
}

impl Scheme for FqPie {
    fn classify(&mut self, _: &View, _: &Packet) -> QueueId {
        0
    }

    fn intend(&self, _: &View, _: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        let Some(flow) = self.queues.look(packet) else { return Intent::Pass };
        flow.controller.intent(&self.controller, flow.bytes, rng)
    }

    fn admit(&mut self, view: &View, _: QueueId, packet: &Packet, _: &mut dyn Random) -> Admission {
        if self.queues.has_space(view, packet) {
            Admission::In
        } else {
            Admission::Out(DropReason::Full)
        }
    }

    fn stored(
        &mut self,
        view: &View,
        _: QueueId,
        slot: SlotId,
        intent: Intent,
        _: &mut dyn Random,
    ) -> Stored {
        self.queues.found_idle(view, |_| ());
        let packet = view.arena.packet(slot);
        let flow = self.queues.of(packet);
        flow.controller.stored(&self.controller, flow.bytes, intent);
        self.queues.store(packet, slot);
        Stored::default()
    }

    fn enqueued(&mut self, _: &View, _: QueueId, _: &Packet) {}

    /// Linux forgets the sum of probabilities at every drop, for want of space too.
    fn refused(&mut self, _: &View, _: QueueId, packet: &Packet, _: DropReason) {
        self.queues.of(packet).controller.dropped();
    }

    fn removed(&mut self, _: &View, _: QueueId, packet: &Packet, _: DropReason) {
        self.queues.left(packet);
    }

    fn select(&mut self, _: &View) -> Selection {
        self.queues.select(|_| ())
    }

    fn depart(
        &mut self,
        view: &View,
        _: QueueId,
        slot: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let waited = view.now.since(view.arena.arrived(slot));
        let flow = self.queues.of(view.arena.packet(slot));
        flow.controller.wait = if flow.packets.len() == 1 { Span::ZERO } else { waited };
        Departure::Pass
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
        self.next
    }

    fn tick(&mut self, view: &View) {
        if self.next > view.now {
            return;
        }
        let period = self.controller.settings.t_update;
        let due = view.now.since(self.next).as_ps() / period.as_ps() + 1;
        for flow in &mut self.queues.flows {
            flow.controller.updates(&self.controller.settings, due);
        }
        self.next += period * due;
    }

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
