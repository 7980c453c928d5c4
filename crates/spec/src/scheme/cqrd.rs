//! The entries of what the CQRD paper compares: they fill every seat themselves.

use super::{SchemeChoice, SchemeInfo, Unfit};
use crate::Switch;
use crate::param::{FRACTION, Param, ParamKind};
use switchbed_qdisc::MAX_QUEUES;
use switchbed_qdisc::units::Bytes;

const PAPER: &str = "Chen, Zhao, Pei, Alleviating flow interference in data center networks \
                     through fine-grained switch queue management, Computer Networks 2015";

const CELL: Param = Param::with_default(
    "cell",
    ParamKind::Size,
    "1B",
    "Packets take whole cells of this size. 1B counts bytes; the paper's cells are no larger \
     than the smallest packet.",
);
const STEP: Param = Param::optional(
    "ecn_threshold",
    FRACTION,
    "Packets are marked from this part of their queue's memory on; the paper's: 0.4. Default: none \
     is marked.",
);

pub(super) const OQ: SchemeInfo = SchemeInfo {
    name: "oq",
    paper: PAPER,
    summary: "One queue an output, whose memory is its own; what does not fit is dropped.",
    source: "section 3.2",
    seats: ["single", "own part, tail drop", "step on the queue", "FIFO", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[STEP, CELL],
};

pub(super) const CQ: SchemeInfo = SchemeInfo {
    name: "cq",
    paper: "Kanizo, Hay, Keslassy, The Crosspoint-Queued Switch, INFOCOM 2009; for TCP: Chen, Zhao, \
            Pei, Computer Networks 2015",
    summary: "A queue for each input at each output, with equal parts of the memory, round robin.",
    source: "section 3.4 of Chen, Zhao, Pei",
    seats: ["ingress", "own part, tail drop", "step on the queue", "round robin", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[STEP, CELL],
};

pub(super) const CQRD: SchemeInfo = SchemeInfo {
    name: "cqrd",
    paper: PAPER,
    summary: "CQ with random drop: the queue's packets and the arrival are drawn by length until \
              the arrival fits; and random mark likewise.",
    source: "sections 4.2 and 4.3.3",
    seats: ["ingress", "own part, random drop", "random mark", "round robin", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::optional(
            "ecn_threshold",
            FRACTION,
            "An arrival that takes its queue over this part of its memory has one packet drawn by \
             length and marked; the paper's: 0.4. Default: none is marked.",
        ),
        CELL,
    ],
};

pub(super) const CQRD_CONFIGURED: SchemeInfo = SchemeInfo {
    name: "cqrd-configured",
    paper: PAPER,
    summary: "CQRD from what chips have: a queue by input port, WRR with equal weights, RED in \
              each queue.",
    source: "section 5.1",
    seats: ["ingress", "own part, tail drop", "RED on the queue", "WRR", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::optional(
            "queues",
            ParamKind::Count { min: 1, max: MAX_QUEUES as u64 },
            "Queues of an output, which inputs share by turns if they are more. The paper's chip \
             has 8. Default: one for each input.",
        ),
        Param::with_default(
            "kmin",
            FRACTION,
            "0.5",
            "RED drops or marks from this part of a queue's memory on. The paper gives none of RED's \
             settings.",
        ),
        Param::with_default("kmax", FRACTION, "1", "RED's upper threshold, likewise."),
        Param::with_default("pmax", FRACTION, "0.1", "The probability at kmax."),
        Param::with_default(
            "weight",
            ParamKind::Number { min: 0.000_001, max: 1.0 },
            "0.002",
            "Weight of the present length in RED's average.",
        ),
    ],
};

pub(super) const HCF: SchemeInfo = SchemeInfo {
    name: "hcf",
    paper: "Shpiner, Keslassy, Bracha, Dagan, Iny, Soha, A Switch-Based Approach to Throughput \
            Collapse and Starvation in Data Centers, IWQoS 2010",
    summary: "Flows are hashed into bins with credits: packets with credit go first, the rest when \
              those are gone and credits are renewed.",
    source: "as Chen, Zhao, Pei have it, sections 2.3 and 3.3",
    seats: ["HCF", "half each, tail drop", "step on the queue", "HCF", "none"],
    needs_rounds: false,
    needs_pool: false,
    params: &[
        Param::with_default(
            "bins",
            ParamKind::Count { min: 1, max: 1_000_000 },
            "20",
            "Bins that flows are hashed into.",
        ),
        Param::with_default(
            "credits",
            ParamKind::Count { min: 1, max: 1_000_000 },
            "1",
            "Packets of a bin that may go first each time.",
        ),
        Param::with_default(
            "period",
            ParamKind::Time,
            "10ms",
            "The hash key changes when credits are renewed, at the earliest after this time. The \
             paper gives none.",
        ),
        STEP,
        CELL,
    ],
};

impl SchemeInfo {
    /// It fills the seats of classifier, buffer and scheduler, and leaves the switch's own.
    pub fn fills_the_seats(&self) -> bool {
        self.seats[3] != "any"
    }
}

impl SchemeChoice {
    /// Whether it does anything about congestion besides dropping what does not fit.
    pub fn acts(&self) -> bool {
        match self.name.as_str() {
            "none" => false,
            "oq" | "cq" | "cqrd" | "hcf" => self.params.contains_key("ecn_threshold"),
            _ => true,
        }
    }

    /// How many queues a port has, on a switch of so many ports.
    pub fn queues(&self, switch: &Switch, ports: u32) -> usize {
        match self.name.as_str() {
            "oq" => 1,
            "hcf" => 2,
            "cq" | "cqrd" => ports as usize,
            "cqrd-configured" => {
                let most = self.params.get("queues").map(|_| self.count("queues") as usize);
                most.unwrap_or(usize::MAX).min(ports as usize)
            }
            _ => switch.queues as usize,
        }
    }

    /// The memory of one queue of such a port where the scheme divides it, in whole cells.
    pub fn part(&self, switch: &Switch, ports: u32) -> Option<Bytes> {
        super::find(&self.name).filter(|scheme| scheme.fills_the_seats())?;
        let part = switch.port_memory(ports).get() / self.queues(switch, ports) as u64;
        let cell = self.size("cell").unwrap_or(Bytes::new(1)).get();
        Some(Bytes::new(part - part % cell))
    }
}

/// What is wrong with such a scheme on a switch of so many ports.
pub(super) fn misfit(
    choice: &SchemeChoice,
    switch: &Switch,
    ports: u32,
    mtu: Bytes,
) -> Option<String> {
    let (queues, name) = (choice.queues(switch, ports), &choice.name);
    if queues > MAX_QUEUES {
        return Some(format!(
            "a switch of {ports} ports needs {queues} queues a port, and a port has at most \
             {MAX_QUEUES}: cqrd-configured can have fewer"
        ));
    }
    let part = choice.part(switch, ports)?;
    let cell = choice.size("cell").map_or(1, Bytes::get);
    (mtu.get().div_ceil(cell) * cell > part.get()).then(|| {
        let memory = switch.port_memory(ports);
        format!(
            "a port's {memory} are {part} for each of its queues under {name}, on a switch of \
             {ports} ports, and a packet has {mtu}"
        )
    })
}

/// A cell holds something, and RED's thresholds are in order.
pub(super) fn check(choice: &SchemeChoice) -> Result<(), Unfit> {
    if choice.size("cell") == Some(Bytes::ZERO) {
        return Err(Unfit::new("cell", "a cell has at least 1 byte".to_owned()));
    }
    match (choice.maybe_number("kmin"), choice.maybe_number("kmax")) {
        (Some(kmin), Some(kmax)) if kmin > kmax => {
            Err(Unfit::new("kmin", format!("it must not be over kmax, {kmax}")))
        }
        _ => Ok(()),
    }
}
