//! What the ports must hold, kept from their answers alone: never from their counters.

use super::cases::Limits;
use super::spy::Seen;
use std::collections::VecDeque;
use std::sync::Mutex;
use switchbed_qdisc::memory::SwitchMemory;
use switchbed_qdisc::port::Dropped;
use switchbed_qdisc::port::view::{Counters, DropReason, PortState};
use switchbed_qdisc::{Arena, Ecn, Note, Packet, QueueId, SlotId};
use switchbed_units::{Bytes, Rate, Span, Time};

struct Item {
    slot: SlotId,
    step: usize,
    packet: Packet,
    note: Note,
}

/// One port's books.
pub struct PortModel {
    name: String,
    queues: Vec<VecDeque<Item>>,
    counters: Counters,
    busy_until: Time,
    rate: Rate,
    /// What whole picoseconds have not covered yet, times the rate.
    rest: u128,
}

/// All ports of the switch.
pub struct Model {
    name: String,
    pub ports: Vec<PortModel>,
}

impl PortModel {
    fn new(name: &str, queues: usize) -> Self {
        PortModel {
            name: name.to_owned(),
            queues: (0..queues).map(|_| VecDeque::new()).collect(),
            counters: Counters::default(),
            busy_until: Time::ZERO,
            rate: super::driver::RATE,
            rest: 0,
        }
    }

    pub fn set_rate(&mut self, rate: Rate) {
        (self.rate, self.rest) = (rate, 0);
    }

    /// The time that the next packet takes: all packets since the rate was set, rounded
    /// down together.
    fn takes(&mut self, bytes: u32) -> Span {
        self.rest += 8_000_000_000_000 * bytes as u128;
        let rate = self.rate.as_bps() as u128;
        let whole = self.rest / rate;
        self.rest %= rate;
        Span::from_ps(whole as u64)
    }

    pub fn arrived(&mut self, packet: &Packet) {
        self.counters.arrived += 1;
        self.counters.arrived_bytes += packet.len_bytes as u64;
    }

    pub fn lost(&mut self, packet: &Packet, why: DropReason) {
        self.counters.drops[why as usize] += 1;
        self.counters.dropped_bytes += packet.len_bytes as u64;
    }

    pub fn told(&mut self, messages: usize) {
        self.counters.notified += messages as u64;
    }

    fn items(&self) -> impl Iterator<Item = &Item> {
        self.queues.iter().flatten()
    }

    fn find(&mut self, slot: SlotId) -> Option<&mut Item> {
        self.queues.iter_mut().flatten().find(|item| item.slot == slot)
    }

    fn bytes(&self) -> u64 {
        self.items().map(|item| item.packet.len_bytes as u64).sum()
    }

    fn check(&self, state: &PortState) {
        let name = &self.name;
        assert_eq!(state.counters(), self.counters, "{name}: counters");
        assert_eq!(state.packets() as usize, self.items().count(), "{name}: packets queued");
        assert_eq!(state.bytes().get(), self.bytes(), "{name}: bytes queued");
        assert_eq!(state.rate(), self.rate, "{name}: rate");
        assert_eq!(state.busy_until(), self.busy_until, "{name}: busy until");
        for (q, items) in self.queues.iter().enumerate() {
            let bytes: u64 = items.iter().map(|item| item.packet.len_bytes as u64).sum();
            let id = q as QueueId;
            assert_eq!(state.queue_packets(id) as usize, items.len(), "{name}: packets of {q}");
            assert_eq!(state.queue_bytes(id).get(), bytes, "{name}: bytes of queue {q}");
            assert_eq!(state.backlogged().contains(id), !items.is_empty(), "{name}: queue {q}");
        }
    }
}

impl Model {
    pub fn new(name: &str, queues: usize) -> Self {
        let port = |_| PortModel::new(name, queues);
        Model { name: name.to_owned(), ports: (0..super::driver::PORTS).map(port).collect() }
    }

    /// A packet was stored, with the note that its scheme asked for; the scheme may have
    /// noted a mark on another besides.
    pub fn stored(
        &mut self,
        p: usize,
        queue: QueueId,
        slot: SlotId,
        step: usize,
        packet: Packet,
        seen: &Mutex<Seen>,
    ) {
        assert!(self.ports.iter_mut().all(|port| port.find(slot).is_none()), "a slot in use");
        let seen = seen.lock().unwrap();
        let port = &mut self.ports[p];
        let note = seen.arrival_note;
        port.queues[queue as usize].push_back(Item { slot, step, packet, note });
        if let Some(marked) = seen.marked_inside {
            port.find(marked).expect("a note on a queued packet").note = Note::Mark;
        }
    }

