//! `[switch]`: a port's own classifier, scheduler and buffer, where the scheme leaves these seats
//! to it.

use crate::classifier::{ByClass, ByHash, ByIngress, Single};
use crate::hooks::{Classifier, Scheduler};
use crate::memory::chip::Asic;
use crate::memory::pfc::Pfc;
use crate::memory::{
    Abm, AllHeadroom, Cells, Dynamic, Fab, GroupMay, HeadroomUse, Inputs, Limited, Lqd, Occamy,
    OfPort, OfSwitch, Own, Policy, Shared, Sizes, Static, SwitchMemory, Young,
};
use crate::port::set::QueueSet;
use crate::schedulers::{Dwrr, Fifo, HighestFirst, RoundRobin, Strict, Wfq, Wrr};
use crate::trimming::Trimming;
use crate::{MAX_QUEUES, QueueId, words};
use serde::{Serialize, Serializer};
use switchbed_config::param::{Field, Param, ParamKind, SectionSpec};
use switchbed_units::{Bytes, Rate, Span};

/// Every switch port of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Switch {
    /// Queues of a port, 1 to [`crate::MAX_QUEUES`].
    pub queues: u16,
    /// Which queue a packet joins.
    pub classify: Classify,
    /// Scheduler of the queues below the strict-priority ones.
    pub discipline: Discipline,
    /// How many of the first queues are strict-priority queues above the rest.
    pub strict: u16,
    /// Which of several strict-priority queues goes first.
    #[serde(skip_serializing_if = "StrictOrder::is_default")]
    pub strict_order: StrictOrder,
    /// Each queue's quantum (round-robin disciplines) or weight × 1 byte (others).
    #[serde(serialize_with = "one_or_each")]
    pub quantum: Vec<Bytes>,
    /// A port's packet memory; with `memory` that of the ports with the least.
    pub buffer: Bytes,
    /// The memory of a whole switch, in equal parts for its ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// How the queues share it.
    pub policy: BufferPolicy,
    /// The memory that all ports of a switch share, where the policy or the scheme reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Bytes>,
    /// Factor α of dynamic thresholds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Settings of the buffer policies other than dynamic thresholds.
    #[serde(flatten)]
    pub sharing: Sharing,
    /// Treatment of an arrival that is to be marked but is not ECN-capable.
    pub unmarkable: Unmarkable,
    /// Which classes pause before they lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
    /// Rules by which packets that the memory refuses are cut; without them they are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<Trimming>,
    /// Rules of each queue, in order, where they differ; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "with_numbers")]
    pub queue: Vec<QueueRules>,
}

/// Settings that only some buffer policies use.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sharing {
    /// Flows that have sent less are young.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub young: Option<Bytes>,
    /// Factor α of young flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_young: Option<f64>,
    /// A queue of this length is congested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation: Option<Bytes>,
    /// Over how long a queue's drain is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_interval: Option<Span>,
    /// At which packets are expelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expulsion: Option<Rate>,
    /// Chip whose memory is modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asic: Option<Asic>,
    /// Memory that lossy queues share with `asic`'s rules, where it is not the inputs' pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_pool: Option<Bytes>,
}

