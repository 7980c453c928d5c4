//! What a packet-hop costs in instructions: counts, unlike times, are the same on a busy
//! machine. Run under callgrind, told to count inside `counted` alone
//! (`python/tests/test_instructions.py`). Without arguments it lists the cases; with the name
//! of one it runs it and prints the packet-hops that were counted.

#![allow(missing_docs)]

use std::path::Path;
use std::process::ExitCode;
use switchbed_scenario::plans_of;
use switchbed_sim::{Simulation, Status};

const FIG9: &str = include_str!("../../../python/switchbed/bench/fig9.toml");
const STAR: &str = include_str!("../../../python/switchbed/bench/star.toml");

/// The hot paths: name, scenario, overrides. A few dozen flows keep fig9's hosts as busy as
/// its 5,000 do, for a fraction of a second.
const CASES: &[(&str, &str, &[&str])] = &[
    ("fig9, MQ-ECN, 8 DWRR queues", FIG9, &["flows=48"]),
    (
        "fig9, step marking, one queue",
        FIG9,
        &[
            "flows=48",
            "scheme=per-queue",
            "switch.queues=1",
            "switch.discipline=fifo",
            "switch.classify=single",
        ],
    ),
    ("star, step marking, one queue", STAR, &["run.until=20ms"]),
    (
        "star, RED, one queue",
        STAR,
        &[
            "run.until=20ms",
            "scheme={ name = 'red', params = { kmin = '20pkt', kmax = '65pkt', pmax = 0.1 } }",
        ],
    ),
    ("star, step marking, boxed seats", STAR, &["run.until=20ms", "switch.discipline=wfq"]),
];

fn main() -> ExitCode {
    let mut names = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let Some(name) = names.next() else {
        CASES.iter().for_each(|(name, ..)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some((_, text, sets)) = CASES.iter().find(|case| case.0 == name) else {
        eprintln!("no case `{name}`; without arguments this lists them");
        return ExitCode::from(2);
    };
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let plans = plans_of(&name, text, Path::new(""), &sets, None).expect("a good scenario");
    let mut simulation = Simulation::new(&plans[0].scenario).expect("builds");
    // The first windows fill caches' worth of tables and connections: not the steady state.
    simulation.advance(20_000);
    let before = simulation.packet_hops();
    counted(&mut simulation);
    println!("{}", simulation.packet_hops() - before);
    ExitCode::SUCCESS
}

/// What the counter is told to count.
#[inline(never)]
fn counted(simulation: &mut Simulation) {
    while simulation.advance(100_000) == Status::Running {}
}
