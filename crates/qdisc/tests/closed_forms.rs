//! MQ-ECN on a port whose queues are always backlogged, against its closed form: a round
//! serves every queue its quantum, so T_round = Σ quantum / C, and eq. 5 gives each queue
//! its part of the standard threshold, K·quantum_i / Σ quantum. TCN on such a port marks the packets whose
//! wait, counted in packets of the line, is over T.

use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::{Nobody, Scheduler};
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::{Dwrr, Wrr};
use switchbed_qdisc::schemes::{MarkAt, MqEcn, Rounds, Tcn};
use switchbed_qdisc::{
    Arena, Ecn, Note, Packet, Port, PortState, Qdisc, QueueId, QueueSet, Seats, SwitchMemory,
};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

const RATE: Rate = Rate::from_gbps(10);
const MTU: u32 = 1500;
/// 65 packets, the paper's standard threshold at 10 Gbps.
const K: Bytes = Bytes::new(65 * MTU as u64);
/// β = 0.75 forgets the start to one part in 10⁹ in 72 samples.
const ROUNDS: usize = 200;

/// A port of MQ-ECN whose queues hold as many packets as they are given.
struct Bed {
    port: Box<dyn Qdisc>,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
    now: Time,
}

impl Bed {
    fn new(scheduler: impl Scheduler + Send + 'static, quanta: &[Bytes]) -> Self {
        let marker =
            MqEcn::new(K, Rounds::new(0.75, RATE.tx_time(MTU), QueueSet::EMPTY), MarkAt::Enqueue);
        let seats = Seats::new(ByClass, Shared { limit: Bytes::MAX }, marker, scheduler, Nobody);
        Bed {
            port: Box::new(Port::new(PortState::new(RATE, quanta), seats)),
            arena: Arena::new(),
            memory: SwitchMemory::new(Bytes::MAX),
            out: Outcome::default(),
            now: Time::ZERO,
        }
    }

    fn with<T>(&mut self, f: impl FnOnce(&mut dyn Qdisc, &mut Cx) -> T) -> T {
        let Bed { arena, memory, out, now, .. } = self;
        f(&mut *self.port, &mut Cx { now: *now, arena, memory, rng: &mut NoRandom, out })
    }

    /// Stores a full packet; whether it got a mark.
    fn fill(&mut self, queue: QueueId) -> bool {
        let ecn = Ecn::Ect0;
        let packet = Packet { class: queue, len_bytes: MTU, ecn, ..Packet::default() };
        self.with(|port, cx| {
            let slot = cx.arena.alloc(packet);
            assert_eq!(port.enqueue(slot, cx), Enqueued::In(queue));
            cx.arena.note(slot) == Note::Mark
        })
    }

    /// Sends a packet and waits for its end; the queue it came from.
    fn send(&mut self) -> QueueId {
        let Dequeued::Sent { slot, queue, until, .. } = self.with(|port, cx| port.dequeue(cx))
        else {
            panic!("a backlogged port sends")
        };
        self.arena.free(slot);
        self.now = until;
        queue
    }

    /// Sends `packets`, each replaced at once; the bytes of each queue.
    fn saturate(&mut self, packets: usize) -> Vec<f64> {
        let mut sent = vec![0.0; self.port.state().queues()];
        for _ in 0..packets {
            let queue = self.send();
            sent[queue as usize] += MTU as f64;
            self.fill(queue);
        }
        sent
    }

    fn round_time_ps(&self) -> f64 {
        self.port.round_time().expect("MQ-ECN has one").as_ps() as f64
    }

    fn threshold(&self, queue: QueueId) -> f64 {
        self.port.threshold_bytes(self.now, &self.arena, &self.memory, queue).expect("has one")
    }
}

fn both(quanta: &[Bytes]) -> [Bed; 2] {
    [Bed::new(Dwrr::new(quanta.len()), quanta), Bed::new(Wrr::new(quanta.len()), quanta)]
}

/// Fills up `queue` and checks that marks begin strictly over `threshold`.
fn assert_marks_over(bed: &mut Bed, queue: QueueId, threshold: f64) {
    loop {
        let length = bed.port.state().queue_bytes(queue).as_f64() + MTU as f64;
        let marked = bed.fill(queue);
        assert_eq!(marked, length > threshold, "queue {queue} at {length}, K = {threshold}");
        if marked {
            return;
        }
    }
}

#[test]
fn equal_queues_share_the_threshold() {
    let quanta = [Bytes::new(1500); 8];
    for active in 1..=8 {
        for mut bed in both(&quanta) {
            for queue in (0..active).cycle().take(active as usize * 3) {
                bed.fill(queue);
            }
            bed.saturate(ROUNDS * active as usize);
            let round_time = active as f64 * 1.2e6;
            assert!((bed.round_time_ps() - round_time).abs() < 2.0, "{active} queues");
            for queue in 0..active {
                let threshold = K.as_f64() / active as f64;
                assert!((bed.threshold(queue) - threshold).abs() < 1e-3, "{active} queues");
                let in_force = bed.threshold(queue);
                assert_marks_over(&mut bed, queue, in_force);
            }
        }
    }
}

