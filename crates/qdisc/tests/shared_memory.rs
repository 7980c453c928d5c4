//! Memory that the ports of a switch share. Policies that take packets back: by hand, and longest-queue drop
//! against a slow, obvious model. Dynamic thresholds against such a model, too.

use proptest::prelude::*;
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::{Expulsion, Nobody};
use switchbed_qdisc::memory::{Lqd, Occamy, OfSwitch, Policy};
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::Dwrr;
use switchbed_qdisc::{Arena, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

const PACKET: u32 = 1500;

/// A switch whose ports send when they are told to.
struct Switch {
    ports: Vec<Box<dyn Qdisc>>,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
}

/// What an arrival led to: whether it was let in, and what was lost, port and length each.
type Led = (bool, Vec<(usize, u32)>);

impl Switch {
    fn new((ports, queues): (u32, usize), memory: u64, policy: impl Policy + 'static) -> Switch {
        let port = |number| -> Box<dyn Qdisc> {
            let seats = Seats::new(ByClass, OfSwitch, Nobody, Dwrr::new(queues), Nobody);
            let quanta = vec![Bytes::new(PACKET.into()); queues];
            let state = PortState::new(Rate::from_gbps(10), &quanta).numbered(number);
            Box::new(Port::new(state, seats))
        };
        Switch {
            ports: (0..ports).map(port).collect(),
            arena: Arena::new(),
            memory: SwitchMemory::shared(Bytes::new(memory), Box::new(policy)),
            out: Outcome::default(),
        }
    }

    fn at<T>(&mut self, p: usize, now: Time, act: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let Switch { ports, arena, memory, out } = self;
        act(&mut *ports[p], &mut Cx { now, arena, memory, rng: &mut NoRandom, out })
    }

    /// A packet comes, and the switch expels what it is told to.
    fn arrive(&mut self, now: Time, p: usize, class: u8, len_bytes: u32) -> Led {
        let slot = self.arena.alloc(Packet { len_bytes, class, ..Packet::default() });
        let entered = self.at(p, now, |port, cx| port.enqueue(slot, cx));
        let mut lost = self.lost(p);
        while let Some(Expulsion { of, end }) = self.memory.expels(now, self.ports[p].state()) {
            let victim = of.port as usize;
            self.at(victim, now, |port, cx| port.expel(of.queue, end, cx));
            lost.extend(self.lost(victim));
        }
        (matches!(entered, Enqueued::In(_)), lost)
    }

    fn lost(&mut self, p: usize) -> Vec<(usize, u32)> {
        let dropped = std::mem::take(&mut self.out.dropped);
        let lost = dropped.iter().map(|gone| (p, self.arena.packet(gone.slot).len_bytes));
        let lost = lost.collect();
        dropped.iter().for_each(|gone| self.arena.free(gone.slot));
        lost
    }

    fn send(&mut self, now: Time, p: usize) -> bool {
        match self.at(p, now, |port, cx| port.dequeue(cx)) {
            Dequeued::Sent { slot, .. } => {
                self.arena.free(slot);
                true
            }
            _ => false,
        }
    }

    fn lengths(&self) -> Vec<u64> {
        let of = |port: &dyn Qdisc| -> Vec<u64> {
            let state = port.state();
            (0..state.queues() as u8).map(|q| state.queue_bytes(q).get()).collect()
        };
        self.ports.iter().flat_map(|port| of(&**port)).collect()
    }
}

fn packets(n: u64) -> u64 {
    n * u64::from(PACKET)
}

/// Ten packets' memory, six in the first port's queue and four in the second's.
#[test]
fn the_longest_queue_makes_room() {
    let mut switch = Switch::new((2, 1), packets(10), Lqd::new(2, 1));
    let now = Time::ZERO;
    (0..6).for_each(|_| assert_eq!(switch.arrive(now, 0, 0, PACKET), (true, vec![])));
    (0..4).for_each(|_| assert_eq!(switch.arrive(now, 1, 0, PACKET), (true, vec![])));
    // The longest is the first: it loses one for the second's.
    assert_eq!(switch.arrive(now, 1, 0, PACKET), (true, vec![(0, PACKET)]));
    assert_eq!(switch.lengths(), [packets(5), packets(5)]);
    // As long as any: the arrival itself goes.
    assert_eq!(switch.arrive(now, 0, 0, PACKET), (false, vec![]));
    assert_eq!(switch.lengths(), [packets(5), packets(5)]);
}

/// A packet of 1500 bytes displaces as many of 100 as it takes, of the port's own other queue as well as
/// another port's.
#[test]
fn one_packet_may_displace_many() {
    for p in [0, 1] {
        let mut switch = Switch::new((2, 2), 10_000, Lqd::new(2, 2));
        (0..100).for_each(|_| assert!(switch.arrive(Time::ZERO, 0, 0, 100).0));
        assert_eq!(switch.arrive(Time::ZERO, p, 1, PACKET), (true, vec![(0, 100); 15]));
        assert_eq!(switch.memory.used(), Bytes::new(10_000));
    }
}

/// Of 1,000,000 bytes a lone queue may hold 8/9 under α = 8. With three more at 30,000 each its threshold is
/// 8·21,112 = 168,896: it loses heads until it holds no more than 8 times what is free, 808,888.
#[test]
fn a_queue_over_its_threshold_loses_its_head() {
    // A packet in 1 ns: as good as at once.
    let rate = Some(Rate::from_gbps(12_000));
    let occamy = Occamy::new(4, &[8.0], rate, Bytes::new(1500));
    let mut switch = Switch::new((4, 1), 1_000_000, occamy);
    let mut now = Time::ZERO;
    while switch.arrive(now, 0, 0, 1_000) == (true, vec![]) {}
    assert_eq!(switch.lengths(), [888_000, 0, 0, 0]);
    let mut lost = 0;
    for p in [1, 2, 3] {
        for _ in 0..30 {
            now += Span::from_us(1);
            let (entered, gone) = switch.arrive(now, p, 0, 1_000);
            assert!(entered && gone.iter().all(|&(port, _)| port == 0));
            lost += gone.len();
        }
    }
    // 8·(1,000,000 − 90,000 − 808,000) = 816,000; with a packet more 808,000 would be less than 809,000.
    assert_eq!(switch.lengths(), [808_000, 30_000, 30_000, 30_000]);
    assert_eq!(lost, 80);
}

/// At 1 Gbps a packet of 1500 bytes is lost every 12 us, whatever comes in between, and what no queue owed is not
/// made up for.
#[test]
fn expulsion_takes_its_time() {
    let occamy = Occamy::new(2, &[1.0], Some(Rate::from_gbps(1)), Bytes::new(1500));
    let mut switch = Switch::new((2, 1), 100_000, occamy);
    let at = |us: u64| Time::ZERO + Span::from_us(us);
    // 50,000 bytes; then the other's make the threshold less, and one is lost as each of these comes.
    (0..50).for_each(|_| assert_eq!(switch.arrive(at(0), 0, 0, 1_000), (true, vec![])));
    let lost: Vec<u64> =
        (1..40).filter(|&us| !switch.arrive(at(us), 1, 0, 1_000).1.is_empty()).collect();
    assert_eq!(lost, [1, 12, 24, 36]);
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive { class: u8, len: u32 },
    Send,
}

fn op() -> impl Strategy<Value = (usize, Op)> {
    let len = prop_oneof![Just(40u32), Just(1500), 41..1500u32];
    let arrive = (0..2u8, len).prop_map(|(class, len)| Op::Arrive { class, len });
    (0..3usize, prop_oneof![3 => arrive, 1 => Just(Op::Send)])
}

proptest! {
    /// The arrival is refused, or the longest queues have lost what it took, and no more.
    #[test]
    fn longest_queue_drop_is_as_it_says(
        memory in 3_000..20_000u64,
        ops in prop::collection::vec(op(), 1..300),
    ) {
        let mut switch = Switch::new((3, 2), memory, Lqd::new(3, 2));
        for (now, (p, op)) in (0..).step_by(10_000_000).map(Time::from_ps).zip(ops) {
            let before = switch.lengths();
            let Op::Arrive { class, len } = op else {
                switch.send(now, p);
                continue;
            };
            let own = 2 * p + usize::from(class);
            let (entered, lost) = switch.arrive(now, p, class, len);
            let after = switch.lengths();
            let longest = *before.iter().max().unwrap();
            let fits = before.iter().sum::<u64>() + u64::from(len) <= memory;
            prop_assert!(switch.memory.used().get() <= memory);
            prop_assert_eq!(switch.memory.used().get(), after.iter().sum::<u64>());
            if fits {
                prop_assert!(entered && lost.is_empty());
            } else if before[own] == longest {
                prop_assert!(!entered && lost.is_empty());
            } else {
                prop_assert!(!lost.is_empty());
                // Who has lost was, before its last packet went, as long as any other.
                let others = || after.iter().enumerate().filter(|&(q, _)| q != own);
                let most = others().map(|(_, &bytes)| bytes).max().unwrap();
                for (q, &is) in others() {
                    prop_assert!(is == before[q] || is + 1_500 >= most, "{before:?} {after:?}");
                }
            }
        }
    }
}

/// Each queue has a length in the list, and the pool holds their sum.
mod dynamic_thresholds {
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use switchbed_qdisc::classifier::ByClass;
    use switchbed_qdisc::hooks::Nobody;
    use switchbed_qdisc::memory::{Dynamic, OfSwitch};
    use switchbed_qdisc::port::view::DropReason;
    use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
    use switchbed_qdisc::schedulers::Dwrr;
    use switchbed_qdisc::{Arena, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
    use switchbed_units::random::NoRandom;
    use switchbed_units::{Bytes, Rate, Time};

    const PORTS: usize = 4;
    const QUEUES: usize = 3;

    /// An arrival of so many bytes for a queue, or a departure.
    #[derive(Clone, Copy, Debug)]
    enum Op {
        Arrive { queue: usize, len: u64 },
        Send,
    }

    fn op() -> impl Strategy<Value = (usize, Op)> {
        let len = prop_oneof![Just(40u64), Just(1500), 41..9000u64];
        let arrive = (0..QUEUES, len).prop_map(|(queue, len)| Op::Arrive { queue, len });
        (0..PORTS, prop_oneof![3 => arrive, 1 => Just(Op::Send)])
    }

    /// α as chips have it, a power of two: numerator and denominator.
    fn alpha() -> impl Strategy<Value = (u64, u64)> {
        prop::sample::select(vec![(1, 64), (1, 8), (1, 2), (1, 1), (2, 1), (8, 1)])
    }

    proptest! {
        #[test]
        fn a_queue_holds_at_most_alpha_times_what_is_free(
            (num, den) in alpha(),
            capacity in 1_500..120_000u64,
            ops in prop::collection::vec(op(), 1..400),
        ) {
            let port = |number| {
                let seats = Seats::new(ByClass, OfSwitch, Nobody, Dwrr::new(QUEUES), Nobody);
                let state = PortState::new(Rate::from_gbps(10), &[Bytes::new(1500); QUEUES]);
                Port::new(state.numbered(number), seats)
            };
            let mut ports: Vec<_> = (0..PORTS as u32).map(port).collect();
            let policy = Dynamic::new(&[num as f64 / den as f64; QUEUES]);
            let mut memory = SwitchMemory::shared(Bytes::new(capacity), Box::new(policy));
            let mut arena = Arena::new();
            let mut out = Outcome::default();
            let mut held = vec![vec![VecDeque::<u64>::new(); QUEUES]; PORTS];
            // Far enough apart that every line is free again.
            for (now, (p, op)) in (0..).step_by(10_000_000).map(Time::from_ps).zip(ops) {
                let rng = &mut NoRandom;
                let mut cx = Cx { now, arena: &mut arena, memory: &mut memory, rng, out: &mut out };
                let used: u64 = held.iter().flatten().flatten().sum();
                match op {
                    Op::Arrive { queue, len } => {
                        let free = capacity - used;
                        let mine: u64 = held[p][queue].iter().sum();
                        let fits = len <= free && (mine + len) * den <= num * free;
                        let packet =
                            Packet { class: queue as u8, len_bytes: len as u32, ..Packet::default() };
                        let slot = cx.arena.alloc(packet);
                        let full = Enqueued::Dropped(queue as u8, DropReason::Full);
                        let expected = if fits { Enqueued::In(queue as u8) } else { full };
                        prop_assert_eq!(ports[p].enqueue(slot, &mut cx), expected, "{} free", free);
                        if fits {
                            held[p][queue].push_back(len);
                        } else {
                            arena.free(slot);
                        }
                    }
                    Op::Send => match ports[p].dequeue(&mut cx) {
                        Dequeued::Sent { slot, queue, .. } => {
                            let len = held[p][queue as usize].pop_front();
                            prop_assert_eq!(Some(arena.packet(slot).len_bytes as u64), len);
                            arena.free(slot);
                        }
                        answer => {
                            prop_assert_eq!(answer, Dequeued::Empty);
                            prop_assert!(held[p].iter().all(VecDeque::is_empty));
                        }
                    },
                }
                let used: u64 = held.iter().flatten().flatten().sum();
                prop_assert_eq!(memory.used(), Bytes::new(used));
            }
        }
    }
}
