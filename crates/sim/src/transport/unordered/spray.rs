//! Which path a packet takes: the entropy of each, as htsim chooses it (uet-htsim 40ccb05, `uec_mp.cpp`,
//! `buffer_reps.cpp`, read in the forks saemi0413/uet-htsim 81b982d and tommasobo/REPS_EuroSys_Artifact e19b8d0).
//!
//! Difference: a timeout is charged to the path of its packet. htsim's senders do not know that path and charge path 0.

use std::collections::VecDeque;
use switchbed_scenario::roce::Spray as Choice;
use switchbed_units::{Span, Time};

/// Entropies that REPS keeps, and packets that it sends at random once it thaws.
const KEPT: usize = 8;
const THAWED: u32 = 16;
/// How long REPS stays frozen at least.
const FROZEN: Span = Span::from_ms(10);
/// The greatest penalty of a path.
const MOST: u8 = 15;

/// Fate of a packet on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Nothing,
    Mark,
    Trim,
    Timeout,
}

/// Choice of a connection's paths.
#[derive(Clone, Debug)]
pub(super) struct Spray {
    choice: Choice,
    /// A power of two.
    entropies: u32,
    random: u64,
    /// A round over all entropies: the next, and what is added to it bit by bit.
    next: u32,
    scramble: u32,
    penalties: Box<[u8]>,
    reps: Reps,
    /// With `mixed`, good entropies that were not used since, the oldest first.
    good: VecDeque<u16>,
}

/// A ring of entropies that were good.
#[derive(Clone, Debug, Default)]
struct Reps {
    kept: [(u16, bool); KEPT],
    head: usize,
    /// Entropies in the ring, and those that were not used since.
    filled: usize,
    unused: usize,
    /// While frozen, the next in the ring.
    turn: usize,
    frozen_until: Option<Time>,
    explores: u32,
}

impl Spray {
    pub(super) fn new(choice: Choice, entropies: u32, key: u32) -> Spray {
        let penalties = match choice {
            Choice::Bitmap | Choice::Mixed => vec![0; entropies as usize].into(),
            Choice::Oblivious | Choice::Reps => Box::default(),
        };
        let mut spray = Spray {
            choice,
            entropies,
            random: u64::from(key),
            next: 0,
            scramble: 0,
            penalties,
            reps: Reps { explores: THAWED, ..Reps::default() },
            good: VecDeque::new(),
        };
        spray.scramble = spray.draw();
        spray
    }

