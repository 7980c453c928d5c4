//! TCN on a line of 10 Gbps with T = 78 us, where a packet of 1500 bytes takes 1.2 us.

use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::Dwrr;
use switchbed_qdisc::schemes::Tcn;
use switchbed_qdisc::{Arena, Ecn, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Span, Time};

/// A hundred packets at once, by turns to so many queues: which of each queue are marked.
fn marked(queues: u8) -> Vec<Vec<usize>> {
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
fn one_queue_is_marked_as_by_a_step_at_t() {
    assert_eq!(marked(1), [(66..100).collect::<Vec<_>>()]);
}

/// Packet j of either leaves at 2.4·j us or 1.2 later: 32 after 76.8 and 78.0, 33 after 79.2. Neither
/// queue holds the 65 packets that a step of each queue would want.
#[test]
fn two_queues_are_marked_by_the_wait_and_not_by_their_lengths() {
    assert_eq!(marked(2), vec![(33..50).collect::<Vec<_>>(); 2]);
}
