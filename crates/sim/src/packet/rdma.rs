//! Packets between queue pairs (RoCEv2), and the fields that switches write into them (INT).

use switchbed_scenario::int::{RATES_MBPS, SWITCHES};
use switchbed_units::{Rate, Time};

/// A packet of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rdma {
    /// Data: offset of the first payload byte in the stream of messages. ACK and NACK: offset of the next byte
    /// expected.
    pub offset: u64,
    /// Data: what it gathers on its way, or when it was sent. ACK: the same of the packet that it answers.
    pub trail: Trail,
    /// The packet sequence number. ACK: of the last packet in order, or of the one beyond a gap that it answers;
    /// NACK: of the one that is missing.
    pub psn: u32,
    /// Data: payload in bytes. ACK, with selective repeat: 1 if the packet that it answers is beyond a gap.
    pub len: u16,
    /// Switches that have written into the trail.
    pub hops: u8,
    /// Kind of the packet.
    pub kind: RdmaKind,
}

/// Kind of a queue pair's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RdmaKind {
    /// Data, the first of several packets of a message.
    First,
    /// One between the first and the last.
    Middle,
    /// The last.
    Last,
    /// The only one.
    Only,
    /// An acknowledgement.
    Ack,
    /// A negative one: data came out of order.
    Nack,
    /// A congestion notification packet: data came with a mark.
    Cnp,
    /// Unordered delivery: data, wherever in its message.
    Sprayed,
    /// Unordered delivery: what has come, packet by packet.
    Sack,
    /// Unordered delivery: data came without its payload.
    Trimmed,
    /// Unordered delivery: credit for the sender.
    Pull,
    /// Unordered delivery: a sender asks for credit. It goes to the receiving half, as data does.
    Request,
}

impl RdmaKind {
    /// Whether it has payload.
    #[inline]
    pub fn is_data(self) -> bool {
        use RdmaKind::{Middle, Request, Sprayed};
        self.begins() || self.ends() || matches!(self, Middle | Sprayed | Request)
    }

    /// Whether it is of unordered delivery.
    pub fn is_unordered(self) -> bool {
        use RdmaKind::{Pull, Request, Sack, Sprayed, Trimmed};
        matches!(self, Sprayed | Sack | Trimmed | Pull | Request)
    }

    /// Whether a message begins with it.
    pub fn begins(self) -> bool {
        matches!(self, RdmaKind::First | RdmaKind::Only)
    }

    /// Whether a message ends with it.
    pub fn ends(self) -> bool {
        matches!(self, RdmaKind::Last | RdmaKind::Only)
    }
}

/// Five words: what so many switches have written, or in the first when the packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail([u64; SWITCHES]);

impl Trail {
    /// Makes the trail of a packet sent at `now`.
    pub fn stamped(now: Time) -> Trail {
        Trail([now.as_ps(), 0, 0, 0, 0])
    }

    /// Makes a trail of words of the transport's own.
    pub fn of(words: [u64; SWITCHES]) -> Trail {
        Trail(words)
    }

    /// Returns all words.
    pub fn words(&self) -> [u64; SWITCHES] {
        self.0
    }

    /// When the packet was sent, if it says that.
    pub fn stamp(&self) -> Time {
        Time::from_ps(self.0[0])
    }

    /// Returns the records of the first `hops` switches.
    pub fn written(&self, hops: u8) -> impl Iterator<Item = Int> + '_ {
        self.0.iter().take(hops.into()).map(|&word| Int(word))
    }

    /// A switch writes; beyond the fifth none does.
    pub fn write(&mut self, hops: &mut u8, int: Int) {
        if let Some(word) = self.0.get_mut(usize::from(*hops)) {
            *word = int.0;
            *hops += 1;
        }
    }
}

/// Record of one switch in 64 bits: a code of 4 for the line's rate, time in 24 of a nanosecond,
/// bytes sent in 20 of 128 bytes, and the queue in 16 of 80 bytes (HPCC's figure 7; units as in its
/// authors' simulator).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int(u64);

