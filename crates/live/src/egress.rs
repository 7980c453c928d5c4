//! A port's way out: its scheme, the token bucket, and the link behind it.
//!
//! The bucket is a line of its own time. A departure takes place when the line is free,
//! however late the thread wakes, and the scheme is told that time; so it decides as it
//! would in the simulator, which settles its ports in the same way. The line lags behind
//! the clock by at most what the bucket holds, and never when it has nothing to send: an
//! idle port saves nothing up.

use crate::frames::Frames;
use crate::random::Stream;
use crate::stats::{Lengths, total};
use std::collections::VecDeque;
use switchbed_qdisc::units::{Rate, Span, Time};
use switchbed_qdisc::view::Counters;
use switchbed_qdisc::{
    Cx, Dequeued, Ecn, Enqueued, Note, Outcome, Pool, Qdisc, QueueId, SlotId, View,
};
use switchbed_wire::{Mac, cnm};

/// What all ports work with.
pub struct Yard {
    /// The frames.
    pub frames: Frames,
    /// The memory that the ports share.
    pub pool: Pool,
    /// Randomness.
    pub rng: Stream,
    out: Outcome,
    /// Messages to the sources of frames: the port that these came in by, and the message.
    pub notices: Vec<(u16, Vec<u8>)>,
}

/// The station that messages come from: locally administered, and nobody's.
const OURS: Mac = Mac([0x02, 0x5b, 0xff, 0xff, 0xff, 0xff]);

impl Yard {
    /// An empty switch's.
    pub fn new(pool: Pool, rng: Stream) -> Yard {
        let frames = Frames::default();
        Yard { frames, pool, rng, out: Outcome::default(), notices: Vec::new() }
    }

    fn cx(&mut self, now: Time) -> Cx<'_> {
        Cx {
            now,
            arena: self.frames.arena(),
            pool: &mut self.pool,
            rng: &mut self.rng,
            out: &mut self.out,
        }
    }
}

/// How fast a port sends, and what is behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// What it sends at.
    pub rate: Rate,
    /// How late it may be and still make up for it.
    pub bucket: Span,
    /// From a frame's last bit to its delivery.
    pub delay: Span,
}

/// A port's way out.
pub struct Egress {
    port: Box<dyn Qdisc>,
    pace: Pace,
    /// The end of the transmission under way, or of the last.
    busy_until: Time,
    /// When the port may be asked again: now, not before a time, or ([`Time::NEVER`]) when
    /// something has arrived.
    wake: Time,
    /// Packets queued.
    queued: u32,
    /// Frames on the link, by the time of their delivery.
    flight: VecDeque<(Time, SlotId)>,
    /// What ports did that were here before.
    past: Counters,
    lengths: Lengths,
}

impl Egress {
    /// An idle port.
    pub fn new(port: Box<dyn Qdisc>, pace: Pace) -> Egress {
        let lengths = Lengths::new(port.state().queues());
        Egress {
            port,
            pace,
            busy_until: Time::ZERO,
            wake: Time::ZERO,
            queued: 0,
            flight: VecDeque::new(),
            past: Counters::default(),
            lengths,
        }
    }

    /// The scheme at work.
    pub fn qdisc(&self) -> &dyn Qdisc {
        &*self.port
    }
    /// How fast it sends.
    pub fn pace(&self) -> Pace {
        self.pace
    }
    /// What it has done since the switch began.
    pub fn counters(&self) -> Counters {
        total(&self.past, self.port.state().counters())
    }
    /// How long its queues were.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// When something happens here next.
    pub fn next(&self) -> Time {
        self.due().min(self.flight.front().map_or(Time::NEVER, |&(at, _)| at))
    }

    /// The departures that are due by `now`, each at its own time, or as late as the
    /// bucket allows.
    pub fn settle(&mut self, yard: &mut Yard, now: Time) {
        let earliest = Time::from_ps(now.as_ps().saturating_sub(self.pace.bucket.as_ps()));
        while self.due() <= now {
            self.transmit(yard, self.due().max(earliest));
        }
    }

    fn due(&self) -> Time {
        if self.queued == 0 { Time::NEVER } else { self.busy_until.max(self.wake) }
    }

    /// An arrival at a settled port, which is asked for a departure after it if the line
    /// is free.
    pub fn enqueue(&mut self, yard: &mut Yard, slot: SlotId, now: Time) {
        self.store(yard, slot, now);
        if self.busy_until <= now && self.queued > 0 {
            self.transmit(yard, now);
        }
    }

