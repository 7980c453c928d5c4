//! Queues' lengths and thresholds at even times.

use super::observer::{Asked, Observed, Observer, Site, Space, View};
use crate::ids::LinkId;
use switchbed_qdisc::QueueId;
use switchbed_units::{Bytes, Span, Time};

/// One sample of the queue series.
#[derive(Clone, Copy, Debug)]
pub struct QueueSample {
    /// Time of the sample.
    pub at: Time,
    /// Port that the queue is at.
    pub link: LinkId,
    /// Queue that was sampled.
    pub queue: QueueId,
    /// Length of the queue.
    pub bytes: Bytes,
    /// The marking threshold in force in bytes; NaN where there is none.
    pub threshold_bytes: f64,
    /// The smoothed round time; zero where the scheme has none.
    pub round_time: Span,
    /// Packets that have left the port with a CE mark of it so far.
    pub port_marked: u64,
    /// Packets that the port has dropped so far.
    pub port_dropped: u64,
}

/// The series of a run.
pub(crate) struct Series {
    every: Span,
    next: Time,
    links: Vec<LinkId>,
    samples: Vec<QueueSample>,
    space: Space,
}

pub(super) fn asked(site: &mut Site) -> Asked {
    let measure = &site.scenario.measure;
    let Some(every) = measure.series_every else { return Ok(None) };
    Ok(Some(Box::new(Series {
        every,
        next: Time::ZERO + every,
        links: site.measured()?,
        samples: Vec::new(),
        space: Space::new(measure.samples),
    })))
}

impl Series {
    /// The samples since this was last called.
    pub(crate) fn take(&mut self) -> Vec<QueueSample> {
        std::mem::take(&mut self.samples)
    }

    /// Samples the queues of a port.
    fn sample(&mut self, link: LinkId, now: Time, network: &dyn Observed) {
        let port = network.port(link);
        let state = port.state();
        for queue in 0..state.queues() as QueueId {
            let threshold = network.threshold_bytes(link, queue, now);
            self.samples.push(QueueSample {
                at: now,
                link,
                queue,
                bytes: state.queue_bytes(queue),
                threshold_bytes: threshold.unwrap_or(f64::NAN),
                round_time: port.round_time().unwrap_or(Span::ZERO),
                port_marked: state.counters().marked,
                port_dropped: state.counters().dropped(),
            });
        }
    }
}

impl Observer for Series {
    fn next(&self) -> Time {
        self.next
    }

    fn look(&mut self, view: &mut View) -> u64 {
        let (now, before) = (view.now, self.samples.len());
        for nth in 0..self.links.len() {
            self.sample(self.links[nth], now, view.network);
        }
        let rows = (self.samples.len() - before) as u64;
        self.next = now + self.every;
        if !self.space.take(rows, now) {
            self.samples.truncate(before);
            self.next = Time::NEVER;
        }
        rows
    }

    fn full(&self, _: &dyn Observed) -> Option<(&'static str, Time)> {
        Some(("series", self.space.full_at()?))
    }
}
