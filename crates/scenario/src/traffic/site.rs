//! Parts of the scenario around its traffic.

use crate::Run;
use crate::switch::Switch;
use crate::topology::Topology;
use crate::topology::graph::Graph;
use switchbed_units::Bytes;

/// Most connections open at a time.
pub const MAX_CONNECTIONS: usize = (1 << 24) - 1;

/// Parts of the scenario that traffic is checked against.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// Topology with the sending hosts.
    pub topology: &'a Topology,
    /// The network as a graph.
    pub graph: &'a Graph,
    /// Switch with the queues of the classes.
    pub switch: &'a Switch,
    /// When it ends.
    pub run: &'a Run,
    /// The longest packet.
    pub mtu: Bytes,
}
