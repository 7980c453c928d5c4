//! The five seats of a port. Each is a trait with one or two required methods; the rest
//! have defaults. A hook's comment says whether the view counts the packet in question.
//!
//! | seat | decides |
//! | --- | --- |
//! | [`Classifier`] | which queue |
//! | [`Marker`] | mark on arrival; mark, unmark or drop on departure |
//! | [`Buffer`] | in or out, and whom to push out |
//! | [`Scheduler`] | who goes next; when a queue's service in a round ends |
//! | [`Notifier`] | a message to a packet's source |
//!
//! A boxed seat is a seat, for combinations that are not compiled whole.

pub use crate::memory::of_switch::{Admission, End, Expulsion, GroupUse, Signal};

use crate::port::arena::{Note, SlotId};
use crate::port::packet::{FlowId, Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::fairness::Share;
use auto_impl::auto_impl;
use switchbed_units::random::Random;
use switchbed_units::{Span, Time};

/// A marker's wish for an arrival. The port turns a mark into a drop where the packet is
/// not ECN-capable (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Store the packet without a mark.
    Pass,
    /// Mark it CE, or drop it where it is not ECN-capable.
    Mark,
    /// Drop it before it is stored.
    Drop,
}

/// A marker's verdict on a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Leave the note as it is.
    Pass,
    /// Note a mark, carried out as the packet leaves.
    Mark,
    /// Take this port's own mark back; one set upstream stays.
    Unmark,
    /// Drop the packet instead of sending it.
    Drop,
}

/// A scheduler's choice of the next departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The head of this queue, which must have one.
    Queue(QueueId),
    /// This queued packet, wherever in its queue: for what keeps flows apart that no queue of the port
    /// is made for.
    Packet(SlotId),
    /// No packet is queued.
    Empty,
    /// Nothing may go before this time (later than now).
    NotBefore(Time),
}

/// A queue has ended its service in a round, by its quantum or by emptying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceEnd {
    /// Queue whose service has ended.
    pub queue: QueueId,
    /// When it joined the round, or was last put at its end.
    pub started: Time,
    /// When it ended: its last packet's last bit, or now if it is put at the end again.
    pub ended: Time,
}

/// Feedback to the source of a flow, with what an 802.1Qau congestion notification carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The flow whose packet was sampled.
    pub flow: FlowId,
    /// Feedback quantized to 6 bits: 0 to 63.
    pub quantized: u8,
    /// Queue length less its set point, in bytes.
    pub offset_bytes: i32,
    /// Growth of the queue since the last sample, in bytes.
    pub delta_bytes: i32,
}

/// Which queue a packet joins.
#[auto_impl(Box)]
pub trait Classifier {
    /// The queue for an arrival (not counted by the view); below the port's queue count.
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId;
}

/// Decides which arrivals are stored, and which queued packets they push out.
#[auto_impl(Box)]
pub trait Buffer {
    /// Decides on an arrival (not counted by the view) for `queue`. Asked again after
    /// each push-out, until the arrival is in or out.
    fn admit(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission;

    /// Whether an arrival (not counted by the view) that a marker drops, so that `admit` is not
    /// asked, would have been refused for want of space. False also where only asking tells.
    fn full(&self, _view: &View, _queue: QueueId, _packet: &Packet) -> bool {
        false
    }

    /// A packet was stored (counted by the view).
    fn stored(&mut self, _view: &View, _queue: QueueId, _packet: &Packet) {}

    /// An arrival was refused, by whichever seat.
    fn refused(&mut self, _view: &View, _queue: QueueId, _packet: &Packet, _why: DropReason) {}

    /// A queued packet was removed other than by departure (no longer counted), pushed out
    /// by this buffer or dropped as it left.
    fn removed(&mut self, _view: &View, _queue: QueueId, _packet: &Packet, _why: DropReason) {}

    /// A packet left by the wire (no longer counted by the view).
    fn sent(&mut self, _view: &View, _queue: QueueId, _packet: &Packet) {}

    /// Whether arrivals are left to the switch's memory ([`Admission::Ask`]).
    fn asks_memory(&self) -> bool {
        false
    }

    /// Whether decisions read the shared pool.
    fn reads_pool(&self) -> bool {
        false
    }

    /// Interval of periodic work, if there is any.
    fn period(&self) -> Option<Span> {
        None
    }

    /// Periodic work: `n` intervals have ended, the last at `view.now`, and nothing
    /// happened at the port between them. Must equal `n` calls with 1.
    fn tick(&mut self, _view: &View, _n: u64) {}
}

/// Decides which packets are marked, unmarked or dropped.
#[auto_impl(Box)]
pub trait Marker {
    /// The wish for an arrival (not counted by the view). Takes `&self`: state changes
    /// only in [`Marker::stored`] and [`Marker::refused`], once the outcome is known.
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent;