/// Declaration of the section `[switch]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "switch",
    repeated: false,
    doc: "Queues, scheduler and buffer of every switch port.",
    keys: &[
        Param::with_default(
            "queues",
            ParamKind::Count { min: 1, max: MAX_QUEUES as u64 },
            "1",
            "Queues of a port.",
        ),
        Param::with_default(
            "classify",
            Classify::KIND,
            "class",
            "Which queue a packet joins. single: queue 0. class: by its class (DSCP). \
             ingress: by the port it came in on. hash: by a hash of its flow.",
        ),
        Param::with_default(
            "discipline",
            Discipline::KIND,
            "dwrr",
            "Who goes next. fifo: first come first served over all queues. round-robin: a \
             packet from each queue in turn. wrr: weighted round robin with a byte quantum, \
             the deficit dropped when a service ends. dwrr: deficit weighted round robin. wfq: \
             weighted fair queueing, self-clocked (Golestani 1994), weights from the quanta.",
        ),
        Param::with_default(
            "strict",
            ParamKind::Count { min: 0, max: MAX_QUEUES as u64 },
            "0",
            "How many of the first queues have strict priority over the rest.",
        ),
        Param::with_default(
            "strict_order",
            StrictOrder::KIND,
            "lowest",
            "Which of several strict-priority queues goes first. lowest: that of the lowest number. highest: \
             that of the highest, as SONiC has it.",
        ),
        Param::with_default(
            "quantum",
            ParamKind::Either(&[ParamKind::Size, ParamKind::List(&ParamKind::Size)]),
            "1pkt",
            "Bytes that a queue may send in a round, and its weight for schemes that need \
             one: one for all queues, or a list with one for each.",
        ),
        Param::optional(
            "buffer",
            ParamKind::Size,
            "A port's packet memory. This, memory or asic must be given.",
        ),
        Param::optional(
            "memory",
            ParamKind::Size,
            "The packet memory of a whole switch, in equal parts for its ports.",
        ),
        Param::optional(
            "asic",
            Asic::KIND,
            "A switch chip, whose memory it is (docs/asic.md; switchbed asic list): in cells and \
             partitions, with reserves and dynamic thresholds. buffer and policy are then its own, and pool, \
             egress_pool and alpha by default.",
        ),
        Param::with_default(
            "policy",
            BufferPolicy::KIND,
            "shared",
            "How the queues share the memory. shared: the port's, first come first served. \
             static: an equal part of the port's for each. dynamic: a queue may hold alpha times \
             what the switch's pool has left (Choudhury and Hahne 1998). abm: that, divided by how \
             many queues of its number are congested, times the part of its line that it drains at \
             (SIGCOMM 2022). fab: dynamic, with a larger alpha for flows that have sent little. lqd: \
             the longest queue of the switch loses its last packet for one that has no space. occamy: \
             dynamic with a large alpha, and queues over their threshold lose packets from their head \
             (EuroSys 2025). asic: as the chip that asic names, or with pool a memory without cells, partitions and \
             reserves that has a chip's rules. The others drop what does not fit.",
        ),
        Param::optional(
            "pool",
            ParamKind::Size,
            "The memory that all ports of a switch share: for policy = \"dynamic\", abm, fab, lqd and \
             occamy, and for per-pool marking. A host's card counts as a switch of its own. With policy = \
             \"asic\" what the inputs share: beside the headroom and reserves of a chip that asic names \
             (default: the chip's), and with the headroom in it otherwise.",
        ),
        Param::optional(
            "egress_pool",
            ParamKind::Size,
            "policy = \"asic\": what lossy queues share. Default: the chip's; else as pool, less the headroom.",
        ),
        Param::optional(
            "alpha",
            ParamKind::Number { min: 0.001, max: 1000.0 },
            "A queue's part of the free pool. Default: 1 with dynamic and fab, 0.5 with abm, 8 with \
             occamy.",
        ),
        Param::optional(
            "young",
            ParamKind::Size,
            "fab and abm: flows that have sent less, silences of 5 ms apart, have alpha_young. Default: \
             22,500 bytes with fab; with abm none have.",
        ),
        Param::optional(
            "alpha_young",
            ParamKind::Number { min: 0.001, max: 100_000.0 },
            "fab and abm: alpha of young flows. Default: 64.",
        ),
        Param::optional(
            "saturation",
            ParamKind::Size,
            "abm: a queue of this length counts as congested, a shorter one in proportion. Default: \
             28,000 bytes, 20 packets of 1400 (the authors' simulator).",
        ),
        Param::optional(
            "drain_interval",
            ParamKind::Time,
            "abm: how much of its line a queue drains at is what left in such an interval. Default: 30us \
             (the authors' simulator).",
        ),
        Param::optional(
            "expulsion",
            ParamKind::Rate,
            "occamy: queues over their threshold lose packets at this rate together. Default: that of all \
             ports.",
        ),
        Param::with_default(
            "unmarkable",
            Unmarkable::KIND,
            "drop",
            "What becomes of an arrival that is to be marked and is not ECN-capable, such as an ACK \
             with transport.ecn_acks = false. drop: it is dropped (RFC 3168, section 5), as by \
             switches whose WRED is on beside ECN. pass: it goes on, as where only ECN is.",
        ),
        Param::optional(
            "pfc",
            <Pfc as Field>::KIND,
            "Priority-based flow control, at switches and at hosts: which classes are paused before they lose. \
             The memory is asic's, or a pool without cells, partitions and reserves. Default: off.",
        ),
        Param::optional(
            "trimming",
            <Trimming as Field>::KIND,
            "Packet trimming: the beginning of a packet that the memory refuses goes on in another queue, so that \
             its receiver knows (docs/trimming.md). Default: off.",
        ),
    ],
};

