//! The port: runs a scheme in a fixed order, and keeps the books.
//!
//! **Arrival**: due ticks; `classify`; `intend` (a mark on a packet that is not ECN-capable
//! is a drop, and what the marker drops displaces nothing); `admit`, again after each
//! push-out; stored; `stored`. **Departure**: due ticks; `select`; `depart`; `served`, and
//! the note becomes CE. Operations come in time order; at one instant a departure comes
//! before an arrival, and ticks before both.
//!
//! **Passing through**: a packet that finds the port empty and its line free is its only
//! candidate, so the scheduler need not be asked, if it says so ([`Scheme::passes`]): most
//! packets of a fabric at half load pass through. All other hooks come as ever.

pub mod arena;
pub mod driver;
pub mod packet;
pub mod pauses;
pub mod set;
pub(crate) mod state;
pub mod trim;
pub mod view;

use crate::hooks::{Admission, Departure, End, Feedback, Intent, Selection};
use crate::memory::SwitchMemory;
use crate::port::arena::{Arena, List, Note, Slot, SlotId};
use crate::port::packet::{Ecn, Packet, QueueId};
use crate::port::pauses::Guard;
use crate::port::set::QueueSet;
use crate::port::state::Row;
use crate::port::trim::Refused;
use crate::port::view::{DropReason, PortState, View};
use crate::scheme::{Needs, Scheme};
use crate::schemes::fairness::Share;
use switchbed_units::random::Random;
use switchbed_units::{Bytes, Rate, Span, Time};

/// Context of an operation: everything it uses besides the port itself.
pub struct Cx<'a> {
    /// The time of the operation; never earlier than the port's last one.
    pub now: Time,
    /// Slots of the queued packets.
    pub arena: &'a mut Arena,
    /// The switch's memory; every port of the switch counts into it.
    pub memory: &'a mut SwitchMemory,
    /// Source of random numbers.
    pub rng: &'a mut dyn Random,
    /// Drops and messages of the operation that its verdict does not cover.
    pub out: &'a mut Outcome,
}

/// Queued packets that an operation dropped (the caller frees their slots) and messages to
/// sources. The caller empties it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Packets dropped that had been queued.
    pub dropped: Vec<Dropped>,
    /// Messages to the sources of packets.
    pub feedback: Vec<Feedback>,
}

/// A queued packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Slot of the packet, which is the caller's again; [`SlotId::NONE`]: none was dropped, but the queue
    /// has changed beside that of the verdict.
    pub slot: SlotId,
    /// The queue it was in.
    pub queue: QueueId,
    /// Reason why the packet was dropped.
    pub why: DropReason,
}

/// The answer to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// Stored in this queue; the slot is the port's until it comes back.
    In(QueueId),
    /// Dropped; the slot stays the caller's.
    Dropped(QueueId, DropReason),
}

/// The answer to a request for a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeued {
    /// The packet in this slot is on the wire until `until`; the slot is the caller's.
    Sent {
        /// The slot; its packet's ECN field is what leaves.
        slot: SlotId,
        /// The queue it was in.
        queue: QueueId,
        /// The end of its last bit.
        until: Time,
        /// Whether this port marked it.
        marked: bool,
    },
    /// No packet is queued.
    Empty,
    /// Nothing may be sent before this time.
    NotBefore(Time),
}

/// The answer to a packet that finds its port idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// On the wire, as [`Dequeued::Sent`] has it.
    Sent {
        /// The queue it went through.
        queue: QueueId,
        /// The end of its last bit.
        until: Time,
        /// Whether this port marked it.
        marked: bool,
    },
    /// Refused, or dropped as it left; the slot stays the caller's.
    Dropped(QueueId, DropReason),
    /// Stored in this queue, and nothing more: the caller asks for a departure.
    Stored(QueueId),
}

/// A packet that a port lets in.
struct Arrival {
    packet: Packet,
    queue: QueueId,
    intent: Intent,
    /// How long the port had been idle.
    idle: Span,
}

impl Arrival {
    /// Notes in its slot what the port knows of it.
    #[inline(always)]
    fn note(&self, place: &mut Slot, now: Time) {
        place.queue = self.queue;
        place.arrived = now;
        // A note, not CE: the scheme may still take its mark back at departure.
        place.note = if self.intent == Intent::Mark { Note::Mark } else { Note::Clear };
    }
}

