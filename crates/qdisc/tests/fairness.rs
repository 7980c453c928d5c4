//! Water filling is weighted max-min fair, and AFD shares a link among senders that do not
//! listen.

use proptest::prelude::*;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::hooks::Nobody;
use switchbed_qdisc::memory::Shared;
use switchbed_qdisc::port::{Cx, Dequeued, Enqueued, Outcome};
use switchbed_qdisc::schedulers::Fifo;
use switchbed_qdisc::schemes::fairness::{Party, Share, Shares, water_level};
use switchbed_qdisc::schemes::{Afd, AfdSettings};
use switchbed_qdisc::{
    Arena, Ecn, FlowId, Packet, Port, PortState, Qdisc, Random, Seats, SwitchMemory,
};
use switchbed_units::{Bytes, Rate, Span, Time};

/// Weight, cap and demand of a party; many without a cap.
fn party() -> impl Strategy<Value = (f64, f64, f64)> {
    let cap = prop_oneof![Just(f64::INFINITY), 0.0..20.0];
    (0.1..10.0, cap, 0.0..20.0)
}

proptest! {
    #[test]
    fn no_party_can_gain_without_a_smaller_one_losing(
        parties in prop::collection::vec(party(), 1..30),
        total in 0.0..100.0,
    ) {
        let limit = |&(_, cap, demand): &(f64, f64, f64)| cap.min(demand);
        let mut vessels: Vec<(f64, f64)> = parties.iter().map(|p| (p.0, limit(p))).collect();
        let level = water_level(total, &mut vessels);
        let shares: Vec<f64> = parties.iter().map(|p| limit(p).min(level * p.0)).collect();
        // Nobody has more than the limit, and together no more than there is.
        let sum: f64 = shares.iter().sum();
        prop_assert!(sum <= total + 1e-9, "{sum} of {total}");
        let all_limited = parties.iter().zip(&shares).all(|(p, share)| *share == limit(p));
        prop_assert!(all_limited || (sum - total).abs() < 1e-9, "{sum} of {total}");
        // Whoever is short of the limit has, by weight, as much as anybody: to give it more is
        // to take from one that has no more.
        let most = parties.iter().zip(&shares).map(|(p, share)| share / p.0).fold(0.0, f64::max);
        for (p, share) in parties.iter().zip(&shares) {
            prop_assert!(*share == limit(p) || share / p.0 >= most - 1e-9);
        }
    }
}

