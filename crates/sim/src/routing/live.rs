//! Local repair: ports that a switch no longer uses, since the link behind them is down.

use crate::ids::PortId;
use crate::topology::Set;

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
mod tests {
    use super::*;

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
