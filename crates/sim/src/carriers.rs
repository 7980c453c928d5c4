//! Transports of a scenario as hosts have them.

use crate::build_error::BuildError;
use crate::node::host::Carrier;
use crate::topology::Graph;
use crate::transport::tcp::Config;
use crate::transport::{Kind, datagram, roce, unordered};
use switchbed_scenario::protocol::Protocol;
use switchbed_scenario::roce::longest_way;
use switchbed_scenario::{Host, Switch};
use switchbed_units::{Span, Time};

/// A transport as such hosts have it; `echo`: whether receivers echo each mark as it comes, where that is not
/// as its kind has it. Waits count from a time on; `tells_rtts`: somebody wants each round trip that is measured.
pub(crate) fn carrier(
    (protocol, echo): (&Protocol, Option<bool>),
    host: &Host,
    (graph, switch, plb): (&Graph, &Switch, bool),
    (counts_from, tells_rtts): (Time, bool),
) -> Result<Carrier, BuildError> {
    let (transport, warm, ack_class_follows) = match protocol {
        Protocol::QueuePairs(roce) if roce.control.about().unordered() => {
            let (rtt, _) = longest_way(graph, roce);
            let trims = switch
                .trimming
                .as_ref()
                .map(|trimming| trimming.host_dscp.filter(|class| *class != trimming.dscp));
            let bits = 8.0 * switch.pool.unwrap_or(switch.buffer).as_f64();
            // The slowest host's line takes longest to drain a full buffer: a timeout has to
            // outlast that, up to a second.
            let line = graph.access.iter().map(|cable| cable.rate).min();
            let drain = line
                .map_or(rtt, |line| Span::from_secs_f64((bits / line.as_bps() as f64).min(1.0)));
            let config = unordered::Config::new(roce, (rtt, drain), trims).counting(counts_from);
            (Kind::Unordered(config), None, true)
        }
        Protocol::QueuePairs(roce) => {
            let (base_rtt, hops) = longest_way(graph, roce);
            let config = roce::Config::new(roce, base_rtt, hops).counting(counts_from);
            (Kind::Roce(config), None, true)
        }
        Protocol::Transport(t) => {
            let config = Config::new(t).map_err(BuildError::Transport)?;
            let kind = match t.control.about().tcp {
                true => {
                    let config = config.on(host).map_err(BuildError::Host)?;
                    let config = config.balancing(plb).echoing(echo).telling_rtts(tells_rtts);
                    Kind::Tcp(config.counting(counts_from))
                }
                false => Kind::Datagrams(datagram::Config::new(t)),
            };
            (kind, t.warm, t.ack_class_follows)
        }
    };
    Ok(Carrier { transport, warm, ack_class_follows })
}
