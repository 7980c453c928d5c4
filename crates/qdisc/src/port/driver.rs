//! A port with the line behind it: what settles departures that are due, transmits, and gives
//! back what was lost. The simulator and the live switch drive their ports with it, so that a
//! scheme sees the same order of operations in both.
//!
//! A departure depends on its port alone, so it need not happen at its time: [`Driver::settle`]
//! makes up for those that are due, each at the time it really has, before anything else
//! touches the port.

use crate::hooks::End;
use crate::port::arena::SlotId;
use crate::port::packet::QueueId;
use crate::port::pauses::{Guard, Rule};
use crate::port::view::{DropReason, PortState};
use crate::port::{Cx, Dequeued, Dropped, Enqueued, Outcome, Passed, Qdisc};
use crate::schemes::fairness::Share;
use std::hint::select_unpredictable;
use switchbed_units::{Rate, Time};

/// Environment of a port: where its packets go and which arena holds them.
pub trait Wire {
    /// Returns the context for an operation of the port at time `now`.
    fn cx(&mut self, now: Time) -> Cx<'_>;
    /// Returns the dropped packets and messages that the last operation left besides its verdict.
    fn outcome(&mut self) -> &mut Outcome;
    /// A packet's transmission takes from `now` until `until`; `marked`: its scheme marked it. Its
    /// slot is the wire's.
    fn sent(&mut self, slot: SlotId, marked: bool, now: Time, until: Time);
    /// A packet was dropped; its slot is the wire's.
    fn lost(&mut self, slot: SlotId);
    /// [`Wire::lost`] with the queue and the reason, for those who look on.
    #[inline(always)]
    fn dropped(&mut self, slot: SlotId, queue: QueueId, why: DropReason, now: Time) {
        let _ = (queue, why, now);
        self.lost(slot);
    }
    /// An arrival was stored, or passed through, with messages to its source in the outcome.
    fn feedback(&mut self, slot: SlotId, now: Time);
    /// A queue is not as long as before, where the driver is watched; `busy_until` is the end of
    /// the transmission under way, or of the last.
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState, busy_until: Time);
    /// A queue is not as long as before, where the driver is measured. A packet that passes an idle
    /// port changes none.
    fn resized(&mut self, queue: QueueId, now: Time, state: &PortState) {
        let _ = (queue, now, state);
    }
}

/// A port and the state of its line.
pub struct Driver {
    /// The end of the transmission under way, or of the last.
    busy_until: Time,
    /// When the port may be asked again: now, not before a time, or ([`Time::NEVER`]) when
    /// something has changed.
    wake: Time,
    port: Box<dyn Qdisc>,
    queued: u32,
    up: bool,
    watched: bool,
    measured: bool,
    /// Whether the peer may pause queues: such a port never takes the short way through.
    pausable: bool,
}

impl Driver {
    /// An idle port whose line is up.
    pub fn new(port: Box<dyn Qdisc>) -> Driver {
        let (busy_until, wake) = (Time::ZERO, Time::ZERO);
        let [watched, measured, pausable] = [false; 3];
        Driver { busy_until, wake, port, queued: 0, up: true, watched, measured, pausable }
    }

    /// Borrows the driven port.
    #[inline]
    pub fn port(&self) -> &dyn Qdisc {
        &*self.port
    }

    /// The end of the transmission under way, or of the last.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Returns whether packets wait in its queues.
    #[inline]
    pub fn backlogged(&self) -> bool {
        self.queued > 0
    }

    /// Number of packets in its queues.
    #[inline]
    pub fn queued(&self) -> u32 {
        self.queued
    }

    /// Whether the line is up.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Calls [`Wire::changed`] at every change from now on.
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// Calls [`Wire::resized`] at every change from now on.
    pub fn measure(&mut self) {
        self.measured = true;
    }