/// A port whose scheme's type is forgotten.
pub trait Qdisc: Send {
    /// Offers the packet in a slot.
    fn enqueue(&mut self, slot: SlotId, cx: &mut Cx) -> Enqueued;
    /// Asks for the next packet. The line must be free: `cx.now >= busy_until`.
    fn dequeue(&mut self, cx: &mut Cx) -> Dequeued;
    /// Offers a packet to a port that is empty and whose line is free, and sends it on if
    /// that needs no scheduling: what `enqueue` and then `dequeue` would do, in one.
    fn pass(&mut self, slot: SlotId, cx: &mut Cx) -> Passed;
    /// Drops the packet at an end of a queue, if there is one.
    fn expel(&mut self, _queue: QueueId, _end: End, _cx: &mut Cx) {}
    /// [`Qdisc::dequeue`] of a port that its peer may pause: queues that it has paused are passed over.
    fn dequeue_unpaused(&mut self, cx: &mut Cx) -> Dequeued {
        self.dequeue(cx)
    }
    /// Pauses a queue for its peer from one time until another. A port without classes ignores it.
    fn pause(&mut self, _queue: QueueId, _from: Time, _until: Time, _now: Time) {}
    /// Tells its watchdog which queues hold packets from now on, and which has sent one.
    fn note(&mut self, _sent: Option<QueueId>, _now: Time) {}
    /// Ends the pauses of all queues.
    fn release(&mut self, _now: Time) {}
    /// Keeps the first `holds` times that each queue is held.
    fn remember(&mut self, _holds: usize) {}
    /// Sets a watchdog on its pauses; a port without classes has none.
    fn guard(&mut self, _guard: Guard) {}
    /// Sends a MAC control frame, which waits for nothing but the line: it must be free. The end of its last
    /// bit. A port without classes has none.
    fn control(&mut self, _len_bytes: u32, now: Time) -> Time {
        now
    }
    /// Runs the ticks that are due by `cx.now`, so that probes see the state at that time.
    fn settle(&mut self, cx: &mut Cx);
    /// Borrows the queues and the line.
    fn state(&self) -> &PortState;
    /// Changes the line rate; a transmission under way keeps its end. Ticks that are due
    /// still see the old rate.
    fn set_rate(&mut self, rate: Rate, cx: &mut Cx);
    /// Changes a class's weight and cap. Ticks that are due see them as they were.
    fn set_share(&mut self, class: u8, share: Share, cx: &mut Cx);
    /// States which facilities the caller must provide.
    fn needs(&self) -> Needs;
    /// The threshold in force for a queue in bytes, for probes.
    fn threshold_bytes(
        &self,
        now: Time,
        arena: &Arena,
        memory: &SwitchMemory,
        queue: QueueId,
    ) -> Option<f64>;
    /// The smoothed round time, for probes.
    fn round_time(&self) -> Option<Span>;
}

/// A port and its scheme, from the beginning of a cache line on.
#[repr(C, align(64))]
pub struct Port<S> {
    state: PortState,
    scheme: S,
}

impl<S: Scheme> Port<S> {
    /// Makes an idle port from its queues and scheme.
    pub fn new(state: PortState, scheme: S) -> Self {
        Port { state, scheme }
    }

    /// The scheme, for tests that look at its state.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    #[inline]
    fn ticks(&mut self, cx: &Cx) {
        // One comparison an operation: most schemes have no clock, and theirs is never due.
        if self.scheme.next_tick() <= cx.now {
            self.scheme.tick(&view(&self.state, cx));
        }
    }

    #[cold]
    fn refuse(
        &mut self,
        (packet, queue, idle): (&Packet, QueueId, Span),
        why: DropReason,
        cx: &mut Cx,
    ) -> Refused {
        self.count_drop(queue, packet.len_bytes, why);
        self.tell_refused((packet, queue, idle), why, cx);
        Refused::Dropped(queue, why)
    }

