//! Aggregation of ACKs (Linux, `bbr_update_ack_aggregation`): the most packets that arrived beyond the
//! bandwidth's share, over the last 5 to 10 rounds. The window grows by so many.

use super::SHIFT;
use crate::Connection;
use switchbed_units::Time;

/// Rounds of either half of the window.
const ROUNDS: u32 = 5;
/// An epoch with so many packets begins anew.
const EPOCH: u64 = 1 << 20;

/// Packets beyond the bandwidth's share.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Time,
    acked: u64,
    /// The most of the half of the window that runs and of the one before.
    extra: [u64; 2],
    rounds: u32,
}

fn us(at: Time) -> u64 {
    at.as_ps() / 1_000_000
}

impl Aggregation {
    /// A new epoch begins.
    pub(super) fn begin(&mut self, at: Time) {
        (self.since, self.acked) = (at, 0);
    }

    pub(super) fn most(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }

    /// An ACK of `newly` packets came.
    pub(super) fn update(&mut self, conn: &Connection, bw: u64, newly: u32, round: bool) {
        if round {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                (self.rounds, self.extra) = (0, [0, self.extra[0]]);
            }
        }
        let took = us(conn.delivered_at).saturating_sub(us(self.since));
        let expected = (u128::from(bw) * u128::from(took)) >> SHIFT;
        let mut expected = u64::try_from(expected).unwrap_or(u64::MAX);
        if self.acked <= expected || self.acked + u64::from(newly) >= EPOCH {
            self.begin(conn.delivered_at);
            expected = 0;
        }
        self.acked = (self.acked + u64::from(newly)).min(EPOCH - 1);
        let extra = self.acked.saturating_sub(expected).min(conn.cwnd.into());
        self.extra[0] = self.extra[0].max(extra);
    }
}
