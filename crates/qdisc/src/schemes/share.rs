//! A queue's share of the line as MQ-ECN (Bai et al., NSDI 2016) estimates it, smoothed by
//! v ← β·v + (1 − β)·sample (eq. 6):
//!
//! | estimate | v | share of queue i | a sample whenever |
//! | --- | --- | --- | --- |
//! | [`Rounds`] | T_round | quantum_i / (C·T_round) (eq. 5) | a queue ends its service |
//! | [`Weights`] | w_sum, of the backlogged queues | w_i / w_sum (section 3.4) | a packet leaves |
//! | [`Timed`] | either | as above | a period has ended (section 4.1) |
//!
//! A share is never over 1, and strict-priority queues always have 1 (section 3.4). For
//! every T_idle that the port is idle, v ← β·v (section 3.3.1): the decays of an idle period
//! are applied together at the arrival that ends it. A clock needs no T_idle: it samples 0
//! at an idle port.

use super::power;
use crate::hooks::ServiceEnd;
use crate::port::packet::QueueId;
use crate::port::set::QueueSet;
use crate::port::view::View;
use auto_impl::auto_impl;
use switchbed_units::Span;

/// A queue's share of the line, and those of a marker's hooks that change it.
#[auto_impl(Box)]
pub trait Share {
    /// One over the share: what the threshold of a queue that has the line to itself is
    /// divided by. At an arrival, as the idle time that it ends leaves it.
    fn divisor(&self, view: &View, queue: QueueId) -> f64;

    /// Called by [`crate::hooks::Marker::stored`] of the scheme.
    fn stored(&mut self, _view: &View) {}
    /// Called by [`crate::hooks::Marker::depart`] of the scheme.
    fn departs(&mut self, _view: &View, _queue: QueueId) {}
    /// Called by [`crate::hooks::Marker::service_ended`] of the scheme.
    fn service_ended(&mut self, _end: ServiceEnd) {}
    /// Period of [`crate::hooks::Marker::period`], if it has one.
    fn period(&self) -> Option<Span> {
        None
    }
    /// Called by [`crate::hooks::Marker::tick`] of the scheme.
    fn tick(&mut self, _view: &View, _n: u64) {}
    /// Answer to [`crate::hooks::Marker::round_time`], if it measures one.
    fn round_time(&self) -> Option<Span> {
        None
    }
}

/// All of the line: thresholds as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole;

impl Share for Whole {
    #[inline]
    fn divisor(&self, _: &View, _: QueueId) -> f64 {
        1.0
    }
}

/// An exponentially weighted moving average.
#[derive(Clone, Copy, Debug)]
struct Smoothed {
    beta: f64,
    value: f64,
}

impl Smoothed {
    #[inline]
    fn sample(&mut self, sample: f64) {
        self.value = self.beta * self.value + (1.0 - self.beta) * sample;
    }

    /// Adds one sample `n` times, with the same bits as `n` calls.
    fn samples(&mut self, sample: f64, n: u64) {
        for _ in 0..n {
            let before = self.value;
            self.sample(sample);
            if sample == 0.0 && self.value < 1.0 {
                // Less than a picosecond or a byte, which no threshold can feel.
                self.value = 0.0;
            }
            if self.value == before {
                break;
            }
        }
    }

    /// The value as the idle period that ends now leaves it.
    #[inline]
    fn after_idling(&self, view: &View, t_idle: Span) -> f64 {
        self.value * decay(self.beta, t_idle, view.idle())
    }
}

/// Factor that remains of an average after an idle period: β for every whole T_idle. Most periods
/// are shorter.
#[inline]
fn decay(beta: f64, t_idle: Span, idle: Span) -> f64 {
    if idle < t_idle {
        return 1.0;
    }
    power(beta, idle.as_ps() / t_idle.as_ps())
}

/// The share that quanta get in the scheduler's rounds.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    t_idle: Span,
    priority_queues: QueueSet,
    /// Round time T_round in picoseconds.
    t_round_ps: Smoothed,
}

impl Rounds {
    /// `beta` in [0, 1), `t_idle` over zero; some queues of the port may be strict-priority
    /// queues.
    pub fn new(beta: f64, t_idle: Span, priority_queues: QueueSet) -> Self {
        Rounds { t_idle, priority_queues, t_round_ps: Smoothed { beta, value: 0.0 } }
    }

    /// The round as a queue has it, in picoseconds: its own quantum's time at least, and a
    /// strict-priority queue waits for none.
    #[inline]
    pub(super) fn round_ps(&self, view: &View, queue: QueueId) -> f64 {
        let quantum_ps = view.port.quantum_ps(queue);
        if self.priority_queues.contains(queue) {
            return quantum_ps;
        }
        quantum_ps.max(self.t_round_ps.after_idling(view, self.t_idle))
    }

    /// [`Rounds::round_ps`] as it was before the idle period that ends now, and so no less: an
    /// upper bound without the decay's division.
    #[inline]
    pub(super) fn round_ps_before_idling(&self, view: &View, queue: QueueId) -> f64 {
        let (quantum_ps, round_ps) = (view.port.quantum_ps(queue), self.t_round_ps.value);
        // No `max`: neither is a NaN, and every packet asks.
        if self.priority_queues.contains(queue) || quantum_ps > round_ps {
            quantum_ps
        } else {
            round_ps
        }
    }
}

