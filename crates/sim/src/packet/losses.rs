//! Packets that a line loses or marks because the scenario says so.

use super::{PAUSES, row_of};
use switchbed_qdisc::port::packet::Numbered;
use switchbed_qdisc::{Ecn, Packet};
use switchbed_units::random::{OnDemand, Random as _};

/// Fate of the chosen packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The line loses them.
    Lost,
    /// The line marks them, if they are ECN-capable.
    Marked,
}

/// Which packets a line is to lose or to mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    /// Number of the flow that opened the connection; `None`: all packets count.
    flow: Option<u64>,
    /// Among those that the line carries.
    which: Numbered,
    fate: Fate,
}

impl Pattern {
    /// `numbers` are from 1, in any order.
    pub(crate) fn new(flow: Option<u64>, numbers: &[u64], fate: Fate) -> Pattern {
        Pattern { flow, which: Numbered::new(numbers), fate }
    }

    /// The line carries a packet; what becomes of it.
    fn fate(&mut self, packet: &Packet) -> Option<Fate> {
        let counts = self.flow.is_none() || self.flow == row_of(packet.flow);
        (counts && self.which.count()).then_some(self.fate)
    }
}

/// A rule by which a line loses packets at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Chance {
    /// Each bit is wrong alone: the logarithm of the chance that one is right.
    Bits(f64),
    /// Each packet is lost alone with this chance.
    Packets(f64),
    /// Packets are lost while the line is bad (E. Gilbert, Capacity of a burst-noise channel, 1960, with a packet in
    /// place of a bit): the chances that it turns bad, and good.
    Runs { bad: f64, good: f64 },
}

impl Chance {
    /// Chance of a loss for a fraction of wrong bits.
    pub(crate) fn of_bits(ber: f64) -> Chance {
        // `log1p` and `expm1`: 1 − 10⁻¹² to the power of bits would lose most digits of the rate.
        Chance::Bits(libm::log1p(-ber))
    }

    /// Chance of a loss for a fraction of lost packets, `burst` of them in a row on average.
    pub(crate) fn of_packets(loss: f64, burst: Option<f64>) -> Chance {
        match burst {
            None => Chance::Packets(loss),
            Some(burst) => {
                // The line is bad for bad / (bad + good) of the packets.
                // Runs of losses are geometric: their mean is 1/good.
                Chance::Runs { bad: loss / (1.0 - loss) / burst, good: 1.0 / burst }
            }
        }
    }
}

/// Losses at random, under way.
pub(crate) struct Errors {
    pub(crate) chance: Chance,
    pub(crate) rng: OnDemand,
    /// The line is bad.
    bad: bool,
}

impl Errors {
    pub(crate) fn new(chance: Chance, rng: OnDemand) -> Errors {
        Errors { chance, rng, bad: false }
    }

    fn lose(&mut self, len_bytes: u32) -> bool {
        // One draw a packet in any case: the loss of one packet does not move the draws of others.
        let drawn = self.rng.unit();
        match self.chance {
            Chance::Bits(log) => drawn < -libm::expm1(8.0 * f64::from(len_bytes) * log),
            Chance::Packets(loss) => drawn < loss,
            Chance::Runs { bad, good } => {
                self.bad = if self.bad { drawn >= good } else { drawn < bad };
                self.bad
            }
        }
    }
}

/// Packets that a line is to lose and to mark, and its count of losses.
#[derive(Default)]
pub(crate) struct Losses {
    pub(crate) patterns: Vec<Pattern>,
    /// The line carries nothing.
    pub(crate) dead: bool,
    pub(crate) errors: Option<Errors>,
    pub(crate) lost: u64,
}

impl Losses {
    /// The line carries a packet, which may be marked; whether it is lost.
    pub(crate) fn lose(&mut self, packet: &mut Packet) -> bool {
        let mut lost = self.dead;
        // Each counts every packet.
        for pattern in &mut self.patterns {
            match pattern.fate(packet) {
                Some(Fate::Lost) => lost = true,
                Some(Fate::Marked) if packet.ecn.capable() => packet.ecn = Ecn::Ce,
                Some(Fate::Marked) | None => {}
            }
        }
        let len_bytes = packet.len_bytes;
        lost |= self.errors.as_mut().is_some_and(|errors| errors.lose(len_bytes));
        // As the counts of packets sent have them: without pause frames.
        self.lost += u64::from(lost && packet.flow != PAUSES);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(chance: Chance, len_bytes: u32, packets: u32) -> Vec<bool> {
        let mut errors = Errors::new(chance, OnDemand::new(3, "errors", 1));
        (0..packets).map(|_| errors.lose(len_bytes)).collect()
    }

    fn count(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64
    }

    #[test]
    fn bits_that_are_wrong_lose_long_packets_more_often() {
        // 1 - (1 - 1e-6)^12000 = 0.011928; of 200,000 packets 2,386, a standard deviation of 49.
        let long = count(&lost(Chance::of_bits(1e-6), 1_500, 200_000));
        assert!((long - 2_386.0).abs() < 200.0, "{long}");
        // 64 bytes: 0.000512, 102 of them.
        let short = count(&lost(Chance::of_bits(1e-6), 64, 200_000));
        assert!((short - 102.0).abs() < 41.0, "{short}");
        assert_eq!(count(&lost(Chance::of_bits(0.0), 1_500, 10_000)), 0.0);
    }

    #[test]
    fn losses_come_in_runs_of_their_length() {
        for burst in [None, Some(1.0), Some(5.0)] {
            let lost = lost(Chance::of_packets(0.05, burst), 1_500, 400_000);
            let all = count(&lost);
            assert!((all / 400_000.0 - 0.05).abs() < 0.003, "{burst:?}: {all}");
            let runs = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
            let mean = burst.unwrap_or(1.0 / 0.95);
            assert!((all / runs / mean - 1.0).abs() < 0.05, "{burst:?}: {}", all / runs);
        }
    }
}