    /// When the next departure is due; [`Time::NEVER`] without packets.
    #[inline]
    pub fn due(&self) -> Time {
        // Without a branch, since which it is cannot be predicted.
        select_unpredictable(self.queued == 0, Time::NEVER, self.busy_until.max(self.wake))
    }

    /// The departures that are due by `now`, each at its own time.
    #[inline]
    pub fn settle(&mut self, wire: &mut impl Wire, now: Time) {
        self.settle_late(wire, now, Time::ZERO);
    }

    /// Settles departures that are due, none earlier than `earliest`: the most that a late line
    /// makes up for.
    #[inline]
    pub fn settle_late(&mut self, wire: &mut impl Wire, now: Time, earliest: Time) {
        // Ends because each turn moves `due` on: a scheduler's `NotBefore` must be later than now.
        while self.queued > 0 {
            let due = self.busy_until.max(self.wake);
            if due > now {
                break;
            }
            self.transmit(wire, due.max(earliest));
        }
    }

    /// An arrival at a settled port, which is asked for a departure after it if the line is
    /// free.
    #[inline(always)]
    pub fn arrive(&mut self, slot: SlotId, wire: &mut impl Wire, now: Time) {
        // A watched queue must be seen to change, and a paused one must not send: neither passes.
        let plain = self.up && !self.watched && !self.pausable;
        if self.queued == 0 && self.busy_until <= now && plain {
            match self.port.pass(slot, &mut wire.cx(now)) {
                Passed::Sent { until, marked, .. } => {
                    // `queued` stays 0: the packet never waited.
                    self.sent(until);
                    wire.sent(slot, marked, now, until);
                }
                Passed::Dropped(queue, why) => wire.dropped(slot, queue, why, now),
                Passed::Stored(queue) => {
                    // The scheduler wants to be asked, and may still hold the packet back.
                    self.queued = 1;
                    self.transmit(wire, now);
                    if self.queued > 0 {
                        self.tell(queue, wire, now);
                    }
                }
            }
            if !wire.outcome().feedback.is_empty() {
                wire.feedback(slot, now);
            }
            return;
        }
        self.store(slot, wire, now);
        // The queue may still be empty: the memory may have refused the arrival.
        if self.busy_until <= now && self.queued > 0 && self.up {
            self.transmit(wire, now);
        }
    }

    /// An arrival at a settled port, which is asked for nothing.
    #[inline]
    pub fn store(&mut self, slot: SlotId, wire: &mut impl Wire, now: Time) {
        match self.port.enqueue(slot, &mut wire.cx(now)) {
            Enqueued::In(queue) => {
                self.queued += 1;
                self.tell(queue, wire, now);
                if self.pausable {
                    self.port.note(None, now);
                }
            }
            Enqueued::Dropped(queue, why) => wire.dropped(slot, queue, why, now),
        }
        self.lose(wire, now);
        if !wire.outcome().feedback.is_empty() {
            wire.feedback(slot, now);
        }
    }

    /// Drops the packet at an end of a queue of a settled port.
    pub fn expel(&mut self, queue: QueueId, end: End, wire: &mut impl Wire, now: Time) {
        self.port.expel(queue, end, &mut wire.cx(now));
        self.lose(wire, now);
    }

    /// Puts the port's next packet on the line at `now`, if it gives one.
    #[inline]
    pub fn transmit(&mut self, wire: &mut impl Wire, now: Time) {
        // A flag of this struct: most ports are never paused, and need not search their pauses.
        let dequeued = match self.pausable {
            false => self.port.dequeue(&mut wire.cx(now)),
            true => self.port.dequeue_unpaused(&mut wire.cx(now)),
        };
        match dequeued {
            Dequeued::Sent { slot, queue, until, marked } => {
                self.queued -= 1;
                self.sent(until);
                self.tell(queue, wire, now);
                wire.sent(slot, marked, now, until);
            }
            // Packets wait but none may go: only a change of the port is a reason to ask again.
            Dequeued::Empty => self.wake = Time::NEVER,
            Dequeued::NotBefore(time) => self.wake = time,
        }
        self.lose(wire, now);
    }

