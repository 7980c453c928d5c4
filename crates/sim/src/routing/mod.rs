//! Choice of a port where several lead on over as few links, and a flow's hash does not decide.
//!
//! A [`Router`] is a switch's, with state of its own, and is asked as a packet arrives; its ports have sent by then what they
//! could. A switch's packets and draws come in one order however a run is divided, so choices are the same.

mod adaptive;
mod flowlets;
mod live;
mod spray;

use crate::ids::{PortId, SwitchId};
use crate::topology::Set;
use adaptive::Adaptive;
use flowlets::Flowlets;
pub(crate) use live::Live;
use spray::{InTurn, Random};
use switchbed_scenario::Routing;
use switchbed_scenario::routing::{self, Each, Order};
use switchbed_units::random::OnDemand;
use switchbed_units::{Bytes, Span, Time};

/// A packet, as far as a choice may look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// The key that tells its flow from others.
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
}

/// Ports of a switch.
pub(crate) trait Ports {
    /// Bytes that wait at a port now.
    fn queued(&mut self, port: PortId) -> u64;
}

/// Choice at a switch.
pub(crate) trait Router: Send {
    /// The port of the set that a packet leaves by.
    fn choose(&mut self, header: Header, set: Set<'_>, ports: &mut dyn Ports, now: Time) -> PortId;
}

/// A switch's router; `None`: a hash decides, which is known before a packet arrives.
pub(crate) fn of(
    routing: &Routing,
    seed: u64,
    switch: SwitchId,
    ports: u32,
) -> Option<Box<dyn Router>> {
    let rng = OnDemand::new(seed, "routing", switch.0);
    let flowlets = |gap: Span, entries: u32| Flowlets::new(gap, entries, switch);
    Some(match routing {
        Routing::Ecmp(_) | Routing::Wcmp => return None,
        Routing::Spray(spray) => match spray.order {
            Order::Random => Box::new(Random { rng }),
            Order::RoundRobin => Box::new(InTurn::new(ports, rng)),
        },
        Routing::Flowlet(routing::Flowlets { gap, flowlets: entries }) => {
            Box::new(flowlets(*gap, *entries).choosing(Random { rng }))
        }
        Routing::Adaptive(own) => {
            let bands = own.bands.iter().map(|band| Bytes::as_f64(*band)).collect();
            let adaptive = Adaptive::new(ports, (own.every, own.past, own.queued), bands, rng);
            match own.each {
                Each::Packet => Box::new(adaptive),
                Each::Flowlet => Box::new(flowlets(own.gap, own.flowlets).choosing(adaptive)),
            }
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Ports that hold so many bytes.
    pub(crate) struct Held(pub(crate) Vec<u64>);

    impl Ports for Held {
        fn queued(&mut self, port: PortId) -> u64 {
            self.0[port.index()]
        }
    }

    pub(crate) fn rng() -> OnDemand {
        OnDemand::new(1, "routing", 7)
    }

    pub(crate) fn packet(flow: u32) -> Header {
        Header { flow, bytes: 1_500 }
    }

    pub(crate) fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }
}