/// SplitMix64.
struct Draws(u64);
impl Random for Draws {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What each sender gets of a 10 Gbps port with AFD, in Mbps, and the mean queue in bytes, over
/// the second half of 400 ms. Senders send 1000-byte packets at constant rates, in Mbps.
fn shares(settings: &AfdSettings, offered_mbps: &[u64], ecn: Ecn) -> (Vec<f64>, f64) {
    let seats = Seats::new(
        Single,
        Shared { limit: Bytes::new(300_000) },
        Afd::new(settings.clone(), 1),
        Fifo,
        Nobody,
    );
    let mut port = Port::new(PortState::new(Rate::from_gbps(10), &[Bytes::new(1000)]), seats);
    let (mut arena, mut memory, mut rng) = (Arena::new(), SwitchMemory::new(Bytes::MAX), Draws(1));
    let mut out = Outcome::default();
    let gap = |sender: usize| Span::from_ps(8_000_000_000 / offered_mbps[sender]);
    let mut next: Vec<Time> = (0..offered_mbps.len()).map(|s| Time::ZERO + gap(s)).collect();
    let (half, end) = (Time::ZERO + Span::from_ms(200), Time::ZERO + Span::from_ms(400));
    let mut sent = vec![0.0; offered_mbps.len()];
    let (mut lengths, mut samples) = (0.0, 0.0);
    let mut free = Time::ZERO;
    loop {
        let (sender, &at) = next.iter().enumerate().min_by_key(|(_, at)| **at).expect("senders");
        if at.min(free) >= end {
            break;
        }
        if free <= at {
            let mut cx = Cx {
                now: free,
                arena: &mut arena,
                memory: &mut memory,
                rng: &mut rng,
                out: &mut out,
            };
            match port.dequeue(&mut cx) {
                Dequeued::Sent { slot, until, marked, .. } => {
                    let flow = cx.arena.packet(slot).flow.0 as usize;
                    cx.arena.free(slot);
                    sent[flow] +=
                        if free >= half && !marked { 8.0 * 1000.0 / 0.2 / 1e6 } else { 0.0 };
                    free = until;
                }
                _ => free = at + Span::from_ps(1),
            }
            continue;
        }
        next[sender] = at + gap(sender);
        let packet = Packet {
            flow: FlowId(sender as u32),
            len_bytes: 1000,
            class: sender as u8,
            ecn,
            ..Packet::default()
        };
        let mut cx =
            Cx { now: at, arena: &mut arena, memory: &mut memory, rng: &mut rng, out: &mut out };
        let slot = cx.arena.alloc(packet);
        if let Enqueued::Dropped(..) = port.enqueue(slot, &mut cx) {
            cx.arena.free(slot);
        }
        if at >= half {
            lengths += port.state().bytes().as_f64();
            samples += 1.0;
        }
    }
    (sent, lengths / samples)
}

fn settings() -> AfdSettings {
    AfdSettings {
        reference: Bytes::new(100_000),
        interval: Span::from_ms(1),
        a1: 1.8,
        a2: 1.7,
        divided: true,
        beta: 1.0,
        party: Party::Flow,
        shares: Shares::default(),
        marks: false,
    }
}

#[test]
fn afd_gives_unequal_senders_equal_shares_and_holds_the_queue() {
    for offered in [
        &[2_000, 4_000, 6_000, 9_000][..],
        &[500, 1_000, 9_000, 9_000],
        &[1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500],
        &[9_000, 5_000],
    ] {
        let (got, queue) = shares(&settings(), offered, Ecn::NotEct);
        let mut vessels: Vec<(f64, f64)> = offered.iter().map(|&r| (1.0, r as f64)).collect();
        let level = water_level(10_000.0, &mut vessels);
        for (got, &offered) in got.iter().zip(offered) {
            let fair = level.min(offered as f64);
            assert!((got / fair - 1.0).abs() < 0.1, "{got} of {fair}");
        }
        assert!((got.iter().sum::<f64>() / 10_000.0 - 1.0).abs() < 0.01, "{got:?}");
        assert!((queue / 100_000.0 - 1.0).abs() < 0.15, "{queue}");
    }
}

#[test]
fn afd_keeps_weights_and_caps() {
    let share = |weight, cap| Share { weight, cap };
    let by_weight = Shares::new(vec![
        share(4.0, Some(Rate::from_gbps(1))),
        share(3.0, None),
        share(2.0, None),
        share(1.0, None),
    ]);
    for party in [Party::Flow, Party::Class] {
        let settings = AfdSettings { shares: by_weight.clone(), party, ..settings() };
        let (got, _) = shares(&settings, &[6_000; 4], Ecn::NotEct);
        for (got, fair) in got.iter().zip([1_000.0, 4_500.0, 3_000.0, 1_500.0]) {
            assert!((got / fair - 1.0).abs() < 0.1, "{got} of {fair}");
        }
    }
}

#[test]
fn the_ecn_variant_marks_what_is_over_the_share_and_drops_who_cannot_be_marked() {
    let settings = AfdSettings { marks: true, ..settings() };
    // Marked packets are sent all the same: the queue is full, and M_fair falls to nothing.
    let (unmarked, queue) = shares(&settings, &[3_000, 9_000], Ecn::Ect0);
    assert!(unmarked.iter().sum::<f64>() < 500.0, "{unmarked:?}");
    assert!(queue > 290_000.0, "{queue}");
    let (got, queue) = shares(&settings, &[3_000, 9_000], Ecn::NotEct);
    assert!((got[0] / 3_000.0 - 1.0).abs() < 0.1 && (queue / 100_000.0 - 1.0).abs() < 0.15);
}
