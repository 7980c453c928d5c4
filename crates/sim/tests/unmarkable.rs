//! Packets that are to be marked and are not ECN-capable.

use crate::common::*;
use switchbed_qdisc::port::view::{Counters, DropReason};
use switchbed_scenario::*;
use switchbed_units::Span;

/// The congested port of a star whose TCP is not ECN-capable, under step marking.
fn port(unmarkable: Unmarkable) -> Counters {
    let mut scenario = long_lived(star(2), &[0; 4], Span::from_ms(20));
    scenario.switch.unmarkable = unmarkable;
    scenario.transport.ecn = false;
    let (mut simulation, _) = run(&scenario);
    let reports = simulation.port_reports();
    reports.iter().find(|report| report.info.name == "switch:4").expect("there").counters
}

fn dropped(counters: &Counters, why: DropReason) -> u64 {
    counters.drops[why as usize]
}

#[test]
fn are_dropped_and_leave_the_queue_at_its_threshold() {
    let counters = port(Unmarkable::Drop);
    assert!(dropped(&counters, DropReason::NotEcnCapable) > 0);
    assert_eq!(
        (dropped(&counters, DropReason::Full), counters.unmarkable, counters.marked),
        (0, 0, 0)
    );
}

#[test]
fn or_go_on_until_the_buffer_is_full() {
    let counters = port(Unmarkable::Pass);
    assert_eq!(dropped(&counters, DropReason::NotEcnCapable), 0);
    assert!(dropped(&counters, DropReason::Full) > 0);
    assert!(counters.unmarkable > 1000 && counters.marked == 0, "{counters:?}");
}
