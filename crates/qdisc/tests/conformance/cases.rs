//! The schemes under test: those of the registry ([`super::registered`]), and combinations of
//! seats. A seat in the list of its kind meets every occupant of the other seats.

use super::driver::PORTS;
use super::odd::*;
use switchbed_qdisc::classifier::{ByClass, ByHash, ByIngress, Single};
use switchbed_qdisc::hooks::{Buffer, Classifier, Marker, Nobody, Notifier, Scheduler};
use switchbed_qdisc::memory::chip::{Chip, Ingress};
use switchbed_qdisc::memory::{
    Abm, Cells, Crosspoint, Dynamic, Fab, Lqd, Occamy, OfSwitch, Overflow, Own, Policy, Shared,
    Sizes, Static, Young,
};
use switchbed_qdisc::schedulers::{Dwrr, Fifo, RoundRobin, Strict, Wfq, Wrr};
use switchbed_qdisc::scheme::Same;
use switchbed_qdisc::schemes::fairness::{self, Party, Shares};
use switchbed_qdisc::schemes::hcf::{Hcf, HcfSettings};
use switchbed_qdisc::schemes::{AfQcn, AfQcnSettings, Qcn, QcnSettings};
use switchbed_qdisc::schemes::{
    Afd, AfdSettings, Cedm, CedmSettings, EEcn, MarkAt, MqEcn, RandomMark, Red, RedSettings,
    Rounds, SEcn, Share, Slope, Spacing, Step, Timed, Weights,
};
use switchbed_qdisc::{QueueSet, Scheme, Seats};
use switchbed_units::{Bytes, Rate, Span};

/// Quanta of the four queues: one under the MTU, none alike.
pub const QUANTA: [Bytes; 4] =
    [Bytes::new(1500), Bytes::new(3000), Bytes::new(1000), Bytes::new(4500)];
const QUEUES: usize = QUANTA.len();

/// Thresholds, limits and times that short sequences reach.
const K: Bytes = Bytes::new(6_000);
const PORT: Bytes = Bytes::new(20_000);
const PART: Bytes = Bytes::new(10_000);
const POOL: Bytes = Bytes::new(40_000);
const T_IDLE: Span = Span::from_ns(1_200);
const CLOCK: Span = Span::from_ns(900);

fn red(at: MarkAt) -> RedSettings {
    RedSettings {
        kmin: Bytes::new(2_000),
        kmax: K,
        pmax: 0.5,
        weight: 0.25,
        gentle: at == MarkAt::Dequeue,
        spacing: Spacing::Uniform,
        packet_time: T_IDLE,
        at,
    }
}

const CEDM: CedmSettings = CedmSettings {
    k1: Bytes::new(4_000),
    k2: Bytes::new(8_000),
    weight: 0.5,
    header: Bytes::new(66),
};
/// Class 1 has three times the others' weight and a cap.
fn shares() -> Shares {
    let second = fairness::Share { weight: 3.0, cap: Some(Rate::from_gbps(1)) };
    Shares::new(vec![fairness::Share::default(), second])
}

fn afd(party: Party, marks: bool) -> Box<Afd> {
    let settings = AfdSettings {
        reference: Bytes::new(4_000),
        interval: Span::from_us(5),
        a1: 1.8,
        a2: 1.7,
        divided: true,
        beta: 0.5,
        party,
        shares: shares(),
        marks,
    };
    Box::new(Afd::new(settings, QUEUES))
}

fn qcn() -> QcnSettings {
    QcnSettings { set_point: Bytes::new(3_000), ..QcnSettings::default() }
}

fn af_qcn(party: Party) -> Box<AfQcn> {
    let settings = AfQcnSettings {
        qcn: qcn(),
        interval: Span::from_us(5),
        active_threshold: Bytes::new(1_000),
        party,
        shares: shares(),
        ..AfQcnSettings::default()
    };
    Box::new(AfQcn::new(settings, QUEUES))
}

