//! Ports that trim: whatever the scheme and the policy, each packet that came left once, waits, or was dropped once, whole
//! or cut to the size that is set, and the counters say so.

use super::driver::{Op, SplitMix, Step};
use super::registered;
use std::collections::BTreeMap;
use switchbed_qdisc::schemes::definition::Choice;
use switchbed_qdisc::schemes::site::Site;
use switchbed_qdisc::switch::{BufferPolicy, POLICIES, Switch};
use switchbed_qdisc::trimming::{TrimMode, Trimming};
use switchbed_qdisc::{
    Arena, Cx, Dequeued, Enqueued, Outcome, Packet, Qdisc, QueueId, SlotId, SwitchMemory,
};
use switchbed_units::{Bytes, Time};

/// Queue of what is left of packets.
const LEFT: QueueId = 3;
/// Bytes that are left.
const SIZE: u32 = 128;
/// The class of what is left.
const DSCP: u8 = 7;

/// A port that trims, and how it is named.
pub struct Case {
    pub name: String,
    choice: Choice,
    switch: Switch,
}

/// Every scheme that leaves memory to the switch, under each policy, and under htsim's rule.
pub fn cases() -> Vec<Case> {
    let rules = POLICIES.iter().map(|of| (of.policy, TrimMode::Switch));
    let rules: Vec<_> = rules.chain([(BufferPolicy::Shared, TrimMode::Htsim)]).collect();
    let of = |choice: Choice| {
        rules.iter().map(move |&(policy, mode)| {
            let trimming = Trimming {
                size: Bytes::new(SIZE.into()),
                queues: Some(vec![0, 1]),
                queue: Some(LEFT),
                dscp: DSCP,
                host_dscp: None,
                mode,
            };
            let switch = Switch { trimming: Some(trimming), ..registered::switch(policy) };
            let name = format!("{}, policy = {}, {mode:?}", choice.about().name, policy.word());
            Case { name, choice: choice.clone(), switch }
        })
    };
    let cases: Vec<Case> =
        registered::choices().into_iter().map(of).flat_map(Vec::from_iter).collect();
    assert!(cases.len() > 100, "{} cases", cases.len());
    cases
}

/// A packet as it came, and in which queue it now waits.
#[derive(Clone, Copy)]
struct Came {
    packet: Packet,
    queue: Option<QueueId>,
}

struct Bed<'a> {
    name: &'a str,
    port: Box<dyn Qdisc>,
    arena: Arena,
    memory: SwitchMemory,
    rng: SplitMix,
    out: Outcome,
    now: Time,
    /// Packets in the port, by slot.
    inside: BTreeMap<usize, Came>,
    arrived: [u64; 2],
    left: [u64; 2],
    dropped: u64,
}

/// Runs a sequence on one port and lets it drain. Panics, naming the case, where the books are wrong.
pub fn check(case: &Case, steps: &[Step]) {
    let Case { name, choice, switch } = case;
    let site = Site::new(switch, None, 2, super::driver::RATE, Bytes::new(1_500));
    let port = choice.build(site).port();
    let mut bed = Bed {
        name,
        arena: Arena::new(),
        memory: switch.memory(1, Bytes::new(1_500)).behind(port.needs().memory),
        port,
        rng: SplitMix(7),
        out: Outcome::default(),
        now: Time::ZERO,
        inside: BTreeMap::new(),
        arrived: [0; 2],
        left: [0; 2],
        dropped: 0,
    };
    for step in steps {
        let until = bed.now + step.after;
        bed.send(until);
        bed.now = until;
        if let Op::Arrive(packet) = step.op {
            bed.arrive(packet);
        }
        bed.check();
    }
    bed.send(Time::NEVER);
    bed.check();
    assert!(bed.inside.is_empty(), "{name}: packets stay behind");
    assert_eq!((bed.arena.live(), bed.memory.used()), (0, Bytes::ZERO), "{name}");
    let counters = bed.port.state().counters();
    assert_eq!(counters.trims.trimmed, counters.trims.sent + counters.trims.dropped, "{name}");
}