    /// Tells scheme and memory that an arrival is refused.
    fn tell_refused(
        &mut self,
        (packet, queue, idle): (&Packet, QueueId, Span),
        why: DropReason,
        cx: &mut Cx,
    ) {
        self.scheme.refused(&view(&self.state, cx).idle_for(idle), queue, packet, why);
        cx.memory.refused(packet, why);
    }

    /// Decides on an arrival: the buffer, or the switch's memory where the buffer leaves it to that.
    #[inline(always)]
    fn admit(&mut self, (packet, queue, idle): (&Packet, QueueId, Span), cx: &mut Cx) -> Admission {
        let view = View::new(cx.now, &self.state, cx.memory, cx.arena).idle_for(idle);
        match self.scheme.admit(&view, queue, packet, cx.rng) {
            Admission::Ask => cx.memory.admit(cx.now, &self.state, queue, packet),
            decided => decided,
        }
    }

    /// The scheme has acted on a packet of a queue.
    #[inline]
    fn note_act(&mut self, queue: QueueId, now: Time) {
        let acted = &mut self.state.seldom.acted;
        if acted.is_empty() {
            acted.resize(self.state.queues.len(), Time::ZERO);
        }
        // Zero stands for never.
        acted[usize::from(queue)] = now + Span::from_ps(1);
    }

    #[cold]
    fn count_drop(&mut self, queue: QueueId, len_bytes: u32, why: DropReason) {
        let seldom = &mut *self.state.seldom;
        seldom.drops[why as usize] += 1;
        seldom.last_drop = Some((queue, why));
        seldom.dropped_bytes += u64::from(len_bytes);
    }

    /// Everything about an arrival up to the decision to store it.
    #[inline(always)]
    fn arrive(&mut self, slot: SlotId, cx: &mut Cx) -> Result<Arrival, Refused> {
        self.ticks(cx);
        // Copied: push-outs below need the arena for writing.
        let packet = *cx.arena.packet(slot);
        // A port is idle from its last bit, or from the drop that emptied it, whichever was later.
        let idle = match self.state.packets {
            0 => cx.now.since(self.state.busy_until.max(self.state.emptied)),
            _ => Span::ZERO,
        };
        let queue = self.scheme.classify(&view(&self.state, cx).idle_for(idle), &packet);
        let refused = (&packet, queue, idle);
        let view = View::new(cx.now, &self.state, cx.memory, cx.arena).idle_for(idle);
        let intent = match self.scheme.intend(&view, queue, &packet, cx.rng) {
            Intent::Pass => Intent::Pass,
            // `mark` decides as the packet leaves whether an unmarkable one counts.
            Intent::Mark
                if packet.ecn.capable() || self.state.seldom.passes_unmarkable.contains(queue) =>
            {
                Intent::Mark
            }
            Intent::Mark => {
                self.note_act(queue, cx.now);
                return Err(self.refuse(refused, DropReason::NotEcnCapable, cx));
            }
            Intent::Drop => {
                self.note_act(queue, cx.now);
                return Err(self.refuse(refused, DropReason::Early, cx));
            }
        };
        // Ends: each push-out takes a queued packet away, and an empty port leaves nothing to push out.
        loop {
            match self.admit(refused, cx) {
                // The memory decides, and leaves nothing to others.
                Admission::In | Admission::Ask => {
                    return Ok(Arrival { packet, queue, intent, idle });
                }
                // Only a refusal by the memory can become a trim: the marker's drops above are
                // final.
                Admission::Out(why) => return Err(self.turn_away(slot, refused, why, cx)),
                Admission::PushOut(victim) => self.drop_queued(victim, DropReason::PushedOut, cx),
            }
        }
    }

    /// Puts an arrival at the tail of its queue; the scheduler has not heard of it yet.
    #[inline(always)]
    fn store(&mut self, slot: SlotId, arrival: &Arrival, cx: &mut Cx) {
        let len = arrival.packet.len_bytes as u64;
        cx.memory.take(Bytes::new(len));
        let q = &mut self.state.queues[arrival.queue as usize];
        q.list.push_back(cx.arena, slot);
        arrival.note(cx.arena.slot_mut(slot), cx.now);
        q.packets += 1;
        q.bytes += len;
        self.state.backlogged.insert(arrival.queue);
        self.state.packets += 1;
        self.state.bytes += len;
        self.tell_stored(slot, arrival.queue, cx);
        self.stored(slot, arrival, cx);
    }

