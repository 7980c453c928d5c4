//! Ports of a switch that lead to a host on equally short ways, and by what one of them is chosen.

use switchbed_units::ids::PortId;

/// How switches choose among equal-cost ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// By a flow's key alone: all its packets take one path.
    #[default]
    ByFlow,
    /// Drawn for each packet anew, every port with the same probability.
    ByPacket,
    /// By time, or by the load of ports.
    ByState,
}

/// Ports of a switch that are equally good; none where no way is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set<'a> {
    /// From this one on so many.
    Run(u32, u32),
    /// Ports in rising order.
    Ports(&'a [u32]),
}

impl<'a> Set<'a> {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// How many there are.
    #[inline]
    pub fn len(self) -> u32 {
        match self {
            Set::Run(_, count) => count,
            Set::Ports(ports) => ports.len() as u32,
        }
    }

    /// One of them by its place.
    #[inline]
    pub fn at(self, place: u32) -> PortId {
        match self {
            Set::Run(first, _) => PortId(first + place),
            Set::Ports(ports) => PortId(ports[place as usize]),
        }
    }

    /// Whether it is one of them.
    #[inline]
    pub fn contains(self, PortId(port): PortId) -> bool {
        match self {
            Set::Run(first, count) => (first..first + count).contains(&port),
            // A set's ports are in rising order.
            Set::Ports(ports) => ports.binary_search(&port).is_ok(),
        }
    }

    /// All.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = PortId> + use<'a> {
        (0..self.len()).map(move |place| self.at(place))
    }
}
