//! Accurate ECN (RFC 9768): ACKs count the packets that came with a mark, in three bits of the header
//! (ACE) and, with the option, beyond doubt.
//!
//! The option's byte counters are a counter of packets here, which says as much of full segments; it
//! goes with every ACK, as long as one with two of its fields (8 bytes), and leaves space for two SACK
//! blocks beside timestamps.

use super::{Config, Flags, Segment};

/// First value of the counter of marked packets (section 3.2.2.1).
const FIRST: u16 = 5;

/// The option's length in bytes, kind and length included.
pub(super) const OPTION_BYTES: u32 = 8;

/// A SYN offers it (section 3.1.1).
pub(super) const SYN: Flags = Flags::SYN.with(Flags::AE).with(Flags::CWR).with(Flags::ECE);

/// The three bits of a counter of marked packets.
pub(super) fn ace(marked: u16) -> Flags {
    // The counter wraps at 2¹⁶, a multiple of 8, so the three bits go on counting.
    let ace = marked.wrapping_add(FIRST);
    let bit = |n: u16| ace & (1 << n) != 0;
    Flags::NONE.with_if(Flags::AE, bit(2)).with_if(Flags::CWR, bit(1)).with_if(Flags::ECE, bit(0))
}

/// A SYN-ACK tells how the SYN came (section 3.1.1, table 2): marked, ECT(1) or not ECN-capable.
pub(super) fn syn_ack(config: &Config, marked: bool) -> Flags {
    match (marked, config.ecn_syn) {
        (true, _) => Flags::SYN.with(Flags::AE).with(Flags::CWR),
        (false, true) => Flags::SYN.with(Flags::CWR).with(Flags::ECE),
        (false, false) => Flags::SYN.with(Flags::CWR),
    }
}

/// Feedback on marks that a sender has received.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// The counter of the last ACK.
    marked: u16,
    /// Packets that ACKs of nothing new reported.
    kept: u64,
}

impl Heard {
    /// How many packets an ACK of so many `packets` says were marked, beyond what was heard.
    pub(super) fn newly(&mut self, config: &Config, ack: &Segment, packets: u64) -> u64 {
        self.newly_by(config.accurate_option, ack, packets)
    }

    fn newly_by(&mut self, option: bool, ack: &Segment, packets: u64) -> u64 {
        let newly = match option {
            // An ACK that another has overtaken has an older counter.
            true => (ack.marked.wrapping_sub(self.marked) as i16).max(0) as u64,
            false => by_ace(ace(self.marked), ack.flags, packets),
        };
        self.marked = self.marked.wrapping_add(newly as u16);
        newly
    }

    /// The same of an ACK of nothing new; its packets count with the next that acknowledges some.
    pub(super) fn newly_without_data(&mut self, config: &Config, ack: &Segment) -> u64 {
        let newly = self.newly(config, ack, 0);
        self.kept += newly;
        newly
    }

    /// Takes the marked packets that ACKs of nothing new reported.
    pub(super) fn take_kept(&mut self) -> u64 {
        std::mem::take(&mut self.kept)
    }
}

/// The same by three bits: where so many packets were acknowledged that they may have gone round, as
/// often as they can have (section 3.2.2.5.2, appendix A.2).
fn by_ace(before: Flags, now: Flags, packets: u64) -> u64 {
    let number = |flags: Flags| {
        let bit = |flag, value| if flags.contains(flag) { value } else { 0 };
        bit(Flags::AE, 4) + bit(Flags::CWR, 2) + bit(Flags::ECE, 1)
    };
    // 8 more before the subtraction: the difference of two numbers under 8 is taken modulo 8.
    let delta: u64 = (number(now) + 8 - number(before)) & 7;
    if packets <= 7 { delta } else { packets - ((packets - delta) & 7) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_that_was_overtaken_tells_nothing() {
        use switchbed_units::Time;
        let mut heard = Heard::default();
        let mut newly = |marked| {
            let ack = Segment { marked, ..Segment::ack(0, ace(marked), Time::ZERO) };
            heard.newly_by(true, &ack, 1)
        };
        assert_eq!([2, 5, 3, 6].map(&mut newly), [2, 3, 0, 1]);
        // The counter goes round.
        assert_eq!([30_000, 60_000, 2].map(&mut newly), [29_994, 30_000, 5_538]);
    }

    #[test]
    fn three_bits_go_round_as_often_as_they_can_have() {
        for (before, now, packets, marked) in [
            (0, 0, 1, 0),
            (0, 1, 1, 1),
            // 5 + 6 is 3 of eight.
            (2, 6, 4, 4),
            // An ACK of eight packets with the same bits: none, or all.
            (0, 0, 7, 0),
            (0, 0, 8, 8),
            (0, 0, 15, 8),
            (0, 3, 12, 11),
            (0, 3, 10, 3),
        ] {
            let is = by_ace(ace(before), ace(now), packets);
            assert_eq!(is, marked, "{before} {now} {packets}");
        }
    }
}
