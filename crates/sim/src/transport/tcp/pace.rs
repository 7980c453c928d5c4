//! Delayed ACKs as Linux sends them. A receiver acknowledges at once at a connection's start, after
//! a pause and after repeated data (quick ACKs). Otherwise it acknowledges more than a full
//! segment, or when a timer expires that follows the gaps between arrivals (`tcp_event_data_recv`,
//! `__tcp_ack_snd_check`, `tcp_send_delayed_ack`).

use super::Config;
use super::receiver::Opening;
use switchbed_units::{Span, Time};

/// State of a receiver for delayed ACKs.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// ACKs still to be sent at once.
    quick: u32,
    /// How long an ACK is held back (ATO); zero before the first data.
    delay: Span,
    /// When data came last.
    last: Time,
    /// When the SYN came.
    opened: Option<Time>,
    /// The round trip of the handshake, if there was one.
    rtt: Option<Span>,
    /// All before has been acknowledged.
    acked: u64,
    /// The receive window, where it opens.
    opening: Option<Opening>,
}

impl Pace {
    pub(super) fn new(config: &Config) -> Pace {
        let (last, delay) = (Time::ZERO, Span::ZERO);
        let opening = config.opens.then(|| Opening::new(config));
        Pace { quick: 0, delay, last, opened: None, rtt: None, acked: 0, opening }
    }

    /// A SYN came.
    pub(super) fn opened(&mut self, now: Time) {
        self.opened = Some(now);
    }

    /// The receiver's own retransmission timeout, which it knows from the handshake alone.
    fn timeout(&self, config: &Config) -> Span {
        config.rto_min + self.rtt.unwrap_or(Span::ZERO)
    }

    /// Data came.
    pub(super) fn came(&mut self, config: &Config, now: Time) {
        let least = config.ack_delay;
        if self.delay == Span::ZERO {
            (self.quick, self.delay) = (config.quick_acks, least);
            self.rtt = self.opened.map(|opened| now.since(opened));
        } else {
            let gap = now.since(self.last);
            if gap <= least / 2 {
                self.delay = self.delay / 2 + least / 2;
            } else if gap < self.delay {
                self.delay = (self.delay / 2 + gap).min(self.timeout(config));
            } else if gap > self.timeout(config) {
                self.hurry(config.quick_acks);
            }
        }
        self.last = now;
    }

    /// The same data, `len` bytes sent at `sent`, may open the window; all up to `next` has come, and
    /// `waiting` bytes beyond.
    pub(super) fn open(
        &mut self,
        config: &Config,
        (next, waiting): (u64, u64),
        len: u32,
        sent: Time,
        now: Time,
    ) {
        let Some(opening) = &mut self.opening else { return };
        if opening.came(config, (next, waiting), len, sent, self.rtt, now) {
            self.hurry(1);
        }
    }

    /// The window that an ACK up to `next` offers; zero where it does not open.
    pub(super) fn offered(&mut self, next: u64) -> u32 {
        self.opening.as_mut().map_or(0, |opening| opening.offered(next))
    }

    /// Makes at least `acks` ACKs go out at once.
    pub(super) fn hurry(&mut self, acks: u32) {
        self.quick = self.quick.max(acks);
    }

    /// Ends the quick ACKs: after a FIN the next segment is the host's own.
    pub(super) fn calm(&mut self) {
        self.quick = 0;
    }

    /// Handles repeated data, which begins anew with the delay, too.
    pub(super) fn repeated(&mut self, config: &Config) {
        self.hurry(config.quick_acks);
        self.delay = config.ack_delay;
    }

    /// Whether what has come up to `next` is acknowledged at once.
    pub(super) fn at_once(&self, config: &Config, next: u64) -> bool {
        let held = (config.ack_every as u64 - 1) * config.mss as u64;
        self.quick > 0 || next - self.acked > held
    }

    /// When the ACK goes out at the latest; one was due at `due`. `None` is now.
    pub(super) fn due(&self, config: &Config, due: Time, now: Time) -> Option<Time> {
        let least = config.ack_delay;
        let most = config.ack_delay_max.min(self.rtt.map_or(Span::MAX, |rtt| rtt.max(least)));
        let delay = if self.delay > least { self.delay.min(most) } else { self.delay };
        // `tcp_send_delayed_ack`: an ACK that was due within a quarter of the delay goes out now.
        (due > now + delay / 4).then(|| due.min(now + delay))
    }

    /// The timer expired before an ACK went out: the next one waits longer.
    pub(super) fn missed(&mut self, config: &Config) {
        self.delay = (self.delay * 2).min(self.timeout(config));
    }

    /// An ACK up to `next` went out; the last of the quick ones ends with the least delay.
    pub(super) fn sent(&mut self, config: &Config, next: u64) {
        self.acked = next;
        if self.quick == 1 {
            self.delay = config.ack_delay;
        }
        self.quick = self.quick.saturating_sub(1);
    }
}
