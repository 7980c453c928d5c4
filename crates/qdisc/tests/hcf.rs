//! HCF keeps the order of every flow's packets, whatever the swaps and changes of the key, and
//! lets a flow that has sent little pass those that have sent much.

use proptest::prelude::*;
use std::collections::BTreeMap;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::{Crosspoint, Overflow};
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::scheme::Same;
use switchbed_qdisc::schemes::hcf::{Hcf, HcfSettings};
use switchbed_qdisc::{Arena, FlowId, Packet, Port, PortState, Qdisc, Seats, SlotId, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

type HcfPort = Port<Seats<Same, Crosspoint, Nobody, Hcf, Nobody>>;

struct Line {
    port: HcfPort,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
    now: Time,
}

impl Line {
    fn new(settings: HcfSettings, memory: u64) -> Line {
        let buffer = Crosspoint::new(Bytes::new(memory), Bytes::new(1), Overflow::Tail, 2);
        let state = PortState::new(Rate::from_gbps(8), &[Bytes::new(1500); 2]);
        Line {
            port: Port::new(state, Seats::new(Same, buffer, Nobody, Hcf::new(settings), Nobody)),
            arena: Arena::new(),
            memory: SwitchMemory::new(Bytes::MAX),
            out: Outcome::default(),
            now: Time::ZERO,
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut HcfPort, &mut Cx) -> T) -> T {
        let Line { port, arena, memory, out, now } = self;
        act(port, &mut Cx { now: *now, arena, memory, rng: &mut NoRandom, out })
    }

    /// A packet of a flow arrives; none if it is dropped.
    fn arrive(&mut self, flow: u32, len_bytes: u32) -> Option<SlotId> {
        let slot = self.arena.alloc(Packet { flow: FlowId(flow), len_bytes, ..Packet::default() });
        match self.with(|port, cx| port.enqueue(slot, cx)) {
            Enqueued::In(_) => Some(slot),
            Enqueued::Dropped(..) => {
                self.arena.free(slot);
                None
            }
        }
    }

    /// The next packet leaves, and its time on the line passes.
    fn send(&mut self) -> Option<SlotId> {
        match self.with(|port, cx| port.dequeue(cx)) {
            Dequeued::Sent { slot, until, .. } => {
                self.now = until;
                Some(slot)
            }
            Dequeued::Empty => None,
            Dequeued::NotBefore(_) => panic!("nothing shapes"),
        }
    }
}

fn flows() -> impl Strategy<Value = Vec<Option<(u32, u32)>>> {
    // Often more arrivals than departures, so that both queues fill and overflow.
    let op = prop_oneof![
        5 => (0..8u32, 40..1500u32).prop_map(Some),
        4 => Just(None),
    ];
    prop::collection::vec(op, 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_flow_s_packets_leave_as_they_came(
        ops in flows(), bins in 1..6usize, credits in 1..4u32, period_ns in 0..20_000u64,
    ) {
        let settings = HcfSettings { bins, credits, period: Span::from_ns(period_ns) };
        let mut line = Line::new(settings, 12_000);
        // By slot: the flow and the packet's number in it.
        let mut inside: BTreeMap<usize, (u32, u64)> = BTreeMap::new();
        let (mut sent, mut stored) = ([None::<u64>; 8], 0);
        let drain = std::iter::repeat_n(None, ops.len());
        for op in ops.into_iter().chain(drain) {
            let Some((flow, len)) = op else {
                let Some(slot) = line.send() else { continue };
                let (flow, number) = inside.remove(&slot.index()).unwrap();
                let before = sent[flow as usize].replace(number);
                prop_assert!(before < Some(number), "flow {flow}: {number} after {before:?}");
                line.arena.free(slot);
                continue;
            };
            if let Some(slot) = line.arrive(flow, len) {
                stored += 1;
                inside.insert(slot.index(), (flow, stored));
            }
        }
        prop_assert!(inside.is_empty());
    }
}

/// One credit a bin: the second packet of a bin waits in the low queue, and a flow that comes
/// later with credit passes it; once the high queue is empty, the low one is the high one.
#[test]
fn a_flow_with_credit_passes_one_without() {
    let settings = HcfSettings { bins: 20, credits: 1, period: Span::MAX };
    let mut line = Line::new(settings, 100_000);
    let giant: Vec<_> = (0..4).map(|_| line.arrive(1, 1500).unwrap()).collect();
    let mouse = line.arrive(2, 1500).unwrap();
    let first: Vec<_> = (0..3).map(|_| line.send().unwrap()).collect();
    assert_eq!(first, [giant[0], mouse, giant[1]]);
    // The high queue, once low, holds two more of the giant's; the mouse has a credit again
    // and joins behind them.
    let mouse = line.arrive(2, 1500).unwrap();
    let more = line.arrive(1, 1500).unwrap();
    let late = line.arrive(1, 1500).unwrap();
    let rest: Vec<_> = std::iter::from_fn(|| line.send()).collect();
    assert_eq!(rest, [giant[2], giant[3], mouse, more, late]);
}

/// Two flows share a bin or not, for ever or until the key changes.
#[test]
fn the_key_changes_with_the_period() {
    let shared = |period| {
        let settings = HcfSettings { bins: 2, credits: 1, period };
        let mut line = Line::new(settings, 100_000);
        let mut changes = Vec::new();
        for _ in 0..400 {
            // The second packet is in the other queue if the first has spent its credit.
            let _ = (line.arrive(1, 1000), line.arrive(2, 1000));
            changes.push(line.port.state().backlogged().len() == 2);
            while line.send().is_some() {}
        }
        changes.dedup();
        changes.len()
    };
    assert_eq!(shared(Span::MAX), 1);
    assert!(shared(Span::from_us(10)) > 10);
}
