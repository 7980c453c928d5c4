//! CoDel (RFC 8289; Nichols and Jacobson, Controlling Queue Delay, ACM Queue 2012), a queue at a time:
//! once packets have waited for longer than the target throughout an interval, one is dropped, or
//! marked, as it leaves, and others after it at gaps of interval/√count until the wait is below the
//! target again.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | interval | time | 100 ms, a round trip at the worst (section 4.2) |
//! | target | time | interval / 20 (sections 3.2 and 4.3: 5 to 10 % of a round trip) |
//! | ecn | – | yes: ECN-capable packets are marked where others are dropped |
//! | ce_threshold | time | none: packets that waited for longer are marked whatever else (Linux) |
//! | sqrt | – | exact; linux: one Newton step a count, in 16 bits (sch_codel) |
//!
//! **Data centres.** A round trip is the one scale that there is: `interval` is the longest round
//! trip, loaded, and all else follows.
//!
//! Departures from the RFC: it drops; marking in place of dropping is as Linux does it, at most once a
//! departure, the next mark's time counted from the one that was due. A queue is at its end, which
//! ends the dropping, when a packet comes to it empty and finds the line free. What is dropped in a row
//! is taken from one queue as long as the scheduler stays with it.

use crate::arena::{Note, SlotId};
use crate::definition::{About, Definition, marker};
use crate::packet::{Ecn, Packet, QueueId};
use crate::param::Unfit;
use crate::random::Random;
use crate::seats::{Departure, Intent, Marker};
use crate::site::{Built, Site};
use crate::units::{Bytes, Span, Time};
use crate::view::{DropReason, View};
use crate::{params, words};

params! {
    /// CoDel's parameters.
    pub struct CodelParams {
        /// How long packets wait for longer than the target before one is dropped or marked: the
        /// longest round trip. In a data centre its own, such as 1ms.
        interval: Span = "100ms";
        /// The wait that a queue may stand at. Default: a twentieth of interval.
        target: Option<Span>;
        /// ECN-capable packets are marked where others are dropped. Linux: false in codel, true in
        /// fq_codel.
        ecn: bool = "true";
        /// ECN-capable packets that waited for longer are marked, whatever else. Default: none.
        ce_threshold: Option<Span>;
        /// The root in interval/√count. exact: as the RFC has it. linux: one Newton step each time
        /// that count changes.
        sqrt: Root = "exact";
    }
}

impl CodelParams {
    fn target(&self) -> Span {
        self.target.unwrap_or(self.interval / 20)
    }
}

words! {
    /// How 1/√count is found.
    pub enum Root {
        /// Exactly.
        Exact = "exact",
        /// By one Newton step from the last one, in 16 bits.
        Linux = "linux",
    }
}

impl Definition for Codel {
    type Params = CodelParams;

    const ABOUT: About = About {
        name: "codel",
        paper: "Nichols and Jacobson, Controlling Queue Delay, ACM Queue 2012",
        summary: "Drops or marks as packets leave, ever more often, once they have waited for \
                  longer than the target for an interval.",
        source: "RFC 8289, sections 4 and 5; marks and ce_threshold: Linux, \
                 include/net/codel_impl.h",
        seats: marker("CoDel on the queue"),
        needs_pool: false,
    };

    fn complete(params: &mut CodelParams, _: Bytes) -> Result<(), Unfit> {
        let key = CodelParams::KEY;
        if params.interval == Span::ZERO {
            return Err(Unfit::new(key.interval, "a round trip is longer than 0"));
        }
        let target = params.target();
        if target >= params.interval {
            let why = format!("it must be less than interval, {}", params.interval);
            return Err(Unfit::new(key.target, why));
        }
        params.target = Some(target);
        Ok(())
    }

    fn build(params: &CodelParams, site: Site) -> Built {
        let codel = Codel::new(params, site.packet(), site.queues());
        site.mark(codel)
    }
}

/// CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    interval: Span,
    target: Span,
    ecn: bool,
    ce_threshold: Span,
    root: Root,
    /// A queue that holds no more than this is left alone.
    packet: Bytes,
    queues: Box<[Law]>,
}

/// What is remembered of a queue. Names are the RFC's.
#[derive(Clone, Debug)]
struct Law {
    /// When the wait will have been over the target for an interval, if it is.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Drops and marks since dropping began.
    count: u32,
    /// `count` as it was when dropping began last.
    last: u32,
    /// 1/√count in 2⁻¹⁶, as Linux finds it.
    inverse: u32,
    /// The packet before was dropped at this departure.
    dropped: Dropped,
}

/// Where in the rule the packet before was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dropped {
    No,
    /// As dropping began: the packet that leaves in its place is safe.
    First,
    /// Later.
    Again,
}

impl Law {
    const NEW: Law = Law {
        first_above: None,
        dropping: false,
        drop_next: Time::ZERO,
        count: 0,
        last: 0,
        inverse: ONE,
        dropped: Dropped::No,
    };
}

/// The largest inverse root.
const ONE: u32 = (1 << 16) - 1;

impl Codel {
    /// For so many queues of packets up to `packet`; `params` are complete.
    pub fn new(params: &CodelParams, packet: Bytes, queues: usize) -> Self {
        Codel {
            interval: params.interval,
            target: params.target(),
            ecn: params.ecn,
            ce_threshold: params.ce_threshold.unwrap_or(Span::MAX),
            root: params.sqrt,
            packet,
            queues: vec![Law::NEW; queues].into(),
        }
    }

