//! A scheme around a scheme: it counts packets from the hooks alone and checks, at each
//! hook, that the view counts what the hook's comment says, that hooks come in order, and
//! that the answers name only what is there.

use super::cases::Case;
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use switchbed_qdisc::hooks::{Admission, Departure, Expulsion, Intent, Selection};
use switchbed_qdisc::memory::{At, Policy};
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::scheme::Stored;
use switchbed_qdisc::schemes::fairness::Share;
use switchbed_qdisc::{Needs, Note, Packet, QueueId, Random, Scheme, SlotId, View};
use switchbed_units::{Span, Time};

/// What the driver and the model hear of the scheme's wishes.
#[derive(Default)]
pub struct Seen {
    /// When periodic work is due next.
    pub next_tick: Time,
    /// The note that the last stored packet was to get.
    pub arrival_note: Note,
    /// The slot that was to be marked as the last packet was stored.
    pub marked_inside: Option<SlotId>,
    /// Packets that this departure selected from inside of a queue, whose flows are in order all the
    /// same.
    pub inside: Vec<SlotId>,
    /// The note on the packet sent last, after the scheme's verdict on its departure.
    pub final_note: Note,
}

/// What the port is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    Classified(QueueId),
    /// The wish, and whether the buffer has been asked.
    Intended(QueueId, Intent, bool),
    /// In its queue, and the scheduler has not heard of it.
    Stored(QueueId),
    Selected(QueueId),
    Departing(QueueId, Departure),
}

pub struct Spy {
    name: String,
    waits: bool,
    /// The port lets pass what it cannot mark.
    passes: bool,
    inner: Box<dyn Scheme + Send>,
    seen: Arc<Mutex<Seen>>,
    /// Packets and bytes of each queue, by the hooks.
    queued: Vec<(u32, u64)>,
    last: Cell<Time>,
    /// Since when the port has neither held nor sent a packet.
    empty_since: Time,
    /// How long that was when the arrival came that is being handled.
    idle: Span,
    phase: Cell<Phase>,
}

impl Spy {
    pub fn new(case: &Case, passes: bool, seen: Arc<Mutex<Seen>>) -> Self {
        let inner = (case.make)();
        seen.lock().unwrap().next_tick = inner.next_tick();
        Spy {
            name: case.name.clone(),
            waits: case.waits,
            passes,
            inner,
            seen,
            queued: vec![(0, 0); case.quanta.len()],
            last: Cell::new(Time::ZERO),
            empty_since: Time::ZERO,
            idle: Span::ZERO,
            phase: Cell::new(Phase::Idle),
        }
    }

    /// The view must show what the hooks said, and time must not run back.
    fn look(&self, view: &View) {
        let name = &self.name;
        assert!(view.now >= self.last.replace(view.now), "{name}: time runs back");
        let mut total = (0, 0);
        for (q, &(packets, bytes)) in (0..).zip(&self.queued) {
            let port = view.port;
            let shown = (port.queue_packets(q), port.queue_bytes(q).get());
            assert_eq!(shown, (packets, bytes), "{name}: the view of queue {q}");
            assert_eq!(view.slots(q).count(), packets as usize, "{name}: the list of queue {q}");
            total = (total.0 + packets, total.1 + bytes);
        }
        assert_eq!((view.port.packets(), view.port.bytes().get()), total, "{name}: the port");
        assert_eq!(view.idle(), self.idle, "{name}: how long the port had been idle");
    }

    fn enter(&self, phase: Phase) -> Phase {
        self.phase.replace(phase)
    }

    fn take(&mut self, view: &View, q: QueueId, packet: &Packet) {
        let queue = &mut self.queued[q as usize];
        *queue = (queue.0 - 1, queue.1 - packet.len_bytes as u64);
        self.empty_since = view.now.max(view.port.busy_until());
    }