    /// Tells those who look on that a queue has changed.
    #[inline(always)]
    fn tell(&self, queue: QueueId, wire: &mut impl Wire, now: Time) {
        if self.watched {
            wire.changed(queue, now, self.port.state(), self.busy_until);
        }
        if self.measured {
            wire.resized(queue, now, self.port.state());
        }
    }

    #[inline(always)]
    fn sent(&mut self, until: Time) {
        // After this packet the port may be asked at once.
        self.busy_until = until;
        self.wake = Time::ZERO;
    }

    /// Puts another port in the place of this one, which is taken to be empty; a transmission under
    /// way keeps its end. The caller stores what was queued.
    pub fn replace(&mut self, port: Box<dyn Qdisc>, now: Time) {
        (self.port, self.queued) = (port, 0);
        // A line that is down stays down.
        self.wake = if self.up { now } else { Time::NEVER };
    }

    /// A settled port's peer pauses a queue of it, from a time on until another.
    pub fn pause(&mut self, queue: QueueId, from: Time, until: Time, now: Time) {
        self.port.pause(queue, from, until, now);
        self.pausable = true;
        // A queue that waits for the end of a pause may have to wait for another end now.
        self.wake = if self.up { now } else { Time::NEVER };
    }

    /// Ends the pauses of a settled port, whose link has gone down.
    pub fn release(&mut self, now: Time) {
        self.port.release(now);
        self.wake = if self.up { now } else { Time::NEVER };
    }

    /// Keeps the first `holds` times that each queue is held.
    pub fn remember(&mut self, holds: usize) {
        self.port.remember(holds);
    }

    /// Sets a watchdog on the port's pauses.
    pub fn guard(&mut self, guard: Guard) {
        // Packets sent before the first pause count too.
        self.pausable |= guard.rule == Rule::Nvidia;
        self.port.guard(guard);
    }

    /// Puts a MAC control frame of so many bytes on the line of a settled port, before all that waits.
    pub fn control(&mut self, slot: SlotId, len_bytes: u32, wire: &mut impl Wire, now: Time) {
        // A frame waits for the packet on the line (non-preemptive), but not for those that are
        // queued.
        let start = self.busy_until.max(now);
        self.busy_until = self.port.control(len_bytes, start);
        wire.sent(slot, false, start, self.busy_until);
    }

    /// Takes the line down (its port sends no more) or up again.
    pub fn set_up(&mut self, up: bool, now: Time) {
        self.up = up;
        self.wake = if up { now } else { Time::NEVER };
    }

    /// Changes the line's rate; a transmission under way keeps its end.
    pub fn set_rate(&mut self, rate: Rate, wire: &mut impl Wire, now: Time) {
        self.port.set_rate(rate, &mut wire.cx(now));
    }

    /// Changes a class's weight and cap.
    pub fn set_share(&mut self, class: u8, share: Share, wire: &mut impl Wire, now: Time) {
        self.port.set_share(class, share, &mut wire.cx(now));
    }

    /// Gives back the queued packets that the last operation dropped.
    #[inline]
    fn lose(&mut self, wire: &mut impl Wire, now: Time) {
        if !wire.outcome().dropped.is_empty() {
            self.lose_some(wire, now);
        }
    }

    #[cold]
    fn lose_some(&mut self, wire: &mut impl Wire, now: Time) {
        let mut dropped = std::mem::take(&mut wire.outcome().dropped);
        for Dropped { slot, queue, why } in dropped.drain(..) {
            if slot.is_none() {
                self.tell(queue, wire, now);
                continue;
            }
            self.queued -= 1;
            self.tell(queue, wire, now);
            wire.dropped(slot, queue, why, now);
        }
        // Given back empty, so that its memory is used again.
        wire.outcome().dropped = dropped;
    }
}
