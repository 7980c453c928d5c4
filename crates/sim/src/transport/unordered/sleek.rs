//! Packets that were lost without a trim, found before their timeout: by how many came after them, or by a probe that
//! is answered at once (htsim's SLEEK, `uec.cpp`).

use switchbed_congestion::nscc::Nscc;
use switchbed_units::{Span, Time};

/// State of loss recovery. A sender in recovery sends lost packets again, whatever the window says, and nothing new.
#[derive(Clone, Debug)]
pub(super) struct Sleek {
    /// Recovery lasts until all packets before this number have arrived.
    until: Option<u32>,
    /// Packets before this number were sent again already.
    beyond: u32,
    /// When a probe is due; whether the next request is one; the number of the last.
    pub(super) probe_at: Time,
    pub(super) probes: bool,
    pub(super) probe: Option<u32>,
}

/// A SACK's report, and the sender's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Number of the first packet that is missing, and of the next new one.
    pub(super) first: u32,
    pub(super) end: u32,
    /// Packets that came before missing ones.
    pub(super) early: u64,
    /// Round trip of the probe that it answers.
    pub(super) probed: Option<Span>,
    /// Whether new data waits, and whether some is to be sent again.
    pub(super) backlog: bool,
    pub(super) resends: bool,
    /// Payload of a full packet in bytes.
    pub(super) mss: u32,
}

impl Default for Sleek {
    fn default() -> Sleek {
        Sleek { until: None, beyond: 0, probe_at: Time::NEVER, probes: false, probe: None }
    }
}

impl Sleek {
    pub(super) fn recovers(&self) -> bool {
        self.until.is_some()
    }

    /// The numbers of packets that are lost if they are still out.
    pub(super) fn heard(&mut self, heard: Heard, nscc: &Nscc, now: Time) -> std::ops::Range<u32> {
        let Heard { first, end, early, probed, backlog, resends, mss } = heard;
        let (base, target) = (nscc.base_rtt(), nscc.target());
        self.probe_at = match (backlog, first == end) {
            (true, _) => now + base * 3,
            (false, false) => now + base + target,
            (false, true) => Time::NEVER,
        };
        // Packets that are missing do not wait in a queue: the probe would have waited there, too.
        if probed.is_some_and(|rtt| rtt < base + target) {
            (self.until, self.beyond) = (Some(end), first);
        }
        self.until = self.until.filter(|&until| before(first, until));
        let threshold = (1.5 * nscc.window()).min(nscc.most()).max(5.0 * f64::from(mss));
        if self.until.is_none() && early >= (threshold / f64::from(mss)) as u64 && !resends {
            self.until = Some(end).filter(|_| first != end);
        }
        let Some(until) = self.until else { return first..first };
        // No more than a window at a time.
        let window = (nscc.window() / f64::from(mss)) as u32;
        let count = until.wrapping_sub(first).min(window);
        let from = if before(first, self.beyond) { self.beyond } else { first };
        let last = first.wrapping_add(count);
        if !before(from, last) {
            return first..first;
        }
        self.beyond = last;
        from..last
    }
}

/// Whether a packet's number comes before another's.
fn before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 1 << 31
}