const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 16;
const SENT_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl Int {
    /// Encodes a port's record, with the nearest rate that INT knows.
    pub fn new(rate: Rate, now: Time, sent_bytes: u64, queue_bytes: u64) -> Int {
        let off = |&mbps: &u64| Rate::from_mbps(mbps).as_bps().abs_diff(rate.as_bps());
        // Of two as near the lower code, as `min_by_key` takes the first.
        let code = (0..16).min_by_key(|&code| off(&RATES_MBPS[code])).unwrap_or(0) as u64;
        let time = (now.as_ps() / 1_000) & mask(TIME_BITS);
        let sent = (sent_bytes / SENT_UNIT) & mask(SENT_BITS);
        let queue = (queue_bytes / QUEUE_UNIT).min(mask(QUEUE_BITS));
        // From the top: rate, time, bytes sent, queue.
        Int(((code << TIME_BITS | time) << SENT_BITS | sent) << QUEUE_BITS | queue)
    }

    /// The line's rate.
    pub fn rate(self) -> Rate {
        Rate::from_mbps(RATES_MBPS[(self.0 >> (TIME_BITS + SENT_BITS + QUEUE_BITS)) as usize & 15])
    }

    /// When it was written, which was no more than 16.8 ms before `now`.
    pub fn at(self, now: Time) -> Time {
        // A time after `now`'s bits is from before they began again; modulo 2²⁴ ns that is one
        // subtraction.
        let written = self.0 >> (SENT_BITS + QUEUE_BITS) & mask(TIME_BITS);
        let now = now.as_ps() / 1_000;
        Time::from_ps((now - (now.wrapping_sub(written) & mask(TIME_BITS)).min(now)) * 1_000)
    }

    /// Bytes that the port had sent, where they were `before` earlier; they begin again after 134 MB.
    pub fn sent_bytes(self, before: u64) -> u64 {
        let sent = self.0 >> QUEUE_BITS & mask(SENT_BITS);
        let before = before / SENT_UNIT;
        // The counter wraps: the difference modulo 2²⁰ is what went since `before`.
        (before + (sent.wrapping_sub(before) & mask(SENT_BITS))) * SENT_UNIT
    }

    /// Bytes that waited there, 5.2 MB at most.
    pub fn queue_bytes(self) -> u64 {
        (self.0 & mask(QUEUE_BITS)) * QUEUE_UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_port_writes_in_hpccs_units() {
        let int = Int::new(Rate::from_gbps(100), Time::from_ps(5_000_999), 1_000, 999);
        assert_eq!(int.rate(), Rate::from_gbps(100));
        assert_eq!(int.at(Time::from_ps(9_000_000)), Time::from_ps(5_000_000));
        assert_eq!((int.sent_bytes(0), int.queue_bytes()), (896, 960));
        assert_eq!(
            Int::new(Rate::from_gbps(1), Time::ZERO, 0, u64::MAX).queue_bytes(),
            65_535 * 80
        );
    }

    #[test]
    fn a_sixth_switch_finds_no_room() {
        let (mut trail, mut hops) = (Trail::default(), 0);
        for n in 0..6 {
            trail.write(&mut hops, Int::new(Rate::from_gbps(10), Time::ZERO, 128 * n, 0));
        }
        let sent: Vec<u64> = trail.written(hops).map(|int| int.sent_bytes(0)).collect();
        assert_eq!(sent, [0, 128, 256, 384, 512]);
    }

    proptest! {
        #[test]
        fn times_and_counts_are_unfolded(
            at in 0..10_u64.pow(14), later in 0..(1_u64 << TIME_BITS), sent in any::<u32>(),
            more in 0..(1_u64 << SENT_BITS)
        ) {
            let (time, now) = (Time::from_ps(at), Time::from_ps(at + later * 1_000));
            let (before, sent) = (u64::from(sent), u64::from(sent) + more * SENT_UNIT);
            let int = Int::new(Rate::from_gbps(25), time, sent, 0);
            prop_assert_eq!(int.at(now).as_ps(), at / 1_000 * 1_000);
            prop_assert_eq!(int.sent_bytes(before), sent / SENT_UNIT * SENT_UNIT);
        }
    }
}
