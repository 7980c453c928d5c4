//! What it costs to keep account of 100,000 flows: time a packet and bytes of memory. One
//! arrival and one departure at a port with a short standing queue; flows send in turn, so that
//! each packet's account has left the nearer caches where there are many. 10 Gbps, a tick of
//! the fairness controller every millisecond.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::{Nobody, Notifier};
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::schemes::fairness::Arrivals;
use switchbed_qdisc::schemes::{AfQcn, AfQcnSettings, Qcn, QcnSettings};
use switchbed_qdisc::{Arena, FlowId, Packet, Port, PortState, Qdisc, Random, Seats, SwitchMemory};
use switchbed_units::{Bytes, Rate, Time};

const FLOWS: u32 = 100_000;
const LEN: u32 = 1000;

/// Always the middle.
struct Middle;
impl Random for Middle {
    fn next_u64(&mut self) -> u64 {
        1 << 63
    }
}

struct Bed<Q> {
    port: Q,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
    now: Time,
    flow: u32,
    flows: u32,
}

impl<Q: Qdisc> Bed<Q> {
    fn enqueue(&mut self) {
        // A step that is prime to the number of flows visits them all, far from each other.
        self.flow = (self.flow + 61_803) % self.flows;
        let flow = FlowId(self.flow);
        let slot = self.arena.alloc(Packet { flow, len_bytes: LEN, ..Packet::default() });
        let Bed { port, arena, memory, out, now, .. } = self;
        black_box(port.enqueue(slot, &mut Cx { now: *now, arena, memory, rng: &mut Middle, out }));
        out.feedback.clear();
    }

    fn packet(&mut self) {
        let Bed { port, arena, memory, out, now, .. } = self;
        let mut cx = Cx { now: *now, arena, memory, rng: &mut Middle, out };
        let Dequeued::Sent { slot, until, .. } = port.dequeue(&mut cx) else {
            panic!("a backlogged port sends")
        };
        self.arena.free(slot);
        self.now = until;
        self.enqueue();
    }
}

fn measure(c: &mut Criterion, name: &str, flows: u32, notifier: impl Notifier + Send) {
    let seats = Seats::new(Single, Shared { limit: Bytes::MAX }, Nobody, Fifo, notifier);
    let port = Port::new(PortState::new(Rate::from_gbps(10), &[Bytes::new(LEN as u64)]), seats);
    let (arena, memory, out) = (Arena::new(), SwitchMemory::new(Bytes::MAX), Outcome::default());
    let mut bed = Bed { port, arena, memory, out, now: Time::ZERO, flow: 0, flows };
    (0..20).for_each(|_| bed.enqueue());
    (0..4 * flows).for_each(|_| bed.packet());
    c.bench_function(name, |bencher| bencher.iter(|| bed.packet()));
}

fn notifiers(c: &mut Criterion) {
    let mut arrivals = Arrivals::new(0.125, 20_000.0);
    (0..FLOWS).for_each(|flow| arrivals.count(flow, 0, LEN));
    let bytes = arrivals.memory_bytes();
    println!("{FLOWS} flows: {bytes} bytes, {} a flow", bytes / FLOWS as usize);

    measure(c, "no notifier", FLOWS, Nobody);
    measure(c, "qcn", FLOWS, Qcn::new(QcnSettings::default(), 1));
    for flows in [10, FLOWS] {
        // Every flow is kept, be it ever so slow: at 12.5 packets a second each, a flow's
        // account has decayed long before its next packet.
        let settings = AfQcnSettings { beta: 0.001, ..AfQcnSettings::default() };
        measure(c, &format!("af-qcn, {flows} flows"), flows, AfQcn::new(settings, 1));
    }
}

criterion_group!(benches, notifiers);
criterion_main!(benches);
