//! Self-clocked fair queueing against the fluid it approximates: generalized processor
//! sharing, simulated slowly.

use proptest::prelude::*;
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Outcome};
use switchbed_qdisc::schedulers::Wfq;
use switchbed_qdisc::{Arena, FlowId, Packet, Port, PortState, Qdisc, Seats, SwitchMemory};
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Time};

const QUEUES: usize = 4;
/// 10 Gbps.
const PS_PER_BYTE: f64 = 800.0;

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ps: u64,
    queue: usize,
    len_bytes: u32,
}

/// When each packet's last bit leaves under the port's scheduler, in picoseconds.
fn wfq(weights: &[u64; QUEUES], arrivals: &[Arrival]) -> Vec<f64> {
    let seats = Seats::new(ByClass, Shared { limit: Bytes::MAX }, Nobody, Wfq::new(QUEUES), Nobody);
    let quanta = weights.map(Bytes::new);
    let mut port = Port::new(PortState::new(Rate::from_gbps(10), &quanta), seats);
    let (mut arena, mut memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
    let mut out = Outcome::default();
    let mut finish = vec![f64::NAN; arrivals.len()];
    let mut free_at = 0;
    let mut pending = arrivals.iter().enumerate().peekable();
    loop {
        let queued = port.state().packets() > 0;
        let arrival = pending.peek().map(|(_, a)| a.at_ps);
        let (now, departs) = match arrival {
            Some(at) if !queued || at < free_at => (at, false),
            _ if queued => (free_at, true),
            _ => return finish,
        };
        let mut cx = Cx {
            now: Time::from_ps(now),
            arena: &mut arena,
            memory: &mut memory,
            rng: &mut NoRandom,
            out: &mut out,
        };
        if !departs {
            let (i, a) = pending.next().unwrap();
            let packet = Packet {
                flow: FlowId(i as u32),
                class: a.queue as u8,
                len_bytes: a.len_bytes,
                ..Packet::default()
            };
            let slot = cx.arena.alloc(packet);
            port.enqueue(slot, &mut cx);
            if now < free_at {
                continue;
            }
        }
        if let Dequeued::Sent { slot, until, .. } = port.dequeue(&mut cx) {
            finish[cx.arena.packet(slot).flow.0 as usize] = until.as_ps() as f64;
            cx.arena.free(slot);
            free_at = until.as_ps();
        }
    }
}

/// The same under GPS: all backlogged queues are served at once, by weight.
fn gps(weights: &[u64; QUEUES], arrivals: &[Arrival]) -> Vec<f64> {
    let mut finish = vec![f64::NAN; arrivals.len()];
    let mut queues: [std::collections::VecDeque<(usize, f64)>; QUEUES] = Default::default();
    let mut now = 0.0;
    let mut pending = arrivals.iter().enumerate().peekable();
    loop {
        let sum: u64 = (0..QUEUES).filter(|&q| !queues[q].is_empty()).map(|q| weights[q]).sum();
        let rate = |q: usize| weights[q] as f64 / sum as f64 / PS_PER_BYTE;
        let ends = (0..QUEUES)
            .filter_map(|q| queues[q].front().map(|&(_, left)| (now + left / rate(q), q)));
        let end = ends.min_by(|a, b| a.0.total_cmp(&b.0));
        let arrival = pending.peek().map(|(_, a)| a.at_ps as f64);
        let next = match (end, arrival) {
            (None, None) => return finish,
            (Some((end, _)), Some(at)) => end.min(at),
            (Some((end, _)), None) => end,
            (None, Some(at)) => at,
        };
        for (q, queue) in queues.iter_mut().enumerate() {
            if let Some(front) = queue.front_mut() {
                front.1 -= (next - now) * rate(q);
            }
        }
        now = next;
        match end {
            Some((end, q)) if end <= now => {
                let (i, _) = queues[q].pop_front().unwrap();
                finish[i] = now;
            }
            _ => {
                let (i, a) = pending.next().unwrap();
                queues[a.queue].push_back((i, a.len_bytes as f64));
            }
        }
    }
}

fn arrivals(gap_ps: u64) -> impl Strategy<Value = Vec<Arrival>> {
    let one = (0..=gap_ps, 0..QUEUES, 64u32..=1500);
    prop::collection::vec(one, 1..120).prop_map(|steps| {
        let mut at_ps = 0;
        steps
            .into_iter()
            .map(|(gap, queue, len_bytes)| {
                at_ps += gap;
                Arrival { at_ps, queue, len_bytes }
            })
            .collect()
    })
}

fn weights() -> impl Strategy<Value = [u64; QUEUES]> {
    prop::array::uniform4(1u64..=8).prop_map(|w| w.map(|w| w * 500))
}

const PACKET_PS: f64 = 1500.0 * PS_PER_BYTE;

proptest! {
    /// All there from the start: the order is that of GPS's finish times, so that none is
    /// later than a packet's time (Parekh and Gallager 1993, theorem 1).
    #[test]
    fn a_standing_backlog_ends_within_a_packet_of_gps(
        weights in weights(),
        arrivals in arrivals(0),
    ) {
        let (wfq, gps) = (wfq(&weights, &arrivals), gps(&weights, &arrivals));
        for (i, (wfq, gps)) in wfq.iter().zip(&gps).enumerate() {
            prop_assert!(wfq - gps <= PACKET_PS + 10.0, "packet {i}: {wfq} after {gps}");
        }
    }

    /// Whatever comes when: self-clocking may cost a packet of each other queue (Golestani
    /// 1994, section 4), no more.
    #[test]
    fn any_arrivals_end_within_a_packet_a_queue_of_gps(
        weights in weights(),
        arrivals in arrivals(2_000_000),
    ) {
        let (wfq, gps) = (wfq(&weights, &arrivals), gps(&weights, &arrivals));
        for (i, (wfq, gps)) in wfq.iter().zip(&gps).enumerate() {
            prop_assert!(wfq - gps <= QUEUES as f64 * PACKET_PS + 10.0, "packet {i}: {wfq} after {gps}");
        }
    }
}
