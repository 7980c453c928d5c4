//! The whole loop of notifications, in memory: a switch that samples, its messages, and hosts'
//! cards that obey them.

use crate::common::{frame, live, notifier, number, us};
use switchbed_live::device::{Device, Memory, Port, Reacting, Received};
use switchbed_live::forward::AnyDevice;
use switchbed_live::random::Stream;
use switchbed_live::{Fake, Forwarder, Switch};
use switchbed_qdisc::ReactionSettings;
use switchbed_scenario::{CardReaction, Limiters};
use switchbed_units::{Bytes, Rate, Span, Time};
use switchbed_wire::{Mac, cnm};

const LINE: Rate = Rate::from_mbps(200);

/// QCN's for a line of 200 Mbps: a fiftieth of what the standard's are for.
fn reaction(limiters: Limiters) -> CardReaction {
    CardReaction {
        limiters,
        point: ReactionSettings {
            timer_cycle: Span::from_ms(75),
            active_increase: Rate::from_mbps(1),
            hyper_increase: Rate::from_mbps(5),
            min_rate: Rate::from_bps(500_000),
            ..ReactionSettings::default()
        },
    }
}

fn card(limiters: Limiters) -> (Reacting<Memory>, Port) {
    let memory = Memory::new();
    let side = memory.port();
    let classes = std::array::from_fn(|dscp| dscp as u8);
    (Reacting::new(memory, reaction(limiters), classes, LINE, Stream::new(1, 1)), side)
}

/// A message of so many steps about a frame.
fn message(quantized: u8, about: &[u8]) -> Vec<u8> {
    let message = cnm::Notification { quantized, point: 0, offset_bytes: 0, delta_bytes: 0 };
    cnm::build(Mac([2, 0, 0, 0, 0, 9]), &message, about).expect("a frame of a station")
}

/// When the card lets frames out up to a time, and their numbers.
fn let_out(card: &mut Reacting<Memory>, until: Time) -> Vec<(Time, u32)> {
    let (mut out, mut bytes) = (Vec::new(), Vec::new());
    while card.due() <= until {
        let now = card.due();
        while card.receive(now, &mut bytes).expect("memory") == Received::Frame {
            out.push((now, number(&bytes)));
        }
    }
    out
}

#[test]
fn four_cards_share_a_port_by_weights() {
    let weights = [("weights", "[1, 2, 3, 4]"), ("active_threshold", "2KB"), ("t_s", "5ms")];
    // The hosts' frames have the same addresses: to the switch they differ by class.
    let weighted =
        notifier("af-qcn", &[&weights[..], &[("alpha", "0.25"), ("by", "class")]].concat());
    let mut live = live(5, weighted);
    live.switch.queues = 1;
    live.switch.quantum.truncate(1);
    live.switch.buffer = Bytes::new(150_000);
    live.port.iter_mut().for_each(|port| port.rate = LINE);
    let mut sides = Vec::new();
    let devices = (0..5).map(|port| {
        let memory = Memory::new();
        sides.push(memory.port());
        let rng = Stream::new(7, port);
        let settings = reaction(Limiters::Flow);
        let card = Reacting::new(memory, settings, live.live.classes, LINE, rng);
        Box::new(card) as AnyDevice
    });
    let mut forwarder =
        Forwarder::new(Switch::new(live.clone()), devices.collect(), Fake::default());
    // Four seconds of four times 120 Mbps into 200.
    for ms in 0..4_000 {
        for i in 0..10 {
            for (host, side) in sides[..4].iter().enumerate() {
                let at = us(1000 * ms + 100 * i);
                side.arrive(at, frame(host, 4, host as u8, 0, 1514, host as u32));
            }
        }
        forwarder.run_until(us(1000 * (ms + 1))).unwrap();
    }
    let mut got = [0.0; 4];
    for (_, frame) in sides[4].sent().iter().filter(|(at, _)| *at > us(1_000_000)) {
        got[number(frame) as usize] += 1.0;
    }
    let all: f64 = got.iter().sum();
    for (host, frames) in got.iter().enumerate() {
        let share = frames / all / (0.1 * (host + 1) as f64);
        assert!((0.8..1.2).contains(&share), "{got:?}");
    }
    // 200 Mbps of 1514 bytes for three seconds.
    assert!((0.9..=1.001).contains(&(all / 49_538.0)), "{all}");
    let stats = forwarder.stats();
    assert!(stats.ports[..4].iter().all(|port| port.limiters == 1 && port.host_drops > 100));
    // The queue is about Q_eq, 26 KB.
    assert!((15_000.0..40_000.0).contains(&stats.ports[4].mean_bytes), "{:?}", stats.ports[4]);
    // The messages end in the cards.
    assert!(sides[..4].iter().all(|side| side.sent().is_empty()));
    assert!(stats.notified > 100);
}