    fn queued_here(&self, view: &View, slot: SlotId) {
        let mut queues = 0..self.queued.len() as QueueId;
        let there = queues.any(|q| view.slots(q).any(|other| other == slot));
        assert!(there, "{}: named a slot that is not queued", self.name);
    }
}

impl Scheme for Spy {
    fn classify(&mut self, view: &View, packet: &Packet) -> QueueId {
        let empty = self.queued.iter().all(|&(packets, _)| packets == 0);
        self.idle = if empty { view.now.since(self.empty_since) } else { Span::ZERO };
        self.look(view);
        let q = self.inner.classify(view, packet);
        assert!((q as usize) < self.queued.len(), "{}: no queue {q}", self.name);
        self.enter(Phase::Classified(q));
        q
    }

    fn intend(&self, view: &View, q: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        self.look(view);
        let intent = self.inner.intend(view, q, packet, rng);
        assert_eq!(self.enter(Phase::Intended(q, intent, false)), Phase::Classified(q));
        intent
    }

    fn admit(
        &mut self,
        view: &View,
        q: QueueId,
        packet: &Packet,
        rng: &mut dyn Random,
    ) -> Admission {
        self.look(view);
        match self.phase.get() {
            Phase::Intended(queue, intent, _) => {
                assert_eq!(queue, q);
                assert!(intent != Intent::Drop, "{}: dropped, yet asks for space", self.name);
                self.enter(Phase::Intended(q, intent, true));
            }
            other => panic!("{}: admit in {other:?}", self.name),
        }
        let admission = self.inner.admit(view, q, packet, rng);
        if let Admission::PushOut(slot) = admission {
            self.queued_here(view, slot);
        }
        admission
    }

    fn stored(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        intent: Intent,
        rng: &mut dyn Random,
    ) -> Stored {
        let packet = *view.arena.packet(slot);
        let queue = &mut self.queued[q as usize];
        *queue = (queue.0 + 1, queue.1 + packet.len_bytes as u64);
        self.look(view);
        let before = self.enter(Phase::Stored(q));
        assert_eq!(before, Phase::Intended(q, intent, true), "{}", self.name);
        let may_mark = packet.ecn.capable() || self.passes;
        assert!(intent == Intent::Pass || may_mark, "{}: not capable", self.name);
        assert_eq!(view.slots(q).last(), Some(slot), "{}: not at the tail", self.name);
        assert_eq!(view.arena.arrived(slot), view.now, "{}: arrival time", self.name);
        let stored = self.inner.stored(view, q, slot, intent, rng);
        self.idle = Span::ZERO;
        stored.mark.into_iter().for_each(|other| self.queued_here(view, other));
        let mut seen = self.seen.lock().unwrap();
        seen.arrival_note = if intent == Intent::Mark { Note::Mark } else { Note::Clear };
        seen.marked_inside = stored.mark;
        stored
    }

    fn enqueued(&mut self, view: &View, q: QueueId, packet: &Packet) {
        self.look(view);
        match self.phase.get() {
            Phase::Stored(queue) => {
                assert_eq!(queue, q, "{}", self.name);
                self.enter(Phase::Idle);
            }
            // It would have passed through, and is dropped as it leaves.
            Phase::Departing(queue, Departure::Drop) => assert_eq!(queue, q, "{}", self.name),
            other => panic!("{}: enqueued in {other:?}", self.name),
        }
        self.inner.enqueued(view, q, packet);
    }

    fn refused(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason) {
        self.look(view);
        let Phase::Intended(_, intent, asked) = self.enter(Phase::Idle) else {
            panic!("{}: refused out of turn", self.name)
        };
        // RFC 3168: a mark that cannot be carried is a drop; and a marker's drop displaces
        // nothing, so the buffer was never asked.
        let early = match intent {
            Intent::Pass => None,
            Intent::Mark if packet.ecn.capable() || self.passes => None,
            Intent::Mark => Some(DropReason::NotEcnCapable),
            Intent::Drop => Some(DropReason::Early),
        };
        assert_eq!(asked, early.is_none(), "{}: the buffer was asked", self.name);
        assert!(early.is_none_or(|early| early == why), "{}: refused for {why:?}", self.name);
        self.inner.refused(view, q, packet, why);
        self.idle = Span::ZERO;
    }

