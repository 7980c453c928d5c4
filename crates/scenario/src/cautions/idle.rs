//! Settings that do nothing: a policy of the switch where the scheme has a buffer of its own, INT beyond its
//! space for switches, and a line's rate beyond what RoCE's numbers tell apart.

use crate::protocols::Protocols;
use crate::roce::{PACKETS_OUT, longest_way};
use crate::topology::graph::Graph;
use crate::{Scenario, int};
use switchbed_qdisc::switch::BufferPolicy;
use switchbed_units::ids::HostId;

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
    let space = int::SWITCHES;
    (switches as usize > space).then(|| {
        format!(
            "a way has {switches} switches, and INT has space for {space}: {} does not see what waits at \
             those after the fifth",
            roce.control.word()
        )
    })
}

/// Said where a round trip at line rate has more packets than PSNs tell apart.
pub(super) fn unnumbered(scenario: &Scenario, graph: &Graph) -> Option<String> {
    let protocols = Protocols::of(scenario);
    let roce = protocols.queue_pairs().find(|roce| !roce.control.about().unordered())?;
    let (way, _) = longest_way(graph, roce);
    let hosts = (0..graph.hosts()).map(HostId::at);
    let rate = hosts.flat_map(|host| graph.cables(host)).map(|cable| cable.rate).max()?;
    let full = roce.mtu.get() as u32;
    let held = PACKETS_OUT as f64 * f64::from(roce.wire_bytes(full)) * 8.0;
    let needed = way.as_secs_f64() * rate.as_bps() as f64;
    let given = roce.window.is_some_and(|window| window.get() < PACKETS_OUT * u64::from(full));
    (needed > held && !given).then(|| {
        format!(
            "a round trip of {:.3} s holds {:.3e} packets at {rate}, and a queue pair has {PACKETS_OUT} \
             out at most: PSNs have 24 bits",
            way.as_secs_f64(),
            needed / held * PACKETS_OUT as f64
        )
    })
}
