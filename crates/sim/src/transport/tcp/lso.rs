//! Large segment offload: new data waits until a large segment may be sent, which then
//! goes out packet by packet at line rate (Shan and Ren, INFOCOM 2017, section II-A).
//!
//! Waiting ends under the conditions of the paper's table I, as Linux has them: a share β
//! of the window may be sent (1), or the largest segment L (2); waiting would not bring more
//! data, as all that is written may be sent (3 and 5); losses are being repaired, or the
//! window has just been cut (4; a setting switches the latter off, as the paper's analysis
//! has bursts throughout); or two clock ticks have passed (6). Linux looks at the
//! conditions when an ACK comes or the application writes, and sets no timer; no more does
//! this: data waits only while other data is on its way.

use super::Config;
use super::extras::Extras;
use super::sender::Sender;
use switchbed_scenario::Autosize;
use switchbed_units::{Span, Time};

/// Two clock ticks of 1 ms (condition 6).
const LONGEST: Span = Span::from_ms(2);

/// Data is held back this long after a segment at most, with `lso_recent` (tcp_tso_should_defer).
const RECENT: Span = Span::from_ms(1);

/// State of a sender with LSO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lso {
    /// The end of the segment that is being handed over.
    pub(super) end: u64,
    /// Since when new data has waited; [`Time::NEVER`] if none waits.
    since: Time,
}

impl Default for Lso {
    fn default() -> Lso {
        Lso { end: 0, since: Time::NEVER }
    }
}

impl Sender {
    /// Returns the bytes that are worth sending at once: min(L, β·window), in whole packets.
    pub(super) fn lso_segment(&self, config: &Config) -> u64 {
        self.lso_segment_of(config, self.largest_segment(config))
    }

    /// The same, where the largest segment is known.
    fn lso_segment_of(&self, config: &Config, largest: u64) -> u64 {
        let mss = config.mss as u64;
        let packets = self.window(config) / mss;
        let share = (config.lso_beta * packets as f64).ceil() as u64;
        (share.max(1) * mss).min(largest)
    }

    /// Whether the next ACK is not to be expected soon.
    fn ack_is_far(&self, now: Time) -> bool {
        let first = self.extras.as_deref().and_then(|extras| extras.log.first());
        let young = match (first, self.srtt()) {
            (Some(first), Some(srtt)) => now.since(first.at) < srtt / 2,
            _ => false,
        };
        self.sent == self.una || self.since_sent(now) > RECENT || young
    }

    /// Whether new data is held back, with `in_flight` bytes in the network.
    #[cold]
    pub(super) fn defers(&mut self, config: &Config, in_flight: u64, now: Time) -> bool {
        let largest = self.largest_segment(config);
        let segment = self.lso_segment_of(config, largest);
        let allowed = self.window(config).saturating_sub(in_flight);
        let cut = self.una < self.cut_end && !config.lso_after_cut;
        let open = self.loss.is_none() && !cut;
        let left = self.unsent();
        let (una, nxt) = (self.una, self.nxt);
        let far = config.lso_recent && self.ack_is_far(now);
        // As Linux has it, what is worth sending is not all that is sent.
        let most = match config.autosize {
            Autosize::Off => segment,
            _ => largest,
        };
        let Some(Extras { lso, growth, .. }) = self.extras.as_deref_mut() else { return false };
        // A segment that was begun is handed over whole.
        if nxt < lso.end || left == 0 {
            return false;
        }
        let late = lso.since != Time::NEVER && now.since(lso.since) >= LONGEST;
        if open && !late && !far && allowed < segment.min(left) {
            // A full window holds data back by itself.
            if lso.since == Time::NEVER && allowed >= config.mss as u64 {
                lso.since = now;
            }
            if allowed <= left {
                growth.held_back(config, una, nxt);
            }
            return true;
        }
        lso.since = Time::NEVER;
        lso.end = nxt + most.min(allowed);
        false
    }
}
