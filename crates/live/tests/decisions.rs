//! The switch decides as the simulator does: what it sends, when, and with which marks is
//! what the same port gives when it is driven by an event for each departure.

use crate::common::{
    MBPS, ecn, forwarder_of, frame, identified, joined, live, notifier, number, parted, punctual,
    scheme, step,
};
use proptest::prelude::*;
use switchbed_config::param::Param;
use switchbed_live::Fake;
use switchbed_live::device::Memory;
use switchbed_live::random::Stream;
use switchbed_qdisc::hooks::Expulsion;
use switchbed_qdisc::switch::{BufferPolicy, POLICIES, PolicyInfo};
use switchbed_qdisc::{
    Arena, Cx, Dequeued, Ecn, Enqueued, FlowId, Outcome, Packet, Qdisc, SlotId, SwitchMemory,
};
use switchbed_scenario::scheme::{Value, find};
use switchbed_scenario::{Discipline, Live, LivePort, SchemeChoice, StrictOrder, build};
use switchbed_units::{Bytes, Rate, Span, Time};

#[derive(Clone, Debug)]
struct Arrival {
    at: Time,
    dscp: u8,
    ecn: u8,
    length: usize,
}

/// A frame that left: the end of its last bit, its number, its ECN codepoint.
type Left = (Time, u32, u8);

/// Schemes that differ in what they look at, and other schedulers, buffers and rates.
fn cases() -> Vec<Live> {
    let mut cases = Vec::new();
    let names = ["none", "per-queue", "per-queue-min", "per-port", "per-pool", "mq-ecn", "red"];
    for info in names.map(|name| find(name).expect("registered")) {
        // At sizes that these arrivals reach.
        let size = |param: &&Param| param.required || matches!(param.name, "kmin" | "kmax");
        let length = |name| Value::Bytes(Bytes::new(if name == "kmax" { 20_000 } else { 6_000 }));
        let params = info.params.iter().filter(size).map(|param| (param.name, length(param.name)));
        let mut case = live(3, scheme(info.name, &params.collect::<Vec<_>>()));
        case.switch.pool = info.needs_pool.then_some(Bytes::new(60_000));
        cases.push(case);
    }
    // What waits or draws, and what fills the seats itself, at waits that these arrivals reach.
    let waits = [("interval", "2ms"), ("target", "1ms")];
    let standing = [("ins_target", "1ms"), ("pst_target", "300us"), ("pst_interval", "1ms")];
    for name in
        ["tcn", "codel", "fq-codel", "fq-pie", "cobalt", "pie", "dualpi2", "ecn-sharp", "pmsb"]
    {
        let known = find(name).expect("registered").params;
        let has = |(key, _): &(&str, &str)| known.iter().any(|param| param.name == *key);
        let threshold = ("threshold", if name == "tcn" { "500us" } else { "6000B" });
        let given = waits.into_iter().chain(standing).chain([threshold]);
        let given: Vec<_> = given.filter(has).collect();
        cases.push(live(3, notifier(name, &given)));
    }
    let mut wfq = live(3, step(6_000));
    wfq.switch.discipline = Discipline::Wfq;
    wfq.switch.quantum = vec![Bytes::new(3000), Bytes::new(1000)];
    let mut strict = live(3, step(6_000));
    strict.switch.strict = 1;
    let mut highest = live(3, step(6_000));
    (highest.switch.queues, highest.switch.quantum) = (3, vec![Bytes::new(1500); 3]);
    (highest.switch.strict, highest.switch.strict_order) = (2, StrictOrder::Highest);
    let mut small = live(3, step(6_000));
    small.switch.buffer = Bytes::new(12_000);
    let mut odd_rate = live(3, step(6_000));
    odd_rate.live.fraction = 0.995;
    odd_rate.port[2].rate = Rate::from_bps(97 * MBPS + 13);
    let red = [("kmin", "3000B"), ("kmax", "9000B"), ("pmax", "0.5")];
    let queues = vec![notifier("red", &red), notifier("tcn", &[("threshold", "500us")])];
    let by_queue = live(3, SchemeChoice { queues, ..step(6_000) });
    cases.extend([wfq, strict, highest, small, odd_rate, by_queue]);
    cases
}

