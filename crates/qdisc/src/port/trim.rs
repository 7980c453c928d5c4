//! Packet trimming: the beginning of a packet that the memory refuses goes on in another queue, which must
//! admit it too (SONiC, `doc/packet_trimming/packet-trimming-design.md`; SAI, proposal "Packet Trimming").

pub use super::state::{Trim, Trims};

use super::{Arrival, Cx, Dropped, Port, view};
use crate::hooks::{Admission, Intent};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::DropReason;
use crate::scheme::Scheme;
use switchbed_units::Span;

/// Fate of an arrival that is not stored as it came.
pub(super) enum Refused {
    /// Drop of the whole packet.
    Dropped(QueueId, DropReason),
    /// A queue has grown by a packet: what is left of the arrival, or of another whose place it has taken.
    Trimmed(QueueId),
}

impl<S: Scheme> Port<S> {
    /// The memory refuses an arrival: it is dropped, or trimmed.
    #[cold]
    pub(super) fn turn_away(
        &mut self,
        slot: SlotId,
        (packet, queue, idle): (&Packet, QueueId, Span),
        why: DropReason,
        cx: &mut Cx,
    ) -> Refused {
        let refused = (packet, queue, idle);
        let rules = self.state.seldom.trimming.as_deref().map(|trimming| trimming.rules);
        let whole = cx.arena.note(slot) == Note::Whole;
        let Some(rules) = rules.filter(|rules| !whole && rules.eligible.contains(queue)) else {
            return self.refuse(refused, why, cx);
        };
        if rules.swaps && self.swap(slot, refused, rules, cx) {
            return Refused::Trimmed(rules.queue);
        }
        // For the scheme the whole packet never entered; the remains then come as a packet of
        // another queue.
        self.tell_refused(refused, why, cx);
        match self.trim(slot, (queue, idle), rules, cx) {
            Ok(()) => Refused::Trimmed(rules.queue),
            Err(why) => {
                // Counted at its full length: nothing of it was cut, since nothing of it was
                // stored.
                self.count_drop(queue, packet.len_bytes, why);
                Refused::Dropped(queue, why)
            }
        }
    }

    /// Cuts a packet that is in no queue and stores what is left of it, if its queue admits that.
    fn trim(
        &mut self,
        slot: SlotId,
        (from, idle): (QueueId, Span),
        rules: Trim,
        cx: &mut Cx,
    ) -> Result<(), DropReason> {
        let whole = *cx.arena.packet(slot);
        let len_bytes = whole.len_bytes.min(rules.size);
        let packet = Packet { len_bytes, class: rules.class, ..whole };
        self.count_trims(from, |trims| trims.trimmed += 1);
        loop {
            let remains = (&packet, rules.queue, idle);
            match self.admit(remains, cx) {
                Admission::In | Admission::Ask => break,
                Admission::PushOut(victim) => self.drop_queued(victim, DropReason::PushedOut, cx),
                Admission::Out(why) => {
                    self.tell_refused(remains, why, cx);
                    self.count_trims(from, |trims| trims.dropped += 1);
                    return Err(why);
                }
            }
        }
        *cx.arena.packet_mut(slot) = packet;
        if let Some(trimming) = &mut self.state.seldom.trimming {
            trimming.cut_bytes += u64::from(whole.len_bytes - len_bytes);
        }
        self.put(slot, packet, rules.queue, idle, cx);
        // After `put`, which resets the note.
        cx.arena.slot_mut(slot).note = Note::Trimmed;
        Ok(())
    }

    /// One time in two, an arrival takes the place of the last packet of its queue, which is trimmed.
    fn swap(
        &mut self,
        slot: SlotId,
        (packet, queue, idle): (&Packet, QueueId, Span),
        rules: Trim,
        cx: &mut Cx,
    ) -> bool {
        let last = self.state.queues[usize::from(queue)].list.tail;
        // The highest bit of the draw is a fair coin.
        if last.is_none() || cx.rng.next_u64() >> 63 == 0 {
            return false;
        }
        let victim = *cx.arena.packet(last);
        // A longer arrival does not fit in the place of a shorter packet.
        if victim.len_bytes < packet.len_bytes {
            return false;
        }
        self.unlink(last, queue, victim.len_bytes, cx);
        cx.memory.removed(cx.now, &self.state, queue, &victim, DropReason::PushedOut);
        // The scheme must forget the whole packet; the counters learn below whether it counts as a
        // drop.
        self.scheme.removed(&view(&self.state, cx), queue, &victim, DropReason::PushedOut);
        self.put(slot, *packet, queue, idle, cx);
        if let Err(why) = self.trim(last, (queue, Span::ZERO), rules, cx) {
            self.count_drop(queue, victim.len_bytes, why);
            cx.out.dropped.push(Dropped { slot: last, queue, why });
        } else {
            // The caller hears of the other queue from the verdict.
            cx.out.dropped.push(Dropped { slot: SlotId::NONE, queue, why: DropReason::PushedOut });
        }
        true
    }

    /// Stores a packet that was admitted, without a mark.
    fn put(&mut self, slot: SlotId, packet: Packet, queue: QueueId, idle: Span, cx: &mut Cx) {
        self.store(slot, &Arrival { packet, queue, intent: Intent::Pass, idle }, cx);
        self.scheme.enqueued(&view(&self.state, cx), queue, &packet);
    }

    /// Counts for a queue of a port that trims.
    pub(super) fn count_trims(&mut self, queue: QueueId, count: impl FnOnce(&mut Trims)) {
        if let Some(trimming) = &mut self.state.seldom.trimming {
            count(&mut trimming.queues[usize::from(queue)]);
        }
    }
}
