//! PMSB, per-port marking with selective blindness (Pan et al., ICDCS 2018): an arrival is marked if
//! the port holds its threshold or more, and its queue its weight's share of that or more; so a queue
//! below its share does not see the others' congestion.
//!
//! **Unverified**: the paper was not at hand. That both comparisons are "or more", and that all queues
//! count in the sum of the weights, is from memory.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | threshold | bytes | – ; the port's |

use crate::hooks::{Intent, Marker};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::View;
use crate::schemes::StandardThreshold;
use crate::schemes::definition::{About, Definition, Scope, marker};
use crate::schemes::site::{Built, Site};
use switchbed_units::Bytes;
use switchbed_units::random::Random;

impl Definition for Pmsb {
    type Params = StandardThreshold;

    const ABOUT: About = About {
        name: "pmsb",
        paper: "Pan et al., Support ECN in Multi-Queue Datacenter Networks via Per-Port Marking with \
                Selective Blindness, ICDCS 2018",
        summary: "Unverified. Marks where the port is long and the packet's queue has its share of \
                  that.",
        source: "from memory: the paper was not at hand",
        seats: marker("step on the port and the queue's share"),
        needs_pool: false,
    };

    const SCOPE: Scope = Scope::Port;

    fn build(params: &StandardThreshold, site: Site) -> Built {
        let quanta = &site.switch().quantum;
        let pmsb = Pmsb::new(params.threshold, quanta);
        site.mark(pmsb)
    }
}

/// PMSB's marker over all queues of a port.
#[derive(Clone, Debug)]
pub struct Pmsb {
    port: Bytes,
    queues: Box<[Bytes]>,
}

impl Pmsb {
    /// Makes it for queues of these weights.
    pub fn new(port: Bytes, weights: &[Bytes]) -> Pmsb {
        let all: f64 = weights.iter().map(|weight| weight.as_f64()).sum();
        let share = |weight: &Bytes| Bytes::new((port.as_f64() * weight.as_f64() / all) as u64);
        Pmsb { port, queues: weights.iter().map(share).collect() }
    }
}

impl Marker for Pmsb {
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, _: &mut dyn Random) -> Intent {
        let own = Bytes::new(packet.len_bytes.into());
        let long = view.port.bytes() + own >= self.port;
        let sees = view.port.queue_bytes(queue) + own >= self.queues[queue as usize];
        if long && sees { Intent::Mark } else { Intent::Pass }
    }

    fn threshold_bytes(&self, _: &View, queue: QueueId) -> Option<f64> {
        Some(self.queues[queue as usize].as_f64())
    }
}
