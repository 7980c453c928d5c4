//! A fair queue over flows in front of a host's line, as Linux's `fq` (net/sched/sch_fq.c): flows
//! take turns of two packets, a new one's first turn is ten and comes before the others', and a
//! packet waits for the time that its sender gives it (pacing).
//!
//! This is no scheme of a switch: it knows flows, has one queue in the port's books, and marks
//! nothing. What is handed over as one segment takes one place of the limits and leaves in one
//! piece. Not modelled: the three bands of 6.7 and later, the horizon, the timer's slack.

use crate::memory::SwitchMemory;
use crate::port::arena::{Arena, Cargo, List, SlotId};
use crate::port::packet::{FlowId, QueueId};
use crate::port::view::{DropReason, PortState};
use crate::port::{Cx, Dequeued, Enqueued, Passed, Qdisc};
use crate::scheme::Needs;
use crate::schemes::fairness::Share;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use switchbed_units::{Bytes, Rate, Span, Time};

/// Most segments queued, and of one flow (`limit`, `flow_limit`).
const LIMIT: u32 = 10_000;
const FLOW_LIMIT: u32 = 100;
/// A flow that was away for longer has a turn's credit at least (`refill_delay`).
const REFILL: Span = Span::from_ms(40);
/// A flow that was away for so long is forgotten.
const FORGOTTEN: Span = Span::from_ms(3_000);

/// Properties of a packet that its sender states as it hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Earliest departure time.
    pub not_before: Time,
    /// Whether it belongs to the same segment as the flow's packet before it.
    pub joined: bool,
}

/// A port with such a queue.
pub struct FairQueue {
    state: PortState,
    /// Where the caller keeps a packet's terms.
    terms: fn(&Cargo) -> Terms,
    quantum: i64,
    initial: i64,
    segments: u32,
    /// Where flows are; only ever asked for one.
    places: HashMap<FlowId, usize>,
    flows: Vec<Flow>,
    free: Vec<usize>,
    /// Flows in turn: those that have just come, then the others.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Flows whose next packet is due later.
    later: BinaryHeap<Reverse<(Time, usize)>>,
    /// Flows without packets and since when, the longest first. Those that came back stay here.
    away: VecDeque<(Time, usize)>,
    /// The flow that sent last: the rest of its segment goes on.
    last: Option<usize>,
}

struct Flow {
    id: FlowId,
    packets: List,
    segments: u32,
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// Since when the flow has had neither packets nor a turn.
    away: Option<Time>,
    /// Whether the last segment that came found no space: then its rest is refused, too.
    refused: bool,
}

impl FairQueue {
    /// In front of a line of this rate, for packets of up to `mtu`.
    pub fn new(rate: Rate, mtu: Bytes, terms: fn(&Cargo) -> Terms) -> FairQueue {
        let mtu = mtu.get() as i64;
        FairQueue {
            // One queue whose quantum nobody reads: rounds are among flows, which the port's books
            // do not know.
            state: PortState::new(rate, &[Bytes::new(1)]),
            terms,
            quantum: 2 * mtu,
            initial: 10 * mtu,
            segments: 0,
            places: HashMap::new(),
            flows: Vec::new(),
            free: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            later: BinaryHeap::new(),
            away: VecDeque::new(),
            last: None,
        }
    }

    /// Forgets the flows that have been away for long.
    fn forget(&mut self, now: Time) {
        while let Some(&(since, place)) = self.away.front()
            && now.since(since) >= FORGOTTEN
        {
            self.away.pop_front();
            // An older entry of a flow that has come back since; its newer entry follows if it left
            // again.
            if self.flows[place].away == Some(since) {
                self.places.remove(&self.flows[place].id);
                self.flows[place].away = None;
                self.free.push(place);
            }
        }
    }