/// MQ-ECN as the library's users run it.
fn mq_ecn(at: MarkAt) -> Box<dyn Marker + Send> {
    Box::new(MqEcn::new(K, Rounds::new(0.75, T_IDLE, QueueSet::EMPTY), at))
}

/// MQ-ECN's other forms: RED with a share of the line.
fn scaled(at: MarkAt, share: impl Share + Send + 'static) -> Box<dyn Marker + Send> {
    Box::new(Red::scaled(red(at), share, QUEUES))
}

fn young() -> Young {
    Young::new(Bytes::new(4_000))
}

fn abm() -> Abm {
    let young = Some((young(), 4.0));
    Abm::new(PORTS, &[0.5; QUEUES], young, Bytes::new(3_000), Span::from_us(5))
}

fn fab() -> Fab {
    Fab::new(PORTS, &[0.5; QUEUES], young(), 4.0)
}

/// A chip whose memory is the pool's, in small cells.
fn cells() -> Cells {
    let (memory, chip) = (POOL.get(), *Chip::named("tomahawk-3").unwrap());
    let ingress = Ingress { size: memory, xoff: None, gross: false };
    let chip = Chip { cell: 100, lossy: Some(memory / 2), ingress, ..chip };
    let sizes = Sizes { chip: Some(&chip), pool: None, egress: None };
    Cells::of(&sizes, PORTS, &[Own::default(); QUEUES]).unwrap()
}

fn occamy() -> Occamy {
    Occamy::new(PORTS, &[1.0; QUEUES], None, Bytes::new(1_500))
}

fn crosspoint(overflow: Overflow) -> Crosspoint {
    Crosspoint::new(PART, Bytes::new(40), overflow, QUEUES)
}

/// HCF with a marker of its queues.
fn hcf(credits: u32, period: Span, marker: Box<dyn Marker + Send>) -> Box<dyn Scheme + Send> {
    let settings = HcfSettings { bins: 3, credits, period };
    let buffer = Crosspoint::new(PART, Bytes::new(1), Overflow::Tail, 2);
    Box::new(Seats::new(Same, buffer, marker, Hcf::new(settings), Nobody))
}

/// What a scheme may never exceed.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    pub port: Option<Bytes>,
    pub queue: Option<Bytes>,
    pub pool: Option<Bytes>,
}

/// A scheme under test.
pub struct Case {
    pub name: String,
    pub quanta: Vec<Bytes>,
    pub make: Box<dyn Fn() -> Box<dyn Scheme + Send>>,
    /// Policy of the switch's memory, where its ports leave arrivals to it.
    pub policy: Box<dyn Fn() -> Option<Box<dyn Policy>>>,
    pub limits: Limits,
    /// May answer `NotBefore`.
    pub waits: bool,
    /// A refused arrival may change what it does later: it draws, pushes out, or counts.
    pub remembers_refused: bool,
    /// Decides by the switch's pool.
    pub reads_pool: bool,
    /// Its queues can be paused: they are its scheduler's, which knows of it.
    pub pausable: bool,
}

/// An occupant of a seat, by name.
pub struct Named<T: ?Sized> {
    name: &'static str,
    make: fn() -> Box<T>,
    /// Policy of the switch's memory that goes with it.
    policy: Option<fn() -> Box<dyn Policy>>,
    limits: Limits,
    waits: bool,
    remembers_refused: bool,
    reads_pool: bool,
}

fn named<T: ?Sized>(name: &'static str, make: fn() -> Box<T>) -> Named<T> {
    Named {
        name,
        make,
        policy: None,
        limits: Limits::default(),
        waits: false,
        remembers_refused: false,
        reads_pool: false,
    }
}

