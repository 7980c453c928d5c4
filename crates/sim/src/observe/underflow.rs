//! Underflow: the time that a port's line idles while senders have data for it that they have
//! not sent yet. Where the port is the bottleneck, their windows are too small in that time.

use super::monitors::Monitor;
use super::observer::{Asked, AtPort, Observer, Sent, Site, View};
use crate::ids::{HostId, LinkId};
use crate::topology::Hop;
use switchbed_scenario::measure::PortNames;
use switchbed_units::{Span, Time};

/// A connection has data to send that it has not sent, or no longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsent {
    pub(crate) at: Time,
    pub(crate) host: HostId,
    pub(crate) hop: Hop,
    pub(crate) begins: bool,
}

/// State of one port's line.
#[derive(Clone, Debug, Default)]
struct Idle {
    /// The end of its transmission under way, or of the last.
    busy_until: Time,
    /// Connections with data for it that is not sent.
    pending: u32,
    counted_until: Time,
    idle: Span,
}

impl Idle {
    /// Called at every change of the port; a transmission begins if it moves `busy_until`.
    fn change(&mut self, now: Time, busy_until: Time) {
        // A port's new transmission ends the time in which it could have been idle.
        if busy_until != self.busy_until {
            self.count(now);
            self.busy_until = busy_until;
        }
    }

    fn count(&mut self, now: Time) {
        if self.pending > 0 {
            // Idle from the end of its last transmission, or from the last look.
            self.idle += now.since(self.busy_until.max(self.counted_until));
        }
        self.counted_until = now;
    }

    /// A connection has, or no longer has, data to send. The port is settled up to now.
    fn pend(&mut self, now: Time, pending: bool) {
        self.count(now);
        self.pending = if pending { self.pending + 1 } else { self.pending - 1 };
    }

    fn restart(&mut self, now: Time) {
        self.count(now);
        self.idle = Span::ZERO;
    }

    /// The time counted up to now, since the last restart.
    fn total(&mut self, now: Time) -> Span {
        self.count(now);
        self.idle
    }
}

/// A port's transmissions that nobody has looked at yet: each one's beginning and end.
#[derive(Default)]
struct Busy(Vec<(Time, Time)>);

impl AtPort for Busy {
    fn sent(&mut self, sent: &Sent) {
        self.0.push((sent.left, sent.until));
    }
}

/// The monitored ports' lines, and what is known of who waits.
#[derive(Clone, Debug)]
pub(crate) struct Underflow {
    links: Vec<(LinkId, Idle)>,
}

/// All that a scenario says of it.
impl Monitor for PortNames {
    fn ports(&self) -> &[String] {
        self
    }
    fn observe(&self, site: &mut Site) -> Asked {
        if self.is_empty() {
            return Ok(None);
        }
        let links = site.links(self)?;
        links.iter().for_each(|&link| site.network.watched(link).add(Busy::default()));
        let links = links.into_iter().map(|link| (link, Idle::default())).collect();
        Ok(Some(Box::new(Underflow { links })))
    }
}

impl Observer for Underflow {
    /// Both are in the order of time: who has something to send, and each port's transmissions.
    fn follow(&mut self, unsent: &[Unsent], view: &mut View) {
        // Only flows with one path are known to wait for this link.
        let of = |change: &Unsent| view.graph.ways(change.host, change.hop).fixed();
        let ways: Vec<Option<Vec<LinkId>>> = unsent.iter().map(of).collect();
        for (link, idle) in &mut self.links {
            let mut changes = unsent
                .iter()
                .zip(&ways)
                .filter(|(_, way)| way.as_ref().is_some_and(|way| way.contains(link)));
            let mut change = changes.next();
            let watch = view.network.watch_mut(*link);
            let busy = watch.and_then(|watch| watch.of_mut::<Busy>());
            for (begin, end) in busy.into_iter().flat_map(|busy| busy.0.drain(..)) {
                // Strictly before: a change at that instant may be due to this very transmission.
                while let Some((unsent, _)) = change.filter(|(unsent, _)| unsent.at < begin) {
                    idle.pend(unsent.at, unsent.begins);
                    change = changes.next();
                }
                idle.change(begin, end);
            }
            while let Some((unsent, _)) = change {
                idle.pend(unsent.at, unsent.begins);
                change = changes.next();
            }
        }
    }

    fn restart(&mut self, view: &mut View) {
        self.links.iter_mut().for_each(|(_, idle)| idle.restart(view.now));
    }
}

impl Underflow {
    /// The time that a port's line idled with work pending up to now, where it is monitored.
    pub(crate) fn idle(&mut self, link: LinkId, now: Time) -> Option<Span> {
        let (_, idle) = self.links.iter_mut().find(|(id, _)| *id == link)?;
        Some(idle.total(now))
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