impl Switch {
    /// The packet memory of a port of a switch of so many ports.
    pub fn port_memory(&self, ports: u32) -> Bytes {
        // Rounded down: the ports together never have more than the switch.
        self.memory.map_or(self.buffer, |memory| Bytes::new(memory.get() / u64::from(ports)))
    }

    /// Returns the settings of a port, on a switch of `ports` ports.
    pub fn of_ports(&self, ports: u32) -> Switch {
        Switch { buffer: self.port_memory(ports), memory: None, ..self.clone() }
    }

    /// Builds the classifier of a port.
    pub fn classifier(&self) -> Box<dyn Classifier + Send> {
        match self.classify {
            Classify::Single => Box::new(Single),
            Classify::Class => Box::new(ByClass),
            Classify::Ingress => Box::new(ByIngress),
            // A constant key: flows hash alike at every port, as with hardware of one kind.
            Classify::Hash => Box::new(ByHash { key: 0 }),
        }
    }

    /// Builds the memory of a switch of so many ports; `packet` is the longest.
    pub fn memory(&self, ports: u32, packet: Bytes) -> SwitchMemory {
        let capacity = self.pool.unwrap_or(Bytes::MAX);
        match self.policy(ports as usize, packet) {
            Some(policy) => SwitchMemory::shared(capacity, policy),
            None => SwitchMemory::new(capacity),
        }
    }

    /// The same, with accounts for lossless groups where these links come in.
    ///
    /// # Errors
    /// The headroom of its lossless groups leaves no memory for anything else.
    pub fn lossless_memory(&self, ports: u32, inputs: Inputs) -> Result<SwitchMemory, AllHeadroom> {
        let Some(pfc) = &self.pfc else { return Ok(self.memory(ports, inputs.longest)) };
        let cells = Cells::lossless(pfc, &self.sizes(), ports as usize, &self.owns(), inputs)?;
        let cells = Box::new(cells.expect(CHIP_KNOWN));
        Ok(SwitchMemory::shared(self.pool.unwrap_or(Bytes::MAX), cells))
    }