impl Share for Rounds {
    #[inline]
    fn divisor(&self, view: &View, queue: QueueId) -> f64 {
        self.round_ps(view, queue) / view.port.quantum_ps(queue)
    }
    #[inline]
    fn stored(&mut self, view: &View) {
        self.t_round_ps.value = self.t_round_ps.after_idling(view, self.t_idle);
    }
    #[inline]
    fn service_ended(&mut self, end: ServiceEnd) {
        self.t_round_ps.sample(sample_ps(end));
    }
    fn round_time(&self) -> Option<Span> {
        Some(Span::from_ps(self.t_round_ps.value as u64))
    }
}

/// The share that weights get among the queues that are not empty, for disciplines without
/// rounds. Quanta are the weights. It is a lower bound: a queue that is not empty need not
/// use its share up (section 3.4).
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    t_idle: Span,
    priority_queues: QueueSet,
    /// Smoothed sum of quanta in bytes.
    w_sum: Smoothed,
}

impl Weights {
    /// Makes an estimate; parameters as in [`Rounds::new`].
    pub fn new(beta: f64, t_idle: Span, priority_queues: QueueSet) -> Self {
        Weights { t_idle, priority_queues, w_sum: Smoothed { beta, value: 0.0 } }
    }
}

impl Share for Weights {
    fn divisor(&self, view: &View, queue: QueueId) -> f64 {
        if self.priority_queues.contains(queue) {
            return 1.0;
        }
        let w_sum = self.w_sum.after_idling(view, self.t_idle);
        (w_sum / view.port.quantum(queue).as_f64()).max(1.0)
    }
    fn stored(&mut self, view: &View) {
        self.w_sum.value = self.w_sum.after_idling(view, self.t_idle);
    }
    /// A packet's departure ends its queue's service, which is counted as backlogged.
    fn departs(&mut self, view: &View, queue: QueueId) {
        if !self.priority_queues.contains(queue) {
            self.w_sum.sample(backlogged_weight(view, self.priority_queues));
        }
    }
}

/// Quantity that a clock samples once a period.
#[derive(Clone, Copy, Debug)]
enum Register {
    /// The last sample of T_round in picoseconds; 0 again once the port was seen idle.
    Round { last_ps: f64 },
    /// The weights of the queues that are not empty.
    Weight,
}

/// Either share, updated by a clock as chips would: once a period from what a register
/// holds then.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    period: Span,
    priority_queues: QueueSet,
    register: Register,
    value: Smoothed,
}

impl Timed {
    /// From the last round time sampled. `period` over zero, the rest as [`Rounds::new`].
    pub fn rounds(beta: f64, period: Span, priority_queues: QueueSet) -> Self {
        let (register, value) = (Register::Round { last_ps: 0.0 }, Smoothed { beta, value: 0.0 });
        Timed { period, priority_queues, register, value }
    }

    /// From the weights of the queues that are not empty.
    pub fn weights(beta: f64, period: Span, priority_queues: QueueSet) -> Self {
        Timed { register: Register::Weight, ..Timed::rounds(beta, period, priority_queues) }
    }
}

impl Share for Timed {
    fn divisor(&self, view: &View, queue: QueueId) -> f64 {
        if self.priority_queues.contains(queue) {
            return 1.0;
        }
        let own = match self.register {
            Register::Round { .. } => view.port.quantum_ps(queue),
            Register::Weight => view.port.quantum(queue).as_f64(),
        };
        (self.value.value / own).max(1.0)
    }

    fn service_ended(&mut self, end: ServiceEnd) {
        if let Register::Round { last_ps } = &mut self.register {
            *last_ps = sample_ps(end);
        }
    }

    fn period(&self) -> Option<Span> {
        Some(self.period)
    }

    fn tick(&mut self, view: &View, n: u64) {
        match &mut self.register {
            Register::Weight => {
                self.value.samples(backlogged_weight(view, self.priority_queues), n);
            }
            Register::Round { last_ps } => {
                let idle = idle_ticks(view, self.period, n);
                // First the periods in which the port still sent, then those in which it idled.
                self.value.samples(*last_ps, n - idle);
                if idle > 0 {
                    *last_ps = 0.0;
                    self.value.samples(0.0, idle);
                }
            }
        }
    }

    fn round_time(&self) -> Option<Span> {
        match self.register {
            Register::Round { .. } => Some(Span::from_ps(self.value.value as u64)),
            Register::Weight => None,
        }
    }
}

fn sample_ps(end: ServiceEnd) -> f64 {
    // Through i64: from u64 the conversion takes several instructions.
    (end.ended - end.started).as_ps() as i64 as f64
}

fn backlogged_weight(view: &View, priority_queues: QueueSet) -> f64 {
    let queues = view.port.backlogged().without(priority_queues).iter();
    queues.map(|queue| view.port.quantum(queue).as_f64()).sum()
}

/// Counts the periods, of the `n` whose last ends now, that ended after the port's last
/// transmission.
fn idle_ticks(view: &View, period: Span, n: u64) -> u64 {
    let free = view.port.busy_until();
    if view.port.packets() > 0 || view.now < free {
        return 0;
    }
    n.min((view.now - free).as_ps() / period.as_ps() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_idle_periods_decay_alike() {
        let t_idle = Span::from_ns(10);
        for ps in [0, 9_999, 10_000, 19_999, 20_000, 30_000, 39_999, 40_000, 123_456] {
            let left = decay(0.7, t_idle, Span::from_ps(ps));
            assert_eq!(left, power(0.7, ps / 10_000), "{ps} ps");
        }
    }
}
