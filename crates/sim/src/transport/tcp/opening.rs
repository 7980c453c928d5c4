//! Opening of the receive window where the buffer tunes itself, as in Linux. The window grows by
//! two packets for each that arrives (`tcp_grow_window`), as far as the buffer has space besides
//! data out of order (`tcp_space`). The buffer follows what the application, which reads at once,
//! has read in a round trip (`tcp_rcv_space_adjust` since 4.10; Linux 2.6 and 3 grow in steps of
//! 1.5 and 2).

use super::Config;
use switchbed_units::{Span, Time};

/// Window in bytes that the buffer allows at first: half of 128 KiB, the middle of Linux's
/// tcp_rmem.
const FIRST: u64 = 64 << 10;
/// Smaller segments do not open the window (`tcp_event_data_recv`).
const LEAST: u32 = 128;
/// A round trip's first bytes to be compared with: Linux's TCP_INIT_CWND, in packets.
const INITIAL: u64 = 10;

/// A receive window that opens; in bytes.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The window.
    window: u64,
    /// Window that the buffer allows.
    most: u64,
    /// The highest byte that has been offered; an offer is not taken back.
    edge: u64,
    /// Most bytes that were read in a round trip so far.
    read: u64,
    /// Where the round trip began, and when.
    from: u64,
    since: Time,
    /// The round trip as the receiver sees it, smoothed; zero before the first data.
    rtt: Span,
    /// Part of it that an ACK's way takes: as in the handshake, or as long as that of the first
    /// data.
    back: Span,
}

impl Opening {
    pub(super) fn new(config: &Config) -> Opening {
        let window = u64::from(config.initial_receive_bytes);
        let (zero, most) = (Span::ZERO, window.max(FIRST).min(config.receive_bytes));
        let read = window.min(INITIAL * u64::from(config.mss));
        Opening { window, most, edge: 0, read, from: 0, since: Time::ZERO, rtt: zero, back: zero }
    }

    /// Data of `len` bytes that was sent at `sent` came, all up to `next` has been read, and `waiting`
    /// bytes wait for what is missing; answers whether the window opened.
    pub(super) fn came(
        &mut self,
        config: &Config,
        (next, waiting): (u64, u64),
        len: u32,
        sent: Time,
        handshake: Option<Span>,
        now: Time,
    ) -> bool {
        self.sample(now.since(sent), handshake, now);
        self.adjust(config, next, now);
        let room = self.most.saturating_sub(waiting).saturating_sub(self.window);
        if len < LEAST.min(config.mss) || room == 0 {
            return false;
        }
        self.window += room.min(2 * u64::from(len.max(config.mss)));
        true
    }

    /// The receiver's view of the round trip, where data took `there`.
    fn sample(&mut self, there: Span, handshake: Option<Span>, now: Time) {
        if self.rtt == Span::ZERO {
            // No more than the data's, of which a timeout is none.
            self.back = handshake.map_or(there, |whole| (whole.max(there) - there).min(there));
            (self.rtt, self.since) = (there + self.back, now);
        } else {
            self.rtt = self.rtt - self.rtt / 8 + (there + self.back) / 8;
        }
    }

    /// At the end of a round trip in which more than ever was read, the buffer grows.
    fn adjust(&mut self, config: &Config, next: u64, now: Time) {
        if now.since(self.since) < self.rtt {
            return;
        }
        let read = next - self.from;
        if read > self.read {
            // `tcp_rcv_space_adjust`: rcvwin = 2·copied + 16·advmss, and twice as much more as the
            // growth.
            let twice = 2 * read + 16 * u64::from(config.mss);
            let grown = u128::from(twice) * u128::from(read - self.read) / u128::from(self.read);
            let wanted = u128::from(twice) + 2 * grown;
            self.most = self.most.max(wanted.min(config.receive_bytes.into()) as u64);
            self.read = read;
        }
        (self.from, self.since) = (next, now);
    }

    /// Returns the window that an ACK of all before `next` offers.
    pub(super) fn offered(&mut self, next: u64) -> u32 {
        // An offer is never taken back (RFC 9293, section 3.8.6: no shrinking of the window).
        self.edge = self.edge.max(next + self.window);
        (self.edge - next) as u32
    }
}
