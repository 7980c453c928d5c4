//! COBALT (CoDel and BLUE; Palmei et al., Design and Evaluation of COBALT Queue Discipline, LANMAN 2019;
//! Linux, net/sched/sch_cake.c; ns-3), a queue at a time: CoDel that has no interval to wait for and
//! whose count runs down when the wait is short, and a drop probability for those who do not respond.
//!
//! | parameter | unit | default |
//! | --- | --- | --- |
//! | interval | time | 100 ms |
//! | target | time | interval / 20 |
//! | ecn | – | yes: ECN-capable packets are marked where others are dropped |
//! | ce_threshold | time | none |
//! | blue_threshold | time | four intervals: 400 ms (ns-3) |
//! | increment, decrement | – | 1/256 and 1/4096 (both) |
//!
//! Once a packet waits for longer than the target, one is dropped, or marked, an interval later and then
//! at gaps of interval/√count. Below the target the count comes down at the same gaps. The probability
//! rises where the buffer is full or a packet waited for longer than `blue_threshold`, falls where the
//! queue is empty, at most once a target each, and drops whatever it hits, ECN-capable or not.
//!
//! ns-3's and CAKE's roots are a table and Newton steps in 32 bits: within a millionth of these.

use crate::hooks::{Departure, Intent, Marker};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Span, Time};

params! {
    /// COBALT's parameters.
    pub struct CobaltParams {
        /// A signal comes so long after the wait is first over the target: the longest round trip. In a
        /// data centre its own, such as 1ms.
        interval: Span = "100ms";
        /// The wait that a queue may stand at. Default: a twentieth of interval.
        target: Option<Span> as Wait;
        /// ECN-capable packets are marked where others are dropped. ns-3: false.
        ecn: bool = "true";
        /// ECN-capable packets that waited for longer are marked, whatever else. Default: none.
        ce_threshold: Option<Span> as Wait;
        /// A wait from which on the drop probability rises, buffer full or not. Default: four intervals.
        blue_threshold: Option<Span> as Wait;
        /// By how much the drop probability rises.
        increment: f64 = "0.00390625" as FRACTION;
        /// By how much it falls.
        decrement: f64 = "0.000244140625" as FRACTION;
    }
}

impl Definition for Cobalt {
    type Params = CobaltParams;

    const ABOUT: About = About {
        name: "cobalt",
        paper: "Palmei et al., Design and Evaluation of COBALT Queue Discipline, LANMAN 2019",
        summary: "CoDel whose count runs down by itself, and BLUE's drop probability against those \
                  who do not respond.",
        source: "ns-3, src/traffic-control/model/cobalt-queue-disc.cc; Linux, net/sched/sch_cake.c",
        seats: marker("COBALT on the queue"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { tc: "cake", ..Equivalents::NONE };

    fn complete(params: &mut CobaltParams, _: Bytes) -> Result<(), Unfit> {
        let key = CobaltParams::KEY;
        if params.interval == Span::ZERO {
            return Err(Unfit::new(key.interval, "a round trip is longer than 0"));
        }
        let target = *params.target.get_or_insert(params.interval / 20);
        if target >= params.interval {
            let why = format!("it must be less than interval, {}", params.interval);
            return Err(Unfit::new(key.target, why));
        }
        params.blue_threshold.get_or_insert(params.interval * 4);
        Ok(())
    }

    fn build(params: &CobaltParams, site: Site) -> Built {
        let cobalt = Cobalt::new(params, site.queues());
        site.mark(cobalt)
    }
}

/// COBALT: CoDel with BLUE for unresponsive flows.
#[derive(Clone, Debug)]
pub struct Cobalt {
    rule: Rule,
    queues: Box<[State]>,
}

#[derive(Clone, Debug)]
struct Rule {
    interval: Span,
    target: Span,
    ecn: bool,
    ce_threshold: Span,
    blue_threshold: Span,
    increment: f64,
    decrement: f64,
}

/// State of one queue.
#[derive(Clone, Debug, Default)]
struct State {
    dropping: bool,
    drop_next: Time,
    count: u32,
    /// BLUE's probability, and when it changed last.
    p: f64,
    changed: Time,
}

impl Cobalt {
    /// Makes it for `queues` queues; `params` are complete.
    pub fn new(params: &CobaltParams, queues: usize) -> Cobalt {
        let rule = Rule {
            interval: params.interval,
            target: params.target.unwrap_or(params.interval / 20),
            ecn: params.ecn,
            ce_threshold: params.ce_threshold.unwrap_or(Span::MAX),
            blue_threshold: params.blue_threshold.unwrap_or(Span::MAX),
            increment: params.increment,
            decrement: params.decrement,
        };
        Cobalt { rule, queues: vec![State::default(); queues].into() }
    }
}

impl State {
    /// Moves the time of the next drop by one gap.
    fn next(&mut self, rule: &Rule) {
        self.drop_next += self.gap(rule);
    }

    /// A count of 0 has the gap that the tables of ns-3 and Linux have for it, a count of 1's.
    fn gap(&self, rule: &Rule) -> Span {
        let root = f64::from(self.count.max(1)).sqrt();
        Span::from_ps((rule.interval.as_ps() as f64 / root) as u64)
    }

    /// BLUE's probability changes by so much, at most once a target.
    fn blue(&mut self, rule: &Rule, now: Time, by: f64) {
        if now.since(self.changed) > rule.target {
            (self.p, self.changed) = ((self.p + by).clamp(0.0, 1.0), now);
        }
    }

    /// Handles an arrival that was refused because memory is full.
    fn full(&mut self, rule: &Rule, now: Time) {
        self.blue(rule, now, rule.increment);
        // `cobalt_queue_full` of sch_cake: signals are due at once, with a count of 1 at least.
        (self.dropping, self.drop_next) = (true, now);
        self.count = self.count.max(1);
    }

    /// The line was free and found the queue empty.
    fn empty(&mut self, rule: &Rule, now: Time) {
        if self.p > 0.0 {
            self.blue(rule, now, -rule.decrement);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.next(rule);
        }
    }

    /// The verdict on a packet that has waited for so long.
    fn judge(
        &mut self,
        rule: &Rule,
        now: Time,
        waited: Span,
        capable: bool,
        rng: &mut dyn Random,
    ) -> Departure {
        let mut late = now > self.drop_next;
        let due = self.count > 0 && now >= self.drop_next;
        let over = waited > rule.target;
        if over {
            if !self.dropping {
                self.drop_next = now + self.gap(rule);
            }
            self.count = self.count.max(1);
        }
        self.dropping = over;
        let mut verdict = Departure::Pass;
        if due && over {
            verdict = if rule.ecn && capable { Departure::Mark } else { Departure::Drop };
            self.count = self.count.saturating_add(1);
            self.next(rule);
            late = now > self.drop_next;
        } else {
            while self.count > 0 && due && now >= self.drop_next {
                self.count -= 1;
                self.next(rule);
                late = now > self.drop_next;
            }
        }
        if verdict == Departure::Pass && capable && waited > rule.ce_threshold {
            verdict = Departure::Mark;
        }
        if waited > rule.blue_threshold {
            self.blue(rule, now, rule.increment);
        }
        if self.p > 0.0 && rng.unit() < self.p {
            verdict = Departure::Drop;
        }
        // Nothing that was due in a time of rest is made up for.
        if self.count == 0 {
            self.drop_next = now + rule.interval;
        } else if late && verdict != Departure::Drop {
            self.drop_next = now;
        }
        verdict
    }
}

impl Marker for Cobalt {
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
            // The line found the queue empty when the port fell idle, not as this packet came.
            let since = Time::from_ps(view.now.as_ps() - view.idle().as_ps());
            self.queues[queue as usize].empty(&self.rule, since);
        }
        None
    }

