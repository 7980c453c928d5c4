//! Protective load balancing (Qureshi et al., SIGCOMM 2022), with the rules of Linux (`net/ipv4/tcp_plb.c`, as
//! `tcp_dctcp.c` calls it at the end of each round) and the defaults of its sysctls: a connection whose rounds are
//! congested takes another path.

use super::sender::Sender;
use super::{Config, Segment};
use switchbed_units::random::{Random, Stream};
use switchbed_units::{Span, Time};

/// Rounds with this fraction of marks, in 256ths, are congested (`tcp_plb_cong_thresh`).
const CONGESTED: u64 = 128;
/// Congested rounds in a row after which the path changes (`tcp_plb_rehash_rounds`), and after which it does
/// if nothing is in flight (`tcp_plb_idle_rehash_rounds`).
const ROUNDS: u32 = 12;
const IDLE_ROUNDS: u32 = 3;
/// Least time after a timeout for which the path stays (`tcp_plb_suspend_rto_sec`); as much again is drawn.
const SUSPENDED: Span = Span::from_ms(60_000);

/// State of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Plb {
    /// Where the round ends, and what was acknowledged in it, in all and marked, in bytes.
    end: u64,
    acked: u64,
    marked: u64,
    /// Congested rounds in a row.
    congested: u32,
    /// The path stays until then.
    stays_until: Time,
    /// The next packet is to take another path.
    moves: bool,
    /// Key of the connection's draws.
    key: u32,
}

impl Plb {
    /// The connection draws by this key, which the run's seed and its ends give.
    pub(super) fn keyed(&mut self, key: u32) {
        self.key = key;
    }

    /// Bytes were acknowledged, some of them marked, up to `una`; up to `sent` all is out.
    fn acked(&mut self, (bytes, marked): (u64, u64), (una, sent): (u64, u64), now: Time) {
        self.acked += bytes;
        self.marked += marked.min(bytes);
        if una < self.end {
            return;
        }
        match (self.marked << 8) / self.acked.max(1) < CONGESTED {
            true => self.congested = 0,
            false => self.congested = (self.congested + 1).min(ROUNDS),
        }
        (self.acked, self.marked, self.end) = (0, 0, sent);
        let enough = if una == sent { IDLE_ROUNDS } else { ROUNDS };
        if self.congested >= enough && now >= self.stays_until {
            (self.congested, self.moves) = (0, true);
        }
    }

    /// The retransmission timer expired: another path at once (`sk_rethink_txhash`), and none for a while.
    fn timed_out(&mut self, now: Time) {
        let more = Stream::new(self.key.into(), "plb", now.as_ps()).unit();
        let more = Span::from_secs_f64(SUSPENDED.as_secs_f64() * more);
        (self.stays_until, self.congested, self.moves) = (now + SUSPENDED + more, 0, true);
    }
}

impl Sender {
    /// An ACK of so many bytes came, and of so many that were marked.
    pub(super) fn balance(
        &mut self,
        config: &Config,
        ack: &Segment,
        (bytes, marked): (u64, u64),
        now: Time,
    ) {
        let (una, sent) = (ack.offset, self.sent);
        if let (true, Some(extras)) = (config.plb, &mut self.extras) {
            extras.plb.acked((bytes, marked), (una, sent), now);
        }
    }

    /// The retransmission timer expired.
    pub(super) fn leave_path(&mut self, config: &Config, now: Time) {
        if let (true, Some(extras)) = (config.plb, &mut self.extras) {
            extras.plb.timed_out(now);
        }
    }

    /// Whether the connection is to take another path from now on; says so once.
    pub(crate) fn moves(&mut self) -> bool {
        self.extras.as_mut().is_some_and(|extras| std::mem::take(&mut extras.plb.moves))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of ten packets, so many of them marked; one more is in flight, unless it is the last.
    fn round(plb: &mut Plb, nth: u64, marked: u64, last: bool) -> bool {
        for packet in 0..10 {
            let una = nth * 10 + packet + 1;
            let sent = if last { una } else { nth * 10 + 20 };
            plb.acked((1, u64::from(packet < marked)), (una, sent), Time::ZERO);
        }
        std::mem::take(&mut plb.moves)
    }

    #[test]
    fn a_path_is_left_after_twelve_congested_rounds_in_a_row() {
        let mut plb = Plb { end: 10, ..Plb::default() };
        // Half of the packets marked is 128/256. An uncongested round begins the count anew.
        let marks = [5, 9, 10, 4].into_iter().chain([5; 30]);
        let moved: Vec<u64> = marks
            .enumerate()
            .filter(|&(nth, marked)| round(&mut plb, nth as u64, marked, false))
            .map(|(nth, _)| nth as u64)
            .collect();
        assert_eq!(moved, [15, 27]);
    }

    #[test]
    fn an_idle_connection_leaves_after_three() {
        let mut plb = Plb { end: 10, ..Plb::default() };
        let moved: Vec<bool> = (0..3).map(|nth| round(&mut plb, nth, 5, nth == 2)).collect();
        assert_eq!(moved, [false, false, true]);
    }

    #[test]
    fn a_timeout_moves_at_once_and_then_not_for_one_to_two_minutes() {
        let mut plb = Plb { end: 10, ..Plb::default() };
        plb.timed_out(Time::ZERO);
        assert!(std::mem::take(&mut plb.moves));
        let until = plb.stays_until.since(Time::ZERO);
        assert!(SUSPENDED <= until && until < SUSPENDED * 2, "{until}");
        assert!((0..30).all(|nth| !round(&mut plb, nth, 10, false)));
        plb.stays_until = Time::ZERO;
        assert!(round(&mut plb, 30, 10, false));
    }

    #[test]
    fn connections_that_time_out_at_once_stay_for_times_of_their_own() {
        let stays = |key| {
            let mut plb = Plb::default();
            plb.keyed(key);
            plb.timed_out(Time::from_ps(7));
            plb.stays_until
        };
        assert_eq!(stays(1), stays(1));
        assert_ne!(stays(1), stays(2));
    }
}
