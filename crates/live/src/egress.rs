//! A port's way out: its scheme, the token bucket, and the link behind it.
//!
//! The bucket is a line of its own time. A departure takes place when the line is free,
//! however late the thread wakes, and the scheme is given that time; so it decides as it
//! would in the simulator, which settles its ports in the same way. The line lags behind
//! the clock by at most what the bucket holds, and never when it has nothing to send: an
//! idle port saves nothing up.

use crate::capture::{Fate, Taps, Way};
use crate::frames::Frames;
use crate::random::Stream;
use crate::stats::{Counts, DscpStats, Lengths, Tally};
use std::collections::VecDeque;
use switchbed_qdisc::hooks::End;
use switchbed_qdisc::port::pauses::Guard;
use switchbed_qdisc::port::view::{Counters, DropReason, PortState};
use switchbed_qdisc::{
    Cx, Driver, Ecn, Note, Outcome, Packet, Qdisc, QueueId, SlotId, SwitchMemory, View, Wire,
};
use switchbed_units::{Rate, Span, Time};
use switchbed_wire::pfc::{self, LENGTH, Quanta};
use switchbed_wire::{Mac, cnm};

/// State that all ports of a switch share.
pub struct Shared {
    /// Frames that the ports hold.
    pub frames: Frames,
    /// The memory that the ports share.
    pub memory: SwitchMemory,
    /// Random numbers for all schemes.
    pub rng: Stream,
    out: Outcome,
    /// Properties of trimmed frames, where ports trim.
    pub trimmed: Option<Trimmed>,
    /// Messages to the sources of frames: the port that these came in by, and the message.
    pub notices: Vec<(u16, Vec<u8>)>,
    /// Captures of what the ports do.
    pub taps: Taps,
}

/// Properties of a trimmed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimmed {
    /// Bytes that are left of it.
    pub size: usize,
    /// DSCP that it gets.
    pub dscp: u8,
}

/// The station that messages come from: locally administered, and nobody's.
const OURS: Mac = Mac([0x02, 0x5b, 0xff, 0xff, 0xff, 0xff]);

impl Shared {
    /// Makes the state of an empty switch.
    pub fn new(memory: SwitchMemory, rng: Stream) -> Shared {
        let frames = Frames::default();
        let (out, trimmed, notices) = (Outcome::default(), None, Vec::new());
        Shared { frames, memory, rng, out, trimmed, notices, taps: Taps::default() }
    }
}

/// How fast a port sends, and what is behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Rate at which the port sends.
    pub rate: Rate,
    /// How late it may be and still make up for it.
    pub bucket: Span,
    /// From a frame's last bit to its delivery.
    pub delay: Span,
}

/// Sending side of a port.
pub struct Egress {
    /// Number of the port in the switch.
    port: u16,
    driver: Driver,
    pace: Pace,
    /// Frames on the link, by the time of their delivery.
    flight: VecDeque<(Time, SlotId)>,
    /// Totals of the schemes that the port had before this one.
    past: Counters,
    lengths: Lengths,
    /// Counts by queue, of as many as the port ever had.
    tallies: Vec<Tally>,
    /// Counts by DSCP.
    dscps: Box<[Counts; 64]>,
}

/// Environment of a port during one operation.
struct Line<'a> {
    port: u16,
    shared: &'a mut Shared,
    flight: &'a mut VecDeque<(Time, SlotId)>,
    lengths: &'a mut Lengths,
    tallies: &'a mut [Tally],
    dscps: &'a mut [Counts; 64],
    delay: Span,
    /// Quanta of the frame of flow control that is being sent.
    control: Option<Quanta>,
}

