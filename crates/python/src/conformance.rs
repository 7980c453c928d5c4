//! The conformance suite of `switchbed-qdisc` on one registered scheme, for `switchbed conformance`.

use pyo3::prelude::*;
use serde_json::json;
use std::panic::{self, AssertUnwindSafe};
use suite::cases::Case;
use suite::driver::{Op, PORTS, SplitMix, Step, check};
use switchbed_qdisc::{Ecn, FlowId, Packet, Random};
use switchbed_scenario::scheme;
use switchbed_units::{Rate, Span};

// The tests of the crate have it too; the fuzz target includes it likewise.
#[path = "../../qdisc/tests/conformance/mod.rs"]
#[allow(dead_code, unreachable_pub)]
mod suite;

/// Operations of the longest sequence.
const LONGEST: u64 = 250;

/// The suite's result as JSON: the number of cases, sequences a case and operations, and the first
/// failure with the fewest operations that show it, or null.
#[pyfunction]
pub(crate) fn conformance(
    py: Python<'_>,
    name: &str,
    sequences: u64,
    seed: u64,
) -> PyResult<String> {
    let scheme = scheme::find(name).filter(|scheme| scheme.name != scheme::python::NAME);
    let scheme = scheme.ok_or_else(|| {
        crate::Mistake::new_err(format!(
            "{}: there is no such scheme in Rust: see `switchbed schemes`",
            if name.is_empty() { "\"\"" } else { name }
        ))
    })?;
    // A broken promise is a panic; its message is the answer, and is not for standard error.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let found = py.detach(|| panic::catch_unwind(|| run(scheme, sequences, seed)));
    panic::set_hook(hook);
    found.map_err(|why| crate::Mistake::new_err(format!("{name}: {}", panic_text(why.as_ref()))))
}

fn run(scheme: &'static scheme::SchemeInfo, sequences: u64, seed: u64) -> String {
    let cases = suite::registered::of(scheme);
    let mut operations = 0;
    for case in &cases {
        for sequence in 0..sequences {
            let steps = steps(seed, sequence);
            operations += steps.len();
            if let Some(message) = broken(case, &steps) {
                let (steps, message) = shrunk(case, steps, message);
                let steps: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
                let failure = json!({
                    "case": case.name, "sequence": sequence, "message": message, "operations": steps,
                });
                return json!({
                    "scheme": scheme.name, "cases": cases.len(), "sequences": sequences,
                    "operations": operations, "failure": failure,
                })
                .to_string();
            }
        }
    }
    json!({
        "scheme": scheme.name, "cases": cases.len(), "sequences": sequences,
        "operations": operations, "failure": null,
    })
    .to_string()
}

/// The promise that a sequence breaks.
fn broken(case: &Case, steps: &[Step]) -> Option<String> {
    let checked = panic::catch_unwind(AssertUnwindSafe(|| check(case, steps)));
    checked.err().map(|why| panic_text(why.as_ref()))
}

fn panic_text(why: &(dyn std::any::Any + Send)) -> String {
    let text = why.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| why.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sequence without the operations that the failure does not need: parts of it are left out, halves
/// first and single operations last.
fn shrunk(case: &Case, mut steps: Vec<Step>, mut message: String) -> (Vec<Step>, String) {
    let mut part = steps.len() / 2;
    while part > 0 {
        let mut begin = 0;
        while begin < steps.len() {
            let end = (begin + part).min(steps.len());
            let fewer: Vec<Step> = steps[..begin].iter().chain(&steps[end..]).copied().collect();
            match broken(case, &fewer) {
                Some(why) => (steps, message) = (fewer, why),
                None => begin = end,
            }
        }
        part /= 2;
    }
    (steps, message)
}

/// A sequence of operations: ties with the step before, bursts, short and long idle times.
fn steps(seed: u64, sequence: u64) -> Vec<Step> {
    let mut rng = SplitMix(seed.rotate_left(32) ^ sequence);
    let length = 1 + rng.below(LONGEST);
    (0..length).map(|_| step(&mut rng)).collect()
}

fn step(rng: &mut SplitMix) -> Step {
    let after = match rng.below(13) {
        0..4 => Span::ZERO,
        4..6 => Span::from_ns(1_200) * (1 + rng.below(3)),
        6..12 => Span::from_ps(rng.below(900_000)),
        _ => Span::from_us(rng.below(30)),
    };
    let port = rng.below(PORTS as u64) as usize;
    let op = match rng.below(23) {
        0 => Op::SetRate(
            [Rate::from_gbps(1), Rate::from_bps(9_950_000_000), Rate::from_gbps(40)]
                [rng.below(3) as usize],
        ),
        1..3 => Op::Pause {
            queue: rng.below(4) as u8,
            lasts: Span::from_us(1) * rng.below(8).saturating_sub(2),
        },
        _ => Op::Arrive(packet(rng)),
    };
    Step { after, port, op }
}

fn packet(rng: &mut SplitMix) -> Packet {
    let len_bytes = match rng.below(10) {
        0..2 => 40,
        2..6 => 1500,
        6..9 => 41 + rng.below(1459) as u32,
        _ => 9000,
    };
    let ecn = match rng.below(6) {
        0..3 => Ecn::Ect0,
        3 => Ecn::Ect1,
        4 => Ecn::NotEct,
        _ => Ecn::Ce,
    };
    Packet {
        flow: FlowId(rng.below(50) as u32),
        len_bytes,
        ingress: rng.below(6) as u16,
        class: rng.below(5) as u8,
        ecn,
    }
}
