//! The conformance suite on evolved sequences: the first two bytes choose the scheme, each
//! six after them are an operation on one of two ports. Half of all inputs meet a scheme of the
//! registry, which are a twentieth of the combinations. The last bit of the second byte has them go through a port that
//! trims besides.
#![no_main]

#[path = "../../crates/qdisc/tests/conformance/mod.rs"]
#[allow(dead_code)]
mod suite;

use libfuzzer_sys::fuzz_target;
use suite::cases::{self, Case};
use suite::driver::{Op, PORTS, Step, check};
use suite::{registered, trimmed};
use switchbed_qdisc::{Ecn, FlowId, Packet};
use switchbed_units::{Rate, Span};

thread_local! {
    static CASES: [Vec<Case>; 2] = [
        cases::all(),
        registered::cases().into_iter().chain(registered::mixtures()).collect(),
    ];
    static TRIMMED: Vec<trimmed::Case> = trimmed::cases();
}

fn step(bytes: &[u8; 6]) -> Step {
    let [what, wait, len, len_high, flow, header] = *bytes;
    let op = match what >> 1 & 15 {
        0 | 1 => Op::SetRate(Rate::from_mbps([1_000, 9_950, 40_000, 10_000][header as usize & 3])),
        2 => Op::Pause {
            queue: header & 3,
            lasts: Span::from_ns(100) * u64::from(len_high >> (header >> 5)),
        },
        _ => Op::Arrive(Packet {
            flow: FlowId(flow as u32),
            len_bytes: 40 + (u16::from_le_bytes([len, len_high]) as u32) % 8_961,
            ingress: (header & 7) as u16,
            class: header >> 3 & 7,
            ecn: [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce][(header >> 6) as usize],
        }),
    };
    // Ties, parts and multiples of a full packet's time, and long idle times.
    let after = match wait {
        0..=99 => Span::ZERO,
        100..=199 => Span::from_ns(12) * (wait as u64 - 99),
        200..=239 => Span::from_ns(1_200) * (wait as u64 - 199),
        240..=255 => Span::from_us(wait as u64 - 239) * 10,
    };
    Step { after, port: what as usize % PORTS, op }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((head, rest)) = bytes.split_first_chunk::<2>() else { return };
    let steps: Vec<Step> = rest.as_chunks().0.iter().take(500).map(step).collect();
    let nth = u16::from_le_bytes(*head) as usize;
    if nth >> 15 != 0 {
        TRIMMED.with(|cases| trimmed::check(&cases[nth % cases.len()], &steps));
    }
    CASES.with(|cases| {
        let cases = &cases[nth % 2];
        check(&cases[nth / 2 % cases.len()], &steps);
    });
});
