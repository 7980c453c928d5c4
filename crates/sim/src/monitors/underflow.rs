//! Underflow: the time that a port's line idles while senders have data for it that they have
//! not sent yet. Where the port is the bottleneck, their windows are too small in that time.

use crate::endpoints::Endpoints;
use crate::network::{LinkId, Network};
use crate::topology::{Graph, Hop};
use switchbed_qdisc::units::{Span, Time};

/// One port's line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    /// The end of its transmission under way, or of the last.
    busy_until: Time,
    /// Connections with data for it that is not sent.
    pending: u32,
    counted_until: Time,
    idle: Span,
}

impl Idle {
    /// Called at every change of the port; a transmission begins if it moves `busy_until`.
    pub(crate) fn change(&mut self, now: Time, busy_until: Time) {
        if busy_until != self.busy_until {
            self.count(now);
            self.busy_until = busy_until;
        }
    }

    fn count(&mut self, now: Time) {
        if self.pending > 0 {
            self.idle += now.since(self.busy_until.max(self.counted_until));
        }
        self.counted_until = now;
    }

    /// A connection has, or no longer has, data to send. The port is settled up to now.
    fn pend(&mut self, now: Time, pending: bool) {
        self.count(now);
        self.pending = if pending { self.pending + 1 } else { self.pending - 1 };
    }

    pub(crate) fn restart(&mut self, now: Time) {
        self.count(now);
        self.idle = Span::ZERO;
    }

    /// The time counted up to now, since the last restart.
    pub(crate) fn total(&mut self, now: Time) -> Span {
        self.count(now);
        self.idle
    }
}

/// Which connections have data to send, and over which of the monitored ports.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    links: Vec<LinkId>,
    /// The connections that were seen at each host.
    at_host: Vec<Vec<u32>>,
    /// By a connection's place, while it has data to send.
    waiting: Vec<Option<Way>>,
}

/// The way of a connection's data.
#[derive(Clone, Debug)]
struct Way {
    hop: Hop,
    /// Those of the monitored links that it crosses.
    links: Vec<LinkId>,
}

impl Pending {
    pub(crate) fn new(links: Vec<LinkId>) -> Self {
        Pending { links, at_host: Vec::new(), waiting: Vec::new() }
    }

    /// A flow was written to a connection.
    pub(crate) fn written(&mut self, place: u32, hosts: &Endpoints) {
        let host = hosts.source(place) as usize;
        if self.at_host.len() <= host {
            self.at_host.resize(host + 1, Vec::new());
        }
        if self.waiting.len() <= place as usize {
            self.waiting.resize(place as usize + 1, None);
        }
        if !self.at_host[host].contains(&place) {
            self.at_host[host].push(place);
        }
    }

    /// Looks at a host's connections after something happened there.
    pub(crate) fn look(
        &mut self,
        host: u32,
        now: Time,
        hosts: &Endpoints,
        network: &mut Network,
        graph: &Graph,
    ) {
        let Pending { links, at_host, waiting } = self;
        let Some(places) = at_host.get_mut(host as usize) else { return };
        // Places of closed connections are used again, perhaps by other hosts.
        places.retain(|&place| hosts.source(place) == host);
        for &place in &*places {
            let waiting = &mut waiting[place as usize];
            let unsent = hosts.unsent(place);
            if unsent == waiting.as_ref().map(|way| way.hop) {
                continue;
            }
            if let Some(way) = waiting.take() {
                way.tell(false, now, network);
            }
            *waiting = unsent.map(|hop| {
                let path = graph.links(host, hop);
                let crossed = links.iter().copied().filter(|link| path.contains(link));
                Way { hop, links: crossed.collect() }
            });
            if let Some(way) = waiting {
                way.tell(true, now, network);
            }
        }
    }
}

impl Way {
    /// Tells the ports on it that there is, or no longer is, something to send.
    fn tell(&self, pending: bool, now: Time, network: &mut Network) {
        for &link in &self.links {
            network.touch(link, now);
            if let Some(idle) = network.monitor(link).and_then(|monitor| monitor.idle.as_mut()) {
                idle.pend(now, pending);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn idle_time_counts_while_something_is_pending() {
        let mut idle = Idle::default();
        // Nothing pending: 0 to 10. Pending from 10, the first transmission at 13 to 15.
        idle.pend(us(10), true);
        idle.change(us(12), us(0));
        idle.change(us(13), us(15));
        assert_eq!(idle.clone().total(us(14)), Span::from_us(3));
        // Back to back, then a gap of 2, of which another connection pends too.
        idle.change(us(15), us(16));
        idle.pend(us(17), true);
        idle.change(us(18), us(20));
        assert_eq!(idle.clone().total(us(20)), Span::from_us(5));
        // Both done during a transmission and during a gap.
        idle.pend(us(19), false);
        idle.pend(us(23), false);
        idle.change(us(30), us(31));
        assert_eq!(idle.clone().total(us(40)), Span::from_us(8));
        // Only what comes after a restart.
        idle.pend(us(41), true);
        idle.restart(us(43));
        assert_eq!(idle.total(us(50)), Span::from_us(7));
    }
}