    /// Whether the wait has been over the target for an interval; `left` stays in the queue.
    fn above(&mut self, queue: QueueId, now: Time, waited: Span, left: Bytes) -> bool {
        let law = &mut self.queues[queue as usize];
        if waited < self.target || left <= self.packet {
            law.first_above = None;
            return false;
        }
        now >= *law.first_above.get_or_insert(now + self.interval)
    }

    /// Counts one more, or begins with so many.
    fn counts(&mut self, queue: QueueId, count: u32) {
        let law = &mut self.queues[queue as usize];
        law.count = count;
        law.inverse = match count {
            1 => ONE,
            _ => newton(law.inverse, count),
        };
    }

    /// So long after it comes the next one.
    fn gap(&self, queue: QueueId) -> Span {
        let law = &self.queues[queue as usize];
        Span::from_ps(match self.root {
            Root::Exact => (self.interval.as_ps() as f64 / f64::from(law.count).sqrt()) as u64,
            Root::Linux => {
                ((u128::from(self.interval.as_ps()) * u128::from(law.inverse)) >> 16) as u64
            }
        })
    }

    /// The verdict on a packet that stands at the head of its queue now.
    fn judge(&mut self, queue: QueueId, now: Time, ok: bool, markable: bool) -> Departure {
        let law = &mut self.queues[queue as usize];
        match std::mem::replace(&mut law.dropped, Dropped::No) {
            Dropped::First => return Departure::Pass,
            Dropped::Again if ok => {
                let next = law.drop_next + self.gap(queue);
                self.queues[queue as usize].drop_next = next;
            }
            Dropped::No if !law.dropping => {
                return if ok { self.begin(queue, now, markable) } else { Departure::Pass };
            }
            _ if !ok => {
                law.dropping = false;
                return Departure::Pass;
            }
            _ => {}
        }
        if now < self.queues[queue as usize].drop_next {
            return Departure::Pass;
        }
        self.counts(queue, self.queues[queue as usize].count.saturating_add(1));
        if markable {
            let next = self.queues[queue as usize].drop_next + self.gap(queue);
            self.queues[queue as usize].drop_next = next;
            return Departure::Mark;
        }
        self.queues[queue as usize].dropped = Dropped::Again;
        Departure::Drop
    }

    /// Dropping begins, where it left off if that was a short while ago.
    fn begin(&mut self, queue: QueueId, now: Time, markable: bool) -> Departure {
        let law = &self.queues[queue as usize];
        let since = law.count - law.last;
        let lately = now < law.drop_next + self.interval * 16;
        let count = if since > 1 && lately { since } else { 1 };
        self.counts(queue, count);
        let next = now + self.gap(queue);
        let law = &mut self.queues[queue as usize];
        (law.dropping, law.last, law.drop_next) = (true, count, next);
        match markable {
            true => Departure::Mark,
            false => {
                law.dropped = Dropped::First;
                Departure::Drop
            }
        }
    }
}

/// One Newton step towards 1/√count, in 2⁻¹⁶: x ← x·(3 − count·x²)/2.
fn newton(inverse: u32, count: u32) -> u32 {
    // In 2⁻³², as 32 bits hold it.
    let x = u64::from(inverse) << 16;
    let squared = (x * x) >> 32;
    let bracket = (3 << 32) - u64::from(count) * squared;
    (((bracket >> 2) * x) >> 47) as u32
}

impl Marker for Codel {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        _: SlotId,
        _: Intent,
        _: &mut dyn Random,
    ) -> Option<SlotId> {
        if view.port.queue_packets(queue) == 1 && view.now >= view.port.busy_until() {
            let law = &mut self.queues[queue as usize];
            (law.first_above, law.dropping) = (None, false);
        }
        None
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Note,
        _: &mut dyn Random,
    ) -> Departure {
        let packet = view.arena.packet(slot);
        let waited = view.now.since(view.arena.arrived(slot));
        let left = view.port.queue_bytes(queue) - Bytes::new(packet.len_bytes.into());
        let ect = packet.ecn != Ecn::NotEct;
        let ok = self.above(queue, view.now, waited, left);
        match self.judge(queue, view.now, ok, self.ecn && ect) {
            Departure::Pass if ect && waited > self.ce_threshold => Departure::Mark,
            verdict => verdict,
        }
    }

    /// Nothing is left to leave in the place of what was dropped.
    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        let law = &mut self.queues[queue as usize];
        if law.dropped != Dropped::No && view.port.queue_packets(queue) == 0 {
            law.dropping &= law.dropped == Dropped::First;
            (law.dropped, law.first_above) = (Dropped::No, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The multiples of the interval that Linux's steps give for count = 1, 2, …
    #[test]
    fn newton_steps_are_linux_s() {
        let expected = [
            0.99998, 0.50002, 0.5625, 0.48779, 0.44151, 0.40407, 0.37518, 0.35152, 0.33182,
            0.31505, 0.30058, 0.28792,
        ];
        let mut inverse = ONE;
        for (count, expected) in (1..).zip(expected) {
            inverse = if count == 1 { ONE } else { newton(inverse, count) };
            let found = f64::from(inverse) / 65_536.0;
            assert!((found - expected).abs() < 1e-5, "{count}: {found} for {expected}");
        }
    }
}