    /// The memory of a chip, or that of a pool.
    fn sizes(&self) -> Sizes<'static> {
        let chip = self.sharing.asic.map(|Asic(chip)| chip);
        Sizes { chip, pool: self.pool, egress: self.sharing.egress_pool }
    }

    /// Returns the bytes that a lossless group may hold before its neighbour is paused; `None`
    /// without such groups.
    pub fn group_may(&self, inputs: Inputs) -> Option<GroupMay> {
        let pfc = self.pfc.as_ref()?;
        Cells::group_may(pfc, &self.sizes(), inputs).ok()
    }

    /// Returns the headroom of a switch's groups; `None` without such groups.
    pub fn headroom_use(&self, inputs: Inputs) -> Option<HeadroomUse> {
        let pfc = self.pfc.as_ref()?;
        Cells::headroom_use(pfc, &self.sizes(), inputs).ok()
    }

    /// A port's own buffer.
    pub fn buffer(&self) -> OfPort {
        if let Some(buffer) = self.trimming_buffer() {
            return buffer;
        }
        // Rounded down: parts together never pass the whole.
        let part = Bytes::new(self.buffer.get() / u64::from(self.queues));
        let buffer = match self.policy {
            BufferPolicy::Shared => OfPort::Shared(Shared { limit: self.buffer }),
            BufferPolicy::Static => OfPort::Static(Static { limit: part }),
            _ => OfPort::Switch(OfSwitch),
        };
        let limit = |queue| self.rules(queue).limit;
        let limits: Box<[Option<Bytes>]> = (0..usize::from(self.queues)).map(limit).collect();
        match limits.iter().any(Option::is_some) {
            true => OfPort::Limited(Box::new(Limited { limits, buffer })),
            false => buffer,
        }
    }

    /// Builds the policy by which so many ports share the switch's memory; `None`: each port has its own. `packet`
    /// is the longest. Lossless groups have no accounts ([`Switch::lossless_memory`]).
    pub fn policy(&self, ports: usize, packet: Bytes) -> Option<Box<dyn Policy>> {
        let Sharing { young, alpha_young, saturation, drain_interval, expulsion, .. } =
            self.sharing;
        let alpha_young = alpha_young.unwrap_or(64.0);
        // α where the scenario gives none; DT's is 1 (Choudhury and Hahne 1998).
        let alphas = self.alphas(match self.policy {
            BufferPolicy::Abm => 0.5,
            BufferPolicy::Occamy => 8.0,
            _ => 1.0,
        });
        Some(match self.policy {
            BufferPolicy::Shared | BufferPolicy::Static => return None,
            BufferPolicy::Dynamic => Box::new(Dynamic::new(&alphas)),
            BufferPolicy::Abm => {
                let young = young.map(|limit| (Young::new(limit), alpha_young));
                let saturation = saturation.unwrap_or(Bytes::new(28_000));
                let interval = drain_interval.unwrap_or(Span::from_us(30));
                Box::new(Abm::new(ports, &alphas, young, saturation, interval))
            }
            BufferPolicy::Fab => {
                let young = Young::new(young.unwrap_or(Bytes::new(22_500)));
                Box::new(Fab::new(ports, &alphas, young, alpha_young))
            }
            BufferPolicy::Asic => {
                Box::new(Cells::of(&self.sizes(), ports, &self.owns()).expect(CHIP_KNOWN))
            }
            BufferPolicy::Lqd => Box::new(Lqd::new(ports, alphas.len())),
            BufferPolicy::Occamy => Box::new(Occamy::new(ports, &alphas, expulsion, packet)),
        })
    }

    /// Rules of each queue for a chip's or pool's memory.
    fn owns(&self) -> Vec<Own> {
        let rules = (0..usize::from(self.queues)).map(|queue| self.rules(queue));
        rules.map(|rules| Own { alpha: rules.alpha, reserve: rules.reserve }).collect()
    }

    /// Builds the scheduler of a port.
    pub fn scheduler(&self) -> Box<dyn Scheduler + Send> {
        let queues = usize::from(self.queues);
        let base: Box<dyn Scheduler + Send> = match self.discipline {
            Discipline::Fifo => Box::new(Fifo),
            Discipline::RoundRobin => Box::new(RoundRobin::default()),
            Discipline::Wrr => Box::new(Wrr::new(queues)),
            Discipline::Dwrr => Box::new(Dwrr::new(queues)),
            Discipline::Wfq => Box::new(Wfq::new(queues)),
        };
        match (self.strict_queues(), self.strict_order) {
            (QueueSet::EMPTY, _) => base,
            (strict, StrictOrder::Highest) => Box::new(Strict::new(HighestFirst(strict), base)),
            // Without rules of queues the first `strict` numbers: one comparison instead of a
            // bitmap.
            (_, StrictOrder::Lowest) if self.queue.is_empty() => {
                Box::new(Strict::new(self.strict as QueueId, base))
            }
            (strict, StrictOrder::Lowest) => Box::new(Strict::new(strict, base)),
        }
    }
}

/// Reason why a chip's memory can be built.
const CHIP_KNOWN: &str = "a scenario is refused whose chip is not known";

/// Rules as a file writes them, an entry a queue.
fn with_numbers<S: Serializer>(rules: &[QueueRules], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry {
        queue: usize,
        #[serde(flatten)]
        rules: QueueRules,
    }
    let entry = |(queue, &rules)| Entry { queue, rules };
    serializer.collect_seq(rules.iter().enumerate().map(entry))
}

/// Writes one value where all queues have the same, and otherwise a list.
fn one_or_each<S: Serializer>(each: &[Bytes], serializer: S) -> Result<S::Ok, S::Error> {
    match each {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            first.serialize(serializer)
        }
        _ => each.serialize(serializer),
    }
}