    /// [`Port::store`] at an empty port: what it then holds is known, and nothing need be read. The memory's policy
    /// is told by the caller, once it is known whether the packet stays.
    #[inline(always)]
    fn store_only(&mut self, slot: SlotId, arrival: &Arrival, cx: &mut Cx) {
        let len = arrival.packet.len_bytes as u64;
        cx.memory.take(Bytes::new(len));
        let place = cx.arena.slot_mut(slot);
        (place.prev, place.next) = (SlotId::NONE, SlotId::NONE);
        arrival.note(place, cx.now);
        self.only(arrival.queue, List { head: slot, tail: slot }, 1, len);
        self.state.backlogged = QueueSet::EMPTY;
        self.state.backlogged.insert(arrival.queue);
        self.stored(slot, arrival, cx);
    }

    /// Contents of the only queue that is not empty.
    #[inline(always)]
    fn only(&mut self, queue: QueueId, list: List, packets: u32, bytes: u64) {
        let q = &mut self.state.queues[queue as usize];
        (q.list, q.packets, q.bytes) = (list, packets, bytes);
        (self.state.packets, self.state.bytes) = (packets, bytes);
    }

    /// The rest of storing a packet, and the scheme hears of it.
    #[inline(always)]
    fn stored(&mut self, slot: SlotId, arrival: &Arrival, cx: &mut Cx) {
        let Arrival { queue, intent, idle, .. } = *arrival;
        let view = View::new(cx.now, &self.state, cx.memory, cx.arena).idle_for(idle);
        let stored = self.scheme.stored(&view, queue, slot, intent, cx.rng);
        // A scheme may mark another queued packet than the one that came.
        if let Some(other) = stored.mark {
            let note = &mut cx.arena.slot_mut(other).note;
            if *note != Note::Trimmed {
                *note = Note::Mark;
            }
        }
        if let Some(feedback) = stored.feedback {
            self.state.seldom.notified += 1;
            self.note_act(queue, cx.now);
            cx.out.feedback.push(feedback);
        }
    }

    /// Whether the memory's policy hears of the port's packets.
    #[inline(always)]
    fn tells(&self, cx: &Cx) -> bool {
        self.scheme.asks_memory() && cx.memory.hears()
    }

    /// Tells the memory of a packet that was stored.
    #[inline(always)]
    fn tell_stored(&mut self, slot: SlotId, queue: QueueId, cx: &mut Cx) {
        if self.tells(cx) {
            self.tell(slot, queue, cx, SwitchMemory::stored);
        }
    }

    /// Tells the memory of a packet. Apart, since most ports have memory of their own.
    #[inline(never)]
    fn tell(
        &mut self,
        slot: SlotId,
        queue: QueueId,
        cx: &mut Cx,
        hook: impl Fn(&mut SwitchMemory, Time, &PortState, QueueId, &Packet),
    ) {
        hook(cx.memory, cx.now, &self.state, queue, cx.arena.packet(slot));
    }

    /// Gives the memory of a packet back that leaves its queue for the wire.
    #[inline(always)]
    fn left(&mut self, slot: SlotId, queue: QueueId, len_bytes: u32, cx: &mut Cx) {
        cx.memory.give_back(Bytes::new(len_bytes.into()));
        if self.tells(cx) {
            self.tell(slot, queue, cx, SwitchMemory::sent);
        }
    }

    /// The note that a packet leaves with; none if it is to be dropped.
    #[inline(always)]
    fn verdict(&mut self, slot: SlotId, queue: QueueId, cx: &mut Cx) -> Option<Note> {
        let note = cx.arena.note(slot);
        let view = View::new(cx.now, &self.state, cx.memory, cx.arena);
        match self.scheme.depart(&view, queue, slot, note, cx.rng) {
            Departure::Pass => Some(note),
            Departure::Mark => Some(Note::Mark),
            Departure::Unmark => Some(Note::Clear),
            Departure::Drop => {
                self.note_act(queue, cx.now);
                None
            }
        }
    }

