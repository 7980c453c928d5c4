//! How much of the window a sender uses, as Linux looks at it when it sends (since 3.16): in slow
//! start a window grows if it is less than twice what was out at most, else if it stopped the
//! sender, once, in this window of data.

/// Data in the network in this window of data.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// The most packets.
    most_out: u64,
    /// The window, not the application, stopped the sender.
    stopped: bool,
    /// Where the window of data ends.
    end: u64,
}

impl Usage {
    /// A packet was sent: `out` packets are out then, and `full` is the window; the stream is
    /// acknowledged up to `una` and sent up to `nxt`.
    pub(super) fn sent(&mut self, out: u64, full: bool, una: u64, nxt: u64) {
        // `tcp_cwnd_validate`: a new window of data begins, the window stops the sender, or more is
        // out than before.
        if una >= self.end || full || (!self.stopped && out > self.most_out) {
            (self.most_out, self.stopped, self.end) = (out, full, nxt);
        }
    }

    /// Whether a window of `cwnd` packets limits the sender.
    pub(super) fn limited(&self, cwnd: f64, slow_start: bool) -> bool {
        self.stopped || (slow_start && cwnd.floor() < 2.0 * self.most_out as f64)
    }
}
