//! Marks, drops and waits of each transport's packets.

use crate::observe::queue_stats::{bin, bounds};
use switchbed_units::Span;

/// Marks, drops and waits that packets of one transport met.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Met {
    /// Packets that left a port with a mark of that port.
    pub(crate) marks: u64,
    /// Packets that a port dropped.
    pub(crate) drops: u64,
    sum_ps: u128,
    max_ps: u64,
    /// Data packets by the bin of their wait in picoseconds.
    bins: Vec<u64>,
}

impl Met {
    /// A data packet left a switch's queue after this wait.
    pub(crate) fn wait(&mut self, wait: Span) {
        let ps = wait.as_ps();
        let bin = usize::from(bin(ps));
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.sum_ps += u128::from(ps);
        self.max_ps = self.max_ps.max(ps);
    }

    /// Adds the counts of another shard.
    pub(crate) fn add(&mut self, other: &Met) {
        self.marks += other.marks;
        self.drops += other.drops;
        self.sum_ps += other.sum_ps;
        self.max_ps = self.max_ps.max(other.max_ps);
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin += more;
        }
    }

    /// Data packets that left switches' queues.
    pub(crate) fn waited(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Mean wait of its packets in microseconds.
    pub(crate) fn mean_us(&self) -> Option<f64> {
        let n = self.waited();
        (n > 0).then(|| self.sum_ps as f64 / n as f64 / 1e6)
    }

    /// The longest wait in microseconds.
    pub(crate) fn max_us(&self) -> Option<f64> {
        (self.waited() > 0).then(|| self.max_ps as f64 / 1e6)
    }

    /// The wait of the packet at ⌊n·permille/1000⌋ of the sorted ones in microseconds: the upper bound
    /// of its bin, which is at most 1/64 above it.
    pub(crate) fn percentile_us(&self, permille: u64) -> Option<f64> {
        let n = self.waited();
        // At 1000 permille the rank would be one past the last.
        let rank = (u128::from(n) * u128::from(permille) / 1000).min(u128::from(n.max(1) - 1));
        let mut passed = 0;
        let at = self.bins.iter().position(|&count| {
            passed += u128::from(count);
            passed > rank
        })?;
        let (_, last) = bounds(at as u16);
        // The upper bound of the bin may lie above every wait that was seen.
        Some(last.min(self.max_ps) as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_two_shards_are_those_of_one() {
        let (mut one, mut other, mut both) = (Met::default(), Met::default(), Met::default());
        for us in 0..1000 {
            let met = if us % 3 == 0 { &mut one } else { &mut other };
            met.wait(Span::from_us(us));
            both.wait(Span::from_us(us));
        }
        one.add(&other);
        assert_eq!(one, both);
        assert_eq!((one.waited(), one.mean_us(), one.max_us()), (1000, Some(499.5), Some(999.0)));
        let p99 = one.percentile_us(990).expect("waits");
        assert!((990.0..990.0 * (1.0 + 1.0 / 64.0)).contains(&p99), "{p99}");
        assert_eq!(one.percentile_us(0), Some(0.0));
        assert_eq!(Met::default().percentile_us(990), None);
        assert_eq!((Met::default().mean_us(), Met::default().max_us()), (None, None));
    }
}