    fn store(&mut self, yard: &mut Yard, slot: SlotId, now: Time) {
        match self.port.enqueue(slot, &mut yard.cx(now)) {
            Enqueued::In(queue) => {
                self.queued += 1;
                self.count(queue, now);
                self.notify(yard, slot, queue);
            }
            Enqueued::Dropped(..) => yard.frames.free(slot),
        }
        self.lose(yard, now);
        // A port that said "nothing to send" may have something now.
        if self.wake == Time::NEVER {
            self.wake = now;
        }
    }

    fn transmit(&mut self, yard: &mut Yard, at: Time) {
        match self.port.dequeue(&mut yard.cx(at)) {
            Dequeued::Sent { slot, queue, until, marked } => {
                self.queued -= 1;
                self.busy_until = until;
                self.wake = Time::ZERO;
                self.count(queue, at);
                if marked {
                    yard.frames.mark(slot);
                }
                self.flight.push_back((until + self.pace.delay, slot));
            }
            Dequeued::Empty => self.wake = Time::NEVER,
            Dequeued::NotBefore(time) => self.wake = time,
        }
        self.lose(yard, at);
    }

    /// The next frame that has reached the link's end; the slot is the caller's.
    pub fn landed(&mut self, now: Time) -> Option<SlotId> {
        self.flight.pop_front_if(|&mut (at, _)| at <= now).map(|(_, slot)| slot)
    }

    /// Makes frames of the scheme's messages to the source of the frame that was just stored.
    fn notify(&mut self, yard: &mut Yard, slot: SlotId, queue: QueueId) {
        for feedback in yard.out.feedback.drain(..) {
            let message = cnm::Notification {
                quantized: feedback.quantized,
                point: u64::from(queue),
                offset_bytes: feedback.offset_bytes,
                delta_bytes: feedback.delta_bytes,
            };
            if let Some(frame) = cnm::build(OURS, &message, yard.frames.bytes(slot)) {
                yard.notices.push((yard.frames.packets().packet(slot).ingress, frame));
            }
        }
    }

    /// Frees the queued packets that the last operation dropped.
    fn lose(&mut self, yard: &mut Yard, now: Time) {
        for i in 0..yard.out.dropped.len() {
            let dropped = yard.out.dropped[i];
            self.queued -= 1;
            self.count(dropped.queue, now);
            yard.frames.free(dropped.slot);
        }
        yard.out.dropped.clear();
    }

    fn count(&mut self, queue: QueueId, now: Time) {
        self.lengths.change(now, queue, self.port.state());
    }

    /// Puts another scheme, or the same with other settings, in the place of the one at
    /// work. What is queued stays, in its order of arrival, with its marks; frames on the
    /// link are not touched.
    pub fn replace(&mut self, yard: &mut Yard, now: Time, port: Box<dyn Qdisc>, pace: Pace) {
        self.settle(yard, now);
        let mut queued = Vec::new();
        let (state, arena) = (self.port.state(), yard.frames.packets());
        let view = View { now, port: state, pool: &yard.pool, arena };
        for queue in 0..state.queues() as QueueId {
            queued.extend(view.slots(queue).map(|slot| (arena.arrived(slot), slot)));
        }
        queued.sort_by_key(|&(arrived, _)| arrived);

        yard.pool.used -= state.bytes();
        self.past = self.counters();
        self.past.arrived -= u64::from(state.packets());
        self.past.arrived_bytes -= state.bytes().get();
        self.lengths.close(now);
        self.lengths = Lengths::new(port.state().queues());
        (self.port, self.pace, self.queued, self.wake) = (port, pace, 0, now);
        // The new port's line was never busy: what the old one still sends ends first.
        for (_, slot) in queued {
            if yard.frames.packets().note(slot) == Note::Mark {
                let ecn = &mut yard.frames.arena().packet_mut(slot).ecn;
                if matches!(*ecn, Ecn::Ect0 | Ecn::Ect1) {
                    *ecn = Ecn::Ce;
                    yard.frames.mark(slot);
                    self.past.marked += 1;
                }
            }
            let slot = yard.frames.renew(slot);
            self.store(yard, slot, now);
        }
        self.settle(yard, now);
    }
}
