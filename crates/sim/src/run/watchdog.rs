//! Stops a run whose memory passes its forecast by half, rather than have the kernel kill the process and all that it
//! has under way.
//!
//! Runs of one process share its memory, and nobody knows what is whose: a run may see the process grow by what it was
//! forecast itself, and by what was forecast for every other run that was under way since it began, or whose results were
//! held ([`Held`]).

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Memory that a run may take, in units of its forecast.
const FACTOR: f64 = 1.5;
/// Bytes that a process may grow by for other reasons: libraries that another thread loads (measured: Polars 45 MB,
/// matplotlib 61 MB, DuckDB 27 MB), memory that is kept for reuse.
const SLACK: u64 = 128_000_000;
const EVERY: Duration = Duration::from_millis(50);

/// Forecasts of the runs under way and of results that are held, and of all that began.
static LIVE: AtomicU64 = AtomicU64::new(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Results that this process holds, of a run with this forecast: those that are written, or that another process sends.
pub struct Held(u64);

impl Held {
    /// Counts them until it is dropped.
    pub fn new(forecast: u64) -> Held {
        Held::begin(forecast).0
    }

    /// Also the forecasts of what had ended before.
    fn begin(forecast: u64) -> (Held, u64) {
        let live = LIVE.fetch_add(forecast, Relaxed);
        // Less those still under way: what ended before has given its memory back.
        let before = BEGUN.fetch_add(forecast, Relaxed).saturating_sub(live);
        (Held(forecast), before)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        LIVE.fetch_sub(self.0, Relaxed);
    }
}

/// A run's memory went beyond its forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Bytes that the process has grown by since it began.
    pub took: u64,
    /// Number of bytes that were forecast.
    pub forecast: u64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [took, forecast] = [self.took, self.forecast].map(|bytes| bytes as f64 / 1e6);
        write!(
            f,
            "stopped: it had taken {took:.0} MB of memory, and {forecast:.1} MB were forecast; ask for less, or give \
             --any-memory (any_memory=True) to let it go on"
        )
    }
}

/// Looks at the memory of a run's process.
pub(crate) struct Watchdog {
    forecast: Held,
    /// Resident bytes as the run began.
    base: i64,
    /// Forecasts of runs that had ended before it began.
    before: u64,
    looked: Instant,
}

impl Watchdog {
    /// Makes a watchdog for a run with this forecast; `None` where the system does not report
    /// memory.
    pub(crate) fn new(forecast: u64) -> Option<Watchdog> {
        let base = resident()? as i64;
        let (forecast, before) = Held::begin(forecast);
        Some(Watchdog { forecast, base, before, looked: Instant::now() })
    }

    /// Looks, if it is time to.
    pub(crate) fn look(&mut self) -> Option<Excess> {
        if self.looked.elapsed() < EVERY {
            return None;
        }
        self.looked = Instant::now();
        let forecast = BEGUN.load(Relaxed).saturating_sub(self.before);
        // Memory given back by others can take the process below where this run began.
        let took = (resident()? as i64 - self.base).max(0) as u64;
        let allowed = SLACK + (FACTOR * forecast as f64) as u64;
        (took > allowed).then_some(Excess { took, forecast: self.forecast.0 })
    }
}

/// Bytes of this process in memory, where there is Linux's /proc.
fn resident() -> Option<u64> {
    // Resident, as the kernel's OOM killer counts; `VmSize` has pages that were never touched.
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// All of a process count in one place, so these tests come one after another.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn a_run_that_passes_its_forecast_by_half_and_the_slack_is_stopped() {
        let _alone = ALONE.lock();
        let mut watchdog = Watchdog::new(1_000_000).unwrap();
        watchdog.looked -= EVERY;
        assert_eq!(watchdog.look(), None);
        // As if the process had been so much smaller when it began.
        watchdog.base -= SLACK as i64 + 100_000_000;
        watchdog.looked -= EVERY;
        assert!(watchdog.look().is_some_and(|excess| excess.forecast == 1_000_000));
        // Not every call looks.
        assert_eq!(watchdog.look(), None);
    }

    #[test]
    fn results_that_are_held_are_no_excess_of_a_run_beside_them() {
        // Far beyond what runs of tests beside this one are forecast.
        const MUCH: u64 = 10_000_000_000;
        let _alone = ALONE.lock();
        let looked = |watchdog: &mut Watchdog| {
            watchdog.base -= MUCH as i64;
            watchdog.looked -= EVERY;
            watchdog.look()
        };
        let held = Held::new(MUCH);
        let mut during = Watchdog::new(1_000_000).unwrap();
        drop(held);
        let mut after = Watchdog::new(1_000_000).unwrap();
        assert_eq!(looked(&mut during), None);
        assert!(looked(&mut after).is_some());
    }

    #[test]
    fn an_excess_says_how_much_and_what_to_do() {
        let line = Excess { took: 130_000_000, forecast: 431_000 }.to_string();
        assert!(
            line.starts_with("stopped: it had taken 130 MB of memory, and 0.4 MB were forecast; ")
        );
        assert!(line.contains("--any-memory"));
    }
}
