//! The graph of links and the way through it, as `scenario` has them, and which of equal ways a
//! connection takes.

pub use switchbed_scenario::topology::choice::{Choice, Set};
pub use switchbed_scenario::topology::graph::{Cable, Graph, Hop, Node, Route};
pub use switchbed_scenario::topology::ways::Ways;
use switchbed_units::random::Random;
use switchbed_units::random::Stream;

/// ECMP keys for both directions of a connection, keyed by what tells it from others.
pub(crate) fn keys(seed: u64, a: u64, b: u64) -> [u32; 2] {
    let bits = Stream::new(seed ^ b.rotate_left(17), "ecmp", a).next_u64();
    [bits as u32 & !Hop::PINNED, (bits >> 32) as u32 & !Hop::PINNED]
}
