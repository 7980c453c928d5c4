//! Whether INT has room for every switch of a way.

use switchbed_sim::packet::rdma::MAX_INT;
use switchbed_sim::{Scenario, longest_way};
use switchbed_spec::protocol::Protocols;
use switchbed_spec::topology::graph::Graph;

/// Said where a way has more switches than can write into a packet.
pub(crate) fn unseen(scenario: &Scenario) -> Option<String> {
    let protocols = Protocols::of(scenario);
    let roce = protocols.queue_pairs().find(|roce| roce.control.about().int)?;
    let graph = Graph::new(&scenario.topology, scenario.host.delay);
    let (_, switches) = longest_way(&graph, roce);
    (switches as usize > MAX_INT).then(|| {
        format!(
            "a way has {switches} switches, and INT has room for {MAX_INT}: {} does not see what waits at \
             those after the fifth",
            roce.control.word()
        )
    })
}
