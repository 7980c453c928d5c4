//! What a run looks at more closely where its scenario asks for it: a port's own changes
//! ([`PortMonitor`]), and what takes a look at the hosts as well ([`Monitors`]). A run without
//! monitors does none of it.

mod bursts;
pub mod changes;
mod convergence;
mod underflow;

pub use bursts::Peak;
pub use changes::{LengthChange, slopes_bps};
pub use convergence::{Converged, RateSample};

use crate::endpoints::Endpoints;
use crate::network::{LinkId, Network};
use crate::room::Room;
use crate::topology::{Graph, Hop};
use bursts::{Peaks, Starts};
use changes::Changes;
use convergence::Convergence;
use switchbed_qdisc::QueueId;
use switchbed_qdisc::units::{Bytes, Span, Time};
use underflow::{Idle, Pending};

/// A flow under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Underway {
    /// Its number, as in its record.
    pub row: u64,
    /// Its connection.
    pub place: u32,
    /// The sending host.
    pub src: u32,
    /// The way of its data.
    pub hop: Hop,
    /// When it started.
    pub start: Time,
    /// Its bytes that the receiver has taken.
    pub received: u64,
}

/// What watches one port.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortMonitor {
    changes: Option<Changes>,
    peaks: Option<Peaks>,
    idle: Option<Idle>,
}

impl PortMonitor {
    /// A queue has changed; `busy_until` is the end of the transmission under way or the last.
    pub(crate) fn change(&mut self, now: Time, queue: QueueId, bytes: Bytes, busy_until: Time) {
        if let Some(changes) = &mut self.changes {
            changes.change(now, queue, bytes);
        }
        if let Some(peaks) = &mut self.peaks {
            peaks.change(now, queue, bytes);
        }
        if let Some(idle) = &mut self.idle {
            idle.change(now, busy_until);
        }
    }
}

/// A burst of flow starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    /// Its first flow's start.
    pub start: Time,
    /// Its flows.
    pub flows: u64,
    /// Each monitored port's peaks by queue.
    pub peaks: Vec<(LinkId, Vec<Peak>)>,
}

/// What the monitors of a run have seen.
#[derive(Clone, Debug, Default)]
pub struct Monitored {
    /// Each port's changes.
    pub changes: Vec<(LinkId, Vec<LengthChange>)>,
    /// The bursts since the warm-up.
    pub bursts: Vec<Burst>,
    /// The flows' rates.
    pub rates: Vec<RateSample>,
    /// The flows' convergence.
    pub converged: Vec<Converged>,
}

/// A run's monitors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Monitors {
    changes: Vec<LinkId>,
    bursts: Option<(Vec<LinkId>, Starts)>,
    convergence: Option<Convergence>,
    underflow: Option<Pending>,
}

impl Monitors {
    /// The monitors that a scenario asks for on ports that are measured (`queues` of a link).
    /// `link` finds a port.
    pub(crate) fn new<E>(
        measure: &switchbed_spec::Measure,
        network: &mut Network,
        link: impl Fn(&String) -> Result<LinkId, E>,
    ) -> Result<Monitors, E> {
        let links = |ports: &[String]| ports.iter().map(&link).collect::<Result<Vec<_>, E>>();
        let switchbed_spec::Measure { monitors: asked, samples, .. } = measure;
        let mut monitors = Monitors::default();
        if let Some(asked) = &asked.changes {
            monitors.changes = links(&asked.ports)?;
            let (from, until) = (Time::ZERO + asked.from, Time::ZERO + asked.until);
            for &link in &monitors.changes {
                let queues = network.port(link).state().queues();
                let room = Room::new(samples / monitors.changes.len() as u64);
                network.watch(link).changes = Some(Changes::new(from, until, queues, room));
            }
        }
        if let Some(asked) = &asked.bursts {
            let links = links(&asked.ports)?;
            for &link in &links {
                let queues = network.port(link).state().queues();
                network.watch(link).peaks = Some(Peaks::new(queues));
            }
            monitors.bursts = Some((links, Starts::new(asked.apart)));
        }
        if let Some(asked) = &asked.convergence {
            let link = link(&asked.port)?;
            monitors.convergence = Some(Convergence::new(link, asked, Room::new(*samples)));
        }
        if !asked.underflow.is_empty() {
            let links = links(&asked.underflow)?;
            for &link in &links {
                network.watch(link).idle = Some(Idle::default());
            }
            monitors.underflow = Some(Pending::new(links));
        }
        Ok(monitors)
    }

