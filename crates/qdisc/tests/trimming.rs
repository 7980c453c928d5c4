//! Packet trimming, worked out by hand: failed admission, failed trim, another class at ports to hosts, htsim's
//! swap, and the books.

use proptest::prelude::*;
use std::collections::BTreeSet;
use switchbed_config::param::Values;
use switchbed_qdisc::port::trim::Trims;
use switchbed_qdisc::port::view::DropReason;
use switchbed_qdisc::schemes::definition::Choice;
use switchbed_qdisc::schemes::site::Site;
use switchbed_qdisc::schemes::{MarkAt, PerQueue, SCHEMES, StandardThreshold, StepParams};
use switchbed_qdisc::switch::{
    BufferPolicy, Classify, Discipline, POLICIES, Sharing, StrictOrder, Switch, Unmarkable,
};
use switchbed_qdisc::trimming::{TrimMode, Trimming};
use switchbed_qdisc::{
    Arena, Cx, Dequeued, Ecn, Enqueued, FlowId, Outcome, Packet, Qdisc, Random, SlotId,
    SwitchMemory,
};
use switchbed_units::{Bytes, Rate, Time};

/// Draws one number again and again.
struct Always(u64);

impl Random for Always {
    fn next_u64(&mut self) -> u64 {
        self.0
    }
}

/// A port that never marks.
fn none() -> Choice {
    let none = SCHEMES.iter().find(|scheme| scheme.name == "none").expect("registered");
    none.with(Values::new()).expect("no parameters")
}

const ARRIVAL: u64 = 0;
const LAST: u64 = u64::MAX;

fn trimming() -> Trimming {
    Trimming {
        size: Bytes::new(128),
        queues: Some(vec![0]),
        queue: None,
        dscp: 1,
        host_dscp: None,
        mode: TrimMode::Switch,
    }
}

/// Two queues with parts of 3,000 bytes of their own; queue 1 goes first.
fn switch(trimming: Trimming) -> Switch {
    Switch {
        queues: 2,
        classify: Classify::Class,
        discipline: Discipline::Fifo,
        strict: 0,
        strict_order: StrictOrder::Lowest,
        quantum: vec![Bytes::new(1500); 2],
        buffer: Bytes::new(6_000),
        memory: None,
        policy: BufferPolicy::Static,
        pool: None,
        alpha: None,
        sharing: Sharing::default(),
        unmarkable: Unmarkable::Drop,
        pfc: None,
        trimming: Some(trimming),
        queue: Vec::new(),
    }
}

struct Bed {
    port: Box<dyn Qdisc>,
    arena: Arena,
    memory: SwitchMemory,
    rng: Always,
    out: Outcome,
    now: Time,
}

impl Bed {
    fn new(switch: &Switch, scheme: &Choice) -> Bed {
        let site = Site::new(switch, None, 1, Rate::from_gbps(8), Bytes::new(1500));
        let port = scheme.build(site).port();
        let (memory, rng) = (SwitchMemory::new(Bytes::MAX), Always(ARRIVAL));
        Bed { port, arena: Arena::new(), memory, rng, out: Outcome::default(), now: Time::ZERO }
    }

    fn plain(trimming: Trimming) -> Bed {
        Bed::new(&switch(trimming), &none())
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let Bed { port, arena, memory, rng, out, now } = self;
        act(&mut **port, &mut Cx { now: *now, arena, memory, rng, out })
    }

    /// Offers a packet of a flow.
    fn arrive(&mut self, flow: u32, len_bytes: u32, class: u8) -> (SlotId, Enqueued) {
        let (flow, ecn) = (FlowId(flow), Ecn::Ect0);
        let slot = self.arena.alloc(Packet { flow, len_bytes, class, ecn, ingress: 0 });
        (slot, self.act(|port, cx| port.enqueue(slot, cx)))
    }

