//! Time, and waiting for a time or a frame.

use std::io;
use std::os::fd::BorrowedFd;
use switchbed_units::Time;

/// Source of time for the loop, which also sleeps by it.
pub trait Clock {
    /// Time since the switch began; never goes back.
    fn now(&mut self) -> Time;

    /// Sleeps until one of `fds` has something to read, or until a time. Says of each
    /// whether it has.
    ///
    /// # Errors
    /// Errors of the operating system.
    fn wait(
        &mut self,
        fds: &[BorrowedFd<'_>],
        until: Time,
        ready: &mut Vec<bool>,
    ) -> io::Result<()>;
}

/// A clock for tests: waiting takes no time, and time passes by waiting alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fake {
    /// Present time since the start.
    pub now: Time,
}

impl Clock for Fake {
    fn now(&mut self) -> Time {
        self.now
    }
    fn wait(
        &mut self,
        fds: &[BorrowedFd<'_>],
        until: Time,
        ready: &mut Vec<bool>,
    ) -> io::Result<()> {
        assert!(fds.is_empty(), "real devices need a real clock");
        assert!(until < Time::NEVER, "nothing would ever happen again");
        ready.clear();
        self.now = self.now.max(until);
        Ok(())
    }
}

#[cfg(target_os = "linux")]
pub use real::Monotonic;

#[cfg(target_os = "linux")]
mod real {
    use super::*;
    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, ppoll};
    use nix::sys::time::TimeSpec;
    use std::time::{Duration, Instant};
    use switchbed_units::Span;

    /// The longest single sleep, so that no conversion overflows.
    const LONGEST: Span = Span::from_ms(60_000);

    /// CLOCK_MONOTONIC, counted from `new`.
    #[derive(Clone, Copy, Debug)]
    pub struct Monotonic {
        began: Instant,
    }

    impl Monotonic {
        /// Starts a clock whose time 0 is now.
        pub fn new() -> Self {
            Monotonic { began: Instant::now() }
        }
    }

    impl Default for Monotonic {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Clock for Monotonic {
        fn now(&mut self) -> Time {
            Time::ZERO + Span::from_ns(self.began.elapsed().as_nanos() as u64)
        }

        fn wait(
            &mut self,
            fds: &[BorrowedFd<'_>],
            until: Time,
            ready: &mut Vec<bool>,
        ) -> io::Result<()> {
            let left = until.since(self.now()).min(LONGEST);
            // Rounded up: waking before the time would only mean to sleep again.
            let timeout = Duration::from_nanos(left.as_ps().div_ceil(1000));
            let mut polled: Vec<PollFd<'_>> =
                fds.iter().map(|&fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            match ppoll(&mut polled, Some(TimeSpec::from_duration(timeout)), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            ready.clear();
            // Flags that nix does not know count as ready: the read will tell.
            ready.extend(polled.iter().map(|fd| fd.any().unwrap_or(true)));
            Ok(())
        }
    }
}
