//! Schemes that the CQRD paper compares (Chen, Zhao, Pei: Computer Networks 2015). They fill every
//! seat themselves and give each queue of an output its own part of the memory. The parts are in
//! [`crate::memory::Crosspoint`], random mark in [`crate::schemes::RandomMark`].
//!
//! | scheme | queues of an output | without room | marks |
//! | --- | --- | --- | --- |
//! | oq | one | the arrival is dropped | step |
//! | cq | one for each input, round robin | the arrival is dropped | step |
//! | cqrd | the same | random drop | random mark |
//! | cqrd-configured | up to `queues`, WRR | the arrival is dropped | RED |

use crate::MAX_QUEUES;
use crate::classifier::{ByIngress, Single};
use crate::hooks::{Marker, Nobody};
use crate::memory::{Crosspoint, Overflow, Static};
use crate::schedulers::{Fifo, RoundRobin, Wrr};
use crate::schemes::definition::{About, Definition, Equivalents, Layout};
use crate::schemes::site::{Built, Site};
use crate::schemes::{MarkAt, RandomMark, Red, RedSettings, Spacing, Step};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Bytes;

const PAPER: &str = "Chen, Zhao, Pei, Alleviating flow interference in data center networks \
                     through fine-grained switch queue management, Computer Networks 2015";

params! {
    /// A part of the memory for each queue, which is marked by its length.
    pub struct OwnPart {
        /// Packets are marked from this part of their queue's memory on; the paper's: 0.4. Default:
        /// none is marked.
        ecn_threshold: Option<f64> as FRACTION;
        /// The memory's cells.
        cells: Cells;
    }
}

params! {
    /// Unit in which the memory is given out.
    pub struct Cells {
        /// Packets take whole cells of this size. 1B counts bytes; the paper's cells are no larger
        /// than the smallest packet.
        cell: Bytes = "1B";
    }
}

type AnyMarker = Box<dyn Marker + Send>;

impl OwnPart {
    pub(crate) fn check(&self) -> Result<(), Unfit> {
        self.cells.check()
    }

    pub(crate) fn layout(&self, queues: usize) -> Layout {
        // The part is counted in cells: a packet takes whole ones.
        self.cells.layout(queues)
    }

    pub(crate) fn acts(&self) -> bool {
        self.ecn_threshold.is_some()
    }

    pub(crate) fn memory(&self, site: &Site, overflow: Overflow) -> Crosspoint {
        self.cells.memory(site, overflow)
    }

    /// Step marking, if there is a threshold.
    pub(crate) fn step(&self, site: &Site) -> AnyMarker {
        match self.cells.threshold(site, self.ecn_threshold) {
            Some(threshold) => Box::new(Step::per_queue(threshold, site.queues(), MarkAt::Enqueue)),
            None => Box::new(Nobody),
        }
    }
}

impl Cells {
    fn check(&self) -> Result<(), Unfit> {
        match self.cell {
            Bytes::ZERO => Err(Unfit::new(Self::KEY.cell, "a cell has at least 1 byte")),
            _ => Ok(()),
        }
    }

    fn layout(&self, queues: usize) -> Layout {
        Layout { queues, cell: self.cell }
    }

    fn memory(&self, site: &Site, overflow: Overflow) -> Crosspoint {
        Crosspoint::new(site.part(self.cell), self.cell, overflow, site.queues())
    }

    fn threshold(&self, site: &Site, fraction: Option<f64>) -> Option<Bytes> {
        Some(fraction_of(site.part(self.cell), fraction?))
    }
}

fn fraction_of(part: Bytes, fraction: f64) -> Bytes {
    Bytes::new((part.as_f64() * fraction) as u64)
}

/// One queue an output, tail drop and step marking.
pub struct Oq;

impl Definition for Oq {
    type Params = OwnPart;

    const ABOUT: About = About {
        name: "oq",
        paper: PAPER,
        summary: "One queue an output, whose memory is its own; what does not fit is dropped.",
        source: "section 3.2",
        seats: ["single", "own part, tail drop", "step on the queue", "FIFO", "none"],
        needs_pool: false,
    };

    fn complete(params: &mut OwnPart, _: Bytes) -> Result<(), Unfit> {
        params.check()
    }

    fn layout(params: &OwnPart, _: u32) -> Option<Layout> {
        Some(params.layout(1))
    }

    fn acts(params: &OwnPart) -> bool {
        params.acts()
    }

    fn build(params: &OwnPart, site: Site) -> Built {
        let (memory, marker) = (params.memory(&site, Overflow::Tail), params.step(&site));
        site.seats(Single, memory, marker, Fifo, Nobody)
    }
}

/// One queue for each input, round robin, tail drop and step marking.
pub struct Cq;

impl Definition for Cq {
    type Params = OwnPart;

    const ABOUT: About = About {
        name: "cq",
        paper: "Kanizo, Hay, Keslassy, The Crosspoint-Queued Switch, INFOCOM 2009; for TCP: Chen, \
                Zhao, Pei, Computer Networks 2015",
        summary: "A queue for each input at each output, with equal parts of the memory, round \
                  robin.",
        source: "section 3.4 of Chen, Zhao, Pei",
        seats: ["ingress", "own part, tail drop", "step on the queue", "round robin", "none"],
        needs_pool: false,
    };