    /// The arrival was stored (counted by the view) with the note that `intent` asked
    /// for. May name a queued packet of the same port to note a mark on.
    fn stored(
        &mut self,
        _view: &View,
        _queue: QueueId,
        _slot: SlotId,
        _intent: Intent,
        _rng: &mut dyn Random,
    ) -> Option<SlotId> {
        None
    }

    /// The arrival was refused, by whichever seat.
    fn refused(&mut self, _view: &View, _queue: QueueId, _packet: &Packet, _why: DropReason) {}

    /// The arrival was refused for not being ECN-capable, and the buffer had no space for it either.
    fn refused_at_full(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.refused(view, queue, packet, DropReason::NotEcnCapable);
    }

    /// The verdict on a departure (still counted by the view). `note` is what this port
    /// noted so far.
    fn depart(
        &mut self,
        _view: &View,
        _queue: QueueId,
        _slot: SlotId,
        _note: Note,
        _rng: &mut dyn Random,
    ) -> Departure {
        Departure::Pass
    }

    /// A queued packet was removed other than by departure (no longer counted).
    fn removed(&mut self, _view: &View, _queue: QueueId, _packet: &Packet, _why: DropReason) {}

    /// A queue ended its service in a round: a sample of the round time.
    fn service_ended(&mut self, _view: &View, _end: ServiceEnd) {}

    /// Whether decisions read the shared pool.
    fn reads_pool(&self) -> bool {
        false
    }

    /// Interval of periodic work, if there is any.
    fn period(&self) -> Option<Span> {
        None
    }

    /// Periodic work, called like [`Buffer::tick`].
    fn tick(&mut self, _view: &View, _n: u64) {}

    /// A class's weight and cap are others from now on. Schemes that share a link by weights
    /// follow; the others ignore it.
    fn set_share(&mut self, _class: u8, _share: Share) {}

    /// The threshold in force for a queue in bytes, for probes; `None` where there is none.
    fn threshold_bytes(&self, _view: &View, _queue: QueueId) -> Option<f64> {
        None
    }

    /// The smoothed round time, for probes.
    fn round_time(&self) -> Option<Span> {
        None
    }
}

/// Chooses the packet that leaves next.
#[auto_impl(Box)]
pub trait Scheduler {
    /// A packet was stored in `queue` (counted by the view).
    fn enqueued(&mut self, view: &View, queue: QueueId, packet: &Packet);

    /// Chooses among the queues that hold packets. May be called again without a `served` between
    /// (the packet was dropped at its departure): what is charged is charged in `served`.
    /// `ends` hears of services that end here.
    fn select(&mut self, view: &View, ends: &mut dyn FnMut(ServiceEnd)) -> Selection;

    /// The packet is being sent (no longer counted by the view) until `until`.
    fn served(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        until: Time,
        ends: &mut dyn FnMut(ServiceEnd),
    );

    /// A packet was removed from `queue` other than by service (no longer counted). If it
    /// was pushed out, `enqueued` may follow at once: the queue must keep its turn then.
    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason);

    /// Whether an arrival (not counted by the view) that finds the port empty and its line
    /// free may go straight on: [`Scheduler::passed`] then stands for `enqueued`, `select`
    /// and `served`, and must leave the scheduler as those would.
    fn passes(&self, _view: &View, _queue: QueueId, _packet: &Packet) -> bool {
        false
    }

    /// The packet went straight on (not counted by the view) and is being sent until
    /// `until`. Called only where `passes` said so.
    fn passed(
        &mut self,
        _view: &View,
        _queue: QueueId,
        _packet: &Packet,
        _until: Time,
        _ends: &mut dyn FnMut(ServiceEnd),
    ) {
    }
}

/// Sends messages to the sources of packets.
#[auto_impl(Box)]
pub trait Notifier {
    /// A packet was stored (counted by the view); perhaps its source shall hear of it.
    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Option<Feedback>;

    /// An arrival was refused, by whichever seat.
    fn refused(&mut self, _view: &View, _queue: QueueId, _packet: &Packet, _why: DropReason) {}

    /// Interval of periodic work, if there is any.
    fn period(&self) -> Option<Span> {
        None
    }

    /// Periodic work, called like [`Buffer::tick`].
    fn tick(&mut self, _view: &View, _n: u64) {}

    /// A class's weight and cap are others from now on. Schemes that share a link by weights
    /// follow; the others ignore it.
    fn set_share(&mut self, _class: u8, _share: Share) {}
}

/// A seat left empty: no marks, no messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Marker for Nobody {
    fn intend(&self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Intent {
        Intent::Pass
    }
}

impl Notifier for Nobody {
    fn stored(&mut self, _: &View, _: QueueId, _: &Packet, _: &mut dyn Random) -> Option<Feedback> {
        None
    }
}
