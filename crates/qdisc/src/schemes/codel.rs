//! CoDel (RFC 8289; Nichols and Jacobson, Controlling Queue Delay, ACM Queue 2012), a queue at a
//! time. Once packets have waited for longer than the target throughout an interval, one is
//! dropped, or marked, as it leaves. Others follow at gaps of interval/√count until the wait is
//! below the target again.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | interval | time | 100 ms, a round trip at the worst (section 4.2) |
//! | target | time | interval / 20 (sections 3.2 and 4.3: 5 to 10 % of a round trip) |
//! | ecn | – | yes: ECN-capable packets are marked where others are dropped |
//! | ce_threshold | time | none: packets that waited for longer are marked whatever else (Linux) |
//! | sqrt | – | exact; linux: one Newton step a count, in 16 bits (sch_codel) |
//! | next_mark | – | due; now: as ns-3 has it |
//!
//! **Data centres.** A round trip is the one scale that there is: `interval` is the longest round
//! trip, loaded, and all else follows.
//!
//! Departures from the RFC: it drops; marking in place of dropping is as Linux does it, at most once a
//! departure, the next mark's time counted from the one that was due. A queue is at its end, which
//! ends the dropping, when a packet comes to it empty and finds the line free. What is dropped in a row
//! is taken from one queue as long as the scheduler stays with it.

use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Ecn, Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::{params, words};
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