    /// The place of a flow, which is given one.
    fn place(&mut self, id: FlowId, now: Time) -> usize {
        if let Some(&place) = self.places.get(&id) {
            return place;
        }
        let flow = Flow {
            id,
            packets: List::EMPTY,
            segments: 0,
            // `initial_quantum` of sch_fq: ten packets, the initial window of RFC 6928.
            credit: self.initial,
            away: Some(now),
            refused: false,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.flows[place] = flow;
                place
            }
            None => {
                self.flows.push(flow);
                self.flows.len() - 1
            }
        };
        self.places.insert(id, place);
        // A flow whose first packet is refused is forgotten by this entry alone.
        self.away.push_back((now, place));
        place
    }

    /// The next packet that may go now, and its flow; or when to ask again.
    fn next(&mut self, arena: &Arena, now: Time) -> Result<(usize, SlotId), Dequeued> {
        // A segment that the card split (TSO) leaves in one piece, whatever the turns.
        if let Some(place) = self.last
            && let head = self.flows[place].packets.head
            && !head.is_none()
            && (self.terms)(arena.cargo(head)).joined
        {
            return Ok((place, head));
        }
        while let Some(&Reverse((at, place))) = self.later.peek()
            && at <= now
        {
            self.later.pop();
            // At the end of the old flows, as `fq_flow_unset_throttled` does; `old` keeps no order
            // of due times.
            self.old.push_back(place);
        }
        loop {
            let fresh = !self.new.is_empty();
            let turns = if fresh { &mut self.new } else { &mut self.old };
            let Some(&place) = turns.front() else {
                let due = self.later.peek().map(|&Reverse((at, _))| at);
                return Err(due.map_or(Dequeued::Empty, Dequeued::NotBefore));
            };
            let flow = &mut self.flows[place];
            // The debt of a turn that ended within a packet is paid from the next one
            // (`fq_dequeue`).
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                turns.pop_front();
                self.old.push_back(place);
                continue;
            }
            let head = flow.packets.head;
            if head.is_none() {
                turns.pop_front();
                // A flow that has just come gives way to the others before it is new again.
                if fresh && !self.old.is_empty() {
                    self.old.push_back(place);
                } else {
                    flow.away = Some(now);
                    self.away.push_back((now, place));
                }
                continue;
            }
            let due = (self.terms)(arena.cargo(head)).not_before;
            if due <= now {
                return Ok((place, head));
            }
            // Out of the turns until it is due, as Linux's `delayed` tree has it: it blocks no
            // other flow.
            turns.pop_front();
            self.later.push(Reverse((due, place)));
        }
    }
}

impl Qdisc for FairQueue {
    fn enqueue(&mut self, slot: SlotId, cx: &mut Cx) -> Enqueued {
        self.forget(cx.now);
        let packet = *cx.arena.packet(slot);
        let len = u64::from(packet.len_bytes);
        let Terms { joined, .. } = (self.terms)(cx.arena.cargo(slot));
        let place = self.place(packet.flow, cx.now);
        let flow = &mut self.flows[place];
        // Decided by the first packet: a segment is queued as a whole or not at all.
        if !joined {
            flow.refused = self.segments >= LIMIT || flow.segments >= FLOW_LIMIT;
        }
        if flow.refused {
            self.state.seldom.drops[DropReason::Full as usize] += 1;
            self.state.seldom.dropped_bytes += len;
            return Enqueued::Dropped(0, DropReason::Full);
        }
        if let Some(since) = flow.away.take() {
            // `flow_refill_delay`: a flow that pauses for less cannot gain by it.
            if cx.now.since(since) > REFILL {
                flow.credit = flow.credit.max(self.quantum);
            }
            self.new.push_back(place);
        }
        flow.segments += u32::from(!joined);
        self.segments += u32::from(!joined);
        flow.packets.push_back(cx.arena, slot);
        let place = cx.arena.slot_mut(slot);
        (place.queue, place.arrived) = (0, cx.now);
        let queue = &mut self.state.queues[0];
        (queue.packets, queue.bytes) = (queue.packets + 1, queue.bytes + len);
        self.state.backlogged.insert(0);
        (self.state.packets, self.state.bytes) = (self.state.packets + 1, self.state.bytes + len);
        cx.memory.take(Bytes::new(len));
        Enqueued::In(0)
    }

    fn dequeue(&mut self, cx: &mut Cx) -> Dequeued {
        debug_assert!(cx.now >= self.state.busy_until, "the line is busy");
        let (place, slot) = match self.next(cx.arena, cx.now) {
            Ok(next) => next,
            Err(none) => return none,
        };
        let len_bytes = cx.arena.packet(slot).len_bytes;
        let len = u64::from(len_bytes);
        let first = !(self.terms)(cx.arena.cargo(slot)).joined;
        let flow = &mut self.flows[place];
        flow.packets.unlink(cx.arena, slot);
        flow.credit -= i64::from(len_bytes);
        flow.segments -= u32::from(first);
        self.segments -= u32::from(first);
        self.last = Some(place);
        let queue = &mut self.state.queues[0];
        (queue.packets, queue.bytes) = (queue.packets - 1, queue.bytes - len);
        (self.state.packets, self.state.bytes) = (self.state.packets - 1, self.state.bytes - len);
        if self.state.packets == 0 {
            self.state.backlogged.remove(0);
        }
        cx.memory.give_back(Bytes::new(len));
        let until = cx.now + self.state.line.transmit(len_bytes);
        self.state.busy_until = until;
        self.state.sent += 1;
        self.state.sent_bytes += len;
        Dequeued::Sent { slot, queue: 0, until, marked: false }
    }