    /// Next packet to leave: flow, length, class, ECN field and whether the port says that it marked.
    fn drain(&mut self) -> Vec<(u32, u32, u8, Ecn, bool)> {
        let mut left = Vec::new();
        while let Dequeued::Sent { slot, until, marked, .. } = self.act(|port, cx| port.dequeue(cx))
        {
            let Packet { flow, len_bytes, class, ecn, .. } = *self.arena.packet(slot);
            left.push((flow.0, len_bytes, class, ecn, marked));
            self.arena.free(slot);
            self.now = until;
        }
        left
    }

    fn trims(&self) -> Vec<(u64, u64, u64)> {
        let of = |trims: &Trims| (trims.trimmed, trims.sent, trims.dropped);
        self.port.state().trims().iter().map(of).collect()
    }

    /// Packets and bytes that came are those that left, wait, were dropped, or were cut off.
    fn check_books(&self, packets: u64, bytes: u64) {
        let counters = self.port.state().counters();
        assert_eq!((counters.arrived, counters.arrived_bytes), (packets, bytes));
        assert_eq!(self.memory.used(), self.port.state().bytes());
    }
}

#[test]
fn a_refused_packet_goes_on_short_in_the_other_queue() {
    let mut bed = Bed::plain(trimming());
    // Two of 1,500 bytes fill queue 0; the third is cut to 128 bytes, class 1.
    assert_eq!([1, 2, 3].map(|flow| bed.arrive(flow, 1500, 0).1), [0, 0, 1].map(Enqueued::In));
    let state = bed.port.state();
    assert_eq!([0, 1].map(|queue| state.queue_bytes(queue).get()), [3_000, 128]);
    bed.check_books(3, 4_500);
    let left = bed.drain();
    let lengths: Vec<_> = left.iter().map(|&(flow, len, class, ..)| (flow, len, class)).collect();
    assert_eq!(lengths, [(1, 1500, 0), (2, 1500, 0), (3, 128, 1)]);
    assert_eq!(bed.trims(), [(1, 0, 0), (0, 1, 0)]);
    let counters = bed.port.state().counters();
    assert_eq!((counters.dropped(), counters.cut_bytes, counters.sent_bytes), (0, 1_372, 3_128));
    bed.check_books(3, 4_500);
}

#[test]
fn a_short_packet_goes_on_whole() {
    let mut bed = Bed::plain(trimming());
    bed.arrive(1, 1500, 0);
    bed.arrive(2, 1450, 0);
    // 50 bytes are free: 60 do not fit, and are not cut.
    assert_eq!(bed.arrive(3, 60, 0).1, Enqueued::In(1));
    let (_, len, class, ..) = bed.drain()[2];
    assert_eq!((len, class, bed.port.state().counters().cut_bytes), (60, 1, 0));
    assert_eq!(bed.trims(), [(1, 0, 0), (0, 1, 0)]);
}

#[test]
fn what_the_other_queue_refuses_is_dropped_whole() {
    let mut bed = Bed::plain(Trimming { size: Bytes::new(1_000), ..trimming() });
    let fates: Vec<_> = (0..6).map(|flow| bed.arrive(flow, 1500, 0).1).collect();
    // Three of 1,000 bytes fit into queue 1; the sixth packet finds neither.
    let dropped = Enqueued::Dropped(0, DropReason::Full);
    let expected = [0, 0, 1, 1, 1].map(Enqueued::In).into_iter().chain([dropped]);
    assert!(fates.into_iter().eq(expected));
    let counters = bed.port.state().counters();
    assert_eq!((counters.drops[DropReason::Full as usize], counters.dropped_bytes), (1, 1_500));
    assert_eq!(bed.trims(), [(4, 0, 1), (0, 0, 0)]);
    bed.check_books(6, 9_000);
    bed.drain();
    assert_eq!(bed.trims(), [(4, 0, 1), (0, 3, 0)]);
}