    fn removed(&mut self, view: &View, q: QueueId, packet: &Packet, why: DropReason) {
        self.take(view, q, packet);
        self.look(view);
        match self.phase.get() {
            // By the buffer for an arrival, or expelled.
            Phase::Intended(_, _, true) | Phase::Idle => assert_eq!(why, DropReason::PushedOut),
            Phase::Departing(queue, verdict) => {
                assert_eq!((queue, verdict), (q, Departure::Drop), "{}", self.name);
                assert_eq!(why, DropReason::AtDeparture);
                self.enter(Phase::Idle);
            }
            other => panic!("{}: removed in {other:?}", self.name),
        }
        self.inner.removed(view, q, packet, why);
    }

    fn select(&mut self, view: &View) -> Selection {
        self.look(view);
        assert!(view.now >= view.port.busy_until(), "{}: the line is busy", self.name);
        let selection = self.inner.select(view);
        let backlogged = view.port.backlogged();
        match selection {
            Selection::Queue(q) => {
                assert!(backlogged.contains(q), "{}: {q} may not send", self.name);
                self.enter(Phase::Selected(q));
            }
            Selection::Packet(slot) => {
                self.queued_here(view, slot);
                self.seen.lock().unwrap().inside.push(slot);
                self.enter(Phase::Selected(view.arena.queue(slot)));
            }
            Selection::Empty => assert!(backlogged.is_empty(), "{}: idles", self.name),
            Selection::NotBefore(time) => {
                assert!(self.waits && time > view.now, "{}: waits", self.name);
            }
        }
        selection
    }

    fn depart(
        &mut self,
        view: &View,
        q: QueueId,
        slot: SlotId,
        note: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        self.look(view);
        let inside = self.seen.lock().unwrap().inside.last().copied();
        assert_eq!(inside.unwrap_or(view.head(q)), slot, "{}: not the head", self.name);
        assert_eq!(view.arena.note(slot), note, "{}: not its note", self.name);
        let verdict = self.inner.depart(view, q, slot, note, rng);
        let before = self.enter(Phase::Departing(q, verdict));
        assert!(before == Phase::Selected(q) || before == Phase::Stored(q), "{}", self.name);
        self.seen.lock().unwrap().final_note = match verdict {
            Departure::Mark => Note::Mark,
            Departure::Unmark => Note::Clear,
            Departure::Pass | Departure::Drop => note,
        };
        verdict
    }

    fn served(&mut self, view: &View, q: QueueId, packet: &Packet, until: Time) {
        self.take(view, q, packet);
        self.look(view);
        assert_eq!(until, view.port.busy_until(), "{}: until", self.name);
        match self.enter(Phase::Idle) {
            Phase::Departing(queue, verdict) => {
                assert!(queue == q && verdict != Departure::Drop, "{}", self.name);
            }
            other => panic!("{}: served in {other:?}", self.name),
        }
        self.inner.served(view, q, packet, until);
    }

    fn passes(&self, view: &View, q: QueueId, packet: &Packet) -> bool {
        self.look(view);
        assert!(matches!(self.phase.get(), Phase::Intended(queue, _, true) if queue == q));
        self.inner.passes(view, q, packet)
    }

    fn passed(&mut self, view: &View, q: QueueId, packet: &Packet, until: Time) {
        self.take(view, q, packet);
        self.look(view);
        assert_eq!(until, view.port.busy_until(), "{}: until", self.name);
        match self.enter(Phase::Idle) {
            Phase::Departing(queue, verdict) => {
                assert!(queue == q && verdict != Departure::Drop, "{}", self.name);
            }
            other => panic!("{}: passed in {other:?}", self.name),
        }
        self.inner.passed(view, q, packet, until);
    }