impl Wire for Line<'_> {
    fn cx(&mut self, now: Time) -> Cx<'_> {
        Cx {
            now,
            arena: self.shared.frames.arena(),
            memory: &mut self.shared.memory,
            rng: &mut self.shared.rng,
            out: &mut self.shared.out,
        }
    }

    fn outcome(&mut self) -> &mut Outcome {
        &mut self.shared.out
    }

    fn sent(&mut self, slot: SlotId, marked: bool, now: Time, until: Time) {
        let trimmed = self.trimmed_from(slot);
        if marked {
            self.shared.frames.mark(slot);
        }
        if let Some(Trimmed { dscp, .. }) = self.shared.trimmed {
            self.shared.frames.trim(slot, dscp);
        }
        let packets = self.shared.frames.packets();
        let (queue, delay) = (packets.queue(slot), now.since(packets.arrived(slot)));
        if self.control.is_none() {
            let bytes = self.shared.frames.bytes(slot).len();
            let left = self.lengths.now(queue);
            self.tallies[usize::from(queue)].sent(bytes, marked, delay, left);
            if let Some(dscp) = self.shared.frames.dscp(slot) {
                self.dscps[usize::from(dscp)].sent(bytes, marked);
            }
        }
        if !self.shared.taps.is_empty() {
            self.show(
                slot,
                now,
                match self.control {
                    Some(quanta) => Fate::Pause { way: Way::Out, quanta },
                    None => Fate::Sent { queue, delay, marked, trimmed },
                },
            );
        }
        self.flight.push_back((until + self.delay, slot));
    }

    fn lost(&mut self, slot: SlotId) {
        self.shared.frames.free(slot);
    }

    fn dropped(&mut self, slot: SlotId, queue: QueueId, why: DropReason, now: Time) {
        self.tallies[usize::from(queue)].counts.dropped(why);
        if let Some(dscp) = self.shared.frames.dscp(slot) {
            self.dscps[usize::from(dscp)].dropped(why);
        }
        if !self.shared.taps.is_empty() {
            // Only for these reasons does a port drop what it had let in.
            let waited = matches!(why, DropReason::PushedOut | DropReason::AtDeparture);
            let arrived = self.shared.frames.packets().arrived(slot);
            let delay = waited.then(|| now.since(arrived));
            let trimmed = self.trimmed_from(slot);
            self.show(slot, now, Fate::Dropped { queue, delay, why, trimmed });
        }
        self.lost(slot);
    }

    /// Makes frames of the scheme's messages to the source of the frame that was just stored.
    fn feedback(&mut self, slot: SlotId, _: Time) {
        let Shared { frames, out, notices, .. } = &mut *self.shared;
        let packets = frames.packets();
        let (queue, ingress) = (packets.queue(slot), packets.packet(slot).ingress);
        for feedback in out.feedback.drain(..) {
            let message = cnm::Notification {
                quantized: feedback.quantized,
                point: u64::from(queue),
                offset_bytes: feedback.offset_bytes,
                delta_bytes: feedback.delta_bytes,
            };
            if let Some(frame) = cnm::build(OURS, &message, frames.bytes(slot)) {
                notices.push((ingress, frame));
            }
        }
    }

    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState, _: Time) {
        self.lengths.change(now, queue, state);
    }
}

impl Line<'_> {
    /// The length of a frame before its port trimmed it.
    fn trimmed_from(&self, slot: SlotId) -> Option<u32> {
        let frames = &self.shared.frames;
        let trimmed = frames.packets().note(slot) == Note::Trimmed;
        trimmed.then(|| frames.bytes(slot).len() as u32)
    }

    /// Shows a frame to those who capture.
    fn show(&mut self, slot: SlotId, now: Time, fate: Fate) {
        let Shared { frames, taps, .. } = &mut *self.shared;
        taps.see(now, self.port, fate, frames.bytes(slot));
    }
}

impl Egress {
    /// Makes an idle port of this number around a scheme.
    pub fn new(port: u16, qdisc: Box<dyn Qdisc>, pace: Pace) -> Egress {
        let queues = qdisc.state().queues();
        let (lengths, tallies) = (Lengths::new(queues), vec![Tally::default(); queues]);
        let mut driver = Driver::new(qdisc);
        driver.watch();
        let (flight, past) = (VecDeque::new(), Counters::default());
        let dscps = Box::new([Counts::default(); 64]);
        Egress { port, driver, pace, flight, past, lengths, tallies, dscps }
    }

    /// Borrows the scheme at work.
    pub fn qdisc(&self) -> &dyn Qdisc {
        self.driver.port()
    }
    /// Returns the rate and what goes with it.
    pub fn pace(&self) -> Pace {
        self.pace
    }
    /// Returns the port's totals since the switch began.
    pub fn counters(&self) -> Counters {
        self.past.with(&self.qdisc().state().counters())
    }
    /// How long its queues were.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Packets that a queue has sent and dropped.
    pub fn tally(&self, queue: QueueId) -> Tally {
        self.tallies[usize::from(queue)]
    }

    /// Packets that were sent and dropped, by the DSCPs that have some.
    pub fn dscps(&self) -> Vec<DscpStats> {
        let each = (0..).zip(self.dscps.iter());
        let each = each.filter(|(_, counts)| **counts != Counts::default());
        each.map(|(dscp, &counts)| DscpStats { dscp, counts }).collect()
    }

    /// When something happens here next.
    pub fn next(&self) -> Time {
        self.driver.due().min(self.flight.front().map_or(Time::NEVER, |&(at, _)| at))
    }