#[test]
fn unequal_queues_share_it_by_quantum_and_the_line_too() {
    let quanta = [1500, 3000, 4500, 9000].map(Bytes::new);
    let sum: f64 = quanta.iter().map(|quantum| quantum.as_f64()).sum();
    for mut bed in both(&quanta) {
        for queue in (0..4).cycle().take(4 * 8) {
            bed.fill(queue);
        }
        let round = sum as usize / MTU as usize;
        bed.saturate(50 * round);
        let sent = bed.saturate(1_000 * round);
        let all: f64 = sent.iter().sum();
        assert!((bed.round_time_ps() - sum * 800.0).abs() < 2.0);
        for (queue, quantum) in (0..).zip(&quanta) {
            let part = quantum.as_f64() / sum;
            assert!((bed.threshold(queue) / (K.as_f64() * part) - 1.0).abs() < 1e-6);
            assert!((sent[queue as usize] / all / part - 1.0).abs() < 0.01);
        }
    }
}

#[test]
fn the_round_shrinks_as_queues_fall_silent() {
    let quanta = [Bytes::new(1500); 8];
    for mut bed in both(&quanta) {
        for queue in (0..8).cycle().take(8 * 3) {
            bed.fill(queue);
        }
        bed.saturate(ROUNDS * 8);
        // Only queue 0 gets packets from now on.
        for _ in 0..ROUNDS {
            if bed.send() == 0 {
                bed.fill(0);
            }
        }
        assert!((bed.round_time_ps() - 1.2e6).abs() < 2.0);
        assert!((bed.threshold(0) - K.as_f64()).abs() < 1e-3);
    }
}

/// Thresholds follow the quantum's part of the line as it is, K itself being a setting.
#[test]
fn a_faster_line_shortens_the_round_and_leaves_the_thresholds() {
    for mut bed in both(&[Bytes::new(1500); 4]) {
        for queue in (0..4).cycle().take(4 * 3) {
            bed.fill(queue);
        }
        bed.saturate(ROUNDS * 4);
        bed.with(|port, cx| port.set_rate(Rate::from_gbps(40), cx));
        bed.saturate(ROUNDS * 4);
        assert!((bed.round_time_ps() - 4.0 * 0.3e6).abs() < 2.0);
        assert!((bed.threshold(2) - K.as_f64() / 4.0).abs() < 1e-3);
    }
}

#[test]
fn an_idle_port_forgets_the_round_by_whole_t_idle() {
    for mut bed in both(&[Bytes::new(1500); 8]) {
        for queue in 0..8 {
            bed.fill(queue);
        }
        for _ in 0..8 {
            bed.send();
        }
        let before = bed.round_time_ps();
        bed.now += Span::from_ns(1_200) * 5 + Span::from_ns(1_199);
        bed.fill(3);
        let after = before * 0.75 * 0.75 * 0.75 * 0.75 * 0.75;
        assert!((bed.round_time_ps() - after).abs() < 2.0);
    }
}

/// TCN with T = 78 us on a line of 10 Gbps, where a packet of 1500 bytes takes 1.2 us: a hundred packets at once, by turns to so many queues: which of each queue are marked.
fn marked_by_tcn(queues: u8) -> Vec<Vec<usize>> {
    let tcn = Tcn { threshold: Span::from_us(78) };
    let quanta = vec![Bytes::new(1500); queues.into()];
    let scheduler = Dwrr::new(queues.into());
    let seats = Seats::new(ByClass, Shared { limit: Bytes::MAX }, tcn, scheduler, Nobody);
    let mut port = Port::new(PortState::new(Rate::from_gbps(10), &quanta), seats);
    let (mut arena, mut memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
    let (mut out, mut now) = (Outcome::default(), Time::ZERO);
    for nth in 0..100 {
        let class = nth % queues;
        let packet = Packet { len_bytes: 1500, class, ecn: Ecn::Ect0, ..Packet::default() };
        let slot = arena.alloc(packet);
        let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
        port.enqueue(slot, &mut Cx { now, arena, memory, rng: &mut NoRandom, out });
    }
    let (mut sent, mut marks) = (vec![0; queues.into()], vec![Vec::new(); queues.into()]);
    loop {
        let (arena, memory, out) = (&mut arena, &mut memory, &mut out);
        let mut cx = Cx { now, arena, memory, rng: &mut NoRandom, out };
        let Dequeued::Sent { queue, until, marked, .. } = port.dequeue(&mut cx) else {
            return marks;
        };
        let queue = usize::from(queue);
        if marked {
            marks[queue].push(sent[queue]);
        }
        sent[queue] += 1;
        now = until;
    }
}

/// Packet i leaves at 1.2·i us: 65 after 78.0, which is not longer, 66 after 79.2.
#[test]
fn tcn_marks_one_queue_as_a_step_at_t_does() {
    assert_eq!(marked_by_tcn(1), [(66..100).collect::<Vec<_>>()]);
}

/// Packet j of either leaves at 2.4·j us or 1.2 later: 32 after 76.8 and 78.0, 33 after 79.2. Neither
/// queue holds the 65 packets that a step of each queue would want.
#[test]
fn tcn_marks_two_queues_by_the_wait_and_not_by_their_lengths() {
    assert_eq!(marked_by_tcn(2), vec![(33..50).collect::<Vec<_>>(); 2]);
}