    fn refused(&mut self, view: &View, queue: QueueId, _: &Packet, why: DropReason) {
        if why == DropReason::Full {
            self.queues[queue as usize].full(&self.rule, view.now);
        }
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        _: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        let waited = view.now.since(view.arena.arrived(slot));
        let capable = view.arena.packet(slot).ecn.capable();
        self.queues[queue as usize].judge(&self.rule, view.now, waited, capable, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_units::random::NoRandom;

    fn cobalt() -> (Rule, State) {
        let params = CobaltParams {
            interval: Span::from_ms(100),
            target: Some(Span::from_ms(5)),
            ecn: false,
            ce_threshold: None,
            blue_threshold: Some(Span::from_ms(400)),
            increment: 1.0 / 256.0,
            decrement: 1.0 / 4096.0,
        };
        let Cobalt { rule, queues } = Cobalt::new(&params, 1);
        (rule, queues[0].clone())
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A packet leaves each millisecond after 20 ms, but for the first, which has not waited. Over the
    /// target at 1 ms: the first drop is due at 101, where the count becomes 2, the next 70.7 ms after that
    /// (171.7), then 57.7 (229.4), then 50 (279.4).
    #[test]
    fn drops_come_an_interval_after_the_target_and_then_faster() {
        let (rule, mut of) = cobalt();
        of.judge(&rule, ms(0), Span::ZERO, true, &mut NoRandom);
        let waited = Span::from_ms(20);
        let dropped: Vec<u64> = (1..300)
            .filter(|&t| of.judge(&rule, ms(t), waited, true, &mut NoRandom) == Departure::Drop)
            .collect();
        assert_eq!(dropped, [101, 172, 230, 280]);
        // Below the target the count of 5 runs down at its own gaps: 279.4 + 44.7 = 324.1 at 325, then
        // 50 (the count is 4) after 324.1, 57.7, 70.7, 100.
        let counts: Vec<u32> = (300..800)
            .map(|t| {
                of.judge(&rule, ms(t), Span::ZERO, true, &mut NoRandom);
                of.count
            })
            .collect();
        let steps: Vec<u64> =
            (1..500).filter(|&n| counts[n] < counts[n - 1]).map(|n| 300 + n as u64).collect();
        assert_eq!(steps, [325, 375, 432, 503, 603]);
    }

    /// Full at 0 ms (too soon after the beginning), 6, 10 (too soon) and 12: twice 1/256. Empty at 20 and
    /// 26: 1/4096 less each.
    #[test]
    fn blue_follows_what_overflows_and_what_is_empty() {
        let (rule, mut of) = cobalt();
        for t in [0, 6, 10, 12] {
            of.full(&rule, ms(t));
        }
        assert_eq!(of.p, 2.0 / 256.0);
        for t in [20, 22, 26] {
            of.empty(&rule, ms(t));
        }
        assert_eq!(of.p, 2.0 / 256.0 - 2.0 / 4096.0);
    }
}