    fn pass(&mut self, slot: SlotId, cx: &mut Cx) -> Passed {
        // Always stored: pacing may hold a packet back even where the line is free.
        match self.enqueue(slot, cx) {
            Enqueued::In(queue) => Passed::Stored(queue),
            Enqueued::Dropped(queue, why) => Passed::Dropped(queue, why),
        }
    }

    fn settle(&mut self, _: &mut Cx) {}

    fn state(&self) -> &PortState {
        &self.state
    }

    fn set_rate(&mut self, rate: Rate, _: &mut Cx) {
        self.state.set_rate(rate);
    }

    fn set_share(&mut self, _: u8, _: Share, _: &mut Cx) {}

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn threshold_bytes(&self, _: Time, _: &Arena, _: &SwitchMemory, _: QueueId) -> Option<f64> {
        None
    }

    fn round_time(&self) -> Option<Span> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Outcome;
    use crate::port::packet::Packet;
    use switchbed_units::random::NoRandom;

    /// A card of 1500-byte packets at 12 Gbps: a microsecond each.
    struct Bed {
        card: FairQueue,
        arena: Arena,
        memory: SwitchMemory,
        out: Outcome,
    }

    /// Terms as these tests keep them: a time in ns, and whether it is joined.
    fn terms(cargo: &Cargo) -> Terms {
        let not_before = Time::from_ps(1_000 * u64::from(cargo.words[0]));
        Terms { not_before, joined: cargo.words[1] == 1 }
    }

    impl Bed {
        fn new() -> Bed {
            let rate = Rate::from_bps(12_000_000_000);
            let card = FairQueue::new(rate, Bytes::new(1500), terms);
            let (arena, memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
            Bed { card, arena, memory, out: Outcome::default() }
        }

        /// Hands over a packet at `now_ns` that may leave at `due_ns`; whether it is let in.
        fn offer(&mut self, flow: u32, now_ns: u64, due_ns: u32, joined: bool) -> bool {
            let packet = Packet { flow: FlowId(flow), len_bytes: 1500, ..Packet::default() };
            let cargo = Cargo { words: [due_ns, u32::from(joined), 0, 0, 0, 0, 0] };
            let slot = self.arena.alloc_with(packet, cargo);
            let Bed { card, arena, memory, out } = self;
            let now = Time::from_ps(1_000 * now_ns);
            let entered =
                card.enqueue(slot, &mut Cx { now, arena, memory, rng: &mut NoRandom, out });
            if let Enqueued::Dropped(..) = entered {
                self.arena.free(slot);
                return false;
            }
            true
        }

        /// The flows of the next packets and when each leaves, in ns.
        fn leave(&mut self, packets: usize, mut now_ns: u64) -> Vec<(u32, u64)> {
            let mut left = Vec::new();
            while left.len() < packets {
                let Bed { card, arena, memory, out } = self;
                let now = Time::from_ps(1_000 * now_ns);
                match card.dequeue(&mut Cx { now, arena, memory, rng: &mut NoRandom, out }) {
                    Dequeued::Sent { slot, until, .. } => {
                        left.push((self.arena.packet(slot).flow.0, now_ns));
                        self.arena.free(slot);
                        now_ns = until.as_ps() / 1_000;
                    }
                    Dequeued::NotBefore(time) => now_ns = time.as_ps() / 1_000,
                    Dequeued::Empty => break,
                }
            }
            left
        }

        fn flows(&mut self, packets: usize) -> Vec<u32> {
            self.leave(packets, 0).into_iter().map(|(flow, _)| flow).collect()
        }
    }

    #[test]
    fn a_new_flow_sends_ten_packets_and_then_flows_take_turns_of_two() {
        let mut bed = Bed::new();
        for flow in [1, 2] {
            (0..16).for_each(|_| assert!(bed.offer(flow, 0, 0, false)));
        }
        let mut expected = vec![1; 10];
        expected.extend([2; 10]);
        expected.extend([1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]);
        assert_eq!(bed.flows(40), expected);
    }

