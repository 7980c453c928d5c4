//! `[switch.trimming]`: what becomes of a packet that the memory refuses.

use crate::memory::{Limited, OfPort, Shared};
use crate::port::set::QueueSet;
use crate::port::trim::Trim;
use crate::switch::{Classify, Switch};
use crate::{MAX_QUEUES, QueueId, params, words};
use switchbed_config::param::{ParamKind, count};
use switchbed_units::Bytes;

const QUEUE: ParamKind = count(0, MAX_QUEUES as u64 - 1);
const CLASS: ParamKind = count(0, 63);

/// The least that SAI lets a packet be cut to: an Ethernet frame.
pub const LEAST: Bytes = Bytes::new(64);

params! {
    /// Packets that the memory refuses are cut, and their beginnings go on in another queue (SONiC's
    /// SWITCH_TRIMMING).
    pub struct Trimming {
        /// Bytes of a packet that go on, from 64 to host.mtu; a shorter packet goes on whole. (SAI: 128)
        size: Bytes = "128B";
        /// Queues whose packets are trimmed (SAI: packet_discard_action = trim). Default: all but the trimmed
        /// packets' and the lossless ones.
        queues: Option<Vec<u8>> as List(&QUEUE);
        /// The queue of trimmed packets. Default: that of their class, as switch.classify has it (SONiC: dynamic).
        queue: Option<u8> as QUEUE;
        /// The class (DSCP) of trimmed packets from this switch on.
        dscp: u8 as CLASS;
        /// Class of trimmed packets where the port faces a host, so that receivers can tell where one was trimmed
        /// (SONiC: dscp_value = from-tc). Default: dscp.
        host_dscp: Option<u8> as CLASS;
        /// How a switch trims. switch: the arrival that the memory refuses. htsim: a queue that is trimmed holds
        /// switch.buffer, that of trimmed packets twice as much, and one time in two the last packet of the full
        /// queue is trimmed in the arrival's place (uet-htsim 40ccb05, compositequeue.cpp).
        mode: TrimMode = "switch";
    }
}

words! {
    /// How a switch trims.
    pub enum TrimMode {
        /// As switch chips do.
        Switch = "switch",
        /// As htsim does.
        Htsim = "htsim",
    }
}

impl Trimming {
    /// The queue that a port's trimmed packets join; `None`: `[switch]` has no rule that finds it.
    pub fn queue_in(&self, switch: &Switch) -> Option<QueueId> {
        let found = match switch.classify {
            Classify::Class => Some((u16::from(self.dscp) % switch.queues) as u8),
            Classify::Single => Some(0),
            Classify::Ingress | Classify::Hash => None,
        };
        self.queue.or(found)
    }
}

impl Switch {
    /// Rules by which a port trims, if ports do.
    pub fn trim(&self) -> Option<Trim> {
        let trimming = self.trimming.as_ref()?;
        let queue = trimming.queue_in(self)?;
        let mut eligible = QueueSet::EMPTY;
        for &queue in trimming.queues.as_deref().unwrap_or_default() {
            eligible.insert(queue);
        }
        Some(Trim {
            size: trimming.size.get() as u32,
            eligible,
            queue,
            class: trimming.dscp,
            swaps: trimming.mode == TrimMode::Htsim,
        })
    }

    /// The switch as its ports to hosts have it.
    pub fn facing_host(&self) -> Switch {
        let mut switch = self.clone();
        if let Some(trimming) = &mut switch.trimming {
            // Cloned for ports that face a host: only the DSCP of what is cut there differs.
            trimming.dscp = trimming.host_dscp.unwrap_or(trimming.dscp);
        }
        switch
    }

    /// The queues' memory where htsim's rules hold: each its own.
    pub(crate) fn trimming_buffer(&self) -> Option<OfPort> {
        let rules = self.trim().filter(|rules| rules.swaps)?;
        let limit = |queue: u16| {
            // htsim's compositequeue gives trimmed packets twice the memory of the full ones.
            let twice = if queue == u16::from(rules.queue) { 2 } else { 1 };
            Some(Bytes::new(twice * self.buffer.get()))
        };
        let limits = (0..self.queues).map(limit).collect();
        let buffer = OfPort::Shared(Shared { limit: Bytes::MAX });
        Some(OfPort::Limited(Box::new(Limited { limits, buffer })))
    }
}
