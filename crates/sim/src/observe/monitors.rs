//! What a run looks at more closely where its scenario asks for it. A run without monitors does
//! none of it.

pub use super::bursts::Peak;
pub use super::changes::{LengthChange, slopes_bps};
pub use super::convergence::{Converged, RateSample};

use super::bursts::{Peaks, Starts};
use super::changes::Changes;
use super::convergence::{Convergence, Underway};
use super::room::Room;
use super::underflow::{Underflow, Unsent};
use super::watch::Watch;
use crate::ids::LinkId;
use crate::topology::Graph;
use switchbed_qdisc::units::{Span, Time};

/// Ports that can be watched, by link.
pub(crate) trait Ports {
    /// Has a port watched from now on, which has so many queues.
    fn watched(&mut self, link: LinkId) -> (&mut Watch, usize);
    /// What watches a port, if anything does.
    fn watch(&mut self, link: LinkId) -> Option<&mut Watch>;
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
    underflow: Option<Underflow>,
}

impl Monitors {
    /// The monitors that a scenario asks for. `link` finds a port.
    pub(crate) fn new<E>(
        measure: &switchbed_spec::Measure,
        ports: &mut impl Ports,
        link: impl Fn(&String) -> Result<LinkId, E>,
    ) -> Result<Monitors, E> {
        let links = |ports: &[String]| ports.iter().map(&link).collect::<Result<Vec<_>, E>>();
        let switchbed_spec::Measure { monitors: asked, samples, .. } = measure;
        let mut monitors = Monitors::default();
        if let Some(asked) = &asked.changes {
            monitors.changes = links(&asked.ports)?;
            let (from, until) = (Time::ZERO + asked.from, Time::ZERO + asked.until);
            for &link in &monitors.changes {
                let (watch, queues) = ports.watched(link);
                let room = Room::new(samples / monitors.changes.len() as u64);
                watch.changes = Some(Changes::new(from, until, queues, room));
            }
        }
        if let Some(asked) = &asked.bursts {
            let links = links(&asked.ports)?;
            for &link in &links {
                let (watch, queues) = ports.watched(link);
                watch.peaks = Some(Peaks::new(queues));
            }
            monitors.bursts = Some((links, Starts::new(asked.apart)));
        }
        if let Some(asked) = &asked.convergence {
            let link = link(&asked.port)?;
            let monitor = Convergence::new(link, asked, Room::new(*samples));
            monitors.convergence = Some(monitor);
        }
        if !asked.underflow.is_empty() {
            let links = links(&asked.underflow)?;
            for &link in &links {
                ports.watched(link).0.busy = Some(Vec::new());
            }
            monitors.underflow = Some(Underflow::new(links));
        }
        Ok(monitors)
    }

    /// When a monitor wants to look at the flows under way.
    pub(crate) fn next(&self) -> Time {
        self.convergence.as_ref().map_or(Time::NEVER, Convergence::next)
    }

    /// It is time to look.
    pub(crate) fn look(&mut self, underway: impl Iterator<Item = Underway>, graph: &Graph) {
        if let Some(convergence) = &mut self.convergence {
            convergence.look(underway, graph);
        }
    }

    /// A flow will start.
    pub(crate) fn flow_starts(&mut self, at: Time, ports: &mut impl Ports) {
        if let Some((links, starts)) = &mut self.bursts
            && starts.start(at)
        {
            for &link in &*links {
                if let Some(peaks) = ports.watch(link).and_then(|watch| watch.peaks.as_mut()) {
                    peaks.expect(at);
                }
            }
        }
    }

    /// Whether it must be told of what hosts have to send.
    pub(crate) fn follows_hosts(&self) -> bool {
        self.underflow.is_some()
    }

    /// What hosts have had to send since the last call, in the order of time.
    pub(crate) fn follow(&mut self, unsent: &[Unsent], ports: &mut impl Ports, graph: &Graph) {
        if let Some(underflow) = &mut self.underflow {
            let busy = |link| {
                let busy = ports.watch(link).and_then(|watch| watch.busy.as_mut());
                busy.map(std::mem::take).unwrap_or_default()
            };
            underflow.follow(unsent, busy, graph);
        }
    }

    /// The time that a port's line idled with work pending, where that is monitored.
    pub(crate) fn underflow(&mut self, link: LinkId, now: Time) -> Option<Span> {
        self.underflow.as_mut()?.idle(link, now)
    }

    /// Counts begin again (the warm-up is over).
    pub(crate) fn restart(&mut self, now: Time, ports: &mut impl Ports) {
        if let Some((links, starts)) = &mut self.bursts {
            starts.restart(now);
            for &link in &*links {
                if let Some(peaks) = ports.watch(link).and_then(|watch| watch.peaks.as_mut()) {
                    peaks.restart(now);
                }
            }
        }
        if let Some(underflow) = &mut self.underflow {
            underflow.restart(now);
        }
    }

    /// Since when a port's changes found no more room.
    pub(crate) fn changes_full_at(&self, ports: &mut impl Ports) -> Option<Time> {
        let changes = |&link| ports.watch(link)?.changes.as_ref()?.full_at();
        self.changes.iter().filter_map(changes).min()
    }

    /// Since when the rates did.
    pub(crate) fn rates_full_at(&self) -> Option<Time> {
        self.convergence.as_ref()?.full_at()
    }

    /// What was seen up to now.
    pub(crate) fn take(&mut self, now: Time, ports: &mut impl Ports) -> Monitored {
        let mut monitored = Monitored::default();
        for &link in &self.changes {
            let changes = ports.watch(link).and_then(|watch| watch.changes.as_mut());
            monitored.changes.extend(changes.map(|changes| (link, changes.take(now))));
        }
        if let Some((links, starts)) = &self.bursts {
            for &(start, flows) in starts.bursts().iter().filter(|burst| burst.0 <= now) {
                let mut peaks = Vec::new();
                for &link in links {
                    let all = ports.watch(link).and_then(|watch| watch.peaks.as_mut());
                    let of = all.and_then(|all| all.take(now).iter().find(|of| of.0 == start));
                    peaks.extend(of.map(|(_, of)| (link, of.clone())));
                }
                monitored.bursts.push(Burst { start, flows, peaks });
            }
        }
        if let Some(convergence) = &mut self.convergence {
            (monitored.rates, monitored.converged) = convergence.take();
        }
        monitored
    }
}