/// The port alone: an arrival is offered at its time, a departure takes place when the line
/// is free, and departures come first.
fn reference(live: &Live, arrivals: &[Arrival]) -> Vec<Left> {
    let rate = (live.port[2].rate.as_bps() as f64 * live.live.fraction) as u64;
    let mut port = build::port(
        &live.switch,
        &live.scheme,
        live.port.len() as u32,
        Rate::from_bps(rate),
        live.live.mtu,
        &build::Nothing,
        0,
    );
    let mut arena = Arena::new();
    let mut memory = live.switch.memory(1, live.live.mtu).behind(port.needs().memory);
    let mut rng = Stream::new(live.live.seed, 0);
    let mut out = Outcome::default();
    let mut numbers: Vec<(SlotId, u32)> = Vec::new();
    let mut left = Vec::new();
    let mut free_at = Time::ZERO;
    let mut coming = arrivals.iter().enumerate().peekable();
    loop {
        let arrival = coming.peek().map_or(Time::NEVER, |(_, arrival)| arrival.at);
        let departure = match port.state().packets() {
            0 => Time::NEVER,
            _ => free_at,
        };
        let now = arrival.min(departure);
        if now == Time::NEVER {
            return left;
        }
        let mut cx =
            Cx { now, arena: &mut arena, memory: &mut memory, rng: &mut rng, out: &mut out };
        if departure > now {
            let (i, arrival) = coming.next().expect("it was there");
            let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][arrival.ecn as usize];
            let frame = frame(0, 2, arrival.dscp, arrival.ecn, arrival.length, i as u32);
            let flow = switchbed_wire::Frame::parse(&frame).unwrap().flow;
            let slot = cx.arena.alloc(Packet {
                flow: FlowId(flow),
                len_bytes: arrival.length as u32,
                ingress: 0,
                class: arrival.dscp,
                ecn,
            });
            if let Enqueued::In(_) = port.enqueue(slot, &mut cx) {
                numbers.push((slot, i as u32));
            }
            free_at = free_at.max(now);
        } else if let Dequeued::Sent { slot, until, .. } = port.dequeue(&mut cx) {
            free_at = until;
            let place = numbers.iter().position(|&(other, _)| other == slot).expect("queued");
            let (_, number) = numbers.swap_remove(place);
            left.push((until, number, arena.packet(slot).ecn as u8));
            arena.free(slot);
        }
    }
}

/// The same arrivals at the live switch's port 0, for the station behind port 2.
fn forwarded(live: &Live, arrivals: &[Arrival]) -> Vec<Left> {
    let (mut forwarder, sides) = punctual(live.clone());
    for (i, arrival) in arrivals.iter().enumerate() {
        let frame = frame(0, 2, arrival.dscp, arrival.ecn, arrival.length, i as u32);
        sides[0].arrive(arrival.at, frame);
    }
    let end = arrivals.last().map_or(Time::ZERO, |last| last.at) + Span::from_ms(100);
    forwarder.run_until(end).unwrap();
    assert!(sides[1].sent().is_empty());
    sides[2].sent().iter().map(|(at, frame)| (*at, number(frame), ecn(frame))).collect()
}

/// The same arrivals, those of an instant in as few frames as can be; how many fewer these were.
fn forwarded_whole(live: &Live, arrivals: &[Arrival]) -> (Vec<Left>, usize) {
    let (mut forwarder, sides) = forwarder_of(live.clone(), Fake::default(), Memory::with_offload);
    let packet = |(i, arrival): (usize, &Arrival)| {
        let frame = frame(0, 2, arrival.dscp, arrival.ecn, arrival.length, i as u32);
        (arrival.at, identified(frame, i as u16))
    };
    let packets: Vec<_> = arrivals.iter().enumerate().map(packet).collect();
    let frames = joined(&packets);
    let fewer = packets.len() - frames.len();
    assert_eq!(parted(&frames), packets);
    for (at, header, frame) in frames {
        sides[0].arrive_with(at, header, frame);
    }
    let end = arrivals.last().map_or(Time::ZERO, |last| last.at) + Span::from_ms(100);
    forwarder.run_until(end).unwrap();
    let left = parted(&sides[2].sent_with());
    (left.iter().map(|(at, frame)| (*at, number(frame), ecn(frame))).collect(), fewer)
}

/// Switches whose ports share 30,000 bytes, by each policy for that.
fn sharing() -> Vec<Live> {
    let with = |of: &PolicyInfo| {
        let mut case = live(3, scheme("none", &[]));
        case.switch.policy = of.policy;
        case.switch.pool = Some(Bytes::new(30_000));
        case.switch.sharing.young = Some(Bytes::new(4_000));
        case.switch.sharing.saturation = Some(Bytes::new(3_000));
        case.switch.sharing.drain_interval = Some(Span::from_us(200));
        case.switch.sharing.expulsion = Some(Rate::from_bps(3_000 * MBPS));
        case
    };
    POLICIES.iter().filter(|of| of.policy.shares_pool()).map(with).collect()
}

/// One of the ports that share their memory.
struct Alone {
    port: Box<dyn Qdisc>,
    free_at: Time,
    left: Vec<Left>,
}

/// Such ports, as in [`reference`]: what left each, and how many packets were pushed out.
struct Together {
    ports: Vec<Alone>,
    arena: Arena,
    memory: SwitchMemory,
    rng: Stream,
    out: Outcome,
    numbers: Vec<(SlotId, u32)>,
    pushed_out: usize,
}