    fn next_tick(&self) -> Time {
        self.inner.next_tick()
    }

    fn tick(&mut self, view: &View) {
        self.look(view);
        assert_eq!(self.phase.get(), Phase::Idle, "{}: ticks amid an operation", self.name);
        self.inner.tick(view);
        let next = self.inner.next_tick();
        assert!(next > view.now, "{}: a tick that is due again", self.name);
        self.seen.lock().unwrap().next_tick = next;
    }

    fn set_share(&mut self, class: u8, share: Share) {
        self.inner.set_share(class, share);
    }
    fn asks_memory(&self) -> bool {
        self.inner.asks_memory()
    }
    fn needs(&self) -> Needs {
        self.inner.needs()
    }
    fn threshold_bytes(&self, view: &View, q: QueueId) -> Option<f64> {
        self.inner.threshold_bytes(view, q)
    }
    fn round_time(&self) -> Option<Span> {
        self.inner.round_time()
    }
}

/// A policy that checks what the ports tell of their packets.
#[derive(Debug)]
pub struct PolicySpy {
    name: String,
    inner: Box<dyn Policy>,
    /// Bytes of each queue, by port.
    lengths: Vec<Vec<u64>>,
}

impl PolicySpy {
    pub fn new(name: &str, inner: Box<dyn Policy>, ports: usize, queues: usize) -> Self {
        PolicySpy { name: name.to_owned(), inner, lengths: vec![vec![0; queues]; ports] }
    }

    /// The port must show what it has told, and the memory's use be the sum over all ports.
    fn look(&self, at: &At) {
        let name = &self.name;
        for (queue, &bytes) in (0..).zip(&self.lengths[at.number()]) {
            assert_eq!(at.port.queue_bytes(queue).get(), bytes, "{name}: queue {queue}");
        }
        let all: u64 = self.lengths.iter().flatten().sum();
        assert_eq!(at.used.get(), all, "{name}: the memory's use");
    }

    fn gone(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.lengths[at.number()][usize::from(queue)] -= u64::from(packet.len_bytes);
        self.look(at);
    }
}

impl Policy for PolicySpy {
    fn hears(&self) -> bool {
        // Whatever the policy says: the spy checks what is told.
        true
    }

    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        self.look(at);
        let admission = self.inner.admit(at, queue, packet);
        assert_ne!(admission, Admission::Ask, "{}: leaves it to others", self.name);
        admission
    }

    fn full(&self, at: &At, queue: QueueId, packet: &Packet) -> bool {
        self.look(at);
        self.inner.full(at, queue, packet)
    }

    fn stored(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.lengths[at.number()][usize::from(queue)] += u64::from(packet.len_bytes);
        self.look(at);
        if self.inner.hears() {
            self.inner.stored(at, queue, packet);
        }
    }

    fn refused(&mut self, packet: &Packet, why: DropReason) {
        self.inner.refused(packet, why);
    }

    fn removed(&mut self, at: &At, queue: QueueId, packet: &Packet, why: DropReason) {
        self.gone(at, queue, packet);
        self.inner.removed(at, queue, packet, why);
    }

    fn sent(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.gone(at, queue, packet);
        self.inner.sent(at, queue, packet);
    }

    fn passed(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.look(at);
        self.inner.passed(at, queue, packet);
    }

    fn rate_changes(&mut self, at: &At) {
        self.look(at);
        self.inner.rate_changes(at);
    }

    fn expels(&mut self, at: &At) -> Option<Expulsion> {
        self.look(at);
        let expulsion = self.inner.expels(at)?;
        let of = expulsion.of;
        let bytes = self.lengths[of.port as usize][usize::from(of.queue)];
        assert!(bytes > 0, "{}: expels from an empty queue", self.name);
        Some(expulsion)
    }
}