    /// Puts a packet that was taken out of its queue on the wire, until the time returned.
    #[inline(always)]
    fn send(&mut self, packet: &Packet, cx: &Cx) -> Time {
        // `transmit` carries the fraction of a picosecond over to the next packet.
        let until = cx.now + self.state.line.transmit(packet.len_bytes);
        self.state.busy_until = until;
        self.state.sent += 1;
        self.state.sent_bytes += packet.len_bytes as u64;
        until
    }

    /// Takes a packet out of its queue and out of the books of what is queued.
    #[inline(always)]
    fn unlink(&mut self, slot: SlotId, queue: QueueId, len_bytes: u32, cx: &mut Cx) {
        let len = len_bytes as u64;
        let q = &mut self.state.queues[queue as usize];
        q.list.unlink(cx.arena, slot);
        q.packets -= 1;
        q.bytes -= len;
        if q.packets == 0 {
            self.state.backlogged.remove(queue);
        }
        self.state.packets -= 1;
        self.state.bytes -= len;
    }

    #[cold]
    fn drop_queued(&mut self, slot: SlotId, why: DropReason, cx: &mut Cx) {
        let queue = self.remove(slot, why, cx);
        cx.out.dropped.push(Dropped { slot, queue, why });
    }

    /// Removes a packet from its queue other than by sending it.
    #[cold]
    fn remove(&mut self, slot: SlotId, why: DropReason, cx: &mut Cx) -> QueueId {
        let queue = cx.arena.slot(slot).queue;
        let packet = *cx.arena.packet(slot);
        self.unlink(slot, queue, packet.len_bytes, cx);
        cx.memory.removed(cx.now, &self.state, queue, &packet, why);
        // The port is idle from now on, though its line may have been free for longer.
        if self.state.packets == 0 {
            self.state.emptied = cx.now;
        }
        self.count_drop(queue, packet.len_bytes, why);
        if cx.arena.note(slot) == Note::Trimmed {
            self.count_trims(queue, |trims| trims.dropped += 1);
        }
        self.scheme.removed(&view(&self.state, cx), queue, &packet, why);
        queue
    }

    /// Checks that the port's totals equal the sums over its queues.
    fn conserved(&self) -> bool {
        let PortState { queues, packets, bytes, .. } = &self.state;
        *packets == queues.iter().map(|q| q.packets).sum::<u32>()
            && *bytes == queues.iter().map(|q| q.bytes).sum::<u64>()
    }
}

#[inline]
fn view<'a>(state: &'a PortState, cx: &'a Cx) -> View<'a> {
    View::new(cx.now, state, cx.memory, cx.arena)
}

impl<S: Scheme + Send> Qdisc for Port<S> {
    #[inline]
    fn enqueue(&mut self, slot: SlotId, cx: &mut Cx) -> Enqueued {
        let arrival = match self.arrive(slot, cx) {
            Ok(arrival) => arrival,
            Err(Refused::Dropped(queue, why)) => return Enqueued::Dropped(queue, why),
            // Nothing is left to do: `Port::put` has stored the remains and called the hooks.
            Err(Refused::Trimmed(queue)) => return Enqueued::In(queue),
        };
        self.store(slot, &arrival, cx);
        self.scheme.enqueued(&view(&self.state, cx), arrival.queue, &arrival.packet);
        debug_assert!(self.conserved());
        Enqueued::In(arrival.queue)
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Cx) -> Dequeued {
        self.depart(cx, QueueSet::EMPTY)
    }

    fn dequeue_unpaused(&mut self, cx: &mut Cx) -> Dequeued {
        // First, since `held` applies the frames due by now, by which the watchdog acts.
        let held = self.state.seldom.pauses.held(cx.now);
        while let Some(queue) = self.storms() {
            let mut packets = 0;
            while self.state.queues[usize::from(queue)].packets > 0 {
                let head = self.state.queues[usize::from(queue)].list.head;
                self.drop_queued(head, DropReason::AtDeparture, cx);
                packets += 1;
            }
            self.state.seldom.pauses.dropped(queue, packets);
        }
        let dequeued = self.depart(cx, held);
        let sent = match dequeued {
            Dequeued::Sent { queue, .. } => Some(queue),
            _ => None,
        };
        self.note(sent, cx.now);
        dequeued
    }