impl Together {
    fn new(live: &Live) -> Together {
        let (ports, mtu) = (live.port.len() as u32, live.live.mtu);
        let port = |(port, number): (&LivePort, u32)| {
            let (switch, scheme) = (&live.switch, &live.scheme);
            let port = build::port(switch, scheme, ports, port.rate, mtu, &build::Nothing, number);
            Alone { port, free_at: Time::ZERO, left: Vec::new() }
        };
        Together {
            ports: live.port.iter().zip(0..).map(port).collect(),
            arena: Arena::new(),
            memory: live.switch.memory(ports, mtu),
            rng: Stream::new(live.live.seed, 0),
            out: Outcome::default(),
            numbers: Vec::new(),
            pushed_out: 0,
        }
    }

    fn at<T>(&mut self, p: usize, now: Time, act: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let Together { ports, arena, memory, rng, out, .. } = self;
        let answer = act(&mut *ports[p].port, &mut Cx { now, arena, memory, rng, out });
        for gone in std::mem::take(&mut self.out.dropped) {
            self.number(gone.slot);
            self.arena.free(gone.slot);
            self.pushed_out += 1;
        }
        answer
    }

    fn number(&mut self, slot: SlotId) -> u32 {
        let place = self.numbers.iter().position(|&(other, _)| other == slot).expect("queued");
        self.numbers.swap_remove(place).1
    }

    /// Whose line is free first, of those that hold packets.
    fn next(&self) -> Option<(Time, usize)> {
        let holds = |of: &Alone| of.port.state().packets() > 0;
        let ports = self.ports.iter().enumerate().filter(|(_, of)| holds(of));
        ports.map(|(p, of)| (of.free_at, p)).min()
    }

    fn depart(&mut self, now: Time, p: usize) {
        let Dequeued::Sent { slot, until, .. } = self.at(p, now, |port, cx| port.dequeue(cx))
        else {
            panic!("it holds packets")
        };
        let (number, ecn) = (self.number(slot), self.arena.packet(slot).ecn as u8);
        self.arena.free(slot);
        self.ports[p].free_at = until;
        self.ports[p].left.push((until, number, ecn));
    }

    fn arrive(&mut self, p: usize, number: u32, arrival: &Arrival) {
        let now = arrival.at;
        let bytes = frame(0, p, arrival.dscp, arrival.ecn, arrival.length, number);
        let slot = self.arena.alloc(Packet {
            flow: FlowId(switchbed_wire::Frame::parse(&bytes).unwrap().flow),
            len_bytes: arrival.length as u32,
            ingress: 0,
            class: arrival.dscp,
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][arrival.ecn as usize],
        });
        self.numbers.push((slot, number));
        if let Enqueued::Dropped(..) = self.at(p, now, |port, cx| port.enqueue(slot, cx)) {
            self.number(slot);
            self.arena.free(slot);
        }
        self.ports[p].free_at = self.ports[p].free_at.max(now);
        if self.next() == Some((now, p)) {
            self.depart(now, p);
        }
        while let Some(Expulsion { of, end }) = self.memory.expels(now, self.ports[p].port.state())
        {
            self.at(of.port as usize, now, |port, cx| port.expel(of.queue, end, cx));
        }
    }

    fn run(mut self, arrivals: &[(usize, Arrival)]) -> (Vec<Vec<Left>>, usize) {
        for (number, (p, arrival)) in arrivals.iter().enumerate() {
            while let Some((free_at, p)) = self.next().filter(|&(at, _)| at <= arrival.at) {
                self.depart(free_at, p);
            }
            self.arrive(*p, number as u32, arrival);
        }
        while let Some((free_at, p)) = self.next() {
            self.depart(free_at, p);
        }
        (self.ports.into_iter().map(|of| of.left).collect(), self.pushed_out)
    }
}

