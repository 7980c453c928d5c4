//! Choice of a port where several lead on over as few links, and a flow's hash does not decide.
//!
//! A [`Router`] is a switch's, with state of its own, and is asked as a packet arrives; its ports have sent by then what they
//! could. A switch's packets and draws come in one order however a run is divided, so choices are the same.
//!
//! Local repair: ports that a switch no longer uses, since the link behind them is down.

mod adaptive;
mod flowlets;
mod spray;
use crate::ids::{PortId, SwitchId};
use crate::topology::{Hop, Route, Set};
use adaptive::Adaptive;
pub(crate) use flowlets::Entry;
use flowlets::Flowlets;
use spray::{InTurn, Random};
use switchbed_scenario::Routing;
use switchbed_scenario::routing::{self, Each, Order};
use switchbed_scenario::topology::MAX_HOSTS;
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
    /// Bits of the ports that may hold packets: the 64 from 64 times `word` on.
    fn backlogged(&self, word: u32) -> u64;
    /// Bytes that wait at a port now.
    fn queued(&mut self, port: PortId) -> u64;
}

/// Choice at a switch.
pub(crate) trait Router: Send {
    /// The port of the set that a packet leaves by.
    fn choose(&mut self, header: Header, set: Set<'_>, ports: &mut dyn Ports, now: Time) -> PortId;

    /// Entry that a choice will read, so that it can be fetched.
    fn reads(&self, header: Header) -> Option<&Entry> {
        let _ = header;
        None
    }
}

/// Ports that a switch will choose from, as a packet on its way there has them: the first in the low bits, and above
/// them how many there are from it on; 0: they are to be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted(pub(crate) u32);

impl Noted {
    const BITS: u32 = 24;
    /// Port of a packet that no port leads on: a number that no port has.
    pub(crate) const NOWHERE: PortId = PortId((1 << Noted::BITS) - 1);

    /// Ports that follow the first, which is one of them; 0 of so many that they do not fit.
    fn new((PortId(first), count): (PortId, u32)) -> Noted {
        match count >> (32 - Noted::BITS) {
            0 => Noted(first | count << Noted::BITS),
            _ => Noted(0),
        }
    }

    #[inline]
    pub(crate) fn first(self) -> PortId {
        PortId(self.0 & Noted::NOWHERE.0)
    }

    #[inline]
    pub(crate) fn set(self) -> Option<Set<'static>> {
        let count = self.0 >> Noted::BITS;
        (count > 0).then_some(Set::Run(self.first().0, count))
    }
}

const _: () = assert!(MAX_HOSTS < Noted::NOWHERE.0 as u64);

/// Returns what is noted in a packet as it leaves for a switch: its port where a hash decides or it is pinned to a path,
/// else the ports to choose from.
#[inline(always)]
pub(crate) fn noted(route: &dyn Route, hop: Hop, switch: SwitchId, routed: bool) -> PortId {
    match routed && hop.key & Hop::PINNED == 0 {
        true => PortId(Noted::new(route.row(hop.dst, switch)).0),
        false => route.route(hop, switch),
    }
}

/// Whether switches choose ports as packets arrive, in place of a hash that is known before.
pub(crate) fn chooses(routing: &Routing) -> bool {
    !matches!(routing, Routing::Ecmp(_) | Routing::Wcmp)
}

/// Whether choices look at ports: then every packet is told to the router, and none is chosen for ahead of its time.
pub(crate) fn looks_at_ports(routing: &Routing) -> bool {
    matches!(routing, Routing::Adaptive(_))
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

/// A switch's ports that are down, and what that cost.
#[derive(Debug, Default)]
pub(crate) struct Live {
    down: Vec<PortId>,
    /// The last set without them.
    among: Vec<u32>,
    /// Packets dropped, since no port was left that leads on.
    pub(crate) no_route: u64,
}

impl Live {
    /// Uses a port, or does not.
    pub(crate) fn set(&mut self, port: PortId, up: bool) {
        self.down.retain(|&down| down != port);
        if !up {
            self.down.push(port);
        }
    }

    /// Whether it is used.
    pub(crate) fn uses(&self, port: PortId) -> bool {
        !self.down.contains(&port)
    }

    /// Returns the ports of a set that are used.
    pub(crate) fn among<'a>(&'a mut self, set: Set<'a>) -> Set<'a> {
        if self.down.is_empty() || set.iter().all(|port| self.uses(port)) {
            return set;
        }
        self.among.clear();
        let Live { down, among, .. } = self;
        among.extend(set.iter().filter(|port| !down.contains(port)).map(|port| port.0));
        Set::Ports(among)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ids::HostId;

    /// Ports that hold so many bytes.
    pub(crate) struct Held(pub(crate) Vec<u64>);

    impl Ports for Held {
        fn backlogged(&self, word: u32) -> u64 {
            let held = self.0.iter().skip(64 * word as usize).take(64);
            held.enumerate().map(|(nth, &bytes)| u64::from(bytes > 0) << nth).sum()
        }

        fn queued(&mut self, port: PortId) -> u64 {
            self.0[port.index()]
        }
    }

    #[test]
    fn short_runs_are_noted_and_other_sets_are_looked_up() {
        for (first, count) in [(0, 1), (65_535, 1), (8, 255)] {
            assert_eq!(Noted::new((PortId(first), count)).set(), Some(Set::Run(first, count)));
        }
        for (first, count) in [(8, 256), (0, 0)] {
            assert_eq!(Noted::new((PortId(first), count)).set(), None);
        }
        assert_eq!(Apart.row(HostId(0), SwitchId(0)).1, 0);
        // A port that a choice has put there is no set.
        assert_eq!((Noted(70).first(), Noted(70).set()), (PortId(70), None));
    }

    /// Routes by ports that do not follow one another.
    struct Apart;

    impl Route for Apart {
        fn route(&self, _: Hop, _: SwitchId) -> PortId {
            PortId(1)
        }

        fn ways(&self, _: HostId, _: SwitchId) -> Set<'_> {
            Set::Ports(&[1, 3])
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

    #[test]
    fn ports_that_are_down_leave_sets_until_they_come_up() {
        let mut live = Live::default();
        let ports = |live: &mut Live, set| live.among(set).iter().map(|port| port.0).collect();
        let found: Vec<u32> = ports(&mut live, Set::Run(2, 3));
        assert_eq!(found, [2, 3, 4]);
        live.set(PortId(3), false);
        live.set(PortId(3), false);
        let found: Vec<u32> = ports(&mut live, Set::Run(2, 3));
        assert_eq!((found, live.uses(PortId(3))), (vec![2, 4], false));
        let found: Vec<u32> = ports(&mut live, Set::Ports(&[3]));
        assert!(found.is_empty());
        live.set(PortId(3), true);
        let found: Vec<u32> = ports(&mut live, Set::Ports(&[3, 9]));
        assert_eq!(found, [3, 9]);
    }
}
