//! Long-term bandwidth: the rate of a policer (Linux, `bbr_lt_bw_sampling`; Flach et al., An
//! Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016). Two intervals in a row of 4 to 16 rounds,
//! both with a fifth of packets lost and nearly the same rate, show one. For 48 rounds of PROBE_BW the
//! flow then sends at their mean.

use super::{SHIFT, UNIT, bytes_per_s};
use crate::{Connection, RateSample};
use switchbed_units::Time;

/// Rounds of an interval at least; four times as many at most.
const INTERVAL: u32 = 4;
/// Lost over delivered packets, in 1/256, of an interval that may be a policer's.
const LOSSY: u64 = 50;
/// Rates that differ by less than this, in bytes a second, are the same.
const SAME: u64 = 4000 / 8;
/// Rounds for which the rate is used.
const USED: u32 = 48;

/// Result of an ACK's sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    /// A policer's rate is used from now on.
    Policed,
    /// The rate is used no longer.
    Over,
}

/// Sampling of the long-term rate.
#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    sampling: bool,
    rounds: u32,
    pub(super) used: bool,
    /// Rate of the last interval, or the one in use; 0 without.
    pub(super) bw: u64,
    delivered: u64,
    since_ms: u64,
    lost: u64,
}

fn ms(at: Time) -> u64 {
    at.as_ps() / 1_000_000_000
}

impl LongTerm {
    fn begin(&mut self, conn: &Connection) {
        self.since_ms = ms(conn.delivered_at);
        (self.delivered, self.lost, self.rounds) = (conn.delivered, conn.lost, 0);
    }

    pub(super) fn reset(&mut self, conn: &Connection) {
        (self.bw, self.used, self.sampling) = (0, false, false);
        self.begin(conn);
    }

    /// An ACK that has begun a round or not; `probing`: in PROBE_BW.
    pub(super) fn sample(
        &mut self,
        conn: &Connection,
        sample: &RateSample,
        (round, probing): (bool, bool),
    ) -> Shown {
        if self.used {
            if probing && round {
                self.rounds += 1;
                if self.rounds >= USED {
                    self.reset(conn);
                    return Shown::Over;
                }
            }
            return Shown::Nothing;
        }
        // The first loss shows that the policer's tokens are gone.
        if !self.sampling {
            if sample.losses == 0 {
                return Shown::Nothing;
            }
            self.begin(conn);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(conn);
            return Shown::Nothing;
        }
        self.rounds += u32::from(round);
        if self.rounds < INTERVAL {
            return Shown::Nothing;
        }
        if self.rounds > 4 * INTERVAL {
            self.reset(conn);
            return Shown::Nothing;
        }
        // An interval ends with a loss, when the tokens are gone once more.
        let (lost, delivered) = (conn.lost - self.lost, conn.delivered - self.delivered);
        if sample.losses == 0 || delivered == 0 || (lost << 8) < LOSSY * delivered {
            return Shown::Nothing;
        }
        let took = ms(conn.delivered_at).saturating_sub(self.since_ms);
        if took == 0 {
            return Shown::Nothing;
        }
        self.ended(conn, (delivered << SHIFT) / (took * 1000))
    }

    fn ended(&mut self, conn: &Connection, bw: u64) -> Shown {
        let apart = bw.abs_diff(self.bw);
        let close =
            apart * UNIT <= UNIT / 8 * self.bw || bytes_per_s(conn.mss, apart, UNIT) <= SAME;
        if self.bw > 0 && close {
            (self.bw, self.used, self.rounds) = ((bw + self.bw) / 2, true, 0);
            return Shown::Policed;
        }
        self.bw = bw;
        self.begin(conn);
        Shown::Nothing
    }
}