    /// Does something with the port and its line.
    fn act(&mut self, shared: &mut Shared, act: impl FnOnce(&mut Driver, &mut Line<'_>)) {
        let Egress { port, driver, pace, flight, lengths, tallies, dscps, .. } = self;
        let (port, delay, control) = (*port, pace.delay, None);
        act(driver, &mut Line { port, shared, flight, lengths, tallies, dscps, delay, control });
    }

    /// The departures that are due by `now`, each at its own time, or as late as the
    /// bucket allows.
    pub fn settle(&mut self, shared: &mut Shared, now: Time) {
        let earliest = Time::from_ps(now.as_ps().saturating_sub(self.pace.bucket.as_ps()));
        self.act(shared, |driver, line| driver.settle_late(line, now, earliest));
    }

    /// An arrival at a settled port, which is asked for a departure after it if the line
    /// is free.
    pub fn enqueue(&mut self, shared: &mut Shared, slot: SlotId, now: Time) {
        self.act(shared, |driver, line| driver.arrive(slot, line, now));
    }

    /// Drops the frame at an end of a queue.
    pub fn expel(&mut self, shared: &mut Shared, queue: QueueId, end: End, now: Time) {
        self.act(shared, |driver, line| driver.expel(queue, end, line, now));
    }

    /// When a frame of flow control may be put on the line, where that is promised to over so many bytes
    /// already.
    pub fn later(&self, promised: u32, now: Time) -> Option<Time> {
        let promised = self.pace.rate.tx_time(promised);
        let ahead = self.driver.busy_until().since(now);
        (ahead > promised).then(|| now + (ahead - promised))
    }

    /// Sends the peer a frame of flow control, behind the frame that a settled port's line is busy with.
    pub fn control(&mut self, shared: &mut Shared, quanta: Quanta, now: Time) {
        let packet = Packet { len_bytes: LENGTH as u32, ingress: self.port, ..Packet::default() };
        let slot = shared.frames.store(packet, &pfc::build(OURS, &quanta), None);
        self.act(shared, |driver, line| {
            line.control = Some(quanta);
            driver.control(slot, LENGTH as u32, line, now);
        });
    }

    /// The peer pauses a queue of a settled port until a time.
    pub fn pause(&mut self, queue: QueueId, until: Time, now: Time) {
        self.driver.pause(queue, now, until, now);
    }

    /// Prepares the port for pauses of its peer, with a watchdog.
    pub fn guard(&mut self, guard: Option<Guard>) {
        // Nobody asks when exactly a queue was held.
        self.driver.remember(0);
        if let Some(guard) = guard {
            self.driver.guard(guard);
        }
    }

    /// The next frame that has reached the link's end; the slot is the caller's.
    pub fn landed(&mut self, now: Time) -> Option<SlotId> {
        self.flight.pop_front_if(|&mut (at, _)| at <= now).map(|(_, slot)| slot)
    }

    /// Puts another scheme, or the same with other settings, in the place of the one at
    /// work. What is queued stays, in its order of arrival, with its marks; frames on the
    /// link are not touched. Frames that the new port trims become as `trimmed` says. `prepare`
    /// sets up the new port before anything is stored there.
    pub fn replace(
        &mut self,
        shared: &mut Shared,
        now: Time,
        (port, pace, trimmed): (Box<dyn Qdisc>, Pace, Option<Trimmed>),
        prepare: impl FnOnce(&mut Self),
    ) {
        self.settle(shared, now);
        let mut queued = Vec::new();
        let (state, arena) = (self.driver.port().state(), shared.frames.packets());
        let view = View::new(now, state, &shared.memory, arena);
        for queue in 0..state.queues() as QueueId {
            queued.extend(view.slots(queue).map(|slot| (arena.arrived(slot), slot)));
        }
        // A stable sort: of one instant's frames those of the lower queue go first.
        queued.sort_by_key(|&(arrived, _)| arrived);

        shared.memory.give_back(state.bytes());
        // Frames that are queued arrive once more, at the new port.
        self.past = self.past.with(&state.counters());
        self.past.arrived -= u64::from(state.packets());
        self.past.arrived_bytes -= state.bytes().get();
        self.lengths.close(now);
        self.lengths = Lengths::new(port.state().queues());
        let queues = port.state().queues().max(self.tallies.len());
        self.tallies.resize(queues, Tally::default());
        self.driver.replace(port, now);
        self.pace = pace;
        prepare(self);
        // The new port's line was never busy: what the old one still sends ends first.
        for (_, slot) in queued {
            if shared.frames.packets().note(slot) == Note::Mark {
                let ecn = &mut shared.frames.arena().packet_mut(slot).ecn;
                if matches!(*ecn, Ecn::Ect0 | Ecn::Ect1) {
                    *ecn = Ecn::Ce;
                    shared.frames.mark(slot);
                    self.past.marked += 1;
                }
            }
            if let Some(Trimmed { dscp, .. }) = shared.trimmed {
                shared.frames.trim(slot, dscp);
            }
            let slot = shared.frames.renew(slot);
            if let Some(Trimmed { size, .. }) = trimmed {
                shared.frames.protect(slot, size);
            }
            self.act(shared, |driver, line| driver.store(slot, line, now));
        }
        // Other ports still hold frames that were trimmed by the rules of before.
        let before = std::mem::replace(&mut shared.trimmed, trimmed);
        self.settle(shared, now);
        shared.trimmed = before;
    }
}