#[test]
fn packets_of_other_queues_are_dropped() {
    let mut bed = Bed::plain(trimming());
    let fates: Vec<_> = (0..3).map(|flow| bed.arrive(flow, 1500, 1).1).collect();
    assert_eq!(fates[2], Enqueued::Dropped(1, DropReason::Full));
    assert_eq!(bed.trims(), [(0, 0, 0); 2]);
}

#[test]
fn a_port_to_a_host_gives_another_class() {
    let mut switch = switch(Trimming { host_dscp: Some(2), ..trimming() });
    (switch.queues, switch.buffer) = (3, Bytes::new(9_000));
    switch.quantum.push(Bytes::new(1500));
    for (here, class) in [(switch.clone(), 1), (switch.facing_host(), 2)] {
        let mut bed = Bed::new(&here, &none());
        let last = [1, 2, 3].map(|flow| bed.arrive(flow, 1500, 0).1)[2];
        assert_eq!(last, Enqueued::In(class));
        assert_eq!(bed.drain()[2].2, class);
    }
}

#[test]
fn a_fixed_queue_keeps_its_number_whatever_the_class() {
    let mut bed = Bed::plain(Trimming { queue: Some(1), dscp: 46, ..trimming() });
    let last = [1, 2, 3].map(|flow| bed.arrive(flow, 1500, 0).1)[2];
    assert_eq!((last, bed.drain()[2].2), (Enqueued::In(1), 46));
}

#[test]
fn a_port_marks_no_packet_that_it_trims() {
    // Marked at departure where more than 100 bytes remain, in every queue.
    let standard = StandardThreshold { threshold: Bytes::new(100) };
    let step = Choice::of::<PerQueue>(StepParams { standard, mark_at: MarkAt::Dequeue });
    let mut bed = Bed::new(&switch(trimming()), &step);
    for flow in 1..=5 {
        bed.arrive(flow, 1500, 0);
    }
    let left = bed.drain();
    let of = |flow| left.iter().find(|sent| sent.0 == flow).map(|sent| (sent.1, sent.3, sent.4));
    assert_eq!(of(1), Some((1500, Ecn::Ce, true)));
    assert_eq!([3, 4].map(of), [Some((128, Ecn::Ect0, false)); 2]);
    assert_eq!(bed.trims(), [(3, 0, 0), (0, 3, 0)]);
}

#[test]
fn a_packet_that_must_stay_whole_is_dropped() {
    let mut bed = Bed::plain(trimming());
    bed.arrive(1, 1500, 0);
    bed.arrive(2, 1500, 0);
    let slot = bed.arena.alloc(Packet { len_bytes: 1500, ..Packet::default() });
    bed.arena.keep_whole(slot);
    let fate = bed.act(|port, cx| port.enqueue(slot, cx));
    assert_eq!(fate, Enqueued::Dropped(0, DropReason::Full));
    assert_eq!(bed.trims(), [(0, 0, 0); 2]);
}

fn htsim() -> Switch {
    Switch {
        policy: BufferPolicy::Shared,
        buffer: Bytes::new(3_000),
        ..switch(Trimming { mode: TrimMode::Htsim, size: Bytes::new(64), ..trimming() })
    }
}

#[test]
fn htsim_trims_the_arrival_or_the_last_of_the_queue() {
    for (drawn, whole, short) in [(ARRIVAL, [1, 2], 3), (LAST, [1, 3], 2)] {
        let mut bed = Bed::new(&htsim(), &none());
        bed.arrive(1, 1500, 0);
        bed.arrive(2, 1500, 0);
        bed.rng = Always(drawn);
        assert_eq!(bed.arrive(3, 1500, 0).1, Enqueued::In(1));
        let state = bed.port.state();
        assert_eq!([0, 1].map(|queue| state.queue_bytes(queue).get()), [3_000, 64]);
        bed.check_books(3, 4_500);
        let left = bed.drain();
        let of = |len| left.iter().filter(move |sent| sent.1 == len).map(|sent| sent.0);
        assert!(of(1500).eq(whole) && of(64).eq([short]), "{left:?}");
        assert_eq!(bed.trims(), [(1, 0, 0), (0, 1, 0)]);
    }
}