    /// SplitMix64 (Steele, Lea, Flood 2014), below the number of entropies.
    fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32 & (self.entropies - 1)
    }

    /// The next of a round in which each entropy comes once.
    fn in_turn(&mut self) -> u16 {
        if self.next == self.entropies {
            (self.next, self.scramble) = (0, self.draw());
        }
        // XOR with a constant permutes the numbers below a power of two, so each comes once a
        // round.
        let entropy = self.next ^ self.scramble;
        self.next += 1;
        entropy as u16
    }

    /// The entropy of the next packet.
    pub(super) fn next(&mut self) -> u16 {
        match self.choice {
            Choice::Oblivious => self.in_turn(),
            Choice::Bitmap => self.unpenalised(),
            Choice::Mixed => self.good.pop_front().unwrap_or_else(|| self.unpenalised()),
            Choice::Reps => self.recycled(),
        }
    }

    /// The next of a round that has no penalty.
    fn unpenalised(&mut self) -> u16 {
        let mut entropy = self.in_turn();
        let mut first = true;
        // The first that is skipped loses some of its penalty, so that this ends.
        for _ in 0..self.entropies {
            let penalty = &mut self.penalties[usize::from(entropy)];
            if *penalty == 0 {
                break;
            }
            *penalty -= u8::from(std::mem::take(&mut first));
            entropy = self.in_turn();
        }
        entropy
    }

    fn recycled(&mut self) -> u16 {
        if self.reps.explores > 0 {
            self.reps.explores -= 1;
            return self.draw() as u16;
        }
        let Reps { head, filled, unused, turn, frozen_until, .. } = self.reps;
        let at = match frozen_until {
            Some(_) if filled > 0 => {
                self.reps.turn = (turn + 1) % filled;
                turn
            }
            None if unused > 0 => (head + KEPT - unused) % KEPT,
            _ => return self.draw() as u16,
        };
        let (entropy, fresh) = self.reps.kept[at];
        self.reps.unused -= usize::from(fresh);
        self.reps.kept[at].1 = false;
        entropy
    }

    /// A packet's fate is known. `trimming`: the switches trim, so that a timeout tells of a failure.
    pub(super) fn heard(&mut self, entropy: u16, met: Met, trimming: bool, now: Time) {
        match self.choice {
            Choice::Oblivious => {}
            Choice::Bitmap => self.penalise(entropy, met),
            Choice::Mixed => {
                self.penalise(entropy, met);
                if met == Met::Nothing {
                    self.good.push_back(entropy);
                }
            }
            Choice::Reps => self.cache(entropy, met, trimming, now),
        }
    }

    fn penalise(&mut self, entropy: u16, met: Met) {
        let more = match met {
            Met::Nothing => 0,
            Met::Mark => 1,
            Met::Trim => 4,
            Met::Timeout => MOST,
        };
        let penalty = &mut self.penalties[usize::from(entropy)];
        *penalty = (*penalty + more).min(MOST);
    }

    fn cache(&mut self, entropy: u16, met: Met, trimming: bool, now: Time) {
        let reps = &mut self.reps;
        let freezes = met == Met::Timeout && trimming && reps.explores == 0;
        if freezes && reps.frozen_until.is_none() {
            reps.frozen_until = Some(now + FROZEN);
        }
        if reps.frozen_until.is_some_and(|until| now > until) {
            *reps = Reps { explores: THAWED, ..Reps::default() };
        }
        if met == Met::Nothing {
            let (_, fresh) = std::mem::replace(&mut reps.kept[reps.head], (entropy, true));
            reps.head = (reps.head + 1) % KEPT;
            reps.filled = (reps.filled + 1).min(KEPT);
            reps.unused += usize::from(!fresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn oblivious_takes_each_path_once_a_round() {
        let mut spray = Spray::new(Choice::Oblivious, 64, 7);
        let rounds = [0, 1, 2].map(|_| (0..64).map(|_| spray.next()).collect::<Vec<_>>());
        for round in &rounds {
            assert_eq!(round.iter().copied().collect::<BTreeSet<_>>(), (0..64).collect());
        }
        assert!(rounds[0] != rounds[1] || rounds[1] != rounds[2]);
    }

    #[test]
    fn bitmap_skips_a_path_until_its_penalty_is_served() {
        let mut spray = Spray::new(Choice::Bitmap, 4, 7);
        spray.heard(2, Met::Mark, true, Time::ZERO);
        spray.heard(2, Met::Mark, true, Time::ZERO);
        let sent: Vec<u16> = (0..12).map(|_| spray.next()).collect();
        // Skipped in two rounds, and sent in the rest.
        assert!(!sent[..6].contains(&2) && sent[6..].contains(&2), "{sent:?}");
        for entropy in 0..4 {
            spray.heard(entropy, Met::Timeout, true, Time::ZERO);
            spray.heard(entropy, Met::Trim, true, Time::ZERO);
        }
        assert_eq!(*spray.penalties, [MOST; 4]);
        assert!(spray.next() < 4);
    }

    #[test]
    fn reps_sends_again_where_acks_came_without_a_mark() {
        let mut spray = Spray::new(Choice::Reps, 64, 7);
        for _ in 0..THAWED {
            spray.next();
        }
        for entropy in [5, 9, 11] {
            spray.heard(entropy, Met::Nothing, true, Time::ZERO);
            spray.heard(60, Met::Mark, true, Time::ZERO);
        }
        assert_eq!([spray.next(), spray.next(), spray.next()], [5, 9, 11]);
        // A timeout freezes it: no path is explored for 10 ms, and good ones are still kept.
        spray.heard(1, Met::Timeout, true, Time::ZERO);
        assert_eq!([spray.next(), spray.next(), spray.next(), spray.next()], [5, 9, 11, 5]);
        spray.heard(21, Met::Nothing, true, Time::ZERO + FROZEN);
        assert_eq!([spray.next(), spray.next(), spray.next(), spray.next()], [9, 11, 21, 5]);
        let later = Time::ZERO + FROZEN + Span::from_ns(1);
        spray.heard(33, Met::Nothing, true, later);
        assert_eq!((spray.reps.explores, spray.reps.unused), (THAWED, 1));
    }

    #[test]
    fn mixed_takes_good_paths_again_and_else_skips_bad_ones() {
        let mut spray = Spray::new(Choice::Mixed, 4, 7);
        for entropy in [3, 1, 1] {
            spray.heard(entropy, Met::Nothing, true, Time::ZERO);
        }
        spray.heard(2, Met::Trim, true, Time::ZERO);
        assert_eq!([spray.next(), spray.next(), spray.next()], [3, 1, 1]);
        // The trim is four rounds of penalty.
        let sent: Vec<u16> = (0..12).map(|_| spray.next()).collect();
        assert!(!sent.contains(&2), "{sent:?}");
        for entropy in [0, 1, 3] {
            assert_eq!(sent.iter().filter(|other| **other == entropy).count(), 4, "{sent:?}");
        }
        // Later good paths go first again.
        spray.heard(0, Met::Nothing, true, Time::ZERO);
        assert_eq!(spray.next(), 0);
    }
}