words! {
    /// Rule that assigns packets to queues.
    pub enum Classify {
        /// Everything into queue 0.
        Single = "single",
        /// By the packet's class (DSCP): class modulo the number of queues.
        Class = "class",
        /// By the port that the packet came in on (crosspoint queues).
        Ingress = "ingress",
        /// By a hash of the flow.
        Hash = "hash",
    }
}

words! {
    /// Order among strict-priority queues.
    pub enum StrictOrder {
        /// Queue 0 first.
        Lowest = "lowest",
        /// The highest number first.
        Highest = "highest",
    }
}

impl StrictOrder {
    /// The order of a file that does not say it.
    fn is_default(&self) -> bool {
        *self == StrictOrder::Lowest
    }
}

words! {
    /// Scheduler of a port, by name.
    pub enum Discipline {
        /// First come first served over all queues.
        Fifo = "fifo",
        /// A packet from each queue in turn.
        RoundRobin = "round-robin",
        /// Weighted round robin with a byte quantum; the deficit is dropped when a service ends.
        Wrr = "wrr",
        /// Deficit weighted round robin (Shreedhar and Varghese 1996).
        Dwrr = "dwrr",
        /// Weighted fair queueing, self-clocked (Golestani 1994).
        Wfq = "wfq",
    }
}

impl BufferPolicy {
    /// Returns whether queues have an α.
    pub fn has_alpha(self) -> bool {
        use BufferPolicy::*;
        matches!(self, Dynamic | Abm | Fab | Occamy | Asic)
    }
}

impl Discipline {
    /// Returns whether it serves the queues in rounds, by quanta.
    pub fn has_rounds(self) -> bool {
        matches!(self, Discipline::Wrr | Discipline::Dwrr)
    }

    /// Returns whether its queues have weights.
    pub fn has_weights(self) -> bool {
        self.has_rounds() || self == Discipline::Wfq
    }
}

words! {
    /// Buffer policy of a switch, by name.
    pub enum BufferPolicy {
        /// All queues share the port's memory, first come first served; tail drop.
        Shared = "shared",
        /// Every queue has an equal part of its own; tail drop.
        Static = "static",
        /// A queue may hold α times what the switch's pool has left; tail drop.
        Dynamic = "dynamic",
        /// Dynamic thresholds, scaled by the number of congested queues and the drain rate of this
        /// one; tail drop.
        Abm = "abm",
        /// Dynamic thresholds, with a larger α for flows that have sent little; tail drop.
        Fab = "fab",
        /// The longest queue of the switch loses its last packet.
        Lqd = "lqd",
        /// Dynamic thresholds with a large α; queues over their threshold lose packets from the
        /// head.
        Occamy = "occamy",
        /// Sharing as in a switch chip's memory; tail drop.
        Asic = "asic",
    }
}

/// Description of a buffer policy, like a scheme's [`About`](crate::schemes::definition::About).
#[derive(Clone, Copy, Debug)]
pub struct PolicyInfo {
    /// Policy that the entry describes.
    pub policy: BufferPolicy,
    /// Citation of the paper.
    pub paper: &'static str,
    /// The rule, in a line.
    pub summary: &'static str,
    /// Section or algorithm of the paper.
    pub source: &'static str,
    /// Keys of `[switch]` that the policy uses.
    pub keys: &'static [&'static str],
}