#[test]
fn what_no_message_is_about_passes_at_once() {
    let (mut card, side) = card(Limiters::Flow);
    card.send(us(0), &message(63, &frame(0, 1, 0, 0, 1514, 0))).unwrap();
    // Another station of the same addresses, and the same station's other class.
    (0..10).for_each(|i| side.arrive(us(10), frame(3, 1, 0, 0, 1514, i)));
    assert_eq!(let_out(&mut card, us(10)).len(), 10);
    // The flow that the message is about: it was idle, and so two at once.
    (0..10).for_each(|i| side.arrive(us(20), frame(0, 1, 0, 0, 1514, i)));
    assert_eq!(let_out(&mut card, us(20)).len(), 1);
    card.flush();
    assert!(side.sent().is_empty(), "messages end here");
    card.send(us(0), &frame(1, 0, 0, 0, 1514, 0)).unwrap();
    card.flush();
    assert_eq!(side.sent().len(), 1);
}

#[test]
fn a_limited_flow_keeps_its_order_and_its_rate() {
    let (mut card, side) = card(Limiters::Class);
    let about = frame(0, 1, 7, 0, 1250, 0);
    // Half, then a quarter: 65/128 each, 51.6 Mbps, a frame of 1250 bytes in 193.9 us.
    (0..2).for_each(|_| card.send(us(0), &message(63, &about)).unwrap());
    (0..9).for_each(|i| side.arrive(us(0), frame(0, 1, 7, 0, 1250, i)));
    (0..9).for_each(|i| side.arrive(us(0), frame(0, 1, 8, 0, 1250, 100 + i)));
    let out = let_out(&mut card, us(10_000));
    let limited: Vec<(Time, u32)> = out.iter().copied().filter(|&(_, n)| n < 100).collect();
    assert_eq!(limited.iter().map(|&(_, n)| n).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    for (i, &(at, _)) in limited.iter().enumerate() {
        assert!(at.since(us(1939 * i as u64 / 10)) < Span::from_us(2), "{i}: {at}");
    }
    assert!(out.iter().filter(|&&(_, n)| n >= 100).all(|&(at, _)| at == us(0)));
}

#[test]
fn a_full_limiter_loses_and_one_that_has_recovered_is_gone() {
    let (mut card, side) = card(Limiters::Host);
    (0..5).for_each(|_| card.send(us(0), &message(63, &frame(0, 1, 0, 0, 1514, 0))).unwrap());
    (0..100).for_each(|i| side.arrive(us(0), frame(0, 1, 0, 0, 1514, i)));
    let out = let_out(&mut card, us(20_000_000));
    assert_eq!(card.condition().lost as usize + out.len(), 100);
    // 48 KB wait, and one is let out at once.
    assert!((31..34).contains(&out.len()), "{}", out.len());
    assert_eq!(card.condition().limiters, 1);
    side.arrive(us(20_000_000), frame(0, 1, 0, 0, 1514, 0));
    assert_eq!(let_out(&mut card, us(20_000_000)), [(us(20_000_000), 0)]);
    assert_eq!(card.condition().limiters, 0);
}

#[test]
fn malformed_and_foreign_messages_limit_nothing_of_ours_and_a_flood_is_bounded() {
    let (mut card, side) = card(Limiters::Host);
    let good = message(63, &frame(0, 1, 0, 0, 1514, 0));
    (0..good.len()).for_each(|length| card.send(us(0), &good[..length]).unwrap());
    assert_eq!(card.condition().limiters, 0);
    for i in 0..10_000u32 {
        let mut foreign = frame(0, 1, 0, 0, 100, 0);
        foreign[8..12].copy_from_slice(&i.to_be_bytes());
        foreign[7] = 9;
        card.send(us(u64::from(i)), &message(63, &foreign)).unwrap();
    }
    assert_eq!(card.condition().limiters, 4096);
    (0..20).for_each(|i| side.arrive(us(0), frame(0, 1, 0, 0, 1514, i)));
    assert_eq!(let_out(&mut card, us(0)).len(), 20);
}