/// The same arrivals at the live switch's port 0, for the stations behind the other ports.
fn forwarded_by_all(live: &Live, arrivals: &[(usize, Arrival)]) -> Vec<Vec<Left>> {
    let (mut forwarder, sides) = punctual(live.clone());
    for (i, (to, arrival)) in arrivals.iter().enumerate() {
        let frame = frame(0, *to, arrival.dscp, arrival.ecn, arrival.length, i as u32);
        sides[0].arrive(arrival.at, frame);
    }
    let end = arrivals.last().map_or(Time::ZERO, |(_, last)| last.at) + Span::from_ms(100);
    forwarder.run_until(end).unwrap();
    let left = |(at, frame): &(Time, Vec<u8>)| (*at, number(frame), ecn(frame));
    sides.iter().map(|side| side.sent().iter().map(left).collect()).collect()
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let lengths = prop_oneof![Just(60usize), Just(1514), 60usize..1515];
    // Ties, a packet's time or less, idle times.
    let gaps = prop_oneof![4 => Just(0u64), 4 => 1u64..150, 1 => 1000u64..3000];
    let one = (gaps, 0u8..2, 0u8..4, lengths);
    prop::collection::vec(one, 1..120).prop_map(|list| {
        let mut at = Time::ZERO;
        let mut arrival = |(gap, dscp, ecn, length)| {
            at += Span::from_us(gap);
            Arrival { at, dscp, ecn, length }
        };
        list.into_iter().map(&mut arrival).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_same_decisions_as_a_port_with_an_event_for_each_departure(arrivals in arrivals()) {
        for case in cases() {
            let label = (case.scheme.name(), case.switch.discipline);
            prop_assert_eq!(forwarded(&case, &arrivals), reference(&case, &arrivals), "{:?}", label);
        }
    }
}

/// Arrivals as segmentation offload has them: packets of one length and class at once, a shorter one last.
fn segments() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (0u64..3000, 0u8..2, 0u8..4, 61usize..1515, 1usize..46, 50usize..61);
    prop::collection::vec(one, 1..6).prop_map(|list| {
        let (mut at, mut arrivals) = (Time::ZERO, Vec::new());
        for (gap, dscp, ecn, length, count, last) in list {
            at += Span::from_us(gap);
            let of = |nth| if nth < count { length } else { last };
            let packets = (1..=count).map(|nth| Arrival { at, dscp, ecn, length: of(nth) });
            arrivals.extend(packets);
        }
        arrivals
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_same_decisions_on_packets_that_came_in_one_frame(arrivals in segments()) {
        for case in cases() {
            let label = (case.scheme.name(), case.switch.discipline);
            let (left, fewer) = forwarded_whole(&case, &arrivals);
            prop_assert!(arrivals.windows(2).all(|two| two[0].at != two[1].at) || fewer > 0);
            prop_assert_eq!(left, reference(&case, &arrivals), "{:?}", label);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_same_losses_as_ports_that_share_their_memory(
        arrivals in arrivals(),
        to in prop::collection::vec(1usize..3, 120),
    ) {
        let arrivals: Vec<_> = to.into_iter().zip(arrivals).collect();
        for case in sharing() {
            let (left, _) = Together::new(&case).run(&arrivals);
            prop_assert_eq!(forwarded_by_all(&case, &arrivals), left, "{:?}", case.switch.policy);
        }
    }
}

/// Thirty packets at once for a port, and then thirty for another, whose memory is twenty packets':
/// what each lets through, and how many are pushed out for what comes later.
#[test]
fn ports_lose_packets_for_each_other_live() {
    let one = |i: u64| {
        let at = crate::common::us(i);
        let to = if i < 30 { 1 } else { 2 };
        (to, Arrival { at, dscp: 0, ecn: 0, length: 1500 })
    };
    let arrivals: Vec<_> = (0..60).map(one).collect();
    for case in sharing() {
        let (expected, pushed_out) = Together::new(&case).run(&arrivals);
        let left = forwarded_by_all(&case, &arrivals);
        assert_eq!(left, expected, "{:?}", case.switch.policy);
        // One is on the line at once.
        let sent = (left[1].len() - 1, left[2].len() - 1);
        match case.switch.policy {
            BufferPolicy::Lqd => assert_eq!((sent, pushed_out), ((10, 10), 10)),
            BufferPolicy::Occamy => assert!(pushed_out > 0 && sent.1 > 2, "{sent:?}, {pushed_out}"),
            _ => assert!(pushed_out == 0 && sent.1 < sent.0, "{sent:?}"),
        }
    }
}

#[test]
fn the_arrivals_bring_about_what_they_should() {
    let burst = |n: u64, gap| {
        let one = |i: u64| Arrival {
            at: crate::common::us(gap * i),
            dscp: (i % 2) as u8,
            ecn: if i.is_multiple_of(5) { 0 } else { 2 },
            length: 1514,
        };
        (0..n).map(one).collect::<Vec<_>>()
    };
    let marks = |left: &[Left]| left.iter().filter(|&&(_, _, ecn)| ecn == 3).count();
    let marking = ["per-queue", "per-queue-min", "per-port", "per-pool", "mq-ecn"];
    for name in marking {
        let cases = cases();
        let case = cases.iter().find(|case| case.scheme.name() == name).expect("registered");
        let left = forwarded(case, &burst(60, 20));
        assert!((1..60).contains(&marks(&left)), "{name}: {} marks", marks(&left));
        assert!(left.iter().all(|&(_, number, ecn)| (ecn == 0) == number.is_multiple_of(5)));
        // One packet at a time is never marked.
        assert_eq!(marks(&forwarded(case, &burst(20, 200))), 0);
    }
}