    #[test]
    fn a_light_flow_goes_before_a_heavy_one() {
        let mut bed = Bed::new();
        (0..40).for_each(|_| assert!(bed.offer(1, 0, 0, false)));
        assert_eq!(bed.leave(20, 0).last(), Some(&(1, 19_000)));
        bed.offer(2, 20_000, 0, false);
        // The heavy flow's turn of two packets is not over when the light one's packet comes.
        assert_eq!(bed.leave(2, 20_000), [(2, 20_000), (1, 21_000)]);
    }

    #[test]
    fn a_packet_waits_for_its_time_and_holds_up_no_other_flow() {
        let mut bed = Bed::new();
        bed.offer(1, 0, 5_000, false);
        bed.offer(2, 0, 0, false);
        bed.offer(1, 0, 5_500, false);
        bed.offer(2, 0, 9_000, false);
        assert_eq!(bed.leave(4, 0), [(2, 0), (1, 5_000), (1, 6_000), (2, 9_000)]);
        assert!(bed.leave(1, 10_000).is_empty());
    }

    #[test]
    fn a_segment_leaves_in_one_piece() {
        let mut bed = Bed::new();
        for flow in [1, 2] {
            (0..30).for_each(|nth| assert!(bed.offer(flow, 0, 0, nth > 0)));
        }
        let mut expected = vec![1; 30];
        expected.extend([2; 30]);
        assert_eq!(bed.flows(60), expected);
    }

    #[test]
    fn a_flow_has_room_for_100_segments_and_all_for_10000() {
        let mut bed = Bed::new();
        for nth in 0..100 {
            assert!(bed.offer(1, 0, 0, false), "{nth}");
            assert!(bed.offer(1, 0, 0, true));
        }
        assert!(!bed.offer(1, 0, 0, false));
        assert!(!bed.offer(1, 0, 0, true), "nor has the rest of what was refused");
        for flow in 2..101 {
            (0..100).for_each(|_| assert!(bed.offer(flow, 0, 0, false)));
        }
        assert!(!bed.offer(101, 0, 0, false));
        let counters = bed.card.state().counters();
        assert_eq!((counters.dropped(), counters.arrived), (3, 200 + 9_900 + 3));
        assert_eq!(bed.leave(20_000, 0).len(), 200 + 9_900);
        assert_eq!((bed.arena.live(), bed.memory.used()), (0, Bytes::ZERO));
        assert_eq!(bed.card.state().bytes(), Bytes::ZERO);
    }

    #[test]
    fn flows_whose_packets_were_all_refused_are_forgotten() {
        let mut bed = Bed::new();
        for flow in 0..100 {
            (0..100).for_each(|_| assert!(bed.offer(flow, 0, 0, false)));
        }
        for flow in 100..1100 {
            assert!(!bed.offer(flow, 0, 0, false));
        }
        assert_eq!(bed.card.places.len(), 1100);
        assert!(!bed.offer(1100, FORGOTTEN.as_ps() / 1_000, 0, false));
        assert_eq!(bed.card.places.len(), 101, "those that hold packets, and the last");
        // A flow that came in at once is forgotten no sooner than one that was refused first.
        assert_eq!(bed.leave(20_000, FORGOTTEN.as_ps() / 1_000).len(), 10_000);
    }

    #[test]
    fn who_comes_back_soon_has_what_was_left_and_later_a_turn_and_last_all() {
        // The first packets that flow 1 sends before flow 2's next, after being away so long.
        for (away_ms, expected) in [(1, 1), (50, 2), (3_000, 10)] {
            let mut bed = Bed::new();
            (0..10).for_each(|_| assert!(bed.offer(1, 0, 0, false)));
            // Ten packets take all of the first credit but one byte.
            bed.leave(11, 0);
            let place = bed.card.places[&FlowId(1)];
            bed.card.flows[place].credit = 1;
            let later = 10_000 + away_ms * 1_000_000;
            for flow in [1, 2] {
                (0..12).for_each(|_| assert!(bed.offer(flow, later, 0, false)));
            }
            let flows = bed.leave(12, later);
            let ahead = flows.iter().take_while(|left| left.0 == 1).count();
            assert_eq!(ahead, expected, "{away_ms} ms");
        }
    }
}
