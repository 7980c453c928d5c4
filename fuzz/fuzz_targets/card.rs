//! Frames of any bytes from a host and to it through the card that obeys congestion messages:
//! nothing panics, what comes out is what went in, and in the end nothing is left. Each frame is
//! two bytes of time, direction and length, then its bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchbed_live::device::{Device, Memory, Reacting, Received};
use switchbed_live::random::Stream;
use switchbed_qdisc::ReactionSettings;
use switchbed_scenario::{CardReaction, Limiters};
use switchbed_units::{Rate, Span, Time};
use switchbed_wire::{Mac, cnm};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, mut rest)) = bytes.split_first() else { return };
    let limiters = [Limiters::Flow, Limiters::Class, Limiters::Host][usize::from(first % 3)];
    let settings = CardReaction { limiters, point: ReactionSettings::default() };
    let (memory, rng) = (Memory::new(), Stream::new(1, 1));
    let side = memory.port();
    let mut card = Reacting::new(memory, settings, [0; 64], Rate::from_mbps(100), rng);
    let (mut now, mut came, mut out) = (Time::ZERO, 0, 0);
    let mut take = |card: &mut Reacting<Memory>, now| {
        let mut frame = Vec::new();
        while card.receive(now, &mut frame).expect("memory") != Received::Nothing {
            out += 1;
        }
    };
    while let Some((&[head, length], behind)) = rest.split_first_chunk::<2>() {
        let (frame, behind) = behind.split_at(behind.len().min(usize::from(length) * 8));
        rest = behind;
        now += Span::from_us(u64::from(head >> 2) * 10);
        match head % 4 {
            0 => card.send(now, frame).expect("memory"),
            // A switch's message about a frame of the host's.
            1 => {
                let (quantized, zero) = (length & 63, 0);
                let (offset_bytes, delta_bytes) = (zero, zero);
                let message = cnm::Notification { quantized, point: 0, offset_bytes, delta_bytes };
                if let Some(message) = cnm::build(Mac([2; 6]), &message, frame) {
                    card.send(now, &message).expect("memory");
                }
            }
            _ => {
                side.arrive(now, frame.to_vec());
                came += 1;
            }
        }
        take(&mut card, now);
    }
    while card.due() < Time::NEVER {
        let due = card.due();
        take(&mut card, due);
    }
    assert_eq!(out + card.condition().lost, came);
});