impl<T: ?Sized> Named<T> {
    fn port_limit(mut self, limit: Bytes) -> Self {
        self.limits.port = Some(limit);
        self
    }
    fn queue_limit(mut self, limit: Bytes) -> Self {
        self.limits.queue = Some(limit);
        self
    }
    fn pool_limit(mut self, limit: Bytes) -> Self {
        self.limits.pool = Some(limit);
        self.reads_pool()
    }
    fn reads_pool(mut self) -> Self {
        self.reads_pool = true;
        self
    }
    fn waits(mut self) -> Self {
        self.waits = true;
        self
    }
    fn remembers_refused(mut self) -> Self {
        self.remembers_refused = true;
        self
    }
}

type Classifiers = Named<dyn Classifier + Send>;
type Buffers = Named<dyn Buffer + Send>;
type Markers = Named<dyn Marker + Send>;
type Schedulers = Named<dyn Scheduler + Send>;
type Notifiers = Named<dyn Notifier + Send>;

fn classifiers() -> Vec<Classifiers> {
    vec![
        named("single", || Box::new(Single)),
        named("by class", || Box::new(ByClass)),
        named("by ingress", || Box::new(ByIngress)),
        named("by hash", || Box::new(ByHash { key: 5 })),
    ]
}

fn buffers() -> Vec<Buffers> {
    let new = named::<dyn Buffer + Send>;
    vec![
        new("shared", || Box::new(Shared { limit: PORT })).port_limit(PORT),
        new("static", || Box::new(Static { limit: PART })).queue_limit(PART),
        shared("dynamic", || Box::new(Dynamic::new(&[0.5; QUEUES]))),
        shared("abm", || Box::new(abm())).remembers_refused(),
        shared("fab", || Box::new(fab())).remembers_refused(),
        shared("lqd", || Box::new(Lqd::new(PORTS, QUEUES))).remembers_refused(),
        shared("cells", || Box::new(cells())),
        shared("occamy", || Box::new(occamy())).remembers_refused(),
    ]
}

/// A policy of the switch's memory, to which ports leave arrivals.
fn shared(name: &'static str, policy: fn() -> Box<dyn Policy>) -> Buffers {
    let buffer = named::<dyn Buffer + Send>(name, || Box::new(OfSwitch)).pool_limit(POOL);
    Named { policy: Some(policy), ..buffer }
}

fn crosspoints() -> Vec<Buffers> {
    let new = named::<dyn Buffer + Send>;
    vec![
        new("crosspoints", || Box::new(crosspoint(Overflow::Tail))).queue_limit(PART),
        new("random drop", || Box::new(crosspoint(Overflow::Random)))
            .queue_limit(PART)
            .remembers_refused(),
    ]
}

fn odd_buffers() -> Vec<Buffers> {
    let new = named::<dyn Buffer + Send>;
    let push_out = |name, make| new(name, make).queue_limit(PART).remembers_refused();
    vec![
        push_out("push out the head", || Box::new(PushOut { limit: PART, victim: Victim::Head })),
        push_out("push out inside", || Box::new(PushOut { limit: PART, victim: Victim::Middle })),
        push_out("push out the tail", || Box::new(PushOut { limit: PART, victim: Victim::Tail })),
        push_out("push out by lot", || Box::new(PushOut { limit: PART, victim: Victim::Lot })),
        push_out("a buffer with books", || Box::new(Ledger::default())),
        new("push out of the longest", || {
            Box::new(PushOut { limit: PORT, victim: Victim::Longest })
        })
        .port_limit(PORT)
        .remembers_refused(),
    ]
}