#[test]
fn htsims_headers_may_take_twice_the_limit() {
    for drawn in [ARRIVAL, LAST] {
        let mut bed = Bed::new(&htsim(), &none());
        bed.rng = Always(drawn);
        // 2 whole packets, 93 of 64 bytes (5,952 of 6,000), and 5 that are lost.
        let packets = 100;
        for flow in 0..packets {
            bed.arrive(flow, 1500, 0);
        }
        let state = bed.port.state();
        assert_eq!([0, 1].map(|queue| state.queue_packets(queue)), [2, 93]);
        let Trims { trimmed, dropped, .. } = state.counters().trims;
        assert_eq!((trimmed, dropped, state.counters().dropped()), (98, 5, 5));
        bed.check_books(packets.into(), 150_000);
        let lost = std::mem::take(&mut bed.out.dropped);
        let lost = lost.iter().filter(|dropped| !dropped.slot.is_none()).count();
        assert_eq!(lost, if drawn == LAST { 5 } else { 0 });
    }
}

proptest! {
    /// Under each policy and both modes: what came has left once, waits, or was dropped once.
    #[test]
    fn nothing_is_lost_or_doubled(
        ops in proptest::collection::vec((0_u8..3, 40_u32..1_500, any::<u64>()), 1..200),
        size in 64_u64..1_500
    ) {
        let policies = POLICIES.iter().map(|info| (info.policy, TrimMode::Switch));
        for (policy, mode) in policies.chain([(BufferPolicy::Shared, TrimMode::Htsim)]) {
            let trimming = Trimming { size: Bytes::new(size), mode, ..trimming() };
            let pool = policy.shares_pool().then_some(Bytes::new(6_000));
            let switch = Switch { policy, pool, ..switch(trimming) };
            let mut bed = Bed::new(&switch, &none());
            bed.memory = switch.memory(1, Bytes::new(1_500)).behind(bed.port.needs().memory);
            let (mut ended, mut bytes) = (BTreeSet::new(), 0);
            for (flow, &(op, len, drawn)) in ops.iter().enumerate() {
                bed.rng = Always(drawn);
                let (slot, fate) = bed.arrive(flow as u32, len, op.min(1));
                bytes += u64::from(len);
                if let Enqueued::Dropped(..) = fate {
                    prop_assert_eq!(bed.arena.packet(slot).len_bytes, len);
                    prop_assert!(ended.insert(flow as u32));
                    bed.arena.free(slot);
                }
                while let Some(gone) = bed.memory.expels(bed.now, bed.port.state()) {
                    bed.act(|port, cx| port.expel(gone.of.queue, gone.end, cx));
                }
                for lost in std::mem::take(&mut bed.out.dropped) {
                    if !lost.slot.is_none() {
                        prop_assert!(ended.insert(bed.arena.packet(lost.slot).flow.0));
                        bed.arena.free(lost.slot);
                    }
                }
                bed.check_books(flow as u64 + 1, bytes);
                if op == 2
                    && bed.port.state().busy_until() <= bed.now
                    && let Dequeued::Sent { slot, until, .. } = bed.act(|port, cx| port.dequeue(cx))
                {
                    prop_assert!(ended.insert(bed.arena.packet(slot).flow.0));
                    bed.arena.free(slot);
                    bed.now = until;
                }
            }
            for (flow, ..) in bed.drain() {
                prop_assert!(ended.insert(flow));
            }
            prop_assert_eq!(ended.len(), ops.len(), "{:?}", policy);
            let Trims { trimmed, sent, dropped } = bed.port.state().counters().trims;
            prop_assert_eq!(trimmed, sent + dropped);
            prop_assert_eq!(bed.arena.live(), 0);
        }
    }
}