/// Every buffer policy, in the order of the documentation.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        policy: BufferPolicy::Shared,
        paper: "–",
        summary: "A port's queues share its memory, first come first served.",
        source: "–",
        keys: &["buffer"],
    },
    PolicyInfo {
        policy: BufferPolicy::Static,
        paper: "–",
        summary: "Each queue has an equal part of its port's memory.",
        source: "–",
        keys: &["buffer"],
    },
    PolicyInfo {
        policy: BufferPolicy::Dynamic,
        paper: "Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet \
                Switches, IEEE/ACM ToN 1998",
        summary: "A queue may hold α times what the switch's memory has left.",
        source: "equation 1",
        keys: &["pool", "alpha"],
    },
    PolicyInfo {
        policy: BufferPolicy::Abm,
        paper: "Addanki et al., ABM: Active Buffer Management in Datacenters, SIGCOMM 2022",
        summary: "That, divided by how many queues of its number are congested, times the part of \
                  its line that it drains at.",
        source: "the authors' simulator, github.com/inet-tub/ns3-datacenter",
        keys: &["pool", "alpha", "saturation", "drain_interval", "young", "alpha_young"],
    },
    PolicyInfo {
        policy: BufferPolicy::Fab,
        paper: "Apostolaki, Vanbever, Ghobadi, FAB: Toward Flow-aware Buffer Sharing on \
                Programmable Switches, 2019",
        summary: "Dynamic thresholds with a larger α for flows that have sent little yet.",
        source: "ABM's authors' simulator, github.com/inet-tub/ns3-datacenter",
        keys: &["pool", "alpha", "young", "alpha_young"],
    },
    PolicyInfo {
        policy: BufferPolicy::Lqd,
        paper: "Wei, Coyle, Hsiao, An Optimal Buffer Management Policy for High-Performance Packet \
                Switching, GLOBECOM 1991",
        summary: "The longest queue of the switch, whichever port's, loses its last packet for one \
                  that has no space.",
        source: "the rule as the field has it; ties: against the arrival, then the lowest number",
        keys: &["pool"],
    },
    PolicyInfo {
        policy: BufferPolicy::Occamy,
        paper: "Shan et al., Occamy: A Preemptive Buffer Management for On-chip Shared-memory \
                Switches, EuroSys 2025",
        summary: "Dynamic thresholds with a large α; queues that are over theirs lose packets from \
                  their head, in turn.",
        source: "quotations of the paper; unverified: the rate of expulsion",
        keys: &["pool", "alpha", "expulsion"],
    },
];

impl BufferPolicy {
    /// The memory is the switch's pool, not the port's nor a chip's.
    pub fn shares_pool(self) -> bool {
        !matches!(self, BufferPolicy::Shared | BufferPolicy::Static | BufferPolicy::Asic)
    }
}

words! {
    /// Treatment of an arrival that is to be marked but is not ECN-capable.
    pub enum Unmarkable {
        /// Drop it (RFC 3168, section 5).
        Drop = "drop",
        /// Store it unmarked; `unmarkable_packets` counts it.
        Pass = "pass",
    }
}

/// Rules that one queue of a port may have and another not, beside its scheme and its quantum. [`Switch::queue`] has them for all queues where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueRules {
    /// Strict priority over queues that have none; among several [`Switch::strict_order`] decides.
    pub strict: bool,
    /// Fate of arrivals that are to be marked and are not ECN-capable.
    pub unmarkable: Unmarkable,
    /// α of the queue, where the policy has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Memory that it has for itself, of a chip's or a pool's. `None`: the chip's own reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Bytes>,
    /// The most that it may hold, whatever is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
}

impl Switch {
    /// The queue of a class's packets; where packets are not queued by class, the first.
    pub fn queue_of(&self, class: u8) -> usize {
        match self.classify {
            Classify::Class => usize::from(class) % usize::from(self.queues),
            Classify::Single | Classify::Ingress | Classify::Hash => 0,
        }
    }

    /// The rules of a queue.
    pub fn rules(&self, queue: usize) -> QueueRules {
        self.queue.get(queue).copied().unwrap_or(QueueRules {
            strict: queue < usize::from(self.strict),
            unmarkable: self.unmarkable,
            alpha: self.alpha,
            reserve: None,
            limit: None,
        })
    }

    /// The queues with strict priority.
    pub fn strict_queues(&self) -> QueueSet {
        self.queues_with(|rules| rules.strict)
    }

    /// The queues whose arrivals go on where they are to be marked and cannot be.
    pub fn passing_unmarkable(&self) -> QueueSet {
        self.queues_with(|rules| rules.unmarkable == Unmarkable::Pass)
    }

    fn queues_with(&self, has: impl Fn(&QueueRules) -> bool) -> QueueSet {
        let mut set = QueueSet::EMPTY;
        let queues = 0..usize::from(self.queues);
        let with = queues.filter(|&queue| has(&self.rules(queue)));
        with.for_each(|queue| set.insert(queue as QueueId));
        set
    }

    /// Each queue's α, or another that the policy has.
    pub(crate) fn alphas(&self, otherwise: f64) -> Box<[f64]> {
        let queues = 0..usize::from(self.queues);
        queues.map(|queue| self.rules(queue).alpha.unwrap_or(otherwise)).collect()
    }
}
