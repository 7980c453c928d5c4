//! Whether INT has space for every switch of a way.

use crate::Scenario;
use crate::int;
use crate::protocols::Protocols;
use crate::roce::longest_way;
use crate::topology::graph::Graph;

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
