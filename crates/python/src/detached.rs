//! Work on a thread of its own, so that whoever waits for it can leave: a signal that Python
//! raises on, such as Ctrl-C, ends the wait at once, whatever the work is doing.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How often the wait looks whether it is over.
const TICK: Duration = Duration::from_millis(50);
/// How long work may go on that was asked to stop.
const PATIENCE: Duration = Duration::from_millis(300);
/// As large as the first thread's.
const STACK_BYTES: usize = 8 << 20;

/// Processor time that the calling thread has taken, in seconds, where the system says it
/// (`CLOCK_THREAD_CPUTIME_ID`, which counts the slice that is running too).
#[cfg(unix)]
pub(crate) fn processor_s() -> Option<f64> {
    use nix::time::{ClockId, clock_gettime};
    let taken = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?);
    Some(taken.as_secs_f64())
}

#[cfg(not(unix))]
pub(crate) fn processor_s() -> Option<f64> {
    None
}

/// Does the work while the interpreter goes on. `None`: it was asked to stop (`stopped`) and did
/// not in time. It then ends by itself, and what comes of it is dropped.
pub(crate) fn detached<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    stopped: impl Fn() -> bool,
) -> PyResult<Option<T>> {
    let (done, ended) = channel();
    let work = move || drop(done.send(work()));
    // A thread of its own, so that this one can look for signals while the work goes on.
    let worker = Builder::new().name("detached".into()).stack_size(STACK_BYTES).spawn(work);
    let worker = worker.map_err(|error| PyOSError::new_err(error.to_string()))?;
    // Only this thread receives; the lock says so to the compiler.
    let ended = Mutex::new(ended);
    let mut asked: Option<Instant> = None;
    loop {
        match py.detach(|| ended.lock().expect("no holder panics").recv_timeout(TICK)) {
            Ok(done) => return Ok(Some(done)),
            // Python's signal handlers run on its main thread alone, and only when it is asked.
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            // The sender is gone without a message: the worker panicked, and the panic goes on
            // here.
            Err(RecvTimeoutError::Disconnected) => match py.detach(|| worker.join()) {
                Ok(()) => return Ok(None),
                Err(panic) => resume_unwind(panic),
            },
        }
        // Work that was asked to stop gets some time to do so; then it is left to itself.
        if stopped() && asked.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return Ok(None);
        }
    }
}
