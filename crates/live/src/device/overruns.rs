//! Frames that the kernel lost before anybody could read them, by an interface's own counters.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Some counters of an interface. Their files stay open: they can be read wherever the interface is
/// put, and without any right.
pub(super) struct Overruns {
    counters: Vec<Counter>,
}

struct Counter {
    file: File,
    /// Value when the counter was opened.
    before: u64,
    /// Last value read, which stands in once the interface no longer exists.
    last: u64,
}

impl Overruns {
    /// Counts from now on. A counter that the interface does not have stays out.
    pub(super) fn of(interface: &str, names: &[&str]) -> Overruns {
        let path = |name: &&str| format!("/sys/class/net/{interface}/statistics/{name}");
        let counters = names.iter().filter_map(|name| {
            let file = File::open(path(name)).ok()?;
            let before = value(&file)?;
            Some(Counter { file, before, last: before })
        });
        Overruns { counters: counters.collect() }
    }

    /// Sum of all counters since they were opened.
    pub(super) fn count(&mut self) -> u64 {
        let counted = self.counters.iter_mut().map(|counter| {
            counter.last = value(&counter.file).unwrap_or(counter.last);
            counter.last.saturating_sub(counter.before)
        });
        counted.sum()
    }
}

fn value(file: &File) -> Option<u64> {
    // A u64 has 20 digits at most.
    let mut text = [0; 24];
    // From offset 0 each time: sysfs makes the text anew only for a read from the start.
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
}
