//! The umbrella trait: all hooks of all seats, as the port calls them. Five seats compose
//! into it ([`Seats`]); a policy over classifier and scheduler sits in both ([`Same`]).
//!
//! Each hook is declared twice: on its seat's trait (`hooks`), with a default, and on [`Scheme`], without one.
//! A call of [`Scheme`] may reach several seats and gathers what they answer, so neither follows from the
//! other. [`Scheme`] has no defaults so that a wrapper which forgets to pass a call on does not compile.

use crate::hooks::{
    Admission, Buffer, Classifier, Departure, Feedback, Intent, Marker, Notifier, Scheduler,
    Selection, ServiceEnd,
};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::fairness::Share;
use auto_impl::auto_impl;
use switchbed_units::random::Random;
use switchbed_units::{Span, Time};

/// Facilities that a caller must provide for a scheme to work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Decisions read the switch's memory: the switch settles all its ports that are due first.
    pub pool: bool,
    /// Arrivals are left to the switch's memory, which then needs a policy.
    pub memory: bool,
}

/// A scheme's decision about a packet that was stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// A queued packet of this port to note a mark on.
    pub mark: Option<SlotId>,
    /// A message to the source.
    pub feedback: Option<Feedback>,
}

/// One port's queue management. Hooks are those of [`crate::hooks`], which says what
/// each means and what its view counts. None has a default: whoever passes hooks on would
/// forget it silently.
#[auto_impl(Box)]
pub trait Scheme {
    /// See [`Classifier::classify`] for the contract.
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId;
    /// See [`Marker::intend`] for the contract.
    fn intend(&self, view: &View, q: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent;
    /// See [`Buffer::admit`] for the contract.
    fn admit(
        &mut self,
        view: &View,
        q: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission;
    /// [`Buffer::stored`], [`Marker::stored`], [`Notifier::stored`]; what the last two want.
    fn stored(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        intent: Intent,
        rng: &mut dyn Random,
    ) -> Stored;
    /// The packet was stored (counted by the view), for the scheduler; after `stored`.
    fn enqueued(&mut self, view: &View, q: QueueId, packet: &Packet);
    /// See [`Buffer::refused`], [`Marker::refused`] and [`Notifier::refused`].
    fn refused(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason);
    /// See [`Buffer::removed`], [`Marker::removed`] and [`Scheduler::removed`].
    fn removed(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason);
    /// [`Scheduler::select`]; [`Marker::service_ended`] hears of the ends.
    fn select(&mut self, view: &View) -> Selection;
    /// See [`Marker::depart`] for the contract.
    fn depart(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        note: Note,
        rng: &mut dyn Random,
    ) -> Departure;
    /// [`Buffer::sent`], [`Scheduler::served`]; as `select` does, of the ends.
    fn served(&mut self, view: &View, q: QueueId, packet: &Packet, until: Time);

    /// See [`Scheduler::passes`] for the contract.
    fn passes(&self, view: &View, q: QueueId, packet: &Packet) -> bool;
    /// [`Scheduler::passed`], and what `served` does for the other seats.
    fn passed(&mut self, view: &View, q: QueueId, packet: &Packet, until: Time);

    /// When the next periodic work is due; [`Time::NEVER`] where there is none.
    fn next_tick(&self) -> Time;
    /// Periodic work that is due at or before `view.now`; moves [`Scheme::next_tick`] past it.
    fn tick(&mut self, view: &View);

    /// A class's weight and cap are others from now on.
    fn set_share(&mut self, class: u8, share: Share);

    /// See [`Buffer::asks_memory`] for the contract.
    fn asks_memory(&self) -> bool;

    /// Combines [`Buffer::reads_pool`], [`Marker::reads_pool`] and [`Buffer::asks_memory`].
    fn needs(&self) -> Needs;
    /// The threshold in force for a queue in bytes, for probes.
    fn threshold_bytes(&self, view: &View, q: QueueId) -> Option<f64>;
    /// The smoothed round time, for probes.
    fn round_time(&self) -> Option<Span>;
}

/// A seat's lazy clock: how many intervals have ended by a time.
#[derive(Clone, Copy, Debug)]
struct Clock {
    period: Span,
    next: Time,
}

impl Clock {
    fn new(period: Option<Span>) -> Self {
        match period {
            Some(period) => Clock { period, next: Time::ZERO + period },
            None => Clock { period: Span::MAX, next: Time::NEVER },
        }
    }
    /// The intervals that have ended by `now` and the end of the last of them.
    fn due(&mut self, now: Time) -> Option<(u64, Time)> {
        if self.next > now {
            return None;
        }
        // By division, so that a long pause costs no loop: the interval that is due, and whole ones
        // since.
        let n = (now - self.next).as_ps() / self.period.as_ps() + 1;
        let last = self.next + self.period * (n - 1);
        self.next = last + self.period;
        Some((n, last))
    }
}

/// How a packet's queue is found: by a classifier of its own, or by the scheduler ([`Same`]).
pub trait Way<S> {
    /// See [`Classifier::classify`]; the scheduler may take part.
    fn classify(&mut self, scheduler: &mut S, view: &View, packet: &Packet) -> QueueId;
}

impl<C: Classifier, S> Way<S> for C {
    #[inline]
    fn classify(&mut self, _: &mut S, view: &View, packet: &Packet) -> QueueId {
        Classifier::classify(self, view, packet)
    }
}

/// In the classifier's seat: the scheduler is one policy over both.
#[derive(Clone, Copy, Debug, Default)]
pub struct Same;

impl<S: Classifier> Way<S> for Same {
    fn classify(&mut self, scheduler: &mut S, view: &View, packet: &Packet) -> QueueId {
        scheduler.classify(view, packet)
    }
}

/// Five seats as one scheme; the clocks, which few packets look at, apart. Nothing else passes
/// hooks on to seats, so that none is forgotten.
#[repr(C)]
pub struct Seats<C, B, M, S, N> {
    /// The earliest of the clocks.
    next_tick: Time,
    classifier: C,
    buffer: B,
    marker: M,
    scheduler: S,
    notifier: N,
    buffer_clock: Clock,
    marker_clock: Clock,
    notifier_clock: Clock,
}

impl<C, B, M, S, N> Seats<C, B, M, S, N> {
    /// Bytes that every packet touches.
    pub(crate) const TOUCHED: usize = std::mem::offset_of!(Self, buffer_clock);
}

impl<C, B: Buffer, M: Marker, S, N: Notifier> Seats<C, B, M, S, N> {
    /// Makes a scheme of its five seats.
    pub fn new(classifier: C, buffer: B, marker: M, scheduler: S, notifier: N) -> Self {
        let mut seats = Seats {
            buffer_clock: Clock::new(buffer.period()),
            marker_clock: Clock::new(marker.period()),
            notifier_clock: Clock::new(notifier.period()),
            next_tick: Time::NEVER,
            classifier,
            buffer,
            marker,
            scheduler,
            notifier,
        };
        seats.next_tick = seats.earliest();
        seats
    }

    fn earliest(&self) -> Time {
        self.buffer_clock.next.min(self.marker_clock.next).min(self.notifier_clock.next)
    }

    /// The scheduler, for tests that look at its state.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }
}

impl<C, B, M, S, N> Scheme for Seats<C, B, M, S, N>
where
    C: Way<S>,
    B: Buffer,
    M: Marker,
    S: Scheduler,
    N: Notifier,
{
    #[inline]
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId {
        self.classifier.classify(&mut self.scheduler, view, packet)
    }
    #[inline]
    fn intend(&self, view: &View, q: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        self.marker.intend(view, q, packet, rng)
    }
    #[inline]
    fn admit(
        &mut self,
        view: &View,
        q: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        self.buffer.admit(view, q, packet, rng)
    }
    #[inline]
    fn stored(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        intent: Intent,
        rng: &mut dyn Random,
    ) -> Stored {
        let packet = view.arena.packet(slot);
        // In this order, since marker and notifier draw from the same stream.
        self.buffer.stored(view, q, packet);
        let mark = self.marker.stored(view, q, slot, intent, rng);
        let feedback = self.notifier.stored(view, q, packet, rng);
        Stored { mark, feedback }
    }
    #[inline]
    fn enqueued(&mut self, view: &View, q: QueueId, packet: &Packet) {
        self.scheduler.enqueued(view, q, packet);
    }
    fn refused(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason) {
        // Before `refused`, which may change the buffer's state.
        let full = why == DropReason::NotEcnCapable && self.buffer.full(view, q, packet);
        self.buffer.refused(view, q, packet, why);
        if full {
            self.marker.refused_at_full(view, q, packet);
        } else {
            self.marker.refused(view, q, packet, why);
        }
        self.notifier.refused(view, q, packet, why);
    }
    fn removed(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason) {
        self.buffer.removed(view, q, packet, why);
        self.marker.removed(view, q, packet, why);
        self.scheduler.removed(view, q, packet, why);
    }
    #[inline]
    fn select(&mut self, view: &View) -> Selection {
        let marker = &mut self.marker;
        self.scheduler.select(view, &mut |end: ServiceEnd| marker.service_ended(view, end))
    }
    #[inline]
    fn depart(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        note: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        self.marker.depart(view, q, slot, note, rng)
    }
    #[inline]
    fn served(&mut self, view: &View, q: QueueId, packet: &Packet, until: Time) {
        self.buffer.sent(view, q, packet);
        let marker = &mut self.marker;
        self.scheduler
            .served(view, q, packet, until, &mut |end: ServiceEnd| marker.service_ended(view, end));
    }
    #[inline]
    fn passes(&self, view: &View, q: QueueId, packet: &Packet) -> bool {
        self.scheduler.passes(view, q, packet)
    }
    #[inline]
    fn passed(&mut self, view: &View, q: QueueId, packet: &Packet, until: Time) {
        self.buffer.sent(view, q, packet);
        let marker = &mut self.marker;
        self.scheduler
            .passed(view, q, packet, until, &mut |end: ServiceEnd| marker.service_ended(view, end));
    }

    #[inline]
    fn next_tick(&self) -> Time {
        self.next_tick
    }
    fn tick(&mut self, view: &View) {
        if let Some((n, at)) = self.buffer_clock.due(view.now) {
            self.buffer.tick(&View { now: at, ..*view }, n);
        }
        if let Some((n, at)) = self.marker_clock.due(view.now) {
            self.marker.tick(&View { now: at, ..*view }, n);
        }
        if let Some((n, at)) = self.notifier_clock.due(view.now) {
            self.notifier.tick(&View { now: at, ..*view }, n);
        }
        self.next_tick = self.earliest();
    }

    fn set_share(&mut self, class: u8, share: Share) {
        self.marker.set_share(class, share);
        self.notifier.set_share(class, share);
    }

    #[inline]
    fn asks_memory(&self) -> bool {
        self.buffer.asks_memory()
    }

    fn needs(&self) -> Needs {
        Needs {
            pool: self.buffer.reads_pool() || self.marker.reads_pool(),
            memory: self.buffer.asks_memory(),
        }
    }
    fn threshold_bytes(&self, view: &View, q: QueueId) -> Option<f64> {
        self.marker.threshold_bytes(view, q)
    }
    fn round_time(&self) -> Option<Span> {
        self.marker.round_time()
    }
}