fn markers() -> Vec<Markers> {
    let new = named::<dyn Marker + Send>;
    vec![
        new("per-queue", || Box::new(Step::per_queue(K, QUEUES, MarkAt::Enqueue))),
        new("per-queue, dequeue", || Box::new(Step::per_queue(K, QUEUES, MarkAt::Dequeue))),
        new("per-queue-min", || Box::new(Step::per_queue_min(K, &QUANTA, MarkAt::Enqueue))),
        new("per-port", || Box::new(Step::per_port(K, QUEUES, MarkAt::Enqueue))),
        new("per-pool", || Box::new(Step::per_pool(K, QUEUES, MarkAt::Enqueue))).reads_pool(),
        new("per-pool, dequeue", || Box::new(Step::per_pool(K, QUEUES, MarkAt::Dequeue)))
            .reads_pool(),
        new("mq-ecn", || mq_ecn(MarkAt::Enqueue)),
        new("mq-ecn, dequeue", || mq_ecn(MarkAt::Dequeue)),
        new("mq-ecn, RED", || {
            scaled(MarkAt::Enqueue, Rounds::new(0.75, T_IDLE, QueueSet::first_of(1)))
        })
        .remembers_refused(),
        new("mq-ecn, weights", || {
            scaled(MarkAt::Dequeue, Weights::new(0.5, T_IDLE, QueueSet::first_of(1)))
        })
        .remembers_refused(),
        new("mq-ecn, clock", || {
            scaled(MarkAt::Enqueue, Timed::rounds(0.75, CLOCK, QueueSet::EMPTY))
        })
        .remembers_refused(),
        new("mq-ecn, clock and weights", || {
            scaled(MarkAt::Dequeue, Timed::weights(0.75, CLOCK, QueueSet::first_of(1)))
        })
        .remembers_refused(),
        new("red", || Box::new(Red::new(red(MarkAt::Enqueue), QUEUES))).remembers_refused(),
        new("red, dequeue", || Box::new(Red::new(red(MarkAt::Dequeue), QUEUES)))
            .remembers_refused(),
        new("cedm", || Box::new(Cedm::new(CEDM, QUEUES))),
        new("e-ecn", || Box::new(EEcn::new(K, T_IDLE, T_IDLE * 10, QUEUES))).remembers_refused(),
        new("random mark", || Box::new(RandomMark { threshold: K })).remembers_refused(),
        new("s-ecn", || Box::new(SEcn::new(T_IDLE, Slope::Share(1.0), QUEUES))).remembers_refused(),
        new("afd", || afd(Party::Flow, false)).remembers_refused(),
        new("afd, marking classes", || afd(Party::Class, true)).remembers_refused(),
    ]
}

fn odd_markers() -> Vec<Markers> {
    let new = named::<dyn Marker + Send>;
    vec![
        new("marks all arrivals", || Box::new(Always { on_arrival: true })),
        new("marks all departures", || Box::new(Always { on_arrival: false })),
        new("marks from inside", || Box::new(MarkInside::default())),
        new("tosses coins", || Box::new(Coin)).remembers_refused(),
        new("drops at departure", || Box::new(DropAtDeparture::default())),
        new("ticks", || Box::new(Ticker::new(Span::from_ns(3_700)))),
        new("ticks amid packets", || Box::new(Ticker::new(Span::from_ns(400)))),
    ]
}

fn schedulers() -> Vec<Schedulers> {
    vec![
        named("fifo", || Box::new(Fifo)),
        named("round robin", || Box::new(RoundRobin::default())),
        named("wrr", || Box::new(Wrr::new(QUEUES))),
        named("dwrr", || Box::new(Dwrr::new(QUEUES))),
        named("wfq", || Box::new(Wfq::new(QUEUES))),
        named("strict over dwrr", || Box::new(Strict::new(1, Dwrr::new(QUEUES)))),
    ]
}

fn odd_schedulers() -> Vec<Schedulers> {
    let new = named::<dyn Scheduler + Send>;
    vec![
        new("rests over fifo", || Box::new(Rest::new(Fifo))).waits(),
        new("rests over dwrr", || Box::new(Rest::new(Dwrr::new(QUEUES)))).waits(),
    ]
}

fn nobody() -> Vec<Notifiers> {
    vec![named("nobody", || Box::new(Nobody))]
}