    fn complete(params: &mut OwnPart, _: Bytes) -> Result<(), Unfit> {
        params.check()
    }

    fn layout(params: &OwnPart, ports: u32) -> Option<Layout> {
        Some(params.layout(ports as usize))
    }

    fn acts(params: &OwnPart) -> bool {
        params.acts()
    }

    fn build(params: &OwnPart, site: Site) -> Built {
        let (memory, marker) = (params.memory(&site, Overflow::Tail), params.step(&site));
        site.seats(ByIngress, memory, marker, RoundRobin::default(), Nobody)
    }
}

params! {
    /// Parameters of CQRD, as a scenario gives them.
    pub struct CqrdParams {
        /// An arrival that takes its queue over this part of its memory has one packet drawn by
        /// length and marked; the paper's: 0.4. Default: none is marked.
        ecn_threshold: Option<f64> as FRACTION;
        /// The memory's cells.
        cells: Cells;
    }
}

/// One queue for each input with random drop and random mark.
pub struct Cqrd;

impl Definition for Cqrd {
    type Params = CqrdParams;

    const ABOUT: About = About {
        name: "cqrd",
        paper: PAPER,
        summary: "CQ with random drop: the queue's packets and the arrival are drawn by length \
                  until the arrival fits; and random mark likewise.",
        source: "sections 4.2 and 4.3.3",
        seats: ["ingress", "own part, random drop", "random mark", "round robin", "none"],
        needs_pool: false,
    };

    fn complete(params: &mut CqrdParams, _: Bytes) -> Result<(), Unfit> {
        params.cells.check()
    }

    fn layout(params: &CqrdParams, ports: u32) -> Option<Layout> {
        Some(params.cells.layout(ports as usize))
    }

    fn acts(params: &CqrdParams) -> bool {
        params.ecn_threshold.is_some()
    }

    fn build(params: &CqrdParams, site: Site) -> Built {
        let marker: AnyMarker = match params.cells.threshold(&site, params.ecn_threshold) {
            Some(threshold) => Box::new(RandomMark { threshold }),
            None => Box::new(Nobody),
        };
        let memory = params.cells.memory(&site, Overflow::Random);
        // WRR with one packet a turn is round robin over inputs.
        site.seats(ByIngress, memory, marker, RoundRobin::default(), Nobody)
    }
}

params! {
    /// The parameters of CQRD from what chips have.
    pub struct ConfiguredParams {
        /// Queues of an output, which inputs share by turns if they are more. The paper's chip has
        /// 8. Default: one for each input.
        queues: Option<u32> as count(1, MAX_QUEUES as u64);
        /// RED drops or marks from this part of a queue's memory on. The paper gives none of RED's
        /// settings.
        kmin: f64 = "0.5" as FRACTION;
        /// RED's upper threshold, likewise.
        kmax: f64 = "1" as FRACTION;
        /// The probability at kmax.
        pmax: f64 = "0.1" as FRACTION;
        /// Weight of the present length in RED's average.
        weight: f64 = "0.002" as PORTION;
    }
}

/// Weighted round robin over configured queues, with RED.
pub struct CqrdConfigured;

impl Definition for CqrdConfigured {
    type Params = ConfiguredParams;

    const ABOUT: About = About {
        name: "cqrd-configured",
        paper: PAPER,
        summary: "CQRD from what chips have: a queue by input port, WRR with equal weights, RED \
                  in each queue.",
        source: "section 5.1",
        seats: ["ingress", "own part, tail drop", "RED on the queue", "WRR", "none"],
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents {
        no_wred: "one queue an input is no classifier of SONiC's",
        ..Equivalents::NONE
    };

    fn complete(params: &mut ConfiguredParams, _: Bytes) -> Result<(), Unfit> {
        let ConfiguredParams { kmin, kmax, .. } = *params;
        if kmin > kmax {
            let why = format!("it must not be over kmax, {kmax}");
            return Err(Unfit::new(ConfiguredParams::KEY.kmin, why));
        }
        Ok(())
    }

    fn layout(params: &ConfiguredParams, ports: u32) -> Option<Layout> {
        let queues = params.queues.unwrap_or(u32::MAX).min(ports) as usize;
        Some(Layout { queues, cell: Bytes::new(1) })
    }

    fn build(params: &ConfiguredParams, site: Site) -> Built {
        let (queues, part) = (site.queues(), site.part(Bytes::new(1)));
        let settings = RedSettings {
            kmin: fraction_of(part, params.kmin),
            kmax: fraction_of(part, params.kmax),
            pmax: params.pmax,
            weight: params.weight,
            gentle: false,
            spacing: Spacing::Uniform,
            packet_time: site.packet_time(),
            at: MarkAt::Enqueue,
        };
        let (memory, red) = (Static { limit: part }, Red::new(settings, queues));
        site.seats(ByIngress, memory, red, Wrr::new(queues), Nobody)
    }
}