    /// A queued packet was dropped: it must have been there.
    pub fn removed(&mut self, p: usize, dropped: Dropped, seen: &Mutex<Seen>) -> usize {
        let inside = seen.lock().unwrap().inside.contains(&dropped.slot);
        let port = &mut self.ports[p];
        let items = &mut port.queues[dropped.queue as usize];
        let at = items.iter().position(|item| item.slot == dropped.slot);
        let at = at.unwrap_or_else(|| panic!("{}: dropped a stranger: {dropped:?}", self.name));
        let item = items.remove(at).expect("a position in the queue");
        assert!(
            matches!(dropped.why, DropReason::PushedOut | DropReason::AtDeparture),
            "{}: a queued packet lost to {:?}",
            self.name,
            dropped.why
        );
        assert!(
            dropped.why == DropReason::PushedOut || at == 0 || inside,
            "{}: dropped at departure, but not departing",
            self.name
        );
        port.lost(&item.packet, dropped.why);
        item.step
    }

    /// A packet was sent: the oldest of a queue, its CE the note's.
    #[allow(clippy::too_many_arguments)]
    pub fn sent(
        &mut self,
        p: usize,
        queue: QueueId,
        slot: SlotId,
        now: Time,
        until: Time,
        ecn: Ecn,
        marked: bool,
        seen: &Mutex<Seen>,
    ) -> usize {
        let name = &self.name;
        let port = &mut self.ports[p];
        assert!(now >= port.busy_until, "{name}: sent while the line was busy");
        let (note, inside) = {
            let seen = seen.lock().unwrap();
            (seen.final_note, seen.inside.contains(&slot))
        };
        let items = &mut port.queues[queue as usize];
        let at = items.iter().position(|item| item.slot == slot);
        let at = at.unwrap_or_else(|| panic!("{name}: sent what it did not have"));
        let item = items.remove(at).expect("a position in the queue");
        let overtaken = |other: &Item| !inside || other.packet.flow == item.packet.flow;
        let overtakes = items.iter().take(at).any(overtaken);
        assert!(!overtakes, "{name}: not first in, first out");

        let carried = note == Note::Mark && matches!(item.packet.ecn, Ecn::Ect0 | Ecn::Ect1);
        let expected = if carried { Ecn::Ce } else { item.packet.ecn };
        assert_eq!(ecn, expected, "{name}: ECN field of {:?} with {note:?}", item.packet);
        assert_eq!(marked, carried, "{name}: says it marked");
        port.counters.marked += carried as u64;
        port.counters.unmarkable += (note == Note::Mark && !item.packet.ecn.capable()) as u64;
        port.counters.sent += 1;
        port.counters.sent_bytes += item.packet.len_bytes as u64;
        port.busy_until = now + port.takes(item.packet.len_bytes);
        assert_eq!(until, port.busy_until, "{name}: the end of a transmission");
        item.step
    }

    /// Work conservation: nothing was sent, so nothing may be there that could have been.
    pub fn must_have_nothing_to_send(&self, p: usize) {
        let port = &self.ports[p];
        let stuck = port.queues.iter().position(|queue| !queue.is_empty());
        assert_eq!(stuck, None, "{}: a queue that could send did not", self.name);
    }

    pub fn check(&self, states: &[&PortState]) {
        for (port, state) in self.ports.iter().zip(states) {
            port.check(state);
        }
    }

    /// The arena's and the pool's books, the notes, and the limits.
    pub fn check_shared(&self, arena: &Arena, memory: &SwitchMemory, limits: &Limits) {
        let name = &self.name;
        let items = || self.ports.iter().flat_map(PortModel::items);
        assert_eq!(arena.live(), items().count(), "{name}: slots taken");
        let bytes: u64 = self.ports.iter().map(PortModel::bytes).sum();
        assert_eq!(memory.used(), Bytes::new(bytes), "{name}: memory");
        for item in items() {
            assert_eq!(arena.packet(item.slot), &item.packet, "{name}: a packet changed");
            assert_eq!(arena.note(item.slot), item.note, "{name}: a note changed");
        }
        for port in &self.ports {
            let limit = limits.port.unwrap_or(Bytes::MAX).get();
            assert!(port.bytes() <= limit, "{name}: the port overflows");
            for items in &port.queues {
                let bytes: u64 = items.iter().map(|item| item.packet.len_bytes as u64).sum();
                let limit = limits.queue.unwrap_or(Bytes::MAX).get();
                assert!(bytes <= limit, "{name}: a queue overflows");
            }
        }
    }
}