fn notifiers() -> Vec<Notifiers> {
    let new = named::<dyn Notifier + Send>;
    vec![
        new("qcn", || Box::new(Qcn::new(qcn(), QUEUES))),
        new("af-qcn", || af_qcn(Party::Flow)).remembers_refused(),
        new("af-qcn by class", || af_qcn(Party::Class)).remembers_refused(),
    ]
}

fn odd_notifiers() -> Vec<Notifiers> {
    vec![named("sampler", || Box::new(Sampler::default()))]
}

/// A policy over several seats passes on what concerns the others, whoever sits there.
fn hcfs() -> Vec<Case> {
    let with = |(name, credits, period): (&str, u32, Span), marker: Markers| Case {
        name: format!("{name} / {}", marker.name),
        quanta: QUANTA.into(),
        make: Box::new(move || hcf(credits, period, (marker.make)())),
        policy: Box::new(|| None),
        limits: Limits { queue: Some(PART), ..Limits::default() },
        waits: false,
        remembers_refused: marker.remembers_refused,
        reads_pool: marker.reads_pool,
        pausable: false,
    };
    let hcf = |marker| with(("hcf", 1, T_IDLE * 20), marker);
    let more = |marker| with(("hcf of more credits", 3, Span::MAX), marker);
    let odd = odd_markers().into_iter().map(more);
    markers().into_iter().map(hcf).chain(odd).collect()
}

/// Every scheme: the library's seats in every combination; crosspoints and each odd seat with every
/// scheduler, under MQ-ECN where the marking is open; all odd ones together.
pub fn all() -> Vec<Case> {
    let by_class = || only("by class", classifiers());
    let shared = || only("shared", buffers());
    let mq_ecn = || only("mq-ecn", markers());
    [
        product(classifiers(), buffers(), markers(), schedulers(), nobody()),
        product(classifiers(), buffers(), mq_ecn(), schedulers(), notifiers()),
        product(by_class(), crosspoints(), mq_ecn(), schedulers(), nobody()),
        product(by_class(), odd_buffers(), mq_ecn(), schedulers(), nobody()),
        product(by_class(), shared(), odd_markers(), schedulers(), nobody()),
        product(by_class(), buffers(), mq_ecn(), odd_schedulers(), odd_notifiers()),
        product(by_class(), odd_buffers(), odd_markers(), odd_schedulers(), odd_notifiers()),
        hcfs(),
        super::registered::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn only<T: ?Sized>(name: &str, mut list: Vec<Named<T>>) -> Vec<Named<T>> {
    list.retain(|named| named.name == name);
    list
}

fn product(
    classifiers: Vec<Classifiers>,
    buffers: Vec<Buffers>,
    markers: Vec<Markers>,
    schedulers: Vec<Schedulers>,
    notifiers: Vec<Notifiers>,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for (c, b) in pairs(&classifiers, &buffers) {
        for (m, (s, n)) in pairs(&markers, &pairs(&schedulers, &notifiers)) {
            let make = (c.make, b.make, m.make, s.make, n.make);
            let seats = move || Seats::new(make.0(), make.1(), make.2(), make.3(), make.4());
            let policy = b.policy;
            cases.push(Case {
                name: [c.name, b.name, m.name, s.name, n.name].join(" / "),
                quanta: QUANTA.into(),
                make: Box::new(move || Box::new(seats())),
                policy: Box::new(move || policy.map(|make| make())),
                limits: b.limits,
                waits: s.waits,
                remembers_refused: b.remembers_refused
                    || m.remembers_refused
                    || n.remembers_refused,
                reads_pool: b.reads_pool || m.reads_pool,
                pausable: !s.waits,
            });
        }
    }
    cases
}

fn pairs<'a, A, B>(a: &'a [A], b: &'a [B]) -> Vec<(&'a A, &'a B)> {
    a.iter().flat_map(|a| b.iter().map(move |b| (a, b))).collect()
}
