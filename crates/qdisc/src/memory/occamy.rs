//! Occamy (Shan et al., Occamy: A Preemptive Buffer Management for On-chip Shared-memory Switches, EuroSys
//! 2025): dynamic thresholds with a large α, which let one queue have nearly all of the memory; and a
//! queue that is over its threshold since others have come loses packets from its head, one after the
//! other and by turns with other such queues. An arrival waits for no such loss: without space it is dropped.
//!
//! How fast packets are lost is the memory's bandwidth that no port needs. The paper was not at hand for how
//! that is found; here one is lost in the time that the longest packet takes at a rate, which is that of all
//! ports together unless it is given. Losses that are due are made up for as the next packet arrives.

use super::holdings::Place;
use super::{Alpha, dynamic_threshold};
use crate::hooks::{Admission, Buffer, End, Expulsion};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use std::sync::atomic::Ordering::Relaxed;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Rate};

/// Occamy.
#[derive(Clone, Debug)]
pub struct Occamy<A = f64> {
    /// α.
    pub alpha: A,
    /// At which packets are lost; the ports' together if it is not given.
    pub rate: Option<Rate>,
    /// The longest packet.
    pub packet: Bytes,
    /// The port among the others.
    pub place: Place,
}

impl<A: Alpha> Buffer for Occamy<A> {
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        dynamic_threshold(view, queue, packet, self.alpha.of(queue))
    }

    fn full(&self, view: &View, queue: QueueId, packet: &Packet) -> bool {
        dynamic_threshold(view, queue, packet, self.alpha.of(queue)) != Admission::In
    }

    fn stored(&mut self, view: &View, queue: QueueId, _: &Packet) {
        self.place.note(view, queue);
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        self.place.note(view, queue);
    }

    fn sent(&mut self, view: &View, queue: QueueId, _: &Packet) {
        self.place.note(view, queue);
    }

    fn expels(&mut self, view: &View) -> Option<Expulsion> {
        let (now, next) = (view.now.as_ps(), self.place.next_loss());
        let due = next.load(Relaxed);
        if due > now {
            return None;
        }
        let free = view.pool.capacity.get().saturating_sub(view.pool.used.get());
        // Strictly over the threshold: a queue that is exactly at it is left alone.
        let Some(of) = self.place.next_over(|queue| self.alpha.of(queue) * free as f64) else {
            // Expulsions that were not needed are not saved up.
            next.store(now, Relaxed);
            return None;
        };
        let rate = self.rate.unwrap_or_else(|| {
            Rate::from_bps(view.port.rate().as_bps().saturating_mul(self.place.ports()))
        });
        // From `due` and not from now: losses that fell due between two arrivals are made up for.
        next.store(due + rate.tx_time(self.packet.get() as u32).as_ps(), Relaxed);
        Some(Expulsion { of, end: End::Head })
    }

    fn reads_pool(&self) -> bool {
        true
    }
}
