//! How long a port's queues were: time-weighted mean, percentiles and maximum, exact at
//! every change.

use super::observer::{Asked, Site};
use super::watch::AtPort;
use switchbed_qdisc::units::{Bytes, Time};
use switchbed_qdisc::{PortState, QueueId};

/// Bins of the distribution; a bin is 1/256 of the buffer.
const BINS: usize = 257;

/// The length of one queue, or of a whole port, over time.
#[derive(Clone, Debug)]
pub struct Track {
    bytes: u64,
    since: Time,
    area_byte_ps: u128,
    max_bytes: u64,
    /// Picoseconds spent in each bin, up to the last in which any was.
    bins_ps: Vec<u64>,
}

/// A summary of a [`Track`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lengths {
    /// Time-weighted mean.
    pub mean_bytes: f64,
    /// Time-weighted median, to 1/256 of the buffer, like the other percentiles.
    pub p50_bytes: f64,
    /// 95th percentile.
    pub p95_bytes: f64,
    /// 99th percentile.
    pub p99_bytes: f64,
    /// Longest.
    pub max_bytes: u64,
}

impl Track {
    fn new() -> Self {
        Track { bytes: 0, since: Time::ZERO, area_byte_ps: 0, max_bytes: 0, bins_ps: Vec::new() }
    }

    /// Counts the time since the last change at the length until now.
    #[inline]
    fn pass(&mut self, now: Time, bin_bytes: u64) {
        let ps = now.since(self.since).as_ps();
        if ps > 0 {
            self.area_byte_ps += ps as u128 * self.bytes as u128;
            let bin = ((self.bytes / bin_bytes) as usize).min(BINS - 1);
            if bin >= self.bins_ps.len() {
                self.bins_ps.resize(bin + 1, 0);
            }
            self.bins_ps[bin] += ps;
            self.since = now;
        }
    }

    #[inline]
    fn change(&mut self, now: Time, bytes: u64, bin_bytes: u64) {
        self.pass(now, bin_bytes);
        self.bytes = bytes;
        self.max_bytes = self.max_bytes.max(bytes);
    }

    fn restart(&mut self, now: Time) {
        *self = Track { bytes: self.bytes, since: now, max_bytes: self.bytes, ..Track::new() };
    }

    fn lengths(&self, bin_bytes: u64) -> Lengths {
        let total: u64 = self.bins_ps.iter().sum();
        let percentile = |p: f64| {
            let target = p * total as f64;
            let mut passed = 0.0;
            for (i, &ps) in self.bins_ps.iter().enumerate() {
                if ps > 0 && passed + ps as f64 >= target {
                    // A bin that holds zero alone would otherwise look half full.
                    if i == 0 && self.max_bytes == 0 {
                        return 0.0;
                    }
                    let inside = (target - passed) / ps as f64;
                    return ((i as f64 + inside) * bin_bytes as f64).min(self.max_bytes as f64);
                }
                passed += ps as f64;
            }
            0.0
        };
        let mean = if total == 0 { 0.0 } else { self.area_byte_ps as f64 / total as f64 };
        Lengths {
            mean_bytes: mean,
            p50_bytes: percentile(0.5),
            p95_bytes: percentile(0.95),
            p99_bytes: percentile(0.99),
            max_bytes: self.max_bytes,
        }
    }
}

/// A port's queues, and the port as a whole, packets on the wire not counted.
#[derive(Debug)]
pub struct QueueStats {
    bin_bytes: u64,
    queues: Vec<Track>,
    port: Track,
}

/// At the ports whose queues are measured, and at those of the monitors.
pub(super) fn asked(site: &mut Site) -> Asked {
    let mut links = site.measured()?;
    for name in site.scenario.measure.monitors.ports() {
        links.push(site.link(name)?);
    }
    for link in links {
        let stats = QueueStats::new(site.queues(link), (site.memory)(link));
        site.network.watched(link).add(stats);
    }
    Ok(None)
}

impl AtPort for QueueStats {
    fn changed(&mut self, queue: QueueId, now: Time, state: &PortState) {
        self.change(now, queue, state.queue_bytes(queue), state.bytes());
    }

    /// Forgets what was before `now`.
    fn restart(&mut self, now: Time) {
        self.queues.iter_mut().chain([&mut self.port]).for_each(|track| track.restart(now));
    }
}

impl QueueStats {
    /// For a port of so many queues and so much memory.
    pub fn new(queues: usize, buffer: Bytes) -> Self {
        let bin_bytes = buffer.get().div_ceil(BINS as u64 - 1).max(1);
        QueueStats { bin_bytes, queues: vec![Track::new(); queues], port: Track::new() }
    }

    /// A queue has changed.
    #[inline]
    pub fn change(&mut self, now: Time, queue: QueueId, queue_bytes: Bytes, port_bytes: Bytes) {
        self.queues[queue as usize].change(now, queue_bytes.get(), self.bin_bytes);
        self.port.change(now, port_bytes.get(), self.bin_bytes);
    }

    /// Counts up to `now` (the end of the run).
    pub fn close(&mut self, now: Time) {
        let bin_bytes = self.bin_bytes;
        self.queues.iter_mut().chain([&mut self.port]).for_each(|track| track.pass(now, bin_bytes));
    }

    /// Each queue's lengths, then the port's.
    pub fn lengths(&self) -> (Vec<Lengths>, Lengths) {
        let of = |track: &Track| track.lengths(self.bin_bytes);
        (self.queues.iter().map(of).collect(), of(&self.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_wave_has_the_mean_and_median_of_its_halves() {
        let mut stats = QueueStats::new(1, Bytes::new(25_600));
        for i in 0..100 {
            let bytes = Bytes::new(if i % 4 == 0 { 10_000 } else { 2_000 });
            stats.change(Time::from_ps(i * 1000), 0, bytes, bytes);
        }
        stats.close(Time::from_ps(100_000));
        let (queues, port) = stats.lengths();
        assert_eq!(queues[0], port);
        assert_eq!(port.mean_bytes, 4_000.0);
        assert_eq!(port.max_bytes, 10_000);
        assert!((port.p50_bytes - 2_000.0).abs() <= 100.0, "{port:?}");
        assert!((port.p95_bytes - 10_000.0).abs() <= 100.0, "{port:?}");
    }

    #[test]
    fn an_empty_queue_is_empty_in_every_respect() {
        let mut stats = QueueStats::new(1, Bytes::new(300_000));
        stats.close(Time::from_ps(5));
        let (_, port) = stats.lengths();
        assert_eq!((port.mean_bytes, port.p99_bytes, port.max_bytes), (0.0, 0.0, 0));
    }
}