    /// Since when a port has no room for more changes.
    pub(crate) fn changes_full_at(&self, network: &Network) -> Option<Time> {
        let changes = |&link: &LinkId| network.watched(link)?.changes.as_ref()?.full_at();
        self.changes.iter().filter_map(changes).min()
    }

    /// Since when there is no room for more rates.
    pub(crate) fn rates_full_at(&self) -> Option<Time> {
        self.convergence.as_ref().and_then(Convergence::full_at)
    }

    /// When a monitor wants to look.
    pub(crate) fn next(&self) -> Time {
        self.convergence.as_ref().map_or(Time::NEVER, Convergence::next)
    }

    /// It is time to look.
    pub(crate) fn look(&mut self, hosts: &Endpoints, graph: &Graph) {
        if let Some(convergence) = &mut self.convergence {
            convergence.look(hosts.underway().into_iter(), graph);
        }
    }

    /// A flow is about to start.
    pub(crate) fn flow_starts(&mut self, now: Time, network: &mut Network) {
        if let Some((links, starts)) = &mut self.bursts
            && starts.start(now)
        {
            for &link in &*links {
                network.touch(link, now);
                if let Some(peaks) =
                    network.monitor(link).and_then(|monitor| monitor.peaks.as_mut())
                {
                    peaks.begin(now);
                }
            }
        }
    }

    /// Whether it must be told of what happens at hosts.
    pub(crate) fn follows_hosts(&self) -> bool {
        self.underflow.is_some()
    }

    /// A flow, or a request, was written to a connection.
    pub(crate) fn flow_started(&mut self, place: u32, hosts: &Endpoints) {
        if let Some(underflow) = &mut self.underflow {
            underflow.written(place, hosts);
            if let Some(answers) = hosts.answers(place) {
                underflow.written(answers, hosts);
            }
        }
    }

    /// Something happened at a host.
    pub(crate) fn host(
        &mut self,
        host: u32,
        now: Time,
        hosts: &Endpoints,
        network: &mut Network,
        graph: &Graph,
    ) {
        if let Some(underflow) = &mut self.underflow {
            underflow.look(host, now, hosts, network, graph);
        }
    }

    /// Counts begin again (the warm-up is over); ports are settled.
    pub(crate) fn restart(&mut self, now: Time, network: &mut Network) {
        let kept = self.bursts.as_mut().map_or(0, |(_, starts)| starts.restart(now));
        for link in 0..network.links() {
            let Some(monitor) = network.monitor(link) else { continue };
            if let Some(peaks) = &mut monitor.peaks {
                peaks.restart(kept);
            }
            if let Some(idle) = &mut monitor.idle {
                idle.restart(now);
            }
        }
    }

    /// What was seen up to now; ports are settled.
    pub(crate) fn take(&mut self, now: Time, network: &mut Network) -> Monitored {
        let mut monitored = Monitored::default();
        for &link in &self.changes {
            let changes = network.monitor(link).and_then(|monitor| monitor.changes.as_mut());
            monitored.changes.extend(changes.map(|changes| (link, changes.take(now))));
        }
        if let Some((links, starts)) = &self.bursts {
            for (nth, &(start, flows)) in starts.bursts().iter().enumerate() {
                let peaks = links.iter().filter_map(|&link| {
                    let peaks = network.monitor(link)?.peaks.as_ref()?;
                    Some((link, peaks.bursts().get(nth)?.clone()))
                });
                monitored.bursts.push(Burst { start, flows, peaks: peaks.collect() });
            }
        }
        if let Some(convergence) = &mut self.convergence {
            (monitored.rates, monitored.converged) = convergence.take();
        }
        monitored
    }
}

/// The time that a port's line idled with work pending, where that is monitored.
pub(crate) fn underflow(network: &mut Network, link: LinkId, now: Time) -> Option<Span> {
    network.monitor(link)?.idle.as_mut().map(|idle| idle.total(now))
}