params! {
    /// Parameters of CoDel, as a scenario gives them.
    pub struct CodelParams {
        /// How long packets wait for longer than the target before one is dropped or marked: the
        /// longest round trip. In a data centre its own, such as 1ms.
        interval: Span = "100ms";
        /// The wait that a queue may stand at. Default: a twentieth of interval.
        target: Option<Span> as Wait;
        /// ECN-capable packets are marked where others are dropped. Linux: false in codel, true in
        /// fq_codel.
        ecn: bool = "true";
        /// ECN-capable packets that waited for longer are marked, whatever else. Default: none.
        ce_threshold: Option<Span> as Wait;
        /// The root in interval/√count. exact: as the RFC has it. linux: one Newton step each time
        /// that count changes.
        sqrt: Root = "exact";
        /// From when the gap to the next mark counts. due: from when this one was due, as for drops and
        /// as in Linux. now: from now, as in ns-3.
        next_mark: NextMark = "due";
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

words! {
    /// From when the gap to the next mark counts.
    pub enum NextMark {
        /// From when this one was due.
        Due = "due",
        /// From now.
        Now = "now",
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

    const EQUIVALENTS: Equivalents =
        Equivalents { main: "target", tc: "codel", ..Equivalents::NONE };

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

/// CoDel over all queues of a port.
#[derive(Clone, Debug)]
pub struct Codel {
    rule: Rule,
    queues: Box<[Controller]>,
}

impl Codel {
    /// Makes it for `queues` queues of packets up to `packet`; `params` are complete.
    pub fn new(params: &CodelParams, packet: Bytes, queues: usize) -> Self {
        Codel { rule: Rule::new(params, packet), queues: vec![Controller::NEW; queues].into() }
    }
}

/// Settings that all queues of a scheme share.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    interval: Span,
    target: Span,
    ecn: bool,
    ce_threshold: Span,
    root: Root,
    next_mark: NextMark,
    /// A queue that holds no more than this is left alone.
    packet: Bytes,
}

impl Rule {
    /// Makes it for packets up to `packet`; `params` are complete.
    pub(crate) fn new(params: &CodelParams, packet: Bytes) -> Rule {
        Rule {
            interval: params.interval,
            target: params.target(),
            ecn: params.ecn,
            ce_threshold: params.ce_threshold.unwrap_or(Span::MAX),
            root: params.sqrt,
            next_mark: params.next_mark,
            packet,
        }
    }
}

/// State of CoDel on one queue. Names are the RFC's.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
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
    /// As dropping began; the packet that leaves in its place is not dropped.
    First,
    /// While already dropping: the packet that leaves in its place is judged as well.
    Again,
}

/// The largest inverse root: 1 in 2⁻¹⁶, less one step.
const ONE: u32 = (1 << 16) - 1;

impl Controller {
    pub(crate) const NEW: Controller = Controller {
        first_above: None,
        dropping: false,
        drop_next: Time::ZERO,
        count: 0,
        last: 0,
        inverse: ONE,
        dropped: Dropped::No,
    };

    /// The verdict on the packet at the head of its queue, which has waited for so long; `left` stays.
    pub(crate) fn depart(
        &mut self,
        rule: &Rule,
        now: Time,
        waited: Span,
        left: Bytes,
        ecn: Ecn,
    ) -> Departure {
        let ok = self.above(rule, now, waited, left);
        match self.judge(rule, now, ok, rule.ecn && ecn.capable()) {
            Departure::Pass if ecn.capable() && waited > rule.ce_threshold => Departure::Mark,
            verdict => verdict,
        }
    }

    /// The queue was asked for a packet and had none.
    pub(crate) fn empty(&mut self) {
        (self.first_above, self.dropping) = (None, false);
    }

    /// Ends dropping after the queue's last packet was dropped, so that none leaves in its place.
    pub(crate) fn nothing_left(&mut self) {
        if self.dropped != Dropped::No {
            self.dropping &= self.dropped == Dropped::First;
            (self.dropped, self.first_above) = (Dropped::No, None);
        }
    }

    /// A packet was dropped for another reason, which counts.
    pub(crate) fn count_one(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Whether the wait has been over the target for an interval; `left` stays in the queue.
    fn above(&mut self, rule: &Rule, now: Time, waited: Span, left: Bytes) -> bool {
        if waited < rule.target || left <= rule.packet {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + rule.interval)
    }

    /// Counts one more, or begins with so many.
    fn counts(&mut self, count: u32) {
        self.count = count;
        self.inverse = match count {
            1 => ONE,
            _ => newton(self.inverse, count),
        };
    }

    /// Time from one drop to the next: interval/√count.
    fn gap(&self, rule: &Rule) -> Span {
        let interval = rule.interval.as_ps();
        Span::from_ps(match rule.root {
            Root::Exact => (interval as f64 / f64::from(self.count).sqrt()) as u64,
            Root::Linux => ((u128::from(interval) * u128::from(self.inverse)) >> 16) as u64,
        })
    }

    /// The verdict on a packet that stands at the head of its queue now.
    fn judge(&mut self, rule: &Rule, now: Time, ok: bool, markable: bool) -> Departure {
        match std::mem::replace(&mut self.dropped, Dropped::No) {
            // RFC 8289, section 5.5: the packet behind the first drop leaves without a verdict.
            Dropped::First => return Departure::Pass,
            Dropped::Again if ok => self.drop_next += self.gap(rule),
            Dropped::No if !self.dropping => {
                return if ok { self.begin(rule, now, markable) } else { Departure::Pass };
            }
            _ if !ok => {
                self.dropping = false;
                return Departure::Pass;
            }
            _ => {}
        }
        if now < self.drop_next {
            return Departure::Pass;
        }
        // At most one packet a call: a further drop that is due comes with the next call.
        self.counts(self.count.saturating_add(1));
        if markable {
            let from = if rule.next_mark == NextMark::Due { self.drop_next } else { now };
            self.drop_next = from + self.gap(rule);
            return Departure::Mark;
        }
        self.dropped = Dropped::Again;
        Departure::Drop
    }

    /// Dropping begins, where it left off if that was a short while ago.
    fn begin(&mut self, rule: &Rule, now: Time, markable: bool) -> Departure {
        // Drops of the last dropping state: at that rate the wait came down, so begin there again.
        let since = self.count - self.last;
        // codel_impl.h: an episode goes on at its old rate if the last one ended within 16
        // intervals.
        let lately = now < self.drop_next + rule.interval * 16;
        self.counts(if since > 1 && lately { since } else { 1 });
        (self.dropping, self.last) = (true, self.count);
        self.drop_next = now + self.gap(rule);
        match markable {
            true => Departure::Mark,
            false => {
                self.dropped = Dropped::First;
                Departure::Drop
            }
        }
    }
}

/// One Newton step towards 1/√count, in 2⁻¹⁶: x ← x·(3 − count·x²)/2. A count that has jumped, by drops
/// that are not the controller's, wraps as it does in Linux.
fn newton(inverse: u32, count: u32) -> u32 {
    // In 2⁻³², as `codel_Newton_step` shifts its 16 bits up.
    let x = u64::from(inverse) << 16;
    let squared = (x * x) >> 32;
    let bracket = (3_u64 << 32).wrapping_sub(u64::from(count) * squared);
    // Down by 2 first, so that the product fits 64 bits; then by 31 and by 16
    // (`REC_INV_SQRT_SHIFT`).
    ((bracket >> 2).wrapping_mul(x) >> 47) as u32 & ONE
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
        // A caller of the RFC's dequeue would have found the queue empty before this arrival.
        if view.port.queue_packets(queue) == 1 && view.now >= view.port.busy_until() {
            self.queues[queue as usize].empty();
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
        self.queues[queue as usize].depart(&self.rule, view.now, waited, left, packet.ecn)
    }

    fn removed(&mut self, view: &View, queue: QueueId, _: &Packet, _: DropReason) {
        if view.port.queue_packets(queue) == 0 {
            self.queues[queue as usize].nothing_left();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that RFC 8289 recommends.
    fn rule() -> Rule {
        let (interval, sqrt, next_mark) = (Span::from_ms(100), Root::Exact, NextMark::Due);
        let (target, ce_threshold) = (Some(Span::from_ms(5)), None);
        let params = CodelParams { interval, target, ecn: true, ce_threshold, sqrt, next_mark };
        Rule::new(&params, Bytes::new(1500))
    }

    /// The verdict on a packet of a long queue that has waited for so many milliseconds.
    fn at(controller: &mut Controller, ns: u64, wait_ms: u64, ecn: Ecn) -> Departure {
        let now = Time::ZERO + Span::from_ns(ns);
        controller.depart(&rule(), now, Span::from_ms(wait_ms), Bytes::new(3_000), ecn)
    }

    /// From the first packet that waited for longer than the target: 100 ms; then 100/√1 more, 100/√2, …
    /// Each signal comes at its time and not a nanosecond before, drops as well as marks.
    #[test]
    fn signals_are_due_at_gaps_of_the_interval_over_the_root_of_the_count() {
        // 270.710678119, 328.445705038, 378.445705038, 423.167064588, … ms, rounded up.
        let due_ns = [
            100_000_000,
            200_000_000,
            270_710_679,
            328_445_706,
            378_445_706,
            423_167_065,
            463_991_894,
            501_788_341,
            537_143_680,
            570_477_014,
            602_099_790,
        ];
        for (ecn, signal) in [(Ecn::NotEct, Departure::Drop), (Ecn::Ect0, Departure::Mark)] {
            let mut controller = Controller::NEW;
            let mut at = |ns| at(&mut controller, ns, 20, ecn);
            assert_eq!(at(0), Departure::Pass);
            for ns in due_ns {
                let seen = (at(ns - 1), at(ns), at(ns));
                assert_eq!(seen, (Departure::Pass, signal, Departure::Pass));
            }
        }
    }

    /// Four marks, and the wait is short at 330 ms. It is long again from 331 ms on: the next mark is due at
    /// 431 ms, and since that is less than 16 intervals after the fifth would have been, count begins at
    /// 4 − 1 = 3: the one after it comes 100/√3 later. Long after that it begins at 1.
    #[test]
    fn marking_goes_on_where_it_left_off_a_short_while_ago() {
        const MS: u64 = 1_000_000;
        let began = |again_ms: u64, gap_ns: u64| {
            let mut controller = Controller::NEW;
            let mut at = |ns, wait_ms| at(&mut controller, ns, wait_ms, Ecn::Ect0);
            for ns in [0, 100 * MS, 200 * MS, 270_710_679, 328_445_706] {
                assert_eq!(at(ns, 20), if ns == 0 { Departure::Pass } else { Departure::Mark });
            }
            assert_eq!(
                (at(330 * MS, 1), at(again_ms * MS, 20)),
                (Departure::Pass, Departure::Pass)
            );
            let first = (again_ms + 100) * MS;
            assert_eq!((at(first - 1, 20), at(first, 20)), (Departure::Pass, Departure::Mark));
            let next = first + gap_ns;
            assert_eq!((at(next - 1, 20), at(next, 20)), (Departure::Pass, Departure::Mark));
        };
        began(331, 57_735_027);
        // 378.445705 ms and 16 intervals are 1978.445705 ms.
        began(1878, 57_735_027);
        began(1879, 100 * MS);
    }

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
