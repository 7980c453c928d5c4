//! Schemes that the CQRD paper compares (Chen, Zhao, Pei: Computer Networks 2015). They fill every
//! seat themselves and give each queue of an output its own part of the memory. The parts are in
//! [`crate::memory::Crosspoint`], random mark in [`crate::schemes::RandomMark`].
//!
//! | scheme | queues of an output | without space | marks |
//! | --- | --- | --- | --- |
//! | oq | one | the arrival is dropped | step |
//! | cq | one for each input, round robin | the arrival is dropped | step |
//! | cqrd | the same | random drop | random mark |
//! | cqrd-configured | up to `queues`, WRR | the arrival is dropped | RED |
//!
//! CQRD's random mark (Chen, Zhao, Pei: Computer Networks 2015, section 4.3.3): when an
//! arrival makes its queue longer than a threshold, one packet of the queue, the arrival among
//! them, is drawn with probability by its length and marked.
//!
//! | parameter | unit | paper's value |
//! | --- | --- | --- |
//! | threshold | bytes | 40 % of a queue's memory |
//!
//! Our reading: the arrival is counted and the comparison strict, as in step marking. One
//! draw an arrival: a packet that is drawn again, came marked, or is not ECN-capable stays as
//! it is, and nobody is drawn in its place.

use crate::MAX_QUEUES;
use crate::classifier::{ByIngress, Single};
use crate::hooks::{Intent, Marker, Nobody};
use crate::memory::{Crosspoint, Overflow, Static};
use crate::port::arena::SlotId;
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use crate::schedulers::{Fifo, RoundRobin, Wrr};
use crate::schemes::definition::{About, Definition, Equivalents, Layout};
use crate::schemes::site::{Built, Site};
use crate::schemes::{MarkAt, Red, RedSettings, Spacing, Step};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Bytes;
use switchbed_units::random::Random;

const PAPER: &str = "Chen, Zhao, Pei, Alleviating flow interference in data center networks \
                     through fine-grained switch queue management, Computer Networks 2015";

params! {
    /// A part of the memory for each queue, which is marked by its length.
    pub struct OwnPart {
        /// Packets are marked from this part of their queue's memory on; the paper's: 0.4. Default:
        /// none is marked.
        ecn_threshold: Option<f64> as Part;
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
        ecn_threshold: Option<f64> as Part;
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
        kmin: f64 = "0.5" as Part;
        /// RED's upper threshold, likewise.
        kmax: f64 = "1" as Part;
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

/// Marker of the CQRD paper that marks at random.
#[derive(Clone, Copy, Debug)]
pub struct RandomMark {
    /// A queue's length over which a packet of it is marked.
    pub threshold: Bytes,
}

impl Marker for RandomMark {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Intent,
        rng: &mut dyn Random,
    ) -> Option<SlotId> {
        let bytes = view.port.queue_bytes(queue);
        let drawn = || view.slot_at_byte(queue, Bytes::new(rng.below(bytes.get())));
        (bytes > self.threshold).then(drawn)
    }

    fn threshold_bytes(&self, _: &View, _: QueueId) -> Option<f64> {
        Some(self.threshold.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{SplitMix, chi_square};
    use crate::memory::SwitchMemory;
    use crate::port::view::PortState;
    use crate::{Arena, SlotId};
    use switchbed_units::{Rate, Time};

    #[test]
    fn the_marked_packet_is_drawn_by_length() {
        let lengths = [1500, 40, 9000, 700];
        let mut port = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500)]);
        let mut arena = Arena::new();
        let slots: Vec<SlotId> = lengths
            .iter()
            .map(|&len_bytes| {
                let slot = arena.alloc(Packet { len_bytes, ..Packet::default() });
                port.queues[0].list.push_back(&mut arena, slot);
                port.queues[0].bytes += len_bytes as u64;
                slot
            })
            .collect();
        let memory = SwitchMemory::new(Bytes::MAX);
        let view = View::new(Time::ZERO, &port, &memory, &arena);
        let mut marker = RandomMark { threshold: Bytes::new(11_239) };
        let mut rng = SplitMix(2);
        let mut hits = [0u64; 4];
        for _ in 0..100_000 {
            let marked = marker.stored(&view, 0, slots[3], Intent::Pass, &mut rng).unwrap();
            hits[slots.iter().position(|&slot| slot == marked).unwrap()] += 1;
        }
        // 3 degrees of freedom: over 16.27 once in a thousand.
        let chi = chi_square(&hits, &lengths.map(f64::from));
        assert!(chi < 16.27, "{chi}: {hits:?}");

        marker.threshold = Bytes::new(11_240);
        assert_eq!(marker.stored(&view, 0, slots[3], Intent::Pass, &mut rng), None);
    }
}