    fn note(&mut self, sent: Option<QueueId>, now: Time) {
        if !self.state.seldom.pauses.notes() {
            return;
        }
        let mut waiting = QueueSet::EMPTY;
        let queues = self.state.queues.iter().enumerate();
        queues
            .filter(|(_, queue)| queue.packets > 0)
            .for_each(|(nth, _)| waiting.insert(nth as QueueId));
        self.state.seldom.pauses.note(waiting, sent, now);
    }

    fn remember(&mut self, holds: usize) {
        self.state.seldom.pauses.remember(holds);
    }

    fn guard(&mut self, guard: Guard) {
        self.state.seldom.pauses.guard(guard);
    }

    fn pause(&mut self, queue: QueueId, from: Time, until: Time, now: Time) {
        self.state.seldom.pauses.pause(queue, from, until, now);
        // A resume is counted too: on the wire it is a PFC frame with a quanta field of zero.
        self.state.seldom.frames.heard += 1;
    }

    fn release(&mut self, now: Time) {
        self.state.seldom.pauses.release(now);
    }

    fn control(&mut self, len_bytes: u32, now: Time) -> Time {
        debug_assert!(now >= self.state.busy_until, "the line is busy");
        let each = self.state.line.transmit(len_bytes);
        let until = now + each;
        self.state.busy_until = until;
        let seldom = &mut *self.state.seldom;
        seldom.frames.sent += 1;
        seldom.control_bytes += u64::from(len_bytes);
        // A frame that begins as the last one ends belongs to the same row on the line.
        let frames = if seldom.row.until == now { seldom.row.frames + 1 } else { 1 };
        seldom.row = Row { frames, until, each };
        until
    }

    #[inline]
    fn pass(&mut self, slot: SlotId, cx: &mut Cx) -> Passed {
        debug_assert!(self.state.packets == 0, "packets wait");
        debug_assert!(cx.now >= self.state.busy_until, "the line is busy");
        let arrival = match self.arrive(slot, cx) {
            Ok(arrival) => arrival,
            Err(Refused::Dropped(queue, why)) => return Passed::Dropped(queue, why),
            // An empty port has nobody to swap with, so the one packet that waits is the arrival's
            // remains.
            Err(Refused::Trimmed(queue)) => return Passed::Stored(queue),
        };
        let Arrival { packet, queue, idle, .. } = arrival;
        // Asked before the packet is stored: the scheduler sees an empty port.
        let passes = self.scheme.passes(&view(&self.state, cx).idle_for(idle), queue, &packet);
        self.store_only(slot, &arrival, cx);
        if !passes {
            self.tell_stored(slot, queue, cx);
            self.scheme.enqueued(&view(&self.state, cx), queue, &packet);
            return Passed::Stored(queue);
        }
        let Some(note) = self.verdict(slot, queue, cx) else {
            // Scheduler and memory hear of no removal that they heard of no arrival for.
            self.tell_stored(slot, queue, cx);
            self.scheme.enqueued(&view(&self.state, cx), queue, &packet);
            self.remove(slot, DropReason::AtDeparture, cx);
            return Passed::Dropped(queue, DropReason::AtDeparture);
        };
        // The packet was the only one, so unlinking it amounts to emptying its queue.
        self.only(queue, List::EMPTY, 0, 0);
        self.state.backlogged = QueueSet::EMPTY;
        cx.memory.give_back(Bytes::new(packet.len_bytes.into()));
        if self.tells(cx) {
            self.tell(slot, queue, cx, SwitchMemory::passed);
        }
        let until = self.send(&packet, cx);
        self.scheme.passed(&view(&self.state, cx), queue, &packet, until);
        let marked = note == Note::Mark && self.mark(slot, queue, cx);
        debug_assert!(self.conserved());
        Passed::Sent { queue, until, marked }
    }

    fn expel(&mut self, queue: QueueId, end: End, cx: &mut Cx) {
        self.ticks(cx);
        let List { head, tail } = self.state.queues[queue as usize].list;
        let slot = if end == End::Head { head } else { tail };
        // The queue may have emptied since the switch chose it.
        if !slot.is_none() {
            self.drop_queued(slot, DropReason::PushedOut, cx);
            self.note(None, cx.now);
        }
        debug_assert!(self.conserved());
    }

    fn settle(&mut self, cx: &mut Cx) {
        self.ticks(cx);
    }

