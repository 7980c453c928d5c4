//! A run that stopped since nothing was delivered any more, or whose flows gave up, and what refused.

use crate::ids::LinkId;
use crate::simulation::Simulation;
use crate::stall::Refusal;
use switchbed_qdisc::QueueId;
use switchbed_qdisc::port::view::DropReason;
use switchbed_scenario::NicQueue;
use switchbed_scenario::Scenario;
use switchbed_scenario::protocols::Protocols;

/// Explains a run that stopped with flows under way, if it did.
pub(crate) fn stopped(scenario: &Scenario, simulation: &Simulation) -> Option<String> {
    let stall = simulation.stalled()?;
    let pairs = Protocols::of(scenario).all().iter().all(|of| of.queue_pairs().is_some());
    let bound = match pairs {
        true => "a queue pair retries (roce.give_up)",
        false => {
            "a sender retransmits (data 15 times from transport.rto_min, a SYN 6 times from \
             transport.rto_initial, as Linux does)"
        }
    };
    let by = stall.by.map_or_else(
        || "no port refused a packet or held one since".to_owned(),
        |by| refusing(scenario, simulation, by),
    );
    Some(format!(
        "the run stopped: nothing was delivered for {}, as long as {bound}; {by}",
        stall.lasted
    ))
}

/// A queue that refuses, its port and the rule.
pub(crate) fn refusing(
    scenario: &Scenario,
    simulation: &Simulation,
    (link, queue, refusal): (LinkId, QueueId, Refusal),
) -> String {
    let port = &simulation.ports()[link.index()];
    format!("queue {queue} of {} {}", port.name, rule(scenario, queue, port.is_switch(), refusal))
}

/// The rule by which a port refuses.
fn rule(scenario: &Scenario, queue: QueueId, is_switch: bool, refusal: Refusal) -> String {
    let label = &scenario.scheme.at(queue.into()).label;
    match refusal {
        Refusal::Held => "is held by its peer's pause frames (switch.pfc)".to_owned(),
        Refusal::Down => "has packets, and its line is down ([[event]])".to_owned(),
        Refusal::Drops(DropReason::Full) if is_switch => {
            format!("refuses packets for want of room ({})", room(scenario))
        }
        Refusal::Drops(DropReason::Full) => match scenario.host.nic {
            NicQueue::Fifo(fifo) => {
                format!("refuses packets for want of room (host.nic_buffer = {})", fifo.buffer)
            }
            _ => "refuses packets for want of room (host.nic)".to_owned(),
        },
        Refusal::Drops(DropReason::NotEcnCapable) => format!(
            "drops packets that {label} would mark and that are not ECN-capable (switch.unmarkable)"
        ),
        Refusal::Drops(DropReason::Early) => format!("drops arrivals, as {label} has it"),
        Refusal::Drops(DropReason::PushedOut) => "pushes out what it has stored".to_owned(),
        Refusal::Drops(DropReason::AtDeparture) => {
            format!("drops packets as they leave, as {label} or the watchdog has it")
        }
    }
}

/// Names the key that bounds a switch's queue.
fn room(scenario: &Scenario) -> String {
    let switch = &scenario.switch;
    let pool = switch.pool.map(|pool| format!("switch.pool = {pool}"));
    let alpha = switch.alpha.map(|alpha| format!("switch.alpha = {alpha}"));
    let buffer = alpha.is_none().then(|| format!("switch.buffer = {}", switch.buffer));
    alpha.into_iter().chain(pool).chain(buffer).collect::<Vec<_>>().join(", ")
}
