//! What a packet costs at a port: one arrival and one departure, with a standing queue of
//! a few packets in each active queue, everything in the cache. The seats compiled whole
//! against the same seats boxed one by one.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use switchbed_qdisc::classifier::{ByClass, Single};
use switchbed_qdisc::hooks::{Buffer, Classifier, Marker, Nobody, Notifier, Scheduler};
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::{Dwrr, Fifo};
use switchbed_qdisc::schemes::{MarkAt, MqEcn, Rounds, Step};
use switchbed_qdisc::{
    Arena, Ecn, Packet, Port, PortState, Qdisc, QueueSet, Scheme, Seats, SwitchMemory,
};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Time};

const RATE: Rate = Rate::from_gbps(10);
const MTU: u32 = 1500;
const K: Bytes = Bytes::new(65 * MTU as u64);
const BUFFER: Shared = Shared { limit: Bytes::new(300_000) };
/// Packets that stand in each active queue.
const DEPTH: usize = 4;

struct Bed<Q> {
    port: Q,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
    now: Time,
    class: u8,
    active: u8,
}

impl<Q: Qdisc> Bed<Q> {
    fn new(port: Q, active: u8) -> Self {
        let (arena, memory, out) =
            (Arena::new(), SwitchMemory::new(Bytes::MAX), Outcome::default());
        let mut bed = Bed { port, arena, memory, out, now: Time::ZERO, class: 0, active };
        (0..DEPTH * active as usize).for_each(|_| bed.enqueue());
        bed
    }

    #[inline]
    fn with<T>(&mut self, f: impl FnOnce(&mut Q, &mut Cx) -> T) -> T {
        let Bed { port, arena, memory, out, now, .. } = self;
        f(port, &mut Cx { now: *now, arena, memory, rng: &mut NoRandom, out })
    }

    #[inline]
    fn enqueue(&mut self) {
        let class = self.class;
        self.class = if class + 1 == self.active { 0 } else { class + 1 };
        let packet = Packet { class, len_bytes: MTU, ecn: Ecn::Ect0, ..Packet::default() };
        let slot = self.arena.alloc(packet);
        black_box(self.with(|port, cx| port.enqueue(slot, cx)));
    }

    /// One packet leaves, another comes.
    #[inline]
    fn packet(&mut self) {
        let Dequeued::Sent { slot, until, .. } = self.with(|port, cx| port.dequeue(cx)) else {
            panic!("a backlogged port sends")
        };
        self.arena.free(slot);
        self.now = until;
        self.enqueue();
    }
}

fn port<S: Scheme + Send>(queues: usize, scheme: S) -> Port<S> {
    Port::new(PortState::new(RATE, &vec![Bytes::new(MTU as u64); queues]), scheme)
}

fn whole<C, M, S>(queues: usize, classifier: C, marker: M, scheduler: S) -> impl Qdisc
where
    C: Classifier + Send,
    M: Marker + Send,
    S: Scheduler + Send,
{
    port(queues, Seats::new(classifier, BUFFER, marker, scheduler, Nobody))
}

fn boxed(
    queues: usize,
    classifier: Box<dyn Classifier + Send>,
    marker: Box<dyn Marker + Send>,
    scheduler: Box<dyn Scheduler + Send>,
) -> impl Qdisc {
    let buffer: Box<dyn Buffer + Send> = Box::new(BUFFER);
    let notifier: Box<dyn Notifier + Send> = Box::new(Nobody);
    port(queues, Seats::new(classifier, buffer, marker, scheduler, notifier))
}

fn measure(c: &mut Criterion, name: &str, mut bed: Bed<impl Qdisc>) {
    c.bench_function(name, |bencher| bencher.iter(|| bed.packet()));
}

fn ports(c: &mut Criterion) {
    let step = || Step::per_queue(K, 1, MarkAt::Enqueue);
    let mq_ecn =
        || MqEcn::new(K, Rounds::new(0.75, RATE.tx_time(MTU), QueueSet::EMPTY), MarkAt::Enqueue);

    measure(c, "per-queue on FIFO, whole", Bed::new(whole(1, Single, step(), Fifo), 1));
    let port = boxed(1, Box::new(Single), Box::new(step()), Box::new(Fifo));
    measure(c, "per-queue on FIFO, boxed seats", Bed::new(port, 1));
    for active in [1, 8] {
        let port = whole(8, ByClass, mq_ecn(), Dwrr::new(8));
        measure(c, &format!("mq-ecn on DWRR, {active} of 8 queues, whole"), Bed::new(port, active));
        let port = boxed(8, Box::new(ByClass), Box::new(mq_ecn()), Box::new(Dwrr::new(8)));
        let name = format!("mq-ecn on DWRR, {active} of 8 queues, boxed seats");
        measure(c, &name, Bed::new(port, active));
    }
}

criterion_group!(benches, ports);
criterion_main!(benches);