    #[inline]
    fn state(&self) -> &PortState {
        &self.state
    }

    fn set_rate(&mut self, rate: Rate, cx: &mut Cx) {
        self.ticks(cx);
        cx.memory.rate_changes(cx.now, &self.state);
        self.state.set_rate(rate);
    }

    fn set_share(&mut self, class: u8, share: Share, cx: &mut Cx) {
        self.ticks(cx);
        self.scheme.set_share(class, share);
    }

    fn needs(&self) -> Needs {
        self.scheme.needs()
    }

    fn threshold_bytes(
        &self,
        now: Time,
        arena: &Arena,
        memory: &SwitchMemory,
        queue: QueueId,
    ) -> Option<f64> {
        self.scheme.threshold_bytes(&View::new(now, &self.state, memory, arena), queue)
    }

    fn round_time(&self) -> Option<Span> {
        self.scheme.round_time()
    }
}

impl<S: Scheme> Port<S> {
    /// A queue with packets that the watchdog is to drop.
    fn storms(&self) -> Option<QueueId> {
        let mut dropping = self.state.seldom.pauses.dropping();
        dropping.find(|&queue| self.state.backlogged.contains(queue))
    }

    /// The next packet of the queues that are not held.
    #[inline(always)]
    fn depart(&mut self, cx: &mut Cx, held: QueueSet) -> Dequeued {
        debug_assert!(cx.now >= self.state.busy_until, "the line is busy");
        self.ticks(cx);
        loop {
            // The scheduler sees no queue that is held.
            let all = self.state.backlogged;
            self.state.backlogged = all.without(held);
            if self.state.backlogged.is_empty() && !all.is_empty() {
                // Not `Empty`: packets wait, and their pause ends without another operation of the
                // port.
                self.state.backlogged = all;
                return Dequeued::NotBefore(self.state.seldom.pauses.ends(all, cx.now));
            }
            let selection = self.scheme.select(&view(&self.state, cx));
            // Restored before the other hooks: for them a paused queue is as backlogged as any.
            self.state.backlogged = all;
            let (queue, slot) = match selection {
                Selection::Queue(queue) => (queue, self.state.queues[queue as usize].list.head),
                Selection::Packet(slot) => (cx.arena.queue(slot), slot),
                Selection::Empty => return Dequeued::Empty,
                Selection::NotBefore(time) => return Dequeued::NotBefore(time),
            };
            debug_assert!(all.without(held).contains(queue), "an empty queue, or one that is held");
            let Some(note) = self.verdict(slot, queue, cx) else {
                // The scheduler chooses again: the queue may be empty now.
                self.drop_queued(slot, DropReason::AtDeparture, cx);
                continue;
            };
            let packet = *cx.arena.packet(slot);
            self.unlink(slot, queue, packet.len_bytes, cx);
            self.left(slot, queue, packet.len_bytes, cx);
            let until = self.send(&packet, cx);
            self.scheme.served(&view(&self.state, cx), queue, &packet, until);
            let marked = note != Note::Clear && self.carry_out(slot, queue, cx);
            debug_assert!(self.conserved());
            return Dequeued::Sent { slot, queue, until, marked };
        }
    }

    /// Carries a note out; true if the packet got its CE here. A port marks no packet that it has trimmed.
    #[inline]
    fn carry_out(&mut self, slot: SlotId, queue: QueueId, cx: &mut Cx) -> bool {
        if cx.arena.note(slot) == Note::Trimmed {
            self.count_trims(queue, |trims| trims.sent += 1);
            return false;
        }
        self.mark(slot, queue, cx)
    }

    /// Marks a packet; true if it got its CE here.
    #[inline]
    fn mark(&mut self, slot: SlotId, queue: QueueId, cx: &mut Cx) -> bool {
        self.note_act(queue, cx.now);
        let ecn = &mut cx.arena.packet_mut(slot).ecn;
        match *ecn {
            Ecn::NotEct => {
                self.state.seldom.unmarkable += 1;
                false
            }
            Ecn::Ce => false,
            Ecn::Ect0 | Ecn::Ect1 => {
                *ecn = Ecn::Ce;
                self.state.seldom.marked += 1;
                true
            }
        }
    }
}
