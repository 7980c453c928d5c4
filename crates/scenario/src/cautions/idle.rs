//! Settings that do nothing: a policy of the switch where the scheme has a buffer of its own, and INT beyond its
//! space for switches.

use crate::protocols::Protocols;
use crate::roce::longest_way;
use crate::topology::graph::Graph;
use crate::{Scenario, int};
use switchbed_qdisc::switch::BufferPolicy;

/// Said where the scheme has a buffer of its own, and the switch's policy is nothing to it.
pub(super) fn unused(scenario: &Scenario) -> Option<String> {
    let policy = scenario.switch.policy;
    let own = scenario.scheme.scheme.about().fills_the_seats();
    (own && policy != BufferPolicy::Shared).then(|| {
        format!(
            "{} has queues and a buffer of its own, each port's: switch.policy = \"{}\" is nothing to it",
            scenario.scheme.label,
            policy.word()
        )
    })
}

/// Said where a way has more switches than can write into a packet.
pub(super) fn unseen(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let protocols = Protocols::of(scenario);
    let roce = protocols.queue_pairs().find(|roce| roce.control.about().int)?;
    let (_, switches) = longest_way(graph, roce);
    let room = int::SWITCHES;
    (switches as usize > room).then(|| {
        format!(
            "a way has {switches} switches, and INT has room for {room}: {} does not see what waits at \
             those after the fifth",
            roce.control.word()
        )
    })
}
