//! Transports of a scenario as hosts have them.

use crate::build_error::BuildError;
use crate::node::host::Carrier;
use crate::topology::Graph;
use crate::transport::tcp::Config;
use crate::transport::{Kind, datagram, roce};
use switchbed_scenario::Host;
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::roce::longest_way;

/// A transport as such hosts have it.
pub(crate) fn carrier(
    protocol: &Protocol,
    host: &Host,
    (graph, plb): (&Graph, bool),
) -> Result<Carrier, BuildError> {
    let (transport, warm, ack_class_follows) = match protocol {
        Protocol::QueuePairs(roce) => {
            let (base_rtt, hops) = longest_way(graph, roce);
            (Kind::Roce(roce::Config::new(roce, base_rtt, hops)), None, true)
        }
        Protocol::Transport(t) => {
            let config = Config::new(t).map_err(BuildError::Transport)?;
            let kind = match t.control.about().tcp {
                true => Kind::Tcp(config.on(host).map_err(BuildError::Host)?.balancing(plb)),
                false => Kind::Datagrams(datagram::Config::new(t)),
            };
            (kind, t.warm, t.ack_class_follows)
        }
    };
    Ok(Carrier { transport, warm, ack_class_follows })
}
