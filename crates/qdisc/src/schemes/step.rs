//! Step marking: CE when a length is strictly over a threshold, the packet in question
//! counted. The length is a queue's, the port's or the pool's; instantaneous (DCTCP, SIGCOMM 2010,
//! section 3.1; MQ-ECN, section 2).
//!
//! | scheme | length | parameter |
//! | --- | --- | --- |
//! | per-queue | the packet's queue | threshold K (bytes): C·RTT·λ for the "standard" one |
//! | per-queue-min | the packet's queue | K, divided among the queues by quantum (MQ-ECN, eq. 2) |
//! | per-port | all queues of the port | K |
//! | per-pool | all that the switch's shared pool holds | K |

use super::MarkAt;
use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use crate::schemes::definition::{About, Compared, Definition, Equivalents, Scope, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::params;
use switchbed_units::Bytes;
use switchbed_units::random::Random;

params! {
    /// Threshold of the schemes that mark from one length on.
    pub struct StandardThreshold {
        /// The standard threshold C·RTT·λ. The field's for DCTCP: 65pkt at 10 Gbps, 20pkt at
        /// 1 Gbps.
        threshold: Bytes as Threshold;
    }
}

params! {
    /// Parameters of step marking, as a scenario gives them.
    pub struct StepParams {
        /// From where on packets are marked.
        standard: StandardThreshold;
        /// Whether a packet is marked as it arrives or as it leaves.
        mark_at: MarkAt = "enqueue";
    }
}

const BAI: &str = "Bai et al., Enabling ECN in Multi-Service Multi-Queue Data Centers, NSDI 2016";

/// Step marking by the length of each queue.
pub struct PerQueue;

impl Definition for PerQueue {
    type Params = StepParams;

    const ABOUT: About = About {
        name: "per-queue",
        paper: "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010",
        summary: "Marks when the packet's queue is longer than the threshold.",
        source: "section 3.1; with a queue a service: Bai et al., NSDI 2016, section 2.2.1",
        seats: marker("step on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents =
        Equivalents { main: "threshold", tc: "step", wred: "step", ..Equivalents::NONE };

    fn build(params: &StepParams, site: Site) -> Built {
        let queues = site.queues();
        site.mark(Step::per_queue(params.standard.threshold, queues, params.mark_at))
    }
}

/// Whether a scheme divides its threshold among a port's queues by their weights.
pub fn divides_threshold(scheme: &str) -> bool {
    scheme == PerQueueMin::ABOUT.name
}

/// Step marking by queue, with the threshold divided among queues by quantum.
pub struct PerQueueMin;

impl Definition for PerQueueMin {
    type Params = StepParams;

    const ABOUT: About = About {
        name: "per-queue-min",
        paper: BAI,
        summary: "Marks when the packet's queue is longer than its quantum's share of the \
                  threshold.",
        source: "section 2.2.2",
        seats: marker("step on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents {
        main: "threshold",
        by_quantum: true,
        tc: "step",
        wred: "step",
        ..Equivalents::NONE
    };

    const SCOPE: Scope = Scope::Port;

    fn build(params: &StepParams, site: Site) -> Built {
        let quanta = site.switch().quantum.clone();
        site.mark(Step::per_queue_min(params.standard.threshold, &quanta, params.mark_at))
    }
}

/// Step marking by the length of the port.
pub struct PerPort;

impl Definition for PerPort {
    type Params = StepParams;

    const ABOUT: About = About {
        name: "per-port",
        paper: BAI,
        summary: "Marks when the port's queues together are longer than the threshold.",
        source: "section 2.2.3",
        seats: marker("step on the port"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents {
        main: "threshold",
        compared: Compared::Port,
        nearest: "per-queue-min",
        no_wred: "WRED is a queue's: no table counts a port's queues together",
        ..Equivalents::NONE
    };

    const SCOPE: Scope = Scope::Port;

    fn build(params: &StepParams, site: Site) -> Built {
        let queues = site.queues();
        site.mark(Step::per_port(params.standard.threshold, queues, params.mark_at))
    }
}

/// Step marking by the use of the pool.
pub struct PerPool;

impl Definition for PerPool {
    type Params = StepParams;

    const ABOUT: About = About {
        name: "per-pool",
        paper: BAI,
        summary: "Marks when all queues of the switch together are longer than the threshold.",
        source: "section 2.2.3",
        seats: marker("step on the switch's pool"),
        needs_pool: true,
    };

    const EQUIVALENTS: Equivalents = Equivalents {
        main: "threshold",
        compared: Compared::Pool,
        nearest: "per-queue-min",
        no_wred: "WRED is a queue's: no table counts a pool's queues together",
        ..Equivalents::NONE
    };

    const SCOPE: Scope = Scope::Switch;

    fn build(params: &StepParams, site: Site) -> Built {
        let queues = site.queues();
        site.mark(Step::per_pool(params.standard.threshold, queues, params.mark_at))
    }
}

/// Step marking by queue length as packets leave.
pub struct PerQueueDq;

impl Definition for PerQueueDq {
    type Params = StandardThreshold;

    const ABOUT: About = About {
        name: "per-queue-dq",
        paper: "Wu, Ju, Lu, Guo, Xiong, Zhang, Tuning ECN for Data Center Networks, CoNEXT 2012",
        summary: "Marks a packet as it leaves when its queue is longer than the threshold then.",
        source: "dequeue marking; +dq in Wang et al., section IV-C",
        seats: marker("step on the queue, at dequeue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents =
        Equivalents { main: "threshold", wred: "step", ..Equivalents::NONE };

    fn build(params: &StandardThreshold, site: Site) -> Built {
        let queues = site.queues();
        site.mark(Step::per_queue(params.threshold, queues, MarkAt::Dequeue))
    }
}

#[derive(Clone, Copy, Debug)]
enum Length {
    Queue,
    Port,
    Pool,
}

/// Marker with a single threshold.
#[derive(Clone, Debug)]
pub struct Step {
    length: Length,
    /// One for each queue; need not be whole bytes.
    thresholds_bytes: Box<[f64]>,
    at: MarkAt,
}

impl Step {
    /// The packet's own queue against the same threshold in all `queues`.
    pub fn per_queue(threshold: Bytes, queues: usize, at: MarkAt) -> Self {
        let thresholds_bytes = vec![threshold.as_f64(); queues].into();
        Step { length: Length::Queue, thresholds_bytes, at }
    }

    /// The packet's own queue against its part of the threshold, which is divided in
    /// proportion to the quanta (MQ-ECN, eq. 2).
    pub fn per_queue_min(threshold: Bytes, quanta: &[Bytes], at: MarkAt) -> Self {
        let sum: u64 = quanta.iter().map(|q| q.get()).sum();
        // By the queue's part of all quanta: what it would get if all were busy.
        let part = |q: &Bytes| threshold.as_f64() * q.as_f64() / sum as f64;
        Step { length: Length::Queue, thresholds_bytes: quanta.iter().map(part).collect(), at }
    }

    /// All queues of the port together against one threshold.
    pub fn per_port(threshold: Bytes, queues: usize, at: MarkAt) -> Self {
        Step { length: Length::Port, ..Self::per_queue(threshold, queues, at) }
    }

    /// All that the switch's pool holds against one threshold (MQ-ECN, section 2.2.3).
    pub fn per_pool(threshold: Bytes, queues: usize, at: MarkAt) -> Self {
        Step { length: Length::Pool, ..Self::per_queue(threshold, queues, at) }
    }

    #[inline]
    fn length(&self, view: &View, queue: QueueId) -> Bytes {
        match self.length {
            Length::Queue => view.port.queue_bytes(queue),
            Length::Port => view.port.bytes(),
            // All ports' queues: the packet counts where it is stored.
            Length::Pool => view.memory.used(),
        }
    }
}

impl Marker for Step {
    #[inline]
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        let length = self.length(view, queue) + Bytes::new(packet.len_bytes as u64);
        // More than the threshold, the arriving packet included (DCTCP, section 3.1).
        let over = length.as_f64() > self.thresholds_bytes[queue as usize];
        if over && self.at == MarkAt::Enqueue { Intent::Mark } else { Intent::Pass }
    }

    #[inline]
    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        // The packet that leaves still counts.
        let over = self.length(view, queue).as_f64() > self.thresholds_bytes[queue as usize];
        if over && self.at == MarkAt::Dequeue { Departure::Mark } else { Departure::Pass }
    }

    fn reads_pool(&self) -> bool {
        matches!(self.length, Length::Pool)
    }

    fn threshold_bytes(&self, _: &View, queue: QueueId) -> Option<f64> {
        Some(self.thresholds_bytes[queue as usize])
    }
}