impl Bed<'_> {
    fn act<T>(&mut self, act: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let Bed { port, arena, memory, rng, out, now, .. } = self;
        act(&mut **port, &mut Cx { now: *now, arena, memory, rng, out })
    }

    fn arrive(&mut self, packet: Packet) {
        let slot = self.arena.alloc(packet);
        self.arrived[0] += 1;
        self.arrived[1] += u64::from(packet.len_bytes);
        self.inside.insert(slot.index(), Came { packet, queue: None });
        match self.act(|port, cx| port.enqueue(slot, cx)) {
            // htsim's rule may have put the arrival in the place of another, whose queue this is.
            Enqueued::In(_) => {}
            Enqueued::Dropped(..) => {
                assert_eq!(*self.arena.packet(slot), packet, "{}: refused, and changed", self.name);
                self.lose(slot);
            }
        }
        self.take_out();
        while let Some(gone) = self.memory.expels(self.now, self.port.state()) {
            self.act(|port, cx| port.expel(gone.of.queue, gone.end, cx));
            self.take_out();
        }
        for (&slot, came) in &mut self.inside {
            came.queue = Some(self.arena.queue(SlotId::at(slot as u32)));
        }
    }

    fn lose(&mut self, slot: SlotId) {
        let lost = self.inside.remove(&slot.index());
        assert!(lost.is_some(), "{}: dropped a stranger", self.name);
        self.dropped += 1;
        self.arena.free(slot);
    }

    fn take_out(&mut self) {
        for dropped in std::mem::take(&mut self.out.dropped) {
            if !dropped.slot.is_none() {
                self.lose(dropped.slot);
            }
        }
        self.out.feedback.clear();
    }

    /// Sends what may leave before a time.
    fn send(&mut self, until: Time) {
        while self.port.state().packets() > 0 {
            let free = self.port.state().busy_until().max(self.now);
            if free > until {
                return;
            }
            self.now = free;
            match self.act(|port, cx| port.dequeue(cx)) {
                Dequeued::Sent { slot, queue, .. } => {
                    let came = self.inside.remove(&slot.index());
                    let Some(came) = came else { panic!("{}: sent a stranger", self.name) };
                    let packet = *self.arena.packet(slot);
                    self.fits(&came, &packet, queue);
                    self.left[0] += 1;
                    self.left[1] += u64::from(packet.len_bytes);
                    self.arena.free(slot);
                }
                Dequeued::NotBefore(at) => self.now = self.now.max(at.min(until)),
                // A packet that waited was dropped as it was to leave.
                Dequeued::Empty => {}
            }
            self.take_out();
        }
    }

    /// A packet is as it came, or cut: shorter, of another class, in the queue for that, once of an eligible queue.
    fn fits(&self, came: &Came, packet: &Packet, queue: QueueId) {
        let name = self.name;
        let whole = packet.len_bytes == came.packet.len_bytes && packet.class == came.packet.class;
        let cut = packet.len_bytes == came.packet.len_bytes.min(SIZE)
            && (packet.class, queue) == (DSCP, LEFT)
            && came.packet.class % 4 < 2;
        assert!(whole || cut, "{name}: {:?} became {packet:?} in {queue}", came.packet);
        assert_eq!(
            (packet.flow, packet.ingress),
            (came.packet.flow, came.packet.ingress),
            "{name}"
        );
    }

    fn check(&self) {
        let (name, state) = (self.name, self.port.state());
        let waits = |(&slot, came): (&usize, &Came)| {
            let (slot, queue) = (SlotId::at(slot as u32), came.queue.unwrap_or_default());
            let packet = *self.arena.packet(slot);
            self.fits(came, &packet, queue);
            u64::from(packet.len_bytes)
        };
        let bytes: u64 = self.inside.iter().map(waits).sum();
        assert_eq!(state.packets() as usize, self.inside.len(), "{name}: packets");
        assert_eq!(state.bytes(), Bytes::new(bytes), "{name}: bytes");
        assert_eq!(self.memory.used(), state.bytes(), "{name}: the pool");
        let counters = state.counters();
        assert_eq!([counters.arrived, counters.arrived_bytes], self.arrived, "{name}: arrivals");
        assert_eq!([counters.sent, counters.sent_bytes], self.left, "{name}: departures");
        assert_eq!(counters.dropped(), self.dropped, "{name}: drops");
        let trims = counters.trims;
        assert!(trims.trimmed >= trims.sent + trims.dropped, "{name}: {trims:?}");
    }
}
