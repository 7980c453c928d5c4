//! Properties that hold for every scheme, on random sequences of operations. The promises
//! that can be checked after each operation are in `conformance/` (`model` and `spy`); a
//! sequence that breaks one names the scheme and is shrunk.

#[path = "conformance/shares.rs"]
mod shares;

use crate::conformance::cases::{self, Case};
use crate::conformance::driver::{Op, PORTS, Step, check, same};
use crate::conformance::{registered, trimmed};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::thread;
use switchbed_qdisc::{Ecn, FlowId, Packet};
use switchbed_units::{Rate, Span};

fn packet() -> impl Strategy<Value = Packet> {
    let len = prop_oneof![2 => Just(40), 4 => Just(1500), 3 => 41..1500u32, 1 => Just(9000)];
    let ecn = prop_oneof![
        3 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::NotEct), 1 => Just(Ecn::Ce),
    ];
    (0..50u32, len, 0..6u16, 0..5u8, ecn).prop_map(|(flow, len_bytes, ingress, class, ecn)| {
        Packet { flow: FlowId(flow), len_bytes, ingress, class, ecn }
    })
}

/// Ties with the step before and with departures, bursts, short and long idle times.
fn after() -> impl Strategy<Value = Span> {
    prop_oneof![
        4 => Just(Span::ZERO),
        2 => (1..4u64).prop_map(|packets| Span::from_ns(1_200) * packets),
        6 => (0..900_000u64).prop_map(Span::from_ps),
        1 => (0..30u64).prop_map(Span::from_us),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let rates = [Rate::from_gbps(1), Rate::from_bps(9_950_000_000), Rate::from_gbps(40)];
    prop_oneof![
        20 => packet().prop_map(Op::Arrive),
        1 => prop::sample::select(rates.to_vec()).prop_map(Op::SetRate),
        2 => (0..4u8, 0..8u64).prop_map(|(queue, lasts)| Op::Pause {
            queue,
            lasts: Span::from_us(1) * lasts.saturating_sub(2),
        }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (after(), 0..PORTS, op()).prop_map(|(after, port, op)| Step { after, port, op });
    prop::collection::vec(step, 1..250)
}

/// Whether `PROPTEST_CASES` asks for more than `make test` has time for: `make validate` does.
fn more() -> bool {
    std::env::var_os("PROPTEST_CASES").is_some()
}

fn config() -> ProptestConfig {
    ProptestConfig {
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..if more() { ProptestConfig::default() } else { ProptestConfig::with_cases(2) }
    }
}

/// All registered schemes, and of all combinations of seats one in seven, or all.
#[test]
fn every_scheme_keeps_every_promise() {
    let cases = || {
        let combinations = cases::all().into_iter().step_by(if more() { 1 } else { 7 });
        combinations.chain(registered::cases()).chain(registered::mixtures())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || cases().skip(thread).step_by(threads).for_each(promised));
        }
    });
}

fn promised(case: Case) {
    let mut runner = TestRunner::new(config());
    let holds = |steps: Vec<Step>| {
        check(&case, &steps);
        Ok(())
    };
    if let Err(error) = runner.run(&steps(), holds) {
        panic!("{}: {error}", case.name);
    }
}

/// Nothing is lost, doubled or cut otherwise where ports trim.
#[test]
fn every_scheme_keeps_its_books_while_its_port_trims() {
    for case in trimmed::cases() {
        let mut runner = TestRunner::new(config());
        let holds = |steps: Vec<Step>| {
            trimmed::check(&case, &steps);
            Ok(())
        };
        if let Err(error) = runner.run(&steps(), holds) {
            panic!("{}: {error}", case.name);
        }
    }
}

/// A scheme that looks at one queue does not notice that its other queues have other markers.
#[test]
fn a_marker_for_each_queue_is_one_for_all() {
    for (plain, split) in registered::alike() {
        let mut runner = TestRunner::new(ProptestConfig { cases: 16, ..config() });
        let holds = |steps: Vec<Step>| {
            same(&plain, &split, &steps);
            Ok(())
        };
        if let Err(error) = runner.run(&steps(), holds) {
            panic!("{}: {error}", split.name);
        }
    }
}
